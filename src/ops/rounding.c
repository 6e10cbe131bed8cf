/*
 * rounding - whole numbers near each element.
 * Layer: ops. Read first: each.h.
 */
#include <math.h>

#include "base/error.h"
#include "ops/each.h"

#define ROUNDING(name)                                \
  HEED_UNARY_OP(name, false)                          \
  const heed_rule heed_rule_##name = {                \
      .check = name##_check, .forward = name##_fwd,   \
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
The integer part of x: rounded towards 0.
@function trunc
@param x tensor
@return tensor like x
@usage heed.tensor{1.5, -1.5}:trunc() --> 1 -1
*/
ROUNDING(trunc)

/***
What is left of x without its integer part, with the sign of x.
@function frac
@param x float tensor
@return tensor like x
@usage heed.tensor{1.5, -1.5}:frac() --> 0.5 -0.5
*/
static bool frac_bwd(heed_rule_call *r) {
  return heed_give(r, 0, r->grad[0]);
}
HEED_UNARY_OP(frac, false)
const heed_rule heed_rule_frac = {
    .check = frac_check, .forward = frac_fwd, .backward = frac_bwd,
    .elementwise = true};

/***
The nearest integer; halves go to the even one.
@function round
@param x tensor
@param decimals places behind the point that stay, 0 by default; a negative
number counts places before it
@return tensor like x
@raise for integers with decimals other than 0
@usage heed.tensor{1.5, 2.5}:round() --> 2 2
@usage heed.tensor{1.234, 5.678}:round(1) --> 1.2 5.7
*/
static bool round_check(heed_call *c) {
  int64_t places = c->attr[0].i;
  if (places == 0) return heed_each_check1(c, HEED_UNARY_round, false);
  if (places < -400 || places > 400)
    return heed_fail("round: decimals must be within -400 .. 400, got %lld",
                     (long long)places);
  return heed_each_check_tuned(c, HEED_TUNED_round_to);
}
static bool round_fwd(heed_call *c) {
  int64_t places = c->attr[0].i;
  if (places == 0)
    return heed_each_run1(
        c, heed_kernel.unary[HEED_UNARY_round][c->in[0]->dtype]);
  double p[HEED_TUNED_MAX] = {pow(10, fabs((double)places)), places < 0};
  return heed_each_run_tuned(c, HEED_TUNED_round_to, p);
}
const heed_rule heed_rule_round = {
    .check = round_check, .forward = round_fwd,
    .backward = heed_each_flat_bwd, .elementwise = true};

/***
x with NaN and the infinities replaced; they have no gradient.
@function nan_to_num
@param x float tensor
@param nan number instead of NaN, 0 by default
@param posinf number instead of inf, by default the largest of the dtype
@param neginf number instead of -inf, by default the lowest of the dtype
@return tensor like x
@usage heed.tensor{0/0, 1/0}:nan_to_num(0, 9) --> 0 9
*/
static heed_tensor *nan_to_num_slope(heed_rule_call *r, heed_tensor *x) {
  return heed_do1(r, HEED_OP_isfinite, x);
}
HEED_TUNED_OP(nan_to_num)
