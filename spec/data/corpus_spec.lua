local data = require "heed.data"
local heed = require "heed"
local message = require "spec.support.message"

-- A tokeniser of words that are numbers already.
local numbers = {bos = 1, eos = 2}
function numbers:encode(text) -- luacheck: ignore 212
  local ids = {}
  for word in text:gmatch "%d+" do ids[#ids + 1] = math.tointeger(word) end
  return ids
end

describe("data.describe_pairs", function()
  it("counts what was left out, with the first line of each reason", function()
    local path = os.tmpname()
    local file = assert(io.open(path, "wb"))
    file:write("Go.\tVa !\n\nno tab\nnone here\n\xFF\tx\n")
    file:close()
    local pairs = data.read_pairs(path)
    os.remove(path)
    assert.equal("1 pairs; lines left out: 1 empty (first: line 2), 2 "
      .. "malformed (first: line 3), 1 invalid utf8 (first: line 5)",
      data.describe_pairs(pairs))
  end)
end)

describe("data.hold_out", function()
  local pairs = {n = 6, source = {"a", "b", "a", "c", "d", "b"},
    target = {"A", "B", "A!", "C", "D", "B"}}

  it("holds out sources with all their targets", function()
    for seed = 1, 8 do
      local train, test = data.hold_out(pairs, 2,
        {generator = heed.Generator(seed)})
      local held, n = {}, 0
      for i, source in ipairs(test.source) do
        held[source] = test.references[i]
        for _, pair in ipairs(pairs.source) do
          if pair == source then n = n + 1 end
        end
      end
      assert.equal(2, #test.source)
      assert.equal(2, test.n)
      assert.equal(6 - n, train.n)
      assert.equal(train.n, #train.target)
      for i, source in ipairs(train.source) do
        assert.is_nil(held[source])
        assert.equal(source:upper(), train.target[i]:sub(1, 1))
      end
      assert.same(held.a and {"A", "A!"} or nil, held.a)
    end
  end)

  it("says how many sources there are", function()
    assert.equal("hold_out: sources must be less than the 4 that there are, "
      .. "got 4", message(data.hold_out, pairs, 4))
  end)
end)

describe("data.encode_pairs", function()
  local pairs = {source = {"4 5", "6 7 8", "9"}, target = {"3", "4", "5 6 7"}}

  it("puts targets between the start and the end", function()
    local ids, left_out = data.encode_pairs(pairs, numbers)
    assert.same({6, 7, 8}, ids.source[2])
    assert.same({1, 5, 6, 7, 2}, ids.target[3])
    assert.equal(0, left_out)
  end)

  it("leaves out what is too long on one side", function()
    local ids, left_out = data.encode_pairs(pairs, numbers, {max_length = 2})
    assert.same({{4, 5}, {1, 3, 2}, 1, 1, 2},
      {ids.source[1], ids.target[1], #ids.source, #ids.target, left_out})
  end)
end)
