--- The assertions of heed.testing for luassert, which busted brings.
--
-- `assert.tensors_close(a, b)`, `assert.is_not.finite(x)`,
-- `assert.message("after step 3").has_shape(x, {2, 3})`: a text behind the
-- arguments is a message too, as with luassert's own.
local check = require "heed.check"
local golden = require "heed.testing.golden"

-- Names that an assertion goes by besides its own, and how many arguments it
-- has at most.
local ASSERTIONS <const> = {
  tensors_close = {most = 3},
  has_shape = {most = 2, names = {"shape", "have_shape"}},
  has_dtype = {most = 2, names = {"dtype", "have_dtype"}, texts = 1},
  finite = {most = 1},
  gradients_ok = {most = 3},
  matches_golden = {most = 3, names = {"match_golden"}, texts = 1,
    negated = function(name, value, options) -- writes no file
      return golden.check(name, value, options, true)
    end},
  deterministic = {most = 2},
  holds = {most = 3},
}

-- What `is_not` says: that what should differ does not.
local NEGATIVE <const> = {
  tensors_close = "tensors_close: all elements are close, and should not be",
  has_shape = "has_shape: x has this shape, and should not",
  has_dtype = "has_dtype: x has this dtype, and should not",
  finite = "finite: all numbers are finite, and should not be",
  gradients_ok = "gradients_ok: the gradients are right, and should not be",
  matches_golden = "matches_golden: the file has these values, and should not",
  deterministic = "deterministic: every run gave the same, and should not",
  holds = "holds: the property holds, and should not",
}

-- Takes a text that stands last among the arguments, the first `fixed` of
-- which are never one.
local function take_message(state, arguments, fixed)
  local n = arguments.n
  if n > fixed and type(arguments[n]) == "string" then
    state.failure_message = arguments[n]
    arguments[n], arguments.n = nil, n - 1
  end
end

-- The arguments that may be no message: one, and of those that take texts two.
local function fixed_of(spec) return 1 + (spec.texts or 0) end

local function assertion(name, f, spec)
  return function(state, arguments)
    take_message(state, arguments, fixed_of(spec))
    if arguments.n > spec.most then
      check.fail("%s: too many arguments, got %d of at most %d", name,
        arguments.n, spec.most)
    end
    local call = not state.mod and spec.negated or f
    local ok, text = call(table.unpack(arguments, 1, arguments.n))
    -- luassert writes its message from the arguments
    arguments[1], arguments.n = ok and NEGATIVE[name] or text, 1
    arguments.nofmt = {true}
    return ok
  end
end

--- Registers the assertions with luassert, if that is installed.
-- @tparam table testing the functions, by name
-- @treturn boolean whether it is
return function(testing)
  local found, luassert = pcall(require, "luassert")
  if not found then return false end
  local source = debug.getinfo(luassert.register, "S").source
  check.pass_over(source:match("^(.*[/\\])assert%.lua$") or source)
  require("say"):set("assertion.heed", "%s")
  for name, spec in next, ASSERTIONS do
    local f = assertion(name, testing[name], spec)
    for _, one in ipairs {name, table.unpack(spec.names or {})} do
      luassert:register("assertion", one, f, "assertion.heed",
        "assertion.heed")
    end
  end
  return true
end
