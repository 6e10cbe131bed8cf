-- An installed tree: works in any place, without settings, by itself.

local command = require "spec.host.command"
local shell = command.shell

local build = os.getenv("HEED_BUILD") or "build"
-- What is linked with such a library needs more than other programs.
local sanitized = os.getenv("HEED_SANITIZE") or os.getenv("HEED_COVERAGE")

describe("an installed heed", function()
  local prefix

  setup(function()
    prefix = os.tmpname()
    os.remove(prefix)
    local code, _, err = shell("cmake --install " .. build .. " --prefix "
      .. prefix .. "/first")
    assert(code == 0, err)
    assert(os.rename(prefix .. "/first", prefix .. "/second"))
  end)

  teardown(function()
    shell("rm -rf " .. prefix)
  end)

  -- Runs it from another directory and with an empty environment.
  local function run(code)
    return shell("cd / && env -i " .. prefix .. "/second/bin/heed -e "
      .. command.quote(code))
  end

  it("finds its module and its Lua files after a move", function()
    local code, out, err = run([[
      require "heed"
      print(package.searchpath("heed", package.path))
      print(package.searchpath("heed.core", package.cpath))]])
    assert.equal("", err)
    assert.equal(prefix .. "/second/share/lua/5.4/heed/init.lua\n"
      .. prefix .. "/second/lib/lua/5.4/heed/core.so\n", out)
    assert.equal(0, code)
  end)

  it("does not look into the tree that it was built from", function()
    local _, out = run("print(package.path, package.cpath)")
    local _, root = shell("pwd")
    assert.is_nil(out:find(root:gsub("\n", ""), 1, true))
  end)

  it("has the C library, its header and every Lua file", function()
    local base = prefix .. "/second"
    for _, name in ipairs({ "include/heed.h", "lib/libheed.a",
      "lib/libheed.so", "lib/libheed.so.0", "lib/pkgconfig/heed.pc" }) do
      assert.equal(0, (shell("test -e " .. base .. "/" .. name)), name)
    end
    local code, out = shell("cd lua && find . -name '*.lua' | sort >"
      .. prefix .. "/here && cd " .. base .. "/share/lua/5.4 && find . "
      .. "-name '*.lua' ! -name help_data.lua | sort | diff " .. prefix
      .. "/here -")
    assert.equal("", out)
    assert.equal(0, code)
    assert.equal(0, (shell("test -s " .. base
      .. "/share/lua/5.4/heed/help_data.lua")), "the texts of heed.help")
  end)

  -- The example in C says by its exit code whether all its checks hold.
  local function check_example(line)
    local code, out, err = shell(line)
    assert.equal("", err)
    assert.equal(0, code, out)
    assert.is_truthy(out:find("ok the loss goes down", 1, true), out)
  end

  it("lets a C program use the library by pkg-config", function()
    if sanitized then return end
    local base = prefix .. "/second"
    local example = base .. "/share/heed/examples/c/attention.c"
    check_example("export PKG_CONFIG_PATH=" .. base .. "/lib/pkgconfig && cc "
      .. "-std=c17 -Wall -Wextra -Werror " .. example .. " -o " .. prefix
      .. "/use $(pkg-config --cflags --libs heed) -lm && LD_LIBRARY_PATH="
      .. base .. "/lib " .. prefix .. "/use")
  end)

  for _, kind in ipairs({"shared", "static"}) do
    it("lets a CMake project use its " .. kind .. " library", function()
      if sanitized then return end
      local base = prefix .. "/second"
      local tree = prefix .. "/use-" .. kind
      check_example(("cmake -G Ninja -S %s/share/heed/examples/c -B %s "
        .. "-DCMAKE_PREFIX_PATH=%s -DHEED_STATIC=%s >%s.log && cmake --build "
        .. "%s >>%s.log && %s/attention"):format(base, tree, base,
        kind == "static" and "ON" or "OFF", tree, tree, tree, tree))
      local _, needed = shell("ldd " .. tree .. "/attention")
      assert.equal(kind == "shared", needed:find("libheed", 1, true) ~= nil)
    end)
  end

  it("refuses a CMake project that wants another version", function()
    local project = prefix .. "/wants"
    shell("mkdir " .. project .. " && echo 'cmake_minimum_required(VERSION "
      .. "3.21)\nproject(wants LANGUAGES NONE)\nfind_package(heed 99 REQUIRED)'"
      .. " >" .. project .. "/CMakeLists.txt")
    local code, _, err = shell("cmake -G Ninja -S " .. project .. " -B "
      .. project .. "/build -DCMAKE_PREFIX_PATH=" .. prefix .. "/second")
    assert.is_truthy(err:find('requested version "99"', 1, true), err)
    assert.equal(1, code)
  end)

  it("bears a path with spaces, and goes by the list of its files", function()
    local base = prefix .. "/a place"
    local at = command.quote(base)
    assert.equal(0, (shell("cmake --install " .. build .. " --prefix " .. at)))
    local code, out, err = shell("cd / && env -i " .. at .. "/bin/heed -e "
      .. "'print(require(\"heed\").ones({2}):sum():item())'")
    assert.equal("", err)
    assert.equal("2.0\n", out)
    assert.equal(0, code)
    assert.equal(0, (shell("xargs -d '\n' rm <" .. build
      .. "/install_manifest.txt")))
    local _, files = shell("find " .. at .. " -type f -o -type l")
    assert.equal("", files)
  end)

  it("goes below DESTDIR", function()
    local code, _, err = shell("DESTDIR=" .. prefix .. "/stage cmake "
      .. "--install " .. build .. " --prefix /opt/heed")
    assert.equal("", err)
    assert.equal(0, code)
    local _, out = shell("cd / && env -i " .. prefix
      .. "/stage/opt/heed/bin/heed -e 'print(require(\"heed\").version)'")
    assert.equal(require("heed").version .. "\n", out)
    _, out = shell("ls " .. prefix .. "/stage")
    assert.equal("opt\n", out)
  end)
end)

describe("the module in plain Lua", function()
  it("loads from the build tree and the sources", function()
    if sanitized then return end -- its Lua would have to be sanitized too
    local lua = arg[-1] or "lua5.4"
    local code, out, err = shell("LUA_PATH='lua/?.lua;lua/?/init.lua' "
      .. "LUA_CPATH=" .. build .. "/lua/?.so " .. lua
      .. " -e 'print(type(require(\"heed\")))'")
    assert.equal("", err)
    assert.equal("table\n", out)
    assert.equal(0, code)
  end)
end)
