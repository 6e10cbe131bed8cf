local cjson = require "cjson"
local heed = require "heed"
local data = heed.data
local message = require "spec.support.message"

local function numbers(n)
  return data.Dataset(n, function(i) return i end)
end

-- The batches of an epoch as lists.
local function epoch(loader)
  local list = {}
  for batch in loader:batches() do list[#list + 1] = batch:totable() end
  return list
end

describe("data.DataLoader", function()
  it("says where its batches come from", function()
    local loader = data.DataLoader({1, 2})
    assert.equal("DataLoader: its batches come from `for batch in " ..
      "loader:batches()`", message(loader))
  end)

  it("goes through the items in order", function()
    local loader = data.DataLoader({1, 2, 3, 4, 5}, {batch_size = 2})
    assert.same({{1, 2}, {3, 4}, {5}}, epoch(loader))
    assert.equal(3, #loader)
    loader = data.DataLoader({1, 2, 3, 4, 5},
      {batch_size = 2, drop_last = true})
    assert.same({{1, 2}, {3, 4}}, epoch(loader))
    assert.equal(2, #loader)
    assert.same({{1}, {2}}, epoch(data.DataLoader({1, 2})))
  end)

  it("shuffles as PyTorch's after the same seed", function()
    -- torch.manual_seed(3); DataLoader(list(range(1, 11)), batch_size=4,
    -- shuffle=True), two epochs
    heed.manual_seed(3)
    local loader = data.DataLoader(numbers(10), {batch_size = 4,
      shuffle = true})
    assert.same({{7, 3, 1, 2}, {9, 4, 6, 5}, {8, 10}}, epoch(loader))
    assert.same({{4, 5, 1, 10}, {7, 8, 2, 3}, {6, 9}}, epoch(loader))
  end)

  it("shuffles by a generator of its own as PyTorch's", function()
    -- generator=torch.Generator().manual_seed(5), drop_last=True
    local loader = data.DataLoader(numbers(10), {batch_size = 4,
      shuffle = true, drop_last = true, generator = heed.Generator(5)})
    assert.same({{8, 5, 9, 2}, {3, 4, 7, 6}}, epoch(loader))
    assert.same({{3, 2, 7, 4}, {6, 10, 5, 8}}, epoch(loader))
  end)

  it("draws from the default generator as PyTorch's without shuffle", function()
    -- torch.manual_seed(3); list(DataLoader([1])); torch.rand(2)
    heed.manual_seed(3)
    epoch(data.DataLoader({1}))
    local got = heed.rand(2):totable()
    assert.is_true(math.abs(got[1] - 0.2858) < 5e-5
      and math.abs(got[2] - 0.0270) < 5e-5)
  end)

  it("begins anew after a loop that was left", function()
    local loader = data.DataLoader({1, 2, 3}, {batch_size = 1})
    loader:batches()()
    assert.same({{1}, {2}, {3}}, epoch(loader))
    assert.equal(2, loader.epoch)
  end)

  it("keeps two loops at once apart", function()
    local loader = data.DataLoader({1, 2}, {batch_size = 1})
    local seen = {}
    for a in loader:batches() do
      for b in loader:batches() do
        seen[#seen + 1] = a:item() .. "/" .. b:item()
      end
    end
    assert.same({"1/1", "1/2", "2/1", "2/2"}, seen)
  end)

  it("gives what collate returns, or fills up with pad", function()
    local set = {{1}, {2, 3}}
    local batch = data.DataLoader(set, {batch_size = 2,
      collate = function(items) return #items end}):batches()()
    assert.equal(2, batch)
    for _, source in ipairs {set, data.Ragged(set)} do
      batch = data.DataLoader(source, {batch_size = 2, pad = 9}):batches()()
      assert.same({{1, 9}, {2, 3}}, batch[1]:totable())
      assert.same({1, 2}, batch.valid_lens[1]:totable())
    end
  end)

  it("takes an empty dataset", function()
    for _, shuffle in ipairs {true, false} do
      local loader = data.DataLoader({}, {shuffle = shuffle})
      assert.same({}, epoch(loader))
      assert.equal(0, #loader)
    end
  end)

  it("refuses wrong arguments", function()
    local function text(options, set)
      return message(data.DataLoader, set or {1, 2, 3}, options)
    end
    assert.equal("DataLoader: set must be a dataset or a list, got 3",
      text(nil, 3))
    assert.equal("DataLoader: batch_size must be an integer of at least 1, "
      .. "got 0", text({batch_size = 0}))
    assert.equal("DataLoader: lengths must have a number for each of 3 items, "
      .. "got 2", text({lengths = {1, 2}}))
    assert.equal("DataLoader: lengths[2] must be an integer of at least 0, got "
      .. "-1", text({lengths = {1, -1, 2}}))
    assert.equal("DataLoader: max_tokens needs lengths, those of the items",
      text({max_tokens = 5}))
    assert.equal("DataLoader: lengths[3] is 9, more than max_tokens, 5",
      text({max_tokens = 5, lengths = {1, 2, 9}}))
    assert.equal("DataLoader: drop_last needs batches of one size, which "
      .. "max_tokens does not give",
      text({max_tokens = 5, lengths = {1, 2, 3}, drop_last = true}))
    assert.equal("DataLoader: give either collate or pad",
      text({pad = 1, collate = print}))
    assert.equal("DataLoader: collate must be a function, got 3",
      text({collate = 3}))
    assert.equal("DataLoader: generator must be a heed.Generator, got tensor "
      .. "float32 [1]", text({generator = heed.ones(1)}))
    assert.equal('DataLoader: pad must be a number, or numbers by field, got '
      .. '"x"', text({pad = "x"}))
    assert.equal("DataLoader: collate must return a batch, got nil",
      message(data.DataLoader({1}, {collate = function() end}):batches()))
  end)
end)

describe("data.DataLoader by length", function()
  local lengths = {}
  for i = 1, 1000 do lengths[i] = i * 7919 % 40 + 1 end

  local function rows_of(loader)
    local list = {}
    for rows in loader:rows() do list[#list + 1] = rows end
    return list
  end

  local function check_all_once(list, n)
    local seen, count = {}, 0
    for _, rows in ipairs(list) do
      for _, i in ipairs(rows) do
        assert.is_nil(seen[i])
        seen[i], count = true, count + 1
      end
    end
    assert.equal(n, count)
  end

  it("gives every item once, those of a batch of about one length", function()
    heed.manual_seed(1)
    local list = rows_of(data.DataLoader(numbers(1000), {batch_size = 16,
      shuffle = true, lengths = lengths}))
    check_all_once(list, 1000)
    for _, rows in ipairs(list) do
      local low, high = math.huge, 0
      for _, i in ipairs(rows) do
        low, high = math.min(low, lengths[i]), math.max(high, lengths[i])
      end
      assert.is_true(#rows <= 16 and high - low <= 2)
    end
  end)

  it("goes by rising length without shuffle", function()
    local o = {batch_size = 2, lengths = heed.tensor {3, 1, 2, 5, 4, 9, 7}}
    assert.same({{2, 3}, {1, 5}, {4, 7}, {6}},
      rows_of(data.DataLoader(numbers(7), o)))
    o.drop_last = true
    assert.same({{2, 3}, {1, 5}, {4, 7}},
      rows_of(data.DataLoader(numbers(7), o)))
  end)

  it("repeats its order with the same seed, in other batches later", function()
    local function loader(seed)
      return data.DataLoader(numbers(1000), {batch_size = 16, shuffle = true,
        lengths = lengths, generator = heed.Generator(seed)})
    end
    local a, b = loader(5), loader(5)
    local first = rows_of(a)
    assert.same(first, rows_of(b))
    assert.are_not.same(first, rows_of(a))
    assert.are_not.same(first, rows_of(loader(6)))
  end)

  it("holds to a budget of tokens, padding included", function()
    local loader = data.DataLoader(numbers(1000), {max_tokens = 100,
      shuffle = true, lengths = lengths, generator = heed.Generator(5)})
    assert.equal("DataLoader: with max_tokens and shuffle, the number of "
      .. "batches is known when an epoch has begun",
      message(function() return #loader end))
    local list = rows_of(loader)
    check_all_once(list, 1000)
    local used = 0
    for _, rows in ipairs(list) do
      local longest = 0
      for _, i in ipairs(rows) do longest = math.max(longest, lengths[i]) end
      assert.is_true(longest * #rows <= 100)
      used = used + longest * #rows
    end
    assert.equal(#list, #loader)
    -- most of the budget is used
    assert.is_true(used / #list > 75, used / #list)
  end)

  it("may bound both tokens and items", function()
    local o = {max_tokens = 12, batch_size = 3,
      lengths = {1, 1, 1, 1, 4, 6, 12}}
    assert.same({{1, 2, 3}, {4, 5}, {6}, {7}},
      rows_of(data.DataLoader(numbers(7), o)))
    assert.equal(4, #data.DataLoader(numbers(7), o))
  end)
end)

describe("the state of a data.DataLoader", function()
  local lengths = {}
  for i = 1, 23 do lengths[i] = i * 7 % 10 + 1 end

  local KINDS <const> = {
    ["in order"] = {batch_size = 4},
    shuffled = {batch_size = 4, shuffle = true},
    ["by length"] = {batch_size = 4, shuffle = true, lengths = lengths},
    ["by tokens"] = {max_tokens = 20, shuffle = true, lengths = lengths},
  }

  -- Runs three epochs; writes the state after batch `stop`, as JSON.
  local function run(loader, stop)
    local list, state = {}, nil
    for _ = 1, 3 do
      for batch in loader:batches() do
        list[#list + 1] = batch:totable()
        -- the loop draws, too, as dropout does
        if not loader.generator then heed.rand(3) end
        if #list == stop then state = cjson.encode(loader:state_dict()) end
      end
    end
    return list, state, loader.epoch
  end

  local function check(options)
    local all = run(data.DataLoader(numbers(23), options()))
    assert.is_true(#all >= 18)
    for stop = 1, #all do
      local _, text = run(data.DataLoader(numbers(23), options()), stop)
      local loader = data.DataLoader(numbers(23), options())
      heed.manual_seed(99) -- another process draws from elsewhere
      loader:load_state_dict(cjson.decode(text))
      local rest = {}
      while #rest < #all - stop do
        for batch in loader:batches() do
          rest[#rest + 1] = batch:totable()
          if not loader.generator then heed.rand(3) end
        end
      end
      for i = 1, #all - stop do assert.same(all[stop + i], rest[i]) end
    end
  end

  for name, kind in pairs(KINDS) do
    it("lets it go on exactly where it was, " .. name, function()
      check(function()
        local o = {}
        for key, value in pairs(kind) do o[key] = value end
        o.generator = heed.Generator(7)
        return o
      end)
    end)
  end

  it("restores the default generator where the loop draws too", function()
    -- rand(3) is drawn after the state is taken: only what the loader itself
    -- draws has to be the same
    local function run_epochs(loader, n, list)
      for _ = 1, n do
        for batch in loader:batches() do list[#list + 1] = batch:totable() end
      end
      return list
    end
    heed.manual_seed(4)
    local all = run_epochs(data.DataLoader(numbers(23), KINDS.shuffled), 3, {})
    heed.manual_seed(4)
    local loader = data.DataLoader(numbers(23), KINDS.shuffled)
    local batches = loader:batches()
    batches()
    batches()
    local text = cjson.encode(loader:state_dict())
    heed.manual_seed(99)
    local again = data.DataLoader(numbers(23), KINDS.shuffled)
    again:load_state_dict(cjson.decode(text))
    assert.equal(1, again.epoch)
    local rest = run_epochs(again, 3, {})
    for i = 3, #all do assert.same(all[i], rest[i - 2]) end
  end)

  it("between epochs begins the next one", function()
    local function make()
      return data.DataLoader(numbers(9),
        {batch_size = 2, shuffle = true, generator = heed.Generator(1)})
    end
    local a = make()
    epoch(a)
    local state = cjson.decode(cjson.encode(a:state_dict()))
    assert.is_nil(state.position)
    local b = make()
    b:load_state_dict(state)
    assert.same(epoch(a), epoch(b))
  end)

  it("is refused when it is of another loader, or damaged", function()
    local function loader(o) return data.DataLoader(numbers(9), o) end
    local one = loader({batch_size = 2, shuffle = true})
    one:batches()()
    local function text(change, options)
      local state = one:state_dict()
      for key, value in pairs(change) do state[key] = value end
      local other = loader(options or {batch_size = 2, shuffle = true})
      return message(other.load_state_dict, other, state)
    end
    local head = "DataLoader.load_state_dict: "
    assert.equal(head .. "the state is of a loader with batch_size = 2, this "
      .. "one has 3", text({}, {batch_size = 3, shuffle = true}))
    assert.equal(head .. "the state is of a loader with items = 8, this one "
      .. "has 9", text({items = 8}))
    assert.equal(head .. "state.epoch must be a number, got \"x\"",
      text({epoch = "x"}))
    assert.equal(head .. "state.position must be 0..5, got 6",
      text({position = 6}))
    assert.equal(head .. "state.generator is no state of a generator of this "
      .. "machine", text({generator = "00ff"}))
    assert.equal(head .. "state.start is no state of a generator of this "
      .. "machine", text({start = "zz"}))
    assert.equal("DataLoader.load_state_dict: state must be a table, got nil",
      message(one.load_state_dict, one))
  end)
end)
