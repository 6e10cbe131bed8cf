/*
 * norm - layer norm and RMS norm of rows. Layer: kernel.
 * Read first: kernel.h, vec.h.
 *
 *     layer: y = (x - mean) * rstd * w + b    rstd = 1 / sqrt(var + eps)
 *     RMS:   y = x * rstd * w                 rstd = 1 / sqrt(mean(x^2) + eps)
 *
 * w and b are rows too, or NULL for 1 and 0. Rows have no gaps; y may be x.
 * Sums run in one fixed order.
 */
#include <math.h>

#include "kernel/kernel.h"
#include "kernel/vec.h"

/* Sums of d and of d * d with d = x - shift. */
static void row_moments(int64_t n, const float *x, float shift, float *sum,
                        float *square) {
  vf s[2] = {{0}, {0}}, q[2] = {{0}, {0}};
  int64_t i = 0;
  for (; i + 2 * VF <= n; i += 2 * VF)
    for (int u = 0; u < 2; u++) {
      vf d = vf_load(x + i + u * VF) - shift;
      s[u] += d;
      q[u] += d * d;
    }
  for (; i < n; i += VF) {
    vf d = (n - i < VF ? vf_load_n(x + i, n - i, shift) : vf_load(x + i)) -
           shift;
    s[0] += d;
    q[0] += d * d;
  }
  *sum = vf_sum(s[0] + s[1]);
  *square = vf_sum(q[0] + q[1]);
}

/* The mean is taken in two steps, so that rows far from 0 lose no digits:
   roughly, then of what is left. */
static void layer_norm_float32(int64_t n, void *to, const void *from,
                               const void *weight, const void *bias,
                               double eps, void *mean, void *rstd) {
  float *y = to;
  const float *x = from, *w = weight, *b = bias;
  float sum, square, count = (float)n;
  row_moments(n, x, 0, &sum, &square);
  float rough = sum / count;
  row_moments(n, x, rough, &sum, &square);
  float left = sum / count;
  float var = fmaxf(square / count - left * left, 0);
  if (square != square) var = square; /* fmaxf would hide it */
  float r = (float)(1 / sqrt((double)var + eps));
  if (w && b) {
    for (int64_t i = 0; i < n; i++)
      y[i] = ((x[i] - rough) - left) * r * w[i] + b[i];
  } else {
    for (int64_t i = 0; i < n; i++) {
      float z = ((x[i] - rough) - left) * r;
      y[i] = (w ? z * w[i] : z) + (b ? b[i] : 0);
    }
  }
  *(float *)mean = rough + left;
  *(float *)rstd = r;
}

static void rms_norm_float32(int64_t n, void *to, const void *from,
                             const void *weight, double eps, void *rstd) {
  float *y = to;
  const float *x = from, *w = weight;
  float sum, square;
  row_moments(n, x, 0, &sum, &square);
  float r = (float)(1 / sqrt((double)square / (double)n + eps));
  for (int64_t i = 0; i < n; i++) y[i] = w ? x[i] * r * w[i] : x[i] * r;
  *(float *)rstd = r;
}

/* Sums of g * w and of g * w * z with z = (x - mean) * rstd. */
static void row_pulls(int64_t n, const float *x, const float *g,
                      const float *w, float mean, float rstd, float *pull,
                      float *pull_z) {
  vf s[2] = {{0}, {0}}, q[2] = {{0}, {0}};
  int64_t i = 0;
  for (; i + 2 * VF <= n; i += 2 * VF)
    for (int u = 0; u < 2; u++) {
      int64_t at = i + u * VF;
      vf z = (vf_load(x + at) - mean) * rstd, v = vf_load(g + at);
      if (w) v *= vf_load(w + at);
      s[u] += v;
      q[u] += v * z;
    }
  for (; i < n; i += VF) {
    int64_t left = n - i;
    bool whole = left >= VF;
    vf z = (whole ? vf_load(x + i) : vf_load_n(x + i, left, mean)) - mean;
    vf v = whole ? vf_load(g + i) : vf_load_n(g + i, left, 0);
    if (w) v *= whole ? vf_load(w + i) : vf_load_n(w + i, left, 0);
    s[0] += v;
    q[0] += v * (z * rstd);
  }
  *pull = vf_sum(s[0] + s[1]);
  *pull_z = vf_sum(q[0] + q[1]);
}

/*
 * The gradient g of `rows` rows of length n, back to back. dx (unless NULL)
 * is written:  dx = rstd * (g w - mean(g w) - z * mean(g w z)),
 * without the middle term when `mean` is NULL (RMS norm). dw and db (unless
 * NULL), one row each, are added to: dw += g * z, db += g.
 */
static void norm_bwd_float32(int64_t rows, int64_t n, const void *grad,
                             const void *from, const void *weight,
                             const void *means, const void *rstds, void *to,
                             void *to_w, void *to_b) {
  const float *w = weight, *mean = means, *rstd = rstds;
  float *restrict dw = to_w, *restrict db = to_b;
  for (int64_t row = 0; row < rows; row++) {
    const float *g = (const float *)grad + row * n;
    const float *x = (const float *)from + row * n;
    float m = mean ? mean[row] : 0, r = rstd[row];
    if (to) {
      float *restrict dx = (float *)to + row * n;
      float a, b;
      row_pulls(n, x, g, w, m, r, &a, &b);
      a = mean ? a / (float)n : 0;
      b = b / (float)n;
      if (w) {
        for (int64_t i = 0; i < n; i++)
          dx[i] = r * (g[i] * w[i] - a - (x[i] - m) * r * b);
      } else {
        for (int64_t i = 0; i < n; i++)
          dx[i] = r * (g[i] - a - (x[i] - m) * r * b);
      }
    }
    if (dw)
      for (int64_t i = 0; i < n; i++) dw[i] += g[i] * ((x[i] - m) * r);
    if (db)
      for (int64_t i = 0; i < n; i++) db[i] += g[i];
  }
}

/* ---- float64 ------------------------------------------------------------- */

static void layer_norm_float64(int64_t n, void *to, const void *from,
                               const void *weight, const void *bias,
                               double eps, void *mean, void *rstd) {
  double *y = to, m = 0, var = 0;
  const double *x = from, *w = weight, *b = bias;
  for (int64_t i = 0; i < n; i++) m += x[i];
  m /= (double)n;
  for (int64_t i = 0; i < n; i++) var += (x[i] - m) * (x[i] - m);
  double r = 1 / sqrt(var / (double)n + eps);
  for (int64_t i = 0; i < n; i++)
    y[i] = (x[i] - m) * r * (w ? w[i] : 1) + (b ? b[i] : 0);
  *(double *)mean = m;
  *(double *)rstd = r;
}

static void rms_norm_float64(int64_t n, void *to, const void *from,
                             const void *weight, double eps, void *rstd) {
  double *y = to, square = 0;
  const double *x = from, *w = weight;
  for (int64_t i = 0; i < n; i++) square += x[i] * x[i];
  double r = 1 / sqrt(square / (double)n + eps);
  for (int64_t i = 0; i < n; i++) y[i] = x[i] * r * (w ? w[i] : 1);
  *(double *)rstd = r;
}

static void norm_bwd_float64(int64_t rows, int64_t n, const void *grad,
                             const void *from, const void *weight,
                             const void *means, const void *rstds, void *to,
                             void *to_w, void *to_b) {
  const double *w = weight, *mean = means, *rstd = rstds;
  double *dw = to_w, *db = to_b;
  for (int64_t row = 0; row < rows; row++) {
    const double *g = (const double *)grad + row * n;
    const double *x = (const double *)from + row * n;
    double m = mean ? mean[row] : 0, r = rstd[row], a = 0, b = 0;
    if (to) {
      double *dx = (double *)to + row * n;
      for (int64_t i = 0; i < n; i++) {
        double v = g[i] * (w ? w[i] : 1);
        a += v;
        b += v * ((x[i] - m) * r);
      }
      a = mean ? a / (double)n : 0;
      b = b / (double)n;
      for (int64_t i = 0; i < n; i++)
        dx[i] = r * (g[i] * (w ? w[i] : 1) - a - (x[i] - m) * r * b);
    }
    for (int64_t i = 0; dw && i < n; i++) dw[i] += g[i] * ((x[i] - m) * r);
    for (int64_t i = 0; db && i < n; i++) db[i] += g[i];
  }
}

/* to[i] = the sum of part[k * pitch + i] over k, in that order. */
static void sum_parts_float32(int64_t n, int64_t parts, int64_t pitch,
                              const void *part, void *to) {
  const float *p = part;
  float *y = to;
  for (int64_t i = 0; i < n; i++) {
    double sum = 0;
    for (int64_t k = 0; k < parts; k++) sum += (double)p[k * pitch + i];
    y[i] = (float)sum;
  }
}
static void sum_parts_float64(int64_t n, int64_t parts, int64_t pitch,
                              const void *part, void *to) {
  const double *p = part;
  double *y = to;
  for (int64_t i = 0; i < n; i++) {
    double sum = 0;
    for (int64_t k = 0; k < parts; k++) sum += p[k * pitch + i];
    y[i] = sum;
  }
}

HEED_FILL(norm);
HEED_FILL(norm) {
#define BOTH(name)                            \
  k->name[HEED_FLOAT32] = name##_float32; \
  k->name[HEED_FLOAT64] = name##_float64
  BOTH(layer_norm);
  BOTH(rms_norm);
  BOTH(norm_bwd);
  BOTH(sum_parts);
#undef BOTH
}
