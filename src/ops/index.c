/*
 * index - reading and writing at places that an index tensor names.
 * Layer: ops. Read first: core/op.h, core/iter.h.
 *
 * An index is int64 and counts from 1, or from the end with negative numbers.
 * Two kinds of ops: those that take whole rows (index_select, index_put,
 * index_add) and those with a place for each element (gather, scatter,
 * scatter_add). Both come down to one loop over a region, the elements that
 * are moved, with three tensors seen in its shape: the one that is addressed
 * has stride 0 along the indexed dimension, and the place is added to it:
 *
 *     out[i] = x[i + place[i] * step]      or      out[i + place[i] * step] = x[i]
 *
 * Places may repeat. Writes happen in row-major order of the region and
 * threads share out another dimension, so the result is always the same.
 */
#include <stdatomic.h>
#include <string.h>

#include "base/error.h"
#include "base/parallel.h"
#include "core/iter.h"
#include "kernel/kernel.h"
#include "ops/copy.h"
#include "ops/ops.h"

#define GRAIN 16384           /* elements worth a thread */
#define LINE 16               /* elements of a row that threads may not share */
#define ALONE (INT64_MAX / 2) /* a grain that keeps a loop in its thread */

/* -- places -- */

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
    bool out = v < 0 || v >= r->size;
    bad = bad || out;
    to[i * s[0]] = out ? -1 : v;
  }
  if (bad) atomic_store_explicit(&r->bad, true, memory_order_relaxed);
}

/* Fails with the first place that is out of range. */
static bool fail_place(const heed_call *c, int i, const heed_shape *of,
                       int64_t dim, const int64_t *place) {
  const heed_tensor *index = c->in[i];
  int64_t at = 0, from = index->offset, rest;
  while (place[at] >= 0) at++;
  int64_t where[HEED_MAX_DIM];
  rest = at;
  for (int d = index->shape.ndim - 1; d >= 0; d--) {
    where[d] = rest % index->shape.dim[d];
    rest /= index->shape.dim[d];
    from += where[d] * index->stride[d];
  }
  char name[HEED_MAX_DIM * 24 + 32];
  int used = snprintf(name, sizeof name, "%s", heed_input_name(c, i));
  for (int d = 0; d < index->shape.ndim; d++)
    used += snprintf(name + used, sizeof name - (size_t)used, "[%lld]",
                     (long long)where[d] + 1);
  long long size = of->dim[dim];
  long long got = ((const int64_t *)index->storage->data)[from];
  if (size == 0)
    return heed_fail("%s: %s is %lld, but dim %lld of %s %s has no elements",
                     c->op->name, name, got, (long long)dim + 1,
                     heed_input_name(c, 0), heed_shape_text(of));
  return heed_fail("%s: %s must be 1..%lld or -%lld..-1 for dim %lld of %s "
                   "%s, got %lld", c->op->name, name, size, size,
                   (long long)dim + 1, heed_input_name(c, 0),
                   heed_shape_text(of), got);
}

/* The places that input i names in dimension dim of the shape `of`, counted
   from 0, row-major in the shape of the index; the caller drops them. */
static heed_tensor *resolve_places(const heed_call *c, int i,
                                   const heed_shape *of, int64_t dim) {
  heed_tensor *index = c->in[i];
  heed_tensor *place = heed_tensor_new(c->op->name, HEED_INT64,
                                       &index->shape);
  if (!place) return NULL;
  resolve r = {.size = of->dim[dim]};
  atomic_init(&r.bad, false);
  heed_iter it;
  heed_iter_init(&it, &index->shape, 2, (heed_tensor *[]){place, index});
  heed_iter_run(&it, GRAIN, row_resolve, &r);
  if (!atomic_load(&r.bad)) return place;
  fail_place(c, i, of, dim, heed_tensor_data(place));
  heed_tensor_drop(place);
  return NULL;
}

/* -- tensors seen in the shape of a region -- */

/* t, whose dimension dim the region replaces by k dimensions: all their
   elements are the start of that dimension. */
static heed_tensor see_addressed(const heed_tensor *t,
                                 const heed_shape *region, int64_t dim,
                                 int k) {
  heed_tensor seen = *t;
  seen.shape = *region;
  for (int d = 0; d < region->ndim; d++)
    seen.stride[d] = d < dim       ? t->stride[d]
                     : d < dim + k ? 0
                                   : t->stride[d - k + 1];
  return seen;
}

/* The places of rows: the k dimensions from dim on. */
static heed_tensor see_rows(const heed_tensor *place,
                            const heed_shape *region, int64_t dim) {
  heed_tensor seen = *place;
  seen.shape = *region;
  for (int d = 0; d < region->ndim; d++)
    seen.stride[d] = d >= dim && d < dim + place->shape.ndim
                         ? place->stride[d - dim]
                         : 0;
  return seen;
}

/* t broadcast to the region, or its first corner of that size. */
static heed_tensor see_elements(const heed_tensor *t,
                                const heed_shape *region) {
  heed_tensor seen = *t;
  int extra = region->ndim - t->shape.ndim;
  seen.shape = *region;
  for (int d = 0; d < region->ndim; d++)
    seen.stride[d] = d < extra || t->shape.dim[d - extra] == 1
                         ? 0
                         : t->stride[d - extra];
  return seen;
}

/* The same elements in reverse order. */
static void reverse(heed_tensor *seen) {
  for (int d = 0; d < seen->shape.ndim; d++) {
    seen->offset += (seen->shape.dim[d] - 1) * seen->stride[d];
    seen->stride[d] = -seen->stride[d];
  }
}

/* -- the loops -- */

/* What the rows of a loop need to know of the addressed tensor. */
typedef struct address {
  heed_dtype dtype;
  int64_t step; /* from one place to the next, in elements */
} address;

#define BY_SIZE(dtype, LOOP)             \
  switch (heed_dtype_size(dtype)) {      \
    case 1: LOOP(unsigned char); break;  \
    case 4: LOOP(uint32_t); break;       \
    default: LOOP(uint64_t);             \
  }

/* rows: result, addressed, places */
static void row_pick(void *context, int64_t n, char *const *p,
                     const int64_t *s) {
  const address *a = context;
  const int64_t *place = (const int64_t *)p[2];
  if (s[0] == 1 && s[1] == 1 && s[2] == 0) {
    size_t size = heed_dtype_size(a->dtype);
    memcpy(p[0], p[1] + *place * a->step * (int64_t)size, (size_t)n * size);
    return;
  }
#define PICK(type)                \
  for (int64_t i = 0; i < n; i++) \
  ((type *)p[0])[i * s[0]] =      \
      ((const type *)p[1])[i * s[1] + place[i * s[2]] * a->step]
  BY_SIZE(a->dtype, PICK)
#undef PICK
}

/* rows: addressed, values, places */
static void row_put(void *context, int64_t n, char *const *p,
                    const int64_t *s) {
  const address *a = context;
  const int64_t *place = (const int64_t *)p[2];
  if (s[0] == 1 && s[1] == 1 && s[2] == 0) {
    size_t size = heed_dtype_size(a->dtype);
    memcpy(p[0] + *place * a->step * (int64_t)size, p[1], (size_t)n * size);
    return;
  }
#define PUT(type)                                              \
  for (int64_t i = 0; i < n; i++)                              \
  ((type *)p[0])[i * s[0] + place[i * s[2]] * a->step] =       \
      ((const type *)p[1])[i * s[1]]
  BY_SIZE(a->dtype, PUT)
#undef PUT
}

/* rows: addressed, values, places */
static void row_add(void *context, int64_t n, char *const *p,
                    const int64_t *s) {
  const address *a = context;
  const int64_t *place = (const int64_t *)p[2];
  if (s[2] == 0) {
    char *to = p[0] + *place * a->step * (int64_t)heed_dtype_size(a->dtype);
    heed_kernel.binary[HEED_BINARY_add][a->dtype](n, to, s[0], to, s[0],
                                                  p[1], s[1]);
    return;
  }
#define ADD(type)                                              \
  for (int64_t i = 0; i < n; i++)                              \
  ((type *)p[0])[i * s[0] + place[i * s[2]] * a->step] +=      \
      ((const type *)p[1])[i * s[1]]
  switch (a->dtype) {
    case HEED_FLOAT32: ADD(float); break;
    case HEED_FLOAT64: ADD(double); break;
    default: ADD(uint64_t); /* integers wrap around */
  }
#undef ADD
}

/* rows: addressed flags "written already", result, places; in reverse */
static void row_last(void *context, int64_t n, char *const *p,
                     const int64_t *s) {
  const address *a = context;
  const int64_t *place = (const int64_t *)p[2];
  for (int64_t i = 0; i < n; i++) {
    unsigned char *written = (unsigned char *)p[0] + i * s[0] +
                             place[i * s[2]] * a->step;
    ((unsigned char *)p[1])[i * s[1]] = !*written;
    *written = 1;
  }
}

/* Reads places: any order will do. */
static void run_read(heed_tensor *result, heed_tensor *addressed,
                     heed_tensor *place, int64_t step) {
  address a = {addressed->dtype, step};
  heed_iter it;
  heed_iter_init(&it, &result->shape, 3,
                 (heed_tensor *[]){result, addressed, place});
  heed_iter_run(&it, GRAIN, row_pick, &a);
}

/* A loop that writes places: t holds addressed, values, places. */
typedef struct write {
  heed_tensor t[3];
  int split; /* the dimension that threads share out */
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

/* Writes at places that lie along the k dimensions from dim on. */
static void run_write(write *w, int64_t dim, int k) {
  const heed_shape *region = &w->t[0].shape;
  int64_t n = heed_shape_numel(region), size = 1;
  if (n == 0) return;
  w->split = -1;
  for (int d = 0; d < region->ndim; d++) {
    if ((d >= dim && d < dim + k) || region->dim[d] <= size) continue;
    w->split = d;
    size = region->dim[d];
  }
  int64_t grain = (GRAIN * size + n - 1) / n;
  if (w->split == region->ndim - 1 && grain < LINE) grain = LINE;
  heed_parallel(size, grain, write_part, w);
}

/* -- rows: index_select, index_put, index_add -- */

/* The shape of x with dimension dim replaced by those of the index. */
static bool rows_region(const heed_call *c, const heed_shape *x, int64_t dim,
                        heed_shape *region) {
  const heed_shape *index = &c->in[1]->shape;
  if (!heed_want_dtype(c, 1, HEED_INT64)) return false;
  region->ndim = x->ndim - 1 + index->ndim;
  if (region->ndim > HEED_MAX_DIM)
    return heed_fail("%s: %s %s and index %s give %d dimensions, more than "
                     "%d are not possible", c->op->name,
                     heed_input_name(c, 0), heed_shape_text(x),
                     heed_shape_text(index), region->ndim, HEED_MAX_DIM);
  for (int d = 0; d < region->ndim; d++)
    region->dim[d] = d < dim                 ? x->dim[d]
                     : d < dim + index->ndim ? index->dim[d - dim]
                                             : x->dim[d - index->ndim + 1];
  return true;
}

/* to (a tensor with dimension dim) takes `from` in rows, by row_put or
   row_add. */
static void write_rows(heed_tensor *to, heed_tensor *from,
                       const heed_tensor *place, const heed_shape *region,
                       int64_t dim, heed_row_fn *row) {
  int k = place->shape.ndim;
  write w = {.t = {see_addressed(to, region, dim, k),
                   see_elements(from, region),
                   see_rows(place, region, dim)},
             .row = row, .a = {to->dtype, to->stride[dim]}};
  run_write(&w, dim, k);
}

/***
The entries of one dimension that the index names, in its order.
@function index_select
@param x tensor
@param index int64 tensor of any shape: positions, which may repeat and may
count from the end
@param dim dimension, 1 by default
@return tensor like x with that dimension replaced by those of the index
@raise when index is not int64 or a position is out of range
@usage heed.tensor{10, 20, 30}:index_select(heed.tensor{3, 1}) --> 30 10
*/
static bool index_select_check(heed_call *c) {
  heed_shape region;
  heed_tensor *x = c->in[0];
  if (!heed_axis(c, 0, &c->attr[0].i) ||
      !rows_region(c, &x->shape, c->attr[0].i, &region))
    return false;
  heed_out(c, 0, x->dtype, &region);
  return true;
}
static bool index_select_fwd(heed_call *c) {
  heed_tensor *x = c->in[0], *y = c->out[0];
  int64_t dim = c->attr[0].i;
  heed_tensor *place = resolve_places(c, 1, &x->shape, dim);
  if (!place) return false;
  heed_tensor from = see_addressed(x, &y->shape, dim, place->shape.ndim);
  heed_tensor rows = see_rows(place, &y->shape, dim);
  run_read(y, &from, &rows, x->stride[dim]);
  heed_tensor_drop(place);
  return true;
}
/* Zeros in the shape of x, with g added at the places. */
static heed_tensor *spread(heed_rule_call *r, heed_op_id op, heed_tensor *g,
                           heed_tensor *index, int64_t dim) {
  heed_attr attr[2] = {{.list = *heed_in_shape(r, 0)}, {.i = dim}};
  return heed_do2_with(r, op, g, index, attr);
}
static bool index_select_bwd(heed_rule_call *r) {
  return heed_give(r, 0, spread(r, HEED_OP_index_select_bwd, r->grad[0],
                                heed_in(r, 1), r->attr[0].i));
}
const heed_rule heed_rule_index_select = {
    .check = index_select_check, .forward = index_select_fwd,
    .backward = index_select_bwd, .keep = {0, HEED_NEED(0)}};

static bool spread_check(heed_call *c) {
  heed_out(c, 0, c->in[0]->dtype, &c->attr[0].list);
  return true;
}
static bool index_select_bwd_fwd(heed_call *c) {
  heed_tensor *g = c->in[0], *y = c->out[0];
  int64_t dim = c->attr[1].i;
  heed_tensor *place = resolve_places(c, 1, &y->shape, dim);
  if (!place) return false;
  memset(heed_tensor_data(y), 0, y->storage->bytes);
  write_rows(y, g, place, &g->shape, dim, row_add);
  heed_tensor_drop(place);
  return true;
}
static bool index_select_bwd_bwd(heed_rule_call *r) {
  return heed_give(r, 0, heed_do2_with(r, HEED_OP_index_select, r->grad[0],
                                       heed_in(r, 1), &r->attr[1]));
}
const heed_rule heed_rule_index_select_bwd = {
    .check = spread_check, .forward = index_select_bwd_fwd,
    .backward = index_select_bwd_bwd, .keep = {0, HEED_NEED(0)}};

/* A copy of x with rows of dimension 1 replaced by `value`, which broadcasts
   and is cast to the dtype of x. Of rows that repeat the last one stays. What
   `t[index] = value` means. */
static bool index_put_check(heed_call *c) {
  heed_tensor *x = c->in[0], *value = c->in[2];
  heed_shape region, both;
  if (!heed_want_ndim(c, 0, 1) || !rows_region(c, &x->shape, 0, &region))
    return false;
  if (!heed_shape_broadcast(&value->shape, &region, &both) ||
      !heed_shape_equal(&both, &region))
    return heed_fail("%s: value %s cannot be broadcast to %s, the rows that "
                     "index %s takes from x %s", c->op->name,
                     heed_shape_text(&value->shape),
                     heed_shape_text(&region),
                     heed_shape_text(&c->in[1]->shape),
                     heed_shape_text(&x->shape));
  heed_out_like(c, 0, x);
  return true;
}
static bool index_put_fwd(heed_call *c) {
  heed_tensor *x = c->in[0], *y = c->out[0];
  heed_shape region;
  heed_tensor *place = resolve_places(c, 1, &x->shape, 0);
  if (!place || !rows_region(c, &x->shape, 0, &region)) return false;
  heed_tensor *value = heed_tensor_ref(c->in[2]);
  if (value->dtype != x->dtype) {
    heed_tensor_drop(value);
    value = heed_tensor_new(c->op->name, x->dtype, &c->in[2]->shape);
    if (value) heed_copy(value, c->in[2]);
  }
  if (value) {
    heed_copy(y, x);
    write_rows(y, value, place, &region, 0, row_put);
  }
  heed_tensor_drop(place);
  heed_tensor_drop(value);
  return value != NULL;
}
/* Which entries of the index are the last ones to name their place? */
static heed_tensor *last_ones(heed_rule_call *r, heed_tensor *index,
                              int64_t dim) {
  heed_attr attr[2] = {{.list = *heed_in_shape(r, 0)}, {.i = dim}};
  return heed_do1_with(r, HEED_OP_last_writer, index, attr);
}
/* g where `test` holds, else 0. */
static heed_tensor *only(heed_rule_call *r, heed_tensor *test,
                         heed_tensor *g) {
  heed_tensor *zero = heed_number(r, 0);
  if (!test || !g || !zero) return NULL;
  return heed_do(r, heed_op_find("where"), (heed_tensor *[]){test, g, zero},
                 3, NULL);
}
static heed_tensor *index_put_value_grad(heed_rule_call *r) {
  heed_tensor *index = heed_in(r, 1);
  if (!index) return NULL;
  heed_attr flat = {.list = {1, {-1}}}, rows = {.list = index->shape};
  if (heed_tensor_numel(index) == 0) flat.list.dim[0] = 0;
  for (int d = 1; d < heed_in_shape(r, 0)->ndim; d++)
    rows.list.dim[rows.list.ndim++] = 1;
  heed_attr first[2] = {
      {.list = {1, {heed_in_shape(r, 0)->dim[0]}}}, {.i = 0}};
  heed_tensor *last = heed_do1_with(
      r, HEED_OP_last_writer,
      heed_do1_with(r, HEED_OP_reshape, index, &flat), first);
  last = heed_do1_with(r, HEED_OP_reshape, last, &rows);
  heed_attr dim = {.i = 0};
  return only(r, last, heed_do2_with(r, HEED_OP_index_select, r->grad[0],
                                     index, &dim));
}
static bool index_put_bwd(heed_rule_call *r) {
  if (heed_needs(r, 0)) {
    heed_tensor *in[3] = {r->grad[0], heed_in(r, 1), heed_number(r, 0)};
    if (!heed_give(r, 0, heed_do(r, heed_op_find("index_put"), in, 3, NULL)))
      return false;
  }
  return !heed_needs(r, 2) || heed_give(r, 2, index_put_value_grad(r));
}
const heed_rule heed_rule_index_put = {
    .check = index_put_check, .forward = index_put_fwd,
    .backward = index_put_bwd, .keep = {0, HEED_ALWAYS}};

static bool want_number(const heed_call *c) {
  return c->in[0]->dtype != HEED_BOOL ||
         heed_fail("%s: x and source must be numbers, got %s", c->op->name,
                   heed_tensor_text(c->in[0]));
}

/***
x with the entries of source added to those of one dimension that the index
names; where positions repeat, all of them count.
@function index_add
@param x tensor
@param dim dimension
@param index int64 tensor of any shape: positions; may count from the end
@param source tensor like x with that dimension replaced by those of the index
@return tensor like x, in the common dtype of x and source
@raise when the shapes do not fit or a position is out of range
@usage heed.zeros(3):index_add(1, heed.tensor{1, 1}, heed.tensor{5, 6})
--> 11 0 0
*/
static bool index_add_check(heed_call *c) {
  heed_tensor *x = c->in[0], *source = c->in[2];
  heed_shape region;
  if (!heed_axis(c, 0, &c->attr[0].i) || !want_number(c) ||
      !rows_region(c, &x->shape, c->attr[0].i, &region))
    return false;
  if (!heed_shape_equal(&source->shape, &region))
    return heed_fail("index_add: source must be %s for x %s and index %s, "
                     "got %s", heed_shape_text(&region),
                     heed_shape_text(&x->shape),
                     heed_shape_text(&c->in[1]->shape),
                     heed_shape_text(&source->shape));
  heed_out_like(c, 0, x);
  return true;
}
static bool index_add_fwd(heed_call *c) {
  heed_tensor *x = c->in[0], *source = c->in[2];
  int64_t dim = c->attr[0].i;
  heed_tensor *place = resolve_places(c, 1, &x->shape, dim);
  if (!place) return false;
  heed_copy(c->out[0], x);
  write_rows(c->out[0], source, place, &source->shape, dim, row_add);
  heed_tensor_drop(place);
  return true;
}
static bool index_add_bwd(heed_rule_call *r) {
  if (heed_needs(r, 0) && !heed_give(r, 0, r->grad[0])) return false;
  return !heed_needs(r, 2) ||
         heed_give(r, 2, heed_do2_with(r, HEED_OP_index_select, r->grad[0],
                                       heed_in(r, 1), r->attr));
}
const heed_rule heed_rule_index_add = {
    .check = index_add_check, .forward = index_add_fwd,
    .backward = index_add_bwd, .keep = {0, HEED_NEED(2)}, .promote = true,
    .fixed = HEED_NEED(1)};

/* -- elements: gather, scatter, scatter_add -- */

/* The index must fit into tensor i; dimension `free` of it may be smaller. */
static bool want_fit(const heed_call *c, int i, int64_t free) {
  const heed_shape *index = &c->in[1]->shape, *t = &c->in[i]->shape;
  bool fits = index->ndim == t->ndim;
  for (int d = 0; fits && d < t->ndim; d++)
    fits = d == free || index->dim[d] <= t->dim[d];
  if (fits) return true;
  if (index->ndim != t->ndim)
    return heed_fail("%s: index %s must have as many dimensions as %s %s",
                     c->op->name, heed_shape_text(index),
                     heed_input_name(c, i), heed_shape_text(t));
  if (free >= 0)
    return heed_fail("%s: index %s must be no larger than %s %s, but for dim "
                     "%lld", c->op->name, heed_shape_text(index),
                     heed_input_name(c, i), heed_shape_text(t),
                     (long long)free + 1);
  return heed_fail("%s: index %s must be no larger than %s %s", c->op->name,
                   heed_shape_text(index), heed_input_name(c, i),
                   heed_shape_text(t));
}

static bool elements_check(heed_call *c) {
  return heed_axis(c, 0, &c->attr[0].i) &&
         heed_want_dtype(c, 1, HEED_INT64) && want_fit(c, 0, c->attr[0].i);
}

/* Zeros or x in y, then `from` at the places. */
static void write_elements(heed_tensor *y, heed_tensor *from,
                           heed_tensor *place, int64_t dim,
                           heed_row_fn *row) {
  const heed_shape *region = &place->shape;
  write w = {.t = {see_addressed(y, region, dim, 1),
                   see_elements(from, region), *place},
             .row = row, .a = {y->dtype, y->stride[dim]}};
  run_write(&w, dim, 1);
}

/***
For each place of the index the element of x there whose position in one
dimension is what the index says: out[i][j] = x[i][index[i][j]] for dim 2.
@function gather
@param x tensor
@param dim dimension
@param index int64 tensor with as many dimensions as x and, but for dim, no
larger; positions may count from the end
@return tensor of the shape of the index
@raise when the shapes do not fit or a position is out of range
@usage heed.tensor{{1, 2}, {3, 4}}:gather(2, heed.tensor{{2}, {1}}) --> 2, 3
*/
static bool gather_check(heed_call *c) {
  if (!elements_check(c)) return false;
  heed_out(c, 0, c->in[0]->dtype, &c->in[1]->shape);
  return true;
}
static bool gather_fwd(heed_call *c) {
  heed_tensor *x = c->in[0], *y = c->out[0];
  int64_t dim = c->attr[0].i;
  heed_tensor *place = resolve_places(c, 1, &x->shape, dim);
  if (!place) return false;
  heed_tensor from = see_addressed(x, &y->shape, dim, 1);
  run_read(y, &from, place, x->stride[dim]);
  heed_tensor_drop(place);
  return true;
}
static bool gather_bwd(heed_rule_call *r) {
  return heed_give(r, 0, spread(r, HEED_OP_gather_bwd, r->grad[0],
                                heed_in(r, 1), r->attr[0].i));
}
const heed_rule heed_rule_gather = {
    .check = gather_check, .forward = gather_fwd, .backward = gather_bwd,
    .keep = {0, HEED_NEED(0)}};

static bool gather_bwd_fwd(heed_call *c) {
  heed_tensor *y = c->out[0];
  int64_t dim = c->attr[1].i;
  heed_tensor *place = resolve_places(c, 1, &y->shape, dim);
  if (!place) return false;
  memset(heed_tensor_data(y), 0, y->storage->bytes);
  write_elements(y, c->in[0], place, dim, row_add);
  heed_tensor_drop(place);
  return true;
}
static bool gather_bwd_bwd(heed_rule_call *r) {
  return heed_give(r, 0, heed_do2_with(r, HEED_OP_gather, r->grad[0],
                                       heed_in(r, 1), &r->attr[1]));
}
const heed_rule heed_rule_gather_bwd = {
    .check = spread_check, .forward = gather_bwd_fwd,
    .backward = gather_bwd_bwd, .keep = {0, HEED_NEED(0)}};

static bool last_writer_check(heed_call *c) {
  heed_out(c, 0, HEED_BOOL, &c->in[0]->shape);
  return true;
}
static bool last_writer_fwd(heed_call *c) {
  int64_t dim = c->attr[1].i;
  heed_tensor *place = resolve_places(c, 0, &c->attr[0].list, dim);
  if (!place) return false;
  heed_tensor *written = heed_tensor_new(c->op->name, HEED_BOOL,
                                         &c->attr[0].list);
  if (written) {
    memset(heed_tensor_data(written), 0, written->storage->bytes);
    const heed_shape *region = &place->shape;
    write w = {.t = {see_addressed(written, region, dim, 1), *c->out[0],
                     *place},
               .row = row_last, .a = {HEED_BOOL, written->stride[dim]}};
    for (int k = 0; k < 3; k++) reverse(&w.t[k]);
    run_write(&w, dim, 1);
  }
  heed_tensor_drop(written);
  heed_tensor_drop(place);
  return written != NULL;
}
const heed_rule heed_rule_last_writer = {.check = last_writer_check,
                                         .forward = last_writer_fwd};

/* What scatter and scatter_add share: source is a number or as large as the
   index, at least. */
static bool scatter_check(heed_call *c) {
  if (!elements_check(c)) return false;
  if (c->in[2]->shape.ndim > 0 && !want_fit(c, 2, -1)) return false;
  heed_out_like(c, 0, c->in[0]);
  return true;
}
static bool scatter_run(heed_call *c, heed_row_fn *row) {
  heed_tensor *x = c->in[0], source = *c->in[2];
  int64_t dim = c->attr[0].i;
  heed_tensor *place = resolve_places(c, 1, &x->shape, dim);
  if (!place) return false;
  heed_copy(c->out[0], x);
  write_elements(c->out[0], &source, place, dim, row);
  heed_tensor_drop(place);
  return true;
}

/* The gradient of source from that of its corner that was used: zeros in the
   rest. */
static heed_tensor *grow(heed_rule_call *r, heed_tensor *g) {
  const heed_shape *source = heed_in_shape(r, 2);
  if (!g || source->ndim == 0) return g;
  if (heed_tensor_numel(g) == 0) return heed_grad_zeros(r, 2);
  for (int d = 0; g && d < source->ndim; d++) {
    if (g->shape.dim[d] == source->dim[d]) continue;
    heed_attr attr[5] = {{.list = g->shape}, {.i = d}, {.i = 0},
                         {.i = g->shape.dim[d] - 1}, {.i = 1}};
    attr[0].list.dim[d] = source->dim[d];
    g = heed_do1_with(r, HEED_OP_slice_bwd, g, attr);
  }
  return g;
}

/***
x with elements of source written to the places that the index names in one
dimension: out[i][index[i][j]] = source[i][j] for dim 2. Of places that repeat
the last one, in row-major order, stays.
@function scatter
@param x tensor
@param dim dimension
@param index int64 tensor with as many dimensions as x and, but for dim, no
larger; positions may count from the end
@param source number, or tensor no smaller than the index in any dimension
@return tensor like x, in the common dtype of x and source
@raise when the shapes do not fit or a position is out of range
@usage heed.zeros(2, 3):scatter(2, heed.tensor{{3}, {1}}, 1)
--> 0 0 1, 1 0 0
*/
static bool scatter_fwd(heed_call *c) { return scatter_run(c, row_put); }
static bool scatter_bwd(heed_rule_call *r) {
  heed_tensor *g = r->grad[0], *index = heed_in(r, 1);
  if (heed_needs(r, 0)) {
    heed_tensor *in[3] = {g, index, heed_number(r, 0)};
    if (!heed_give(r, 0, heed_do(r, heed_op_find("scatter"), in, 3,
                                 r->attr)))
      return false;
  }
  if (!heed_needs(r, 2)) return true;
  heed_tensor *at = heed_do2_with(r, HEED_OP_gather, g, index, r->attr);
  heed_tensor *last = last_ones(r, index, r->attr[0].i);
  return heed_give(r, 2, grow(r, only(r, last, at)));
}
const heed_rule heed_rule_scatter = {
    .check = scatter_check, .forward = scatter_fwd, .backward = scatter_bwd,
    .keep = {0, HEED_ALWAYS}, .promote = true, .fixed = HEED_NEED(1)};

/***
x with elements of source added at the places that the index names in one
dimension: out[i][index[i][j]] += source[i][j] for dim 2.
@function scatter_add
@param x tensor
@param dim dimension
@param index int64 tensor with as many dimensions as x and, but for dim, no
larger; positions may count from the end
@param source number, or tensor no smaller than the index in any dimension
@return tensor like x, in the common dtype of x and source
@raise when the shapes do not fit or a position is out of range
@usage heed.zeros(3):scatter_add(1, heed.tensor{1, 1, 3}, 1) --> 2 0 1
*/
static bool scatter_add_check(heed_call *c) {
  return want_number(c) && scatter_check(c);
}
static bool scatter_add_fwd(heed_call *c) { return scatter_run(c, row_add); }
static bool scatter_add_bwd(heed_rule_call *r) {
  heed_tensor *g = r->grad[0];
  if (heed_needs(r, 0) && !heed_give(r, 0, g)) return false;
  return !heed_needs(r, 2) ||
         heed_give(r, 2, grow(r, heed_do2_with(r, HEED_OP_gather, g,
                                               heed_in(r, 1), r->attr)));
}
const heed_rule heed_rule_scatter_add = {
    .check = scatter_add_check, .forward = scatter_add_fwd,
    .backward = scatter_add_bwd, .keep = {0, HEED_NEED(2)}, .promote = true,
    .fixed = HEED_NEED(1)};
