/*
 * arithmetic - sums, products, quotients, powers, of each element.
 * Layer: ops. Read first: each.h.
 */
#include "base/error.h"
#include "ops/each.h"

/***
The sum a + b, element by element, with broadcasting.
@function add
@param a tensor or number
@param b tensor or number
@return tensor of the broadcast shape in the common dtype
@raise when the shapes do not fit
@usage heed.tensor{1, 2}:add(10) --> 11 12
*/
HEED_BINARY_OP(add, false)
static bool add_bwd(heed_rule_call *r) {
  for (int i = 0; i < 2; i++)
    if (heed_needs(r, i) && !heed_give(r, i, r->grad[0])) return false;
  return true;
}
const heed_rule heed_rule_add = {
    .check = add_check, .forward = add_fwd, .backward = add_bwd,
    .promote = true, .elementwise = true};

/***
The difference a - b, element by element, with broadcasting.
@function sub
@param a tensor or number
@param b tensor or number
@return tensor of the broadcast shape in the common dtype
@raise when the shapes do not fit
@usage heed.tensor{1, 2}:sub(1) --> 0 1
*/
HEED_BINARY_OP(sub, false)
static bool sub_bwd(heed_rule_call *r) {
  if (heed_needs(r, 0) && !heed_give(r, 0, r->grad[0])) return false;
  return !heed_needs(r, 1) ||
         heed_give(r, 1, heed_do1(r, HEED_OP_neg, r->grad[0]));
}
const heed_rule heed_rule_sub = {
    .check = sub_check, .forward = sub_fwd, .backward = sub_bwd,
    .promote = true, .elementwise = true};

/***
The product a * b, element by element, with broadcasting.
@function mul
@param a tensor or number
@param b tensor or number
@return tensor of the broadcast shape in the common dtype
@raise when the shapes do not fit
@usage heed.tensor{1, 2}:mul(3) --> 3 6
*/
HEED_BINARY_OP(mul, false)
static bool mul_bwd(heed_rule_call *r) {
  for (int i = 0; i < 2; i++)
    if (heed_needs(r, i) &&
        !heed_give(r, i, heed_do2(r, HEED_OP_mul, r->grad[0],
                                  heed_in(r, 1 - i))))
      return false;
  return true;
}
const heed_rule heed_rule_mul = {
    .check = mul_check, .forward = mul_fwd, .backward = mul_bwd,
    .keep = {HEED_NEED(1), HEED_NEED(0)}, .promote = true, .elementwise = true};

/***
The quotient a / b, element by element, with broadcasting; integers and bools
are divided as float32.
@function div
@param a tensor or number
@param b tensor or number
@return float tensor of the broadcast shape
@raise when the shapes do not fit
@usage heed.tensor{1, 2}:div(4) --> 0.25 0.5
*/
HEED_BINARY_OP(div, false)
static bool div_bwd(heed_rule_call *r) {
  /* da = g / b, db = -g a / b^2 */
  heed_tensor *g = r->grad[0], *b = heed_in(r, 1);
  heed_tensor *by_b = heed_do2(r, HEED_OP_div, g, b);
  if (heed_needs(r, 0) && !heed_give(r, 0, by_b)) return false;
  if (!heed_needs(r, 1)) return true;
  heed_tensor *t = heed_do2(r, HEED_OP_mul, by_b, heed_in(r, 0));
  return heed_give(r, 1, heed_do1(r, HEED_OP_neg,
                                  heed_do2(r, HEED_OP_div, t, b)));
}
const heed_rule heed_rule_div = {
    .check = div_check, .forward = div_fwd, .backward = div_bwd,
    .keep = {HEED_NEED(1), HEED_ALWAYS}, .promote = true, .to_float = true,
    .elementwise = true};

/***
The quotient rounded down, as Lua's `//`.
@function floor_div
@param a tensor or number
@param b tensor or number
@return tensor of the broadcast shape in the common dtype; no gradient
@raise when the shapes do not fit, or integers are divided by 0
@usage heed.tensor{-7, 7}:floor_div(2) --> -4 3
*/
static bool floor_div_check(heed_call *c) {
  return heed_each_check2(c, HEED_BINARY_floor_div, false) &&
         heed_each_no_zero(c);
}
static bool floor_div_fwd(heed_call *c) {
  return heed_each_run2(c, heed_kernel.binary[HEED_BINARY_floor_div]
                                   [c->in[0]->dtype]);
}
const heed_rule heed_rule_floor_div = {
    .check = floor_div_check, .forward = floor_div_fwd, .promote = true,
    .elementwise = true};

/***
The remainder a - (a // b) * b, with the sign of b, as Lua's `%`.
@function remainder
@param a tensor or number
@param b tensor or number
@return tensor of the broadcast shape in the common dtype; differentiable in a
@raise when the shapes do not fit, or integers are divided by 0
@usage heed.tensor{-7, 7}:remainder(3) --> 2 1
*/
static bool remainder_check(heed_call *c) {
  return heed_each_check2(c, HEED_BINARY_remainder, false) &&
         heed_each_no_zero(c);
}
static bool remainder_fwd(heed_call *c) {
  return heed_each_run2(c, heed_kernel.binary[HEED_BINARY_remainder]
                                   [c->in[0]->dtype]);
}
static bool remainder_bwd(heed_rule_call *r) {
  /* a - floor(a / b) b: da = g, db = -floor(a / b) g */
  if (heed_needs(r, 0) && !heed_give(r, 0, r->grad[0])) return false;
  if (!heed_needs(r, 1)) return true;
  heed_tensor *q = heed_do2(r, HEED_OP_floor_div, heed_in(r, 0),
                            heed_in(r, 1));
  return heed_give(r, 1, heed_do1(r, HEED_OP_neg,
                                  heed_do2(r, HEED_OP_mul, q, r->grad[0])));
}
const heed_rule heed_rule_remainder = {
    .check = remainder_check, .forward = remainder_fwd,
    .backward = remainder_bwd, .keep = {HEED_NEED(1), HEED_NEED(1)},
    .promote = true, .elementwise = true};

/***
The remainder a - trunc(a / b) * b, with the sign of a, as C's fmod.
@function fmod
@param a tensor or number
@param b tensor or number
@return tensor of the broadcast shape in the common dtype
@raise when the shapes do not fit, or integers are divided by 0
@usage heed.tensor{-7, 7}:fmod(3) --> -1 1
*/
static bool fmod_check(heed_call *c) {
  return heed_each_check2(c, HEED_BINARY_fmod, false) && heed_each_no_zero(c);
}
static bool fmod_fwd(heed_call *c) {
  return heed_each_run2(
      c, heed_kernel.binary[HEED_BINARY_fmod][c->in[0]->dtype]);
}
static bool fmod_bwd(heed_rule_call *r) {
  /* a - trunc(a / b) b: da = g, db = -trunc(a / b) g */
  heed_tensor *g = r->grad[0];
  if (heed_needs(r, 0) && !heed_give(r, 0, g)) return false;
  if (!heed_needs(r, 1)) return true;
  heed_tensor *q = heed_do1(
      r, HEED_OP_trunc, heed_do2(r, HEED_OP_div, heed_in(r, 0), heed_in(r, 1)));
  return heed_give(r, 1, heed_do1(r, HEED_OP_neg,
                                  heed_do2(r, HEED_OP_mul, q, g)));
}
const heed_rule heed_rule_fmod = {
    .check = fmod_check, .forward = fmod_fwd, .backward = fmod_bwd,
    .keep = {HEED_NEED(1), HEED_NEED(1)}, .promote = true,
    .elementwise = true};

/***
The power a ^ b, element by element, with broadcasting.
@function pow
@param a tensor or number
@param b tensor or number
@return tensor of the broadcast shape in the common dtype
@raise when the shapes do not fit, or for integers to a negative power
@usage heed.tensor{1, 2, 3}:pow(2) --> 1 4 9
*/
static bool pow_check(heed_call *c) {
  return heed_each_check2(c, HEED_BINARY_pow, false) &&
         heed_each_no_negative(c);
}
static bool pow_fwd(heed_call *c) {
  return heed_each_run2(
      c, heed_kernel.binary[HEED_BINARY_pow][c->in[0]->dtype]);
}
static bool pow_bwd(heed_rule_call *r) {
  /* da = g b a^(b - 1), and 0 where b = 0; db = g a^b ln a, and 0 where
     a = 0 with b >= 0 */
  heed_tensor *g = r->grad[0], *a = heed_in(r, 0), *b = heed_in(r, 1);
  heed_tensor *zero = heed_number(r, 0);
  if (heed_needs(r, 0)) {
    heed_tensor *less = heed_do2(r, HEED_OP_sub, b, heed_number(r, 1));
    heed_tensor *t = heed_do2(r, HEED_OP_mul, b,
                              heed_do2(r, HEED_OP_pow, a, less));
    t = heed_do2(r, HEED_OP_mul, g, t);
    heed_tensor *b0 = heed_do2(r, HEED_OP_eq, b, zero);
    t = heed_do3(r, HEED_OP_where, b0, zero, t);
    if (!heed_give(r, 0, t)) return false;
  }
  if (!heed_needs(r, 1)) return true;
  heed_tensor *y = heed_kept_out(r, 0);
  heed_tensor *t = heed_do2(r, HEED_OP_mul, y, heed_do1(r, HEED_OP_log, a));
  heed_tensor *a0 = heed_do2(r, HEED_OP_logical_and,
                             heed_do2(r, HEED_OP_eq, a, zero),
                             heed_do2(r, HEED_OP_ge, b, zero));
  t = heed_do3(r, HEED_OP_where, a0, zero, t);
  return heed_give(r, 1, heed_do2(r, HEED_OP_mul, g, t));
}
const heed_rule heed_rule_pow = {
    .check = pow_check, .forward = pow_fwd, .backward = pow_bwd,
    .keep = {HEED_ALWAYS, HEED_ALWAYS}, .keep_out = {HEED_NEED(1)},
    .promote = true, .elementwise = true};

/***
The negative -x.
@function neg
@param x tensor
@return tensor like x
@usage heed.tensor{1, -2}:neg() --> -1 2
*/
HEED_UNARY_OP(neg, false)
static bool neg_bwd(heed_rule_call *r) {
  return heed_give(r, 0, heed_do1(r, HEED_OP_neg, r->grad[0]));
}
const heed_rule heed_rule_neg = {
    .check = neg_check, .forward = neg_fwd, .backward = neg_bwd,
    .elementwise = true};

/***
The absolute value |x|. Its gradient at 0 is 0.
@function abs
@param x tensor
@return tensor like x
@usage heed.tensor{1, -2}:abs() --> 1 2
*/
HEED_UNARY_OP(abs, false)
static bool abs_bwd(heed_rule_call *r) {
  return heed_give(r, 0, heed_do2(r, HEED_OP_mul, r->grad[0],
                                  heed_do1(r, HEED_OP_sign, heed_in(r, 0))));
}
const heed_rule heed_rule_abs = {
    .check = abs_check, .forward = abs_fwd, .backward = abs_bwd,
    .keep = {HEED_ALWAYS}, .elementwise = true};

/***
The sign of x: -1, 0 or 1; NaN stays.
@function sign
@param x tensor
@return tensor like x
@usage heed.tensor{3, 0, -2}:sign() --> 1 0 -1
*/
HEED_UNARY_OP(sign, false)
const heed_rule heed_rule_sign = {
    .check = sign_check, .forward = sign_fwd, .backward = heed_each_flat_bwd,
    .elementwise = true};

/***
The square x * x.
@function square
@param x tensor
@return tensor like x
@usage heed.tensor{2, -3}:square() --> 4 9
*/
HEED_UNARY_OP(square, false)
static bool square_bwd(heed_rule_call *r) {
  return heed_each_product(r, heed_each_times(r, heed_in(r, 0), 2));
}
const heed_rule heed_rule_square = {
    .check = square_check, .forward = square_fwd, .backward = square_bwd,
    .keep = {HEED_ALWAYS}, .elementwise = true};

/***
One over x.
@function reciprocal
@param x tensor; integers are taken as float32
@return float tensor of the shape of x
@usage heed.tensor{2, 4}:reciprocal() --> 0.5 0.25
*/
static bool reciprocal_bwd(heed_rule_call *r) {
  heed_tensor *square = heed_each_square(r, heed_kept_out(r, 0));
  return heed_each_product(r, heed_do1(r, HEED_OP_neg, square));
}
HEED_FUNCTION_OP(reciprocal, 0, HEED_ALWAYS)
