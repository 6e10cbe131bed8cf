--- heed.testing: assertions about tensors, for busted and without it.
--
--     require "heed.testing"
--
--     it("gives weights that sum to 1", function()
--       local w = heed.randn(2, 3, 4):softmax(-1)
--       assert.has_shape(w, {2, 3, 4})
--       assert.tensors_close(w:sum(-1), heed.ones({2, 3}))
--     end)
--
-- Requiring it registers the assertions with luassert: `assert.is_not.finite`,
-- `assert.message("text").tensors_close` and a text as the last argument work
-- as with luassert's own, and failures point at the caller's line. Where there
-- is no luassert, the same functions of this table return true, or false and
-- the message.
-- @module heed.testing
local check = require "heed.check"
local close = require "heed.testing.close"
local deterministic = require "heed.testing.deterministic"
local facts = require "heed.testing.facts"
local golden = require "heed.testing.golden"
local gradients = require "heed.testing.gradients"
local layout = require "heed.testing.layout"
local parts = require "heed.testing.generators"
local property = require "heed.testing.property"
local shapes = require "heed.testing.shapes"

local testing = {}

--- Are two values close, element by element: `|got - want| <= atol + rtol *
-- |want|`, or equal? Shapes must be the same, and the dtypes of two tensors.
-- Lists and numbers have no dtype of their own. Tables of tensors, such as two
-- state_dicts, are compared key by key.
--
-- Without `rtol` and `atol` they follow the dtype, the wider one of two, as
-- torch.testing.assert_close has them: rtol 1e-3 and atol 1e-5 for float16,
-- 1.6e-2 and 1e-5 for bfloat16, 1.3e-6 and 1e-5 for float32, 1e-7 and 1e-7 for
-- float64; integers and booleans must be equal. With one of the two the other
-- is 0.
-- @param got a tensor, a nested list, a number, or a table of tensors
-- @param want tensors in the same form
-- @tparam[opt] table options `rtol`, `atol`; `equal_nan`: NaN in one place is
-- equal (false); `check_dtype` (true); `shown`: how many differences the
-- message lists (5)
-- @treturn boolean
-- @treturn ?string the message: shapes and dtypes, how many differ, the worst
-- place, the first differences
-- @raise for what is no such value, and unknown options
-- @usage local a = heed.tensor {1.0, 2.0}
-- return (heed.testing.tensors_close(a, {1, 2.1})) --> false
function testing.tensors_close(got, want, options)
  local ok, text = close.compare("tensors_close", got, want, options)
  if ok then return true end
  return false, text
end

--- Returns the tolerances that `tensors_close` has for a dtype.
-- @tparam string dtype
-- @treturn number rtol
-- @treturn number atol
-- @raise when dtype is no string
-- @usage heed.testing.tolerances("float64") --> 1e-7 1e-7
function testing.tolerances(dtype)
  return close.tolerances(check.kind("tolerances", "dtype", dtype, "string"))
end

--- Has x this shape? -1 stands for any size, a name for a size that is the
-- same wherever the name is.
-- @param x a tensor or a nested list
-- @tparam table shape sizes, -1 and names, such as `{"B", "T", "T", 8}`
-- @treturn boolean
-- @treturn ?string the message
-- @raise when shape is no such list
-- @usage heed.testing.has_shape(heed.ones({2, 5, 5}), {-1, "T", "T"}) --> true
function testing.has_shape(x, shape) return facts.has_shape(x, shape) end

--- Has x this dtype?
-- @tparam tensor x
-- @tparam string dtype such as `"float32"`
-- @treturn boolean
-- @treturn ?string the message
-- @raise when x is no tensor, or dtype no string
-- @usage heed.testing.has_dtype(heed.ones({2}), "float32") --> true
function testing.has_dtype(x, dtype) return facts.has_dtype(x, dtype) end

--- Are all numbers finite, neither NaN nor infinite?
-- @param x a tensor, a nested list, or a table of tensors such as a state_dict
-- @treturn boolean
-- @treturn ?string the message: how many are what, and the first place
-- @raise for what is no such value
-- @usage return (heed.testing.finite(heed.tensor {1.0, 0 / 0})) --> false
function testing.finite(x) return facts.finite(x) end

--- Are the gradients of the backward pass those of the function? Each is
-- compared with the difference of the function's values a small step to both
-- sides, in float64, to which the inputs are converted; all results count,
-- times fixed weights.
-- @tparam function fn of the inputs, returns tensors or tables of them
-- @param inputs a tensor, or a list of arguments, or a table with names, which
-- fn gets as one
-- @tparam[opt] table options `parameters`: a module in float64, or a table of
-- tensors, that fn uses and whose gradients are checked too; `skip`: keys of
-- inputs without gradients; `step` (1e-6); `atol` (1e-6) and `rtol` (1e-5), by
-- how much they may differ; `elements`: at most how many of each tensor are
-- varied (all); `layouts`: the gradients must be the same for inputs that do
-- not lie in one piece (true); `second`: second derivatives too (false)
-- @treturn boolean
-- @treturn ?string the message: the input, the places, both values
-- @raise when a result is not float64, when there is nothing to differentiate
-- by, and for unknown options
-- @usage heed.testing.gradients_ok(function(x) return x:sin() end,
--   heed.randn(2, 3)) --> true
function testing.gradients_ok(fn, inputs, options)
  return gradients.check(fn, inputs, options)
end

--- Has a result the values that a file beside the spec keeps?
--
-- The file is `golden/NAME.safetensors` beside the file that calls. When it is
-- missing, the assertion fails; with `HEED_UPDATE_GOLDEN=1` in the environment
-- it is written, and so are those whose values are not close any more
-- (`HEED_UPDATE_GOLDEN=WORD`: only those with WORD in their names). Files are
-- written whole or not at all.
-- @tparam string name of the file; may have folders in it
-- @param value a tensor, a nested list, or a table of tensors
-- @tparam[opt] table options `rtol`, `atol`, `equal_nan`, `shown`, as for
-- `tensors_close`; `folder` instead of golden/ beside the caller
-- @treturn boolean
-- @treturn ?string the message, with a map of where values differ
-- @raise for a name that is none, an unreadable file, unknown options
-- @usage local ok, text = heed.testing.matches_golden("scores", {1, 2},
--   {folder = "no such folder"})
-- assert(not ok and text:find "scores.safetensors is missing")
function testing.matches_golden(name, value, options)
  return golden.check(name, value, options)
end

--- Returns the files of golden values that no call of this process has used,
-- sorted. With `HEED_STALE_GOLDEN=1` in the environment, busted lists them at
-- the end of a run; only a run of all specs says something.
-- @tparam[opt] string folder where to look; without it, in the folders from
-- which files were used
-- @treturn table paths
-- @usage #heed.testing.stale_golden("no such folder") --> 0
function testing.stale_golden(folder) return golden.stale(folder) end

--- Does a function give the same, bit for bit, in every run and with every
-- thread count? The default generator starts from the same seed each time;
-- it and the thread count are as before afterwards.
-- @tparam function fn returns tensors, numbers, strings, or tables of them
-- @tparam[opt] table options `runs`: with each thread count (2); `threads`: a
-- list of counts ({1, 2, 3, the present one}); `seed`: of each run (1), false
-- to go on with the generator
-- @treturn boolean
-- @treturn ?string the message: the runs, how many elements, the first place
-- @raise for unknown options
-- @usage heed.testing.deterministic(function() return heed.rand(9):sum() end)
-- --> true
function testing.deterministic(fn, options)
  return deterministic.check(fn, options)
end

--- Does a property hold for what generators give? See `property`, which raises
-- the message.
-- @tparam function fn
-- @tparam table generators
-- @tparam[opt] table options
-- @treturn boolean
-- @treturn ?string the message
-- @raise as `property`
-- @usage local testing = heed.testing
-- return (testing.holds(function(n) return n < 50 end,
--   {testing.integer(0, 99)}, {seed = 1})) --> false
function testing.holds(fn, generators, options)
  return property.check(fn, generators, options)
end

--- Runs a function with examples from generators; raises when it fails for
-- one, that is when it raises or returns false. The failing example is made as
-- simple as it can be while it fails in the same place, and the message has it
-- as code, with the seed that repeats the run.
--
-- The first example is the simplest one. The default generator is seeded before
-- each example, and afterwards is as before.
-- @tparam function fn of one value from each generator; or, for generators with
-- names, of a table. May return what `testing.tensors_close` and its like do
-- @tparam table generators a list of them, or a table with names
-- @tparam[opt] table options `examples` (100); `seed` (another each time; the
-- environment variable HEED_SEED goes before it); `shrinks`: how many simpler
-- examples are tried at most (2000)
-- @raise the message; for what is no generator, unknown options, a HEED_SEED
-- that is no integer
-- @usage local testing = heed.testing
-- testing.property(function(x)
--   return testing.tensors_close(x:flip(1):flip(1), x)
-- end, {testing.tensor {shape = testing.shapes {ndim = {1, 3}}}})
function testing.property(fn, generators, options)
  local ok, text = property.check(fn, generators, options)
  if ok then return end
  local at, busted = check.caller(), package.loaded.busted
  if at then text = ("%s:%d: %s"):format(at.short_src, at.currentline, text) end
  -- busted tells failures of tests from errors in them
  local fail = type(busted) == "table" and busted.fail or error
  fail(text, 0)
end

--- Leaves the example of a property out unless a condition holds.
-- @param holds any value: nil or false leaves the example out
-- @raise what the property understands, when it does not
-- @usage local testing = heed.testing
-- testing.property(function(a, b)
--   testing.assume(b ~= 0)
--   return a // b * b + a % b == a
-- end, {testing.integer(), testing.integer()}, {seed = 1})
function testing.assume(holds) return property.assume(holds) end

for _, name in ipairs {
  "integer", "number", "boolean", "choice", "list", "custom",
} do
  testing[name] = parts[name]
end
for _, name in ipairs {"shapes", "broadcast_shapes", "tensor"} do
  testing[name] = shapes[name]
end
testing.laid_out = layout.laid_out

require "heed.testing.register"(testing)

return testing
