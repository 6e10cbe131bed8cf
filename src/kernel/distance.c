/*
 * distance - sums of powers, and distances of two rows. Layer: kernel.
 * Read first: kernel.h.
 *
 * Of numbers d[i], which are those of one row or the differences of two:
 *
 *     sum of |d|^p        p = 0: how many are not 0
 *                         p = inf, -inf: the largest, the smallest |d|;
 *                         a NaN stays. Over nothing: 0, for -inf: inf
 *
 * power_sum gives this sum, distances the roots 1/p for one row a and each of
 * `rows` rows b, which lie one behind the other. With the distance y of two
 * rows, distance_bwd adds g * dy/d[i] to sum[i]:
 *
 *     g * sign(d) (|d| / y)^(p - 1)     p = inf: g * sign(d) / how many |d|
 *                                       are equal to y, for these
 *     nothing for y = 0 or p = 0
 *
 * Sums run in an order that depends on n alone.
 */
#include <math.h>

#include "kernel/kernel.h"
#include "kernel/vec.h"

VEC_INLINE vd vd_abs(vd x) { return (vd)((vl)x & INT64_MAX); }

static double one_power(double d, double p) {
  double a = fabs(d);
  if (p == 0) return a != 0;
  return p == 1 ? a : p == 2 ? a * a : pow(a, p);
}

/* Takes |d| into the extreme so far. */
static double widen(double best, double d, bool largest) {
  double a = fabs(d);
  return a != a || (largest ? a > best : a < best) ? a : best;
}

#define POWER_SUM(name, T, load)                                     \
  static double name(int64_t n, const void *from, double p) {        \
    const T *x = from;                                               \
    double rest = p == -INFINITY ? INFINITY : 0;                     \
    int64_t i = 0;                                                   \
    if (isinf(p)) {                                                  \
      for (; i < n && rest == rest; i++)                             \
        rest = widen(rest, (double)x[i], p > 0);                     \
      return rest;                                                   \
    }                                                                \
    vd sum[4] = {{0}, {0}, {0}, {0}};                                \
    if (p == 2)                                                      \
      for (; i + 4 * VD <= n; i += 4 * VD)                           \
        for (int u = 0; u < 4; u++) {                                \
          vd d = load(x + i + u * VD);                               \
          sum[u] += d * d;                                           \
        }                                                            \
    else if (p == 1)                                                 \
      for (; i + 4 * VD <= n; i += 4 * VD)                           \
        for (int u = 0; u < 4; u++)                                  \
          sum[u] += vd_abs(load(x + i + u * VD));                    \
    rest = vd_sum((sum[0] + sum[1]) + (sum[2] + sum[3]));            \
    for (; i < n; i++) rest += one_power((double)x[i], p);           \
    return rest;                                                     \
  }

POWER_SUM(power_sum_float, float, vd_load_float)
POWER_SUM(power_sum_double, double, vd_load)

static double root(double sum, double p) {
  if (p == 2) return sqrt(sum);
  return p == 0 || p == 1 || isinf(p) ? sum : pow(sum, 1 / p);
}

#define PART 256 /* differences at a time */
#define ROWS 4   /* rows of b at a time */

/* sum[u], u < count: the sum of (a - row u of b)^2. A part is short enough
   for sums of its own dtype. */
#define SQUARES(name, T, V, width, load, lanes)                             \
  VEC_INLINE void name(int64_t n, const T *a, const T *b, int count,        \
                       double *sum) {                                       \
    for (int u = 0; u < count; u++) sum[u] = 0;                             \
    for (int64_t i = 0; i < n; i += PART) {                                 \
      const int64_t m = n - i < PART ? n - i : PART;                        \
      const T *x = a + i, *y = b + i;                                       \
      V part[ROWS] = {{0}, {0}, {0}, {0}};                                  \
      int64_t k = 0;                                                        \
      for (; k + width <= m; k += width) {                                  \
        const V v = load(x + k);                                            \
        for (int u = 0; u < count; u++) {                                   \
          const V d = v - load(y + u * n + k);                              \
          part[u] += d * d;                                                 \
        }                                                                   \
      }                                                                     \
      for (int u = 0; u < count; u++) {                                     \
        sum[u] += (double)lanes(part[u]);                                   \
        for (int64_t j = k; j < m; j++) {                                   \
          const double d = (double)x[j] - (double)y[u * n + j];             \
          sum[u] += d * d;                                                  \
        }                                                                   \
      }                                                                     \
    }                                                                       \
  }

SQUARES(squares_float, float, vf, VF, vf_load, vf_sum)
SQUARES(squares_double, double, vd, VD, vd_load, vd_sum)

/* The other powers of one pair of rows. */
#define APART(name, T)                                                      \
  static double name(int64_t n, const T *a, const T *b, double p) {         \
    double d[PART], total = 0;                                              \
    for (int64_t i = 0; i < n; i += PART) {                                 \
      int64_t m = n - i < PART ? n - i : PART;                              \
      for (int64_t j = 0; j < m; j++)                                       \
        d[j] = (double)a[i + j] - (double)b[i + j];                         \
      double part = power_sum_double(m, d, p);                              \
      total = p == INFINITY ? widen(total, part, true) : total + part;      \
    }                                                                       \
    return total;                                                           \
  }

APART(apart_float, float)
APART(apart_double, double)

#define DISTANCES(name, T, squares, apart)                                  \
  static void name(int64_t n, const void *from, int64_t rows,               \
                   const void *to, double p, void *result) {                \
    const T *a = from, *b = to;                                             \
    T *y = result;                                                          \
    double sum[ROWS];                                                       \
    int64_t j = 0;                                                          \
    if (p == 2)                                                             \
      for (; j + ROWS <= rows; j += ROWS) {                                 \
        squares(n, a, b + j * n, ROWS, sum);                                \
        for (int u = 0; u < ROWS; u++) y[j + u] = (T)sqrt(sum[u]);          \
      }                                                                     \
    for (; j < rows; j++) {                                                 \
      if (p == 2) squares(n, a, b + j * n, 1, sum);                         \
      else sum[0] = apart(n, a, b + j * n, p);                              \
      y[j] = (T)root(sum[0], p);                                            \
    }                                                                       \
  }

DISTANCES(distances_float, float, squares_float, apart_float)
DISTANCES(distances_double, double, squares_double, apart_double)

static double sign(double d) { return (d > 0) - (d < 0); }

#define DISTANCE_BWD(name, T)                                               \
  static void name(int64_t n, const void *from, const void *to, double y,   \
                   double g, double p, double *restrict sum) {              \
    const T *restrict a = from, *restrict b = to;                           \
    int64_t ties = 0;                                                       \
    if (y == 0 || p == 0) return;                                           \
    if (p == INFINITY)                                                      \
      for (int64_t i = 0; i < n; i++)                                       \
        ties += (T)fabs((double)a[i] - (double)b[i]) == (T)y;               \
    for (int64_t i = 0; i < n; i++) {                                       \
      double d = (double)a[i] - (double)b[i];                               \
      if (p == 2) sum[i] += g / y * d;                                      \
      else if (p == 1) sum[i] += g * sign(d);                               \
      else if (p != INFINITY)                                               \
        sum[i] += d == 0 ? 0 : g * sign(d) * pow(fabs(d) / y, p - 1);       \
      else if ((T)fabs(d) == (T)y) sum[i] += g * sign(d) / (double)ties;    \
    }                                                                       \
  }

DISTANCE_BWD(distance_bwd_float, float)
DISTANCE_BWD(distance_bwd_double, double)

HEED_FILL(distance);
HEED_FILL(distance) {
  k->power_sum[HEED_FLOAT32] = power_sum_float;
  k->power_sum[HEED_FLOAT64] = power_sum_double;
  k->distances[HEED_FLOAT32] = distances_float;
  k->distances[HEED_FLOAT64] = distances_double;
  k->distance_bwd[HEED_FLOAT32] = distance_bwd_float;
  k->distance_bwd[HEED_FLOAT64] = distance_bwd_double;
}
