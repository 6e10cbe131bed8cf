/*
 * callback - Lua functions that backward walks call: hooks, and the rules of
 * functions with a backward rule in Lua. Layer: binding.
 * Read first: callback.h, core/node.h (heed_custom), core/extra.h.
 */
#include "bind/callback.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "bind/bind.h"
#include "core/extra.h"
#include "core/family.h"

/* The state that runs a walk: where hooks and rules in Lua are called; and
   whether one raised an error, which waits in the registry. */
static _Thread_local lua_State *running;
static _Thread_local bool thrown;

bool heed_bind_walk(lua_State *L, heed_tensor *const *t,
                    heed_tensor *const *gradient, int n,
                    const heed_walk *walk) {
  lua_State *before = running;
  running = L;
  bool ok = heed_backward(t, gradient, n, walk);
  running = before;
  return ok;
}

int heed_bind_raise_walk(lua_State *L) {
  if (!thrown) return heed_bind_raise(L);
  thrown = false;
  lua_rawgetp(L, LUA_REGISTRYINDEX, &thrown);
  lua_pushnil(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &thrown);
  return lua_error(L);
}

/* A Lua value that C holds. */
typedef struct held_value {
  lua_State *main;
  int ref;
} held_value;

static held_value *hold_value(lua_State *L, int index) {
  held_value *v = heed_mem_alloc(sizeof *v);
  if (!v) return NULL;
  lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
  v->main = lua_tothread(L, -1);
  lua_pop(L, 1);
  lua_pushvalue(L, index);
  v->ref = luaL_ref(L, LUA_REGISTRYINDEX);
  return v;
}

static void let_go(void *held) {
  held_value *v = held;
  luaL_unref(v->main, LUA_REGISTRYINDEX, v->ref);
  heed_mem_free(v, sizeof *v);
}

/* Runs `f` in a protected call on `with`; its failure becomes ours. Errors in
   Lua must not jump across the walk, which owns things. */
static bool run_protected(lua_CFunction f, void *with) {
  lua_State *L = running;
  if (!L) return heed_fail("backward: this graph runs Lua functions, so it "
                           "must be walked from Lua");
  if (!lua_checkstack(L, 8)) return heed_fail("backward: stack overflow");
  lua_pushcfunction(L, f);
  lua_pushlightuserdata(L, with);
  if (lua_pcall(L, 1, 0, 0) == LUA_OK) return true;
  lua_rawsetp(L, LUA_REGISTRYINDEX, &thrown);
  thrown = true;
  return heed_fail("backward: a Lua function failed");
}

/* -- hooks -- */

#define HOOK "heed.hook"

typedef struct hook_call {
  held_value *function;
  heed_tensor *gradient, *result;
} hook_call;

static int call_hook(lua_State *L) {
  hook_call *h = lua_touserdata(L, 1);
  lua_rawgeti(L, LUA_REGISTRYINDEX, h->function->ref);
  heed_bind_push(L, heed_tensor_ref(h->gradient));
  lua_call(L, 1, 1);
  if (lua_isnil(L, -1)) {
    h->result = heed_tensor_ref(h->gradient);
    return 0;
  }
  heed_tensor *t = heed_bind_test(L, -1);
  if (!t || !heed_shape_equal(&t->shape, &h->gradient->shape) ||
      t->dtype != h->gradient->dtype)
    return HEED_RAISE(L, "hook: the result must be nil or %s like the "
                      "gradient, got %s", heed_tensor_text(h->gradient),
                      heed_bind_describe(L, -1));
  h->result = heed_tensor_ref(t);
  return 0;
}

static heed_tensor *run_hook(void *context, heed_tensor *gradient) {
  hook_call h = {.function = context, .gradient = gradient};
  return run_protected(call_hook, &h) ? h.result : NULL;
}

/***
Has f called with the gradient of x in backward passes, once it is complete.
@function register_hook
@param x tensor that takes part in gradients
@param f function of the gradient; returns nil, or the tensor to go on with
@return handle; `handle:remove()` ends it
@raise when x does not want gradients or f is no function
@usage local x = heed.ones({2}, {requires_grad = true})
x:register_hook(function(g) return g * 10 end)
x:sum():backward()
return x.grad --> 10 10
*/
static int register_hook(lua_State *L) {
  heed_tensor *t = heed_bind_check(L, 1, "register_hook: x");
  if (!lua_isfunction(L, 2))
    return HEED_RAISE(L, "register_hook: f must be a function, got %s",
                      heed_bind_describe(L, 2));
  if (!heed_tensor_tracks(t))
    return HEED_RAISE(L, "register_hook: x does not want gradients "
                      "(requires_grad), %s", heed_tensor_text(t));
  heed_hook **handle = lua_newuserdatauv(L, sizeof *handle, 0);
  *handle = NULL;
  luaL_setmetatable(L, HOOK);
  held_value *f = hold_value(L, 2);
  if (f) *handle = heed_hook_add(t, run_hook, let_go, f);
  return *handle ? 1 : heed_bind_raise(L);
}

static int remove_hook(lua_State *L) {
  heed_hook **handle = luaL_checkudata(L, 1, HOOK);
  if (*handle) heed_hook_remove(*handle);
  return 0;
}

static int drop_hook(lua_State *L) {
  heed_hook **handle = luaL_checkudata(L, 1, HOOK);
  heed_hook_drop(*handle);
  *handle = NULL;
  return 0;
}

/* -- functions with a backward rule in Lua -- */

/* A tensor that the forward pass saved. One that is a result is rebuilt when
   it is asked for: kept with its history, the node would own itself. */
typedef struct saved {
  heed_tensor *value;
  uint32_t version;
  int result; /* its number from 1, 0: no result */
} saved;

typedef struct function {
  held_value *rule; /* f(context, gradient, ...) -> gradients */
  held_value *context;
  int nsaved;
  size_t bytes;
  saved saved[];
} function;

static void drop_function(void *context) {
  function *f = context;
  if (f->rule) let_go(f->rule);
  if (f->context) let_go(f->context);
  for (int i = 0; i < f->nsaved; i++) heed_tensor_drop(f->saved[i].value);
  heed_mem_free(f, f->bytes);
}

typedef struct function_call {
  function *f;
  heed_rule_call *r;
} function_call;

/* Pushes saved tensor i. */
static void push_saved(lua_State *L, const function_call *call, int i) {
  const saved *s = &call->f->saved[i];
  if (s->value->storage->version != s->version)
    HEED_RAISE(L, "backward: saved tensor %d was overwritten after it was "
               "saved; write to a copy instead", i + 1);
  heed_tensor *t = s->result ? heed_tensor_detach(s->value)
                             : heed_tensor_ref(s->value);
  if (t && s->result && heed_grad_enabled()) {
    t->node = call->r->node;
    t->slot = (uint8_t)(s->result - 1);
    t->node->refs++;
  }
  heed_bind_push(L, t);
}

static void take_gradient(lua_State *L, heed_rule_call *r, int input,
                          int index) {
  if (!heed_needs(r, input) || lua_isnil(L, index)) return;
  const heed_edge *e = &r->node->in[input];
  heed_tensor *g = heed_bind_test(L, index);
  if (!g || !heed_shape_equal(&g->shape, &e->shape) ||
      g->dtype != e->dtype)
    HEED_RAISE(L, "backward: gradient %d must be nil or %s %s like the "
               "input, got %s", input + 1, heed_dtype_name(e->dtype),
               heed_shape_text(&e->shape), heed_bind_describe(L, index));
  heed_tensor *own = heed_node_lend(r, heed_tensor_ref(g));
  if (!own || !heed_give(r, input, own)) heed_bind_raise(L);
}

static int call_rule(lua_State *L) {
  function_call *call = lua_touserdata(L, 1);
  heed_rule_call *r = call->r;
  const heed_node *n = r->node;
  int top = lua_gettop(L), nsaved = call->f->nsaved;
  luaL_checkstack(L, n->nout + n->nin + nsaved + 8, "backward");
  lua_rawgeti(L, LUA_REGISTRYINDEX, call->f->rule->ref);
  lua_rawgeti(L, LUA_REGISTRYINDEX, call->f->context->ref);
  lua_createtable(L, nsaved, 0);
  for (int i = 0; i < nsaved; i++) {
    push_saved(L, call, i);
    lua_rawseti(L, -2, i + 1);
  }
  lua_pushboolean(L, r->wants_leaves);
  for (int k = 0; k < n->nout; k++) {
    heed_tensor *g = heed_grad_of(r, k);
    if (!g) heed_bind_raise(L);
    heed_bind_push(L, heed_tensor_ref(g));
  }
  lua_call(L, 3 + n->nout, n->nin);
  for (int i = 0; i < n->nin; i++) take_gradient(L, r, i, top + 1 + i);
  return 0;
}

static bool run_rule(void *context, heed_rule_call *r) {
  function_call call = {context, r};
  return run_protected(call_rule, &call);
}

/* Saves t. A result is known by its number; a member of a family, which might
   come to own the node, is kept as another tensor with the same history. */
static bool save(function *f, heed_tensor *t, heed_tensor *const *out,
                 int nout) {
  saved *s = &f->saved[f->nsaved];
  bool shell = t->family && t->node;
  *s = (saved){.value = shell ? heed_tensor_detach(t) : heed_tensor_ref(t),
               .version = t->storage->version};
  if (!s->value) return false;
  if (shell) {
    s->value->node = t->node;
    s->value->slot = t->slot;
    t->node->refs++;
  }
  for (int k = 0; k < nout; k++)
    if (out[k] == t) s->result = k + 1;
  f->nsaved++;
  return true;
}

static function *new_function(lua_State *L, heed_tensor *const *list, int n,
                              heed_tensor *const *out, int nout) {
  size_t bytes = sizeof(function) + sizeof(saved) * (size_t)n;
  function *f = heed_mem_alloc(bytes);
  if (!f) return NULL;
  *f = (function){.bytes = bytes};
  bool ok = (f->rule = hold_value(L, 4)) && (f->context = hold_value(L, 5));
  for (int i = 0; ok && i < n; i++) ok = save(f, list[i], out, nout);
  if (ok) return f;
  drop_function(f);
  return NULL;
}

/* custom({in}, {out}, {saved}, rule, context) -> results: new tensors of the
   values of out, whose gradients come from
   rule(context, {saved}, wants_leaves, gradient, ...) */
static int custom(lua_State *L) {
  int nin = 0, nout = 0, nsaved = 0;
  lua_settop(L, 5);
  heed_tensor **in = heed_bind_list(L, 1, "Function: inputs", &nin);
  heed_tensor **out = heed_bind_list(L, 2, "Function: results", &nout);
  heed_tensor **list = heed_bind_list(L, 3, "Function: saved", &nsaved);
  if (nout < 1 || nout > HEED_MAX_OUT)
    return HEED_RAISE(L, "Function: forward must give 1 to %d tensors, got "
                      "%d", HEED_MAX_OUT, nout);
  heed_tensor **box[HEED_MAX_OUT], *result[HEED_MAX_OUT];
  luaL_checkstack(L, nout, "results");
  for (int k = 0; k < nout; k++) box[k] = heed_bind_box(L);
  function *f = new_function(L, list, nsaved, out, nout);
  if (!f) return heed_bind_raise(L);
  bool ok = true;
  for (int k = 0; k < nout; k++) {
    result[k] = heed_tensor_detach(out[k]);
    ok = ok && result[k];
  }
  if (!ok) drop_function(f);
  ok = ok && heed_node_custom(in, nin, result, nout,
                              &(heed_custom){run_rule, drop_function, f});
  for (int k = 0; k < nout; k++) {
    if (ok) heed_bind_fill(box[k], result[k]);
    else heed_tensor_drop(result[k]);
  }
  return ok ? nout : heed_bind_raise(L);
}

void heed_bind_callbacks(lua_State *L) {
  static const luaL_Reg functions[] = {{"register_hook", register_hook},
                                       {"custom", custom},
                                       {NULL, NULL}};
  luaL_newmetatable(L, HOOK);
  lua_pushcfunction(L, drop_hook);
  lua_setfield(L, -2, "__gc");
  lua_newtable(L);
  lua_pushcfunction(L, remove_hook);
  lua_setfield(L, -2, "remove");
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
  luaL_setfuncs(L, functions, 0);
}
