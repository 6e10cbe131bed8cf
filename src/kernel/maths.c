/*
 * maths - functions of each element: float32 on vectors, float64 by the C
 * library. Layer: kernel. Read first: kernel.h, vec_loop.h, fill.h.
 */
#include <math.h>

#include "kernel/fill.h"
#include "kernel/loop.h"
#include "kernel/vec_loop.h"

static inline double sigmoid_d(double x) { return 1 / (1 + exp(-x)); }

/* sin(pi x) / (pi x) from the distance to the nearest whole x */
static inline double sinc_d(double x) {
  if (x == 0) return 1;
  double k = rint(x), sine = sin(M_PI * (x - k));
  return (fmod(k, 2) == 0 ? sine : -sine) / (M_PI * x);
}

static inline double logaddexp_d(double a, double b) {
  double apart = a == b ? 0 : fabs(a - b);
  return (a > b ? a : b) + log1p(exp(-apart));
}
static inline double logaddexp2_d(double a, double b) {
  double apart = a == b ? 0 : fabs(a - b);
  return (a > b ? a : b) + log1p(exp2(-apart)) * 1.4426950408889634;
}
static inline double xlogy_d(double a, double b) {
  return a == 0 && b == b ? 0 : a * log(b);
}

/* -b log a - (1 - b) log(1 - a), logarithms held above -100 */
static inline double binary_cross_entropy_d(double a, double b) {
  double yes = log(a), no = log1p(-a);
  return (b - 1) * (no < -100 ? -100 : no) - b * (yes < -100 ? -100 : yes);
}

/* No overflow on the way; an infinite side outdoes NaN. */
static inline float hypot_f(float a, float b) {
  double s = (double)a * a + (double)b * b;
  return fabsf(a) == INFINITY || fabsf(b) == INFINITY ? INFINITY
                                                      : (float)sqrt(s);
}

LOOP1(sqrt_float32, float, float, sqrtf(a))
LOOP1(sqrt_float64, double, double, sqrt(a))
LOOP1(rsqrt_float32, float, float, 1 / sqrtf(a))
LOOP1(rsqrt_float64, double, double, 1 / sqrt(a))

VECTOR1(exp_float32, vf_exp(a))
VECTOR1(log_float32, vf_log(a))
VECTOR1(tanh_float32, vf_tanh(a))
VECTOR1(sigmoid_float32, vf_sigmoid(a))
VECTOR1(erf_float32, vf_erf(a))
EACH1(sigmoid_float64, double, double, sigmoid_d(a))
WIDE1(sinc_float32, vd_sinc(a))
EACH1(sinc_float64, double, double, sinc_d(a))
WIDE2(logaddexp_float32, vd_logaddexp(a, b))
EACH2(logaddexp_float64, double, double, logaddexp_d(a, b))
WIDE2(logaddexp2_float32, vd_logaddexp2(a, b))
EACH2(logaddexp2_float64, double, double, logaddexp2_d(a, b))
WIDE2(xlogy_float32, vd_xlogy(a, b))
EACH2(xlogy_float64, double, double, xlogy_d(a, b))
WIDE2(binary_cross_entropy_float32, vd_binary_cross_entropy(a, b))
EACH2(binary_cross_entropy_float64, double, double,
      binary_cross_entropy_d(a, b))
WIDE2(atan2_float32, vd_atan2(a, b))
EACH2(atan2_float64, double, double, atan2(a, b))
LOOP2(hypot_float32, float, float, hypot_f(a, b))
EACH2(hypot_float64, double, double, hypot(a, b))

/* Functions that the C library has. */
#define LIBRARY(name) EACH1(name##_float64, double, double, name(a))
#define BOTH(name) \
  WIDE1(name##_float32, vd_##name(a)) LIBRARY(name)

LIBRARY(exp)
LIBRARY(log)
LIBRARY(tanh)
LIBRARY(erf)
BOTH(exp2)
BOTH(expm1)
BOTH(log2)
BOTH(log10)
BOTH(log1p)
BOTH(sin)
BOTH(cos)
BOTH(tan)
BOTH(asin)
BOTH(acos)
BOTH(atan)
BOTH(sinh)
BOTH(cosh)
BOTH(asinh)
BOTH(acosh)
BOTH(atanh)
BOTH(erfc)

/* tanh and sigmoid: a is the result, b its gradient. */
VECTOR2(tanh_bwd_float32, b * (1 - a * a))
LOOP2(tanh_bwd_float64, double, double, b * (1 - a * a))
VECTOR2(sigmoid_bwd_float32, b * a * (1 - a))
LOOP2(sigmoid_bwd_float64, double, double, b * a * (1 - a))

static const heed_fill1 unary[] = {
    {HEED_UNARY_sqrt, FLOATS(sqrt)},
    {HEED_UNARY_rsqrt, FLOATS(rsqrt)},
    {HEED_UNARY_exp, FLOATS(exp)},
    {HEED_UNARY_exp2, FLOATS(exp2)},
    {HEED_UNARY_expm1, FLOATS(expm1)},
    {HEED_UNARY_log, FLOATS(log)},
    {HEED_UNARY_log2, FLOATS(log2)},
    {HEED_UNARY_log10, FLOATS(log10)},
    {HEED_UNARY_log1p, FLOATS(log1p)},
    {HEED_UNARY_sin, FLOATS(sin)},
    {HEED_UNARY_cos, FLOATS(cos)},
    {HEED_UNARY_tan, FLOATS(tan)},
    {HEED_UNARY_sinc, FLOATS(sinc)},
    {HEED_UNARY_asin, FLOATS(asin)},
    {HEED_UNARY_acos, FLOATS(acos)},
    {HEED_UNARY_atan, FLOATS(atan)},
    {HEED_UNARY_sinh, FLOATS(sinh)},
    {HEED_UNARY_cosh, FLOATS(cosh)},
    {HEED_UNARY_tanh, FLOATS(tanh)},
    {HEED_UNARY_asinh, FLOATS(asinh)},
    {HEED_UNARY_acosh, FLOATS(acosh)},
    {HEED_UNARY_atanh, FLOATS(atanh)},
    {HEED_UNARY_sigmoid, FLOATS(sigmoid)},
    {HEED_UNARY_erf, FLOATS(erf)},
    {HEED_UNARY_erfc, FLOATS(erfc)},
};

static const heed_fill2 binary[] = {
    {HEED_BINARY_atan2, FLOATS(atan2)},
    {HEED_BINARY_hypot, FLOATS(hypot)},
    {HEED_BINARY_logaddexp, FLOATS(logaddexp)},
    {HEED_BINARY_logaddexp2, FLOATS(logaddexp2)},
    {HEED_BINARY_xlogy, FLOATS(xlogy)},
    {HEED_BINARY_binary_cross_entropy, FLOATS(binary_cross_entropy)},
    {HEED_BINARY_tanh_bwd, FLOATS(tanh_bwd)},
    {HEED_BINARY_sigmoid_bwd, FLOATS(sigmoid_bwd)},
};

HEED_FILL(maths);
HEED_FILL(maths) {
  FILL(k->unary, unary);
  FILL(k->binary, binary);
}
