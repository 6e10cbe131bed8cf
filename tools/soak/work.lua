-- What a round of the soak does: a bit of everything, from fixed seeds. Each
-- job says what it found with note(number or text); a round is all that they
-- said, and the same every time.

local heed = require "heed"
local nn <const>, F <const> = heed.nn, heed.nn.functional

local work = {}

local function train(note, model, optimizer, steps, loss_of)
  for _ = 1, steps do
    local loss <close> = loss_of(model)
    optimizer:zero_grad()
    loss:backward()
    heed.optim.clip_grad_norm_(model:parameters(), 1)
    optimizer:step()
    note(loss:item())
  end
end

function work.layers(note)
  local model <const> = nn.Sequential(nn.Linear(20, 64), nn.LayerNorm(64),
    nn.GELU(), nn.Dropout(0.2), nn.Linear(64, 5))
  local x <const>, y <const> = heed.randn {48, 20}, heed.randint(1, 5, {48})
  for _, name in ipairs {"SGD", "Adam", "AdamW", "RMSprop", "Lion"} do
    train(note, model, heed.optim[name](model:parameters(), {lr = 1e-3}), 4,
      function() return F.cross_entropy(model(x), y) end)
  end
end

function work.pictures(note)
  local model <const> = nn.Sequential(nn.Conv2d(3, 8, 3, {padding = 1}),
    nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
    nn.Linear(8 * 36, 4))
  local x <const>, y <const> = heed.rand {6, 3, 12, 12}, heed.randint(1, 4, {6})
  train(note, model, heed.optim.Adam(model:parameters()), 6,
    function() return F.cross_entropy(model(x), y) end)
  local vit <const> = nn.VisionTransformer {image_size = 12, patch_size = 4,
    num_classes = 4, d_model = 16, nhead = 2, num_layers = 1}
  train(note, vit, heed.optim.Adam(vit:parameters()), 3,
    function() return F.cross_entropy(vit(x), y) end)
end

function work.recurrent(note)
  for _, name in ipairs {"RNN", "GRU", "LSTM"} do
    local model <const> = nn[name](6, 16, {num_layers = 2})
    local x <const> = heed.randn {5, 9, 6}
    train(note, model, heed.optim.Adam(model:parameters()), 4, function()
      local out = model(x, nil, {valid_lens = {9, 7, 5, 2, 1}})
      return (out * out):mean()
    end)
  end
end

function work.translator(note)
  local model <const> = heed.models.Translator {src_vocab = 60, tgt_vocab = 60,
    d_model = 32, heads = 4, encoder_layers = 1, decoder_layers = 1, ff = 64}
  local adam <const> = heed.optim.AdamW(model:parameters(), {lr = 1e-3})
  for step = 1, 6 do
    local src = heed.randint(1, 60, {4 + step, 3 + step * 5 % 7})
    local tgt = heed.randint(1, 60, {4 + step, 3 + step * 7 % 9})
    train(note, model, adam, 1, function()
      return F.cross_entropy(model(src, tgt):flatten(1, 2), tgt:flatten())
    end)
  end
end

function work.generate(note)
  local model <const> = nn.GPT(40, {d_model = 32, nhead = 4, num_layers = 2})
  local ids <const> = heed.randint(1, 40, {3, 12})
  train(note, model, heed.optim.Adam(model:parameters()), 4, function()
    return F.cross_entropy(model(ids):flatten(1, 2), ids:flatten())
  end)
  model:eval()
  for _, top_k in ipairs {1, 5} do
    heed.no_grad(function()
      local made = model:generate(ids, {max_new_tokens = 24, top_k = top_k})
      note(made:sum():item())
    end)
  end
end

-- Attention of many shapes and descriptions, there and back.
function work.attention(note)
  local random <const> = heed.Generator(5)
  local function upto(n)
    return heed.randint(1, n, {1}, {generator = random}):item()
  end
  for i = 1, 40 do
    local kv <const>, times <const>, d <const> = upto(3), upto(3), 4 * upto(10)
    local tq <const>, tk <const> = upto(90), upto(90)
    local grad <const> = {requires_grad = true}
    local q <const> = heed.randn({2, kv * times, tq, d}, grad)
    local k <const> = heed.randn({2, kv, tk, d}, grad)
    local v <const> = heed.randn({2, kv, tk, d}, grad)
    local y <close> = F.scaled_dot_product_attention(q, k, v, {
      causal = i % 2 == 0, window = i % 3 == 0 and upto(20) or nil,
      dropout = i % 5 == 0 and 0.1 or 0, training = true,
    })
    y:square():mean():backward()
    note(q.grad:sum():item() + k.grad:sum():item() + v.grad:sum():item())
  end
end

function work.algebra(note)
  local x <const> = heed.randn({3, 12, 12}, {requires_grad = true})
  local s = x:matmul(x:transpose()) + heed.eye(12)
  local y <const> = heed.linalg.det(s) * 1e-6 +
    heed.linalg.cholesky(s):sum() + heed.linalg.svdvals(x):sum()
  y:sum():backward()
  note(x.grad:sum():item())
  note(heed.linalg.solve(s:detach(), heed.ones {3, 12, 2}):sum():item())
  local big <const> = heed.randn {400, 300}
  local values <const>, order <const> = big:sort(2)
  note(values[7][9]:item() + order[3][4]:item())
  note(big:topk(5):sum():item() + big:cumsum(1)[-1]:sum():item())
  note(tostring(big))
end

function work.text(note)
  local lines <const> = {"The cat sat on the mat.", "Ein Bär läuft über Öl",
    "春はあけぼの。", "a b c a b c 123"}
  for _, kind in ipairs {"BPE", "WordPiece", "Words", "Characters"} do
    local t <const> = heed.text[kind].train(lines)
    for _, line in ipairs(lines) do
      local ids <const> = t:encode(line)
      note(#ids + ids[#ids])
      note(t:decode(ids))
    end
  end
end

-- Files of each kind, written, read and removed.
function work.files(note, folder)
  local x <const> = heed.randn {7, 9}
  local model <const> = nn.Linear(9, 4)
  local adam <const> = heed.optim.Adam(model:parameters())
  for _, ending in ipairs {"npy", "npz", "safetensors"} do
    local path <const> = folder .. "/x." .. ending
    heed.save(path, ending == "npy" and x or {x = x, y = x:to "float64"})
    local back <const> = heed.load(path)
    note((ending == "npy" and back or back.x):sum():item())
    assert(os.remove(path))
  end
  local path <const> = folder .. "/checkpoint"
  heed.train.save(path, {model = model, adam = adam}, {step = 3})
  note(heed.train.load(path, {model = model, adam = adam}).step)
  assert(os.remove(path))
  for _, format in ipairs {"png", "jpeg", "ppm"} do
    local name <const> = folder .. "/picture." .. format
    heed.image.write(name, heed.rand {3, 20, 30})
    note(assert(heed.image.read(name, {mode = "rgb"})):sum():item())
    assert(os.remove(name))
  end
end

-- Wrong calls, and what is left in the midst of something. The messages must
-- be the same too.
function work.errors(note, folder)
  local x <const> = heed.ones({3, 4}, {requires_grad = true})
  local fails <const> = heed.autograd.Function {
    forward = function(_, t) return t * 2 end,
    backward = function() error {"a value"} end,
  }
  local file <const> = folder .. "/wrong"
  local handle <const> = assert(io.open(file, "w"))
  handle:write(("x"):rep(100))
  handle:close()
  for _, f in ipairs {
    function() return x:matmul(x) end,
    function() return x + heed.ones {5} end,
    function() return x[{7}] end,
    function() return heed.zeros {2, 1 << 61} end,
    function() return heed.ones {1 << 45} end, -- no memory
    function() return x:softmax(9) end,
    function() return x:sum "one" end,
    function() return x:backward() end,
    function() return nn.Linear(4, 4, {bais = true}) end,
    function() return nn.Linear(5, 4)(x) end,
    function() return F.cross_entropy(x, heed.tensor {9, 1, 1}) end,
    function() return heed.linalg.inv(heed.zeros {3, 3}) end,
    function() return fails(x):sum():backward() end,
    function() return heed.files.load_npy(file) end,
    function() return heed.files.load_safetensors(file) end,
    function() return heed.files.load_npz(file) end,
    function() return heed.files.load_npy(folder .. "/none") end,
    function() return assert(heed.image.read(file)) end,
    function() return heed.image.decode("\137PNG\r\n\26\nrest") end,
    function()
      local t <close> = x * 2
      local y = t:sum()
      t:close()
      return y + t
    end,
    function()
      local y = x:exp():sum()
      y:backward()
      y:backward()
    end,
  } do
    local ok <const>, said <const> = pcall(f)
    -- table addresses and temporary names differ between rounds
    note(tostring(ok) .. (type(said) == "string" and
      said:gsub("/tmp/[%w_]+", "") or type(said)))
  end
  os.remove(file)
  for i = 1, 200 do
    local left <const> = coroutine.wrap(function()
      local y <const> = (x * i):exp()
      coroutine.yield(y)
      error "never"
    end)
    left()
  end
  x.grad = nil
end

return work
