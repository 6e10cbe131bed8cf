/*
 * special - the error function and the gamma function, with their kin.
 * Layer: ops. Read first: each.h.
 */
#define _GNU_SOURCE
#include <math.h>

#include "base/error.h"
#include "ops/each.h"

/* 2 / sqrt(pi) e^(-x^2), with a sign */
static heed_tensor *bell(heed_rule_call *r, double sign) {
  heed_tensor *square = heed_each_square(r, heed_in(r, 0));
  heed_tensor *e = heed_do1(r, HEED_OP_exp, heed_do1(r, HEED_OP_neg, square));
  return heed_each_times(r, e, sign * M_2_SQRTPI);
}

/***
The error function 2/sqrt(pi) * integral of e^(-t^2) from 0 to x.
@function erf
@param x tensor; integers are taken as float32
@return float tensor of the shape of x
@usage heed.tensor{0, 1}:erf() --> 0 0.8427
*/
static bool erf_bwd(heed_rule_call *r) {
  return heed_each_product(r, bell(r, 1));
}
HEED_FUNCTION_OP(erf, HEED_ALWAYS, 0)

/***
1 - erf(x), with all digits where that is small.
@function erfc
@param x tensor; integers are taken as float32
@return float tensor of the shape of x
@usage heed.tensor{0, 1}:erfc() --> 1 0.1573
*/
static bool erfc_bwd(heed_rule_call *r) {
  return heed_each_product(r, bell(r, -1));
}
HEED_FUNCTION_OP(erfc, HEED_ALWAYS, 0)

/***
The number whose erf is x: infinite at -1 and 1, NaN beyond.
@function erfinv
@param x tensor; integers are taken as float32
@return float tensor of the shape of x
@usage heed.tensor{0, 0.5}:erfinv() --> 0 0.4769
*/
static bool erfinv_bwd(heed_rule_call *r) {
  /* sqrt(pi) / 2 e^(y^2) */
  heed_tensor *square = heed_each_square(r, heed_kept_out(r, 0));
  heed_tensor *e = heed_do1(r, HEED_OP_exp, square);
  return heed_each_product(r, heed_each_times(r, e, 1 / M_2_SQRTPI));
}
HEED_FUNCTION_OP(erfinv, 0, HEED_ALWAYS)

/***
The logarithm of |gamma(x)|; gamma(n) = (n - 1)!. Infinite at 0, -1, -2 ...
@function lgamma
@param x tensor; integers are taken as float32
@return float tensor of the shape of x
@usage heed.tensor{1, 4}:lgamma() --> 0 1.7918
*/
static bool lgamma_bwd(heed_rule_call *r) {
  return heed_each_product(r, heed_do1(r, HEED_OP_digamma, heed_in(r, 0)));
}
HEED_FUNCTION_OP(lgamma, HEED_ALWAYS, 0)

/* psi_n(x), n >= 1 */
static heed_tensor *polygamma_of(heed_rule_call *r, int64_t n) {
  return heed_do1_with(r, HEED_OP_polygamma, heed_in(r, 0),
                       &(heed_attr){.i = n});
}

/***
The derivative of lgamma; NaN at -1, -2 ..., infinite at 0.
@function digamma
@param x tensor; integers are taken as float32
@return float tensor of the shape of x
@usage heed.tensor{1, 2}:digamma() --> -0.5772 0.4228
*/
static bool digamma_bwd(heed_rule_call *r) {
  return heed_each_product(r, polygamma_of(r, 1));
}
HEED_FUNCTION_OP(digamma, HEED_ALWAYS, 0)

/***
The n-th derivative of digamma; infinite at 0, -1, -2 ...
@function polygamma
@param x tensor; integers are taken as float32
@param n which derivative, 0 .. 170
@return float tensor of the shape of x
@raise when n is out of its range
@usage heed.tensor{1, 2}:polygamma(1) --> 1.6449 0.6449
*/
static bool polygamma_check(heed_call *c) {
  int64_t n = c->attr[0].i;
  if (n < 0 || n > HEED_POLYGAMMA_MAX)
    return heed_fail("polygamma: n must be within 0 .. %d, got %lld",
                     HEED_POLYGAMMA_MAX, (long long)n);
  return heed_each_check_tuned(c, HEED_TUNED_polygamma);
}
static bool polygamma_fwd(heed_call *c) {
  double p[HEED_TUNED_MAX] = {(double)c->attr[0].i};
  return heed_each_run_tuned(c, HEED_TUNED_polygamma, p);
}
static bool polygamma_bwd(heed_rule_call *r) {
  return heed_each_product(r, polygamma_of(r, r->attr[0].i + 1));
}
const heed_rule heed_rule_polygamma = {
    .check = polygamma_check, .forward = polygamma_fwd,
    .backward = polygamma_bwd, .keep = {HEED_ALWAYS}, .promote = true,
    .to_float = true, .elementwise = true};
