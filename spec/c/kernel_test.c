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
#include "names.h"
#include "report.h"

static const char *const ternary_name[] = {"clamp", "lerp", "addcmul",
                                           "addcdiv"};

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
  value1(HEED_UNARY_elu1, inf, inf);
  value1(HEED_UNARY_elu1, -inf, 0);
  value1(HEED_UNARY_elu1, 0, 1);
  value1(HEED_UNARY_elu1, 2, 3);
  value1(HEED_UNARY_expm1, -0.0, -0.0);
  value1(HEED_UNARY_expm1, inf, inf);
  value1(HEED_UNARY_expm1, -inf, -1);
  value1(HEED_UNARY_exp2, -inf, 0);
  value1(HEED_UNARY_exp2, inf, inf);
  value1(HEED_UNARY_exp2, 3, 8);
  value1(HEED_UNARY_log1p, -0.0, -0.0);
  value1(HEED_UNARY_log1p, -1, -inf);
  value1(HEED_UNARY_log1p, -2, nan);
  value1(HEED_UNARY_log1p, inf, inf);
  value1(HEED_UNARY_log2, 0, -inf);
  value1(HEED_UNARY_log2, 8, 3);
  value1(HEED_UNARY_log2, -1, nan);
  value1(HEED_UNARY_log2, inf, inf);
  value1(HEED_UNARY_log10, 1000, 3);
  value1(HEED_UNARY_log10, 0, -inf);
  value1(HEED_UNARY_tan, -0.0, -0.0);
  value1(HEED_UNARY_tan, inf, nan);
  value1(HEED_UNARY_sinc, 0, 1);
  value1(HEED_UNARY_sinc, 2, 0);
  value1(HEED_UNARY_sinc, inf, nan);
  value1(HEED_UNARY_asin, -0.0, -0.0);
  value1(HEED_UNARY_asin, 2, nan);
  value1(HEED_UNARY_asin, -2, nan);
  value1(HEED_UNARY_acos, 1, 0);
  value1(HEED_UNARY_acos, 2, nan);
  value1(HEED_UNARY_acos, -2, nan);
  value1(HEED_UNARY_atan, -0.0, -0.0);
  value1(HEED_UNARY_sinh, -0.0, -0.0);
  value1(HEED_UNARY_sinh, -inf, -inf);
  value1(HEED_UNARY_cosh, -inf, inf);
  value1(HEED_UNARY_cosh, 0, 1);
  value1(HEED_UNARY_asinh, -0.0, -0.0);
  value1(HEED_UNARY_asinh, -inf, -inf);
  value1(HEED_UNARY_acosh, 1, 0);
  value1(HEED_UNARY_acosh, 0, nan);
  value1(HEED_UNARY_acosh, -5, nan);
  value1(HEED_UNARY_acosh, inf, inf);
  value1(HEED_UNARY_atanh, -0.0, -0.0);
  value1(HEED_UNARY_atanh, 1, inf);
  value1(HEED_UNARY_atanh, -1, -inf);
  value1(HEED_UNARY_atanh, 2, nan);
  value1(HEED_UNARY_atanh, inf, nan);
  value1(HEED_UNARY_erfc, -inf, 2);
  value1(HEED_UNARY_erfc, inf, 0);
  value1(HEED_UNARY_erfc, 0, 1);
  value1(HEED_UNARY_erfinv, -0.0, -0.0);
  value1(HEED_UNARY_erfinv, 1, inf);
  value1(HEED_UNARY_erfinv, -1, -inf);
  value1(HEED_UNARY_erfinv, 2, nan);
  value1(HEED_UNARY_lgamma, 1, 0);
  value1(HEED_UNARY_lgamma, -1, inf);
  value1(HEED_UNARY_lgamma, -inf, inf);
  value1(HEED_UNARY_digamma, 0, -inf);
  value1(HEED_UNARY_digamma, -0.0, inf);
  value1(HEED_UNARY_digamma, -1, nan);
  value1(HEED_UNARY_digamma, inf, inf);
  value1(HEED_UNARY_trunc, -1.5, -1);
  value1(HEED_UNARY_trunc, -0.5, -0.0);
  value1(HEED_UNARY_trunc, inf, inf);
  value1(HEED_UNARY_reciprocal, -0.0, -inf);
  value1(HEED_UNARY_reciprocal, inf, 0);
  value1(HEED_UNARY_square, -inf, inf);
  value1(HEED_UNARY_round, 0.5, 0);
  value1(HEED_UNARY_round, 2.5, 2);
  value1(HEED_UNARY_round, -1.5, -2);
  value1(HEED_UNARY_sign, -3, -1);
  value1(HEED_UNARY_sign, nan, nan);
  value1(HEED_UNARY_relu, nan, nan);
  value1(HEED_UNARY_relu, -2, 0);
  for (int f = 0; f < HEED_UNARY_bitwise_not; f++)
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
  value2(HEED_BINARY_fmod, -7, 3, -1);
  value2(HEED_BINARY_fmod, 5, inf, 5);
  value2(HEED_BINARY_fmod, 5, 0, nan);
  value2(HEED_BINARY_copysign, 3, -0.0, -3);
  value2(HEED_BINARY_heaviside, 0, 7, 7);
  value2(HEED_BINARY_heaviside, -1, 7, 0);
  value2(HEED_BINARY_hypot, -inf, nan, inf);
  value2(HEED_BINARY_hypot, 3, 4, 5);
  value2(HEED_BINARY_logaddexp, -inf, -inf, -inf);
  value2(HEED_BINARY_logaddexp, inf, -inf, inf);
  value2(HEED_BINARY_logaddexp2, inf, inf, inf);
  value2(HEED_BINARY_logaddexp2, 3, 3, 4);
  value2(HEED_BINARY_xlogy, 0, 0, 0);
  value2(HEED_BINARY_xlogy, 0, nan, nan);
  value2(HEED_BINARY_atan2, -0.0, 1, -0.0);
  value2(HEED_BINARY_atan2, 0, 0, 0);
  value2(HEED_BINARY_atan2, -0.0, 0, -0.0);
  value2(HEED_BINARY_pow, -2, 3, -8);
  value2(HEED_BINARY_pow, -2, 0.3, nan);
  value2(HEED_BINARY_pow, 0, -1, inf);
  value2(HEED_BINARY_pow, -0.0, -3, -inf);
  value2(HEED_BINARY_pow, 1, nan, 1);
  value2(HEED_BINARY_pow, 2, -inf, 0);
  value2(HEED_BINARY_pow, -1, inf, 1);
  value2(HEED_BINARY_pow, 2, 2000, inf);
  value2(HEED_BINARY_pow, -2, 2001, -inf);
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
  value2(HEED_BINARY_elu1_bwd, 0.25, 2, 0.5);
  value2(HEED_BINARY_elu1_bwd, 3, 2, 2);
  value2(HEED_BINARY_elu1_bwd, nan, 2, nan);
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
  value_int(HEED_BINARY_fmod, -7, 3, -1);
  value_int(HEED_BINARY_fmod, INT64_MIN, -1, 0);
  value_int(HEED_BINARY_left_shift, 3, 2, 12);
  value_int(HEED_BINARY_left_shift, 3, 64, 0);
  value_int(HEED_BINARY_left_shift, 3, -1, 0);
  value_int(HEED_BINARY_right_shift, -5, 1, -3);
  value_int(HEED_BINARY_right_shift, -5, 64, -1);
  value_int(HEED_BINARY_right_shift, 5, -1, 0);
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
  heed_loop3 *three; /* b is the third operand too */
  heed_loop1_tuned *tuned;
  heed_loop2_tuned *tuned_bwd;
} loop;

static void run(const loop *f, int64_t n, void *y, int64_t sy, const void *a,
                int64_t sa, const void *b, int64_t sb) {
  static const double p[HEED_TUNED_MAX] = {0.25, 0.75, 1.5};
  if (f->one)
    f->one(n, y, sy, a, sa);
  else if (f->three)
    f->three(n, y, sy, a, sa, b, sb, b, sb, 2);
  else if (f->tuned)
    f->tuned(n, y, sy, a, sa, p);
  else if (f->tuned_bwd)
    f->tuned_bwd(n, y, sy, a, sa, b, sb, p);
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
      loop f = {.one = heed_kernel.unary[u][d], .from = (heed_dtype)d,
                .to = to};
      if (f.one) test_loop(unary_name[u], (heed_dtype)d, &f);
    }
    for (int b = 0; b < HEED_NBINARY; b++) {
      bool logic = b >= HEED_BINARY_eq && b <= HEED_BINARY_logical_xor;
      loop f = {.two = heed_kernel.binary[b][d], .from = (heed_dtype)d,
                .to = logic ? HEED_BOOL : (heed_dtype)d};
      if (f.two) test_loop(binary_name[b], (heed_dtype)d, &f);
    }
    for (int t = 0; t < HEED_NTERNARY; t++) {
      loop f = {.from = (heed_dtype)d, .to = (heed_dtype)d,
                .three = heed_kernel.ternary[t][d]};
      if (f.three) test_loop(ternary_name[t], (heed_dtype)d, &f);
    }
    for (int t = 0; t < HEED_NTUNED; t++) {
      loop f = {.from = (heed_dtype)d, .to = (heed_dtype)d,
                .tuned = heed_kernel.tuned[t][d]};
      if (f.tuned) test_loop(tuned_name[t], (heed_dtype)d, &f);
      loop g = {.from = (heed_dtype)d, .to = (heed_dtype)d,
                .tuned_bwd = heed_kernel.tuned_bwd[t][d]};
      if (g.tuned_bwd) test_loop(tuned_name[t], (heed_dtype)d, &g);
    }
    for (int to = 0; to < HEED_NDTYPE; to++) {
      loop f = {.one = heed_kernel.cast[to][d], .from = (heed_dtype)d,
                .to = (heed_dtype)to};
      char name[40];
      snprintf(name, sizeof name, "cast to %s",
               heed_dtype_name((heed_dtype)to));
      test_loop(name, (heed_dtype)d, &f);
    }
  }
}

/* ---- choices and turned tiles -------------------------------------------- */

static void test_pick(void) {
  for (int d = 0; d < HEED_NDTYPE; d++) {
    const size_t size = heed_dtype_size((heed_dtype)d);
    const int64_t n = MOST;
    char *a = (char *)memory[0], *b = (char *)memory[1];
    char *y = (char *)memory[2], name[40];
    uint8_t test[2 * MOST];
    bool ok = true;
    for (int64_t i = 0; i < 2 * n; i++) {
      put((heed_dtype)d, a, i, 0);
      put((heed_dtype)d, b, i, 1);
      test[i] = i * 7 % 3 == 0;
    }
    for (int s = 0; s < 16; s++) { /* strides of 0, 1, 2 */
      int64_t sy = 1 + (s == 15), st = 1 + s % 2, sa = s / 2 % 3, sb = s / 6;
      memset(y, 0x5a, (size_t)(2 * n) * size);
      heed_kernel.pick[d](n, y, sy, test, st, a, sa, b, sb);
      for (int64_t i = 0; i < n; i++) {
        const char *want = test[i * st] ? a + (size_t)(i * sa) * size
                                        : b + (size_t)(i * sb) * size;
        ok = ok && !memcmp(y + (size_t)(i * sy) * size, want, size);
      }
    }
    snprintf(name, sizeof name, "pick of %s", heed_dtype_name((heed_dtype)d));
    REPORT(ok, name, "differs");
  }
}

static void test_turn(void) {
  for (int d = 0; d < HEED_NDTYPE; d++) {
    const size_t size = heed_dtype_size((heed_dtype)d);
    const char *x = (const char *)memory[0];
    char *y = (char *)memory[1], name[40];
    bool ok = true;
    for (int i = 0; i < 40 * 30; i++) put((heed_dtype)d, memory[0], i, 0);
    for (int64_t rows = 0; rows <= 20; rows++)
      for (int64_t columns = 0; columns <= 20; columns++) {
        memset(y, 0x5a, 30 * 30 * size);
        heed_kernel.turn[d](rows, columns, y, 30, x, 40);
        for (int64_t i = 0; i < 30; i++)
          for (int64_t j = 0; j < 30; j++) {
            char *at = y + (size_t)(i * 30 + j) * size;
            bool inside = i < rows && j < columns;
            ok = ok && (inside ? !memcmp(at, x + (size_t)(j * 40 + i) * size,
                                         size)
                               : *at == 0x5a);
          }
      }
    snprintf(name, sizeof name, "turn of %s", heed_dtype_name((heed_dtype)d));
    REPORT(ok, name, "differs");
  }
}

int main(void) {
  if (!heed_kernels_select()) {
    printf("not ok select: %s\n", heed_error());
    return 1;
  }
  printf("# instruction set: %s\n", heed_kernel_isa);
  test_values();
  test_loops();
  test_pick();
  test_turn();
  printf("# %d failed\n", failed);
  return failed != 0;
}
