/*
 * maths - functions of each element. Layer: ops. Read first: each.h.
 */
#define _GNU_SOURCE
#include <math.h>

#include "ops/each.h"

#define FUNCTION(name, kept_in, kept_out)                            \
  HEED_UNARY_OP(name, false)                          \
  const heed_rule heed_rule_##name = {                               \
      .check = name##_check, .forward = name##_fwd,                  \
      .backward = name##_bwd, .keep = {kept_in}, .keep_out = {kept_out}, \
      .promote = true, .to_float = true, .elementwise = true};

/***
The exponential e^x.
@function exp
@param x tensor; integers are taken as float32
@return float tensor of the shape of x
@usage heed.tensor{0, 1}:exp() --> 1 2.7183
*/
static bool exp_bwd(heed_rule_call *r) {
  return heed_each_product(r, heed_kept_out(r, 0));
}
FUNCTION(exp, 0, HEED_ALWAYS)

/***
The natural logarithm: -inf at 0, NaN below.
@function log
@param x tensor; integers are taken as float32
@return float tensor of the shape of x
@usage heed.tensor{1, 2}:log() --> 0 0.6931
*/
static bool log_bwd(heed_rule_call *r) {
  return heed_give(r, 0, heed_do2(r, HEED_OP_div, r->grad[0],
                                  heed_in(r, 0)));
}
FUNCTION(log, HEED_ALWAYS, 0)

/***
The square root; NaN below 0.
@function sqrt
@param x tensor; integers are taken as float32
@return float tensor of the shape of x
@usage heed.tensor{4, 9}:sqrt() --> 2 3
*/
static bool sqrt_bwd(heed_rule_call *r) {
  heed_tensor *twice = heed_do2(r, HEED_OP_mul, heed_kept_out(r, 0),
                                heed_number(r, 2));
  return heed_give(r, 0, heed_do2(r, HEED_OP_div, r->grad[0], twice));
}
FUNCTION(sqrt, 0, HEED_ALWAYS)

/***
One over the square root.
@function rsqrt
@param x tensor; integers are taken as float32
@return float tensor of the shape of x
@usage heed.tensor{4, 16}:rsqrt() --> 0.5 0.25
*/
static bool rsqrt_bwd(heed_rule_call *r) {
  /* -1/2 y^3 */
  heed_tensor *y = heed_kept_out(r, 0);
  heed_tensor *cube = heed_do2(r, HEED_OP_mul, y,
                               heed_do2(r, HEED_OP_mul, y, y));
  return heed_each_product(r, heed_do2(r, HEED_OP_mul, cube,
                                  heed_number(r, -0.5)));
}
FUNCTION(rsqrt, 0, HEED_ALWAYS)

/***
The sine of x in radians.
@function sin
@param x tensor; integers are taken as float32
@return float tensor of the shape of x
@usage heed.tensor{0, math.pi / 2}:sin() --> 0 1
*/
static bool sin_bwd(heed_rule_call *r) {
  return heed_each_product(r, heed_do1(r, HEED_OP_cos, heed_in(r, 0)));
}
FUNCTION(sin, HEED_ALWAYS, 0)

/***
The cosine of x in radians.
@function cos
@param x tensor; integers are taken as float32
@return float tensor of the shape of x
@usage heed.tensor{0, math.pi}:cos() --> 1 -1
*/
static bool cos_bwd(heed_rule_call *r) {
  heed_tensor *sine = heed_do1(r, HEED_OP_sin, heed_in(r, 0));
  return heed_each_product(r, heed_do1(r, HEED_OP_neg, sine));
}
FUNCTION(cos, HEED_ALWAYS, 0)

/***
The hyperbolic tangent.
@function tanh
@param x tensor; integers are taken as float32
@return float tensor of the shape of x
@usage heed.tensor{0, 1}:tanh() --> 0 0.7616
*/
static bool tanh_bwd(heed_rule_call *r) {
  heed_tensor *y = heed_kept_out(r, 0);
  if (!heed_grad_enabled())
    return heed_give(r, 0, heed_do2(r, HEED_OP_tanh_bwd, y, r->grad[0]));
  heed_tensor *square = heed_do2(r, HEED_OP_mul, y, y);
  return heed_each_product(r, heed_do2(r, HEED_OP_sub, heed_number(r, 1),
                                  square));
}
FUNCTION(tanh, 0, HEED_ALWAYS)

/***
The logistic function 1 / (1 + e^-x).
@function sigmoid
@param x tensor; integers are taken as float32
@return float tensor of the shape of x
@usage heed.tensor{0, 2}:sigmoid() --> 0.5 0.8808
*/
static bool sigmoid_bwd(heed_rule_call *r) {
  heed_tensor *y = heed_kept_out(r, 0);
  if (!heed_grad_enabled())
    return heed_give(r, 0, heed_do2(r, HEED_OP_sigmoid_bwd, y, r->grad[0]));
  heed_tensor *rest = heed_do2(r, HEED_OP_sub, heed_number(r, 1), y);
  return heed_each_product(r, heed_do2(r, HEED_OP_mul, y, rest));
}
FUNCTION(sigmoid, 0, HEED_ALWAYS)

/***
The error function 2/sqrt(pi) * integral of e^(-t^2) from 0 to x.
@function erf
@param x tensor; integers are taken as float32
@return float tensor of the shape of x
@usage heed.tensor{0, 1}:erf() --> 0 0.8427
*/
static bool erf_bwd(heed_rule_call *r) {
  heed_tensor *x = heed_in(r, 0);
  heed_tensor *bell = heed_do1(
      r, HEED_OP_exp,
      heed_do1(r, HEED_OP_neg, heed_do2(r, HEED_OP_mul, x, x)));
  return heed_each_product(r, heed_do2(r, HEED_OP_mul, bell,
                                  heed_number(r, 2 / sqrt(M_PI))));
}
FUNCTION(erf, HEED_ALWAYS, 0)

#define ROUNDING(name)                                \
  HEED_UNARY_OP(name, false)                          \
  const heed_rule heed_rule_##name = {                \
      .check = name##_check, .forward = name##_fwd, \
      .backward = heed_each_flat_bwd, .elementwise = true};

/***
The largest integer not above x.
@function floor
@param x tensor
@return tensor like x
@usage heed.tensor{1.5, -1.5}:floor() --> 1 -2
*/
ROUNDING(floor)

/***
The smallest integer not below x.
@function ceil
@param x tensor
@return tensor like x
@usage heed.tensor{1.5, -1.5}:ceil() --> 2 -1
*/
ROUNDING(ceil)

/***
The nearest integer; halves go to the even one.
@function round
@param x tensor
@return tensor like x
@usage heed.tensor{1.5, 2.5}:round() --> 2 2
*/
ROUNDING(round)

/* -- for backward rules -- */

/* Ops of one kernel that takes (value, gradient) of one shape. */
#define GRADIENT_OP(name)                                        \
  HEED_BINARY_OP(name, false)                                         \
  const heed_rule heed_rule_##name = {                           \
      .check = name##_check, .forward = name##_fwd};

GRADIENT_OP(tanh_bwd)
GRADIENT_OP(sigmoid_bwd)
