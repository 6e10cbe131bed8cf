/*
 * reduce - sums, products, counts and truths. Layer: kernel.
 * Read first: reduce.h (the contracts), reduce_loop.h, sum.h.
 */
#include <string.h>

#include "kernel/kernel.h"
#include "kernel/reduce_loop.h"
#include "kernel/sum.h"

typedef uint64_t u64;

/* ---- sums of floats ------------------------------------------------------ */

#define NUMBER(v, mean) ((void)(mean), (v) == (v) ? (v) : 0)
#define NUMBERS(v, mean) ((void)(mean), vd_pick((v) == (v), v, (vd){0}))

/* Four rows at a time, so that acc is read and written less often. */
#define SUM_COLUMNS(name, From, number)                                   \
  static void name##_columns(int64_t rows, int64_t n, const void *from,   \
                             int64_t ld, int64_t sx, int64_t first,       \
                             void *to) {                                  \
    double *restrict acc = to;                                            \
    int64_t i = 0;                                                        \
    (void)first;                                                          \
    for (; i + 4 <= rows; i += 4) {                                       \
      const From *restrict x0 = (const From *)from + i * ld;              \
      const From *restrict x1 = x0 + ld, *restrict x2 = x1 + ld;          \
      const From *restrict x3 = x2 + ld;                                  \
      if (sx == 1)                                                        \
        for (int64_t j = 0; j < n; j++)                                   \
          acc[j] += ((double)number(x0[j], 0) + (double)number(x1[j], 0)) + \
                    ((double)number(x2[j], 0) + (double)number(x3[j], 0)); \
      else                                                                \
        for (int64_t j = 0, k = 0; j < n; j++, k += sx)                   \
          acc[j] += ((double)number(x0[k], 0) + (double)number(x1[k], 0)) + \
                    ((double)number(x2[k], 0) + (double)number(x3[k], 0)); \
    }                                                                     \
    for (; i < rows; i++) {                                               \
      const From *restrict x = (const From *)from + i * ld;               \
      for (int64_t j = 0; j < n; j++)                                     \
        acc[j] += (double)number(x[j * sx], 0);                           \
    }                                                                     \
  }

#define SUM(name, From, load, vector, number)                             \
  SUM_BLOCK(name##_block, From, load, vector, number)                     \
  static void name##_row(int64_t n, const void *data, int64_t sx,         \
                         int64_t first, void *acc) {                      \
    const From *x = data;                                                 \
    double sum = 0;                                                       \
    (void)first;                                                          \
    EACH_BLOCK(From, sum += name##_block(m, from, 0))                     \
    *(double *)acc += sum;                                                \
  }                                                                       \
  SUM_COLUMNS(name, From, number)                                         \
  START(name, double, 0)                                                  \
  MERGE(name, double, acc + v)

SUM(sum_float32, float, vd_load_float, ITSELF, ITSELF)
SUM(sum_float64, double, vd_load, ITSELF, ITSELF)
SUM(nansum_float32, float, vd_load_float, NUMBERS, NUMBER)
SUM(nansum_float64, double, vd_load, NUMBERS, NUMBER)

/* ---- products of floats -------------------------------------------------- */

/* In four vectors of partial products. */
#define PROD_ROW(name, From, load)                                   \
  static void name##_row(int64_t n, const void *data, int64_t sx,    \
                         int64_t first, void *acc) {                 \
    const From *x = data;                                            \
    vd p0 = vd_all(1), p1 = p0, p2 = p0, p3 = p0;                    \
    double rest = 1;                                                 \
    (void)first;                                                     \
    EACH_BLOCK(From, {                                               \
      int64_t j = 0;                                                 \
      for (; j + 4 * VD <= m; j += 4 * VD) {                         \
        p0 *= load(from + j);                                        \
        p1 *= load(from + j + VD);                                   \
        p2 *= load(from + j + 2 * VD);                               \
        p3 *= load(from + j + 3 * VD);                               \
      }                                                              \
      for (; j < m; j++) rest *= (double)from[j];                    \
    })                                                               \
    double lane[VD];                                                 \
    vd_store(lane, (p0 * p1) * (p2 * p3));                           \
    for (int j = 0; j < VD; j++) rest *= lane[j];                    \
    *(double *)acc *= rest;                                          \
  }

#define PROD(name, From, load)                   \
  PROD_ROW(name, From, load)                     \
  COLUMNS(name, From, double, acc * (double)v)   \
  START(name, double, 1)                         \
  MERGE(name, double, acc * v)

PROD(prod_float32, float, vd_load_float)
PROD(prod_float64, double, vd_load)

/* ---- counts -------------------------------------------------------------- */

/* Within a block in int32, of which twice as many fit into a vector. */
#define COUNT(name, From)                                             \
  static void name##_row(int64_t n, const void *data, int64_t sx,     \
                         int64_t first, void *acc) {                  \
    const From *x = data;                                             \
    (void)first;                                                      \
    EACH_BLOCK(From, {                                                \
      int32_t count = 0;                                              \
      for (int64_t j = 0; j < m; j++) count += from[j] != 0;          \
      *(int64_t *)acc += count;                                       \
    })                                                                \
  }                                                                   \
  COLUMNS(name, From, int64_t, acc + (v != 0))                        \
  START(name, int64_t, 0)                                             \
  MERGE(name, int64_t, acc + v)

COUNT(count_uint8, uint8_t)
COUNT(count_int32, int32_t)
COUNT(count_int64, int64_t)
COUNT(count_float32, float)
COUNT(count_float64, double)

/* ---- the others ---------------------------------------------------------- */

/* Integers count in int64 and wrap around. */
#define WHOLE(name, value, operator)                                  \
  REDUCTION(name##_uint8, uint8_t, int64_t, value,                    \
            (u64)acc operator(u64) v, (u64)acc operator(u64) v)       \
  REDUCTION(name##_int32, int32_t, int64_t, value,                    \
            (u64)acc operator(u64) v, (u64)acc operator(u64) v)       \
  REDUCTION(name##_int64, int64_t, int64_t, value,                    \
            (u64)acc operator(u64) v, (u64)acc operator(u64) v)
WHOLE(sum, 0, +)
WHOLE(prod, 1, *)

#define TRUTH(name, value, operator)                                  \
  REDUCTION(name##_uint8, uint8_t, uint8_t, value,                    \
            acc operator(v != 0), acc operator v)                     \
  REDUCTION(name##_int32, int32_t, uint8_t, value,                    \
            acc operator(v != 0), acc operator v)                     \
  REDUCTION(name##_int64, int64_t, uint8_t, value,                    \
            acc operator(v != 0), acc operator v)                     \
  REDUCTION(name##_float32, float, uint8_t, value,                    \
            acc operator(v != 0), acc operator v)                     \
  REDUCTION(name##_float64, double, uint8_t, value,                   \
            acc operator(v != 0), acc operator v)
TRUTH(any, 0, |)
TRUTH(all, 1, &)

/* ---- the table ----------------------------------------------------------- */

#define EACH_DTYPE(whole, real, Whole, Real)                          \
  {[HEED_BOOL] = LOOPS(whole##_uint8, Whole),                         \
   [HEED_UINT8] = LOOPS(whole##_uint8, Whole),                        \
   [HEED_INT32] = LOOPS(whole##_int32, Whole),                        \
   [HEED_INT64] = LOOPS(whole##_int64, Whole),                        \
   [HEED_FLOAT32] = LOOPS(real##_float32, Real),                      \
   [HEED_FLOAT64] = LOOPS(real##_float64, Real)}

static const heed_reduce_loops table[][HEED_NDTYPE] = {
    [HEED_REDUCE_SUM] = EACH_DTYPE(sum, sum, int64_t, double),
    [HEED_REDUCE_NANSUM] = EACH_DTYPE(sum, nansum, int64_t, double),
    [HEED_REDUCE_PROD] = EACH_DTYPE(prod, prod, int64_t, double),
    [HEED_REDUCE_COUNT] = EACH_DTYPE(count, count, int64_t, int64_t),
    [HEED_REDUCE_ANY] = EACH_DTYPE(any, any, uint8_t, uint8_t),
    [HEED_REDUCE_ALL] = EACH_DTYPE(all, all, uint8_t, uint8_t),
};

HEED_FILL(reduce);
HEED_FILL(reduce) {
  for (size_t how = 0; how < sizeof table / sizeof *table; how++)
    if (table[how][0].row) memcpy(k->reduce[how], table[how], sizeof *table);
}
