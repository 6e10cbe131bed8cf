/*
 * choose - one of two values for each element. Layer: ops.
 * Read first: each.h.
 */
#include "base/error.h"
#include "ops/each.h"

static void row_pick(void *loop, int64_t n, char *const *p,
                     const int64_t *s) {
  (*(heed_loop_pick **)loop)(n, p[0], s[0], p[1], s[1], p[2], s[2], p[3],
                             s[3]);
}

/* result = test ? a : b, for operands of one dtype. */
static void pick(heed_tensor *result, heed_tensor *test, heed_tensor *a,
                 heed_tensor *b) {
  heed_loop_pick *loop = heed_kernel.pick[result->dtype];
  heed_iter_map(&result->shape, 4, (heed_tensor *[]){result, test, a, b},
                HEED_GRAIN, row_pick, &loop);
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
  heed_tensor *g = r->grad[0], *test = heed_in(r, 0);
  heed_tensor *zero = heed_number(r, 0);
  if (heed_needs(r, 1) &&
      !heed_give(r, 1, heed_do3(r, HEED_OP_where, test, g, zero)))
    return false;
  return !heed_needs(r, 2) ||
         heed_give(r, 2, heed_do3(r, HEED_OP_where, test, zero, g));
}
const heed_rule heed_rule_where = {
    .check = where_check, .forward = where_fwd, .backward = where_bwd,
    .keep = {HEED_ALWAYS}, .promote = true, .fixed = HEED_NEED(0),
    .moves = true};

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
  heed_tensor *g = r->grad[0], *test = heed_in(r, 1);
  heed_tensor *zero = heed_number(r, 0);
  if (heed_needs(r, 0) &&
      !heed_give(r, 0, heed_do3(r, HEED_OP_where, test, zero, g)))
    return false;
  return !heed_needs(r, 2) ||
         heed_give(r, 2, heed_do3(r, HEED_OP_where, test, g, zero));
}
const heed_rule heed_rule_masked_fill = {
    .check = masked_fill_check, .forward = masked_fill_fwd,
    .backward = masked_fill_bwd, .keep = {0, HEED_ALWAYS},
    .promote = true, .fixed = HEED_NEED(1), .elementwise = true, .moves = true};

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
  if (!heed_kernel.ternary[HEED_TERNARY_clamp][c->in[0]->dtype])
    return heed_each_undefined(c);
  heed_out(c, 0, c->in[0]->dtype, &shape);
  return true;
}
static bool clamp_fwd(heed_call *c) {
  heed_tensor *from = c->in[0], *y = c->out[0];
  if (c->in[1] && c->in[2])
    return heed_each_run3(
        c, heed_kernel.ternary[HEED_TERNARY_clamp][y->dtype], 0);
  for (int i = 1; i < 3; i++) {
    if (!c->in[i]) continue;
    heed_binary f = i == 1 ? HEED_BINARY_maximum : HEED_BINARY_minimum;
    heed_each_into(y, from, c->in[i], heed_kernel.binary[f][y->dtype]);
    from = y;
  }
  return true;
}
static bool clamp_bwd(heed_rule_call *r) {
  heed_tensor *x = heed_in(r, 0), *g = r->grad[0], *inside = NULL;
  const bool both = r->node->in[1].value && r->node->in[2].value;
  for (int i = 1; i < 3; i++) {
    if (!r->node->in[i].value) continue;
    const bool low = i == 1;
    heed_tensor *bound = heed_in(r, i);
    heed_tensor *side = heed_do2(r, low ? HEED_OP_ge : HEED_OP_le, x, bound);
    inside = inside ? heed_do2(r, HEED_OP_logical_and, inside, side) : side;
    if (!heed_needs(r, i)) continue;
    heed_tensor *beyond = heed_do2(r, low ? HEED_OP_lt : HEED_OP_gt, x, bound);
    if (both) { /* where min > max, the result is max */
      heed_tensor *other = heed_in(r, 3 - i);
      heed_tensor *less =
          heed_do2(r, low ? HEED_OP_le : HEED_OP_lt, bound, other);
      beyond = heed_do2(r, low ? HEED_OP_logical_and : HEED_OP_logical_or,
                        beyond, less);
    }
    if (!heed_give(r, i, heed_do2(r, HEED_OP_mul, g, beyond))) return false;
  }
  return !heed_needs(r, 0) ||
         heed_give(r, 0, heed_do2(r, HEED_OP_mul, g, inside));
}
const heed_rule heed_rule_clamp = {
    .check = clamp_check, .forward = clamp_fwd, .backward = clamp_bwd,
    .keep = {HEED_ALWAYS, HEED_ALWAYS, HEED_ALWAYS}, .promote = true,
    .elementwise = true};

/* Of two operands the chosen one gets the gradient; equal ones half each. */
static bool choose_bwd(heed_rule_call *r, heed_op_id better) {
  heed_tensor *g = r->grad[0];
  heed_tensor *half = heed_each_times(r, g, 0.5);
  heed_tensor *same = heed_do2(r, HEED_OP_eq, heed_in(r, 0), heed_in(r, 1));
  for (int i = 0; i < 2; i++) {
    if (!heed_needs(r, i)) continue;
    heed_tensor *won = heed_do2(r, better, heed_in(r, i), heed_in(r, 1 - i));
    heed_tensor *t = heed_do2(r, HEED_OP_mul, g, won);
    t = heed_do3(r, HEED_OP_where, same, half, t);
    if (!heed_give(r, i, t)) return false;
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
HEED_BINARY_OP(maximum, false)
static bool maximum_bwd(heed_rule_call *r) {
  return choose_bwd(r, HEED_OP_gt);
}
const heed_rule heed_rule_maximum = {
    .check = maximum_check, .forward = maximum_fwd, .backward = maximum_bwd,
    .keep = {HEED_ALWAYS, HEED_ALWAYS}, .promote = true, .elementwise = true};

/***
The smaller of a and b, element by element; NaN wins.
@function minimum
@param a tensor or number
@param b tensor or number
@return tensor of the broadcast shape in the common dtype
@raise when the shapes do not fit
@usage heed.tensor{1, 5}:minimum(3) --> 1 3
*/
HEED_BINARY_OP(minimum, false)
static bool minimum_bwd(heed_rule_call *r) {
  return choose_bwd(r, HEED_OP_lt);
}
const heed_rule heed_rule_minimum = {
    .check = minimum_check, .forward = minimum_fwd, .backward = minimum_bwd,
    .keep = {HEED_ALWAYS, HEED_ALWAYS}, .promote = true, .elementwise = true};

/***
The magnitude of a with the sign of b (that of -0 counts). Where a is 0 its
gradient is 0.
@function copysign
@param a tensor or number
@param b tensor or number
@return float tensor of the broadcast shape
@raise when the shapes do not fit
@usage heed.tensor{1, 2}:copysign(-1) --> -1 -2
*/
HEED_BINARY_OP(copysign, false)
static bool copysign_bwd(heed_rule_call *r) {
  if (heed_needs(r, 1) && !heed_give(r, 1, heed_grad_zeros(r, 1)))
    return false;
  if (!heed_needs(r, 0)) return true;
  heed_tensor *g = r->grad[0], *a = heed_in(r, 0), *b = heed_in(r, 1);
  heed_tensor *turn = heed_do2(r, HEED_OP_copysign,
                               heed_do1(r, HEED_OP_sign, a), b);
  turn = heed_do2(r, HEED_OP_mul, turn, heed_do1(r, HEED_OP_sign, a));
  return heed_give(r, 0, heed_do2(r, HEED_OP_mul, g, turn));
}
const heed_rule heed_rule_copysign = {
    .check = copysign_check, .forward = copysign_fwd,
    .backward = copysign_bwd, .keep = {HEED_NEED(0), HEED_NEED(0)},
    .promote = true, .to_float = true, .elementwise = true};

/***
0 where a < 0, 1 where a > 0, b where a is 0; NaN stays.
@function heaviside
@param a tensor or number
@param b tensor or number
@return float tensor of the broadcast shape; no gradient
@raise when the shapes do not fit
@usage heed.tensor{-2, 0, 3}:heaviside(0.5) --> 0 0.5 1
*/
HEED_BINARY_OP(heaviside, false)
const heed_rule heed_rule_heaviside = {
    .check = heaviside_check, .forward = heaviside_fwd, .promote = true,
    .to_float = true, .elementwise = true};

/***
The number of the dtype that lies next to a on the way to b.
@function nextafter
@param a tensor or number
@param b tensor or number
@return float tensor of the broadcast shape; no gradient
@raise when the shapes do not fit
@usage heed.tensor({1}, {dtype = "float64"}):nextafter(2):gt(1) --> true
*/
HEED_BINARY_OP(nextafter, false)
const heed_rule heed_rule_nextafter = {
    .check = nextafter_check, .forward = nextafter_fwd, .promote = true,
    .to_float = true, .elementwise = true};
