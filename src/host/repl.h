/*
 * repl - the session with the user: what heed.repl, in Lua, cannot do itself.
 * Layer: host.
 */
#ifndef HEED_HOST_REPL_H
#define HEED_HOST_REPL_H

#include <stdbool.h>

#include <lua.h>

/* Serves the user until the end of input. An error is shown and the next line
   read. With `environment` false, nothing is taken from it. */
void heed_repl_run(lua_State *L, bool environment);

#endif
