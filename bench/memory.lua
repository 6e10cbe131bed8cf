--[[
Does training keep its memory? Steps of a translator on batches of changing
shape, with no call of collectgarbage anywhere; prints resident memory as it
goes and how much it grew after the first 500 steps.

    heed bench/memory.lua [steps]
]]

local heed = require "heed"
local F <const> = heed.nn.functional

local STEPS <const> = math.tointeger(tonumber(arg[1] or 20000))
local SETTLED <const> = 500 -- steps that memory may grow in

-- Resident memory in MiB.
local function resident()
  for line in io.lines "/proc/self/status" do
    local kib <const> = line:match "^VmRSS:%s+(%d+)"
    if kib then return tonumber(kib) / 1024 end
  end
end

heed.manual_seed(1)
local model <const> = heed.models.Translator {
  src_vocab = 500, tgt_vocab = 500, d_model = 64, heads = 4,
  encoder_layers = 1, decoder_layers = 1, ff = 128,
}
local optimizer <const> = heed.optim.AdamW(model:parameters(), {lr = 1e-3})

-- One step on a batch of random ids whose shape depends on the step.
local function train(step)
  local batch <const> = 8 + step * 7 % 17
  local src = heed.randint(1, 500, {batch, 3 + step * 5 % 13})
  local tgt = heed.randint(1, 500, {batch, 3 + step * 11 % 17})
  local loss = F.cross_entropy(model(src, tgt):flatten(1, 2), tgt:flatten())
  optimizer:zero_grad()
  loss:backward()
  heed.optim.clip_grad_norm_(model:parameters(), 1.0)
  optimizer:step()
  return loss:item()
end

local settled, most = nil, 0
for step = 1, STEPS do
  local loss <const> = train(step)
  if step == SETTLED then settled = resident() end
  if step > SETTLED and step % 100 == 0 then
    most = math.max(most, resident())
  end
  if step % (STEPS // 10) == 0 then
    print(("step %6d  loss %.3f  resident %.1f MiB  tensors %.1f MiB"):format(
      step, loss, resident(), heed.memory_stats().used / 2 ^ 20))
  end
end
if settled and most > 0 then
  print(("after step %d: %.1f MiB, at most %.1f MiB later: %+.2f %%"):format(
    SETTLED, settled, most, (most / settled - 1) * 100))
end
