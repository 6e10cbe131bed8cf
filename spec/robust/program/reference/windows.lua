--- windows: convolutions and pools over images.

local array = require "spec.robust.program.array"

local ops = {}

local function dtype_for(d)
  return d.smooth and "float64" or d:pick {"float32", "float64"}
end

-- -- windows -----------------------------------------------------------------

-- A random window that fits into an image of H x W: its sizes, steps,
-- padding (top, left, bottom, right), dilation, and how many places it has.
local function draw_window(d)
  local w = {size = {d:int(2, 4), d:int(2, 4)}, kernel = {}, stride = {},
    padding = {}, dilation = {}, places = {}}
  for k = 1, 2 do
    w.kernel[k], w.stride[k], w.dilation[k] = d:int(1, 2), d:int(1, 2), 1
    w.padding[k], w.padding[k + 2] = d:int(0, 1), d:int(0, 1)
    if d:chance(0.3) then w.dilation[k] = 2 end
    local room = w.size[k] + w.padding[k] + w.padding[k + 2] -
      w.dilation[k] * (w.kernel[k] - 1)
    if room < 1 then return draw_window(d) end
  end
  return w
end

local function places(size, kernel, stride, padding, dilation)
  local n = {}
  for k = 1, 2 do
    n[k] = (size[k] + padding[k] + (padding[k + 2] or padding[k]) -
      dilation[k] * (kernel[k] - 1) - 1) // stride[k] + 1
  end
  return n
end

-- The element of plane (b, c) that place (i, j) of a window sees at (p, q);
-- nothing outside.
local function seen(x, b, c, i, j, p, q, stride, padding, dilation)
  local h = (i - 1) * stride[1] - padding[1] + (p - 1) * dilation[1] + 1
  local w = (j - 1) * stride[2] - padding[2] + (q - 1) * dilation[2] + 1
  if h < 1 or h > x.shape[3] or w < 1 or w > x.shape[4] then return nil end
  return x:get {b, c, h, w}, h, w
end

ops.convolution = {
  draw = function(d)
    local w, groups, dtype = draw_window(d), d:int(1, 2), dtype_for(d)
    local function part(...)
      return d:tensor {dtype = dtype, shape = {...}, tame = true}
    end
    local each = d:int(1, 2)
    local x = part(d:int(1, 2), groups * each, w.size[1], w.size[2])
    local weight = part(groups * 2, each, w.kernel[1], w.kernel[2])
    local bias = d:chance(0.5) and part(groups * 2) or nil
    return {x, weight, bias, w.stride, w.padding, w.dilation, groups, n = 7}
  end,
  run = function(x, weight, bias, stride, padding, dilation, groups)
    local kernel = {weight.shape[3], weight.shape[4]}
    local out = places({x.shape[3], x.shape[4]}, kernel, stride, padding,
      dilation)
    local each, most = weight.shape[2], weight.shape[1] // groups
    local shape = {x.shape[1], weight.shape[1], out[1], out[2]}
    return array.make(x.dtype, shape, function(index)
      local b, c, i, j = table.unpack(index)
      local s, group = bias and bias:get {c} or 0.0, (c - 1) // most
      for k = 1, each do
        for p = 1, kernel[1] do
          for q = 1, kernel[2] do
            local v = seen(x, b, group * each + k, i, j, p, q, stride,
              padding, dilation)
            if v then s = s + v * weight:get {c, k, p, q} end
          end
        end
      end
      return s
    end)
  end,
}
ops.im2col = {
  draw = function(d)
    local w = draw_window(d)
    return {d:tensor {dtype = dtype_for(d), tame = true,
      shape = {1, d:int(1, 2), w.size[1], w.size[2]}}, w.kernel, w.stride,
      w.padding, w.dilation}
  end,
  run = function(x, kernel, stride, padding, dilation)
    local n = places({x.shape[3], x.shape[4]}, kernel, stride, padding,
      dilation)
    local each = kernel[1] * kernel[2]
    local shape = {x.shape[1], x.shape[2] * each, n[1] * n[2]}
    return array.make(x.dtype, shape, function(index)
      local row, place = index[2] - 1, index[3] - 1
      return seen(x, index[1], row // each + 1, place // n[2] + 1,
        place % n[2] + 1, row % each // kernel[2] + 1,
        row % kernel[2] + 1, stride, padding, dilation) or 0
    end)
  end,
}

local function draw_pool(d)
  local w = draw_window(d)
  for k = 1, 2 do
    w.padding[k] = math.min(w.padding[k], w.kernel[k] // 2)
    w.padding[k + 2] = nil
    if w.size[k] + 2 * w.padding[k] < w.dilation[k] * (w.kernel[k] - 1) + 1 then
      return draw_pool(d)
    end
  end
  return d:tensor {dtype = dtype_for(d), tame = true,
    shape = {1, 2, w.size[1], w.size[2]}}, w
end
ops.max_pool = {
  draw = function(d)
    local x, w = draw_pool(d)
    return {x, w.kernel, w.stride, w.padding, w.dilation}
  end,
  run = function(x, kernel, stride, padding, dilation)
    local n = places({x.shape[3], x.shape[4]}, kernel, stride, padding,
      dilation)
    local shape, at = {x.shape[1], x.shape[2], n[1], n[2]}, {}
    local y = array.make(x.dtype, shape, function(index, k)
      local b, c, i, j = table.unpack(index)
      local most, place
      for p = 1, kernel[1] do
        for q = 1, kernel[2] do
          local v, h, w = seen(x, b, c, i, j, p, q, stride, padding, dilation)
          if v and (not most or v > most) then
            most, place = v, (h - 1) * x.shape[4] + w
          end
        end
      end
      at[k] = place
      return most
    end)
    return y, array.new("int64", shape, at)
  end,
}
ops.avg_pool = {
  draw = function(d)
    local x, w = draw_pool(d)
    for k = 1, 2 do
      if w.dilation[k] > 1 and w.kernel[k] > 1 then return nil end
    end
    return {x, w.kernel, w.stride, w.padding, false, d:chance(0.5)}
  end,
  run = function(x, kernel, stride, padding, _, include)
    local one <const> = {1, 1}
    local n = places({x.shape[3], x.shape[4]}, kernel, stride, padding, one)
    local shape = {x.shape[1], x.shape[2], n[1], n[2]}
    return array.make(x.dtype, shape, function(index)
      local b, c, i, j = table.unpack(index)
      local s, count = 0.0, 0
      for p = 1, kernel[1] do
        for q = 1, kernel[2] do
          local v = seen(x, b, c, i, j, p, q, stride, padding, one)
          if v then s = s + v end
          if v or include then count = count + 1 end
        end
      end
      return s / count
    end)
  end,
}

-- Part i of n of a line: from, to.
local function part_of(i, n, size)
  return (i - 1) * size // n + 1, (i * size + n - 1) // n
end
local function adaptive(x, size, start, f)
  local shape = {x.shape[1], x.shape[2], size[1], size[2]}
  return array.make(x.dtype, shape, function(index, k)
    local b, c, i, j = table.unpack(index)
    local value, count = start, 0
    local top, bottom = part_of(i, size[1], x.shape[3])
    local left, right = part_of(j, size[2], x.shape[4])
    for h = top, bottom do
      for w = left, right do
        count = count + 1
        value = f(value, x:get {b, c, h, w}, (h - 1) * x.shape[4] + w, k)
      end
    end
    return value, count
  end)
end
local function draw_adaptive(d)
  local H, W = d:int(1, 4), d:int(1, 4)
  return {d:tensor {dtype = dtype_for(d), tame = true, shape = {1, 2, H, W}},
    {d:int(1, H), d:int(1, W)}}
end
ops.adaptive_max_pool = {
  draw = draw_adaptive,
  run = function(x, size)
    local at = {}
    local y = adaptive(x, size, -math.huge, function(old, v, place, k)
      if v > old then at[k] = place end
      return math.max(old, v)
    end)
    return y, array.new("int64", y.shape, at)
  end,
}
ops.adaptive_avg_pool = {
  draw = draw_adaptive,
  run = function(x, size)
    local sums = adaptive(x, size, 0.0, function(old, v) return old + v end)
    return array.make(x.dtype, sums.shape, function(index)
      local top, bottom = part_of(index[3], size[1], x.shape[3])
      local left, right = part_of(index[4], size[2], x.shape[4])
      return sums:get(index) / ((bottom - top + 1) * (right - left + 1))
    end)
  end,
}

return {ops = ops}
