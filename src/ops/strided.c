/*
 * strided - parts of a contiguous tensor by strides and offset, in elements.
 * Layer: ops. Read first: core/family.h, whose nodes these are.
 *
 * strided reads a part, strided_write gives x with a value in its place,
 * strided_sum adds a part into zeros. Each is linear, and the gradients of
 * each are the others.
 */
#include <string.h>

#include "core/iter.h"
#include "kernel/kernel.h"
#include "ops/copy.h"
#include "ops/ops.h"

static heed_tensor *part_of(heed_tensor *t, const heed_shape *shape,
                            const heed_shape *stride, int64_t offset) {
  return heed_tensor_view(t, shape, stride->dim, t->offset + offset);
}

static heed_tensor *rows(heed_rule_call *r, heed_tensor *g) {
  return heed_do1(r, HEED_OP_contiguous, g);
}

static heed_tensor *read_part(heed_rule_call *r, heed_tensor *g,
                              const heed_shape *shape,
                              const heed_shape *stride, int64_t offset) {
  heed_attr attr[3] = {{.list = *shape}, {.list = *stride}, {.i = offset}};
  return heed_do1_with(r, HEED_OP_strided, rows(r, g), attr);
}

static bool strided_check(heed_call *c) {
  heed_tensor *x = c->in[0];
  heed_out_view(c, 0, x, &c->attr[0].list, c->attr[1].list.dim,
                x->offset + c->attr[2].i);
  return true;
}
static bool strided_bwd(heed_rule_call *r) {
  heed_attr attr[3] = {{.list = *heed_in_shape(r, 0)}, r->attr[1],
                       r->attr[2]};
  return heed_give(r, 0, heed_do1_with(r, HEED_OP_strided_sum, r->grad[0],
                                       attr));
}
const heed_rule heed_rule_strided = {
    .check = strided_check, .backward = strided_bwd, .moves = true};

static bool strided_write_fwd(heed_call *c) {
  heed_copy(c->out[0], c->in[0]);
  heed_tensor *part = part_of(c->out[0], &c->in[1]->shape, &c->attr[0].list,
                              c->attr[1].i);
  if (!part) return false;
  heed_copy(part, c->in[1]);
  heed_tensor_drop(part);
  return true;
}
static bool strided_write_bwd(heed_rule_call *r) {
  heed_tensor *g = r->grad[0];
  if (heed_needs(r, 0)) {
    heed_tensor *zeros = heed_grad_zeros(r, 1);
    if (!heed_give(r, 0, heed_do2_with(r, HEED_OP_strided_write, g, zeros,
                                       r->attr)))
      return false;
  }
  return !heed_needs(r, 1) ||
         heed_give(r, 1, read_part(r, g, heed_in_shape(r, 1),
                                   &r->attr[0].list, r->attr[1].i));
}
const heed_rule heed_rule_strided_write = {
    .check = heed_check_like, .forward = strided_write_fwd,
    .backward = strided_write_bwd, .moves = true};

static void add_row(void *context, int64_t n, char *const *p,
                    const int64_t *s) {
  (*(heed_loop2 **)context)(n, p[0], s[0], p[0], s[0], p[1], s[1]);
}

/* Where elements share a place, one after the other is added. */
static void add_one_by_one(heed_tensor *part, heed_tensor *grad) {
  heed_loop2 *add = heed_kernel.binary[HEED_BINARY_add][grad->dtype];
  int64_t size = (int64_t)heed_dtype_size(grad->dtype);
  int64_t at[HEED_MAX_DIM] = {0};
  char *to = heed_tensor_data(part), *from = heed_tensor_data(grad);
  for (int64_t left = heed_tensor_numel(grad); left > 0; left--) {
    char *p[2] = {to, from};
    add_row(&add, 1, p, (int64_t[]){1, 1});
    for (int d = part->shape.ndim - 1; d >= 0; d--) {
      to += part->stride[d] * size;
      from += grad->stride[d] * size;
      if (++at[d] < part->shape.dim[d]) break;
      to -= at[d] * part->stride[d] * size;
      from -= at[d] * grad->stride[d] * size;
      at[d] = 0;
    }
  }
}

static bool strided_sum_fwd(heed_call *c) {
  heed_tensor *y = c->out[0], *grad = c->in[0];
  memset(heed_tensor_data(y), 0, y->storage->bytes);
  heed_tensor *part = part_of(y, &grad->shape, &c->attr[1].list,
                              c->attr[2].i);
  if (!part) return false;
  if (heed_tensor_is_folded(part)) add_one_by_one(part, grad);
  else heed_copy(part, grad);
  heed_tensor_drop(part);
  return true;
}
static bool strided_sum_bwd(heed_rule_call *r) {
  return heed_give(r, 0, read_part(r, r->grad[0], heed_in_shape(r, 0),
                                   &r->attr[1].list, r->attr[2].i));
}
const heed_rule heed_rule_strided_sum = {
    .check = heed_check_shape, .forward = strided_sum_fwd,
    .backward = strided_sum_bwd};
