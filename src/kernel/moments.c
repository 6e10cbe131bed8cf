/*
 * moments - means and sums of squares around them. Layer: kernel.
 * Read first: reduce.h (the contracts), sum.h.
 *
 * A few elements at a time, which are still in the cache when they are read
 * again: their mean, then the squares around it. Two such parts a and b, with
 * d = mean_b - mean_a, make one:
 *
 *     mean    = mean_a + d n_b / n
 *     squares = squares_a + squares_b + d^2 n_a n_b / n
 *
 * so that no square of a large mean ever cancels.
 */
#include <string.h>

#include "kernel/kernel.h"
#include "kernel/reduce_loop.h"
#include "kernel/sum.h"

#define ROWS 16 /* of columns, at a time */

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

#define SQUARE(v, mean) (((v) - (mean)) * ((v) - (mean)))

#define MOMENTS_ROW(name, From, load)                                 \
  SUM_BLOCK(name##_sum, From, load, ITSELF, ITSELF)                   \
  SUM_BLOCK(name##_squares, From, load, SQUARE, SQUARE)               \
  static void name##_row(int64_t n, const void *data, int64_t sx,     \
                         int64_t first, void *acc) {                  \
    const From *x = data;                                             \
    (void)first;                                                      \
    EACH_BLOCK(From, {                                                \
      const double mean = name##_sum(m, from, 0) / (double)m;         \
      join(acc, (double)m, mean, name##_squares(m, from, mean));      \
    })                                                                \
  }

#define MOMENTS_COLUMNS(name, From)                                   \
  static void name##_part(int64_t rows, int64_t n, const From *x,     \
                          int64_t ld, int64_t sx, heed_moments *acc) { \
    double mean[HEED_REDUCE_COLUMNS], squares[HEED_REDUCE_COLUMNS];   \
    for (int64_t j = 0; j < n; j++) mean[j] = squares[j] = 0;         \
    for (int64_t i = 0; i < rows; i++)                                \
      if (sx == 1)                                                    \
        for (int64_t j = 0; j < n; j++) mean[j] += (double)x[i * ld + j]; \
      else                                                            \
        for (int64_t j = 0; j < n; j++)                               \
          mean[j] += (double)x[i * ld + j * sx];                      \
    for (int64_t j = 0; j < n; j++) mean[j] /= (double)rows;          \
    for (int64_t i = 0; i < rows; i++)                                \
      if (sx == 1)                                                    \
        for (int64_t j = 0; j < n; j++)                               \
          squares[j] += SQUARE((double)x[i * ld + j], mean[j]);       \
      else                                                            \
        for (int64_t j = 0; j < n; j++)                               \
          squares[j] += SQUARE((double)x[i * ld + j * sx], mean[j]);  \
    for (int64_t j = 0; j < n; j++)                                   \
      join(&acc[j], (double)rows, mean[j], squares[j]);               \
  }                                                                   \
  static void name##_columns(int64_t rows, int64_t n,                 \
                             const void *data, int64_t ld, int64_t sx, \
                             int64_t first, void *acc) {              \
    (void)first;                                                      \
    for (int64_t i = 0; i < rows; i += ROWS)                          \
      name##_part(rows - i < ROWS ? rows - i : ROWS, n,               \
                  (const From *)data + i * ld, ld, sx, acc);          \
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
