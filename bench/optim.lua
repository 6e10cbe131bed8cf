--[[
How fast is a step of an optimiser over 20 M parameters in 200 tensors? It reads
and writes each of them, so it should move memory at its rate: the bytes of a
case are those of all tensors read and written. See bench/harness.lua.

    heed bench/optim.lua [threads]
    python bench/optim_torch.py [threads]
]]

local heed = require "heed"
local optim = require "heed.optim"

local TENSORS <const>, SIDE <const> = 200, 316 -- of 316 x 316
local N <const> = TENSORS * SIDE * SIDE

heed.manual_seed(1)

local function make(side)
  local params = {}
  for i = 1, TENSORS do
    local p = heed.randn {side, side}
    p.requires_grad = true
    p.grad = heed.randn {side, side}
    params[i] = p
  end
  return params
end

local params <const>, small <const> = make(SIDE), make(8)

-- Name, floats (4 bytes) read and written for each element, settings.
local list <const> = {
  {"AdamW", 7}, {"Adam", 7}, {"SGD", 3}, {"SGD momentum", 5, {momentum = 0.9}},
  {"Adamax", 7}, {"RMSprop", 5}, {"Adagrad", 5}, {"Lion", 5},
  {"LAMB", 11}, {"Adafactor", 6},
}

local cases <const> = {}
local name, step -- one state at a time: of all it would be a GB
local function run(case)
  if name ~= case[1] then
    name, step = case[1], nil
    local optimizer <const> = optim[name:match("%a+")](params, case[3])
    optimizer:step()
    step = function() optimizer:step() end
  end
  return step()
end

for i, case in ipairs(list) do
  cases[i] = {case[1], function() run(case) end, bytes = 4 * case[2] * N,
    count = 2}
end
local tiny <const> = optim.AdamW(small)
cases[#cases + 1] = {"AdamW, 200 of 8 x 8", function() tiny:step() end,
  count = 50}
local average <const> = optim.ExponentialMovingAverage(params)
cases[#cases + 1] = {"moving average", function() average:update() end,
  bytes = 12 * N}
cases[#cases + 1] = {"clip_grad_norm_", function()
  optim.clip_grad_norm_(params, 1e-3)
end, bytes = 12 * N}

dofile "bench/harness.lua"(cases)
