/*
 * call - protected calls as the program makes them: an error gets a traceback
 * and Ctrl-C stops what runs. Layer: host.
 */
#ifndef HEED_HOST_CALL_H
#define HEED_HOST_CALL_H

#include <lua.h>

/* Prepares a state, so that Ctrl-C also stops what heed computes. */
void heed_call_open(lua_State *L);

/* Calls the function below `nargs` arguments, like lua_pcall. On failure the
   one value left is a message with a traceback, or what the __tostring of
   the error object gave. */
int heed_call(lua_State *L, int nargs, int nresults);

/* If `status` is a failure, pops its message and writes it to stderr after
   "heed: ". Returns `status`. */
int heed_call_report(lua_State *L, int status);

/* Writes a message of the program itself in the same form. */
void heed_call_complain(const char *message);

#endif
