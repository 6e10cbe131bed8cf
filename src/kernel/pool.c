/*
 * pool - the largest and the mean elements of windows of a plane.
 * Layer: kernel. Read first: kernel.h, pool.h.
 *
 * A mean is taken in two steps, so that lines are read as vectors: the lines
 * of a row of windows are added up, then the places of each window.
 */
#include <math.h>
#include <string.h>

#include "kernel/kernel.h"
#include "kernel/loop.h"

#define POOL(T)                                                              \
  static void max_window_##T(const heed_pool *p, const T *x, int64_t i,      \
                             int64_t j, T *y, int64_t *at) {                 \
    const int64_t width = p->size[1];                                        \
    const int64_t left = p->begin[1][j], right = p->end[1][j];               \
    int64_t best = p->begin[0][i] * width + left;                            \
    T most = x[best];                                                        \
    for (int64_t v = p->begin[0][i]; v < p->end[0][i]; v += p->step[0]) {    \
      const T *line = x + v * width;                                         \
      for (int64_t u = left; u < right; u += p->step[1])                     \
        if (line[u] > most || line[u] != line[u]) {                          \
          most = line[u];                                                    \
          best = v * width + u;                                              \
        }                                                                    \
    }                                                                        \
    *y = most;                                                               \
    *at = best + 1;                                                          \
  }                                                                          \
                                                                             \
  static void max_##T(const heed_pool *p, const void *from, void *to,        \
                      int64_t *at) {                                         \
    const T *x = from;                                                       \
    T *y = to;                                                               \
    int64_t unused;                                                          \
    for (int64_t i = 0; i < p->count[0]; i++)                                \
      for (int64_t j = 0; j < p->count[1]; j++, y++)                         \
        max_window_##T(p, x, i, j, y, at ? at++ : &unused);                  \
  }                                                                          \
                                                                             \
  static void mean_##T(const heed_pool *p, const void *from, void *to,       \
                       void *scratch) {                                      \
    const int64_t width = p->size[1];                                        \
    const T *x = from;                                                       \
    T *y = to, *restrict line = scratch;                                     \
    for (int64_t i = 0; i < p->count[0]; i++) {                              \
      const T *top = x + p->begin[0][i] * width;                             \
      memcpy(line, top, (size_t)width * sizeof *line);                       \
      for (int64_t v = p->begin[0][i] + 1; v < p->end[0][i]; v++) {          \
        const T *more = x + v * width;                                       \
        INDEPENDENT for (int64_t u = 0; u < width; u++) line[u] += more[u];  \
      }                                                                      \
      for (int64_t j = 0; j < p->count[1]; j++) {                            \
        T sum = 0;                                                           \
        for (int64_t u = p->begin[1][j]; u < p->end[1][j]; u++)              \
          sum += line[u];                                                    \
        *y++ = (T)(sum * (T)(p->share[0][i] * p->share[1][j]));              \
      }                                                                      \
    }                                                                        \
  }                                                                          \
                                                                             \
  static void mean_bwd_##T(const heed_pool *p, const void *from, void *to,   \
                           void *scratch) {                                  \
    const int64_t width = p->size[1];                                        \
    const T *y = from;                                                       \
    T *x = to, *restrict line = scratch;                                     \
    memset(x, 0, (size_t)(p->size[0] * width) * sizeof *x);                  \
    for (int64_t i = 0; i < p->count[0]; i++) {                              \
      memset(line, 0, (size_t)width * sizeof *line);                         \
      for (int64_t j = 0; j < p->count[1]; j++) {                            \
        const T part = *y++ * (T)(p->share[0][i] * p->share[1][j]);          \
        for (int64_t u = p->begin[1][j]; u < p->end[1][j]; u++)              \
          line[u] += part;                                                   \
      }                                                                      \
      for (int64_t v = p->begin[0][i]; v < p->end[0][i]; v++) {              \
        T *more = x + v * width;                                             \
        INDEPENDENT for (int64_t u = 0; u < width; u++) more[u] += line[u];  \
      }                                                                      \
    }                                                                        \
  }

POOL(float)
POOL(double)

HEED_FILL(pool);
HEED_FILL(pool) {
  k->pool[HEED_FLOAT32] =
      (heed_pool_loops){max_float, mean_float, mean_bwd_float};
  k->pool[HEED_FLOAT64] =
      (heed_pool_loops){max_double, mean_double, mean_bwd_double};
}
