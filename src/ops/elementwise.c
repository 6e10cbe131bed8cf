/*
 * elementwise - functions of each element, with broadcasting. Layer: ops.
 * Read first: core/op.h, kernel/kernel.h.
 *
 * Operands are cast to their common dtype (bool < int64 < float32 < float64;
 * a plain number takes the tensor's), shapes are aligned at the end.
 */
#define _GNU_SOURCE
#include <math.h>

#include "base/error.h"
#include "core/iter.h"
#include "kernel/kernel.h"
#include "ops/ops.h"

#define GRAIN 16384 /* elements worth a thread */

/* -- running a kernel over tensors -- */

static void row1(void *loop, int64_t n, char *const *p, const int64_t *s) {
  (*(heed_loop1 **)loop)(n, p[0], s[0], p[1], s[1]);
}

static void row2(void *loop, int64_t n, char *const *p, const int64_t *s) {
  (*(heed_loop2 **)loop)(n, p[0], s[0], p[1], s[1], p[2], s[2]);
}

static bool run1(heed_call *c, heed_loop1 *loop) {
  heed_iter it;
  heed_iter_init(&it, &c->out[0]->shape, 2,
                 (heed_tensor *[]){c->out[0], c->in[0]});
  heed_iter_run(&it, GRAIN, row1, &loop);
  return true;
}

static bool run2(heed_call *c, heed_loop2 *loop) {
  heed_iter it;
  heed_iter_init(&it, &c->out[0]->shape, 3,
                 (heed_tensor *[]){c->out[0], c->in[0], c->in[1]});
  heed_iter_run(&it, GRAIN, row2, &loop);
  return true;
}

/* -- checks -- */

static bool broadcast(heed_call *c, heed_shape *shape) {
  const heed_tensor *a = c->in[0], *b = c->in[1];
  if (heed_shape_broadcast(&a->shape, &b->shape, shape)) return true;
  return heed_fail("%s: %s %s and %s %s cannot be broadcast together",
                   c->op->name, heed_input_name(c, 0),
                   heed_shape_text(&a->shape), heed_input_name(c, 1),
                   heed_shape_text(&b->shape));
}

static bool no_kernel(const heed_call *c) {
  return heed_fail("%s: not defined for %s %s", c->op->name,
                   heed_input_name(c, 0), heed_tensor_text(c->in[0]));
}

static bool check2(heed_call *c, heed_binary f, bool to_bool) {
  heed_shape shape;
  if (!heed_kernel.binary[f][c->in[0]->dtype]) return no_kernel(c);
  if (!broadcast(c, &shape)) return false;
  heed_out(c, 0, to_bool ? HEED_BOOL : c->in[0]->dtype, &shape);
  return true;
}

static bool check1(heed_call *c, heed_unary f, bool to_bool) {
  const heed_tensor *x = c->in[0];
  if (!heed_kernel.unary[f][x->dtype]) return no_kernel(c);
  heed_out(c, 0, to_bool ? HEED_BOOL : x->dtype, &x->shape);
  return true;
}

/* The check and forward of an op that is one kernel. */
#define BINARY_OP(name, to_bool)                                          \
  static bool name##_check(heed_call *c) {                                \
    return check2(c, HEED_BINARY_##name, to_bool);                        \
  }                                                                       \
  static bool name##_fwd(heed_call *c) {                                  \
    return run2(c, heed_kernel.binary[HEED_BINARY_##name]                 \
                                     [c->in[0]->dtype]);                  \
  }
#define UNARY_OP(name, to_bool)                                           \
  static bool name##_check(heed_call *c) {                                \
    return check1(c, HEED_UNARY_##name, to_bool);                         \
  }                                                                       \
  static bool name##_fwd(heed_call *c) {                                  \
    return run1(c, heed_kernel.unary[HEED_UNARY_##name]                   \
                                    [c->in[0]->dtype]);                   \
  }

/* -- arithmetic -- */

/***
The sum a + b, element by element, with broadcasting.
@function add
@param a tensor or number
@param b tensor or number
@return tensor of the broadcast shape in the common dtype
@raise when the shapes do not fit
@usage heed.tensor{1, 2}:add(10) --> 11 12
*/
BINARY_OP(add, false)
static bool add_bwd(heed_rule_call *r) {
  for (int i = 0; i < 2; i++)
    if (heed_needs(r, i) && !heed_give(r, i, r->grad[0])) return false;
  return true;
}
const heed_rule heed_rule_add = {
    .check = add_check, .forward = add_fwd, .backward = add_bwd,
    .promote = true};

/***
The difference a - b, element by element, with broadcasting.
@function sub
@param a tensor or number
@param b tensor or number
@return tensor of the broadcast shape in the common dtype
@raise when the shapes do not fit
@usage heed.tensor{1, 2}:sub(1) --> 0 1
*/
BINARY_OP(sub, false)
static bool sub_bwd(heed_rule_call *r) {
  if (heed_needs(r, 0) && !heed_give(r, 0, r->grad[0])) return false;
  return !heed_needs(r, 1) ||
         heed_give(r, 1, heed_do1(r, HEED_OP_neg, r->grad[0]));
}
const heed_rule heed_rule_sub = {
    .check = sub_check, .forward = sub_fwd, .backward = sub_bwd,
    .promote = true};

/***
The product a * b, element by element, with broadcasting.
@function mul
@param a tensor or number
@param b tensor or number
@return tensor of the broadcast shape in the common dtype
@raise when the shapes do not fit
@usage heed.tensor{1, 2}:mul(3) --> 3 6
*/
BINARY_OP(mul, false)
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
    .keep = {HEED_NEED(1), HEED_NEED(0)}, .promote = true};

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
BINARY_OP(div, false)
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
    .keep = {HEED_NEED(1), HEED_ALWAYS}, .promote = true, .to_float = true};

static void find_zero(void *found, int64_t n, char *const *p,
                      const int64_t *stride) {
  const int64_t *b = (const int64_t *)p[0];
  for (int64_t i = 0; i < n; i++)
    if (b[i * stride[0]] == 0) *(bool *)found = true;
}

/* Integers cannot be divided by zero; floats give inf or nan. */
static bool no_zero(const heed_call *c) {
  heed_tensor *b = c->in[1];
  if (b->dtype != HEED_INT64) return true;
  bool found = false;
  heed_iter it;
  heed_iter_init(&it, &b->shape, 1, &b);
  heed_iter_run(&it, INT64_MAX, find_zero, &found);
  return !found || heed_fail("%s: b %s holds a 0, and integers cannot be "
                             "divided by it", c->op->name,
                             heed_tensor_text(b));
}

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
  return check2(c, HEED_BINARY_floor_div, false) && no_zero(c);
}
static bool floor_div_fwd(heed_call *c) {
  return run2(c, heed_kernel.binary[HEED_BINARY_floor_div]
                                   [c->in[0]->dtype]);
}
const heed_rule heed_rule_floor_div = {
    .check = floor_div_check, .forward = floor_div_fwd, .promote = true};

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
  return check2(c, HEED_BINARY_remainder, false) && no_zero(c);
}
static bool remainder_fwd(heed_call *c) {
  return run2(c, heed_kernel.binary[HEED_BINARY_remainder]
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
    .promote = true};

/***
The power a ^ b, element by element, with broadcasting.
@function pow
@param a tensor or number
@param b tensor or number
@return tensor of the broadcast shape in the common dtype
@raise when the shapes do not fit, or for integers to a negative power
@usage heed.tensor{1, 2, 3}:pow(2) --> 1 4 9
*/
static void find_negative(void *found, int64_t n, char *const *p,
                          const int64_t *stride) {
  const int64_t *b = (const int64_t *)p[0];
  for (int64_t i = 0; i < n; i++)
    if (b[i * stride[0]] < 0) *(bool *)found = true;
}
static bool pow_check(heed_call *c) {
  heed_tensor *b = c->in[1];
  if (!check2(c, HEED_BINARY_pow, false)) return false;
  if (b->dtype != HEED_INT64) return true;
  bool found = false;
  heed_iter it;
  heed_iter_init(&it, &b->shape, 1, &b);
  heed_iter_run(&it, INT64_MAX, find_negative, &found);
  return !found || heed_fail("pow: an integer cannot be raised to a negative "
                             "power; convert a to float32 first");
}
static bool pow_fwd(heed_call *c) {
  return run2(c, heed_kernel.binary[HEED_BINARY_pow][c->in[0]->dtype]);
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
    if (!t || !b0) return false;
    heed_tensor *in[3] = {b0, zero, t};
    if (!heed_give(r, 0, heed_do(r, heed_op_find("where"), in, 3, NULL)))
      return false;
  }
  if (!heed_needs(r, 1)) return true;
  heed_tensor *y = heed_kept_out(r, 0);
  heed_tensor *t = heed_do2(r, HEED_OP_mul, y, heed_do1(r, HEED_OP_log, a));
  heed_tensor *a0 = heed_do2(r, HEED_OP_logical_and,
                             heed_do2(r, HEED_OP_eq, a, zero),
                             heed_do2(r, HEED_OP_ge, b, zero));
  if (!t || !a0) return false;
  heed_tensor *in[3] = {a0, zero, t};
  t = heed_do(r, heed_op_find("where"), in, 3, NULL);
  return heed_give(r, 1, heed_do2(r, HEED_OP_mul, g, t));
}
const heed_rule heed_rule_pow = {
    .check = pow_check, .forward = pow_fwd, .backward = pow_bwd,
    .keep = {HEED_ALWAYS, HEED_ALWAYS}, .keep_out = {HEED_NEED(1)},
    .promote = true};

/* Of two operands the chosen one gets the gradient; equal ones half each. */
static bool choose_bwd(heed_rule_call *r, heed_op_id better) {
  heed_tensor *g = r->grad[0];
  heed_tensor *half = heed_do2(r, HEED_OP_mul, g, heed_number(r, 0.5));
  heed_tensor *same = heed_do2(r, HEED_OP_eq, heed_in(r, 0), heed_in(r, 1));
  for (int i = 0; i < 2; i++) {
    if (!heed_needs(r, i)) continue;
    heed_tensor *won = heed_do2(r, better, heed_in(r, i), heed_in(r, 1 - i));
    heed_tensor *t = heed_do2(r, HEED_OP_mul, g, won);
    if (!same || !half || !t) return false;
    heed_tensor *in[3] = {same, half, t};
    if (!heed_give(r, i, heed_do(r, heed_op_find("where"), in, 3, NULL)))
      return false;
  }
  return true;
}

/***
The larger of a and b, element by element; NaN wins.
@function maximum
@param a tensor or number
@param b tensor or number
@return tensor of the broadcast shape in the common dtype
@raise when the shapes do not fit
@usage heed.tensor{1, 5}:maximum(3) --> 3 5
*/
BINARY_OP(maximum, false)
static bool maximum_bwd(heed_rule_call *r) {
  return choose_bwd(r, HEED_OP_gt);
}
const heed_rule heed_rule_maximum = {
    .check = maximum_check, .forward = maximum_fwd, .backward = maximum_bwd,
    .keep = {HEED_ALWAYS, HEED_ALWAYS}, .promote = true};

/***
The smaller of a and b, element by element; NaN wins.
@function minimum
@param a tensor or number
@param b tensor or number
@return tensor of the broadcast shape in the common dtype
@raise when the shapes do not fit
@usage heed.tensor{1, 5}:minimum(3) --> 1 3
*/
BINARY_OP(minimum, false)
static bool minimum_bwd(heed_rule_call *r) {
  return choose_bwd(r, HEED_OP_lt);
}
const heed_rule heed_rule_minimum = {
    .check = minimum_check, .forward = minimum_fwd, .backward = minimum_bwd,
    .keep = {HEED_ALWAYS, HEED_ALWAYS}, .promote = true};

/***
The negative -x.
@function neg
@param x tensor
@return tensor like x
@usage heed.tensor{1, -2}:neg() --> -1 2
*/
UNARY_OP(neg, false)
static bool neg_bwd(heed_rule_call *r) {
  return heed_give(r, 0, heed_do1(r, HEED_OP_neg, r->grad[0]));
}
const heed_rule heed_rule_neg = {
    .check = neg_check, .forward = neg_fwd, .backward = neg_bwd};

/***
The absolute value |x|. Its gradient at 0 is 0.
@function abs
@param x tensor
@return tensor like x
@usage heed.tensor{1, -2}:abs() --> 1 2
*/
UNARY_OP(abs, false)
static bool abs_bwd(heed_rule_call *r) {
  return heed_give(r, 0, heed_do2(r, HEED_OP_mul, r->grad[0],
                                  heed_do1(r, HEED_OP_sign, heed_in(r, 0))));
}
const heed_rule heed_rule_abs = {
    .check = abs_check, .forward = abs_fwd, .backward = abs_bwd,
    .keep = {HEED_ALWAYS}};

/* For functions that are constant almost everywhere: gradient 0. */
static bool flat_bwd(heed_rule_call *r) {
  return heed_give(r, 0, heed_do2(r, HEED_OP_mul, r->grad[0],
                                  heed_number(r, 0)));
}

/***
The sign of x: -1, 0 or 1; NaN stays.
@function sign
@param x tensor
@return tensor like x
@usage heed.tensor{3, 0, -2}:sign() --> 1 0 -1
*/
UNARY_OP(sign, false)
const heed_rule heed_rule_sign = {
    .check = sign_check, .forward = sign_fwd, .backward = flat_bwd};

/* -- comparison and logic -- */

/* Comparisons give bool and have no gradient. */
#define COMPARISON(name)                                         \
  BINARY_OP(name, true)                                          \
  const heed_rule heed_rule_##name = {                           \
      .check = name##_check, .forward = name##_fwd, .promote = true};

/***
Is a equal to b, element by element? (Lua's `==` compares identity.)
@function eq
@param a tensor or number
@param b tensor or number
@return bool tensor of the broadcast shape
@usage heed.tensor{1, 2}:eq(2) --> false true
*/
COMPARISON(eq)

/***
Is a different from b, element by element?
@function ne
@param a tensor or number
@param b tensor or number
@return bool tensor of the broadcast shape
@usage heed.tensor{1, 2}:ne(2) --> true false
*/
COMPARISON(ne)

/***
Is a less than b, element by element?
@function lt
@param a tensor or number
@param b tensor or number
@return bool tensor of the broadcast shape
@usage heed.tensor{1, 2}:lt(2) --> true false
*/
COMPARISON(lt)

/***
Is a less than b or equal to it, element by element?
@function le
@param a tensor or number
@param b tensor or number
@return bool tensor of the broadcast shape
@usage heed.tensor{1, 2}:le(1) --> true false
*/
COMPARISON(le)

/***
Is a greater than b, element by element?
@function gt
@param a tensor or number
@param b tensor or number
@return bool tensor of the broadcast shape
@usage heed.tensor{1, 2}:gt(1) --> false true
*/
COMPARISON(gt)

/***
Is a greater than b or equal to it, element by element?
@function ge
@param a tensor or number
@param b tensor or number
@return bool tensor of the broadcast shape
@usage heed.tensor{1, 2}:ge(2) --> false true
*/
COMPARISON(ge)

/***
Are both a and b true (not 0)?
@function logical_and
@param a tensor or number
@param b tensor or number
@return bool tensor of the broadcast shape
@usage heed.tensor{true, false}:logical_and(heed.tensor{true, true})
*/
COMPARISON(logical_and)

/***
Is a or b true (not 0)?
@function logical_or
@param a tensor or number
@param b tensor or number
@return bool tensor of the broadcast shape
@usage heed.tensor{true, false}:logical_or(heed.tensor{true, true})
*/
COMPARISON(logical_or)

#define TEST(name)                     \
  UNARY_OP(name, true)                 \
  const heed_rule heed_rule_##name = { \
      .check = name##_check, .forward = name##_fwd};

/***
Is x false (0)?
@function logical_not
@param x tensor
@return bool tensor of the shape of x
@usage heed.tensor{true, false}:logical_not() --> false true
*/
TEST(logical_not)

/***
Is x not a number?
@function isnan
@param x float tensor
@return bool tensor of the shape of x
@usage heed.tensor{1, 0/0}:isnan() --> false true
*/
TEST(isnan)

/***
Is x neither infinite nor NaN?
@function isfinite
@param x float tensor
@return bool tensor of the shape of x
@usage heed.tensor{1, 1/0}:isfinite() --> true false
*/
TEST(isfinite)

/* -- functions -- */

#define FUNCTION(name, kept_in, kept_out)                            \
  UNARY_OP(name, false)                                              \
  const heed_rule heed_rule_##name = {                               \
      .check = name##_check, .forward = name##_fwd,                  \
      .backward = name##_bwd, .keep = {kept_in}, .keep_out = {kept_out}, \
      .promote = true, .to_float = true};

/* dx = g * factor */
static bool give_product(heed_rule_call *r, heed_tensor *factor) {
  return heed_give(r, 0, heed_do2(r, HEED_OP_mul, r->grad[0], factor));
}

/***
The exponential e^x.
@function exp
@param x tensor; integers are taken as float32
@return float tensor of the shape of x
@usage heed.tensor{0, 1}:exp() --> 1 2.7183
*/
static bool exp_bwd(heed_rule_call *r) {
  return give_product(r, heed_kept_out(r, 0));
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
  return give_product(r, heed_do2(r, HEED_OP_mul, cube,
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
  return give_product(r, heed_do1(r, HEED_OP_cos, heed_in(r, 0)));
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
  return give_product(r, heed_do1(r, HEED_OP_neg, sine));
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
  return give_product(r, heed_do2(r, HEED_OP_sub, heed_number(r, 1),
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
  return give_product(r, heed_do2(r, HEED_OP_mul, y, rest));
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
  return give_product(r, heed_do2(r, HEED_OP_mul, bell,
                                  heed_number(r, 2 / sqrt(M_PI))));
}
FUNCTION(erf, HEED_ALWAYS, 0)

#define ROUNDING(name)                                \
  UNARY_OP(name, false)                               \
  const heed_rule heed_rule_##name = {                \
      .check = name##_check, .forward = name##_fwd, .backward = flat_bwd};

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

/***
max(x, 0). Its gradient at 0 is 0.
@function relu
@param x tensor
@return tensor like x
@usage heed.tensor{-1, 2}:relu() --> 0 2
*/
UNARY_OP(relu, false)
static bool relu_bwd(heed_rule_call *r) {
  /* y > 0 exactly where x > 0, and y is kept by the next layer anyway */
  return heed_give(r, 0, heed_do2(r, HEED_OP_relu_bwd, heed_kept_out(r, 0),
                                  r->grad[0]));
}
const heed_rule heed_rule_relu = {
    .check = relu_check, .forward = relu_fwd, .backward = relu_bwd,
    .keep_out = {HEED_ALWAYS}};

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
  return heed_want_float(c, 0) && check1(c, HEED_UNARY_gelu, false);
}
static bool gelu_fwd(heed_call *c) {
  heed_unary f = c->attr[0].i ? HEED_UNARY_gelu_tanh : HEED_UNARY_gelu;
  return run1(c, heed_kernel.unary[f][c->in[0]->dtype]);
}
static bool gelu_bwd(heed_rule_call *r) {
  return heed_give(r, 0, heed_do2_with(r, HEED_OP_gelu_bwd, heed_in(r, 0),
                                       r->grad[0], r->attr));
}
const heed_rule heed_rule_gelu = {
    .check = gelu_check, .forward = gelu_fwd, .backward = gelu_bwd,
    .keep = {HEED_ALWAYS}, .fused = true};

/***
x * sigmoid(x), also called swish.
@function silu
@param x float tensor
@return tensor like x
@usage heed.nn.functional.silu(heed.tensor{0.0, 1.0}) --> 0 0.7311
*/
static bool silu_check(heed_call *c) {
  return heed_want_float(c, 0) && check1(c, HEED_UNARY_silu, false);
}
static bool silu_fwd(heed_call *c) {
  return run1(c, heed_kernel.unary[HEED_UNARY_silu][c->in[0]->dtype]);
}
static bool silu_bwd(heed_rule_call *r) {
  return heed_give(r, 0, heed_do2(r, HEED_OP_silu_bwd, heed_in(r, 0),
                                  r->grad[0]));
}
const heed_rule heed_rule_silu = {
    .check = silu_check, .forward = silu_fwd, .backward = silu_bwd,
    .keep = {HEED_ALWAYS}, .fused = true};

/* -- choosing -- */

static void row_where(void *context, int64_t n, char *const *p,
                      const int64_t *s) {
  size_t size = *(const size_t *)context;
  const unsigned char *test = (const unsigned char *)p[1];
#define PICK(type)                                                       \
  for (int64_t i = 0; i < n; i++)                                        \
    ((type *)p[0])[i * s[0]] = test[i * s[1]]                            \
                                   ? ((const type *)p[2])[i * s[2]]      \
                                   : ((const type *)p[3])[i * s[3]]
  if (size == 1) {
    PICK(unsigned char);
  } else if (size == 4) {
    PICK(uint32_t);
  } else {
    PICK(uint64_t);
  }
#undef PICK
}

/* result = test ? a : b, for operands of one dtype. */
static void pick(heed_tensor *result, heed_tensor *test, heed_tensor *a,
                 heed_tensor *b) {
  size_t size = heed_dtype_size(result->dtype);
  heed_iter it;
  heed_iter_init(&it, &result->shape, 4,
                 (heed_tensor *[]){result, test, a, b});
  heed_iter_run(&it, GRAIN, row_where, &size);
}

/* The three shapes of a choice, broadcast together into result 0. */
static bool pick_check(heed_call *c, int test, int a, int b) {
  heed_shape shape;
  if (!heed_want_dtype(c, test, HEED_BOOL)) return false;
  if (!heed_shape_broadcast(&c->in[a]->shape, &c->in[b]->shape, &shape) ||
      !heed_shape_broadcast(&shape, &c->in[test]->shape, &shape))
    return heed_fail("%s: %s %s, %s %s and %s %s cannot be broadcast "
                     "together", c->op->name, heed_input_name(c, test),
                     heed_shape_text(&c->in[test]->shape),
                     heed_input_name(c, a),
                     heed_shape_text(&c->in[a]->shape),
                     heed_input_name(c, b),
                     heed_shape_text(&c->in[b]->shape));
  if (c->in[a]->dtype != c->in[b]->dtype)
    return heed_fail("%s: %s and %s must have one dtype, got %s and %s",
                     c->op->name, heed_input_name(c, a),
                     heed_input_name(c, b),
                     heed_dtype_name(c->in[a]->dtype),
                     heed_dtype_name(c->in[b]->dtype));
  heed_out(c, 0, c->in[a]->dtype, &shape);
  return true;
}

/***
a where the condition holds, else b, with broadcasting.
@function where
@param condition bool tensor
@param a tensor or number
@param b tensor or number, of the same dtype
@return tensor of the broadcast shape
@raise when condition is not bool or the shapes do not fit
@usage heed.where(heed.tensor{true, false}, heed.tensor{1, 2}, 0) --> 1 0
*/
static bool where_check(heed_call *c) { return pick_check(c, 0, 1, 2); }
static bool where_fwd(heed_call *c) {
  pick(c->out[0], c->in[0], c->in[1], c->in[2]);
  return true;
}
static bool where_bwd(heed_rule_call *r) {
  const heed_op *where = heed_op_find("where");
  heed_tensor *g = r->grad[0], *test = heed_in(r, 0);
  heed_tensor *zero = heed_number(r, 0);
  if (!zero || !test) return false;
  heed_tensor *a[3] = {test, g, zero}, *b[3] = {test, zero, g};
  if (heed_needs(r, 1) && !heed_give(r, 1, heed_do(r, where, a, 3, NULL)))
    return false;
  return !heed_needs(r, 2) || heed_give(r, 2, heed_do(r, where, b, 3, NULL));
}
const heed_rule heed_rule_where = {
    .check = where_check, .forward = where_fwd, .backward = where_bwd,
    .keep = {HEED_ALWAYS}, .promote = true, .fixed = HEED_NEED(0)};

/***
x with `value` where the mask holds.
@function masked_fill
@param x tensor
@param mask bool tensor that broadcasts with x
@param value number, or tensor that broadcasts with x
@return tensor of the broadcast shape
@raise when mask is not bool or the shapes do not fit
@usage heed.tensor{1, 2}:masked_fill(heed.tensor{true, false}, 0) --> 0 2
*/
static bool masked_fill_check(heed_call *c) { return pick_check(c, 1, 0, 2); }
static bool masked_fill_fwd(heed_call *c) {
  pick(c->out[0], c->in[1], c->in[2], c->in[0]);
  return true;
}
static bool masked_fill_bwd(heed_rule_call *r) {
  const heed_op *where = heed_op_find("where");
  heed_tensor *g = r->grad[0], *test = heed_in(r, 1);
  heed_tensor *zero = heed_number(r, 0);
  if (!zero || !test) return false;
  heed_tensor *kept[3] = {test, zero, g}, *filled[3] = {test, g, zero};
  if (heed_needs(r, 0) && !heed_give(r, 0, heed_do(r, where, kept, 3, NULL)))
    return false;
  return !heed_needs(r, 2) ||
         heed_give(r, 2, heed_do(r, where, filled, 3, NULL));
}
const heed_rule heed_rule_masked_fill = {
    .check = masked_fill_check, .forward = masked_fill_fwd,
    .backward = masked_fill_bwd, .keep = {0, HEED_ALWAYS},
    .promote = true, .fixed = HEED_NEED(1)};

/***
x held between min and max; either may be left out. The gradient passes where
x lies between them, ends included.
@function clamp
@param x tensor
@param min number or tensor, none by default
@param max number or tensor, none by default
@return tensor like x
@raise when neither is given or the shapes do not fit
@usage heed.tensor{-1, 0.5, 2}:clamp(0, 1) --> 0 0.5 1
*/
static bool clamp_check(heed_call *c) {
  heed_shape shape = c->in[0]->shape;
  if (!c->in[1] && !c->in[2])
    return heed_fail("clamp: min or max must be given");
  for (int i = 1; i < 3; i++)
    if (c->in[i] &&
        !heed_shape_broadcast(&shape, &c->in[i]->shape, &shape))
      return heed_fail("clamp: x %s and %s %s cannot be broadcast together",
                       heed_shape_text(&c->in[0]->shape),
                       heed_input_name(c, i),
                       heed_shape_text(&c->in[i]->shape));
  if (!heed_kernel.binary[HEED_BINARY_maximum][c->in[0]->dtype])
    return no_kernel(c);
  heed_out(c, 0, c->in[0]->dtype, &shape);
  return true;
}
static bool clamp_fwd(heed_call *c) {
  heed_tensor *from = c->in[0], *y = c->out[0];
  for (int i = 1; i < 3; i++) {
    if (!c->in[i]) continue;
    heed_binary f = i == 1 ? HEED_BINARY_maximum : HEED_BINARY_minimum;
    heed_loop2 *loop = heed_kernel.binary[f][y->dtype];
    heed_iter it;
    heed_iter_init(&it, &y->shape, 3, (heed_tensor *[]){y, from, c->in[i]});
    heed_iter_run(&it, GRAIN, row2, &loop);
    from = y;
  }
  return true;
}
static bool clamp_bwd(heed_rule_call *r) {
  heed_tensor *x = heed_in(r, 0), *g = r->grad[0], *inside = NULL;
  for (int i = 1; i < 3; i++) {
    if (!r->node->in[i].value) continue;
    heed_tensor *side = heed_do2(r, i == 1 ? HEED_OP_ge : HEED_OP_le, x,
                                 heed_in(r, i));
    inside = inside ? heed_do2(r, HEED_OP_logical_and, inside, side) : side;
    if (heed_needs(r, i)) {
      heed_tensor *out = heed_do1(r, HEED_OP_logical_not, side);
      if (!heed_give(r, i, heed_do2(r, HEED_OP_mul, g, out))) return false;
    }
  }
  return !heed_needs(r, 0) ||
         heed_give(r, 0, heed_do2(r, HEED_OP_mul, g, inside));
}
const heed_rule heed_rule_clamp = {
    .check = clamp_check, .forward = clamp_fwd, .backward = clamp_bwd,
    .keep = {HEED_ALWAYS, HEED_ALWAYS, HEED_ALWAYS}, .promote = true};

/* -- in place -- */

/* x and b must fit without changing x. */
static bool in_place_check(heed_call *c) {
  heed_tensor *x = c->in[0], *b = c->in[1];
  heed_shape shape;
  if (!heed_shape_broadcast(&x->shape, &b->shape, &shape) ||
      !heed_shape_equal(&shape, &x->shape))
    return heed_fail("%s: %s %s does not broadcast to x %s", c->op->name,
                     heed_input_name(c, 1), heed_shape_text(&b->shape),
                     heed_shape_text(&x->shape));
  for (int d = 0; d < x->shape.ndim; d++)
    if (x->stride[d] == 0 && x->shape.dim[d] > 1)
      return heed_fail("%s: x %s is expanded, so several of its elements are "
                       "one place in memory; write to x:clone()",
                       c->op->name, heed_shape_text(&x->shape));
  heed_out_like(c, 0, x);
  return true;
}

/* b in the dtype of x and apart from what is about to be written. */
static heed_tensor *operand_for(heed_call *c) {
  heed_tensor *x = c->in[0], *b = c->in[1];
  if (b->dtype == x->dtype && b->storage != x->storage)
    return heed_tensor_ref(b);
  heed_tensor *own = heed_tensor_new(c->op->name, x->dtype, &b->shape);
  if (!own) return NULL;
  heed_loop1 *cast = heed_kernel.cast[x->dtype][b->dtype];
  heed_iter it;
  heed_iter_init(&it, &b->shape, 2, (heed_tensor *[]){own, b});
  heed_iter_run(&it, GRAIN, row1, &cast);
  return own;
}

static bool in_place_binary_check(heed_call *c, heed_binary f) {
  heed_tensor *x = c->in[0], *b = c->in[1];
  if (!in_place_check(c)) return false;
  if (!heed_kernel.binary[f][x->dtype]) return no_kernel(c);
  if (!heed_dtype_is_float(x->dtype) && b->dtype > x->dtype)
    return heed_fail("%s: x %s cannot hold a result of %s", c->op->name,
                     heed_tensor_text(x), heed_dtype_name(b->dtype));
  return true;
}

static bool in_place_binary(heed_call *c, heed_binary f) {
  heed_tensor *x = c->in[0], *b = operand_for(c);
  if (!b) return false;
  heed_loop2 *loop = heed_kernel.binary[f][x->dtype];
  heed_iter it;
  heed_iter_init(&it, &x->shape, 3, (heed_tensor *[]){x, x, b});
  heed_iter_run(&it, GRAIN, row2, &loop);
  heed_tensor_drop(b);
  return true;
}

/***
Adds b to x in place.
@function add_
@param x tensor, overwritten
@param b tensor that broadcasts to x, or number
@return x
@raise when b does not broadcast to x, when integers would get a fraction, or
when x is a leaf that wants gradients (outside `heed.no_grad`)
@usage local x = heed.zeros{2}; x:add_(1) --> 1 1
*/
static bool add__check(heed_call *c) {
  return in_place_binary_check(c, HEED_BINARY_add);
}
static bool add__fwd(heed_call *c) {
  return in_place_binary(c, HEED_BINARY_add);
}
const heed_rule heed_rule_add_ = {
    .check = add__check, .forward = add__fwd, .backward = add_bwd,
    .in_place = 1};

/***
Multiplies x by b in place.
@function mul_
@param x tensor, overwritten
@param b tensor that broadcasts to x, or number
@return x
@raise as `add_`
@usage local x = heed.ones{2}; x:mul_(3) --> 3 3
*/
static bool mul__check(heed_call *c) {
  return in_place_binary_check(c, HEED_BINARY_mul);
}
static bool mul__fwd(heed_call *c) {
  return in_place_binary(c, HEED_BINARY_mul);
}
static bool mul__bwd(heed_rule_call *r) {
  if (heed_needs(r, 1))
    return heed_fail("backward: mul_ overwrote the value that the gradient "
                     "of b needs; use mul");
  return heed_give(r, 0, heed_do2(r, HEED_OP_mul, r->grad[0],
                                  heed_in(r, 1)));
}
const heed_rule heed_rule_mul_ = {
    .check = mul__check, .forward = mul__fwd, .backward = mul__bwd,
    .keep = {0, HEED_NEED(0)}, .in_place = 1};

/***
Copies source into x, broadcast and cast to the dtype of x as `to` casts:
integers drop a fraction.
@function copy_
@param x tensor, overwritten
@param source tensor that broadcasts to x, or number
@return x
@raise when source does not broadcast to x, or when x is a leaf that wants
gradients (outside `heed.no_grad`)
@usage local x = heed.zeros{2}; x:copy_(heed.tensor{1, 2}) --> 1 2
*/
static bool copy__fwd(heed_call *c) {
  heed_tensor *x = c->in[0], *b = operand_for(c);
  if (!b) return false;
  heed_loop1 *copy = heed_kernel.cast[x->dtype][x->dtype];
  heed_iter it;
  heed_iter_init(&it, &x->shape, 2, (heed_tensor *[]){x, b});
  heed_iter_run(&it, GRAIN, row1, &copy);
  heed_tensor_drop(b);
  return true;
}
static bool copy__bwd(heed_rule_call *r) {
  if (heed_needs(r, 0) &&
      !heed_give(r, 0, heed_do2(r, HEED_OP_mul, r->grad[0],
                                heed_number(r, 0))))
    return false;
  return !heed_needs(r, 1) || heed_give(r, 1, r->grad[0]);
}
const heed_rule heed_rule_copy_ = {
    .check = in_place_check, .forward = copy__fwd, .backward = copy__bwd,
    .in_place = 1};

/* -- for backward rules -- */

/* Ops of one kernel that takes (value, gradient) of one shape. */
#define GRADIENT_OP(name)                                        \
  BINARY_OP(name, false)                                         \
  const heed_rule heed_rule_##name = {                           \
      .check = name##_check, .forward = name##_fwd};

GRADIENT_OP(tanh_bwd)
GRADIENT_OP(sigmoid_bwd)
GRADIENT_OP(silu_bwd)

BINARY_OP(relu_bwd, false)
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
  return check2(c, HEED_BINARY_gelu_bwd, false);
}
static bool gelu_bwd_fwd(heed_call *c) {
  heed_binary f = c->attr[0].i ? HEED_BINARY_gelu_tanh_bwd
                               : HEED_BINARY_gelu_bwd;
  return run2(c, heed_kernel.binary[f][c->in[0]->dtype]);
}
const heed_rule heed_rule_gelu_bwd = {
    .check = gelu_bwd_check, .forward = gelu_bwd_fwd};
