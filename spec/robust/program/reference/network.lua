--- network: norms, losses, positions, dropout.

local array = require "spec.robust.program.array"
local reductions = require "spec.robust.program.reference.reductions"

local ops = {}

local function dtype_for(d)
  return d.smooth and "float64" or d:pick {"float32", "float64"}
end

-- -- norms -------------------------------------------------------------------

-- (x - mean) / sqrt(var + eps) over the places that share key(index).
local function normed(x, key, eps, centred)
  local sums, counts, squares = {}, {}, {}
  array.walk(x.shape, function(index)
    local k, v = key(index), x:get(index)
    sums[k], counts[k] = (sums[k] or 0) + v, (counts[k] or 0) + 1
  end)
  local function mean(k) return centred and sums[k] / counts[k] or 0 end
  array.walk(x.shape, function(index)
    local k = key(index)
    squares[k] = (squares[k] or 0) + (x:get(index) - mean(k)) ^ 2
  end)
  return function(index)
    local k = key(index)
    return (x:get(index) - mean(k)) / math.sqrt(squares[k] / counts[k] + eps)
  end
end

local function row_norm(name, centred)
  ops[name] = {
    draw = function(d)
      local n, shape = d:int(2, 4), {d:int(1, 3)}
      local normalized = d:pick {{n}, {2, n}}
      table.move(normalized, 1, #normalized, #shape + 1, shape)
      local dtype = dtype_for(d)
      local function part()
        return d:tensor {dtype = dtype, shape = normalized, tame = true}
      end
      local args = {d:tensor {dtype = dtype, shape = shape, tame = true},
        normalized, n = centred and 5 or 4}
      if d:chance(0.5) then args[3] = part() end
      if centred and d:chance(0.5) then args[4] = part() end
      args[args.n] = 1e-2
      return args
    end,
    run = function(x, normalized, ...)
      local weight, bias, eps = ...
      if not centred then bias, eps = nil, bias end
      local n = #x.shape - #normalized
      local y = normed(x, function(index)
        return table.concat(index, " ", 1, n)
      end, eps, centred)
      return array.make(x.dtype, x.shape, function(index)
        local at = {table.unpack(index, n + 1)}
        return y(index) * (weight and weight:get(at) or 1) +
          (bias and bias:get(at) or 0)
      end)
    end,
  }
end
row_norm("layer_norm", true)
row_norm("rms_norm", false)

local function draw_channels(d, channels)
  local dtype = dtype_for(d)
  local x = d:tensor {dtype = dtype, shape = {2, channels, d:int(1, 3)},
    tame = true}
  return x, dtype
end
ops.group_norm = {
  draw = function(d)
    local groups = d:int(1, 2)
    local x, dtype = draw_channels(d, groups * 2)
    local args = {x, groups, n = 5, [5] = 1e-2}
    for i = 3, 4 do
      if d:chance(0.5) then
        args[i] = d:tensor {dtype = dtype, shape = {groups * 2}, tame = true}
      end
    end
    return args
  end,
  run = function(x, groups, weight, bias, eps)
    local each = x.shape[2] // groups
    local y = normed(x, function(index)
      return index[1] .. " " .. (index[2] - 1) // each
    end, eps, true)
    return array.make(x.dtype, x.shape, function(index)
      return y(index) * (weight and weight:get {index[2]} or 1) +
        (bias and bias:get {index[2]} or 0)
    end)
  end,
}
ops.batch_norm = {
  rough = true, -- no gradient of mean and var
  draw = function(d)
    local x, dtype = draw_channels(d, 2)
    return {x, d:tensor {dtype = dtype, shape = {2}, tame = true},
      d:tensor {dtype = dtype, shape = {2}, positive = true}}
  end,
  run = function(x, mean, var)
    return array.make(x.dtype, x.shape, function(index)
      local c = {index[2]}
      return (x:get(index) - mean:get(c)) / math.sqrt(var:get(c) + 1e-5)
    end)
  end,
}
ops.channel_moments = {
  rough = true,
  draw = function(d) return {(draw_channels(d, 2))} end,
  run = function(x)
    local n = x.shape[1] * x.shape[3]
    local mean, var = {0.0, 0.0}, {0.0, 0.0}
    array.walk(x.shape, function(index)
      mean[index[2]] = mean[index[2]] + x:get(index) / n
    end)
    array.walk(x.shape, function(index)
      local c = index[2]
      var[c] = var[c] + (x:get(index) - mean[c]) ^ 2 / n
    end)
    return array.new(x.dtype, {2}, mean), array.new(x.dtype, {2}, var)
  end,
}

-- -- losses ------------------------------------------------------------------

ops.cross_entropy = {
  draw = function(d)
    local rows, classes = d:int(1, 3), d:int(1, 4)
    local labels = {}
    for i = 1, rows do
      labels[i] = i > 1 and d:chance(0.2) and -100 or d:int(1, classes)
    end
    return {d:tensor {dtype = dtype_for(d), shape = {rows, classes},
      tame = true}, d:add_leaf("int64", {rows}, labels), nil, -100,
      d:pick {0.0, 0.1}, d:pick {"mean", "sum", "none"}, n = 6}
  end,
  run = function(x, target, _, ignore, smoothing, reduction)
    local losses, total, count = {}, 0.0, 0
    for i = 1, x.shape[1] do
      local row, mean, label = {}, 0.0, target:get {i}
      for c = 1, x.shape[2] do row[c] = x:get {i, c} end
      local all = reductions.log_sum(row)
      for _, v in ipairs(row) do mean = mean + (all - v) / #row end
      losses[i] = label == ignore and 0.0 or
        (1 - smoothing) * (all - row[label]) + smoothing * mean
      total = total + losses[i]
      count = count + (label == ignore and 0 or 1)
    end
    if reduction == "none" then
      return array.new(x.dtype, {#losses}, losses)
    end
    return array.new(x.dtype, {}, {reduction == "sum" and total or
      total / count})
  end,
}
ops.binary_cross_entropy = {
  rough = true,
  draw = function(d)
    local shape, values, dtype = d:shape(1, 2), {}, dtype_for(d)
    for i = 1, array.count(shape) do
      values[i] = array.cast(0.05 + 0.9 * math.random(), dtype)
    end
    return {d:add_leaf(dtype, shape, values), d:add_leaf(dtype, shape, values)}
  end,
  run = function(x, target)
    return array.make(x.dtype, x.shape, function(index)
      local p, t = x:get(index), target:get(index)
      return -(t * math.log(p) + (1 - t) * math.log(1 - p))
    end)
  end,
}

-- -- positions ---------------------------------------------------------------

ops.rotary_embedding = {
  draw = function(d)
    local pairs_of = d:int(1, 2)
    return {d:tensor {dtype = dtype_for(d), tame = true,
      shape = {d:int(1, 2), d:int(1, 3), 2 * pairs_of}},
      {style = d:pick {"half", "interleaved"}, offset = d:int(0, 3),
        base = 100, inverse = d:chance(0.3)}}
  end,
  run = function(x, o)
    local D = x.shape[3]
    return array.make(x.dtype, x.shape, function(index)
      local b, t, c = table.unpack(index)
      local half = o.style == "half"
      local i = half and (c - 1) % (D // 2) or (c - 1) // 2
      local first = half and c <= D // 2 or not half and c % 2 == 1
      local a = x:get {b, t, half and i + 1 or 2 * i + 1}
      local e = x:get {b, t, half and i + 1 + D // 2 or 2 * i + 2}
      local angle = (t - 1 + o.offset) * o.base ^ (-2 * i / D)
      if o.inverse then angle = -angle end
      local cos, sin = math.cos(angle), math.sin(angle)
      return first and a * cos - e * sin or not first and e * cos + a * sin
    end)
  end,
}

-- In evaluation: x itself, seen through a new tensor.
ops.dropout = {
  draw = function(d)
    return {d:tensor {kind = "only_float", dtype = dtype_for(d)},
      d:pick {0, 0.5, 1}, false}
  end,
  run = function(x) return x:with(x.shape, x.stride) end,
}

return {ops = ops}
