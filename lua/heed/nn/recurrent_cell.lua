--- RNNCell, GRUCell and LSTMCell: one step of a recurrent network; and what
-- they share with the layers of recurrent.lua.

local check = require "heed.check"
local core = require "heed.core"
local initialise = require "heed.nn.initialise"
local Module = require "heed.nn.module"
local parameter = require "heed.nn.parameter"

local ops <const> = core.ops

local cells = {}

-- How many rows of weights a hidden unit has, how many states.
local GATES <const> = {RNN = 1, GRU = 3, LSTM = 4}
local STATES <const> = {RNN = 1, GRU = 1, LSTM = 2}

--- Sets weight_ih, weight_hh, bias_ih and bias_hh of a module, with a suffix;
-- all are uniform in +-1 / sqrt(hidden_size), as in PyTorch.
function cells.add_parameters(module, kind, inputs, hidden, suffix, o)
  local rows <const>, bound <const> = GATES[kind] * hidden, 1 / hidden ^ 0.5
  local function add(name, ...)
    local p = parameter.zeros(...)
    module[name .. suffix] =
      initialise.uniform_(p, -bound, bound, {generator = o.generator})
  end
  add("weight_ih", rows, inputs)
  add("weight_hh", rows, hidden)
  if not o.bias then return end
  add("bias_ih", rows)
  add("bias_hh", rows)
end

--- The name of the op's cell for a module.
function cells.cell_of(name, kind, nonlinearity)
  if kind ~= "RNN" then return kind:lower() end
  if nonlinearity ~= "tanh" and nonlinearity ~= "relu" then
    check.fail('%s: nonlinearity must be "tanh" or "relu", got %s', name,
      check.show(nonlinearity))
  end
  return nonlinearity
end

--- Runs the parameters of a suffix over x [B T I] from state [S B H]: outputs
-- [B T H] and the last state.
function cells.run(module, suffix, x, state, lens, reverse)
  local gates = ops.linear(x, module["weight_ih" .. suffix],
    module["bias_ih" .. suffix])
  return ops.recurrent(gates, state, module["weight_hh" .. suffix],
    module["bias_hh" .. suffix], lens, module.cell, reverse)
end

local function wrong_state(name, what, shape, got)
  check.fail("%s: %s must be %s, got %s", name, what, check.shape(shape),
    check.is_tensor(got) and check.shape(got.shape) or check.show(got))
end

--- A state as a user gives it (h, or of an LSTM {h, c}; nil: zeros), each part
-- of a shape, as one tensor [S ..].
function cells.read_state(module, state, shape, dtype)
  local name <const>, count <const> = module.__name, STATES[module.kind]
  if state == nil then
    return ops.zeros({count, table.unpack(shape)}, {dtype = dtype})
  end
  local parts, names = {state}, {"state"}
  if count == 2 then
    names = {"state h", "state c"}
    if type(state) ~= "table" or #state ~= 2 then
      check.fail("%s: state must be {h, c}, got %s", name,
        type(state) == "table" and "a list of " .. #state or
        check.show(state))
    end
    parts = state
  end
  for i, part in ipairs(parts) do
    if not check.is_tensor(part) or
      check.shape(part.shape) ~= check.shape(shape) then
      wrong_state(name, names[i], shape, part)
    end
  end
  return ops.stack(parts, 1)
end

-- -- the modules -------------------------------------------------------------

local OPTIONS <const> = {bias = true, generator = check.NONE}

local function define(kind, extra)
  local name <const> = kind .. "Cell"
  local class = Module:extend(name)
  cells[name] = class
  local known = {}
  for key, value in pairs(OPTIONS) do known[key] = value end
  for key, value in pairs(extra or {}) do known[key] = value end

  function class:init(input_size, hidden_size, options)
    local o = check.options(name, options, known)
    self.kind = kind
    self.input_size = check.integer(name, "input_size", input_size, 0)
    self.hidden_size = check.integer(name, "hidden_size", hidden_size, 1)
    self.cell = cells.cell_of(name, kind, o.nonlinearity)
    cells.add_parameters(self, kind, input_size, hidden_size, "", o)
  end

  function class:forward(x, state)
    check.tensor(name, "x", x)
    if x.ndim < 1 or x.ndim > 2 or x:size(-1) ~= self.input_size then
      check.fail("%s: x must be [B %d] or [%d], got %s", name,
        self.input_size, self.input_size, check.shape(x.shape))
    end
    local shape = x.shape
    shape[#shape] = self.hidden_size
    state = cells.read_state(self, state, shape, x.dtype)
    if x.ndim == 1 then
      x, state = ops.unsqueeze(x, 1), ops.unsqueeze(state, 2)
    end
    local _, last = cells.run(self, "", ops.unsqueeze(x, 2), state)
    if #shape == 1 then last = ops.squeeze(last, 2) end
    if STATES[kind] == 1 then return ops.select(last, 1, 1) end
    return ops.select(last, 1, 1), ops.select(last, 1, 2)
  end

  function class:extra()
    return ("%d, %d"):format(self.input_size, self.hidden_size)
  end
end

--- Makes a cell: h = f(W_ih x + b_ih + W_hh h + b_hh), called as
-- `h = cell(x, h)` with x [B input_size] and h [B hidden_size], or both
-- without B; zeros where h is left out.
-- @function RNNCell
-- @tparam integer input_size
-- @tparam integer hidden_size
-- @tparam[opt] table options `bias`, true by default; `nonlinearity`,
-- `"tanh"` (default) or `"relu"`; `generator`
-- @usage local h = nn.RNNCell(4, 8)(heed.randn(2, 4)) -- [2 8]
define("RNN", {nonlinearity = "tanh"})

--- Makes a cell of a GRU, see `GRU`, called as `h = cell(x, h)`.
-- @function GRUCell
-- @tparam integer input_size
-- @tparam integer hidden_size
-- @tparam[opt] table options `bias`, true by default; `generator`
-- @usage local h = nn.GRUCell(4, 8)(heed.randn(2, 4)) -- [2 8]
define("GRU")

--- Makes a cell of an LSTM, see `LSTM`, called as `h, c = cell(x, {h, c})`.
-- @function LSTMCell
-- @tparam integer input_size
-- @tparam integer hidden_size
-- @tparam[opt] table options `bias`, true by default; `generator`
-- @usage local h, c = nn.LSTMCell(4, 8)(heed.randn(2, 4)) -- [2 8], [2 8]
define("LSTM")

return cells
