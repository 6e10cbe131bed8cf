/*
 * coroutine - coroutines that Ctrl-C can stop. Layer: host.
 */
#ifndef HEED_HOST_COROUTINE_H
#define HEED_HOST_COROUTINE_H

#include <lua.h>

/* Puts coroutine.resume and coroutine.wrap of Lua's library into a form that
   tells heed_call_switch which coroutine runs. For scripts they are as
   before. */
void heed_coroutine_open(lua_State *L);

#endif
