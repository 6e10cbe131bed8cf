--- Pictures with labels from a file: CSV or IDX, told by its first bytes.

local arrays = require "heed.data.arrays"
local check = require "heed.check"

-- The file of labels that belongs to one of pictures, by MNIST's names.
local function labels_path(path)
  local folder <const>, name = path:match "^(.-)([^/\\]*)$"
  if not name:find "images" then return nil end
  name = name:gsub("images", "labels"):gsub("idx3", "idx1")
  return folder .. name
end

-- Labels from 0 as labels from 1; or nil and what is wrong.
local function count_from_one(x)
  local low <const>, high <const> = x:min():item(), x:max():item()
  if low >= 0 and high <= 65535 then -- what int64 holds
    local labels <const> = x:to "int64"
    if labels:to(x.dtype):equal(x) then return labels + 1 end
  end
  return nil, "labels must be whole numbers from 0 to 65535"
end

local function from_csv(path)
  local rows <const>, fault = arrays.read_csv(path)
  if not rows then return nil, fault end
  local n <const>, pixels <const> = rows:size(1), rows:size(2) - 1
  local side <const> = math.floor(pixels ^ 0.5 + 0.5)
  if pixels < 1 or side * side ~= pixels then
    return nil, ("read_images: %s: a line must be the pixels of a square and "
      .. "a label, got %d columns"):format(path, pixels + 1)
  end
  local labels <const>, wrong = count_from_one(rows:select(2, -1))
  if not labels then
    return nil, ("read_images: %s: %s"):format(path, wrong)
  end
  local images <const> = rows:slice(2, 1, pixels):to "float32"
  return {images = images:reshape(n, 1, side, side), labels = labels}
end

local function from_idx(path, beside)
  local x <const>, fault = arrays.read_idx(path)
  if not x then return nil, fault end
  if x.ndim ~= 3 or x:numel() == 0 then
    return nil, ("read_images: %s: must hold pictures [N H W], got %s"):format(
      path, check.shape(x.shape))
  end
  beside = beside or labels_path(path)
  if not beside then
    return nil, ("read_images: %s: without \"images\" in its name, the option "
      .. "labels must be given"):format(path)
  end
  local y <const>, missing = arrays.read_idx(beside)
  if not y then return nil, missing end
  if y.ndim ~= 1 or #y ~= #x then
    return nil, ("read_images: %s: must hold a label for each of %d pictures, "
      .. "got %s"):format(beside, #x, check.shape(y.shape))
  end
  local labels <const>, wrong = count_from_one(y)
  if not labels then
    return nil, ("read_images: %s: %s"):format(beside, wrong)
  end
  return {images = x:to "float32":unsqueeze(2), labels = labels}
end

--- Returns the gray pictures and the labels of a file, told by its content:
--
-- - CSV: on each line the pixels of a square picture, row by row, then the
--   label;
-- - IDX: the pictures [N H W] of MNIST, with the labels in a file beside it
--   whose name has "labels" instead of "images" (and "idx1" for "idx3").
--
-- Labels count from 0 in the files, and from 1 here. Pixels stay as they are.
-- @tparam string path
-- @tparam[opt] table options `labels`: the path of IDX labels of another name
-- @treturn table `images`, float32 [N 1 H W], and `labels`, int64 [N]; or nil
-- and a message: a file cannot be read, or holds none
-- @usage
-- local name = os.tmpname()
-- io.open(name, "w"):write("0,16,8,0,3\n9,9,9,9,0\n"):close()
-- local set = heed.data.read_images(name)
-- return set.images[1], set.labels --> 0, 16, 8, 0, 4, 1
local function read_images(path, options)
  check.kind("read_images", "path", path, "string")
  local o <const> = check.types("read_images", options, {labels = "string"})
  local file <const>, fault = io.open(path, "rb")
  if not file then return nil, "read_images: " .. fault end
  local start <const> = file:read(2) -- nil: empty, or a folder
  file:close()
  if start == "\0\0" or start == "\x1F\x8B" then
    return from_idx(path, o.labels)
  end
  return from_csv(path)
end

return {read_images = read_images}
