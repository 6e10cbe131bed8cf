--[[
How long do products of matrices take? See bench/harness.lua;
bench/matmul_torch.py also tells how near that is to what the cores can do.

    heed bench/matmul.lua [threads]
    python bench/matmul_torch.py [threads]

Names are "m k n" of an (m, k) by a (k, n) product, or "b x m k n" of a batch.
"a b^T" has b as a linear layer keeps its weight, "a^T b" a as the gradient of
that weight reads it.
]]

local heed = require "heed"

heed.manual_seed(1)

local cases <const> = {}

-- Short ones are timed some at a time, large ones alone.
local function count_for(flops)
  if flops > 400000000 then return 1 end
  return math.max(2, math.min(500, 40000000 // flops))
end

local function add(name, flops, run)
  cases[#cases + 1] = {name, run, count = count_for(flops), drop = true}
end

local function add_layouts(m, k, n)
  local name <const> = ("%d %d %d"):format(m, k, n)
  local flops <const> = 2 * m * k * n
  local a <const>, b <const> = heed.randn {m, k}, heed.randn {k, n}
  local b_turned <const> = heed.randn({n, k}):transpose(1, 2)
  local a_turned <const> = heed.randn({k, m}):transpose(1, 2)
  add(name, flops, function() return a:matmul(b) end)
  add(name .. " a b^T", flops, function() return a:matmul(b_turned) end)
  add(name .. " a^T b", flops, function() return a_turned:matmul(b) end)
end

for _, n in ipairs {64, 96, 100, 128, 192, 256, 384, 512, 768, 1000, 1024,
                    1536, 2048} do
  add_layouts(n, n, n)
end
add_layouts(4096, 512, 512)
for _, m in ipairs {1, 2, 4, 5, 8, 16} do add_layouts(m, 512, 512) end

for _, size in ipairs {{512, 10, 32, 10}, {512, 10, 10, 32}, {64, 64, 64, 64},
                       {32, 128, 64, 128}} do
  local batch <const>, m <const>, k <const>, n <const> = table.unpack(size)
  local a <const> = heed.randn {batch, m, k}
  local b <const> = heed.randn {batch, k, n}
  add(("%d x %d %d %d"):format(batch, m, k, n), 2 * batch * m * k * n,
      function() return a:matmul(b) end)
end

dofile "bench/harness.lua"(cases)
