--[[
How long do products, einsum and decompositions take? See bench/harness.lua.

    heed bench/linalg.lua [threads]
    python bench/linalg_torch.py [threads]
]]

local heed = require "heed"
local linalg <const>, einsum <const> = heed.linalg, heed.einsum

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

local cases <const> = {
  {"einsum, tiny scores",
    function() return einsum("bhqd,bhkd->bhqk", q0, k0) end, count = 2000},
  {"matmul, tiny scores",
    function() return q0:matmul(k0:transpose()) end, count = 2000},
  {"einsum, 3 tiny",
    function() return einsum("ij,jk,kl->il", small) end, count = 2000},
  {"einsum bhqd,bhkd->bhqk",
    function() return einsum("bhqd,bhkd->bhqk", q, k) end, count = 5},
  {"einsum bhqk,bhkd->bhqd",
    function() return einsum("bhqk,bhkd->bhqd", w, k) end, count = 5},
  {"einsum bqhd,bkhd->bhqk",
    function() return einsum("bqhd,bkhd->bhqk", qt, kt) end, count = 5},
  {"bmm 1000 of 8",
    function() return ones:bmm(ones) end, count = 10},
  {"addmm 256",
    function() return heed.addmm(b, a, b) end, count = 20},
  {"solve 256",
    function() return linalg.solve(a, b) end, count = 10},
  {"inv 256",
    function() return linalg.inv(a) end, count = 5},
  {"cholesky 256",
    function() return linalg.cholesky(p) end, count = 20},
  {"qr 256",
    function() return linalg.qr(a) end, count = 3},
  {"svd 256",
    function() return linalg.svd(a) end, count = 1},
  {"svdvals 256",
    function() return linalg.svdvals(a) end, count = 1},
  {"eigh 256",
    function() return linalg.eigh(p) end, count = 1},
  {"lstsq 256",
    function() return linalg.lstsq(a, b) end, count = 1},
  {"solve 1000 of 4",
    function() return linalg.solve(few, few) end, count = 5},
  {"inv 1000 of 4",
    function() return linalg.inv(few) end, count = 5},
  {"det 1000 of 4",
    function() return linalg.det(few) end, count = 5},
  {"cdist 500 400",
    function() return x:cdist(y) end, count = 3},
  {"norm",
    function() return long:norm() end, count = 20},
  {"norm of rows",
    function() return long:norm(2, 2) end, count = 20},
  {"norm of columns",
    function() return long:norm(2, 1) end, count = 20},
}

dofile "bench/harness.lua"(cases)
