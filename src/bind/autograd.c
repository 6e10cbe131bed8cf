/* autograd - gradients from Lua. Layer: binding.
 * Read first: core/node.h, callback.h. */
#include <string.h>

#include "base/error.h"
#include "bind/bind.h"
#include "bind/callback.h"
#include "core/extra.h"
#include "core/node.h"

typedef heed_bind_list list;

/* Reads the boolean options of a walk from the table at `index`. */
static void read_walk(lua_State *L, int index, const char *what,
                      heed_walk *walk) {
  bool retain_given = false, is_grad = strcmp(what, "grad") == 0;
  if (lua_isnoneornil(L, index)) return;
  if (!lua_istable(L, index))
    heed_bind_error(L, "%s: options must be a table, got %s", what,
                    heed_bind_describe(L, index));
  for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
    const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2)
                                                     : "";
    bool retain = strcmp(key, "retain_graph") == 0, on = lua_toboolean(L, -1);
    if (is_grad && strcmp(key, "gradient") == 0) continue;
    if (!retain && strcmp(key, "create_graph") != 0)
      heed_bind_error(L, "%s: unknown option %s; known: retain_graph, "
                      "create_graph%s", what, heed_bind_describe(L, -2),
                      is_grad ? ", gradient" : "");
    if (!lua_isboolean(L, -1))
      heed_bind_error(L, "%s: %s must be a boolean, got %s", what, key,
                      heed_bind_describe(L, -1));
    if (retain) walk->retain = on;
    else walk->create_graph = on;
    retain_given = retain_given || retain;
  }
  if (!retain_given) walk->retain = walk->create_graph;
}

/***
Walks back from x through the ops that made it and adds the gradients to the
`grad` of the leaves that want them.
@function backward
@param x tensor that takes part in gradients
@param gradient that of x, of its shape and dtype; may be left out when x has
one element, for 1
@param options table: retain_graph, keep what the graph saved for another walk
(false); create_graph, record the walk, so that the gradients can be
differentiated (false; implies retain_graph)
@raise when no input wants gradients, the graph is freed, or a value that is
needed was overwritten
@usage local x = heed.tensor({1.0, 2.0}, {requires_grad = true});
(x * x):sum():backward()
return x.grad --> 2 4
*/
static int backward(lua_State *L) {
  heed_tensor *t = heed_bind_check(L, 1, "backward: x");
  heed_tensor *g = heed_bind_find(L, 2);
  bool table = lua_istable(L, 2);
  if (!g && !table && !lua_isnoneornil(L, 2))
    return heed_bind_error(L, "backward: gradient must be a tensor, got %s",
                           heed_bind_describe(L, 2));
  heed_walk walk = {0};
  read_walk(L, table ? 2 : 3, "backward", &walk);
  if (!heed_bind_walk(L, &(list){&t, 1}, &(list){&g, 1}, &walk))
    return heed_bind_raise_walk(L);
  heed_bind_collect(L);
  return 0;
}

/***
The gradients of y by x; the `grad` of leaves stays as it is.
@function grad
@param y tensor, or list of tensors, whose gradients are added
@param x tensor, or list of tensors, that y was made from
@param options table: gradient, that of y, or a list (1 for one element);
retain_graph (false), create_graph (false), as in `backward`
@return one result for each x; nil where y does not depend on it
@raise as `backward`, and when an x does not want gradients
@usage local x = heed.tensor(3.0, {requires_grad = true})
return heed.grad(x * x, x) --> 6
*/
static int grad(lua_State *L) {
  lua_settop(L, 3);
  heed_walk walk = {0};
  read_walk(L, 3, "grad", &walk);
  list y = heed_bind_list_make(L, 1, "grad: y");
  list x = heed_bind_list_make(L, 2, "grad: x");
  bool given = lua_istable(L, 3);
  if (given) {
    lua_pushliteral(L, "gradient");
    given = lua_rawget(L, 3) != LUA_TNIL;
  } else {
    lua_pushnil(L);
  }
  int at = lua_gettop(L);
  list gradient = heed_bind_list_make(L, given ? at : 1, "grad: gradient");
  if (gradient.n != y.n)
    return heed_bind_error(L, "grad: gradient must have one entry for each "
                           "of the %d tensors y, got %d", y.n, gradient.n);
  luaL_checkstack(L, x.n + 8, "grad: too many tensors");
  list found = heed_bind_list_make(L, 2, "grad: x");
  heed_tensor ***box = lua_newuserdatauv(
      L, sizeof(heed_tensor **) * (size_t)(x.n + 1), 0);
  int first = lua_gettop(L) + 1;
  for (int i = 0; i < x.n; i++) box[i] = heed_bind_box(L);
  if (!heed_bind_list_fill(L, 1, "grad: y", &y) ||
      !heed_bind_list_fill(L, 2, "grad: x", &x) ||
      (given && !heed_bind_list_fill(L, at, "grad: gradient", &gradient)))
    return heed_bind_raise(L);
  for (int i = 0; i < x.n; i++)
    if (!heed_tensor_tracks(x.t[i]))
      return heed_bind_error(L, "grad: x %d does not want gradients "
                             "(requires_grad)", i + 1);
  walk.wanted = x.t;
  walk.nwanted = x.n;
  walk.found = found.t;
  bool ok = heed_bind_walk(L, &y, &gradient, &walk);
  for (int i = 0; i < x.n; i++) {
    if (found.t[i]) {
      heed_bind_fill(box[i], found.t[i]);
    } else {
      lua_pushnil(L);
      lua_replace(L, first + i);
    }
  }
  if (!ok) return heed_bind_raise_walk(L);
  heed_bind_collect(L);
  return x.n;
}

/* backward_all({t, ...}, {gradient, ...}) */
static int backward_all(lua_State *L) {
  list t = heed_bind_list_make(L, 1, "backward: x");
  list g = heed_bind_list_make(L, 2, "backward: gradient");
  if (t.n != g.n)
    return heed_bind_error(L, "backward: %d gradients for %d tensors", g.n,
                           t.n);
  if (!heed_bind_list_fill(L, 1, "backward: x", &t) ||
      !heed_bind_list_fill(L, 2, "backward: gradient", &g))
    return heed_bind_raise(L);
  if (!heed_bind_walk(L, &t, &g, &(heed_walk){0}))
    return heed_bind_raise_walk(L);
  heed_bind_collect(L);
  return 0;
}

/***
Has x keep its gradient in `grad` though it is the result of an op.
@function retain_grad
@param x tensor that takes part in gradients
@return x
@raise when x does not want gradients
@usage local x = heed.ones({2}, {requires_grad = true})
local y = (x * 3):retain_grad()
y:sum():backward()
return y.grad --> 1 1
*/
static int retain_grad(lua_State *L) {
  heed_tensor *t = heed_bind_check(L, 1, "retain_grad: x");
  if (!heed_tensor_tracks(t))
    return heed_bind_error(L, "retain_grad: x does not want gradients "
                           "(requires_grad), %s", heed_tensor_text(t));
  if (!heed_extra_retain(t)) return heed_bind_raise(L);
  lua_settop(L, 1);
  return 1;
}

/* -- looking for the first NaN -- */

static int set_anomaly(lua_State *L) {
  lua_pushboolean(L, heed_anomaly_set(lua_toboolean(L, 1)));
  return 1;
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

static bool is_callable(lua_State *L, int index) {
  if (lua_isfunction(L, index)) return true;
  if (luaL_getmetafield(L, index, "__call") == LUA_TNIL) return false;
  lua_pop(L, 1);
  return true;
}

/* with_mode(f, ...) runs f so; with_mode() gives a guard for <close>. */
static int with_mode(lua_State *L, const char *what, bool on) {
  if (lua_isnone(L, 1)) {
    int *was = lua_newuserdatauv(L, sizeof *was, 0);
    *was = -1;
    luaL_setmetatable(L, GUARD);
    *was = heed_grad_mode(on);
    return 1;
  }
  if (!is_callable(L, 1))
    return heed_bind_error(L, "%s: f must be a function, got %s", what,
                           heed_bind_describe(L, 1));
  bool was = heed_grad_mode(on);
  int status = lua_pcall(L, lua_gettop(L) - 1, LUA_MULTRET, 0);
  heed_grad_mode(was);
  return status == LUA_OK ? lua_gettop(L) : lua_error(L);
}

/***
Runs f(...) without recording for gradients, or gives a guard with which it is
off until the end of the block.
@function no_grad
@param f function; left out, a guard for `local _ <close> =` is returned
@param ... any values: its arguments
@return what f returns, or the guard
@raise when f is no function
@usage local x = heed.ones({2}, {requires_grad = true})
return heed.no_grad(function() return (x * 2).requires_grad end) --> false
*/
static int no_grad(lua_State *L) { return with_mode(L, "no_grad", false); }

/***
Runs f(...) with recording, also inside of `no_grad`, or gives a guard.
@function enable_grad
@param f function; left out, a guard for `local _ <close> =` is returned
@param ... any values: its arguments
@return what f returns, or the guard
@raise when f is no function
@usage local x <const> = heed.ones({2}, {requires_grad = true})
local _ <close> = heed.no_grad()
return heed.enable_grad(function() return (x * 2).requires_grad end) --> true
*/
static int enable_grad(lua_State *L) {
  return with_mode(L, "enable_grad", true);
}

/***
Are ops recorded now?
@function is_grad_enabled
@return boolean
@usage heed.is_grad_enabled() --> true
*/
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
                                       {"backward_all", backward_all},
                                       {"set_anomaly", set_anomaly},
                                       {"retain_grad", retain_grad},
                                       {NULL, NULL}};
  luaL_newmetatable(L, GUARD);
  lua_pushcfunction(L, guard_close);
  lua_setfield(L, -2, "__close");
  lua_pushcfunction(L, guard_close);
  lua_setfield(L, -2, "__gc");
  lua_pop(L, 1);
  luaL_setfuncs(L, functions, 0);
}
