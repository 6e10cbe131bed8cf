/*
 * channel_norm - batch norm and group norm: the channels of x [N C ..] brought
 * to mean 0 and variance 1. Layer: ops. Read first: core/op.h, norm.c.
 *
 *     z = (x - mean) * rstd    y = z * weight + bias
 *     rstd = 1 / sqrt(var + eps)
 *
 * with mean and variance of each channel over the batch, or of each group of
 * channels of one element of the batch. With g the gradient of y and m the
 * number of elements that share a mean,
 *
 *     dx = rstd * (w g - sum(w g) / m - z * sum(w g z) / m)
 *     dw = sum(g z)    db = sum(g)
 *
 * A line is what lies behind the channel, contiguous. A task is one channel of
 * the whole batch, or one group; sums run over its lines in order, so that no
 * result depends on the number of threads.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "kernel/kernel.h"
#include "ops/copy.h"
#include "ops/ops.h"

#define GRAIN 16384 /* elements worth a thread */
#define ROUGH 256   /* elements for a rough mean */

typedef struct sizes {
  int64_t batch, channels, line, groups;
} sizes;

typedef struct job {
  sizes z;
  heed_dtype dtype;
  int64_t size;               /* bytes of an element */
  const char *x, *grad;
  char *y;                    /* or dx, or NULL */
  const char *weight, *bias;  /* or NULL */
  char *mean, *var;           /* var or rstd; NULL: not wanted */
  double eps;
  bool training;
  double *sums; /* of g, and of g (x - mean): 2 for each channel or line */
} job;

static double read(const job *g, const char *data, int64_t i, double missing) {
  if (!data) return missing;
  return g->dtype == HEED_FLOAT32 ? (double)((const float *)data)[i]
                                  : ((const double *)data)[i];
}
static void write(const job *g, char *data, int64_t i, double value) {
  if (!data) return;
  if (g->dtype == HEED_FLOAT32) ((float *)data)[i] = (float)value;
  else ((double *)data)[i] = value;
}

/* Where line (n, c) begins, in bytes. */
static int64_t line_at(const job *g, int64_t n, int64_t c) {
  return (n * g->z.channels + c) * g->z.line * g->size;
}

static const heed_line_loops *loops_of(const job *g) {
  return &heed_kernel.lines[g->dtype];
}

/* Roughly the mean, of the first elements: so much is taken off before
   squares are summed, so that lines far from 0 lose no digits. */
static double rough_mean(const job *g, const char *x, int64_t n) {
  double sums[2] = {0, 0};
  if (n > ROUGH) n = ROUGH;
  loops_of(g)->moments(n, x, 0, sums);
  double mean = sums[0] / (double)n;
  return g->dtype == HEED_FLOAT32 ? (double)(float)mean : mean;
}

/* From sums of x - shift and of its squares; the variance is biased. */
static void moments_of(const double *sums, double shift, double n,
                       double *mean, double *var) {
  double left = sums[0] / n;
  *mean = shift + left;
  *var = sums[1] / n - left * left;
  if (*var < 0) *var = 0; /* NaN stays */
}

/* -- checks -- */

static sizes sizes_of(const heed_shape *x) {
  sizes z = {x->dim[0], x->dim[1], 1, x->dim[1]};
  for (int d = 2; d < x->ndim; d++) z.line *= x->dim[d];
  return z;
}

static bool read_sizes(const heed_call *c, sizes *z) {
  const heed_tensor *x = c->in[0];
  if (!heed_want_float(c, 0)) return false;
  if (x->shape.ndim < 2)
    return heed_fail("%s: x must be [N C ..], got %s", c->op->name,
                     heed_tensor_text(x));
  *z = sizes_of(&x->shape);
  return true;
}

/* Input i, which may be left out: a number for each channel. */
static bool channel_check(const heed_call *c, int i, const sizes *z) {
  const heed_tensor *t = c->in[i];
  if (!t) return true;
  if (t->shape.ndim != 1 || t->shape.dim[0] != z->channels)
    return heed_fail("%s: %s must be [%lld], one number for each channel of x "
                     "%s, got %s", c->op->name, heed_input_name(c, i),
                     (long long)z->channels,
                     heed_shape_text(&c->in[0]->shape), heed_tensor_text(t));
  return heed_want_dtype(c, i, c->in[0]->dtype);
}

/* -- contiguous inputs -- */

static bool open_inputs(const heed_call *c, heed_tensor **own) {
  bool ok = true;
  for (int i = 0; i < c->nin; i++) {
    own[i] = c->in[i] && ok ? heed_contiguous(c->op->name, c->in[i]) : NULL;
    ok = ok && (!c->in[i] || own[i]);
  }
  return ok;
}
static void close_inputs(const heed_call *c, heed_tensor **own) {
  for (int i = 0; i < c->nin; i++) heed_tensor_drop(own[i]);
}
static char *data_of(heed_tensor *t) { return t ? heed_tensor_data(t) : NULL; }

static void each(job *g, int64_t tasks, int64_t elements, heed_range_fn *fn) {
  heed_parallel(tasks, GRAIN / (elements + 1) + 1, fn, g);
}

/* -- channels over the batch -- */

static void channel_moments(void *context, int64_t begin, int64_t end,
                            int worker) {
  (void)worker;
  const job *g = context;
  for (int64_t c = begin; c < end; c++) {
    double sums[2] = {0, 0}, mean, var;
    double shift = rough_mean(g, g->x + line_at(g, 0, c), g->z.line);
    for (int64_t n = 0; n < g->z.batch; n++)
      loops_of(g)->moments(g->z.line, g->x + line_at(g, n, c), shift, sums);
    moments_of(sums, shift, (double)(g->z.batch * g->z.line), &mean, &var);
    write(g, g->mean, c, mean);
    write(g, g->var, c, var);
  }
}

/***
The mean and the biased variance of each channel, over all else. They have no
gradient of their own: that of `batch_norm` takes them into account.
@function channel_moments
@param x float tensor [N C ..]
@return tensor [C]
@return tensor [C]
@raise when x is not float, or has no elements in a channel
@usage heed.core.ops.channel_moments(heed.tensor {{1.0, 2}, {3, 8}})
--> 2 5 1 9
*/
static bool channel_moments_check(heed_call *c) {
  sizes z;
  if (!read_sizes(c, &z)) return false;
  if (z.batch * z.line == 0)
    return heed_fail("%s: x %s has no elements in a channel", c->op->name,
                     heed_shape_text(&c->in[0]->shape));
  heed_out(c, 0, c->in[0]->dtype, &(heed_shape){1, {z.channels}});
  heed_out(c, 1, c->in[0]->dtype, &(heed_shape){1, {z.channels}});
  return true;
}

static job job_of(heed_dtype dtype) {
  return (job){.dtype = dtype, .size = (int64_t)heed_dtype_size(dtype)};
}

static bool channel_moments_fwd(heed_call *c) {
  heed_tensor *x = heed_contiguous(c->op->name, c->in[0]);
  if (!x) return false;
  job g = job_of(x->dtype);
  read_sizes(c, &g.z);
  g.x = heed_tensor_data(x);
  g.mean = heed_tensor_data(c->out[0]);
  g.var = heed_tensor_data(c->out[1]);
  each(&g, g.z.channels, g.z.batch * g.z.line, channel_moments);
  heed_tensor_drop(x);
  return true;
}
const heed_rule heed_rule_channel_moments = {.check = channel_moments_check,
                                             .forward = channel_moments_fwd};

static double rstd_of(const job *g, int64_t c) {
  return 1 / sqrt(read(g, g->var, c, 0) + g->eps);
}

/* Tasks are lines. */
static void batch_forward(void *context, int64_t begin, int64_t end,
                          int worker) {
  (void)worker;
  const job *g = context;
  for (int64_t t = begin; t < end; t++) {
    int64_t c = t % g->z.channels, at = t * g->z.line * g->size;
    loops_of(g)->scale(g->z.line, g->x + at, read(g, g->mean, c, 0),
                       rstd_of(g, c) * read(g, g->weight, c, 1),
                       read(g, g->bias, c, 0), g->y + at);
  }
}

/***
x with the mean taken off each channel, divided by the square root of variance
plus eps, times weight, plus bias (Ioffe and Szegedy, 2015).
@function batch_norm
@param x float tensor [N C ..]
@param mean tensor [C]
@param var tensor [C]
@param weight tensor [C], ones by default
@param bias tensor [C], zeros by default
@param eps added to the variance, 1e-5 by default
@param training are mean and variance those of x (`channel_moments`)? Then the
gradient goes through them; else they are constants
@return tensor like x
@raise when dtypes or sizes do not fit
@usage heed.core.ops.batch_norm(heed.tensor {{1.0}, {3}}, heed.tensor {2.0},
  heed.tensor {4.0}, nil, nil, 0) --> -0.5 0.5
*/
static bool batch_norm_check(heed_call *c) {
  sizes z;
  if (!read_sizes(c, &z)) return false;
  for (int i = 1; i < 5; i++)
    if (!channel_check(c, i, &z)) return false;
  heed_out_like(c, 0, c->in[0]);
  return true;
}

static bool batch_norm_fwd(heed_call *c) {
  heed_tensor *in[5];
  bool ok = open_inputs(c, in);
  if (ok) {
    job g = job_of(c->in[0]->dtype);
    read_sizes(c, &g.z);
    g.x = data_of(in[0]);
    g.mean = data_of(in[1]);
    g.var = data_of(in[2]);
    g.weight = data_of(in[3]);
    g.bias = data_of(in[4]);
    g.y = heed_tensor_data(c->out[0]);
    g.eps = c->attr[0].f;
    each(&g, g.z.batch * g.z.channels, g.z.line, batch_forward);
  }
  close_inputs(c, in);
  return ok;
}

/* Gives the results of an op with the gradients of inputs `to`: x, weight and
   bias; of those that are wanted. */
static bool give_three(heed_rule_call *r, heed_op_id op, heed_tensor **in,
                       int nin, heed_attr *attr, int nattr, const int *to) {
  heed_tensor *out[HEED_MAX_OUT] = {0};
  for (int k = 0; k < 3; k++) attr[nattr + k].i = heed_needs(r, to[k]);
  if (r->failed || !heed_do_all(r, heed_op_at(op), in, nin, attr, out))
    return false;
  for (int k = 0; k < 3; k++)
    if (heed_needs(r, to[k]) && !heed_give(r, to[k], out[k])) return false;
  return true;
}

static bool batch_norm_bwd(heed_rule_call *r) {
  heed_tensor *in[5] = {r->grad[0], heed_in(r, 0), heed_in(r, 1),
                        heed_in(r, 2), heed_in(r, 3)};
  heed_attr attr[5] = {r->attr[0], r->attr[1]};
  return give_three(r, HEED_OP_batch_norm_bwd, in, 5, attr, 2,
                    (const int[]){0, 3, 4});
}
const heed_rule heed_rule_batch_norm = {
    .check = batch_norm_check, .forward = batch_norm_fwd,
    .backward = batch_norm_bwd,
    .keep = {HEED_ALWAYS, HEED_ALWAYS, HEED_ALWAYS, HEED_NEED(0)},
    .fused = true};

/* Inputs: grad, x, mean, variance or rstd, weight. Results: dx, dweight,
   dbias; of size 0 where not wanted. */
static bool three_check(heed_call *c, int first) {
  const heed_shape none = {1, {0}};
  const heed_shape *x = &c->in[1]->shape;
  heed_shape channels = {1, {x->dim[1]}};
  heed_dtype dtype = c->in[1]->dtype;
  heed_out(c, 0, dtype, c->attr[first].i ? x : &none);
  heed_out(c, 1, dtype, c->attr[first + 1].i ? &channels : &none);
  heed_out(c, 2, dtype, c->attr[first + 2].i ? &channels : &none);
  return true;
}

static bool batch_norm_bwd_check(heed_call *c) { return three_check(c, 2); }

/* Tasks are channels. */
static void batch_backward(void *context, int64_t begin, int64_t end,
                           int worker) {
  (void)worker;
  const job *g = context;
  const heed_line_loops *loops = loops_of(g);
  double m = (double)(g->z.batch * g->z.line);
  for (int64_t c = begin; c < end; c++) {
    double *sums = g->sums + 2 * c, mean = read(g, g->mean, c, 0);
    double rstd = rstd_of(g, c), a = rstd * read(g, g->weight, c, 1);
    sums[0] = sums[1] = 0;
    for (int64_t n = 0; n < g->z.batch; n++)
      loops->pulls(g->z.line, g->grad + line_at(g, n, c),
                   g->x + line_at(g, n, c), mean, sums);
    double b = g->training ? -a * rstd * rstd * sums[1] / m : 0;
    double shift = g->training ? -a * sums[0] / m : 0;
    for (int64_t n = 0; g->y && n < g->z.batch; n++)
      loops->mix(g->z.line, g->grad + line_at(g, n, c),
                 g->x + line_at(g, n, c), mean, a, b, shift,
                 g->y + line_at(g, n, c));
    sums[1] *= rstd;
  }
}

/* Reads the inputs of a backward op, whose attribute `first` says whether dx
   is wanted, and makes room for the sums of so many lines. */
static bool backward_open(heed_call *c, job *g, heed_tensor **in, int first,
                          int64_t lines) {
  if (!open_inputs(c, in)) return false;
  g->sums = heed_mem_alloc((size_t)lines * 2 * sizeof *g->sums);
  if (!g->sums) return false;
  g->grad = data_of(in[0]);
  g->x = data_of(in[1]);
  g->mean = data_of(in[2]);
  g->var = data_of(in[3]);
  g->weight = data_of(in[4]);
  g->y = c->attr[first].i ? heed_tensor_data(c->out[0]) : NULL;
  return true;
}

static bool batch_norm_bwd_fwd(heed_call *c) {
  heed_tensor *in[5] = {0};
  job g = job_of(c->in[1]->dtype);
  g.z = sizes_of(&c->in[1]->shape);
  g.eps = c->attr[0].f;
  g.training = c->attr[1].i;
  bool ok = backward_open(c, &g, in, 2, g.z.channels);
  if (ok) {
    each(&g, g.z.channels, g.z.batch * g.z.line, batch_backward);
    for (int64_t k = 0; k < g.z.channels; k++) {
      if (c->attr[3].i)
        write(&g, heed_tensor_data(c->out[1]), k, g.sums[2 * k + 1]);
      if (c->attr[4].i)
        write(&g, heed_tensor_data(c->out[2]), k, g.sums[2 * k]);
    }
  }
  heed_mem_free(g.sums, (size_t)g.z.channels * 2 * sizeof *g.sums);
  close_inputs(c, in);
  return ok;
}
const heed_rule heed_rule_batch_norm_bwd = {.check = batch_norm_bwd_check,
                                            .forward = batch_norm_bwd_fwd};

/* -- groups of channels -- */

/* Tasks are groups. */
static void group_forward(void *context, int64_t begin, int64_t end,
                          int worker) {
  (void)worker;
  const job *g = context;
  int64_t own = g->z.channels / g->z.groups, all = own * g->z.line;
  for (int64_t t = begin; t < end; t++) {
    const char *x = g->x + t * all * g->size;
    double sums[2] = {0, 0}, mean, var, shift = rough_mean(g, x, all);
    loops_of(g)->moments(all, x, shift, sums);
    moments_of(sums, shift, (double)all, &mean, &var);
    double rstd = 1 / sqrt(var + g->eps);
    for (int64_t k = 0; k < own; k++) {
      int64_t c = t % g->z.groups * own + k, at = k * g->z.line * g->size;
      loops_of(g)->scale(g->z.line, x + at, mean,
                         rstd * read(g, g->weight, c, 1),
                         read(g, g->bias, c, 0),
                         g->y + t * all * g->size + at);
    }
    write(g, g->mean, t, mean);
    write(g, g->var, t, rstd);
  }
}

/***
x with each group of channels brought to mean 0 and variance 1 (biased), times
weight, plus bias (Wu and He, 2018).
@function group_norm
@param x float tensor [N C ..]
@param groups into how many groups the channels are cut
@param weight tensor [C], ones by default
@param bias tensor [C], zeros by default
@param eps added to the variance, 1e-5 by default
@return tensor like x
@raise when dtypes or sizes do not fit
@usage heed.nn.functional.group_norm(heed.tensor {{1.0, 3, 5, 9}}, 2, nil, nil,
  0) --> -1 1 -1 1
*/
static bool group_norm_check(heed_call *c) {
  sizes z;
  if (!read_sizes(c, &z)) return false;
  int64_t groups = c->attr[0].i;
  if (groups < 1 || z.channels % groups != 0)
    return heed_fail("%s: groups must divide the %lld channels of x %s, got "
                     "%lld", c->op->name, (long long)z.channels,
                     heed_shape_text(&c->in[0]->shape), (long long)groups);
  if (!channel_check(c, 1, &z) || !channel_check(c, 2, &z)) return false;
  heed_out_like(c, 0, c->in[0]);
  if (!c->need) return true;
  heed_out(c, 1, c->in[0]->dtype, &(heed_shape){2, {z.batch, groups}});
  heed_out(c, 2, c->in[0]->dtype, &(heed_shape){2, {z.batch, groups}});
  return true;
}

static bool group_norm_fwd(heed_call *c) {
  heed_tensor *in[3];
  bool ok = open_inputs(c, in);
  if (ok && heed_tensor_numel(c->in[0]) > 0) {
    job g = job_of(c->in[0]->dtype);
    read_sizes(c, &g.z);
    g.z.groups = c->attr[0].i;
    g.x = data_of(in[0]);
    g.weight = data_of(in[1]);
    g.bias = data_of(in[2]);
    g.y = heed_tensor_data(c->out[0]);
    g.mean = c->nout > 1 ? heed_tensor_data(c->out[1]) : NULL;
    g.var = c->nout > 1 ? heed_tensor_data(c->out[2]) : NULL;
    g.eps = c->attr[1].f;
    each(&g, g.z.batch * g.z.groups,
         g.z.channels / g.z.groups * g.z.line, group_forward);
  }
  close_inputs(c, in);
  return ok;
}

static bool group_norm_bwd(heed_rule_call *r) {
  heed_tensor *in[5] = {r->grad[0], heed_in(r, 0), heed_kept_out(r, 1),
                        heed_kept_out(r, 2), heed_in(r, 1)};
  heed_attr attr[4] = {r->attr[0]};
  return give_three(r, HEED_OP_group_norm_bwd, in, 5, attr, 1,
                    (const int[]){0, 1, 2});
}
const heed_rule heed_rule_group_norm = {
    .check = group_norm_check, .forward = group_norm_fwd,
    .backward = group_norm_bwd, .keep = {HEED_ALWAYS, HEED_NEED(0)},
    .keep_out = {0, HEED_ALWAYS, HEED_ALWAYS}, .fused = true};

static bool group_norm_bwd_check(heed_call *c) { return three_check(c, 1); }

/* Tasks are groups; the sums are kept by line, those with z in place of x. */
static void group_backward(void *context, int64_t begin, int64_t end,
                           int worker) {
  (void)worker;
  const job *g = context;
  const heed_line_loops *loops = loops_of(g);
  int64_t own = g->z.channels / g->z.groups;
  double m = (double)(own * g->z.line);
  for (int64_t t = begin; t < end; t++) {
    double mean = read(g, g->mean, t, 0), rstd = read(g, g->var, t, 0);
    double sum = 0, pull = 0; /* of w g, and of w g z */
    for (int64_t k = 0; k < own; k++) {
      int64_t line = t * own + k, at = line * g->z.line * g->size;
      double *sums = g->sums + 2 * line;
      double w = read(g, g->weight, line % g->z.channels, 1);
      sums[0] = sums[1] = 0;
      loops->pulls(g->z.line, g->grad + at, g->x + at, mean, sums);
      sums[1] *= rstd;
      sum += w * sums[0];
      pull += w * sums[1];
    }
    for (int64_t k = 0; g->y && k < own; k++) {
      int64_t line = t * own + k, at = line * g->z.line * g->size;
      loops->mix(g->z.line, g->grad + at, g->x + at, mean,
                 rstd * read(g, g->weight, line % g->z.channels, 1),
                 -rstd * rstd * pull / m, -rstd * sum / m, g->y + at);
    }
  }
}

static bool group_norm_bwd_fwd(heed_call *c) {
  heed_tensor *in[5] = {0};
  job g = job_of(c->in[1]->dtype);
  g.z = sizes_of(&c->in[1]->shape);
  g.z.groups = c->attr[0].i;
  int64_t lines = g.z.batch * g.z.channels;
  bool ok = backward_open(c, &g, in, 1, lines);
  if (ok) {
    each(&g, g.z.batch * g.z.groups, g.z.channels / g.z.groups * g.z.line,
         group_backward);
    for (int64_t k = 0; k < g.z.channels; k++) {
      double sums[2] = {0, 0};
      for (int64_t n = 0; n < g.z.batch; n++)
        for (int i = 0; i < 2; i++)
          sums[i] += g.sums[2 * (n * g.z.channels + k) + i];
      if (c->attr[2].i) write(&g, heed_tensor_data(c->out[1]), k, sums[1]);
      if (c->attr[3].i) write(&g, heed_tensor_data(c->out[2]), k, sums[0]);
    }
  }
  heed_mem_free(g.sums, (size_t)lines * 2 * sizeof *g.sums);
  close_inputs(c, in);
  return ok;
}
const heed_rule heed_rule_group_norm_bwd = {.check = group_norm_bwd_check,
                                            .forward = group_norm_bwd_fwd};
