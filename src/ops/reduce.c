/*
 * reduce - one value from many, over some or all dimensions. Layer: ops.
 * Read first: core/op.h, kernel/kernel.h (reductions).
 *
 * Dimensions that are reduced and dimensions that are kept are each joined
 * where they lie one behind the other. Then there are two ways: where memory
 * runs along a reduced dimension, each result takes in rows; where it runs
 * along a kept one, a block of results takes in columns. A single large
 * result is cut into parts of fixed length, so that the order of a sum does
 * not depend on the threads.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "kernel/kernel.h"
#include "ops/copy.h"
#include "ops/ops.h"

#define PART 65536  /* elements of a part of a large result */
#define COLUMNS 256 /* results of a block */
#define GRAIN 16384 /* elements worth a thread */

typedef struct axis {
  int64_t size, stride; /* in elements */
} axis;

typedef struct plan {
  heed_reduction how;
  heed_dtype dtype; /* of the elements */
  size_t size, room; /* bytes of an element, of an accumulator */
  const char *data;
  int nkeep, nover;
  axis keep[HEED_MAX_DIM], over[HEED_MAX_DIM];
  int64_t results, length; /* kept and reduced elements */
  char *acc;
} plan;

static void add_axis(axis *list, int *n, int64_t size, int64_t stride) {
  if (size == 1) return;
  if (*n > 0 && list[*n - 1].stride == size * stride)
    list[*n - 1] = (axis){list[*n - 1].size * size, stride};
  else
    list[(*n)++] = (axis){size, stride};
}

static void plan_init(plan *p, heed_reduction how, const heed_tensor *x,
                      const bool *on) {
  *p = (plan){.how = how, .dtype = x->dtype,
              .size = heed_dtype_size(x->dtype),
              .data = heed_tensor_data(x), .results = 1, .length = 1};
  for (int d = 0; d < x->shape.ndim; d++) {
    int64_t n = x->shape.dim[d];
    if (on[d]) p->length *= n;
    else p->results *= n;
    add_axis(on[d] ? p->over : p->keep, on[d] ? &p->nover : &p->nkeep, n,
             x->stride[d]);
  }
  /* at least one axis each, so that loops have an innermost one */
  if (!p->nkeep) p->keep[p->nkeep++] = (axis){p->results, 0};
  if (!p->nover) p->over[p->nover++] = (axis){p->length, 0};
}

/* The dtype of an accumulator. */
static heed_dtype acc_dtype(heed_reduction how, heed_dtype dtype) {
  switch (how) {
    case HEED_REDUCE_SUM:
    case HEED_REDUCE_PROD:
      return heed_dtype_is_float(dtype) ? HEED_FLOAT64 : HEED_INT64;
    case HEED_REDUCE_ANY:
    case HEED_REDUCE_ALL: return HEED_BOOL;
    default: return dtype;
  }
}

/* Where position `index` of the first n axes lies, in elements. */
static int64_t offset_of(const axis *list, int n, int64_t index) {
  int64_t at = 0;
  for (int d = n - 1; d >= 0; d--) {
    at += index % list[d].size * list[d].stride;
    index /= list[d].size;
  }
  return at;
}

static void start_acc(const plan *p, const char *first, char *acc) {
  switch (p->how) {
    case HEED_REDUCE_MAX:
    case HEED_REDUCE_MIN: memcpy(acc, first, p->size); break;
    case HEED_REDUCE_SUM: memset(acc, 0, p->room); break;
    case HEED_REDUCE_PROD:
      if (heed_dtype_is_float(p->dtype)) *(double *)acc = 1;
      else *(int64_t *)acc = 1;
      break;
    default: *acc = p->how == HEED_REDUCE_ALL;
  }
}

/* Takes elements [begin, end) of a result, row-major over the reduced axes,
   into acc. */
static void take_rows(const plan *p, const char *from, int64_t begin,
                      int64_t end, char *acc) {
  heed_loop_reduce *loop = heed_kernel.reduce[p->how][p->dtype];
  const axis *last = &p->over[p->nover - 1];
  while (begin < end) {
    int64_t column = begin % last->size, n = last->size - column;
    if (n > end - begin) n = end - begin;
    int64_t at = offset_of(p->over, p->nover - 1, begin / last->size) +
                 column * last->stride;
    loop(n, from + at * (int64_t)p->size, last->stride, acc);
    begin += n;
  }
}

static void run_rows(void *context, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const plan *p = context;
  for (int64_t i = begin; i < end; i++) {
    const char *from = p->data + offset_of(p->keep, p->nkeep, i) *
                                     (int64_t)p->size;
    char *acc = p->acc + (size_t)i * p->room;
    start_acc(p, from, acc);
    take_rows(p, from, 0, p->length, acc);
  }
}

/* One part of the only result. */
static void run_parts(void *context, int64_t begin, int64_t end,
                      int worker) {
  (void)worker;
  const plan *p = context;
  for (int64_t i = begin; i < end; i++) {
    int64_t first = i * PART, last = first + PART;
    char *acc = p->acc + (size_t)i * p->room;
    int64_t at = offset_of(p->over, p->nover, first);
    start_acc(p, p->data + at * (int64_t)p->size, acc);
    take_rows(p, p->data, first, last < p->length ? last : p->length, acc);
  }
}

/* A block of results, numbered within the kept axes but the last. */
static void run_columns(void *context, int64_t begin, int64_t end,
                        int worker) {
  (void)worker;
  const plan *p = context;
  const axis *keep = &p->keep[p->nkeep - 1], *over = &p->over[p->nover - 1];
  heed_loop_columns *loop = heed_kernel.columns[p->how][p->dtype];
  int64_t blocks = (keep->size + COLUMNS - 1) / COLUMNS;
  int64_t outer = over->size ? p->length / over->size : 0;
  for (int64_t i = begin; i < end; i++) {
    int64_t row = i / blocks, first = i % blocks * COLUMNS;
    int64_t n = keep->size - first < COLUMNS ? keep->size - first : COLUMNS;
    const char *from =
        p->data + (offset_of(p->keep, p->nkeep - 1, row) +
                   first * keep->stride) * (int64_t)p->size;
    char *acc = p->acc + (size_t)(row * keep->size + first) * p->room;
    for (int64_t j = 0; j < n; j++)
      start_acc(p, from + j * keep->stride * (int64_t)p->size,
                acc + (size_t)j * p->room);
    for (int64_t o = 0; o < outer; o++)
      loop(over->size, n,
           from + offset_of(p->over, p->nover - 1, o) * (int64_t)p->size,
           over->stride, keep->stride, acc);
  }
}

static bool run_split(plan *p, char *result) {
  int64_t parts = (p->length + PART - 1) / PART;
  p->acc = heed_mem_alloc((size_t)parts * p->room);
  if (!p->acc) return false;
  heed_parallel(parts, 1, run_parts, p);
  memcpy(result, p->acc, p->room);
  heed_dtype dtype = acc_dtype(p->how, p->dtype);
  heed_kernel.reduce[p->how][dtype](parts - 1, p->acc + p->room, 1, result);
  heed_mem_free(p->acc, (size_t)parts * p->room);
  return true;
}

/* Fills acc, which has room for every result. */
static bool run_plan(plan *p, char *acc) {
  p->acc = acc;
  int64_t stride_keep = llabs(p->keep[p->nkeep - 1].stride);
  int64_t stride_over = llabs(p->over[p->nover - 1].stride);
  if (p->results == 1 && p->length > PART) return run_split(p, acc);
  int64_t work = p->length > 0 ? p->length : 1;
  if (p->results > 1 && p->length > 0 && stride_keep < stride_over) {
    int64_t n = p->keep[p->nkeep - 1].size;
    int64_t blocks = (n + COLUMNS - 1) / COLUMNS;
    heed_parallel(p->results / n * blocks,
                  GRAIN / (work * (n < COLUMNS ? n : COLUMNS)) + 1,
                  run_columns, p);
  } else {
    heed_parallel(p->results, GRAIN / work + 1, run_rows, p);
  }
  return true;
}

/* Reduces x over the axes `on` into a new contiguous array of accumulators,
   as a tensor of the kept sizes. */
static heed_tensor *reduce(const char *op, heed_reduction how, heed_tensor *x,
                           const bool *on) {
  plan p;
  plan_init(&p, how, x, on);
  heed_dtype dtype = acc_dtype(how, x->dtype);
  p.room = heed_dtype_size(dtype);
  heed_tensor *acc = heed_tensor_new(op, dtype,
                                     &(heed_shape){1, {p.results}});
  if (acc && !run_plan(&p, heed_tensor_data(acc))) {
    heed_tensor_drop(acc);
    return NULL;
  }
  return acc;
}

/* -- shared by the ops; attr[0] is dim, attr[1] keepdim -- */

static void reduced_shape(const heed_tensor *x, const bool *on, bool keep,
                          heed_shape *shape) {
  shape->ndim = 0;
  for (int d = 0; d < x->shape.ndim; d++) {
    if (!on[d]) shape->dim[shape->ndim++] = x->shape.dim[d];
    else if (keep) shape->dim[shape->ndim++] = 1;
  }
}

static int64_t count(const heed_tensor *x, const bool *on) {
  int64_t n = 1;
  for (int d = 0; d < x->shape.ndim; d++)
    if (on[d]) n *= x->shape.dim[d];
  return n;
}

static bool reduce_check(heed_call *c, heed_dtype dtype) {
  bool on[HEED_MAX_DIM];
  heed_shape shape;
  if (!heed_axes(c, 0, &c->attr[0].list, on)) return false;
  reduced_shape(c->in[0], on, c->attr[1].i, &shape);
  heed_out(c, 0, dtype, &shape);
  return true;
}

/* Casts the accumulators into the result, each times `scale`. */
static bool reduce_fwd(heed_call *c, heed_reduction how, double scale) {
  bool on[HEED_MAX_DIM];
  if (!heed_axes(c, 0, &c->attr[0].list, on)) return false;
  heed_tensor *acc = reduce(c->op->name, how, c->in[0], on);
  if (!acc) return false;
  double *sum = heed_tensor_data(acc);
  int64_t n = heed_tensor_numel(acc);
  if (scale != 1)
    for (int64_t i = 0; i < n; i++) sum[i] *= scale;
  heed_tensor flat = *c->out[0];
  flat.shape = acc->shape;
  flat.stride[0] = 1;
  heed_copy(&flat, acc);
  heed_tensor_drop(acc);
  return true;
}

/* t, a result of a reduction, with the reduced dimensions put back as 1. */
static heed_tensor *put_back(heed_rule_call *r, heed_tensor *t) {
  const heed_shape *x = heed_in_shape(r, 0);
  const heed_shape *dims = &r->attr[0].list;
  heed_attr shape = {.list = *x};
  for (int d = 0; d < x->ndim; d++)
    if (dims->ndim < 0) shape.list.dim[d] = 1;
  for (int k = 0; k < dims->ndim; k++)
    shape.list.dim[dims->dim[k] < 0 ? dims->dim[k] + x->ndim
                                    : dims->dim[k]] = 1;
  return heed_do1_with(r, HEED_OP_reshape, t, &shape);
}

static heed_tensor *stretch(heed_rule_call *r, heed_tensor *t) {
  return heed_do1_with(r, HEED_OP_expand, t,
                       &(heed_attr){.list = *heed_in_shape(r, 0)});
}

static int64_t reduced_count(heed_rule_call *r) {
  const heed_shape *x = heed_in_shape(r, 0), *y = &r->node->out[0].shape;
  int64_t n = heed_shape_numel(x), m = heed_shape_numel(y);
  return m > 0 ? n / m : 0;
}

/***
The sum over some or all dimensions. Floats are added up in double precision;
integers and bools give int64.
@function sum
@param x tensor
@param dim one dimension or a list; all by default
@param keepdim keep the reduced dimensions with size 1; false by default
@return tensor without the reduced dimensions
@raise when a dimension is out of range
@usage heed.ones(2, 3):sum(2) --> 3 3
*/
static bool sum_check(heed_call *c) {
  heed_dtype dtype = c->in[0]->dtype;
  return reduce_check(c, heed_dtype_is_float(dtype) ? dtype : HEED_INT64);
}
static bool sum_fwd(heed_call *c) {
  return reduce_fwd(c, HEED_REDUCE_SUM, 1);
}
static bool sum_bwd(heed_rule_call *r) {
  return heed_give(r, 0, stretch(r, put_back(r, r->grad[0])));
}
const heed_rule heed_rule_sum = {
    .check = sum_check, .forward = sum_fwd, .backward = sum_bwd};

/***
The mean over some or all dimensions; NaN over no elements.
@function mean
@param x tensor; integers are taken as float32
@param dim one dimension or a list; all by default
@param keepdim keep the reduced dimensions with size 1; false by default
@return float tensor without the reduced dimensions
@raise when a dimension is out of range
@usage heed.tensor{1, 2, 6}:mean() --> 3
*/
static bool mean_check(heed_call *c) {
  return reduce_check(c, c->in[0]->dtype);
}
static bool mean_fwd(heed_call *c) {
  bool on[HEED_MAX_DIM];
  if (!heed_axes(c, 0, &c->attr[0].list, on)) return false;
  int64_t n = count(c->in[0], on);
  return reduce_fwd(c, HEED_REDUCE_SUM, n ? 1.0 / (double)n : NAN);
}
static bool mean_bwd(heed_rule_call *r) {
  heed_tensor *n = heed_number(r, (double)reduced_count(r));
  heed_tensor *g = heed_do2(r, HEED_OP_div, r->grad[0], n);
  return heed_give(r, 0, stretch(r, put_back(r, g)));
}
const heed_rule heed_rule_mean = {
    .check = mean_check, .forward = mean_fwd, .backward = mean_bwd,
    .promote = true, .to_float = true};

/***
The product over some or all dimensions.
@function prod
@param x tensor
@param dim one dimension or a list; all by default
@param keepdim keep the reduced dimensions with size 1; false by default
@return tensor without the reduced dimensions; int64 for integers and bools
@raise when a dimension is out of range
@usage heed.tensor{1, 2, 3}:prod() --> 6
*/
static bool prod_fwd(heed_call *c) {
  return reduce_fwd(c, HEED_REDUCE_PROD, 1);
}
static bool prod_bwd(heed_rule_call *r) {
  return heed_give(r, 0, heed_do2_with(r, HEED_OP_prod_bwd, heed_in(r, 0),
                                       put_back(r, r->grad[0]), r->attr));
}
const heed_rule heed_rule_prod = {
    .check = sum_check, .forward = prod_fwd, .backward = prod_bwd,
    .keep = {HEED_ALWAYS}, .fused = true};

/* dx_i = g * product of the others: products of what lies before and behind,
   so that zeros need no division. */
static bool prod_bwd_check(heed_call *c) {
  heed_out_like(c, 0, c->in[0]);
  return true;
}
static bool prod_bwd_fwd(heed_call *c) {
  bool on[HEED_MAX_DIM];
  heed_tensor *x = c->in[0], *y = c->out[0];
  if (!heed_axes(c, 0, &c->attr[0].list, on)) return false;
  plan from, to, scale;
  heed_tensor g = *c->in[1];
  g.shape = x->shape;
  for (int d = 0; d < x->shape.ndim; d++)
    if (on[d]) g.stride[d] = 0;
  /* one order for all three: kept axes, then reduced ones, none joined */
  plan *plans[3] = {&from, &to, &scale};
  const heed_tensor *of[3] = {x, y, &g};
  for (int k = 0; k < 3; k++) {
    plan *p = plans[k];
    *p = (plan){.data = heed_tensor_data(of[k]), .results = 1, .length = 1};
    for (int d = 0; d < x->shape.ndim; d++) {
      axis a = {x->shape.dim[d], of[k]->stride[d]};
      if (on[d]) p->over[p->nover++] = a;
      else p->keep[p->nkeep++] = a;
      *(on[d] ? &p->length : &p->results) *= a.size;
    }
  }
#define PRODUCTS(type)                                                      \
  for (int64_t i = 0; i < from.results; i++) {                              \
    const type *a = (const type *)from.data +                               \
                    offset_of(from.keep, from.nkeep, i);                    \
    type *b = (type *)to.data + offset_of(to.keep, to.nkeep, i);            \
    double run = (double)((const type *)scale.data)[offset_of(              \
        scale.keep, scale.nkeep, i)];                                       \
    for (int64_t j = 0; j < from.length; j++) {                             \
      b[offset_of(to.over, to.nover, j)] = (type)run;                       \
      run *= (double)a[offset_of(from.over, from.nover, j)];                \
    }                                                                       \
    run = 1;                                                                \
    for (int64_t j = from.length - 1; j >= 0; j--) {                        \
      type *at = &b[offset_of(to.over, to.nover, j)];                       \
      *at = (type)((double)*at * run);                                      \
      run *= (double)a[offset_of(from.over, from.nover, j)];                \
    }                                                                       \
  }
  if (x->dtype == HEED_FLOAT64) {
    PRODUCTS(double)
  } else {
    PRODUCTS(float)
  }
#undef PRODUCTS
  return true;
}
const heed_rule heed_rule_prod_bwd = {.check = prod_bwd_check,
                                      .forward = prod_bwd_fwd};

/* -- extremes -- */

static bool not_empty(const heed_call *c) {
  bool on[HEED_MAX_DIM];
  if (!heed_axes(c, 0, &c->attr[0].list, on)) return false;
  return count(c->in[0], on) > 0 ||
         heed_fail("%s: x %s has no elements to choose from", c->op->name,
                   heed_shape_text(&c->in[0]->shape));
}

/* Places, from 1, of the extremes over the axes of attr[0]. */
static bool find(heed_call *c, heed_tensor *places, bool largest) {
  bool on[HEED_MAX_DIM];
  heed_tensor *x = c->in[0], *rows = NULL;
  if (!heed_axes(c, 0, &c->attr[0].list, on)) return false;
  plan p;
  plan_init(&p, HEED_REDUCE_MAX, x, on);
  if (p.nover > 1) {
    /* places count row-major over all reduced dimensions: make them one */
    rows = heed_contiguous(c->op->name, x);
    if (!rows) return false;
    plan_init(&p, HEED_REDUCE_MAX, rows, on);
  }
  heed_loop_find *loop = largest ? heed_kernel.argmax[x->dtype]
                                 : heed_kernel.argmin[x->dtype];
  int64_t *place = heed_tensor_data(places);
  bool one = p.nover == 1;
  if (one) {
    for (int64_t i = 0; i < p.results; i++)
      place[i] = 1 + loop(p.length,
                          p.data + offset_of(p.keep, p.nkeep, i) *
                                       (int64_t)p.size,
                          p.over[0].stride);
  } else {
    heed_fail("%s: dim must be one dimension, neighbouring ones or all",
              c->op->name);
  }
  heed_tensor_drop(rows);
  return one;
}

/* max and min: values, and places when dim is given. */
static bool extreme_check(heed_call *c) {
  if (!not_empty(c) || !reduce_check(c, c->in[0]->dtype)) return false;
  if (c->attr[0].list.ndim > 1)
    return heed_fail("%s: dim must be one dimension, got %d", c->op->name,
                     c->attr[0].list.ndim);
  if (c->attr[0].list.ndim == 1)
    heed_out(c, 1, HEED_INT64, &c->result[0].shape);
  return true;
}
static bool extreme_fwd(heed_call *c, heed_reduction how) {
  return reduce_fwd(c, how, 1) &&
         (c->nout < 2 || find(c, c->out[1], how == HEED_REDUCE_MAX));
}
static bool extreme_bwd(heed_rule_call *r) {
  heed_tensor *g = put_back(r, heed_grad_of(r, 0));
  if (r->attr[0].list.ndim == 1) {
    /* to the chosen place */
    heed_tensor *zeros = heed_grad_zeros(r, 0);
    heed_tensor *places = put_back(r, heed_kept_out(r, 1));
    heed_tensor *in[3] = {zeros, places, g};
    return heed_give(r, 0, heed_do(r, heed_op_find("scatter"), in, 3,
                                   &(heed_attr){.i =
                                       r->attr[0].list.dim[0]}));
  }
  /* evenly to all that are equal to the extreme */
  heed_tensor *y = put_back(r, heed_kept_out(r, 0));
  heed_tensor *same = heed_do2(r, HEED_OP_eq, heed_in(r, 0), y);
  heed_tensor *n = heed_do1(r, HEED_OP_sum, same);
  heed_tensor *share = heed_do2(r, HEED_OP_div, g, n);
  return heed_give(r, 0, heed_do2(r, HEED_OP_mul, same, share));
}

/***
The largest value over one dimension, with its place, or over all; NaN wins.
The gradient goes to the place; over all dimensions, evenly to all that are
equal to the largest.
@function max
@param x tensor
@param dim dimension; all by default
@param keepdim keep the reduced dimension with size 1; false by default
@return tensor of values
@return int64 tensor of the first places, from 1; only when dim is given
@raise when a dimension is out of range or has no elements
@usage local value, place = heed.tensor{{1, 5}, {4, 2}}:max(2) --> 5 4, 2 1
*/
static bool max_fwd(heed_call *c) {
  return extreme_fwd(c, HEED_REDUCE_MAX);
}
const heed_rule heed_rule_max = {
    .check = extreme_check, .forward = max_fwd, .backward = extreme_bwd,
    .keep = {HEED_ALWAYS}, .keep_out = {HEED_ALWAYS, HEED_ALWAYS}};

/***
The smallest value over one dimension, with its place, or over all; NaN wins.
The gradient goes as that of `max`.
@function min
@param x tensor
@param dim dimension; all by default
@param keepdim keep the reduced dimension with size 1; false by default
@return tensor of values
@return int64 tensor of the first places, from 1; only when dim is given
@raise when a dimension is out of range or has no elements
@usage local value, place = heed.tensor{{1, 5}, {4, 2}}:min(2) --> 1 2, 1 2
*/
static bool min_fwd(heed_call *c) {
  return extreme_fwd(c, HEED_REDUCE_MIN);
}
const heed_rule heed_rule_min = {
    .check = extreme_check, .forward = min_fwd, .backward = extreme_bwd,
    .keep = {HEED_ALWAYS}, .keep_out = {HEED_ALWAYS, HEED_ALWAYS}};

static bool place_check(heed_call *c) {
  return not_empty(c) && reduce_check(c, HEED_INT64);
}

/***
The place of the largest value, from 1; the first of equals. NaN counts as the
largest.
@function argmax
@param x tensor
@param dim dimension; by default the place in x read row-major
@param keepdim keep the reduced dimension with size 1; false by default
@return int64 tensor
@raise when a dimension is out of range or has no elements
@usage heed.tensor{3, 9, 2}:argmax() --> 2
*/
static bool argmax_fwd(heed_call *c) { return find(c, c->out[0], true); }
const heed_rule heed_rule_argmax = {.check = place_check,
                                    .forward = argmax_fwd};

/***
The place of the smallest value, from 1; the first of equals. NaN counts as
the smallest.
@function argmin
@param x tensor
@param dim dimension; by default the place in x read row-major
@param keepdim keep the reduced dimension with size 1; false by default
@return int64 tensor
@raise when a dimension is out of range or has no elements
@usage heed.tensor{3, 9, 2}:argmin() --> 3
*/
static bool argmin_fwd(heed_call *c) { return find(c, c->out[0], false); }
const heed_rule heed_rule_argmin = {.check = place_check,
                                    .forward = argmin_fwd};

static bool truth_check(heed_call *c) { return reduce_check(c, HEED_BOOL); }

/***
Is any element true (not 0)? False over no elements.
@function any
@param x tensor
@param dim one dimension or a list; all by default
@param keepdim keep the reduced dimensions with size 1; false by default
@return bool tensor
@raise when a dimension is out of range
@usage heed.tensor{false, true}:any() --> true
*/
static bool any_fwd(heed_call *c) {
  return reduce_fwd(c, HEED_REDUCE_ANY, 1);
}
const heed_rule heed_rule_any = {.check = truth_check, .forward = any_fwd};

/***
Are all elements true (not 0)? True over no elements.
@function all
@param x tensor
@param dim one dimension or a list; all by default
@param keepdim keep the reduced dimensions with size 1; false by default
@return bool tensor
@raise when a dimension is out of range
@usage heed.tensor{false, true}:all() --> false
*/
static bool all_fwd(heed_call *c) {
  return reduce_fwd(c, HEED_REDUCE_ALL, 1);
}
const heed_rule heed_rule_all = {.check = truth_check, .forward = all_fwd};

/* -- variance -- */

/* The sums of squares around the mean, over n - correction. */
static bool spread_fwd(heed_call *c, bool root) {
  bool on[HEED_MAX_DIM];
  if (!heed_axes(c, 0, &c->attr[0].list, on)) return false;
  heed_tensor *x = heed_contiguous(c->op->name, c->in[0]);
  heed_tensor *sum = x ? reduce(c->op->name, HEED_REDUCE_SUM, x, on) : NULL;
  if (!sum) {
    heed_tensor_drop(x);
    return false;
  }
  plan p;
  plan_init(&p, HEED_REDUCE_SUM, x, on);
  double *total = heed_tensor_data(sum);
  double over = (double)(p.length - c->attr[2].i);
  const axis *last = &p.over[p.nover - 1];
  int64_t rows = last->size ? p.length / last->size : 0;
  for (int64_t i = 0; i < p.results; i++) {
    double mean = total[i] / (double)p.length, squares = 0;
    const char *from = p.data + offset_of(p.keep, p.nkeep, i) *
                                    (int64_t)p.size;
    for (int64_t k = 0; k < rows; k++)
      squares += heed_kernel.spread[x->dtype](
          last->size,
          from + offset_of(p.over, p.nover - 1, k) * (int64_t)p.size,
          last->stride, mean);
    total[i] = over > 0 ? squares / over : NAN;
    if (root) total[i] = sqrt(total[i]);
  }
  heed_tensor flat = *c->out[0];
  flat.shape = sum->shape;
  flat.stride[0] = 1;
  heed_copy(&flat, sum);
  heed_tensor_drop(sum);
  heed_tensor_drop(x);
  return true;
}

/* 2 (x - mean) / (n - correction), of the shape of x. */
static heed_tensor *deviation(heed_rule_call *r) {
  heed_tensor *x = heed_in(r, 0);
  heed_attr attr[2] = {r->attr[0], {.i = true}};
  heed_tensor *mean = heed_do1_with(r, HEED_OP_mean, x, attr);
  double n = (double)(reduced_count(r) - r->attr[2].i);
  return heed_do2(r, HEED_OP_mul, heed_do2(r, HEED_OP_sub, x, mean),
                  heed_number(r, 2 / n));
}

/***
The variance over some or all dimensions.
@function var
@param x tensor; integers are taken as float32
@param dim one dimension or a list; all by default
@param keepdim keep the reduced dimensions with size 1; false by default
@param correction the sum of squares is divided by n - correction; 1 by default
@return float tensor without the reduced dimensions; NaN when n - correction
is not positive
@raise when a dimension is out of range
@usage heed.tensor{1, 2, 3}:var() --> 1
*/
static bool var_check(heed_call *c) {
  return reduce_check(c, c->in[0]->dtype);
}
static bool var_fwd(heed_call *c) { return spread_fwd(c, false); }
static bool var_bwd(heed_rule_call *r) {
  return heed_give(r, 0, heed_do2(r, HEED_OP_mul, deviation(r),
                                  put_back(r, r->grad[0])));
}
const heed_rule heed_rule_var = {
    .check = var_check, .forward = var_fwd, .backward = var_bwd,
    .keep = {HEED_ALWAYS}, .promote = true, .to_float = true};

/***
The standard deviation over some or all dimensions: the root of `var`.
@function std
@param x tensor; integers are taken as float32
@param dim one dimension or a list; all by default
@param keepdim keep the reduced dimensions with size 1; false by default
@param correction the sum of squares is divided by n - correction; 1 by default
@return float tensor without the reduced dimensions
@raise when a dimension is out of range
@usage heed.tensor{1, 2, 3}:std() --> 1
*/
static bool std_fwd(heed_call *c) { return spread_fwd(c, true); }
static bool std_bwd(heed_rule_call *r) {
  heed_tensor *twice = heed_do2(r, HEED_OP_mul, heed_kept_out(r, 0),
                                heed_number(r, 2));
  heed_tensor *g = heed_do2(r, HEED_OP_div, r->grad[0], twice);
  return heed_give(r, 0, heed_do2(r, HEED_OP_mul, deviation(r),
                                  put_back(r, g)));
}
const heed_rule heed_rule_std = {
    .check = var_check, .forward = std_fwd, .backward = std_bwd,
    .keep = {HEED_ALWAYS}, .keep_out = {HEED_ALWAYS}, .promote = true,
    .to_float = true};

/* -- for backward rules: x summed down to a shape it was broadcast from -- */

static bool sum_to_check(heed_call *c) {
  heed_out(c, 0, c->in[0]->dtype, &c->attr[0].list);
  return true;
}
static bool sum_to_fwd(heed_call *c) {
  heed_tensor *x = c->in[0];
  const heed_shape *to = &c->attr[0].list;
  bool on[HEED_MAX_DIM];
  int extra = x->shape.ndim - to->ndim;
  for (int d = 0; d < x->shape.ndim; d++)
    on[d] = d < extra || (to->dim[d - extra] == 1 && x->shape.dim[d] != 1);
  heed_tensor *acc = reduce("sum_to", HEED_REDUCE_SUM, x, on);
  if (!acc) return false;
  heed_tensor flat = *c->out[0];
  flat.shape = acc->shape;
  flat.stride[0] = 1;
  heed_copy(&flat, acc);
  heed_tensor_drop(acc);
  return true;
}
static bool sum_to_bwd(heed_rule_call *r) {
  return heed_give(r, 0, stretch(r, r->grad[0]));
}
const heed_rule heed_rule_sum_to = {
    .check = sum_to_check, .forward = sum_to_fwd, .backward = sum_to_bwd};
