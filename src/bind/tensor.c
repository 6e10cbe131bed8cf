/*
 * tensor - the userdata of tensors: looking, fields, memory.
 * Layer: binding. Read first: bind.h.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "bind/bind.h"
#include "core/extra.h"
#include "core/family.h"
#include "core/node.h"

/* When Lua's collector is to run, which does not see what hangs on boxes: one
   for each thread that runs Lua. A state, and what it holds, may move on to
   another thread, so a watch outlives its own: the next thread takes it over.
 */
typedef struct watch {
  /* Bytes that only boxes keep alive: garbage, once their boxes are. After a
     backward pass that is nearly all of its activations. */
  heed_watch_count bytes;
  int64_t bytes_after; /* as of the last collection */
  /* boxes filled since the last collection of tiny ones, and their bytes */
  int64_t tiny, tiny_bytes;
  lua_State *last, *main; /* that ran last, and the main one of it */
  bool relieving;
  struct watch *next; /* of those that no thread has */
} watch;
static _Thread_local watch *mine;

/* A Lua state that has not been closed: a userdata in its registry. What ran
   last may be a dead coroutine by now, or in a state that is gone, or with
   another thread. */
typedef struct life {
  lua_State *main;
  watch *_Atomic runner; /* of the thread that it ran in last */
  struct life *next;
} life;
static const char life_key;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of both lists */
static watch *idle;
static life *alive;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t watch_key;

static void give_back(void *own) {
  watch *w = own;
  mine = NULL;
  pthread_mutex_lock(&lock);
  w->next = idle;
  idle = w;
  pthread_mutex_unlock(&lock);
}

/* A child of fork goes on with both lists. */
static void fork_begins(void) { pthread_mutex_lock(&lock); }
static void fork_ends(void) { pthread_mutex_unlock(&lock); }

static void prepare(void) {
  pthread_key_create(&watch_key, give_back);
  pthread_atfork(fork_begins, fork_ends, fork_ends);
}

static watch *take_watch(void) {
  pthread_once(&once, prepare);
  pthread_mutex_lock(&lock);
  watch *w = idle;
  if (w) idle = w->next;
  pthread_mutex_unlock(&lock);
  if (!w) w = calloc(1, sizeof *w);
  if (!w) return NULL;
  w->last = w->main = NULL;
  if (pthread_setspecific(watch_key, w) != 0) {
    give_back(w);
    return NULL;
  }
  return mine = w;
}

/* This thread's, or NULL without memory. */
static inline watch *get_watch(void) { return mine ? mine : take_watch(); }

static int end_life(lua_State *L) {
  life *self = lua_touserdata(L, 1);
  pthread_mutex_lock(&lock);
  life **at = &alive;
  while (*at && *at != self) at = &(*at)->next;
  if (*at) *at = self->next;
  pthread_mutex_unlock(&lock);
  return 0;
}

static lua_State *main_of(lua_State *L) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
  lua_State *main = lua_tothread(L, -1);
  lua_pop(L, 1);
  return main;
}

static void begin_life(lua_State *L) {
  life *self = lua_newuserdatauv(L, sizeof *self, 0);
  *self = (life){.main = main_of(L)};
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, end_life);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &life_key);
  pthread_mutex_lock(&lock);
  self->next = alive;
  alive = self;
  pthread_mutex_unlock(&lock);
}

/* The allocation that fails may stand in the midst of an op, so that nothing
   may be closed but what is garbage. */
static void relief(void);

static void note_state(lua_State *L, watch *w) {
  if (!w->last) heed_mem_set_relief(relief);
  w->main = main_of(L);
  w->last = L;
  lua_rawgetp(L, LUA_REGISTRYINDEX, &life_key);
  life *self = lua_touserdata(L, -1);
  if (self) atomic_store(&self->runner, w);
  lua_pop(L, 1);
}

#define COLLECT_FLOOR ((int64_t)32 << 20)

/* Many tiny results: a collection of young objects now and then keeps the
   dead ones few enough to stay in the processor's cache, from where their
   memory is used again. */
#define TINY_COUNT 512
#define TINY_BYTES ((int64_t)256 << 10)

/* A collection of young objects is tried first: it does not look at what a
   script has kept for long, such as a corpus, and finds what the last step
   left behind. Where that does not help (much was kept, or the collector is
   in its incremental mode) all of it is looked at. */
static void collect(lua_State *L, watch *w, bool whole) {
  if (!lua_gc(L, LUA_GCISRUNNING)) return; /* the user has stopped it */
  int64_t before = w->bytes;
  if (!whole) lua_gc(L, LUA_GCSTEP, 0);
  if (whole || w->bytes - w->bytes_after > (before - w->bytes_after) / 2)
    lua_gc(L, LUA_GCCOLLECT);
  w->bytes_after = w->bytes;
}

static void collect_tiny(lua_State *L, watch *w) {
  if (w->tiny_bytes < TINY_BYTES && lua_gc(L, LUA_GCISRUNNING))
    lua_gc(L, LUA_GCSTEP, 0);
  w->tiny = w->tiny_bytes = 0;
}

void heed_bind_collect(lua_State *L) {
  watch *w = get_watch();
  if (!w) return;
  if (L != w->last) note_state(L, w);
  if (w->tiny >= TINY_COUNT) collect_tiny(L, w);
  int64_t grown = w->bytes - w->bytes_after;
  if (grown < 0) w->bytes_after = w->bytes;
  if (grown < COLLECT_FLOOR) return;
  /* a quarter of all: then a collection costs little beside the work that
     made them, and memory stays within a quarter of what is in use */
  if (grown < (int64_t)heed_mem_get_stats().used / 4) return;
  collect(L, w, false);
}

static void relief(void) {
  watch *w = mine;
  if (!w || w->relieving) return;
  pthread_mutex_lock(&lock);
  life *one = alive;
  while (one && (one->main != w->main || one->runner != w)) one = one->next;
  pthread_mutex_unlock(&lock);
  if (!one) return;
  w->relieving = true;
  collect(w->main, w, true);
  w->relieving = false;
}

const char heed_bind_mark;

heed_tensor **heed_bind_box_of(lua_State *L, int meta) {
  heed_bind_holder *b = lua_newuserdatauv(L, sizeof *b, 0);
  *b = (heed_bind_holder){NULL, &heed_bind_mark};
  lua_pushvalue(L, meta);
  lua_setmetatable(L, -2);
  return &b->tensor;
}

heed_tensor **heed_bind_box(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &heed_bind_mark);
  heed_tensor **box = heed_bind_box_of(L, lua_gettop(L));
  lua_remove(L, -2);
  return box;
}

void heed_bind_fill(heed_tensor **box, heed_tensor *t) {
  watch *w = get_watch();
  *box = t;
  heed_tensor_watch(t, w ? &w->bytes : NULL);
  if (!w) return;
  w->tiny++;
  w->tiny_bytes += (int64_t)t->storage->bytes;
}

void heed_bind_push(lua_State *L, heed_tensor *t) {
  heed_tensor **box = heed_bind_box(L); /* before the reference: may raise */
  heed_bind_fill(box, heed_tensor_ref(t));
}

/* Pushes "file:line: " of the nearest Lua function that is not heed's own. */
static void push_where(lua_State *L) {
  lua_Debug ar;
  size_t n = 0;
  lua_getfield(L, LUA_REGISTRYINDEX, HEED_HOME);
  const char *home = lua_tolstring(L, -1, &n);
  for (int level = 1; home && lua_getstack(L, level, &ar); level++) {
    lua_getinfo(L, "Sl", &ar);
    if (ar.currentline <= 0 || strncmp(ar.source, home, n) == 0) continue;
    lua_pushfstring(L, "%s:%d: ", ar.short_src, ar.currentline);
    lua_remove(L, -2);
    return;
  }
  lua_pop(L, 1);
  luaL_where(L, 1);
}

const char *heed_bind_where(lua_State *L) {
  static _Thread_local char text[LUA_IDSIZE + 24];
  push_where(L);
  snprintf(text, sizeof text, "%s", lua_tostring(L, -1));
  lua_pop(L, 1);
  size_t n = strlen(text);
  if (n > 2) text[n - 2] = '\0'; /* the ": " of a message */
  return text;
}

int heed_bind_raise(lua_State *L) {
  luaL_checkstack(L, 8, "error");
  push_where(L);
  lua_pushstring(L, heed_error());
  lua_concat(L, 2);
  return lua_error(L);
}

int heed_bind_error(lua_State *L, const char *format, ...) {
  char text[512];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  heed_fail("%s", text);
  return heed_bind_raise(L);
}

heed_tensor *heed_bind_check(lua_State *L, int index, const char *what) {
  heed_tensor *t = heed_bind_find(L, index);
  if (!t)
    heed_bind_error(L, "%s must be a tensor, got %s", what,
                    heed_bind_describe(L, index));
  return t;
}

const char *heed_bind_describe(lua_State *L, int index) {
  static _Thread_local char text[240];
  heed_bind_holder *b = heed_bind_at(L, index);
  if (b && !b->tensor) return "a closed tensor";
  if (b) {
    snprintf(text, sizeof text, "tensor %s", heed_tensor_text(b->tensor));
    return text;
  }
  switch (lua_type(L, index)) {
    case LUA_TNONE: return "nothing";
    case LUA_TNIL: return "nil";
    case LUA_TBOOLEAN: return lua_toboolean(L, index) ? "true" : "false";
    case LUA_TNUMBER:
      if (lua_isinteger(L, index))
        snprintf(text, sizeof text, LUA_INTEGER_FMT,
                 lua_tointeger(L, index));
      else
        snprintf(text, sizeof text, "%.14g", lua_tonumber(L, index));
      return text;
    case LUA_TSTRING:
      snprintf(text, sizeof text, "\"%.60s\"", lua_tostring(L, index));
      return text;
    case LUA_TTABLE: return "a table";
    case LUA_TFUNCTION: return "a function";
    case LUA_TTHREAD: return "a coroutine";
    case LUA_TUSERDATA: return "a userdata";
    default: return luaL_typename(L, index);
  }
}

/* -- looking -- */

/***
How many elements a tensor has.
@function numel
@param x tensor
@return integer
@usage heed.zeros({2, 3}):numel() --> 6
*/
static int numel(lua_State *L) {
  lua_pushinteger(L, heed_tensor_numel(heed_bind_check(L, 1, "numel: x")));
  return 1;
}

/***
The bytes of one element.
@function element_size
@param x tensor
@return integer
@usage heed.zeros(2):element_size() --> 4
*/
static int element_size(lua_State *L) {
  heed_tensor *t = heed_bind_check(L, 1, "element_size: x");
  lua_pushinteger(L, (lua_Integer)heed_dtype_size(t->dtype));
  return 1;
}

static void push_shape(lua_State *L, const heed_shape *s) {
  lua_createtable(L, s->ndim, 0);
  for (int d = 0; d < s->ndim; d++) {
    lua_pushinteger(L, s->dim[d]);
    lua_rawseti(L, -2, d + 1);
  }
}

/* Argument 2 as a dimension of t, from 0; raises when it is none. */
static int read_dim(lua_State *L, const char *func, const heed_tensor *t) {
  int ok, ndim = t->shape.ndim;
  lua_Integer d = lua_tointegerx(L, 2, &ok);
  if (!ok || d == 0 || d > ndim || d < -ndim)
    heed_bind_error(L, "%s: dim must be 1..%d or -%d..-1 for x %s, got %s",
                    func, ndim, ndim, heed_shape_text(&t->shape),
                    heed_bind_describe(L, 2));
  return (int)(d > 0 ? d - 1 : d + ndim);
}

/***
The size of one dimension, or all of them as several results.
@function size
@param x tensor
@tparam[opt] integer dim dimension; all by default
@return integers
@raise when dim is out of range
@usage heed.zeros({2, 3}):size(-1) --> 3
*/
static int size(lua_State *L) {
  heed_tensor *t = heed_bind_check(L, 1, "size: x");
  int ndim = t->shape.ndim;
  if (lua_isnoneornil(L, 2)) {
    for (int d = 0; d < ndim; d++) lua_pushinteger(L, t->shape.dim[d]);
    return ndim;
  }
  lua_pushinteger(L, t->shape.dim[read_dim(L, "size", t)]);
  return 1;
}

/***
How far apart, in elements, neighbours along one dimension lie in memory, or
along all dimensions as several results.
@function stride
@param x tensor
@tparam[opt] integer dim dimension; all by default
@return integers
@raise when dim is out of range
@usage heed.zeros({2, 3}):stride(1) --> 3
*/
static int stride(lua_State *L) {
  heed_tensor *t = heed_bind_check(L, 1, "stride: x");
  int ndim = t->shape.ndim;
  if (!lua_isnoneornil(L, 2)) {
    lua_pushinteger(L, t->stride[read_dim(L, "stride", t)]);
    return 1;
  }
  for (int d = 0; d < ndim; d++) lua_pushinteger(L, t->stride[d]);
  return ndim;
}

/***
How many elements of the memory lie before the first one of a view.
@function storage_offset
@param x tensor
@return integer
@usage heed.arange(1, 5)[{{3, 5}}]:storage_offset() --> 2
*/
static int storage_offset(lua_State *L) {
  lua_pushinteger(L, heed_bind_check(L, 1, "storage_offset: x")->offset);
  return 1;
}

/***
Do the elements lie in memory in row-major order, without gaps?
@function is_contiguous
@param x tensor
@return boolean
@usage heed.zeros({2, 3}):transpose(1, 2):is_contiguous() --> false
*/
static int is_contiguous(lua_State *L) {
  heed_tensor *t = heed_bind_check(L, 1, "is_contiguous: x");
  lua_pushboolean(L, heed_tensor_is_contiguous(t));
  return 1;
}

/***
Do two tensors share their memory?
@function shares
@param x tensor
@param other tensor
@return boolean
@usage local x = heed.zeros(4); return x:shares(x:reshape(2, 2)) --> true
*/
static int shares(lua_State *L) {
  heed_tensor *a = heed_bind_check(L, 1, "shares: a");
  heed_tensor *b = heed_bind_check(L, 2, "shares: b");
  lua_pushboolean(L, a->storage == b->storage);
  return 1;
}

static int length(lua_State *L) {
  heed_tensor *t = heed_bind_check(L, 1, "#: x");
  if (t->shape.ndim == 0)
    return heed_bind_error(L, "#: a tensor without dimensions has no length");
  lua_pushinteger(L, t->shape.dim[0]);
  return 1;
}

/* is_tensor(value): also false for one that was closed */
static int is_tensor(lua_State *L) {
  lua_pushboolean(L, heed_bind_find(L, 1) != NULL);
  return 1;
}

static int same(lua_State *L) {
  heed_tensor *a = heed_bind_find(L, 1), *b = heed_bind_find(L, 2);
  lua_pushboolean(L, a && a == b);
  return 1;
}

static int no_order(lua_State *L) {
  return heed_bind_error(L, "tensors have no order as a whole: Lua makes a < "
                         "b one boolean; use a:lt(b), a:le(b), a:gt(b) or "
                         "a:ge(b)");
}

static int release(lua_State *L) {
  heed_bind_holder *b = heed_bind_at(L, 1);
  if (!b)
    return heed_bind_error(L, "close: x must be a tensor, got %s",
                           heed_bind_describe(L, 1));
  heed_tensor *t = b->tensor;
  b->tensor = NULL;
  if (t) heed_tensor_unwatch(t);
  return 0;
}

/* Left to the collector while memory is short, see relief. */
static int close_now(lua_State *L) {
  return mine && mine->relieving ? 0 : release(L);
}

/* -- fields -- */

static bool get_field(lua_State *L, heed_tensor *t, const char *key) {
  if (strcmp(key, "shape") == 0) {
    push_shape(L, &t->shape);
  } else if (strcmp(key, "dtype") == 0) {
    lua_pushstring(L, heed_dtype_name(t->dtype));
  } else if (strcmp(key, "ndim") == 0) {
    lua_pushinteger(L, t->shape.ndim);
  } else if (strcmp(key, "requires_grad") == 0) {
    lua_pushboolean(L, heed_tensor_tracks(t));
  } else if (strcmp(key, "is_leaf") == 0) {
    lua_pushboolean(L, !t->node && !heed_family_behind(t));
  } else if (strcmp(key, "grad_fn") == 0) {
    /* the op that made it */
    if (!heed_family_sync(t)) return heed_bind_raise(L);
    if (t->node) lua_pushstring(L, t->node->op->name);
    else lua_pushnil(L);
  } else if (strcmp(key, "grad") == 0) {
    heed_tensor **box = heed_bind_box(L); /* may run finalizers */
    heed_tensor *grad = heed_extra_grad(heed_bind_check(L, 1, "grad: x"));
    if (grad) heed_bind_fill(box, heed_tensor_ref(grad));
    else lua_pushnil(L);
  } else {
    return false;
  }
  return true;
}

/* upvalue 1: the methods */
static int get(lua_State *L) {
  if (lua_type(L, 2) != LUA_TSTRING) return heed_bind_index(L);
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 1;
  heed_tensor *t = heed_bind_check(L, 1, "index: x");
  const char *key = lua_tostring(L, 2);
  if (get_field(L, t, key)) return 1;
  return heed_bind_error(L, "tensors have no method or field \"%s\"", key);
}

static int set_grad(lua_State *L, heed_tensor *t) {
  heed_tensor *g = NULL;
  if (!lua_isnil(L, 3)) {
    g = heed_bind_check(L, 3, "grad");
    if (!heed_shape_equal(&g->shape, &t->shape) || g->dtype != t->dtype)
      return heed_bind_error(L, "grad must be %s like the tensor, got %s",
                        heed_tensor_text(t), heed_tensor_text(g));
    if (g == t)
      return heed_bind_error(L, "grad must not be the tensor itself");
    heed_tensor_ref(g);
  }
  heed_tensor **place = heed_extra_grad_place(t), *old = place ? *place : g;
  if (place) *place = g;
  heed_tensor_drop(old);
  if (!place) return heed_bind_raise(L);
  return 0;
}

static int set(lua_State *L) {
  if (lua_type(L, 2) != LUA_TSTRING) return heed_bind_newindex(L);
  heed_tensor *t = heed_bind_check(L, 1, "index: x");
  const char *key = lua_tostring(L, 2);
  if (strcmp(key, "grad") == 0) return set_grad(L, t);
  if (strcmp(key, "requires_grad") == 0) {
    if (!lua_isboolean(L, 3))
      return heed_bind_error(L, "requires_grad must be a boolean, got %s",
                             heed_bind_describe(L, 3));
    if (!heed_tensor_require(t, lua_toboolean(L, 3)))
      return heed_bind_raise(L);
    return 0;
  }
  return heed_bind_error(L, "the field \"%s\" of a tensor cannot be set; grad "
                         "and requires_grad can", key);
}

void heed_bind_tensors(lua_State *L) {
  static const luaL_Reg methods[] = {
      {"numel", numel}, {"size", size}, {"stride", stride},
      {"storage_offset", storage_offset}, {"is_contiguous", is_contiguous},
      {"shares", shares}, {"element_size", element_size}, {NULL, NULL}};
  static const luaL_Reg meta[] = {
      {"__gc", release}, {"__close", close_now}, {"__len", length},
      {"__eq", same}, {"__lt", no_order}, {"__le", no_order},
      {"__newindex", set}, {NULL, NULL}};
  begin_life(L);
  /* results live shortly and weigh much: made for generations */
  lua_gc(L, LUA_GCGEN, 0, 0);
  luaL_newmetatable(L, HEED_TENSOR);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &heed_bind_mark);
  luaL_setfuncs(L, meta, 0);
  luaL_newlib(L, methods);
  lua_pushvalue(L, -1);
  lua_pushcclosure(L, get, 1);
  lua_setfield(L, -3, "__index");
  /* Lua adds methods and operators here (lua/heed/init.lua) */
  lua_setfield(L, -3, "methods");
  lua_setfield(L, -2, "metatable");
  lua_pushcfunction(L, is_tensor);
  lua_setfield(L, -2, "is_tensor");
}
