local heed = require "heed"
local F = heed.nn.functional
local attend <const> = F.scaled_dot_product_attention

-- q, k and v [2 4 T 24] of the dtypes
local function inputs(tq, tk, dtypes)
  local g = heed.Generator(tq + tk)
  local list = {}
  for i, t in ipairs {tq, tk, tk} do
    list[i] = heed.randn({2, 4, t, 24}, {generator = g}):to(dtypes[i])
  end
  return list
end

-- The result and the gradients of q, k and v.
local function run(list, options)
  local leaves = {}
  for i, t in ipairs(list) do
    leaves[i] = t:detach():clone()
    leaves[i].requires_grad = true
  end
  local out = attend(leaves[1], leaves[2], leaves[3], options)
  local up = heed.randn(out.shape, {generator = heed.Generator(1)})
  out:backward(up)
  return {out, leaves[1].grad, leaves[2].grad, leaves[3].grad}
end

local function worst(a, b) return (a - b):abs():max():item() end

-- What `run` gives for inputs of the dtypes, beside that of float32.
local function check_near(got, want, dtypes)
  assert.equal("float32", got[1].dtype)
  assert.is_true(worst(got[1], want[1]) <= 1e-6)
  for i = 2, 4 do
    assert.equal(dtypes[i - 1], got[i].dtype)
    -- the last bit of the half: 2^-8 or 2^-11 of the number
    local near = want[i]:abs() * 2 ^ -7 + 1e-5
    assert.is_true(((got[i]:to "float32" - want[i]):abs() - near)
      :max():item() <= 0)
  end
end

describe("attention of halves", function()
  local mixed <const> = {
    {"bfloat16", "bfloat16", "bfloat16"}, {"float16", "float16", "float16"},
    {"float32", "bfloat16", "float16"}, {"float16", "float32", "float32"},
  }
  for _, size in ipairs {{40, 40}, {5, 9}, {200, 300}, {1, 700}, {3, 600}} do
    for _, dtypes in ipairs(mixed) do
      it(("is that of the same float32 numbers: %d %d, %s"):format(size[1],
          size[2], table.concat(dtypes, " ")), function()
        local list = inputs(size[1], size[2], dtypes)
        local wide = {}
        for i, t in ipairs(list) do wide[i] = t:to "float32" end
        for _, o in ipairs {{}, {causal = true, softcap = 3, alibi = true},
            {valid_lens = {size[2], size[2] // 2}, dropout = 0.3}} do
          local function go(x)
            o.generator = heed.Generator(5)
            return run(x, o)
          end
          local got, want = go(list), go(wide)
          check_near(got, want, dtypes)
        end
      end)
    end
  end

  -- of few heads the way back cuts keys into ranges, with sums of their own
  for _, dtypes in ipairs(mixed) do
    it("is that where many keys have few heads: " ..
        table.concat(dtypes, " "), function()
      for _, tk in ipairs {1024, 2100} do
        local list, wide = inputs(20, tk, dtypes), {}
        for i, t in ipairs(list) do
          list[i] = t:narrow(1, 1, 1)
          wide[i] = list[i]:to "float32"
        end
        check_near(run(list), run(wide), dtypes)
      end
    end)
  end

  -- bfloat16 may go through the processor's dot products then
  it("is that of the same numbers where nothing is recorded", function()
    local g = heed.Generator(7)
    local function draw(...)
      return heed.randn({...}, {generator = g}):to "bfloat16"
    end
    for _, d in ipairs {1, 2, 7, 16, 33} do
      for _, size in ipairs {{20, 20}, {9, 40}, {33, 5}, {3, 70}} do
        local q = draw(1, 2, size[1], d)
        local k, v = draw(1, 1, size[2], d), draw(1, 1, size[2], d)
        for _, o in ipairs {{}, {causal = true}, {softcap = 2, scale = 3,
            valid_lens = {size[2] // 2}}} do
          local got = attend(q, k, v, o)
          local want = attend(q:to "float32", k:to "float32",
            v:to "float32", o)
          assert.is_true(worst(got, want) <= 2e-6)
        end
      end
    end
  end)

  it("keeps NaN of what is hidden out", function()
    for _, tk in ipairs {6, 300} do
      local list = inputs(5, tk, {"float32", "bfloat16", "float16"})
      local keep = heed.arange(tk):le(tk // 2)
      local clean = run(list, {mask = keep})
      for i = 2, 3 do list[i][{{}, {}, {tk // 2 + 1, tk}}] = 0 / 0 end
      local dirty = run(list, {mask = keep})
      for i = 1, 4 do assert.equal(0, worst(clean[i], dirty[i])) end
    end
  end)

  it("does not stand beside float64", function()
    local list = inputs(3, 4, {"float64", "bfloat16", "float64"})
    local ok, text = pcall(attend, list[1], list[2], list[3])
    assert.is_false(ok)
    assert.truthy(text:find("attention: q, k and v must have one dtype, got " ..
      "float64, bfloat16 and float64", 1, true))
  end)
end)
