/*
 * optim - steps of optimisers in place, each of many parameters at once.
 * Layer: ops. Read first: sweep.h, kernel/optim.c.
 *
 * For heed.optim: one call takes all parameters that are at the same step.
 */
#include <math.h>

#include "kernel/kernel.h"
#include "ops/ops.h"
#include "ops/sweep.h"

typedef struct steps {
  heed_stepper kind;
  heed_step how;
} steps;

static void run_part(void *context, const heed_sweep_item *item, int64_t begin,
                     int64_t end) {
  const steps *s = context;
  void *data[HEED_SWEEP_LISTS];
  heed_sweep_at(item, begin, data);
  heed_kernel.step[s->kind][item->dtype](end - begin, data, &s->how);
}

static bool run_sweep(heed_sweep *w, void *how) {
  heed_sweep_each(w, run_part, how);
  return true;
}

static bool run(heed_call *c, heed_sweep_lists lists, heed_stepper kind,
                heed_step how) {
  steps s = {kind, how};
  return heed_sweep_run(c, &lists, run_sweep, &s);
}

static bool check(heed_call *c, heed_sweep_lists lists) {
  if (!heed_sweep_check(c, &lists, lists.n)) return false;
  heed_out_like(c, 0, c->in[0]);
  return true;
}

static double sign_of(bool maximize) { return maximize ? -1 : 1; }

#define RULE(op)                                                       \
  const heed_rule heed_rule_##op = {.check = op##_check,               \
                                    .forward = op##_fwd,               \
                                    .in_place = 1,                     \
                                    .halves = HEED_ALWAYS}

/* ---- Adam ---------------------------------------------------------------- */

enum { STEP, LR, BETA1, BETA2, EPS, DECAY, DECOUPLED, AMSGRAD, MAXIMIZE };

static heed_sweep_lists adam_lists(const heed_call *c) {
  return (heed_sweep_lists){c->attr[AMSGRAD].i ? 5 : 4,
                           {"x", "grad", "m", "v", "vmax"}, ~2u};
}

/***
One step of Adam, or of AdamW when the decay is decoupled, in place.
@function adam_
@param tensors lists of n tensors in one, like x: x, float32 or float64, the
parameters; their gradients; m: means of the gradients, zeros at first; v:
means of their squares, zeros at first; with amsgrad the largest v so far. All
but the gradients change.
@param step number of this step, from 1
@param lr learning rate
@param beta1 how much of m stays
@param beta2 how much of v stays
@param eps added to the root of v
@param weight_decay part of x added to the gradient, or taken from x when
decoupled
@param decoupled false by default
@param amsgrad false by default
@param maximize climbs instead of descending; false by default
@return x[1]
@raise when the tensors do not fit
@usage
local x, g, m, v = heed.ones(2), heed.ones(2), heed.zeros(2), heed.zeros(2)
heed.core.ops.adam_({x, g, m, v}, 1, 1e-3, 0.9, 0.999, 1e-8, 0)
*/
static bool adam__check(heed_call *c) {
  return check(c, adam_lists(c)) && heed_sweep_check_step(c, c->attr[STEP].i);
}
static bool adam__fwd(heed_call *c) {
  const heed_attr *a = c->attr;
  double t = (double)a[STEP].i, lr = a[LR].f, decay = a[DECAY].f;
  bool decoupled = a[DECOUPLED].i;
  return run(c, adam_lists(c), HEED_STEP_adam, (heed_step){
      .sign = sign_of(a[MAXIMIZE].i), .decay = decoupled ? 0 : decay,
      .new1 = 1 - a[BETA1].f, .new2 = 1 - a[BETA2].f,
      .keep = decoupled ? 1 - lr * decay : 1,
      .rate = lr / (1 - pow(a[BETA1].f, t)),
      .root = 1 / sqrt(1 - pow(a[BETA2].f, t)), .eps = a[EPS].f,
      .extra = a[AMSGRAD].i});
}
RULE(adam_);

/* ---- Adamax -------------------------------------------------------------- */

enum { MAX_STEP, MAX_LR, MAX_BETA1, MAX_BETA2, MAX_EPS, MAX_DECAY,
       MAX_MAXIMIZE };

static const heed_sweep_lists adamax_lists = {4, {"x", "grad", "m", "u"}, ~2u};

/***
One step of Adamax in place.
@function adamax_
@param tensors lists of n tensors in one, like x: x, float32 or float64, the
parameters; their gradients; m: means of the gradients, zeros at first; u: the
largest fading sizes of gradients, zeros at first. All but the gradients
change.
@param step number of this step, from 1
@param lr learning rate
@param beta1 how much of m stays
@param beta2 how much of u stays
@param eps added to sizes of gradients
@param weight_decay part of x added to the gradient
@param maximize climbs instead of descending; false by default
@return x[1]
@raise when the tensors do not fit
@usage
local x, g, m, u = heed.ones(2), heed.ones(2), heed.zeros(2), heed.zeros(2)
heed.core.ops.adamax_({x, g, m, u}, 1, 0.5, 0.9, 0.999, 0, 0) --> 0.5 0.5
*/
static bool adamax__check(heed_call *c) {
  return check(c, adamax_lists) &&
         heed_sweep_check_step(c, c->attr[MAX_STEP].i);
}
static bool adamax__fwd(heed_call *c) {
  const heed_attr *a = c->attr;
  double t = (double)a[MAX_STEP].i;
  return run(c, adamax_lists, HEED_STEP_adamax, (heed_step){
      .sign = sign_of(a[MAX_MAXIMIZE].i), .decay = a[MAX_DECAY].f,
      .new1 = 1 - a[MAX_BETA1].f, .old = a[MAX_BETA2].f, .eps = a[MAX_EPS].f,
      .rate = a[MAX_LR].f / (1 - pow(a[MAX_BETA1].f, t))});
}
RULE(adamax_);

/* ---- SGD ----------------------------------------------------------------- */

enum { SGD_LR, MOMENTUM, DAMPENING, SGD_DECAY, NESTEROV, FIRST, SGD_MAXIMIZE };

static heed_sweep_lists sgd_lists(const heed_call *c) {
  return (heed_sweep_lists){c->attr[MOMENTUM].f != 0 ? 3 : 2,
                           {"x", "grad", "m"}, ~2u};
}

/***
One step of stochastic gradient descent in place.
@function sgd_
@param tensors lists of n tensors in one, like x: x, float32 or float64, the
parameters; their gradients; with a momentum m. All but the gradients change.
@param lr learning rate
@param momentum how much of m stays; 0: none
@param dampening how much of the gradient does not enter m
@param weight_decay part of x added to the gradient
@param nesterov looks one step of momentum ahead
@param first is this the first step, which fills m? false by default
@param maximize climbs instead of descending; false by default
@return x[1]
@raise when the tensors do not fit
@usage
local x = heed.ones(2)
heed.core.ops.sgd_({x, heed.ones(2)}, 0.1, 0, 0, 0, false) --> 0.9 0.9
*/
static bool sgd__check(heed_call *c) { return check(c, sgd_lists(c)); }
static bool sgd__fwd(heed_call *c) {
  const heed_attr *a = c->attr;
  bool first = a[FIRST].i;
  return run(c, sgd_lists(c), HEED_STEP_sgd, (heed_step){
      .sign = sign_of(a[SGD_MAXIMIZE].i), .decay = a[SGD_DECAY].f,
      .old = first ? 0 : a[MOMENTUM].f,
      .fresh = first ? 1 : 1 - a[DAMPENING].f, .rate = a[SGD_LR].f,
      .momentum = a[MOMENTUM].f, .extra = a[NESTEROV].i});
}
RULE(sgd_);

/* ---- RMSprop ------------------------------------------------------------- */

enum { RMS_LR, ALPHA, RMS_EPS, RMS_DECAY, RMS_MOMENTUM, CENTERED,
       RMS_MAXIMIZE };

static heed_sweep_lists rmsprop_lists(const heed_call *c) {
  bool centered = c->attr[CENTERED].i, momentum = c->attr[RMS_MOMENTUM].f != 0;
  heed_sweep_lists lists = {3, {"x", "grad", "v"}, ~2u};
  if (centered) lists.name[lists.n++] = "mean";
  if (momentum) lists.name[lists.n++] = "m";
  return lists;
}

/***
One step of RMSprop in place.
@function rmsprop_
@param tensors lists of n tensors in one, like x: x, float32 or float64, the
parameters; their gradients; v: means of their squares, zeros at first; when
centered the means of the gradients, zeros at first; with a momentum m, zeros
at first. All but the gradients change.
@param lr learning rate
@param alpha how much of v and of the means stays
@param eps added to the root
@param weight_decay part of x added to the gradient
@param momentum how much of m stays; 0: none
@param centered divides by the root of the variance; false by default
@param maximize climbs instead of descending; false by default
@return x[1]
@raise when the tensors do not fit
@usage
local x, g, v = heed.ones(2), heed.ones(2), heed.zeros(2)
heed.core.ops.rmsprop_({x, g, v}, 0.25, 0.75, 0, 0, 0) --> 0.5 0.5
*/
static bool rmsprop__check(heed_call *c) { return check(c, rmsprop_lists(c)); }
static bool rmsprop__fwd(heed_call *c) {
  const heed_attr *a = c->attr;
  return run(c, rmsprop_lists(c), HEED_STEP_rmsprop, (heed_step){
      .sign = sign_of(a[RMS_MAXIMIZE].i), .decay = a[RMS_DECAY].f,
      .new2 = 1 - a[ALPHA].f, .eps = a[RMS_EPS].f, .rate = a[RMS_LR].f,
      .momentum = a[RMS_MOMENTUM].f, .extra = a[CENTERED].i});
}
RULE(rmsprop_);

/* ---- Adagrad ------------------------------------------------------------- */

enum { GRAD_LR, GRAD_EPS, GRAD_DECAY, GRAD_MAXIMIZE };

static const heed_sweep_lists adagrad_lists = {3, {"x", "grad", "v"}, ~2u};

/***
One step of Adagrad in place.
@function adagrad_
@param tensors lists of n tensors in one, like x: x, float32 or float64, the
parameters; their gradients; v: sums of their squares. All but the gradients
change.
@param lr learning rate of this step
@param eps added to the root of v
@param weight_decay part of x added to the gradient
@param maximize climbs instead of descending; false by default
@return x[1]
@raise when the tensors do not fit
@usage
local x, g, v = heed.ones(2), heed.ones(2), heed.full({2}, 3.0)
heed.core.ops.adagrad_({x, g, v}, 1, 0, 0) --> 0.5 0.5
*/
static bool adagrad__check(heed_call *c) { return check(c, adagrad_lists); }
static bool adagrad__fwd(heed_call *c) {
  const heed_attr *a = c->attr;
  return run(c, adagrad_lists, HEED_STEP_adagrad, (heed_step){
      .sign = sign_of(a[GRAD_MAXIMIZE].i), .decay = a[GRAD_DECAY].f,
      .rate = a[GRAD_LR].f, .eps = a[GRAD_EPS].f});
}
RULE(adagrad_);

/* ---- Lion ---------------------------------------------------------------- */

enum { LION_LR, LION_BETA1, LION_BETA2, LION_DECAY, LION_MAXIMIZE };

static const heed_sweep_lists lion_lists = {3, {"x", "grad", "m"}, ~2u};

/***
One step of Lion in place: every element moves by the rate.
@function lion_
@param tensors lists of n tensors in one, like x: x, float32 or float64, the
parameters; their gradients; m: means of the gradients, zeros at first. All but
the gradients change.
@param lr learning rate
@param beta1 how much of m is in the direction
@param beta2 how much of m stays
@param weight_decay part of x taken from it, times lr
@param maximize climbs instead of descending; false by default
@return x[1]
@raise when the tensors do not fit
@usage
local x, g, m = heed.ones(2), heed.tensor {-3.0, 7.0}, heed.zeros(2)
heed.core.ops.lion_({x, g, m}, 0.1, 0.9, 0.99, 0) --> 1.1 0.9
*/
static bool lion__check(heed_call *c) { return check(c, lion_lists); }
static bool lion__fwd(heed_call *c) {
  const heed_attr *a = c->attr;
  return run(c, lion_lists, HEED_STEP_lion, (heed_step){
      .sign = sign_of(a[LION_MAXIMIZE].i),
      .keep = 1 - a[LION_LR].f * a[LION_DECAY].f, .rate = a[LION_LR].f,
      .new1 = 1 - a[LION_BETA1].f, .new2 = 1 - a[LION_BETA2].f});
}
RULE(lion_);
