/*
 * index - t[key] and t[key] = value. Layer: binding. Read first: bind.h.
 *
 * A key is one entry or a list of them, one for each of the first dimensions
 * of t:
 *
 *     i                     a position; the dimension goes
 *     {first, last, step}   both ends included; {} is all of the dimension
 *     index                 a tensor of int64, int32 or uint8
 *     mask                  a bool tensor, for as many dimensions as it has
 *     "..."                 all of the dimensions that are not named
 *     "newaxis"             a new dimension of size 1
 *
 * Positions, ranges and new dimensions make a view; masks become the indices
 * of what is true; then all indices are applied to the view at once.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "bind/bind.h"
#include "core/op.h"

/* Nothing may raise while there is one: it owns tensors. */
typedef struct key {
  lua_State *L;
  const heed_tensor *t;
  heed_tensor *view; /* owned: t as positions and ranges see it */
  int entry;         /* that is being read, from 1; 0 for a sole one */
  int from;          /* the next dimension of t, from 0 */
  int64_t dim;       /* the same dimension of the view */
  int nindex;
  heed_tensor *index[HEED_MAX_DIM]; /* owned, as are their dimensions: */
  heed_shape on;                    /* of the view */
} key;

static void key_close(key *k) {
  heed_tensor_drop(k->view);
  while (k->nindex > 0) heed_tensor_drop(k->index[--k->nindex]);
}

/* "index: entry 2" */
static const char *subject(const key *k) {
  static _Thread_local char text[32];
  if (k->entry == 0) return "index: key";
  snprintf(text, sizeof text, "index: entry %d", k->entry);
  return text;
}

/* Replaces the view by the result of an op on it. */
static bool step(key *k, const char *op, const heed_attr *attr) {
  heed_tensor *result = heed_op_run(op, &k->view, 1, attr);
  heed_tensor_drop(k->view);
  k->view = result;
  return result != NULL;
}

/* Is there a dimension for the entry? */
static bool has_dim(const key *k, int count) {
  return k->from + count <= k->t->shape.ndim ||
         heed_fail("index: too many entries for a tensor %s",
                   heed_shape_text(&k->t->shape));
}

/* -- positions and ranges -- */

/* From what the user counts to 0 .. size - 1; one place beyond the ends is
   fine where `low` and `high` say so. */
static bool position(const key *k, int64_t got, int64_t low, int64_t high,
                     int64_t *at) {
  int64_t size = k->t->shape.dim[k->from];
  *at = got < 0 ? got + size : got - 1;
  if (got != 0 && *at >= low && *at <= high) return true;
  if (size == 0)
    return heed_fail("%s is %lld, but dim %d of %s has no elements",
                     subject(k), (long long)got, k->from + 1,
                     heed_shape_text(&k->t->shape));
  return heed_fail("%s must be 1..%lld or -%lld..-1 for dim %d of %s, got "
                   "%lld", subject(k), (long long)size, (long long)size,
                   k->from + 1, heed_shape_text(&k->t->shape),
                   (long long)got);
}

static bool take_position(key *k, int64_t got) {
  heed_attr a[2] = {{.i = k->dim}};
  if (!has_dim(k, 1) ||
      !position(k, got, 0, k->t->shape.dim[k->from] - 1, &a[1].i))
    return false;
  k->from++;
  return step(k, "select", a);
}

/* One number of a {first, last, step} list, or its default. */
static bool range_number(key *k, int i, int64_t *v) {
  int ok = 1;
  if (lua_rawgeti(k->L, -1, i) != LUA_TNIL) {
    ok = lua_type(k->L, -1) == LUA_TNUMBER;
    if (ok) *v = lua_tointegerx(k->L, -1, &ok);
  }
  if (!ok)
    heed_fail("%s: a range {first, last, step} holds integers, got %s",
              subject(k), heed_bind_describe(k->L, -1));
  lua_pop(k->L, 1);
  return ok;
}

static bool is_empty(lua_State *L) {
  lua_pushnil(L);
  if (!lua_next(L, -2)) return true;
  lua_pop(L, 2);
  return false;
}

/* Both ends from 0 on. A last one right before the first, or the other way
   round for a negative step, is an empty range. */
static bool range_ends(const key *k, int64_t first, int64_t last, bool up,
                       int64_t *a, int64_t *b) {
  int64_t size = k->t->shape.dim[k->from], end = size - 1;
  if (!position(k, first, up ? 0 : -1, up ? size : end, a) ||
      !position(k, last, up ? -1 : 0, up ? end : size, b))
    return false;
  if (up ? *a > *b : *a < *b) return true;
  return position(k, first, 0, end, a) && position(k, last, 0, end, b);
}

/* The range on the top of the stack. */
static bool take_range(key *k) {
  int64_t first = 0, last = 0, stride = 1; /* 0 is no position */
  if (!has_dim(k, 1)) return false;
  int64_t size = k->t->shape.dim[k->from], a, b;
  if (is_empty(k->L)) {
    k->from++;
    k->dim++;
    return true;
  }
  if (lua_rawlen(k->L, -1) > 3)
    return heed_fail("%s: a range is {first, last, step}, got %lld entries",
                     subject(k), (long long)lua_rawlen(k->L, -1));
  if (!range_number(k, 1, &first) || !range_number(k, 2, &last) ||
      !range_number(k, 3, &stride))
    return false;
  if (first == 0 || last == 0)
    return heed_fail("%s: a range {first, last, step} needs first and last, "
                     "counted from 1 or from -1", subject(k));
  if (stride == 0)
    return heed_fail("%s: the step of a range must not be 0", subject(k));
  if (!range_ends(k, first, last, stride > 0, &a, &b)) return false;
  if (stride > 0 ? a > b : a < b) { /* empty, as `slice` has it */
    a = size;
    b = size - 1;
    stride = 1;
  }
  k->from++;
  heed_attr attr[4] = {{.i = k->dim}, {.i = a}, {.i = b}, {.i = stride}};
  if (!step(k, "slice", attr)) return false;
  k->dim++;
  return true;
}

/* -- tensors -- */

static bool add_index(key *k, heed_tensor *index, int64_t dim) {
  k->on.dim[k->on.ndim++] = dim;
  k->index[k->nindex++] = index;
  return index != NULL;
}

/* The positions of what is true, one index for each dimension. */
static bool take_mask(key *k, heed_tensor *mask) {
  int n = mask->shape.ndim;
  if (n == 0)
    return heed_fail("%s: a mask must have a dimension, got %s", subject(k),
                     heed_tensor_text(mask));
  if (!has_dim(k, n)) return false;
  heed_shape there = {.ndim = n};
  memcpy(there.dim, k->t->shape.dim + k->from, sizeof *there.dim * (size_t)n);
  if (!heed_shape_equal(&mask->shape, &there))
    return heed_fail("%s: mask %s must have the sizes %s, which %s has there",
                     subject(k), heed_shape_text(&mask->shape),
                     heed_shape_text(&there), heed_shape_text(&k->t->shape));
  heed_tensor *found = heed_op_run("nonzero", &mask, 1, NULL);
  bool ok = found != NULL;
  for (int64_t d = 0; ok && d < n; d++) {
    heed_attr column[2] = {{.i = 1}, {.i = d}};
    ok = add_index(k, heed_op_run("select", &found, 1, column), k->dim++);
  }
  heed_tensor_drop(found);
  k->from += n;
  return ok;
}

static bool take_tensor(key *k, heed_tensor *index) {
  if (index->dtype == HEED_BOOL) return take_mask(k, index);
  if (!heed_dtype_is_integer(index->dtype))
    return heed_fail("%s must be a tensor of int64, int32, uint8 or bool, "
                     "got %s", subject(k), heed_tensor_text(index));
  if (index->shape.ndim == 0)
    return take_position(k, heed_element(index->dtype,
                                         heed_tensor_data(index), 0).i);
  if (!has_dim(k, 1)) return false;
  k->from++;
  return add_index(k, heed_tensor_ref(index), k->dim++);
}

/* -- words -- */

static bool take_newaxis(key *k) {
  if (!step(k, "unsqueeze", &(heed_attr){.i = k->dim})) return false;
  k->dim++;
  return true;
}

/* How many dimensions of t do the entries of the list at stack index 2 name?
   -1 after a failure. */
static int named_dims(key *k) {
  int named = 0, dots = 0;
  lua_Integer n = (lua_Integer)lua_rawlen(k->L, 2);
  for (lua_Integer i = 1; i <= n; i++) {
    int type = lua_rawgeti(k->L, 2, i);
    heed_tensor *index = heed_bind_find(k->L, -1);
    if (index && index->dtype == HEED_BOOL) named += index->shape.ndim;
    else if (type != LUA_TSTRING) named++;
    else if (strcmp(lua_tostring(k->L, -1), "...") == 0) dots++;
    lua_pop(k->L, 1);
  }
  if (dots < 2) return named;
  heed_fail("index: \"...\" can stand only once in a list");
  return -1;
}

static bool take_dots(key *k) {
  int named = named_dims(k), skipped = k->t->shape.ndim - named;
  if (named < 0) return false;
  if (skipped < 0) return has_dim(k, named);
  k->from += skipped;
  k->dim += skipped;
  return true;
}

/* -- a whole key -- */

/* The entry on the top of the stack. */
static bool take_entry(key *k) {
  lua_State *L = k->L;
  heed_tensor *index = heed_bind_find(L, -1);
  int type = lua_type(L, -1), ok = 0;
  if (index) return take_tensor(k, index);
  if (type == LUA_TTABLE) return take_range(k);
  if (type == LUA_TSTRING) {
    const char *word = lua_tostring(L, -1);
    if (strcmp(word, "...") == 0) return take_dots(k);
    if (strcmp(word, "newaxis") == 0) return take_newaxis(k);
  }
  int64_t at = type == LUA_TNUMBER ? lua_tointegerx(L, -1, &ok) : 0;
  if (ok) return take_position(k, at);
  return heed_fail("%s must be an integer, {first, last, step}, {}, a tensor, "
                   "\"...\" or heed.newaxis, got %s", subject(k),
                   heed_bind_describe(L, -1));
}

/* Reads the key at stack index 2; key_close is due in any case. */
static bool read_key(key *k, lua_State *L, heed_tensor *t) {
  *k = (key){.L = L, .t = t, .view = heed_tensor_ref(t)};
  if (!lua_istable(L, 2)) {
    lua_pushvalue(L, 2);
    bool ok = take_entry(k);
    lua_pop(L, 1);
    return ok;
  }
  lua_Integer n = (lua_Integer)lua_rawlen(L, 2);
  bool ok = true;
  for (lua_Integer i = 1; ok && i <= n; i++) {
    k->entry = i < INT16_MAX ? (int)i : INT16_MAX;
    lua_rawgeti(L, 2, i);
    ok = take_entry(k);
    lua_pop(L, 1);
  }
  return ok;
}

/* Runs an op on the view (and a value) and the indices. */
static heed_tensor *run_indices(key *k, const char *name, heed_tensor *value) {
  heed_tensor *in[HEED_MAX_DIM + 2] = {k->view, value};
  int n = value ? 2 : 1;
  memcpy(in + n, k->index, sizeof *in * (size_t)k->nindex);
  return heed_op_run(name, in, n + k->nindex, &(heed_attr){.list = k->on});
}

/* A mask over the whole of t, the sole key, is the frequent case. */
static heed_tensor *whole_mask(lua_State *L, const heed_tensor *t) {
  heed_tensor *mask = heed_bind_find(L, 2);
  bool whole = mask && mask->dtype == HEED_BOOL && mask->shape.ndim > 0 &&
               heed_shape_equal(&mask->shape, &t->shape);
  return whole ? mask : NULL;
}

static heed_tensor *get_part(lua_State *L, heed_tensor *t) {
  heed_tensor *mask = whole_mask(L, t), *result = NULL;
  if (mask)
    return heed_op_run("masked_select", (heed_tensor *[]){t, mask}, 2, NULL);
  key k;
  if (read_key(&k, L, t))
    result = k.nindex ? run_indices(&k, "index", NULL)
                      : heed_tensor_ref(k.view);
  key_close(&k);
  return result;
}

int heed_bind_index(lua_State *L) {
  lua_settop(L, 2);
  heed_tensor **box = heed_bind_box(L); /* may run finalizers: comes first */
  heed_tensor *t = heed_bind_check(L, 1, "index: x");
  heed_tensor *result = get_part(L, t);
  if (!result) return heed_bind_raise(L);
  heed_bind_fill(box, result);
  heed_bind_collect(L);
  return 1;
}

/* -- writing -- */

/* The value at stack index 3: lent when a tensor, else a new scalar. */
static heed_tensor *read_value(lua_State *L, heed_tensor **own) {
  heed_tensor *v = heed_bind_find(L, 3);
  *own = NULL;
  if (v) return v;
  if (heed_bind_is_number(L, 3)) return *own = heed_bind_number(L, 3);
  heed_fail("index: a value must be a tensor or a number, got %s",
            heed_bind_describe(L, 3));
  return NULL;
}

static bool holds(const heed_tensor *t, const heed_tensor *v) {
  heed_value number = heed_element(v->dtype, v->storage->data, 0);
  return heed_dtype_holds(t->dtype, !heed_dtype_is_float(v->dtype), number) ||
         heed_fail("index: value must be %s for %s, got %.17g",
                   heed_dtype_range(t->dtype), heed_tensor_text(t),
                   number.f == number.f ? number.f : (double)NAN);
}

/* t[mask] = one number: no need to look for what is true. */
static heed_tensor *fill_mask(heed_tensor *t, heed_tensor *mask,
                              heed_tensor *v) {
  heed_attr dtype = {.i = t->dtype};
  heed_tensor *cast = heed_op_run("to", &v, 1, &dtype), *done = NULL;
  if (cast)
    done = heed_op_run("masked_fill_", (heed_tensor *[]){t, mask, cast}, 3,
                       NULL);
  heed_tensor_drop(cast);
  return done;
}

static heed_tensor *set_part(lua_State *L, heed_tensor *t, heed_tensor *v) {
  heed_tensor *mask = whole_mask(L, t), *done = NULL;
  if (mask && v->shape.ndim == 0) return fill_mask(t, mask, v);
  key k;
  if (read_key(&k, L, t))
    done = k.nindex ? run_indices(&k, "index_put_", v)
                    : heed_op_run("copy_", (heed_tensor *[]){k.view, v}, 2,
                                  NULL);
  key_close(&k);
  return done;
}

int heed_bind_newindex(lua_State *L) {
  heed_tensor *t = heed_bind_check(L, 1, "index: x"), *own;
  heed_tensor *v = read_value(L, &own);
  bool ok = v && (!own || holds(t, v));
  heed_tensor *done = ok ? set_part(L, t, v) : NULL;
  heed_tensor_drop(own);
  heed_tensor_drop(done);
  return done ? 0 : heed_bind_raise(L);
}
