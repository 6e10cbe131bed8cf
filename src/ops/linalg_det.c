/*
 * linalg_det - determinants. Layer: ops. Read first: lapack.h.
 *
 * Gradients: Giles, "An extended collection of matrix derivative results for
 * forward and reverse mode algorithmic differentiation" (2008).
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "ops/gemm.h"
#include "ops/lapack.h"

/* What a factored matrix says of its determinant: the sign of the exchanges
   of rows, and the factors on the diagonal. */
static double swaps_sign(const int *pivot, int n) {
  bool odd = false;
  for (int i = 0; i < n; i++) odd ^= pivot[i] != i + 1;
  return odd ? -1 : 1;
}

/* Calls fn for each matrix of input 0 once it is factored. */
typedef void factored_fn(heed_call *c, int64_t k, int n, const void *lu,
                         const int *pivot);

static bool each_factored(heed_call *c, factored_fn *fn) {
  heed_batch b;
  heed_tensor *x = c->in[0];
  if (!heed_batch_square(c, 0, &b)) return false;
  heed_tensor *own = heed_tensor_new(c->op->name, x->dtype, &x->shape);
  size_t bytes = (size_t)b.rows * sizeof(int);
  int *pivot = own ? heed_mem_alloc(bytes) : NULL;
  bool ok = pivot && heed_batch_read(c, 0, &b, own);
  int before = ok ? heed_lapack_begin(c->op->name) : 0;
  ok = before != 0;
  for (int64_t k = 0; ok && k < b.count; k++) {
    void *a = heed_batch_at(&b, own, k);
    /* a singular matrix leaves a zero on the diagonal */
    if (b.rows > 0) heed_getrf(x->dtype, b.rows, a, pivot);
    fn(c, k, b.rows, a, pivot);
  }
  heed_lapack_end(before);
  heed_mem_free(pivot, bytes);
  heed_tensor_drop(own);
  return ok;
}

/* A value for each matrix. */
static bool value_check(heed_call *c, int results) {
  heed_batch b;
  if (!heed_batch_square(c, 0, &b)) return false;
  heed_shape shape = heed_batch_sizes(c, 0, 2);
  for (int k = 0; k < results; k++)
    heed_out(c, k, c->in[0]->dtype, &shape);
  return true;
}

/* g [..] as [.. 1 1] */
static heed_tensor *as_matrices(heed_rule_call *r, heed_tensor *g) {
  return heed_unsqueeze(r, heed_unsqueeze(r, g, -1), -1);
}

/***
The determinants of square matrices. A singular one gives 0, and has a
gradient, but no second one.
@function det
@param x float tensor (..., n, n)
@return tensor (...)
@raise when a matrix has a NaN or an infinity
@usage heed.linalg.det(heed.tensor{{1.0, 2.0}, {3.0, 4.0}}) --> -2
*/
static bool det_check(heed_call *c) { return value_check(c, 1); }
static void put_det(heed_call *c, int64_t k, int n, const void *lu,
                    const int *pivot) {
  double value = swaps_sign(pivot, n);
  heed_dtype dtype = c->out[0]->dtype;
  for (int64_t i = 0; i < n; i++) value *= heed_real(dtype, lu, i * (n + 1));
  heed_real_store(dtype, heed_tensor_data(c->out[0]), k, value);
}
static bool det_fwd(heed_call *c) { return each_factored(c, put_det); }

static bool has_zero(const heed_tensor *t) {
  bool found = false;
  for (int64_t i = 0; i < heed_tensor_numel(t); i++)
    found |= heed_real(t->dtype, heed_tensor_data(t), i) == 0;
  return found;
}
static bool det_bwd(heed_rule_call *r) {
  /* the cofactors, which are det x^-T where there is an inverse */
  heed_tensor *x = heed_in(r, 0), *y = heed_kept_out(r, 0), *g = r->grad[0];
  if (!x || !y) return false;
  heed_tensor *cofactors;
  if (has_zero(y)) {
    cofactors = heed_do1(r, HEED_OP_cofactor, x);
  } else {
    cofactors = heed_turn(r, heed_do1(r, HEED_OP_inv, x));
    g = heed_do2(r, HEED_OP_mul, g, y);
  }
  return heed_give(r, 0, heed_do2(r, HEED_OP_mul, as_matrices(r, g),
                                  cofactors));
}
const heed_rule heed_rule_det = {
    .check = det_check, .forward = det_fwd, .backward = det_bwd,
    .keep = {HEED_ALWAYS}, .keep_out = {HEED_ALWAYS}};

/***
The signs of the determinants of square matrices, and the logarithms of their
absolute values, which do not overflow. Singular ones give 0 and -inf.
@function slogdet
@param x float tensor (..., n, n)
@return tensor (...) of signs: -1, 0 or 1
@return tensor (...) of logarithms
@raise when a matrix has a NaN or an infinity; in backward, when one is
singular
@usage local sign, log = heed.linalg.slogdet(heed.eye(2) * -1.0) --> 1 0
*/
static bool slogdet_check(heed_call *c) { return value_check(c, 2); }
static void put_log(heed_call *c, int64_t k, int n, const void *lu,
                    const int *pivot) {
  double sign = swaps_sign(pivot, n), sum = 0;
  heed_dtype dtype = c->out[0]->dtype;
  for (int64_t i = 0; i < n; i++) {
    double v = heed_real(dtype, lu, i * (n + 1));
    sign *= (v > 0) - (v < 0);
    sum += log(fabs(v));
  }
  heed_real_store(dtype, heed_tensor_data(c->out[0]), k, sign);
  heed_real_store(dtype, heed_tensor_data(c->out[1]), k, sum);
}
static bool slogdet_fwd(heed_call *c) { return each_factored(c, put_log); }
static bool slogdet_bwd(heed_rule_call *r) {
  /* dlog x^-T; the sign is constant */
  if (!r->grad[1]) return heed_give(r, 0, heed_grad_zeros(r, 0));
  heed_tensor *x = heed_in(r, 0), *g = as_matrices(r, r->grad[1]);
  heed_tensor *inverse = heed_turn(r, heed_do1(r, HEED_OP_inv, x));
  return heed_give(r, 0, heed_do2(r, HEED_OP_mul, g, inverse));
}
const heed_rule heed_rule_slogdet = {
    .check = slogdet_check, .forward = slogdet_fwd, .backward = slogdet_bwd,
    .keep = {HEED_ALWAYS}};

/* ---- for backward rules: cofactors, also of singular matrices ------------ */

/* The sign of the determinant of an orthogonal matrix, which is overwritten.
   It is the same for the transpose. */
static double orientation(heed_dtype dtype, int n, void *q, int *pivot) {
  heed_getrf(dtype, n, q, pivot);
  double sign = swaps_sign(pivot, n);
  for (int64_t i = 0; i < n; i++)
    if (heed_real(dtype, q, i * (n + 1)) < 0) sign = -sign;
  return sign;
}

/* Row i of vh times the product of all values but number i, and `sign`. */
static void weigh(heed_dtype dtype, int64_t n, void *vh, const void *s,
                  double sign) {
  for (int64_t i = 0; i < n; i++) {
    double others = sign;
    for (int64_t j = 0; j < n; j++)
      if (j != i) others *= heed_real(dtype, s, j);
    for (int64_t j = 0; j < n; j++)
      heed_real_store(dtype, vh, i * n + j,
                  heed_real(dtype, vh, i * n + j) * others);
  }
}

/* Of x = U S V^T: det U det V U diag(products of the other values) V^T.
   `part` has room for three matrices and n values. */
static bool cofactors(heed_work *w, int n, void *x, char *part, int *pivot,
                      void *to) {
  size_t bytes = (size_t)n * (size_t)n * heed_dtype_size(w->dtype);
  char *u = part, *vh = u + bytes, *spare = vh + bytes, *s = spare + bytes;
  /* LAPACK has x^T before it */
  if (heed_gesdd(w, 'A', n, n, x, s, vh, u) != 0)
    return heed_fail("det: singular values did not converge");
  memcpy(spare, u, bytes);
  double sign = orientation(w->dtype, n, spare, pivot);
  memcpy(spare, vh, bytes);
  sign *= orientation(w->dtype, n, spare, pivot);
  weigh(w->dtype, n, vh, s, sign);
  return heed_gemm(w->dtype, n, n, n, (heed_matrix){u, n, 1},
                   (heed_matrix){vh, n, 1}, to, n, false);
}
static bool cofactor_fwd(heed_call *c) {
  heed_batch b;
  heed_tensor *x = c->in[0];
  if (!heed_batch_square(c, 0, &b)) return false;
  if (b.rows == 0) return true;
  heed_tensor *own = heed_tensor_new("cofactor", x->dtype, &x->shape);
  size_t integers = (size_t)b.rows * sizeof(int);
  size_t bytes = 3 * b.bytes + (size_t)b.rows * sizeof(double);
  heed_work w = {.op = c->op->name, .dtype = x->dtype};
  int *pivot = own ? heed_mem_alloc(integers) : NULL;
  char *part = pivot ? heed_mem_alloc(bytes) : NULL;
  int before = part ? heed_lapack_begin(c->op->name) : 0;
  heed_gesdd(&w, 'A', b.rows, b.rows, NULL, NULL, NULL, NULL);
  bool ok = before && heed_batch_read(c, 0, &b, own) && heed_work_alloc(&w);
  for (int64_t k = 0; ok && k < b.count; k++)
    ok = cofactors(&w, b.rows, heed_batch_at(&b, own, k), part, pivot,
                   heed_batch_at(&b, c->out[0], k));
  heed_lapack_end(before);
  heed_work_free(&w);
  heed_mem_free(part, bytes);
  heed_mem_free(pivot, integers);
  heed_tensor_drop(own);
  return ok;
}
const heed_rule heed_rule_cofactor = {.check = heed_batch_check,
                                      .forward = cofactor_fwd};
