/*
 * softmax - exponentials that sum to 1, along one dimension. Layer: ops.
 * Read first: core/op.h, rows.h, kernel/softmax.c.
 *
 *     y = e^x / sum(e^x)        dx = y * (g - sum(y * g))
 */
#include <math.h>

#include "base/error.h"
#include "kernel/kernel.h"
#include "ops/ops.h"
#include "ops/reduce.h"
#include "ops/rows.h"

/* -- running a kernel over rows -- */

typedef void row_fn2(int64_t n, void *y, const void *x);
typedef void row_fn3(int64_t n, void *y, const void *a, const void *b);

static void run2(void *fn, int64_t row, int64_t n, void *const *data) {
  (void)row;
  (*(row_fn2 **)fn)(n, data[0], data[1]);
}

static void run3(void *fn, int64_t row, int64_t n, void *const *data) {
  (void)row;
  (*(row_fn3 **)fn)(n, data[0], data[1], data[2]);
}

static void run_masked(void *fn, int64_t row, int64_t n, void *const *data) {
  (void)row;
  (*(void (**)(int64_t, void *, const void *, const uint8_t *))fn)(
      n, data[0], data[1], data[2]);
}

/* The rows of result 0 and of all inputs along attribute 0. */
static bool run(heed_call *c, heed_rows_fn *fn, void *kernel) {
  heed_rows rows = {.shape = c->out[0]->shape, .nwrite = 1, .ntensor = 1};
  int64_t dim = c->attr[0].i;
  rows.along[dim < 0 ? dim + rows.shape.ndim : dim] = true;
  rows.tensor[0] = c->out[0];
  for (int i = 0; i < c->nin; i++) rows.tensor[rows.ntensor++] = c->in[i];
  return heed_rows_run(&rows, fn, kernel);
}

static bool axis_check(heed_call *c) {
  int64_t dim = c->attr[0].i;
  if (!heed_want_float(c, 0) || !heed_axis(c, 0, &dim)) return false;
  heed_out_like(c, 0, c->in[0]);
  return true;
}

/* Sums x along attribute 0, which stays as a dimension of size 1. */
static heed_tensor *sum_along(heed_rule_call *r, heed_tensor *x) {
  heed_shape shape = *heed_in_shape(r, 0);
  int64_t dim = r->attr[0].i;
  shape.dim[dim < 0 ? dim + shape.ndim : dim] = 1;
  return heed_do1_with(r, HEED_OP_sum_to, x, &(heed_attr){.list = shape});
}

/* -- softmax -- */

/***
The softmax e^x / sum(e^x) along one dimension: positive and summing to 1.
A row of -inf only, or with inf or NaN in it, gives NaN.
@function softmax
@param x float tensor
@param dim dimension, the last by default
@return tensor like x
@raise when x is not float or dim is out of range
@usage heed.tensor{0.0, 0.0}:softmax() --> 0.5 0.5
*/
static bool softmax_fwd(heed_call *c) {
  row_fn2 *kernel = heed_kernel.softmax[c->in[0]->dtype];
  return run(c, run2, &kernel);
}

/* y * (g - sum(y * g)) as ops, to be differentiated in turn. */
static heed_tensor *softmax_slope(heed_rule_call *r, heed_tensor *y,
                                  heed_tensor *g) {
  heed_tensor *dot = sum_along(r, heed_do2(r, HEED_OP_mul, y, g));
  return heed_do2(r, HEED_OP_mul, y, heed_do2(r, HEED_OP_sub, g, dot));
}

static bool softmax_bwd(heed_rule_call *r) {
  heed_tensor *y = heed_kept_out(r, 0), *g = r->grad[0];
  if (heed_grad_enabled()) return heed_give(r, 0, softmax_slope(r, y, g));
  return heed_give(r, 0, heed_do2_with(r, HEED_OP_softmax_bwd, y, g,
                                       r->attr));
}
const heed_rule heed_rule_softmax = {
    .check = axis_check, .forward = softmax_fwd, .backward = softmax_bwd,
    .keep_out = {HEED_ALWAYS}};

/***
The logarithm of the softmax, x - log(sum(e^x)), along one dimension; exact
where the softmax itself would be 0.
@function log_softmax
@param x float tensor
@param dim dimension, the last by default
@return tensor like x
@raise when x is not float or dim is out of range
@usage heed.tensor{0.0, 0.0}:log_softmax() --> -0.6931 -0.6931
*/
static bool log_softmax_fwd(heed_call *c) {
  row_fn2 *kernel = heed_kernel.log_softmax[c->in[0]->dtype];
  return run(c, run2, &kernel);
}

static bool log_softmax_bwd(heed_rule_call *r) {
  heed_tensor *y = heed_kept_out(r, 0), *g = r->grad[0];
  if (!heed_grad_enabled())
    return heed_give(r, 0, heed_do2_with(r, HEED_OP_log_softmax_bwd, y, g,
                                         r->attr));
  /* g - e^y sum(g) */
  heed_tensor *t = heed_do2(r, HEED_OP_mul, heed_do1(r, HEED_OP_exp, y),
                            sum_along(r, g));
  return heed_give(r, 0, heed_do2(r, HEED_OP_sub, g, t));
}
const heed_rule heed_rule_log_softmax = {
    .check = axis_check, .forward = log_softmax_fwd,
    .backward = log_softmax_bwd, .keep_out = {HEED_ALWAYS}};

/***
The softmax of what a mask keeps: masked places get 0 and have no influence,
not even as NaN. A row that keeps nothing (or only -inf) gives zeros, with
zero gradients.
@function masked_softmax
@param x float tensor
@param mask bool tensor that broadcasts to x: true = keep
@param dim dimension, the last by default
@return tensor like x
@raise when x is not float, mask is not bool or does not broadcast to x
@usage heed.nn.functional.masked_softmax(heed.tensor{1.0, 1.0, 5.0},
  heed.tensor{true, true, false}) --> 0.5 0.5 0
*/
static bool masked_softmax_check(heed_call *c) {
  const heed_shape *x = &c->in[0]->shape, *mask = &c->in[1]->shape;
  heed_shape both;
  if (!heed_want_dtype(c, 1, HEED_BOOL)) return false;
  if (!heed_shape_broadcast(x, mask, &both) || !heed_shape_equal(x, &both))
    return heed_fail("masked_softmax: mask %s does not broadcast to x %s",
                     heed_shape_text(mask), heed_shape_text(x));
  return axis_check(c);
}

static bool masked_softmax_fwd(heed_call *c) {
  void (*kernel)(int64_t, void *, const void *, const uint8_t *) =
      heed_kernel.masked_softmax[c->in[0]->dtype];
  return run(c, run_masked, &kernel);
}

static bool masked_softmax_bwd(heed_rule_call *r) {
  heed_tensor *y = heed_kept_out(r, 0), *g = r->grad[0];
  if (!heed_grad_enabled())
    return heed_give(r, 0, heed_do2_with(r, HEED_OP_masked_softmax_bwd, y, g,
                                         r->attr));
  /* a gradient that is NaN in a masked place must not leak either */
  g = heed_do3(r, HEED_OP_where, heed_in(r, 1), g, heed_number(r, 0));
  return heed_give(r, 0, softmax_slope(r, y, g));
}
const heed_rule heed_rule_masked_softmax = {
    .check = masked_softmax_check, .forward = masked_softmax_fwd,
    .backward = masked_softmax_bwd, .keep = {0, HEED_ALWAYS},
    .keep_out = {HEED_ALWAYS}};

/* -- logsumexp -- */

typedef struct reduction {
  double (*kernel)(int64_t n, const void *x);
  heed_tensor *y; /* contiguous, one element a row */
} reduction;

static void reduce_row(void *context, int64_t row, int64_t n,
                       void *const *data) {
  const reduction *to = context;
  heed_real_store(to->y->dtype, heed_tensor_data(to->y), row,
                  to->kernel(n, data[0]));
}

/***
log(sum(e^x)) over some dimensions, without overflow; -inf over nothing.
@function logsumexp
@param x float tensor
@param dim dimension or list of them, all by default
@param keepdim keeps them with size 1; false by default
@return tensor without these dimensions
@raise when x is not float or a dim is out of range
@usage heed.tensor{0.0, 0.0}:logsumexp() --> 0.6931
*/
static bool logsumexp_check(heed_call *c) {
  return heed_want_float(c, 0) && heed_reduce_check(c, c->in[0]->dtype);
}

static bool logsumexp_fwd(heed_call *c) {
  heed_tensor *x = c->in[0];
  heed_rows rows = {.shape = x->shape, .ntensor = 1, .tensor = {x}};
  reduction to = {heed_kernel.logsumexp[x->dtype], c->out[0]};
  return heed_axes(c, 0, &c->attr[0].list, rows.along) &&
         heed_rows_run(&rows, reduce_row, &to);
}

static bool logsumexp_bwd(heed_rule_call *r) {
  /* g e^(x - y); where y is -inf, 0 stands in for it, so that e^x = 0 is
     left and not NaN */
  heed_tensor *y = heed_reduce_put_back(r, heed_kept_out(r, 0));
  heed_tensor *g = heed_reduce_put_back(r, r->grad[0]);
  heed_tensor *low = heed_do2(r, HEED_OP_eq, y, heed_number(r, -INFINITY));
  y = heed_do3(r, HEED_OP_where, low, heed_number(r, 0), y);
  heed_tensor *p = heed_do1(r, HEED_OP_exp,
                            heed_do2(r, HEED_OP_sub, heed_in(r, 0), y));
  return heed_give(r, 0, heed_do2(r, HEED_OP_mul, g, p));
}
const heed_rule heed_rule_logsumexp = {
    .check = logsumexp_check, .forward = logsumexp_fwd,
    .backward = logsumexp_bwd, .keep = {HEED_ALWAYS},
    .keep_out = {HEED_ALWAYS}};

/* -- for backward rules: (y, gradient) of one shape -- */

#define GRADIENT_OP(name)                                       \
  static bool name##_fwd(heed_call *c) {                        \
    row_fn3 *kernel = heed_kernel.name[c->in[0]->dtype];        \
    return run(c, run3, &kernel);                               \
  }                                                             \
  const heed_rule heed_rule_##name = {                          \
      .check = axis_check, .forward = name##_fwd};

GRADIENT_OP(softmax_bwd)
GRADIENT_OP(masked_softmax_bwd)
GRADIENT_OP(log_softmax_bwd)
