/*
 * trigonometry - circular and hyperbolic functions and their inverses.
 * Layer: ops. Read first: each.h.
 */
#define _GNU_SOURCE
#include <math.h>

#include "ops/each.h"

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
HEED_FUNCTION_OP(sin, HEED_ALWAYS, 0)

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
HEED_FUNCTION_OP(cos, HEED_ALWAYS, 0)

/***
The tangent of x in radians.
@function tan
@param x tensor; integers are taken as float32
@return float tensor of the shape of x
@usage heed.tensor{0, math.pi / 4}:tan() --> 0 1
*/
static bool tan_bwd(heed_rule_call *r) {
  /* 1 + y^2 */
  return heed_each_product(
      r, heed_each_plus(r, heed_each_square(r, heed_kept_out(r, 0)), 1));
}
HEED_FUNCTION_OP(tan, 0, HEED_ALWAYS)

/***
sin(pi x) / (pi x), and 1 at 0: exactly 0 at every other whole number.
@function sinc
@param x tensor; integers are taken as float32
@return float tensor of the shape of x
@usage heed.tensor{0, 0.5}:sinc() --> 1 0.6366
*/
static bool sinc_bwd(heed_rule_call *r) {
  /* (cos(pi x) - y) / x, and 0 at 0 */
  heed_tensor *x = heed_in(r, 0), *zero = heed_number(r, 0);
  heed_tensor *cosine = heed_do1(r, HEED_OP_cos, heed_each_times(r, x, M_PI));
  heed_tensor *drop = heed_do2(r, HEED_OP_sub, cosine,
                               heed_do1(r, HEED_OP_sinc, x));
  heed_tensor *slope = heed_do2(r, HEED_OP_div, drop, x);
  heed_tensor *at_0 = heed_do2(r, HEED_OP_eq, x, zero);
  return heed_each_product(r, heed_do3(r, HEED_OP_where, at_0, zero, slope));
}
HEED_FUNCTION_OP(sinc, HEED_ALWAYS, 0)

/* sqrt(1 - x^2) */
static heed_tensor *chord(heed_rule_call *r) {
  heed_tensor *square = heed_each_square(r, heed_in(r, 0));
  return heed_do1(r, HEED_OP_sqrt,
                  heed_do2(r, HEED_OP_sub, heed_number(r, 1), square));
}

/***
The angle whose sine is x, within -pi/2 .. pi/2; NaN for |x| > 1.
@function asin
@param x tensor; integers are taken as float32
@return float tensor of the shape of x
@usage heed.tensor{0, 1}:asin() --> 0 1.5708
*/
static bool asin_bwd(heed_rule_call *r) {
  return heed_each_quotient(r, chord(r));
}
HEED_FUNCTION_OP(asin, HEED_ALWAYS, 0)

/***
The angle whose cosine is x, within 0 .. pi; NaN for |x| > 1.
@function acos
@param x tensor; integers are taken as float32
@return float tensor of the shape of x
@usage heed.tensor{1, 0}:acos() --> 0 1.5708
*/
static bool acos_bwd(heed_rule_call *r) {
  return heed_each_quotient(r, heed_do1(r, HEED_OP_neg, chord(r)));
}
HEED_FUNCTION_OP(acos, HEED_ALWAYS, 0)

/***
The angle whose tangent is x, within -pi/2 .. pi/2.
@function atan
@param x tensor; integers are taken as float32
@return float tensor of the shape of x
@usage heed.tensor{0, 1}:atan() --> 0 0.7854
*/
static bool atan_bwd(heed_rule_call *r) {
  return heed_each_quotient(
      r, heed_each_plus(r, heed_each_square(r, heed_in(r, 0)), 1));
}
HEED_FUNCTION_OP(atan, HEED_ALWAYS, 0)

/***
The angle of the point (b, a) from the axis of b, within -pi .. pi: atan(a / b)
in the right quadrant.
@function atan2
@param a tensor or number; integers are taken as float32
@param b the same
@return float tensor of the broadcast shape
@raise when the shapes do not fit
@usage heed.tensor{1, 1}:atan2(heed.tensor{1, -1}) --> 0.7854 2.3562
*/
static bool atan2_bwd(heed_rule_call *r) {
  /* da = g b / (a^2 + b^2), db = -g a / (a^2 + b^2); 0 at the origin */
  heed_tensor *a = heed_in(r, 0), *b = heed_in(r, 1);
  heed_tensor *zero = heed_number(r, 0);
  heed_tensor *sum = heed_do2(r, HEED_OP_add, heed_each_square(r, a),
                              heed_each_square(r, b));
  heed_tensor *over = heed_do3(r, HEED_OP_where,
                               heed_do2(r, HEED_OP_eq, sum, zero), zero,
                               heed_do1(r, HEED_OP_reciprocal, sum));
  heed_tensor *g = heed_do2(r, HEED_OP_mul, r->grad[0], over);
  if (heed_needs(r, 0) && !heed_give(r, 0, heed_do2(r, HEED_OP_mul, g, b)))
    return false;
  return !heed_needs(r, 1) ||
         heed_give(r, 1, heed_do1(r, HEED_OP_neg,
                                  heed_do2(r, HEED_OP_mul, g, a)));
}
HEED_FUNCTION2_OP(atan2)

/***
sqrt(a^2 + b^2), without overflow on the way.
@function hypot
@param a tensor or number; integers are taken as float32
@param b the same
@return float tensor of the broadcast shape
@raise when the shapes do not fit
@usage heed.tensor{3, 5}:hypot(heed.tensor{4, 12}) --> 5 13
*/
static bool hypot_bwd(heed_rule_call *r) {
  heed_tensor *by = heed_do2(r, HEED_OP_div, r->grad[0], heed_kept_out(r, 0));
  for (int i = 0; i < 2; i++)
    if (heed_needs(r, i) &&
        !heed_give(r, i, heed_do2(r, HEED_OP_mul, by, heed_in(r, i))))
      return false;
  return true;
}
HEED_BINARY_OP(hypot, false)
const heed_rule heed_rule_hypot = {
    .check = hypot_check, .forward = hypot_fwd, .backward = hypot_bwd,
    .keep = {HEED_NEED(0), HEED_NEED(1)}, .keep_out = {HEED_ALWAYS},
    .promote = true, .to_float = true, .elementwise = true};

/***
The hyperbolic sine (e^x - e^-x) / 2.
@function sinh
@param x tensor; integers are taken as float32
@return float tensor of the shape of x
@usage heed.tensor{0, 1}:sinh() --> 0 1.1752
*/
static bool sinh_bwd(heed_rule_call *r) {
  return heed_each_product(r, heed_do1(r, HEED_OP_cosh, heed_in(r, 0)));
}
HEED_FUNCTION_OP(sinh, HEED_ALWAYS, 0)

/***
The hyperbolic cosine (e^x + e^-x) / 2.
@function cosh
@param x tensor; integers are taken as float32
@return float tensor of the shape of x
@usage heed.tensor{0, 1}:cosh() --> 1 1.5431
*/
static bool cosh_bwd(heed_rule_call *r) {
  return heed_each_product(r, heed_do1(r, HEED_OP_sinh, heed_in(r, 0)));
}
HEED_FUNCTION_OP(cosh, HEED_ALWAYS, 0)

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
HEED_FUNCTION_OP(tanh, 0, HEED_ALWAYS)

/***
The number whose hyperbolic sine is x.
@function asinh
@param x tensor; integers are taken as float32
@return float tensor of the shape of x
@usage heed.tensor{0, 1}:asinh() --> 0 0.8814
*/
static bool asinh_bwd(heed_rule_call *r) {
  heed_tensor *sum = heed_each_plus(r, heed_each_square(r, heed_in(r, 0)), 1);
  return heed_each_quotient(r, heed_do1(r, HEED_OP_sqrt, sum));
}
HEED_FUNCTION_OP(asinh, HEED_ALWAYS, 0)

/***
The number, at least 0, whose hyperbolic cosine is x; NaN for x < 1.
@function acosh
@param x tensor; integers are taken as float32
@return float tensor of the shape of x
@usage heed.tensor{1, 2}:acosh() --> 0 1.3170
*/
static bool acosh_bwd(heed_rule_call *r) {
  heed_tensor *sum = heed_each_plus(r, heed_each_square(r, heed_in(r, 0)),
                                    -1);
  return heed_each_quotient(r, heed_do1(r, HEED_OP_sqrt, sum));
}
HEED_FUNCTION_OP(acosh, HEED_ALWAYS, 0)

/***
The number whose hyperbolic tangent is x; infinite at -1 and 1, NaN beyond.
@function atanh
@param x tensor; integers are taken as float32
@return float tensor of the shape of x
@usage heed.tensor{0, 0.5}:atanh() --> 0 0.5493
*/
static bool atanh_bwd(heed_rule_call *r) {
  heed_tensor *square = heed_each_square(r, heed_in(r, 0));
  return heed_each_quotient(
      r, heed_do2(r, HEED_OP_sub, heed_number(r, 1), square));
}
HEED_FUNCTION_OP(atanh, HEED_ALWAYS, 0)
