/*
 * optim - steps of optimisers in place, and the norm of gradients. Layer: ops.
 * Read first: kernel/optim.c.
 *
 * For heed.optim: one call a parameter.
 */
#include <math.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "kernel/kernel.h"
#include "ops/copy.h"
#include "ops/ops.h"
#include "ops/vector_norm.h"

/* Elements of a block. Blocks are the same for every number of threads, so
   that a result does not depend on it. */
#define BLOCK 4096
#define GRAIN 8 /* blocks worth a thread */

static int64_t blocks(int64_t n) { return (n + BLOCK - 1) / BLOCK; }

#define NINPUT 5 /* x, its gradient, and up to three of state */

/* All inputs must be like x. */
static bool check_alike(const heed_call *c) {
  const heed_tensor *x = c->in[0];
  if (!heed_want_float(c, 0)) return false;
  for (int i = 1; i < c->nin; i++) {
    const heed_tensor *t = c->in[i];
    if (t && (t->dtype != x->dtype ||
              !heed_shape_equal(&t->shape, &x->shape)))
      return heed_fail("%s: %s must be %s like x, got %s", c->op->name,
                       heed_input_name(c, i), heed_tensor_text(x),
                       heed_tensor_text(t));
  }
  return true;
}

/* A step over rows without gaps. */
typedef struct step {
  heed_tensor *dense[NINPUT]; /* the inputs, or row-major copies of them */
  char *data[NINPUT];         /* NULL: left out */
  heed_dtype dtype;
  int64_t n;
  heed_adam adam;
  heed_sgd sgd;
} step;

static bool step_begin(step *s, heed_call *c) {
  s->dtype = c->in[0]->dtype;
  s->n = heed_tensor_numel(c->in[0]);
  for (int i = 0; i < c->nin; i++) {
    if (!c->in[i]) continue;
    s->dense[i] = heed_contiguous(c->op->name, c->in[i]);
    if (!s->dense[i]) return false;
    s->data[i] = heed_tensor_data(s->dense[i]);
  }
  return true;
}

/* Writes copies of what changed back, and frees. */
static void step_end(step *s, heed_call *c, bool done) {
  for (int i = 0; i < c->nin; i++) {
    heed_tensor *t = c->in[i];
    if (done && t && i != 1) {
      if (s->dense[i] != t) heed_copy(t, s->dense[i]);
      if (i > 1) t->storage->version++; /* that of x is apply's */
    }
    heed_tensor_drop(s->dense[i]);
  }
}

static bool step_run(heed_call *c, step *s, heed_range_fn *fn) {
  bool ok = step_begin(s, c);
  if (ok) heed_parallel(blocks(s->n), GRAIN, fn, s);
  step_end(s, c, ok);
  return ok;
}

/* Where blocks begin .. end - 1 lie; returns how many elements they have. */
static int64_t range(const step *s, int64_t begin, int64_t end,
                     void *data[NINPUT]) {
  int64_t last = end * BLOCK < s->n ? end * BLOCK : s->n;
  int64_t offset = begin * BLOCK * (int64_t)heed_dtype_size(s->dtype);
  for (int i = 0; i < NINPUT; i++)
    data[i] = s->data[i] ? s->data[i] + offset : NULL;
  return last - begin * BLOCK;
}

/* -- Adam -- */

enum { STEP, LR, BETA1, BETA2, EPS, DECAY, DECOUPLED, MAXIMIZE };

/***
One step of Adam, or of AdamW when the decay is decoupled, in place: x, m, v
and vmax change.
@function adam_
@param x float tensor, the parameter, overwritten
@param grad tensor like x
@param m tensor like x: mean of the gradients, zeros at first
@param v tensor like x: mean of their squares, zeros at first
@param vmax tensor like x: largest v so far (AMSGrad)
@param step number of this step, from 1
@param lr learning rate
@param beta1 how much of m stays
@param beta2 how much of v stays
@param eps added to the root of v
@param weight_decay part of x added to the gradient, or taken from x when
decoupled
@param decoupled false by default
@param maximize climbs instead of descending; false by default
@return x
@raise when the tensors do not fit
@usage
local x, g, m, v = heed.ones(2), heed.ones(2), heed.zeros(2), heed.zeros(2)
heed.core.ops.adam_(x, g, m, v, nil, 1, 1e-3, 0.9, 0.999, 1e-8, 0)
*/
static bool adam__check(heed_call *c) {
  if (!check_alike(c)) return false;
  if (c->attr[STEP].i < 1)
    return heed_fail("adam_: step must be at least 1, got %lld",
                     (long long)c->attr[STEP].i);
  heed_out_like(c, 0, c->in[0]);
  return true;
}

static void adam_blocks(void *context, int64_t begin, int64_t end,
                        int worker) {
  const step *s = context;
  void *data[NINPUT];
  (void)worker;
  int64_t n = range(s, begin, end, data);
  heed_kernel.adam[s->dtype](n, data[0], data[1], data[2], data[3], data[4],
                             &s->adam);
}

static bool adam__fwd(heed_call *c) {
  const heed_attr *a = c->attr;
  double t = (double)a[STEP].i, lr = a[LR].f, decay = a[DECAY].f;
  bool decoupled = a[DECOUPLED].i;
  step s = {.adam = {
      .sign = a[MAXIMIZE].i ? -1 : 1, .decay = decoupled ? 0 : decay,
      .new1 = 1 - a[BETA1].f, .new2 = 1 - a[BETA2].f,
      .keep = decoupled ? 1 - lr * decay : 1,
      .rate = lr / (1 - pow(a[BETA1].f, t)),
      .root = 1 / sqrt(1 - pow(a[BETA2].f, t)), .eps = a[EPS].f}};
  return step_run(c, &s, adam_blocks);
}
const heed_rule heed_rule_adam_ = {
    .check = adam__check, .forward = adam__fwd, .in_place = 1};

/* -- SGD -- */

enum { SGD_LR, MOMENTUM, DAMPENING, SGD_DECAY, NESTEROV, FIRST, SGD_MAXIMIZE };

/***
One step of stochastic gradient descent in place: x and m change.
@function sgd_
@param x float tensor, the parameter, overwritten
@param grad tensor like x
@param m tensor like x: momentum; left out: none
@param lr learning rate
@param momentum how much of m stays
@param dampening how much of the gradient does not enter m
@param weight_decay part of x added to the gradient
@param nesterov looks one step of momentum ahead
@param first is this the first step, which fills m? false by default
@param maximize climbs instead of descending; false by default
@return x
@raise when the tensors do not fit
@usage
local x = heed.ones(2)
heed.core.ops.sgd_(x, heed.ones(2), nil, 0.1, 0, 0, 0, false) --> 0.9 0.9
*/
static bool sgd__check(heed_call *c) {
  if (!check_alike(c)) return false;
  heed_out_like(c, 0, c->in[0]);
  return true;
}

static void sgd_blocks(void *context, int64_t begin, int64_t end,
                       int worker) {
  const step *s = context;
  void *data[NINPUT];
  (void)worker;
  int64_t n = range(s, begin, end, data);
  heed_kernel.sgd[s->dtype](n, data[0], data[1], data[2], &s->sgd);
}

static bool sgd__fwd(heed_call *c) {
  const heed_attr *a = c->attr;
  bool first = a[FIRST].i;
  step s = {.sgd = {
      .sign = a[SGD_MAXIMIZE].i ? -1 : 1, .decay = a[SGD_DECAY].f,
      .old = first ? 0 : a[MOMENTUM].f,
      .fresh = first ? 1 : 1 - a[DAMPENING].f, .rate = a[SGD_LR].f,
      .momentum = a[MOMENTUM].f, .nesterov = a[NESTEROV].i}};
  return step_run(c, &s, sgd_blocks);
}
const heed_rule heed_rule_sgd_ = {
    .check = sgd__check, .forward = sgd__fwd, .in_place = 1};

/* -- norm of many -- */

/***
The p-norm of all elements of several tensors taken together, in double.
@function joint_norm
@param tensors list of float tensors, may be empty
@param p above 0, `math.huge` for the largest element; 2 by default
@return float64 tensor without dimensions
@raise for a tensor that is no float, or p not above 0
@usage heed.core.ops.joint_norm({heed.ones(9), heed.ones(16)}) --> 5
*/
static bool joint_norm_check(heed_call *c) {
  for (int i = 0; i < c->nin; i++)
    if (!heed_dtype_is_float(c->in[i]->dtype))
      return heed_fail("joint_norm: tensors[%d] must be float32 or float64, "
                       "got %s", i + 1, heed_tensor_text(c->in[i]));
  if (!(c->attr[0].f > 0))
    return heed_fail("joint_norm: p must be above 0, got %g", c->attr[0].f);
  heed_out(c, 0, HEED_FLOAT64, &(heed_shape){0});
  return true;
}
static bool joint_norm_fwd(heed_call *c) {
  double total = 0, p = c->attr[0].f;
  for (int i = 0; i < c->nin; i++)
    if (!heed_power_sum("joint_norm", c->in[i], p, &total)) return false;
  if (p == 2) total = sqrt(total);
  else if (p != 1 && p != INFINITY) total = pow(total, 1 / p);
  *(double *)heed_tensor_data(c->out[0]) = total;
  return true;
}
const heed_rule heed_rule_joint_norm = {.check = joint_norm_check,
                                        .forward = joint_norm_fwd};
