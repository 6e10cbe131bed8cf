/*
 * loss - one row of cross-entropy over classes. Layer: kernel.
 * Read first: kernel.h, softmax.h.
 */
#include "kernel/kernel.h"
#include "kernel/softmax.h"

/* The sum of w * (x - max); w is 1 where there are no weights. */
static float row_spread(int64_t n, const float *x, const float *w,
                        float max) {
  vf s[2] = {{0}, {0}};
  int64_t i = 0;
  for (; i + VF <= n; i += VF) {
    vf d = vf_load(x + i) - max;
    s[i / VF % 2] += w ? d * vf_load(w + i) : d;
  }
  float sum = vf_sum(s[0] + s[1]);
  for (; i < n; i++) sum += w ? w[i] * (x[i] - max) : x[i] - max;
  return sum;
}

/*
 * stat[0]: m, the maximum; stat[1]: the sum of e^(x - m), so that
 * log softmax(x)[i] = (x[i] - m) - log(stat[1]); stat[2]: if `spread`, the
 * sum of w * (x - m), w being 1 when NULL.
 */
static void cross_entropy_float32(int64_t n, const void *row, bool spread,
                                  const void *weight, double *stat) {
  float m = row_max(n, row);
  stat[0] = m;
  stat[1] = row_exp_sum(n, NULL, row, m);
  stat[2] = spread ? row_spread(n, row, weight, m) : 0;
}

static void cross_entropy_float64(int64_t n, const void *row, bool spread,
                                  const void *weight, double *stat) {
  const double *x = row, *w = weight;
  double m = row_max_d(n, x), sum = 0;
  stat[0] = m;
  stat[1] = row_exp_sum_d(n, NULL, x, m);
  for (int64_t i = 0; spread && i < n; i++)
    sum += w ? w[i] * (x[i] - m) : x[i] - m;
  stat[2] = sum;
}

/* dx = e^(x - max) * scale - w * shift, w being 1 when NULL. */
static void cross_entropy_bwd_float32(int64_t n, void *to, const void *row,
                                      double max, double by, double less,
                                      const void *weight) {
  float *dx = to, scale = (float)by, shift = (float)less;
  const float *x = row, *w = weight;
  const vf m = vf_all((float)max);
  int64_t i = 0;
  for (; i + VF <= n; i += VF) {
    vf e = vf_exp_down(vf_load(x + i) - m) * scale;
    vf_store(dx + i, w ? e - vf_load(w + i) * shift : e - shift);
  }
  if (i == n) return;
  vf e = vf_exp_down(vf_load_n(x + i, n - i, 0) - m) * scale;
  e -= w ? vf_load_n(w + i, n - i, 0) * shift : vf_all(shift);
  vf_store_n(dx + i, e, n - i);
}

static void cross_entropy_bwd_float64(int64_t n, void *to, const void *row,
                                      double max, double scale, double shift,
                                      const void *weight) {
  double *dx = to;
  const double *x = row, *w = weight;
  for (int64_t i = 0; i < n; i++)
    dx[i] = exp(x[i] - max) * scale - (w ? w[i] * shift : shift);
}

HEED_FILL(loss);
HEED_FILL(loss) {
  k->cross_entropy[HEED_FLOAT32] = cross_entropy_float32;
  k->cross_entropy[HEED_FLOAT64] = cross_entropy_float64;
  k->cross_entropy_bwd[HEED_FLOAT32] = cross_entropy_bwd_float32;
  k->cross_entropy_bwd[HEED_FLOAT64] = cross_entropy_bwd_float64;
}
