--- bounded: fills the memory that a process may have, in several ways, and
-- trains a small model before and after: an error, and all goes on. Run by
-- bounded_spec.lua.

local heed = require "heed"
local nn <const>, F <const> = heed.nn, heed.nn.functional

local function trained()
  heed.manual_seed(1)
  local model = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 2))
  local adam = heed.optim.Adam(model:parameters(), {lr = 0.01})
  local x, labels = heed.randn(4, 8), heed.tensor {1, 2, 2, 1}
  local loss
  for _ = 1, 5 do
    adam:zero_grad()
    loss = F.cross_entropy(model(x), labels)
    loss:backward()
    adam:step()
  end
  return ("%.17g"):format(loss:item())
end

-- Each goes on until it raises.
local ways <const> = {
  tensors = function()
    local kept = {}
    while true do kept[#kept + 1] = heed.zeros(1 << 20) end
  end,
  graph = function()
    local x = heed.ones({1 << 18}, {requires_grad = true})
    local y = x
    while true do y = (y * 2):sin() end
  end,
  doubling = function()
    local x = heed.ones(1024)
    while true do x = heed.cat {x, x} end
  end,
  strings = function()
    local kept = {}
    while true do kept[#kept + 1] = heed.ones(1 << 20):tobytes() .. #kept end
  end,
}

local want <const> = trained()
for name, fill in pairs(ways) do
  local ok, message = pcall(fill)
  collectgarbage()
  assert(not ok and (message:find "out of memory: %d+ bytes" or
    message:find "not enough memory"), name .. ": " .. tostring(message))
  local got = trained()
  assert(got == want, ("%s: loss %s, want %s"):format(name, got, want))
end
print "all goes on"
