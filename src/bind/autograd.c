/* autograd - gradients from Lua. Layer: binding. Read first: core/node.h. */
#include <string.h>

#include "base/error.h"
#include "bind/bind.h"
#include "core/node.h"

/* Reads the boolean options of a walk from the table at `index`. */
static void read_walk(lua_State *L, int index, const char *what,
                      heed_walk *walk) {
  bool retain_given = false;
  if (lua_isnoneornil(L, index)) return;
  if (!lua_istable(L, index))
    luaL_error(L, "%s: options must be a table, got %s", what,
               heed_bind_describe(L, index));
  lua_pushnil(L);
  while (lua_next(L, index)) {
    const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2)
                                                     : "";
    bool on = lua_toboolean(L, -1);
    if (strcmp(key, "retain_graph") == 0) {
      walk->retain = on;
      retain_given = true;
    } else if (strcmp(key, "create_graph") == 0) {
      walk->create_graph = on;
    } else {
      luaL_error(L, "%s: unknown option %s; known: retain_graph, "
                 "create_graph", what, heed_bind_describe(L, -2));
    }
    lua_pop(L, 1);
  }
  if (!retain_given) walk->retain = walk->create_graph;
}

/* t:backward([gradient] [, {retain_graph =, create_graph =}]) */
static int backward(lua_State *L) {
  heed_tensor *t = heed_bind_check(L, 1, "backward: x");
  heed_tensor *g = heed_bind_test(L, 2);
  int options = lua_isnoneornil(L, 2) || g ? 3 : 2;
  heed_walk walk = {0};
  read_walk(L, options, "backward", &walk);
  if (!heed_backward(t, g, &walk)) return heed_bind_raise(L);
  heed_bind_collect(L);
  return 0;
}

/* grad(y, x or {x, ...} [, options with gradient =]) -> gradients */
static int grad(lua_State *L) {
  heed_tensor *y = heed_bind_check(L, 1, "grad: y");
  heed_tensor *single = heed_bind_test(L, 2), *gradient = NULL;
  if (!single && !lua_istable(L, 2))
    return luaL_error(L, "grad: x must be a tensor or a list of tensors, got "
                      "%s", heed_bind_describe(L, 2));
  int n = single ? 1 : (int)luaL_len(L, 2);
  heed_walk walk = {.nwanted = n};
  if (lua_istable(L, 3)) {
    lua_getfield(L, 3, "gradient");
    gradient = heed_bind_test(L, -1);
    lua_pushvalue(L, 3);
    lua_newtable(L); /* the options without gradient */
    lua_pushnil(L);
    while (lua_next(L, -3)) {
      lua_pushvalue(L, -2);
      lua_insert(L, -2);
      bool own = lua_type(L, -2) == LUA_TSTRING &&
                 strcmp(lua_tostring(L, -2), "gradient") == 0;
      if (own) lua_pop(L, 2);
      else lua_rawset(L, -4);
    }
    read_walk(L, lua_gettop(L), "grad", &walk);
  }
  luaL_checkstack(L, 2 * n + 8, "grad: too many tensors");
  walk.wanted = lua_newuserdatauv(L, sizeof(heed_tensor *) * (size_t)(n + 1),
                                  0);
  walk.found = lua_newuserdatauv(L, sizeof(heed_tensor *) * (size_t)(n + 1),
                                 0);
  heed_tensor ***box = lua_newuserdatauv(
      L, sizeof(heed_tensor **) * (size_t)(n + 1), 0);
  int first = lua_gettop(L) + 1;
  for (int i = 0; i < n; i++) {
    if (!single) lua_geti(L, 2, i + 1);
    walk.wanted[i] = single ? single : heed_bind_check(L, -1, "grad: x");
    walk.found[i] = NULL;
    if (!single) lua_pop(L, 1);
    if (!heed_tensor_tracks(walk.wanted[i]))
      return luaL_error(L, "grad: x %d does not want gradients "
                        "(requires_grad)", i + 1);
    box[i] = heed_bind_box(L);
  }
  bool ok = heed_backward(y, gradient, &walk);
  for (int i = 0; i < n; i++) {
    if (walk.found[i]) {
      heed_bind_fill(box[i], walk.found[i]);
    } else {
      lua_pushnil(L);
      lua_replace(L, first + i);
    }
  }
  if (!ok) return heed_bind_raise(L);
  heed_bind_collect(L);
  return n;
}

/* -- switching recording off and on -- */

#define GUARD "heed.grad_guard"

/* A guard remembers the mode to return to; closing twice does nothing. */
static int guard_close(lua_State *L) {
  int *was = luaL_checkudata(L, 1, GUARD);
  if (*was >= 0) heed_grad_mode(*was);
  *was = -1;
  return 0;
}

/* with_mode(f, ...) runs f so; with_mode() gives a guard for <close>. */
static int with_mode(lua_State *L, bool on) {
  if (lua_isnone(L, 1)) {
    int *was = lua_newuserdatauv(L, sizeof *was, 0);
    *was = -1;
    luaL_setmetatable(L, GUARD);
    *was = heed_grad_mode(on);
    return 1;
  }
  bool was = heed_grad_mode(on);
  int status = lua_pcall(L, lua_gettop(L) - 1, LUA_MULTRET, 0);
  heed_grad_mode(was);
  return status == LUA_OK ? lua_gettop(L) : lua_error(L);
}

static int no_grad(lua_State *L) { return with_mode(L, false); }
static int enable_grad(lua_State *L) { return with_mode(L, true); }

static int is_grad_enabled(lua_State *L) {
  lua_pushboolean(L, heed_grad_enabled());
  return 1;
}

void heed_bind_autograd(lua_State *L) {
  static const luaL_Reg functions[] = {{"backward", backward},
                                       {"grad", grad},
                                       {"no_grad", no_grad},
                                       {"enable_grad", enable_grad},
                                       {"is_grad_enabled", is_grad_enabled},
                                       {NULL, NULL}};
  luaL_newmetatable(L, GUARD);
  lua_pushcfunction(L, guard_close);
  lua_setfield(L, -2, "__close");
  lua_pushcfunction(L, guard_close);
  lua_setfield(L, -2, "__gc");
  lua_pop(L, 1);
  luaL_setfuncs(L, functions, 0);
}
