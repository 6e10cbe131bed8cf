--- scripts: what memory_test.c runs with failing allocations. Each function
-- gives a text that is the same at each run; it catches no error itself.

local heed = require "heed"
local nn <const>, F <const> = heed.nn, heed.nn.functional

local FOLDER <const> = assert(os.getenv "HEED_MEMORY_FOLDER")

local scripts = {}

-- The names, in the order in which they are written here.
local order = {}
setmetatable(scripts, {__newindex = function(t, name, f)
  order[#order + 1] = name
  rawset(t, name, f)
end})

local function text(t)
  local list = t:detach():reshape(-1):to("float64"):totable()
  for i, v in ipairs(list) do list[i] = ("%.6g"):format(v) end
  return table.concat(list, " ")
end

local function some(...)
  local shape, n = {...}, 1
  for _, size in ipairs(shape) do n = n * size end
  return (heed.arange(1, n, {dtype = "float32"}):reshape(shape) * 0.37):sin()
end

function scripts.make()
  local x = heed.tensor {{1, 2.5}, {3, 4}}
  local y = heed.zeros {2, 2} + heed.eye(2) + heed.full({2, 2}, 3)
  return text(x + y) .. tostring(x) .. #x:totable()
end

function scripts.elements()
  local x, y = some(4, 6), some(6)
  local z = (x + y * 2 - 1):exp():clamp(0.1, 3) / y:abs():add(1)
  return text(heed.where(z:gt(1), z, x:to "float64"))
end

function scripts.reduce()
  local x = some(2, 3, 4)
  local values, places = x:max(2)
  return text(x:sum {1, 3}) .. text(x:var(-1)) .. text(values) ..
    text(places) .. text(x:softmax(-1)) .. text(x:logsumexp())
end

function scripts.shape()
  local x = some(2, 3, 4)
  local y = heed.cat({x, x:flip(1)}, 1):permute(3, 1, 2):reshape(-1)
  return text(y:unfold(1, 5, 3)) .. text(x[{{}, 2, {4, 1, -1}}])
end

function scripts.index()
  local x = some(4, 6):clone()
  x[{{1, 2}}] = 5
  x[x:gt(0.5)] = 0
  x:scatter_(2, heed.tensor {{1, 2}, {3, 4}}, 7)
  return text(x[heed.tensor {1, 3, -1}]) .. text(x:gather(1, heed.tensor {{4}}))
end

function scripts.order()
  local x = some(4, 6)
  local sorted, at = x:sort(2, true)
  local best = x:topk(2, 1)
  return text(sorted) .. text(at) .. text(best) .. text(x:cumsum(1)) ..
    text(x:median()) .. text(x:unique())
end

function scripts.products()
  local x, w = some(4, 6), some(6, 4)
  return text(x:matmul(w)) .. text(heed.einsum("ij,jk->k", x, w)) ..
    text(heed.linalg.inv(x:matmul(w) + heed.eye(4) * 20)) ..
    text(heed.linalg.svdvals(w))
end

function scripts.backward()
  local x = some(4, 6):clone()
  x.requires_grad = true
  local y = x * 2
  y[1] = y[2] * 3
  y:mul_(y)
  local z = (y:tanh():matmul(y:t()):softmax(-1) + y:mean()):sum()
  z:backward()
  return text(x.grad)
end

function scripts.second_derivative()
  local x = heed.tensor({1, 2, 3}, {dtype = "float64", requires_grad = true})
  local g = heed.grad((x * x * x):exp():log():sum(), x, {create_graph = true})
  return text((heed.grad(g:sum(), x)))
end

function scripts.function_in_lua()
  local square = heed.autograd.Function {
    forward = function(ctx, x)
      ctx:save(x)
      return x * x
    end,
    backward = function(ctx, g) return g * ctx:saved() * 2 end,
  }
  local x = heed.ones({3}, {requires_grad = true})
  local y = square(x)
  y:register_hook(function(g) return g * 2 end)
  heed.autograd.checkpoint(function(t) return t:exp() end, y):sum():backward()
  return text(x.grad)
end

function scripts.attention()
  heed.manual_seed(3)
  local attend = nn.MultiHeadAttention(8, 2)
  local cache = nn.KeyValueCache()
  local x = some(1, 3, 8)
  local texts = {}
  for t = 1, 3 do
    local y = attend(x[{{}, {t, t}}], nil, nil, {causal = true, cache = cache})
    texts[t] = text(y)
  end
  local y, w = attend(x, x, x, {causal = true, need_weights = true})
  return table.concat(texts, "|") .. text(y) .. text(w)
end

function scripts.training()
  heed.manual_seed(5)
  local model = nn.Sequential(nn.Linear(6, 5), nn.LayerNorm(5), nn.GELU(),
    nn.Dropout(0.2), nn.Linear(5, 3))
  local adam = heed.optim.AdamW(model:parameters(), {lr = 0.01})
  local x, labels = some(4, 6), heed.tensor {1, 2, 3, 1}
  local loss
  for _ = 1, 2 do
    adam:zero_grad()
    loss = F.cross_entropy(model(x), labels)
    loss:backward()
    heed.optim.clip_grad_norm_(model:parameters(), 1)
    adam:step()
  end
  return text(loss) .. text(model:parameters()[1])
end

function scripts.images()
  local x = some(1, 1, 4, 6)
  local y = F.conv2d(x, some(2, 1, 3, 4), nil, {padding = 1})
  y = F.max_pool2d(y, 2)
  return text(y)
end

function scripts.recurrent()
  heed.manual_seed(9)
  local y = nn.LSTM(6, 3)(some(2, 2, 6))
  y:sum():backward()
  return text(y)
end

local function saved(name, options)
  local path = FOLDER .. "/" .. name
  heed.save(path, {x = some(4, 6), y = heed.tensor {1, 2}}, options)
  local back = heed.load(path)
  return text(back.x) .. text(back.y)
end
function scripts.safetensors() return saved "a.safetensors" end
function scripts.npz() return saved "a.npz" end
function scripts.npy()
  local path = FOLDER .. "/a.npy"
  heed.save(path, some(4, 6))
  return text(heed.load(path))
end
function scripts.lazily()
  local path = FOLDER .. "/b.safetensors"
  heed.save(path, {x = some(4, 6), y = heed.tensor {1, 2}})
  local file <close> = heed.open_safetensors(path)
  return table.concat(file.names, " ") .. text(file:get "x")
end
function scripts.png()
  local path = FOLDER .. "/a.png"
  heed.image.write(path, heed.ones(3, 4, 5) * 0.5)
  return text(assert(heed.image.read(path)))
end

function scripts.text()
  local t = heed.text.BPE and "with BPE" or "without"
  return t .. heed.core.unicode.lower("ÄÖ Straße") ..
    table.concat(heed.core.unicode.words("Wie geht's, Welt?"), "|")
end

function scripts.printing()
  heed.set_printoptions {precision = 2}
  local y = tostring(some(4, 6)) .. tostring(heed.ones({0})) ..
    tostring(nn.Linear(2, 3))
  heed.set_printoptions()
  return y
end

-- An error of heed is one also when there is no memory for its message.
function scripts.mistakes()
  local texts = {}
  for i, f in ipairs {
    function() return heed.ones {2} + heed.ones {3} end,
    function() return heed.tensor {{1}, {2, 3}} end,
    function() return nn.Linear(2, 3)(heed.ones {1, 4}) end,
    function() return heed.zeros {1 << 40, 1 << 40} end,
    function() return heed.ones {2}.no_such_thing end,
  } do
    local ok, message = pcall(f)
    if type(message) ~= "string" or message:find "not enough memory" or
        message:find "out of memory: [1-9]%d?%d?%d?%d?%d? " then
      error(message, 0)
    end
    texts[i] = tostring(ok) .. message
  end
  return table.concat(texts, "\n")
end

function scripts.help() return heed.help.text "softmax" end

function scripts.prompt()
  local chunk = require "heed.repl.chunk"
  local f, message = chunk.compile("(require 'heed').ones(2):sum():item()",
    "=prompt")
  if not f then error(message, 0) end
  return tostring(f())
end

return {scripts = scripts, order = order}
