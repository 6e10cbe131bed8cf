/*
 * median - one element of each line, by its place in order: median, kthvalue,
 * mode. Layer: ops. Read first: ranks.h, lines.h.
 */
#include "base/error.h"
#include "ops/copy.h"
#include "ops/lines.h"
#include "ops/ranks.h"
#include "ops/reduce.h"

/* -- median and nanmedian: over all (attr[0] left out) or one dimension -- */

static int64_t count_numbers(const heed_lines *l, const void *x) {
  int64_t count = 0;
  if (l->dtype == HEED_FLOAT32)
    for (int64_t i = 0; i < l->n; i++)
      count += ((const float *)x)[i] == ((const float *)x)[i];
  else if (l->dtype == HEED_FLOAT64)
    for (int64_t i = 0; i < l->n; i++)
      count += ((const double *)x)[i] == ((const double *)x)[i];
  else
    count = l->n;
  return count;
}

/* NaNs come last in order: the first of them is number `numbers`. */
static void median_line(const heed_lines *l, const void *x, int64_t *place,
                        void *scratch) {
  int64_t numbers = count_numbers(l, x);
  heed_ranks r;
  heed_ranks_read(&r, l->dtype, l->n, x, false, scratch);
  *place = heed_ranks_select(&r, numbers < l->n ? numbers : (l->n - 1) / 2);
}
static void nanmedian_line(const heed_lines *l, const void *x, int64_t *place,
                           void *scratch) {
  int64_t numbers = count_numbers(l, x);
  heed_ranks r;
  heed_ranks_read(&r, l->dtype, l->n, x, false, scratch);
  *place = heed_ranks_select(&r, numbers > 0 ? (numbers - 1) / 2 : 0);
}

/* One element of each line along dim. */
static bool run_one(heed_call *c, int64_t dim, heed_line_fn *fn) {
  const heed_tensor *x = c->in[0];
  return heed_lines_run(c, dim, 1, false,
                        heed_ranks_room(x->dtype, x->shape.dim[dim]), fn);
}

static bool run_median(heed_call *c, heed_line_fn *fn) {
  heed_tensor *x = c->in[0];
  const heed_shape *dims = &c->attr[0].list;
  if (dims->ndim == 1) return run_one(c, dims->dim[0], fn);
  if (dims->ndim == 0) { /* over no dimension: each element alone */
    heed_copy(c->out[0], x);
    return true;
  }
  /* all elements as one line; the place is for nobody */
  heed_tensor *rows = heed_contiguous(c->op->name, x);
  heed_tensor *place = heed_tensor_new(c->op->name, HEED_INT64,
                                       &c->out[0]->shape);
  bool ok = rows && place;
  if (ok) {
    heed_tensor flat = *rows, *in = &flat;
    flat.shape = (heed_shape){1, {heed_tensor_numel(x)}};
    flat.stride[0] = 1;
    heed_call line = *c;
    line.in = &in;
    line.out[1] = place;
    ok = run_one(&line, 0, fn);
  }
  heed_tensor_drop(rows);
  heed_tensor_drop(place);
  return ok;
}

/***
The median over one dimension, with its place, or over all; of an even number
of elements the lower one of the two in the middle; NaN when there is one. The
gradient goes to the place; over all dimensions, evenly to all that are equal.
@function median
@param x tensor
@param dim dimension; all by default
@param keepdim keep the reduced dimension with size 1; false by default
@return tensor of values
@return int64 tensor of the first places, from 1; only when dim is given
@raise when a dimension is out of range or has no elements
@usage local value, place = heed.tensor{4, 1, 3, 2}:median(1) --> 2, 4
*/
static bool median_fwd(heed_call *c) { return run_median(c, median_line); }
const heed_rule heed_rule_median = {
    .check = heed_reduce_choice_check, .forward = median_fwd,
    .backward = heed_reduce_choice_bwd, .keep = {HEED_ALWAYS},
    .keep_out = {HEED_ALWAYS, HEED_ALWAYS}};

/***
The median of the elements that are not NaN, as `median`; NaN when there are
none.
@function nanmedian
@param x tensor
@param dim dimension; all by default
@param keepdim keep the reduced dimension with size 1; false by default
@return tensor of values
@return int64 tensor of the first places, from 1; only when dim is given
@raise when a dimension is out of range or has no elements
@usage local value, place = heed.tensor{4, 0 / 0, 3, 2}:nanmedian(1) --> 3, 3
*/
static bool nanmedian_fwd(heed_call *c) {
  return run_median(c, nanmedian_line);
}
const heed_rule heed_rule_nanmedian = {
    .check = heed_reduce_choice_check, .forward = nanmedian_fwd,
    .backward = heed_reduce_choice_bwd, .keep = {HEED_ALWAYS},
    .keep_out = {HEED_ALWAYS, HEED_ALWAYS}};

/* -- kthvalue and mode -- */

/* Sets the results for one element of each line along *dim. */
static bool one_check(heed_call *c, int64_t *dim, bool keepdim) {
  heed_tensor *x = c->in[0];
  bool on[HEED_MAX_DIM] = {false};
  if (!heed_axis(c, 0, dim)) return false;
  if (x->shape.dim[*dim] == 0)
    return heed_fail("%s: x %s has no elements to choose from", c->op->name,
                     heed_shape_text(&x->shape));
  on[*dim] = true;
  heed_shape shape = heed_reduce_shape(&x->shape, on, keepdim);
  heed_out(c, 0, x->dtype, &shape);
  heed_out(c, 1, HEED_INT64, &shape);
  return true;
}

/***
The k-th smallest value along one dimension, and where it stood; NaN counts as
greater than all others.
@function kthvalue
@param x tensor
@param k 1 for the smallest, up to the size of that dimension
@param dim dimension, the last by default
@param keepdim keep that dimension with size 1; false by default
@return tensor of values
@return int64 tensor of places, from 1; equal values count in their order
@raise when dim or k is out of range
@usage local value, place = heed.tensor{4, 1, 3}:kthvalue(2) --> 3, 3
*/
static bool kthvalue_check(heed_call *c) {
  heed_tensor *x = c->in[0];
  if (!one_check(c, &c->attr[1].i, c->attr[2].i)) return false;
  int64_t k = c->attr[0].i, n = x->shape.dim[c->attr[1].i];
  return (k >= 1 && k <= n) ||
         heed_fail("kthvalue: k must be 1..%lld for dim %lld of x %s, got "
                   "%lld", (long long)n, (long long)c->attr[1].i + 1,
                   heed_shape_text(&x->shape), (long long)k);
}
static void kth_line(const heed_lines *l, const void *x, int64_t *place,
                     void *scratch) {
  heed_ranks r;
  heed_ranks_read(&r, l->dtype, l->n, x, false, scratch);
  *place = heed_ranks_select(&r, l->attr[0].i - 1);
}
static bool kthvalue_fwd(heed_call *c) {
  return run_one(c, c->attr[1].i, kth_line);
}
static bool kthvalue_bwd(heed_rule_call *r) {
  return heed_lines_bwd(r, r->attr[1].i, r->attr[2].i);
}
const heed_rule heed_rule_kthvalue = {
    .check = kthvalue_check, .forward = kthvalue_fwd,
    .backward = kthvalue_bwd, .keep_out = {0, HEED_NEED(0)}};

/***
The most frequent value along one dimension, and where it stands; of equally
frequent ones the smallest. NaNs count as equal.
@function mode
@param x tensor
@param dim dimension, the last by default
@param keepdim keep that dimension with size 1; false by default
@return tensor of values
@return int64 tensor of places, from 1: the last one of that value
@raise when dim is out of range or has no elements
@usage local value, place = heed.tensor{2, 1, 2, 1}:mode() --> 1, 4
*/
static bool mode_check(heed_call *c) {
  return one_check(c, &c->attr[0].i, c->attr[1].i);
}
static void mode_line(const heed_lines *l, const void *x, int64_t *place,
                      void *scratch) {
  int64_t first = 0, most = 0;
  heed_ranks r;
  heed_ranks_read(&r, l->dtype, l->n, x, false, scratch);
  heed_ranks_sort(&r);
  for (int64_t i = 1; i <= l->n; i++) {
    if (i < l->n && heed_ranks_equal(&r, i, i - 1)) continue;
    if (i - first > most) {
      most = i - first;
      *place = heed_ranks_place(&r, i - 1);
    }
    first = i;
  }
}
static bool mode_fwd(heed_call *c) {
  return run_one(c, c->attr[0].i, mode_line);
}
static bool mode_bwd(heed_rule_call *r) {
  return heed_lines_bwd(r, r->attr[0].i, r->attr[1].i);
}
const heed_rule heed_rule_mode = {
    .check = mode_check, .forward = mode_fwd, .backward = mode_bwd,
    .keep_out = {0, HEED_NEED(0)}};
