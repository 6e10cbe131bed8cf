/*
 * softmax - one row of softmax, log-softmax, logsumexp and their gradients.
 * Layer: kernel. Read first: kernel.h, softmax.h.
 *
 * y[i] = e^(x[i] - m) / s, with m the maximum and s the sum of e^(x - m).
 * Rows have no gaps; a result may be one of the inputs. A row of -inf only,
 * or with NaN or inf in it, gives NaN, but where a kernel says otherwise.
 */
#include "kernel/softmax.h"

#include "kernel/kernel.h"

/* ---- float32 ------------------------------------------------------------- */

static void softmax_float32(int64_t n, void *to, const void *from) {
  float *y = to;
  float m = row_max(n, from);
  float scale = 1 / row_exp_sum(n, y, from, m);
  for (int64_t i = 0; i < n; i++) y[i] *= scale;
}

/* Where keep is 0, x counts as -inf whatever it is. A row that keeps nothing
   above -inf gives zeros (NaN stays). */
static void masked_softmax_float32(int64_t n, void *to, const void *from,
                                   const uint8_t *keep) {
  float *y = to;
  const float *x = from;
  for (int64_t i = 0; i < n; i++) y[i] = keep[i] ? x[i] : -INFINITY;
  float m = row_max(n, y);
  if (m == -INFINITY) {
    for (int64_t i = 0; i < n; i++) y[i] = y[i] != y[i] ? y[i] : 0;
    return;
  }
  float scale = 1 / row_exp_sum(n, y, y, m);
  for (int64_t i = 0; i < n; i++) y[i] *= scale;
}

static void log_softmax_float32(int64_t n, void *to, const void *from) {
  float *y = to;
  const float *x = from;
  float m = row_max(n, x), rest = logf(row_exp_sum(n, NULL, x, m));
  for (int64_t i = 0; i < n; i++) y[i] = (x[i] - m) - rest;
}

/* -inf for an empty row and for one of -inf only. */
static double logsumexp_float32(int64_t n, const void *from) {
  const float *x = from;
  float m = row_max(n, x);
  if (!isinf(m)) return (double)m + log(row_exp_sum(n, NULL, x, m));
  for (int64_t i = 0; i < n; i++)
    if (x[i] != x[i]) return x[i];
  return m;
}

static float row_dot(int64_t n, const float *a, const float *b) {
  vf s[4] = {{0}, {0}, {0}, {0}};
  int64_t i = 0;
  for (; i + 4 * VF <= n; i += 4 * VF)
    for (int u = 0; u < 4; u++)
      s[u] += vf_load(a + i + u * VF) * vf_load(b + i + u * VF);
  for (; i + VF <= n; i += VF) s[0] += vf_load(a + i) * vf_load(b + i);
  if (i < n)
    s[0] += vf_load_n(a + i, n - i, 0) * vf_load_n(b + i, n - i, 0);
  return vf_sum((s[0] + s[1]) + (s[2] + s[3]));
}

/* dx = y * (g - sum(y * g)) */
static void softmax_bwd_float32(int64_t n, void *to, const void *result,
                                const void *grad) {
  float *dx = to;
  const float *y = result, *g = grad;
  float dot = row_dot(n, y, g);
  for (int64_t i = 0; i < n; i++) dx[i] = y[i] * (g[i] - dot);
}

/* The same, but g counts as 0 where y is 0: it may be NaN there. */
static void masked_softmax_bwd_float32(int64_t n, void *to,
                                       const void *result,
                                       const void *grad) {
  float *dx = to;
  const float *y = result, *g = grad;
  vf s = {0};
  int64_t i = 0;
  for (; i < n; i += VF) {
    int64_t left = n - i;
    vf a = left >= VF ? vf_load(y + i) : vf_load_n(y + i, left, 0);
    vf b = left >= VF ? vf_load(g + i) : vf_load_n(g + i, left, 0);
    s += vf_pick(a == 0.0f, vf_all(0), a * b);
  }
  float dot = vf_sum(s);
  for (i = 0; i < n; i++) dx[i] = y[i] == 0 ? 0 : y[i] * (g[i] - dot);
}

/* dx = g - e^y * sum(g) */
static void log_softmax_bwd_float32(int64_t n, void *to, const void *result,
                                    const void *grad) {
  float *dx = to;
  const float *y = result, *g = grad;
  vf s = {0};
  int64_t i = 0;
  for (; i + VF <= n; i += VF) s += vf_load(g + i);
  if (i < n) s += vf_load_n(g + i, n - i, 0);
  const vf sum = vf_all(vf_sum(s));
  for (i = 0; i + VF <= n; i += VF)
    vf_store(dx + i, vf_load(g + i) - vf_exp_down(vf_load(y + i)) * sum);
  if (i < n) {
    vf e = vf_exp_down(vf_load_n(y + i, n - i, 0));
    vf_store_n(dx + i, vf_load_n(g + i, n - i, 0) - e * sum, n - i);
  }
}

/* ---- float64 ------------------------------------------------------------- */

static void softmax_float64(int64_t n, void *to, const void *from) {
  double *y = to;
  double m = row_max_d(n, from);
  double s = row_exp_sum_d(n, y, from, m);
  for (int64_t i = 0; i < n; i++) y[i] /= s;
}

static void masked_softmax_float64(int64_t n, void *to, const void *from,
                                   const uint8_t *keep) {
  double *y = to;
  const double *x = from;
  for (int64_t i = 0; i < n; i++) y[i] = keep[i] ? x[i] : -INFINITY;
  double m = row_max_d(n, y);
  if (m == -INFINITY) {
    for (int64_t i = 0; i < n; i++) y[i] = y[i] != y[i] ? y[i] : 0;
    return;
  }
  double s = row_exp_sum_d(n, y, y, m);
  for (int64_t i = 0; i < n; i++) y[i] /= s;
}

static void log_softmax_float64(int64_t n, void *to, const void *from) {
  double *y = to;
  const double *x = from;
  double m = row_max_d(n, x), rest = log(row_exp_sum_d(n, NULL, x, m));
  for (int64_t i = 0; i < n; i++) y[i] = (x[i] - m) - rest;
}

static double logsumexp_float64(int64_t n, const void *from) {
  const double *x = from;
  double m = row_max_d(n, x);
  if (!isinf(m)) return m + log(row_exp_sum_d(n, NULL, x, m));
  for (int64_t i = 0; i < n; i++)
    if (x[i] != x[i]) return x[i];
  return m;
}

static void softmax_bwd_float64(int64_t n, void *to, const void *result,
                                const void *grad) {
  double *dx = to, dot = 0;
  const double *y = result, *g = grad;
  for (int64_t i = 0; i < n; i++) dot += y[i] * g[i];
  for (int64_t i = 0; i < n; i++) dx[i] = y[i] * (g[i] - dot);
}

static void masked_softmax_bwd_float64(int64_t n, void *to,
                                       const void *result,
                                       const void *grad) {
  double *dx = to, dot = 0;
  const double *y = result, *g = grad;
  for (int64_t i = 0; i < n; i++)
    if (y[i] != 0) dot += y[i] * g[i];
  for (int64_t i = 0; i < n; i++)
    dx[i] = y[i] == 0 ? 0 : y[i] * (g[i] - dot);
}

static void log_softmax_bwd_float64(int64_t n, void *to, const void *result,
                                    const void *grad) {
  double *dx = to, sum = 0;
  const double *y = result, *g = grad;
  for (int64_t i = 0; i < n; i++) sum += g[i];
  for (int64_t i = 0; i < n; i++) dx[i] = g[i] - exp(y[i]) * sum;
}

/* ---- the table ----------------------------------------------------------- */

HEED_FILL(softmax);
HEED_FILL(softmax) {
#define BOTH(name)                            \
  k->name[HEED_FLOAT32] = name##_float32; \
  k->name[HEED_FLOAT64] = name##_float64
  BOTH(softmax);
  BOTH(masked_softmax);
  BOTH(log_softmax);
  BOTH(logsumexp);
  BOTH(softmax_bwd);
  BOTH(masked_softmax_bwd);
  BOTH(log_softmax_bwd);
#undef BOTH
}
