/*
 * activation - functions between the layers of a network, and their
 * gradients. Layer: kernel. Read first: kernel.h, vec_loop.h, fill.h.
 *
 * NaN stays. In gradients a is x, b the gradient of y; at a kink they are
 * those of PyTorch.
 */
#include <float.h>
#include <math.h>

#include "kernel/fill.h"
#include "kernel/loop.h"
#include "kernel/vec_loop.h"

/* x cut at both ends, so that inf meets no 0; NaN stays. */
static inline double within(double x, double low, double high) {
  return x < low ? low : x > high ? high : x;
}

/* ---- relu, silu, gelu ---------------------------------------------------- */

static inline double sigmoid_d(double x) { return 1 / (1 + exp(-x)); }
static inline double silu_d(double x) {
  return within(x, -800, INFINITY) * sigmoid_d(x);
}
static inline double gelu_d(double x) {
  x = within(x, -40, INFINITY);
  return 0.5 * x * erfc(-x * 0.70710678118654752);
}
/* u = 2 sqrt(2 / pi) (x + 0.044715 x^3), see vf_gelu_tanh */
static inline double gelu_tanh_u(double x) {
  return 1.5957691216057308 * (x + 0.044715 * x * x * x);
}
static inline double gelu_tanh_d(double x) {
  x = within(x, -40, INFINITY);
  return x * sigmoid_d(gelu_tanh_u(x));
}

/* Their derivatives at x. */
static inline double gelu_slope_d(double x) {
  x = within(x, -40, 40);
  return 0.5 * erfc(-x * 0.70710678118654752) +
         x * 0.3989422804014327 * exp(-0.5 * x * x);
}
static inline double gelu_tanh_slope_d(double x) {
  x = within(x, -40, 40);
  double s = sigmoid_d(gelu_tanh_u(x));
  double du = 1.5957691216057308 * (1 + 3 * 0.044715 * x * x);
  return s * (1 + x * (1 - s) * du);
}
static inline double silu_slope_d(double x) {
  x = within(x, -800, 800);
  double s = sigmoid_d(x);
  return s * (1 + x * (1 - s));
}

LOOP1(relu_uint8, uint8_t, uint8_t, a)
LOOP1(relu_int32, int32_t, int32_t, a > 0 ? a : 0)
LOOP1(relu_int64, int64_t, int64_t, a > 0 ? a : 0)
LOOP1(relu_float32, float, float, a < 0 ? 0 : a)
LOOP1(relu_float64, double, double, a < 0 ? 0 : a)
VECTOR1(silu_float32, vf_silu(a))
EACH1(silu_float64, double, double, silu_d(a))
VECTOR1(gelu_float32, vf_gelu(a))
EACH1(gelu_float64, double, double, gelu_d(a))
VECTOR1(gelu_tanh_float32, vf_gelu_tanh(a))
EACH1(gelu_tanh_float64, double, double, gelu_tanh_d(a))

LOOP2(relu_bwd_float32, float, float, a > 0 ? b : 0)
LOOP2(relu_bwd_float64, double, double, a > 0 ? b : 0)
VECTOR2(silu_bwd_float32, b * vf_silu_slope(a))
EACH2(silu_bwd_float64, double, double, b * silu_slope_d(a))
VECTOR2(gelu_bwd_float32, b * vf_gelu_slope(a))
EACH2(gelu_bwd_float64, double, double, b * gelu_slope_d(a))
VECTOR2(gelu_tanh_bwd_float32, b * vf_gelu_tanh_slope(a))
EACH2(gelu_tanh_bwd_float64, double, double, b * gelu_tanh_slope_d(a))

/* elu(x) + 1; its gradient is a function of what it gives */
VECTOR1(elu1_float32, vf_pick(a > 0.0f, a + 1.0f, vf_exp(a)))
EACH1(elu1_float64, double, double, a > 0 ? a + 1 : exp(a))
VECTOR2(elu1_bwd_float32, b * vf_min(vf_all(1.0f), a))
EACH2(elu1_bwd_float64, double, double, b * (a > 1 ? 1 : a))

/* ---- numbers replaced or cut --------------------------------------------- */

/* p: for NaN, inf, -inf; infinite ones stand for the ends of the dtype */
#define REPLACED(T, MOST)                                            \
  (a != a ? (T)p[0]                                                  \
          : a == (T)INFINITY                                         \
                ? (p[1] == (double)INFINITY ? (T)MOST : (T)p[1])     \
                : a == -(T)INFINITY                                  \
                      ? (p[2] == -(double)INFINITY ? -(T)MOST : (T)p[2]) \
                      : a)
TUNED1(nan_to_num_float32, float, REPLACED(float, FLT_MAX))
TUNED1(nan_to_num_float64, double, REPLACED(double, DBL_MAX))
TUNED2(nan_to_num_bwd_float32, float, fabsf(a) < INFINITY ? b : 0)
TUNED2(nan_to_num_bwd_float64, double, fabs(a) < (double)INFINITY ? b : 0)

/* Rounding to the places of p[0] = 10^n. */
TUNED1(round_to_float32, float,
       p[1] != 0 ? rintf(a / (float)p[0]) * (float)p[0]
                 : rintf(a * (float)p[0]) / (float)p[0])
TUNED1(round_to_float64, double,
       p[1] != 0 ? rint(a / p[0]) * p[0] : rint(a * p[0]) / p[0])

TUNED1(hardtanh_float32, float,
       a < (float)p[0] ? (float)p[0] : a > (float)p[1] ? (float)p[1] : a)
TUNED1(hardtanh_float64, double,
       a < p[0] ? p[0] : a > p[1] ? p[1] : a)
TUNED2(hardtanh_bwd_float32, float,
       a <= (float)p[0] || a >= (float)p[1] ? 0 : b)
TUNED2(hardtanh_bwd_float64, double, a <= p[0] || a >= p[1] ? 0 : b)

TUNED1(hardshrink_float32, float, fabsf(a) <= (float)p[0] ? 0 : a)
TUNED1(hardshrink_float64, double, fabs(a) <= p[0] ? 0 : a)
/* of hardshrink and softshrink */
TUNED2(shrink_bwd_float32, float, fabsf(a) <= (float)p[0] ? 0 : b)
TUNED2(shrink_bwd_float64, double, fabs(a) <= p[0] ? 0 : b)
TUNED1(softshrink_float32, float,
       a > (float)p[0] ? a - (float)p[0]
                       : a < -(float)p[0] ? a + (float)p[0] : a * 0)
TUNED1(softshrink_float64, double,
       a > p[0] ? a - p[0] : a < -p[0] ? a + p[0] : a * 0)

TUNED1(threshold_float32, float, a <= (float)p[0] ? (float)p[1] : a)
TUNED1(threshold_float64, double, a <= p[0] ? p[1] : a)
TUNED2(threshold_bwd_float32, float, a <= (float)p[0] ? 0 : b)
TUNED2(threshold_bwd_float64, double, a <= p[0] ? 0 : b)

TUNED1(leaky_relu_float32, float, a > 0 ? a : a * (float)p[0])
TUNED1(leaky_relu_float64, double, a > 0 ? a : a * p[0])
TUNED2(leaky_relu_bwd_float32, float, a > 0 ? b : b * (float)p[0])
TUNED2(leaky_relu_bwd_float64, double, a > 0 ? b : b * p[0])

/* ---- straight pieces of sigmoid and swish -------------------------------- */

#define SIXTH(T, x) ((x) <= -3 ? 0 : (x) >= 3 ? 1 : ((x) + 3) * (T)(1.0 / 6))
TUNED1(hardsigmoid_float32, float, SIXTH(float, a))
TUNED1(hardsigmoid_float64, double, SIXTH(double, a))
TUNED2(hardsigmoid_bwd_float32, float,
       a <= -3 || a >= 3 ? 0 : b * (float)(1.0 / 6))
TUNED2(hardsigmoid_bwd_float64, double,
       a <= -3 || a >= 3 ? 0 : b * (1.0 / 6))
TUNED1(hardswish_float32, float, a <= -3 ? -0.0f : a * SIXTH(float, a))
TUNED1(hardswish_float64, double, a <= -3 ? -0.0 : a * SIXTH(double, a))
TUNED2(hardswish_bwd_float32, float,
       a <= -3 ? 0 : a >= 3 ? b : b * (a * (float)(1.0 / 3) + 0.5f))
TUNED2(hardswish_bwd_float64, double,
       a <= -3 ? 0 : a >= 3 ? b : b * (a * (1.0 / 3) + 0.5))

/* ---- by exponentials and logarithms -------------------------------------- */

static inline double softplus_d(double x) {
  return (x > 0 ? x : x < 0 || x == 0 ? 0 : x) + log1p(exp(-fabs(x)));
}

/* log(1 + e^(beta x)) / beta; x itself beyond the threshold */
TUNED_WIDE1(softplus_float32,
            vd_pick(a * p[0] > p[1], a, vd_softplus(a * p[0]) * (1 / p[0])))
TUNED1(softplus_float64, double,
       a * p[0] > p[1] ? a : softplus_d(a * p[0]) / p[0])
TUNED_WIDE2(softplus_bwd_float32,
            vd_pick(a * p[0] > p[1], b, b / (1.0 + vd_exp(-(a * p[0])))))
TUNED2(softplus_bwd_float64, double,
       a * p[0] > p[1] ? b : b * sigmoid_d(a * p[0]))

TUNED_WIDE1(logsigmoid_float32, -vd_softplus(-a))
TUNED1(logsigmoid_float64, double, -softplus_d(-a))
TUNED_WIDE2(logsigmoid_bwd_float32, b / (1.0 + vd_exp(a)))
TUNED2(logsigmoid_bwd_float64, double, b * sigmoid_d(-a))

/* x > 0 ? scale x : scale alpha (e^(input scale x) - 1) */
TUNED_WIDE1(elu_float32,
            vd_pick(a > 0, p[1] * a, p[0] * p[1] * vd_expm1(a * p[2])))
TUNED1(elu_float64, double,
       a > 0 ? p[1] * a : p[0] * p[1] * expm1(a * p[2]))
TUNED_WIDE2(elu_bwd_float32,
            b * vd_pick(a > 0, vd_all(p[1]),
                        p[0] * p[1] * p[2] * vd_exp(a * p[2])))
TUNED2(elu_bwd_float64, double,
       b * (a > 0 ? p[1] : p[0] * p[1] * p[2] * exp(a * p[2])))

/* with e = e^x, n = e (e + 2), see vd_mish */
static inline double mish_d(double x) {
  double e = exp(within(x, -800, 40)), n = e * (e + 2);
  return within(x, -800, INFINITY) * (n / (n + 2));
}
static inline double mish_slope_d(double x) {
  x = within(x, -800, 40);
  double e = exp(x), n = e * (e + 2), t = n / (n + 2);
  return t + x * (e / (e + 1)) * (1 + t) * (2 / (n + 2));
}
TUNED_WIDE1(mish_float32, vd_mish(a))
TUNED1(mish_float64, double, mish_d(a))
TUNED_WIDE2(mish_bwd_float32, b * vd_mish_slope(a))
TUNED2(mish_bwd_float64, double, b * mish_slope_d(a))

/* log(z / (1 - z)), z = a within p[0] .. p[1] */
static inline double logit_d(double x, double low, double high) {
  x = within(x, low, high);
  return log(x / (1 - x));
}
TUNED_WIDE1(logit_float32,
            vd_logit(vd_min(vd_all(p[1]), vd_max(vd_all(p[0]), a))))
TUNED1(logit_float64, double, logit_d(a, p[0], p[1]))

/* ---- the tables ---------------------------------------------------------- */

static const heed_fill1 unary[] = {
    {HEED_UNARY_relu, NUMBERS(relu)},
    {HEED_UNARY_silu, FLOATS(silu)},
    {HEED_UNARY_gelu, FLOATS(gelu)},
    {HEED_UNARY_gelu_tanh, FLOATS(gelu_tanh)},
    {HEED_UNARY_elu1, FLOATS(elu1)},
};

static const heed_fill2 binary[] = {
    {HEED_BINARY_relu_bwd, FLOATS(relu_bwd)},
    {HEED_BINARY_silu_bwd, FLOATS(silu_bwd)},
    {HEED_BINARY_gelu_bwd, FLOATS(gelu_bwd)},
    {HEED_BINARY_gelu_tanh_bwd, FLOATS(gelu_tanh_bwd)},
    {HEED_BINARY_elu1_bwd, FLOATS(elu1_bwd)},
};

#define BOTH_WAYS(name) {HEED_TUNED_##name, FLOATS(name), FLOATS(name##_bwd)}

static const heed_fill_tuned tuned[] = {
    BOTH_WAYS(nan_to_num),
    {HEED_TUNED_round_to, FLOATS(round_to), {NULL}},
    {HEED_TUNED_logit, FLOATS(logit), {NULL}},
    BOTH_WAYS(softplus),
    BOTH_WAYS(logsigmoid),
    BOTH_WAYS(leaky_relu),
    BOTH_WAYS(elu),
    BOTH_WAYS(hardtanh),
    {HEED_TUNED_hardshrink, FLOATS(hardshrink), FLOATS(shrink_bwd)},
    {HEED_TUNED_softshrink, FLOATS(softshrink), FLOATS(shrink_bwd)},
    BOTH_WAYS(threshold),
    BOTH_WAYS(hardsigmoid),
    BOTH_WAYS(hardswish),
    BOTH_WAYS(mish),
};

HEED_FILL(activation);
HEED_FILL(activation) {
  FILL(k->unary, unary);
  FILL(k->binary, binary);
  FILL(k->tuned, tuned);
  for (size_t row = 0; row < sizeof tuned / sizeof *tuned; row++)
    memcpy(k->tuned_bwd[tuned[row].f], tuned[row].bwd, sizeof tuned[row].bwd);
}
