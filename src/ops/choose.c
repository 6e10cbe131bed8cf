/*
 * choose - one of two values for each element. Layer: ops.
 * Read first: each.h.
 */
#include "base/error.h"
#include "ops/each.h"

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
  } else if (size == 2) {
    PICK(uint16_t);
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
  heed_iter_run(&it, HEED_GRAIN, row_where, &size);
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
  if (!heed_kernel.binary[HEED_BINARY_maximum][c->in[0]->dtype])
    return heed_each_undefined(c);
  heed_out(c, 0, c->in[0]->dtype, &shape);
  return true;
}
static bool clamp_fwd(heed_call *c) {
  heed_tensor *from = c->in[0], *y = c->out[0];
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
    .keep = {HEED_ALWAYS, HEED_ALWAYS, HEED_ALWAYS}, .promote = true,
    .elementwise = true};
