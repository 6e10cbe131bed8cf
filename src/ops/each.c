/*
 * each - running a kernel over broadcast tensors. Layer: ops.
 * Read first: each.h.
 */
#include "ops/each.h"

#include <string.h>

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
  if (is_plain(y, x, n) && (!c->in_place || heed_tensor_is_contiguous(y))) {
    loop(n, heed_tensor_data(y), 1, heed_tensor_data(x), 1);
    return true;
  }
  heed_iter_map(&y->shape, 2, (heed_tensor *[]){y, x}, HEED_GRAIN, row1,
                &loop);
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
  heed_iter_map(&to->shape, 3, (heed_tensor *[]){to, a, b}, HEED_GRAIN, row2,
                &loop);
}

bool heed_each_run2(heed_call *c, heed_loop2 *loop) {
  heed_each_into(c->out[0], c->in[0], c->in[1], loop);
  return true;
}

typedef struct with_number {
  heed_loop3 *loop;
  double value;
} with_number;

static void row3(void *context, int64_t n, char *const *p, const int64_t *s) {
  const with_number *w = context;
  w->loop(n, p[0], s[0], p[1], s[1], p[2], s[2], p[3], s[3], w->value);
}

bool heed_each_run3(heed_call *c, heed_loop3 *loop, double value) {
  with_number w = {loop, value};
  heed_iter_map(&c->out[0]->shape, 4,
                (heed_tensor *[]){c->out[0], c->in[0], c->in[1], c->in[2]},
                HEED_GRAIN, row3, &w);
  return true;
}

typedef struct tuned {
  heed_loop1_tuned *loop;
  heed_loop2_tuned *bwd;
  double p[HEED_TUNED_MAX];
} tuned;

static void row_tuned(void *context, int64_t n, char *const *p,
                      const int64_t *s) {
  const tuned *t = context;
  if (t->loop)
    t->loop(n, p[0], s[0], p[1], s[1], t->p);
  else
    t->bwd(n, p[0], s[0], p[1], s[1], p[2], s[2], t->p);
}

/* The numbers p: float attributes from `first` on. */
static void take_numbers(const heed_call *c, int first, double *p) {
  int nattr = heed_op_nattr(c->op);
  for (int k = 0; k < HEED_TUNED_MAX && first + k < nattr; k++)
    p[k] = c->attr[first + k].f;
}

static void run_tuned(heed_call *c, tuned *t) {
  heed_iter_map(&c->out[0]->shape, 1 + c->nin,
                (heed_tensor *[]){c->out[0], c->in[0],
                                  c->nin > 1 ? c->in[1] : NULL},
                HEED_GRAIN, row_tuned, t);
}

bool heed_each_run_tuned(heed_call *c, heed_tuned f, const double *p) {
  tuned t = {.loop = heed_kernel.tuned[f][c->in[0]->dtype]};
  if (p)
    memcpy(t.p, p, sizeof t.p);
  else
    take_numbers(c, 0, t.p);
  run_tuned(c, &t);
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

bool heed_each_check3(heed_call *c, heed_ternary f) {
  heed_tensor **in = c->in;
  heed_shape shape;
  if (!heed_kernel.ternary[f][in[0]->dtype]) return heed_each_undefined(c);
  if (!heed_shape_broadcast(&in[0]->shape, &in[1]->shape, &shape) ||
      !heed_shape_broadcast(&shape, &in[2]->shape, &shape))
    return heed_fail("%s: %s %s, %s %s and %s %s cannot be broadcast "
                     "together", c->op->name, heed_input_name(c, 0),
                     heed_shape_text(&in[0]->shape), heed_input_name(c, 1),
                     heed_shape_text(&in[1]->shape), heed_input_name(c, 2),
                     heed_shape_text(&in[2]->shape));
  heed_out(c, 0, in[0]->dtype, &shape);
  return true;
}

bool heed_each_check_tuned(heed_call *c, heed_tuned f) {
  if (!heed_kernel.tuned[f][c->in[0]->dtype]) return heed_each_undefined(c);
  heed_out_like(c, 0, c->in[0]);
  return true;
}

typedef struct search {
  heed_dtype dtype;
  bool negative; /* what is looked for: a number below 0, or 0 */
  bool found;
} search;

static void find(void *context, int64_t n, char *const *p,
                 const int64_t *stride) {
  search *s = context;
  for (int64_t i = 0; i < n && !s->found; i++) {
    int64_t v = heed_element(s->dtype, p[0], i * stride[0]).i;
    s->found = s->negative ? v < 0 : v == 0;
  }
}

static bool holds(heed_tensor *t, bool negative) {
  search s = {t->dtype, negative, false};
  if (heed_dtype_is_float(t->dtype)) return false;
  heed_iter it;
  heed_iter_init(&it, &t->shape, 1, &t);
  if (heed_tensor_numel(t) > 0) heed_iter_run(&it, INT64_MAX, find, &s);
  return s.found;
}

bool heed_each_no_zero(const heed_call *c) {
  heed_tensor *b = c->in[1];
  return !holds(b, false) ||
         heed_fail("%s: b %s holds a 0, and integers cannot be divided by it",
                   c->op->name, heed_tensor_text(b));
}

bool heed_each_no_negative(const heed_call *c) {
  return !holds(c->in[1], true) ||
         heed_fail("%s: an integer cannot be raised to a negative power; "
                   "convert a to float32 first", c->op->name);
}

bool heed_each_product(heed_rule_call *r, heed_tensor *factor) {
  return heed_give(r, 0, heed_do2(r, HEED_OP_mul, r->grad[0], factor));
}

bool heed_each_flat_bwd(heed_rule_call *r) {
  return heed_give(r, 0, heed_grad_zeros(r, 0));
}

bool heed_each_quotient(heed_rule_call *r, heed_tensor *divisor) {
  return heed_give(r, 0, heed_do2(r, HEED_OP_div, r->grad[0], divisor));
}

heed_tensor *heed_each_times(heed_rule_call *r, heed_tensor *t,
                             double number) {
  return heed_do2(r, HEED_OP_mul, t, heed_number(r, number));
}

heed_tensor *heed_each_plus(heed_rule_call *r, heed_tensor *t,
                            double number) {
  return heed_do2(r, HEED_OP_add, t, heed_number(r, number));
}

heed_tensor *heed_each_square(heed_rule_call *r, heed_tensor *x) {
  return heed_do1(r, HEED_OP_square, x);
}

bool heed_each_tuned_bwd(heed_rule_call *r, heed_tuned f, heed_tensor *slope) {
  if (heed_grad_enabled()) return slope && heed_each_product(r, slope);
  heed_attr attr[1 + HEED_TUNED_MAX] = {{.i = f}};
  for (int k = 0; k < r->node->nattr && k < HEED_TUNED_MAX; k++)
    attr[1 + k] = r->attr[k];
  return heed_give(r, 0, heed_do2_with(r, HEED_OP_tuned_bwd, heed_in(r, 0),
                                       r->grad[0], attr));
}

/* x, grad and which function: the gradient of x. */
static bool tuned_bwd_check(heed_call *c) {
  if (!heed_kernel.tuned_bwd[c->attr[0].i][c->in[0]->dtype])
    return heed_each_undefined(c);
  heed_out_like(c, 0, c->in[0]);
  return true;
}
static bool tuned_bwd_fwd(heed_call *c) {
  tuned t = {.bwd = heed_kernel.tuned_bwd[c->attr[0].i][c->in[0]->dtype]};
  take_numbers(c, 1, t.p);
  run_tuned(c, &t);
  return true;
}
const heed_rule heed_rule_tuned_bwd = {
    .check = tuned_bwd_check, .forward = tuned_bwd_fwd};
