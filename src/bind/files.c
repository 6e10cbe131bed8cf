/*
 * files - safetensors and whole files, for Lua.
 * Layer: binding. Read first: bind.h, core/safetensors.h.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "bind/bind.h"
#include "core/file.h"
#include "core/safetensors.h"

#define READER "heed.safetensors" /* a file being read, until it is closed */

static int close_reader(lua_State *L) {
  heed_safetensors **s = luaL_checkudata(L, 1, READER);
  heed_safetensors_close(*s);
  *s = NULL;
  return 0;
}

/* A path, which C cannot take with a zero byte in it. */
static const char *check_path(lua_State *L, int index, const char *op) {
  if (lua_type(L, index) != LUA_TSTRING)
    luaL_error(L, "%s: path must be a string, got %s", op,
               heed_bind_describe(L, index));
  size_t length;
  const char *path = lua_tolstring(L, index, &length);
  if (strlen(path) != length)
    luaL_error(L, "%s: path \"%s\" has a zero byte in it", op, path);
  return path;
}

static void add_metadata(void *L, const char *key, const char *value) {
  lua_pushstring(L, value);
  lua_setfield(L, -2, key);
}

/***
The tensors of a safetensors file by name, its metadata, and the names in
the order of the file.

F32, F64, I64 and BOOL are read as they are; F16 and BF16 become float32;
I32, I16, I8, U32, U16 and U8 become int64. Loading runs no code, and the
file need not be trusted.

@function load_safetensors
@tparam string path
@treturn table tensors by name
@treturn table metadata, string to string
@treturn table names, in the order in which the data lies in the file
@raise when the file cannot be read, or is not wholly as the format has it
@usage
local name = os.tmpname()
heed.save_safetensors(name, {w = heed.tensor {1, 2}})
local tensors = heed.load_safetensors(name); tensors.w:sum() --> 3
*/
static int load_safetensors(lua_State *L) {
  const char *path = check_path(L, 1, "load_safetensors");
  lua_settop(L, 1);
  heed_safetensors **reader = lua_newuserdatauv(L, sizeof *reader, 0);
  *reader = NULL;
  luaL_setmetatable(L, READER);
  *reader = heed_safetensors_open(path);
  if (!*reader) return heed_bind_raise(L);
  int count = heed_safetensors_count(*reader);
  lua_createtable(L, 0, count);
  int tensors = lua_gettop(L);
  lua_newtable(L);
  heed_safetensors_metadata(*reader, add_metadata, L);
  lua_createtable(L, count, 0);
  int names = lua_gettop(L);
  for (int i = 0; i < count; i++) {
    lua_pushstring(L, heed_safetensors_name(*reader, i));
    lua_pushvalue(L, -1);
    lua_rawseti(L, names, i + 1);
    heed_tensor **box = heed_bind_box(L);
    heed_tensor *t = heed_safetensors_load(*reader, i);
    if (!t) return heed_bind_raise(L);
    heed_bind_fill(box, t);
    lua_rawset(L, tensors);
  }
  heed_safetensors_close(*reader);
  *reader = NULL;
  heed_bind_collect(L);
  return 3;
}

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
static lua_Integer flatten_list(lua_State *L, int index) {
  lua_Integer n = luaL_len(L, index);
  lua_newtable(L);
  for (lua_Integer i = 1; i <= n; i++) {
    if (lua_geti(L, index, i) != LUA_TTABLE)
      luaL_error(L, "save_safetensors: tensors[%I] must be {name, tensor}, "
                 "got %s", i, heed_bind_describe(L, -1));
    if (lua_geti(L, -1, 1) != LUA_TSTRING)
      luaL_error(L, "save_safetensors: tensors[%I][1] must be a name, got %s",
                 i, heed_bind_describe(L, -1));
    lua_rawseti(L, -3, 2 * i - 1);
    lua_geti(L, -1, 2);
    if (!heed_bind_find(L, -1))
      luaL_error(L, "save_safetensors: tensors[%I][2] must be a tensor, got "
                 "%s", i, heed_bind_describe(L, -1));
    lua_rawseti(L, -3, 2 * i);
    lua_pop(L, 1);
  }
  return n;
}

/* The same from {name = tensor ...}. */
static lua_Integer flatten_map(lua_State *L, int index) {
  if (lua_getfield(L, index, "state_dict") == LUA_TFUNCTION)
    luaL_error(L, "save_safetensors: tensors must be a table of tensors, such "
               "as what its state_dict() gives, got %s",
               heed_bind_describe(L, index));
  lua_pop(L, 1);
  lua_Integer n = 0;
  lua_newtable(L);
  int list = lua_gettop(L);
  lua_pushnil(L);
  while (lua_next(L, index)) {
    if (lua_type(L, -2) != LUA_TSTRING)
      luaL_error(L, "save_safetensors: tensors must have names as keys, got "
                 "%s", heed_bind_describe(L, -2));
    if (!heed_bind_find(L, -1))
      luaL_error(L, "save_safetensors: tensors.%s must be a tensor, got %s",
                 lua_tostring(L, -2), heed_bind_describe(L, -1));
    n++;
    lua_rawseti(L, list, 2 * n);
    lua_pushvalue(L, -1);
    lua_rawseti(L, list, 2 * n - 1);
  }
  return n;
}

/* Pushes a list of the metadata: key, value, key, value ...; returns how many
   pairs. */
static lua_Integer flatten_metadata(lua_State *L, int index) {
  lua_Integer n = 0;
  lua_newtable(L);
  int list = lua_gettop(L);
  if (lua_isnoneornil(L, index)) return 0;
  if (!lua_istable(L, index))
    luaL_error(L, "save_safetensors: metadata must be a table, got %s",
               heed_bind_describe(L, index));
  lua_pushnil(L);
  while (lua_next(L, index)) {
    if (lua_type(L, -2) != LUA_TSTRING)
      luaL_error(L, "save_safetensors: metadata must have strings as keys, "
                 "got %s", heed_bind_describe(L, -2));
    if (lua_type(L, -1) != LUA_TSTRING)
      luaL_error(L, "save_safetensors: metadata.%s must be a string, got %s",
                 lua_tostring(L, -2), heed_bind_describe(L, -1));
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
  const char *path = check_path(L, 1, "save_safetensors");
  lua_settop(L, 3);
  if (!lua_istable(L, 2))
    return luaL_error(L, "save_safetensors: tensors must be a table, got %s",
                      heed_bind_describe(L, 2));
  bool list = luaL_len(L, 2) > 0;
  lua_Integer n = list ? flatten_list(L, 2) : flatten_map(L, 2);
  int tensors = lua_gettop(L);
  lua_Integer nmeta = flatten_metadata(L, 3);
  int metadata = lua_gettop(L);
  item *items = scratch(L, n, sizeof *items);
  heed_text *names = scratch(L, n, sizeof *names);
  heed_tensor **values = scratch(L, n, sizeof *values);
  heed_text *pairs = scratch(L, 2 * nmeta, sizeof *pairs);
  /* From here on Lua allocates nothing, so that no finaliser runs that could
     close a tensor. */
  for (lua_Integer i = 0; i < n; i++) {
    lua_rawgeti(L, tensors, 2 * i + 1);
    lua_rawgeti(L, tensors, 2 * i + 2);
    items[i] = (item){text_at(L, -2),
                      heed_bind_check(L, -1, "save_safetensors: a value")};
    lua_pop(L, 2);
  }
  for (lua_Integer i = 0; i < 2 * nmeta; i++) {
    lua_rawgeti(L, metadata, i + 1);
    pairs[i] = text_at(L, -1);
    lua_pop(L, 1);
  }
  if (!list) qsort(items, (size_t)n, sizeof *items, by_name);
  qsort(pairs, (size_t)nmeta, 2 * sizeof *pairs, by_name);
  for (lua_Integer i = 0; i < n; i++) {
    names[i] = items[i].name;
    values[i] = items[i].tensor;
  }
  if (!heed_safetensors_save(path, (int)n, names, values, (int)nmeta, pairs))
    return heed_bind_raise(L);
  return 0;
}

/***
Writes a file whole or not at all: the old one is replaced once the text is
written and synced.

@function write_file_atomic
@tparam string path
@tparam string text
@tparam[opt] string func the function that messages name
@raise when the file cannot be written; the old one then stays
@usage
local core = require "heed.core"
core.write_file_atomic(os.tmpname(), "all of it\n")
*/
static int write_file_atomic(lua_State *L) {
  const char *op = luaL_optstring(L, 3, "write_file_atomic");
  const char *path = check_path(L, 1, op);
  if (lua_type(L, 2) != LUA_TSTRING)
    return luaL_error(L, "%s: text must be a string, got %s", op,
                      heed_bind_describe(L, 2));
  heed_text text = text_at(L, 2);
  heed_file f;
  if (!heed_file_begin(&f, op, path)) return heed_bind_raise(L);
  bool ok = heed_file_write(&f, text.data, text.length);
  if (ok) ok = heed_file_commit(&f);
  else heed_file_abandon(&f);
  return ok ? 0 : heed_bind_raise(L);
}

void heed_bind_files(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"load_safetensors", load_safetensors},
      {"save_safetensors", save_safetensors},
      {"write_file_atomic", write_file_atomic},
      {NULL, NULL}};
  static const luaL_Reg meta[] = {
      {"__gc", close_reader}, {"__close", close_reader}, {NULL, NULL}};
  luaL_newmetatable(L, READER);
  luaL_setfuncs(L, meta, 0);
  lua_pop(L, 1);
  luaL_setfuncs(L, functions, 0);
}
