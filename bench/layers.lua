--[[
How fast are the layers of small image classifiers, forward and with their
gradients? See bench/harness.lua.

    heed bench/layers.lua [threads]
    python bench/layers_torch.py [threads]
]]

local heed = require "heed"
local F <const> = heed.nn.functional

heed.manual_seed(1)

local cases <const> = {}

-- A case for the function of x alone, and one with the gradients of x and the
-- parameters.
local function add(name, shape, parameters, f, count)
  local x <const> = heed.randn(shape)
  for i, p in ipairs(parameters) do parameters[i] = heed.randn(p) * 0.1 end
  cases[#cases + 1] = {name, function()
    local _ <close> = heed.no_grad()
    return f(x, table.unpack(parameters))
  end, count = count, drop = true}

  local leaves <const> = {}
  for i, t in ipairs {x, table.unpack(parameters)} do
    leaves[i] = t:clone():requires_grad_()
  end
  local grad
  cases[#cases + 1] = {name .. ", gradients", function()
    local y <close> = f(table.unpack(leaves))
    grad = grad or heed.randn(y.shape)
    y:backward(grad)
    for _, t in ipairs(leaves) do t.grad = nil end
  end, count = count}
end

local function conv(options)
  return function(x, w, b)
    return (x.ndim == 3 and F.conv1d or F.conv2d)(x, w, b, options)
  end
end

add("conv2d 1-32 3x3 of 28x28", {64, 1, 28, 28}, {{32, 1, 3, 3}, {32}},
  conv {padding = 1})
add("conv2d 32-64 3x3 of 28x28", {64, 32, 28, 28}, {{64, 32, 3, 3}, {64}},
  conv {padding = 1})
add("conv2d 64-64 3x3 of 14x14", {64, 64, 14, 14}, {{64, 64, 3, 3}, {64}},
  conv {padding = 1})
add("conv2d 32-64 3x3, stride 2", {64, 32, 28, 28}, {{64, 32, 3, 3}, {64}},
  conv {padding = 1, stride = 2})
add("conv2d 64-128 1x1 of 14x14", {64, 64, 14, 14}, {{128, 64, 1, 1}, {128}},
  conv())
add("conv2d 3-16 5x5 of 32x32", {64, 3, 32, 32}, {{16, 3, 5, 5}, {16}},
  conv {padding = 2})
add("conv2d of channels 64 3x3", {64, 64, 14, 14}, {{64, 1, 3, 3}, {64}},
  conv {padding = 1, groups = 64})
add("conv2d in 4 groups", {64, 64, 14, 14}, {{64, 16, 3, 3}, {64}},
  conv {padding = 1, groups = 4})
add("conv1d 256-256 k3 of 512", {32, 256, 512}, {{256, 256, 3}, {256}},
  conv {padding = 1})
add("conv_transpose2d 64-32 2x2", {64, 64, 14, 14}, {{64, 32, 2, 2}, {32}},
  function(x, w, b) return F.conv_transpose2d(x, w, b, {stride = 2}) end)

local IMAGES <const> = {64, 32, 28, 28}
add("max_pool2d 2", IMAGES, {}, function(x) return F.max_pool2d(x, 2) end)
add("max_pool2d 3, stride 2", IMAGES, {},
  function(x) return F.max_pool2d(x, 3, {stride = 2, padding = 1}) end)
add("avg_pool2d 2", IMAGES, {}, function(x) return F.avg_pool2d(x, 2) end)
add("adaptive_avg_pool2d 1", IMAGES, {},
  function(x) return F.adaptive_avg_pool2d(x, 1) end)

add("batch_norm of images", IMAGES, {{32}, {32}},
  function(x, w, b)
    return F.batch_norm(x, nil, nil, w, b, {training = true})
  end)
add("batch_norm [1024 512]", {1024, 512}, {{512}, {512}},
  function(x, w, b)
    return F.batch_norm(x, nil, nil, w, b, {training = true})
  end)
add("group_norm 8", IMAGES, {{32}, {32}},
  function(x, w, b) return F.group_norm(x, 8, w, b) end)
add("layer_norm [4096 512]", {4096, 512}, {{512}, {512}},
  function(x, w, b) return F.layer_norm(x, {512}, w, b) end)
add("rms_norm [4096 512]", {4096, 512}, {{512}},
  function(x, w) return F.rms_norm(x, {512}, w) end)

dofile "bench/harness.lua"(cases)
