/*
 * maths - exponentials, logarithms, roots, of each element.
 * Layer: ops. Read first: each.h.
 */
#define _GNU_SOURCE
#include <math.h>

#include "base/error.h"
#include "ops/each.h"

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
HEED_FUNCTION_OP(exp, 0, HEED_ALWAYS)

/***
Two to the power x.
@function exp2
@param x tensor; integers are taken as float32
@return float tensor of the shape of x
@usage heed.tensor{0, 3}:exp2() --> 1 8
*/
static bool exp2_bwd(heed_rule_call *r) {
  return heed_each_product(
      r, heed_each_times(r, heed_kept_out(r, 0), M_LN2));
}
HEED_FUNCTION_OP(exp2, 0, HEED_ALWAYS)

/***
e^x - 1, with all digits near 0.
@function expm1
@param x tensor; integers are taken as float32
@return float tensor of the shape of x
@usage heed.tensor{0, 1}:expm1() --> 0 1.7183
*/
static bool expm1_bwd(heed_rule_call *r) {
  return heed_each_product(r, heed_each_plus(r, heed_kept_out(r, 0), 1));
}
HEED_FUNCTION_OP(expm1, 0, HEED_ALWAYS)

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
HEED_FUNCTION_OP(log, HEED_ALWAYS, 0)

/***
The logarithm to base 2: -inf at 0, NaN below.
@function log2
@param x tensor; integers are taken as float32
@return float tensor of the shape of x
@usage heed.tensor{1, 8}:log2() --> 0 3
*/
static bool log2_bwd(heed_rule_call *r) {
  return heed_each_quotient(r, heed_each_times(r, heed_in(r, 0), M_LN2));
}
HEED_FUNCTION_OP(log2, HEED_ALWAYS, 0)

/***
The logarithm to base 10: -inf at 0, NaN below.
@function log10
@param x tensor; integers are taken as float32
@return float tensor of the shape of x
@usage heed.tensor{1, 1000}:log10() --> 0 3
*/
static bool log10_bwd(heed_rule_call *r) {
  return heed_each_quotient(r, heed_each_times(r, heed_in(r, 0), M_LN10));
}
HEED_FUNCTION_OP(log10, HEED_ALWAYS, 0)

/***
log(1 + x), with all digits near 0: -inf at -1, NaN below.
@function log1p
@param x tensor; integers are taken as float32
@return float tensor of the shape of x
@usage heed.tensor{0, 1}:log1p() --> 0 0.6931
*/
static bool log1p_bwd(heed_rule_call *r) {
  return heed_each_quotient(r, heed_each_plus(r, heed_in(r, 0), 1));
}
HEED_FUNCTION_OP(log1p, HEED_ALWAYS, 0)

/***
log(x / (1 - x)), the inverse of sigmoid.
@function logit
@param x tensor; integers are taken as float32
@param eps number: x is first held within eps .. 1 - eps, and has no gradient
outside of it; by default x may be anything, and gives NaN outside of 0 .. 1
@return float tensor of the shape of x
@raise when eps is not within 0 .. 0.5
@usage heed.tensor{0.5, 0.75}:logit() --> 0 1.0986
*/
static bool logit_check(heed_call *c) {
  double eps = c->attr[0].f;
  if (eps < 0 || eps > 0.5)
    return heed_fail("logit: eps must be within 0 .. 0.5, got %.6g", eps);
  return heed_each_check_tuned(c, HEED_TUNED_logit);
}
static bool logit_fwd(heed_call *c) {
  double eps = c->attr[0].f, p[HEED_TUNED_MAX] = {-INFINITY, INFINITY};
  if (eps == eps) p[0] = eps, p[1] = 1 - eps;
  return heed_each_run_tuned(c, HEED_TUNED_logit, p);
}
static bool logit_bwd(heed_rule_call *r) {
  /* g / (x (1 - x)) inside, 0 outside; without eps NaN outside */
  double eps = r->attr[0].f;
  heed_tensor *x = heed_in(r, 0);
  heed_tensor *rest = heed_do2(r, HEED_OP_sub, heed_number(r, 1), x);
  heed_tensor *slope = heed_do1(r, HEED_OP_reciprocal,
                                heed_do2(r, HEED_OP_mul, x, rest));
  heed_tensor *low = heed_number(r, eps == eps ? eps : 0);
  heed_tensor *high = heed_number(r, eps == eps ? 1 - eps : 1);
  heed_tensor *outside = heed_do2(r, HEED_OP_logical_or,
                                  heed_do2(r, HEED_OP_lt, x, low),
                                  heed_do2(r, HEED_OP_gt, x, high));
  heed_tensor *other = heed_number(r, eps == eps ? 0 : NAN);
  slope = heed_do3(r, HEED_OP_where, outside, other, slope);
  return heed_each_product(r, slope);
}
const heed_rule heed_rule_logit = {
    .check = logit_check, .forward = logit_fwd, .backward = logit_bwd,
    .keep = {HEED_ALWAYS}, .promote = true, .to_float = true,
    .elementwise = true};

/***
log(e^a + e^b), without overflow on the way.
@function logaddexp
@param a tensor or number; integers are taken as float32
@param b the same
@return float tensor of the broadcast shape
@raise when the shapes do not fit
@usage heed.tensor{1000}:logaddexp(1000) --> 1000.6931
*/
/* da = g sigmoid(k (a - b)), db = g sigmoid(k (b - a)) */
static bool logadd_bwd(heed_rule_call *r, double k) {
  for (int i = 0; i < 2; i++) {
    if (!heed_needs(r, i)) continue;
    heed_tensor *by = heed_do2(r, HEED_OP_sub, heed_in(r, i),
                               heed_in(r, 1 - i));
    if (k != 1) by = heed_each_times(r, by, k);
    heed_tensor *part = heed_do1(r, HEED_OP_sigmoid, by);
    if (!heed_give(r, i, heed_do2(r, HEED_OP_mul, r->grad[0], part)))
      return false;
  }
  return true;
}
static bool logaddexp_bwd(heed_rule_call *r) { return logadd_bwd(r, 1); }
HEED_FUNCTION2_OP(logaddexp)

/***
log2(2^a + 2^b), without overflow on the way.
@function logaddexp2
@param a tensor or number; integers are taken as float32
@param b the same
@return float tensor of the broadcast shape
@raise when the shapes do not fit
@usage heed.tensor{1000}:logaddexp2(1000) --> 1001
*/
static bool logaddexp2_bwd(heed_rule_call *r) { return logadd_bwd(r, M_LN2); }
HEED_FUNCTION2_OP(logaddexp2)

/***
a log b; 0 where a is 0, unless b is NaN.
@function xlogy
@param a tensor or number; integers are taken as float32
@param b the same
@return float tensor of the broadcast shape
@raise when the shapes do not fit
@usage heed.tensor{0, 2}:xlogy(heed.tensor{0.0, 1.0}) --> 0 0
*/
static bool xlogy_bwd(heed_rule_call *r) {
  /* da = g log b, and 0 where a = 0 and b <= 0; db = g a / b */
  heed_tensor *g = r->grad[0], *a = heed_in(r, 0), *b = heed_in(r, 1);
  if (heed_needs(r, 0)) {
    heed_tensor *zero = heed_number(r, 0);
    heed_tensor *none = heed_do2(r, HEED_OP_logical_and,
                                 heed_do2(r, HEED_OP_eq, a, zero),
                                 heed_do2(r, HEED_OP_le, b, zero));
    heed_tensor *slope = heed_do3(r, HEED_OP_where, none, zero,
                                  heed_do1(r, HEED_OP_log, b));
    if (!heed_give(r, 0, heed_do2(r, HEED_OP_mul, g, slope))) return false;
  }
  if (!heed_needs(r, 1)) return true;
  heed_tensor *t = heed_do2(r, HEED_OP_mul, g, a);
  return heed_give(r, 1, heed_do2(r, HEED_OP_div, t, b));
}
HEED_FUNCTION2_OP(xlogy)

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
HEED_FUNCTION_OP(sqrt, 0, HEED_ALWAYS)

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
HEED_FUNCTION_OP(rsqrt, 0, HEED_ALWAYS)

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
HEED_FUNCTION_OP(sigmoid, 0, HEED_ALWAYS)

/* -- for backward rules -- */

/* Ops of one kernel that takes (value, gradient) of one shape. */
#define GRADIENT_OP(name)                                        \
  HEED_BINARY_OP(name, false)                                    \
  const heed_rule heed_rule_##name = {                           \
      .check = name##_check, .forward = name##_fwd};

GRADIENT_OP(tanh_bwd)
GRADIENT_OP(sigmoid_bwd)
