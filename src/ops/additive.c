/*
 * additive - the scores of additive attention, fused. Layer: ops.
 * Read first: kernel/additive.h, core/op.h.
 *
 * The rest of additive attention (softmax, dropout, the product with the
 * values) works on the [Tq Tk] scores and is made of ops, in Lua. The work is
 * cut into units of one batch entry: rows of scores on the way forward,
 * columns of q and k on the way back.
 */
#include <string.h>

#include "base/count.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "kernel/kernel.h"
#include "ops/copy.h"
#include "ops/ops.h"

enum { Q, K, W, MASK };        /* inputs */
enum { GRAD = MASK, NPLAIN };  /* of the backward op: all but the mask */

#define ROWS 128    /* queries of a unit: the keys are packed once for them */
#define TANHS 16384 /* worth a thread */

/* -- checks -- */

static bool check_qk(const heed_call *c) {
  const heed_tensor *q = c->in[Q], *k = c->in[K];
  for (int i = Q; i <= K; i++)
    if (!heed_want_float(c, i) || !heed_want_ndim(c, i, 2)) return false;
  int n = q->shape.ndim;
  bool same = k->shape.ndim == n;
  for (int i = 0; same && i < n; i++)
    same = i == n - 2 || q->shape.dim[i] == k->shape.dim[i];
  return same || heed_fail("%s: q %s and k %s must agree in all sizes but the "
                           "last but one, time", c->op->name,
                           heed_shape_text(&q->shape),
                           heed_shape_text(&k->shape));
}

static bool check_w(const heed_call *c) {
  const heed_tensor *q = c->in[Q], *k = c->in[K], *w = c->in[W];
  int64_t size = q->shape.dim[q->shape.ndim - 1];
  if (w->shape.ndim != 1 || w->shape.dim[0] != size)
    return heed_fail("%s: w must be [%lld], one number a column of q %s, got "
                     "%s", c->op->name, (long long)size,
                     heed_shape_text(&q->shape), heed_shape_text(&w->shape));
  return (k->dtype == q->dtype && w->dtype == q->dtype) ||
         heed_fail("%s: q, k and w must have one dtype, got %s, %s and %s",
                   c->op->name, heed_dtype_name(q->dtype),
                   heed_dtype_name(k->dtype), heed_dtype_name(w->dtype));
}

static bool check_mask(const heed_call *c, const heed_shape *scores) {
  const heed_tensor *mask = c->in[MASK];
  heed_shape joined;
  if (!mask) return true;
  if (!heed_want_dtype(c, MASK, HEED_BOOL)) return false;
  return (heed_shape_broadcast(&mask->shape, scores, &joined) &&
          heed_shape_equal(&joined, scores)) ||
         heed_fail("%s: mask %s does not broadcast to %s", c->op->name,
                   heed_shape_text(&mask->shape), heed_shape_text(scores));
}

/* -- units -- */

/* What the units of a call share. */
typedef struct plan {
  const heed_additive_loops *loops;
  heed_additive whole;   /* of the first batch entry */
  heed_tensor *in[NPLAIN]; /* row-major: own references */
  const heed_tensor *mask; /* and its strides, 0 where it is broadcast */
  int64_t mask_stride[HEED_MAX_DIM];
  heed_shape batch;
  int64_t count, size_of; /* batch entries; bytes of a number */
  int64_t parts;          /* units of an entry */
  char *room;
  size_t room_size, room_bytes; /* of one worker, and of all */
} plan;

static bool plan_begin(plan *p, heed_call *c, int nplain) {
  *p = (plan){.batch = c->in[Q]->shape};
  p->loops = &heed_kernel.additive[c->in[Q]->dtype];
  p->size_of = (int64_t)heed_dtype_size(c->in[Q]->dtype);
  int n = p->batch.ndim -= 2;
  p->count = heed_shape_numel(&p->batch);
  for (int i = 0; i < nplain; i++)
    if (!(p->in[i] = heed_contiguous(c->op->name, c->in[i]))) return false;
  p->whole = (heed_additive){
      .tq = c->in[Q]->shape.dim[n], .tk = c->in[K]->shape.dim[n],
      .size = c->in[W]->shape.dim[0], .q = heed_tensor_data(p->in[Q]),
      .k = heed_tensor_data(p->in[K]), .w = heed_tensor_data(p->in[W])};
  return true;
}

/* Room for each worker. */
static bool plan_room(plan *p, size_t bytes) {
  p->room_size = (bytes + 63) / 64 * 64;
  p->room_bytes = p->room_size * (size_t)heed_get_num_threads();
  return !p->room_bytes || (p->room = heed_mem_alloc(p->room_bytes));
}

static void plan_end(plan *p) {
  for (int i = 0; i < NPLAIN; i++) heed_tensor_drop(p->in[i]);
  if (p->room) heed_mem_free(p->room, p->room_bytes);
}

static void plan_mask(plan *p, const heed_tensor *mask) {
  if (!(p->mask = mask)) return;
  int shift = p->batch.ndim + 2 - mask->shape.ndim;
  for (int i = 0; i < mask->shape.ndim; i++)
    p->mask_stride[i + shift] = mask->shape.dim[i] == 1 ? 0 : mask->stride[i];
}

static const void *forth(const void *data, int64_t bytes) {
  return data ? (const char *)data + bytes : NULL;
}
static void *back(void *data, int64_t bytes) {
  return data ? (char *)data + bytes : NULL;
}

/* One batch entry of the call. */
static heed_additive entry_of(const plan *p, int64_t entry) {
  heed_additive a = p->whole;
  int64_t query = entry * a.tq * a.size * p->size_of;
  int64_t key = entry * a.tk * a.size * p->size_of;
  int64_t score = entry * a.tq * a.tk * p->size_of;
  a.q = forth(a.q, query);
  a.k = forth(a.k, key);
  a.scores = back(a.scores, score);
  a.grad = forth(a.grad, score);
  a.dq = back(a.dq, query);
  a.dk = back(a.dk, key);
  if (a.dw) a.dw += entry * a.size;
  if (!p->mask) return a;
  int64_t offset = 0;
  for (int i = p->batch.ndim - 1; i >= 0; i--) {
    offset += entry % p->batch.dim[i] * p->mask_stride[i];
    entry /= p->batch.dim[i];
  }
  a.mask = (const uint8_t *)heed_tensor_data(p->mask) + offset;
  a.mask_row = p->mask_stride[p->batch.ndim];
  a.mask_column = p->mask_stride[p->batch.ndim + 1];
  return a;
}

/* Units that are worth a thread, of `tanhs` each. */
static int64_t grain(double tanhs) {
  return tanhs >= TANHS ? 1 : (int64_t)(TANHS / (tanhs + 1)) + 1;
}

/* -- additive_scores -- */

/***
The scores of additive attention (Bahdanau et al., 2014): the sum of
w tanh(q + k) over the last dimension, for every pair of a query and a key.
`F.additive_attention` makes attention of them.

No tensor [.. Tq Tk size] is made, forward or backward. Pairs that the mask
shuts out cost little and give 0: nothing of them reaches a result or a
gradient, not even a NaN. The backward pass is fused and cannot be
differentiated again.
@function additive_scores
@param q float tensor [.. Tq size]
@param k float tensor [.. Tk size]
@param w float tensor [size]
@param mask bool tensor that broadcasts to [.. Tq Tk], true where the score is
wanted
@return float tensor [.. Tq Tk]
@raise when dtypes or shapes do not fit
@usage local s = heed.core.ops.additive_scores(heed.zeros(2, 3),
  heed.ones(4, 3), heed.ones(3)) --> shape (2, 4)
*/
static bool additive_scores_check(heed_call *c) {
  if (!check_qk(c) || !check_w(c)) return false;
  heed_shape scores = c->in[Q]->shape;
  int n = scores.ndim;
  scores.dim[n - 1] = c->in[K]->shape.dim[n - 2];
  if (!check_mask(c, &scores)) return false;
  heed_out(c, 0, c->in[Q]->dtype, &scores);
  return true;
}

static void forward_units(void *context, int64_t begin, int64_t end,
                          int worker) {
  const plan *p = context;
  void *room = p->room + p->room_size * (size_t)worker;
  for (int64_t unit = begin; unit < end; unit++) {
    heed_additive a = entry_of(p, unit / p->parts);
    int64_t row = unit % p->parts * ROWS;
    p->loops->forward(&a, row, heed_least(row + ROWS, a.tq), room);
  }
}

static bool additive_scores_fwd(heed_call *c) {
  plan p;
  bool ok = plan_begin(&p, c, MASK);
  const heed_additive *a = &p.whole;
  if (ok && heed_tensor_numel(c->out[0]) > 0) {
    plan_mask(&p, c->in[MASK]);
    p.whole.scores = heed_tensor_data(c->out[0]);
    p.parts = (a->tq + ROWS - 1) / ROWS;
    ok = plan_room(&p, p.loops->forward_room(a, heed_least(a->tq, ROWS)));
    double tanhs = (double)heed_least(a->tq, ROWS) * (double)a->tk *
                   (double)(a->size + 1);
    if (ok)
      heed_parallel_values(p.count * p.parts, grain(tanhs), forward_units, &p);
  }
  plan_end(&p);
  return ok;
}

static bool additive_scores_bwd_rule(heed_rule_call *r) {
  heed_tensor *grad = r->grad[0], *out[HEED_MAX_OUT] = {0};
  if (r->node->nin > MASK && r->node->in[MASK].value) {
    grad = heed_do3(r, HEED_OP_where, heed_in(r, MASK), grad,
                    heed_number(r, 0));
  }
  heed_tensor *in[NPLAIN] = {heed_in(r, Q), heed_in(r, K), heed_in(r, W),
                             grad};
  if (r->failed ||
      !heed_do_all(r, heed_op_at(HEED_OP_additive_scores_bwd), in, NPLAIN,
                   NULL, out))
    return false;
  for (int i = Q; i <= W; i++)
    if (heed_needs(r, i) && !heed_give(r, i, out[i])) return false;
  return true;
}

const heed_rule heed_rule_additive_scores = {
    .check = additive_scores_check, .forward = additive_scores_fwd,
    .backward = additive_scores_bwd_rule, .fused = true,
    .keep = {HEED_ALWAYS, HEED_ALWAYS, HEED_ALWAYS, HEED_ALWAYS}};

/* -- additive_scores_bwd: the gradients of q, k and w -- */

static bool additive_scores_bwd_check(heed_call *c) {
  for (int i = Q; i <= W; i++) heed_out_like(c, i, c->in[i]);
  return true;
}

static void backward_units(void *context, int64_t begin, int64_t end,
                           int worker) {
  const plan *p = context;
  void *room = p->room + p->room_size * (size_t)worker;
  for (int64_t unit = begin; unit < end; unit++) {
    heed_additive a = entry_of(p, unit / p->parts);
    int64_t column = unit % p->parts * p->loops->columns;
    p->loops->backward(&a, column,
                       heed_least(column + p->loops->columns, a.size), room);
  }
}

/* dw: the sums of all batch entries, [count size], added up in order. */
static void add_up(const plan *p, const double *part, heed_tensor *dw) {
  for (int64_t e = 0; e < p->whole.size; e++) {
    double sum = 0;
    for (int64_t i = 0; i < p->count; i++) sum += part[i * p->whole.size + e];
    heed_element_store(dw->dtype, heed_tensor_data(dw), e, false,
                       (heed_value){.f = sum});
  }
}

static bool additive_scores_bwd_fwd(heed_call *c) {
  plan p;
  bool ok = plan_begin(&p, c, NPLAIN);
  const heed_additive *a = &p.whole;
  size_t bytes = sizeof(double) * (size_t)(p.count * a->size);
  double *dw = ok && bytes ? heed_mem_alloc(bytes) : NULL;
  if (ok && bytes) {
    p.whole.dw = dw;
    p.whole.grad = heed_tensor_data(p.in[GRAD]);
    p.whole.dq = heed_tensor_data(c->out[Q]);
    p.whole.dk = heed_tensor_data(c->out[K]);
    p.parts = (a->size + p.loops->columns - 1) / p.loops->columns;
    ok = dw && plan_room(&p, p.loops->backward_room(a));
    double tanhs = (double)(a->tq + 1) * (double)(a->tk + 1) *
                   p.loops->columns;
    if (ok)
      heed_parallel_values(p.count * p.parts, grain(tanhs), backward_units, &p);
  }
  if (ok) add_up(&p, dw, c->out[W]);
  if (dw) heed_mem_free(dw, bytes);
  plan_end(&p);
  return ok;
}

const heed_rule heed_rule_additive_scores_bwd = {
    .check = additive_scores_bwd_check, .forward = additive_scores_bwd_fwd};
