/*
 * joint - the norm of many tensors, and simple changes of all of them, in one
 * pass. Layer: ops. Read first: sweep.h.
 *
 * For heed.optim: clipping of gradients, averages of weights.
 */
#include <math.h>

#include "base/error.h"
#include "base/memory.h"
#include "kernel/kernel.h"
#include "ops/ops.h"
#include "ops/sweep.h"

/* ---- norm ---------------------------------------------------------------- */

static const heed_sweep_lists norm_lists = {1, {"tensors"}, 0};

typedef struct norm {
  double p, total;
  double *sum; /* one a block */
} norm;

static void sum_part(void *context, const heed_sweep_item *item, int64_t begin,
                     int64_t end) {
  const norm *s = context;
  void *data[HEED_SWEEP_LISTS];
  for (int64_t i = begin; i < end; i += HEED_SWEEP_BLOCK) {
    int64_t n = end - i < HEED_SWEEP_BLOCK ? end - i : HEED_SWEEP_BLOCK;
    heed_sweep_at(item, i, data);
    s->sum[item->first + i / HEED_SWEEP_BLOCK] =
        heed_kernel.power_sum[item->dtype](n, data[0], s->p);
  }
}

/* Sums of blocks in their order, or the largest; a NaN stays. */
static bool norm_sweep(heed_sweep *w, void *how) {
  norm *s = how;
  size_t bytes = sizeof *s->sum * (size_t)w->blocks;
  s->sum = heed_mem_alloc(bytes);
  if (!s->sum) return false;
  heed_sweep_each(w, sum_part, s);
  for (int64_t b = 0; b < w->blocks; b++) {
    double part = s->sum[b];
    if (s->p != INFINITY) s->total += part;
    else if (part > s->total || part != part) s->total = part;
  }
  heed_mem_free(s->sum, bytes);
  return true;
}

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
  if (!heed_sweep_check(c, &norm_lists, 1)) return false;
  if (!(c->attr[0].f > 0))
    return heed_fail("joint_norm: p must be above 0, got %g", c->attr[0].f);
  heed_out(c, 0, HEED_FLOAT64, &(heed_shape){0});
  return true;
}
static bool joint_norm_fwd(heed_call *c) {
  norm s = {.p = c->attr[0].f};
  if (!heed_sweep_run(c, &norm_lists, norm_sweep, &s)) return false;
  if (s.p == 2) s.total = sqrt(s.total);
  else if (s.p != 1 && s.p != INFINITY) s.total = pow(s.total, 1 / s.p);
  *(double *)heed_tensor_data(c->out[0]) = s.total;
  return true;
}
const heed_rule heed_rule_joint_norm = {.check = joint_norm_check,
                                        .forward = joint_norm_fwd};

/* ---- changes of all ------------------------------------------------------ */

/* x = factor x, x within -limit .. limit, or x + weight (y - x) */
typedef enum change { SCALE, CLAMP, LERP } change;

typedef struct changes {
  change kind;
  double number;
} changes;

static void change_part(void *context, const heed_sweep_item *item,
                        int64_t begin, int64_t end) {
  const changes *s = context;
  heed_dtype dtype = item->dtype;
  void *data[HEED_SWEEP_LISTS];
  int64_t n = end - begin;
  union { float f; double d; } up, down; /* the number in that dtype */
  heed_real_store(dtype, &up, 0, s->number);
  heed_real_store(dtype, &down, 0, -s->number);
  heed_sweep_at(item, begin, data);
  if (s->kind == SCALE)
    heed_kernel.binary[HEED_BINARY_mul][dtype](n, data[0], 1, data[0], 1,
                                               &up, 0);
  else if (s->kind == CLAMP)
    heed_kernel.ternary[HEED_TERNARY_clamp][dtype](n, data[0], 1, data[0], 1,
                                                   &down, 0, &up, 0, 0);
  else
    heed_kernel.ternary[HEED_TERNARY_lerp][dtype](n, data[0], 1, data[0], 1,
                                                  data[1], 1, &up, 0, 0);
}

static bool change_sweep(heed_sweep *w, void *how) {
  heed_sweep_each(w, change_part, how);
  return true;
}

static bool check_change(heed_call *c, const heed_sweep_lists *lists) {
  if (!heed_sweep_check(c, lists, lists->n)) return false;
  heed_out_like(c, 0, c->in[0]);
  return true;
}

static bool run_change(heed_call *c, const heed_sweep_lists *lists,
                       change kind) {
  changes s = {kind, c->attr[0].f};
  return heed_sweep_run(c, lists, change_sweep, &s);
}

static const heed_sweep_lists change_lists = {1, {"tensors"}, ~0u};
static const heed_sweep_lists lerp_lists = {2, {"x", "y"}, ~2u};

/***
Multiplies several tensors by a number, in place.
@function joint_scale_
@param tensors list of float32 and float64 tensors, not empty
@param factor number
@return tensors[1]
@raise for an empty list, or a tensor of another dtype
@usage heed.core.ops.joint_scale_({heed.ones(2), heed.ones(3)}, 0.5) --> 0.5 0.5
*/
static bool joint_scale__check(heed_call *c) {
  return check_change(c, &change_lists);
}
static bool joint_scale__fwd(heed_call *c) {
  return run_change(c, &change_lists, SCALE);
}
const heed_rule heed_rule_joint_scale_ = {.check = joint_scale__check,
                                          .forward = joint_scale__fwd,
                                          .in_place = 1,
                                          .halves = HEED_ALWAYS};

/***
Cuts the elements of several tensors to -limit .. limit, in place; NaN stays.
@function joint_clamp_
@param tensors list of float32 and float64 tensors, not empty
@param limit number of at least 0
@return tensors[1]
@raise for an empty list, a tensor of another dtype, or a limit below 0
@usage heed.core.ops.joint_clamp_({heed.tensor {-3.0, 0.5}}, 1) --> -1 0.5
*/
static bool joint_clamp__check(heed_call *c) {
  if (!(c->attr[0].f >= 0))
    return heed_fail("joint_clamp_: limit must be at least 0, got %g",
                     c->attr[0].f);
  return check_change(c, &change_lists);
}
static bool joint_clamp__fwd(heed_call *c) {
  return run_change(c, &change_lists, CLAMP);
}
const heed_rule heed_rule_joint_clamp_ = {.check = joint_clamp__check,
                                          .forward = joint_clamp__fwd,
                                          .in_place = 1,
                                          .halves = HEED_ALWAYS};

/***
Moves several tensors towards others, in place: x + weight (y - x).
@function joint_lerp_
@param tensors two lists of n tensors in one, float32 or float64: x, then y,
each like its x
@param weight number
@return x[1]
@raise when the tensors do not fit
@usage heed.core.ops.joint_lerp_({heed.zeros(2), heed.ones(2)}, 0.25)
--> 0.25 0.25
*/
static bool joint_lerp__check(heed_call *c) {
  return check_change(c, &lerp_lists);
}
static bool joint_lerp__fwd(heed_call *c) {
  return run_change(c, &lerp_lists, LERP);
}
const heed_rule heed_rule_joint_lerp_ = {.check = joint_lerp__check,
                                         .forward = joint_lerp__fwd,
                                         .in_place = 1,
                                         .halves = HEED_ALWAYS};
