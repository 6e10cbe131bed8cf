/*
 * gather - ops with a place in one dimension for each element. Layer: ops.
 * Read first: places.h. For whole rows see index.c.
 *
 * For dim 2 of a matrix:
 *     gather:   out[i][j] = x[i][index[i][j]]
 *     scatter:  out[i][index[i][j]] = source[i][j]
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "ops/copy.h"
#include "ops/each.h"
#include "ops/places.h"

/* The index must fit into input i, but for dimension `free` of it. */
static bool want_fit(const heed_call *c, int i, int64_t free) {
  const heed_shape *index = &c->in[1]->shape, *t = &c->in[i]->shape;
  if (index->ndim != t->ndim)
    return heed_fail("%s: index %s must have as many dimensions as %s %s",
                     c->op->name, heed_shape_text(index),
                     heed_input_name(c, i), heed_shape_text(t));
  for (int d = 0; d < t->ndim; d++) {
    if (d == free || index->dim[d] <= t->dim[d]) continue;
    return heed_fail("%s: index %s must not be larger than %s %s in dim %d",
                     c->op->name, heed_shape_text(index),
                     heed_input_name(c, i), heed_shape_text(t), d + 1);
  }
  return true;
}

static bool want_places(heed_call *c) {
  return heed_axis(c, 0, &c->attr[0].i) &&
         heed_want_index(c, 1) && want_fit(c, 0, c->attr[0].i);
}

/***
For each place of the index the element of x there, at the position in one
dimension that the index says: out[i][j] = x[i][index[i][j]] for dim 2.
@function gather
@param x tensor
@param dim dimension
@param index tensor of int64, int32 or uint8 with as many dimensions as x and,
but for dim, no larger; positions may count from the end
@return tensor of the shape of the index, a copy
@raise when the shapes do not fit or a position is out of range
@usage heed.tensor{{1, 2}, {3, 4}}:gather(2, heed.tensor{{2}, {1}}) --> 2, 3
*/
static bool gather_check(heed_call *c) {
  if (!want_places(c)) return false;
  heed_out(c, 0, c->in[0]->dtype, &c->in[1]->shape);
  return true;
}
static bool gather_fwd(heed_call *c) {
  heed_places p;
  if (!heed_places_open_elements(&p, c, 1, c->in[0], c->attr[0].i))
    return false;
  heed_places_read(&p, c->out[0], c->in[0]);
  heed_places_close(&p);
  return true;
}
static bool gather_bwd(heed_rule_call *r) {
  heed_attr attr[2] = {{.list = *heed_in_shape(r, 0)}, r->attr[0]};
  return heed_give(r, 0, heed_do2_with(r, HEED_OP_gather_bwd, r->grad[0],
                                       heed_in(r, 1), attr));
}
const heed_rule heed_rule_gather = {
    .check = gather_check, .forward = gather_fwd, .backward = gather_bwd,
    .keep = {0, HEED_NEED(0)}, .moves = true};

/* Zeros of a shape, with the gradient added at the places. */
static bool gather_bwd_fwd(heed_call *c) {
  heed_tensor *y = c->out[0];
  heed_places p;
  if (!heed_places_open_elements(&p, c, 1, y, c->attr[1].i))
    return false;
  memset(heed_tensor_data(y), 0, y->storage->bytes);
  heed_places_write(&p, y, c->in[0], HEED_PLACES_ADD);
  heed_places_close(&p);
  return true;
}
static bool gather_bwd_bwd(heed_rule_call *r) {
  return heed_give(r, 0, heed_do2_with(r, HEED_OP_gather, r->grad[0],
                                       heed_in(r, 1), &r->attr[1]));
}
const heed_rule heed_rule_gather_bwd = {
    .check = heed_check_shape, .forward = gather_bwd_fwd,
    .backward = gather_bwd_bwd, .keep = {0, HEED_NEED(0)}};

/* -- scatter -- */

/* source is a number, or as large as the index at least. */
static bool scatter_check(heed_call *c) {
  if (!want_places(c)) return false;
  if (c->in[2]->shape.ndim > 0 && !want_fit(c, 2, -1)) return false;
  heed_out_like(c, 0, c->in[0]);
  return true;
}
static bool scatter_run(heed_call *c, heed_places_how how) {
  heed_tensor *x = c->in[0], *y = c->out[0];
  heed_places p;
  if (!heed_places_open_elements(&p, c, 1, y, c->attr[0].i)) return false;
  if (y != x) heed_copy(y, x);
  heed_tensor *from = heed_places_source(c->op->name, c->in[2], y);
  if (from) heed_places_write(&p, y, from, how);
  heed_tensor_drop(from);
  heed_places_close(&p);
  return from != NULL;
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
@param index tensor of int64, int32 or uint8 with as many dimensions as x and,
but for dim, no larger; positions may count from the end
@param source number, or tensor no smaller than the index in any dimension
@return tensor like x, in the common dtype of x and source
@raise when the shapes do not fit or a position is out of range
@usage heed.zeros(2, 3):scatter(2, heed.tensor{{3}, {1}}, 1)
--> 0 0 1, 1 0 0
*/
static bool scatter_fwd(heed_call *c) {
  return scatter_run(c, HEED_PLACES_PUT);
}
/* The gradient at the places, for the elements that stayed. */
static heed_tensor *scatter_source_bwd(heed_rule_call *r) {
  heed_tensor *index = heed_in(r, 1);
  heed_attr attr[2] = {{.list = *heed_in_shape(r, 0)}, r->attr[0]};
  heed_tensor *last = heed_do1_with(r, HEED_OP_last_writer, index, attr);
  heed_tensor *g = heed_do2_with(r, HEED_OP_gather, r->grad[0], index,
                                 r->attr);
  return grow(r, heed_do3(r, HEED_OP_where, last, g, heed_number(r, 0)));
}
/* t with `source` put to the places by a scatter op. */
static heed_tensor *put_places(heed_rule_call *r, heed_op_id op,
                               heed_tensor *t, heed_tensor *source) {
  return heed_do3_with(r, op, t, heed_in(r, 1), source, r->attr);
}
static bool scatter_bwd(heed_rule_call *r) {
  if (heed_needs(r, 0)) {
    if (!heed_give(r, 0, put_places(r, HEED_OP_scatter, r->grad[0],
                                    heed_number(r, 0))))
      return false;
  }
  return !heed_needs(r, 2) || heed_give(r, 2, scatter_source_bwd(r));
}
const heed_rule heed_rule_scatter = {
    .check = scatter_check, .forward = scatter_fwd, .backward = scatter_bwd,
    .keep = {0, HEED_ALWAYS}, .promote = true, .fixed = HEED_NEED(1),
    .moves = true, .elementwise = true};

/***
x with elements of source added at the places that the index names in one
dimension: out[i][index[i][j]] += source[i][j] for dim 2.
@function scatter_add
@param x tensor of numbers
@param dim dimension
@param index tensor of int64, int32 or uint8 with as many dimensions as x and,
but for dim, no larger; positions may count from the end
@param source number, or tensor no smaller than the index in any dimension
@return tensor like x, in the common dtype of x and source
@raise when the shapes do not fit or a position is out of range
@usage heed.zeros(3):scatter_add(1, heed.tensor{1, 1, 3}, 1) --> 2 0 1
*/
static bool scatter_add_check(heed_call *c) {
  if (c->in[0]->dtype == HEED_BOOL)
    return heed_fail("scatter_add: x and source must be numbers, got %s",
                     heed_tensor_text(c->in[0]));
  return scatter_check(c);
}
static bool scatter_add_fwd(heed_call *c) {
  return scatter_run(c, HEED_PLACES_ADD);
}
static bool scatter_add_bwd(heed_rule_call *r) {
  if (heed_needs(r, 0) && !heed_give(r, 0, r->grad[0])) return false;
  return !heed_needs(r, 2) ||
         heed_give(r, 2, grow(r, heed_do2_with(r, HEED_OP_gather, r->grad[0],
                                               heed_in(r, 1), r->attr)));
}
const heed_rule heed_rule_scatter_add = {
    .check = scatter_add_check, .forward = scatter_add_fwd,
    .backward = scatter_add_bwd, .keep = {0, HEED_NEED(2)}, .promote = true,
    .fixed = HEED_NEED(1), .elementwise = true};

/* -- scatter_reduce -- */

enum { SUM, PROD, MEAN, AMAX, AMIN };

/* The number that changes nothing, as a tensor of the dtype. */
static heed_tensor *neutral(heed_dtype dtype, int64_t reduce) {
  heed_value v = {0};
  if (reduce == PROD) v = (heed_value){1, 1};
  bool whole = !heed_dtype_is_float(dtype);
  if (reduce == AMAX || reduce == AMIN) {
    v.f = reduce == AMAX ? -INFINITY : INFINITY;
    v.i = reduce == AMAX ? INT64_MIN : INT64_MAX;
    if (dtype == HEED_INT32) v.i = reduce == AMAX ? INT32_MIN : INT32_MAX;
    if (dtype == HEED_UINT8) v.i = reduce == AMAX ? 0 : UINT8_MAX;
  }
  heed_tensor *t = heed_tensor_new("scatter_reduce", dtype, &(heed_shape){0});
  if (t) heed_element_store(dtype, heed_tensor_data(t), 0, whole, v);
  return t;
}

/* sums / max(counts, 1), rounded down for integers */
static bool divide(heed_tensor *sums, heed_tensor *counts) {
  heed_tensor *least = heed_tensor_scalar(HEED_INT64, 0, 1);
  heed_tensor *n = heed_tensor_new("scatter_reduce", sums->dtype,
                                   &sums->shape);
  if (least && n) {
    heed_each_into(counts, counts, least,
                   heed_kernel.binary[HEED_BINARY_maximum][HEED_INT64]);
    heed_copy(n, counts);
    bool whole = !heed_dtype_is_float(sums->dtype);
    heed_each_into(sums, sums, n,
                   heed_kernel.binary[whole ? HEED_BINARY_floor_div
                                            : HEED_BINARY_div][sums->dtype]);
  }
  bool ok = least && n;
  heed_tensor_drop(least);
  heed_tensor_drop(n);
  return ok;
}

/* y, which has the sums, becomes the means. */
static bool take_mean(heed_call *c, const heed_places *p) {
  heed_tensor *one = heed_tensor_scalar(HEED_INT64, 0, 1);
  heed_tensor *counts = heed_tensor_new(c->op->name, HEED_INT64,
                                        &c->out[0]->shape);
  bool ok = one && counts;
  if (ok) {
    heed_tensor *start = heed_tensor_scalar(HEED_INT64, 0, c->attr[2].i);
    ok = start != NULL;
    if (ok) {
      heed_copy(counts, start);
      heed_places_write(p, counts, one, HEED_PLACES_ADD);
      ok = divide(c->out[0], counts);
    }
    heed_tensor_drop(start);
  }
  heed_tensor_drop(one);
  heed_tensor_drop(counts);
  return ok;
}

/***
x with elements of source taken into those at the places that the index names
in one dimension: for dim 2 out[i][k] is the sum, product, mean, largest or
smallest of x[i][k] and of all source[i][j] with index[i][j] = k.
@function scatter_reduce
@param x tensor of numbers
@param dim dimension
@param index tensor of int64, int32 or uint8 with as many dimensions as x and,
but for dim, no larger; positions may count from the end
@param source tensor no smaller than the index in any dimension
@param reduce `"sum"`, `"prod"`, `"mean"`, `"amax"` or `"amin"`
@param include_self true by default; false: x counts only where nothing of
source goes
@return tensor like x, in the common dtype of x and source; means of integers
are rounded down. Gradients of "amax" and "amin" go in equal shares to all
that are the largest; second derivatives of "prod" leave out factors of 0
@raise when the shapes do not fit or a position is out of range
@usage local x, i = heed.ones(2), heed.tensor{1, 1}
x:scatter_reduce(1, i, heed.tensor{3, 5}, "amax") --> 5 1
*/
static bool scatter_reduce_check(heed_call *c) {
  if (c->in[0]->dtype == HEED_BOOL)
    return heed_fail("scatter_reduce: x and source must be numbers, got %s",
                     heed_tensor_text(c->in[0]));
  return want_places(c) && want_fit(c, 2, -1) &&
         (heed_out_like(c, 0, c->in[0]), true);
}
static bool scatter_reduce_fwd(heed_call *c) {
  static const heed_places_how how[] = {HEED_PLACES_ADD, HEED_PLACES_MUL,
                                        HEED_PLACES_ADD, HEED_PLACES_MAX,
                                        HEED_PLACES_MIN};
  heed_tensor *y = c->out[0];
  int64_t reduce = c->attr[1].i;
  heed_places p;
  if (!heed_places_open_elements(&p, c, 1, y, c->attr[0].i)) return false;
  heed_copy(y, c->in[0]);
  heed_tensor *start = neutral(y->dtype, reduce);
  bool ok = start != NULL;
  if (ok) {
    if (!c->attr[2].i) heed_places_write(&p, y, start, HEED_PLACES_PUT);
    heed_places_write(&p, y, c->in[2], how[reduce]);
    if (reduce == MEAN) ok = take_mean(c, &p);
  }
  heed_tensor_drop(start);
  heed_places_close(&p);
  return ok;
}

/* For the gradients: the part of source that is used; ops at the places. */
static heed_tensor *corner(heed_rule_call *r, heed_tensor *source,
                           const heed_shape *index) {
  for (int d = 0; source && d < index->ndim; d++) {
    heed_attr attr[4] = {{.i = d}, {.i = 0}, {.i = index->dim[d] - 1},
                         {.i = 1}};
    if (source->shape.dim[d] == index->dim[d]) continue;
    if (index->dim[d] == 0) attr[1].i = source->shape.dim[d];
    if (index->dim[d] == 0) attr[2].i = -1;
    source = heed_do1_with(r, HEED_OP_slice, source, attr);
  }
  return source;
}
static heed_tensor *at_places(heed_rule_call *r, heed_tensor *t) {
  return heed_do2_with(r, HEED_OP_gather, t, heed_in(r, 1), r->attr);
}
/* Without x at the places, where include_self is false. */
static heed_tensor *without_self(heed_rule_call *r, heed_tensor *t) {
  if (r->attr[2].i) return t;
  return put_places(r, HEED_OP_scatter, t, heed_number(r, 0));
}
/* true and false as 1 and 0 */
static heed_tensor *number_of(heed_rule_call *r, heed_tensor *test) {
  return heed_do1_with(r, HEED_OP_to, test,
                       &(heed_attr){.i = r->grad[0]->dtype});
}

static bool mean_bwd(heed_rule_call *r) {
  heed_tensor *one = heed_number(r, 1), *n = heed_grad_zeros(r, 0);
  if (r->attr[2].i) n = heed_do2(r, HEED_OP_add, n, one);
  n = put_places(r, HEED_OP_scatter_add, n, one);
  n = heed_do2(r, HEED_OP_maximum, n, one);
  heed_tensor *g = heed_do2(r, HEED_OP_div, r->grad[0], n);
  return (!heed_needs(r, 0) || heed_give(r, 0, without_self(r, g))) &&
         (!heed_needs(r, 2) || heed_give(r, 2, grow(r, at_places(r, g))));
}

/* Of n equal ones that are the largest each gets a share of g / n. */
static bool extreme_bwd(heed_rule_call *r, heed_tensor *source) {
  heed_tensor *y = heed_kept_out(r, 0);
  heed_tensor *self = heed_do2(r, HEED_OP_eq, heed_in(r, 0), y);
  self = without_self(r, number_of(r, self));
  heed_tensor *other = heed_do2(r, HEED_OP_eq, source, at_places(r, y));
  other = number_of(r, other);
  heed_tensor *n = put_places(r, HEED_OP_scatter_add, self, other);
  n = heed_do2(r, HEED_OP_maximum, n, heed_number(r, 1));
  heed_tensor *g = heed_do2(r, HEED_OP_div, r->grad[0], n);
  if (heed_needs(r, 0) &&
      !heed_give(r, 0, heed_do2(r, HEED_OP_mul, g, self)))
    return false;
  other = heed_do2(r, HEED_OP_mul, at_places(r, g), other);
  return !heed_needs(r, 2) || heed_give(r, 2, grow(r, other));
}

/* The product of t and of what of `source` goes to its place. */
static heed_tensor *product_into(heed_rule_call *r, heed_tensor *t,
                                 heed_tensor *source) {
  heed_attr attr[3] = {r->attr[0], {.i = PROD}, {.i = true}};
  return heed_do3_with(r, HEED_OP_scatter_reduce, t, heed_in(r, 1), source,
                       attr);
}

/* The product of all factors but x: that of what goes to its place. */
static heed_tensor *product_without_x(heed_rule_call *r,
                                      heed_tensor *source) {
  heed_tensor *ones = heed_do2(r, HEED_OP_add, heed_grad_zeros(r, 0),
                               heed_number(r, 1));
  return product_into(r, ones, source);
}

/* The product of all factors but one of source: where one of the others is 0
   it is 0, else the product of all that are not 0 by the factor itself, or by
   1 when that is the 0. */
static heed_tensor *product_without_source(heed_rule_call *r,
                                           heed_tensor *source) {
  heed_tensor *zero = heed_number(r, 0), *one = heed_number(r, 1);
  heed_tensor *is_zero = heed_do2(r, HEED_OP_eq, source, zero);
  heed_tensor *factor = heed_do3(r, HEED_OP_where, is_zero, one, source);
  heed_tensor *count = number_of(r, is_zero);
  heed_tensor *zeros = put_places(r, HEED_OP_scatter_add,
                                  heed_grad_zeros(r, 0), count);
  heed_tensor *more = heed_do2(r, HEED_OP_gt, at_places(r, zeros), count);
  heed_tensor *x = heed_in(r, 0);
  if (!r->attr[2].i) x = put_places(r, HEED_OP_scatter, x, one);
  heed_tensor *all = product_into(r, x, factor);
  return heed_do3(r, HEED_OP_where, more, zero,
                  heed_do2(r, HEED_OP_div, at_places(r, all), factor));
}

static bool prod_bwd(heed_rule_call *r, heed_tensor *source) {
  heed_tensor *g = r->grad[0], *others;
  if (heed_needs(r, 0)) {
    others = heed_do2(r, HEED_OP_mul, g, product_without_x(r, source));
    if (!heed_give(r, 0, without_self(r, others))) return false;
  }
  if (!heed_needs(r, 2)) return true;
  others = heed_do2(r, HEED_OP_mul, at_places(r, g),
                    product_without_source(r, source));
  return heed_give(r, 2, grow(r, others));
}

static bool scatter_reduce_bwd(heed_rule_call *r) {
  heed_tensor *index = heed_in(r, 1), *g = r->grad[0];
  if (!index) return false;
  switch (r->attr[1].i) {
    case SUM:
      return (!heed_needs(r, 0) || heed_give(r, 0, without_self(r, g))) &&
             (!heed_needs(r, 2) || heed_give(r, 2, grow(r, at_places(r, g))));
    case MEAN: return mean_bwd(r);
    case PROD: return prod_bwd(r, corner(r, heed_in(r, 2), &index->shape));
    default: return extreme_bwd(r, corner(r, heed_in(r, 2), &index->shape));
  }
}
const heed_rule heed_rule_scatter_reduce = {
    .check = scatter_reduce_check, .forward = scatter_reduce_fwd,
    .backward = scatter_reduce_bwd,
    .keep = {HEED_ALWAYS, HEED_ALWAYS, HEED_ALWAYS}, .keep_out = {HEED_ALWAYS},
    .promote = true, .fixed = HEED_NEED(1)};

/* Which elements are the last ones that a scatter by this index into this
   shape writes to their place? */
static bool last_writer_check(heed_call *c) {
  heed_out(c, 0, HEED_BOOL, &c->in[0]->shape);
  return true;
}
static bool last_writer_fwd(heed_call *c) {
  heed_tensor *mark = heed_tensor_new(c->op->name, HEED_BOOL,
                                      &c->attr[0].list);
  heed_places p;
  bool ok = mark &&
            heed_places_open_elements(&p, c, 0, mark, c->attr[1].i);
  if (ok) {
    heed_places_write(&p, mark, c->out[0], HEED_PLACES_LAST);
    heed_places_close(&p);
  }
  heed_tensor_drop(mark);
  return ok;
}
const heed_rule heed_rule_last_writer = {.check = last_writer_check,
                                         .forward = last_writer_fwd};
