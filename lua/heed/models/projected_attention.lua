--- Attention with four layers of its own, to what a decoder has written or to
-- the memory of what it reads.

local attend = require "heed.models.attend"
local core = require "heed.core"
local nn = require "heed.nn"

local ops <const> = core.ops

--- Returns a class of modules with the field `heads` and four layers, whose
-- fields the hub's weights name.
-- @tparam string name of the class
-- @tparam table fields names by `q`, `k`, `v` and `out`
-- @tparam[opt] number scale of the products
return function(name, fields, scale)
  local Class = nn.Module:extend(name)

  -- q, k or v of x [.. T C]: [.. H T D]
  local function project(self, what, x)
    return ops.split_heads(self[fields[what]](x), self.heads)
  end

  -- x [B T C], to itself
  function Class:forward(x, o)
    return self[fields.out](attend(self, project(self, "q", x),
      project(self, "k", x), project(self, "v", x), o))
  end

  -- to a memory [B S C], whose keys and values the cache keeps
  function Class:look_at(x, memory, o)
    local k, v
    if o.cache then k, v = o.cache:kept(self) end
    if not k then
      k, v = project(self, "k", memory), project(self, "v", memory)
      if o.cache then o.cache:keep(self, k, v) end
    end
    return self[fields.out](attend(self, project(self, "q", x), k, v,
      {scale = scale, lens = o.lens}))
  end

  return Class
end
