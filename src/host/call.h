/*
 * call - protected calls as the program makes them: an error gets a traceback
 * and Ctrl-C stops what runs. Layer: host.
 */
#ifndef HEED_HOST_CALL_H
#define HEED_HOST_CALL_H

#include <stdbool.h>

#include <lua.h>

/* Prepares a state, so that Ctrl-C also stops what heed computes. */
void heed_call_open(lua_State *L);

/* Calls the function below `nargs` arguments, like lua_pcall. On failure the
   one value left is a message with a traceback, or what the __tostring of
   the error object gave. A second Ctrl-C ends a program that does not come
   back to Lua. */
int heed_call(lua_State *L, int nargs, int nresults);

/* As lua_pcall with this message handler, but Ctrl-C stops it. With
   `survives`, no further Ctrl-C ends the program either. */
int heed_call_guarded(lua_State *L, int nargs, int nresults, int handler,
                      bool survives);

/* `from` resumes `to`, or `to` goes on after `from`: a Ctrl-C stops `to` from
   here on, also one that has come already. */
void heed_call_switch(lua_State *from, lua_State *to);

/* If `status` is a failure, pops its message and writes it to stderr after
   "heed: ". Returns `status`. */
int heed_call_report(lua_State *L, int status);

/* Writes a message of the program itself in the same form. */
void heed_call_complain(const char *message);

#endif
