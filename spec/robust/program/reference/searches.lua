--- searches: masks, searches and counts, tables of rows.

local array = require "spec.robust.program.array"
local views = require "spec.robust.program.reference.views"

local ops = {}

local copy_of <const> = views.copy_of

-- -- masks and searches ------------------------------------------------------

ops.masked_select = {
  draw = function(d)
    local x = d:tensor {}
    return {x, d:tensor {dtype = "bool", shape = d:under(d:array(x).shape)}}
  end,
  run = function(x, mask)
    local values = {}
    array.walk(x.shape, function(at)
      if mask:get(at) ~= 0 then values[#values + 1] = x:get(at) end
    end)
    return array.new(x.dtype, {#values}, values)
  end,
}
ops.nonzero = {
  draw = function(d) return {d:tensor {}} end,
  run = function(x)
    local values, n = {}, 0
    array.walk(x.shape, function(at)
      if x:get(at) == 0 then return end
      n = n + 1
      table.move(at, 1, #at, #values + 1, values)
    end)
    return array.new("int64", {n, #x.shape}, values)
  end,
}
ops.searchsorted = {
  draw = function(d)
    local n, values = d:int(0, 6), {}
    for i = 1, n do values[i] = (values[i - 1] or -4) + d:int(0, 3) end
    if d.smooth then -- ties have no slope
      for i = 1, n do values[i] = values[i] + math.random() / 2 + i end
    end
    local dtype = d:pick {"int64", "int32", "float32", "float64"}
    if d.smooth then dtype = "float64" end
    return {d:add_leaf(dtype, {n}, array.new(dtype, {n}, values):values()),
      d:tensor {dtype = dtype, tame = true}, d:chance(0.5)}
  end,
  run = function(sorted, values, right)
    local line = sorted:values()
    return array.make("int64", values.shape, function(at)
      local v, k = values:get(at), 1
      while k <= #line and (line[k] < v or right and line[k] == v) do
        k = k + 1
      end
      return k
    end)
  end,
}
ops.bincount = {
  draw = function(d)
    local n = d:int(0, 6)
    local ids = d:positions({n}, 5)
    local weights = d:chance(0.5) and d:tensor {shape = {n}, tame = true,
      dtype = d.smooth and "float64" or d:pick {"float32", "float64"}} or nil
    return {ids, weights, d:int(0, 7), n = 3}
  end,
  run = function(ids, weights, least)
    local counts, most = {}, least
    for _, v in ipairs(ids:values()) do most = math.max(most, v) end
    for i = 1, most do counts[i] = 0 end
    local w = weights and weights:values()
    for i, v in ipairs(ids:values()) do
      counts[v] = counts[v] + (w and w[i] or 1)
    end
    return array.new(weights and weights.dtype or "int64", {most}, counts)
  end,
}
ops.histc = {
  draw = function(d)
    return {d:tensor {kind = "only_float", tame = true}, d:int(1, 5), -2, 2}
  end,
  run = function(x, bins, low, high)
    local counts = {}
    for i = 1, bins do counts[i] = 0 end
    for _, v in ipairs(x:values()) do
      if v >= low and v <= high then
        local k = math.min(math.floor((v - low) * bins / (high - low)) + 1,
          bins)
        counts[k] = counts[k] + 1
      end
    end
    return array.new(x.dtype == "float64" and "float64" or "float32", {bins},
      counts)
  end,
}

-- -- tables of rows ----------------------------------------------------------

ops.embedding = {
  draw = function(d)
    local w = d:tensor {kind = "only_float", fits = function(a)
      return #a.shape == 2 and a.shape[1] > 0
    end, ndim = 2}
    if #d:array(w).shape ~= 2 or d:array(w).shape[1] == 0 then return nil end
    return {d:positions(d:shape(0, 2), d:array(w).shape[1]), w}
  end,
  run = function(ids, weight)
    local shape = copy_of(ids.shape)
    shape[#shape + 1] = weight.shape[2]
    if array.ranks[weight.dtype] == 5 then weight = weight:to "float32" end
    return array.make(weight.dtype, shape, function(at)
      local from = copy_of(at)
      local column = table.remove(from)
      return weight:get {ids:get(from), column}
    end)
  end,
}
ops.one_hot = {
  draw = function(d)
    return {d:positions(d:shape(0, 2), 4), d:int(4, 6)}
  end,
  run = function(ids, classes)
    local shape = copy_of(ids.shape)
    shape[#shape + 1] = classes
    return array.make("int64", shape, function(at)
      local from = copy_of(at)
      local class = table.remove(from)
      return ids:get(from) == class
    end)
  end,
}

return {ops = ops}
