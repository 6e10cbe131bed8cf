/*
 * callback - backward walks that may call Lua functions. Layer: binding.
 */
#ifndef HEED_BIND_CALLBACK_H
#define HEED_BIND_CALLBACK_H

#include <lua.h>

#include "core/node.h"

/* A list of lent tensors, in memory of Lua that stays on the stack. */
typedef struct heed_bind_list {
  heed_tensor **t;
  int n;
} heed_bind_list;

/* Room for the tensors at `index`, a table of them or a single one. */
heed_bind_list heed_bind_list_make(lua_State *L, int index,
                                   const char *what);
/* Puts them there; fails for what is no tensor. Neither raises nor runs Lua
   code, which could close what was read before. */
bool heed_bind_list_fill(lua_State *L, int index, const char *what,
                         heed_bind_list *l);

/* heed_backward from t with its gradients, as many; hooks and rules may be Lua
   functions, which run in protected calls of L. */
bool heed_bind_walk(lua_State *L, const heed_bind_list *t,
                    const heed_bind_list *gradient, const heed_walk *walk);
/* Raises what made a walk fail: the very error of a Lua function, or ours. */
int heed_bind_raise_walk(lua_State *L);

/* Adds register_hook and custom to the table on the top. */
void heed_bind_callbacks(lua_State *L);

#endif
