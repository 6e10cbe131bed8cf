/*
 * coroutine - coroutines that Ctrl-C can stop. Layer: host; read call.h first.
 *
 * Lua has no way to ask which coroutine runs, so the two functions that start
 * one are our own. What they do is that of Lua's, message for message.
 */
#include "host/coroutine.h"

#include <stdbool.h>

#include <lauxlib.h>
#include <lualib.h>

#include "host/call.h"

/* Resumes `co` with the `nargs` values on top of L's stack. Leaves its results
   there and returns how many; or leaves a message and returns -1. */
static int resume(lua_State *L, lua_State *co, int nargs) {
  if (!lua_checkstack(co, nargs)) {
    lua_pop(L, nargs);
    lua_pushliteral(L, "too many arguments to resume");
    return -1;
  }
  lua_xmove(L, co, nargs);
  int count;
  heed_call_switch(L, co);
  int status = lua_resume(co, L, nargs, &count);
  heed_call_switch(co, L);
  if (status != LUA_OK && status != LUA_YIELD) {
    lua_xmove(co, L, 1);
    return -1;
  }
  if (!lua_checkstack(L, count + 1)) {
    lua_pop(co, count);
    lua_pushliteral(L, "too many results to resume");
    return -1;
  }
  lua_xmove(co, L, count);
  return count;
}

static int resume_coroutine(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTHREAD);
  lua_State *co = lua_tothread(L, 1);
  int count = resume(L, co, lua_gettop(L) - 1);
  lua_pushboolean(L, count >= 0);
  if (count < 0) count = 1;
  lua_insert(L, -(count + 1));
  return count + 1;
}

/* What coroutine.wrap returns; its upvalue is the coroutine. */
static int go_on(lua_State *L) {
  lua_State *co = lua_tothread(L, lua_upvalueindex(1));
  int count = resume(L, co, lua_gettop(L));
  if (count >= 0) return count;
  int status = lua_status(co);
  if (status != LUA_OK && status != LUA_YIELD) {
    /* it has died: its variables are closed, which may fail in turn */
    status = lua_resetthread(co);
    if (status != LUA_OK) lua_xmove(co, L, 1);
  }
  if (status != LUA_ERRMEM && lua_type(L, -1) == LUA_TSTRING) {
    luaL_where(L, 1);
    lua_insert(L, -2);
    lua_concat(L, 2);
  }
  return lua_error(L);
}

static int wrap_function(lua_State *L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_State *co = lua_newthread(L);
  lua_pushvalue(L, 1);
  lua_xmove(L, co, 1);
  lua_pushcclosure(L, go_on, 1);
  return 1;
}

void heed_coroutine_open(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"resume", resume_coroutine}, {"wrap", wrap_function}, {NULL, NULL}};
  if (lua_getglobal(L, LUA_COLIBNAME) == LUA_TTABLE)
    luaL_setfuncs(L, functions, 0);
  lua_pop(L, 1);
}
