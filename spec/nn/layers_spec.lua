local heed = require "heed"
local message = require "spec.support.message"
local nn = require "heed.nn"
local F = nn.functional
local near = dofile "spec/nn/near.lua"

describe("Linear", function()
  it("gives x W^T + b over the last dimension", function()
    local layer = nn.Linear(2, 3)
    layer:load_state_dict({weight = heed.tensor {{1., 2}, {3, 4}, {5, 6}},
      bias = heed.tensor {0.5, 0, -0.5}})
    near(layer(heed.tensor {{{1., 1}}}), {{{3.5, 7, 10.5}}})
  end)

  it("may have no bias", function()
    local layer = nn.Linear(2, 3, {bias = false})
    assert.is_nil(layer.bias)
    assert.equal(6, layer:num_parameters())
  end)

  it("starts within 1 / sqrt(in), from a generator", function()
    local a = nn.Linear(16, 4, {generator = heed.Generator(7)})
    local b = nn.Linear(16, 4, {generator = heed.Generator(7)})
    near(a.weight, b.weight, 0)
    near(a.bias, b.bias, 0)
    assert.is_true(a.weight:abs():max():item() <= 0.25)
  end)

  it("works with a size of 0", function()
    near(nn.Linear(0, 2)(heed.zeros(3, 0)), {{0, 0}, {0, 0}, {0, 0}})
    assert.same({3, 0}, nn.Linear(2, 0)(heed.zeros(3, 2)).shape)
  end)

  it("refuses what makes no sense", function()
    assert.equal("Linear: in_features must be an integer of at least 0, got " ..
      '"x"', message(nn.Linear, "x", 2))
    assert.equal("Linear: unknown option biass; known: bias, generator",
      (message(nn.Linear, 2, 2, {biass = true}):gsub('"', "")))
  end)
end)

describe("Embedding", function()
  it("gives rows, which gather gradients", function()
    local layer = nn.Embedding(3, 2)
    layer:load_state_dict({weight = heed.tensor {{1., 2}, {3, 4}, {5, 6}}})
    local y = layer(heed.tensor {{3, 1}, {3, 3}})
    near(y, {{{5, 6}, {1, 2}}, {{5, 6}, {5, 6}}})
    y:sum():backward()
    near(layer.weight.grad, {{1, 1}, {0, 0}, {3, 3}})
  end)

  it("has a padding row of zeros without gradient", function()
    for _, padding in ipairs {2, -2} do
      local layer = nn.Embedding(3, 2, {padding_idx = padding})
      near(layer.weight[2], {0, 0}, 0)
      nn.init.ones_(layer.weight)
      layer(heed.tensor {1, 2, 3}):sum():backward()
      near(layer.weight.grad, {{1, 1}, {0, 0}, {1, 1}}, 0)
    end
  end)

  it("refuses a padding row that is not there", function()
    assert.equal("Embedding: padding_idx must be 1..3 or -3..-1, got 4",
      message(nn.Embedding, 3, 2, {padding_idx = 4}))
    assert.equal("Embedding: num_embeddings must be an integer of at least " ..
      "1, got 0", message(nn.Embedding, 0, 2))
  end)

  it("shares its table with a linear layer", function()
    local net = nn.Sequential(nn.Embedding(5, 4),
      nn.Linear(4, 5, {bias = false}))
    net[2].weight = net[1].weight
    assert.equal(20, net:num_parameters())
    net(heed.tensor {1, 2}):sum():backward()
    local grad = net[1].weight.grad
    assert.is_true(grad[5]:abs():sum():item() > 0) -- from the linear layer
  end)
end)

describe("Embedding, further:", function()
  local ids <const> = heed.tensor {1, 3, 3}
  local function table_of()
    return ((heed.arange(0, 11) * 5) % 11 - 5):to "float32":reshape(4, 3)
  end

  it("shortens rows that are looked up", function() -- as PyTorch does
    local layer = nn.Embedding(4, 3, {max_norm = 1.5})
    layer.weight:detach():copy_(table_of())
    local y = layer(ids)
    near(y, {{-1.0606601, 0, 1.0606601}, {0.9594032, -0.9594032, 0.6396021},
      {0.9594032, -0.9594032, 0.6396021}})
    near(layer.weight, {{-1.0606601, 0, 1.0606601}, {-1, 4, -2},
      {0.9594032, -0.9594032, 0.6396021}, {-4, 1, -5}})
    y:sum():backward()
    near(layer.weight.grad, {{1, 1, 1}, {0, 0, 0}, {2, 2, 2}, {0, 0, 0}})
    local other = nn.Embedding(4, 3, {max_norm = 1.5, norm_type = 1})
    other.weight:detach():copy_(table_of())
    near(other(heed.tensor {4}), {{-0.6, 0.15, -0.75}})
  end)

  it("is made of a table, frozen or not", function()
    local weight = table_of()
    local layer = nn.Embedding.from_pretrained(weight, {padding_idx = -1})
    near(layer(ids), {{-5, 0, 5}, {3, -3, 2}, {3, -3, 2}}, 0)
    assert.is_false(layer.weight.requires_grad)
    assert.equal(12, layer:num_parameters())
    assert.equal(0, layer:num_parameters {trainable = true})
    assert.equal("Embedding(4, 3, padding_idx = 4): weight [4 3] frozen = 12",
      tostring(layer))
    local trained = nn.Embedding.from_pretrained(weight, {freeze = false})
    assert.is_true(trained.weight.requires_grad)
    assert.equal("from_pretrained: weight must be [num_embeddings " ..
      "embedding_dim], got tensor float32 [3]",
      message(nn.Embedding.from_pretrained, heed.ones(3)))
  end)

  it("is saved once with the linear layer that shares it", function()
    local net = nn.Sequential(nn.Embedding(5, 4),
      nn.Linear(4, 5, {bias = false}))
    net[2].weight = net[1].weight
    local names = {}
    for name in pairs(net:state_dict()) do names[#names + 1] = name end
    assert.same({"0.weight"}, names)
    local copy = net:clone()
    assert.is_true(rawequal(copy[1].weight, copy[2].weight))
    copy:load_state_dict(net:state_dict())
    near(copy(heed.tensor {2}), net(heed.tensor {2}):totable(), 0)
  end)

  it("refuses what makes no sense", function()
    assert.equal("Embedding: max_norm must be a number of at least 0, got -1",
      message(nn.Embedding, 3, 2, {max_norm = -1}))
    assert.equal("Sequential[1].Embedding: ids [1], position [1]: must be " ..
      "1..3 (a row of weight [3 2]), got 4",
      message(nn.Sequential(nn.Embedding(3, 2)), heed.tensor {4}))
  end)
end)

describe("Bilinear", function()
  it("gives a W_o b + bias_o", function() -- as PyTorch does
    local function make(shape, step, period)
      local n = 1
      for _, size in ipairs(shape) do n = n * size end
      return ((heed.arange(0, n - 1) * step) % period - period // 2)
        :to "float32":reshape(shape)
    end
    local layer = nn.Bilinear(3, 4, 2)
    layer:load_state_dict {weight = make({2, 3, 4}, 5, 9),
      bias = heed.tensor {1.0, -1}}
    near(layer(make({2, 3}, 5, 11), make({2, 4}, 3, 7)),
      {{26, -21}, {-108, 31}})
    assert.same({2}, layer(heed.ones(3), heed.ones(4)).shape)
    assert.same({0, 2}, layer(heed.ones(0, 3), heed.ones(0, 4)).shape)
    assert.equal(24, nn.Bilinear(3, 4, 2, {bias = false}):num_parameters())
  end)

  it("has gradients", function()
    local sample <const> = require "spec.support.sample"
    local gradient <const> = require "spec.support.gradient"
    gradient.check(function(args) return F.bilinear(table.unpack(args)) end,
      {sample.real {2, 3}, sample.other {2, 2}, sample.real {2, 3, 2},
        sample.positive {2}})
  end)

  it("refuses what does not fit", function()
    local layer = nn.Sequential(nn.Bilinear(3, 4, 2))[1]
    assert.equal("Bilinear: a [2 4] must end in 3, a size of weight [2 3 4]",
      message(layer, heed.ones(2, 4), heed.ones(2, 4)))
    assert.equal("Bilinear: a [2 3] and b [5 4] must have the same sizes " ..
      "before the last", message(layer, heed.ones(2, 3), heed.ones(5, 4)))
    assert.equal("bilinear: bias must be [2], got tensor float32 [3]",
      message(F.bilinear, heed.ones(3), heed.ones(4), heed.ones(2, 3, 4),
        heed.ones(3)))
  end)
end)

describe("LayerNorm", function()
  it("normalises the last dimensions", function()
    local y = nn.LayerNorm({2, 2}, {eps = 0})(heed.tensor {{{1., 2}, {3, 4}}})
    local s = 1.25 ^ 0.5
    near(y, {{{-1.5 / s, -0.5 / s}, {0.5 / s, 1.5 / s}}})
  end)

  it("may have no weight, or no bias", function()
    assert.equal(0, #nn.LayerNorm(4, {elementwise_affine = false})
      :parameters())
    assert.equal(1, #nn.LayerNorm(4, {bias = false}):parameters())
  end)

  it("refuses what makes no sense", function()
    assert.equal("LayerNorm: eps must be a number of at least 0, got -1",
      message(nn.LayerNorm, 4, {eps = -1}))
    assert.equal("LayerNorm: normalized_shape must have at least one size",
      message(nn.LayerNorm, {}))
  end)
end)

describe("Dropout", function()
  it("gives its input in evaluation, and for p = 0", function()
    local x = heed.ones(4)
    assert.equal(x, nn.Dropout(0.8):eval()(x))
    assert.equal(x, nn.Dropout(0)(x))
  end)

  it("drops all for p = 1, without NaN", function()
    near(nn.Dropout(1)(heed.ones(4)), {0, 0, 0, 0}, 0)
  end)

  it("draws from its generator", function()
    local a = nn.Dropout(0.5, {generator = heed.Generator(3)})
    local b = nn.Dropout(0.5, {generator = heed.Generator(3)})
    local x = heed.ones(100)
    local y = a(x)
    near(y, b(x), 0)
    assert.is_true(y:eq(0):any():item() and y:eq(2):any():item())
  end)

  it("refuses a p that is no probability", function()
    assert.equal("Dropout: p must be a number from 0 to 1, got 1.5",
      message(nn.Dropout, 1.5))
  end)
end)

describe("Sequential and ModuleList", function()
  it("chain modules and functions", function()
    local net = nn.Sequential {nn.Linear(2, 2), F.relu, nn.ReLU()}
    assert.equal(3, #net)
    assert.is_true(net(heed.randn(4, 2)):ge(0):all():item())
    assert.equal(4, #net:append(nn.Tanh()))
  end)

  it("hold modules in order", function()
    local list = nn.ModuleList {nn.Linear(1, 1), nn.Linear(2, 2)}
    list:append(nn.Linear(3, 3))
    assert.equal(3, #list)
    for i, layer in ipairs(list) do assert.equal(i, layer.in_features) end
  end)

  it("refuse what is no module", function()
    assert.equal("Sequential: part 1 must be a module or a function, got 5",
      message(nn.Sequential, 5))
    assert.equal("ModuleList: entry 2 must be a module, got 5",
      message(nn.ModuleList, {nn.ReLU(), 5}))
    assert.equal("ModuleList: has no forward", message(nn.ModuleList()))
  end)
end)

describe("activations", function()
  it("are those of F", function()
    local x = heed.randn(3, 4)
    near(nn.ReLU()(x), F.relu(x), 0)
    near(nn.GELU()(x), F.gelu(x), 0)
    near(nn.GELU({approximate = "tanh"})(x), F.gelu(x, "tanh"), 0)
    near(nn.SiLU()(x), F.silu(x), 0)
    near(nn.Tanh()(x), x:tanh(), 0)
    near(nn.Sigmoid()(x), x:sigmoid(), 0)
    near(nn.Softmax()(x), x:softmax(-1), 0)
    near(nn.Softmax(1)(x), x:softmax(1), 0)
    near(nn.LogSoftmax()(x), x:log_softmax(-1), 0)
    assert.equal(x, nn.Identity()(x))
  end)

  it("refuse unknown options", function()
    assert.equal('GELU: approximate must be "none" or "tanh", got "x"',
      message(nn.GELU, {approximate = "x"}))
  end)
end)

describe("PositionalEncoding", function()
  it("adds sines and cosines of one frequency a pair", function()
    for _, width in ipairs {6, 7} do
      local pe = nn.PositionalEncoding(width, {max_length = 50})
      local y = pe(heed.zeros(2, 40, width)):totable()
      for _, t in ipairs {1, 2, 40} do
        for c = 1, width do
          local angle = (t - 1) / 10000 ^ ((c - 1) // 2 * 2 / width)
          local want = c % 2 == 1 and math.sin(angle) or math.cos(angle)
          assert.is_near(want, y[2][t][c], 1e-6)
        end
      end
    end
  end)

  it("takes sequences without a batch, length first, and offsets", function()
    local pe = nn.PositionalEncoding(4)
    local whole = pe(heed.zeros(5, 4))
    near(pe(heed.zeros(1, 4), {offset = 4}), whole[{{5, 5}}], 0)
    local first = nn.PositionalEncoding(4, {batch_first = false})
    near(first(heed.zeros(5, 2, 4))[{{}, 2}], whole, 0)
    assert.same({2, 0, 4}, pe(heed.zeros(2, 0, 4)).shape)
  end)

  it("is no parameter and not saved", function()
    local pe = nn.PositionalEncoding(4)
    assert.equal(0, #pe:parameters())
    assert.is_nil(next(pe:state_dict()))
  end)

  it("refuses a sequence that is longer than its table", function()
    local pe = nn.PositionalEncoding(4, {max_length = 64})
    assert.equal("PositionalEncoding: x [2 70 4]: length 70 exceeds " ..
      "max_length 64", message(function() pe(heed.zeros(2, 70, 4)) end))
    assert.equal("PositionalEncoding: x [1 4]: length 65 exceeds max_length " ..
      "64", message(function() pe(heed.zeros(1, 4), {offset = 64}) end))
    assert.equal("PositionalEncoding: x must be [B T d_model] or " ..
      "[T d_model] with d_model 4, got [2 3]",
      message(function() pe(heed.zeros(2, 3)) end))
  end)
end)

describe("losses", function()
  it("pass their options to F", function()
    local x, labels = heed.randn(4, 3), heed.tensor {1, 3, 2, 1}
    local weight = heed.tensor {1., 2, 3}
    near(nn.CrossEntropyLoss()(x, labels), F.cross_entropy(x, labels), 0)
    near(nn.CrossEntropyLoss({weight = weight, ignore_index = 2,
      label_smoothing = 0.1, reduction = "sum"})(x, labels),
      F.cross_entropy(x, labels, {weight = weight, ignore_index = 2,
        label_smoothing = 0.1, reduction = "sum"}), 0)
  end)

  it("are means of squares", function()
    local x, y = heed.tensor {1., 2}, heed.tensor {1., 4}
    near(nn.MSELoss()(x, y), 2)
    near(nn.MSELoss({reduction = "sum"})(x, y), 4)
    near(F.mse_loss(x, y, {reduction = "none"}), {0, 4})
    assert.equal("mse_loss: x [2] and target [1 2] must have one shape",
      message(F.mse_loss, x, heed.zeros(1, 2)))
    assert.equal('mse_loss: reduction must be "mean", "sum" or "none", got ' ..
      '"x"', message(F.mse_loss, x, y, {reduction = "x"}))
  end)

  it("ignore labels, even all of them", function()
    local x = heed.randn({2, 3}, {requires_grad = true})
    local loss = nn.CrossEntropyLoss({ignore_index = 1})
    loss(x, heed.tensor {1, 1}):backward()
    near(x.grad, {{0, 0, 0}, {0, 0, 0}}, 0)
  end)
end)

describe("init", function()
  it("fills with bounds from fan in and fan out", function()
    local init = nn.init
    local t = heed.zeros(40, 60)
    init.xavier_uniform_(t, {gain = 2})
    local bound = 2 * (6 / 100) ^ 0.5
    local most = t:abs():max():item()
    assert.is_true(most <= bound and most > 0.95 * bound)
    init.kaiming_uniform_(t, {mode = "fan_out"})
    most = t:abs():max():item()
    assert.is_true(most <= (6 / 40) ^ 0.5 and most > 0.9 * (6 / 40) ^ 0.5)
    init.xavier_normal_(t)
    assert.is_near(0.02 ^ 0.5, t:std():item(), 0.01)
    init.kaiming_normal_(t)
    assert.is_near((2 / 60) ^ 0.5, t:std():item(), 0.01)
    init.constant_(t, 3)
    assert.is_true(t:eq(3):all():item())
  end)

  it("cuts a normal distribution", function()
    local t = heed.zeros(1000)
    nn.init.trunc_normal_(t, 1, 0.5, 0, 1.5, {generator = heed.Generator(1)})
    assert.is_true(t:min():item() >= 0 and t:max():item() <= 1.5)
    assert.is_true(t:max():item() > 1.4)
    nn.init.trunc_normal_(t, 0, 0.02)
    assert.is_near(0.02, t:std():item(), 0.003)
  end)

  it("writes to parameters", function()
    local p = nn.Parameter(heed.zeros(2))
    nn.init.uniform_(p, 1, 2)
    assert.is_true(p.requires_grad and p:min():item() >= 1)
  end)

  it("refuses what has no fans", function()
    assert.equal("xavier_uniform_: t must have at least 2 dimensions, got [3]",
      message(nn.init.xavier_uniform_, heed.zeros(3)))
    assert.equal('kaiming_normal_: mode must be "fan_in" or "fan_out", got ' ..
      '"x"', message(nn.init.kaiming_normal_, heed.zeros(3, 3), {mode = "x"}))
  end)
end)

describe("an option that is true or false", function()
  it("takes no other value", function()
    assert.equal("Linear: bias must be a boolean, got 0",
      message(nn.Linear, 4, 2, {bias = 0}))
    assert.equal('MultiHeadAttention: batch_first must be a boolean, got "no"',
      message(nn.MultiHeadAttention, 4, 2, {batch_first = "no"}))
    assert.equal("BatchNorm2d: affine must be a boolean, got 1",
      message(nn.BatchNorm2d, 4, {affine = 1}))
    assert.equal("MaxPool2d: ceil_mode must be a boolean, got 1",
      message(nn.MaxPool2d, 2, {ceil_mode = 1}))
    assert.equal("pairwise_distance: keepdim must be a boolean, got 1",
      message(nn.functional.pairwise_distance, heed.ones(2), heed.ones(2),
        {keepdim = 1}))
  end)
end)
