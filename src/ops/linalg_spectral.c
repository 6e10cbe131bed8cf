/*
 * linalg_spectral - singular values, and eigenvalues of symmetric matrices.
 * Layer: ops. Read first: lapack.h.
 *
 * Gradients: Giles, "An extended collection of matrix derivative results for
 * forward and reverse mode algorithmic differentiation" (2008); Townsend,
 * "Differentiating the singular value decomposition" (2016); Seeger et al.,
 * "Auto-differentiating linear algebra" (2017). Those through vectors divide
 * by differences of values: equal ones have no unique vectors and give
 * infinities or NaN, while the gradient through the values alone is fine.
 */
#include <string.h>

#include "base/error.h"
#include "ops/copy.h"
#include "ops/lapack.h"

/* ---- short calls of rules ------------------------------------------------ */

static heed_tensor *as_row(heed_rule_call *r, heed_tensor *t) {
  return heed_unsqueeze(r, t, -2);
}
static heed_tensor *as_column(heed_rule_call *r, heed_tensor *t) {
  return heed_unsqueeze(r, t, -1);
}
static heed_tensor *add(heed_rule_call *r, heed_tensor *a, heed_tensor *b) {
  return heed_do2(r, HEED_OP_add, a, b);
}
static heed_tensor *sub(heed_rule_call *r, heed_tensor *a, heed_tensor *b) {
  return heed_do2(r, HEED_OP_sub, a, b);
}
static heed_tensor *mul(heed_rule_call *r, heed_tensor *a, heed_tensor *b) {
  return heed_do2(r, HEED_OP_mul, a, b);
}
static heed_tensor *on_diagonal(heed_rule_call *r, heed_tensor *t) {
  return heed_do1(r, HEED_OP_diag_embed, t);
}

/* v_j - v_i at row i, column j, for values v [.. n]; 1 on the diagonal. */
static heed_tensor *gaps(heed_rule_call *r, heed_tensor *v) {
  if (!v) return NULL;
  heed_attr eye[4] = {{.i = v->shape.dim[v->shape.ndim - 1]}, {.i = -1},
                      {.i = v->dtype}, {.i = false}};
  return add(r, sub(r, as_row(r, v), as_column(r, v)),
             heed_do(r, heed_op_at(HEED_OP_eye), NULL, 0, eye));
}

/* m - m^T, over the gaps. */
static heed_tensor *skew_over(heed_rule_call *r, heed_tensor *m,
                              heed_tensor *gap) {
  return heed_do2(r, HEED_OP_div, sub(r, m, heed_turn(r, m)), gap);
}

/* ---- singular values ----------------------------------------------------- */

static void set_identity(heed_tensor *t, int64_t count, int64_t n) {
  memset(heed_tensor_data(t), 0, t->storage->bytes);
  for (int64_t k = 0; k < count; k++)
    for (int64_t i = 0; i < n; i++)
      heed_real_store(t->dtype, heed_tensor_data(t),
                      k * n * n + i * (n + 1), 1);
}

/* Fills u, s and vh (or only s) for all matrices of input 0. LAPACK has x^T
   before it, so that its U is our V, and its V^T our U^T. */
static bool decompose(heed_call *c, char job, heed_tensor *u, heed_tensor *s,
                      heed_tensor *vh) {
  heed_batch b;
  heed_tensor *x = c->in[0];
  if (!heed_batch_of(c, 0, &b)) return false;
  if (b.least == 0) {
    if (u && job == 'A') set_identity(u, b.count, b.rows);
    if (vh && job == 'A') set_identity(vh, b.count, b.columns);
    return true;
  }
  heed_tensor *own = heed_tensor_new(c->op->name, x->dtype, &x->shape);
  if (!own) return false;
  heed_work w = {.op = c->op->name, .dtype = x->dtype};
  size_t size = heed_dtype_size(x->dtype);
  size_t nu = (size_t)(job == 'A' ? b.rows : b.least) * size;
  size_t nv = (size_t)(job == 'A' ? b.columns : b.least) * size;
  bool ok = heed_batch_read(c, 0, &b, own);
  int before = ok ? heed_lapack_begin(c->op->name) : 0;
  heed_gesdd(&w, job, b.columns, b.rows, NULL, NULL, NULL, NULL);
  ok = before && heed_work_alloc(&w);
  for (int64_t k = 0; ok && k < b.count; k++) {
    size_t i = (size_t)k;
    char *to_u = u ? (char *)heed_tensor_data(u) + i * nu * (size_t)b.rows
                   : NULL;
    char *to_vh = vh ? (char *)heed_tensor_data(vh) +
                           i * nv * (size_t)b.columns
                     : NULL;
    char *to_s = (char *)heed_tensor_data(s) + i * (size_t)b.least * size;
    ok = heed_gesdd(&w, job, b.columns, b.rows, heed_batch_at(&b, own, k),
                    to_s, to_vh, to_u) == 0 ||
         heed_fail("%s: the singular values of %s did not converge",
                   c->op->name, heed_batch_name(c, 0, k));
  }
  heed_lapack_end(before);
  heed_work_free(&w);
  heed_tensor_drop(own);
  return ok;
}

/***
The singular value decomposition x = U diag(S) Vh. The sign of a pair of
vectors is free, and so are vectors of equal values; gradients through U and
Vh want values that all differ (and, of tall or wide x, are not 0), those
through S alone do not. Columns of U and rows of Vh beyond the first min(m, n)
have no gradient.
@function svd
@param x float tensor (..., m, n)
@param full_matrices square U and Vh, true by default; else min(m, n) vectors
@return tensor U (..., m, m) or (..., m, min(m, n))
@return tensor S (..., min(m, n)), from the largest down
@return tensor Vh (..., n, n) or (..., min(m, n), n)
@raise when a matrix has a NaN or an infinity
@usage local u, s = heed.linalg.svd(heed.eye(2) * 3); return s --> 3 3
*/
static bool svd_check(heed_call *c) {
  heed_batch b;
  if (!heed_batch_of(c, 0, &b)) return false;
  bool full = c->attr[0].i;
  heed_dtype dtype = c->in[0]->dtype;
  heed_shape u = heed_batch_sizes(c, 0, 2), s = u, vh = u;
  u.dim[u.ndim++] = b.rows;
  u.dim[u.ndim++] = full ? b.rows : b.least;
  s.dim[s.ndim++] = b.least;
  vh.dim[vh.ndim++] = full ? b.columns : b.least;
  vh.dim[vh.ndim++] = b.columns;
  heed_out(c, 0, dtype, &u);
  heed_out(c, 1, dtype, &s);
  heed_out(c, 2, dtype, &vh);
  return true;
}
static bool svd_fwd(heed_call *c) {
  return decompose(c, c->attr[0].i ? 'A' : 'S', c->out[0], c->out[1],
                   c->out[2]);
}

/* The first n of the last dimension (axis -1), or of the one before. */
static heed_tensor *first(heed_rule_call *r, heed_tensor *t, int axis,
                          int64_t n) {
  if (!t || t->shape.dim[t->shape.ndim + axis] == n) return t;
  heed_attr attr[4] = {{.i = axis}, {.i = 0}, {.i = n - 1}, {.i = 1}};
  return heed_do1_with(r, HEED_OP_slice, t, attr);
}

/* The part of g that does not lie in the space of the columns of q, over the
   singular values: (g - q q^T g) / s. */
static heed_tensor *outside(heed_rule_call *r, heed_tensor *g, heed_tensor *q,
                            heed_tensor *s) {
  heed_tensor *in = heed_times(r, q, heed_times(r, heed_turn(r, q), g));
  return heed_do2(r, HEED_OP_div, sub(r, g, in), as_row(r, s));
}

/* With M = skew(U^T dU) / E, N = skew(V^T dV) / E, E_ij = s_j^2 - s_i^2:
     U (M S + S N + diag(ds)) V^T
     + ((I - U U^T) dU S^-1) V^T + U (S^-1 dV^T (I - V V^T)) */
static bool svd_bwd(heed_rule_call *r) {
  const heed_shape *x = heed_in_shape(r, 0);
  int64_t m = x->dim[x->ndim - 2], n = x->dim[x->ndim - 1];
  int64_t k = m < n ? m : n;
  if (heed_shape_numel(x) == 0) return heed_give(r, 0, heed_grad_zeros(r, 0));
  heed_tensor *u = first(r, heed_kept_out(r, 0), -1, k);
  heed_tensor *s = heed_kept_out(r, 1);
  heed_tensor *vh = first(r, heed_kept_out(r, 2), -2, k);
  heed_tensor *gu = first(r, r->grad[0], -1, k), *gs = r->grad[1];
  heed_tensor *gvh = first(r, r->grad[2], -2, k);
  heed_tensor *inner = gs ? on_diagonal(r, gs) : NULL, *gap = NULL;
  heed_tensor *sum = NULL;
  if (gu || gvh) gap = gaps(r, mul(r, s, s));
  if (gu) {
    heed_tensor *p = heed_times(r, heed_turn(r, u), gu);
    p = mul(r, skew_over(r, p, gap), as_row(r, s));
    inner = inner ? add(r, inner, p) : p;
  }
  if (gvh) {
    heed_tensor *p = heed_times(r, vh, heed_turn(r, gvh));
    p = mul(r, as_column(r, s), skew_over(r, p, gap));
    inner = inner ? add(r, inner, p) : p;
  }
  sum = heed_times(r, heed_times(r, u, inner), vh);
  if (gu && m > k)
    sum = add(r, sum, heed_times(r, outside(r, gu, u, s), vh));
  if (gvh && n > k) {
    heed_tensor *v = heed_turn(r, vh);
    heed_tensor *p = outside(r, heed_turn(r, gvh), v, s);
    sum = add(r, sum, heed_times(r, u, heed_turn(r, p)));
  }
  return heed_give(r, 0, sum);
}
const heed_rule heed_rule_svd = {
    .check = svd_check, .forward = svd_fwd, .backward = svd_bwd,
    .keep_out = {HEED_ALWAYS, HEED_ALWAYS, HEED_ALWAYS}};

/***
The singular values of matrices, from the largest down. Differentiable, also
where some are equal.
@function svdvals
@param x float tensor (..., m, n)
@return tensor (..., min(m, n))
@raise when a matrix has a NaN or an infinity
@usage heed.linalg.svdvals(heed.tensor{{0.0, 2.0}, {1.0, 0.0}}) --> 2 1
*/
static bool svdvals_check(heed_call *c) {
  heed_batch b;
  if (!heed_batch_of(c, 0, &b)) return false;
  heed_shape s = heed_batch_sizes(c, 0, 2);
  s.dim[s.ndim++] = b.least;
  heed_out(c, 0, c->in[0]->dtype, &s);
  return true;
}
static bool svdvals_fwd(heed_call *c) {
  return decompose(c, 'N', NULL, c->out[0], NULL);
}
heed_tensor *heed_values_gradient(heed_rule_call *r, heed_tensor *x,
                                  heed_tensor *g) {
  heed_tensor *out[3];
  if (!x || !heed_do_all(r, heed_op_at(HEED_OP_svd), &x, 1,
                         &(heed_attr){.i = false}, out))
    return NULL;
  return heed_times(r, mul(r, out[0], as_row(r, g)), out[2]);
}
static bool svdvals_bwd(heed_rule_call *r) {
  return heed_give(r, 0, heed_values_gradient(r, heed_in(r, 0), r->grad[0]));
}
const heed_rule heed_rule_svdvals = {
    .check = svdvals_check, .forward = svdvals_fwd, .backward = svdvals_bwd,
    .keep = {HEED_ALWAYS}};

/* ---- eigenvalues of symmetric matrices ----------------------------------- */

enum { LOWER, UPPER };

/* The values, and in `own` one vector a row. */
static bool diagonalise(heed_call *c, const heed_batch *b, heed_tensor *own,
                        bool vectors) {
  heed_tensor *values = c->out[0];
  if (!heed_batch_read(c, 0, b, own)) return false;
  if (b->rows == 0) return true;
  heed_work w = {.op = c->op->name, .dtype = own->dtype};
  size_t row = (size_t)b->rows * heed_dtype_size(own->dtype);
  /* the lower triangle is the upper one of LAPACK's matrix */
  bool upper = c->attr[0].i == LOWER, ok = true;
  int before = heed_lapack_begin(c->op->name);
  heed_syevd(&w, vectors, upper, b->rows, NULL, NULL);
  ok = before && heed_work_alloc(&w);
  for (int64_t k = 0; ok && k < b->count; k++)
    ok = heed_syevd(&w, vectors, upper, b->rows, heed_batch_at(b, own, k),
                    (char *)heed_tensor_data(values) + (size_t)k * row) == 0 ||
         heed_fail("%s: the eigenvalues of %s did not converge", c->op->name,
                   heed_batch_name(c, 0, k));
  heed_lapack_end(before);
  heed_work_free(&w);
  return ok;
}

/***
The eigenvalues and eigenvectors of symmetric matrices: x = V diag(w) V^T.
Only one triangle of x is looked at; its gradient is symmetric. The sign of a
vector is free, and so are vectors of equal values; the gradient through V
wants values that all differ, that through w alone does not.
@function eigh
@param x float tensor (..., n, n)
@param UPLO which triangle is looked at, "L" by default or "U"
@return tensor w (..., n), from the smallest up
@return tensor V (..., n, n), one vector a column
@raise when a matrix has a NaN or an infinity
@usage local w, v = heed.linalg.eigh(heed.tensor{{2.0, 1.0}, {1.0, 2.0}})
return w --> 1 3
*/
static bool eigh_check(heed_call *c) {
  heed_batch b;
  if (!heed_batch_square(c, 0, &b)) return false;
  heed_shape w = heed_batch_sizes(c, 0, 1);
  heed_out(c, 0, c->in[0]->dtype, &w);
  heed_out_like(c, 1, c->in[0]);
  return true;
}
static bool eigh_fwd(heed_call *c) {
  heed_batch b;
  heed_tensor *x = c->in[0];
  if (!heed_batch_square(c, 0, &b)) return false;
  heed_tensor *own = heed_tensor_new("eigh", x->dtype, &x->shape);
  bool ok = own && diagonalise(c, &b, own, true);
  if (ok) {
    heed_tensor columns = heed_batch_turned(own);
    heed_copy(c->out[1], &columns);
  }
  heed_tensor_drop(own);
  return ok;
}
static bool eigh_bwd(heed_rule_call *r) {
  /* V (diag(dw) + skew(V^T dV) / (2 E)) V^T, with E_ij = w_j - w_i */
  heed_tensor *w = heed_kept_out(r, 0), *v = heed_kept_out(r, 1);
  heed_tensor *gw = r->grad[0], *gv = r->grad[1];
  heed_tensor *inner = gw ? on_diagonal(r, gw) : NULL;
  if (gv) {
    heed_tensor *p = heed_times(r, heed_turn(r, v), gv);
    p = mul(r, skew_over(r, p, gaps(r, w)), heed_number(r, 0.5));
    inner = inner ? add(r, inner, p) : p;
  }
  return heed_give(r, 0, heed_times(r, heed_times(r, v, inner),
                                    heed_turn(r, v)));
}
const heed_rule heed_rule_eigh = {
    .check = eigh_check, .forward = eigh_fwd, .backward = eigh_bwd,
    .keep_out = {HEED_ALWAYS, HEED_ALWAYS}};

/***
The eigenvalues of symmetric matrices, from the smallest up. Only one triangle
is looked at; the gradient is symmetric. Differentiable, also where some are
equal.
@function eigvalsh
@param x float tensor (..., n, n)
@param UPLO which triangle is looked at, "L" by default or "U"
@return tensor (..., n)
@raise when a matrix has a NaN or an infinity
@usage heed.linalg.eigvalsh(heed.tensor{{2.0, 1.0}, {1.0, 2.0}}) --> 1 3
*/
static bool eigvalsh_check(heed_call *c) {
  heed_batch b;
  if (!heed_batch_square(c, 0, &b)) return false;
  heed_shape w = heed_batch_sizes(c, 0, 1);
  heed_out(c, 0, c->in[0]->dtype, &w);
  return true;
}
static bool eigvalsh_fwd(heed_call *c) {
  heed_batch b;
  heed_tensor *x = c->in[0];
  if (!heed_batch_square(c, 0, &b)) return false;
  heed_tensor *own = heed_tensor_new("eigvalsh", x->dtype, &x->shape);
  bool ok = own && diagonalise(c, &b, own, false);
  heed_tensor_drop(own);
  return ok;
}
static bool eigvalsh_bwd(heed_rule_call *r) {
  heed_tensor *x = heed_in(r, 0), *out[2];
  if (!x || !heed_do_all(r, heed_op_at(HEED_OP_eigh), &x, 1, r->attr, out))
    return false;
  heed_tensor *scaled = mul(r, out[1], as_row(r, r->grad[0]));
  return heed_give(r, 0, heed_times(r, scaled, heed_turn(r, out[1])));
}
const heed_rule heed_rule_eigvalsh = {
    .check = eigvalsh_check, .forward = eigvalsh_fwd,
    .backward = eigvalsh_bwd, .keep = {HEED_ALWAYS}};
