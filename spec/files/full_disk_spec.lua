-- Saving where it cannot be done: the error names the file, the old file stays
-- as it was, and nothing is left beside it. Of everything that heed writes.

local command = require "spec.host.command"
local heed = require "heed"
local message = require "spec.support.message"
local writers = require "spec.files.writers"

local folder

-- In memory, where it can be: hundreds of files are synced.
before_each(function()
  local pipe <close> = assert(io.popen(
    "mktemp -d -p /dev/shm 2>/dev/null || mktemp -d"))
  folder = pipe:read "l"
end)

after_each(function()
  os.execute("chmod -R u+w " .. folder .. "; rm -rf " .. folder)
end)

local function bytes_of(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

local function entries(dir)
  local pipe <close> = assert(io.popen("ls -A " .. dir))
  return pipe:read "a"
end

local function is_root()
  local pipe <close> = assert(io.popen "id -u")
  return pipe:read "n" == 0
end

-- Writes small things into `dir`; what is there then, by name.
local function fill(dir)
  local old <const> = {}
  for _, writer in ipairs(writers) do
    writer.write(dir .. "/" .. writer.file, false)
    old[writer.file] = bytes_of(dir .. "/" .. writer.file)
  end
  return old
end

local interpreter = 0
while arg[interpreter - 1] do interpreter = interpreter - 1 end

-- Writes large things into `dir` from a process of its own, which `before`, a
-- shell command, prepares; what each of them says, by file.
local function write_apart(dir, before)
  local said <const> = {}
  local code, out, err = command.shell(("%s\n%s -e %s %s %s"):format(before,
    command.quote(arg[interpreter]),
    command.quote(("package.path, package.cpath = %q, %q"):format(
      package.path, package.cpath)), "spec/files/writers.lua", dir))
  assert.equal(0, code, err)
  for file, ok, why in out:gmatch "(%S+)\t(%S+)\t([^\n]*)" do
    said[file] = ok == "true" and "written" or why
  end
  return said
end

-- Every writer has said `pattern`, with its name and file; all is as it was.
local function check(said, dir, old, listing, pattern)
  for _, writer in ipairs(writers) do
    local path <const> = dir .. "/" .. writer.file
    local head <const> = writer.op .. ": " .. path .. ": "
    local why <const> = assert(said[writer.file], writer.file)
    assert.equal(head, why:sub(1, #head))
    assert.truthy(why:sub(#head + 1):find(pattern), why)
    assert.is_true(old[writer.file] == bytes_of(path), path)
  end
  assert.equal(listing, entries(dir))
end

describe("saving", function()
  it("leaves the old file when no more can be written", function()
    local old <const> = fill(folder)
    local listing <const> = entries(folder)
    local limit <const> = ("trap '' XFSZ; ulimit -f 8\nexport TMPDIR=%s"):
      format(folder)
    check(write_apart(folder, limit), folder, old, listing,
      "^[%w ]*[:%w ]*File too large$")
  end)

  -- Runs f with a filesystem of its own; false where none can be mounted.
  local function with_mount(f)
    local mount <const> = folder .. "/mount"
    os.execute("mkdir " .. mount)
    if not os.execute(("mount -t tmpfs -o size=1m none %s 2>/dev/null"):format(
      mount)) then
      return false
    end
    local ok, problem = pcall(f, mount)
    os.execute("umount " .. mount)
    if not ok then error(problem, 0) end
    return true
  end

  it("leaves the old file when the disk is full", function()
    if not with_mount(function(mount)
      local old <const> = fill(mount)
      os.execute("dd if=/dev/zero of=" .. mount .. "/rest 2>/dev/null")
      local listing <const> = entries(mount)
      check(write_apart(mount, ""), mount, old, listing,
        "^writing failed: No space left on device$")
    end) then
      pending "no filesystem can be mounted here"
    end
  end)

  it("leaves the old file when the disk is read-only", function()
    if not with_mount(function(mount)
      local old <const> = fill(mount)
      local listing <const> = entries(mount)
      assert(os.execute("mount -o remount,ro " .. mount))
      check(write_apart(mount, ""), mount, old, listing,
        "^cannot be written: Read%-only file system$")
    end) then
      pending "no filesystem can be mounted here"
    end
  end)

  -- Root may write anywhere: another user tries.
  local apart <const> = is_root() and
    "exec setpriv --reuid=65534 --regid=65534 --clear-groups" or ""

  it("leaves a file that may not be written", function()
    local old <const> = fill(folder)
    local listing <const> = entries(folder)
    os.execute(("chmod a-w %s/*; chmod 777 %s"):format(folder, folder))
    check(write_apart(folder, apart .. " \\"), folder, old, listing,
      "^cannot be written: Permission denied$")
  end)

  it("leaves a folder that may not be written", function()
    local old <const> = fill(folder)
    local listing <const> = entries(folder)
    os.execute(("chmod 666 %s/*; chmod 555 %s"):format(folder, folder))
    check(write_apart(folder, apart .. " \\"), folder, old, listing,
      "^cannot be written: Permission denied$")
  end)

  for _, writer in ipairs(writers) do
    local name <const> = writer.file

    it("names a folder that is missing, or in the way: " .. name, function()
      local path = folder .. "/none/" .. name
      assert.equal(("%s: %s: cannot be written: No such file or directory"):
        format(writer.op, path), message(writer.write, path))
      path = folder .. "/" .. name
      assert(os.execute("mkdir " .. path))
      assert.equal(("%s: %s: cannot be written: it is no plain file"):format(
        writer.op, path), message(writer.write, path))
      assert.equal(name .. "\n", entries(folder))
      assert.equal("", entries(path))
    end)

    it("writes what a link points to, and leaves the link: " .. name,
      function()
        local target <const>, link <const> = folder .. "/target",
          folder .. "/" .. name
        writer.write(folder .. "/plain-" .. name)
        assert(os.execute(("touch %s; ln -s target %s"):format(target, link)))
        writer.write(link)
        assert.is_true(#bytes_of(target) > 0)
        assert(os.execute("test -L " .. link))
        assert.equal(#bytes_of(folder .. "/plain-" .. name),
          #bytes_of(target))
      end)
  end

  it("keeps the mode of a file", function()
    local path <const> = folder .. "/x.npy"
    heed.save_npy(path, heed.ones(2))
    os.execute("chmod 640 " .. path)
    heed.save_npy(path, heed.ones(3))
    local pipe <close> = assert(io.popen("stat -c %a " .. path))
    assert.equal("640\n", pipe:read "a")
  end)
end)
