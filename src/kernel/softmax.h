/*
 * softmax - pieces of row kernels: maximum, sum of exponentials.
 * Layer: kernel. Read first: vec.h.
 *
 * For softmax.c and loss.c. Sums run in one fixed order: VF lanes of four
 * vectors, then what is left.
 */
#ifndef HEED_KERNEL_SOFTMAX_H
#define HEED_KERNEL_SOFTMAX_H

#include "kernel/vec.h"

/* e^x for x <= 0: as vf_exp, but 0 where the result would be below the
   normal range, and so with less to check. NaN stays, e^-inf = 0. */
VEC_INLINE vf vf_exp_down(vf x) {
  const vf shifter = vf_all(12582912.0f); /* 1.5 * 2^23 rounds to integer */
  vf shifted = x * 1.44269504088896341f + shifter;
  vf k = shifted - shifter;
  vi ki = (vi)shifted - (vi)shifter;
  vf r = x - k * 0.693145751953125f; /* ln 2 in two parts */
  r = r - k * 1.42860682030941723e-6f;
  vf p = vf_all(1.98756915e-4f);
  p = p * r + 1.39819995e-3f;
  p = p * r + 8.33345190e-3f;
  p = p * r + 4.16657962e-2f;
  p = p * r + 1.66666657e-1f;
  p = p * r + 0.5f;
  p = p * (r * r) + r + 1.0f;
  vf y = p * (vf)((ki + 127) << 23);
  return (vf)(~(x < vf_all(-87.3f)) & (vi)y);
}

/* The largest element that is a number; -inf when there is none. */
VEC_INLINE float row_max(int64_t n, const float *x) {
  const int64_t step = 4 * VF;
  vf m[4];
  for (int u = 0; u < 4; u++) m[u] = vf_all(-INFINITY);
  int64_t i = 0;
  for (; i + step <= n; i += step)
    for (int u = 0; u < 4; u++) m[u] = vf_max(vf_load(x + i + u * VF), m[u]);
  for (; i + VF <= n; i += VF) m[0] = vf_max(vf_load(x + i), m[0]);
  if (i < n) m[0] = vf_max(vf_load_n(x + i, n - i, -INFINITY), m[0]);
  return vf_max_lane(vf_max(vf_max(m[0], m[1]), vf_max(m[2], m[3])));
}

/* The sum of e^(x - max), with the terms in y unless it is NULL; y may be
   x. */
VEC_INLINE float row_exp_sum(int64_t n, float *y, const float *x, float max) {
  const int64_t step = 4 * VF;
  vf s[4] = {{0}, {0}, {0}, {0}};
  const vf m = vf_all(max);
  int64_t i = 0;
  for (; i + step <= n; i += step)
    for (int u = 0; u < 4; u++) {
      vf e = vf_exp_down(vf_load(x + i + u * VF) - m);
      if (y) vf_store(y + i + u * VF, e);
      s[u] += e;
    }
  for (; i + VF <= n; i += VF) {
    vf e = vf_exp_down(vf_load(x + i) - m);
    if (y) vf_store(y + i, e);
    s[0] += e;
  }
  if (i < n) {
    vf e = vf_exp_down(vf_load_n(x + i, n - i, -INFINITY) - m);
    if (y) vf_store_n(y + i, e, n - i);
    s[0] += e;
  }
  return vf_sum((s[0] + s[1]) + (s[2] + s[3]));
}

VEC_INLINE double row_max_d(int64_t n, const double *x) {
  double m = -INFINITY;
  for (int64_t i = 0; i < n; i++) m = x[i] > m ? x[i] : m;
  return m;
}

VEC_INLINE double row_exp_sum_d(int64_t n, double *y, const double *x,
                                double max) {
  double s = 0;
  for (int64_t i = 0; i < n; i++) {
    double e = exp(x[i] - max);
    if (y) y[i] = e;
    s += e;
  }
  return s;
}

#endif
