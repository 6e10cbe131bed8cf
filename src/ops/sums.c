/*
 * sums - sums, means, products, counts and truths over dimensions.
 * Layer: ops. Read first: reduce.h.
 */
#include <math.h>

#include "base/error.h"
#include "ops/reduce.h"

/***
The sum over some or all dimensions; 0 over no elements. Floats are added up in
double precision; integers and bools give int64.
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
  return heed_reduce_check(c, heed_dtype_is_float(dtype) ? dtype
                                                         : HEED_INT64);
}
static bool sum_fwd(heed_call *c) {
  return heed_reduce_fwd(c, HEED_REDUCE_SUM, 1);
}
static bool sum_bwd(heed_rule_call *r) {
  return heed_give(r, 0, heed_reduce_stretch(
                             r, heed_reduce_put_back(r, r->grad[0])));
}
const heed_rule heed_rule_sum = {
    .check = sum_check, .forward = sum_fwd, .backward = sum_bwd};

/***
The sum of the elements that are not NaN.
@function nansum
@param x tensor
@param dim one dimension or a list; all by default
@param keepdim keep the reduced dimensions with size 1; false by default
@return tensor without the reduced dimensions; int64 for integers and bools
@raise when a dimension is out of range
@usage heed.tensor{1, 0 / 0, 2}:nansum() --> 3
*/
static bool nansum_fwd(heed_call *c) {
  return heed_reduce_fwd(c, HEED_REDUCE_NANSUM, 1);
}
static bool nansum_bwd(heed_rule_call *r) {
  heed_tensor *g = heed_reduce_put_back(r, r->grad[0]);
  heed_tensor *x = heed_in(r, 0);
  return heed_give(r, 0, heed_do2(r, HEED_OP_mul, g,
                                  heed_do2(r, HEED_OP_eq, x, x)));
}
const heed_rule heed_rule_nansum = {
    .check = sum_check, .forward = nansum_fwd, .backward = nansum_bwd,
    .keep = {HEED_ALWAYS}};

/***
The mean over some or all dimensions; NaN over no elements.
@function mean
@param x tensor; bools and integers are taken as float32
@param dim one dimension or a list; all by default
@param keepdim keep the reduced dimensions with size 1; false by default
@return tensor without the reduced dimensions
@raise when a dimension is out of range
@usage heed.tensor{1.0, 2.0, 6.0}:mean() --> 3
*/
static bool mean_check(heed_call *c) {
  return heed_want_float(c, 0) && heed_reduce_check(c, c->in[0]->dtype);
}
static bool mean_fwd(heed_call *c) {
  bool on[HEED_MAX_DIM];
  if (!heed_axes(c, 0, &c->attr[0].list, on)) return false;
  int64_t n = heed_reduce_length(c->in[0], on);
  return heed_reduce_fwd(c, HEED_REDUCE_SUM, n ? 1.0 / (double)n : NAN);
}
static bool mean_bwd(heed_rule_call *r) {
  heed_tensor *n = heed_number(r, (double)heed_reduce_length_of(r));
  heed_tensor *g = heed_do2(r, HEED_OP_div, r->grad[0], n);
  return heed_give(r, 0, heed_reduce_stretch(r, heed_reduce_put_back(r, g)));
}
const heed_rule heed_rule_mean = {
    .check = mean_check, .forward = mean_fwd, .backward = mean_bwd,
    .promote = true, .to_float = true};

/***
The product over some or all dimensions; 1 over no elements. Floats are
multiplied in double precision; integers and bools give int64.
@function prod
@param x tensor
@param dim one dimension or a list; all by default
@param keepdim keep the reduced dimensions with size 1; false by default
@return tensor without the reduced dimensions
@raise when a dimension is out of range
@usage heed.tensor{1, 2, 3}:prod() --> 6
*/
static bool prod_fwd(heed_call *c) {
  return heed_reduce_fwd(c, HEED_REDUCE_PROD, 1);
}

/* For each element along the last dimension, the product of those before it:
   1 in front of the running products. */
static heed_tensor *product_before(heed_rule_call *r, heed_tensor *x) {
  if (!x) return NULL;
  int last = x->shape.ndim - 1;
  heed_attr slice[4] = {{.i = last}, {.i = 0},
                        {.i = x->shape.dim[last] - 2}, {.i = 1}};
  heed_attr ones[3] = {{.list = x->shape}, {.i = x->dtype}, {.i = 0}};
  ones[0].list.dim[last] = 1;
  heed_attr dim = {.i = last};
  x = heed_do1_with(r, HEED_OP_slice, x, slice);
  heed_tensor *run = heed_do1_with(r, HEED_OP_cumprod, x, &dim);
  heed_tensor *one = heed_do(r, heed_op_at(HEED_OP_ones), NULL, 0, ones);
  return heed_do2_with(r, HEED_OP_cat, one, run, &dim);
}

/* How the reduced dimensions are put last and made one, and back. */
typedef struct layout {
  heed_attr order, flat; /* x permuted, then reshaped */
  heed_attr apart, back; /* reshaped, then permuted */
} layout;

static layout reduced_last(const heed_rule_call *r) {
  const heed_shape *x = heed_in_shape(r, 0);
  bool on[HEED_MAX_DIM];
  heed_reduce_marks(&r->attr[0].list, x->ndim, on);
  layout l = {.flat.list.ndim = 0};
  l.order.list.ndim = l.apart.list.ndim = l.back.list.ndim = x->ndim;
  int at = 0;
  for (int reduced = 0; reduced < 2; reduced++)
    for (int d = 0; d < x->ndim; d++) {
      if (on[d] != reduced) continue;
      if (!reduced) l.flat.list.dim[l.flat.list.ndim++] = x->dim[d];
      l.apart.list.dim[at] = x->dim[d];
      l.back.list.dim[d] = at;
      l.order.list.dim[at++] = d;
    }
  l.flat.list.dim[l.flat.list.ndim++] = heed_reduce_length_of(r);
  return l;
}

/* dx_i = g * product of the others: of those before and of those behind, so
   that zeros need no division. */
static bool prod_bwd(heed_rule_call *r) {
  heed_tensor *g = heed_reduce_put_back(r, r->grad[0]);
  if (heed_reduce_length_of(r) <= 1)
    return heed_give(r, 0, heed_reduce_stretch(r, g));
  layout l = reduced_last(r);
  heed_attr last = {.list = {1, {l.flat.list.ndim - 1}}};
  heed_tensor *rows = heed_do1_with(r, HEED_OP_permute, heed_in(r, 0),
                                    &l.order);
  rows = heed_do1_with(r, HEED_OP_reshape, rows, &l.flat);
  heed_tensor *behind = product_before(
      r, heed_do1_with(r, HEED_OP_flip, rows, &last));
  heed_tensor *others = heed_do2(
      r, HEED_OP_mul, product_before(r, rows),
      heed_do1_with(r, HEED_OP_flip, behind, &last));
  others = heed_do1_with(r, HEED_OP_reshape, others, &l.apart);
  others = heed_do1_with(r, HEED_OP_permute, others, &l.back);
  return heed_give(r, 0, heed_do2(r, HEED_OP_mul, g, others));
}
const heed_rule heed_rule_prod = {
    .check = sum_check, .forward = prod_fwd, .backward = prod_bwd,
    .keep = {HEED_ALWAYS}};

/***
How many elements are not 0; NaN is not.
@function count_nonzero
@param x tensor
@param dim one dimension or a list; all by default
@param keepdim keep the reduced dimensions with size 1; false by default
@return int64 tensor without the reduced dimensions
@raise when a dimension is out of range
@usage heed.tensor{{0, 2, 3}, {0, 0, 1}}:count_nonzero(2) --> 2 1
*/
static bool count_nonzero_check(heed_call *c) {
  return heed_reduce_check(c, HEED_INT64);
}
static bool count_nonzero_fwd(heed_call *c) {
  return heed_reduce_fwd(c, HEED_REDUCE_COUNT, 1);
}
const heed_rule heed_rule_count_nonzero = {.check = count_nonzero_check,
                                           .forward = count_nonzero_fwd};

static bool truth_check(heed_call *c) {
  return heed_reduce_check(c, HEED_BOOL);
}

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
  return heed_reduce_fwd(c, HEED_REDUCE_ANY, 1);
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
  return heed_reduce_fwd(c, HEED_REDUCE_ALL, 1);
}
const heed_rule heed_rule_all = {.check = truth_check, .forward = all_fwd};

/* -- for backward rules: x summed down to a shape it was broadcast from -- */

static bool sum_to_fwd(heed_call *c) {
  const heed_shape *x = &c->in[0]->shape, *to = &c->attr[0].list;
  heed_attr dims[2] = {{.list = {0, {0}}}, {.i = false}};
  int extra = x->ndim - to->ndim;
  for (int d = 0; d < x->ndim; d++)
    if (d < extra || (to->dim[d - extra] == 1 && x->dim[d] != 1))
      dims[0].list.dim[dims[0].list.ndim++] = d;
  heed_call sum = *c;
  sum.attr = dims;
  return heed_reduce_fwd(&sum, HEED_REDUCE_SUM, 1);
}
static bool sum_to_bwd(heed_rule_call *r) {
  return heed_give(r, 0, heed_reduce_stretch(r, r->grad[0]));
}
const heed_rule heed_rule_sum_to = {
    .check = heed_check_shape, .forward = sum_to_fwd, .backward = sum_to_bwd};
