--[[
How long does attention of few queries to a long cache take? Its keys and
values have to be read once, so that it can at most be as fast as the memory
that they lie in: bench/decode_torch.py tells how near it comes. See
bench/harness.lua.

    heed bench/decode.lua [threads]
    python bench/decode_torch.py [threads]

Names are "queries of keys, batch B, heads / kv_heads, size".
]]

local heed = require "heed"
local attend <const> = heed.nn.functional.scaled_dot_product_attention

heed.manual_seed(1)

-- batch, heads, kv_heads, queries, keys, size
local SHAPES <const> = {
  {1, 8, 8, 1, 4096, 64}, {1, 8, 8, 8, 4096, 64}, {1, 8, 8, 1, 4096, 128},
  {1, 8, 8, 1, 16384, 64}, {1, 8, 8, 8, 16384, 64}, {1, 8, 1, 1, 16384, 128},
  {1, 8, 2, 1, 16384, 128}, {8, 8, 8, 1, 4096, 64}, {8, 8, 2, 1, 4096, 128},
}

local cases <const> = {}
for i, shape in ipairs(SHAPES) do
  local b <const>, h <const>, kv <const>, tq <const>, tk <const>,
    d <const> = table.unpack(shape)
  local q <const> = heed.randn({b, tq, h, d}):transpose(2, 3)
  local k <const> = heed.randn {b, kv, tk, d}
  local v <const> = heed.randn {b, kv, tk, d}
  cases[i] = {
    ("%d of %d, batch %d, heads %d / %d, %d"):format(tq, tk, b, h, kv, d),
    function() return attend(q, k, v) end,
    count = 2, drop = true, bytes = 8 * b * kv * tk * d,
  }
end

dofile "bench/harness.lua"(cases)
