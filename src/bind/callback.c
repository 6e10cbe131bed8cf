/*
 * callback - backward walks, and the Lua functions that they call: hooks, and
 * the rules of functions with a backward rule in Lua. Layer: binding.
 * Read first: callback.h, core/node.h (heed_custom), core/extra.h.
 */
#include "bind/callback.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "bind/bind.h"
#include "core/extra.h"
#include "core/family.h"

typedef heed_bind_list list;

/* -- lists of tensors -- */

list heed_bind_list_make(lua_State *L, int index, const char *what) {
  bool table = lua_istable(L, index);
  if (!table) heed_bind_check(L, index, what);
  lua_Unsigned n = table ? lua_rawlen(L, index) : 1;
  if (n > INT16_MAX)
    heed_bind_error(L, "%s has more than %d tensors", what, INT16_MAX);
  list l = {lua_newuserdatauv(L, sizeof *l.t * (size_t)(n + 1), 0), (int)n};
  memset(l.t, 0, sizeof *l.t * (size_t)(n + 1));
  return l;
}

bool heed_bind_list_fill(lua_State *L, int index, const char *what, list *l) {
  bool table = lua_istable(L, index);
  for (int i = 0; i < l->n; i++) {
    if (table) lua_rawgeti(L, index, i + 1);
    l->t[i] = heed_bind_find(L, table ? -1 : index);
    if (!l->t[i])
      return heed_fail("%s[%d] must be a tensor, got %s", what, i + 1,
                       heed_bind_describe(L, -1));
    if (table) lua_pop(L, 1); /* the table keeps it */
  }
  return true;
}

/* -- walks -- */

/* The state that runs a walk: where hooks and rules in Lua are called; and
   whether one raised an error, which waits in a table in the registry: made
   before, so that nothing raises in the midst of a walk. */
static _Thread_local lua_State *running;
static _Thread_local bool thrown;

/* Hooks and rules may let go of tensors that the walk goes on with. */
static void hold(const list *l, bool on) {
  for (int i = 0; i < l->n; i++) {
    if (!l->t[i]) continue;
    if (on) heed_tensor_ref(l->t[i]);
    else heed_tensor_drop(l->t[i]);
  }
}

bool heed_bind_walk(lua_State *L, const list *t, const list *gradient,
                    const heed_walk *walk) {
  lua_State *before = running;
  list wanted = {walk->wanted, walk->nwanted};
  const list *held[] = {t, gradient, &wanted};
  for (int i = 0; i < 3; i++) hold(held[i], true);
  running = L;
  bool ok = heed_backward(t->t, gradient->t, t->n, walk);
  running = before;
  for (int i = 0; i < 3; i++) hold(held[i], false);
  return ok;
}

int heed_bind_raise_walk(lua_State *L) {
  if (!thrown) return heed_bind_raise(L);
  thrown = false;
  lua_rawgetp(L, LUA_REGISTRYINDEX, &thrown);
  lua_rawgeti(L, -1, 1);
  lua_pushboolean(L, false);
  lua_rawseti(L, -3, 1);
  return lua_error(L);
}

/* -- Lua functions -- */

/* A Lua value that C holds. */
typedef struct held_value {
  lua_State *main;
  int ref;
} held_value;

static held_value *hold_value(lua_State *L, int index) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
  held_value own = {.main = lua_tothread(L, -1)};
  lua_pop(L, 1);
  lua_pushvalue(L, index);
  own.ref = luaL_ref(L, LUA_REGISTRYINDEX);
  held_value *v = heed_mem_alloc(sizeof *v);
  if (v) *v = own;
  else luaL_unref(L, LUA_REGISTRYINDEX, own.ref);
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
  lua_rawgetp(L, LUA_REGISTRYINDEX, &thrown);
  lua_insert(L, -2);
  lua_rawseti(L, -2, 1);
  lua_pop(L, 1);
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
  heed_bind_push(L, h->gradient);
  lua_call(L, 1, 1);
  if (lua_isnil(L, -1)) {
    h->result = heed_tensor_ref(h->gradient);
    return 0;
  }
  heed_tensor *t = heed_bind_find(L, -1);
  if (!t || !heed_shape_equal(&t->shape, &h->gradient->shape) ||
      t->dtype != h->gradient->dtype)
    return heed_bind_error(L, "hook: the result must be nil or %s like the "
                           "gradient, got %s",
                           heed_tensor_text(h->gradient),
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
    return heed_bind_error(L, "register_hook: f must be a function, got %s",
                           heed_bind_describe(L, 2));
  if (!heed_tensor_tracks(t))
    return heed_bind_error(L, "register_hook: x does not want gradients "
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
  /* {rule, context}: rule(context, saved, wants_leaves, gradient, ...) gives
     gradients */
  held_value *own;
  int nsaved;
  size_t bytes;
  saved saved[];
} function;

static void drop_function(void *context) {
  function *f = context;
  let_go(f->own);
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
    heed_bind_error(L, "backward: saved tensor %d was overwritten after it "
                    "was saved; write to a copy instead", i + 1);
  heed_tensor **box = heed_bind_box(L);
  heed_node *n = heed_grad_enabled() ? call->r->node : NULL;
  heed_tensor *t = s->result
                       ? heed_node_result(n, (uint8_t)(s->result - 1),
                                          s->value)
                       : heed_tensor_ref(s->value);
  if (!t) heed_bind_raise(L);
  heed_bind_fill(box, t);
}

static void take_gradient(lua_State *L, heed_rule_call *r, int input,
                          int index) {
  if (!heed_needs(r, input) || lua_isnil(L, index)) return;
  const heed_edge *e = &r->node->in[input];
  heed_tensor *g = heed_bind_find(L, index);
  if (!g || !heed_shape_equal(&g->shape, &e->shape) || g->dtype != e->dtype)
    heed_bind_error(L, "backward: gradient %d must be nil or %s %s like the "
                    "input, got %s", input + 1, heed_dtype_name(e->dtype),
                    heed_shape_text(&e->shape),
                    heed_bind_describe(L, index));
  heed_tensor *own = heed_node_lend(r, heed_tensor_ref(g));
  if (!own || !heed_give(r, input, own)) heed_bind_raise(L);
}

static int call_rule(lua_State *L) {
  function_call *call = lua_touserdata(L, 1);
  heed_rule_call *r = call->r;
  const heed_node *n = r->node;
  int top = lua_gettop(L), nsaved = call->f->nsaved;
  luaL_checkstack(L, n->nout + n->nin + nsaved + 8, "backward");
  lua_rawgeti(L, LUA_REGISTRYINDEX, call->f->own->ref);
  lua_rawgeti(L, -1, 1);
  lua_rawgeti(L, -2, 2);
  lua_remove(L, -3);
  lua_createtable(L, nsaved, 0);
  for (int i = 0; i < nsaved; i++) {
    push_saved(L, call, i);
    lua_rawseti(L, -2, i + 1);
  }
  lua_pushboolean(L, r->wants_leaves);
  for (int k = 0; k < n->nout; k++) {
    heed_tensor *g = heed_grad_of(r, k);
    if (!g) heed_bind_raise(L);
    heed_bind_push(L, g);
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
  *s = (saved){.value = shell ? heed_node_result(t->node, t->slot, t)
                              : heed_tensor_ref(t),
               .version = t->storage->version};
  if (!s->value) return false;
  for (int k = 0; k < nout; k++)
    if (out[k] == t) s->result = k + 1;
  f->nsaved++;
  return true;
}

/* Takes over `own`. */
static function *new_function(held_value *own, const list *kept,
                              const list *out) {
  size_t bytes = sizeof(function) + sizeof(struct saved) * (size_t)kept->n;
  function *f = heed_mem_alloc(bytes);
  if (!f) {
    let_go(own);
    return NULL;
  }
  *f = (function){.own = own, .bytes = bytes};
  bool ok = true;
  for (int i = 0; ok && i < kept->n; i++)
    ok = save(f, kept->t[i], out->t, out->n);
  if (ok) return f;
  drop_function(f);
  return NULL;
}

/* Makes result[k], of the values of out, whose gradients come from f, which
   it takes over. */
static bool join(const list *in, const list *out, function *f,
                 heed_tensor **result) {
  bool ok = true;
  for (int k = 0; k < out->n; k++) {
    result[k] = heed_tensor_detach(out->t[k]);
    ok = ok && result[k];
  }
  if (!ok) drop_function(f);
  ok = ok && heed_node_custom(in->t, in->n, result, out->n,
                              &(heed_custom){run_rule, drop_function, f});
  for (int k = 0; !ok && k < out->n; k++) heed_tensor_drop(result[k]);
  return ok;
}

/* custom({in}, {out}, {saved}, {rule, context}) -> results: new tensors of
   the values of out, whose gradients come from
   rule(context, {saved}, wants_leaves, gradient, ...) */
static int custom(lua_State *L) {
  lua_settop(L, 4);
  list in = heed_bind_list_make(L, 1, "Function: inputs");
  list out = heed_bind_list_make(L, 2, "Function: results");
  list kept = heed_bind_list_make(L, 3, "Function: saved");
  if (out.n < 1 || out.n > HEED_MAX_OUT)
    return heed_bind_error(L, "Function: forward must give 1 to %d tensors, "
                           "got %d", HEED_MAX_OUT, out.n);
  heed_tensor **box[HEED_MAX_OUT], *result[HEED_MAX_OUT];
  luaL_checkstack(L, out.n + 8, "results");
  for (int k = 0; k < out.n; k++) box[k] = heed_bind_box(L);
  held_value *own = hold_value(L, 4);
  if (!own) return heed_bind_raise(L);
  bool ok = heed_bind_list_fill(L, 1, "Function: inputs", &in) &&
            heed_bind_list_fill(L, 2, "Function: results", &out) &&
            heed_bind_list_fill(L, 3, "Function: saved", &kept);
  if (!ok) {
    let_go(own);
    return heed_bind_raise(L);
  }
  function *f = new_function(own, &kept, &out);
  if (!f || !join(&in, &out, f, result)) return heed_bind_raise(L);
  for (int k = 0; k < out.n; k++) heed_bind_fill(box[k], result[k]);
  return out.n;
}

void heed_bind_callbacks(lua_State *L) {
  static const luaL_Reg functions[] = {{"register_hook", register_hook},
                                       {"custom", custom},
                                       {NULL, NULL}};
  lua_createtable(L, 1, 0);
  lua_pushboolean(L, false);
  lua_rawseti(L, -2, 1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &thrown);
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
