/*
 * moments - means and sums of squares around them. Layer: kernel.
 * Read first: reduce.h (the contracts), sum.h.
 *
 * Some elements at a time, in one pass, as differences d from the first of
 * them: with s = sum d and q = sum d^2 over m elements,
 *
 *     mean = first + s / m        squares = q - s^2 / m
 *
 * No element is further from the mean than the root of `squares`, so q is at
 * most m + 1 times as large, and no more digits than those of m are lost,
 * however large the mean is. Two such parts a and b, with d = mean_b - mean_a,
 * make one:
 *
 *     mean    = mean_a + d n_b / n
 *     squares = squares_a + squares_b + d^2 n_a n_b / n
 */
#include <string.h>

#include "kernel/kernel.h"
#include "kernel/reduce_loop.h"
#include "kernel/sum.h"

#define ROWS 64 /* of columns, at a time */

static inline void join(heed_moments *a, double n, double mean,
                        double squares) {
  const double all = a->n + n, d = mean - a->mean;
  if (n == 0) return;
  a->mean = a->n == 0 ? mean : a->mean + d * (n / all);
  a->squares += squares + (a->n == 0 ? 0 : d * d * (a->n * (n / all)));
  a->n = all;
}

static void moments_start(int64_t n, int64_t first, void *acc) {
  (void)first;
  memset(acc, 0, (size_t)n * sizeof(heed_moments));
}

static void moments_merge(int64_t n, void *acc, const void *others) {
  heed_moments *a = acc;
  const heed_moments *b = others;
  for (int64_t j = 0; j < n; j++)
    join(&a[j], b[j].n, b[j].mean, b[j].squares);
}

/* A block of a row without gaps, m >= 1. */
#define MOMENTS_ROW(name, From, load)                                 \
  static void name##_block(int64_t m, const From *x, heed_moments *acc) { \
    const double first = (double)*x;                                  \
    const vd f = vd_all(first);                                       \
    vd s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};                        \
    vd q0 = {0}, q1 = {0}, q2 = {0}, q3 = {0};                        \
    int64_t i = 0;                                                    \
    for (; i + 4 * VD <= m; i += 4 * VD) {                            \
      const vd d0 = load(x + i) - f, d1 = load(x + i + VD) - f;       \
      const vd d2 = load(x + i + 2 * VD) - f;                         \
      const vd d3 = load(x + i + 3 * VD) - f;                         \
      s0 += d0;                                                       \
      s1 += d1;                                                       \
      s2 += d2;                                                       \
      s3 += d3;                                                       \
      q0 += d0 * d0;                                                  \
      q1 += d1 * d1;                                                  \
      q2 += d2 * d2;                                                  \
      q3 += d3 * d3;                                                  \
    }                                                                 \
    double s = vd_sum((s0 + s1) + (s2 + s3));                         \
    double q = vd_sum((q0 + q1) + (q2 + q3));                         \
    for (; i < m; i++) {                                              \
      const double d = (double)x[i] - first;                          \
      s += d;                                                         \
      q += d * d;                                                     \
    }                                                                 \
    const double mean = s / (double)m, squares = q - s * mean;        \
    join(acc, (double)m, first + mean, squares < 0 ? 0 : squares);    \
  }                                                                   \
  static void name##_row(int64_t n, const void *data, int64_t sx,     \
                         int64_t first, void *acc) {                  \
    const From *x = data;                                             \
    (void)first;                                                      \
    EACH_BLOCK(From, name##_block(m, from, acc))                      \
  }

/* s[j] and q[j] of column j, two rows at a time. */
#define MOMENTS_PART(name, From)                                      \
  static void name##_part(int64_t rows, int64_t n,                    \
                          const From *restrict x, int64_t ld,         \
                          int64_t sx, double *restrict s,             \
                          double *restrict q) {                       \
    int64_t i = 0;                                                    \
    for (int64_t j = 0; j < n; j++) s[j] = q[j] = 0;                  \
    for (; i + 2 <= rows; i += 2) {                                   \
      const From *x1 = x + i * ld, *x2 = x1 + ld;                     \
      if (sx == 1)                                                    \
        for (int64_t j = 0; j < n; j++) {                             \
          const double d1 = (double)x1[j] - (double)x[j];             \
          const double d2 = (double)x2[j] - (double)x[j];             \
          s[j] += d1 + d2;                                            \
          q[j] += d1 * d1 + d2 * d2;                                  \
        }                                                             \
      else                                                            \
        for (int64_t j = 0, k = 0; j < n; j++, k += sx) {             \
          const double d1 = (double)x1[k] - (double)x[k];             \
          const double d2 = (double)x2[k] - (double)x[k];             \
          s[j] += d1 + d2;                                            \
          q[j] += d1 * d1 + d2 * d2;                                  \
        }                                                             \
    }                                                                 \
    for (; i < rows; i++)                                             \
      for (int64_t j = 0; j < n; j++) {                               \
        const double d = (double)x[i * ld + j * sx] - (double)x[j * sx]; \
        s[j] += d;                                                    \
        q[j] += d * d;                                                \
      }                                                               \
  }

#define MOMENTS_COLUMNS(name, From)                                   \
  MOMENTS_PART(name, From)                                            \
  static void name##_columns(int64_t rows, int64_t n,                 \
                             const void *data, int64_t ld, int64_t sx, \
                             int64_t first, void *to) {               \
    double s[HEED_REDUCE_COLUMNS], q[HEED_REDUCE_COLUMNS];            \
    heed_moments *acc = to;                                           \
    (void)first;                                                      \
    for (int64_t i = 0; i < rows; i += ROWS) {                        \
      const From *x = (const From *)data + i * ld;                    \
      const int64_t some = rows - i < ROWS ? rows - i : ROWS;         \
      const double over = 1 / (double)some;                           \
      name##_part(some, n, x, ld, sx, s, q);                          \
      for (int64_t j = 0; j < n; j++) {                               \
        const double squares = q[j] - s[j] * s[j] * over;             \
        join(&acc[j], (double)some, (double)x[j * sx] + s[j] * over,  \
             squares < 0 ? 0 : squares);                              \
      }                                                               \
    }                                                                 \
  }

MOMENTS_ROW(moments_float32, float, vd_load_float)
MOMENTS_ROW(moments_float64, double, vd_load)
MOMENTS_COLUMNS(moments_float32, float)
MOMENTS_COLUMNS(moments_float64, double)

HEED_FILL(moments);
HEED_FILL(moments) {
  heed_reduce_loops *loops = k->reduce[HEED_REDUCE_MOMENTS];
  loops[HEED_FLOAT32] = (heed_reduce_loops){
      sizeof(heed_moments), moments_start, moments_float32_row,
      moments_float32_columns, moments_merge};
  loops[HEED_FLOAT64] = (heed_reduce_loops){
      sizeof(heed_moments), moments_start, moments_float64_row,
      moments_float64_columns, moments_merge};
}
