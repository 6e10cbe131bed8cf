/*
 * activation - functions between the layers of a network.
 * Layer: ops. Read first: each.h.
 */
#define _GNU_SOURCE
#include <math.h>

#include "ops/each.h"

/***
max(x, 0). Its gradient at 0 is 0.
@function relu
@param x tensor
@return tensor like x
@usage heed.tensor{-1, 2}:relu() --> 0 2
*/
HEED_UNARY_OP(relu, false)
static bool relu_bwd(heed_rule_call *r) {
  /* y > 0 exactly where x > 0, and y is kept by the next layer anyway */
  return heed_give(r, 0, heed_do2(r, HEED_OP_relu_bwd, heed_kept_out(r, 0),
                                  r->grad[0]));
}
const heed_rule heed_rule_relu = {
    .check = relu_check, .forward = relu_fwd, .backward = relu_bwd,
    .keep_out = {HEED_ALWAYS}, .elementwise = true};

/***
The Gaussian error linear unit x * Phi(x) (Hendrycks and Gimpel, 2016).
@function gelu
@param x float tensor
@param approximate `"none"`: x/2 (1 + erf(x / sqrt 2)); `"tanh"`: x/2 (1 +
tanh(sqrt(2/pi) (x + 0.044715 x^3)))
@return tensor like x
@usage heed.nn.functional.gelu(heed.tensor{0.0, 1.0}) --> 0 0.8413
*/
static bool gelu_check(heed_call *c) {
  return heed_want_float(c, 0) &&
         heed_each_check1(c, HEED_UNARY_gelu, false);
}
static bool gelu_fwd(heed_call *c) {
  heed_unary f = c->attr[0].i ? HEED_UNARY_gelu_tanh : HEED_UNARY_gelu;
  return heed_each_run1(c, heed_kernel.unary[f][c->in[0]->dtype]);
}
/* Phi(x) + x phi(x) */
static heed_tensor *gelu_slope(heed_rule_call *r, heed_tensor *x) {
  heed_tensor *below = heed_each_times(
      r, heed_do1(r, HEED_OP_erfc, heed_each_times(r, x, -M_SQRT1_2)), 0.5);
  heed_tensor *bell = heed_do1(
      r, HEED_OP_exp, heed_each_times(r, heed_each_square(r, x), -0.5));
  bell = heed_each_times(r, bell, M_SQRT1_2 * M_2_SQRTPI / 2);
  return heed_do2(r, HEED_OP_add, below, heed_do2(r, HEED_OP_mul, x, bell));
}
/* s + x s (1 - s) u', s = sigmoid(u), u = 2 sqrt(2 / pi) (x + c x^3) */
static heed_tensor *gelu_tanh_slope(heed_rule_call *r, heed_tensor *x) {
  const double k = 2 * M_SQRT1_2 * M_2_SQRTPI, c = 0.044715;
  heed_tensor *square = heed_each_square(r, x);
  heed_tensor *u = heed_each_plus(r, heed_each_times(r, square, k * c), k);
  heed_tensor *du = heed_each_plus(r, heed_each_times(r, square, 3 * k * c),
                                   k);
  u = heed_do2(r, HEED_OP_mul, x, u);
  heed_tensor *s = heed_do1(r, HEED_OP_sigmoid, u);
  heed_tensor *rest = heed_do1(r, HEED_OP_sigmoid, heed_do1(r, HEED_OP_neg, u));
  heed_tensor *t = heed_do2(r, HEED_OP_mul, heed_do2(r, HEED_OP_mul, x, rest),
                            du);
  return heed_do2(r, HEED_OP_mul, s, heed_each_plus(r, t, 1));
}
static bool gelu_bwd(heed_rule_call *r) {
  heed_tensor *x = heed_in(r, 0);
  if (heed_grad_enabled())
    return heed_each_product(r, r->attr[0].i ? gelu_tanh_slope(r, x)
                                             : gelu_slope(r, x));
  return heed_give(r, 0, heed_do2_with(r, HEED_OP_gelu_bwd, heed_in(r, 0),
                                       r->grad[0], r->attr));
}
const heed_rule heed_rule_gelu = {
    .check = gelu_check, .forward = gelu_fwd, .backward = gelu_bwd,
    .keep = {HEED_ALWAYS}, .elementwise = true};

/***
x * sigmoid(x), also called swish.
@function silu
@param x float tensor
@return tensor like x
@usage heed.nn.functional.silu(heed.tensor{0.0, 1.0}) --> 0 0.7311
*/
static bool silu_check(heed_call *c) {
  return heed_want_float(c, 0) &&
         heed_each_check1(c, HEED_UNARY_silu, false);
}
static bool silu_fwd(heed_call *c) {
  return heed_each_run1(
      c, heed_kernel.unary[HEED_UNARY_silu][c->in[0]->dtype]);
}
static bool silu_bwd(heed_rule_call *r) {
  if (heed_grad_enabled()) { /* s (1 + x (1 - s)) */
    heed_tensor *x = heed_in(r, 0), *s = heed_do1(r, HEED_OP_sigmoid, x);
    heed_tensor *rest = heed_do2(r, HEED_OP_sub, heed_number(r, 1), s);
    heed_tensor *t = heed_each_plus(r, heed_do2(r, HEED_OP_mul, x, rest), 1);
    return heed_each_product(r, heed_do2(r, HEED_OP_mul, s, t));
  }
  return heed_give(r, 0, heed_do2(r, HEED_OP_silu_bwd, heed_in(r, 0),
                                  r->grad[0]));
}
const heed_rule heed_rule_silu = {
    .check = silu_check, .forward = silu_fwd, .backward = silu_bwd,
    .keep = {HEED_ALWAYS}, .elementwise = true};

/* -- of the kind that has a kink or is tuned by numbers -- */

/* Is x between the numbers, both ends left out? NaN counts as such. */
static heed_tensor *between(heed_rule_call *r, heed_tensor *x, double low,
                            double high) {
  heed_tensor *beyond = heed_do2(
      r, HEED_OP_logical_or, heed_do2(r, HEED_OP_le, x, heed_number(r, low)),
      heed_do2(r, HEED_OP_ge, x, heed_number(r, high)));
  return heed_do1(r, HEED_OP_logical_not, beyond);
}
/* A bool as numbers of the dtype of x. */
static heed_tensor *as_number(heed_rule_call *r, heed_tensor *test) {
  return heed_do1_with(r, HEED_OP_to, test,
                       &(heed_attr){.i = r->node->in[0].dtype});
}
/* Is x outside of them, NaN too? */
static heed_tensor *outside(heed_rule_call *r, heed_tensor *x, double low,
                            double high) {
  heed_tensor *within = heed_do2(
      r, HEED_OP_logical_and, heed_do2(r, HEED_OP_ge, x, heed_number(r, low)),
      heed_do2(r, HEED_OP_le, x, heed_number(r, high)));
  return heed_do1(r, HEED_OP_logical_not, within);
}

/***
x where it is positive, else x times a small slope (Maas et al., 2013).
@function leaky_relu
@param x float tensor
@param negative_slope number, 0.01 by default: also the gradient at 0
@return tensor like x
@usage heed.nn.functional.leaky_relu(heed.tensor{-1.0, 2.0}) --> -0.01 2
*/
static heed_tensor *leaky_relu_slope(heed_rule_call *r, heed_tensor *x) {
  heed_tensor *positive = heed_do2(r, HEED_OP_gt, x, heed_number(r, 0));
  double slope = r->attr[0].f;
  heed_tensor *side = as_number(r, positive);
  return heed_each_plus(r, heed_each_times(r, side, 1 - slope), slope);
}
HEED_TUNED_OP(leaky_relu)

/***
x where it is positive, else alpha (e^x - 1) (Clevert et al., 2015).
@function elu
@param x float tensor
@param alpha number, 1 by default
@param scale number: a factor of the whole, 1 by default
@param input_scale number: a factor of x in the exponent, 1 by default
@return tensor like x
@usage heed.nn.functional.elu(heed.tensor{-1.0, 2.0}) --> -0.6321 2
*/
static heed_tensor *elu_slope(heed_rule_call *r, heed_tensor *x) {
  double alpha = r->attr[0].f, scale = r->attr[1].f, in = r->attr[2].f;
  heed_tensor *zero = heed_number(r, 0);
  heed_tensor *positive = heed_do2(r, HEED_OP_gt, x, zero);
  /* bounded, so that no infinity waits on the side not taken */
  heed_tensor *low = heed_do3(r, HEED_OP_where, positive, zero, x);
  heed_tensor *e = heed_do1(r, HEED_OP_exp, heed_each_times(r, low, in));
  return heed_do3(r, HEED_OP_where, positive, heed_number(r, scale),
                  heed_each_times(r, e, alpha * scale * in));
}
HEED_TUNED_OP(elu)

/***
log(1 + e^(beta x)) / beta: a smooth relu.
@function softplus
@param x float tensor
@param beta number, 1 by default
@param threshold number, 20 by default: where beta x is above it, x itself is
the result
@return tensor like x
@usage heed.nn.functional.softplus(heed.tensor{0.0, 30.0}) --> 0.6931 30
*/
static heed_tensor *softplus_slope(heed_rule_call *r, heed_tensor *x) {
  heed_tensor *scaled = heed_each_times(r, x, r->attr[0].f);
  heed_tensor *above = heed_do2(r, HEED_OP_gt, scaled,
                                heed_number(r, r->attr[1].f));
  return heed_do3(r, HEED_OP_where, above, heed_number(r, 1),
                  heed_do1(r, HEED_OP_sigmoid, scaled));
}
HEED_TUNED_OP(softplus)

/***
log(sigmoid(x)) = -log(1 + e^-x).
@function logsigmoid
@param x float tensor
@return tensor like x
@usage heed.nn.functional.logsigmoid(heed.tensor{0.0}) --> -0.6931
*/
static heed_tensor *logsigmoid_slope(heed_rule_call *r, heed_tensor *x) {
  return heed_do1(r, HEED_OP_sigmoid, heed_do1(r, HEED_OP_neg, x));
}
HEED_TUNED_OP(logsigmoid)

/***
x held within min_val .. max_val. Unlike clamp it has no gradient at the ends.
@function hardtanh
@param x float tensor
@param min_val number, -1 by default
@param max_val number, 1 by default
@return tensor like x
@usage heed.nn.functional.hardtanh(heed.tensor{-2.0, 0.5}) --> -1 0.5
*/
static heed_tensor *hardtanh_slope(heed_rule_call *r, heed_tensor *x) {
  return between(r, x, r->attr[0].f, r->attr[1].f);
}
HEED_TUNED_OP(hardtanh)

/***
x where |x| > lambd, else 0.
@function hardshrink
@param x float tensor
@param lambd number, 0.5 by default
@return tensor like x
@usage heed.nn.functional.hardshrink(heed.tensor{0.4, -2.0}) --> 0 -2
*/
static heed_tensor *hardshrink_slope(heed_rule_call *r, heed_tensor *x) {
  return outside(r, x, -r->attr[0].f, r->attr[0].f);
}
HEED_TUNED_OP(hardshrink)

/***
x moved towards 0 by lambd, and 0 where |x| <= lambd.
@function softshrink
@param x float tensor
@param lambd number, 0.5 by default
@return tensor like x
@usage heed.nn.functional.softshrink(heed.tensor{0.4, -2.0}) --> 0 -1.5
*/
static heed_tensor *softshrink_slope(heed_rule_call *r, heed_tensor *x) {
  return hardshrink_slope(r, x);
}
HEED_TUNED_OP(softshrink)

/***
x where it is above the threshold, else the value.
@function threshold
@param x float tensor
@param threshold number
@param value number
@return tensor like x
@usage heed.nn.functional.threshold(heed.tensor{1.0, 3.0}, 2, -1) --> -1 3
*/
static heed_tensor *threshold_slope(heed_rule_call *r, heed_tensor *x) {
  return outside(r, x, -INFINITY, r->attr[0].f);
}
HEED_TUNED_OP(threshold)

/***
(x + 3) / 6 held within 0 .. 1: sigmoid in straight pieces.
@function hardsigmoid
@param x float tensor
@return tensor like x
@usage heed.nn.functional.hardsigmoid(heed.tensor{0.0, 4.0}) --> 0.5 1
*/
static heed_tensor *hardsigmoid_slope(heed_rule_call *r, heed_tensor *x) {
  return heed_each_times(r, as_number(r, between(r, x, -3, 3)), 1.0 / 6);
}
HEED_TUNED_OP(hardsigmoid)

/***
x hardsigmoid(x): silu in straight pieces (Howard et al., 2019).
@function hardswish
@param x float tensor
@return tensor like x
@usage heed.nn.functional.hardswish(heed.tensor{1.0, 4.0}) --> 0.6667 4
*/
static heed_tensor *hardswish_slope(heed_rule_call *r, heed_tensor *x) {
  heed_tensor *line = heed_each_plus(r, heed_each_times(r, x, 1.0 / 3), 0.5);
  heed_tensor *high = heed_do2(r, HEED_OP_ge, x, heed_number(r, 3));
  return heed_do3(r, HEED_OP_where, between(r, x, -3, 3), line, high);
}
HEED_TUNED_OP(hardswish)

/***
x tanh(softplus(x)) (Misra, 2019).
@function mish
@param x float tensor
@return tensor like x
@usage heed.nn.functional.mish(heed.tensor{0.0, 1.0}) --> 0 0.8651
*/
static heed_tensor *mish_slope(heed_rule_call *r, heed_tensor *x) {
  /* t + x s (1 - t^2), t = tanh(softplus(x)), s = sigmoid(x) */
  heed_attr attr[2] = {{.f = 1}, {.f = 20}};
  heed_tensor *t = heed_do1(r, HEED_OP_tanh,
                            heed_do1_with(r, HEED_OP_softplus, x, attr));
  heed_tensor *rest = heed_do2(r, HEED_OP_sub, heed_number(r, 1),
                               heed_each_square(r, t));
  heed_tensor *xs = heed_do2(r, HEED_OP_mul, x,
                             heed_do1(r, HEED_OP_sigmoid, x));
  return heed_do2(r, HEED_OP_add, t, heed_do2(r, HEED_OP_mul, xs, rest));
}
HEED_TUNED_OP(mish)

/* -- for backward rules -- */

HEED_BINARY_OP(silu_bwd, false)
const heed_rule heed_rule_silu_bwd = {
    .check = silu_bwd_check, .forward = silu_bwd_fwd};

HEED_BINARY_OP(relu_bwd, false)
static bool relu_bwd_bwd(heed_rule_call *r) {
  /* linear in the gradient; flat in x */
  return !heed_needs(r, 1) ||
         heed_give(r, 1, heed_do2(r, HEED_OP_relu_bwd, heed_in(r, 0),
                                  r->grad[0]));
}
const heed_rule heed_rule_relu_bwd = {
    .check = relu_bwd_check, .forward = relu_bwd_fwd,
    .backward = relu_bwd_bwd, .keep = {HEED_NEED(1)}};

static bool gelu_bwd_check(heed_call *c) {
  return heed_each_check2(c, HEED_BINARY_gelu_bwd, false);
}
static bool gelu_bwd_fwd(heed_call *c) {
  heed_binary f = c->attr[0].i ? HEED_BINARY_gelu_tanh_bwd
                               : HEED_BINARY_gelu_bwd;
  return heed_each_run2(c, heed_kernel.binary[f][c->in[0]->dtype]);
}
const heed_rule heed_rule_gelu_bwd = {
    .check = gelu_bwd_check, .forward = gelu_bwd_fwd};
