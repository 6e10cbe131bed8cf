--[[
How fast are reductions, running sums and orders? A reduction should read at
the rate of memory, about that of the copy (which moves twice its bytes): see
bench/harness.lua.

    heed bench/reduce.lua [threads]
    python bench/reduce_torch.py [threads]
]]

local heed = require "heed"

heed.manual_seed(1)
local x <const> = heed.randn {4096, 4096}
local t <const>, line <const> = x:transpose(), x:flatten()
local y <const> = heed.zeros {4096, 4096}
local flags <const> = x:gt(0)
local whole <const> = (x * 100):to("int32")
local some <const> = heed.randn {1000000}
local rows <const> = heed.randn {10000, 100}
local ids <const> = heed.randint(1, 1000, {1000000})

local cases <const> = {
  {"copy", function() y:copy_(x) end, bytes = 2 << 26},
}

-- Cases that read all of x once.
local function reads(name, run, bytes)
  cases[#cases + 1] = {name, run, bytes = bytes or 1 << 26}
end

for _, name in ipairs {"sum", "amax", "argmax", "var"} do
  reads(name, function() return line[name](line) end)
  reads(name .. " of rows", function() return x[name](x, 2) end)
  reads(name .. " of columns", function() return x[name](x, 1) end)
end
reads("max of rows", function() return x:max(2) end)
reads("max of columns", function() return x:max(1) end)
reads("mean of rows", function() return x:mean(2) end)
reads("prod", function() return line:prod() end)
reads("logsumexp of rows", function() return x:logsumexp(2) end)
reads("sum, transposed", function() return t:sum() end)
reads("sum of rows, transposed", function() return t:sum(2) end)
reads("argmax of rows, transposed", function() return t:argmax(2) end)
reads("sum of int32 rows", function() return whole:sum(2) end)
reads("any of bools", function() return flags:any() end, 1 << 24)
reads("count_nonzero", function() return x:count_nonzero() end)
for _, name in ipairs {"cumsum", "cumprod", "cummax"} do
  reads(name .. " along rows", function() return x[name](x, 2) end)
  reads(name .. " along columns", function() return x[name](x, 1) end)
end

for _, case in ipairs {
  {"sort 10^6", function() return some:sort() end},
  {"sort 10^6 int64", function() return ids:sort() end},
  {"sort rows of 100", function() return rows:sort(2) end},
  {"sort columns", function() return rows:sort(1) end},
  {"topk 10 of 10^6", function() return some:topk(10) end},
  {"topk 10^5 of 10^6", function() return some:topk(100000) end},
  {"topk 5 of rows", function() return rows:topk(5) end},
  {"median 10^6", function() return some:median() end},
  {"median of rows", function() return rows:median(2) end},
  {"kthvalue 10^6", function() return some:kthvalue(1000) end},
  {"quantile 10^6", function() return some:quantile(0.3) end},
  {"mode of rows", function() return rows:mode(2) end},
  {"unique 10^6", function() return some:unique() end},
  {"unique 10^6 ids", function() return ids:unique() end},
  {"histc 10^6", function() return some:histc(100) end},
  {"bincount 10^6", function() return ids:bincount() end},
} do cases[#cases + 1] = case end

dofile "bench/harness.lua"(cases)
