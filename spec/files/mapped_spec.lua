-- Tensors that are views of a mapped file.

local command = require "spec.host.command"
local heed = require "heed"
local message = require "spec.support.message"

local load, open = heed.load_safetensors, heed.open_safetensors

local MAPPED <const> = {mapped = true}

local names = {}

local function fresh()
  names[#names + 1] = os.tmpname()
  return names[#names]
end

local function read(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

local function write(path, text)
  local file <close> = assert(io.open(path, "wb"))
  file:write(text)
end

-- A file of the format: a header as JSON, and the data.
local function safetensors(header, data)
  local path <const> = fresh()
  write(path, string.pack("<s8", header) .. data)
  return path
end

-- Runs a script with `path` in it as the program heed does; its exit code and
-- what it wrote.
local function run(path, script)
  local code, out, err = command.heed {"-e",
    ('local heed, path = require "heed", %q\n%s'):format(path, script)}
  return code, out .. err
end

teardown(function()
  for _, name in ipairs(names) do os.remove(name) end
end)

describe("a mapped file", function()
  local KINDS <const> = {"bool", "uint8", "int32", "int64", "float16",
    "bfloat16", "float32", "float64"}

  it("holds what the same file holds that is read", function()
    local path <const>, tensors <const> = fresh(), {}
    for i, dtype in ipairs(KINDS) do
      tensors[dtype] = heed.tensor({{1, 0, 1}, {1, 1, 0}}, {dtype = dtype})
      tensors[dtype .. "s"] = tensors[dtype][{{}, {1, 1 + i % 3}}]
    end
    tensors.none = heed.zeros {0, 3}
    tensors.one = heed.tensor(2.5)
    heed.save_safetensors(path, tensors, {made = "here"})
    local mapped <const>, metadata <const>, order <const> = load(path, MAPPED)
    local plain <const>, _, plain_order <const> = load(path)
    assert.same({made = "here"}, metadata)
    assert.same(plain_order, order)
    for name, x in pairs(plain) do
      assert.equal(x.dtype, mapped[name].dtype)
      assert.same(x.shape, mapped[name].shape)
      assert.same(x:totable(), mapped[name]:totable())
      assert.equal(tostring(x), tostring(mapped[name]))
      assert.equal(x:tobytes(), mapped[name]:tobytes())
    end
    local general <const> = load(path, {mapped = false})
    assert.same(plain.float32:totable(), general.float32:totable())
  end)

  it("is computed with, forward and backward", function()
    local path <const> = fresh()
    heed.manual_seed(1)
    local w <const>, x <const> = heed.randn {5, 4}, heed.randn {3, 4}
    heed.save_safetensors(path, {w = w})
    local m <const> = load(path, MAPPED).w
    assert.is_true(x:matmul(m:transpose(1, 2)):equal(
      x:matmul(w:transpose(1, 2))))
    local function gradient(weight)
      weight.requires_grad = true
      x:matmul(weight:transpose(1, 2)):tanh():sum():backward()
      return weight.grad
    end
    assert.is_true(gradient(m):equal(gradient(w)))
  end)

  it("is read where elements cannot be used as they lie", function()
    local path <const> = safetensors(
      '{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},' ..
      '"b":{"dtype":"F64","shape":[1],"data_offsets":[1,9]},' ..
      '"c":{"dtype":"I16","shape":[1],"data_offsets":[9,11]}}',
      string.pack("<I1di2", 7, 2.5, -3))
    local tensors <const> = load(path, MAPPED)
    assert.same({7}, tensors.a:totable())
    assert.same({2.5}, tensors.b:totable())
    assert.same({-3}, tensors.c:totable())
    local bad <const> = safetensors(
      '{"a":{"dtype":"BOOL","shape":[1],"data_offsets":[0,1]}}', "\2")
    assert.equal("load_safetensors: " .. bad ..
      ': tensor "a": a bool must be the byte 0 or 1, got 2',
      message(load, bad, MAPPED))
  end)

  it("gives single tensors and rows", function()
    local path <const> = fresh()
    heed.save_safetensors(path, {w = heed.arange(1, 12):reshape(6, 2),
      f = heed.tensor {{1.5, 2}, {3, 4}, {5, 6}}})
    local file <close> = open(path, MAPPED)
    assert.same({{3, 4}, {5, 6}}, file:get("f", 2, -1):totable())
    assert.same({{1.5, 2}, {3, 4}, {5, 6}}, file:get "f":totable())
    assert.same({2, 2}, file:get("w", 3, 4).shape)
    assert.same({0, 2}, file:get("f", 2, 1).shape)
  end)

  it("keeps what is written to tensors from the file", function()
    local path <const> = fresh()
    heed.save_safetensors(path, {w = heed.ones {3, 2}})
    local before <const> = read(path)
    local one <const>, other <const> = load(path, MAPPED).w,
      load(path, MAPPED).w
    one:add_(1)
    one[2] = 7
    assert.same({{2, 2}, {7, 7}, {2, 2}}, one:totable())
    assert.same({{1, 1}, {1, 1}, {1, 1}}, other:totable())
    assert.equal(before, read(path))
    -- two tensors of one mapping are one memory
    local file <close> = open(path, MAPPED)
    local a <const>, b <const> = file:get "w", file:get("w", 2)
    a:zero_()
    assert.same({{0, 0}}, b:totable())
    assert.equal(before, read(path))
  end)

  it("stays as it was when another one takes its name", function()
    local path <const> = fresh()
    heed.save_safetensors(path, {w = heed.full({9000}, 3.0)})
    local w <const> = load(path, MAPPED).w
    heed.save_safetensors(path, {w = heed.full({9000}, 4.0)})
    assert.equal(27000.0, w:sum():item())
    assert.equal(36000.0, load(path, MAPPED).w:sum():item())
    -- over the very file that it is read from
    local m <const> = load(path, MAPPED).w
    heed.save_safetensors(path, {w = m, twice = m * 2})
    assert.equal(36000.0, load(path).w:sum():item())
    assert.equal(72000.0, load(path).twice:sum():item())
    assert.equal(36000.0, m:sum():item())
  end)

  local N <const> = 1 << 20
  it("shows what is written over it in place, until that is touched",
    function()
      local path <const> = fresh()
      heed.save_safetensors(path, {w = heed.full({N}, 3.0)})
      local other <const> = fresh()
      heed.save_safetensors(other, {w = heed.full({N}, 4.0)})
      local w <const> = load(path, MAPPED).w
      w[1] = 5 -- its page is the tensor's own from now on
      local file <close> = assert(io.open(path, "r+b"))
      file:write(read(other))
      file:flush()
      assert.same({5, 3, 4}, {w[1]:item(), w[2]:item(), w[N]:item()})
    end)

  it("goes with the last of its tensors, whatever is closed first", function()
    local function maps()
      local n = 0
      for line in io.lines "/proc/self/maps" do
        if line:find(names[#names], 1, true) then n = n + 1 end
      end
      return n
    end
    local function close(x) getmetatable(x).__close(x) end
    local path <const> = fresh()
    heed.save_safetensors(path, {a = heed.ones(5), b = heed.ones(7)})
    collectgarbage()
    local file = open(path, MAPPED)
    local a, b = file:get "a", file:get "b"
    local part = b[{{2, 4}}]
    assert.equal(1, maps())
    file:close()
    close(a)
    close(b)
    assert.equal(1, maps())
    assert.equal(3.0, part:sum():item())
    close(part)
    assert.equal(0, maps())
    file = open(path, MAPPED)
    close(file:get "a")
    assert.equal(1, maps())
    file:close()
    assert.equal(0, maps())
  end)

  it("costs next to no memory until it is read", function()
    local path <const> = fresh()
    local rows <const>, width <const> = 51200, 1024 -- 200 MiB, most a hole
    local bytes <const> = rows * width * 4
    local header <const> = ('{"w":{"dtype":"F32","shape":[%d,%d],' ..
      '"data_offsets":[0,%d]}}'):format(rows, width, bytes)
    local padded <const> = header .. (" "):rep(-#header % 8)
    do
      local file <close> = assert(io.open(path, "wb"))
      file:write(string.pack("<s8", padded))
      file:seek("cur", bytes - 4)
      file:write(string.pack("<f", 2))
    end
    local code <const>, text <const> = run(path, [[
      local function resident()
        for line in io.lines "/proc/self/status" do
          local kb = line:match "^VmRSS:%s*(%d+)"
          if kb then return tonumber(kb) // 1024 end
        end
      end
      local before, used = resident(), heed.memory_stats().used
      local w = heed.load_safetensors(path, {mapped = true}).w
      print(w[-1]:sum():item(), w[100]:sum():item())
      print(resident() - before < 20, heed.memory_stats().used - used < 65536)
    ]])
    assert.equal("2.0\t0.0\ntrue\ttrue\n", text)
    assert.equal(0, code)
  end)

  it("has its options checked", function()
    assert.equal('load_safetensors: unknown option "map"; known: mapped',
      message(load, "x", {map = true}))
    assert.equal("open_safetensors: mapped must be a boolean, got 1",
      message(open, "x", {mapped = 1}))
    assert.equal('load: mapped is for safetensors, got "x.npy"',
      message(heed.load, "x.npy", MAPPED))
    local path <const> = fresh() .. ".safetensors"
    names[#names + 1] = path
    heed.save(path, {x = heed.ones(2)})
    local x <const> = heed.load(path, MAPPED).x
    x:zero_()
    assert.same({1, 1}, heed.load(path).x:totable())
    local empty <const> = fresh()
    assert.equal("load_safetensors: " .. empty .. ": must start with the 8 " ..
      "bytes of the header's length, but has 0 bytes",
      message(load, empty, MAPPED))
  end)

  it("is mapped as one of several of an index", function()
    local index <const> = fresh() .. ".index.json"
    local first <const>, second <const> = fresh(), fresh()
    names[#names + 1] = index
    heed.save_safetensors(first, {a = heed.ones(2)})
    heed.save_safetensors(second, {b = heed.ones(3)})
    write(index, ('{"weight_map": {"a": "%s", "b": "%s"}}'):format(
      first:match "[^/]*$", second:match "[^/]*$"))
    local tensors <const> = heed.load(index, MAPPED)
    tensors.a:zero_()
    assert.same({1, 1, 1}, tensors.b:totable())
    assert.same({1, 1}, load(first).a:totable())
  end)
end)

describe("a file that is cut short while it is mapped", function()
  local path
  local N <const> = 1 << 20 -- elements: 4 MiB

  before_each(function()
    path = fresh()
    heed.save_safetensors(path, {{"a", heed.ones(1000)}, {"w", heed.ones(N)},
      {"u", heed.full({N}, 7, {dtype = "uint8"})}})
  end)

  -- What a script prints that maps the file, cuts it and goes on; in a process
  -- of its own, since a fault would end it.
  local function cut(script)
    local code, text = run(path, [[
      local t = heed.load_safetensors(path, {mapped = true})
      local function cut() assert(os.execute("truncate -s 9000 " .. path)) end
      local function try(f, ...)
        local ok, why = pcall(f, ...)
        print(ok, (tostring(why):gsub("^[^:]*:%d+: ", "")))
      end
    ]] .. script)
    assert.equal(0, code, text)
    return text
  end

  local function broken(op)
    return ("false\t%s: %s was cut short while it was mapped\n"):format(op,
      path)
  end

  it("fails the op that comes upon it, and every later one", function()
    assert.equal(broken "sum" .. broken "mul" .. "true\t1000.0\n",
      cut [[
        local kept = t.a + 0
        cut()
        try(t.w.sum, t.w)
        try(function() return t.w * 2 end)
        try(function() return kept:sum():item() end)
      ]])
  end)

  it("fails whatever else reads it", function()
    assert.equal(broken "totable" .. broken "contiguous" .. broken "item" ..
      broken "tostring" .. broken "save_safetensors" .. broken "save_npy" ..
      broken "save_npz" .. broken "tofile" .. "true\t3.0\n", cut [[
        cut()
        try(t.w.totable, t.w)
        try(t.w.tobytes, t.w)
        try(function() return t.w[-1]:item() end)
        try(tostring, t.w)
        local other = os.tmpname()
        heed.save_npy(other, heed.ones(3))
        try(heed.save_safetensors, other, {w = t.w})
        try(heed.save_npy, other, t.w)
        try(heed.save_npz, other, {w = t.w})
        try(t.w.tofile, t.w, other)
        try(function() return heed.load_npy(other):sum():item() end)
        os.remove(other)
      ]])
  end)

  it("fails an op that overwrites it, and one that writes alone", function()
    assert.equal(broken "add_" .. broken "fill_", cut [[
      cut()
      try(t.w.add_, t.w, 1)
      try(t.w.fill_, t.w, 1)
    ]])
  end)

  it("fails with many threads that read at once", function()
    assert.equal(broken "add" .. broken "matmul" .. broken "embedding",
      cut [[
        heed.set_num_threads(16)
        local w = t.w:reshape(1024, 1024)
        cut()
        try(function() return t.w + t.w end)
        try(function() return w:matmul(heed.ones {1024, 64}) end)
        try(function() return heed.nn.functional.embedding(t.u,
          heed.ones {7, 4}) end)
      ]])
  end)

  it("fails a backward pass", function()
    assert.equal(broken "matmul", cut [[
      local x = heed.ones({1, 1024}, {requires_grad = true})
      local y = x:matmul(t.w:reshape(1024, 1024))
      cut()
      try(function() y:sum():backward() end)
    ]])
  end)

  it("leaves other files alone, and can be opened again", function()
    assert.equal(broken "sum" .. "true\t3.0\n" .. "true\t2.0\n", cut [[
      local other = os.tmpname()
      heed.save_safetensors(other, {x = heed.ones(3)})
      local x = heed.load_safetensors(other, {mapped = true}).x
      cut()
      try(t.w.sum, t.w)
      try(function() return x:sum():item() end)
      t = nil
      collectgarbage()
      heed.save_safetensors(path, {x = heed.ones(2)})
      try(function() return heed.load_safetensors(path,
        {mapped = true}).x:sum():item() end)
      os.remove(other)
    ]])
  end)

  it("gives no further tensors", function()
    assert.equal(("false\topen_safetensors: %s was cut short while it was " ..
      "mapped\n"):format(path), cut [[
        local file = heed.open_safetensors(path, {mapped = true})
        cut()
        try(file.get, file, "a")
      ]])
  end)

  it("is noticed when only the end of a page is gone, at the next tensor",
    function()
      assert.equal(("false\topen_safetensors: %s was cut short while it " ..
        "was mapped\n"):format(path), cut [[
          local file = heed.open_safetensors(path, {mapped = true})
          assert(os.execute("truncate -s -1 " .. path))
          try(file.get, file, "a")
        ]])
    end)
end)
