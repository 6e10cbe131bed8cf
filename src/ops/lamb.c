/*
 * lamb - steps of LAMB, many parameters at once. Layer: ops.
 * Read first: sweep.h, kernel/optim.c.
 *
 * A step is two passes, as the rate of a parameter depends on norms of all of
 * its elements: the first moves m and v and sums the squares of x and of the
 * direction r, one sum a block, the second moves x by
 *
 *     rate = lr |x| / |r|     lr where a norm is 0
 *
 * Sums of blocks are added in their order, so for every number of threads
 * alike.
 */
#include <math.h>

#include "base/memory.h"
#include "kernel/kernel.h"
#include "ops/ops.h"
#include "ops/sweep.h"

enum { STEP, LR, BETA1, BETA2, EPS, DECAY, MAXIMIZE };

static const heed_sweep_lists lists = {4, {"x", "grad", "m", "v"}, ~2u};

typedef struct lamb {
  heed_step how;
  double lr;
  double (*square)[2]; /* of x and r, one a block */
} lamb;

static void first_pass(void *context, const heed_sweep_item *item,
                       int64_t begin, int64_t end) {
  const lamb *s = context;
  heed_sweep_row direction;
  void *data[HEED_SWEEP_LISTS];
  for (int64_t i = begin; i < end; i += HEED_SWEEP_BLOCK) {
    int64_t n = end - i < HEED_SWEEP_BLOCK ? end - i : HEED_SWEEP_BLOCK;
    double *square = s->square[item->first + i / HEED_SWEEP_BLOCK];
    heed_sweep_at(item, i, data);
    data[4] = &direction;
    heed_kernel.step[HEED_STEP_lamb_direction][item->dtype](n, data, &s->how);
    square[0] = heed_kernel.power_sum[item->dtype](n, data[0], 2);
    square[1] = heed_kernel.power_sum[item->dtype](n, &direction, 2);
  }
}

/* Puts the rate of an item where the sums of its first block are. */
static void set_rate(const lamb *s, const heed_sweep_item *item) {
  double sum[2] = {0, 0};
  int64_t last = item->first + heed_sweep_blocks(item->n);
  for (int64_t b = item->first; b < last; b++)
    for (int k = 0; k < 2; k++) sum[k] += s->square[b][k];
  bool none = sum[0] == 0 || sum[1] == 0;
  if (item->n > 0)
    s->square[item->first][0] = none ? s->lr : s->lr * sqrt(sum[0] / sum[1]);
}

static void second_pass(void *context, const heed_sweep_item *item,
                        int64_t begin, int64_t end) {
  const lamb *s = context;
  heed_step how = s->how;
  void *data[HEED_SWEEP_LISTS];
  how.rate = s->square[item->first][0];
  heed_sweep_at(item, begin, data);
  heed_kernel.step[HEED_STEP_lamb][item->dtype](end - begin, data, &how);
}

static bool run_sweep(heed_sweep *w, void *how) {
  lamb *s = how;
  size_t bytes = sizeof *s->square * (size_t)w->blocks;
  s->square = heed_mem_alloc(bytes);
  if (!s->square) return false;
  heed_sweep_each(w, first_pass, s);
  for (int k = 0; k < w->n; k++) set_rate(s, &w->item[k]);
  heed_sweep_each(w, second_pass, s);
  heed_mem_free(s->square, bytes);
  return true;
}

/***
One step of LAMB in place.
@function lamb_
@param tensors lists of n tensors in one, like x: x, float32 or float64, the
parameters; their gradients; m: means of the gradients, zeros at first; v:
means of their squares, zeros at first. All but the gradients change.
@param step number of this step, from 1
@param lr learning rate
@param beta1 how much of m stays
@param beta2 how much of v stays
@param eps added to the root of v
@param weight_decay part of x added to the direction
@param maximize climbs instead of descending; false by default
@return x[1]
@raise when the tensors do not fit
@usage
local x, g, m, v = heed.ones(2), heed.ones(2), heed.zeros(2), heed.zeros(2)
heed.core.ops.lamb_({x, g, m, v}, 1, 0.5, 0.9, 0.999, 0, 0) --> 0.5 0.5
*/
static bool lamb__check(heed_call *c) {
  if (!heed_sweep_check(c, &lists, lists.n) ||
      !heed_sweep_check_step(c, c->attr[STEP].i))
    return false;
  heed_out_like(c, 0, c->in[0]);
  return true;
}
static bool lamb__fwd(heed_call *c) {
  const heed_attr *a = c->attr;
  double t = (double)a[STEP].i;
  lamb s = {.lr = a[LR].f, .how = {
      .sign = a[MAXIMIZE].i ? -1 : 1, .decay = a[DECAY].f,
      .new1 = 1 - a[BETA1].f, .new2 = 1 - a[BETA2].f,
      .scale = 1 / (1 - pow(a[BETA1].f, t)),
      .root = 1 / sqrt(1 - pow(a[BETA2].f, t)), .eps = a[EPS].f}};
  return heed_sweep_run(c, &lists, run_sweep, &s);
}
const heed_rule heed_rule_lamb_ = {.check = lamb__check,
                                   .forward = lamb__fwd,
                                   .in_place = 1,
                                   .halves = HEED_ALWAYS};
