--- RNN, GRU and LSTM: layers of recurrent networks over whole sequences.
--
--     local lstm = nn.LSTM(4, 8, {num_layers = 2})
--     local out, state = lstm(x)                -- x [B T 4], out [B T 8]
--     out, state = lstm(more, state)            -- goes on from there
--
-- The state of an RNN or a GRU is h, that of an LSTM {h, c}: tensors
-- [layers * directions, B, hidden_size] in PyTorch's order, layer by layer,
-- the reverse direction behind the forward one.

local cells = require "heed.nn.recurrent_cell"
local check = require "heed.check"
local core = require "heed.core"
local Module = require "heed.nn.module"

local ops <const> = core.ops

local recurrent = {}

local OPTIONS <const> = {
  num_layers = 1, bias = true, batch_first = true, dropout = 0.0,
  bidirectional = false, generator = check.NONE,
}
local CALL <const> = {valid_lens = true}

-- The end of the names of a layer's parameters, as in PyTorch.
local function suffix_of(layer, direction)
  return ("_l%d%s"):format(layer - 1, direction == 2 and "_reverse" or "")
end

local function init(self, kind, input_size, hidden_size, o)
  local name <const> = self.__name
  self.kind = kind
  self.input_size = check.integer(name, "input_size", input_size, 0)
  self.hidden_size = check.integer(name, "hidden_size", hidden_size, 1)
  self.num_layers = check.integer(name, "num_layers", o.num_layers, 1)
  self.batch_first, self.bidirectional = o.batch_first, o.bidirectional
  self.dropout = check.number(name, "dropout", o.dropout, 0, 1)
  self.generator = o.generator
  self.cell = cells.cell_of(name, kind, o.nonlinearity)
  self.directions = o.bidirectional and 2 or 1
  for layer = 1, self.num_layers do
    local inputs = layer == 1 and input_size or self.directions * hidden_size
    for direction = 1, self.directions do
      cells.add_parameters(self, kind, inputs, hidden_size,
        suffix_of(layer, direction), o)
    end
  end
end

-- x as [B T I].
local function read_input(self, x)
  local name <const> = self.__name
  check.tensor(name, "x", x)
  if x.ndim ~= 2 and x.ndim ~= 3 or x:size(-1) ~= self.input_size then
    check.fail("%s: x must be [%s %d] or [T %d], got %s", name,
      self.batch_first and "B T" or "T B", self.input_size, self.input_size,
      check.shape(x.shape))
  end
  if x.ndim == 2 then return ops.unsqueeze(x, 1) end
  return self.batch_first and x or ops.transpose(x, 1, 2)
end

-- Lengths as an int64 tensor [B].
local function read_lens(self, lens, x)
  local name <const> = self.__name
  if type(lens) == "table" then
    lens = check.integers(name, "valid_lens", lens)
  end
  check.tensor(name, "valid_lens", lens)
  if lens.ndim ~= 1 or lens:size(1) ~= x:size(1) or lens.dtype ~= "int64" then
    check.fail("%s: valid_lens must be int64 [%d], one for each sequence, " ..
      "got %s %s", name, x:size(1), lens.dtype, check.shape(lens.shape))
  end
  return lens
end

-- Zeros instead of what lies behind the end of a sequence, which may be NaN.
local function clean(x, lens)
  local steps = ops.arange(1, x:size(2))
  local keep = ops.le(steps, ops.unsqueeze(lens, 2)) -- [B T]
  return ops.where(ops.unsqueeze(keep, 3), x, 0)
end

-- All directions of a layer: outputs side by side; last states go to `last`.
local function run_layer(self, layer, x, state, lens, last)
  local outs = {}
  for direction = 1, self.directions do
    local i = #last + 1
    outs[direction], last[i] = cells.run(self, suffix_of(layer, direction), x,
      ops.select(state, 2, i), lens, direction == 2)
  end
  return #outs == 1 and outs[1] or ops.cat(outs, -1)
end

local function forward(self, x, state, options)
  check.keys(self.__name, options, CALL)
  local alone <const> = check.is_tensor(x) and x.ndim == 2
  x = read_input(self, x)
  local lens = options and options.valid_lens
  if lens ~= nil then
    lens = read_lens(self, lens, x)
    x = clean(x, lens)
  end
  local shape = {self.num_layers * self.directions, x:size(1),
    self.hidden_size}
  if alone then table.remove(shape, 2) end
  state = cells.read_state(self, state, shape, x.dtype)
  if alone then state = ops.unsqueeze(state, 3) end
  local last = {}
  for layer = 1, self.num_layers do
    if layer > 1 and self.training and self.dropout > 0 then
      x = ops.dropout(x, self.dropout, true, self.generator)
    end
    x = run_layer(self, layer, x, state, lens, last)
  end
  last = ops.stack(last, 2) -- [S layers B H]
  if alone then
    x, last = ops.squeeze(x, 1), ops.squeeze(last, 3)
  elseif not self.batch_first then
    x = ops.transpose(x, 1, 2)
  end
  local h = ops.select(last, 1, 1)
  if self.kind ~= "LSTM" then return x, h end
  return x, {h, ops.select(last, 1, 2)}
end

-- A class of a kind of cell; the doc comments below say what each does.
local function define(kind, extra)
  local class = Module:extend(kind)
  recurrent[kind] = class
  local known = {}
  for key, value in pairs(OPTIONS) do known[key] = value end
  for key, value in pairs(extra or {}) do known[key] = value end

  function class:init(input_size, hidden_size, options)
    init(self, kind, input_size, hidden_size,
      check.options(kind, options, known))
  end

  class.forward = forward

  function class:extra()
    local text = ("%d, %d"):format(self.input_size, self.hidden_size)
    if self.num_layers > 1 then
      text = ("%s, num_layers = %d"):format(text, self.num_layers)
    end
    return self.bidirectional and text .. ", bidirectional" or text
  end
end

--- Makes an RNN (Elman, 1990): h = f(W_ih x + b_ih + W_hh h + b_hh).
--
-- Called as `out, h = rnn(x, h, {valid_lens = lens})`: see `LSTM`.
-- @function RNN
-- @tparam integer input_size
-- @tparam integer hidden_size
-- @tparam[opt] table options `nonlinearity`, `"tanh"` (default) or `"relu"`;
-- and those of `LSTM`
-- @usage local out, h = nn.RNN(4, 8)(heed.randn(2, 5, 4)) -- [2 5 8], [1 2 8]
define("RNN", {nonlinearity = "tanh"})

--- Makes a GRU (Cho et al., 2014), as PyTorch's: r, z = sigmoid(W_ih x + b_ih +
-- W_hh h + b_hh), n = tanh(W_ih x + b_ih + r (W_hh h + b_hh)),
-- h = (1 - z) n + z h; rows of the weights are r, z, n.
--
-- Called as `out, h = gru(x, h, {valid_lens = lens})`: see `LSTM`.
-- @function GRU
-- @tparam integer input_size
-- @tparam integer hidden_size
-- @tparam[opt] table options those of `LSTM`
-- @usage local out, h = nn.GRU(4, 8)(heed.randn(2, 5, 4)) -- [2 5 8], [1 2 8]
define("GRU")

--- Makes an LSTM (Hochreiter and Schmidhuber, 1997): i, f, o = sigmoid and
-- g = tanh of W_ih x + b_ih + W_hh h + b_hh, c = f c + i g, h = o tanh(c);
-- rows of the weights are i, f, g, o.
--
-- Called as `out, state = lstm(x, state, {valid_lens = lens})`: x is
-- [B T input_size], or [T input_size]; out [B T directions * hidden_size] has h
-- after each step. The state is {h, c}, zeros where it is left out. With
-- `valid_lens`, an int64 tensor or list [B], a sequence ends after so many
-- steps: its state stays, its outputs from there on are 0, the reverse
-- direction starts at its last step, and what x holds behind it does not
-- matter; PyTorch gives these numbers for packed sequences.
-- @function LSTM
-- @tparam integer input_size
-- @tparam integer hidden_size
-- @tparam[opt] table options
--
-- * `num_layers`: each takes the outputs of the one before, 1 by default
-- * `bias`: true by default
-- * `batch_first`: x and out are [B T ..]; true by default, as in all of heed
--   (PyTorch's default is false: [T B ..])
-- * `dropout` of the outputs between layers, in training, 0 by default
-- * `bidirectional`: another direction goes from the last step to the first;
--   false by default
-- * `generator` of first weights and of dropout
-- @usage local lstm = nn.LSTM(4, 8, {num_layers = 2})
-- local out, state = lstm(heed.randn(2, 5, 4), nil, {valid_lens = {5, 3}})
define("LSTM")

return recurrent
