--[[
How fast do elementwise functions go over large tensors? Most should move
memory at the rate of the copy: see bench/harness.lua.

    heed bench/elementwise.lua [threads]
    python bench/elementwise_torch.py [threads]
]]

local heed = require "heed"
local F <const> = heed.nn.functional

local N <const> = 4096 -- tensors are N x N: 64 MiB of float32

heed.manual_seed(1)
local x <const>, y <const> = heed.randn {N, N}, heed.randn {N, N}
local positive <const> = heed.rand({N, N}) + 0.1
local row <const>, column <const> = heed.randn {N}, heed.randn {N, 1}
local turned <const> = heed.randn({N, N}):transpose()
local mask <const> = x:gt(0)
local whole <const> = heed.randint(1, 100, {N, N}):to "int32"
local small <const> = heed.randn {64, 64}

-- Name, floats (4 bytes) read and written for each element, what is done.
local cases <const> = {
  {"copy", 2, function() return x:clone() end},
  {"add", 3, function() return x + y end},
  {"add number", 2, function() return x + 1.5 end},
  {"add row", 2, function() return x + row end},
  {"add column", 2, function() return x + column end},
  {"mul", 3, function() return x * y end},
  {"div", 3, function() return x / y end},
  {"mul_", 2, function() y:mul_(1.0) end},
  {"relu", 2, function() return x:relu() end},
  {"maximum", 3, function() return x:maximum(y) end},
  {"clamp", 2, function() return x:clamp(-1, 1) end},
  {"lt", 2.25, function() return x:lt(y) end},
  {"where", 3.25, function() return heed.where(mask, x, y) end},
  {"masked_fill", 2.25, function() return x:masked_fill(mask, 0) end},
  {"to float64", 3, function() return x:to "float64" end},
  {"to int32", 2, function() return x:to "int32" end},
  {"to bfloat16", 1.5, function() return x:to "bfloat16" end},
  {"int32 to float32", 2, function() return whole:to "float32" end},
  {"exp", 2, function() return x:exp() end},
  {"log", 2, function() return positive:log() end},
  {"tanh", 2, function() return x:tanh() end},
  {"sigmoid", 2, function() return x:sigmoid() end},
  {"erf", 2, function() return x:erf() end},
  {"sin", 2, function() return x:sin() end},
  {"gelu", 2, function() return F.gelu(x) end},
  {"silu", 2, function() return F.silu(x) end},
  {"softplus", 2, function() return F.softplus(x) end},
  {"mish", 2, function() return F.mish(x) end},
  {"elu", 2, function() return F.elu(x) end},
  {"expm1", 2, function() return x:expm1() end},
  {"log1p", 2, function() return positive:log1p() end},
  {"atan", 2, function() return x:atan() end},
  {"tan", 2, function() return x:tan() end},
  {"sinh", 2, function() return x:sinh() end},
  {"erfc", 2, function() return x:erfc() end},
  {"pow 2", 2, function() return x:pow(2) end},
  {"pow 2.5", 2, function() return positive:pow(2.5) end},
  {"pow tensor", 3, function() return positive:pow(y) end},
  {"atan2", 3, function() return x:atan2(y) end},
  {"lerp", 3, function() return x:lerp(y, 0.3) end},
  {"contiguous of a transpose", 2, function() return turned:contiguous() end},
  {"exp of a transpose", 2, function() return turned:exp() end},
  {"add a transpose", 3, function() return x + turned end},
  {"add two transposes", 3, function() return turned + turned end},
  {"small add", 3, function() return small + small end, count = 2000},
  {"small exp", 2, function() return small:exp() end, count = 2000},
}
for _, case in ipairs(cases) do
  local elements <const> = case.count and small:numel() or x:numel()
  case[2], case[3], case.bytes = case[3], nil, 4 * case[2] * elements
  case.drop = case[1] ~= "mul_"
end

dofile "bench/harness.lua"(cases)
