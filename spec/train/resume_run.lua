-- A training run in a process of its own, which resume_spec.lua kills.
--
--     lua resume_run.lua FOLDER LOADER KILL
--
-- LOADER: how batches come, a key of `loaders`. KILL: `whole`, a run without
-- checkpoints; `none`; or `MOMENT:N`, at the n-th such moment in this process.

local heed = require "heed"
local nn, optim, train = heed.nn, heed.optim, heed.train

local folder <const>, kind <const>, kill <const> = arg[1], arg[2], arg[3]
local EPOCHS <const>, ROWS <const>, SIZE <const> = 4, 30, 4

local function die() os.execute("kill -9 $PPID") end

local counts = {}

-- Counts a moment, and dies in the one that is asked for.
local function moment(name)
  counts[name] = (counts[name] or 0) + 1
  if kill == name .. ":" .. counts[name] then die() end
end

-- -- the data ----------------------------------------------------------------

heed.manual_seed(7)
local X <const> = heed.randn(ROWS, 6)
local Y <const> = X:pow(2):sum(-1, true)

local function rows(order, i)
  local first <const> = (i - 1) * SIZE + 1
  if first > ROWS then return nil end
  local picked = order[{{first, math.min(first + SIZE - 1, ROWS)}}]
  return X:index_select(picked), Y:index_select(picked)
end

-- A loader that knows its place, with a generator of its own.
local Loader = {}
Loader.__index = Loader

function Loader:batches()
  local i = self.place
  if not self.order then
    self.order = heed.randperm(ROWS, {generator = self.generator})
  end
  return function()
    i = i + 1
    local x, y = rows(self.order, i)
    self.place = x and i or 0
    if not x then self.order = nil end
    return x, y
  end
end

function Loader:state_dict()
  return {place = self.place, order = self.order and self.order:totable(),
    generator = self.generator:get_state()}
end

function Loader:load_state_dict(state)
  self.place = state.place
  self.order = state.order and heed.tensor(state.order)
  self.generator:set_state(state.generator)
end

local own <const> = heed.Generator(11)

local loaders <const> = {
  loader = function()
    return setmetatable({place = 0, generator = heed.Generator(5)}, Loader)
  end,
  -- the order from the default generator, which dropout draws from too
  default = function()
    return function()
      local order, i = heed.randperm(ROWS), 0
      return function()
        i = i + 1
        return rows(order, i)
      end
    end
  end,
  -- from one that is a part of the run
  generator = function()
    return function()
      local order, list = heed.randperm(ROWS, {generator = own}), {}
      for i = 1, ROWS // SIZE do list[i] = (rows(order, i)) end
      return list
    end
  end,
}

-- -- the model ---------------------------------------------------------------

local Net = nn.Module:extend("Net")

function Net:init()
  self.first = nn.Linear(6, 16)
  self.drop = nn.Dropout(0.2)
  self.other = nn.Dropout(0.2, {generator = heed.Generator(3)})
  self.last = nn.Linear(16, 1)
  self:register_buffer("mean", heed.zeros(16))
end

function Net:forward(x)
  local h = self.first(x):tanh() -- [B 16]
  if self.training then
    self.mean:mul_(0.9):add_(h:detach():mean(1) * 0.1)
  end
  return self.last(self.other(self.drop(h)) - self.mean)
end

local net <const> = Net()
local optimizer <const> = optim.AdamW(net:parameters(), {lr = 0.02})

local save <const> = heed.core.save_safetensors
-- luacheck: push ignore 122 (a moment between the two files of an epoch)
heed.core.save_safetensors = function(...)
  moment("before")
  save(...)
  moment("after_save")
end
-- luacheck: pop

local run = train.fit {
  model = net, optimizer = optimizer, epochs = EPOCHS,
  schedule = optim.CosineAnnealingLR(optimizer, 40),
  data = loaders[kind](), valid = {{X, Y}}, accumulate = 3, clip_norm = 1.0,
  loss = function(model, x, y)
    moment(model.training and "loss" or "valid")
    if not y and type(x) == "table" then x, y = x[1], x[2] end
    y = y or x:pow(2):sum(-1, true)
    return (model(x) - y):pow(2):mean(), {count = #x}
  end,
  -- the filler makes writing take long enough to be killed in
  parts = {own = own, filler = {
    state_dict = function() return {x = heed.zeros(200000)} end,
    load_state_dict = function() end,
  }},
  checkpoint = kill ~= "whole" and folder .. "/run.safetensors" or nil,
  checkpoint_every = kill ~= "whole" and 2 or nil,
  best = folder .. "/best.safetensors",
  on_step = function(r)
    r.user.norms = (r.user.norms or 0.0) + r.grad_norm
    moment("step")
  end,
  on_epoch = function() moment("epoch") end, progress = false,
}

local lines = {run.step, ("%a %a"):format(run.best, run.user.norms)}
for _, record in ipairs(run.history) do
  lines[#lines + 1] = ("%d %d %a %a %a"):format(record.epoch, record.step,
    record.loss, record.valid.loss, record.lr)
end
local final = net:state_dict()
final["generator"] = heed.randn(3)
final["generator.own"] = heed.randn(3, {generator = own})
final["generator.dropout"] = heed.randn(3, {generator = net.other.generator})
save(folder .. "/final.safetensors", final,
  {lines = table.concat(lines, "\n")})
