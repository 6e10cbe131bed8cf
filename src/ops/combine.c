/*
 * combine - functions of three tensors, each in one pass over them.
 * Layer: ops. Read first: each.h.
 */
#include <math.h>

#include "base/error.h"
#include "ops/each.h"

/***
The point between a and b at weight w: a + w (b - a). It is a at 0 and b at 1.
@function lerp
@param a tensor
@param b tensor
@param weight tensor or number
@return float tensor of the broadcast shape
@raise when the shapes do not fit
@usage heed.tensor{0, 10}:lerp(heed.tensor{10, 20}, 0.5) --> 5 15
*/
static bool lerp_check(heed_call *c) {
  return heed_each_check3(c, HEED_TERNARY_lerp);
}
static bool lerp_fwd(heed_call *c) {
  return heed_each_run3(
      c, heed_kernel.ternary[HEED_TERNARY_lerp][c->in[0]->dtype], 0);
}
static bool lerp_bwd(heed_rule_call *r) {
  /* da = g (1 - w), db = g w, dw = g (b - a) */
  heed_tensor *g = r->grad[0];
  if (heed_needs(r, 0)) {
    heed_tensor *rest = heed_do2(r, HEED_OP_sub, heed_number(r, 1),
                                 heed_in(r, 2));
    if (!heed_give(r, 0, heed_do2(r, HEED_OP_mul, g, rest))) return false;
  }
  if (heed_needs(r, 1) &&
      !heed_give(r, 1, heed_do2(r, HEED_OP_mul, g, heed_in(r, 2))))
    return false;
  if (!heed_needs(r, 2)) return true;
  heed_tensor *way = heed_do2(r, HEED_OP_sub, heed_in(r, 1), heed_in(r, 0));
  return heed_give(r, 2, heed_do2(r, HEED_OP_mul, g, way));
}
const heed_rule heed_rule_lerp = {
    .check = lerp_check, .forward = lerp_fwd, .backward = lerp_bwd,
    .keep = {HEED_NEED(2), HEED_NEED(2), HEED_NEED(0) | HEED_NEED(1)},
    .promote = true, .to_float = true, .elementwise = true};

/***
x + value a b, without a tensor for the product.
@function addcmul
@param x tensor
@param tensor1 tensor
@param tensor2 tensor
@param value number, 1 by default; whole where the tensors are integers
@return tensor of the broadcast shape in the common dtype
@raise when the shapes do not fit, or value is a fraction among integers
@usage heed.tensor{1}:addcmul(heed.tensor{2}, heed.tensor{3}, 10) --> 61
*/
static bool addcmul_check(heed_call *c) {
  double value = c->attr[0].f;
  if (!heed_each_check3(c, HEED_TERNARY_addcmul)) return false;
  if (heed_dtype_is_float(c->in[0]->dtype) ||
      (value == rint(value) && fabs(value) < 0x1p63))
    return true;
  return heed_fail("addcmul: value must be an integer for x %s, got %.6g",
                   heed_tensor_text(c->in[0]), value);
}
static bool addcmul_fwd(heed_call *c) {
  heed_loop3 *loop =
      heed_kernel.ternary[HEED_TERNARY_addcmul][c->in[0]->dtype];
  return heed_each_run3(c, loop, c->attr[0].f);
}
static bool addcmul_bwd(heed_rule_call *r) {
  heed_tensor *g = r->grad[0];
  if (heed_needs(r, 0) && !heed_give(r, 0, g)) return false;
  for (int i = 1; i < 3; i++) {
    if (!heed_needs(r, i)) continue;
    heed_tensor *t = heed_do2(r, HEED_OP_mul, g, heed_in(r, 3 - i));
    if (!heed_give(r, i, heed_each_times(r, t, r->attr[0].f))) return false;
  }
  return true;
}
const heed_rule heed_rule_addcmul = {
    .check = addcmul_check, .forward = addcmul_fwd, .backward = addcmul_bwd,
    .keep = {0, HEED_NEED(2), HEED_NEED(1)}, .promote = true,
    .elementwise = true};

/***
x + value a / b, without a tensor for the quotient.
@function addcdiv
@param x tensor
@param tensor1 tensor
@param tensor2 tensor
@param value number, 1 by default
@return float tensor of the broadcast shape
@raise when the shapes do not fit
@usage heed.tensor{1}:addcdiv(heed.tensor{6}, heed.tensor{3}, 10) --> 21
*/
static bool addcdiv_check(heed_call *c) {
  return heed_each_check3(c, HEED_TERNARY_addcdiv);
}
static bool addcdiv_fwd(heed_call *c) {
  heed_loop3 *loop =
      heed_kernel.ternary[HEED_TERNARY_addcdiv][c->in[0]->dtype];
  return heed_each_run3(c, loop, c->attr[0].f);
}
static bool addcdiv_bwd(heed_rule_call *r) {
  /* da = value g / b, db = -value g a / b^2 */
  heed_tensor *g = r->grad[0], *b = NULL, *da = NULL;
  if (heed_needs(r, 0) && !heed_give(r, 0, g)) return false;
  if (!heed_needs(r, 1) && !heed_needs(r, 2)) return true;
  b = heed_in(r, 2);
  da = heed_each_times(r, heed_do2(r, HEED_OP_div, g, b), r->attr[0].f);
  if (heed_needs(r, 1) && !heed_give(r, 1, da)) return false;
  if (!heed_needs(r, 2)) return true;
  heed_tensor *t = heed_do2(r, HEED_OP_mul, da, heed_in(r, 1));
  return heed_give(r, 2, heed_do1(r, HEED_OP_neg,
                                  heed_do2(r, HEED_OP_div, t, b)));
}
const heed_rule heed_rule_addcdiv = {
    .check = addcdiv_check, .forward = addcdiv_fwd, .backward = addcdiv_bwd,
    .keep = {0, HEED_NEED(2), HEED_NEED(1) | HEED_NEED(2)}, .promote = true,
    .to_float = true, .elementwise = true};
