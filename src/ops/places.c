/*
 * places - reading and writing where index tensors say. Layer: ops.
 * Read first: places.h.
 *
 * One loop serves all: it runs over the region with three tensors seen in its
 * shape. The addressed one has stride 0 along the indexed dimensions, and the
 * place is added instead:
 *
 *     result[i] = x[i + place[i]]         to[i + place[i]] = from[i]
 *
 * For x [4 3] and rows {2, 1} of dim 1 the region is [2 3] and place, seen in
 * its shape with strides (1, 0), holds 1 * 3 and 0 * 3.
 *
 * Places may repeat. Writes happen in row-major order of the region, and the
 * threads share out a dimension that is not indexed, so the result is always
 * the same.
 */
#include "ops/places.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/parallel.h"
#include "core/iter.h"
#include "kernel/kernel.h"
#include "ops/copy.h"

#define GRAIN 16384           /* elements worth a thread */
#define LINE 16               /* elements of a row that threads do not share */
#define ALONE (INT64_MAX / 2) /* a grain that keeps a loop in its thread */

/* -- indices and the region -- */

/* "index", or "index 2" of several in a list. */
static const char *index_name(const heed_call *c, int i) {
  static _Thread_local char text[2][40];
  static _Thread_local unsigned turn;
  const heed_param *p = heed_op_input(c->op, i);
  int number = i - c->op->ninput + 2; /* a list is the last input */
  if (p->kind != HEED_KIND_TENSORS || c->nin == c->op->ninput)
    return p->name;
  char *name = text[turn++ % 2];
  snprintf(name, sizeof text[0], "%s %d", p->name, number);
  return name;
}

bool heed_want_index(const heed_call *c, int i) {
  const heed_tensor *index = c->in[i];
  return heed_dtype_is_integer(index->dtype) ||
         heed_fail("%s: %s must be int64, int32 or uint8, got %s",
                   c->op->name, index_name(c, i), heed_tensor_text(index));
}

/* The shape of all indices together. */
static bool join_indices(const heed_indices *s, heed_shape *all) {
  const heed_call *c = s->call;
  *all = c->in[s->first]->shape;
  for (int j = 0; j < s->dims.ndim; j++) {
    const heed_shape *index = &c->in[s->first + j]->shape;
    if (!heed_want_index(c, s->first + j)) return false;
    if (!heed_shape_broadcast(all, index, all))
      return heed_fail("%s: %s %s cannot be broadcast with %s of the indices "
                       "before it", c->op->name,
                       index_name(c, s->first + j), heed_shape_text(index),
                       heed_shape_text(all));
  }
  return true;
}

/* Fills p for rows, but for the places; all: the shape of the indices. */
static bool lay_out(heed_places *p, const heed_indices *s,
                    const heed_shape *of, heed_shape *all) {
  const heed_call *c = s->call;
  int n = s->dims.ndim;
  const int64_t *dim = s->dims.dim;
  if (!join_indices(s, all)) return false;
  bool together = dim[n - 1] - dim[0] == n - 1;
  *p = (heed_places){.at = together ? (int)dim[0] : 0, .k = all->ndim};
  for (int j = 0; j < n; j++) p->on[dim[j]] = true;
  heed_shape *region = &p->region;
  region->ndim = of->ndim - n + all->ndim;
  if (region->ndim > HEED_MAX_DIM)
    return heed_fail("%s: %s %s and %s %s give %d dimensions, more than %d "
                     "are not possible", c->op->name, heed_input_name(c, 0),
                     heed_shape_text(of), heed_input_name(c, s->first),
                     heed_shape_text(all), region->ndim, HEED_MAX_DIM);
  for (int d = 0, from = 0; d < region->ndim; d++) {
    bool indexed = d >= p->at && d < p->at + p->k;
    while (!indexed && p->on[from]) from++;
    region->dim[d] = indexed ? all->dim[d - p->at] : of->dim[from++];
  }
  return true;
}

bool heed_places_rows(heed_places *p, const heed_indices *indices,
                      const heed_shape *of) {
  heed_shape all;
  return lay_out(p, indices, of, &all);
}

/* -- from positions to places -- */

typedef struct resolve {
  int64_t size, step; /* of the indexed dimension */
  atomic_bool bad;
} resolve;

static void row_resolve(void *context, int64_t n, char *const *p,
                        const int64_t *s) {
  resolve *r = context;
  int64_t *to = (int64_t *)p[0];
  const int64_t *from = (const int64_t *)p[1];
  bool bad = false;
  for (int64_t i = 0; i < n; i++) {
    int64_t v = from[i * s[1]];
    v = v < 0 ? v + r->size : v - 1; /* 0 becomes -1 */
    bad |= v < 0 || v >= r->size;
    to[i * s[0]] += (int64_t)((uint64_t)v * (uint64_t)r->step);
  }
  if (bad) atomic_store_explicit(&r->bad, true, memory_order_relaxed);
}

/* Fails with the first position of input i that has no place. */
static bool fail_position(const heed_call *c, int i, const heed_shape *of,
                          int64_t dim) {
  const heed_tensor *index = c->in[i];
  int64_t size = of->dim[dim], n = heed_tensor_numel(index), got = 0;
  int64_t where[HEED_MAX_DIM];
  for (int64_t count = 0; count < n; count++) {
    int64_t at = index->offset, rest = count;
    for (int d = index->shape.ndim - 1; d >= 0; d--) {
      where[d] = rest % index->shape.dim[d];
      rest /= index->shape.dim[d];
      at += where[d] * index->stride[d];
    }
    got = heed_element(index->dtype, index->storage->data, at).i;
    if (got == 0 || got > size || got < -size) break;
  }
  char name[HEED_MAX_DIM * 24 + 64];
  int used = snprintf(name, sizeof name, "%s", index_name(c, i));
  for (int d = 0; d < index->shape.ndim; d++)
    used += snprintf(name + used, sizeof name - (size_t)used, "[%lld]",
                     (long long)where[d] + 1);
  if (size == 0)
    return heed_fail("%s: %s is %lld, but dim %lld of %s %s has no elements",
                     c->op->name, name, (long long)got, (long long)dim + 1,
                     heed_input_name(c, 0), heed_shape_text(of));
  return heed_fail("%s: %s must be 1..%lld or -%lld..-1 for dim %lld of %s "
                   "%s, got %lld", c->op->name, name, (long long)size,
                   (long long)size, (long long)dim + 1,
                   heed_input_name(c, 0), heed_shape_text(of),
                   (long long)got);
}

/* Adds to the places what input i says of dimension dim. */
static bool add_places(heed_places *p, const heed_call *c, int i,
                       const heed_tensor *of, int64_t dim) {
  heed_tensor *index = c->in[i], *whole = heed_tensor_ref(index);
  if (index->dtype != HEED_INT64) {
    heed_tensor_drop(whole);
    whole = heed_tensor_new(c->op->name, HEED_INT64, &index->shape);
    if (!whole) return false;
    heed_copy(whole, index);
  }
  resolve r = {.size = of->shape.dim[dim], .step = of->stride[dim]};
  atomic_init(&r.bad, false);
  heed_iter it;
  heed_iter_init(&it, &p->place->shape, 2, (heed_tensor *[]){p->place, whole});
  heed_iter_run(&it, GRAIN, row_resolve, &r);
  heed_tensor_drop(whole);
  return !atomic_load(&r.bad) || fail_position(c, i, &of->shape, dim);
}

/* Makes the places, all 0. */
static bool blank(heed_places *p, const heed_call *c,
                  const heed_shape *shape) {
  p->place = heed_tensor_new(c->op->name, HEED_INT64, shape);
  if (p->place)
    memset(heed_tensor_data(p->place), 0, p->place->storage->bytes);
  return p->place != NULL;
}

bool heed_places_open_rows(heed_places *p, const heed_indices *s,
                           const heed_tensor *of) {
  heed_shape all;
  bool ok = lay_out(p, s, &of->shape, &all) && blank(p, s->call, &all);
  if (!ok) return false;
  /* an index that is broadcast with none has no place to go wrong */
  for (int j = 0; ok && j < s->dims.ndim; j++)
    ok = add_places(p, s->call, s->first + j, of, s->dims.dim[j]);
  if (!ok) heed_places_close(p);
  return ok;
}

bool heed_places_open_elements(heed_places *p, const heed_call *c, int i,
                               const heed_tensor *of, int64_t dim) {
  const heed_shape *shape = &c->in[i]->shape;
  *p = (heed_places){.region = *shape, .at = (int)dim, .k = 1};
  p->on[dim] = true;
  if (!blank(p, c, shape)) return false;
  if (add_places(p, c, i, of, dim)) return true;
  heed_places_close(p);
  return false;
}

void heed_places_close(heed_places *p) {
  heed_tensor_drop(p->place);
  p->place = NULL;
}

/* -- tensors seen in the shape of the region -- */

/* Is dimension d of the region one of the places'? */
static bool indexed(const heed_places *p, int d) {
  return d >= p->at && d < p->at + p->k;
}

static heed_tensor see_addressed(const heed_places *p, const heed_tensor *t) {
  heed_tensor seen = *t;
  seen.shape = p->region;
  for (int d = 0, from = 0; d < p->region.ndim; d++) {
    while (!indexed(p, d) && p->on[from]) from++;
    seen.stride[d] = indexed(p, d) ? 0 : t->stride[from++];
  }
  return seen;
}

static heed_tensor see_places(const heed_places *p) {
  heed_tensor seen = *p->place;
  if (heed_shape_equal(&seen.shape, &p->region)) return seen;
  seen.shape = p->region;
  for (int d = 0; d < p->region.ndim; d++)
    seen.stride[d] = indexed(p, d) ? p->place->stride[d - p->at] : 0;
  return seen;
}

/* t broadcast to the region, or its first corner of that size. */
static heed_tensor see_elements(const heed_places *p, const heed_tensor *t) {
  heed_tensor seen = *t;
  int extra = p->region.ndim - t->shape.ndim;
  seen.shape = p->region;
  for (int d = 0; d < p->region.ndim; d++)
    seen.stride[d] = d < extra || t->shape.dim[d - extra] == 1
                         ? 0
                         : t->stride[d - extra];
  return seen;
}

/* The same elements from the last to the first. */
static void reverse(heed_tensor *seen) {
  for (int d = 0; d < seen->shape.ndim; d++) {
    seen->offset += (seen->shape.dim[d] - 1) * seen->stride[d];
    seen->stride[d] = -seen->stride[d];
  }
}

/* -- the loops: rows of addressed, others, places -- */

/* One row at one place, without gaps: the start of it, else NULL. */
static char *whole_row(heed_dtype dtype, char *const *p, const int64_t *s) {
  if (s[0] != 1 || s[1] != 1 || s[2] != 0) return NULL;
  return p[0] + *(const int64_t *)p[2] * (int64_t)heed_dtype_size(dtype);
}

/* The element of the row that i addresses. */
#define AT(type) ((type *)p[0])[i * s[0] + ((const int64_t *)p[2])[i * s[2]]]
#define OTHER(type) ((type *)p[1])[i * s[1]]
#define EACH(statement) \
  for (int64_t i = 0; i < n; i++) statement

#define BY_SIZE(dtype, LOOP)       \
  switch (heed_dtype_size(dtype)) { \
    case 1: LOOP(uint8_t); break;  \
    case 2: LOOP(uint16_t); break; \
    case 4: LOOP(uint32_t); break; \
    default: LOOP(uint64_t);       \
  }

static void row_read(void *context, int64_t n, char *const *p,
                     const int64_t *s) {
  heed_dtype dtype = *(const heed_dtype *)context;
  const char *row = whole_row(dtype, p, s);
  if (row) {
    memcpy(p[1], row, (size_t)n * heed_dtype_size(dtype));
    return;
  }
#define READ(type) EACH(OTHER(type) = AT(type))
  BY_SIZE(dtype, READ)
#undef READ
}

static void row_put(void *context, int64_t n, char *const *p,
                    const int64_t *s) {
  heed_dtype dtype = *(const heed_dtype *)context;
  char *row = whole_row(dtype, p, s);
  if (row) {
    memcpy(row, p[1], (size_t)n * heed_dtype_size(dtype));
    return;
  }
#define PUT(type) EACH(AT(type) = OTHER(type))
  BY_SIZE(dtype, PUT)
#undef PUT
}

/* A row that changes what is there: by the kernel `binary` where it is whole,
   else by LOOP for the type. */
#define CHANGING_ROW(name, binary_op, LOOP, i32, i64)                      \
  static void name(void *context, int64_t n, char *const *p,               \
                   const int64_t *s) {                                     \
    heed_dtype dtype = *(const heed_dtype *)context;                       \
    char *row = whole_row(dtype, p, s);                                    \
    if (row) {                                                             \
      heed_kernel.binary[binary_op][dtype](n, row, 1, row, 1, p[1], 1);    \
      return;                                                              \
    }                                                                      \
    switch (dtype) {                                                       \
      case HEED_FLOAT32: LOOP(float); break;                               \
      case HEED_FLOAT64: LOOP(double); break;                              \
      case HEED_INT32: LOOP(i32); break;                                   \
      case HEED_INT64: LOOP(i64); break;                                   \
      default: LOOP(uint8_t);                                              \
    }                                                                      \
  }

/* sums and products of integers wrap around */
#define ADD(type) EACH(AT(type) += OTHER(type))
#define MUL(type) EACH(AT(type) *= OTHER(type))
#define MAX(type)                             \
  EACH({                                      \
    type v = OTHER(type);                     \
    if (v > AT(type) || v != v) AT(type) = v; \
  })
#define MIN(type)                             \
  EACH({                                      \
    type v = OTHER(type);                     \
    if (v < AT(type) || v != v) AT(type) = v; \
  })
CHANGING_ROW(row_add, HEED_BINARY_add, ADD, uint32_t, uint64_t)
CHANGING_ROW(row_mul, HEED_BINARY_mul, MUL, uint32_t, uint64_t)
CHANGING_ROW(row_max, HEED_BINARY_maximum, MAX, int32_t, int64_t)
CHANGING_ROW(row_min, HEED_BINARY_minimum, MIN, int32_t, int64_t)

/* Comes from the end: the first one to find its place unmarked is the last. */
static void row_last(void *context, int64_t n, char *const *p,
                     const int64_t *s) {
  (void)context;
  EACH({
    OTHER(bool) = !AT(bool);
    AT(bool) = true;
  });
}

void heed_places_read(const heed_places *p, heed_tensor *result,
                      heed_tensor *x) {
  heed_tensor from = see_addressed(p, x), place = see_places(p);
  heed_iter it;
  heed_iter_init(&it, &p->region, 3, (heed_tensor *[]){&from, result, &place});
  heed_iter_run(&it, GRAIN, row_read, &x->dtype);
}

typedef struct write {
  heed_tensor t[3]; /* addressed, others, places */
  int split;        /* the dimension that threads share out, or -1 */
  heed_row_fn *row;
} write;

static void write_part(void *context, int64_t begin, int64_t end,
                       int worker) {
  (void)worker;
  write *w = context;
  heed_tensor t[3];
  for (int k = 0; k < 3; k++) {
    t[k] = w->t[k];
    if (w->split < 0) continue;
    t[k].shape.dim[w->split] = end - begin;
    t[k].offset += begin * t[k].stride[w->split];
  }
  heed_iter it;
  heed_iter_init(&it, &t[0].shape, 3, (heed_tensor *[]){&t[0], &t[1], &t[2]});
  heed_iter_run(&it, ALONE, w->row, &t[0].dtype);
}

heed_tensor *heed_places_source(const char *op, heed_tensor *from,
                                const heed_tensor *to) {
  if (from->storage != to->storage) return heed_tensor_ref(from);
  heed_tensor *copy = heed_tensor_new(op, from->dtype, &from->shape);
  if (copy) heed_copy(copy, from);
  return copy;
}

void heed_places_write(const heed_places *p, heed_tensor *to,
                       heed_tensor *from, heed_places_how how) {
  static heed_row_fn *const rows[] = {row_put, row_add, row_mul,
                                      row_max, row_min, row_last};
  int64_t n = heed_shape_numel(&p->region), size = 1;
  if (n == 0) return;
  write w = {.t = {see_addressed(p, to), see_elements(p, from),
                   see_places(p)},
             .split = -1, .row = rows[how]};
  if (how == HEED_PLACES_LAST) {
    memset(heed_tensor_data(to), 0, to->storage->bytes); /* none written */
    for (int k = 0; k < 3; k++) reverse(&w.t[k]);
  }
  for (int d = 0; d < p->region.ndim; d++) {
    if (indexed(p, d) || p->region.dim[d] <= size) continue;
    w.split = d;
    size = p->region.dim[d];
  }
  int64_t each = n / size; /* elements of one part of the split */
  int64_t grain = (GRAIN + each - 1) / each;
  if (w.split == p->region.ndim - 1 && grain < LINE) grain = LINE;
  heed_parallel(size, grain, write_part, &w);
}
