--- First values of parameters: PyTorch's, number for number after one seed.
--
-- Each function overwrites a tensor, also one that wants gradients, and
-- returns it. The last argument is a table whose `generator` draws; the default
-- generator otherwise. `nn.init` in Lua scripts.

local check = require "heed.check"
local core = require "heed.core"
local parameter = require "heed.nn.parameter"

local ops <const> = core.ops

local init = {}

local DRAW <const> = {generator = true}

local function generator_of(func, options)
  check.keys(func, options, DRAW)
  return options and options.generator
end

local function uniform(func, t, low, high, generator)
  check.tensor(func, "t", t)
  -- bounds need not be finite when there is nothing to draw
  if t:numel() == 0 or parameter.is_hollow() then return t end
  local _ <close> = core.no_grad()
  return ops.uniform_(t, low, high, generator)
end

local function normal(func, t, mean, std, generator)
  check.tensor(func, "t", t)
  if t:numel() == 0 or parameter.is_hollow() then return t end
  local _ <close> = core.no_grad()
  return ops.normal_(t, mean, std, generator)
end

--- Numbers from the interval [low, high).
-- @param t float tensor
-- @tparam[opt=0] number low
-- @tparam[opt=1] number high
-- @tparam[opt] table options `generator`
-- @return t
-- @usage nn.init.uniform_(nn.Linear(4, 8).weight, -0.1, 0.1)
function init.uniform_(t, low, high, options)
  return uniform("uniform_", t, low or 0.0, high or 1.0,
    generator_of("uniform_", options))
end

--- Numbers of the normal distribution.
-- @param t float tensor
-- @tparam[opt=0] number mean
-- @tparam[opt=1] number std
-- @tparam[opt] table options `generator`
-- @return t
-- @usage nn.init.normal_(nn.Linear(4, 8).weight, 0, 0.02)
function init.normal_(t, mean, std, options)
  return normal("normal_", t, mean or 0.0, std or 1.0,
    generator_of("normal_", options))
end

--- One number everywhere.
-- @param t tensor
-- @tparam number value
-- @return t
-- @usage nn.init.constant_(nn.Linear(4, 2).bias, 0.5) --> 0.5 0.5
function init.constant_(t, value)
  check.tensor("constant_", "t", t)
  if parameter.is_hollow() then return t end
  local _ <close> = core.no_grad()
  return ops.copy_(t, value)
end

--- Zeros.
-- @param t tensor
-- @return t
-- @usage nn.init.zeros_(nn.Linear(4, 2).bias) --> 0 0
function init.zeros_(t) return init.constant_(t, 0) end

--- Ones.
-- @param t tensor
-- @return t
-- @usage nn.init.ones_(nn.Linear(4, 2).bias) --> 1 1
function init.ones_(t) return init.constant_(t, 1) end

-- How many inputs an output has, and how many outputs an input.
local function fans(func, t)
  check.tensor(func, "t", t)
  local shape, field = t.shape, 1
  if #shape < 2 then
    check.fail("%s: t must have at least 2 dimensions, got %s", func,
      check.shape(shape))
  end
  for d = 3, #shape do field = field * shape[d] end
  return shape[2] * field, shape[1] * field
end

local function with_gain(func, options, extra)
  local o = check.options(func, options, extra)
  check.number(func, "gain", o.gain)
  return o
end

-- -- gains -------------------------------------------------------------------

local GAINS <const> = {
  linear = 1.0, conv1d = 1.0, conv2d = 1.0, conv3d = 1.0,
  conv_transpose1d = 1.0, conv_transpose2d = 1.0, conv_transpose3d = 1.0,
  sigmoid = 1.0, tanh = 5.0 / 3, relu = 2.0 ^ 0.5, leaky_relu = true,
  selu = 3.0 / 4,
}

local function gain_of(func, nonlinearity, slope)
  local gain = GAINS[nonlinearity]
  if not gain then
    check.fail("%s: nonlinearity must be one of %s, got %s", func,
      check.names(GAINS), check.show(nonlinearity))
  end
  if gain ~= true then return gain end
  return (2.0 / (1.0 + slope * slope)) ^ 0.5
end

--- The factor by which weights before an activation are made larger, so that
-- what passes through both keeps its size.
-- @tparam string nonlinearity `"linear"`, `"conv2d"` (and its like),
-- `"sigmoid"`, `"tanh"`, `"relu"`, `"leaky_relu"` or `"selu"`
-- @tparam[opt=0.01] number slope of the leaky relu below 0
-- @treturn number
-- @raise for another name
-- @usage heed.nn.init.calculate_gain("leaky_relu", 0.2) --> 1.3868
function init.calculate_gain(nonlinearity, slope)
  slope = slope == nil and 0.01 or
    check.number("calculate_gain", "slope", slope)
  return gain_of("calculate_gain", nonlinearity, slope)
end

-- -- by the number of inputs and outputs -------------------------------------

local GAIN <const> = {gain = 1.0, generator = check.NONE}

--- Uniform, with the variance 2 gain^2 / (fan in + fan out)
-- (Glorot and Bengio, 2010).
-- @param t float tensor [out in ...]
-- @tparam[opt] table options `gain`, 1 by default; `generator`
-- @return t
-- @usage nn.init.xavier_uniform_(nn.Linear(4, 8).weight)
function init.xavier_uniform_(t, options)
  local o = with_gain("xavier_uniform_", options, GAIN)
  local fan_in, fan_out = fans("xavier_uniform_", t)
  local bound = 3.0 ^ 0.5 * o.gain * (2.0 / (fan_in + fan_out)) ^ 0.5
  return uniform("xavier_uniform_", t, -bound, bound, o.generator)
end

--- Normal, with the variance 2 gain^2 / (fan in + fan out).
-- @param t float tensor [out in ...]
-- @tparam[opt] table options `gain`, 1 by default; `generator`
-- @return t
-- @usage nn.init.xavier_normal_(nn.Linear(4, 8).weight, {gain = 5 / 3})
function init.xavier_normal_(t, options)
  local o = with_gain("xavier_normal_", options, GAIN)
  local fan_in, fan_out = fans("xavier_normal_", t)
  return normal("xavier_normal_", t, 0.0,
    o.gain * (2.0 / (fan_in + fan_out)) ^ 0.5, o.generator)
end

local SLOPE <const> = {
  a = 0.0, mode = "fan_in", nonlinearity = "leaky_relu", generator = check.NONE,
}

-- The standard deviation of He et al. (2015) for leaky relu of slope a, or
-- another activation.
local function kaiming_std(func, t, o)
  local gain = gain_of(func, o.nonlinearity, check.number(func, "a", o.a))
  local fan_in, fan_out = fans(func, t)
  if o.mode ~= "fan_in" and o.mode ~= "fan_out" then
    check.fail('%s: mode must be "fan_in" or "fan_out", got %s', func,
      check.show(o.mode))
  end
  local fan = o.mode == "fan_in" and fan_in or fan_out
  return gain / fan ^ 0.5
end

--- Uniform, with the variance 2 / ((1 + a^2) fan), for layers before a relu,
-- or a leaky one of slope a (He et al., 2015).
-- @param t float tensor [out in ...]
-- @tparam[opt] table options `a`, 0 by default; `mode`, `"fan_in"` (default)
-- or `"fan_out"`; `nonlinearity`, whose gain counts (`calculate_gain`),
-- `"leaky_relu"` of slope a by default; `generator`
-- @return t
-- @usage nn.init.kaiming_uniform_(nn.Linear(4, 8).weight, {a = 0.2})
function init.kaiming_uniform_(t, options)
  local o = check.options("kaiming_uniform_", options, SLOPE)
  local bound = 3.0 ^ 0.5 * kaiming_std("kaiming_uniform_", t, o)
  return uniform("kaiming_uniform_", t, -bound, bound, o.generator)
end

--- Normal, with the variance 2 / ((1 + a^2) fan).
-- @param t float tensor [out in ...]
-- @tparam[opt] table options as for `kaiming_uniform_`
-- @return t
-- @usage nn.init.kaiming_normal_(nn.Conv2d(3, 8, 3).weight, {mode = "fan_out"})
function init.kaiming_normal_(t, options)
  local o = check.options("kaiming_normal_", options, SLOPE)
  return normal("kaiming_normal_", t, 0.0,
    kaiming_std("kaiming_normal_", t, o), o.generator)
end

-- The inverse of erf: Winitzki's approximation, made exact by Newton's steps.
local function inverse_erf(y)
  local k <const> = 0.147
  local last <const> = 1 - 2.0 ^ -53 -- at 1 itself the inverse is infinite
  y = y:clamp(-last, last)
  local w = ((1 - y) * (1 + y)):log()
  local t = w / 2 + 2 / (math.pi * k)
  local x = ((t * t - w / k):sqrt() - t):sqrt() * y:sign()
  for _ = 1, 4 do
    local slope = (x * -x):exp() * (2 / math.pi ^ 0.5)
    x = x - (x:erf() - y) / slope
  end
  return x
end

-- The part of the normal distribution below x.
local function normal_below(x)
  local t = core.tensor(x / 2.0 ^ 0.5, {dtype = "float64"})
  return (1 + t:erf():item()) / 2
end

--- Numbers of the normal distribution, drawn again outside of [low, high]: by
-- the inverse of the distribution, one draw each, as in PyTorch 1.13; PyTorch
-- 2.13 draws again instead, and so gives other numbers after the same seed.
-- @param t float tensor
-- @tparam[opt=0] number mean
-- @tparam[opt=1] number std above 0
-- @tparam[opt=-2] number low
-- @tparam[opt=2] number high
-- @tparam[opt] table options `generator`
-- @return t
-- @raise when std is not above 0, or high is below low
-- @usage nn.init.trunc_normal_(nn.Linear(4, 8).weight, 0, 0.02)
function init.trunc_normal_(t, mean, std, low, high, options)
  local name <const> = "trunc_normal_"
  mean, std, low, high = mean or 0.0, std or 1.0, low or -2.0, high or 2.0
  check.tensor(name, "t", t)
  check.number(name, "mean", mean)
  check.number(name, "low", low)
  check.number(name, "high", high, low)
  if check.number(name, "std", std) <= 0 then
    check.fail("%s: std must be above 0, got %g", name, std)
  end
  local from = 2 * normal_below((low - mean) / std) - 1
  local to = 2 * normal_below((high - mean) / std) - 1
  uniform(name, t, from, to, generator_of(name, options))
  local _ <close> = core.no_grad()
  local x = inverse_erf(t:to("float64")) * (std * 2.0 ^ 0.5) + mean
  return ops.copy_(t, x:clamp(low, high))
end

-- -- matrices of a kind ------------------------------------------------------

local function want_matrix(func, t)
  check.tensor(func, "t", t)
  if t.ndim ~= 2 then
    check.fail("%s: t must have 2 dimensions, got %s", func,
      check.shape(t.shape))
  end
end

--- Ones on the diagonal, zeros elsewhere: a linear layer that gives its input.
-- @param t tensor [out in]
-- @return t
-- @usage nn.init.eye_(nn.Linear(2, 2).weight) --> 1 0 0 1
function init.eye_(t)
  want_matrix("eye_", t)
  local _ <close> = core.no_grad()
  return ops.copy_(t, ops.eye(t:size(1), t:size(2), t.dtype))
end

--- Ones in the middle of the filters from channel i to channel i, zeros
-- elsewhere: a convolution that gives its input.
-- @param t tensor [out in k], [out in k k] or [out in k k k]
-- @tparam[opt=1] integer groups of output channels, each of which starts from
-- the first input channel
-- @return t
-- @raise when groups do not divide the output channels
-- @usage nn.init.dirac_(nn.Conv1d(1, 1, 3).weight) --> 0 1 0
function init.dirac_(t, groups)
  check.tensor("dirac_", "t", t)
  groups = groups == nil and 1 or check.integer("dirac_", "groups", groups, 1)
  local shape = t.shape
  if #shape < 3 or #shape > 5 then
    check.fail("dirac_: t must have 3, 4 or 5 dimensions, got %s",
      check.shape(shape))
  end
  if shape[1] % groups ~= 0 then
    check.fail("dirac_: groups must divide the %d output channels of t %s, " ..
      "got %d", shape[1], check.shape(shape), groups)
  end
  init.zeros_(t)
  if t:numel() == 0 then return t end
  local _ <close> = core.no_grad()
  local middle = t
  for d = #shape, 3, -1 do
    middle = ops.select(middle, d, shape[d] // 2 + 1)
  end
  local rows = shape[1] // groups
  for first = 1, shape[1], rows do
    for i = 1, math.min(rows, shape[2]) do
      ops.fill_(ops.select(ops.select(middle, 1, first + i - 1), 1, i), 1)
    end
  end
  return t
end

--- An orthogonal matrix: rows, or columns where there are fewer, have length 1
-- and stand at right angles (Saxe et al., 2014). It is the Q of the QR
-- decomposition of normal numbers, with R's diagonal made positive.
-- @param t float tensor [out ..]; dimensions behind the first count as one
-- @tparam[opt] table options `gain`, 1 by default, times the matrix;
-- `generator`
-- @return t
-- @raise when t has less than 2 dimensions
-- @usage nn.init.orthogonal_(nn.RNNCell(4, 8).weight_hh)
function init.orthogonal_(t, options)
  local o = with_gain("orthogonal_", options, GAIN)
  check.tensor("orthogonal_", "t", t)
  local shape = t.shape
  if #shape < 2 then
    check.fail("orthogonal_: t must have at least 2 dimensions, got %s",
      check.shape(shape))
  end
  if t:numel() == 0 then return t end
  local _ <close> = core.no_grad()
  local rows = shape[1]
  local flat = ops.zeros({rows, t:numel() // rows}, {dtype = t.dtype})
  normal("orthogonal_", flat, 0.0, 1.0, o.generator)
  local wide = rows < flat:size(2)
  local q, r = ops.qr(wide and ops.transpose(flat, 1, 2) or flat)
  q = ops.mul(q, ops.sign(ops.diagonal(r)))
  if wide then q = ops.transpose(q, 1, 2) end
  return ops.copy_(t, ops.mul(ops.reshape(q, shape), o.gain))
end

--- Normal numbers, with the same share of zeros in each column, at random
-- places (Martens, 2010).
-- @param t float tensor [out in]
-- @tparam number sparsity the share of zeros, from 0 to 1
-- @tparam[opt=0.01] number std
-- @tparam[opt] table options `generator`
-- @return t
-- @usage nn.init.sparse_(nn.Linear(4, 10).weight, 0.9)
function init.sparse_(t, sparsity, std, options)
  want_matrix("sparse_", t)
  check.number("sparse_", "sparsity", sparsity, 0, 1)
  local generator = generator_of("sparse_", options)
  normal("sparse_", t, 0.0, std or 0.01, generator)
  local rows, columns = t:size(1), t:size(2)
  local zeros = math.ceil(sparsity * rows)
  local _ <close> = core.no_grad()
  for column = 1, rows > 0 and columns or 0 do
    local order = ops.randperm(rows, generator)
    if zeros > 0 then
      ops.index_fill_(ops.select(t, 2, column), 1,
        ops.slice(order, 1, 1, zeros), 0)
    end
  end
  return t
end

return init
