/*
 * ctc - connectionist temporal classification (Graves et al., 2006).
 * Layer: ops. Read first: core/op.h.
 *
 * A labelling of length L is read at T steps as states 1 .. 2 L + 1: its
 * labels with a blank before, between and behind them. A path starts at one
 * of the first two states, ends at one of the last two, and at each step
 * stays, goes on by one, or skips a blank between two different labels. The
 * loss is -log of the summed probability of all paths. With y[t][c] the
 * log-probabilities and c(s) the label of state s, in logarithms:
 *
 *     a[t][s] = y[t][c(s)] + logsum of a[t-1][s], a[t-1][s-1], a[t-1][s-2]
 *     b[t][s] = y[t][c(s)] + logsum of b[t+1][s], b[t+1][s+1], b[t+1][s+2]
 *     loss    = -logsum of a[T][last], a[T][last - 1]
 *     dy[t][c] = -sum over s with c(s) = c of
 *                e^(a[t][s] + b[t][s] - y[t][c] + loss)
 *
 * All of it in float64, whatever the dtype. Backward makes a again: it takes
 * T (2 L + 1) numbers a thread instead of a sequence.
 */
#include <math.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "ops/copy.h"
#include "ops/ops.h"
#include "ops/rows.h"

enum { PROBS, TARGETS, IN_LENS, OUT_LENS, GRAD };
#define STATE_WORK 40 /* multiply-adds that a state is worth */

typedef struct job {
  heed_tensor *in[GRAD]; /* contiguous: targets, lengths; probs as they lie */
  const heed_tensor *probs;
  int64_t steps, batch, classes;
  int64_t blank;
  bool zero_infinity;
  int64_t *first;    /* where the labels of each sequence start */
  int64_t states;    /* the most that a sequence has */
  double *room;      /* of each worker: a path's, a row of classes */
  size_t room_numbers;
  /* results */
  heed_tensor *loss;
  const heed_tensor *grad; /* backward */
  heed_tensor *dprobs;
} job;

/* One sequence. */
typedef struct path {
  const job *j;
  int64_t n, steps, states;
  const int64_t *label; /* from 1 */
  double *a, *b, *next; /* [steps states], [states], [states] */
} path;

static int64_t in_length(const job *j, int64_t n) {
  return ((const int64_t *)heed_tensor_data(j->in[IN_LENS]))[n];
}
static int64_t out_length(const job *j, int64_t n) {
  return ((const int64_t *)heed_tensor_data(j->in[OUT_LENS]))[n];
}

/* -- checks -- */

/* Lengths must be 0 .. most. */
static bool lengths_check(const job *j, int i, const char *name,
                          int64_t most, const char *of) {
  const int64_t *length = heed_tensor_data(j->in[i]);
  for (int64_t n = 0; n < j->batch; n++)
    if (length[n] < 0 || length[n] > most)
      return heed_fail("ctc_loss: %s %s, row %lld: must be 0..%lld (%s), got "
                       "%lld", name, heed_shape_text(&j->in[i]->shape),
                       (long long)n + 1, (long long)most, of,
                       (long long)length[n]);
  return true;
}

/* Finds where each sequence has its labels. */
static bool place_labels(job *j) {
  const heed_tensor *targets = j->in[TARGETS];
  const bool joined = targets->shape.ndim == 1;
  int64_t sum = 0;
  for (int64_t n = 0; n < j->batch; n++) {
    j->first[n] = joined ? sum : n * targets->shape.dim[1];
    sum += out_length(j, n);
    if (2 * out_length(j, n) + 1 > j->states)
      j->states = 2 * out_length(j, n) + 1;
  }
  if (!joined || sum == targets->shape.dim[0]) return true;
  return heed_fail("ctc_loss: targets %s must hold as many labels as "
                   "target_lengths add up to, %lld",
                   heed_shape_text(&targets->shape), (long long)sum);
}

static bool labels_check(const job *j) {
  const int64_t *label = heed_tensor_data(j->in[TARGETS]);
  for (int64_t n = 0; n < j->batch; n++)
    for (int64_t i = 0; i < out_length(j, n); i++) {
      const int64_t v = label[j->first[n] + i];
      if (v >= 1 && v <= j->classes && v != j->blank + 1) continue;
      return heed_fail("ctc_loss: targets %s, label %lld of row %lld: must be "
                       "1..%lld (a class of log_probs %s) and not the blank "
                       "%lld, got %lld",
                       heed_shape_text(&j->in[TARGETS]->shape),
                       (long long)i + 1, (long long)n + 1,
                       (long long)j->classes,
                       heed_shape_text(&j->probs->shape),
                       (long long)j->blank + 1, (long long)v);
    }
  return true;
}

static void job_end(job *j) {
  for (int i = TARGETS; i <= OUT_LENS; i++) heed_tensor_drop(j->in[i]);
  heed_mem_free(j->first, (size_t)j->batch * sizeof *j->first);
  heed_mem_free(j->room, j->room_numbers * sizeof *j->room *
                             (size_t)heed_get_num_threads());
}

/* in: probs, targets and lengths; attr: blank, zero_infinity */
static bool job_begin(job *j, heed_tensor *const *in, const heed_attr *attr) {
  const heed_shape *shape = &in[PROBS]->shape;
  *j = (job){.probs = in[PROBS], .steps = shape->dim[0],
             .batch = shape->dim[1], .classes = shape->dim[2],
             .blank = attr[0].i, .zero_infinity = attr[1].i, .states = 1};
  for (int i = TARGETS; i <= OUT_LENS; i++)
    if (!(j->in[i] = heed_contiguous("ctc_loss", in[i]))) return false;
  j->first = heed_mem_alloc((size_t)j->batch * sizeof *j->first);
  const heed_shape *targets = &j->in[TARGETS]->shape;
  int64_t most = targets->dim[targets->ndim - 1];
  if (!j->first ||
      !lengths_check(j, IN_LENS, "input_lengths", j->steps,
                     "the steps of log_probs") ||
      !lengths_check(j, OUT_LENS, "target_lengths", most,
                     "the labels of targets") ||
      !place_labels(j) || !labels_check(j))
    return false;
  j->room_numbers = (size_t)((j->steps + 2) * j->states + j->classes);
  j->room = heed_mem_alloc(j->room_numbers * sizeof *j->room *
                           (size_t)heed_get_num_threads());
  return j->room;
}

/* -- paths -- */

static path path_of(const job *j, int64_t n, int worker) {
  path p = {.j = j, .n = n, .steps = in_length(j, n),
            .states = 2 * out_length(j, n) + 1,
            .label = (const int64_t *)heed_tensor_data(j->in[TARGETS]) +
                     j->first[n],
            .a = j->room + j->room_numbers * (size_t)worker};
  p.b = p.a + j->steps * j->states;
  p.next = p.b + j->states;
  return p;
}

/* The class of a state, from 0; both count from 0. */
static int64_t class_of(const path *p, int64_t s) {
  return s % 2 == 0 ? p->j->blank : p->label[s / 2] - 1;
}
/* May a path go from state s to s + 2? */
static bool may_skip(const path *p, int64_t s) {
  return s % 2 == 1 && s + 2 < p->states &&
         p->label[s / 2] != p->label[s / 2 + 1];
}

static double prob(const path *p, int64_t t, int64_t class) {
  const heed_tensor *y = p->j->probs;
  return heed_real(y->dtype, heed_tensor_data(y),
                   t * y->stride[0] + p->n * y->stride[1] +
                       class * y->stride[2]);
}

static void swap(double *x, double *y) {
  const double t = *x;
  *x = *y;
  *y = t;
}

/* log(e^x + e^y + e^z); a NaN stays. */
static double log_sum(double x, double y, double z) {
  if (y > x) swap(&x, &y);
  if (z > x) swap(&x, &z);
  return x == -INFINITY ? x + y + z : x + log1p(exp(y - x) + exp(z - x));
}

/* Fills a; returns the loss. */
static double forward_path(const path *p) {
  const int64_t states = p->states;
  if (p->steps == 0) return states == 1 ? 0 : INFINITY;
  for (int64_t s = 0; s < states; s++)
    p->a[s] = s < 2 ? prob(p, 0, class_of(p, s)) : -INFINITY;
  for (int64_t t = 1; t < p->steps; t++) {
    const double *before = p->a + (t - 1) * states;
    double *now = p->a + t * states;
    for (int64_t s = 0; s < states; s++) {
      const bool skip = s > 1 && may_skip(p, s - 2);
      now[s] = prob(p, t, class_of(p, s)) +
               log_sum(before[s], s > 0 ? before[s - 1] : -INFINITY,
                       skip ? before[s - 2] : -INFINITY);
    }
  }
  const double *end = p->a + (p->steps - 1) * states;
  return -log_sum(end[states - 1],
                  states > 1 ? end[states - 2] : -INFINITY, -INFINITY);
}

/* -- forward -- */

static void store(const heed_tensor *t, int64_t i, double value) {
  if (t->dtype == HEED_FLOAT32)
    ((float *)heed_tensor_data(t))[i] = (float)value;
  else
    ((double *)heed_tensor_data(t))[i] = value;
}

static void forward_paths(void *context, int64_t begin, int64_t end,
                          int worker) {
  const job *j = context;
  for (int64_t n = begin; n < end; n++) {
    const path p = path_of(j, n, worker);
    const double loss = forward_path(&p);
    store(j->loss, n, loss == INFINITY && j->zero_infinity ? 0 : loss);
  }
}

static void run(job *j, heed_range_fn *fn) {
  const double work = (double)j->steps * (double)j->states * STATE_WORK;
  heed_parallel(j->batch, heed_parallel_grain(work), fn, j);
}

/* input_lengths and target_lengths. */
static bool want_lengths(heed_call *c, int i) {
  const heed_tensor *t = c->in[i];
  const int64_t batch = c->in[PROBS]->shape.dim[1];
  if (!heed_want_dtype(c, i, HEED_INT64)) return false;
  if (t->shape.ndim == 1 && t->shape.dim[0] == batch) return true;
  return heed_fail("ctc_loss: %s must be [%lld], one for each sequence of "
                   "log_probs %s, got %s", heed_input_name(c, i),
                   (long long)batch, heed_shape_text(&c->in[PROBS]->shape),
                   heed_shape_text(&t->shape));
}

/***
The loss of each sequence of connectionist temporal classification, without
reduction: see heed.nn.functional.ctc_loss.
@function ctc_loss
@param log_probs float tensor (T, N, C): logarithms of probabilities
@param targets int64 tensor (N, S), or of all labels one behind the other:
labels from 1 to C
@param input_lengths int64 tensor (N): steps of each sequence
@param target_lengths int64 tensor (N): labels of each sequence
@param blank the class that stands for none, 1 by default
@param zero_infinity a loss that is infinite, as where a sequence is too short
for its labels, becomes 0, with gradients of 0; false by default
@return tensor (N)
@raise when shapes or dtypes do not fit, or a length or label is out of range
@usage local one = heed.tensor{1}
heed.core.ops.ctc_loss(heed.zeros(1, 1, 2), heed.tensor{{2}}, one, one) --> 0
*/
static bool ctc_loss_check(heed_call *c) {
  const heed_tensor *probs = c->in[PROBS], *targets = c->in[TARGETS];
  if (!heed_want_float(c, PROBS)) return false;
  if (probs->shape.ndim != 3)
    return heed_fail("ctc_loss: log_probs must be [steps batch classes], got "
                     "%s", heed_shape_text(&probs->shape));
  if (!heed_want_dtype(c, TARGETS, HEED_INT64)) return false;
  const int64_t batch = probs->shape.dim[1], classes = probs->shape.dim[2];
  if (targets->shape.ndim != 1 &&
      (targets->shape.ndim != 2 || targets->shape.dim[0] != batch))
    return heed_fail("ctc_loss: targets must be [%lld S], or [S] of all "
                     "sequences of log_probs %s, got %s", (long long)batch,
                     heed_shape_text(&probs->shape),
                     heed_shape_text(&targets->shape));
  if (!want_lengths(c, IN_LENS) || !want_lengths(c, OUT_LENS)) return false;
  if (c->attr[0].i < 0 || c->attr[0].i >= classes)
    return heed_fail("ctc_loss: blank must be 1..%lld, a class of log_probs "
                     "%s, got %lld", (long long)classes,
                     heed_shape_text(&probs->shape),
                     (long long)c->attr[0].i + 1);
  heed_out(c, 0, probs->dtype, &(heed_shape){1, {batch}});
  return true;
}

static bool ctc_loss_fwd(heed_call *c) {
  job j;
  bool ok = job_begin(&j, c->in, c->attr);
  j.loss = c->out[0];
  if (ok) run(&j, forward_paths);
  job_end(&j);
  return ok;
}

static bool ctc_loss_bwd(heed_rule_call *r) {
  heed_tensor *in[GRAD + 1] = {heed_in(r, PROBS), heed_in(r, TARGETS),
                        heed_in(r, IN_LENS), heed_in(r, OUT_LENS),
                        heed_dense(r, r->grad[0])};
  const heed_op *op = heed_op_at(HEED_OP_ctc_loss_bwd);
  return heed_give(r, PROBS, heed_do(r, op, in, GRAD + 1, r->attr));
}
const heed_rule heed_rule_ctc_loss = {
    .check = ctc_loss_check, .forward = ctc_loss_fwd,
    .backward = ctc_loss_bwd,
    .keep = {HEED_ALWAYS, HEED_ALWAYS, HEED_ALWAYS, HEED_ALWAYS},
    .fused = true};

/* -- backward -- */

/* dy[t] -= g e^(a[t] + b - y[t] + loss), class by class. */
static void spread(const path *p, int64_t t, const double *b, double loss,
                   double g, double *row) {
  const double *a = p->a + t * p->states;
  for (int64_t c = 0; c < p->j->classes; c++) row[c] = 0;
  for (int64_t s = 0; s < p->states; s++) {
    const int64_t class = class_of(p, s);
    if (a[s] == -INFINITY || b[s] == -INFINITY) continue;
    row[class] -= g * exp(a[s] + b[s] - prob(p, t, class) + loss);
  }
}

static void step_back(const path *p, int64_t t, const double *next,
                      double *now) {
  for (int64_t s = 0; s < p->states; s++)
    now[s] = prob(p, t, class_of(p, s)) +
             log_sum(next[s], s + 1 < p->states ? next[s + 1] : -INFINITY,
                     may_skip(p, s) ? next[s + 2] : -INFINITY);
}

/* The gradient of a sequence; row is scratch for a step's classes. */
static void backward_path(const path *p, double g, double *row) {
  const job *j = p->j;
  const double loss = forward_path(p);
  double *now = p->b, *next = p->next;
  for (int64_t t = j->steps - 1; t >= 0; t--) {
    const int64_t at = (t * j->batch + p->n) * j->classes;
    if (loss == INFINITY || t >= p->steps) {
      const bool none = t >= p->steps || j->zero_infinity;
      for (int64_t c = 0; c < j->classes; c++)
        store(j->dprobs, at + c, none ? 0 : NAN);
      continue;
    }
    if (t == p->steps - 1)
      for (int64_t s = 0; s < p->states; s++)
        now[s] = s + 2 < p->states ? -INFINITY : prob(p, t, class_of(p, s));
    else
      step_back(p, t, next, now);
    spread(p, t, now, loss, g, row);
    for (int64_t c = 0; c < j->classes; c++) store(j->dprobs, at + c, row[c]);
    double *read = next; /* is written at the next turn */
    next = now;
    now = read;
  }
}

static void backward_paths(void *context, int64_t begin, int64_t end,
                           int worker) {
  const job *j = context;
  double *row = j->room + j->room_numbers * (size_t)(worker + 1) - j->classes;
  for (int64_t n = begin; n < end; n++) {
    const path p = path_of(j, n, worker);
    backward_path(&p, heed_real(j->grad->dtype, heed_tensor_data(j->grad), n),
                  row);
  }
}

static bool ctc_loss_bwd_check(heed_call *c) {
  heed_out_like(c, 0, c->in[PROBS]);
  return true;
}

static bool ctc_loss_bwd_fwd(heed_call *c) {
  job j;
  bool ok = job_begin(&j, c->in, c->attr);
  j.grad = c->in[GRAD];
  j.dprobs = c->out[0];
  if (ok) run(&j, backward_paths);
  job_end(&j);
  return ok;
}
const heed_rule heed_rule_ctc_loss_bwd = {.check = ctc_loss_bwd_check,
                                          .forward = ctc_loss_bwd_fwd};
