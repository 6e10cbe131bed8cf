/*
 * files - files of tensors that are being read, arrays and whole files, for
 * lua/heed/files.
 * Layer: binding. Read first: bind.h, core/safetensors.h, core/npz.h.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "bind/bind.h"
#include "core/file.h"
#include "core/npz.h"
#include "core/op.h"
#include "core/raw.h"
#include "core/safetensors.h"

#define READER "heed.file" /* a file being read, until it is closed */

/* One of the two, or none once it is closed. */
typedef struct reader {
  heed_safetensors *safetensors;
  heed_npz *npz;
} reader;

static int close_reader(lua_State *L) {
  reader *r = luaL_checkudata(L, 1, READER);
  heed_safetensors_close(r->safetensors);
  heed_npz_close(r->npz);
  *r = (reader){0};
  return 0;
}

const char *heed_bind_path(lua_State *L, int index, const char *op) {
  if (lua_type(L, index) != LUA_TSTRING)
    heed_bind_error(L, "%s: path must be a string, got %s", op,
                    heed_bind_describe(L, index));
  size_t length;
  const char *path = lua_tolstring(L, index, &length);
  if (strlen(path) != length)
    heed_bind_error(L, "%s: path \"%s\" has a zero byte in it", op, path);
  return path;
}

/* -- files of named tensors -- */

/* file_open(op, path, mapped): op is the function that messages name, one of
   those below; mapped is for safetensors. The methods of what it gives count
   tensors from 1. */
static int file_open(lua_State *L) {
  static const char *const ops[] = {"load_safetensors", "open_safetensors",
                                    "load_npz", "open_npz", NULL};
  int op = luaL_checkoption(L, 1, NULL, ops);
  const char *path = heed_bind_path(L, 2, ops[op]);
  bool mapped = lua_toboolean(L, 3);
  lua_settop(L, 3);
  reader *r = lua_newuserdatauv(L, sizeof *r, 0);
  *r = (reader){0};
  luaL_setmetatable(L, READER);
  if (op < 2) r->safetensors = heed_safetensors_open(ops[op], path, mapped);
  else r->npz = heed_npz_open(ops[op], path);
  if (!r->safetensors && !r->npz) return heed_bind_raise(L);
  return 1;
}

static reader *check_reader(lua_State *L) {
  reader *r = luaL_checkudata(L, 1, READER);
  if (!r->safetensors && !r->npz) heed_bind_error(L, "the file is closed");
  return r;
}

static int count_of(const reader *r) {
  return r->npz ? heed_npz_count(r->npz)
                : heed_safetensors_count(r->safetensors);
}

static int check_index(lua_State *L, const reader *r) {
  lua_Integer i = luaL_checkinteger(L, 2);
  luaL_argcheck(L, i >= 1 && i <= count_of(r), 2, "no such tensor");
  return (int)i - 1;
}

/* names(): a list, in the order of the file. */
static int reader_names(lua_State *L) {
  const reader *r = check_reader(L);
  int count = count_of(r);
  lua_createtable(L, count, 0);
  for (int i = 0; i < count; i++) {
    if (r->npz) {
      heed_text name = heed_npz_name(r->npz, i);
      lua_pushlstring(L, name.data, name.length);
    } else {
      lua_pushstring(L, heed_safetensors_name(r->safetensors, i));
    }
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

static void add_metadata(void *L, const char *key, const char *value) {
  lua_pushstring(L, value);
  lua_setfield(L, -2, key);
}

/* metadata(): string to string. */
static int reader_metadata(lua_State *L) {
  const reader *r = check_reader(L);
  lua_newtable(L);
  if (r->safetensors)
    heed_safetensors_metadata(r->safetensors, add_metadata, L);
  return 1;
}

/* info(i): dtype and sizes, without reading elements. */
static int reader_info(lua_State *L) {
  const reader *r = check_reader(L);
  int i = check_index(L, r);
  heed_dtype dtype;
  heed_shape shape;
  if (r->npz) {
    heed_npy head;
    if (!heed_npz_head(r->npz, i, &head)) return heed_bind_raise(L);
    dtype = head.encoding.dtype;
    shape = head.shape;
  } else {
    dtype = heed_safetensors_dtype(r->safetensors, i);
    shape = *heed_safetensors_shape(r->safetensors, i);
  }
  lua_pushstring(L, heed_dtype_name(dtype));
  lua_createtable(L, shape.ndim, 0);
  for (int d = 0; d < shape.ndim; d++) {
    lua_pushinteger(L, shape.dim[d]);
    lua_rawseti(L, -2, d + 1);
  }
  return 2;
}

/* Fills the box on the top with `t`, or raises when there is none. What was
   column-major becomes row-major, as all else that heed reads. */
static int give(lua_State *L, heed_tensor **box, heed_tensor *t) {
  if (!t) return heed_bind_raise(L);
  if (!heed_tensor_is_contiguous(t)) {
    heed_tensor *rows = heed_op_run("contiguous", &t, 1, NULL);
    heed_tensor_drop(t);
    if (!rows) return heed_bind_raise(L);
    t = rows;
  }
  heed_bind_fill(box, t);
  heed_bind_collect(L);
  return 1;
}

/* load(i): a tensor; load(i, first, n): n rows from row `first` on, of a
   safetensors file. */
static int reader_load(lua_State *L) {
  luaL_checkudata(L, 1, READER);
  lua_Integer first = luaL_optinteger(L, 3, 1), n = luaL_optinteger(L, 4, 0);
  bool part = !lua_isnoneornil(L, 3);
  heed_tensor **box = heed_bind_box(L); /* may run finalizers: comes first */
  const reader *r = check_reader(L);
  int i = check_index(L, r);
  if (r->npz) {
    luaL_argcheck(L, !part, 3, "rows are of safetensors alone");
    return give(L, box, heed_npz_load(r->npz, i));
  }
  if (!part) return give(L, box, heed_safetensors_load(r->safetensors, i));
  const heed_shape *s = heed_safetensors_shape(r->safetensors, i);
  luaL_argcheck(L, s->ndim > 0 && first >= 1 && n >= 0 && n <= s->dim[0] &&
                first - 1 <= s->dim[0] - n, 3, "no such rows");
  return give(L, box, heed_safetensors_rows(r->safetensors, i, first - 1, n));
}

/* -- arrays -- */

/* npy_load(path) */
static int npy_load(lua_State *L) {
  const char *path = heed_bind_path(L, 1, "load_npy");
  lua_settop(L, 1);
  heed_tensor **box = heed_bind_box(L);
  return give(L, box, heed_npy_load("load_npy", path));
}

/* npy_save(path, tensor, fortran) */
static int npy_save(lua_State *L) {
  const char *path = heed_bind_path(L, 1, "save_npy");
  heed_tensor *t = heed_bind_check(L, 2, "save_npy: x");
  if (!heed_npy_save("save_npy", path, t, lua_toboolean(L, 3)))
    return heed_bind_raise(L);
  return 0;
}

/* raw_load(path, dtype, shape or nil, offset); lua/heed/files has checked all
   but the path. */
static int raw_load(lua_State *L) {
  const char *path = heed_bind_path(L, 1, "fromfile");
  heed_dtype dtype;
  heed_shape shape = {0};
  if (!heed_dtype_find(luaL_checkstring(L, 2), &dtype))
    return heed_bind_error(L, "fromfile: %s", heed_error());
  bool given = lua_istable(L, 3);
  lua_Integer n = given ? luaL_len(L, 3) : 0;
  if (n > HEED_MAX_DIM)
    return heed_bind_error(L, "fromfile: more than %d dimensions are not "
                           "possible", HEED_MAX_DIM);
  for (shape.ndim = 0; shape.ndim < n; shape.ndim++) {
    lua_geti(L, 3, shape.ndim + 1);
    shape.dim[shape.ndim] = luaL_checkinteger(L, -1);
    lua_pop(L, 1);
  }
  lua_Integer offset = luaL_checkinteger(L, 4);
  heed_tensor **box = heed_bind_box(L);
  return give(L, box, heed_raw_load("fromfile", path, dtype,
                                    given ? &shape : NULL, offset));
}

/***
Writes the elements of x into a file, row-major and little-endian;
`heed.fromfile` reads them.

The file at `path` is replaced whole once everything is written and synced.
@function tofile
@param x tensor
@param path string
@raise when the file cannot be written; the old one then stays
@usage heed.zeros(3):tofile(os.tmpname())
*/
static int to_file(lua_State *L) {
  heed_bind_check(L, 1, "tofile: x");
  const char *path = heed_bind_path(L, 2, "tofile");
  if (!heed_raw_save("tofile", path, heed_bind_find(L, 1)))
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
  const char *path = heed_bind_path(L, 1, op);
  if (lua_type(L, 2) != LUA_TSTRING)
    return heed_bind_error(L, "%s: text must be a string, got %s", op,
                           heed_bind_describe(L, 2));
  heed_text text;
  text.data = lua_tolstring(L, 2, &text.length);
  heed_file f;
  if (!heed_file_begin(&f, op, path)) return heed_bind_raise(L);
  bool ok = heed_file_write(&f, text.data, text.length);
  if (ok) ok = heed_file_commit(&f);
  else heed_file_abandon(&f);
  return ok ? 0 : heed_bind_raise(L);
}

void heed_bind_files(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"file_open", file_open}, {"npy_load", npy_load},
      {"npy_save", npy_save},   {"raw_load", raw_load},
      {"write_file_atomic", write_file_atomic},
      {NULL, NULL}};
  static const luaL_Reg methods[] = {
      {"names", reader_names}, {"metadata", reader_metadata},
      {"info", reader_info},   {"load", reader_load},
      {"close", close_reader}, {NULL, NULL}};
  static const luaL_Reg meta[] = {
      {"__gc", close_reader}, {"__close", close_reader}, {NULL, NULL}};
  luaL_newmetatable(L, READER);
  luaL_setfuncs(L, meta, 0);
  luaL_newlib(L, methods);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
  luaL_setfuncs(L, functions, 0);
  lua_getfield(L, -1, "methods");
  lua_pushcfunction(L, to_file);
  lua_setfield(L, -2, "tofile");
  lua_pop(L, 1);
}
