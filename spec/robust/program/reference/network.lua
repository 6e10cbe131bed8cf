--- network: norms, windows over images, losses, positions.

local array = require "spec.robust.program.array"
local lines = require "spec.robust.program.reference.lines"


local ops = {}

local function dtype_for(d)
  return d.smooth and "float64" or d:pick {"float32", "float64"}
end

-- -- norms -------------------------------------------------------------------

-- (x - mean) / sqrt(var + eps) over the places that share key(index).
local function normed(x, key, eps, centred)
  local sums, counts, squares = {}, {}, {}
  array.walk(x.shape, function(index)
    local k, v = key(index), x:get(index)
    sums[k], counts[k] = (sums[k] or 0) + v, (counts[k] or 0) + 1
  end)
  local function mean(k) return centred and sums[k] / counts[k] or 0 end
  array.walk(x.shape, function(index)
    local k = key(index)
    squares[k] = (squares[k] or 0) + (x:get(index) - mean(k)) ^ 2
  end)
  return function(index)
    local k = key(index)
    return (x:get(index) - mean(k)) / math.sqrt(squares[k] / counts[k] + eps)
  end
end

local function row_norm(name, centred)
  ops[name] = {
    draw = function(d)
      local n, shape = d:int(2, 4), {d:int(1, 3)}
      local normalized = d:pick {{n}, {2, n}}
      table.move(normalized, 1, #normalized, #shape + 1, shape)
      local dtype = dtype_for(d)
      local function part()
        return d:tensor {dtype = dtype, shape = normalized, tame = true}
      end
      local args = {d:tensor {dtype = dtype, shape = shape, tame = true},
        normalized, n = centred and 5 or 4}
      if d:chance(0.5) then args[3] = part() end
      if centred and d:chance(0.5) then args[4] = part() end
      args[args.n] = 1e-2
      return args
    end,
    run = function(x, normalized, ...)
      local weight, bias, eps = ...
      if not centred then bias, eps = nil, bias end
      local n = #x.shape - #normalized
      local y = normed(x, function(index)
        return table.concat(index, " ", 1, n)
      end, eps, centred)
      return array.make(x.dtype, x.shape, function(index)
        local at = {table.unpack(index, n + 1)}
        return y(index) * (weight and weight:get(at) or 1) +
          (bias and bias:get(at) or 0)
      end)
    end,
  }
end
row_norm("layer_norm", true)
row_norm("rms_norm", false)

local function draw_channels(d, channels)
  local dtype = dtype_for(d)
  local x = d:tensor {dtype = dtype, shape = {2, channels, d:int(1, 3)},
    tame = true}
  return x, dtype
end
ops.group_norm = {
  draw = function(d)
    local groups = d:int(1, 2)
    local x, dtype = draw_channels(d, groups * 2)
    local args = {x, groups, n = 5, [5] = 1e-2}
    for i = 3, 4 do
      if d:chance(0.5) then
        args[i] = d:tensor {dtype = dtype, shape = {groups * 2}, tame = true}
      end
    end
    return args
  end,
  run = function(x, groups, weight, bias, eps)
    local each = x.shape[2] // groups
    local y = normed(x, function(index)
      return index[1] .. " " .. (index[2] - 1) // each
    end, eps, true)
    return array.make(x.dtype, x.shape, function(index)
      return y(index) * (weight and weight:get {index[2]} or 1) +
        (bias and bias:get {index[2]} or 0)
    end)
  end,
}
ops.batch_norm = {
  rough = true, -- no gradient of mean and var
  draw = function(d)
    local x, dtype = draw_channels(d, 2)
    return {x, d:tensor {dtype = dtype, shape = {2}, tame = true},
      d:tensor {dtype = dtype, shape = {2}, positive = true}}
  end,
  run = function(x, mean, var)
    return array.make(x.dtype, x.shape, function(index)
      local c = {index[2]}
      return (x:get(index) - mean:get(c)) / math.sqrt(var:get(c) + 1e-5)
    end)
  end,
}
ops.channel_moments = {
  rough = true,
  draw = function(d) return {(draw_channels(d, 2))} end,
  run = function(x)
    local n = x.shape[1] * x.shape[3]
    local mean, var = {0.0, 0.0}, {0.0, 0.0}
    array.walk(x.shape, function(index)
      mean[index[2]] = mean[index[2]] + x:get(index) / n
    end)
    array.walk(x.shape, function(index)
      local c = index[2]
      var[c] = var[c] + (x:get(index) - mean[c]) ^ 2 / n
    end)
    return array.new(x.dtype, {2}, mean), array.new(x.dtype, {2}, var)
  end,
}

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
    local at, y = {}, nil
    y = adaptive(x, size, -math.huge, function(old, v, place, k)
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

-- -- losses ------------------------------------------------------------------

ops.cross_entropy = {
  draw = function(d)
    local rows, classes = d:int(1, 3), d:int(1, 4)
    local labels = {}
    for i = 1, rows do
      labels[i] = i > 1 and d:chance(0.2) and -100 or d:int(1, classes)
    end
    return {d:tensor {dtype = dtype_for(d), shape = {rows, classes},
      tame = true}, d:add_leaf("int64", {rows}, labels), nil, -100,
      d:pick {0.0, 0.1}, d:pick {"mean", "sum", "none"}, n = 6}
  end,
  run = function(x, target, _, ignore, smoothing, reduction)
    local losses, total, count = {}, 0.0, 0
    for i = 1, x.shape[1] do
      local row, mean, label = {}, 0.0, target:get {i}
      for c = 1, x.shape[2] do row[c] = x:get {i, c} end
      local all = lines.log_sum(row)
      for _, v in ipairs(row) do mean = mean + (all - v) / #row end
      losses[i] = label == ignore and 0.0 or
        (1 - smoothing) * (all - row[label]) + smoothing * mean
      total = total + losses[i]
      count = count + (label == ignore and 0 or 1)
    end
    if reduction == "none" then
      return array.new(x.dtype, {#losses}, losses)
    end
    return array.new(x.dtype, {}, {reduction == "sum" and total or
      total / count})
  end,
}
ops.binary_cross_entropy = {
  rough = true,
  draw = function(d)
    local shape, values, dtype = d:shape(1, 2), {}, dtype_for(d)
    for i = 1, array.count(shape) do
      values[i] = array.cast(0.05 + 0.9 * math.random(), dtype)
    end
    return {d:add_leaf(dtype, shape, values), d:add_leaf(dtype, shape, values)}
  end,
  run = function(x, target)
    return array.make(x.dtype, x.shape, function(index)
      local p, t = x:get(index), target:get(index)
      return -(t * math.log(p) + (1 - t) * math.log(1 - p))
    end)
  end,
}

-- -- positions ---------------------------------------------------------------

ops.rotary_embedding = {
  draw = function(d)
    local pairs_of = d:int(1, 2)
    return {d:tensor {dtype = dtype_for(d), tame = true,
      shape = {d:int(1, 2), d:int(1, 3), 2 * pairs_of}},
      {style = d:pick {"half", "interleaved"}, offset = d:int(0, 3),
        base = 100, inverse = d:chance(0.3)}}
  end,
  run = function(x, o)
    local D = x.shape[3]
    return array.make(x.dtype, x.shape, function(index)
      local b, t, c = table.unpack(index)
      local half = o.style == "half"
      local i = half and (c - 1) % (D // 2) or (c - 1) // 2
      local first = half and c <= D // 2 or not half and c % 2 == 1
      local a = x:get {b, t, half and i + 1 or 2 * i + 1}
      local e = x:get {b, t, half and i + 1 + D // 2 or 2 * i + 2}
      local angle = (t - 1 + o.offset) * o.base ^ (-2 * i / D)
      if o.inverse then angle = -angle end
      local cos, sin = math.cos(angle), math.sin(angle)
      return first and a * cos - e * sin or not first and e * cos + a * sin
    end)
  end,
}

-- In evaluation: x itself, seen through a new tensor.
ops.dropout = {
  draw = function(d)
    return {d:tensor {kind = "only_float", dtype = dtype_for(d)},
      d:pick {0, 0.5, 1}, false}
  end,
  run = function(x) return x:with(x.shape, x.stride) end,
}

return {ops = ops}
