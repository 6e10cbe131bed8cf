/*
 * heads - joint projections taken apart into the heads of attention.
 * Layer: ops. Read first: core/op.h, attention.c.
 *
 * A joint projection [.. T P*H*D] holds P parts (query, key, value) beside
 * each other; each part is seen as [.. H T D] without moving anything. Going
 * back, the gradients of all parts are written into one tensor at once.
 */
#include "base/error.h"
#include "ops/ops.h"

static bool heads_check(heed_call *c) {
  heed_tensor *x = c->in[0];
  int64_t heads = c->attr[0].i, parts = c->op->nreturn;
  if (!heed_want_ndim(c, 0, 2)) return false;
  int last = x->shape.ndim - 1;
  if (last + 1 == HEED_MAX_DIM)
    return heed_fail("%s: x %s has no room for one dimension more",
                     c->op->name, heed_shape_text(&x->shape));
  int64_t width = x->shape.dim[last];
  if (heads < 1)
    return heed_fail("%s: heads must be at least 1, got %lld", c->op->name,
                     (long long)heads);
  int64_t all;
  if (__builtin_mul_overflow(heads, parts, &all))
    return heed_fail("%s: heads must be at most %lld, got %lld", c->op->name,
                     (long long)(INT64_MAX / parts), (long long)heads);
  if (width % all != 0)
    return heed_fail("%s: x %s must end in a multiple of %lld, the %lld heads "
                     "of %lld parts", c->op->name, heed_shape_text(&x->shape),
                     (long long)all, (long long)heads, (long long)parts);
  int64_t size = width / all, stride[HEED_MAX_DIM];
  heed_shape shape = x->shape;
  shape.ndim++;
  for (int d = 0; d < last - 1; d++) stride[d] = x->stride[d];
  shape.dim[last - 1] = heads;
  shape.dim[last] = x->shape.dim[last - 1];
  shape.dim[last + 1] = size;
  stride[last - 1] = size * x->stride[last];
  stride[last] = x->stride[last - 1];
  stride[last + 1] = x->stride[last];
  for (int k = 0; k < parts; k++)
    heed_out_view(c, k, x, &shape, stride,
                  x->offset + k * heads * size * x->stride[last]);
  return true;
}

/* [.. H T D] of each part -> stacked [.. T P H D] -> [.. T P*H*D] */
static bool heads_bwd(heed_rule_call *r) {
  heed_tensor *part[HEED_MAX_OUT];
  int parts = r->node->nout;
  heed_attr axes[2] = {{.i = -3}, {.i = -2}}, dim = {.i = -3}, shape;
  for (int k = 0; k < parts; k++) {
    part[k] = heed_do1_with(r, HEED_OP_transpose, heed_grad_of(r, k), axes);
    if (!part[k]) return false;
  }
  heed_tensor *joint = heed_do(r, heed_op_at(HEED_OP_stack), part, parts,
                               &dim);
  shape.list = *heed_in_shape(r, 0);
  return heed_give(r, 0, heed_do1_with(r, HEED_OP_reshape, joint, &shape));
}

/***
The heads of query, key and value from their joint projection, as views.
@function split_qkv
@param x tensor [.. T 3*H*D]
@param heads their number H
@return three tensors [.. H T D]
@raise when the last size of x is no multiple of 3 H
@usage local q, k, v = heed.core.ops.split_qkv(heed.zeros(2, 5, 24), 4)
*/
const heed_rule heed_rule_split_qkv = {.check = heads_check,
                                       .backward = heads_bwd};

/***
The heads of key and value from their joint projection, as views.
@function split_kv
@param x tensor [.. T 2*H*D]
@param heads their number H
@return two tensors [.. H T D]
@raise when the last size of x is no multiple of 2 H
@usage local k, v = heed.core.ops.split_kv(heed.zeros(2, 5, 16), 4)
*/
const heed_rule heed_rule_split_kv = {.check = heads_check,
                                      .backward = heads_bwd};

/***
The heads of one projection, as a view.
@function split_heads
@param x tensor [.. T H*D]
@param heads their number H
@return tensor [.. H T D]
@raise when the last size of x is no multiple of H
@usage local q = heed.core.ops.split_heads(heed.zeros(2, 5, 8), 4)
*/
const heed_rule heed_rule_split_heads = {.check = heads_check,
                                         .backward = heads_bwd};
