--[[
How long does a step of training take, and how much memory? See
bench/harness.lua; bench/training_torch.py does the same with PyTorch.

    heed bench/training.lua [threads]
    heed bench/training.lua THREADS memory NAME
    python bench/training_torch.py [threads]

"attention": forward and backward of MultiHeadAttention(512, 8) on [32 128 512],
with the gradients of x and of all weights. "translator": a step of Adam of a
transformer (width 256, 8 heads, 3 + 3 layers, feed-forward 1024, vocabularies
of 8000) on 64 pairs of 16 + 16 tokens. With `memory` the largest resident size
of a process that does only this one, in MiB.
]]

local heed = require "heed"
local nn <const>, optim <const> = heed.nn, heed.optim
local F <const> = nn.functional

heed.manual_seed(1)

local make <const> = {}

function make.attention()
  local layer = nn.MultiHeadAttention(512, 8)
  local x = heed.randn({32, 128, 512}, {requires_grad = true})
  local up = heed.randn {32, 128, 512}
  return function()
    layer:zero_grad()
    x.grad = nil
    layer(x):backward(up)
  end
end

local BATCH <const>, LENGTH <const> = 64, 16
local VOCABULARY <const>, WIDTH <const> = 8000, 256

local Translator = nn.Module:extend "Translator"

function Translator:init(dropout)
  self.source = nn.Embedding(VOCABULARY, WIDTH)
  self.target = nn.Embedding(VOCABULARY, WIDTH)
  self.transformer = nn.Transformer(WIDTH, 8, {num_encoder_layers = 3,
    num_decoder_layers = 3, dim_feedforward = 1024, dropout = dropout})
  self.head = nn.Linear(WIDTH, VOCABULARY)
end

function Translator:forward(source, target)
  return self.head(self.transformer(self.source(source), self.target(target),
    {causal = true})) -- [B T V]
end

local function tokens()
  return heed.randint(1, VOCABULARY, {BATCH, LENGTH})
end

local function translator(dropout)
  local model = Translator(dropout)
  local optimizer = optim.Adam(model:parameters(), {lr = 1e-4})
  local source, target, label = tokens(), tokens(), tokens():flatten()
  return function()
    optimizer:zero_grad()
    local logits = model(source, target)
    F.cross_entropy(logits:flatten(1, 2), label):backward()
    optimizer:step()
  end
end

function make.translator() return translator(0.0) end
make["translator dropout 0.1"] = function() return translator(0.1) end

-- The largest resident size so far, in MiB.
local function peak()
  for line in io.lines "/proc/self/status" do
    local kib = line:match "^VmHWM:%s*(%d+)"
    if kib then return kib / 1024 end
  end
end

if arg[2] == "memory" then
  heed.set_num_threads(math.tointeger(tonumber(arg[1])))
  local run <const> = make[arg[3]]()
  for _ = 1, 5 do run() end
  print(("%.1f"):format(peak()))
  return
end

local cases <const> = {}
for _, name in ipairs {"attention", "translator", "translator dropout 0.1"} do
  local run = nil -- made at the first turn
  cases[#cases + 1] = {name, function()
    run = run or make[name]()
    run()
  end}
end

dofile "bench/harness.lua"(cases)
