rockspec_format = "3.0"
package = "heed"
version = "0.1.0-1"

-- for `luarocks make` in a copy of the sources; with --deps-mode=none where the
-- modules below come from the system
source = { url = "." }

description = {
  summary = "Attention for Lua: tensors, gradients and networks",
  detailed = [[
    A tensor and attention core in C, exported as a module for Lua 5.4, with
    neural-network modules in Lua on top, and a program, heed, that runs
    scripts and is a REPL.
  ]],
  license = "MIT",
  labels = { "tensor", "attention", "transformer", "machine-learning" },
}

supported_platforms = { "linux" }

dependencies = {
  "lua >= 5.4, < 5.5",
  "argparse >= 0.7",
  "lua-cjson >= 2.1",
  "luafilesystem >= 1.8",
  "lrexlib-pcre2 >= 2.9",
}

test_dependencies = { "busted >= 2.1" }

build = {
  type = "cmake",
  variables = {
    CMAKE_INSTALL_PREFIX = "$(PREFIX)",
    CMAKE_INSTALL_BINDIR = "$(BINDIR)",
    HEED_LUA_DIR = "$(LUADIR)",
    HEED_LIB_DIR = "$(LIBDIR)",
    -- where LuaRocks moves them to, seen from the program
    HEED_LUA_FROM_BIN = "../share/lua/5.4",
    HEED_LIB_FROM_BIN = "../lib/lua/5.4",
    -- LuaRocks would take the C library for a Lua module
    HEED_LIBRARY = "OFF",
  },
}
