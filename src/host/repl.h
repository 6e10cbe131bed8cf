/*
 * repl - reads Lua from the user, runs it and prints what it gives. Layer:
 * host.
 */
#ifndef HEED_HOST_REPL_H
#define HEED_HOST_REPL_H

#include <lua.h>

/* Serves the user until the end of input, with `heed` in a global. An error
   is printed and the next line read. */
void heed_repl_run(lua_State *L);

#endif
