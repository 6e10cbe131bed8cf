/*
 * extremes - the largest and smallest elements, and their places.
 * Layer: kernel. Read first: reduce.h (the contracts), reduce_loop.h, vec.h.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "kernel/kernel.h"
#include "kernel/reduce_loop.h"
#include "kernel/vec.h"

#define SEARCH 512 /* elements among which a place is looked for */

/* ---- values -------------------------------------------------------------- */

/* A NaN, once in acc or v, stays. */
#define GREATER(acc, v) ((acc) > (v) || (acc) != (acc) ? (acc) : (v))
#define LESSER(acc, v) ((acc) < (v) || (acc) != (acc) ? (acc) : (v))

#define WHOLE(dtype, Type, least, most)                               \
  REDUCTION(max_##dtype, Type, Type, least, acc > v ? acc : v,        \
            acc > v ? acc : v)                                        \
  REDUCTION(min_##dtype, Type, Type, most, acc < v ? acc : v,         \
            acc < v ? acc : v)
WHOLE(uint8, uint8_t, 0, UINT8_MAX)
WHOLE(int32, int32_t, INT32_MIN, INT32_MAX)
WHOLE(int64, int64_t, INT64_MIN, INT64_MAX)

VEC_INLINE vd vd_max(vd a, vd b) { return vd_pick(a > b, a, b); }
VEC_INLINE vd vd_min(vd a, vd b) { return vd_pick(a < b, a, b); }

/* On vectors. NaNs are marked aside: vf_max and vf_min drop one in the first
   operand. */
#define EXTREME_ROW(name, From, V, mask, W, pick, better)             \
  static void name##_row(int64_t n, const void *from, int64_t sx,     \
                         int64_t first, void *to) {                   \
    const From *x = from;                                             \
    From acc = *(From *)to;                                           \
    int64_t i = 0;                                                    \
    (void)first;                                                      \
    if (sx == 1 && n >= 4 * W) {                                      \
      V m0 = V##_all(acc), m1 = m0, m2 = m0, m3 = m0;                 \
      mask nan = m0 != m0;                                            \
      for (; i + 4 * W <= n; i += 4 * W) {                            \
        const V v0 = V##_load(x + i), v1 = V##_load(x + i + W);       \
        const V v2 = V##_load(x + i + 2 * W);                         \
        const V v3 = V##_load(x + i + 3 * W);                         \
        m0 = pick(m0, v0);                                            \
        m1 = pick(m1, v1);                                            \
        m2 = pick(m2, v2);                                            \
        m3 = pick(m3, v3);                                            \
        nan |= (v0 != v0) | (v1 != v1) | (v2 != v2) | (v3 != v3);     \
      }                                                               \
      From lane[W];                                                   \
      V##_store(lane, pick(pick(m0, m1), pick(m2, m3)));              \
      for (int j = 0; j < W; j++) acc = better(acc, lane[j]);         \
      if (vi_any((vi)nan)) acc = NAN;                                 \
    }                                                                 \
    for (; i < n; i++) acc = better(acc, x[i * sx]);                  \
    *(From *)to = acc;                                                \
  }

#define REAL(name, From, V, mask, W, value, pick, better)             \
  EXTREME_ROW(name, From, V, mask, W, pick, better)                   \
  COLUMNS(name, From, From, better(acc, v))                           \
  START(name, From, value)                                            \
  MERGE(name, From, better(acc, v))

REAL(max_float32, float, vf, vi, VF, -INFINITY, vf_max, GREATER)
REAL(min_float32, float, vf, vi, VF, INFINITY, vf_min, LESSER)
REAL(max_float64, double, vd, vl, VD, -(double)INFINITY, vd_max, GREATER)
REAL(min_float64, double, vd, vl, VD, (double)INFINITY, vd_min, LESSER)

/* ---- places -------------------------------------------------------------- */

/* Is v better than best? The first of equals stays, and the first NaN. */
#define ABOVE(v, best) (((v) > (best)) | (((v) != (v)) & ((best) == (best))))
#define BELOW(v, best) (((v) < (best)) | (((v) != (v)) & ((best) == (best))))

#define FIND_START(name, From, value_)                                \
  static void name##_start(int64_t n, int64_t first, void *acc) {     \
    heed_found *found = acc;                                          \
    const From worst = value_;                                        \
    for (int64_t j = 0; j < n; j++) {                                 \
      found[j].place = first;                                         \
      memcpy(found[j].value, &worst, sizeof worst);                   \
    }                                                                 \
  }

/* The extreme of some elements at a time; only where it is a better one is
   its place looked for, in the end. */
#define FIND_ROW(name, From, row, better)                             \
  static void name##_row(int64_t n, const void *from, int64_t sx,     \
                         int64_t first, void *acc) {                  \
    const From *x = from;                                             \
    heed_found *found = acc;                                          \
    From best;                                                        \
    int64_t at = -1;                                                  \
    memcpy(&best, found->value, sizeof best);                         \
    for (int64_t i = 0; i < n && best == best; i += SEARCH) {         \
      const int64_t m = n - i < SEARCH ? n - i : SEARCH;              \
      From v = best;                                                  \
      row(m, x + i * sx, sx, 0, &v);                                  \
      if (!better(v, best)) continue;                                 \
      best = v;                                                       \
      at = i;                                                         \
    }                                                                 \
    if (at < 0) return;                                               \
    if (best == best)                                                 \
      while (x[at * sx] != best) at++;                                \
    else                                                              \
      while (x[at * sx] == x[at * sx]) at++;                          \
    found->place = first + at;                                        \
    memcpy(found->value, &best, sizeof best);                         \
  }

/* Place is as wide as From, or wider: both are chosen by one mask. */
#define FIND_COLUMNS(name, From, Place, better)                       \
  static void name##_columns(int64_t rows, int64_t n,                 \
                             const void *from, int64_t ld, int64_t sx, \
                             int64_t first, void *acc) {              \
    heed_found *found = acc;                                          \
    From best[HEED_REDUCE_COLUMNS];                                   \
    Place at[HEED_REDUCE_COLUMNS];                                    \
    for (int64_t j = 0; j < n; j++) {                                 \
      memcpy(&best[j], found[j].value, sizeof *best);                 \
      at[j] = -1;                                                     \
    }                                                                 \
    for (int64_t i = 0; i < rows; i++) {                              \
      const From *x = (const From *)from + i * ld;                    \
      if (sx == 1)                                                    \
        for (int64_t j = 0; j < n; j++) {                             \
          const From v = x[j];                                        \
          const int take = better(v, best[j]);                        \
          best[j] = take ? v : best[j];                               \
          at[j] = take ? (Place)i : at[j];                            \
        }                                                             \
      else                                                            \
        for (int64_t j = 0; j < n; j++) {                             \
          const From v = x[j * sx];                                   \
          const int take = better(v, best[j]);                        \
          best[j] = take ? v : best[j];                               \
          at[j] = take ? (Place)i : at[j];                            \
        }                                                             \
    }                                                                 \
    for (int64_t j = 0; j < n; j++) {                                 \
      if (at[j] < 0) continue;                                        \
      found[j].place = first + at[j];                                 \
      memcpy(found[j].value, &best[j], sizeof *best);                 \
    }                                                                 \
  }

#define FIND_MERGE(name, From, better)                                \
  static void name##_merge(int64_t n, void *acc, const void *others) { \
    heed_found *found = acc;                                          \
    const heed_found *other = others;                                 \
    for (int64_t j = 0; j < n; j++) {                                 \
      From v, best;                                                   \
      memcpy(&v, other[j].value, sizeof v);                           \
      memcpy(&best, found[j].value, sizeof best);                     \
      if (better(v, best)) found[j] = other[j];                       \
    }                                                                 \
  }

#define FIND(dtype, From, Place, least, most)                         \
  FIND_START(argmax_##dtype, From, least)                             \
  FIND_ROW(argmax_##dtype, From, max_##dtype##_row, ABOVE)            \
  FIND_COLUMNS(argmax_##dtype, From, Place, ABOVE)                    \
  FIND_MERGE(argmax_##dtype, From, ABOVE)                             \
  FIND_START(argmin_##dtype, From, most)                              \
  FIND_ROW(argmin_##dtype, From, min_##dtype##_row, BELOW)            \
  FIND_COLUMNS(argmin_##dtype, From, Place, BELOW)                    \
  FIND_MERGE(argmin_##dtype, From, BELOW)

FIND(uint8, uint8_t, int32_t, 0, UINT8_MAX)
FIND(int32, int32_t, int32_t, INT32_MIN, INT32_MAX)
FIND(int64, int64_t, int64_t, INT64_MIN, INT64_MAX)
FIND(float32, float, int32_t, -INFINITY, INFINITY)
FIND(float64, double, int64_t, -(double)INFINITY, (double)INFINITY)

/* ---- the table ----------------------------------------------------------- */

#define VALUES(name)                                                  \
  {[HEED_BOOL] = LOOPS(name##_uint8, uint8_t),                        \
   [HEED_UINT8] = LOOPS(name##_uint8, uint8_t),                       \
   [HEED_INT32] = LOOPS(name##_int32, int32_t),                       \
   [HEED_INT64] = LOOPS(name##_int64, int64_t),                       \
   [HEED_FLOAT32] = LOOPS(name##_float32, float),                     \
   [HEED_FLOAT64] = LOOPS(name##_float64, double)}
#define PLACES(name)                                                  \
  {[HEED_BOOL] = LOOPS(name##_uint8, heed_found),                     \
   [HEED_UINT8] = LOOPS(name##_uint8, heed_found),                    \
   [HEED_INT32] = LOOPS(name##_int32, heed_found),                    \
   [HEED_INT64] = LOOPS(name##_int64, heed_found),                    \
   [HEED_FLOAT32] = LOOPS(name##_float32, heed_found),                \
   [HEED_FLOAT64] = LOOPS(name##_float64, heed_found)}

static const heed_reduce_loops max[HEED_NDTYPE] = VALUES(max);
static const heed_reduce_loops min[HEED_NDTYPE] = VALUES(min);
static const heed_reduce_loops argmax[HEED_NDTYPE] = PLACES(argmax);
static const heed_reduce_loops argmin[HEED_NDTYPE] = PLACES(argmin);

HEED_FILL(extremes);
HEED_FILL(extremes) {
  memcpy(k->reduce[HEED_REDUCE_MAX], max, sizeof max);
  memcpy(k->reduce[HEED_REDUCE_MIN], min, sizeof min);
  memcpy(k->reduce[HEED_REDUCE_ARGMAX], argmax, sizeof argmax);
  memcpy(k->reduce[HEED_REDUCE_ARGMIN], argmin, sizeof argmin);
}
