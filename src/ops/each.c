/*
 * each - running a kernel over broadcast tensors. Layer: ops.
 * Read first: each.h.
 */
#include "ops/each.h"

#include "base/error.h"

static void row1(void *loop, int64_t n, char *const *p, const int64_t *s) {
  (*(heed_loop1 **)loop)(n, p[0], s[0], p[1], s[1]);
}

static void row2(void *loop, int64_t n, char *const *p, const int64_t *s) {
  (*(heed_loop2 **)loop)(n, p[0], s[0], p[1], s[1], p[2], s[2]);
}

/* Small and in one piece: not worth an iterator. */
static bool is_plain(const heed_tensor *y, const heed_tensor *x, int64_t n) {
  return n <= HEED_GRAIN && heed_shape_equal(&y->shape, &x->shape) &&
         heed_tensor_is_contiguous(x);
}

bool heed_each_run1(heed_call *c, heed_loop1 *loop) {
  heed_tensor *y = c->out[0], *x = c->in[0];
  int64_t n = heed_tensor_numel(y);
  if (is_plain(y, x, n) && heed_tensor_is_contiguous(y)) {
    loop(n, heed_tensor_data(y), 1, heed_tensor_data(x), 1);
    return true;
  }
  heed_iter it;
  heed_iter_init(&it, &c->out[0]->shape, 2,
                 (heed_tensor *[]){c->out[0], c->in[0]});
  heed_iter_run(&it, HEED_GRAIN, row1, &loop);
  return true;
}

void heed_each_into(heed_tensor *to, heed_tensor *a, heed_tensor *b,
                    heed_loop2 *loop) {
  int64_t n = heed_tensor_numel(to);
  bool same = is_plain(to, b, n);
  if ((same || b->shape.ndim == 0) && is_plain(to, a, n) &&
      heed_tensor_is_contiguous(to)) {
    loop(n, heed_tensor_data(to), 1, heed_tensor_data(a), 1,
         heed_tensor_data(b), same);
    return;
  }
  heed_iter it;
  heed_iter_init(&it, &to->shape, 3, (heed_tensor *[]){to, a, b});
  heed_iter_run(&it, HEED_GRAIN, row2, &loop);
}

bool heed_each_run2(heed_call *c, heed_loop2 *loop) {
  heed_each_into(c->out[0], c->in[0], c->in[1], loop);
  return true;
}

static bool broadcast(heed_call *c, heed_shape *shape) {
  const heed_tensor *a = c->in[0], *b = c->in[1];
  if (heed_shape_broadcast(&a->shape, &b->shape, shape)) return true;
  return heed_fail("%s: %s %s and %s %s cannot be broadcast together",
                   c->op->name, heed_input_name(c, 0),
                   heed_shape_text(&a->shape), heed_input_name(c, 1),
                   heed_shape_text(&b->shape));
}

bool heed_each_undefined(const heed_call *c) {
  return heed_fail("%s: not defined for %s %s", c->op->name,
                   heed_input_name(c, 0), heed_tensor_text(c->in[0]));
}

bool heed_each_check1(heed_call *c, heed_unary f, bool to_bool) {
  const heed_tensor *x = c->in[0];
  if (!heed_kernel.unary[f][x->dtype]) return heed_each_undefined(c);
  heed_out(c, 0, to_bool ? HEED_BOOL : x->dtype, &x->shape);
  return true;
}

bool heed_each_check2(heed_call *c, heed_binary f, bool to_bool) {
  heed_shape shape;
  heed_dtype d = c->in[0]->dtype;
  if (!heed_kernel.binary[f][d]) return heed_each_undefined(c);
  if (!broadcast(c, &shape)) return false;
  heed_out(c, 0, to_bool ? HEED_BOOL : d, &shape);
  return true;
}

bool heed_each_product(heed_rule_call *r, heed_tensor *factor) {
  return heed_give(r, 0, heed_do2(r, HEED_OP_mul, r->grad[0], factor));
}

bool heed_each_flat_bwd(heed_rule_call *r) {
  return heed_give(r, 0, heed_grad_zeros(r, 0));
}
