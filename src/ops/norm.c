/*
 * norm - layer norm and RMS norm over the last dimensions. Layer: ops.
 * Read first: core/op.h, rows.h, kernel/norm.c.
 *
 * Results 1 and 2, for backward only: the mean and 1 / deviation of each row.
 * dx is made row by row; the gradients of weight and bias are sums over rows,
 * taken in blocks of BLOCK rows that are then added in order, so that they do
 * not depend on the number of threads.
 */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "kernel/kernel.h"
#include "ops/copy.h"
#include "ops/ops.h"
#include "ops/rows.h"

#define BLOCK 32
#define GRAIN 8192 /* elements worth a thread */

/* -- checks -- */

/* x must end in the normalized shape; *rows are the sizes before it. */
static bool shape_check(heed_call *c, heed_shape *rows) {
  const heed_tensor *x = c->in[0];
  const heed_shape *want = &c->attr[0].list;
  int lead = x->shape.ndim - want->ndim;
  bool fits = lead >= 0;
  if (want->ndim == 0)
    return heed_fail("%s: normalized must name at least one size",
                     c->op->name);
  for (int d = 0; fits && d < want->ndim; d++)
    fits = x->shape.dim[lead + d] == want->dim[d];
  if (!fits)
    return heed_fail("%s: x %s must end in normalized %s", c->op->name,
                     heed_shape_text(&x->shape), heed_shape_text(want));
  *rows = x->shape;
  rows->ndim = lead;
  return true;
}

/* An optional weight or bias: of the normalized shape, in the dtype of x. */
static bool parameter_check(heed_call *c, int i) {
  const heed_tensor *w = c->in[i];
  const heed_shape *want = &c->attr[0].list;
  if (!w) return true;
  if (!heed_shape_equal(&w->shape, want))
    return heed_fail("%s: %s %s must be of the normalized shape %s",
                     c->op->name, heed_input_name(c, i),
                     heed_shape_text(&w->shape), heed_shape_text(want));
  return heed_want_dtype(c, i, c->in[0]->dtype);
}

/* -- forward -- */

typedef struct forward {
  heed_tensor *weight, *bias;    /* contiguous, or NULL */
  char *mean, *rstd;             /* by row, or NULL */
  size_t size;                   /* of an element */
  heed_dtype dtype;
  double eps;
  bool rms;
} forward;

static void forward_row(void *context, int64_t row, int64_t n,
                        void *const *data) {
  const forward *f = context;
  double unused[2];
  size_t at = (size_t)row * f->size;
  void *mean = f->mean ? f->mean + at : (void *)&unused[0];
  void *rstd = f->rstd ? f->rstd + at : (void *)&unused[1];
  const void *w = f->weight ? heed_tensor_data(f->weight) : NULL;
  const void *b = f->bias ? heed_tensor_data(f->bias) : NULL;
  if (f->rms)
    heed_kernel.rms_norm[f->dtype](n, data[0], data[1], w, f->eps, rstd);
  else
    heed_kernel.layer_norm[f->dtype](n, data[0], data[1], w, b, f->eps, mean,
                                     rstd);
}

static bool forward_run(heed_call *c, forward *f) {
  heed_tensor *x = c->in[0];
  f->dtype = x->dtype;
  f->size = heed_dtype_size(x->dtype);
  f->eps = c->attr[1].f;
  heed_rows rows = {.shape = x->shape, .ntensor = 2, .nwrite = 1,
                    .tensor = {c->out[0], x}};
  for (int d = 1; d <= c->attr[0].list.ndim; d++)
    rows.along[x->shape.ndim - d] = true;
  f->weight = f->weight ? heed_contiguous(c->op->name, f->weight) : NULL;
  f->bias = f->bias ? heed_contiguous(c->op->name, f->bias) : NULL;
  bool ok = (!c->in[1] || f->weight) &&
            (f->rms || !c->in[2] || f->bias) &&
            heed_rows_run(&rows, forward_row, f);
  heed_tensor_drop(f->weight);
  heed_tensor_drop(f->bias);
  return ok;
}

/***
x with each row brought to mean 0 and variance 1 (biased), times weight, plus
bias: (x - mean) / sqrt(var + eps) * weight + bias (Ba, Kiros and Hinton,
2016). A row is what lies in the last dimensions, named by `normalized`.
@function layer_norm
@param x float tensor that ends in the normalized shape
@param normalized sizes of the last dimensions
@param weight tensor of the normalized shape, ones by default
@param bias tensor of the normalized shape, zeros by default
@param eps added to the variance, 1e-5 by default
@return tensor like x
@raise when x is not float or the shapes do not fit
@usage heed.nn.functional.layer_norm(heed.tensor{1.0, 3.0}, {2}) --> -1 1
*/
static bool layer_norm_check(heed_call *c) {
  heed_shape rows;
  if (!heed_want_float(c, 0) || !shape_check(c, &rows) ||
      !parameter_check(c, 1) || !parameter_check(c, 2))
    return false;
  heed_out_like(c, 0, c->in[0]);
  if (!c->need) return true;
  heed_out(c, 1, c->in[0]->dtype, &rows);
  heed_out(c, 2, c->in[0]->dtype, &rows);
  return true;
}

static bool layer_norm_fwd(heed_call *c) {
  forward f = {.weight = c->in[1], .bias = c->in[2]};
  if (c->nout > 1) {
    f.mean = heed_tensor_data(c->out[1]);
    f.rstd = heed_tensor_data(c->out[2]);
  }
  return forward_run(c, &f);
}

/* Asks norm_bwd for the gradients that are needed; NULL mean for RMS norm. */
static bool give_all(heed_rule_call *r, heed_tensor *mean, heed_tensor *rstd,
                     int nparam) {
  heed_tensor *w = heed_in(r, 1), *out[HEED_MAX_OUT] = {0};
  heed_tensor *in[5] = {heed_dense(r, r->grad[0]), heed_dense(r, heed_in(r, 0)),
                        rstd, mean, heed_dense(r, w)};
  if (r->failed || !in[0] || !in[1] || !rstd) return false;
  heed_attr attr[4] = {{.list = r->attr[0].list}};
  for (int i = 0; i < nparam; i++) attr[1 + i].i = heed_needs(r, i);
  if (!heed_do_all(r, heed_op_at(HEED_OP_norm_bwd), in, 5, attr, out))
    return false;
  for (int i = 0; i < nparam; i++)
    if (heed_needs(r, i) && !heed_give(r, i, out[i])) return false;
  return true;
}

static bool layer_norm_bwd(heed_rule_call *r) {
  heed_tensor *mean = heed_kept_out(r, 1);
  return mean && give_all(r, mean, heed_kept_out(r, 2), 3);
}
/* the gradient of bias alone needs neither x nor weight, but that is rare */
const heed_rule heed_rule_layer_norm = {
    .check = layer_norm_check, .forward = layer_norm_fwd,
    .backward = layer_norm_bwd, .keep = {HEED_ALWAYS, HEED_NEED(0)},
    .keep_out = {0, HEED_ALWAYS, HEED_ALWAYS}, .fused = true};

/***
x with each row divided by its root mean square, times weight:
x / sqrt(mean(x^2) + eps) * weight (Zhang and Sennrich, 2019). A row is what
lies in the last dimensions, named by `normalized`.
@function rms_norm
@param x float tensor that ends in the normalized shape
@param normalized sizes of the last dimensions
@param weight tensor of the normalized shape, ones by default
@param eps added to the mean square, 1e-6 by default
@return tensor like x
@raise when x is not float or the shapes do not fit
@usage heed.nn.functional.rms_norm(heed.tensor{3.0, 3.0}, {2}) --> 1 1
*/
static bool rms_norm_check(heed_call *c) {
  heed_shape rows;
  if (!heed_want_float(c, 0) || !shape_check(c, &rows) ||
      !parameter_check(c, 1))
    return false;
  heed_out_like(c, 0, c->in[0]);
  if (c->need) heed_out(c, 1, c->in[0]->dtype, &rows);
  return true;
}

static bool rms_norm_fwd(heed_call *c) {
  forward f = {.weight = c->in[1], .rms = true};
  if (c->nout > 1) f.rstd = heed_tensor_data(c->out[1]);
  return forward_run(c, &f);
}

static bool rms_norm_bwd(heed_rule_call *r) {
  return give_all(r, NULL, heed_kept_out(r, 1), 2);
}
const heed_rule heed_rule_rms_norm = {
    .check = rms_norm_check, .forward = rms_norm_fwd,
    .backward = rms_norm_bwd, .keep = {HEED_ALWAYS, HEED_NEED(0)},
    .keep_out = {0, HEED_ALWAYS}, .fused = true};

/* -- backward -- */

/* Inputs: gradient, x, rstd, mean (none: RMS norm), weight; all contiguous.
   Results: dx, dweight, dbias; of size 0 where not asked for. */
static bool norm_bwd_check(heed_call *c) {
  const heed_shape none = {1, {0}};
  heed_dtype dtype = c->in[1]->dtype;
  const heed_shape *row = &c->attr[0].list;
  heed_out(c, 0, dtype, c->attr[1].i ? &c->in[1]->shape : &none);
  heed_out(c, 1, dtype, c->attr[2].i ? row : &none);
  heed_out(c, 2, dtype, c->attr[3].i ? row : &none);
  return true;
}

typedef struct backward {
  const heed_call *call;
  heed_dtype dtype;
  size_t size;
  int64_t rows, n;
  char *part;      /* a block's sums for weight, then for bias */
  size_t pitch;    /* bytes from block to block */
  bool want[3];    /* dx, dweight, dbias */
} backward;

static void *row_at(const heed_tensor *t, int64_t i, size_t size) {
  return t ? (char *)heed_tensor_data(t) + (size_t)i * size : NULL;
}

static void backward_blocks(void *context, int64_t begin, int64_t end,
                            int worker) {
  (void)worker;
  const backward *b = context;
  const heed_call *c = b->call;
  for (int64_t block = begin; block < end; block++) {
    int64_t first = block * BLOCK, rows = b->rows - first;
    if (rows > BLOCK) rows = BLOCK;
    char *sums = b->part + (size_t)block * b->pitch;
    memset(sums, 0, b->pitch);
    char *sums_b = b->want[1] ? sums + (size_t)b->n * b->size : sums;
    size_t row_size = b->size * (size_t)b->n;
    heed_kernel.norm_bwd[b->dtype](
        rows, b->n, row_at(c->in[0], first, row_size),
        row_at(c->in[1], first, row_size), row_at(c->in[4], 0, 0),
        row_at(c->in[3], first, b->size), row_at(c->in[2], first, b->size),
        b->want[0] ? row_at(c->out[0], first, row_size) : NULL,
        b->want[1] ? sums : NULL, b->want[2] ? sums_b : NULL);
  }
}

/* Columns [begin, end) of the sums over all blocks. */
static void add_blocks(void *context, int64_t begin, int64_t end,
                       int worker) {
  (void)worker;
  const backward *b = context;
  int64_t blocks = (b->rows + BLOCK - 1) / BLOCK, n = b->n;
  for (int k = 1, at = 0; k < 3; k++) {
    if (!b->want[k]) continue;
    heed_kernel.sum_parts[b->dtype](
        end - begin, blocks, (int64_t)(b->pitch / b->size),
        b->part + (size_t)(at * n + begin) * b->size,
        row_at(b->call->out[k], begin, b->size));
    at++;
  }
}

static bool norm_bwd_fwd(heed_call *c) {
  backward b = {.call = c, .dtype = c->in[1]->dtype,
                .size = heed_dtype_size(c->in[1]->dtype),
                .rows = heed_tensor_numel(c->in[2]),
                .n = heed_shape_numel(&c->attr[0].list)};
  for (int k = 0; k < 3; k++) b.want[k] = c->attr[1 + k].i;
  int64_t blocks = (b.rows + BLOCK - 1) / BLOCK;
  b.pitch = (size_t)b.n * b.size * (size_t)(b.want[1] + b.want[2]);
  size_t bytes = b.pitch * (size_t)blocks;
  b.part = heed_mem_alloc(bytes);
  if (!b.part) return false;
  int64_t block_size = BLOCK * (b.n > 0 ? b.n : 1);
  heed_parallel(blocks, (GRAIN + block_size - 1) / block_size,
                backward_blocks, &b);
  heed_parallel(b.n, GRAIN / (blocks > 0 ? blocks : 1), add_blocks, &b);
  heed_mem_free(b.part, bytes);
  return true;
}
const heed_rule heed_rule_norm_bwd = {.check = norm_bwd_check,
                                      .forward = norm_bwd_fwd};
