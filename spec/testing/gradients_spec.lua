-- testing.gradients_ok: finds wrong gradients, and says where.
local heed = require "heed"
local message_of = require "spec.support.message"
local testing = require "heed.testing"

local ok <const> = testing.gradients_ok

-- x * x, whose gradient is wrong by a factor, where `where(x)` is not 0.
local function wrong(factor, where)
  return heed.autograd.Function {
    forward = function(ctx, x) ctx:save(x) return x * x end,
    backward = function(ctx, g)
      local x = ctx:saved()
      local scale = where and where(x):to("float64") * (factor - 1) + 1
        or factor
      return g * x * 2 * scale
    end,
  }
end

local function said(...)
  local good, text = ok(...)
  assert.is_false(good)
  return text
end

describe("gradients_ok", function()
  it("takes right gradients of all inputs, in float64", function()
    local seen
    assert.is_true(ok(function(x, n, y)
      seen = x.dtype .. " " .. y.dtype .. " " .. n
      return (x * y):sin():sum(-1), y:exp()
    end, {heed.randn(2, 3), 7, heed.randn(3)}))
    assert.equal("float64 float64 7", seen)
  end)

  it("takes a tensor for a list of one, and a table with names", function()
    assert.is_true(ok(function(x) return x:exp() end, heed.ones(3)))
    assert.is_true(ok(function(t) return {y = t.a:matmul(t.b)} end,
      {a = heed.randn(2, 3), b = heed.randn(3, 2)}))
  end)

  it("names the input, the places and both values", function()
    local square = wrong(1.5, function(x) return x:eq(3) end)
    local x = heed.tensor {{1.0, 2.0}, {3.0, 4.0}}
    local text = said(function(_, t) return square(t) end, {heed.ones(1), x})
    assert.equal([[
gradients_ok: input 2 [2 2]: 1 of 4 gradients are off
  tolerance 1e-06 + 1e-05 * |difference|
  place  backward    differences  off by
  [2 1]  13.6197531  9.07983539   4.54]], text)
  end)

  it("lists the worst first, and names inputs of a table", function()
    local square = wrong(1.1)
    local text = said(function(t) return square(t.x) end,
      {x = heed.arange(7):to("float32")})
    assert.matches("^gradients_ok: x %[7%]: 7 of 7 gradients are off", text)
    assert.matches("\n  and 2 more$", text)
    local first, second =
      text:match("off by\n[^\n]- ([%d.]+)\n[^\n]- ([%d.]+)\n")
    assert.is_true(tonumber(first) >= tonumber(second))
  end)

  it("finds a gradient that is missing", function()
    assert.matches("input 1 [2]: 2 of 2 gradients are off",
      said(function(x) return x * x:detach() end, heed.ones(2)), 1, true)
    assert.is_true(ok(function(x, y) return x:detach() * y end,
      {heed.ones(2), heed.ones(2)}, {skip = {1}}))
  end)

  it("finds gradients that depend on how the input lies", function()
    local odd = heed.autograd.Function {
      forward = function(ctx, x) ctx:save(x) return x * x end,
      backward = function(ctx, g)
        local x = ctx:saved()
        return g * x * (x:is_contiguous() and 2 or 3)
      end,
    }
    local x = heed.tensor {{1.0, 2.0}, {3.0, 4.0}}
    assert.matches("^gradients_ok: input 1 %[2 2%]: the gradient is another "
      .. "when the input is a view that does not lie in one piece, off by ",
      said(odd, x))
    assert.is_true(ok(odd, x, {layouts = false}))
  end)

  it("checks the parameters of a module, and leaves them as they were",
    function()
      local layer = heed.nn.Linear(3, 2):to("float64")
      local before = layer.weight:detach():clone()
      local function run(x) return layer(x) end
      assert.is_true(ok(run, heed.randn(4, 3), {parameters = layer}))
      assert.is_true(before:equal(layer.weight:detach()))
      assert.is_nil(layer.weight.grad)
      local square = wrong(2)
      assert.matches("^gradients_ok: weight %[2 3%]", said(function(x)
        return x:matmul(square(layer.weight):transpose())
      end, heed.randn(4, 3), {parameters = layer}))
    end)

  it("varies as many elements as it is told, spread evenly", function()
    local calls = 0
    assert.is_true(ok(function(x) calls = calls + 1 return x:sin() end,
      heed.randn(100), {elements = 4, layouts = false}))
    assert.equal(2 + 1 + 2 * 4, calls)
  end)

  it("checks second derivatives when told so", function()
    assert.is_true(ok(function(x, y) return x:sin() * y end,
      {heed.randn(3), heed.randn(3)}, {second = true}))
    -- right once, but the gradient itself is cut off from x
    local cut = heed.autograd.Function {
      forward = function(ctx, x) ctx:save(x) return x * x end,
      backward = function(ctx, g) return g * ctx:saved():detach() * 2 end,
    }
    assert.is_true(ok(cut, heed.ones(2)))
    assert.matches("^gradients_ok: second order: input 1 %[2%]: 2 of 2 ",
      said(cut, heed.ones(2), {second = true}))
  end)

  it("knows a function that gives another result each time", function()
    assert.equal("gradients_ok: fn gives another result when it is called "
      .. "again with the same inputs: dropout, or random numbers?",
      said(function(x) return x * heed.rand({3}, {dtype = "float64"}) end,
        heed.ones(3)))
    assert.equal("gradients_ok: the results hold NaN",
      said(function(x) return x:log() end, heed.full({2}, -1.0)))
  end)

  it("takes empty inputs, and results that need no gradient", function()
    assert.is_true(ok(function(x) return x:sum() end, heed.zeros({0, 2})))
    assert.is_true(ok(function(x) return x:gt(0):to("float64") end,
      heed.ones(2)))
  end)

  it("refuses what it cannot differentiate", function()
    local function narrow(x) return x:to("float32") end
    assert.equal('gradients_ok: result [1] must be float64 for float64 inputs, '
      .. 'got tensor float32 [2] (is a parameter float32? '
      .. 'model:to("float64"))', message_of(ok, narrow, heed.ones(2)))
    assert.equal("gradients_ok: inputs have no float tensor to differentiate "
      .. "by", message_of(ok, narrow, heed.tensor {1}))
    assert.equal("gradients_ok: inputs must be a tensor or a table of them, "
      .. "got 3", message_of(ok, narrow, 3))
    assert.equal('gradients_ok: parameters: bias must be a float64 tensor, got '
      .. 'tensor float32 [2] (model:to("float64"))', message_of(ok, narrow,
        heed.ones(2), {parameters = heed.nn.Linear(3, 2)}))
    assert.equal("gradients_ok: fn must be a function, got nil",
      message_of(ok))
    assert.equal('gradients_ok: unknown option "eps"; known: atol, elements, '
      .. "layouts, parameters, rtol, second, skip, step",
      message_of(ok, narrow, heed.ones(2), {eps = 1}))
  end)
end)
