/*
 * saving - tables of named tensors into files of them.
 * Layer: binding. Read first: bind.h, core/safetensors.h, core/npz.h.
 */
#include <stdlib.h>
#include <string.h>

#include "bind/bind.h"
#include "core/npz.h"
#include "core/safetensors.h"

/* What is to be saved: names and tensors belong to a list on Lua's stack. */
typedef struct item {
  heed_text name;
  heed_tensor *tensor;
} item;

static int by_name(const void *a, const void *b) {
  const heed_text *x = a, *y = b; /* items and pairs both start with a text */
  size_t n = x->length < y->length ? x->length : y->length;
  int order = memcmp(x->data, y->data, n);
  return order ? order : x->length < y->length ? -1 : x->length > y->length;
}

static heed_text text_at(lua_State *L, int index) {
  heed_text t;
  t.data = lua_tolstring(L, index, &t.length);
  return t;
}

/* Pushes a list: name, tensor, name, tensor ... from {{name, tensor} ...};
   returns how many tensors. */
static lua_Integer flatten_list(lua_State *L, const char *op, int index) {
  lua_Integer n = luaL_len(L, index);
  lua_newtable(L);
  for (lua_Integer i = 1; i <= n; i++) {
    if (lua_geti(L, index, i) != LUA_TTABLE)
      heed_bind_error(L, "%s: tensors[%lld] must be {name, tensor}, got %s",
                      op, (long long)i, heed_bind_describe(L, -1));
    if (lua_geti(L, -1, 1) != LUA_TSTRING)
      heed_bind_error(L, "%s: tensors[%lld][1] must be a name, got %s",
                      op, (long long)i, heed_bind_describe(L, -1));
    lua_rawseti(L, -3, 2 * i - 1);
    lua_geti(L, -1, 2);
    if (!heed_bind_find(L, -1))
      heed_bind_error(L, "%s: tensors[%lld][2] must be a tensor, got %s",
                      op, (long long)i, heed_bind_describe(L, -1));
    lua_rawseti(L, -3, 2 * i);
    lua_pop(L, 1);
  }
  return n;
}

/* The same from {name = tensor ...}. */
static lua_Integer flatten_map(lua_State *L, const char *op, int index) {
  if (lua_getfield(L, index, "state_dict") == LUA_TFUNCTION)
    heed_bind_error(L, "%s: tensors must be a table of tensors, such as what "
                    "its state_dict() gives, got %s",
                    op, heed_bind_describe(L, index));
  lua_pop(L, 1);
  lua_Integer n = 0;
  lua_newtable(L);
  int list = lua_gettop(L);
  lua_pushnil(L);
  while (lua_next(L, index)) {
    if (lua_type(L, -2) != LUA_TSTRING)
      heed_bind_error(L, "%s: tensors must have names as keys, got %s",
                      op, heed_bind_describe(L, -2));
    if (!heed_bind_find(L, -1))
      heed_bind_error(L, "%s: tensors.%s must be a tensor, got %s",
                      op, lua_tostring(L, -2), heed_bind_describe(L, -1));
    n++;
    lua_rawseti(L, list, 2 * n);
    lua_pushvalue(L, -1);
    lua_rawseti(L, list, 2 * n - 1);
  }
  return n;
}

/* Pushes a list of the metadata: key, value, key, value ...; returns how many
   pairs. */
static lua_Integer flatten_metadata(lua_State *L, const char *op, int index) {
  lua_Integer n = 0;
  lua_newtable(L);
  int list = lua_gettop(L);
  if (lua_isnoneornil(L, index)) return 0;
  if (!lua_istable(L, index))
    heed_bind_error(L, "%s: metadata must be a table, got %s",
                    op, heed_bind_describe(L, index));
  lua_pushnil(L);
  while (lua_next(L, index)) {
    if (lua_type(L, -2) != LUA_TSTRING)
      heed_bind_error(L, "%s: metadata must have strings as keys, got %s",
                      op, heed_bind_describe(L, -2));
    if (lua_type(L, -1) != LUA_TSTRING)
      heed_bind_error(L, "%s: metadata.%s must be a string, got %s",
                      op, lua_tostring(L, -2), heed_bind_describe(L, -1));
    n++;
    lua_rawseti(L, list, 2 * n);
    lua_pushvalue(L, -1);
    lua_rawseti(L, list, 2 * n - 1);
  }
  return n;
}

/* A block that Lua frees. */
static void *scratch(lua_State *L, lua_Integer n, size_t size) {
  return lua_newuserdatauv(L, (size_t)(n + 1) * size, 0);
}

/* What is written, in order. */
typedef struct content {
  int n, npairs;
  heed_text *names;
  heed_tensor **tensors;
  heed_text *pairs; /* metadata: keys and values in turn */
} content;

/* Reads it from the table of tensors at index 2 and of metadata at `metadata`,
   or none for 0. From the last allocation of Lua on, no finaliser can run that
   would close a tensor: nothing may be pushed until they are written. */
static content read_content(lua_State *L, const char *op, int metadata) {
  if (!lua_istable(L, 2))
    heed_bind_error(L, "%s: tensors must be a table, got %s", op,
                    heed_bind_describe(L, 2));
  bool list = luaL_len(L, 2) > 0;
  lua_Integer n = list ? flatten_list(L, op, 2) : flatten_map(L, op, 2);
  int tensors = lua_gettop(L);
  lua_Integer npairs = metadata ? flatten_metadata(L, op, metadata) : 0;
  int pairs = lua_gettop(L);
  item *items = scratch(L, n, sizeof *items);
  content c = {.n = (int)n, .npairs = (int)npairs};
  c.names = scratch(L, n, sizeof *c.names);
  c.tensors = scratch(L, n, sizeof *c.tensors);
  c.pairs = scratch(L, 2 * npairs, sizeof *c.pairs);
  for (lua_Integer i = 0; i < n; i++) {
    lua_rawgeti(L, tensors, 2 * i + 1);
    lua_rawgeti(L, tensors, 2 * i + 2);
    items[i] = (item){text_at(L, -2), heed_bind_check(L, -1, "a value")};
    lua_pop(L, 2);
  }
  for (lua_Integer i = 0; i < 2 * npairs; i++) {
    lua_rawgeti(L, pairs, i + 1);
    c.pairs[i] = text_at(L, -1);
    lua_pop(L, 1);
  }
  if (!list) qsort(items, (size_t)n, sizeof *items, by_name);
  qsort(c.pairs, (size_t)npairs, 2 * sizeof *c.pairs, by_name);
  for (lua_Integer i = 0; i < n; i++) {
    c.names[i] = items[i].name;
    c.tensors[i] = items[i].tensor;
  }
  return c;
}

/***
Writes tensors and metadata into a safetensors file.

The file at `path` is replaced whole once everything is written and synced;
when that fails, the old one stays as it was. Only the elements of a view
are written, row-major.

@function save_safetensors
@tparam string path
@tparam table tensors by name (written in the order of the names), or a
  list of `{name, tensor}` (written in this order)
@tparam[opt] table metadata string to string
@raise when the file cannot be written, or a name is no UTF-8 or there twice
@usage
heed.save_safetensors(os.tmpname(), {{"w", heed.tensor {1, 2}}},
  {made_by = "me"})
*/
static int save_safetensors(lua_State *L) {
  const char *path = heed_bind_path(L, 1, "save_safetensors");
  lua_settop(L, 3);
  content c = read_content(L, "save_safetensors", 3);
  if (!heed_safetensors_save(path, c.n, c.names, c.tensors, c.npairs, c.pairs))
    return heed_bind_raise(L);
  return 0;
}

/* npz_save(path, tensors, compressed) */
static int npz_save(lua_State *L) {
  const char *path = heed_bind_path(L, 1, "save_npz");
  lua_settop(L, 3);
  content c = read_content(L, "save_npz", 0);
  if (!heed_npz_save("save_npz", path, c.n, c.names, c.tensors,
                     lua_toboolean(L, 3)))
    return heed_bind_raise(L);
  return 0;
}

void heed_bind_saving(lua_State *L) {
  static const luaL_Reg functions[] = {{"save_safetensors", save_safetensors},
                                       {"npz_save", npz_save},
                                       {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
