/*
 * values - tensors from Lua values and bytes, and back.
 * Layer: binding. Read first: bind.h.
 */
#include <limits.h>
#include <string.h>

#include "base/error.h"
#include "bind/bind.h"
#include "core/op.h"

/* -- from Lua values -- */

/* What is known of nested tables while they are read. */
typedef struct nest {
  lua_State *L;
  heed_shape shape;
  bool any_float, any_integer, any_bool;
  int64_t at[HEED_MAX_DIM]; /* where reading stands, for messages */
} nest;

/* "[2][1]" */
static const char *place(const nest *n, int depth) {
  static _Thread_local char text[HEED_MAX_DIM * 24];
  int at = 0;
  text[0] = '\0';
  for (int d = 0; d < depth; d++)
    at += snprintf(text + at, sizeof text - (size_t)at, "[%lld]",
                   (long long)n->at[d]);
  return text;
}

/* Follows first entries down to find the shape. */
static bool measure(nest *n) {
  lua_State *L = n->L;
  int top = lua_gettop(L);
  luaL_checkstack(L, HEED_MAX_DIM + 4, "tensor");
  while (lua_istable(L, -1)) {
    if (n->shape.ndim == HEED_MAX_DIM)
      return heed_fail("tensor: tables are nested deeper than %d",
                       HEED_MAX_DIM);
    lua_Integer size = luaL_len(L, -1);
    n->shape.dim[n->shape.ndim++] = size;
    if (size == 0) break;
    lua_geti(L, -1, 1);
  }
  lua_settop(L, top);
  /* what __len says may be anything */
  return heed_shape_check("tensor", &n->shape, HEED_BOOL);
}

/* Checks the value on the top against the shape and notes its types. */
static bool scan(nest *n, int depth) {
  lua_State *L = n->L;
  bool table = lua_istable(L, -1);
  if (depth < n->shape.ndim) {
    lua_Integer size = table ? luaL_len(L, -1) : -1;
    if (!table)
      return heed_fail("tensor: ragged input: entry %s must be a table of "
                       "%lld, got %s", place(n, depth),
                       (long long)n->shape.dim[depth],
                       heed_bind_describe(L, -1));
    if (size != n->shape.dim[depth])
      return heed_fail("tensor: ragged input: entry %s must have %lld "
                       "elements like the first, got %lld", place(n, depth),
                       (long long)n->shape.dim[depth], (long long)size);
    for (lua_Integer i = 1; i <= size; i++) {
      n->at[depth] = i;
      lua_geti(L, -1, i);
      bool ok = scan(n, depth + 1);
      lua_pop(L, 1);
      if (!ok) return false;
    }
    return true;
  }
  if (lua_type(L, -1) == LUA_TNUMBER) {
    if (lua_isinteger(L, -1)) n->any_integer = true;
    else n->any_float = true;
  } else if (lua_isboolean(L, -1)) {
    n->any_bool = true;
  } else {
    return heed_fail("tensor: %s%s must be a number or a boolean, got %s",
                     depth ? "entry " : "value", place(n, depth),
                     heed_bind_describe(L, -1));
  }
  return true;
}

/* Stores the value on the top; fails when the dtype cannot hold it. */
static bool store(nest *n, heed_tensor *t, int64_t at) {
  lua_State *L = n->L;
  bool flag = lua_isboolean(L, -1);
  bool whole = flag || lua_isinteger(L, -1);
  heed_value v = {.i = flag ? lua_toboolean(L, -1) : lua_tointeger(L, -1),
                  .f = lua_tonumber(L, -1)};
  if (!heed_dtype_holds(t->dtype, whole, v))
    return heed_fail("tensor: %s%s must be %s for %s, got %s",
                     t->shape.ndim ? "entry " : "value",
                     place(n, t->shape.ndim), heed_dtype_range(t->dtype),
                     heed_dtype_name(t->dtype), heed_bind_describe(L, -1));
  heed_element_store(t->dtype, heed_tensor_data(t), at, whole, v);
  return true;
}

static bool fill(nest *n, heed_tensor *t, int depth, int64_t *at) {
  if (depth == t->shape.ndim) return store(n, t, (*at)++);
  for (int64_t i = 1; i <= t->shape.dim[depth]; i++) {
    n->at[depth] = i;
    lua_geti(n->L, -1, i);
    bool ok = fill(n, t, depth + 1, at);
    lua_pop(n->L, 1);
    if (!ok) return false;
  }
  return true;
}

/* The options at stack index 2. */
typedef struct wishes {
  int dtype; /* -1: by the values */
  bool require;
} wishes;

static wishes read_wishes(lua_State *L) {
  wishes w = {-1, false};
  if (lua_isnoneornil(L, 2)) return w;
  if (!lua_istable(L, 2))
    heed_bind_error(L, "tensor: options must be a table, got %s",
                    heed_bind_describe(L, 2));
  lua_pushnil(L);
  while (lua_next(L, 2)) {
    const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2)
                                                     : "";
    if (strcmp(key, "dtype") == 0) {
      heed_dtype d;
      bool text = lua_type(L, -1) == LUA_TSTRING;
      if (!heed_dtype_find(text ? lua_tostring(L, -1)
                                : heed_bind_describe(L, -1), &d))
        heed_bind_error(L, "tensor: %s", heed_error());
      w.dtype = (int)d;
    } else if (strcmp(key, "requires_grad") == 0) {
      if (!lua_isboolean(L, -1))
        heed_bind_error(L, "tensor: requires_grad must be a boolean, got %s",
                        heed_bind_describe(L, -1));
      w.require = lua_toboolean(L, -1);
    } else {
      heed_bind_error(L, "tensor: unknown option %s; known: dtype, "
                      "requires_grad", heed_bind_describe(L, -2));
    }
    lua_pop(L, 1);
  }
  return w;
}

static heed_tensor *copy_of(heed_tensor *source, int dtype) {
  heed_attr to = {.i = dtype >= 0 ? dtype : (int)source->dtype};
  heed_tensor *t = heed_tensor_detach(source);
  heed_tensor *cast = t ? heed_op_run("to", &t, 1, &to) : NULL;
  heed_tensor *copy = cast ? heed_op_run("clone", &cast, 1, NULL) : NULL;
  heed_tensor_drop(t);
  heed_tensor_drop(cast);
  return copy;
}

/* Fills the box from the numbers and tables at stack index 1. */
static heed_tensor *read_nested(lua_State *L, heed_tensor **box, int dtype) {
  nest n = {.L = L};
  lua_pushvalue(L, 1);
  if (!measure(&n) || !scan(&n, 0)) heed_bind_raise(L);
  if (dtype < 0)
    dtype = n.any_float ? HEED_FLOAT32
            : n.any_integer ? HEED_INT64
            : n.any_bool ? HEED_BOOL : HEED_FLOAT32;
  heed_tensor *t = heed_tensor_new("tensor", (heed_dtype)dtype, &n.shape);
  if (!t) heed_bind_raise(L);
  heed_bind_fill(box, t);
  int64_t at = 0;
  if (!fill(&n, t, 0, &at)) heed_bind_raise(L);
  lua_pop(L, 1);
  return t;
}

/***
A tensor of Lua values.
@function tensor
@param value number, boolean, or nested lists of them of one size in each
dimension; or a tensor, which is copied without its history
@param options table: dtype, by default that of the tensor, float32 when one
value is a float, else int64 for numbers and bool for booleans (numbers that
the dtype cannot hold are an error, fractions are dropped); requires_grad
(false)
@return tensor
@raise when lists are ragged or a value is neither number nor boolean
@usage heed.tensor {{1, 2.5}, {3, 4}} --> 1 2.5 3 4
*/
static int new_tensor(lua_State *L) {
  if (lua_isnoneornil(L, 1))
    return heed_bind_error(L, "tensor: value is missing");
  wishes w = read_wishes(L);
  heed_tensor **box = heed_bind_box(L);
  heed_tensor *source = heed_bind_find(L, 1), *t;
  if (source) {
    t = copy_of(source, w.dtype);
    if (!t) return heed_bind_raise(L);
    heed_bind_fill(box, t);
  } else {
    t = read_nested(L, box, w.dtype);
  }
  if (w.require && !heed_dtype_is_float(t->dtype))
    return heed_bind_error(L, "tensor: only float tensors can require "
                           "gradients, got %s", heed_dtype_name(t->dtype));
  t->requires_grad = w.require;
  heed_bind_collect(L);
  return 1;
}

/* -- to Lua values -- */

static void push_element(lua_State *L, const heed_tensor *t, int64_t at) {
  heed_value v = heed_element(t->dtype, t->storage->data, at);
  if (t->dtype == HEED_BOOL) lua_pushboolean(L, v.i != 0);
  else if (heed_dtype_is_float(t->dtype)) lua_pushnumber(L, v.f);
  else lua_pushinteger(L, v.i);
}

static void push_nested(lua_State *L, const heed_tensor *t, int depth,
                        int64_t at) {
  if (depth == t->shape.ndim) {
    push_element(L, t, at);
    return;
  }
  int64_t n = t->shape.dim[depth];
  lua_createtable(L, n < INT_MAX ? (int)n : 0, 0);
  for (int64_t i = 0; i < n; i++) {
    push_nested(L, t, depth + 1, at + i * t->stride[depth]);
    lua_rawseti(L, -2, i + 1);
  }
}

/***
The elements of x as Lua values: nested lists, or one value when x has no
dimensions.
@function totable
@param x tensor
@return list
@usage heed.tensor({1, 2}):totable()[2] --> 2
*/
static int to_table(lua_State *L) {
  heed_tensor *t = heed_bind_check(L, 1, "totable: x");
  luaL_checkstack(L, HEED_MAX_DIM + 4, "totable");
  push_nested(L, t, 0, t->offset);
  if (!heed_tensor_check_whole("totable", t)) return heed_bind_raise(L);
  return 1;
}

/* -- from and to raw bytes: those of memory, which is little-endian (see
   core/safetensors.c) -- */

/***
The elements of x as bytes, row-major and little-endian; `heed.frombytes` reads
them.
@function tobytes
@param x tensor
@return string
@usage #heed.zeros(3):tobytes() --> 12
*/
static int to_bytes(lua_State *L) {
  lua_settop(L, 1);
  heed_tensor **box = heed_bind_box(L); /* may run finalizers: comes first */
  heed_tensor *t = heed_bind_check(L, 1, "tobytes: x");
  heed_tensor *rows = heed_op_run("contiguous", &t, 1, NULL);
  if (!rows) return heed_bind_raise(L);
  heed_bind_fill(box, rows);
  lua_pushlstring(L, heed_tensor_data(rows),
                  (size_t)heed_tensor_numel(rows) *
                      heed_dtype_size(rows->dtype));
  if (!heed_tensor_check_whole("tobytes", rows)) return heed_bind_raise(L);
  return 1;
}

/* from_bytes(string, dtype): a tensor with one dimension */
static int from_bytes(lua_State *L) {
  size_t bytes;
  heed_dtype dtype;
  for (int i = 1; i <= 2; i++)
    if (lua_type(L, i) != LUA_TSTRING)
      return heed_bind_error(L, "frombytes: %s must be a string, got %s",
                             i == 1 ? "bytes" : "dtype",
                             heed_bind_describe(L, i));
  const char *from = lua_tolstring(L, 1, &bytes);
  if (!heed_dtype_find(lua_tostring(L, 2), &dtype))
    return heed_bind_error(L, "frombytes: %s", heed_error());
  size_t size = heed_dtype_size(dtype);
  if (bytes % size != 0)
    return heed_bind_error(L, "frombytes: %zu bytes are no whole number of %s, "
                           "which takes %d", bytes,
                           heed_dtype_name(dtype), (int)size);
  heed_tensor **box = heed_bind_box(L);
  heed_shape shape = {1, {(int64_t)(bytes / size)}};
  heed_tensor *t = heed_tensor_new("frombytes", dtype, &shape);
  if (!t) return heed_bind_raise(L);
  heed_bind_fill(box, t);
  memcpy(heed_tensor_data(t), from, bytes);
  unsigned char *flag = heed_tensor_data(t);
  for (size_t i = 0; dtype == HEED_BOOL && i < bytes; i++)
    flag[i] = flag[i] != 0;
  heed_bind_collect(L);
  return 1;
}

/***
The one element of x as a Lua value.
@function item
@param x tensor with one element
@return number, or boolean of a bool tensor
@raise when x has more or fewer
@usage heed.tensor({1, 2}):sum():item() --> 3
*/
static int item(lua_State *L) {
  heed_tensor *t = heed_bind_check(L, 1, "item: x");
  if (heed_tensor_numel(t) != 1)
    return heed_bind_error(L, "item: x must have one element, got %s",
                           heed_tensor_text(t));
  push_element(L, t, t->offset);
  if (!heed_tensor_check_whole("item", t)) return heed_bind_raise(L);
  return 1;
}

void heed_bind_values(lua_State *L) {
  static const luaL_Reg methods[] = {
      {"totable", to_table}, {"item", item}, {"tobytes", to_bytes},
      {NULL, NULL}};
  lua_getfield(L, -1, "methods");
  luaL_setfuncs(L, methods, 0);
  lua_pop(L, 1);
  lua_pushcfunction(L, new_tensor);
  lua_setfield(L, -2, "tensor");
  lua_pushcfunction(L, from_bytes);
  lua_setfield(L, -2, "from_bytes");
}
