/*
 * cdist - distances between the rows of two matrices. Layer: ops.
 * Read first: kernel/distance.c.
 *
 * Neither way holds more than the distances themselves. A gradient that shall
 * be differentiated again is made of ops instead, through all differences.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "kernel/kernel.h"
#include "ops/copy.h"
#include "ops/ops.h"
#include "ops/vector_norm.h"

#define GRAIN 16384 /* differences worth a thread */

/* The sizes: a [batch p m], b [batch r m]. */
typedef struct sizes {
  heed_shape batch, a, b; /* a and b with the whole batch */
  int64_t count, p, r, m;
} sizes;

static bool sizes_of(const heed_call *c, sizes *s) {
  const heed_shape *a = &c->in[0]->shape, *b = &c->in[1]->shape;
  if (!heed_want_float(c, 0) || !heed_want_float(c, 1) ||
      !heed_want_ndim(c, 0, 2) || !heed_want_ndim(c, 1, 2))
    return false;
  s->p = a->dim[a->ndim - 2];
  s->r = b->dim[b->ndim - 2];
  s->m = a->dim[a->ndim - 1];
  if (s->m != b->dim[b->ndim - 1])
    return heed_fail("%s: a %s and b %s: rows have %lld and %lld elements",
                     c->op->name, heed_shape_text(a), heed_shape_text(b),
                     (long long)s->m, (long long)b->dim[b->ndim - 1]);
  heed_shape left = *a, right = *b;
  left.ndim -= 2;
  right.ndim -= 2;
  if (!heed_shape_broadcast(&left, &right, &s->batch))
    return heed_fail("%s: a %s and b %s: batch sizes %s and %s cannot be "
                     "broadcast together", c->op->name, heed_shape_text(a),
                     heed_shape_text(b), heed_shape_text(&left),
                     heed_shape_text(&right));
  s->count = heed_shape_numel(&s->batch);
  s->a = s->b = s->batch;
  s->a.dim[s->a.ndim++] = s->p;
  s->b.dim[s->b.ndim++] = s->r;
  s->a.dim[s->a.ndim++] = s->b.dim[s->b.ndim++] = s->m;
  return true;
}

/* x itself or a copy, row-major and with the whole batch. */
static heed_tensor *spread(heed_tensor *x, const heed_shape *shape) {
  if (heed_shape_equal(&x->shape, shape)) return heed_contiguous("cdist", x);
  heed_tensor *y = heed_tensor_new("cdist", x->dtype, shape);
  if (y) heed_copy(y, x);
  return y;
}

typedef struct job {
  sizes s;
  double power;
  heed_dtype dtype;
  size_t size;
  heed_tensor *a, *b;       /* with the whole batch */
  heed_tensor *y, *g;       /* distances, and their gradients */
  heed_tensor *ga, *gb;     /* backward */
  double *sum;              /* m for each worker */
} job;

/* Row i (of all in the batch) of a, row j of that batch in b. */
static const char *row_of(const job *w, const heed_tensor *t, int64_t i) {
  return (const char *)heed_tensor_data(t) + (size_t)(i * w->s.m) * w->size;
}
static double value(const job *w, const heed_tensor *t, int64_t at) {
  return heed_real(w->dtype, heed_tensor_data(t), at);
}
static void set(const job *w, heed_tensor *t, int64_t at, double v) {
  heed_real_store(w->dtype, heed_tensor_data(t), at, v);
}

/***
The distances between all rows of a and all rows of b.
@function cdist
@param a float tensor (..., p, m)
@param b float tensor (..., r, m)
@param p which norm of the difference, not negative: 2 by default; 0 counts
the elements that differ, `math.huge` takes the largest difference
@return tensor (..., p, r)
@raise when the sizes do not fit, or p is negative
@usage local a, b = heed.zeros(1, 2), heed.tensor{{3.0, 4.0}, {0.0, 1.0}}
return a:cdist(b) --> 5 1
*/
static bool cdist_check(heed_call *c) {
  sizes s;
  if (!sizes_of(c, &s)) return false;
  if (!(c->attr[0].f >= 0))
    return heed_fail("cdist: p must not be negative, got %g", c->attr[0].f);
  heed_shape shape = s.batch;
  shape.dim[shape.ndim++] = s.p;
  shape.dim[shape.ndim++] = s.r;
  heed_out(c, 0, c->in[0]->dtype, &shape);
  return true;
}

static void distances(void *context, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const job *w = context;
  for (int64_t i = begin; i < end; i++) {
    int64_t first = i / w->s.p * w->s.r;
    heed_kernel.distances[w->dtype](
        w->s.m, row_of(w, w->a, i), w->s.r, row_of(w, w->b, first), w->power,
        (char *)heed_tensor_data(w->y) + (size_t)(i * w->s.r) * w->size);
  }
}

static bool begin(const heed_call *c, job *w) {
  if (!sizes_of(c, &w->s)) return false;
  w->dtype = c->in[0]->dtype;
  w->size = heed_dtype_size(w->dtype);
  w->a = spread(c->in[0], &w->s.a);
  w->b = w->a ? spread(c->in[1], &w->s.b) : NULL;
  return w->b != NULL;
}

static bool cdist_fwd(heed_call *c) {
  job w = {.power = c->attr[0].f, .y = c->out[0]};
  bool ok = begin(c, &w);
  if (ok)
    heed_parallel(w.s.count * w.s.p, GRAIN / (w.s.r * w.s.m + 1) + 1,
                  distances, &w);
  heed_tensor_drop(w.a);
  heed_tensor_drop(w.b);
  return ok;
}

/* The gradients out of ops, for a second derivative. */
static bool give_differences(heed_rule_call *r, heed_tensor *a,
                             heed_tensor *b, heed_tensor *y, double p) {
  static const heed_shape last = {1, {-1}};
  heed_tensor *d = heed_do2(r, HEED_OP_sub, heed_unsqueeze(r, a, -2),
                            heed_unsqueeze(r, b, -3));
  heed_tensor *g = heed_unsqueeze(r, r->grad[0], -1);
  y = heed_unsqueeze(r, y, -1);
  heed_tensor *gd = heed_norm_gradient(r, d, y, g, p, &last);
  heed_attr over_b[2] = {{.list = {1, {-2}}}, {.i = false}};
  heed_attr over_a[2] = {{.list = {1, {-3}}}, {.i = false}};
  if (heed_needs(r, 0) &&
      !heed_give(r, 0, heed_do1_with(r, HEED_OP_sum, gd, over_b)))
    return false;
  return !heed_needs(r, 1) ||
         heed_give(r, 1, heed_do1(r, HEED_OP_neg,
                                  heed_do1_with(r, HEED_OP_sum, gd, over_a)));
}
static bool cdist_bwd_rule(heed_rule_call *r) {
  heed_tensor *a = heed_in(r, 0), *b = heed_in(r, 1), *out[2];
  heed_tensor *y = heed_kept_out(r, 0);
  if (!a || !b || !y) return false;
  if (heed_grad_enabled())
    return give_differences(r, a, b, y, r->attr[0].f);
  heed_tensor *in[4] = {a, b, y, r->grad[0]};
  if (!heed_do_all(r, heed_op_at(HEED_OP_cdist_bwd), in, 4, r->attr, out))
    return false;
  return (!heed_needs(r, 0) || heed_give(r, 0, out[0])) &&
         (!heed_needs(r, 1) || heed_give(r, 1, out[1]));
}
const heed_rule heed_rule_cdist = {
    .check = cdist_check, .forward = cdist_fwd, .backward = cdist_bwd_rule,
    .keep = {HEED_ALWAYS, HEED_ALWAYS}, .keep_out = {HEED_ALWAYS},
    .promote = true};

/* ---- for backward: the gradients of a and b, with the whole batch -------- */

static bool cdist_bwd_check(heed_call *c) {
  sizes s;
  if (!sizes_of(c, &s)) return false;
  heed_out(c, 0, c->in[0]->dtype, &s.a);
  heed_out(c, 1, c->in[0]->dtype, &s.b);
  return true;
}

/* Adds up one row of a gradient: over all rows of the other matrix. */
static void slopes(const job *w, int64_t i, bool of_a, double *sum) {
  int64_t mine = of_a ? w->s.p : w->s.r, others = of_a ? w->s.r : w->s.p;
  int64_t batch = i / mine, own = i % mine;
  const heed_tensor *t = of_a ? w->a : w->b, *u = of_a ? w->b : w->a;
  memset(sum, 0, (size_t)w->s.m * sizeof *sum);
  for (int64_t j = 0; j < others; j++) {
    int64_t at = batch * w->s.p * w->s.r +
                 (of_a ? own * w->s.r + j : j * w->s.r + own);
    heed_kernel.distance_bwd[w->dtype](w->s.m, row_of(w, t, i),
                                       row_of(w, u, batch * others + j),
                                       value(w, w->y, at),
                                       value(w, w->g, at), w->power, sum);
  }
  for (int64_t k = 0; k < w->s.m; k++)
    set(w, of_a ? w->ga : w->gb, i * w->s.m + k, sum[k]);
}
static void slopes_of_a(void *context, int64_t first, int64_t end,
                        int worker) {
  const job *w = context;
  for (int64_t i = first; i < end; i++)
    slopes(w, i, true, w->sum + worker * w->s.m);
}
static void slopes_of_b(void *context, int64_t first, int64_t end,
                        int worker) {
  const job *w = context;
  for (int64_t i = first; i < end; i++)
    slopes(w, i, false, w->sum + worker * w->s.m);
}
static bool cdist_bwd_fwd(heed_call *c) {
  job w = {.power = c->attr[0].f, .ga = c->out[0], .gb = c->out[1]};
  bool ok = begin(c, &w);
  w.y = ok ? heed_contiguous("cdist", c->in[2]) : NULL;
  w.g = w.y ? heed_contiguous("cdist", c->in[3]) : NULL;
  size_t bytes = ok ? (size_t)(heed_get_num_threads() * w.s.m) * sizeof(double)
                    : 0;
  w.sum = w.g ? heed_mem_alloc(bytes) : NULL;
  if (w.sum) {
    heed_parallel(w.s.count * w.s.p, GRAIN / (w.s.r * w.s.m + 1) + 1,
                  slopes_of_a, &w);
    heed_parallel(w.s.count * w.s.r, GRAIN / (w.s.p * w.s.m + 1) + 1,
                  slopes_of_b, &w);
    heed_mem_free(w.sum, bytes);
  }
  heed_tensor_drop(w.g);
  heed_tensor_drop(w.y);
  heed_tensor_drop(w.b);
  heed_tensor_drop(w.a);
  return w.sum != NULL;
}
const heed_rule heed_rule_cdist_bwd = {.check = cdist_bwd_check,
                                       .forward = cdist_bwd_fwd};
