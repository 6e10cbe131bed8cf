/* states - Lua states for the tests in C, and code that runs in them. */
#ifndef HEED_SPEC_STATES_H
#define HEED_SPEC_STATES_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

/* main returns whether there are any. */
static int failed;

static inline void check(bool ok, const char *what) {
  printf("%sok %s\n", ok ? "" : "not ", what);
  fflush(stdout);
  failed += !ok;
}

static inline lua_State *open_state(void) {
  lua_State *L = luaL_newstate();
  if (!L) abort();
  luaL_openlibs(L);
  return L;
}

/* Runs code with an integer argument; false after printing what went wrong.
   Leaves one result. */
static inline bool run(lua_State *L, const char *code, int argument) {
  lua_settop(L, 0);
  if (luaL_loadstring(L, code) == LUA_OK) {
    lua_pushinteger(L, argument);
    if (lua_pcall(L, 1, 1, 0) == LUA_OK) return true;
  }
  printf("# %s\n", lua_tostring(L, -1));
  return false;
}

/* A copy of the text that the code returns, to be freed; or NULL. */
static inline char *text_of(lua_State *L, const char *code, int argument) {
  if (!run(L, code, argument)) return NULL;
  const char *text = lua_tostring(L, -1);
  return text ? strdup(text) : NULL;
}

static inline bool same(const char *a, const char *b) {
  return a && b && strcmp(a, b) == 0;
}

#endif
