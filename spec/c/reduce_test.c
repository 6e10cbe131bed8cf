/*
 * reduce_test - the loops of reductions of the instruction set that HEED_ISA
 * names, against plain loops. For each kind and dtype: a row in two pieces
 * that are merged, and columns, for all tails and strides.
 * Prints `ok name` or `not ok name: ...`; returns 0 when all is well.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/dtype.h"
#include "kernel/kernel.h"
#include "report.h"

#define MOST 70              /* elements of a row */
#define PLACES (3 * MOST + 8) /* with gaps, on either side of the first */

static const char *const name_of[HEED_NREDUCE] = {
    "sum", "nansum", "prod", "count",  "max",    "min",
    "any", "all",    "argmax", "argmin", "moments"};

/* What a reduction gives: a value, and a place (or the mean). */
typedef struct answer {
  double value, other;
} answer;

static answer plain(heed_reduction how, int64_t n, const double *x) {
  double sum = 0, prod = 1, count = 0, nan = 0, squares = 0;
  int64_t top = 0, bottom = 0;
  for (int64_t i = 0; i < n; i++) {
    sum += x[i];
    prod *= x[i];
    count += x[i] != 0;
    if (x[i] == x[i]) nan += x[i];
    if (x[i] > x[top] || (isnan(x[i]) && !isnan(x[top]))) top = i;
    if (x[i] < x[bottom] || (isnan(x[i]) && !isnan(x[bottom]))) bottom = i;
  }
  for (int64_t i = 0; i < n; i++)
    squares += (x[i] - sum / (double)n) * (x[i] - sum / (double)n);
  switch (how) {
    case HEED_REDUCE_SUM: return (answer){sum, 0};
    case HEED_REDUCE_NANSUM: return (answer){nan, 0};
    case HEED_REDUCE_PROD: return (answer){prod, 0};
    case HEED_REDUCE_COUNT: return (answer){count, 0};
    case HEED_REDUCE_ANY: return (answer){count > 0, 0};
    case HEED_REDUCE_ALL: return (answer){count == (double)n, 0};
    case HEED_REDUCE_MAX: return (answer){x[top], 0};
    case HEED_REDUCE_MIN: return (answer){x[bottom], 0};
    case HEED_REDUCE_ARGMAX: return (answer){x[top], (double)top};
    case HEED_REDUCE_ARGMIN: return (answer){x[bottom], (double)bottom};
    default: return (answer){squares, n > 0 ? sum / (double)n : 0};
  }
}

static answer read_acc(heed_reduction how, heed_dtype d, const void *acc,
                       int64_t j) {
  switch (how) {
    case HEED_REDUCE_SUM:
    case HEED_REDUCE_NANSUM:
    case HEED_REDUCE_PROD:
      d = heed_dtype_is_float(d) ? HEED_FLOAT64 : HEED_INT64;
      break;
    case HEED_REDUCE_COUNT: d = HEED_INT64; break;
    case HEED_REDUCE_ANY:
    case HEED_REDUCE_ALL: d = HEED_BOOL; break;
    case HEED_REDUCE_ARGMAX:
    case HEED_REDUCE_ARGMIN: {
      const heed_found *found = (const heed_found *)acc + j;
      return (answer){heed_element_float(d, found->value, 0),
                      (double)found->place};
    }
    case HEED_REDUCE_MOMENTS: {
      const heed_moments *m = (const heed_moments *)acc + j;
      return (answer){m->squares, m->mean};
    }
    default: break;
  }
  return (answer){heed_element_float(d, acc, j), 0};
}

static bool near(double got, double want) {
  return (isnan(got) && isnan(want)) || got == want ||
         fabs(got - want) <= 1e-12 * (1 + fabs(want));
}
static bool same(answer got, answer want) {
  return near(got.value, want.value) && near(got.other, want.other);
}

/* A small number, zeros among them, that every dtype holds. */
static double small(heed_dtype d, int64_t i) {
  int64_t k = (i * 7 + 3) % 5;
  if (d == HEED_BOOL) return k > 1;
  if (d == HEED_UINT8) return (double)(k % 3);
  return heed_dtype_is_float(d) ? (double)(k - 2) / 2 : (double)(k - 2);
}

static void set(heed_dtype d, void *x, int64_t at, double v) {
  heed_element_store(d, x, at, false, (heed_value){.f = v});
}

/* Must every reduction have an element? */
static bool wants_one(heed_reduction how) {
  return how >= HEED_REDUCE_MAX && how != HEED_REDUCE_ANY &&
         how != HEED_REDUCE_ALL;
}

/* Elements 0 .. cut-1 and cut .. n-1 on their own, then together. */
static bool row_agrees(heed_reduction how, heed_dtype d, int64_t n,
                       int64_t step, int64_t nan) {
  const heed_reduce_loops *loops = &heed_kernel.reduce[how][d];
  static double memory[PLACES];
  double x[MOST];
  heed_moments acc, other; /* the largest accumulator */
  int64_t first = step < 0 ? n : 0, size = (int64_t)heed_dtype_size(d);
  int64_t cut = n / 3;
  for (int64_t i = 0; i < n; i++) {
    x[i] = small(d, step == 0 ? 0 : i);
    if (heed_dtype_is_float(d) && (i == nan || (step == 0 && nan >= 0)))
      x[i] = NAN;
    set(d, memory, first + i * step, x[i]);
  }
  const char *from = (const char *)memory + first * size;
  loops->start(1, 0, &acc);
  loops->row(cut, from, step, 0, &acc);
  loops->start(1, cut, &other);
  loops->row(n - cut, from + cut * step * size, step, cut, &other);
  loops->merge(1, &acc, &other);
  return same(read_acc(how, d, &acc, 0), plain(how, n, x));
}

static bool rows_agree(heed_reduction how, heed_dtype d) {
  static const int64_t steps[] = {1, 2, 3, -1, 0};
  for (int64_t n = wants_one(how); n <= MOST; n++)
    for (int s = 0; s < 5; s++)
      for (int64_t nan = -1; nan < n; nan += 3)
        if (!row_agrees(how, d, n, steps[s], nan)) return false;
  return true;
}

static bool columns_agree(heed_reduction how, heed_dtype d) {
  const heed_reduce_loops *loops = &heed_kernel.reduce[how][d];
  static double x[40 * 2 * 40];
  static heed_moments acc[40];
  int64_t size = (int64_t)heed_dtype_size(d);
  for (int64_t n = 0; n <= 37; n++)
    for (int64_t rows = 1; rows <= 40; rows += 3)
      for (int64_t step = 1; step <= 2; step++) {
        int64_t pitch = n * step + 1, cut = rows / 2;
        for (int64_t i = 0; i < rows * pitch; i++) set(d, x, i, small(d, i));
        if (n > 0 && heed_dtype_is_float(d))
          set(d, x, rows * pitch - 2, NAN);
        loops->start(n, 0, acc);
        loops->columns(cut, n, x, pitch, step, 0, acc);
        loops->columns(rows - cut, n, (char *)x + cut * pitch * size, pitch,
                       step, cut, acc);
        for (int64_t j = 0; j < n; j++) {
          double column[40];
          for (int64_t i = 0; i < rows; i++)
            column[i] = heed_element_float(d, x, i * pitch + j * step);
          if (!same(read_acc(how, d, acc, j), plain(how, rows, column)))
            return false;
        }
      }
  return true;
}

static void test_reductions(void) {
  char name[80];
  for (int d = 0; d < HEED_NDTYPE; d++)
    for (int how = 0; how < HEED_NREDUCE; how++) {
      if (!heed_kernel.reduce[how][d].row) continue;
      snprintf(name, sizeof name, "%s of %s over rows", name_of[how],
               heed_dtype_name((heed_dtype)d));
      REPORT(rows_agree((heed_reduction)how, (heed_dtype)d), name, "differs");
      snprintf(name, sizeof name, "%s of %s over columns", name_of[how],
               heed_dtype_name((heed_dtype)d));
      REPORT(columns_agree((heed_reduction)how, (heed_dtype)d), name,
             "differs");
    }
}

/* 10^7 ones plus noise: where float32 sums lose three digits. */
static void test_long_sums(void) {
  const heed_reduce_loops *sum = &heed_kernel.reduce[HEED_REDUCE_SUM]
                                                    [HEED_FLOAT32];
  const heed_reduce_loops *moments = &heed_kernel.reduce[HEED_REDUCE_MOMENTS]
                                                        [HEED_FLOAT32];
  const int64_t n = 10000000;
  float *x = malloc((size_t)n * sizeof *x);
  float *packed = malloc((size_t)(n / 3) * sizeof *packed);
  if (x && packed) {
    uint32_t random = 1;
    long double exact = 0, squares = 0;
    for (int64_t i = 0; i < n; i++) {
      random = random * 1664525u + 1013904223u;
      x[i] = 1 + ((float)(random >> 8) / 0x1p24f - 0.5f);
      exact += x[i];
    }
    for (int64_t i = 0; i < n; i++)
      squares += (x[i] - exact / n) * (x[i] - exact / n);

    double total = 0, column[4] = {0}, cut = 0, whole = 0;
    sum->row(n, x, 1, 0, &total);
    double error = fabs((double)((total - exact) / exact));
    REPORT(error < 1e-12, "a sum of 10^7 floats", "error %.3g", error);

    heed_moments m = {0};
    moments->row(n, x, 1, 0, &m);
    error = fabs((double)((m.squares - squares) / squares));
    REPORT(error < 1e-11, "a variance of 10^7 floats", "error %.3g", error);

    sum->columns(n / 4, 4, x, 4, 1, 0, column);
    total = column[0] + column[1] + column[2] + column[3];
    error = fabs((double)((total - exact) / exact));
    REPORT(error < 1e-12, "column sums of 10^7 floats", "error %.3g", error);

    for (int64_t i = 0; i < n / 3; i++) packed[i] = x[3 * i];
    sum->row(n / 3, packed, 1, 0, &whole);
    sum->row(n / 3, x, 3, 0, &cut);
    REPORT(whole == cut, "strides do not change a sum", "%.17g and %.17g",
           whole, cut);
  } else {
    REPORT(false, "long sums", "no memory");
  }
  free(packed);
  free(x);
}

int main(void) {
  if (!heed_kernels_select()) {
    printf("not ok select: %s\n", heed_error());
    return 1;
  }
  printf("# instruction set: %s\n", heed_kernel_isa);
  test_reductions();
  test_long_sums();
  printf("# %d failed\n", failed);
  return failed != 0;
}
