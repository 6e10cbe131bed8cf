/*
 * paths - where the program finds heed's own Lua files and module. Layer:
 * host.
 *
 *   installed    PREFIX/bin/heed, PREFIX/share/lua/5.4, PREFIX/lib/lua/5.4
 *   build tree   BUILD/heed, BUILD/lua/source (a link), BUILD/lua
 *
 * Two strings that the build sets say how to go from the program's directory
 * to the two others: HEED_LUA_FROM_BIN and HEED_LIB_FROM_BIN.
 */
#include "host/paths.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <lualib.h>

/* Writes the directory that holds this program to `directory`. */
static bool find_program(char directory[PATH_MAX]) {
  ssize_t length = readlink("/proc/self/exe", directory, PATH_MAX - 1);
  if (length <= 0) return false;
  directory[length] = '\0';
  char *slash = strrchr(directory, '/');
  if (!slash) return false;
  *slash = '\0';
  return true;
}

/* Writes the true path of base/relative to `path`, if there is such. */
static bool resolve(char path[PATH_MAX], const char *base,
                    const char *relative) {
  char joined[2 * PATH_MAX];
  snprintf(joined, sizeof joined, "%s/%s", base, relative);
  return realpath(joined, path) != NULL;
}

/* package[field] = text .. ";" .. package[field], where text is on the top of
   the stack and is popped. */
static void prepend(lua_State *L, const char *field) {
  if (lua_getglobal(L, LUA_LOADLIBNAME) == LUA_TTABLE) {
    lua_insert(L, -2);
    lua_pushliteral(L, ";");
    lua_getfield(L, -3, field);
    lua_concat(L, 3);
    lua_setfield(L, -2, field);
  } else {
    lua_remove(L, -2);
  }
  lua_pop(L, 1);
}

void heed_paths_add(lua_State *L) {
  char program[PATH_MAX], lua[PATH_MAX], lib[PATH_MAX];
  if (!find_program(program)) return;

  bool has_lua, has_lib;
  if (resolve(lib, program, "lua/heed/core.so") &&
      resolve(lua, program, "lua/source")) {
    has_lua = true;
    has_lib = resolve(lib, program, "lua");
  } else {
    has_lua = resolve(lua, program, HEED_LUA_FROM_BIN);
    has_lib = resolve(lib, program, HEED_LIB_FROM_BIN);
  }

  if (has_lua) {
    lua_pushfstring(L, "%s/?.lua;%s/?/init.lua", lua, lua);
    prepend(L, "path");
  }
  if (has_lib) {
    lua_pushfstring(L, "%s/?.so", lib);
    prepend(L, "cpath");
  }
}
