-- heed.save and heed.load, raw files, files that are read lazily, shards, and
-- disks that are full or read-only.

local heed = require "heed"
local message = require "spec.support.message"

local GOLDEN <const> = "spec/files/golden/"

local folder

setup(function()
  folder = os.tmpname()
  os.remove(folder)
  assert(os.execute("mkdir " .. folder))
end)

teardown(function() os.execute("rm -r " .. folder) end)

local function path_of(name) return folder .. "/" .. name end

local function write(name, bytes)
  local file = assert(io.open(path_of(name), "wb"))
  file:write(bytes)
  file:close()
  return path_of(name)
end

local function shown(text) return (text:gsub(folder, "DIR")) end

describe("heed.save and heed.load", function()
  it("choose by the extension", function()
    local x = heed.tensor {{1, 2}, {3, 4}}
    heed.save(path_of "x.npy", x)
    assert.same(x:totable(), heed.load(path_of "x.npy"):totable())
    for _, ending in ipairs {"npz", "safetensors"} do
      heed.save(path_of("x." .. ending), {x = x})
      assert.same(x:totable(), heed.load(path_of("x." .. ending)).x:totable())
    end
  end)

  it("take the weights of a network", function()
    local net, other = heed.nn.Linear(3, 2), heed.nn.Linear(3, 2)
    for _, ending in ipairs {"npz", "safetensors"} do
      heed.save(path_of("net." .. ending), net:state_dict())
      other:load_state_dict((heed.load(path_of("net." .. ending))))
      assert.same(net.weight:totable(), other.weight:totable())
    end
  end)

  it("refuse other extensions and values", function()
    local x = heed.ones(1)
    assert.equal('save: path must end in .safetensors, .npy or .npz, got "a"',
      message(heed.save, "a", x))
    assert.equal('load: path must end in .safetensors, '
      .. '.safetensors.index.json, .npy or .npz, got "a.json"',
      message(heed.load, "a.json"))
    assert.equal("load: path must be a string, got nil", message(heed.load))
    assert.equal("save: a .npy file holds one tensor, got a table",
      message(heed.save, "a.npy", {x}))
    assert.equal("save: a .npz file holds named tensors, {name = tensor}, got "
      .. "tensor float32 [1]", message(heed.save, "a.npz", x))
    assert.equal("save_safetensors: tensors must be a table of tensors, such "
      .. "as what its state_dict() gives, got a table",
      message(heed.save, "a.safetensors", heed.nn.Linear(1, 1)))
  end)
end)

describe("fromfile", function()
  it("reads what tofile writes", function()
    for _, dtype in ipairs {"bool", "uint8", "int32", "int64", "float16",
      "bfloat16", "float32", "float64"} do
      local x = heed.tensor {{1, 0}, {0, 1}, {1, 1}}:to(dtype)
      x:transpose(1, 2):tofile(path_of "raw")
      local y = heed.fromfile(path_of "raw", {2, 3}, {dtype = dtype})
      assert.equal(dtype, y.dtype)
      assert.equal(x:transpose(1, 2):tobytes(), y:tobytes())
    end
  end)

  it("starts at an offset, and ends where the shape or the file does",
    function()
      local path = write("raw", ("<i4i4i4"):pack(7, -1, 1 << 30))
      assert.same({7, -1, 1 << 30},
        heed.fromfile(path, nil, {dtype = "int32"}):totable())
      assert.same({-1},
        heed.fromfile(path, {1}, {dtype = "int32", offset = 4}):totable())
      assert.same({}, heed.fromfile(path, {}, {dtype = "int32"}).shape)
      assert.same({0}, heed.fromfile(path, nil, {offset = 12}).shape)
    end)

  it("refuses what does not fit", function()
    local path = write("raw", ("\2"):rep(10))
    local function text(...) return shown(message(heed.fromfile, ...)) end
    assert.equal("fromfile: DIR/raw: 10 bytes are no whole number of float32, "
      .. "which takes 4", text(path))
    assert.equal("fromfile: DIR/raw: float32 [3] takes 12 bytes, but 10 are "
      .. "there from offset 0 on", text(path, {3}))
    assert.equal("fromfile: DIR/raw: float32 [2] takes 8 bytes, but 7 are "
      .. "there from offset 3 on", text(path, {2}, {offset = 3}))
    assert.equal("fromfile: DIR/raw: offset must be 0..10, the bytes of the "
      .. "file, got 11", text(path, nil, {offset = 11}))
    assert.equal("fromfile: DIR/raw: offset must be 0..10, the bytes of the "
      .. "file, got -1", text(path, nil, {offset = -1}))
    assert.equal("fromfile: shape [4294967296 4294967296] has too many "
      .. "elements", text(path, {1 << 32, 1 << 32}))
    assert.equal("fromfile: shape[1] must be an integer of at least 0, got -1",
      text(path, {-1}))
    assert.equal("fromfile: DIR/raw: a bool must be the byte 0 or 1, got 2",
      text(path, nil, {dtype = "bool"}))
    assert.equal('fromfile: unknown option "type"; known: dtype, offset',
      text(path, nil, {type = "bool"}))
    assert.equal("tofile: path must be a string, got 1",
      message(heed.ones(1).tofile, heed.ones(1), 1))
  end)
end)

describe("a file that is read lazily", function()
  local path, x

  before_each(function()
    x = heed.arange(1, 12):reshape {4, 3}
    path = path_of "lazy.safetensors"
    heed.save_safetensors(path, {{"w", x}, {"b", heed.ones(2):half()},
      {"s", heed.tensor(5)}}, {kind = "test"})
  end)

  it("says what it holds without reading it", function()
    local file <close> = heed.open_safetensors(path)
    assert.same({"w", "b", "s"}, file.names)
    assert.same({kind = "test"}, file.metadata)
    assert.equal(3, #file)
    assert.same({"float16", {2}}, {file:info "b"})
    assert.equal("TensorFile " .. path .. " (3 tensors)", tostring(file))
  end)

  it("takes no memory before a tensor is asked for", function()
    local large = path_of "large.safetensors"
    heed.save_safetensors(large, {w = heed.zeros(1 << 20)})
    collectgarbage()
    collectgarbage()
    local before = heed.memory_stats().used
    local file <close> = heed.open_safetensors(large)
    assert.equal(before, heed.memory_stats().used)
    local w <const> = file:get "w"
    assert.is_true(heed.memory_stats().used >= before + w:numel() * 4)
  end)

  it("gives tensors, and rows of them", function()
    local file <close> = heed.open_safetensors(path)
    assert.same(x:totable(), file:get "w":totable())
    assert.same(x[{{2, 3}}]:totable(), file:get("w", 2, 3):totable())
    assert.same(x[{{4, 4}}]:totable(), file:get("w", -1):totable())
    assert.same({0, 3}, file:get("w", 3, 2).shape)
    local names = {}
    for name, tensor in pairs(file) do
      names[#names + 1] = name
      assert.is_true(heed.is_tensor(tensor))
    end
    assert.same(file.names, names)
  end)

  it("gives tensors of its own, which writing does not change", function()
    local file <close> = heed.open_safetensors(path)
    file:get "w":zero_()
    assert.same(x:totable(), file:get "w":totable())
  end)

  it("goes on with the old content when the file is replaced", function()
    local file <close> = heed.open_safetensors(path)
    heed.save_safetensors(path, {w = heed.zeros {4, 3}})
    assert.same(x:totable(), file:get "w":totable())
  end)

  it("raises, and does not crash, when the file is cut short", function()
    local file <close> = heed.open_safetensors(path)
    write("lazy.safetensors", "")
    assert.equal("open_safetensors: DIR/lazy.safetensors: was cut short while "
      .. "it was read", shown(message(file.get, file, "w")))
  end)

  it("refuses names, rows and what is asked of a closed one", function()
    local file = heed.open_safetensors(path)
    assert.equal('get: name "x" is not in DIR/lazy.safetensors',
      shown(message(file.get, file, "x")))
    assert.equal("info: name must be a string, got 1",
      message(file.info, file, 1))
    for _, rows in ipairs {{0}, {5}, {1, 5}, {-5}, {4, 2}} do
      assert.equal(("get: rows %d to %d must lie within the 4 there are")
        :format(rows[1], rows[2] or rows[1]),
        message(file.get, file, "w", table.unpack(rows)))
    end
    assert.equal('get: "s" has no rows, its shape is []',
      message(file.get, file, "s", 1))
    file:close()
    file:close()
    assert.equal("get: the file DIR/lazy.safetensors is closed",
      shown(message(file.get, file, "w")))
  end)

  it("may be a .npz, whole arrays of which are read", function()
    local file <close> = heed.open_npz(GOLDEN .. "deflated.npz")
    assert.same({"float32", {2, 3}}, {file:info "weight"})
    assert.equal(3, file:get "weight":max():item())
    assert.equal("get: rows alone are read of safetensors, got " .. GOLDEN
      .. "deflated.npz", message(file.get, file, "weight", 1))
  end)
end)

describe("safetensors of other programs", function()
  it("keep their dtypes; integers that heed lacks become int64", function()
    local tensors, metadata = heed.load(GOLDEN .. "kinds.safetensors")
    local lacking <const> = {int8 = true, int16 = true, uint16 = true,
      uint32 = true, uint64 = true}
    local n = 0
    for name, x in pairs(tensors) do
      n = n + 1
      assert.equal(lacking[name] and "int64" or name, x.dtype)
      local want = name == "bool" and {{false, false, false},
        {true, true, true}} or name:find "^u" and {{0, 1, 2}, {3, 4, 5}} or
        {{-2, -1, 0}, {1, 2, 3}}
      assert.same(want, x:totable())
    end
    assert.equal(13, n)
    assert.same({made_by = "safetensors"}, metadata)
  end)
end)

describe("shards", function()
  it("are one file by their index", function()
    local tensors, _, names =
      heed.load(GOLDEN .. "sharded.safetensors.index.json")
    assert.same({"a", "b", "c"}, names)
    for i, name in ipairs(names) do
      assert.same({i, i}, tensors[name]:totable())
    end
    local file <close> =
      heed.open_safetensors(GOLDEN .. "sharded.safetensors.index.json")
    assert.same({3}, file:get("c", 1):totable())
  end)

  it("refuse an index that does not fit them", function()
    heed.save_safetensors(path_of "one", {a = heed.ones(1), b = heed.ones(1)})
    local function text(index)
      return shown(message(heed.load_safetensors,
        write("m.index.json", index)))
    end
    local function head(rest)
      return "load_safetensors: DIR/m.index.json: " .. rest
    end
    local no_map = head "must be a JSON object with an object weight_map"
    assert.equal(no_map, text "")
    assert.equal(no_map, text "[1]")
    assert.equal(no_map, text '{"weight_map": 3}')
    assert.equal(head 'one holds "b", which weight_map lacks',
      text '{"weight_map": {"a": "one"}}')
    assert.equal(head 'one lacks "c", which weight_map gives it',
      text '{"weight_map": {"a": "one", "b": "one", "c": "one"}}')
    for _, file in ipairs {"../one", "/etc/passwd", "..", ""} do
      assert.equal(head(('weight_map must name a file beside it for "a", got '
        .. '"%s"'):format(file)),
        text(('{"weight_map": {"a": "%s"}}'):format(file)))
    end
    assert.equal("load_safetensors: DIR/two: cannot be opened: No such file "
      .. "or directory", text '{"weight_map": {"a": "two"}}')
  end)
end)
