/*
 * sum - sums of a row of floats in doubles. Layer: kernel. Read first: vec.h.
 *
 * A row is taken in blocks of BLOCK elements, a block in four vectors of
 * partial sums that are then added in a fixed order. A row with gaps is
 * copied block by block, so that strides do not change a sum.
 */
#ifndef HEED_KERNEL_SUM_H
#define HEED_KERNEL_SUM_H

#include "kernel/vec.h"

#define BLOCK 1024

/* The sum of a row of at most BLOCK elements without gaps: of vector(v, m) or
   number(v, m), with m the same for all. */
#define SUM_BLOCK(name, From, load, vector, number)                  \
  static double name(int64_t n, const From *x, double mean) {        \
    const vd m = vd_all(mean);                                       \
    vd s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};                       \
    int64_t i = 0;                                                   \
    for (; i + 4 * VD <= n; i += 4 * VD) {                           \
      const vd v0 = load(x + i), v1 = load(x + i + VD);              \
      const vd v2 = load(x + i + 2 * VD), v3 = load(x + i + 3 * VD); \
      s0 += vector(v0, m);                                           \
      s1 += vector(v1, m);                                           \
      s2 += vector(v2, m);                                           \
      s3 += vector(v3, m);                                           \
    }                                                                \
    for (; i + VD <= n; i += VD) {                                   \
      const vd v = load(x + i);                                      \
      s0 += vector(v, m);                                            \
    }                                                                \
    double sum = vd_sum((s0 + s1) + (s2 + s3));                      \
    for (; i < n; i++) {                                             \
      const double v = x[i];                                         \
      sum += number(v, mean);                                        \
    }                                                                \
    return sum;                                                      \
  }

/* Does `step` for each block of the row x[i*sx], i < n: the m elements `from`,
   which have no gaps. */
#define EACH_BLOCK(From, step)                                      \
  From buffer[BLOCK];                                               \
  for (int64_t i = 0; i < n; i += BLOCK) {                          \
    const int64_t m = n - i < BLOCK ? n - i : BLOCK;                \
    const From *from = x + i * sx;                                  \
    if (sx != 1) {                                                  \
      for (int64_t j = 0; j < m; j++) buffer[j] = from[j * sx];     \
      from = buffer;                                                \
    }                                                               \
    step;                                                           \
  }

#define ITSELF(v, mean) ((void)(mean), (v))

#endif
