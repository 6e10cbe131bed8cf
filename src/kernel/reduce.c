/*
 * reduce - sums, products, extremes and their places, over rows and columns.
 * Layer: kernel. Read first: kernel.h (the contracts), vec.h.
 *
 * Floats are summed in doubles: a row in blocks of BLOCK elements, a block in
 * four vectors of partial sums that are then added in a fixed order. A row
 * with gaps is copied block by block, so that strides do not change a sum.
 */
#include <math.h>
#include <string.h>

#include "kernel/kernel.h"
#include "kernel/vec.h"

#define BLOCK 1024

typedef uint64_t u64;

/* One element after the other, for loops that are worth no more. */
#define ROW(name, From, Acc, expression)                              \
  static void name(int64_t n, const void *from, int64_t sx, void *to) { \
    const From *x = from;                                             \
    Acc acc = *(Acc *)to;                                             \
    if (sx == 1)                                                      \
      for (int64_t i = 0; i < n; i++) {                               \
        const From v = x[i];                                          \
        acc = (Acc)(expression);                                      \
      }                                                               \
    else                                                              \
      for (int64_t i = 0; i < n; i++) {                               \
        const From v = x[i * sx];                                     \
        acc = (Acc)(expression);                                      \
      }                                                               \
    *(Acc *)to = acc;                                                 \
  }

/* acc[j] takes in column j; the compiler makes vectors along j. */
#define COLUMNS(name, From, Acc, expression)                              \
  static void name(int64_t rows, int64_t n, const void *from, int64_t ld, \
                   int64_t sx, void *to) {                                \
    Acc *restrict y = to;                                                 \
    for (int64_t i = 0; i < rows; i++) {                                  \
      const From *restrict x = (const From *)from + i * ld;               \
      if (sx == 1)                                                        \
        for (int64_t j = 0; j < n; j++) {                                 \
          const From v = x[j];                                            \
          const Acc acc = y[j];                                           \
          y[j] = (Acc)(expression);                                       \
        }                                                                 \
      else                                                                \
        for (int64_t j = 0; j < n; j++) {                                 \
          const From v = x[j * sx];                                       \
          const Acc acc = y[j];                                           \
          y[j] = (Acc)(expression);                                       \
        }                                                                 \
    }                                                                     \
  }

/* ---- sums of floats ------------------------------------------------------ */

/* The sum of a row of at most BLOCK elements without gaps: of term(v, mean),
   v an element or a vector of them. */
#define SUM_BLOCK(name, From, load, term)                            \
  static double name(int64_t n, const From *x, double mean) {        \
    const vd m = vd_all(mean);                                       \
    vd s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};                       \
    int64_t i = 0;                                                   \
    for (; i + 4 * VD <= n; i += 4 * VD) {                           \
      const vd v0 = load(x + i), v1 = load(x + i + VD);              \
      const vd v2 = load(x + i + 2 * VD), v3 = load(x + i + 3 * VD); \
      s0 += term(v0, m);                                             \
      s1 += term(v1, m);                                             \
      s2 += term(v2, m);                                             \
      s3 += term(v3, m);                                             \
    }                                                                \
    for (; i + VD <= n; i += VD) {                                   \
      const vd v = load(x + i);                                      \
      s0 += term(v, m);                                              \
    }                                                                \
    double sum = vd_sum((s0 + s1) + (s2 + s3));                      \
    for (; i < n; i++) {                                             \
      const double v = x[i];                                         \
      sum += term(v, mean);                                          \
    }                                                                \
    return sum;                                                      \
  }

#define SUM_ROW(name, From, block)                                       \
  static double name(int64_t n, const From *x, int64_t sx, double mean) { \
    From buffer[BLOCK];                                                  \
    double sum = 0;                                                      \
    for (int64_t i = 0; i < n; i += BLOCK) {                             \
      const int64_t m = n - i < BLOCK ? n - i : BLOCK;                   \
      const From *from = x + i * sx;                                     \
      if (sx != 1) {                                                     \
        for (int64_t j = 0; j < m; j++) buffer[j] = from[j * sx];        \
        from = buffer;                                                   \
      }                                                                  \
      sum += block(m, from, mean);                                       \
    }                                                                    \
    return sum;                                                          \
  }

#define ITSELF(v, mean) ((void)(mean), (v))
#define SQUARE(v, mean) (((v) - (mean)) * ((v) - (mean)))

SUM_BLOCK(sum_block_float32, float, vd_load_float, ITSELF)
SUM_BLOCK(sum_block_float64, double, vd_load, ITSELF)
SUM_BLOCK(spread_block_float32, float, vd_load_float, SQUARE)
SUM_BLOCK(spread_block_float64, double, vd_load, SQUARE)
SUM_ROW(sum_row_float32, float, sum_block_float32)
SUM_ROW(sum_row_float64, double, sum_block_float64)
SUM_ROW(spread_row_float32, float, spread_block_float32)
SUM_ROW(spread_row_float64, double, spread_block_float64)

static void sum_float32(int64_t n, const void *x, int64_t sx, void *acc) {
  *(double *)acc += sum_row_float32(n, x, sx, 0);
}
static void sum_float64(int64_t n, const void *x, int64_t sx, void *acc) {
  *(double *)acc += sum_row_float64(n, x, sx, 0);
}
static double spread_float32(int64_t n, const void *x, int64_t sx,
                             double mean) {
  return spread_row_float32(n, x, sx, mean);
}
static double spread_float64(int64_t n, const void *x, int64_t sx,
                             double mean) {
  return spread_row_float64(n, x, sx, mean);
}

/* Four rows at a time, so that acc is read and written less often. */
#define SUM_COLUMNS(name, From)                                           \
  static void name(int64_t rows, int64_t n, const void *from, int64_t ld, \
                   int64_t sx, void *to) {                                \
    double *restrict acc = to;                                            \
    int64_t i = 0;                                                        \
    for (; i + 4 <= rows; i += 4) {                                       \
      const From *restrict x0 = (const From *)from + i * ld;              \
      const From *restrict x1 = x0 + ld, *restrict x2 = x1 + ld;          \
      const From *restrict x3 = x2 + ld;                                  \
      if (sx == 1)                                                        \
        for (int64_t j = 0; j < n; j++)                                   \
          acc[j] += ((double)x0[j] + (double)x1[j]) +                     \
                    ((double)x2[j] + (double)x3[j]);                      \
      else                                                                \
        for (int64_t j = 0; j < n; j++)                                   \
          acc[j] += ((double)x0[j * sx] + (double)x1[j * sx]) +           \
                    ((double)x2[j * sx] + (double)x3[j * sx]);            \
    }                                                                     \
    for (; i < rows; i++) {                                               \
      const From *restrict x = (const From *)from + i * ld;               \
      for (int64_t j = 0; j < n; j++) acc[j] += (double)x[j * sx];        \
    }                                                                     \
  }

SUM_COLUMNS(sum_float32_columns, float)
SUM_COLUMNS(sum_float64_columns, double)

/* ---- the others ---------------------------------------------------------- */

/* A NaN, once in acc or v, stays. */
#define GREATER(acc, v) ((acc) > (v) || (acc) != (acc) ? (acc) : (v))
#define LESSER(acc, v) ((acc) < (v) || (acc) != (acc) ? (acc) : (v))

#define BOTH(name, From, Acc, expression) \
  ROW(name, From, Acc, expression)        \
  COLUMNS(name##_columns, From, Acc, expression)

/* One for each dtype that counts in int64. */
#define COUNTED(name, expression)                  \
  BOTH(name##_bool, uint8_t, int64_t, expression)  \
  BOTH(name##_uint8, uint8_t, int64_t, expression) \
  BOTH(name##_int32, int32_t, int64_t, expression) \
  BOTH(name##_int64, int64_t, int64_t, expression)
/* One for each integer dtype, in that dtype. */
#define INTEGERS(name, expression)                 \
  BOTH(name##_uint8, uint8_t, uint8_t, expression) \
  BOTH(name##_int32, int32_t, int32_t, expression) \
  BOTH(name##_int64, int64_t, int64_t, expression)
#define TRUTH(name, operator)                                    \
  BOTH(name##_bool, uint8_t, uint8_t, acc operator v)            \
  BOTH(name##_uint8, uint8_t, uint8_t, acc operator(v != 0))     \
  BOTH(name##_int32, int32_t, uint8_t, acc operator(v != 0))     \
  BOTH(name##_int64, int64_t, uint8_t, acc operator(v != 0))     \
  BOTH(name##_float32, float, uint8_t, acc operator(v != 0))     \
  BOTH(name##_float64, double, uint8_t, acc operator(v != 0))

COUNTED(sum, (u64)acc + (u64)v)
COUNTED(prod, (u64)acc * (u64)v)
BOTH(prod_float32, float, double, acc * (double)v)
BOTH(prod_float64, double, double, acc * v)
INTEGERS(max, acc > v ? acc : v)
INTEGERS(min, acc < v ? acc : v)
BOTH(max_float64, double, double, GREATER(acc, v))
BOTH(min_float64, double, double, LESSER(acc, v))
COLUMNS(max_float32_columns, float, float, GREATER(acc, v))
COLUMNS(min_float32_columns, float, float, LESSER(acc, v))
TRUTH(any, |)
TRUTH(all, &)

/* The extremes of float32 on vectors. NaNs are marked aside: vf_max and
   vf_min drop one in the first operand. */
#define EXTREME(name, pick, better)                                     \
  static void name(int64_t n, const void *from, int64_t sx, void *to) { \
    const float *x = from;                                              \
    const float first = *(float *)to;                                   \
    vf m0 = vf_all(first), m1 = m0;                                     \
    vi nan = m0 != m0;                                                  \
    int64_t i = 0;                                                      \
    if (sx == 1)                                                        \
      for (; i + 2 * VF <= n; i += 2 * VF) {                            \
        const vf v0 = vf_load(x + i), v1 = vf_load(x + i + VF);         \
        m0 = pick(m0, v0);                                              \
        m1 = pick(m1, v1);                                              \
        nan |= (v0 != v0) | (v1 != v1);                                 \
      }                                                                 \
    float lane[VF];                                                     \
    vf_store(lane, pick(m0, m1));                                       \
    float acc = lane[0];                                                \
    for (int j = 1; j < VF; j++) acc = better(acc, lane[j]);            \
    if (vi_any(nan)) acc = NAN;                                         \
    for (; i < n; i++) acc = better(acc, x[i * sx]);                    \
    *(float *)to = acc;                                                 \
  }

EXTREME(max_float32, vf_max, GREATER)
EXTREME(min_float32, vf_min, LESSER)

/* The first place of the extreme, which the row function finds first. */
#define FIND(name, From, row)                                           \
  static int64_t name(int64_t n, const void *from, int64_t sx) {        \
    const From *x = from;                                               \
    From best = *x;                                                     \
    row(n, x, sx, &best);                                               \
    int64_t i = 0;                                                      \
    if (best != best)                                                   \
      while (i + 1 < n && x[i * sx] == x[i * sx]) i++;                  \
    else                                                                \
      while (i + 1 < n && x[i * sx] != best) i++;                       \
    return i;                                                           \
  }

FIND(argmax_bool, uint8_t, any_bool)
FIND(argmax_uint8, uint8_t, max_uint8)
FIND(argmax_int32, int32_t, max_int32)
FIND(argmax_int64, int64_t, max_int64)
FIND(argmax_float32, float, max_float32)
FIND(argmax_float64, double, max_float64)
FIND(argmin_bool, uint8_t, all_bool)
FIND(argmin_uint8, uint8_t, min_uint8)
FIND(argmin_int32, int32_t, min_int32)
FIND(argmin_int64, int64_t, min_int64)
FIND(argmin_float32, float, min_float32)
FIND(argmin_float64, double, min_float64)

/* ---- the tables ---------------------------------------------------------- */

#define WITH(first, name, s)                                    \
  {[HEED_BOOL] = first##_bool##s, [HEED_UINT8] = name##_uint8##s, \
   [HEED_INT32] = name##_int32##s, [HEED_INT64] = name##_int64##s, \
   [HEED_FLOAT32] = name##_float32##s,                          \
   [HEED_FLOAT64] = name##_float64##s}
#define TABLE(s)                                                       \
  {[HEED_REDUCE_SUM] = WITH(sum, sum, s),                              \
   [HEED_REDUCE_PROD] = WITH(prod, prod, s),                           \
   [HEED_REDUCE_MAX] = WITH(any, max, s),                              \
   [HEED_REDUCE_MIN] = WITH(all, min, s),                              \
   [HEED_REDUCE_ANY] = WITH(any, any, s),                              \
   [HEED_REDUCE_ALL] = WITH(all, all, s)}

static heed_loop_reduce *const reduce[HEED_NREDUCE][HEED_NDTYPE] = TABLE();
static heed_loop_columns *const columns[HEED_NREDUCE][HEED_NDTYPE] =
    TABLE(_columns);
static heed_loop_find *const argmax[HEED_NDTYPE] = WITH(argmax, argmax, );
static heed_loop_find *const argmin[HEED_NDTYPE] = WITH(argmin, argmin, );
static heed_loop_spread *const spread[HEED_NDTYPE] = {
    [HEED_FLOAT32] = spread_float32, [HEED_FLOAT64] = spread_float64};

HEED_FILL(reduce);
HEED_FILL(reduce) {
  memcpy(k->reduce, reduce, sizeof reduce);
  memcpy(k->columns, columns, sizeof columns);
  memcpy(k->argmax, argmax, sizeof argmax);
  memcpy(k->argmin, argmin, sizeof argmin);
  memcpy(k->spread, spread, sizeof spread);
}
