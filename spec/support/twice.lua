--- twice: a function whose gradients are the second derivatives of another.
--
--     gradient.check(twice(call), args)

local heed = require "heed"

-- The first float tensor of an argument list, and a copy of the list with it
-- as a leaf or part of a graph.
local function with_leaf(args)
  local copy = {table.unpack(args, 1, args.n or #args)}
  for i = 1, args.n or #args do
    local x = copy[i]
    if heed.is_tensor(x) and x.dtype == "float64" then
      if not x.requires_grad then
        copy[i] = x:clone():detach()
        copy[i].requires_grad = true
      end
      return copy[i], copy
    end
  end
end

--- Takes a function of an argument list; gives one that returns the gradient
-- of the sum of the cubes of its first result, by the first float64 tensor.
return function(call)
  return function(args)
    local _ <close> = heed.enable_grad()
    local x, copy = with_leaf(args)
    local y = call(copy)
    return heed.grad((y * y * y):sum(), x, {create_graph = true})
  end
end
