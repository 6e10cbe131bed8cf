/*
 * kernel_test - the elementwise loops of the instruction set that HEED_ISA
 * names, against the C library's doubles and plain loops.
 * Prints `ok name` or `not ok name: ...`; returns 0 when all is well.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/dtype.h"
#include "kernel/kernel.h"

static int failed;

#define REPORT(ok, name, ...)                 \
  do {                                        \
    if (ok) {                                 \
      printf("ok %s\n", name);                \
    } else {                                  \
      failed++;                               \
      printf("not ok %s: ", name);            \
      printf(__VA_ARGS__);                    \
      putchar('\n');                          \
    }                                         \
  } while (0)

static const char *const unary_name[] = {
#define UNARY(name) #name,
#include "kernel/unary.def"
#undef UNARY
};
static const char *const binary_name[] = {
#define BINARY(name) #name,
#include "kernel/binary.def"
#undef BINARY
};

/* ---- accuracy of the float32 functions ----------------------------------- */

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double silu(double x) { return x * sigmoid(x); }
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

/* Every 1021st of all floats, of both signs, with NaN, inf and denormals. */
static void sweep(heed_unary f, double (*exact)(double), double bound,
                  float least) {
  static float x[SWEEP], y[SWEEP];
  double worst = 0;
  float at = 0;
  uint64_t bits = 0;
  while (bits < UINT64_C(1) << 32) {
    for (int i = 0; i < SWEEP; i++, bits += 1021)
      x[i] = float_of((uint32_t)bits);
    heed_kernel.unary[f][HEED_FLOAT32](SWEEP, y, 1, x, 1);
    for (int i = 0; i < SWEEP; i++) {
      if (x[i] < least) continue;
      double error = ulps(y[i], exact(x[i]));
      if (error > worst) worst = error, at = x[i];
    }
  }
  char name[64];
  snprintf(name, sizeof name, "%s is within %g ulp", unary_name[f], bound);
  REPORT(worst <= bound, name, "%.3f at %.9g", worst, (double)at);
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

static void test_accuracy(void) {
  const float all = -INFINITY;
  sweep(HEED_UNARY_exp, exp, 1, all);
  sweep(HEED_UNARY_log, log, 1, all);
  sweep(HEED_UNARY_sqrt, sqrt, 0.5, all);
  sweep(HEED_UNARY_rsqrt, rsqrt, 1.5, all);
  sweep(HEED_UNARY_sin, sin, 1, all);
  sweep(HEED_UNARY_cos, cos, 1, all);
  sweep(HEED_UNARY_tanh, tanh, 2, all);
  sweep(HEED_UNARY_sigmoid, sigmoid, 2, all);
  sweep(HEED_UNARY_erf, erf, 2, all);
  sweep(HEED_UNARY_silu, silu, 3, -87);
  sweep(HEED_UNARY_gelu, gelu, 7, -1e30f);
  sweep(HEED_UNARY_gelu_tanh, gelu_tanh, 20, -3);
  sweep_slope(HEED_BINARY_gelu_bwd, gelu_slope);
  sweep_slope(HEED_BINARY_gelu_tanh_bwd, gelu_tanh_slope);
  sweep_slope(HEED_BINARY_silu_bwd, silu_slope);
}

/* ---- values -------------------------------------------------------------- */

static bool same_double(double a, double b) {
  return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

/* One element, through both float dtypes. */
static void value1(heed_unary f, double a, double want) {
  float a32 = (float)a, y32;
  double y64;
  char name[80];
  heed_kernel.unary[f][HEED_FLOAT32](1, &y32, 1, &a32, 1);
  heed_kernel.unary[f][HEED_FLOAT64](1, &y64, 1, &a, 1);
  snprintf(name, sizeof name, "%s(%g) = %g", unary_name[f], a, want);
  REPORT(same_double(y32, (float)want) && same_double(y64, want), name,
         "float32 %g, float64 %g", (double)y32, y64);
}

static void value2(heed_binary f, double a, double b, double want) {
  float a32 = (float)a, b32 = (float)b, y32;
  double y64;
  char name[80];
  heed_kernel.binary[f][HEED_FLOAT32](1, &y32, 1, &a32, 1, &b32, 1);
  heed_kernel.binary[f][HEED_FLOAT64](1, &y64, 1, &a, 1, &b, 1);
  snprintf(name, sizeof name, "%s(%g, %g) = %g", binary_name[f], a, b, want);
  REPORT(same_double(y32, (float)want) && same_double(y64, want), name,
         "float32 %g, float64 %g", (double)y32, y64);
}

static void value_int(heed_binary f, int64_t a, int64_t b, int64_t want) {
  int64_t y;
  char name[128];
  heed_kernel.binary[f][HEED_INT64](1, &y, 1, &a, 1, &b, 1);
  snprintf(name, sizeof name, "%s(%" PRId64 ", %" PRId64 ") = %" PRId64,
           binary_name[f], a, b, want);
  REPORT(y == want, name, "%" PRId64, y);
}

static void value_cast(double a, int64_t want) {
  int64_t y64, y32;
  float a32 = (float)a;
  char name[80];
  heed_kernel.cast[HEED_INT64][HEED_FLOAT64](1, &y64, 1, &a, 1);
  heed_kernel.cast[HEED_INT64][HEED_FLOAT32](1, &y32, 1, &a32, 1);
  snprintf(name, sizeof name, "%g becomes the integer %" PRId64, a, want);
  REPORT(y64 == want && y32 == want, name, "%" PRId64 ", %" PRId64, y64, y32);
}

static void test_values(void) {
  const double inf = INFINITY, nan = NAN;
  value1(HEED_UNARY_exp, -inf, 0);
  value1(HEED_UNARY_exp, inf, inf);
  value1(HEED_UNARY_exp, 0, 1);
  value1(HEED_UNARY_log, 0, -inf);
  value1(HEED_UNARY_log, -0.0, -inf);
  value1(HEED_UNARY_log, -1, nan);
  value1(HEED_UNARY_log, inf, inf);
  value1(HEED_UNARY_log, 1, 0);
  value1(HEED_UNARY_tanh, -inf, -1);
  value1(HEED_UNARY_tanh, -0.0, -0.0);
  value1(HEED_UNARY_sigmoid, -inf, 0);
  value1(HEED_UNARY_sigmoid, inf, 1);
  value1(HEED_UNARY_sigmoid, 0, 0.5);
  value1(HEED_UNARY_erf, inf, 1);
  value1(HEED_UNARY_erf, -0.0, -0.0);
  value1(HEED_UNARY_sin, inf, nan);
  value1(HEED_UNARY_sin, -0.0, -0.0);
  value1(HEED_UNARY_cos, -inf, nan);
  value1(HEED_UNARY_gelu, inf, inf);
  value1(HEED_UNARY_gelu, -inf, -0.0);
  value1(HEED_UNARY_gelu_tanh, inf, inf);
  value1(HEED_UNARY_gelu_tanh, -inf, -0.0);
  value1(HEED_UNARY_silu, inf, inf);
  value1(HEED_UNARY_silu, -inf, -0.0);
  value1(HEED_UNARY_round, 0.5, 0);
  value1(HEED_UNARY_round, 2.5, 2);
  value1(HEED_UNARY_round, -1.5, -2);
  value1(HEED_UNARY_sign, -3, -1);
  value1(HEED_UNARY_sign, nan, nan);
  value1(HEED_UNARY_relu, nan, nan);
  value1(HEED_UNARY_relu, -2, 0);
  for (int f = 0; f < HEED_UNARY_logical_not; f++)
    value1((heed_unary)f, nan, nan);

  value2(HEED_BINARY_floor_div, 7, 2, 3);
  value2(HEED_BINARY_floor_div, -7, 2, -4);
  value2(HEED_BINARY_floor_div, 1, 0, inf);
  value2(HEED_BINARY_remainder, -7, 3, 2);
  value2(HEED_BINARY_remainder, 7, -3, -2);
  value2(HEED_BINARY_remainder, 5, inf, 5);
  value2(HEED_BINARY_remainder, -5, inf, inf);
  value2(HEED_BINARY_remainder, 5, -inf, -inf);
  value2(HEED_BINARY_remainder, 5, 0, nan);
  value2(HEED_BINARY_pow, -3, 2, 9);
  value2(HEED_BINARY_pow, 2, -1, 0.5);
  value2(HEED_BINARY_pow, 9, 0.5, 3);
  value2(HEED_BINARY_pow, -inf, 0.5, inf);
  value2(HEED_BINARY_pow, -0.0, 0.5, 0);
  value2(HEED_BINARY_pow, nan, 0, 1);
  value2(HEED_BINARY_maximum, nan, 1, nan);
  value2(HEED_BINARY_maximum, 1, nan, nan);
  value2(HEED_BINARY_minimum, nan, 1, nan);
  value2(HEED_BINARY_minimum, 1, nan, nan);
  value2(HEED_BINARY_relu_bwd, 0, 5, 0);
  value2(HEED_BINARY_relu_bwd, 1, 5, 5);
  value2(HEED_BINARY_tanh_bwd, 0.5, 2, 1.5);
  value2(HEED_BINARY_sigmoid_bwd, 0.5, 2, 0.5);
  value2(HEED_BINARY_gelu_bwd, inf, 2, 2);
  value2(HEED_BINARY_gelu_bwd, 0, 2, 1);
  value2(HEED_BINARY_silu_bwd, 0, 2, 1);
  value2(HEED_BINARY_gelu_tanh_bwd, 0, 2, 1);

  value_int(HEED_BINARY_add, INT64_MAX, 1, INT64_MIN);
  value_int(HEED_BINARY_mul, INT64_MIN, -1, INT64_MIN);
  value_int(HEED_BINARY_floor_div, -7, 2, -4);
  value_int(HEED_BINARY_floor_div, 7, -2, -4);
  value_int(HEED_BINARY_floor_div, -8, 2, -4);
  value_int(HEED_BINARY_floor_div, INT64_MIN, -1, INT64_MIN);
  value_int(HEED_BINARY_remainder, -7, 3, 2);
  value_int(HEED_BINARY_remainder, 7, -3, -2);
  value_int(HEED_BINARY_remainder, INT64_MIN, -1, 0);
  value_int(HEED_BINARY_pow, -3, 3, -27);
  value_int(HEED_BINARY_pow, 2, 64, 0);
  value_int(HEED_BINARY_pow, 0, 0, 1);
  value_int(HEED_BINARY_pow, -1, -3, -1);
  value_int(HEED_BINARY_pow, 5, -1, 0);

  value_cast(2.9, 2);
  value_cast(-2.9, -2);
  value_cast(NAN, 0);
  value_cast(INFINITY, INT64_MAX);
  value_cast(-INFINITY, INT64_MIN);
  value_cast(0x1p63, INT64_MAX);
  value_cast(-0x1p63, INT64_MIN);
}

/* ---- tails, strides, aliasing -------------------------------------------- */

#define MOST 70                /* elements of a short row */
#define LONG 1100              /* of a long one */
#define ROOM(n) (3 * (n) + 64) /* places in a buffer for a row of n */
#define PLACES ROOM(LONG)

/* Element i of operand `which`, of many kinds. */
static void put(heed_dtype d, void *to, int64_t i, int which) {
  static const double some[] = {
      0.5, -1, 2, 0,    -0.75, 3.25,  1e-30, -20,    NAN, 7,  -0.0,
      1,   88, -9, 0.3, 1e20,  INFINITY, -0.1, -INFINITY, 4, -3, 2.5, 1e7};
  static const int64_t whole[] = {3,         -1, 0, 7,  INT64_MAX, 2, -5,
                                  INT64_MIN, 1,  9, -2, 40,        6};
  int64_t k = which ? i * 5 + 2 : i;
  bool is_float = heed_dtype_is_float(d);
  heed_value v = {.i = d == HEED_BOOL ? k % 3 == 0 : whole[k % 13],
                  .f = some[k % 23]};
  heed_element_store(d, to, i, !is_float, v);
}

/* Bits alike, or both NaN (whose bits may differ). */
static bool same(heed_dtype d, const void *a, int64_t i, const void *b,
                 int64_t j) {
  if (heed_dtype_is_float(d))
    return same_double(heed_element_float(d, a, i),
                       heed_element_float(d, b, j));
  size_t size = heed_dtype_size(d);
  return !memcmp((const char *)a + (size_t)i * size,
                 (const char *)b + (size_t)j * size, size);
}

typedef struct loop {
  heed_loop1 *one;
  heed_loop2 *two;
  heed_dtype from, to;
} loop;

static void run(const loop *f, int64_t n, void *y, int64_t sy, const void *a,
                int64_t sa, const void *b, int64_t sb) {
  if (f->one)
    f->one(n, y, sy, a, sa);
  else
    f->two(n, y, sy, a, sa, b, sb);
}

static double memory[4][PLACES]; /* a, b, y, single */

/* y = f(a, b) for n elements with these strides must be what f gives for one
   element at a time, and touch nothing else. in_place: y is a (1) or b (2). */
static bool row_agrees(const loop *f, int64_t n, int64_t sy, int64_t sa,
                       int64_t sb, int in_place) {
  size_t from = heed_dtype_size(f->from), to = heed_dtype_size(f->to);
  char *a = (char *)memory[0], *b = (char *)memory[1];
  char *y = (char *)memory[2], *single = (char *)memory[3];
  const int64_t places = ROOM(n);
  for (int64_t i = 0; i < places; i++) {
    put(f->from, a, i, 0);
    put(f->from, b, i, 1);
  }
  const size_t bytes = (size_t)places * (from > to ? from : to);
  memset(y, 0x5a, bytes);
  /* first elements: in the middle of the buffers when going backwards */
  int64_t ya = (sy < 0 ? n : 0) + 5, aa = (sa < 0 ? n : 0) + 3;
  int64_t ba = (sb < 0 ? n : 0) + 2;
  if (in_place == 1) y = a, ya = aa;
  if (in_place == 2) y = b, ya = ba;
  static char before[sizeof memory[2]];
  memcpy(before, y, bytes);
  for (int64_t i = 0; i < n; i++)
    run(f, 1, single + (size_t)i * to, 1,
        a + (size_t)(aa + i * sa) * from, 1,
        b + (size_t)(ba + i * sb) * from, 1);
  run(f, n, y + (size_t)ya * to, sy, a + (size_t)aa * from, sa,
      b + (size_t)ba * from, sb);
  for (int64_t i = 0; i < n; i++) {
    int64_t at = ya + i * sy;
    if (!same(f->to, y, at, single, i)) return false;
    memcpy(before + (size_t)at * to, y + (size_t)at * to, to);
  }
  return !memcmp(before, y, bytes);
}

static void test_loop(const char *name, heed_dtype d, const loop *f) {
  static const int64_t strides[][3] = {{1, 1, 1},  {1, 1, 0},   {1, 0, 1},
                                       {1, 0, 0},  {2, 1, 1},   {1, 3, 1},
                                       {1, 1, 2},  {-1, 1, -1}, {1, -1, 1},
                                       {3, 2, -1}, {1, -1, 0}};
  bool ok = true;
  int64_t n;
  for (n = 0; n <= LONG && ok; n = n == MOST ? LONG : n + 1) {
    for (int s = 0; s < 11 && ok; s++)
      ok = row_agrees(f, n, strides[s][0], strides[s][1], strides[s][2], 0);
    if (heed_dtype_size(f->from) != heed_dtype_size(f->to)) continue;
    ok = ok && row_agrees(f, n, 1, 1, 1, 1) && row_agrees(f, n, 2, 2, 1, 1) &&
         row_agrees(f, n, 1, 1, 0, 1) && row_agrees(f, n, -1, -1, 1, 1);
    if (f->two)
      ok = ok && row_agrees(f, n, 1, 1, 1, 2) &&
           row_agrees(f, n, 1, 0, 1, 2) && row_agrees(f, n, 3, 1, 3, 2);
  }
  char full[80];
  snprintf(full, sizeof full, "%s of %s agrees for all tails and strides",
           name, heed_dtype_name((heed_dtype)d));
  REPORT(ok, full, "differs before n = %d", (int)n);
}

static void test_loops(void) {
  for (int d = 0; d < HEED_NDTYPE; d++) {
    for (int u = 0; u < HEED_NUNARY; u++) {
      heed_dtype to = u >= HEED_UNARY_logical_not ? HEED_BOOL : (heed_dtype)d;
      loop f = {heed_kernel.unary[u][d], NULL, (heed_dtype)d, to};
      if (f.one) test_loop(unary_name[u], (heed_dtype)d, &f);
    }
    for (int b = 0; b < HEED_NBINARY; b++) {
      bool logic = b >= HEED_BINARY_eq && b <= HEED_BINARY_logical_or;
      loop f = {NULL, heed_kernel.binary[b][d], (heed_dtype)d,
                logic ? HEED_BOOL : (heed_dtype)d};
      if (f.two) test_loop(binary_name[b], (heed_dtype)d, &f);
    }
    for (int to = 0; to < HEED_NDTYPE; to++) {
      loop f = {heed_kernel.cast[to][d], NULL, (heed_dtype)d, (heed_dtype)to};
      char name[40];
      snprintf(name, sizeof name, "cast to %s",
               heed_dtype_name((heed_dtype)to));
      test_loop(name, (heed_dtype)d, &f);
    }
  }
}

int main(void) {
  if (!heed_kernels_select()) {
    printf("not ok select: %s\n", heed_error());
    return 1;
  }
  printf("# instruction set: %s\n", heed_kernel_isa);
  test_accuracy();
  test_values();
  test_loops();
  printf("# %d failed\n", failed);
  return failed != 0;
}
