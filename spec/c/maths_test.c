/*
 * maths_test - how exact the float32 functions of the instruction set that
 * HEED_ISA names are, against the C library's doubles.
 * Prints `ok name` or `not ok name: ...`; returns 0 when all is well.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernel/kernel.h"
#include "names.h"
#include "report.h"

/* by the distance to the nearest whole number, which is exact */
static double sinc(double x) {
  if (x == 0) return 1;
  double k = rint(x), sine = sin(acos(-1) * (x - k));
  return (fmod(k, 2) == 0 ? sine : -sine) / (acos(-1) * x);
}
static double softplus(double x) { return fmax(x, 0) + log1p(exp(-fabs(x))); }
static double logsigmoid(double x) { return isnan(x) ? x : -softplus(-x); }
static double softplus_20(double x) {
  return isnan(x) || x > 20 ? x : softplus(x);
}
static double elu(double x) { return x > 0 ? x : expm1(x); }
static double mish(double x) {
  return x < -800 ? 0 : x * tanh(softplus(x)) + 0 * x;
}
static double logit(double x) { return log(x / (1 - x)); }
static double logaddexp(double a, double b) {
  double apart = a == b ? 0 : fabs(a - b);
  return isnan(a + b) && !(isinf(a) && isinf(b)) ? NAN
                          : fmax(a, b) + log1p(exp(-apart));
}
static double logaddexp2(double a, double b) {
  double apart = a == b ? 0 : fabs(a - b);
  return isnan(a + b) && !(isinf(a) && isinf(b))
             ? NAN
             : fmax(a, b) + log1p(exp2(-apart)) / log(2);
}
static double xlogy(double a, double b) {
  return a == 0 && !isnan(b) ? 0 : a * log(b);
}
static double sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double silu(double x) { return x * sigmoid(x); }
static double elu1(double x) { return x > 0 ? x + 1 : exp(x); }
static double gelu(double x) { return 0.5 * x * erfc(-x * sqrt(0.5)); }
static double rsqrt(double x) { return 1 / sqrt(x); }
static double tanh_inner(double x) {
  return 2 * sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x);
}
static double gelu_tanh(double x) { return x * sigmoid(tanh_inner(x)); }
static double silu_slope(double x) {
  return sigmoid(x) * (1 + x * sigmoid(-x));
}
static double gelu_slope(double x) {
  return 0.5 * erfc(-x * sqrt(0.5)) +
         x * exp(-0.5 * x * x) / sqrt(2 * acos(-1));
}
static double gelu_tanh_slope(double x) {
  double u = tanh_inner(x);
  double slope = 2 * sqrt(2 / acos(-1)) * (1 + 3 * 0.044715 * x * x);
  return sigmoid(u) * (1 + x * sigmoid(-u) * slope);
}

/* |y - exact| in units of the last place that a float near exact has. */
static double ulps(float y, double exact) {
  float rounded = (float)exact;
  if (isnan(exact)) return isnan(y) ? 0 : INFINITY;
  if (y == rounded) return 0;
  if (isinf(rounded) || !isfinite(y)) {
    /* at the upper end, inf is as good as the largest float */
    return fabs(exact) > 0x1.fffffcp127 && fabs(exact) < 0x1.000002p128 ? 1
                                                                : INFINITY;
  }
  int e;
  frexp(exact, &e);
  return fabs((double)y - exact) / ldexp(1, (e < -125 ? -125 : e) - 24);
}

#define SWEEP 4096

static float float_of(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* Every 1021st of all floats from `least` on, of both signs, with NaN, inf and
   denormals, through a loop that takes the numbers p, or one that does not. */
static void sweep_loop(const char *of, heed_loop1 *plain,
                       heed_loop1_tuned *tuned, const double *p,
                       double (*exact)(double), double bound, float least) {
  static float x[SWEEP], y[SWEEP];
  double worst = 0;
  float at = 0;
  uint64_t bits = 0;
  while (bits < UINT64_C(1) << 32) {
    for (int i = 0; i < SWEEP; i++, bits += 1021)
      x[i] = float_of((uint32_t)bits);
    if (tuned) tuned(SWEEP, y, 1, x, 1, p);
    else plain(SWEEP, y, 1, x, 1);
    for (int i = 0; i < SWEEP; i++) {
      if (x[i] < least) continue;
      double error = ulps(y[i], exact(x[i]));
      if (error > worst) worst = error, at = x[i];
    }
  }
  char name[64];
  snprintf(name, sizeof name, "%s is within %g ulp", of, bound);
  REPORT(worst <= bound, name, "%.3f at %.9g", worst, (double)at);
}

static void sweep(heed_unary f, double (*exact)(double), double bound,
                  float least) {
  sweep_loop(unary_name[f], heed_kernel.unary[f][HEED_FLOAT32], NULL, NULL,
             exact, bound, least);
}

static void sweep_tuned(heed_tuned f, const double *p,
                        double (*exact)(double), double bound) {
  sweep_loop(tuned_name[f], NULL, heed_kernel.tuned[f][HEED_FLOAT32], p,
             exact, bound, -INFINITY);
}

/* Random pairs of all floats, and of those within +-40, with zeros,
   infinities, ones and NaN among them. */
static void sweep_pairs(heed_binary f, double (*exact)(double, double),
                        double bound) {
  static const float odd[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN,
                              1,    -1,    2,        0.5f,      -3};
  static float a[SWEEP], b[SWEEP], y[SWEEP];
  double worst = 0;
  float at_a = 0, at_b = 0;
  uint32_t random = 1;
  for (int round = 0; round < 500; round++) {
    for (int i = 0; i < 2 * SWEEP; i++) {
      random = random * 1664525u + 1013904223u;
      uint32_t bits = random ^ random >> 15;
      float v = round % 2 ? (float)(int32_t)bits * 0x1p-26f : float_of(bits);
      if (bits % 7 == 0) v = odd[bits / 7 % 10];
      if (bits % 5 == 0) v = rintf(v);
      (i < SWEEP ? a : b)[i % SWEEP] = v;
    }
    heed_kernel.binary[f][HEED_FLOAT32](SWEEP, y, 1, a, 1, b, 1);
    for (int i = 0; i < SWEEP; i++) {
      double error = ulps(y[i], exact(a[i], b[i]));
      if (error > worst) worst = error, at_a = a[i], at_b = b[i];
    }
  }
  char name[64];
  snprintf(name, sizeof name, "%s is within %g ulp", binary_name[f], bound);
  REPORT(worst <= bound, name, "%.3f at %.9g, %.9g", worst, (double)at_a,
         (double)at_b);
}

/* Functions that cross or near zero by cancellation: absolute error. */
static void sweep_slope(heed_binary f, double (*exact)(double)) {
  static float x[SWEEP], one[SWEEP], y[SWEEP];
  double worst = 0;
  float at = 0;
  for (int i = 0; i < SWEEP; i++) one[i] = 1;
  for (int part = -20; part < 20; part++) {
    for (int i = 0; i < SWEEP; i++)
      x[i] = (float)part + (float)i / SWEEP;
    heed_kernel.binary[f][HEED_FLOAT32](SWEEP, y, 1, x, 1, one, 1);
    for (int i = 0; i < SWEEP; i++) {
      double error = fabs((double)y[i] - exact(x[i]));
      if (!(error <= worst)) worst = error, at = x[i];
    }
  }
  char name[64];
  snprintf(name, sizeof name, "%s is within 4e-7", binary_name[f]);
  REPORT(worst <= 4e-7, name, "%.3g at %.9g", worst, (double)at);
}

static void test_unary(void) {
  const float all = -INFINITY;
  sweep(HEED_UNARY_exp, exp, 1, all);
  sweep(HEED_UNARY_log, log, 1, all);
  sweep(HEED_UNARY_sqrt, sqrt, 0.5, all);
  sweep(HEED_UNARY_rsqrt, rsqrt, 1.5, all);
  sweep(HEED_UNARY_sin, sin, 0.6, all);
  sweep(HEED_UNARY_cos, cos, 0.6, all);
  sweep(HEED_UNARY_exp2, exp2, 0.6, all);
  sweep(HEED_UNARY_expm1, expm1, 0.6, all);
  sweep(HEED_UNARY_log2, log2, 0.6, all);
  sweep(HEED_UNARY_log10, log10, 0.6, all);
  sweep(HEED_UNARY_log1p, log1p, 0.6, all);
  sweep(HEED_UNARY_tan, tan, 0.6, all);
  sweep(HEED_UNARY_sinc, sinc, 0.6, all);
  sweep(HEED_UNARY_asin, asin, 0.6, all);
  sweep(HEED_UNARY_acos, acos, 0.6, all);
  sweep(HEED_UNARY_atan, atan, 0.6, all);
  sweep(HEED_UNARY_sinh, sinh, 0.6, all);
  sweep(HEED_UNARY_cosh, cosh, 0.6, all);
  sweep(HEED_UNARY_asinh, asinh, 0.6, all);
  sweep(HEED_UNARY_acosh, acosh, 0.6, all);
  sweep(HEED_UNARY_atanh, atanh, 0.6, all);
  sweep(HEED_UNARY_erfc, erfc, 0.6, all);
  sweep(HEED_UNARY_tanh, tanh, 2, all);
  sweep(HEED_UNARY_sigmoid, sigmoid, 2, all);
  sweep(HEED_UNARY_erf, erf, 2, all);
  sweep(HEED_UNARY_silu, silu, 3, -87);
  sweep(HEED_UNARY_elu1, elu1, 1, all);
  sweep(HEED_UNARY_gelu, gelu, 7, -1e30f);
  sweep(HEED_UNARY_gelu_tanh, gelu_tanh, 20, -3);
  sweep_slope(HEED_BINARY_gelu_bwd, gelu_slope);
  sweep_slope(HEED_BINARY_gelu_tanh_bwd, gelu_tanh_slope);
  sweep_slope(HEED_BINARY_silu_bwd, silu_slope);
}

static void test_tuned(void) {
  const double one[3] = {1, 1, 1}, soft[3] = {1, 20}, all[3] = {-INFINITY,
                                                               INFINITY};
  sweep_tuned(HEED_TUNED_softplus, soft, softplus_20, 0.6);
  sweep_tuned(HEED_TUNED_logsigmoid, one, logsigmoid, 0.6);
  sweep_tuned(HEED_TUNED_elu, one, elu, 0.6);
  sweep_tuned(HEED_TUNED_mish, one, mish, 0.6);
  sweep_tuned(HEED_TUNED_logit, all, logit, 0.6);
}

static void test_pairs(void) {
  sweep_pairs(HEED_BINARY_pow, pow, 0.6);
  sweep_pairs(HEED_BINARY_atan2, atan2, 0.6);
  sweep_pairs(HEED_BINARY_hypot, hypot, 0.6);
  sweep_pairs(HEED_BINARY_logaddexp, logaddexp, 0.6);
  sweep_pairs(HEED_BINARY_logaddexp2, logaddexp2, 0.6);
  sweep_pairs(HEED_BINARY_xlogy, xlogy, 0.6);
}

int main(void) {
  if (!heed_kernels_select()) {
    printf("not ok select: %s\n", heed_error());
    return 1;
  }
  printf("# instruction set: %s\n", heed_kernel_isa);
  test_unary();
  test_tuned();
  test_pairs();
  printf("# %d failed\n", failed);
  return failed != 0;
}
