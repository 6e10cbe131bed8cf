/*
 * optim - steps of optimisers. Layer: kernel. Read first: kernel.h.
 *
 * Element i of a result depends on elements i only. Pointers do not overlap;
 * n may be 0.
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

HEED_FILL(optim);
HEED_FILL(optim) {
  k->adam[HEED_FLOAT32] = adam_float;
  k->adam[HEED_FLOAT64] = adam_double;
  k->sgd[HEED_FLOAT32] = sgd_float;
  k->sgd[HEED_FLOAT64] = sgd_double;
}
