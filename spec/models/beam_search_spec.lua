local heed = require "heed"
local beam_search = require "heed.models.beam_search"

-- A model whose next token depends on the last one only: log probabilities by
-- last token. 1 begins, 2 ends.
local function chain(log_probabilities)
  local model = {calls = 0, reordered = {}}
  function model.next(tokens)
    model.calls = model.calls + 1
    local rows = {}
    for i, row in ipairs(tokens:totable()) do
      rows[i] = log_probabilities[row[1]]
    end
    return heed.tensor(rows, {dtype = "float64"})
  end
  function model.reorder(index)
    table.insert(model.reordered, index:totable())
  end
  return model
end

local log = math.log

-- The greedy way 1 3 2 has probability 0.6 * 0.4; 1 4 2 has 0.4 * 0.9.
local trap = {
  {log(0.001), log(0.001), log(0.599), log(0.399)},
  {0, 0, 0, 0},
  {log(0.001), log(0.4), log(0.3), log(0.299)},
  {log(0.04), log(0.9), log(0.03), log(0.03)},
}

describe("beam_search", function()
  it("takes the best token at each step with a beam of 1", function()
    local ids, scores = beam_search(1, chain(trap), 10,
      {bos = 1, eos = 2, beam = 1, length_penalty = 0})
    assert.same({{3}}, ids)
    assert.near(log(0.599) + log(0.4), scores[1], 1e-12)
  end)

  it("finds the more probable sequence with a wider beam", function()
    local ids, scores = beam_search(1, chain(trap), 10,
      {bos = 1, eos = 2, beam = 2, length_penalty = 0})
    assert.same({{4}}, ids)
    assert.near(log(0.399) + log(0.9), scores[1], 1e-12)
  end)

  it("equals trying every sequence", function()
    heed.manual_seed(7)
    for _ = 1, 20 do
      local table_ = heed.randn({4, 4}, {dtype = "float64"}):log_softmax(-1)
        :totable()
      local best, found = -math.huge, nil
      local function try(ids, score)
        local last = ids[#ids] or 1
        local ended = score + table_[last][2]
        if ended > best then
          best, found = ended, table.move(ids, 1, #ids, 1, {})
        end
        if #ids == 3 then return end
        for _, token in ipairs {1, 3, 4} do
          ids[#ids + 1] = token
          try(ids, score + table_[last][token])
          ids[#ids] = nil
        end
      end
      try({}, 0)
      local ids, scores = beam_search(1, chain(table_), 4,
        {bos = 1, eos = 2, beam = 27, length_penalty = 0})
      -- what the search cuts off at its longest length has no end token
      if scores[1] <= best + 1e-12 then
        assert.same(found, ids[1])
        assert.near(best, scores[1], 1e-12)
      end
    end
  end)

  it("stops at max_length", function()
    local endless = {{-1, -50, -0.1}, {0, 0, 0}, {-1, -50, -0.1}}
    local ids = beam_search(2, chain(endless), 100,
      {bos = 1, eos = 2, max_length = 5})
    assert.same({{3, 3, 3, 3, 3}, {3, 3, 3, 3, 3}}, ids)
  end)

  it("drops a sentence that is done", function()
    -- two sentences, told apart by their first token only
    local step = 0
    local widths = {}
    local model = {
      next = function(tokens)
        step = step + 1
        widths[step] = tokens:size(1)
        local rows = {}
        for i = 1, tokens:size(1) do
          local ends = step == 1 and i == 1 or step == 3
          rows[i] = ends and {-9, -0.1, -8} or {-9, -8, -0.1}
        end
        return heed.tensor(rows)
      end,
      reorder = function() end,
    }
    assert.same({{}, {3, 3}}, (beam_search(2, model, 10,
      {bos = 1, eos = 2})))
    assert.same({2, 1, 1}, widths)
  end)

  it("checks its options", function()
    assert.error_matches(function()
      beam_search(1, chain(trap), 10, {bos = 1, eos = 2, beam = 0})
    end, "beam_search: beam must be an integer of at least 1, got 0", 1, true)
    assert.error_matches(function()
      beam_search(1, chain(trap), 10, {bos = 1, eos = 2, width = 3})
    end, 'unknown option "width"; known: beam, bos, early_stopping, eos, '
      .. "length_penalty, max_length", 1, true)
  end)
end)
