/*
 * loss - cross-entropy over classes, and of single probabilities. Layer: ops.
 * Read first: core/op.h, rows.h, kernel/loss.c.
 *
 * With p = softmax(x), class weights w (1 when left out) with sum W over the
 * C classes, smoothing s and label y, a row's loss is
 *
 *     (1 - s) * w[y] * -log p[y]  +  s / C * sum over c of w[c] * -log p[c]
 *
 * and `mean` divides the sum of the rows by the sum of their w[y]. With g the
 * gradient of the row, its gradient in one pass over x:
 *
 *     dx[c] = g * (((1 - s) w[y] + s W / C) p[c] - s / C w[c])
 *             - (1 - s) w[y] g  at c = y
 *
 * No softmax is stored: only the maximum and the sum of e^(x - max) of each
 * row are kept, from which backward makes p anew.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "kernel/kernel.h"
#include "ops/copy.h"
#include "ops/each.h"
#include "ops/rows.h"

enum { REDUCE_MEAN, REDUCE_SUM, REDUCE_NONE };
#define IGNORED (-1)

/* -- labels -- */

/* A place in a tensor in a user's words: "row 3" or "position [1 3]". */
static const char *place_text(const heed_shape *shape, int64_t flat) {
  static _Thread_local char text[240];
  heed_shape at = *shape;
  for (int d = shape->ndim - 1; d >= 0; d--) {
    at.dim[d] = flat % shape->dim[d] + 1;
    flat /= shape->dim[d];
  }
  if (shape->ndim == 1)
    snprintf(text, sizeof text, "row %lld", (long long)at.dim[0]);
  else
    snprintf(text, sizeof text, "position %s", heed_shape_text(&at));
  return text;
}

/* Labels from 1 become classes from 0, or IGNORED. */
static bool read_labels(const heed_tensor *target, int64_t classes,
                        int64_t ignore, const heed_shape *x, int64_t *label) {
  const int64_t *from = heed_tensor_data(target);
  int64_t n = heed_tensor_numel(target);
  for (int64_t i = 0; i < n; i++) {
    int64_t v = from[i];
    if (v == ignore)
      label[i] = IGNORED;
    else if (v >= 1 && v <= classes)
      label[i] = v - 1;
    else
      return heed_fail("cross_entropy: target %s, %s: must be 1..%lld (a "
                       "class of x %s) or ignore_index %lld, got %lld",
                       heed_shape_text(&target->shape),
                       place_text(&target->shape, i), (long long)classes,
                       heed_shape_text(x), (long long)ignore, (long long)v);
  }
  return true;
}

/* -- what forward and backward share -- */

typedef struct job {
  heed_tensor *x, *target, *weight; /* target, weight contiguous; or NULL */
  heed_dtype dtype;
  int64_t classes, rows;
  double smoothing;
  int64_t reduction;
  int64_t *label;      /* of each row */
  double *loss;        /* forward: of each row */
  double total_weight; /* W */
  void *stat;          /* maximum and sum of each row, or NULL */
  const heed_tensor *grad; /* backward: of the result */
  double divisor;      /* of mean: the sum of w[y]; else 1 */
} job;

static int64_t class_dim(const heed_tensor *x) {
  return x->shape.ndim == 1 ? 0 : 1;
}

static double number_at(const heed_tensor *t, int64_t i) {
  return heed_real(t->dtype, heed_tensor_data(t), i);
}

static double label_weight(const job *j, int64_t label) {
  return j->weight ? number_at(j->weight, label) : 1;
}

static void job_end(job *j) {
  heed_tensor_drop(j->target);
  heed_tensor_drop(j->weight);
  if (j->label) heed_mem_free(j->label, (size_t)j->rows * sizeof *j->label);
  if (j->loss) heed_mem_free(j->loss, (size_t)j->rows * sizeof *j->loss);
}

/* attr: ignore_index, label_smoothing, reduction */
static bool job_begin(job *j, heed_tensor *x, heed_tensor *target,
                      heed_tensor *weight, const heed_attr *attr) {
  *j = (job){.x = x, .dtype = x->dtype, .smoothing = attr[1].f,
             .reduction = attr[2].i, .divisor = 1};
  j->classes = x->shape.dim[class_dim(x)];
  j->rows = heed_tensor_numel(target);
  j->target = heed_contiguous("cross_entropy", target);
  if (weight) j->weight = heed_contiguous("cross_entropy", weight);
  j->label = heed_mem_alloc((size_t)j->rows * sizeof *j->label);
  if (!j->target || (weight && !j->weight) || !j->label ||
      !read_labels(j->target, j->classes, attr[0].i, &x->shape, j->label)) {
    job_end(j);
    return false;
  }
  for (int64_t c = 0; c < j->classes; c++)
    j->total_weight += label_weight(j, c);
  if (j->reduction != REDUCE_MEAN) return true;
  j->divisor = 0;
  for (int64_t i = 0; i < j->rows; i++)
    if (j->label[i] != IGNORED)
      j->divisor += label_weight(j, j->label[i]);
  return true;
}

static void read_stat(const job *j, int64_t row, double *stat) {
  for (int k = 0; k < 2; k++)
    stat[k] = j->dtype == HEED_FLOAT32
                  ? (double)((float *)j->stat)[2 * row + k]
                  : ((double *)j->stat)[2 * row + k];
}

static void write_stat(const job *j, int64_t row, const double *stat) {
  for (int k = 0; k < 2; k++)
    if (j->dtype == HEED_FLOAT32)
      ((float *)j->stat)[2 * row + k] = (float)stat[k];
    else
      ((double *)j->stat)[2 * row + k] = stat[k];
}

/* -- forward -- */

static void loss_row(void *context, int64_t row, int64_t n,
                     void *const *data) {
  const job *j = context;
  int64_t label = j->label[row];
  double stat[3] = {0, 1, 0};
  j->loss[row] = 0;
  if (label != IGNORED) {
    const void *w = j->weight ? heed_tensor_data(j->weight) : NULL;
    heed_kernel.cross_entropy[j->dtype](n, data[0], j->smoothing > 0, w,
                                        stat);
    double x = j->dtype == HEED_FLOAT32
                   ? (double)((const float *)data[0])[label]
                   : ((const double *)data[0])[label];
    double log_sum = log(stat[1]), s = j->smoothing;
    double loss = (log_sum - (x - stat[0])) * label_weight(j, label);
    if (s > 0)
      loss = (1 - s) * loss + s / (double)n *
                                  (j->total_weight * log_sum - stat[2]);
    j->loss[row] = loss;
  }
  if (j->stat) write_stat(j, row, stat);
}

static void write_losses(const job *j, heed_tensor *y) {
  void *out = heed_tensor_data(y);
  double sum = 0;
  for (int64_t i = 0; i < j->rows; i++) {
    if (j->reduction != REDUCE_NONE)
      sum += j->loss[i];
    else if (j->dtype == HEED_FLOAT32)
      ((float *)out)[i] = (float)j->loss[i];
    else
      ((double *)out)[i] = j->loss[i];
  }
  if (j->reduction == REDUCE_NONE) return;
  /* a mean over nothing is 0, not 0 / 0 */
  if (j->reduction == REDUCE_MEAN)
    sum = j->divisor == 0 ? 0 : sum / j->divisor;
  if (j->dtype == HEED_FLOAT32)
    *(float *)out = (float)sum;
  else
    *(double *)out = sum;
}

static bool weight_check(heed_call *c, int64_t classes) {
  const heed_tensor *w = c->in[2];
  if (!w) return true;
  if (w->shape.ndim != 1 || w->shape.dim[0] != classes)
    return heed_fail("cross_entropy: weight %s must have one number for each "
                     "of the %lld classes of x %s", heed_shape_text(&w->shape),
                     (long long)classes, heed_shape_text(&c->in[0]->shape));
  if (c->need & HEED_NEED(2))
    return heed_fail("cross_entropy: weight %s has no gradient here; detach "
                     "it", heed_shape_text(&w->shape));
  return heed_want_dtype(c, 2, c->in[0]->dtype);
}

/***
The cross-entropy of class scores and labels: -log softmax(x)[label], by row.
Rows whose label is ignore_index count nothing; when none is left the loss is
0, as are its gradients. With label smoothing s a row's target is 1 - s at the
label plus s spread evenly over all classes (Szegedy et al., 2016).
@function cross_entropy
@param x float tensor (N, C), (C), or (N, C, d1, ...): scores, not
probabilities
@param target int64 tensor without the C: labels from 1 to C
@param weight float tensor (C) to scale each class by, ones by default; the
mean is then a weighted one
@param ignore_index label that marks rows to leave out, any integer; -100 by
default
@param label_smoothing from 0 to 1, 0 by default
@param reduction `"mean"`, `"sum"` or `"none"` (one loss for each row)
@return scalar, or tensor like target
@raise when shapes or dtypes do not fit, or a label is out of range
@usage local loss = heed.nn.functional.cross_entropy(
  heed.tensor{{2.0, 0.0}}, heed.tensor{1}) --> 0.1269
*/
static bool cross_entropy_check(heed_call *c) {
  const heed_tensor *x = c->in[0], *target = c->in[1];
  double smoothing = c->attr[1].f;
  if (!heed_want_float(c, 0) || !heed_want_ndim(c, 0, 1) ||
      !heed_want_dtype(c, 1, HEED_INT64))
    return false;
  int at = (int)class_dim(x);
  heed_shape labels = x->shape;
  labels.ndim--;
  for (int d = at; d < labels.ndim; d++) labels.dim[d] = x->shape.dim[d + 1];
  if (!heed_shape_equal(&labels, &target->shape))
    return heed_fail("cross_entropy: target %s must be %s, x %s without its "
                     "classes, dimension %d", heed_shape_text(&target->shape),
                     heed_shape_text(&labels), heed_shape_text(&x->shape),
                     at + 1);
  if (!weight_check(c, x->shape.dim[at])) return false;
  if (!(smoothing >= 0 && smoothing <= 1))
    return heed_fail("cross_entropy: label_smoothing must be from 0 to 1, "
                     "got %g", smoothing);
  heed_shape scalar = {0};
  heed_out(c, 0, x->dtype,
           c->attr[2].i == REDUCE_NONE ? &target->shape : &scalar);
  int64_t rows = heed_tensor_numel(target);
  if (c->need) heed_out(c, 1, x->dtype, &(heed_shape){2, {rows, 2}});
  return true;
}

static bool cross_entropy_fwd(heed_call *c) {
  job j;
  if (!job_begin(&j, c->in[0], c->in[1], c->in[2], c->attr)) return false;
  heed_rows rows = {.shape = j.x->shape, .ntensor = 1, .tensor = {j.x}};
  rows.along[class_dim(j.x)] = true;
  if (c->nout > 1) j.stat = heed_tensor_data(c->out[1]);
  j.loss = heed_mem_alloc((size_t)j.rows * sizeof *j.loss);
  bool ok = j.loss && heed_rows_run(&rows, loss_row, &j);
  if (ok) write_losses(&j, c->out[0]);
  job_end(&j);
  return ok;
}

/* -- backward -- */

static bool cross_entropy_bwd(heed_rule_call *r) {
  heed_tensor *in[5] = {heed_dense(r, r->grad[0]), heed_in(r, 0),
                        heed_in(r, 1), heed_kept_out(r, 1), heed_in(r, 2)};
  const heed_op *op = heed_op_at(HEED_OP_cross_entropy_bwd);
  return !r->failed && heed_give(r, 0, heed_do(r, op, in, 5, r->attr));
}
const heed_rule heed_rule_cross_entropy = {
    .check = cross_entropy_check, .forward = cross_entropy_fwd,
    .backward = cross_entropy_bwd,
    .keep = {HEED_ALWAYS, HEED_ALWAYS, HEED_ALWAYS},
    .keep_out = {0, HEED_ALWAYS}, .fused = true};

static void slope_row(void *context, int64_t row, int64_t n,
                      void *const *data) {
  const job *j = context;
  int64_t label = j->label[row];
  if (label == IGNORED || j->divisor == 0) {
    memset(data[0], 0, (size_t)n * heed_dtype_size(j->dtype));
    return;
  }
  double stat[2], s = j->smoothing;
  read_stat(j, row, stat);
  double g = number_at(j->grad, j->reduction == REDUCE_NONE ? row : 0) /
             j->divisor;
  double own = (1 - s) * label_weight(j, label) * g;
  double spread = s / (double)n * g;
  const void *w = j->weight ? heed_tensor_data(j->weight) : NULL;
  heed_kernel.cross_entropy_bwd[j->dtype](
      n, data[0], data[1], stat[0],
      (own + spread * j->total_weight) / stat[1], spread, w);
  if (j->dtype == HEED_FLOAT32)
    ((float *)data[0])[label] -= (float)own;
  else
    ((double *)data[0])[label] -= own;
}

/* Inputs: gradient (contiguous), x, target, stat, weight. */
static bool cross_entropy_bwd_check(heed_call *c) {
  heed_out_like(c, 0, c->in[1]);
  return true;
}

static bool cross_entropy_bwd_fwd(heed_call *c) {
  job j;
  if (!job_begin(&j, c->in[1], c->in[2], c->in[4], c->attr)) return false;
  j.grad = c->in[0];
  j.stat = heed_tensor_data(c->in[3]);
  heed_rows rows = {.shape = j.x->shape, .ntensor = 2, .nwrite = 1,
                    .tensor = {c->out[0], j.x}};
  rows.along[class_dim(j.x)] = true;
  bool ok = heed_rows_run(&rows, slope_row, &j);
  job_end(&j);
  return ok;
}
const heed_rule heed_rule_cross_entropy_bwd = {
    .check = cross_entropy_bwd_check, .forward = cross_entropy_bwd_fwd};

/* -- of two classes -- */

/***
The cross-entropy of probabilities, each alone: -t log x - (1 - t) log(1 - x),
where logarithms are held above -100, and 1 / (x (1 - x)) in the gradient below
1e12: see heed.nn.functional.binary_cross_entropy.
@function binary_cross_entropy
@param x float tensor of probabilities
@param target tensor of probabilities, broadcast with x
@return float tensor of the broadcast shape
@raise when the shapes do not fit
@usage heed.core.ops.binary_cross_entropy(heed.tensor{0.5}, heed.tensor{1.0})
  --> 0.6931
*/
static bool binary_cross_entropy_bwd(heed_rule_call *r) {
  /* dx = g (x - t) / (x (1 - x)); dt = g (log(1 - x) - log x) */
  heed_tensor *g = r->grad[0], *x = heed_in(r, 0), *t = heed_in(r, 1);
  heed_tensor *rest = heed_do2(r, HEED_OP_sub, heed_number(r, 1), x);
  if (heed_needs(r, 0)) {
    heed_tensor *below = heed_do2(r, HEED_OP_maximum,
                                  heed_do2(r, HEED_OP_mul, x, rest),
                                  heed_number(r, 1e-12));
    heed_tensor *slope = heed_do2(r, HEED_OP_div,
                                  heed_do2(r, HEED_OP_sub, x, t), below);
    if (!heed_give(r, 0, heed_do2(r, HEED_OP_mul, g, slope))) return false;
  }
  if (!heed_needs(r, 1)) return true;
  heed_tensor *least = heed_number(r, -100);
  heed_tensor *yes = heed_do1(r, HEED_OP_log, x);
  heed_tensor *no = heed_do1(r, HEED_OP_log1p, heed_do1(r, HEED_OP_neg, x));
  yes = heed_do2(r, HEED_OP_maximum, yes, least);
  no = heed_do2(r, HEED_OP_maximum, no, least);
  return heed_give(r, 1, heed_do2(r, HEED_OP_mul, g,
                                  heed_do2(r, HEED_OP_sub, no, yes)));
}
HEED_FUNCTION2_OP(binary_cross_entropy)
