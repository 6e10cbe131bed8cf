/*
 * lapack - the routines of LAPACK that heed uses, for float32 and float64,
 * and what the ops over batches of matrices share. Layer: ops.
 *
 * LAPACK's matrices are column-major: what it is given as `a` is the transpose
 * of the row-major matrix in the same memory. The routines here speak of
 * LAPACK's matrix; each op says how it makes that do.
 *
 * OpenBLAS runs on one thread between heed_lapack_begin and heed_lapack_end:
 * how it cuts work among threads would change the last bits. Nothing else in
 * the process is told to.
 */
#ifndef HEED_OPS_LAPACK_H
#define HEED_OPS_LAPACK_H

#include "ops/ops.h"

/* Returns what heed_lapack_end wants back; 0, with a message, when there is no
   room for what OpenBLAS needs for itself: then no routine may be run, but may
   be asked for its scratch. */
int heed_lapack_begin(const char *op);
void heed_lapack_end(int before);

/* From now on fork waits for the calls of other threads. Once is enough. */
void heed_lapack_allow_fork(void);

/* ---- routines ------------------------------------------------------------
   All return LAPACK's `info`, 0 when all is well. Matrices lie without gaps:
   n x n, or m x n. */

/* Scratch of those that need some. While `work` is NULL, a routine does
   nothing but raise lwork and liwork to what it needs. */
typedef struct heed_work {
  const char *op; /* for messages */
  heed_dtype dtype;
  void *work;
  int *iwork;
  int lwork, liwork; /* elements */
  bool too_large;    /* for LAPACK's integers */
} heed_work;

bool heed_work_alloc(heed_work *w); /* fails without memory */
void heed_work_free(heed_work *w);

int heed_potrf(heed_dtype dtype, bool upper, int n, void *a);
int heed_getrf(heed_dtype dtype, int n, void *a, int *pivot);
/* b [n nrhs] becomes the solution of a x = b, or of a^T x = b. */
int heed_getrs(heed_dtype dtype, bool transposed, int n, int nrhs,
               const void *lu, const int *pivot, void *b);
int heed_getri(heed_work *w, int n, void *lu, const int *pivot);
int heed_gelqf(heed_work *w, int m, int n, void *a, void *tau);
int heed_orglq(heed_work *w, int m, int n, int k, void *a, void *tau);
/* job: 'A' all vectors, 'S' min(m, n) of them, 'N' none */
int heed_gesdd(heed_work *w, char job, int m, int n, void *a, void *s,
               void *u, void *vt);
int heed_syevd(heed_work *w, bool vectors, bool upper, int n, void *a,
               void *values);
/* b [max(m, n) nrhs] */
int heed_gelsd(heed_work *w, int m, int n, int nrhs, void *a, void *b,
               void *s, double rcond, int *rank);

/* ---- batches of matrices ------------------------------------------------- */

/* The last two sizes of an input, and how many matrices the others make. */
typedef struct heed_batch {
  int rows, columns, least; /* the smaller of the two */
  int64_t count;
  size_t bytes; /* of a row-major matrix */
} heed_batch;

/* Fails for an input that is no float, has less than 2 dimensions, or sizes
   that LAPACK cannot count. */
bool heed_batch_of(const heed_call *c, int i, heed_batch *b);
/* The same, and fails when its matrices are not square. */
bool heed_batch_square(const heed_call *c, int i, heed_batch *b);
/* The check of an op on square matrices whose result is like them. */
bool heed_batch_check(heed_call *c);
/* The sizes of input i without the last `drop`. */
heed_shape heed_batch_sizes(const heed_call *c, int i, int drop);
/* Fills `to`, of the shape of input i, with its elements row by row; fails
   when there is a NaN or an infinity. */
bool heed_batch_read(const heed_call *c, int i, const heed_batch *b,
                     heed_tensor *to);
/* "x [2 2]" or "matrix 2 of x [3 2 2]", for messages. */
const char *heed_batch_name(const heed_call *c, int i, int64_t k);

/* Matrix k of a row-major result. */
static inline void *heed_batch_at(const heed_batch *b, heed_tensor *t,
                                  int64_t k) {
  return (char *)heed_tensor_data(t) + (size_t)k * b->bytes;
}

/* t as rows of columns: the same memory, with its last dimensions swapped. */
heed_tensor heed_batch_turned(const heed_tensor *t);

/* ---- for backward rules; NULL passes ------------------------------------- */

/* The gradient of x, given that of its singular values: U diag(g) V^T. */
heed_tensor *heed_values_gradient(heed_rule_call *r, heed_tensor *x,
                                  heed_tensor *g);
static inline heed_tensor *heed_times(heed_rule_call *r, heed_tensor *a,
                                      heed_tensor *b) {
  return heed_do2(r, HEED_OP_matmul, a, b);
}

#endif
