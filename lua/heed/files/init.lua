--- Tensors in files: safetensors, NumPy's .npy and .npz, and raw elements.
-- Every file is replaced whole or not at all, and none needs to be trusted.

local check = require "heed.check"
local core = require "heed.core"
local TensorFile = require "heed.files.tensor_file"

local files = {}

-- All tensors of a file by name, its metadata, and the names in order.
local function load_all(func, path, mapped)
  local file <close> = TensorFile.open(func, path, mapped)
  local tensors = {}
  for name, tensor in pairs(file) do tensors[name] = tensor end
  return tensors, file.metadata, file.names
end

--- The tensors of a safetensors file by name, its metadata, and the names in
-- the order of the file.
--
-- Every dtype of heed is read as it is; the integers that heed lacks (I16, I8,
-- U64, U32, U16) become int64. An index of several files, whose name ends in
-- `.index.json`, stands for them all. Loading runs no code, and the file need
-- not be trusted.
--
-- `mapped`: nothing is read yet. The tensors are views of the file in memory,
-- which the system reads in where they are used and shares between processes.
-- Writing to one in place changes a copy of what is touched, never the file;
-- and who overwrites the file, instead of replacing it by a rename, changes
-- tensors. An op that comes upon a part that was cut off fails. Bools, integers
-- but uint8, and what does not lie at a multiple of its size are read as ever.
-- @tparam string path
-- @tparam[opt] table options `mapped` (false)
-- @treturn table tensors by name
-- @treturn table metadata, string to string
-- @treturn table names, in the order in which the data lies in the file
-- @raise when the file cannot be read, or is not wholly as the format has it
-- @usage
-- local name = os.tmpname()
-- heed.save_safetensors(name, {w = heed.tensor {1, 2}})
-- local tensors = heed.load_safetensors(name); tensors.w:sum() --> 3
function files.load_safetensors(path, options)
  check.types("load_safetensors", options, {mapped = "boolean"})
  return load_all("load_safetensors", path, options and options.mapped)
end

files.save_safetensors = core.save_safetensors

--- Opens a safetensors file, or an index of several, whose tensors are read
-- when they are asked for: `file.names`, `file.metadata`, `file:info(name)`,
-- `file:get(name)`, `file:get(name, first, last)` for rows alone,
-- `pairs(file)`, `#file`, `file:close()`.
--
-- Only headers are read at once. Tensors are copies: what happens to the file
-- later does not change them, and one that was cut short is an error; `mapped`
-- is as in `heed.load_safetensors`. They stay when the file is closed.
-- @tparam string path
-- @tparam[opt] table options `mapped` (false)
-- @return TensorFile
-- @raise when the file cannot be read, or is not wholly as the format has it
-- @usage
-- local path = os.tmpname()
-- heed.save_safetensors(path, {w = heed.tensor {{1, 2}, {3, 4}}})
-- local file <close> = heed.open_safetensors(path)
-- return file:get("w", 2) --> 3 4
function files.open_safetensors(path, options)
  check.types("open_safetensors", options, {mapped = "boolean"})
  return TensorFile.open("open_safetensors", path, options and options.mapped)
end

--- The array of one of NumPy's .npy files.
--
-- bool, uint8, int32, int64, float16, float32 and float64 are read as they are,
-- of either byte order; other integers become int64. Fortran order becomes
-- row-major.
-- @tparam string path
-- @return tensor
-- @raise when the file cannot be read, is not wholly as the format has it, or
-- holds complex numbers, texts, dates, records or Python objects
-- @usage
-- local path = os.tmpname()
-- heed.save_npy(path, heed.tensor {{1, 2}, {3, 4}})
-- heed.load_npy(path) --> 1 2 3 4
function files.load_npy(path) return core.npy_load(path) end

--- Writes a tensor into a .npy file, byte for byte as numpy.save does.
-- @tparam string path
-- @param x tensor, not of bfloat16, which NumPy lacks
-- @tparam[opt] table options `fortran` (false): column-major
-- @raise when the file cannot be written; the old one then stays
-- @usage heed.save_npy(os.tmpname(), heed.ones {2, 3}, {fortran = true})
function files.save_npy(path, x, options)
  check.types("save_npy", options, {fortran = "boolean"})
  core.npy_save(path, x, options and options.fortran)
end

--- The arrays of one of NumPy's .npz files by name, and the names in order;
-- they are read as `heed.load_npy` does.
-- @tparam string path
-- @treturn table tensors by name
-- @treturn table names, in the order of the archive
-- @raise when the file cannot be read, or an array not as `load_npy` does
-- @usage
-- local path = os.tmpname()
-- heed.save_npz(path, {x = heed.tensor {1, 2}})
-- heed.load_npz(path).x --> 1 2
function files.load_npz(path)
  local tensors <const>, _, names <const> = load_all("load_npz", path)
  return tensors, names
end

--- Opens a .npz file whose arrays are read when they are asked for, like
-- `heed.open_safetensors`; they are only read whole.
-- @tparam string path
-- @return TensorFile
-- @raise when the file is no zip archive
-- @usage
-- local path = os.tmpname()
-- heed.save_npz(path, {x = heed.tensor {1, 2}})
-- local file <close> = heed.open_npz(path); return file:get "x" --> 1 2
function files.open_npz(path) return TensorFile.open("open_npz", path) end

--- Writes tensors into a .npz file, which numpy.load reads.
-- @tparam string path
-- @tparam table tensors by name (written in the order of the names), or a
-- list of `{name, tensor}` (written in this order)
-- @tparam[opt] table options `compressed` (false)
-- @raise when the file cannot be written (the old one then stays), or a name is
-- no UTF-8 or there twice
-- @usage
-- heed.save_npz(os.tmpname(), {x = heed.zeros(1000)}, {compressed = true})
function files.save_npz(path, tensors, options)
  check.types("save_npz", options, {compressed = "boolean"})
  core.npz_save(path, tensors, options and options.compressed)
end

--- A tensor from a file of nothing but elements, row-major and little-endian,
-- as `x:tofile(path)` writes them.
-- @tparam string path
-- @tparam[opt] table shape sizes; by default one dimension, up to the end of
-- the file
-- @tparam[opt] table options `dtype`, float32 by default; `offset`, bytes to
-- leave out (0)
-- @return tensor
-- @raise when the file cannot be read, or is too short for the shape
-- @usage
-- local path = os.tmpname()
-- heed.tensor({1, 2, 3}):tofile(path)
-- heed.fromfile(path, {2}, {dtype = "int64", offset = 8}) --> 2 3
function files.fromfile(path, shape, options)
  check.types("fromfile", options, {dtype = "string", offset = "number"})
  options = options or {}
  local offset <const> = check.integer("fromfile", "offset",
    options.offset or 0)
  if shape ~= nil then
    local n <const>, problem <const> = check.list(shape, "number")
    if not n then check.fail("fromfile: shape%s", problem) end
    for i = 1, n do
      check.integer("fromfile", ("shape[%d]"):format(i), shape[i], 0)
    end
  end
  return core.raw_load(path, options.dtype or "float32", shape, offset)
end

-- -- by the extension ---------------------------------------------------------

local loaders <const> = {
  safetensors = files.load_safetensors, json = files.load_safetensors,
  npy = files.load_npy, npz = files.load_npz,
}

-- The extension of a path, one of a list for messages.
local function extension(func, path, known)
  check.kind(func, "path", path, "string")
  local name <const> = path:match "%.([%w_]+)$"
  if name == "json" and path:find "%.index%.json$" and func == "load" then
    return name
  end
  if name ~= "safetensors" and name ~= "npy" and name ~= "npz" then
    check.fail("%s: path must end in %s, got %s", func, known,
      check.show(path))
  end
  return name
end

--- Reads a file by its extension: `.npy` into a tensor; `.safetensors` (or
-- `.safetensors.index.json`) and `.npz` into a table of tensors by name, and
-- what else `load_safetensors` and `load_npz` give.
-- @tparam string path
-- @tparam[opt] table options `mapped` (false), for safetensors alone
-- @return tensor, or table of tensors by name
-- @raise for another extension, and as the function for this one
-- @usage
-- local path = os.tmpname() .. ".npy"
-- heed.save(path, heed.tensor {1, 2})
-- heed.load(path) --> 1 2
function files.load(path, options)
  check.types("load", options, {mapped = "boolean"})
  local kind <const> = extension("load", path,
    ".safetensors, .safetensors.index.json, .npy or .npz")
  if options and options.mapped and kind:find "^np" then
    check.fail("load: mapped is for safetensors, got %s", check.show(path))
  end
  return loaders[kind](path, kind:find "^[sj]" and options or nil)
end

--- Writes a file by its extension: one tensor into `.npy`, a table of named
-- tensors (such as what `net:state_dict()` gives) into `.safetensors` or
-- `.npz`. The file is replaced whole or not at all.
-- @tparam string path
-- @param value tensor for `.npy`, else table of tensors by name
-- @raise for another extension or kind of value, and when the file cannot be
-- written
-- @usage heed.save(os.tmpname() .. ".npz", {x = heed.ones(2)})
function files.save(path, value)
  local kind <const> = extension("save", path, ".safetensors, .npy or .npz")
  local one <const> = core.is_tensor(value)
  if kind == "npy" and not one then
    check.fail("save: a .npy file holds one tensor, got %s", check.show(value))
  elseif kind ~= "npy" and one then
    check.fail("save: a .%s file holds named tensors, {name = tensor}, got %s",
      kind, check.show(value))
  end
  local savers <const> = {npy = files.save_npy, npz = files.save_npz,
    safetensors = files.save_safetensors}
  savers[kind](path, value)
end

return files
