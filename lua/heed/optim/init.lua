--- optim: optimisers, schedules of their rates, clipping of gradients, averages
-- of weights.
--
--     local optimizer = optim.AdamW(net:parameters(), {lr = 1e-3})
--     optimizer:zero_grad()
--     loss:backward()
--     optim.clip_grad_norm_(net:parameters(), 1.0)
--     optimizer:step()

require "heed" -- tensors have their methods and operators from there

local adam = require "heed.optim.adam"
local average = require "heed.optim.average"
local clip = require "heed.optim.clip"
local plateau = require "heed.optim.plateau"

local optim = {
  Adafactor = require "heed.optim.adafactor",
  Adagrad = require "heed.optim.adagrad",
  Adam = adam.Adam,
  AdamW = adam.AdamW,
  Adamax = require "heed.optim.adamax",
  LAMB = require "heed.optim.lamb",
  Lion = require "heed.optim.lion",
  RMSprop = require "heed.optim.rmsprop",
  SGD = require "heed.optim.sgd",
  clip_grad_norm_ = clip.clip_grad_norm_,
  clip_grad_value_ = clip.clip_grad_value_,
  ExponentialMovingAverage = average.ExponentialMovingAverage,
  StochasticWeightAverage = average.StochasticWeightAverage,
  ReduceLROnPlateau = plateau.ReduceLROnPlateau,
}

for _, part in ipairs {"decay", "warmup", "one_cycle", "joined"} do
  for name, schedule in pairs(require("heed.optim." .. part)) do
    optim[name] = schedule
  end
end

return optim
