--[[
How long does attention take? See bench/harness.lua; bench/attention_torch.py
also tells how near that is to what the cores can do.

    heed bench/attention.lua [threads]
    python bench/attention_torch.py [threads]

Names are "batch heads time size", then what is done: forward, or forward and
backward ("both"). Padded batches have lengths that run evenly from T / 8 to T.
]]

local heed = require "heed"
local F <const> = heed.nn.functional

heed.manual_seed(1)

local cases <const> = {}

local SHAPES <const> = {
  {32, 8, 10, 32, count = 100}, {8, 8, 128, 64, count = 5},
  {4, 8, 512, 64}, {1, 8, 2048, 64}, {1, 8, 2048, 128},
}

-- One tensor laid out as a projection makes it, [B T H D] seen as [B H T D].
local function heads(b, h, t, d)
  return heed.randn({b, t, h, d}):transpose(2, 3)
end

local function leaf(b, h, t, d)
  return heed.randn({b, t, h, d}, {requires_grad = true})
end

-- Adds the cases of one shape and one description.
local function add(name, shape, options)
  local b <const>, h <const>, t <const>, d <const> = table.unpack(shape)
  local q <const> = heads(b, h, t, d)
  local k <const> = heads(b, h, t, d)
  local v <const> = heads(b, h, t, d)
  cases[#cases + 1] = {name, function()
    return F.scaled_dot_product_attention(q, k, v, options)
  end, count = shape.count, drop = true}
  local x <const>, y <const> = leaf(b, h, t, d), leaf(b, h, t, d)
  local z <const> = leaf(b, h, t, d)
  local up <const> = heed.randn {b, h, t, d}
  cases[#cases + 1] = {name .. " both", function()
    local out <const> = F.scaled_dot_product_attention(
      x:transpose(2, 3), y:transpose(2, 3), z:transpose(2, 3), options)
    out:backward(up)
    x.grad, y.grad, z.grad = nil, nil, nil
    return out
  end, count = shape.count, drop = true}
end

for _, shape in ipairs(SHAPES) do
  local name <const> = table.concat(shape, " ")
  add(name, shape, {})
  add(name .. " causal", shape, {causal = true})
end

for _, shape in ipairs {{8, 8, 128, 64}, {8, 8, 512, 64}} do
  local lengths <const> = {}
  local b <const>, t <const> = shape[1], shape[3]
  for i = 1, b do lengths[i] = t * i // b end
  add(table.concat(shape, " ") .. " padded", shape,
      {valid_lens = heed.tensor(lengths, {dtype = "int64"})})
end

for _, queries in ipairs {1, 8} do
  local q <const> = heads(1, 8, queries, 64)
  local k <const> = heed.randn {1, 8, 4096, 64}
  local v <const> = heed.randn {1, 8, 4096, 64}
  cases[#cases + 1] = {"decode " .. queries .. " of 4096", function()
    return F.scaled_dot_product_attention(q, k, v)
  end, count = 20, drop = true, bytes = 2 * 8 * 4096 * 64 * 4}
end

dofile "bench/harness.lua"(cases)
