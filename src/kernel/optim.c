/*
 * optim - steps of optimisers, and sums over gradients. Layer: kernel.
 * Read first: kernel.h.
 *
 * Element i of a result depends on elements i only, but for the sums, which
 * run in one fixed order. Pointers do not overlap; n may be 0.
 *
 * Adam (Kingma and Ba, 2015), with the decay of Loshchilov and Hutter (2019)
 * when it is decoupled, and the maximum of Reddi et al. (2018) in `top`:
 *
 *     g = sign * grad + decay * x
 *     m += (1 - beta1) * (g - m)    v += (1 - beta2) * (g * g - v)
 *     x = keep * x - rate * m / (sqrt(v) * root + eps)
 *
 * SGD with momentum in `m`, where a rate of 0 for the old value starts it:
 *
 *     g = sign * grad + decay * x    m = old * m + fresh * g
 *     x = x - rate * (nesterov ? g + momentum * m : m)
 */
#include <math.h>

#include "kernel/kernel.h"
#include "kernel/vec.h"

#define ADAM(T, root_of, maximum)                                          \
  static void adam_##T(int64_t n, void *to, const void *grad, void *first, \
                       void *second, void *highest, const heed_adam *how) { \
    T *restrict x = to, *restrict m = first, *restrict v = second;         \
    T *restrict top = highest;                                             \
    const T *restrict g = grad;                                            \
    const T sign = (T)how->sign, decay = (T)how->decay;                    \
    const T new1 = (T)how->new1, new2 = (T)how->new2;                      \
    const T keep = (T)how->keep, rate = (T)how->rate;                      \
    const T root = (T)how->root, eps = (T)how->eps;                        \
    if (top) {                                                             \
      for (int64_t i = 0; i < n; i++) {                                    \
        T d = sign * g[i] + decay * x[i];                                  \
        m[i] += new1 * (d - m[i]);                                         \
        v[i] += new2 * (d * d - v[i]);                                     \
        top[i] = maximum(top[i], v[i]);                                    \
        x[i] = keep * x[i] - rate * m[i] / (root_of(top[i]) * root + eps); \
      }                                                                    \
      return;                                                              \
    }                                                                      \
    for (int64_t i = 0; i < n; i++) {                                      \
      T d = sign * g[i] + decay * x[i];                                    \
      m[i] += new1 * (d - m[i]);                                           \
      v[i] += new2 * (d * d - v[i]);                                       \
      x[i] = keep * x[i] - rate * m[i] / (root_of(v[i]) * root + eps);     \
    }                                                                      \
  }

#define SGD(T)                                                              \
  static void sgd_##T(int64_t n, void *to, const void *grad, void *momentum, \
                      const heed_sgd *how) {                                \
    T *restrict x = to, *restrict m = momentum;                             \
    const T *restrict g = grad;                                             \
    const T sign = (T)how->sign, decay = (T)how->decay;                     \
    const T old = (T)how->old, fresh = (T)how->fresh;                       \
    const T rate = (T)how->rate, ahead = (T)how->momentum;                  \
    if (!m) {                                                               \
      for (int64_t i = 0; i < n; i++)                                       \
        x[i] -= rate * (sign * g[i] + decay * x[i]);                        \
      return;                                                               \
    }                                                                       \
    if (how->nesterov) {                                                    \
      for (int64_t i = 0; i < n; i++) {                                     \
        T d = sign * g[i] + decay * x[i];                                   \
        m[i] = old * m[i] + fresh * d;                                      \
        x[i] -= rate * (d + ahead * m[i]);                                  \
      }                                                                     \
      return;                                                               \
    }                                                                       \
    for (int64_t i = 0; i < n; i++) {                                       \
      T d = sign * g[i] + decay * x[i];                                     \
      m[i] = old * m[i] + fresh * d;                                        \
      x[i] -= rate * m[i];                                                  \
    }                                                                       \
  }

#define LARGER(a, b) ((a) > (b) ? (a) : (b))

ADAM(float, sqrtf, LARGER)
ADAM(double, sqrt, LARGER)
SGD(float)
SGD(double)

/* Of one number: |x|^p; *largest: the larger |x|, where a NaN stays. */
static double power(double x, double p) {
  double a = fabs(x);
  return p == 1 ? a : p == 2 ? a * a : pow(a, p);
}
static void widen(double *largest, double x) {
  double a = fabs(x);
  if (a > *largest || a != a) *largest = a;
}

static double power_sum_float(int64_t n, const void *from, double p) {
  const float *x = from;
  double rest = 0;
  int64_t i = 0;
  if (p == 2) {
    vd sum[2] = {{0}, {0}};
    for (; i + 2 * VD <= n; i += 2 * VD)
      for (int u = 0; u < 2; u++) {
        vd a = vd_load_float(x + i + u * VD);
        sum[u] += a * a;
      }
    rest = vd_sum(sum[0] + sum[1]);
  }
  for (; i < n; i++) {
    if (p == INFINITY) widen(&rest, (double)x[i]);
    else rest += power((double)x[i], p);
  }
  return rest;
}

static double power_sum_double(int64_t n, const void *from, double p) {
  const double *x = from;
  double sum = 0;
  for (int64_t i = 0; i < n; i++) {
    if (p == INFINITY) widen(&sum, x[i]);
    else sum += power(x[i], p);
  }
  return sum;
}

HEED_FILL(optim);
HEED_FILL(optim) {
  k->adam[HEED_FLOAT32] = adam_float;
  k->adam[HEED_FLOAT64] = adam_double;
  k->sgd[HEED_FLOAT32] = sgd_float;
  k->sgd[HEED_FLOAT64] = sgd_double;
  k->power_sum[HEED_FLOAT32] = power_sum_float;
  k->power_sum[HEED_FLOAT64] = power_sum_double;
}
