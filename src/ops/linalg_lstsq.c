/*
 * linalg_lstsq - pseudo-inverses and least squares. Layer: ops.
 * Read first: lapack.h.
 *
 * Gradients: Golub and Pereyra, "The differentiation of pseudo-inverses and
 * nonlinear least squares problems whose variables separate" (1973).
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "ops/copy.h"
#include "ops/gemm.h"
#include "ops/lapack.h"

/* Values below this part of the largest one count as 0. */
static double default_rtol(const heed_tensor *x, const heed_batch *b) {
  double eps = x->dtype == HEED_FLOAT64 ? DBL_EPSILON : (double)FLT_EPSILON;
  return eps * (b->rows > b->columns ? b->rows : b->columns);
}

/* With P the pseudo-inverse of x, and g its gradient:
     dx = -P^T g P^T + (I - x P) g^T P P^T + P^T P g^T (I - P x) */
static heed_tensor *pinv_gradient(heed_rule_call *r, heed_tensor *x,
                                  heed_tensor *p, heed_tensor *g) {
  heed_tensor *pt = heed_turn(r, p), *gt = heed_turn(r, g);
  heed_tensor *sum = heed_do1(
      r, HEED_OP_neg, heed_times(r, heed_times(r, pt, g), pt));
  heed_tensor *u = heed_times(r, heed_times(r, gt, p), pt);
  sum = heed_do2(r, HEED_OP_add, sum, u);
  sum = heed_do2(r, HEED_OP_sub, sum,
                 heed_times(r, x, heed_times(r, p, u)));
  heed_tensor *v = heed_times(r, pt, heed_times(r, p, gt));
  sum = heed_do2(r, HEED_OP_add, sum, v);
  return heed_do2(r, HEED_OP_sub, sum,
                  heed_times(r, heed_times(r, v, p), x));
}

/* ---- pseudo-inverse ------------------------------------------------------ */

/***
The pseudo-inverses (Moore and Penrose) of matrices. Singular values up to
max(atol, rtol * the largest one) count as 0.
@function pinv
@param x float tensor (..., m, n)
@param atol not negative, 0 by default
@param rtol not negative; by default 0 when atol is given, else max(m, n) times
the dtype's epsilon
@return tensor (..., n, m)
@raise when a matrix has a NaN or an infinity
@usage heed.linalg.pinv(heed.tensor{{2.0}, {0.0}}) --> 0.5 0
*/
static bool pinv_check(heed_call *c) {
  heed_batch b;
  if (!heed_batch_of(c, 0, &b)) return false;
  for (int k = 0; k < 2; k++)
    if (c->attr[k].f < 0 || (k == 0 && isnan(c->attr[k].f)))
      return heed_fail("pinv: %s must not be negative, got %g",
                       k ? "rtol" : "atol", c->attr[k].f);
  heed_shape shape = heed_batch_sizes(c, 0, 2);
  shape.dim[shape.ndim++] = b.columns;
  shape.dim[shape.ndim++] = b.rows;
  heed_out(c, 0, c->in[0]->dtype, &shape);
  return true;
}

/* Row i of vh over value i, or 0. */
static void invert(heed_dtype dtype, int64_t k, int64_t n, void *vh,
                   const void *s, double atol, double rtol) {
  for (int64_t i = 0; i < k; i++) {
    if (dtype == HEED_FLOAT64) {
      const double *value = s;
      bool zero = value[i] <= fmax(atol, rtol * value[0]);
      for (double *v = (double *)vh + i * n, *end = v + n; v < end; v++)
        *v = zero ? 0 : *v / value[i];
    } else {
      const float *value = s;
      bool zero = (double)value[i] <= fmax(atol, rtol * (double)value[0]);
      for (float *v = (float *)vh + i * n, *end = v + n; v < end; v++)
        *v = zero ? 0 : *v / value[i];
    }
  }
}
static bool pinv_fwd(heed_call *c) {
  heed_batch b;
  heed_tensor *x = c->in[0], *y = c->out[0];
  if (!heed_batch_of(c, 0, &b)) return false;
  if (b.least == 0) return true;
  double atol = c->attr[0].f, rtol = c->attr[1].f;
  if (isnan(rtol)) rtol = atol > 0 ? 0 : default_rtol(x, &b);
  size_t size = heed_dtype_size(x->dtype), least = (size_t)b.least;
  size_t nu = (size_t)b.rows * least * size;
  size_t nv = (size_t)b.columns * least * size;
  size_t bytes = nu + nv + least * size;
  heed_tensor *own = heed_tensor_new("pinv", x->dtype, &x->shape);
  char *u = own ? heed_mem_alloc(bytes) : NULL;
  heed_work w = {.op = c->op->name, .dtype = x->dtype};
  int before = u ? heed_lapack_begin(c->op->name) : 0;
  heed_gesdd(&w, 'S', b.columns, b.rows, NULL, NULL, NULL, NULL);
  bool ok = before && heed_batch_read(c, 0, &b, own) && heed_work_alloc(&w);
  for (int64_t k = 0; ok && k < b.count; k++) {
    char *vh = u + nu, *s = vh + nv;
    /* LAPACK has x^T before it */
    ok = heed_gesdd(&w, 'S', b.columns, b.rows, heed_batch_at(&b, own, k), s,
                    vh, u) == 0 ||
         heed_fail("pinv: the singular values of %s did not converge",
                   heed_batch_name(c, 0, k));
    if (!ok) break;
    invert(x->dtype, b.least, b.columns, vh, s, atol, rtol);
    /* V S^-1 U^T */
    ok = heed_gemm(x->dtype, b.columns, b.rows, b.least,
                   (heed_matrix){vh, 1, b.columns},
                   (heed_matrix){u, 1, b.least}, heed_batch_at(&b, y, k),
                   b.rows, false);
  }
  heed_lapack_end(before);
  heed_work_free(&w);
  heed_mem_free(u, bytes);
  heed_tensor_drop(own);
  return ok;
}
static bool pinv_bwd(heed_rule_call *r) {
  return heed_give(r, 0, pinv_gradient(r, heed_in(r, 0), heed_kept_out(r, 0),
                                       r->grad[0]));
}
const heed_rule heed_rule_pinv = {
    .check = pinv_check, .forward = pinv_fwd, .backward = pinv_bwd,
    .keep = {HEED_ALWAYS}, .keep_out = {HEED_ALWAYS}};

/* ---- least squares ------------------------------------------------------- */

/***
The x of least norm among those that make the norm of a x - b least.
@function lstsq
@param a float tensor (..., m, n)
@param b tensor (..., m, k) with the same other sizes
@param rcond singular values of a up to this part of the largest one count as
0; by default max(m, n) times the dtype's epsilon
@return tensor (..., n, k)
@return int64 tensor (...): the ranks of a
@return tensor (..., min(m, n)): the singular values of a
@raise when a matrix of a has a NaN or an infinity, or sizes do not fit
@usage local x = heed.core.ops.lstsq(heed.ones(2, 1), heed.ones(2, 1)) --> 1
*/
static bool lstsq_check(heed_call *c) {
  heed_batch a, b;
  if (!heed_batch_of(c, 0, &a) || !heed_batch_of(c, 1, &b)) return false;
  const heed_shape *p = &c->in[0]->shape, *q = &c->in[1]->shape;
  heed_shape batch = heed_batch_sizes(c, 0, 2);
  heed_shape other = heed_batch_sizes(c, 1, 2);
  if (!heed_shape_equal(&batch, &other) || a.rows != b.rows)
    return heed_fail("lstsq: a %s and b %s must agree in all sizes but the "
                     "last", heed_shape_text(p), heed_shape_text(q));
  if (c->attr[0].f < 0)
    return heed_fail("lstsq: rcond must not be negative, got %g",
                     c->attr[0].f);
  heed_shape x = batch, s = batch;
  x.dim[x.ndim++] = a.columns;
  x.dim[x.ndim++] = b.columns;
  s.dim[s.ndim++] = a.least;
  heed_out(c, 0, c->in[0]->dtype, &x);
  heed_out(c, 1, HEED_INT64, &batch);
  heed_out(c, 2, c->in[0]->dtype, &s);
  return true;
}

/* A new tensor (.., columns, rows) for (.., rows, columns). */
static heed_tensor *new_turned(const heed_tensor *like, int64_t rows,
                               int64_t columns) {
  heed_shape shape = like->shape;
  shape.dim[shape.ndim - 2] = columns;
  shape.dim[shape.ndim - 1] = rows;
  return heed_tensor_new("lstsq", like->dtype, &shape);
}

/* Solves for all matrices; `left` and `right` hold them column by column. */
static bool solve_all(heed_call *c, const heed_batch *a, heed_tensor *left,
                      heed_tensor *right) {
  heed_dtype dtype = left->dtype;
  size_t size = heed_dtype_size(dtype);
  double rcond = c->attr[0].f;
  if (isnan(rcond)) rcond = default_rtol(left, a);
  int ndim = right->shape.ndim, rank;
  int columns = (int)right->shape.dim[ndim - 2];
  size_t bytes = (size_t)right->shape.dim[ndim - 1] * (size_t)columns * size;
  heed_work w = {.op = c->op->name, .dtype = dtype};
  heed_gelsd(&w, a->rows, a->columns, columns, NULL, NULL, NULL, rcond, &rank);
  bool ok = heed_work_alloc(&w);
  for (int64_t k = 0; ok && k < a->count; k++) {
    size_t i = (size_t)k;
    void *s = (char *)heed_tensor_data(c->out[2]) +
              i * (size_t)a->least * size;
    ok = heed_gelsd(&w, a->rows, a->columns, columns,
                    heed_batch_at(a, left, k),
                    (char *)heed_tensor_data(right) + i * bytes, s, rcond,
                    &rank) == 0 ||
         heed_fail("lstsq: the singular values of %s did not converge",
                   heed_batch_name(c, 0, k));
    ((int64_t *)heed_tensor_data(c->out[1]))[k] = rank;
  }
  heed_work_free(&w);
  return ok;
}
static bool lstsq_fwd(heed_call *c) {
  heed_batch a;
  heed_tensor *x = c->out[0], *b = c->in[1];
  if (!heed_batch_of(c, 0, &a)) return false;
  int64_t columns = b->shape.dim[b->shape.ndim - 1];
  if (a.least == 0) {
    memset(heed_tensor_data(x), 0, x->storage->bytes);
    memset(heed_tensor_data(c->out[1]), 0, c->out[1]->storage->bytes);
    return true;
  }
  int64_t longest = a.rows > a.columns ? a.rows : a.columns;
  heed_tensor *own = heed_tensor_new("lstsq", x->dtype, &c->in[0]->shape);
  heed_tensor *left = new_turned(x, a.rows, a.columns);
  heed_tensor *right = new_turned(x, longest, columns);
  bool ok = own && left && right && heed_batch_read(c, 0, &a, own);
  if (ok) {
    heed_tensor turned = heed_batch_turned(left);
    heed_copy(&turned, own);
    turned = heed_batch_turned(right);
    turned.shape.dim[turned.shape.ndim - 2] = a.rows;
    heed_copy(&turned, b);
    int before = heed_lapack_begin(c->op->name);
    ok = before && solve_all(c, &a, left, right);
    heed_lapack_end(before);
    turned.shape.dim[turned.shape.ndim - 2] = a.columns;
    if (ok) heed_copy(x, &turned);
  }
  heed_tensor_drop(right);
  heed_tensor_drop(left);
  heed_tensor_drop(own);
  return ok;
}
static bool lstsq_bwd(heed_rule_call *r) {
  /* x = P b: db = P^T dx, dP = dx b^T */
  heed_tensor *g = heed_grad_of(r, 0), *a = heed_in(r, 0);
  heed_attr attr[2] = {{.f = 0}, r->attr[0]};
  heed_tensor *p = heed_do1_with(r, HEED_OP_pinv, a, attr);
  if (heed_needs(r, 1) &&
      !heed_give(r, 1, heed_times(r, heed_turn(r, p), g)))
    return false;
  if (!heed_needs(r, 0)) return true;
  heed_tensor *b = heed_turn(r, heed_in(r, 1));
  heed_tensor *ga = pinv_gradient(r, a, p, heed_times(r, g, b));
  if (r->grad[2])
    ga = heed_do2(r, HEED_OP_add, ga, heed_values_gradient(r, a, r->grad[2]));
  return heed_give(r, 0, ga);
}
const heed_rule heed_rule_lstsq = {
    .check = lstsq_check, .forward = lstsq_fwd, .backward = lstsq_bwd,
    .keep = {HEED_ALWAYS, HEED_NEED(0)}, .promote = true};
