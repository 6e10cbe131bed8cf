--[[
How long does attention take? See bench/harness.lua; bench/attention_torch.py
also tells how near that is to what the cores can do.

    heed bench/attention.lua [threads]
    python bench/attention_torch.py [threads]

Names are "batch heads time size", then what is done: forward, or forward and
backward ("both"). Few queries are in bench/decode.lua, other kinds of attention
in bench/additive.lua, products of matrices in bench/matmul.lua.
]]

local heed = require "heed"
local F <const> = heed.nn.functional

heed.manual_seed(1)

local cases <const> = {}

local SHAPES <const> = {
  {32, 8, 10, 32, count = 100}, {8, 8, 128, 64, count = 5},
  {4, 8, 512, 64}, {1, 8, 2048, 64}, {1, 8, 2048, 128}, {1, 8, 8192, 64},
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

-- Lengths that run evenly from T / 8 to T: as a batch that is padded, as packed
-- sequences, and one call after the other.
for _, shape in ipairs {{8, 8, 128, 64}, {8, 8, 512, 64}} do
  local b <const>, h <const>, t <const>, d <const> = table.unpack(shape)
  local name <const> = table.concat(shape, " ")
  local lengths <const>, ends <const>, alone <const> = {}, {0}, {}
  for i = 1, b do
    lengths[i] = t * i // b
    ends[i + 1] = ends[i] + lengths[i]
    alone[i] = {heads(1, h, lengths[i], d), heads(1, h, lengths[i], d),
      heads(1, h, lengths[i], d)}
  end
  add(name .. " padded", shape, {valid_lens = heed.tensor(lengths)})
  add(name .. " packed", {1, h, ends[#ends], d},
    {cu_seqlens = heed.tensor(ends)})
  cases[#cases + 1] = {name .. " one by one", function()
    for _, one in ipairs(alone) do
      local _ <close> =
        F.scaled_dot_product_attention(one[1], one[2], one[3])
    end
  end}
end

for _, t in ipairs {4096, 8192} do
  add(("1 8 %d 64 window 256"):format(t), {1, 8, t, 64},
    {causal = true, window = 256})
end

dofile "bench/harness.lua"(cases)
