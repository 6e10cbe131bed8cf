--[[
How long do products, einsum and decompositions take? Prints microseconds for
each case.

    heed bench/linalg.lua [threads]

With `serve` as the second argument it reads the name of a case a line and
answers with the seconds of one run: so bench/linalg_torch.py asks.
]]

local heed = require "heed"
local linalg <const>, einsum <const> = heed.linalg, heed.einsum

local THREADS <const> = math.tointeger(tonumber(arg[1] or 2))
local ROUNDS <const> = 7

heed.set_num_threads(THREADS)
heed.manual_seed(1)
local q0 <const>, k0 <const> = heed.randn {1, 2, 4, 8}, heed.randn {1, 2, 4, 8}
local small <const> = {}
for i = 1, 3 do small[i] = heed.randn {4, 4} end
local q <const> = heed.randn {8, 8, 128, 64}
local k <const> = heed.randn {8, 8, 128, 64}
local w <const> = heed.randn {8, 8, 128, 128}
local qt <const> = heed.randn {8, 128, 8, 64}
local kt <const> = heed.randn {8, 128, 8, 64}
local a <const>, b <const> = heed.randn {256, 256}, heed.randn {256, 64}
local p <const> = a:matmul(a:transpose()) + heed.eye(256) * 10
local few <const> = heed.randn {1000, 4, 4} + heed.eye(4) * 4
local ones <const> = heed.ones(1000, 8, 8)
local x <const>, y <const> = heed.randn {500, 64}, heed.randn {400, 64}
local long <const> = heed.randn {1000, 1000}

-- Name, runs that are timed together, what is done.
local cases <const> = {
  {"einsum, tiny scores", 2000,
    function() return einsum("bhqd,bhkd->bhqk", q0, k0) end},
  {"matmul, tiny scores", 2000,
    function() return q0:matmul(k0:transpose()) end},
  {"einsum, 3 tiny", 2000, function() return einsum("ij,jk,kl->il", small) end},
  {"einsum bhqd,bhkd->bhqk", 5,
    function() return einsum("bhqd,bhkd->bhqk", q, k) end},
  {"einsum bhqk,bhkd->bhqd", 5,
    function() return einsum("bhqk,bhkd->bhqd", w, k) end},
  {"einsum bqhd,bkhd->bhqk", 5,
    function() return einsum("bqhd,bkhd->bhqk", qt, kt) end},
  {"bmm 1000 of 8", 10, function() return ones:bmm(ones) end},
  {"addmm 256", 20, function() return heed.addmm(b, a, b) end},
  {"solve 256", 10, function() return linalg.solve(a, b) end},
  {"inv 256", 5, function() return linalg.inv(a) end},
  {"cholesky 256", 20, function() return linalg.cholesky(p) end},
  {"qr 256", 3, function() return linalg.qr(a) end},
  {"svd 256", 1, function() return linalg.svd(a) end},
  {"svdvals 256", 1, function() return linalg.svdvals(a) end},
  {"eigh 256", 1, function() return linalg.eigh(p) end},
  {"lstsq 256", 1, function() return linalg.lstsq(a, b) end},
  {"solve 1000 of 4", 5, function() return linalg.solve(few, few) end},
  {"inv 1000 of 4", 5, function() return linalg.inv(few) end},
  {"det 1000 of 4", 5, function() return linalg.det(few) end},
  {"cdist 500 400", 3, function() return x:cdist(y) end},
  {"norm", 20, function() return long:norm() end},
  {"norm of rows", 20, function() return long:norm(2, 2) end},
  {"norm of columns", 20, function() return long:norm(2, 1) end},
}

-- Seconds of one run of a case.
local function seconds(case)
  local count <const>, run <const> = case[2], case[3]
  local start <const> = heed.core.time()
  for _ = 1, count do run() end
  return (heed.core.time() - start) / count
end

if arg[2] == "serve" then
  local by_name <const> = {}
  for _, case in ipairs(cases) do by_name[case[1]] = case end
  for name in io.lines() do
    io.write(("%.9f\n"):format(seconds(by_name[name])))
    io.flush()
  end
  return
end

for _, case in ipairs(cases) do
  local best = math.huge
  for _ = 1, ROUNDS do best = math.min(best, seconds(case)) end
  print(("%-24s %10.1f us"):format(case[1], best * 1e6))
end
