--- Averages of weights over the steps of a training: often better than the last
-- weights.
--
--     local average = optim.ExponentialMovingAverage(net:parameters())
--     for ... do
--       optimizer:step()
--       average:update()
--     end
--     average:use(function() evaluate(net) end)
--
-- An average sees a list of tensors and nothing of the network; buffers, such
-- as those of batch normalisation, may be in the list too.

local check = require "heed.check"
local core = require "heed.core"
local read_params = require "heed.optim.params"

local joint_lerp_ <const>, copy_ <const> = core.ops.joint_lerp_, core.ops.copy_

local Average = {}
Average.__index = Average
Average.__name = "Average"

local FLOATS <const> = {float32 = true, float64 = true}

-- weight(n): the part of a new value in an average of n values before it.
local function make(name, params, weight)
  read_params(name, params)
  if #params == 0 then check.fail("%s: params is empty", name) end
  local self = setmetatable({params = {}, averages = {}, count = 0,
    weight = weight}, Average)
  for i, p in ipairs(params) do
    if not check.is_tensor(p) or not FLOATS[p.dtype] then
      check.fail("%s: params[%d] must be a float32 or float64 tensor, got %s",
        name, i, check.show(p))
    end
    self.params[i], self.averages[i] = p, p:detach():clone()
  end
  return self
end

-- to[i] = from[i]
local function copy_all(to, from)
  local _ <close> = core.no_grad()
  for i, t in ipairs(to) do copy_(t, from[i]) end
end

--- Takes the weights of now into the average; the first time they are the
-- average.
-- @usage
-- local w = heed.ones({2}, {requires_grad = true})
-- local average = optim.ExponentialMovingAverage({w}, {decay = 0.9})
-- average:update() -- behind each optimizer:step()
function Average:update()
  local n = #self.params
  if self.count == 0 then
    copy_all(self.averages, self.params)
  else
    local _ <close> = core.no_grad()
    local tensors = table.move(self.averages, 1, n, 1, {})
    table.move(self.params, 1, n, n + 1, tensors)
    joint_lerp_(tensors, self.weight(self.count))
  end
  self.count = self.count + 1
end

--- Writes the averages into the parameters.
-- @usage
-- local w = heed.ones({1}, {requires_grad = true})
-- local average = optim.StochasticWeightAverage {w}
-- average:update()
-- heed.no_grad(w.fill_, w, 3)
-- average:update()
-- average:copy_to()
-- return w --> 2
function Average:copy_to() copy_all(self.params, self.averages) end

--- Runs a function with the averages in the place of the parameters, which come
-- back afterwards, also when it raises.
-- @tparam function f
-- @return what f returns
-- @usage
-- local average = optim.ExponentialMovingAverage(net:parameters())
-- average:update()
-- local y = average:use(function() return net(heed.randn(2, 4)) end)
function Average:use(f, ...)
  check.callable("use", "f", f)
  local kept = {}
  for i, p in ipairs(self.params) do kept[i] = p:detach():clone() end
  local _ <close> = setmetatable({}, {
    __close = function() copy_all(self.params, kept) end,
  })
  self:copy_to()
  return f(...)
end

--- Count and averages, for saving. Tensors share memory with the average's.
-- @treturn table `settings`: `count`; `tensors`: by their number, as text
-- @usage
-- local average = optim.ExponentialMovingAverage(net:parameters())
-- average:update()
-- return average:state_dict().settings.count --> 1
function Average:state_dict()
  local tensors = {}
  for i, t in ipairs(self.averages) do tensors[tostring(i)] = t end
  return {settings = {count = self.count}, tensors = tensors}
end

--- Takes over count and averages, as copies. Nothing is changed when it raises.
-- @tparam table state from `state_dict` of an average of as many tensors
-- @raise when the state has other tensors
-- @usage
-- local average = optim.ExponentialMovingAverage(net:parameters())
-- average:update()
-- average:load_state_dict(average:state_dict())
function Average:load_state_dict(state)
  local name <const> = "load_state_dict"
  check.kind(name, "state", state, "table")
  check.kind(name, "settings", state.settings, "table")
  check.kind(name, "tensors", state.tensors, "table")
  local count = check.integer(name, "count", state.settings.count, 0)
  local given = {}
  for i, t in ipairs(self.averages) do
    local got = state.tensors[tostring(i)]
    local shape = check.shape(t.shape)
    if not check.is_tensor(got) or check.shape(got.shape) ~= shape then
      check.fail("load_state_dict: tensor %d must be %s, got %s", i, shape,
        check.is_tensor(got) and check.shape(got.shape) or check.show(got))
    end
    given[i] = got
  end
  if state.tensors[tostring(#given + 1)] ~= nil then
    check.fail("load_state_dict: the state has more than %d tensors", #given)
  end
  copy_all(self.averages, given)
  self.count = count
end

local average = {}

--- Makes an average in which the past fades: average = decay * average +
-- (1 - decay) * p, begun by the first `update` (as torch's AveragedModel with
-- get_ema_multi_avg_fn).
-- @tparam table params list of float32 and float64 tensors
-- @tparam[opt] table options `decay`, 0.999 by default, from 0 to 1
-- @treturn table `averages`, a list of tensors, and the methods above
-- @usage optim.ExponentialMovingAverage(net:parameters(), {decay = 0.99})
function average.ExponentialMovingAverage(params, options)
  local name <const> = "ExponentialMovingAverage"
  local o = check.options(name, options, {decay = 0.999})
  local decay <const> = check.number(name, "decay", o.decay, 0, 1)
  return make(name, params, function() return 1 - decay end)
end

--- Makes an average in which all updates count alike (Izmailov et al., 2018; as
-- torch's AveragedModel).
-- @tparam table params list of float32 and float64 tensors
-- @treturn table as that of `ExponentialMovingAverage`
-- @usage optim.StochasticWeightAverage(net:parameters())
function average.StochasticWeightAverage(params)
  return make("StochasticWeightAverage", params, function(n)
    return 1 / (n + 1)
  end)
end

return average
