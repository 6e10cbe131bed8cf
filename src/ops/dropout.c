/*
 * dropout - zeros at random while training. Layer: ops.
 * Read first: core/op.h, core/generator.h.
 *
 * Result 1, for backward only: which elements stay, a bool each.
 */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "kernel/kernel.h"
#include "ops/copy.h"
#include "ops/ops.h"
#include "ops/random.h"

#define GRAIN 32768 /* elements worth a thread */

typedef struct job {
  heed_dtype dtype;
  const char *x;
  char *y;
  const uint8_t *mask;
  double scale;
} job;

static void drop_range(void *context, int64_t begin, int64_t end,
                       int worker) {
  (void)worker;
  const job *j = context;
  size_t at = (size_t)begin * heed_dtype_size(j->dtype);
  heed_kernel.drop[j->dtype](end - begin, j->y + at, j->x + at,
                             j->mask + begin, j->scale);
}

/* y = mask ? x / (1 - p) : 0 */
static bool drop(const char *op, heed_tensor *y, heed_tensor *x,
                 const uint8_t *mask, double p) {
  x = heed_contiguous(op, x);
  if (!x) return false;
  job j = {y->dtype, heed_tensor_data(x), heed_tensor_data(y), mask,
           1 / (1 - p)};
  heed_parallel(heed_tensor_numel(y), GRAIN, drop_range, &j);
  heed_tensor_drop(x);
  return true;
}

/* Attributes: p, training. Does nothing fall out? */
static bool is_identity(const heed_attr *attr) {
  return !attr[1].i || attr[0].f == 0;
}

/***
x with each element set to 0 with probability p and the others divided by
1 - p, while training; x itself (a view) otherwise (Hinton et al., 2012).
@function dropout
@param x float tensor
@param p probability of 0, from 0 to 1; 0.5 by default
@param training true by default
@param generator of random numbers, the default one by default
@return tensor like x
@raise when x is not float or p is not from 0 to 1
@usage heed.nn.functional.dropout(heed.ones(4), 0.5)
*/
static bool dropout_check(heed_call *c) {
  heed_tensor *x = c->in[0];
  double p = c->attr[0].f;
  if (!heed_want_float(c, 0)) return false;
  if (!(p >= 0 && p <= 1))
    return heed_fail("dropout: p must be from 0 to 1, got %g", p);
  if (is_identity(c->attr)) {
    heed_out_view(c, 0, x, &x->shape, x->stride, x->offset);
    return true;
  }
  heed_out_like(c, 0, x);
  if (c->need && p < 1) heed_out(c, 1, HEED_BOOL, &x->shape);
  return true;
}

static bool dropout_fwd(heed_call *c) {
  double p = c->attr[0].f;
  heed_tensor *y = c->out[0];
  if (is_identity(c->attr)) return true;
  if (p == 1) {
    memset(heed_tensor_data(y), 0, y->storage->bytes);
    return true;
  }
  int64_t n = heed_tensor_numel(y);
  uint8_t *own = NULL;
  uint8_t *mask = c->nout > 1 ? heed_tensor_data(c->out[1])
                              : (own = heed_mem_alloc((size_t)n));
  bool ok = mask;
  if (ok) {
    heed_random_mask(c->attr[2].generator, n, mask, 1 - p);
    ok = drop("dropout", y, c->in[0], mask, p);
  }
  if (own) heed_mem_free(own, (size_t)n);
  return ok;
}

static bool dropout_bwd(heed_rule_call *r) {
  heed_tensor *g = r->grad[0];
  if (is_identity(r->attr)) return heed_give(r, 0, g);
  if (r->attr[0].f == 1) {
    heed_attr attr[3] = {{.list = g->shape}, {.i = g->dtype}, {.i = false}};
    return heed_give(r, 0, heed_do(r, heed_op_at(HEED_OP_zeros), NULL, 0,
                                   attr));
  }
  return heed_give(r, 0, heed_do2_with(r, HEED_OP_dropout_bwd, g,
                                       heed_kept_out(r, 1), r->attr));
}
const heed_rule heed_rule_dropout = {
    .check = dropout_check, .forward = dropout_fwd, .backward = dropout_bwd,
    .keep_out = {0, HEED_ALWAYS}};

/* -- for backward: inputs gradient and mask (contiguous), attribute p -- */

static bool dropout_bwd_fwd(heed_call *c) {
  return drop("dropout", c->out[0], c->in[0], heed_tensor_data(c->in[1]),
              c->attr[0].f);
}
static bool dropout_bwd_bwd(heed_rule_call *r) {
  return heed_give(r, 0, heed_do2_with(r, HEED_OP_dropout_bwd, r->grad[0],
                                       heed_in(r, 1), r->attr));
}
const heed_rule heed_rule_dropout_bwd = {
    .check = heed_check_like, .forward = dropout_bwd_fwd,
    .backward = dropout_bwd_bwd, .keep = {0, HEED_ALWAYS}};
