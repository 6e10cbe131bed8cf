-- Where things stand: rotary and learned positions, relative biases, slopes.

local heed = require "heed"
local message = require "spec.support.message"
local near = dofile "spec/nn/near.lua"
local nn <const> = heed.nn
local F <const> = nn.functional

-- (a, b) turned by an angle
local function turned(a, b, angle)
  return a * math.cos(angle) - b * math.sin(angle),
    b * math.cos(angle) + a * math.sin(angle)
end

describe("rotary_embedding", function()
  local x = heed.tensor({{{1, 2, 3, 4}, {5, 6, 7, 8}}}, {dtype = "float64"})

  it("turns pairs that lie in halves, or beside each other", function()
    local want, beside = {1, 2, 3, 4}, {1, 2, 3, 4}
    want[5], want[7] = turned(5, 7, 1)
    want[6], want[8] = turned(6, 8, 0.01)
    near(F.rotary_embedding(x):flatten(), want, 1e-12)
    beside[5], beside[6] = turned(5, 6, 1)
    beside[7], beside[8] = turned(7, 8, 0.01)
    near(F.rotary_embedding(x, {style = "interleaved"}):flatten(), beside,
      1e-12)
  end)

  it("takes base, offset, scaling, frequencies and a part of the row",
    function()
      local a, b = turned(5, 7, (1 + 6) / 2)
      local c, d = turned(6, 8, (1 + 6) / 2 / 10)
      near(F.rotary_embedding(x, {base = 100, offset = 6, scaling = 2})[1][2],
        {a, c, b, d}, 1e-12)
      a, b = turned(5, 7, 3)
      c, d = turned(6, 8, -2)
      near(F.rotary_embedding(x, nil, heed.tensor({3.0, -2.0}))[1][2],
        {a, c, b, d}, 1e-6)
      a, b = turned(5, 6, 1)
      near(F.rotary_embedding(x, {dims = 2})[1][2], {a, b, 7, 8}, 1e-12)
    end)

  it("takes positions from 1, of all or of each sequence", function()
    local y = heed.randn({2, 3, 4, 6}, "float64")
    local each = heed.tensor {{3, 4, 5, 6}, {1, 1, 9, 2}}
    local got = F.rotary_embedding(y, each)
    near(got[1], F.rotary_embedding(y[1], {offset = 2}), 1e-12)
    near(got[2], F.rotary_embedding(y[2], heed.tensor {1, 1, 9, 2}), 1e-12)
    near(got[2]:narrow(-2, 3, 1),
      F.rotary_embedding(y[2]:narrow(-2, 3, 1), {offset = 8}), 1e-12)
  end)

  it("leaves the products of equal distances as they are", function()
    local q, k = heed.randn({1, 8}, "float64"), heed.randn({1, 8}, "float64")
    for _, style in ipairs {"half", "interleaved"} do
      local function product(i, j)
        return (F.rotary_embedding(q, {offset = i, style = style}) *
          F.rotary_embedding(k, {offset = j, style = style})):sum():item()
      end
      near({product(2, 7)}, {product(1000002, 1000007)}, 1e-8)
    end
  end)

  it("works in place, also on a part of a cache, and turns back", function()
    for _, style in ipairs {"half", "interleaved"} do
      for _, dtype in ipairs {"float32", "float64"} do
        local room = heed.randn({2, 3, 9, 16}, dtype)
        local before, part = room:clone(), room:narrow(-2, 3, 5)
        local options = {style = style, offset = 4, dims = 10}
        local want = F.rotary_embedding(part, options)
        F.rotary_embedding_(part, options)
        near(part, want, 0)
        near(room:narrow(-2, 1, 2), before:narrow(-2, 1, 2), 0)
        near(room:narrow(-2, 8, 2), before:narrow(-2, 8, 2), 0)
        options.inverse = true
        F.rotary_embedding_(part, options)
        near(room, before, 1e-5)
      end
    end
  end)

  it("takes strides, also of columns", function()
    local y = heed.randn({6, 4, 2, 3}, "float64"):permute {3, 4, 2, 1}
    near(F.rotary_embedding(y), F.rotary_embedding(y:contiguous()), 0)
    local t = heed.randn({2, 4, 3, 6}, "float64"):transpose(2, 3)
    near(F.rotary_embedding(t), F.rotary_embedding(t:contiguous()), 0)
  end)
end)

describe("RotaryEmbedding", function()
  it("is rotary_embedding with its options", function()
    local x = heed.randn(2, 3, 5, 8)
    near(nn.RotaryEmbedding(8)(x), F.rotary_embedding(x), 0)
    near(nn.RotaryEmbedding(4, {base = 50, style = "interleaved"})(x,
      {offset = 3}), F.rotary_embedding(x,
      {base = 50, style = "interleaved", dims = 4, offset = 3}), 0)
    near(nn.RotaryEmbedding(8)(x, {offset = heed.tensor {2, 7}})[2],
      F.rotary_embedding(x[2], {offset = 7}), 0)
    near(nn.RotaryEmbedding(8)(x, {positions = heed.tensor {5, 4, 3, 2, 1}}),
      F.rotary_embedding(x, heed.tensor {5, 4, 3, 2, 1}), 0)
    assert.equal("RotaryEmbedding(8, base = 10000, half)",
      tostring(nn.RotaryEmbedding(8)):match "^[^:\n]+")
  end)

  -- the angles of position 1, of pairs (1, 0)
  local function angles(dim, scaling, base)
    local x = heed.cat({heed.ones({2, dim // 2}, "float64"),
      heed.zeros({2, dim // 2}, "float64")}, 2)
    local y = nn.RotaryEmbedding(dim, {scaling = scaling, base = base})(x)[2]
    return y:narrow(1, dim // 2 + 1, dim // 2)
      :atan2(y:narrow(1, 1, dim // 2)):totable()
  end

  it("divides positions, or grows the base, for longer sequences", function()
    near(angles(4, 4.0), {0.25, 0.0025}, 1e-12)
    near(angles(4, {type = "linear", factor = 4}), {0.25, 0.0025}, 1e-12)
    -- the fastest pair stays, the slowest is divided by the factor
    near(angles(6, {type = "ntk", factor = 8}),
      {1, 10000 ^ (-1 / 3) * 8 ^ -0.5, 10000 ^ (-2 / 3) / 8}, 1e-12)
  end)

  it("scales frequencies as Llama 3 does", function()
    -- 64 positions: waves of 6.28, 628 and 62832 positions, of which
    -- 10.19, 0.1019 and 0.001 fit; from 4 on a frequency stays, up to 1 it is
    -- divided by 8
    near(angles(6, {type = "llama3", length = 64, factor = 8}, 1e6),
      {1, 0.01 / 8, 0.0001 / 8}, 1e-12)
    -- 2.5 waves fit: halfway between 1 and 4
    local length = 5 * math.pi
    near(angles(2, {type = "llama3", length = length, factor = 8}),
      {0.5 + 0.5 / 8}, 1e-12)
  end)

  it("says what is wrong", function()
    assert.equal("RotaryEmbedding: dim must be even, got 5",
      message(nn.RotaryEmbedding, 5))
    assert.equal('RotaryEmbedding: style must be "half" or "interleaved", ' ..
      'got "neox"', message(nn.RotaryEmbedding, 4, {style = "neox"}))
    assert.equal('RotaryEmbedding: scaling.type must be "linear", "ntk" or ' ..
      '"llama3", got "yarn"',
      message(nn.RotaryEmbedding, 4, {scaling = {type = "yarn"}}))
    assert.equal("RotaryEmbedding: scaling must be above 0, got -2",
      message(nn.RotaryEmbedding, 4, {scaling = -2}))
    assert.equal("RotaryEmbedding: scaling.factor must be a number of at " ..
      "least 1, got nil",
      message(nn.RotaryEmbedding, 4, {scaling = {type = "ntk"}}))
    assert.equal("RotaryEmbedding: scaling.low must be below scaling.high, " ..
      "got 4 and 4", message(nn.RotaryEmbedding, 4,
      {scaling = {type = "llama3", low = 4}}))
    assert.equal("RotaryEmbedding: offset [3] must have one number a " ..
      "sequence of x [2 3 5 8]", message(nn.RotaryEmbedding(8),
      heed.randn(2, 3, 5, 8), {offset = heed.tensor {1, 2, 3}}))
    assert.equal("RotaryEmbedding: dims must be an even number up to 4, the " ..
      "last size of x [2 4], got 8",
      message(nn.RotaryEmbedding(8), heed.randn(2, 4)))
  end)
end)

describe("LearnedPositionalEncoding", function()
  it("adds rows of its weight, behind an offset", function()
    local layer = nn.LearnedPositionalEncoding(3, {max_length = 7})
    local x = heed.randn(2, 4, 3)
    near(layer(x), x + layer.weight:narrow(1, 1, 4), 0)
    near(layer(x, {offset = 3}), x + layer.weight:narrow(1, 4, 4), 0)
    local each = layer(x, {offset = heed.tensor {0, 2}})
    near(each[2], x[2] + layer.weight:narrow(1, 3, 4), 0)
    local first = nn.LearnedPositionalEncoding(3, {batch_first = false})
    near(first(x:transpose(1, 2)),
      (x + first.weight:narrow(1, 1, 4)):transpose(1, 2), 0)
  end)

  it("learns only the rows that were used", function()
    local layer = nn.LearnedPositionalEncoding(2, {max_length = 5})
    layer(heed.zeros(3, 2, 2), {offset = 1}):sum():backward()
    near(layer.weight.grad, {{0, 0}, {3, 3}, {3, 3}, {0, 0}, {0, 0}}, 0)
    assert.equal(10, layer:num_parameters())
    assert.is_not_nil(layer:state_dict().weight)
  end)

  it("starts with normal numbers, and names itself in errors", function()
    heed.manual_seed(0)
    local w = nn.LearnedPositionalEncoding(64, {max_length = 500}).weight
    near({w:detach():std():item()}, {0.02}, 0.001)
    assert.equal("LearnedPositionalEncoding: x [1 6 2]: length 6 exceeds " ..
      "max_length 5", message(nn.LearnedPositionalEncoding(2,
      {max_length = 5}), heed.zeros(1, 6, 2)))
    assert.equal("LearnedPositionalEncoding: x must be [B T d_model] or " ..
      "[T d_model] with d_model 2, got [1 6 3]",
      message(nn.LearnedPositionalEncoding(2), heed.zeros(1, 6, 3)))
  end)
end)

describe("RelativePositionBias", function()
  it("has the buckets of T5", function()
    local both = nn.RelativePositionBias(1)
    -- of 16 buckets a side 8 are exact, the others 8 * 16^(i/8) wide
    local rows <const> = {
      [0] = 0, [1] = 1, [7] = 7, [8] = 8, [11] = 8, [12] = 9, [15] = 9,
      [16] = 10, [31] = 11, [32] = 12, [64] = 14, [127] = 15, [128] = 15,
      [5000] = 15,
    }
    for distance, bucket in pairs(rows) do
      assert.equal(1 + bucket, both:bucket(-distance))
      if distance > 0 then
        assert.equal(17 + bucket, both:bucket(distance))
      end
    end
    local back = nn.RelativePositionBias(1, {bidirectional = false})
    for distance, bucket in pairs {[0] = 0, [15] = 15, [16] = 16, [32] = 21,
      [64] = 26, [127] = 31, [128] = 31} do
      assert.equal(1 + bucket, back:bucket(-distance))
    end
    assert.equal(1, back:bucket(3))
  end)

  it("gives each pair the number of its bucket", function()
    local layer = nn.RelativePositionBias(2, {num_buckets = 8,
      max_distance = 6})
    local bias, w = layer(3, 5), layer.weight:totable()
    assert.same({2, 3, 5}, bias.shape)
    for h = 1, 2 do
      for i = 1, 3 do
        for j = 1, 5 do
          -- query i stands beside key i + 2
          assert.equal(w[layer:bucket(j - i - 2)][h], bias[h][i][j]:item())
        end
      end
    end
    near(layer(5), layer(5, 5), 0)
    near(layer(5):narrow(2, 5, 1), layer(1, 5), 0)
    assert.same({2, 0, 4}, layer(0, 4).shape)
  end)

  it("is learnt through attention", function()
    local layer = nn.RelativePositionBias(2, {bidirectional = false})
    local x = heed.randn(1, 2, 4, 8)
    local y = F.scaled_dot_product_attention(x, x, x,
      {bias = layer(4), causal = true})
    y:square():sum():backward()
    local g = layer.weight.grad:abs():sum(2):totable()
    for row = 1, 32 do assert.equal(row <= 4, g[row] > 0) end
  end)

  it("says what is wrong", function()
    assert.equal("RelativePositionBias: num_buckets must be a multiple of " ..
      "4, got 30", message(nn.RelativePositionBias, 2, {num_buckets = 30}))
    assert.equal("RelativePositionBias: max_distance must be an integer of " ..
      "at least 9, got 8",
      message(nn.RelativePositionBias, 2, {max_distance = 8}))
    assert.equal("RelativePositionBias: query_length must be an integer of " ..
      "at least 0, got -1", message(nn.RelativePositionBias(2), -1))
  end)
end)

describe("alibi_slopes", function()
  it("are those of the paper for any number of heads", function()
    near(F.alibi_slopes(8, "float64"), {0.5, 0.25, 0.125, 0.0625, 2 ^ -5,
      2 ^ -6, 2 ^ -7, 2 ^ -8}, 0)
    near(F.alibi_slopes(3, "float64"), {2 ^ -4, 2 ^ -8, 2 ^ -2}, 0)
    near(F.alibi_slopes(6, "float64"),
      {2 ^ -2, 2 ^ -4, 2 ^ -6, 2 ^ -8, 2 ^ -1, 2 ^ -3}, 0)
    local one = F.alibi_slopes(1)
    one:zero_() -- a tensor of one's own
    near(F.alibi_slopes(1), {2 ^ -8}, 0)
    assert.equal("alibi_slopes: heads must be an integer of at least 0, " ..
      "got -1", message(F.alibi_slopes, -1))
    assert.equal('alibi_slopes: dtype must be "float32" or "float64", got ' ..
      '"int64"', message(F.alibi_slopes, 2, "int64"))
  end)
end)

describe("positional encodings", function()
  it("say that x is no tensor", function()
    for _, name in ipairs {"PositionalEncoding",
      "LearnedPositionalEncoding"} do
      assert.equal(name .. ": x must be a tensor, got nil",
        message(nn[name](4)))
    end
  end)
end)
