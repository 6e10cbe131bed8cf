/*
 * linalg_factor - Cholesky and QR. Layer: ops. Read first: lapack.h.
 *
 * Gradients: Giles, "An extended collection of matrix derivative results for
 * forward and reverse mode algorithmic differentiation" (2008); Murray,
 * "Differentiation of the Cholesky decomposition" (2016); Seeger et al.,
 * "Auto-differentiating linear algebra" (2017); Roberts and Roberts, "QR and
 * LQ decomposition matrix backpropagation algorithms" (2020).
 */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "ops/copy.h"
#include "ops/lapack.h"

/* Solves a x = b for a triangular a, or x a = b when not `left`. */
static heed_tensor *divide(heed_rule_call *r, heed_tensor *a, heed_tensor *b,
                           bool upper, bool left) {
  heed_attr attr[3] = {{.i = upper}, {.i = left}, {.i = false}};
  return heed_do2_with(r, HEED_OP_solve_triangular, a, b, attr);
}

/* The symmetric matrix with one triangle of m: the upper one, or the lower. */
static heed_tensor *mirror(heed_rule_call *r, heed_tensor *m, bool upper) {
  heed_op_id op = upper ? HEED_OP_triu : HEED_OP_tril;
  heed_tensor *side = heed_do1_with(r, op, m, &(heed_attr){.i = 0});
  heed_tensor *beside = heed_do1_with(r, op, m,
                                      &(heed_attr){.i = upper ? 1 : -1});
  return heed_do2(r, HEED_OP_add, side, heed_turn(r, beside));
}

/* ---- Cholesky ------------------------------------------------------------ */

/* Zeros on the other side of the diagonal. */
static void clear_side(heed_dtype dtype, bool upper, int64_t n, char *a) {
  size_t size = heed_dtype_size(dtype);
  for (int64_t i = 0; i < n; i++) {
    if (upper) memset(a + (size_t)(i * n) * size, 0, (size_t)i * size);
    else
      memset(a + (size_t)(i * n + i + 1) * size, 0,
             (size_t)(n - i - 1) * size);
  }
}

/***
The lower triangular L with x = L L^T, of symmetric positive definite matrices.
Only one triangle of x is looked at; its gradient is symmetric.
@function cholesky
@param x float tensor (..., n, n)
@param upper look at the upper triangle, and give U with x = U^T U; false by
default
@return tensor like x
@raise when a matrix is not positive definite, or has a NaN or an infinity
@usage heed.linalg.cholesky(heed.tensor{{4.0, 2.0}, {2.0, 5.0}}) --> 2 0, 1 2
*/
static bool cholesky_fwd(heed_call *c) {
  heed_batch b;
  heed_tensor *y = c->out[0];
  bool upper = c->attr[0].i, ok = true;
  if (!heed_batch_square(c, 0, &b) || !heed_batch_read(c, 0, &b, y))
    return false;
  int before = heed_lapack_begin(c->op->name);
  ok = before != 0;
  for (int64_t k = 0; ok && b.rows > 0 && k < b.count; k++) {
    void *a = heed_batch_at(&b, y, k);
    int info = heed_potrf(y->dtype, !upper, b.rows, a);
    clear_side(y->dtype, upper, b.rows, a);
    ok = info == 0 ||
         heed_fail("cholesky: %s is not positive definite: its leading minor "
                   "of order %d is not positive", heed_batch_name(c, 0, k),
                   info);
  }
  heed_lapack_end(before);
  return ok;
}
static bool cholesky_bwd(heed_rule_call *r) {
  /* dx = L^-T S L^-1, with S the symmetric matrix whose lower triangle is
     half of that of L^T dL */
  heed_tensor *low = heed_kept_out(r, 0), *g = r->grad[0];
  if (r->attr[0].i) {
    low = heed_turn(r, low);
    g = heed_turn(r, g);
  }
  heed_tensor *up = heed_turn(r, low), *p = heed_times(r, up, g);
  heed_tensor *s = heed_do2(r, HEED_OP_mul, mirror(r, p, false),
                            heed_number(r, 0.5));
  return heed_give(r, 0, divide(r, low, divide(r, up, s, true, true), false,
                                false));
}
const heed_rule heed_rule_cholesky = {
    .check = heed_batch_check, .forward = cholesky_fwd,
    .backward = cholesky_bwd, .keep_out = {HEED_ALWAYS}};

/* ---- QR ------------------------------------------------------------------ */

enum { REDUCED, COMPLETE };

/***
Q with orthonormal columns, and an upper triangular R, with x = Q R.
With "complete", Q is square; then the gradient is defined only for matrices
that have no more rows than columns. For a gradient, the first min(m, n)
columns of x must be linearly independent.
@function qr
@param x float tensor (..., m, n)
@param mode "reduced" (Q has min(m, n) columns) by default, or "complete"
@return tensor Q (..., m, min(m, n)) or (..., m, m)
@return tensor R (..., min(m, n), n) or (..., m, n)
@raise when a matrix has a NaN or an infinity
@usage local q, r = heed.linalg.qr(heed.ones(3, 2)) --> shape (3, 2)
*/
static bool qr_check(heed_call *c) {
  heed_batch b;
  if (!heed_batch_of(c, 0, &b)) return false;
  bool complete = c->attr[0].i == COMPLETE;
  heed_shape q = heed_batch_sizes(c, 0, 2), r = q;
  q.dim[q.ndim++] = b.rows;
  q.dim[q.ndim++] = r.dim[r.ndim++] = complete ? b.rows : b.least;
  r.dim[r.ndim++] = b.columns;
  if (complete && b.rows > b.columns && c->need)
    return heed_fail("qr: x %s has more rows than columns: with mode "
                     "\"complete\", Q has no gradient",
                     heed_shape_text(&c->in[0]->shape));
  heed_out(c, 0, c->in[0]->dtype, &q);
  heed_out(c, 1, c->in[0]->dtype, &r);
  return true;
}

/* LAPACK has x^T before it, whose LQ factors are R^T and Q^T. */
static bool factor(heed_call *c, const heed_batch *b, heed_tensor *own,
                   heed_work *w, void *tau) {
  size_t size = heed_dtype_size(own->dtype);
  size_t n = (size_t)b->columns * size;
  heed_tensor *q = c->out[0], *r = c->out[1];
  int columns = (int)q->shape.dim[q->shape.ndim - 1];
  size_t row = (size_t)columns * size;
  size_t q_bytes = (size_t)b->rows * row, r_bytes = (size_t)columns * n;
  for (int64_t k = 0; k < b->count; k++) {
    char *a = heed_batch_at(b, own, k);
    char *to = (char *)heed_tensor_data(q) + (size_t)k * q_bytes;
    char *up = (char *)heed_tensor_data(r) + (size_t)k * r_bytes;
    if (b->least > 0) heed_gelqf(w, b->columns, b->rows, a, tau);
    memset(up, 0, r_bytes);
    for (size_t i = 0; i < (size_t)b->least; i++)
      memcpy(up + i * n + i * size, a + i * n + i * size, n - i * size);
    for (size_t i = 0; i < (size_t)b->rows; i++)
      memcpy(to + i * row, a + i * n, (size_t)b->least * size);
    if (columns > 0)
      heed_orglq(w, columns, b->rows, b->least, to, tau);
  }
  return true;
}
static bool qr_fwd(heed_call *c) {
  heed_batch b;
  heed_tensor *x = c->in[0];
  if (!heed_batch_of(c, 0, &b)) return false;
  heed_tensor *own = heed_tensor_new("qr", x->dtype, &x->shape);
  size_t bytes = (size_t)b.least * sizeof(double);
  void *tau = own ? heed_mem_alloc(bytes) : NULL;
  heed_work w = {.op = c->op->name, .dtype = x->dtype};
  bool ok = tau && heed_batch_read(c, 0, &b, own);
  if (ok) {
    int before = heed_lapack_begin(c->op->name);
    int columns = (int)c->out[0]->shape.dim[c->out[0]->shape.ndim - 1];
    if (b.least > 0) heed_gelqf(&w, b.columns, b.rows, NULL, NULL);
    if (columns > 0) heed_orglq(&w, columns, b.rows, b.least, NULL, NULL);
    ok = before && heed_work_alloc(&w) && factor(c, &b, own, &w, tau);
    heed_lapack_end(before);
    heed_work_free(&w);
  }
  heed_mem_free(tau, bytes);
  heed_tensor_drop(own);
  return ok;
}

/* The gradient of the square or tall part of x:
     (dQ + Q S) R^-T, with S symmetric, its upper triangle that of
     dR R^T - Q^T dQ. */
static heed_tensor *tall_gradient(heed_rule_call *r, heed_tensor *q,
                                  heed_tensor *up, heed_tensor *gq,
                                  heed_tensor *gr) {
  heed_tensor *m = gr ? heed_times(r, gr, heed_turn(r, up)) : NULL;
  if (gq) {
    heed_tensor *p = heed_times(r, heed_turn(r, q), gq);
    m = gr ? heed_do2(r, HEED_OP_sub, m, p) : heed_do1(r, HEED_OP_neg, p);
  }
  heed_tensor *sum = heed_times(r, q, mirror(r, m, true));
  if (gq) sum = heed_do2(r, HEED_OP_add, gq, sum);
  return divide(r, heed_turn(r, up), sum, false, false);
}

/* Columns first .. last, from 0, of matrices. */
static heed_tensor *columns(heed_rule_call *r, heed_tensor *t, int64_t first,
                            int64_t last) {
  heed_attr attr[4] = {{.i = -1}, {.i = first}, {.i = last}, {.i = 1}};
  return heed_do1_with(r, HEED_OP_slice, t, attr);
}

static bool qr_bwd(heed_rule_call *r) {
  const heed_shape *x = heed_in_shape(r, 0);
  int64_t m = x->dim[x->ndim - 2], n = x->dim[x->ndim - 1];
  heed_tensor *q = heed_kept_out(r, 0), *up = heed_kept_out(r, 1);
  heed_tensor *gq = r->grad[0], *gr = r->grad[1];
  if (heed_shape_numel(x) == 0) return heed_give(r, 0, heed_grad_zeros(r, 0));
  if (m >= n) return heed_give(r, 0, tall_gradient(r, q, up, gq, gr));
  /* wide: x = [x1 x2] with x1 = Q R1 and R2 = Q^T x2 */
  heed_tensor *right = NULL;
  if (gr) {
    heed_tensor *g2 = columns(r, gr, m, n - 1);
    right = heed_times(r, q, g2);
    /* through Q: x2 dR2^T, with x2 = Q R2 */
    heed_tensor *x2 = heed_times(r, q, columns(r, up, m, n - 1));
    heed_tensor *more = heed_times(r, x2, heed_turn(r, g2));
    gq = gq ? heed_do2(r, HEED_OP_add, gq, more) : more;
    gr = columns(r, gr, 0, m - 1);
  }
  heed_tensor *left = tall_gradient(r, q, columns(r, up, 0, m - 1), gq, gr);
  if (!right) {
    right = heed_grad_zeros(r, 0);
    right = columns(r, right, m, n - 1);
  }
  return heed_give(r, 0, heed_do2_with(r, HEED_OP_cat, left, right,
                                       &(heed_attr){.i = -1}));
}
const heed_rule heed_rule_qr = {
    .check = qr_check, .forward = qr_fwd, .backward = qr_bwd,
    .keep_out = {HEED_ALWAYS, HEED_ALWAYS}};
