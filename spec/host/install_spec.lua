-- An installed tree: works in any place, without settings, by itself.

local command = require "spec.host.command"
local shell = command.shell

local build = os.getenv("HEED_BUILD") or "build"
local sanitized = os.getenv("HEED_SANITIZE")

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

  it("lets a C program use the library by pkg-config", function()
    if sanitized then return end
    local base = prefix .. "/second"
    local name = prefix .. "/use"
    local source = command.file([[
      #include <heed.h>
      #include <stdio.h>
      int main(void) {
        if (!heed_init()) return 1;
        return puts("started") < 0;
      }]])
    local code, out, err = shell("export PKG_CONFIG_PATH=" .. base
      .. "/lib/pkgconfig && cc -x c " .. source
      .. " -x none -o " .. name .. " $(pkg-config --cflags --libs heed) && "
      .. "LD_LIBRARY_PATH=" .. base .. "/lib " .. name)
    os.remove(source)
    assert.equal("", err)
    assert.equal("started\n", out)
    assert.equal(0, code)
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
