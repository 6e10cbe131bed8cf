--- Rows of the steps of optimisers, and of what else goes over many tensors.

local sample = require "spec.support.sample"

local real <const>, other <const> = sample.real, sample.other
local positive <const>, whole <const> = sample.positive, sample.whole

local rows = {}

-- x, its gradient, a mean of gradients, and a mean of squares.
local function adam(shape, ...)
  return {real(shape), other(shape), other(shape), positive(shape), ...}
end

-- The errors that all steps share; `list` makes tensors of a shape, and the
-- other arguments follow.
local function step_errors(op, names, list, ...)
  local function with(i, t)
    local tensors = list {2}
    tensors[i] = t
    return tensors
  end
  local short = list {2}
  short[#short] = nil
  local errors = {
    {{{}, ...}, op .. ": tensors is empty"},
    {{short, ...}, ("%s: tensors must be %d lists of one length in one " ..
      "(%s), got %d tensors"):format(op, #names, table.concat(names, ", "),
      #short)},
    {{with(1, whole({2}, 1, 2)), ...},
      op .. ": x[1] must be float32 or float64, got int64 [2]"},
    {{with(1, real({2}):to "bfloat16"), ...},
      op .. ": x[1] must be float32 or float64, got bfloat16 [2]"},
    {{with(1, real({1}):expand(2)), ...},
      op .. ": x[1] [2] is expanded or unfolded, so several of its " ..
        "elements are one place in memory; write to a copy (clone)"},
    {{with(#names, real({1}):expand(2)), ...},
      ("%s: %s[1] [2] is expanded or unfolded, so several of its " ..
        "elements are one place in memory; write to a copy (clone)"):format(
        op, names[#names])},
  }
  for i = 2, #names do
    errors[#errors + 1] = {{with(i, real {3}), ...},
      ("%s: %s[1] must be float64 [2] like x[1], got float64 [3]"):format(op,
        names[i])}
  end
  return errors
end

local function add(errors, more)
  return table.move(more, 1, #more, #errors + 1, errors)
end

rows.adam_ = {
  cases = {
    {adam {2, 3}, 2, 1e-2, 0.9, 0.99, 1e-8, 0.1},
    {adam({5}, positive {5}), 1, 1e-2, 0.9, 0.99, 1e-8, 0.1, true, true,
      true},
    {adam {0}, 1, 1e-2, 0.9, 0.99, 1e-8, 0},
    {adam {1}, 1, 1e-2, 0.9, 0.99, 1e-8, 0},
    {adam {}, 1, 1e-2, 0.9, 0.99, 1e-8, 0},
  },
  errors = add(step_errors("adam_", {"x", "grad", "m", "v"}, adam, 1, 1e-2,
    0.9, 0.99, 1e-8, 0), {
    {{adam({2}, real {3}), 1, 1e-2, 0.9, 0.99, 1e-8, 0, false, true},
      "adam_: vmax[1] must be float64 [2] like x[1], got float64 [3]"},
    {{adam {2}, 0, 1e-2, 0.9, 0.99, 1e-8, 0},
      "adam_: step must be at least 1, got 0"},
  }),
}

-- Of a step with the arguments of Adam but amsgrad, and a second state.
local function like_adam(op, second)
  return {
    cases = {
      {adam {2, 3}, 2, 1e-2, 0.9, 0.99, 1e-8, 0.1},
      {adam {5}, 1, 1e-2, 0.9, 0.99, 1e-8, 0.1, true},
      {adam {0}, 1, 1e-2, 0.9, 0.99, 1e-8, 0},
      {adam {1}, 1, 1e-2, 0.9, 0.99, 1e-8, 0},
    },
    errors = add(step_errors(op, {"x", "grad", "m", second}, adam, 1, 1e-2,
      0.9, 0.99, 1e-8, 0), {
      {{adam {2}, 0, 1e-2, 0.9, 0.99, 1e-8, 0},
        op .. ": step must be at least 1, got 0"},
    }),
  }
end

rows.adamax_ = like_adam("adamax_", "u")
rows.lamb_ = like_adam("lamb_", "v")

local function sgd(shape)
  return {real(shape), other(shape), positive(shape)}
end

rows.sgd_ = {
  cases = {
    {{real {2, 3}, other {2, 3}}, 0.1, 0, 0, 0.1, false},
    {sgd {2, 3}, 0.1, 0.9, 0.2, 0, false},
    {sgd {4}, 0.1, 0.9, 0, 0, true, true, true},
    {{real {0}, other {0}}, 0.1, 0, 0, 0, false},
    {{real {1}, other {1}}, 0.1, 0, 0, 0, false},
  },
  errors = step_errors("sgd_", {"x", "grad", "m"}, sgd, 0.1, 0.9, 0, 0, false),
}

rows.rmsprop_ = {
  cases = {
    {sgd {2, 3}, 0.1, 0.9, 1e-8, 0.1, 0},
    {{real {4}, other {4}, positive {4}, real {4}}, 0.1, 0.9, 1e-8, 0, 0.9,
      false, true},
    {{real {4}, other {4}, positive {4}, real {4}}, 0.1, 0.9, 0.1, 0, 0, true},
    {{real {4}, other {4}, positive {4}, real {4}, other {4}}, 0.1, 0.9, 0.1,
      0, 0.9, true},
    {sgd {0}, 0.1, 0.9, 1e-8, 0, 0},
    {sgd {1}, 0.1, 0.9, 1e-8, 0, 0},
  },
  errors = add(step_errors("rmsprop_", {"x", "grad", "v"}, sgd, 0.1, 0.9, 1e-8,
    0, 0), {
    {{sgd {2}, 0.1, 0.9, 1e-8, 0, 0.9, true},
      "rmsprop_: tensors must be 5 lists of one length in one (x, grad, v, " ..
        "mean, m), got 3 tensors"},
  }),
}

rows.adagrad_ = {
  cases = {
    {sgd {2, 3}, 0.1, 1e-8, 0.1}, {sgd {4}, 0.1, 1e-8, 0, true},
    {sgd {0}, 0.1, 1e-8, 0}, {sgd {1}, 0.1, 1e-8, 0},
  },
  errors = step_errors("adagrad_", {"x", "grad", "v"}, sgd, 0.1, 1e-8, 0),
}

rows.lion_ = {
  cases = {
    {sgd {2, 3}, 0.1, 0.9, 0.99, 0.1}, {sgd {4}, 0.1, 0.9, 0.99, 0, true},
    {sgd {0}, 0.1, 0.9, 0.99, 0}, {sgd {1}, 0.1, 0.9, 0.99, 0},
  },
  errors = step_errors("lion_", {"x", "grad", "m"}, sgd, 0.1, 0.9, 0.99, 0),
}

-- x and its gradient, and moments of rows and columns.
local function factored(shape)
  local row, col = {table.unpack(shape)}, {table.unpack(shape)}
  row[#row], col[#col - 1] = 1, 1
  return {real(shape), other(shape), positive(row), positive(col)}
end

rows.adafactor_ = {
  cases = {
    {factored {2, 3}, 2, 1e-2, -0.8, 1e-8, 1e-3, 1, 0.1},
    {factored {2, 3, 4}, 2, 1e-2, -0.8, 1e-8, 1e-3, 1, 0, true},
    {sgd {4}, 2, 1e-2, -0.8, 1e-8, 1e-3, 1, 0.1},
    {sgd {}, 2, 1e-2, -0.8, 1e-8, 1e-3, 1, 0.1},
    {factored {0, 3}, 1, 1e-2, -0.8, 1e-8, 1e-3, 1, 0},
    {factored {3, 0}, 1, 1e-2, -0.8, 1e-8, 1e-3, 1, 0},
    {factored {1, 1}, 1, 1e-2, -0.8, 1e-8, 1e-3, 1, 0},
    {sgd {0}, 1, 1e-2, -0.8, 1e-8, 1e-3, 1, 0},
  },
  errors = add(step_errors("adafactor_", {"x", "grad", "v"}, sgd, 1, 1e-2,
    -0.8, 1e-8, 1e-3, 1, 0), {
    {{sgd {2}, 0, 1e-2, -0.8, 1e-8, 1e-3, 1, 0},
      "adafactor_: step must be at least 1, got 0"},
    {{{real {2, 3}, real {2, 3}, real {2, 3}, real {1, 3}}, 1, 1e-2, -0.8,
      1e-8, 1e-3, 1, 0},
        "adafactor_: row[1] must be [2 1] for x[1] [2 3], got [2 3]"},
    {{{real {2, 3}, real {2, 3}, real {2, 1}, real {3}}, 1, 1e-2, -0.8, 1e-8,
      1e-3, 1, 0},
        "adafactor_: col[1] must be [1 3] for x[1] [2 3], got [3]"},
    {{{real {2, 3}, real {2}, real {2, 3}, real {2}, real {2, 1}, real {2},
      real {1, 3}, real {2}}, 1, 1e-2, -0.8, 1e-8, 1e-3, 1, 0},
        "adafactor_: x[2] must have 2 dimensions or more, as x[1] has, got " ..
          "float64 [2]"},
    {{{real {2}, real {2, 2}, real {2}, real {2, 2}, real {2}, real {2, 2}},
      1, 1e-2, -0.8, 1e-8, 1e-3, 1, 0},
        "adafactor_: x[2] must have at most 1 dimension, as x[1] has, got " ..
          "float64 [2 2]"},
  }),
}

rows.joint_norm = {
  cases = {
    {{real {2, 3}, other {4}}}, {{real {2, 3}, other {4}}, 1},
    {{real {3}}, 3}, {{real {3}, other {2}}, math.huge}, {{real {0}}},
    {{real {1}}}, {{}},
  },
  errors = {
    {{{real {2}}, 0},
      "joint_norm: p must be above 0, got 0"},
    {{{real {2}}, -1},
      "joint_norm: p must be above 0, got -1"},
    {{{whole({2}, 1, 2)}},
      "joint_norm: tensors[1] must be float32 or float64, got int64 [2]"},
    {{1},
      "joint_norm: tensors must be a list of tensors, got 1"},
  },
}

rows.joint_scale_ = {
  cases = {
    {{real {2, 3}, other {4}}, 0.5}, {{real {0}}, 2}, {{real {1}}, 2},
  },
  errors = {
    {{{}, 2}, "joint_scale_: tensors is empty"},
    {{{real {2}, whole({2}, 1, 2)}, 2},
      "joint_scale_: tensors[2] must be float32 or float64, got int64 [2]"},
  },
}

rows.joint_clamp_ = {
  cases = {
    {{real {2, 3}, other {4}}, 0.5}, {{real {0}}, 2}, {{real {1}}, 0},
  },
  errors = {
    {{{}, 2}, "joint_clamp_: tensors is empty"},
    {{{real {2}}, -1}, "joint_clamp_: limit must be at least 0, got -1"},
    {{{real {2}}, 0 / 0}, "joint_clamp_: limit must be at least 0, got " ..
      ("%f"):format(0 / 0)},
    {{{whole({2}, 1, 2)}, 2},
      "joint_clamp_: tensors[1] must be float32 or float64, got int64 [2]"},
  },
}

rows.joint_lerp_ = {
  cases = {
    {{real {2, 3}, other {2, 3}}, 0.25},
    {{real {2, 3}, real {4}, other {2, 3}, other {4}}, 0.75},
    {{real {0}, real {0}}, 0.5}, {{real {1}, other {1}}, 1},
  },
  errors = {
    {{{}, 0.5}, "joint_lerp_: tensors is empty"},
    {{{real {2}}, 0.5}, "joint_lerp_: tensors must be 2 lists of one length " ..
      "in one (x, y), got 1 tensors"},
    {{{real {2}, real {3}}, 0.5},
      "joint_lerp_: y[1] must be float64 [2] like x[1], got float64 [3]"},
  },
}

return rows
