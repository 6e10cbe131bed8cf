-- heed.einsum: the whole notation against sums written out, the order of many
-- operands, gradients, errors.

local close = require "spec.support.close"
local gradient = require "spec.support.gradient"
local heed = require "heed"
local message_of = require "spec.support.message"
local sample = require "spec.support.sample"

local einsum <const> = heed.einsum
local real <const>, other <const> = sample.real, sample.other

local TIGHT <const> = {atol = 1e-11, rtol = 1e-11}

local function check(got, want) close.check("value", got, want, TIGHT) end

local function message(...) return message_of(einsum, ...) end

-- -- the definition ----------------------------------------------------------

-- Element `at` (by letter) of a flat row-major operand whose letters are given.
local function element(flat, shape, letters, at)
  local place = 0
  for d = 1, #letters do
    -- a size of 1 stretches
    local i = shape[d] == 1 and 1 or at[letters:sub(d, d)]
    place = place * shape[d] + i - 1
  end
  return flat[place + 1]
end

-- Calls f for all values of the letters.
local function each(letters, size, at, f, d)
  d = d or 1
  if d > #letters then return f() end
  for i = 1, size[letters:sub(d, d)] do
    at[letters:sub(d, d)] = i
    each(letters, size, at, f, d + 1)
  end
end

-- The equation as loops over all letters.
local function by_loops(inputs, output, operands)
  local size, all, flats, at = {}, output, {}, {}
  for i, letters in ipairs(inputs) do
    flats[i] = close.flat(operands[i])
    for d = 1, #letters do
      local l, n = letters:sub(d, d), operands[i]:size(d)
      if size[l] == nil or size[l] == 1 then size[l] = n end
      if not all:find(l) then all = all .. l end
    end
  end
  local result, shape = {}, {}
  for d = 1, #output do shape[d] = size[output:sub(d, d)] end
  each(output, size, at, function()
    local total = 0.0
    each(all:sub(#output + 1), size, at, function()
      local product = 1.0
      for i, letters in ipairs(inputs) do
        product = product *
          element(flats[i], operands[i].shape, letters, at)
      end
      total = total + product
    end)
    result[#result + 1] = total
  end)
  if #result == 0 then return heed.zeros(shape, {dtype = "float64"}) end
  return heed.tensor(result, {dtype = "float64"}):reshape(shape)
end

local SIZE <const> = {a = 2, b = 3, c = 4, d = 1, e = 2, z = 0, G = 3}

local function operands_for(inputs)
  local list = {}
  for i, letters in ipairs(inputs) do
    local shape = {}
    for d = 1, #letters do shape[d] = SIZE[letters:sub(d, d)] end
    list[i] = i % 2 == 1 and real(shape) or other(shape)
  end
  return list
end

local function split(text)
  local list = {}
  for part in (text .. ","):gmatch("([^,]*),") do list[#list + 1] = part end
  return list
end

describe("einsum is the sum that it stands for:", function()
  for _, equation in ipairs {
    -- one operand: views, sums, diagonals
    "a->a", "ab->ba", "ab->", "ab->b", "aa->a", "aa->", "aba->ab", "aaa->a",
    "abab->ba", "->", "d->", "z->", "az->a",
    -- products without a sum
    "a,b->ab", "a,b->ba", "ab,ab->ab", "ab,b->ab", "ab,a->ba", "a,->a", ",->",
    "d,a->ad",
    -- one sum
    "a,a->", "ab,bc->ac", "ab,bc->ca", "ba,bc->ac", "ab,cb->ac", "ab,b->a",
    "b,bc->c", "ab,ab->a", "abc,abc->", "ab,cd->", "ab,cd->ad", "az,zb->ab",
    "zb,bc->zc", "GbA,bc->GcA",
    -- batches, several letters in a group
    "eab,ebc->eac", "eab,ebc->aec", "abcd,abed->abce", "abe,bec->ac",
    "abc,bad->cd", "abce,Gbe->aGc", "aab,bc->ac", "ab,bcc->ac",
    -- many operands
    "ab,bc,ce->ae", "ab,bc,ca->", "ab,ab,ab->ab", "a,b,c,e->ecba",
    "ab,a,b->", "ab,cb,ac->bc", "ab,bc,ce,eG->aG", "ab,ac,ae,aG->bceG",
    "ab,bc,ce,eG,Ga,ab,bG->ac", "a,b,c,d,e,G,a,b->",
  } do
    it(equation, function()
      SIZE.A = 2
      local left, output = equation:match("^(.*)%->(.*)$")
      local inputs = split(left)
      local operands = operands_for(inputs)
      local want = by_loops(inputs, output, operands)
      check(einsum(equation, table.unpack(operands)), want)
      check(einsum(equation, operands), want)
      for i, t in ipairs(operands) do operands[i] = sample.scattered(t) end
      check(einsum(equation, operands), want)
    end)
  end

  it("sizes of 1 that stretch", function()
    for _, case in ipairs {
      {"ab,ab->ab", {2, 1}, {2, 3}}, {"ab,bc->ac", {2, 1}, {3, 4}},
      {"ab,bc->ac", {2, 3}, {1, 4}}, {"ab,bc->ac", {2, 1}, {1, 4}},
      {"a,ab,b->", {2}, {1, 3}, {1}}, {"aab,b->a", {2, 2, 1}, {3}},
    } do
      local left, output = case[1]:match("^(.*)%->(.*)$")
      local operands = {}
      for i = 2, #case do operands[i - 1] = real(case[i]) end
      check(einsum(case[1], operands), by_loops(split(left), output, operands))
    end
  end)
end)

describe("einsum", function()
  it("knows the output that is left out", function()
    local a, b = real {2, 3}, other {3, 4}
    check(einsum("ij,jk", a, b), a:matmul(b))
    check(einsum("kj,jB", a, b), a:matmul(b):transpose()) -- capitals first
    check(einsum("ba", a), a:transpose())
    check(einsum("ij,ij", a, a), (a * a):sum())
    check(einsum("ii", real {3, 3}), real {3, 3}:trace())
  end)

  it("takes ... for any dimensions, which broadcast", function()
    local a, b = real {2, 1, 2, 3}, other {4, 3, 2}
    check(einsum("...ij,...jk->...ik", a, b), a:matmul(b))
    check(einsum("...ij,...jk", a, b), a:matmul(b))
    check(einsum("...ij,jk", a, b[1]), a:matmul(b[1]))
    check(einsum("i...,i...->...", real {3, 2}, other {3, 1}),
      (real {3, 2} * other {3, 1}):sum(1))
    check(einsum("...,...->...", real {2, 3}, other {3}),
      real {2, 3} * other {3})
    check(einsum("...ii->...i", real {2, 3, 3}),
      real {2, 3, 3}:diagonal(0, 2, 3))
    check(einsum("a...->...a", real {2, 3, 4}),
      real {2, 3, 4}:permute(2, 3, 1))
    check(einsum("...->", real {2, 3}), real {2, 3}:sum())
    check(einsum("...a,a->...", real {3}, other {3}), real {3}:dot(other {3}))
  end)

  it("does not see spaces", function()
    local a, b = real {2, 3}, other {3, 4}
    check(einsum(" i j , j k -> k i\n", a, b), a:matmul(b):transpose())
  end)

  it("gives a view where there is nothing to compute", function()
    local x = heed.zeros(2, 2)
    einsum("ii->i", x):copy_(heed.tensor {1.0, 2.0})
    einsum("ij->ji", x)[{2, 1}] = 5.0
    assert.same({{1, 5}, {0, 2}}, x:totable())
  end)

  it("sums integers, and promotes", function()
    local a, b = heed.tensor {{1, 2}, {3, 4}}, heed.tensor {{5, 6}, {7, 8}}
    local y = einsum("ij,jk->ik", a, b)
    assert.same("int64", y.dtype)
    assert.same({{19, 22}, {43, 50}}, y:totable())
    assert.same("float32", einsum("ij,jk->ik", a, b:to "float32").dtype)
  end)

  it("looks at sizes anew for each call", function()
    for _, n in ipairs {2, 5, 1, 3} do
      local a, b, c = real {n, 3}, other {3, n + 1}, real {n + 1, 2}
      check(einsum("ij,jk->ik", a, b), a:matmul(b))
      check(einsum("ij,jk,kl->il", a, b, c), a:matmul(b):matmul(c))
      check(einsum("bij,bkj->bik", real {n, 2, 3}, other {n, 4, 3}),
        real {n, 2, 3}:matmul(other {n, 4, 3}:transpose()))
    end
  end)

  it("joins the operands in an order that costs little", function()
    -- from the left it is 64 million products, from the right 8 thousand
    local a, b, c = heed.ones(400, 400), heed.ones(400, 400), heed.ones(400)
    local before = heed.memory_stats().used
    heed.memory_reset_peak()
    check(einsum("ij,jk,k->i", a, b, c)[1], 160000)
    assert.is_true(heed.memory_stats().peak - before < 400 * 400 * 4)
  end)

  it("takes more operands than an integer has bits", function()
    local list, part = {}, {}
    for i = 1, 70 do list[i], part[i] = heed.full({2}, 1.0), "a" end
    check(einsum(table.concat(part, ",") .. "->a", list), {1, 1})
  end)

  for equation, shapes in pairs {
    ["bhqd,bhkd->bhqk"] = {{1, 2, 2, 3}, {1, 2, 3, 3}},
    ["ij,jk,ki->"] = {{2, 3}, {3, 2}, {2, 2}}, ["iij,j->i"] = {{2, 2, 3}, {3}},
    ["...i,...i->..."] = {{2, 3}, {1, 3}}, ["i,j->ji"] = {{2}, {3}},
  } do
    it("has first and second gradients: " .. equation, function()
      local args = {}
      for i, shape in ipairs(shapes) do args[i] = real(shape) end
      local function call(list) return einsum(equation, list) end
      gradient.check(call, args)
      gradient.check(function(list)
        local _ <close> = heed.enable_grad()
        local leaves = sample.map(list, function(t)
          if t.requires_grad then return t end
          t = t:clone():detach()
          t.requires_grad = true
          return t
        end)
        local y = call(leaves)
        return heed.grad((y * y * y):sum(), leaves[1], {create_graph = true})
      end, args, {atol = 1e-5})
    end)
  end
end)

describe("einsum refuses", function()
  local a, b = heed.ones(2, 3), heed.ones(4, 5)
  for _, case in ipairs {
    {{"ij,jk->ik", a, b}, '"ij,jk->ik": letter j has size 3 in operand 1 ' ..
      "[2 3], and 4 in operand 2 [4 5]"},
    {{"ii->i", a}, '"ii->i": letter i has sizes 2 and 3 in operand 1 [2 3]'},
    {{"ii,i->i", heed.ones(1, 2), heed.ones(2)},
      '"ii,i->i": letter i has sizes 1 and 2 in operand 1 [1 2]'},
    {{"i,ii->i", heed.ones(2), heed.ones(1, 2)},
      '"i,ii->i": letter i has sizes 1 and 2 in operand 2 [1 2]'},
    {{"...i,...j", a, b}, '"...i,...j": dimension -1 of "..." has size 2 in ' ..
      "operand 1 [2 3], and 4 in operand 2 [4 5]"},
    {{"ijk->i", a}, '"ijk->i": operand 1 [2 3] has 2 dimensions, its ' ..
      "letters name 3"},
    {{"i->i", a}, '"i->i": operand 1 [2 3] has 2 dimensions, its letters ' ..
      "name 1"},
    {{"ijk...->i", a}, '"ijk...->i": operand 1 [2 3] has 2 dimensions, its ' ..
      "letters name at least 3"},
    {{"ij,jk->ik", a}, '"ij,jk->ik": it names 2 operands, got 1'},
    {{"ij->ij", a, b}, '"ij->ij": it names 1 operand, got 2'},
    {{"ij->ik", a}, '"ij->ik": the output has letter k, which no operand has'},
    {{"ij->ii", a}, '"ij->ii": the output has letter i twice'},
    {{"i1->i", a}, '"i1->i": operand 1 has "1", which is no letter'},
    {{"ij,iñ->i", a, a}, '"ij,iñ->i": operand 2 has "ñ", which is no letter'},
    {{"\x80->i", a}, '"\x80->i": operand 1 has "\\x80", which is no letter'},
    {{"..ij->i", a}, '"..ij->i": operand 1 has ".", which is no letter'},
    {{"...i...->i", a}, '"...i...->i": operand 1 has "..." twice'},
    {{"ij->i->j", a}, '"ij->i->j": the output has "-", which is no letter'},
    {{"ij->ij", 3}, '"ij->ij": operand 1 must be a tensor, got 3'},
    {{"ij,ij->ij", a, nil, n = 3},
      '"ij,ij->ij": operand 2 must be a tensor, got nil'},
  } do
    it(case[2], function()
      assert.same("einsum: " .. case[2],
        message(table.unpack(case[1], 1, case[1].n)))
    end)
  end

  it("an equation that is no string", function()
    assert.same("einsum: equation must be a string, got nil", message())
    assert.same("einsum: equation must be a string, got a table",
      message({}, a))
  end)
end)
