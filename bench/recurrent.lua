--[[
Recurrent layers over whole sequences. Cases named `forward` run without a
graph, `both` with the backward pass. See bench/harness.lua.

    heed bench/recurrent.lua [threads]
    python bench/recurrent_torch.py [threads]
]]

local heed = require "heed"
local nn <const> = heed.nn

local cases <const> = {}

local function add(name, layer, x, options)
  cases[#cases + 1] = {name .. ", forward", function()
    local _ <close> = heed.no_grad()
    return (layer(x, nil, options))
  end}
  cases[#cases + 1] = {name .. ", both", function()
    layer:zero_grad()
    x.grad = nil
    layer(x, nil, options):sum():backward()
  end}
end

heed.manual_seed(1)
local function words(batch, steps, width)
  return heed.randn({batch, steps, width}, {requires_grad = true})
end

-- batch 64, 32 steps, 256 -> 256
local x <const> = words(64, 32, 256)
for _, kind in ipairs {"LSTM", "GRU", "RNN"} do
  add(kind, nn[kind](256, 256), x)
end
add("LSTM, 2 layers, both ways", nn.LSTM(256, 256,
  {num_layers = 2, bidirectional = true}), x)
add("LSTM, lengths 1 to 32", nn.LSTM(256, 256), x,
  {valid_lens = heed.arange(0, 63) // 2 + 1})
add("LSTM, 1 sequence", nn.LSTM(256, 256), words(1, 32, 256))
add("LSTM, 512 wide", nn.LSTM(512, 512), words(32, 32, 512))

dofile "bench/harness.lua"(cases)
