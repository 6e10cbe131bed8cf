/*
 * callback - backward walks that may call Lua functions. Layer: binding.
 */
#ifndef HEED_BIND_CALLBACK_H
#define HEED_BIND_CALLBACK_H

#include <lua.h>

#include "core/node.h"

/* heed_backward, in which hooks and rules may be Lua functions of L. They run
   in protected calls, so that the walk frees what it holds. */
bool heed_bind_walk(lua_State *L, heed_tensor *const *t,
                    heed_tensor *const *gradient, int n,
                    const heed_walk *walk);
/* Raises what made a walk fail: the very error of a Lua function, or ours. */
int heed_bind_raise_walk(lua_State *L);

/* The list of tensors at `index`, or the single one; in a userdata that stays
   on the stack. autograd.c */
heed_tensor **heed_bind_list(lua_State *L, int index, const char *what,
                             int *n);

/* Adds register_hook and custom to the table on the top. */
void heed_bind_callbacks(lua_State *L);

#endif
