/*
 * linalg_solve - systems of linear equations, and inverses. Layer: ops.
 * Read first: lapack.h.
 *
 * Gradients: Giles, "An extended collection of matrix derivative results for
 * forward and reverse mode algorithmic differentiation" (2008).
 */
#include <string.h>

#include <cblas.h>

#include "base/error.h"
#include "base/memory.h"
#include "ops/copy.h"
#include "ops/gemm.h"
#include "ops/lapack.h"

static bool singular(const heed_call *c, int64_t k) {
  return heed_fail("%s: %s is singular", c->op->name,
                   heed_batch_name(c, 0, k));
}

/* ---- the sizes of a x = b ------------------------------------------------ */

typedef struct system {
  heed_batch a;
  heed_shape batch;  /* of a and b together */
  bool vector;       /* b is one column, without a dimension for it */
  int64_t n, columns, count;
} system;

/* A vector is b with one dimension, or with the sizes of a but the last. */
static bool is_vector(const heed_shape *a, const heed_shape *b) {
  if (b->ndim != 1 && b->ndim != a->ndim - 1) return false;
  for (int d = 0; b->ndim > 1 && d < b->ndim; d++)
    if (a->dim[d] != b->dim[d]) return false;
  return true;
}

/* The dimension of b that must be n stands `from_end` before the end. */
static bool system_sizes(const heed_call *c, int from_end, system *s) {
  const heed_shape *a = &c->in[0]->shape, *b = &c->in[1]->shape;
  heed_shape left = heed_batch_sizes(c, 0, 2);
  heed_shape right = heed_batch_sizes(c, 1, s->vector ? 1 : 2);
  s->n = s->a.rows;
  if (b->dim[b->ndim - from_end] != s->n)
    return heed_fail("%s: a %s and b %s: a has %lld rows, b has %lld %s",
                     c->op->name, heed_shape_text(a), heed_shape_text(b),
                     (long long)s->n,
                     (long long)b->dim[b->ndim - from_end],
                     s->vector ? "elements"
                     : from_end == 2 ? "rows" : "columns");
  if (!heed_shape_broadcast(&left, &right, &s->batch))
    return heed_fail("%s: a %s and b %s: batch sizes %s and %s cannot be "
                     "broadcast together", c->op->name, heed_shape_text(a),
                     heed_shape_text(b), heed_shape_text(&left),
                     heed_shape_text(&right));
  s->columns = s->vector ? 1 : b->dim[b->ndim - 1];
  s->count = heed_shape_numel(&s->batch);
  return true;
}

/* Which matrix of a, which has no gaps, belongs to number k of the batch. */
static int64_t matrix_for(const heed_tensor *a, const system *s, int64_t k) {
  return heed_batch_offset(a, &s->batch, k) / (s->n * s->n);
}

/* ---- solve --------------------------------------------------------------- */

static bool read_solve(const heed_call *c, system *s) {
  if (!heed_batch_square(c, 0, &s->a) || !heed_want_ndim(c, 1, 1))
    return false;
  heed_batch b;
  s->vector = is_vector(&c->in[0]->shape, &c->in[1]->shape);
  if (!s->vector && !heed_batch_of(c, 1, &b)) return false;
  return system_sizes(c, s->vector ? 1 : 2, s);
}

/***
The x with a x = b, for square matrices a.
@function solve
@param a float tensor (..., n, n)
@param b tensor (..., n, k); or (n), or with the sizes of a but the last: one
column for each matrix. The other sizes of a and b broadcast
@return tensor like b
@raise when a matrix is singular, or has a NaN or an infinity, or sizes do not
fit
@usage heed.linalg.solve(heed.eye(2) * 2, heed.tensor{2.0, 6.0}) --> 1 3
*/
static bool solve_check(heed_call *c) {
  system s;
  if (!read_solve(c, &s)) return false;
  heed_shape shape = s.batch;
  shape.dim[shape.ndim++] = s.n;
  if (!s.vector) shape.dim[shape.ndim++] = s.columns;
  heed_out(c, 0, c->in[0]->dtype, &shape);
  return true;
}

/* Factors all of a, then solves in `right`, whose rows are columns of b. */
static bool solve_all(heed_call *c, const system *s, heed_tensor *lu,
                      heed_tensor *right, int *pivot) {
  if (!heed_batch_read(c, 0, &s->a, lu)) return false;
  int n = (int)s->n;
  for (int64_t k = 0; k < s->a.count; k++)
    if (heed_getrf(lu->dtype, n, heed_batch_at(&s->a, lu, k), pivot + k * n))
      return singular(c, k);
  size_t bytes = (size_t)(s->n * s->columns) * heed_dtype_size(lu->dtype);
  for (int64_t k = 0; k < s->count; k++) {
    int64_t i = matrix_for(lu, s, k);
    /* it is a^T that was factored */
    heed_getrs(lu->dtype, true, n, (int)s->columns,
               heed_batch_at(&s->a, lu, i), pivot + i * n,
               (char *)heed_tensor_data(right) + (size_t)k * bytes);
  }
  return true;
}
static bool solve_fwd(heed_call *c) {
  system s;
  heed_tensor *y = c->out[0], full = *y;
  if (!read_solve(c, &s)) return false;
  if (heed_tensor_numel(y) == 0 && s.a.count == 0) return true;
  /* b as (..., n, columns), in memory as (..., columns, n) */
  heed_shape shape = s.batch;
  shape.dim[shape.ndim++] = s.columns;
  shape.dim[shape.ndim++] = s.n;
  heed_tensor *right = heed_tensor_new("solve", y->dtype, &shape);
  heed_tensor *lu = heed_tensor_new("solve", y->dtype, &c->in[0]->shape);
  size_t bytes = (size_t)(s.a.count * s.n) * sizeof(int);
  int *pivot = right && lu ? heed_mem_alloc(bytes) : NULL;
  bool ok = pivot != NULL;
  if (ok) {
    heed_tensor turned = heed_batch_turned(right), from = *c->in[1];
    if (s.vector) { /* a column more, for either */
      from.shape.dim[from.shape.ndim] = full.shape.dim[full.shape.ndim] = 1;
      from.stride[from.shape.ndim++] = full.stride[full.shape.ndim++] = 1;
    }
    heed_copy(&turned, &from);
    int before = heed_lapack_begin(c->op->name);
    ok = before && (s.n == 0 || solve_all(c, &s, lu, right, pivot));
    heed_lapack_end(before);
    if (ok) heed_copy(&full, &turned);
  }
  heed_mem_free(pivot, bytes);
  heed_tensor_drop(lu);
  heed_tensor_drop(right);
  return ok;
}
static bool solve_bwd(heed_rule_call *r) {
  /* db = a^-T dx, da = -db x^T */
  heed_tensor *a = heed_in(r, 0), *g = r->grad[0], *x = heed_kept_out(r, 0);
  heed_attr squeezed = {.list = {1, {-1}}};
  bool vector = is_vector(heed_in_shape(r, 0), heed_in_shape(r, 1));
  if (vector) {
    g = heed_unsqueeze(r, g, -1);
    x = heed_unsqueeze(r, x, -1);
  }
  heed_tensor *gb = heed_do2(r, HEED_OP_solve, heed_turn(r, a), g);
  if (heed_needs(r, 0) &&
      !heed_give(r, 0, heed_do1(r, HEED_OP_neg,
                                heed_times(r, gb, heed_turn(r, x)))))
    return false;
  if (vector) gb = heed_do1_with(r, HEED_OP_squeeze, gb, &squeezed);
  return !heed_needs(r, 1) || heed_give(r, 1, gb);
}
const heed_rule heed_rule_solve = {
    .check = solve_check, .forward = solve_fwd, .backward = solve_bwd,
    .keep = {HEED_ALWAYS}, .keep_out = {HEED_NEED(0)}, .promote = true};

/* ---- triangular ---------------------------------------------------------- */

enum { IS_UPPER, IS_LEFT, IS_UNIT };

static bool read_triangular(const heed_call *c, system *s) {
  heed_batch b;
  if (!heed_batch_square(c, 0, &s->a) || !heed_batch_of(c, 1, &b))
    return false;
  s->vector = false;
  return system_sizes(c, c->attr[IS_LEFT].i ? 2 : 1, s);
}

/***
The x with a x = b, or with x a = b, for triangular matrices a. The other
triangle of a is not looked at.
@function solve_triangular
@param a float tensor (..., n, n)
@param b tensor (..., n, k), or (..., k, n) when not left; the other sizes of a
and b broadcast
@param upper is it the upper triangle?
@param left a stands on the left of x, true by default
@param unitriangular take the diagonal for ones, and do not look at it; false
by default
@return tensor like b
@raise when a has a zero on its diagonal, or sizes do not fit
@usage local l = heed.tensor{{2.0, 0.0}, {1.0, 1.0}}
return heed.linalg.solve_triangular(l, heed.ones(2, 1), {upper = false})
*/
static bool solve_triangular_check(heed_call *c) {
  system s;
  if (!read_triangular(c, &s)) return false;
  const heed_shape *b = &c->in[1]->shape;
  heed_shape shape = s.batch;
  shape.dim[shape.ndim++] = b->dim[b->ndim - 2];
  shape.dim[shape.ndim++] = b->dim[b->ndim - 1];
  heed_out(c, 0, c->in[0]->dtype, &shape);
  return true;
}

/* The first zero on the diagonal of an n x n matrix, from 1; 0 for none. */
static int64_t first_zero(heed_dtype dtype, const void *a, int64_t n) {
  for (int64_t i = 0; i < n; i++)
    if (heed_real(dtype, a, i * (n + 1)) == 0) return i + 1;
  return 0;
}

static bool no_zeros(const heed_call *c, const system *s, heed_tensor *a) {
  for (int64_t k = 0; k < s->a.count; k++) {
    int64_t i = first_zero(a->dtype, heed_batch_at(&s->a, a, k), s->n);
    if (i > 0)
      return heed_fail("solve_triangular: %s is singular: element %lld of its "
                       "diagonal is 0", heed_batch_name(c, 0, k),
                       (long long)i);
  }
  return true;
}

static void divide(const heed_call *c, const system *s, heed_tensor *a,
                   heed_tensor *y) {
  int ndim = y->shape.ndim, n = (int)s->n;
  int rows = (int)y->shape.dim[ndim - 2], columns = (int)y->shape.dim[ndim - 1];
  CBLAS_SIDE side = c->attr[IS_LEFT].i ? CblasLeft : CblasRight;
  CBLAS_UPLO uplo = c->attr[IS_UPPER].i ? CblasUpper : CblasLower;
  CBLAS_DIAG diag = c->attr[IS_UNIT].i ? CblasUnit : CblasNonUnit;
  size_t bytes = (size_t)rows * (size_t)columns * heed_dtype_size(y->dtype);
  for (int64_t k = 0; k < s->count; k++) {
    const void *left = heed_batch_at(&s->a, a, matrix_for(a, s, k));
    void *x = (char *)heed_tensor_data(y) + (size_t)k * bytes;
    if (y->dtype == HEED_FLOAT64)
      cblas_dtrsm(CblasRowMajor, side, uplo, CblasNoTrans, diag, rows,
                  columns, 1, left, n, x, columns);
    else
      cblas_strsm(CblasRowMajor, side, uplo, CblasNoTrans, diag, rows,
                  columns, 1, left, n, x, columns);
  }
}
static bool solve_triangular_fwd(heed_call *c) {
  system s;
  heed_tensor *y = c->out[0];
  if (!read_triangular(c, &s)) return false;
  heed_tensor *a = heed_contiguous("solve_triangular", c->in[0]);
  if (!a) return false;
  bool ok = c->attr[IS_UNIT].i || no_zeros(c, &s, a);
  if (ok && heed_tensor_numel(y) > 0) {
    heed_copy(y, c->in[1]);
    int before = heed_lapack_begin(c->op->name);
    ok = before != 0;
    if (ok) divide(c, &s, a, y);
    heed_lapack_end(before);
  }
  heed_tensor_drop(a);
  return ok;
}
static bool solve_triangular_bwd(heed_rule_call *r) {
  /* left: db = a^-T dx, da = -db x^T; right: db = dx a^-T, da = -x^T db */
  heed_tensor *a = heed_in(r, 0), *x = heed_kept_out(r, 0);
  bool upper = r->attr[IS_UPPER].i, left = r->attr[IS_LEFT].i;
  bool unit = r->attr[IS_UNIT].i;
  heed_attr attr[3] = {{.i = !upper}, r->attr[IS_LEFT], r->attr[IS_UNIT]};
  heed_tensor *gb = heed_do2_with(r, HEED_OP_solve_triangular,
                                  heed_turn(r, a), r->grad[0], attr);
  if (heed_needs(r, 1) && !heed_give(r, 1, gb)) return false;
  if (!heed_needs(r, 0)) return true;
  heed_tensor *ga = left ? heed_times(r, gb, heed_turn(r, x))
                         : heed_times(r, heed_turn(r, x), gb);
  heed_attr side = {.i = !unit ? 0 : upper ? 1 : -1};
  ga = heed_do1_with(r, upper ? HEED_OP_triu : HEED_OP_tril, ga, &side);
  return heed_give(r, 0, heed_do1(r, HEED_OP_neg, ga));
}
const heed_rule heed_rule_solve_triangular = {
    .check = solve_triangular_check, .forward = solve_triangular_fwd,
    .backward = solve_triangular_bwd, .keep = {HEED_ALWAYS},
    .keep_out = {HEED_NEED(0)}, .promote = true};

/* ---- inverse ------------------------------------------------------------- */

/***
The inverses of square matrices. To multiply with one, `solve` is faster and
more exact.
@function inv
@param x float tensor (..., n, n)
@return tensor like x
@raise when a matrix is singular, or has a NaN or an infinity
@usage heed.linalg.inv(heed.tensor{{2.0, 0.0}, {0.0, 4.0}}) --> 0.5 0, 0 0.25
*/
/* The inverse of the transpose is the transpose of the inverse. */
static bool inv_fwd(heed_call *c) {
  heed_batch b;
  heed_tensor *y = c->out[0];
  if (!heed_batch_square(c, 0, &b) || !heed_batch_read(c, 0, &b, y))
    return false;
  if (b.rows == 0) return true;
  heed_work w = {.op = c->op->name, .dtype = y->dtype};
  size_t bytes = (size_t)b.rows * sizeof(int);
  int *pivot = heed_mem_alloc(bytes);
  int before = pivot ? heed_lapack_begin(c->op->name) : 0;
  heed_getri(&w, b.rows, NULL, NULL);
  bool ok = before && heed_work_alloc(&w);
  for (int64_t k = 0; ok && k < b.count; k++) {
    void *a = heed_batch_at(&b, y, k);
    ok = heed_getrf(y->dtype, b.rows, a, pivot) == 0 || singular(c, k);
    if (ok) heed_getri(&w, b.rows, a, pivot);
  }
  heed_lapack_end(before);
  heed_work_free(&w);
  heed_mem_free(pivot, bytes);
  return ok;
}
static bool inv_bwd(heed_rule_call *r) {
  /* -y^T dy y^T */
  heed_tensor *y = heed_turn(r, heed_kept_out(r, 0));
  heed_tensor *g = heed_times(r, heed_times(r, y, r->grad[0]), y);
  return heed_give(r, 0, heed_do1(r, HEED_OP_neg, g));
}
const heed_rule heed_rule_inv = {
    .check = heed_batch_check, .forward = inv_fwd, .backward = inv_bwd,
    .keep_out = {HEED_ALWAYS}};
