-- Whole models of nn: GPT, VisionTransformer. torch_weights_spec.lua compares
-- GPT with PyTorch.

local heed = require "heed"
local message = require "spec.support.message"
local near = dofile "spec/nn/near.lua"
local nn <const> = heed.nn

local SMALL <const> = {
  d_model = 16, nhead = 4, num_layers = 2, max_length = 12, dropout = 0.0,
}

local function gpt(options)
  local o = {}
  for key, value in pairs(SMALL) do o[key] = value end
  for key, value in pairs(options or {}) do o[key] = value end
  return nn.GPT(11, o)
end

-- Larger weights: so that what is looked at matters.
local function loud(model)
  for _, p in ipairs(model:parameters()) do
    if p.ndim > 1 then nn.init.normal_(p, 0, 0.5) end
  end
  return model
end

local ids <const> = heed.tensor {{3, 1, 4, 1, 5, 9}, {2, 7, 1, 8, 2, 8}}

-- A model whose next id is the row of a table of what follows each id.
local function chain(follows)
  local n <const> = #follows
  local model = nn.GPT(n, {d_model = n, nhead = 1, num_layers = 0,
    position = "none", tied = false, norm_first = false, dropout = 0.0})
  heed.no_grad(function()
    model.token_embedding.weight:copy_(heed.eye(n))
    model.head.weight:copy_(heed.tensor(follows):transpose(1, 2))
  end)
  return model
end

describe("GPT", function()
  it("sees no id behind a position", function()
    for _, position in ipairs {"learned", "sinusoidal", "rotary", "alibi",
      "none"} do
      local model = loud(gpt {position = position}):to "float64"
      local y = model(ids)
      assert.same({2, 6, 11}, y.shape)
      near(model(ids:narrow(2, 1, 4)), y:narrow(2, 1, 4), 1e-10)
    end
  end)

  it("knows positions, but for \"none\"", function()
    local other <const> = heed.tensor {{1, 3, 4, 1, 5, 9}}
    for position, knows in pairs {learned = true, sinusoidal = true,
      rotary = true, alibi = true, none = false} do
      -- one layer: a second would know places from what the first one saw
      local model = loud(gpt {position = position, num_layers = 1})
        :to "float64"
      local a, b = model(ids)[1][6], model(other)[1][6]
      local same = (a - b):abs():max():item() < 1e-12
      assert.equal(knows, not same, position)
    end
  end)

  it("goes on from a cache", function()
    local _ <close> = heed.no_grad()
    for _, position in ipairs {"learned", "rotary", "alibi"} do
      local model = loud(gpt {position = position, num_kv_heads = 2})
        :to "float64"
      local want, cache = model(ids), nn.KeyValueCache()
      near(model(ids:narrow(2, 1, 4), {cache = cache}),
        want:narrow(2, 1, 4), 1e-10)
      near(model(ids:narrow(2, 5, 2), {cache = cache}),
        want:narrow(2, 5, 2), 1e-10)
    end
  end)

  it("ties its head to the embedding, or not", function()
    local tied, loose = gpt(), gpt {tied = false}
    assert.is_true(tied.head.weight == tied.token_embedding.weight)
    assert.equal(loose:num_parameters(), tied:num_parameters() + 11 * 16)
    tied(ids):sum():backward()
    assert.same({11, 16}, tied.token_embedding.weight.grad.shape)
    local copy = tied:clone()
    assert.is_true(copy.head.weight == copy.token_embedding.weight)
  end)

  it("starts narrow, as GPT-2", function()
    heed.manual_seed(0)
    local model = nn.GPT(500, {d_model = 64, num_layers = 8})
    local function std(t) return t:detach():std():item() end
    local layer = model.layers[8]
    near({std(model.token_embedding.weight), std(layer.linear1.weight),
      std(layer.self_attn.in_proj_weight)}, {0.02, 0.02, 0.02}, 5e-4)
    near({std(layer.linear2.weight), std(layer.self_attn.out_proj.weight)},
      {0.005, 0.005}, 2e-4)
    near(layer.linear1.bias, heed.zeros(256), 0)
    near(layer.norm1.weight, heed.ones(64), 0)
  end)

  it("learns to count", function()
    heed.manual_seed(1)
    local model = gpt {position = "rotary"}
    local optimizer = heed.optim.Adam(model:parameters(), {lr = 1e-2})
    local x = heed.tensor {{1, 2, 3, 4, 5, 6, 7, 8}, {3, 4, 5, 6, 7, 8, 9, 10}}
    for _ = 1, 60 do
      optimizer:zero_grad()
      nn.functional.cross_entropy(model(x):flatten(1, 2),
        (x + 1):flatten()):backward()
      optimizer:step()
    end
    assert.same({{2, 3, 4, 5, 6}}, model:generate(heed.tensor {{2, 3}},
      {greedy = true, max_new_tokens = 3}):totable())
  end)

  it("says what is wrong", function()
    assert.equal("GPT: d_model must be a multiple of nhead, got 16 and 3",
      message(gpt, {nhead = 3}))
    assert.equal('GPT: position must be one of alibi, learned, none, ' ..
      'rotary, sinusoidal, got "t5"', message(gpt, {position = "t5"}))
    assert.equal('GPT: rotary needs position "rotary", got "learned"',
      message(gpt, {rotary = {base = 5}}))
    assert.equal("GPT: ids must be [B T], got tensor int64 [3]",
      message(gpt(), heed.tensor {1, 2, 3}))
    assert.equal("GPT.token_embedding.Embedding: ids [1 2], position [1 2]: " ..
      "must be 1..11 (a row of weight [11 16]), got 12",
      message(gpt(), heed.tensor {{1, 12}}))
    assert.equal("GPT.position_embedding.LearnedPositionalEncoding: x [1 13 " ..
      "16]: length 13 exceeds max_length 12",
      message(gpt(), heed.ones({1, 13}, "int64")))
  end)
end)

describe("GPT.generate", function()
  it("is greedy with the whole sequence at each step", function()
    local model = loud(gpt {position = "rotary"}):eval()
    local all = ids
    for _ = 1, 5 do
      local logits = model(all):select(2, -1)
      all = heed.cat({all, logits:argmax(-1, true)}, 2)
    end
    assert.same(all:totable(), model:generate(ids,
      {greedy = true, max_new_tokens = 5}):totable())
    assert.same(all:totable(), model:generate(ids,
      {temperature = 0, max_new_tokens = 5}):totable())
    assert.same(all:totable(), model:generate(ids,
      {top_k = 1, max_new_tokens = 5}):totable())
    assert.same(all:totable(), model:generate(ids,
      {top_p = 0, max_new_tokens = 5}):totable())
  end)

  it("draws from the best ones only, as often as they are probable", function()
    -- from 1: 2, 3, 4, 5 with 0.5, 0.3, 0.15, 0.05
    local row = {-1e9, math.log(0.5), math.log(0.3), math.log(0.15),
      math.log(0.05)}
    local model = chain {row, row, row, row, row}
    local start = heed.ones({4000, 1}, "int64")
    local function share(options)
      options.max_new_tokens = 1
      options.generator = heed.Generator(5)
      local drawn = model:generate(start, options):select(2, 2)
      local shares = {}
      for id = 1, 5 do shares[id] = drawn:eq(id):sum():item() / 4000 end
      return shares
    end
    near(share {}, {0, 0.5, 0.3, 0.15, 0.05}, 0.03)
    near(share {top_k = 2}, {0, 0.625, 0.375, 0, 0}, 0.03)
    near(share {top_p = 0.5}, {0, 1, 0, 0, 0}, 0)
    near(share {top_p = 0.81}, {0, 0.5 / 0.95, 0.3 / 0.95, 0.15 / 0.95, 0},
      0.03)
    local cold = {0.25, 0.09, 0.0225, 0.0025} -- squares
    near(share {temperature = 0.5}, {0, cold[1] / 0.365, cold[2] / 0.365,
      cold[3] / 0.365, cold[4] / 0.365}, 0.03)
    assert.same(share {top_k = 3}, share {top_k = 3})
  end)

  it("stops rows that are done, and when all are", function()
    local none = -1e9
    local model = chain {{none, 0, none, none}, {none, none, 0, none},
      {none, none, none, 0}, {0, none, none, none}} -- 1 2 3 4 1 2 ..
    local got = model:generate(heed.tensor {{1}, {3}}, {stop = 4,
      greedy = true, max_new_tokens = 9})
    assert.same({{1, 2, 3, 4}, {3, 4, 4, 4}}, got:totable())
    assert.same({{1, 2}}, model:generate(heed.tensor {{1}},
      {greedy = true, max_new_tokens = 1}):totable())
    assert.same({{1}}, model:generate(heed.tensor {{1}},
      {max_new_tokens = 0}):totable())
  end)

  it("gives each new column as soon as it is there", function()
    local model, seen = gpt(), {}
    local start = heed.tensor {{3}, {5}}
    local all = model:generate(start, {max_new_tokens = 4,
      generator = heed.Generator(2),
      on_token = function(column)
        assert.same({2, 1}, column.shape)
        seen[#seen + 1] = column
      end})
    assert.equal(4, #seen)
    assert.same(all[{{}, {2, 5}}]:totable(), heed.cat(seen, 2):totable())
  end)

  it("sees no more than its window, as without a cache", function()
    local model = loud(gpt {position = "rotary"}):eval()
    local all = ids
    for _ = 1, 6 do
      local logits = model(all, {window = 3}):select(2, -1)
      all = heed.cat({all, logits:argmax(-1, true)}, 2)
    end
    assert.same(all:totable(), model:generate(ids,
      {greedy = true, max_new_tokens = 6, window = 3}):totable())
    assert.are_not.same(all:totable(), model:generate(ids,
      {greedy = true, max_new_tokens = 6, window = 1}):totable())
  end)

  it("leaves the model as it was", function()
    local model = gpt {dropout = 0.5}
    model:generate(ids, {max_new_tokens = 2})
    assert.is_true(model.training)
    assert.is_true(model(ids).requires_grad)
    model:eval():generate(ids, {max_new_tokens = 2})
    assert.is_false(model.training)
    model:train()
    assert.is_false(pcall(model.generate, model, heed.tensor {{12}}))
    assert.is_true(model.training)
  end)

  it("says what is wrong", function()
    local model = gpt()
    local function said(...) return message(model.generate, model, ...) end
    assert.equal("GPT:generate: 6 ids and max_new_tokens 7 exceed " ..
      "max_length 12", said(ids, {max_new_tokens = 7}))
    assert.equal("GPT:generate: top_p must be a number from 0 to 1, got 2",
      said(ids, {top_p = 2}))
    assert.equal("GPT:generate: top_k must be an integer of at least 1, got 0",
      said(ids, {top_k = 0}))
    assert.equal("GPT:generate: window must be an integer of at least 1, "
      .. "got 0", said(ids, {window = 0}))
    assert.equal("GPT:generate: on_token must be a function, got 3",
      said(ids, {on_token = 3}))
    assert.equal("GPT:generate: ids [1 0] must have at least one position",
      said(heed.zeros({1, 0}, "int64")))
  end)
end)

describe("VisionTransformer", function()
  local options <const> = {image_size = {8, 12}, patch_size = {4, 6},
    in_channels = 2, num_classes = 5, d_model = 8, nhead = 2, num_layers = 1}

  local function vit(more)
    local o = {}
    for key, value in pairs(options) do o[key] = value end
    for key, value in pairs(more or {}) do o[key] = value end
    return nn.VisionTransformer(o):to "float64"
  end

  it("is an encoder over linear maps of patches", function()
    local model, image = vit(), heed.randn({3, 2, 8, 12}, "float64")
    nn.init.normal_(model.class_token)
    local w = model.conv_proj.weight:flatten(2, -1) -- [8 2*4*6]
    local rows = {}
    for i = 0, 1 do
      for j = 0, 1 do
        local patch = image:narrow(3, 4 * i + 1, 4):narrow(4, 6 * j + 1, 6)
        rows[#rows + 1] = patch:flatten(2, -1):matmul(w:transpose(1, 2)) +
          model.conv_proj.bias
      end
    end
    local x = heed.stack(rows, 2)
    x = heed.cat({model.class_token:expand {3, 1, 8}, x}, 2) +
      model.pos_embedding
    x = model.norm(model.layers[1](x))
    near(model(image), model.head(x:select(2, 1)), 1e-12)
    assert.same({1, 5, 8}, model.pos_embedding.shape)
  end)

  it("takes the mean of the patches, and trains", function()
    local model = vit {pool = "mean"}
    assert.is_nil(model.class_token)
    assert.same({1, 4, 8}, model.pos_embedding.shape)
    model(heed.randn({3, 2, 8, 12}, "float64")):square():sum():backward()
    for name, p in model:named_parameters() do
      assert.is_not_nil(p.grad, name)
    end
    model(heed.randn({1, 2, 8, 12}, "float64"), {need_weights = true})
    assert.same({1, 4, 4}, model.layers[1].self_attn.attention_weights.shape)
  end)

  it("says what is wrong", function()
    assert.equal("VisionTransformer: image_size must be a multiple of " ..
      "patch_size, got 8 and 3", message(vit, {patch_size = {3, 6}}))
    assert.equal("VisionTransformer: patch_size must be an integer or " ..
      "{down, across}, got a list of 3", message(vit, {patch_size = {4, 4, 4}}))
    assert.equal("VisionTransformer: d_model must be a multiple of nhead, " ..
      "got 8 and 3", message(vit, {nhead = 3}))
    assert.equal('VisionTransformer: pool must be "class" or "mean", got ' ..
      '"max"', message(vit, {pool = "max"}))
    assert.equal("VisionTransformer: x must be [B 2 8 12], got [1 2 8 8]",
      message(vit(), heed.zeros(1, 2, 8, 8)))
  end)
end)
