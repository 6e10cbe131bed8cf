/*
 * index - t[key] and t[key] = value. Layer: binding. Read first: bind.h.
 *
 * A key is an integer (row i), a bool tensor (a mask), an int64 tensor (rows)
 * or a list with one entry for each of the first dimensions: an integer,
 * {first, last, step} with both ends included, {} for all, or an int64
 * tensor.
 */
#include "base/error.h"
#include "bind/bind.h"
#include "core/op.h"

/* Replaces *t by the result of an op on it. */
static bool step(heed_tensor **t, const char *op, heed_tensor *with,
                 const int64_t *integers) {
  heed_tensor *in[2] = {*t, with};
  heed_tensor *result = heed_bind_run(op, in, with ? 2 : 1, integers);
  heed_tensor_drop(*t);
  *t = result;
  return result != NULL;
}

static bool zero_based(int64_t *v) {
  if (*v == 0)
    return heed_fail("index: 0 is no position, counting starts at 1");
  if (*v > 0) --*v;
  return true;
}

/* One entry of a {first, last, step} list, or its default. */
static bool range_entry(lua_State *L, int i, int64_t *v) {
  int ok = 1;
  if (lua_geti(L, -1, i) != LUA_TNIL) *v = lua_tointegerx(L, -1, &ok);
  if (!ok)
    heed_fail("index: a range {first, last, step} holds integers, got %s",
              heed_bind_describe(L, -1));
  lua_pop(L, 1);
  return ok;
}

/* The range on the top of the stack, on dimension `dim` of *t. */
static bool take_range(lua_State *L, heed_tensor **t, int64_t dim) {
  lua_Integer n = luaL_len(L, -1);
  if (n == 0) return true;
  if (n == 1)
    return heed_fail("index: a range {first, last, step} needs first and "
                     "last");
  int64_t a[4] = {dim, 1, -1, 1};
  return range_entry(L, 1, &a[1]) && range_entry(L, 2, &a[2]) &&
         range_entry(L, 3, &a[3]) && zero_based(&a[1]) &&
         zero_based(&a[2]) && step(t, "slice", NULL, a);
}

static bool take_rows(heed_tensor **t, heed_tensor *rows, int64_t dim) {
  if (rows->dtype == HEED_BOOL)
    return heed_fail("index: a mask must be the only key, t[mask]");
  return step(t, "index_select", rows, &dim);
}

/* The entry on the top of the stack; *dim moves to the next dimension. */
static bool take_entry(lua_State *L, heed_tensor **t, int64_t *dim) {
  heed_tensor *rows = heed_bind_test(L, -1);
  if (*dim >= (*t)->shape.ndim)
    return heed_fail("index: too many entries for a tensor %s",
                     heed_shape_text(&(*t)->shape));
  if (rows) return take_rows(t, rows, (*dim)++);
  if (lua_istable(L, -1)) return take_range(L, t, (*dim)++);
  int ok = 0;
  int64_t at[2] = {*dim, 0};
  if (lua_type(L, -1) == LUA_TNUMBER) at[1] = lua_tointegerx(L, -1, &ok);
  if (!ok)
    return heed_fail("index: an entry is an integer, {first, last, step}, {} "
                     "or an int64 tensor, got %s",
                     heed_bind_describe(L, -1));
  return zero_based(&at[1]) && step(t, "select", NULL, at);
}

/* The part of t that the key at stack index 2 names; a new reference. */
static heed_tensor *part(lua_State *L, heed_tensor *t) {
  heed_tensor *rows = heed_bind_test(L, 2);
  heed_tensor *result = heed_tensor_ref(t);
  int64_t dim = 0;
  bool ok;
  if (rows && rows->dtype == HEED_BOOL) {
    ok = step(&result, "masked_select", rows, NULL);
  } else if (rows || !lua_istable(L, 2)) {
    lua_pushvalue(L, 2);
    ok = take_entry(L, &result, &dim);
    lua_pop(L, 1);
  } else {
    lua_Integer n = luaL_len(L, 2);
    ok = true;
    for (lua_Integer i = 1; ok && i <= n; i++) {
      lua_geti(L, 2, i);
      ok = take_entry(L, &result, &dim);
      lua_pop(L, 1);
    }
  }
  if (ok) return result;
  heed_tensor_drop(result);
  return NULL;
}

int heed_bind_index(lua_State *L) {
  heed_tensor *t = heed_bind_check(L, 1, "index: x");
  heed_tensor **box = heed_bind_box(L);
  heed_tensor *result = part(L, t);
  if (!result) return heed_bind_raise(L);
  heed_bind_fill(box, result);
  heed_bind_collect(L);
  return 1;
}

/* The value at stack index 3: lent when a tensor, else a new scalar. */
static heed_tensor *value(lua_State *L, heed_tensor **own) {
  heed_tensor *v = heed_bind_test(L, 3);
  *own = NULL;
  if (v) return v;
  if (lua_isboolean(L, 3))
    *own = heed_tensor_scalar(HEED_BOOL, 0, lua_toboolean(L, 3));
  else if (lua_isinteger(L, 3))
    *own = heed_tensor_scalar(HEED_INT64, 0, lua_tointeger(L, 3));
  else if (lua_type(L, 3) == LUA_TNUMBER)
    *own = heed_tensor_scalar(HEED_FLOAT64, lua_tonumber(L, 3), 0);
  else
    heed_fail("index: a value must be a tensor or a number, got %s",
              heed_bind_describe(L, 3));
  if (*own) (*own)->weak = true;
  return *own;
}

static bool copy_into(heed_tensor *to, heed_tensor *from) {
  heed_tensor *done = heed_bind_run("copy_", (heed_tensor *[]){to, from}, 2,
                                    NULL);
  heed_tensor_drop(done);
  return done != NULL;
}

/* t[rows] = v or t[mask] = v: where no view can stand for the part. */
static bool set_chosen(heed_tensor *t, heed_tensor *key, heed_tensor *v) {
  heed_tensor *in[3] = {t, key, v};
  const char *op = key->dtype == HEED_BOOL ? "masked_fill" : "index_put";
  heed_tensor *whole = heed_bind_run(op, in, 3, NULL);
  bool ok = whole && copy_into(t, whole);
  heed_tensor_drop(whole);
  return ok;
}

static bool set_part(lua_State *L, heed_tensor *t, heed_tensor *v) {
  heed_tensor *key = heed_bind_test(L, 2);
  if (key) return set_chosen(t, key, v);
  heed_tensor *to = part(L, t);
  bool ok = to && (to->storage == t->storage ||
                   heed_fail("index: rows inside a list can be read, not "
                             "written; write t[rows] = value"));
  ok = ok && copy_into(to, v);
  heed_tensor_drop(to);
  return ok;
}

int heed_bind_newindex(lua_State *L) {
  heed_tensor *t = heed_bind_check(L, 1, "index: x"), *own;
  heed_tensor *v = value(L, &own);
  bool ok = v && set_part(L, t, v);
  heed_tensor_drop(own);
  return ok ? 0 : heed_bind_raise(L);
}
