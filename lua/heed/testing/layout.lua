--- Tensors with the same values that lie otherwise in memory.
local check = require "heed.check"
local core = require "heed.core"

local layout = {}

-- How the views that were made lie, for `heed.testing.source`.
local known <const> = setmetatable({}, {__mode = "k"})

local ways <const> = {}

function ways.plain(x) return x end

-- The last dimension is the outermost in memory.
function ways.transposed(x)
  if x.ndim < 2 then return x end
  return x:transpose(1, -1):contiguous():transpose(1, -1)
end

-- Every second element of another tensor.
function ways.strided(x)
  if x.ndim == 0 then return x end
  return core.ops.stack({x, x}, -1):select(-1, 1)
end

--- Returns a tensor with the values of another that lies otherwise in memory:
-- a view, through which gradients flow.
-- @tparam tensor x
-- @tparam[opt="strided"] string how `"strided"`: every second element of a
-- larger one; `"transposed"`: the first and the last dimension exchanged in
-- memory; `"plain"`: x itself. What has no dimension, or one to exchange, is
-- returned as it is
-- @treturn tensor like x
-- @raise when x is no tensor, or how no such name
-- @usage heed.testing.laid_out(heed.ones({2, 3}), "transposed"):is_contiguous()
-- --> false
function layout.laid_out(x, how)
  check.tensor("laid_out", "x", x)
  local way = ways[how or "strided"]
  if not way then
    check.fail("laid_out: how must be one of %s, got %s", check.names(ways),
      check.show(how))
  end
  local view = way(x)
  if not rawequal(view, x) then known[view] = how or "strided" end
  return view
end

--- Returns how a tensor that `laid_out` made lies, nil for others.
function layout.of(x) return known[x] end

return layout
