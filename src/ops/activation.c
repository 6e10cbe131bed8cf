/*
 * activation - functions between the layers of a network.
 * Layer: ops. Read first: each.h.
 */
#include "ops/each.h"

/***
max(x, 0). Its gradient at 0 is 0.
@function relu
@param x tensor
@return tensor like x
@usage heed.tensor{-1, 2}:relu() --> 0 2
*/
HEED_UNARY_OP(relu, false)
static bool relu_bwd(heed_rule_call *r) {
  /* y > 0 exactly where x > 0, and y is kept by the next layer anyway */
  return heed_give(r, 0, heed_do2(r, HEED_OP_relu_bwd, heed_kept_out(r, 0),
                                  r->grad[0]));
}
const heed_rule heed_rule_relu = {
    .check = relu_check, .forward = relu_fwd, .backward = relu_bwd,
    .keep_out = {HEED_ALWAYS}, .elementwise = true};

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
  return heed_want_float(c, 0) &&
         heed_each_check1(c, HEED_UNARY_gelu, false);
}
static bool gelu_fwd(heed_call *c) {
  heed_unary f = c->attr[0].i ? HEED_UNARY_gelu_tanh : HEED_UNARY_gelu;
  return heed_each_run1(c, heed_kernel.unary[f][c->in[0]->dtype]);
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
  return heed_want_float(c, 0) &&
         heed_each_check1(c, HEED_UNARY_silu, false);
}
static bool silu_fwd(heed_call *c) {
  return heed_each_run1(
      c, heed_kernel.unary[HEED_UNARY_silu][c->in[0]->dtype]);
}
static bool silu_bwd(heed_rule_call *r) {
  return heed_give(r, 0, heed_do2(r, HEED_OP_silu_bwd, heed_in(r, 0),
                                  r->grad[0]));
}
const heed_rule heed_rule_silu = {
    .check = silu_check, .forward = silu_fwd, .backward = silu_bwd,
    .keep = {HEED_ALWAYS}, .fused = true};

/* -- for backward rules -- */

HEED_BINARY_OP(silu_bwd, false)
const heed_rule heed_rule_silu_bwd = {
    .check = silu_bwd_check, .forward = silu_bwd_fwd};

HEED_BINARY_OP(relu_bwd, false)
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
  return heed_each_check2(c, HEED_BINARY_gelu_bwd, false);
}
static bool gelu_bwd_fwd(heed_call *c) {
  heed_binary f = c->attr[0].i ? HEED_BINARY_gelu_tanh_bwd
                               : HEED_BINARY_gelu_bwd;
  return heed_each_run2(c, heed_kernel.binary[f][c->in[0]->dtype]);
}
const heed_rule heed_rule_gelu_bwd = {
    .check = gelu_bwd_check, .forward = gelu_bwd_fwd};
