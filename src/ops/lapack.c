/*
 * lapack - calls of LAPACK, and batches of matrices. Layer: ops.
 * Read first: lapack.h.
 *
 * LAPACK comes with OpenBLAS, by its Fortran names: every argument is a
 * pointer, and the length of each string comes last, as gfortran passes it.
 */
#define _GNU_SOURCE
#include "ops/lapack.h"

#include <math.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>

#include "base/error.h"
#include "base/memory.h"
#include "ops/copy.h"

typedef const int *in; /* an integer that is only read */

void spotrf_(const char *, in, float *, in, int *, size_t);
void dpotrf_(const char *, in, double *, in, int *, size_t);
void sgetrf_(in, in, float *, in, int *, int *);
void dgetrf_(in, in, double *, in, int *, int *);
void sgetrs_(const char *, in, in, const float *, in, in, float *, in, int *,
             size_t);
void dgetrs_(const char *, in, in, const double *, in, in, double *, in,
             int *, size_t);
void sgetri_(in, float *, in, in, float *, in, int *);
void dgetri_(in, double *, in, in, double *, in, int *);
void sgelqf_(in, in, float *, in, float *, float *, in, int *);
void dgelqf_(in, in, double *, in, double *, double *, in, int *);
void sorglq_(in, in, in, float *, in, const float *, float *, in, int *);
void dorglq_(in, in, in, double *, in, const double *, double *, in, int *);
void sgesdd_(const char *, in, in, float *, in, float *, float *, in, float *,
             in, float *, in, int *, int *, size_t);
void dgesdd_(const char *, in, in, double *, in, double *, double *, in,
             double *, in, double *, in, int *, int *, size_t);
void ssyevd_(const char *, const char *, in, float *, in, float *, float *,
             in, int *, in, int *, size_t, size_t);
void dsyevd_(const char *, const char *, in, double *, in, double *, double *,
             in, int *, in, int *, size_t, size_t);
void sgelsd_(in, in, in, float *, in, float *, in, float *, const float *,
             int *, float *, in, int *, int *);
void dgelsd_(in, in, in, double *, in, double *, in, double *, const double *,
             int *, double *, in, int *, int *);

int openblas_get_parallel(void);
void openblas_set_num_threads(int n);

/* ---- room ----------------------------------------------------------------

   OpenBLAS maps a buffer for each call that runs at once, and keeps it. Where
   it gets none it tries for ever: under `ulimit -v`, or with memory that the
   system does not promise twice. So a call begins when there surely is room:
   the first one maps its buffer on a matrix of one element; those that run
   beside others find out, or wait until they are alone. */

#define BUFFER ((size_t)129 << 20) /* the most that any build takes */

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t left = PTHREAD_COND_INITIALIZER;
static int running; /* calls */
static int forks;   /* that wait for them: the next calls wait for those */
static bool mapped; /* is there a buffer for one? */

static bool has_room(void) {
  void *p = mmap(NULL, BUFFER, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return p != MAP_FAILED && munmap(p, BUFFER) == 0;
}

static bool map_buffer(const char *op) {
  bool room = has_room();
  if (!room) {
    heed_mem_trim();
    room = has_room();
  }
  if (!room)
    return heed_fail("%s: out of memory: OpenBLAS needs %zu MiB of address "
                     "space for itself", op, BUFFER >> 20);
  float one = 1;
  return heed_potrf(HEED_FLOAT32, true, 1, &one) == 0;
}

/* With one thread set. */
static bool enter(const char *op) {
  pthread_mutex_lock(&gate);
  while (forks > 0 || (running > 0 && !has_room()))
    pthread_cond_wait(&left, &gate);
  if (!mapped) mapped = map_buffer(op);
  bool ok = mapped;
  running += ok;
  pthread_mutex_unlock(&gate);
  return ok;
}

static void leave(void) {
  pthread_mutex_lock(&gate);
  running--;
  pthread_cond_broadcast(&left);
  pthread_mutex_unlock(&gate);
}

/* OpenBLAS has locks of its own, which the child would find taken. */
static void fork_begins(void) {
  pthread_mutex_lock(&gate);
  forks++;
  while (running > 0) pthread_cond_wait(&left, &gate);
}
static void fork_ends(void) {
  forks--;
  pthread_cond_broadcast(&left);
  pthread_mutex_unlock(&gate);
}
static void fork_ends_in_child(void) {
  forks = 0; /* other threads' forks are not the child's */
  pthread_cond_init(&left, NULL);
  pthread_mutex_unlock(&gate);
}

void heed_lapack_allow_fork(void) {
  pthread_atfork(fork_begins, fork_ends, fork_ends_in_child);
}

/* ---- one thread ---------------------------------------------------------- */

/* A build with a pool of its own knows no limit for the caller alone. */
static void limit_own_pool(void) {
  if (openblas_get_parallel() == 1) openblas_set_num_threads(1);
}

/* The OpenMP build asks OpenMP each time how many threads the caller may
   have, which is a setting of the calling thread. */
int heed_lapack_begin(const char *op) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, limit_own_pool);
  int before = omp_get_max_threads();
  omp_set_num_threads(1);
  if (enter(op)) return before;
  omp_set_num_threads(before);
  return 0;
}

void heed_lapack_end(int before) {
  if (before == 0) return;
  leave();
  omp_set_num_threads(before);
}

/* ---- scratch ------------------------------------------------------------- */

static int at_least(int a, int b) { return a > b ? a : b; }

/* The two ways of a call: ask, or run. A float holds a length of more than
   2^24 only roughly, so a question adds what rounding can have cost. */
#define CALL(name, ...)                                            \
  if (w->dtype == HEED_FLOAT64) {                                  \
    double *work = w->work ? w->work : &need;                      \
    d##name##_(__VA_ARGS__);                                       \
  } else {                                                         \
    float *work = w->work ? w->work : &need_float;                 \
    s##name##_(__VA_ARGS__);                                       \
    need = (double)need_float * (1 + 0x1p-23);                     \
  }

static void remember(heed_work *w, double need, int integers) {
  if (w->work) return;
  /* LAPACK's own sum may have overflowed */
  if (!(need >= 0 && need < INT32_MAX)) w->too_large = true;
  else w->lwork = at_least(w->lwork, (int)ceil(need));
  w->liwork = at_least(w->liwork, integers);
}

bool heed_work_alloc(heed_work *w) {
  if (w->too_large)
    return heed_fail("%s: the matrices need more scratch than LAPACK can "
                     "count", w->op);
  w->lwork = at_least(w->lwork, 1);
  w->liwork = at_least(w->liwork, 1);
  w->work = heed_mem_alloc((size_t)w->lwork * heed_dtype_size(w->dtype));
  w->iwork = w->work ? heed_mem_alloc((size_t)w->liwork * sizeof(int)) : NULL;
  return w->iwork != NULL;
}

void heed_work_free(heed_work *w) {
  heed_mem_free(w->work, (size_t)w->lwork * heed_dtype_size(w->dtype));
  heed_mem_free(w->iwork, (size_t)w->liwork * sizeof(int));
}

/* ---- routines ------------------------------------------------------------ */

int heed_potrf(heed_dtype dtype, bool upper, int n, void *a) {
  const char *uplo = upper ? "U" : "L";
  int info = 0;
  if (dtype == HEED_FLOAT64) dpotrf_(uplo, &n, a, &n, &info, 1);
  else spotrf_(uplo, &n, a, &n, &info, 1);
  return info;
}

int heed_getrf(heed_dtype dtype, int n, void *a, int *pivot) {
  int info = 0;
  if (dtype == HEED_FLOAT64) dgetrf_(&n, &n, a, &n, pivot, &info);
  else sgetrf_(&n, &n, a, &n, pivot, &info);
  return info;
}

int heed_getrs(heed_dtype dtype, bool transposed, int n, int nrhs,
               const void *lu, const int *pivot, void *b) {
  const char *trans = transposed ? "T" : "N";
  int info = 0;
  if (dtype == HEED_FLOAT64)
    dgetrs_(trans, &n, &nrhs, lu, &n, pivot, b, &n, &info, 1);
  else
    sgetrs_(trans, &n, &nrhs, lu, &n, pivot, b, &n, &info, 1);
  return info;
}

int heed_getri(heed_work *w, int n, void *lu, const int *pivot) {
  int info = 0, lwork = w->work ? w->lwork : -1;
  double need = 0;
  float need_float = 0;
  CALL(getri, &n, lu, &n, pivot, work, &lwork, &info)
  remember(w, need, 0);
  return info;
}

int heed_gelqf(heed_work *w, int m, int n, void *a, void *tau) {
  int info = 0, lwork = w->work ? w->lwork : -1;
  double need = 0;
  float need_float = 0;
  CALL(gelqf, &m, &n, a, &m, tau, work, &lwork, &info)
  remember(w, need, 0);
  return info;
}

int heed_orglq(heed_work *w, int m, int n, int k, void *a, void *tau) {
  int info = 0, lwork = w->work ? w->lwork : -1;
  double need = 0;
  float need_float = 0;
  CALL(orglq, &m, &n, &k, a, &m, tau, work, &lwork, &info)
  remember(w, need, 0);
  return info;
}

int heed_gesdd(heed_work *w, char job, int m, int n, void *a, void *s,
               void *u, void *vt) {
  int info = 0, lwork = w->work ? w->lwork : -1;
  int least = m < n ? m : n, rows = job == 'A' ? n : least;
  double need = 0;
  float need_float = 0;
  CALL(gesdd, &job, &m, &n, a, &m, s, u, &m, vt, &rows, work, &lwork,
       w->iwork, &info, 1)
  remember(w, need, 8 * least);
  return info;
}

int heed_syevd(heed_work *w, bool vectors, bool upper, int n, void *a,
               void *values) {
  int info = 0, lwork = w->work ? w->lwork : -1;
  int integers = 0, liwork = w->work ? w->liwork : -1;
  const char *job = vectors ? "V" : "N", *uplo = upper ? "U" : "L";
  double need = 0;
  float need_float = 0;
  CALL(syevd, job, uplo, &n, a, &n, values, work, &lwork,
       w->iwork ? w->iwork : &integers, &liwork, &info, 1, 1)
  remember(w, need, integers);
  return info;
}

int heed_gelsd(heed_work *w, int m, int n, int nrhs, void *a, void *b,
               void *s, double rcond, int *rank) {
  int info = 0, lwork = w->work ? w->lwork : -1;
  int integers = 0, ldb = at_least(m, n);
  int *iwork = w->iwork ? w->iwork : &integers;
  double need = 0;
  float need_float = 0;
  if (w->dtype == HEED_FLOAT64) {
    double *work = w->work ? w->work : &need;
    dgelsd_(&m, &n, &nrhs, a, &m, b, &ldb, s, &rcond, rank, work, &lwork,
            iwork, &info);
  } else {
    float *work = w->work ? w->work : &need_float;
    float narrow = (float)rcond;
    sgelsd_(&m, &n, &nrhs, a, &m, b, &ldb, s, &narrow, rank, work, &lwork,
            iwork, &info);
    need = (double)need_float * (1 + 0x1p-23);
  }
  remember(w, need, integers);
  return info;
}

/* ---- batches ------------------------------------------------------------- */

bool heed_batch_of(const heed_call *c, int i, heed_batch *b) {
  const heed_tensor *t = c->in[i];
  if (!heed_want_float(c, i) || !heed_want_ndim(c, i, 2)) return false;
  int n = t->shape.ndim;
  int64_t rows = t->shape.dim[n - 2], columns = t->shape.dim[n - 1];
  /* LAPACK counts elements in 32 bits in places */
  if (rows > INT32_MAX || columns > INT32_MAX ||
      (columns > 0 && rows > INT32_MAX / columns))
    return heed_fail("%s: the matrices of %s %s are too large for LAPACK",
                     c->op->name, heed_input_name(c, i),
                     heed_shape_text(&t->shape));
  b->rows = (int)rows;
  b->columns = (int)columns;
  b->least = b->rows < b->columns ? b->rows : b->columns;
  b->bytes = (size_t)rows * (size_t)columns * heed_dtype_size(t->dtype);
  b->count = 1;
  for (int d = 0; d < n - 2; d++) b->count *= t->shape.dim[d];
  return true;
}

bool heed_batch_square(const heed_call *c, int i, heed_batch *b) {
  if (!heed_batch_of(c, i, b)) return false;
  return b->rows == b->columns ||
         heed_fail("%s: %s must be square matrices (..., n, n), got %s",
                   c->op->name, heed_input_name(c, i),
                   heed_tensor_text(c->in[i]));
}

bool heed_batch_check(heed_call *c) {
  heed_batch b;
  heed_out_like(c, 0, c->in[0]);
  return heed_batch_square(c, 0, &b);
}

heed_shape heed_batch_sizes(const heed_call *c, int i, int drop) {
  heed_shape shape = c->in[i]->shape;
  shape.ndim -= drop;
  return shape;
}

/* x - x is 0 for what is finite, and NaN for the rest. */
static bool finite_floats(const void *data, size_t n) {
  const float *x = data;
  float sum = 0;
  for (size_t i = 0; i < n; i++) sum += x[i] - x[i];
  return sum == 0;
}
static bool finite_doubles(const void *data, size_t n) {
  const double *x = data;
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += x[i] - x[i];
  return sum == 0;
}

bool heed_batch_read(const heed_call *c, int i, const heed_batch *b,
                     heed_tensor *to) {
  heed_copy(to, c->in[i]);
  size_t n = (size_t)b->rows * (size_t)b->columns;
  for (int64_t k = 0; k < b->count; k++) {
    const void *matrix = heed_batch_at(b, to, k);
    bool ok = to->dtype == HEED_FLOAT64 ? finite_doubles(matrix, n)
                                        : finite_floats(matrix, n);
    if (!ok)
      return heed_fail("%s: %s has a NaN or an infinity", c->op->name,
                       heed_batch_name(c, i, k));
  }
  return true;
}

const char *heed_batch_name(const heed_call *c, int i, int64_t k) {
  static _Thread_local char text[160];
  heed_shape batch = heed_batch_sizes(c, i, 2);
  const char *name = heed_input_name(c, i);
  const char *shape = heed_shape_text(&c->in[i]->shape);
  if (batch.ndim == 0) {
    snprintf(text, sizeof text, "%s %s", name, shape);
  } else if (batch.ndim == 1) {
    snprintf(text, sizeof text, "matrix %lld of %s %s", (long long)k + 1,
             name, shape);
  } else {
    heed_shape place = batch;
    for (int d = batch.ndim - 1; d >= 0; d--) {
      place.dim[d] = k % batch.dim[d] + 1;
      k /= batch.dim[d];
    }
    snprintf(text, sizeof text, "matrix %s of %s %s", heed_shape_text(&place),
             name, shape);
  }
  return text;
}

heed_tensor heed_batch_turned(const heed_tensor *t) {
  heed_tensor turned = *t;
  int n = t->shape.ndim;
  turned.shape.dim[n - 2] = t->shape.dim[n - 1];
  turned.shape.dim[n - 1] = t->shape.dim[n - 2];
  turned.stride[n - 2] = t->stride[n - 1];
  turned.stride[n - 1] = t->stride[n - 2];
  return turned;
}
