#!/usr/bin/env heed
--[[
Self-attention over an image: what does a pixel gain by looking at all others?

A convolution sees a few neighbours. Here every pixel sees the whole image: it
asks (q), every pixel is asked (k) and answers (v), and q, k and v are made by
convolutions of 1x1, which mix the channels of a pixel and nothing else:

    q, k, v = conv1x1(x)                  [B C H W], read as lists [B H*W C]
    weights = softmax(scale * q k^T)      [B H*W H*W], row p: what pixel p sees
    y       = weights v, as an image      [B C_out H W]

Four parts:

    1  the shapes, for any number of output channels, and the formula by hand
    2  two small nets learn to read digits: in one, pixels attend to each other
       between the convolutions and the answer; in the other, layers of as many
       parameters stand there that let no pixel see another
    3  what the pixels of some digits attend to
    4  with --image: attention over a picture of your own

Try:
    heed examples/image_attention.lua
    heed examples/image_attention.lua --data mnist --runs 3
    heed examples/image_attention.lua --image cat.png --at 120,80

Next: take the convolutions in front away (does attention alone find its way
without knowing where a pixel is?); nn.VisionTransformer, where the tokens are
patches and carry their positions.
]]

local heed = require "heed"
local nn, data, image = heed.nn, heed.data, heed.image
local optim, plot, script = heed.optim, heed.plot, heed.script
local F <const> = nn.functional

local here <const> = arg[0]:match("^(.*[/\\])") or "./"

local function shape(x) return "(" .. table.concat(x.shape, ", ") .. ")" end

local function read_at(text)
  local x <const>, y <const> = text:match "^(%d+),(%d+)$"
  if x then return {x = math.tointeger(x), y = math.tointeger(y)} end
  return nil, "--at must be two whole numbers X,Y, got " .. text
end

local function settings()
  local parser <const> = script.parser("image_attention", "Self-attention "
    .. "over images: its shapes, a reader of digits with and without it, and "
    .. "what it looks at.", {out = "."})
  parser:option("--data", "digits to learn: a file (CSV or IDX, see "
    .. "heed.data.read_images), or a folder of files that begin with train, "
    .. "valid and test (default: drawn ones)"):argname "PATH"
  parser:option("--image", "show what a pixel of this PNG, JPEG or PPM file "
    .. "attends to"):argname "FILE"
  parser:option("--at", "the pixel, from the left and from above (default: "
    .. "the middle)"):argname "X,Y":convert(read_at)
  parser:whole("--drawn", "how many digits to draw for training", 1000, 10)
  parser:whole("--runs", "times to train each net, with other seeds", 1, 1)
  parser:whole("--epochs", "times to go through the digits", 30, 1)
  parser:whole("--batch", "digits of a batch", 50, 1)
  parser:whole("--channels", "of the convolutions, an even number", 32, 2)
  parser:number("--lr", "highest learning rate", 5e-3, 0)
  local o <const> = script.start(parser)
  if o.channels % 2 == 1 then
    script.fail("--channels must be even, got %d", o.channels)
  end
  if o.at and not o.image then script.fail "--at needs --image" end
  return o
end

-- -- 1: the shapes ------------------------------------------------------------

-- What the layer does, in the three lines of the formula.
local function by_hand(layer, x)
  local function pixels(conv) -- [B H*W C]
    return conv(x):flatten(-2, -1):transpose(-1, -2)
  end
  local q, k, v = pixels(layer.query), pixels(layer.key), pixels(layer.value)
  local weights = (q:matmul(k:transpose(-1, -2)) * layer.scale):softmax(-1)
  local y = weights:matmul(v) -- [B H*W C_out]
  -- Back to an image: the channels are those of v. Code that writes the
  -- channels of x here works only as long as both are the same.
  return y:transpose(-1, -2):reshape(x:size(1), v:size(-1), x:size(3),
    x:size(4)), weights
end

local function show_shapes()
  print "1. Every pixel attends to all"
  local layer = nn.ImageSelfAttention(3, 16)
  local x = heed.randn(1, 3, 32, 32) -- [B C H W]
  local y = layer(x) -- [B C_out H W]
  print(("image %s, result %s, weights %s"):format(shape(x), shape(y),
    shape(select(2, by_hand(layer, x)))))
  print(("its first numbers %.4f %.4f %.4f %.4f"):format(
    table.unpack(y[{1, 1, 1, {1, 4}}]:totable())))
  for _, out in ipairs {1, 3, 64} do
    local other = nn.ImageSelfAttention(3, out)
    y = other(x)
    assert(y:allclose(by_hand(other, x), {atol = 1e-4}))
    print(("%d channels from 3: %s"):format(out, shape(y)))
  end
  print "checked: the layer is the formula, for any number of channels"
end

-- -- 2: digits ----------------------------------------------------------------

local SPLITS <const> = {"train", "valid", "test"}

-- Some of the digits of a set, by their numbers.
local function pick(set, rows)
  return {images = set.images[rows], labels = set.labels[rows]}
end

-- Takes parts of a set out of it by chance: `n` digits for each name.
local function deal(set, n, names)
  local order <const> = heed.randperm(#set.labels)
  local result, at = {}, 0
  for _, name in ipairs(names) do
    result[name] = pick(set, order[{{at + 1, at + n}}])
    at = at + n
  end
  result.train = pick(set, order[{{at + 1, -1}}])
  return result
end

local function read_set(path)
  local set <const>, fault = data.read_images(path)
  if not set then script.fail("%s", fault) end
  return set
end

-- The file of a folder whose name begins with one of some words.
local function find_file(folder, ...)
  local lfs <const> = require "lfs"
  local found = {}
  for name in lfs.dir(folder) do
    for _, word in ipairs {...} do
      if name:sub(1, #word) == word and not name:find "labels" then
        found[#found + 1] = folder .. "/" .. name
      end
    end
  end
  table.sort(found)
  return found[1]
end

local function read_folder(folder)
  local train <const> = find_file(folder, "train")
  local valid <const> = find_file(folder, "valid")
  local test <const> = find_file(folder, "test", "t10k")
  if not (train and test) then
    script.fail("%s has no files that begin with train and test", folder)
  end
  local sets = {train = read_set(train), test = read_set(test)}
  if valid then
    sets.valid = read_set(valid)
  else -- the published MNIST is cut in two
    local n <const> = #sets.train.labels
    if n < 6 then script.fail("%s: %d digits are too few", train, n) end
    local dealt <const> = deal(sets.train, n // 6, {"valid"})
    sets.train, sets.valid = dealt.train, dealt.valid
  end
  return sets
end

local function draw_sets(o)
  local drawn <const> = dofile(here .. "data/drawn_digits.lua")
  -- other seeds, other pictures: none is in two parts
  return {train = drawn.draw(o.drawn, 1),
    valid = drawn.draw(o.drawn // 5, 2), test = drawn.draw(o.drawn // 2, 3)}
end

local function read_sets(o)
  if not o.data then return draw_sets(o) end
  local lfs <const> = require "lfs"
  if lfs.attributes(o.data, "mode") == "directory" then
    return read_folder(o.data)
  end
  local set <const> = read_set(o.data)
  local n <const> = #set.labels
  if n < 6 then script.fail("%s: %d digits are too few", o.data, n) end
  return deal(set, n // 6, {"valid", "test"})
end

local MAX_SIDE <const> = 64 -- of a digit; its pixels attend to each other

-- The three parts, each with images [N 1 H W] from 0 to 1 and labels [N].
local function prepare(o)
  local sets <const> = read_sets(o)
  local size <const> = sets.train.images.shape
  local classes, texts = 0, {}
  local top <const> = sets.train.images:max():item()
  for _, name in ipairs(SPLITS) do
    local set <const> = sets[name]
    if set.images:size(3) ~= size[3] or set.images:size(4) ~= size[4] then
      script.fail("digits must have one size: %dx%d in train, %dx%d in %s",
        size[3], size[4], set.images:size(3), set.images:size(4), name)
    end
    set.images = set.images / (top > 0 and top or 1)
    classes = math.max(classes, set.labels:max():item())
    texts[#texts + 1] = ("%d %s"):format(#set.labels, name)
  end
  if size[3] > MAX_SIDE or size[4] > MAX_SIDE then
    script.fail("digits of %dx%d pixels are too large: at most %dx%d", size[3],
      size[4], MAX_SIDE, MAX_SIDE)
  end
  if size[3] < 4 or size[4] < 4 then
    script.fail("digits of %dx%d pixels are too small: at least 4x4", size[3],
      size[4])
  end
  if classes > size[1] then
    script.fail("a label of %d with %d digits to learn from is no class",
      classes - 1, size[1])
  end
  sets.classes = classes
  print(("digits of %dx%d pixels, %d classes: %s"):format(size[3], size[4],
    classes, table.concat(texts, ", ")))
  return sets
end

-- What stands in place of attention in the other net: as many parameters, but
-- each pixel by itself.
local Alone = nn.Module:extend "Alone"

function Alone:init(channels)
  self.first = nn.Conv2d(channels, channels, 1)
  self.second = nn.Conv2d(channels, channels, 1)
  self.gamma = nn.Parameter(heed.zeros {1})
end

function Alone:forward(x)
  return self.second(F.relu(self.first(x))) * self.gamma + x
end

local Reader = nn.Module:extend "Reader"

function Reader:init(o, height, width, classes, attends)
  local c <const> = o.channels
  -- small digits keep their size; of larger ones the pixels are halved
  local stride <const> = height >= 16 and 2 or 1
  self.see = nn.Sequential(
    nn.Conv2d(1, c, 3, {padding = 1}), nn.ReLU(),
    nn.Conv2d(c, c, 3, {padding = 1, stride = stride}), nn.ReLU())
  -- y = gamma * attention(x) + x with a learned gamma, 0 in the beginning: the
  -- net starts as one without attention and takes as much as helps
  self.mix = attends and nn.ImageSelfAttention(c, {qk_channels = c // 2,
    scale = (c // 2) ^ -0.5, residual = true}) or Alone(c)
  local h <const>, w <const> = (height + stride - 1) // stride,
    (width + stride - 1) // stride
  self.answer = nn.Sequential(nn.AvgPool2d(2), nn.Flatten(), nn.Dropout(0.2),
    nn.Linear(c * (h // 2) * (w // 2), classes))
end

function Reader:forward(x) -- [B 1 H W]
  local y = self.see(x) -- [B C h w]
  y = self.mix(y)
  return self.answer(y) -- [B classes]
end

-- The digits of a batch, all moved by the same few pixels.
local function shift(x)
  local h <const>, w <const> = x:size(3), x:size(4)
  local n <const> = math.max(1, h // 14)
  local down <const>, right <const> =
    table.unpack(heed.randint(1, 2 * n + 1, {2}):totable())
  return F.pad(x, {n, n, n, n}):slice(3, down, down + h - 1)
    :slice(4, right, right + w - 1):contiguous()
end

local function loss(net, batch)
  local x, labels = batch[1], batch[2]
  if net.training then x = shift(x) end
  local scores = net(x)
  return F.cross_entropy(scores, labels),
    {output = scores, target = labels, count = #labels}
end

local function make_loader(set, size, shuffle)
  return data.DataLoader(data.TensorDataset(set.images, set.labels),
    {batch_size = size, shuffle = shuffle})
end

local function accuracy(net, set)
  local metric <const> = heed.metrics.Accuracy()
  net:eval()
  for batch in make_loader(set, 250, false):batches() do
    metric:update(heed.no_grad(net, batch[1]), batch[2])
  end
  return metric:compute()
end

local function train(o, sets, attends, seed, title)
  heed.manual_seed(seed)
  local size <const> = sets.train.images.shape
  local net <const> = Reader(o, size[3], size[4], sets.classes, attends)
  local loader <const> = make_loader(sets.train, o.batch, true)
  local optimizer <const> = optim.AdamW(net:parameters(), {lr = o.lr})
  local steps <const> = #loader * o.epochs
  local bar <close> = heed.progress.new {total = o.epochs, title = title,
    file = io.stdout}
  local run <const> = heed.train.fit {
    model = net, optimizer = optimizer, data = loader, loss = loss,
    epochs = o.epochs, valid = make_loader(sets.valid, 250, false),
    metrics = {accuracy = heed.metrics.Accuracy()},
    schedule = optim.WarmupLinearLR(optimizer, math.max(1, steps // 20),
      steps + 1),
    progress = false,
    on_epoch = function(_, record)
      bar:update(record.epoch, {loss = record.loss})
    end,
  }
  local score <const> = accuracy(net, sets.test)
  bar:finish(("test accuracy %.4f"):format(score))
  return net, score, run.history
end

-- Mean and standard deviation of a list.
local function spread(list)
  local x <const> = heed.tensor(list)
  return x:mean():item(), #list > 1 and x:std():item() or 0
end

local KINDS <const> = {"with attention", "without"}

-- Trains both nets, as often as --runs says. The first net with attention.
local function compare(o, sets)
  local first, curves, results, sizes = nil, {}, {{}, {}}, {}
  for run = 1, o.runs do
    for kind, name in ipairs(KINDS) do
      local net <const>, score, history = train(o, sets, kind == 1,
        o.seed + run - 1, name)
      results[kind][run] = score
      sizes[kind] = net:num_parameters()
      if run == 1 then
        local y = {}
        for i, record in ipairs(history) do y[i] = record.valid.accuracy end
        curves[kind] = {y = y, label = name}
        first = first or net
      end
    end
  end
  print(("\n%-16s%12s%16s"):format("", "parameters", "test accuracy"))
  for kind, name in ipairs(KINDS) do
    local mean <const>, deviation = spread(results[kind])
    print(("%-16s%12d%16.4f%s"):format(name, sizes[kind], mean, o.runs > 1
      and (" +- %.4f in %d runs"):format(deviation, o.runs) or ""))
  end
  print(("gamma, by which attention is added: %.3f"):format(
    first.mix.gamma:item()))
  plot.lines(curves, {xlabel = "epoch", ylabel = "validation accuracy",
    title = "Reading digits", file = o.path "image_attention-accuracy.png"})
  print("written: " .. o.path "image_attention-accuracy.png")
  return first
end

-- -- 3: what the pixels look at -----------------------------------------------

-- What the net answers to an image [1 H W], how sure it is, and the weights of
-- its attention [h*w h*w] with h and w.
local function look(net, x)
  net:eval()
  return heed.no_grad(function()
    local y = net.see(x:unsqueeze(1)) -- [1 C h w]
    local _, weights = net.mix(y, {need_weights = true}) -- [1 h*w h*w]
    local p = net(x:unsqueeze(1)):softmax(-1)[1]
    local answer <const> = p:argmax():item()
    return {answer = answer, p = p[answer]:item(), weights = weights[1],
      h = y:size(3), w = y:size(4)}
  end)
end

-- Times an even share: 1 is what a pixel gets if all get the same.
local function as_map(row, h, w) return (row * (h * w)):reshape(h, w) end

-- A gray image [1 H W] in colours, with pixel `at` (from 1, row by row) of the
-- h x w ones of the attention marked.
local ORANGE <const> = {1.0, 0.4, 0.0}

local function mark(x, at, h, w)
  local rgb = x:expand(3, x:size(2), x:size(3)):clone()
  local row <const>, col <const> = (at - 1) // w, (at - 1) % w
  local tall <const>, wide <const> = x:size(2), x:size(3)
  for c = 1, 3 do
    rgb[{c, {row * tall // h + 1, ((row + 1) * tall + h - 1) // h},
      {col * wide // w + 1, ((col + 1) * wide + w - 1) // w}}] = ORANGE[c]
  end
  return rgb
end

local SHOWN <const> = 6

local function draw_maps(o, net, sets)
  local pictures, overlays, titles = {}, {}, {}
  local n <const> = math.min(SHOWN, #sets.test.labels)
  local top = 0 -- of what all see: the scale; one pixel may see far above it
  for i = 1, n do
    local x = sets.test.images[i] -- [1 H W]
    local seen = look(net, x)
    -- the pixel that is the least even-handed: its largest weight is the
    -- largest of all
    local at <const> = seen.weights:amax(2):argmax():item()
    pictures[i] = mark(x, at, seen.h, seen.w)
    pictures[n + i], pictures[2 * n + i] = x, x
    overlays[i] = false
    overlays[n + i] = as_map(seen.weights:mean(1), seen.h, seen.w)
    top = math.max(top, overlays[n + i]:max():item())
    overlays[2 * n + i] = as_map(seen.weights[at], seen.h, seen.w)
    local label <const> = sets.test.labels[i]:item()
    titles[i] = label == seen.answer and tostring(label - 1)
      or ("%d, read as %d"):format(label - 1, seen.answer - 1)
  end
  local file <const> = o.path "image_attention-maps.png"
  plot.images(pictures, {columns = n, overlays = overlays, titles = titles,
    row_titles = {"digit", "seen by all", "seen by orange"}, vmin = 0,
    vmax = top, alpha = 0.6, file = file,
    title = "What the pixels attend to (1: an even share)"})
  print("written: " .. file)
end

-- -- 4: a picture of one's own ------------------------------------------------

local MAX_TOKENS <const> = 96 -- on the longer side
local MAX_DRAWN <const> = 480
local SHARPNESS <const> = 10

-- The picture with its longer side at most `most` pixels.
local function limit(x, most)
  local h <const>, w <const> = x:size(2), x:size(3)
  local factor <const> = most / math.max(h, w)
  if factor >= 1 then return x end
  return image.resize(x, {math.max(1, h * factor // 1 | 0),
    math.max(1, w * factor // 1 | 0)})
end

-- Attention without any learned weight: the nearer two colours a and b, the
-- larger the score. It is a dot product still, with a bias of the key, since
--     -|a - b|^2 = 2 a b - |b|^2 - |a|^2
-- and |a|^2 is the same for all keys, so that softmax does not see it.
-- Pixel (x, y) of the small picture [3 h w] asks. Its colour, the mean of the
-- colours that it attends to, both [3], and a map [h w].
local function attend_by_colour(small, x, y)
  local h <const>, w <const> = small:size(2), small:size(3)
  local v = small:flatten(2, 3):t() -- [h*w 3]
  local k = v - v:mean(1, true)
  local length2 <const> = k:pow(2):sum(2) -- [h*w]
  local sharpness <const> = SHARPNESS / (length2:mean():item() + 1e-6)
  local at <const> = (y - 1) * w + x
  local scores = k[{{at, at}}]:matmul(k:t()) * 2 - length2 -- [1 h*w]
  local weights = (scores * sharpness):softmax(-1) -- [1 h*w]
  return v[at], weights:matmul(v)[1], as_map(weights[1], h, w)
end

-- Reads the picture as a digit of the size that the net knows, bright on dark.
local function as_digit(x, height, width)
  local gray = image.resize(image.convert(x, "gray"), {height, width})
  return gray:mean():item() > 0.5 and 1 - gray or gray
end

local function read_picture(o)
  local x <const>, fault = image.read(o.image, {mode = "rgb"})
  if not x then script.fail("%s", fault) end
  local h <const>, w <const> = x:size(2), x:size(3)
  local at <const> = o.at or {x = (w + 1) // 2, y = (h + 1) // 2}
  if at.x < 1 or at.x > w or at.y < 1 or at.y > h then
    script.fail("--at %d,%d is not in the image of %dx%d pixels", at.x, at.y,
      w, h)
  end
  return image.to_float(x), at
end

local function draw_picture(o, net, sets, x, at)
  print "\n4. A picture of your own"
  local h <const>, w <const> = x:size(2), x:size(3)
  local small, shown = limit(x, MAX_TOKENS), limit(x, MAX_DRAWN)
  local col = (at.x - 1) * small:size(3) // w + 1
  local row = (at.y - 1) * small:size(2) // h + 1
  local own, mean, map = attend_by_colour(small, col, row)
  local size <const> = sets.train.images.shape
  local seen = look(net, as_digit(x, size[3], size[4]))
  print(("pixel %d,%d of %dx%d is (%.2f %.2f %.2f); the colours that it "
    .. "attends to are (%.2f %.2f %.2f) in the mean"):format(at.x, at.y, w, h,
    table.unpack(heed.cat({own, mean}, 1):totable())))
  print(("the net, which knows nothing but digits, reads a %d (probability "
    .. "%.2f)"):format(seen.answer - 1, seen.p))
  local marked = shown:clone()
  local y1 <const> = (at.y - 1) * shown:size(2) // h + 1
  local x1 <const> = (at.x - 1) * shown:size(3) // w + 1
  local reach <const> = math.max(shown:size(2), shown:size(3)) // 60
  for c = 1, 3 do
    marked[{c, {math.max(1, y1 - reach), math.min(y1 + reach, shown:size(2))},
      {math.max(1, x1 - reach), math.min(x1 + reach, shown:size(3))}}] =
      ORANGE[c]
  end
  local file <const> = o.path "image_attention-image.png"
  plot.images({marked, shown}, {columns = 2, overlays = {false, map},
    titles = {"the pixel that looks",
      "the colours it attends to (1: an even share)"}, vmin = 0, alpha = 0.7,
    file = file})
  print("written: " .. file)
end

-- -- all together -------------------------------------------------------------

script.run("image_attention", function()
  local o <const> = settings()
  local picture, at
  if o.image then picture, at = read_picture(o) end
  show_shapes()
  print "\n2. Digits, read with and without attention"
  local sets <const> = prepare(o)
  local net <const> = compare(o, sets)
  print "\n3. What the pixels look at"
  draw_maps(o, net, sets)
  if picture then draw_picture(o, net, sets, picture, at) end
end)
