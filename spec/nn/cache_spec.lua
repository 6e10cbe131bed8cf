--- nn.KeyValueCache: room, lengths, and what decoding with it gives.

local heed = require "heed"
local near = require "spec.nn.near"
local nn = heed.nn
local attend = nn.functional.scaled_dot_product_attention

local function message(f, ...)
  return (select(2, pcall(f, ...)):gsub("^[^ ]+:%d+: ", ""))
end

-- Random k, v [B H T D].
local function kv(b, h, t, d, dtype)
  return heed.randn({b, h, t, d}, {dtype = dtype}),
    heed.randn({b, h, t, d}, {dtype = dtype})
end

local function steps(t, first, last)
  return t[{{}, {}, {first, last}}]
end

local function plain(t) return t:contiguous():totable() end

describe("a KeyValueCache", function()
  before_each(function() heed.manual_seed(1) end)

  local options <const> = {{}, {capacity = 700}}

  for _, dtype in ipairs {"float32", "float64"} do
    it("decodes what the whole gives, step by step in " .. dtype, function()
      for _, o in ipairs(options) do
        for _, how in ipairs {{}, {window = 20}, {alibi = true}} do
          how.causal = true
          local q = heed.randn({2, 4, 70, 8}, {dtype = dtype})
          local k, v = kv(2, 2, 70, 8, dtype)
          local want = attend(q, k, v, how)
          local cache = nn.KeyValueCache(o)
          local at = 0
          for _, n in ipairs {1, 1, 30, 8, 1, 2, 27} do
            local all_k, all_v = cache:append("m", steps(k, at + 1, at + n),
              steps(v, at + 1, at + n))
            local y = attend(steps(q, at + 1, at + n), all_k, all_v, how)
            near(y, steps(want, at + 1, at + n),
              dtype == "float64" and 1e-12 or 1e-5)
            at = at + n
          end
        end
      end
    end)
  end

  it("gives the same bits by one thread and by two", function()
    local threads = heed.get_num_threads()
    local q = heed.randn {2, 4, 3, 16}
    local k, v = kv(2, 2, 1500, 16)
    local function run(n)
      heed.set_num_threads(n)
      local cache = nn.KeyValueCache {capacity = 1600}
      local all_k, all_v = cache:append("m", k, v)
      return attend(q, all_k, all_v, {causal = true})
    end
    local one, two = run(1), run(2)
    heed.set_num_threads(threads)
    assert.is_true(one:eq(two):all():item())
  end)

  it("writes in place: with a capacity nothing is copied", function()
    local cache = nn.KeyValueCache {capacity = 64}
    local first = cache:append("m", kv(1, 2, 1, 4))
    first:fill_(7)
    local all
    for _ = 2, 64 do all = cache:append("m", kv(1, 2, 1, 4)) end
    first:fill_(9)
    assert.same(plain(heed.full({1, 2, 1, 4}, 9.0)), plain(steps(all, 1, 1)))
  end)

  -- Bytes of so many steps of keys and values, 4 heads of 256.
  local function bytes(n) return 2 * 4 * n * 256 * 4 end

  -- What f leaves in use, and how much it used at most.
  local function used(f)
    collectgarbage()
    collectgarbage()
    local before = heed.memory_stats().used
    heed.memory_reset_peak()
    f()
    local peak = heed.memory_stats().peak - before
    collectgarbage()
    collectgarbage()
    return heed.memory_stats().used - before, peak
  end

  it("allocates what its capacity needs, once", function()
    local k, v = kv(1, 4, 1, 256)
    local cache = nn.KeyValueCache {capacity = 1024}
    local function append(n)
      for _ = 1, n do cache:append("m", k, v) end
    end
    local room = used(function() append(2) end)
    assert.is_true(room >= bytes(1024) and room < bytes(1040))
    local more, peak = used(function() append(1022) end)
    assert.is_true(more < bytes(1) and peak < bytes(1024) / 2)
  end)

  it("allocates in proportion to its steps without a capacity", function()
    local k, v = kv(1, 4, 1, 256)
    local cache = nn.KeyValueCache()
    local left, peak = used(function()
      for _ = 1, 1000 do cache:append("m", k, v) end
    end)
    assert.is_true(left < bytes(2 * 1000 + 40))
    -- the room that is left and that before, which was half as large, at most
    -- with one more of garbage
    assert.is_true(peak < bytes(4 * 1000))
  end)

  it("keeps what stands in unused room out", function()
    local cache = nn.KeyValueCache {capacity = 600}
    local k, v = kv(2, 1, 600, 4)
    cache:append("m", k, v)
    for _, t in ipairs {cache.entries.m.k, cache.entries.m.v} do
      t:fill_(0 / 0)
    end
    cache:trim(0)
    cache:append("m", steps(k, 1, 290), steps(v, 1, 290))
    cache:trim {289, 3}
    local all_k, all_v, lengths = cache:append("m", steps(k, 300, 301),
      steps(v, 300, 301))
    local q = heed.randn {2, 2, 2, 4}
    local y = attend(q, all_k, all_v,
      {valid_lens = lengths, align = "valid", causal = true})
    for b, n in ipairs {289, 3} do
      local function own(t)
        t = t[{{b, b}}]
        return heed.cat({steps(t, 1, n), steps(t, 300, 301)}, 3)
      end
      near(y[{{b, b}}], attend(q[{{b, b}}], own(k), own(v), {causal = true}),
        1e-5)
    end
  end)

  it("goes on from each sequence's own end", function()
    local descriptions <const> = {
      {causal = true}, {causal = true, window = 3},
      {causal = true, alibi = true}, {alibi = true, window = {3, 2}},
      {causal = true, need_weights = true, alibi = true, window = 4},
    }
    local layer = nn.MultiHeadAttention(8, 2):eval()
    heed.no_grad(function()
      for _, o in ipairs(descriptions) do
        local x, at = heed.randn(3, 9, 8), {5, 0, 4}
        local function run(rows, cache)
          local all = {cache = cache}
          for key, value in pairs(o) do all[key] = value end
          return (layer(rows, all))
        end
        local cache = nn.KeyValueCache()
        run(x[{{}, {1, 5}}], cache)
        cache:trim(heed.tensor(at))
        for _, t in ipairs {1, 2, 1} do
          local rows = {}
          for b = 1, 3 do rows[b] = x[b][{{at[b] + 1, at[b] + t}}] end
          local y = run(heed.stack(rows), cache)
          for b = 1, 3 do
            local alone = nn.KeyValueCache()
            if at[b] > 0 then run(x[{{b, b}, {1, at[b]}}], alone) end
            near(y[b], run(x[{{b, b}, {at[b] + 1, at[b] + t}}], alone)[1],
              1e-5)
            at[b] = at[b] + t
          end
          assert.same(at, cache:lengths():totable())
        end
      end
    end)
  end)

  it("forgets steps that were only tried", function()
    local k, v = kv(2, 1, 6, 4)
    local cache = nn.KeyValueCache()
    cache:append("m", k, v)
    cache:trim(4)
    assert.equal(4, cache:length())
    assert.is_nil(cache:lengths())
    local all = cache:append("m", steps(v, 1, 1), steps(k, 1, 1))
    near(all, heed.cat({steps(k, 1, 4), steps(v, 1, 1)}, 3), 0)
  end)

  it("reorders sequences, lengths too, into as many or more", function()
    local k, v = kv(3, 1, 6, 4)
    local cache = nn.KeyValueCache {capacity = 8}
    cache:append("m", k, v)
    cache:trim {6, 2, 3}
    cache:reorder(heed.tensor {3, 1})
    assert.same({3, 6}, cache:lengths():totable())
    cache:reorder(heed.tensor {2, 1, 2, 2})
    assert.same({6, 3, 6, 6}, cache:lengths():totable())
    local new_k, new_v = kv(4, 1, 2, 4)
    local all_k, all_v, lengths = cache:append("m", new_k, new_v)
    assert.same({8, 5, 8, 8}, lengths:totable())
    for b, from in ipairs {1, 3, 1, 1} do
      local n = ({6, 2, 3})[from]
      near(all_k[{b, {}, {1, n + 2}}],
        heed.cat({k[{from, {}, {1, n}}], new_k[b]}, 2), 0)
      near(all_v[{b, {}, {1, n + 2}}],
        heed.cat({v[{from, {}, {1, n}}], new_v[b]}, 2), 0)
    end
    cache:reorder(heed.tensor {2, 2})
    assert.is_nil(cache:lengths())
    assert.equal(5, cache:length())
  end)

  it("does not write over steps whose gradients are recorded", function()
    local cache = nn.KeyValueCache {capacity = 8}
    local k, v = kv(1, 1, 2, 4)
    k.requires_grad = true
    local all = cache:append("m", k, v)
    heed.no_grad(function()
      cache:trim(1)
      cache:append("m", v, v)
    end)
    near(all, k, 0)
    all:sum():backward()
    near(k.grad, heed.ones(1, 1, 2, 4), 0)
  end)

  it("takes positions of sequences of different lengths", function()
    local encode = nn.PositionalEncoding(6, {max_length = 9})
    local x = heed.zeros(2, 3, 6)
    local y = encode(x, {offset = heed.tensor {4, 1}})
    near(y[{{1, 1}}], encode(x[{{1, 1}}], {offset = 4}), 0)
    near(y[{{2, 2}}], encode(x[{{2, 2}}], {offset = 1}), 0)
    assert.equal("PositionalEncoding: offset [3] must have one number a " ..
      "sequence of x [2 3 6]",
      message(encode, x, {offset = heed.tensor {1, 1, 1}}))
    assert.equal("PositionalEncoding: x [2 3 6]: length 10 exceeds " ..
      "max_length 9", message(encode, x, {offset = heed.tensor {1, 7}}))
  end)

  it("keeps halves, of which attention makes what it makes of them", function()
    local g = heed.Generator(3)
    local function draw(...) return heed.randn({...}, {generator = g}) end
    for _, dtype in ipairs {"bfloat16", "float16"} do
      local cache = nn.KeyValueCache {dtype = dtype, capacity = 40}
      local all_k, all_v = {}, {}
      local k, v
      for i, t in ipairs {30, 1, 3} do
        all_k[i], all_v[i] = draw(2, 4, t, 8), draw(2, 4, t, 8)
        k, v = cache:append("layer", all_k[i], all_v[i])
      end
      assert.equal(dtype, k.dtype)
      assert.equal(dtype, v.dtype)
      local q = draw(2, 4, 1, 8)
      local function rounded(list)
        return heed.cat(list, -2):to(dtype):to "float32"
      end
      local want = attend(q, rounded(all_k), rounded(all_v))
      assert.is_true((attend(q, k, v) - want):abs():max():item() <= 1e-6)
    end
  end)

  it("takes no steps at all", function()
    for _, how in ipairs {{}, {capacity = 4}} do
      local cache = nn.KeyValueCache(how)
      local k, v = cache:append("m", kv(2, 1, 0, 4))
      assert.same({2, 1, 0, 4}, k.shape)
      assert.same({2, 1, 0, 4}, v.shape)
      assert.equal(1, (cache:append("m", kv(2, 1, 1, 4))):size(-2))
      cache:reorder(heed.zeros({0}, {dtype = "int64"}))
      assert.same({0, 1, 2, 4}, (cache:append("m", kv(0, 1, 1, 4))).shape)
    end
  end)

  it("is as before after steps that it had no room for", function()
    local cache = nn.KeyValueCache {capacity = 2}
    assert.equal("KeyValueCache: a capacity of 2 has no room for 3 more " ..
      "steps behind 0", message(cache.append, cache, "m", kv(2, 1, 3, 4)))
    cache:trim(0)
    cache:reorder(heed.tensor {2, 1})
    assert.equal(0, cache:length())
    assert.equal(2, (cache:append("m", kv(2, 1, 2, 4))):size(-2))
  end)

  it("says what is wrong", function()
    assert.equal("KeyValueCache: dtype must be float16, bfloat16, float32 " ..
      'or float64, got "int64"', message(nn.KeyValueCache, {dtype = "int64"}))
    local new <const> = nn.KeyValueCache
    assert.equal("KeyValueCache: capacity must be an integer of at least 1, " ..
      "got 0", message(new, {capacity = 0}))
    assert.equal('KeyValueCache: unknown option "room"; known: capacity, ' ..
      'dtype',
      message(new, {room = 3}))
    local cache = new {capacity = 4}
    local append <const>, trim <const> = cache.append, cache.trim
    cache:append("m", kv(2, 1, 3, 4))
    assert.equal("KeyValueCache: a capacity of 4 has no room for 2 more " ..
      "steps behind 3", message(append, cache, "m", kv(2, 1, 2, 4)))
    assert.equal("KeyValueCache: k must be float32 [2 1 t 4] like those " ..
      "before, got float32 [1 1 1 4]",
      message(append, cache, "m", kv(1, 1, 1, 4)))
    local k, v = kv(2, 1, 1, 4)
    assert.equal("KeyValueCache: k [2 1 1 4] and v [2 1 2 4] must have as " ..
      "many steps", message(append, cache, "m", k, (kv(2, 1, 2, 4))))
    assert.equal("KeyValueCache: v must be float32 [2 1 t 4] like those " ..
      "before, got float64 [2 1 1 4]",
      message(append, cache, "m", k, v:to "float64"))
    assert.equal("trim: length 1 must be an integer from 0 to 3, got 4",
      message(trim, cache, 4))
    assert.equal("trim: length 2 must be an integer from 0 to 3, got -1",
      message(trim, cache, {1, -1}))
    assert.equal("trim: lengths must be an integer, or 2, one a sequence of " ..
      "keys [2 1 3 4], got 3", message(trim, cache, {1, 2, 3}))
    cache:trim {3, 1}
    k.requires_grad = true
    assert.equal("KeyValueCache: sequences of different lengths take no " ..
      "keys and values that want gradients", message(append, cache, "m", k, v))
    local layer = nn.MultiHeadAttention(4, 1)
    heed.no_grad(function()
      local o = {cache = new()}
      layer(heed.randn(2, 3, 4), o)
      o.cache:trim {1, 2}
      o.valid_lens = heed.tensor {1, 1}
      assert.equal("MultiHeadAttention: valid_lens are those of the cache, " ..
        "whose sequences have different lengths, and cannot be given too",
        message(layer, heed.randn(2, 1, 4), o))
    end)
  end)
end)
