/*
 * optim - steps of optimisers. Layer: kernel. Read first: kernel.h.
 *
 * Each takes n elements of the tensors t[0] .. t[HEED_STEP_TENSORS - 1] of one
 * parameter. Element i of a result depends on elements i only. Tensors do not
 * overlap; n may be 0; NaN in a gradient becomes NaN in what it enters.
 * x is the parameter t[0], g = sign * t[1] + decay * x; new1 is 1 - beta1.
 *
 * adam (Kingma and Ba, 2015), its decay decoupled (Loshchilov and Hutter,
 * 2019) by `keep`; m, v and with `extra` the largest v (Reddi et al., 2018):
 *     m += new1 (g - m)    v += new2 (g g - v)
 *     x = keep x - rate m / (sqrt(v) root + eps)
 * adamax (Kingma and Ba, 2015); m, u:
 *     m += new1 (g - m)    u = max(beta2 u, |g| + eps)    x -= rate m / u
 * sgd; with a momentum m, which a rate of 0 for the old value starts:
 *     m = old m + fresh g    x -= rate (extra ? g + momentum m : m)
 * rmsprop (Tieleman and Hinton, 2012); v, with `extra` the mean a of the
 * gradients (Graves, 2013), and with a momentum m:
 *     v += new2 (g g - v)    a += new2 (g - a)
 *     d = g / (sqrt(v - a a) + eps)    m = momentum m + d    x -= rate (m or d)
 * adagrad (Duchi et al., 2011); v:
 *     v += g g    x -= rate g / (sqrt(v) + eps)
 * lion (Chen et al., 2023); m:
 *     x = keep x - rate sign(m + new1 (g - m))    m += new2 (g - m)
 * lamb (You et al., 2020); m, v. The direction r, whose norm the step asks
 * for, goes to t[4] first; the step makes it anew:
 *     m, v as adam, without the decay in g
 *     r = scale m / (sqrt(v) root + eps) + decay x    x -= rate r
 * adafactor (Shazeer and Stern, 2018); v, the second moments, or the column
 * means of them, which `scale` multiplies. The direction goes to t[3] first:
 *     v += new2 (t[1] t[1] - v)
 *     r = sign t[1] / sqrt(max(scale v, eps^2))    x = keep x - rate r
 */
#include <math.h>

#include "kernel/kernel.h"
#include "kernel/vec.h"

/* With a NaN, that. */
#define LARGER(a, b) ((a) > (b) || (a) != (a) ? (a) : (b))
/* -1, 0 or 1, and NaN of a NaN */
#define SIGN(T, a) ((a) != (a) ? (a) : (T)(((a) > 0) - ((a) < 0)))

/* The loops of one dtype, one behind the other in the table below. Those with
   settings that choose a formula are written once, and compiled for each. */
#define STEPS(T, root_of, abs_of)                                            \
  VEC_INLINE void adam_body_##T(int64_t n, void *const *t,                   \
                                const heed_step *how, bool highest) {        \
    T *restrict x = t[0], *restrict m = t[2], *restrict v = t[3];            \
    T *restrict top = t[4];                                                  \
    const T *restrict grad = t[1];                                           \
    const T sign = (T)how->sign, decay = (T)how->decay;                      \
    const T new1 = (T)how->new1, new2 = (T)how->new2;                        \
    const T keep = (T)how->keep, rate = (T)how->rate;                        \
    const T root = (T)how->root, eps = (T)how->eps;                          \
    for (int64_t i = 0; i < n; i++) {                                        \
      const T g = sign * grad[i] + decay * x[i];                             \
      m[i] += new1 * (g - m[i]);                                             \
      v[i] += new2 * (g * g - v[i]);                                         \
      T second = v[i];                                                       \
      if (highest) second = top[i] = LARGER(top[i], second);                 \
      x[i] = keep * x[i] - rate * m[i] / (root_of(second) * root + eps);     \
    }                                                                        \
  }                                                                          \
  static void adam_##T(int64_t n, void *const *t, const heed_step *how) {    \
    if (how->extra) adam_body_##T(n, t, how, true);                          \
    else adam_body_##T(n, t, how, false);                                    \
  }                                                                          \
                                                                             \
  static void adamax_##T(int64_t n, void *const *t, const heed_step *how) {  \
    T *restrict x = t[0], *restrict m = t[2], *restrict u = t[3];            \
    const T *restrict grad = t[1];                                           \
    const T sign = (T)how->sign, decay = (T)how->decay;                      \
    const T new1 = (T)how->new1, old2 = (T)how->old;                         \
    const T rate = (T)how->rate, eps = (T)how->eps;                          \
    for (int64_t i = 0; i < n; i++) {                                        \
      const T g = sign * grad[i] + decay * x[i];                             \
      m[i] += new1 * (g - m[i]);                                             \
      const T faded = old2 * u[i], size = abs_of(g) + eps;                   \
      u[i] = LARGER(faded, size);                                            \
      x[i] -= rate * m[i] / u[i];                                            \
    }                                                                        \
  }                                                                          \
                                                                             \
  VEC_INLINE void sgd_body_##T(int64_t n, void *const *t,                    \
                               const heed_step *how, bool momentum,          \
                               bool nesterov) {                              \
    T *restrict x = t[0], *restrict m = t[2];                                \
    const T *restrict grad = t[1];                                           \
    const T sign = (T)how->sign, decay = (T)how->decay;                      \
    const T old = (T)how->old, fresh = (T)how->fresh;                        \
    const T rate = (T)how->rate, ahead = (T)how->momentum;                   \
    for (int64_t i = 0; i < n; i++) {                                        \
      T g = sign * grad[i] + decay * x[i];                                   \
      if (momentum) {                                                        \
        m[i] = old * m[i] + fresh * g;                                       \
        g = nesterov ? g + ahead * m[i] : m[i];                              \
      }                                                                      \
      x[i] -= rate * g;                                                      \
    }                                                                        \
  }                                                                          \
  static void sgd_##T(int64_t n, void *const *t, const heed_step *how) {     \
    if (how->momentum == 0) sgd_body_##T(n, t, how, false, false);           \
    else if (how->extra) sgd_body_##T(n, t, how, true, true);                \
    else sgd_body_##T(n, t, how, true, false);                               \
  }                                                                          \
                                                                             \
  /* Rounding may leave v - a a below 0: then it is 0. */                    \
  VEC_INLINE void rmsprop_body_##T(int64_t n, void *const *t,                \
                                   const heed_step *how, bool centered,      \
                                   bool momentum) {                          \
    T *restrict x = t[0], *restrict v = t[2];                                \
    T *restrict a = centered ? t[3] : NULL;                                  \
    T *restrict m = momentum ? t[centered ? 4 : 3] : NULL;                   \
    const T *restrict grad = t[1];                                           \
    const T sign = (T)how->sign, decay = (T)how->decay;                      \
    const T new2 = (T)how->new2, eps = (T)how->eps;                          \
    const T rate = (T)how->rate, old = (T)how->momentum;                     \
    for (int64_t i = 0; i < n; i++) {                                        \
      T g = sign * grad[i] + decay * x[i];                                   \
      v[i] += new2 * (g * g - v[i]);                                         \
      T second = v[i];                                                       \
      if (centered) {                                                        \
        a[i] += new2 * (g - a[i]);                                           \
        second = LARGER(second - a[i] * a[i], (T)0);                         \
      }                                                                      \
      g /= root_of(second) + eps;                                            \
      if (momentum) g = m[i] = old * m[i] + g;                               \
      x[i] -= rate * g;                                                      \
    }                                                                        \
  }                                                                          \
  static void rmsprop_##T(int64_t n, void *const *t, const heed_step *how) { \
    if (how->extra && how->momentum != 0)                                    \
      rmsprop_body_##T(n, t, how, true, true);                               \
    else if (how->extra) rmsprop_body_##T(n, t, how, true, false);           \
    else if (how->momentum != 0) rmsprop_body_##T(n, t, how, false, true);   \
    else rmsprop_body_##T(n, t, how, false, false);                          \
  }                                                                          \
                                                                             \
  static void adagrad_##T(int64_t n, void *const *t, const heed_step *how) { \
    T *restrict x = t[0], *restrict v = t[2];                                \
    const T *restrict grad = t[1];                                           \
    const T sign = (T)how->sign, decay = (T)how->decay;                      \
    const T rate = (T)how->rate, eps = (T)how->eps;                          \
    for (int64_t i = 0; i < n; i++) {                                        \
      const T g = sign * grad[i] + decay * x[i];                             \
      v[i] += g * g;                                                         \
      x[i] -= rate * g / (root_of(v[i]) + eps);                              \
    }                                                                        \
  }                                                                          \
                                                                             \
  static void lion_##T(int64_t n, void *const *t, const heed_step *how) {    \
    T *restrict x = t[0], *restrict m = t[2];                                \
    const T *restrict grad = t[1];                                           \
    const T sign = (T)how->sign, keep = (T)how->keep;                        \
    const T new1 = (T)how->new1, new2 = (T)how->new2, rate = (T)how->rate;   \
    for (int64_t i = 0; i < n; i++) {                                        \
      const T g = sign * grad[i], way = m[i] + new1 * (g - m[i]);            \
      x[i] = keep * x[i] - rate * SIGN(T, way);                              \
      m[i] += new2 * (g - m[i]);                                             \
    }                                                                        \
  }                                                                          \
                                                                             \
  static void lamb_direction_##T(int64_t n, void *const *t,                  \
                                 const heed_step *how) {                     \
    T *restrict m = t[2], *restrict v = t[3], *restrict r = t[4];            \
    const T *restrict x = t[0], *restrict grad = t[1];                       \
    const T sign = (T)how->sign, decay = (T)how->decay;                      \
    const T new1 = (T)how->new1, new2 = (T)how->new2;                        \
    const T scale = (T)how->scale, root = (T)how->root, eps = (T)how->eps;   \
    for (int64_t i = 0; i < n; i++) {                                        \
      const T g = sign * grad[i];                                            \
      m[i] += new1 * (g - m[i]);                                             \
      v[i] += new2 * (g * g - v[i]);                                         \
      r[i] = scale * m[i] / (root_of(v[i]) * root + eps) + decay * x[i];     \
    }                                                                        \
  }                                                                          \
  static void lamb_##T(int64_t n, void *const *t, const heed_step *how) {    \
    T *restrict x = t[0];                                                    \
    const T *restrict m = t[2], *restrict v = t[3];                          \
    const T decay = (T)how->decay, rate = (T)how->rate;                      \
    const T scale = (T)how->scale, root = (T)how->root, eps = (T)how->eps;   \
    for (int64_t i = 0; i < n; i++)                                          \
      x[i] -= rate * (scale * m[i] / (root_of(v[i]) * root + eps) +          \
                      decay * x[i]);                                         \
  }                                                                          \
                                                                             \
  static void adafactor_moments_##T(int64_t n, void *const *t,               \
                                    const heed_step *how) {                  \
    const T *restrict grad = t[1];                                           \
    T *restrict v = t[2];                                                    \
    const T new2 = (T)how->new2;                                             \
    for (int64_t i = 0; i < n; i++)                                          \
      v[i] += new2 * (grad[i] * grad[i] - v[i]);                             \
  }                                                                          \
  static void adafactor_direction_##T(int64_t n, void *const *t,             \
                                      const heed_step *how) {                \
    T *restrict r = t[3];                                                    \
    const T *restrict grad = t[1], *restrict v = t[2];                       \
    const T sign = (T)how->sign, scale = (T)how->scale;                      \
    const T least = (T)(how->eps * how->eps);                                \
    for (int64_t i = 0; i < n; i++) {                                        \
      const T second = scale * v[i];                                         \
      r[i] = sign * grad[i] / root_of(LARGER(second, least));                \
    }                                                                        \
  }                                                                          \
  static void adafactor_##T(int64_t n, void *const *t,                       \
                            const heed_step *how) {                          \
    T *restrict x = t[0];                                                    \
    const T *restrict grad = t[1], *restrict v = t[2];                       \
    const T sign = (T)how->sign, scale = (T)how->scale;                      \
    const T least = (T)(how->eps * how->eps);                                \
    const T keep = (T)how->keep, rate = (T)how->rate;                        \
    for (int64_t i = 0; i < n; i++) {                                        \
      const T second = scale * v[i];                                         \
      x[i] = keep * x[i] -                                                   \
             rate * (sign * grad[i] / root_of(LARGER(second, least)));       \
    }                                                                        \
  }                                                                          \
                                                                             \
  static void add_squares_##T(int64_t n, double *restrict sum,               \
                              const void *from) {                            \
    const T *restrict a = from;                                              \
    for (int64_t i = 0; i < n; i++) sum[i] += (double)a[i] * (double)a[i];   \
  }                                                                          \
                                                                             \
  static void fill_##T(heed_kernels *k, heed_dtype dtype) {                  \
    k->step[HEED_STEP_adam][dtype] = adam_##T;                               \
    k->step[HEED_STEP_adamax][dtype] = adamax_##T;                           \
    k->step[HEED_STEP_sgd][dtype] = sgd_##T;                                 \
    k->step[HEED_STEP_rmsprop][dtype] = rmsprop_##T;                         \
    k->step[HEED_STEP_adagrad][dtype] = adagrad_##T;                         \
    k->step[HEED_STEP_lion][dtype] = lion_##T;                               \
    k->step[HEED_STEP_lamb_direction][dtype] = lamb_direction_##T;           \
    k->step[HEED_STEP_lamb][dtype] = lamb_##T;                               \
    k->step[HEED_STEP_adafactor_moments][dtype] = adafactor_moments_##T;     \
    k->step[HEED_STEP_adafactor_direction][dtype] = adafactor_direction_##T; \
    k->step[HEED_STEP_adafactor][dtype] = adafactor_##T;                     \
    k->add_squares[dtype] = add_squares_##T;                                 \
  }

STEPS(float, sqrtf, fabsf)
STEPS(double, sqrt, fabs)

HEED_FILL(optim);
HEED_FILL(optim) {
  fill_float(k, HEED_FLOAT32);
  fill_double(k, HEED_FLOAT64);
}
