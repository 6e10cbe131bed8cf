/*
 * gemm_test - products of matrices of every size around the borders of tiles
 * and blocks, in every layout, on the instruction set that HEED_ISA names.
 * Prints `ok name` or `not ok name: ...`; returns 0 when all is well.
 *
 * Wanted is the sum in long double. A sum is cut into blocks of at most BLOCK
 * products, so its error stays below (BLOCK + blocks) u sum |a b|, u being half
 * the distance of 1 to the next number: far less than for one long sum.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "kernel/kernel.h"
#include "ops/gemm.h"
#include "ops/panels.h"
#include "report.h"

#define BLOCK 256
#define GAP 3 /* numbers behind each row that are no part of a matrix */

/* Element (i, j) is data[i * row + j * column]. */
typedef struct operand {
  void *data;
  int64_t row, column;
} operand;

typedef struct problem {
  heed_dtype dtype;
  int64_t m, n, k;
  operand a, b;
  bool accumulate;
} problem;

static double get(heed_dtype dtype, const void *data, int64_t i) {
  return dtype == HEED_FLOAT32 ? (double)((const float *)data)[i]
                               : ((const double *)data)[i];
}

static void put(heed_dtype dtype, void *data, int64_t i, double x) {
  if (dtype == HEED_FLOAT32) ((float *)data)[i] = (float)x;
  else ((double *)data)[i] = x;
}

/* Numbers in -1 .. 1, the same in every run. */
static double next_number(void) {
  static uint64_t state = 1;
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (double)(int64_t)(state >> 11) / (double)(1ll << 52) - 1;
}

/* Without gaps along `inner` of the two dimensions (0 rows, 1 columns), or
   along none (2); NaN lies between, and nothing behind the last element. */
static operand make(heed_dtype dtype, int64_t rows, int64_t columns,
                    int inner) {
  operand o = {NULL, inner == 0 ? 1 : columns + GAP, inner == 1 ? 1 : 2};
  if (inner == 0) o.column = rows + GAP;
  if (inner == 2) o.row = 2 * columns + GAP;
  int64_t count = (rows - 1) * o.row + (columns - 1) * o.column + 1;
  o.data = malloc((size_t)count * heed_dtype_size(dtype));
  for (int64_t i = 0; i < count; i++) put(dtype, o.data, i, NAN);
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++)
      put(dtype, o.data, i * o.row + j * o.column, next_number());
  return o;
}

/* The rows of the result are `pitch` apart; everything starts as 0.5. */
static void *product(const problem *p, int threads, int64_t pitch) {
  size_t size = heed_dtype_size(p->dtype);
  void *c = malloc((size_t)(p->m * pitch) * size);
  for (int64_t i = 0; i < p->m * pitch; i++) put(p->dtype, c, i, 0.5);
  heed_set_num_threads(threads);
  if (!heed_gemm(p->dtype, p->m, p->n, p->k,
                 (heed_matrix){p->a.data, p->a.row, p->a.column},
                 (heed_matrix){p->b.data, p->b.row, p->b.column}, c, pitch,
                 p->accumulate))
    put(p->dtype, c, 0, NAN);
  return c;
}

static bool is_right(const problem *p, const void *c, int64_t i, int64_t j,
                     int64_t pitch) {
  double got = get(p->dtype, c, i * pitch + j);
  if (j >= p->n) return got == 0.5;
  long double sum = p->accumulate ? 0.5L : 0, size = sum;
  for (int64_t q = 0; q < p->k; q++) {
    long double x =
        (long double)get(p->dtype, p->a.data, i * p->a.row + q * p->a.column) *
        get(p->dtype, p->b.data, q * p->b.row + j * p->b.column);
    sum += x;
    size += fabsl(x);
  }
  long double unit = (p->dtype == HEED_FLOAT32 ? FLT_EPSILON : DBL_EPSILON) / 2;
  int64_t most = p->k < BLOCK ? p->k : BLOCK;
  int64_t terms = most + p->k / BLOCK + 2;
  return fabsl(got - sum) <= (long double)terms * unit * size;
}

/* Right for one thread, and the same bits for more. */
static bool agrees(const problem *p) {
  int64_t pitch = p->n + (p->n > 1 ? GAP : 0);
  size_t bytes = (size_t)(p->m * pitch) * heed_dtype_size(p->dtype);
  void *one = product(p, 1, pitch);
  bool ok = true;
  for (int64_t i = 0; i < p->m; i++)
    for (int64_t j = 0; j < pitch; j++)
      ok = ok && is_right(p, one, i, j, pitch);
  for (int threads = 2; threads <= 3; threads++) {
    void *more = product(p, threads, pitch);
    ok = ok && !memcmp(one, more, bytes);
    free(more);
  }
  free(one);
  return ok;
}

static bool size_agrees(heed_dtype dtype, int64_t m, int64_t n, int64_t k,
                        int left, int right) {
  problem p = {dtype, m, n, k, make(dtype, m, k, left),
               make(dtype, k, n, right), (m + n + k) % 2};
  bool ok = agrees(&p);
  free(p.a.data);
  free(p.b.data);
  return ok;
}

static const int64_t HEIGHTS[] = {1, 2, 4, 5, 7, 13, 16, 17, 145, 290};
static const int64_t WIDTHS[] = {1, 3, 8, 17, 33, 66, 300};
static const int64_t DEPTHS[] = {1, 7, 80, 257, 600};
static const char *const INNER[] = {"rows", "columns", "neither"};

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* Layouts in which rows or columns lie without gaps, or neither do. */
static void test_layout(heed_dtype dtype, int left, int right) {
  char name[80], bad[80] = "";
  for (size_t i = 0; i < COUNT(HEIGHTS); i++)
    for (size_t j = 0; j < COUNT(WIDTHS); j++)
      for (size_t q = 0; q < COUNT(DEPTHS); q++) {
        int64_t m = HEIGHTS[i], n = WIDTHS[j], k = DEPTHS[q];
        if (m * n * k > 3000000) continue;
        if (!*bad && !size_agrees(dtype, m, n, k, left, right))
          snprintf(bad, sizeof bad, "m %d, n %d, k %d", (int)m, (int)n,
                   (int)k);
      }
  snprintf(name, sizeof name, "%s, without gaps: %s of a, %s of b",
           heed_dtype_name(dtype), INNER[left], INNER[right]);
  REPORT(!*bad, name, "%s", bad);
}

/* More columns than are packed at once; rows a power of two apart; products of
   rows with rows that are cut. */
static void test_large(heed_dtype dtype) {
  char name[80];
  bool ok = size_agrees(dtype, 3, 4099, 5, 1, 1) &&
            size_agrees(dtype, 150, 4130, 3, 1, 0) &&
            size_agrees(dtype, 150, 4130, 3, 0, 1) &&
            size_agrees(dtype, 150, 260, 512 - GAP, 1, 1) &&
            size_agrees(dtype, 1, 5, 9000, 1, 0) &&
            size_agrees(dtype, 14, 26, 9000, 1, 0);
  snprintf(name, sizeof name, "%s, many columns, deep sums",
           heed_dtype_name(dtype));
  REPORT(ok, name, "differs");
}

/* A row of the result does not depend on the rows beside it, nor a column on
   the columns: NaN in one operand stays in its row or column. */
static void test_nan(heed_dtype dtype) {
  char name[80];
  bool ok = true;
  const int64_t m = 17, n = 37, k = 70;
  for (int layout = 0; layout < 4; layout++) {
    problem p = {dtype, m, n, k, make(dtype, m, k, layout % 2),
                 make(dtype, k, n, layout / 2), false};
    put(dtype, p.a.data, 16 * p.a.row + 3 * p.a.column, NAN);
    put(dtype, p.b.data, 3 * p.b.row + 36 * p.b.column, INFINITY);
    void *c = product(&p, 1, n);
    for (int64_t i = 0; i < m; i++)
      for (int64_t j = 0; j < n; j++) {
        double x = get(dtype, c, i * n + j);
        ok = ok && (i == 16 ? isnan(x) : j == 36 ? isinf(x) : isfinite(x));
      }
    free(c);
    free(p.a.data);
    free(p.b.data);
  }
  snprintf(name, sizeof name, "%s, NaN stays in its row",
           heed_dtype_name(dtype));
  REPORT(ok, name, "it does not");
}

static void test_empty(heed_dtype dtype) {
  char name[80];
  double a[6] = {0}, c[6];
  heed_matrix none = {a, 1, 1};
  bool ok = true;
  for (int i = 0; i < 6; i++) put(dtype, c, i, 7);
  ok = ok && heed_gemm(dtype, 0, 3, 2, none, none, c, 3, false);
  ok = ok && heed_gemm(dtype, 2, 0, 2, none, none, c, 3, false);
  ok = ok && heed_gemm(dtype, 2, 2, 0, none, none, c, 3, true);
  for (int i = 0; i < 6; i++) ok = ok && get(dtype, c, i) == 7;
  ok = ok && heed_gemm(dtype, 2, 2, 0, none, none, c, 3, false);
  for (int i = 0; i < 6; i++)
    ok = ok && get(dtype, c, i) == (i == 2 || i == 5 ? 7 : 0);
  snprintf(name, sizeof name, "%s, sizes of 0", heed_dtype_name(dtype));
  REPORT(ok, name, "differs");
}

/* c of a matrix packed once, where rows of a and c have no gaps. */
static bool panels_agree(problem *p) {
  const int64_t pitch = p->n;
  size_t size = heed_dtype_size(p->dtype);
  void *c = malloc((size_t)(p->m * p->n) * size);
  for (int64_t i = 0; i < p->m * p->n; i++) put(p->dtype, c, i, 0.5);
  heed_panels panels;
  bool ok = heed_panels_make(
      &panels, p->dtype, p->k, p->n,
      (heed_matrix){p->b.data, p->b.row, p->b.column});
  /* half of the rows, then the others */
  const int64_t first = p->m / 2;
  heed_panels_multiply(&panels, first, p->a.data, c, p->accumulate);
  heed_panels_multiply(&panels, p->m - first,
                       (char *)p->a.data + (size_t)(first * p->k) * size,
                       (char *)c + (size_t)(first * p->n) * size,
                       p->accumulate);
  heed_panels_drop(&panels);
  for (int64_t i = 0; i < p->m; i++)
    for (int64_t j = 0; j < p->n; j++)
      ok = ok && is_right(p, c, i, j, pitch);
  free(c);
  return ok;
}

static void test_panels(heed_dtype dtype, int inner) {
  static const int64_t sizes[] = {1, 5, 16, 33, 257, 520};
  char name[80];
  bool ok = true;
  for (int a = 0; a < 4; a++)
    for (int b = 0; b < 5; b++)
      for (int k = 0; k < 6; k++) {
        problem p = {.dtype = dtype, .m = sizes[a], .n = sizes[b],
                     .k = sizes[k], .accumulate = (a + b + k) % 2};
        p.b = make(dtype, p.k, p.n, inner);
        p.a = (operand){malloc((size_t)(p.m * p.k) * heed_dtype_size(dtype)),
                        p.k, 1};
        for (int64_t i = 0; i < p.m * p.k; i++)
          put(dtype, p.a.data, i, next_number());
        ok = ok && panels_agree(&p);
        free(p.a.data);
        free(p.b.data);
      }
  snprintf(name, sizeof name, "%s, panels, layout %d", heed_dtype_name(dtype),
           inner);
  REPORT(ok, name, "differs");
}

int main(void) {
  if (!heed_kernels_select()) return 1;
  printf("# instruction set: %s\n", heed_kernel_isa);
  const heed_dtype dtypes[] = {HEED_FLOAT32, HEED_FLOAT64};
  for (int d = 0; d < 2; d++) {
    for (int layout = 0; layout < 9; layout++)
      test_layout(dtypes[d], layout % 3, layout / 3);
    test_large(dtypes[d]);
    test_nan(dtypes[d]);
    test_empty(dtypes[d]);
    for (int inner = 0; inner < 3; inner++) test_panels(dtypes[d], inner);
  }
  printf("# %d failed\n", failed);
  return failed != 0;
}
