--[[
What a call costs, on tensors so small that the work is nothing: see
bench/harness.lua.

    heed bench/dispatch.lua [threads]
    python bench/dispatch_torch.py [threads]
]]

local heed = require "heed"
local F <const> = heed.nn.functional

local a <const>, b <const> = heed.ones {4}, heed.ones {4}
local m <const> = heed.ones {4, 4}
local g <const> = heed.ones({4}, {requires_grad = true})

local cases <const> = {
  {"a + b", function() return a + b end},
  {"a * 2.5", function() return a * 2.5 end},
  {"a:add_(b)", function() return a:add_(b) end},
  {"a:exp()", function() return a:exp() end},
  {"a:relu()", function() return a:relu() end},
  {"a:gt(b)", function() return a:gt(b) end},
  {"a:sum()", function() return a:sum() end},
  {"m:sum(-1)", function() return m:sum(-1) end},
  {"a:reshape(2, 2)", function() return a:reshape(2, 2) end},
  {"m:transpose(1, 2)", function() return m:transpose(1, 2) end},
  {"m[1]", function() return m[1] end},
  {"m:softmax(-1)", function() return m:softmax(-1) end},
  {"m:matmul(m)", function() return m:matmul(m) end},
  {"zeros{4}", function() return heed.zeros {4} end},
  {"a:sum():item()", function() return a:sum():item() end},
  {"a:size(1)", function() return a:size(1) end},
  {"recording g + b", function() return g + b end},
  {"recording g * b", function() return g * b end},
  {"recording g:exp()", function() return g:exp() end},
  {"recording F.gelu(g)", function() return F.gelu(g) end},
  {"forward and backward", function()
    (g * b):sum():backward()
    g.grad = nil
  end},
}
for _, case in ipairs(cases) do case.count = 4000 end

dofile "bench/harness.lua"(cases)
