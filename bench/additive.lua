--[[
Additive and linear attention. Cases named `forward` run without a graph,
`both` with the backward pass. See bench/harness.lua; with `memory` as the
second argument it prints what the additive passes hold at most beside their
inputs.

    heed bench/additive.lua [threads]
    heed bench/additive.lua [threads] memory
    python bench/additive_torch.py [threads]
]]

local heed = require "heed"
local F <const> = heed.nn.functional

local function inputs(...)
  local list = {}
  for i, shape in ipairs {...} do
    list[i] = heed.randn(shape, {requires_grad = true})
  end
  return list
end

local cases <const> = {}

-- A case forward, and one with its backward pass.
local function add(name, list, run)
  cases[#cases + 1] = {name .. ", forward", function()
    local _ <close> = heed.no_grad()
    return run(table.unpack(list))
  end}
  cases[#cases + 1] = {name .. ", both", function()
    for _, x in ipairs(list) do x.grad = nil end
    run(table.unpack(list)):sum():backward()
  end}
end

heed.manual_seed(1)
local size <const> = {8, 256, 128}
local words <const> = inputs(size, size, size, {128})
local lens <const> = heed.arange(32, 256, 32)
add("additive", words, F.additive_attention)
add("additive, lengths 32 to 256", words, function(q, k, v, w)
  return F.additive_attention(q, k, v, w, {valid_lens = lens})
end)

for _, length in ipairs {8000, 16000} do
  local long <const> = {1, 8, length, 64}
  local list <const> = inputs(long, long, long)
  add("linear " .. length, list, F.linear_attention)
  add("linear causal " .. length, list, function(q, k, v)
    return F.linear_attention(q, k, v, {causal = true})
  end)
end

if arg[2] ~= "memory" then return dofile "bench/harness.lua"(cases) end
for i = 1, 4 do
  collectgarbage()
  local before <const> = heed.memory_stats().used
  heed.memory_reset_peak()
  cases[i][2]()
  print(("%-36s %8.2f MiB"):format(cases[i][1],
    (heed.memory_stats().peak - before) / 2 ^ 20))
end
