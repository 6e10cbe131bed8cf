/*
 * places - reading and writing where an index tensor says. Layer: ops.
 * Read first: places.h.
 *
 * One loop serves all: it runs over the region with three tensors seen in its
 * shape. The addressed one has stride 0 along the indexed dimension, and the
 * place is added instead:
 *
 *     result[i] = x[i + place[i] * step]    to[i + place[i] * step] = from[i]
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

#define GRAIN 16384           /* elements worth a thread */
#define LINE 16               /* elements of a row that threads do not share */
#define ALONE (INT64_MAX / 2) /* a grain that keeps a loop in its thread */

/* -- from positions to places -- */

typedef struct resolve {
  int64_t size;
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
    bool outside = v < 0 || v >= r->size;
    bad = bad || outside;
    to[i * s[0]] = outside ? -1 : v;
  }
  if (bad) atomic_store_explicit(&r->bad, true, memory_order_relaxed);
}

/* Fails with the first position that has no place. */
static bool fail_position(const heed_call *c, int i, const heed_shape *of,
                          int64_t dim, const int64_t *place) {
  const heed_tensor *index = c->in[i];
  int64_t at = index->offset, count = 0, where[HEED_MAX_DIM];
  while (place[count] >= 0) count++;
  for (int d = index->shape.ndim - 1; d >= 0; d--) {
    where[d] = count % index->shape.dim[d];
    count /= index->shape.dim[d];
    at += where[d] * index->stride[d];
  }
  char name[HEED_MAX_DIM * 24 + 32];
  int used = snprintf(name, sizeof name, "%s", heed_input_name(c, i));
  for (int d = 0; d < index->shape.ndim; d++)
    used += snprintf(name + used, sizeof name - (size_t)used, "[%lld]",
                     (long long)where[d] + 1);
  long long size = of->dim[dim];
  long long got = ((const int64_t *)index->storage->data)[at];
  if (size == 0)
    return heed_fail("%s: %s is %lld, but dim %lld of %s %s has no elements",
                     c->op->name, name, got, (long long)dim + 1,
                     heed_input_name(c, 0), heed_shape_text(of));
  return heed_fail("%s: %s must be 1..%lld or -%lld..-1 for dim %lld of %s "
                   "%s, got %lld", c->op->name, name, size, size,
                   (long long)dim + 1, heed_input_name(c, 0),
                   heed_shape_text(of), got);
}

bool heed_places_region(const heed_call *c, int i, const heed_shape *of,
                        int64_t dim, heed_shape *region) {
  const heed_shape *index = &c->in[i]->shape;
  if (!heed_want_dtype(c, i, HEED_INT64)) return false;
  region->ndim = of->ndim - 1 + index->ndim;
  if (region->ndim > HEED_MAX_DIM)
    return heed_fail("%s: %s %s and %s %s give %d dimensions, more than %d "
                     "are not possible", c->op->name, heed_input_name(c, 0),
                     heed_shape_text(of), heed_input_name(c, i),
                     heed_shape_text(index), region->ndim, HEED_MAX_DIM);
  for (int d = 0; d < region->ndim; d++) {
    if (d < dim)
      region->dim[d] = of->dim[d];
    else if (d < dim + index->ndim)
      region->dim[d] = index->dim[d - dim];
    else
      region->dim[d] = of->dim[d - index->ndim + 1];
  }
  return true;
}

bool heed_places_open(heed_places *p, const heed_call *c, int i,
                      const heed_shape *of, int64_t dim, bool rows) {
  heed_tensor *index = c->in[i];
  p->dim = dim;
  p->k = rows ? index->shape.ndim : 1;
  p->region = index->shape;
  if (rows && !heed_places_region(c, i, of, dim, &p->region)) return false;
  p->place = heed_tensor_new(c->op->name, HEED_INT64, &index->shape);
  if (!p->place) return false;
  resolve r = {.size = of->dim[dim]};
  atomic_init(&r.bad, false);
  heed_iter it;
  heed_iter_init(&it, &index->shape, 2, (heed_tensor *[]){p->place, index});
  heed_iter_run(&it, GRAIN, row_resolve, &r);
  if (!atomic_load(&r.bad)) return true;
  fail_position(c, i, of, dim, heed_tensor_data(p->place));
  heed_places_close(p);
  return false;
}

void heed_places_close(heed_places *p) {
  heed_tensor_drop(p->place);
  p->place = NULL;
}

/* -- tensors seen in the shape of the region -- */

/* Is dimension d of the region one that stands for the indexed one? */
static bool indexed(const heed_places *p, int d) {
  return d >= p->dim && d < p->dim + p->k;
}

static heed_tensor see_addressed(const heed_places *p, const heed_tensor *t) {
  heed_tensor seen = *t;
  seen.shape = p->region;
  for (int d = 0; d < p->region.ndim; d++)
    seen.stride[d] = indexed(p, d) ? 0
                                   : t->stride[d < p->dim ? d : d - p->k + 1];
  return seen;
}

static heed_tensor see_places(const heed_places *p) {
  heed_tensor seen = *p->place;
  if (heed_shape_equal(&seen.shape, &p->region)) return seen;
  seen.shape = p->region;
  for (int d = 0; d < p->region.ndim; d++)
    seen.stride[d] = indexed(p, d) ? p->place->stride[d - p->dim] : 0;
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

typedef struct address {
  heed_dtype dtype;
  int64_t step; /* from one place to the next, in elements */
} address;

#define BY_SIZE(dtype, LOOP)            \
  switch (heed_dtype_size(dtype)) {     \
    case 1: LOOP(unsigned char); break; \
    case 4: LOOP(uint32_t); break;      \
    default: LOOP(uint64_t);            \
  }

/* A row at one place without gaps: the start of it, else NULL. */
static char *whole_row(const address *a, char *const *p, const int64_t *s) {
  if (s[0] != 1 || s[1] != 1 || s[2] != 0) return NULL;
  return p[0] + *(const int64_t *)p[2] * a->step *
                    (int64_t)heed_dtype_size(a->dtype);
}

static void row_read(void *context, int64_t n, char *const *p,
                     const int64_t *s) {
  const address *a = context;
  const int64_t *place = (const int64_t *)p[2];
  const char *row = whole_row(a, p, s);
  if (row) {
    memcpy(p[1], row, (size_t)n * heed_dtype_size(a->dtype));
    return;
  }
#define READ(type)                \
  for (int64_t i = 0; i < n; i++) \
  ((type *)p[1])[i * s[1]] =      \
      ((const type *)p[0])[i * s[0] + place[i * s[2]] * a->step]
  BY_SIZE(a->dtype, READ)
#undef READ
}

static void row_put(void *context, int64_t n, char *const *p,
                    const int64_t *s) {
  const address *a = context;
  const int64_t *place = (const int64_t *)p[2];
  char *row = whole_row(a, p, s);
  if (row) {
    memcpy(row, p[1], (size_t)n * heed_dtype_size(a->dtype));
    return;
  }
#define PUT(type)                                        \
  for (int64_t i = 0; i < n; i++)                        \
  ((type *)p[0])[i * s[0] + place[i * s[2]] * a->step] = \
      ((const type *)p[1])[i * s[1]]
  BY_SIZE(a->dtype, PUT)
#undef PUT
}

static void row_add(void *context, int64_t n, char *const *p,
                    const int64_t *s) {
  const address *a = context;
  const int64_t *place = (const int64_t *)p[2];
  char *row = whole_row(a, p, s);
  if (row) {
    heed_kernel.binary[HEED_BINARY_add][a->dtype](n, row, 1, row, 1, p[1], 1);
    return;
  }
#define ADD(type)                                         \
  for (int64_t i = 0; i < n; i++)                         \
  ((type *)p[0])[i * s[0] + place[i * s[2]] * a->step] += \
      ((const type *)p[1])[i * s[1]]
  switch (a->dtype) {
    case HEED_FLOAT32: ADD(float); break;
    case HEED_FLOAT64: ADD(double); break;
    default: ADD(uint64_t); /* integers wrap around */
  }
#undef ADD
}

/* Comes from the end: the first one to find its place unmarked is the last. */
static void row_last(void *context, int64_t n, char *const *p,
                     const int64_t *s) {
  const address *a = context;
  const int64_t *place = (const int64_t *)p[2];
  for (int64_t i = 0; i < n; i++) {
    unsigned char *mark = (unsigned char *)p[0] + i * s[0] +
                          place[i * s[2]] * a->step;
    ((unsigned char *)p[1])[i * s[1]] = !*mark;
    *mark = 1;
  }
}

void heed_places_read(const heed_places *p, heed_tensor *result,
                      heed_tensor *x) {
  heed_tensor from = see_addressed(p, x), place = see_places(p);
  address a = {x->dtype, x->stride[p->dim]};
  heed_iter it;
  heed_iter_init(&it, &p->region, 3, (heed_tensor *[]){&from, result, &place});
  heed_iter_run(&it, GRAIN, row_read, &a);
}

typedef struct write {
  heed_tensor t[3]; /* addressed, others, places */
  int split;        /* the dimension that threads share out, or -1 */
  heed_row_fn *row;
  address a;
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
  heed_iter_run(&it, ALONE, w->row, &w->a);
}

void heed_places_write(const heed_places *p, heed_tensor *to,
                       heed_tensor *from, heed_places_how how) {
  static heed_row_fn *const rows[] = {row_put, row_add, row_last};
  int64_t n = heed_shape_numel(&p->region), size = 1;
  if (n == 0) return;
  write w = {.t = {see_addressed(p, to), see_elements(p, from),
                   see_places(p)},
             .split = -1, .row = rows[how],
             .a = {to->dtype, to->stride[p->dim]}};
  if (how == HEED_PLACES_LAST)
    for (int k = 0; k < 3; k++) reverse(&w.t[k]);
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
