/*
 * elementwise - functions of one or two numbers over rows. Layer: kernel.
 * Read first: kernel.h, loop.h, vec.h.
 *
 * A result depends on its operands only, not on strides or places in a row.
 *
 * bool is a byte of 0 or 1. Integers wrap. NaN stays NaN unless said otherwise.
 */
#include <math.h>
#include <string.h>

#include "kernel/kernel.h"
#include "kernel/loop.h"
#include "kernel/vec.h"

/* A piece of a row with gaps is packed into a buffer, and back: gathered
   lane by lane in the loop itself, vectors wait for each lane. */
#define PIECE 512

static const float *packed(float *buffer, int64_t n, const float *x,
                           int64_t stride) {
  if (stride == 1) return x;
  for (int64_t i = 0; i < n; i++) buffer[i] = x[i * stride];
  return buffer;
}

static void spread(float *y, int64_t stride, int64_t n, const float *buffer) {
  for (int64_t i = 0; i < n; i++) y[i * stride] = buffer[i];
}

/* float32 functions on vectors: the expression in vectors a (and b). What
   does not fill a vector goes through the same formula. */
#define VECTOR1(name, expression)                                     \
  static void name(int64_t n, void *to, int64_t sy, const void *from, \
                   int64_t sa) {                                      \
    float in[PIECE], out[PIECE];                                      \
    for (int64_t at = 0; at < n; at += PIECE) {                       \
      const int64_t m = n - at < PIECE ? n - at : PIECE;              \
      const float *x = packed(in, m, (const float *)from + at * sa, sa); \
      float *row = (float *)to + at * sy, *y = sy == 1 ? row : out;   \
      int64_t i = 0;                                                  \
      for (; i + VF <= m; i += VF) {                                  \
        const vf a = vf_load(x + i);                                  \
        vf_store(y + i, expression);                                  \
      }                                                               \
      if (i < m) {                                                    \
        const vf a = vf_load_n(x + i, m - i, 0);                      \
        vf_store_n(y + i, expression, m - i);                         \
      }                                                               \
      if (sy != 1) spread(row, sy, m, out);                           \
    }                                                                 \
  }

#define VECTOR2(name, expression)                                         \
  static void name(int64_t n, void *to, int64_t sy, const void *from_a,   \
                   int64_t sa, const void *from_b, int64_t sb) {          \
    float in_a[PIECE], in_b[PIECE], out[PIECE];                           \
    for (int64_t at = 0; at < n; at += PIECE) {                           \
      const int64_t m = n - at < PIECE ? n - at : PIECE;                  \
      const float *xa =                                                   \
          packed(in_a, m, (const float *)from_a + at * sa, sa);           \
      const float *xb =                                                   \
          packed(in_b, m, (const float *)from_b + at * sb, sb);           \
      float *row = (float *)to + at * sy, *y = sy == 1 ? row : out;       \
      int64_t i = 0;                                                      \
      for (; i + VF <= m; i += VF) {                                      \
        const vf a = vf_load(xa + i), b = vf_load(xb + i);                \
        vf_store(y + i, expression);                                      \
      }                                                                   \
      if (i < m) {                                                        \
        const vf a = vf_load_n(xa + i, m - i, 0);                         \
        const vf b = vf_load_n(xb + i, m - i, 0);                         \
        vf_store_n(y + i, expression, m - i);                             \
      }                                                                   \
      if (sy != 1) spread(row, sy, m, out);                               \
    }                                                                     \
  }

/* ---- integers: wrapping arithmetic through unsigned --------------------- */

typedef uint64_t u64;

/* Rounds down. b = 0 gives 0 (callers refuse it); min // -1 wraps. */
static inline int64_t floor_div_i(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return (int64_t)(0 - (u64)a);
  int64_t q = a / b;
  return q - (a % b != 0 && (a ^ b) < 0);
}

/* a - (a // b) * b: takes the sign of b. */
static inline int64_t remainder_i(int64_t a, int64_t b) {
  if (b == 0 || b == -1) return 0;
  int64_t r = a % b;
  return r != 0 && (r ^ b) < 0 ? r + b : r;
}

/* A negative exponent gives the quotient 1 // a^-b cut towards 0. */
static inline int64_t pow_i(int64_t a, int64_t b) {
  if (b < 0) return a == 1 ? 1 : a == -1 ? 1 - 2 * (b & 1) : 0;
  u64 y = 1, square = (u64)a;
  for (u64 e = (u64)b; e; e >>= 1) {
    if (e & 1) y *= square;
    square *= square;
  }
  return (int64_t)y;
}

static inline u64 abs_i(int64_t a) { return a < 0 ? 0 - (u64)a : (u64)a; }
static inline int64_t sign_i(int64_t a) { return (a > 0) - (a < 0); }

/* A loop for each integer dtype: computed wide, cut to size. */
#define INTEGERS(LOOP, name, expression)             \
  LOOP(name##_uint8, uint8_t, uint8_t, expression)   \
  LOOP(name##_int32, int32_t, int32_t, expression)   \
  LOOP(name##_int64, int64_t, int64_t, expression)

INTEGERS(LOOP1, neg, 0 - (u64)a)
INTEGERS(LOOP1, abs, abs_i(a))
INTEGERS(LOOP1, sign, sign_i(a))
INTEGERS(LOOP1, relu, a > 0 ? a : 0)
INTEGERS(LOOP2, add, (u64)a + (u64)b)
INTEGERS(LOOP2, sub, (u64)a - (u64)b)
INTEGERS(LOOP2, mul, (u64)a * (u64)b)
INTEGERS(EACH2, floor_div, floor_div_i(a, b))
INTEGERS(EACH2, remainder, remainder_i(a, b))
INTEGERS(EACH2, pow, pow_i(a, b))
INTEGERS(LOOP2, maximum, a > b ? a : b)
INTEGERS(LOOP2, minimum, a < b ? a : b)

/* ---- bool: + is or, * is and -------------------------------------------- */

LOOP2(or_bool, uint8_t, uint8_t, a | b)
LOOP2(and_bool, uint8_t, uint8_t, a & b)

/* ---- float32 and float64: arithmetic ------------------------------------ */

/* a % b as in Lua: exact, takes the sign of b; 5 % inf = 5, -5 % inf = inf,
   a % 0 = NaN. */
static inline float remainder_f(float a, float b) {
  float r = fmodf(a, b);
  return (r > 0 ? b < 0 : r < 0 && b > 0) ? r + b : r;
}
static inline double remainder_d(double a, double b) {
  double r = fmod(a, b);
  return (r > 0 ? b < 0 : r < 0 && b > 0) ? r + b : r;
}

/* The frequent exponents without the rounding error of pow. */
static inline float pow_f(float a, float b) {
  if (b == 2) return a * a;
  if (b == 1) return a;
  if (b == -1) return 1 / a;
  if (b == 0.5f && a > 0) return sqrtf(a); /* pow(-0, 0.5) is +0 */
  return powf(a, b);
}
static inline double pow_d(double a, double b) {
  if (b == 2) return a * a;
  if (b == 1) return a;
  if (b == -1) return 1 / a;
  if (b == 0.5 && a > 0) return sqrt(a);
  return pow(a, b);
}

LOOP1(neg_float32, float, float, -a)
LOOP1(neg_float64, double, double, -a)
LOOP1(abs_float32, float, float, fabsf(a))
LOOP1(abs_float64, double, double, fabs(a))
LOOP1(sign_float32, float, float, a != a ? a : (float)((a > 0) - (a < 0)))
LOOP1(sign_float64, double, double, a != a ? a : (double)((a > 0) - (a < 0)))
LOOP1(sqrt_float32, float, float, sqrtf(a))
LOOP1(sqrt_float64, double, double, sqrt(a))
LOOP1(rsqrt_float32, float, float, 1 / sqrtf(a))
LOOP1(rsqrt_float64, double, double, 1 / sqrt(a))
LOOP1(relu_float32, float, float, a < 0 ? 0 : a)
LOOP1(relu_float64, double, double, a < 0 ? 0 : a)
LOOP1(floor_float32, float, float, floorf(a))
LOOP1(floor_float64, double, double, floor(a))
LOOP1(ceil_float32, float, float, ceilf(a))
LOOP1(ceil_float64, double, double, ceil(a))
/* Halves to the even neighbour. */
LOOP1(round_float32, float, float, rintf(a))
LOOP1(round_float64, double, double, rint(a))

LOOP2(add_float32, float, float, a + b)
LOOP2(add_float64, double, double, a + b)
LOOP2(sub_float32, float, float, a - b)
LOOP2(sub_float64, double, double, a - b)
LOOP2(mul_float32, float, float, a * b)
LOOP2(mul_float64, double, double, a * b)
LOOP2(div_float32, float, float, a / b)
LOOP2(div_float64, double, double, a / b)
LOOP2(floor_div_float32, float, float, floorf(a / b))
LOOP2(floor_div_float64, double, double, floor(a / b))
EACH2(remainder_float32, float, float, remainder_f(a, b))
EACH2(remainder_float64, double, double, remainder_d(a, b))
EACH2(pow_any_float32, float, float, pow_f(a, b))
EACH2(pow_any_float64, double, double, pow_d(a, b))
LOOP2(maximum_float32, float, float, a > b || a != a ? a : b)
LOOP2(maximum_float64, double, double, a > b || a != a ? a : b)
LOOP2(minimum_float32, float, float, a < b || a != a ? a : b)
LOOP2(minimum_float64, double, double, a < b || a != a ? a : b)

/* Squares, the most frequent powers, at the speed of a product. */
static void pow_float32(int64_t n, void *y, int64_t sy, const void *a,
                        int64_t sa, const void *b, int64_t sb) {
  if (sb == 0 && n > 0 && *(const float *)b == 2)
    mul_float32(n, y, sy, a, sa, a, sa);
  else
    pow_any_float32(n, y, sy, a, sa, b, sb);
}
static void pow_float64(int64_t n, void *y, int64_t sy, const void *a,
                        int64_t sa, const void *b, int64_t sb) {
  if (sb == 0 && n > 0 && *(const double *)b == 2)
    mul_float64(n, y, sy, a, sa, a, sa);
  else
    pow_any_float64(n, y, sy, a, sa, b, sb);
}

LOOP1(copy_1, uint8_t, uint8_t, a)
LOOP1(copy_4, int32_t, int32_t, a)
LOOP1(copy_8, int64_t, int64_t, a)

/* ---- functions: float32 on vectors, float64 by the C library ------------- */

/* x cut at both ends, so that inf meets no 0; NaN stays. */
static inline double within(double x, double low, double high) {
  return x < low ? low : x > high ? high : x;
}

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

VECTOR1(exp_float32, vf_exp(a))
EACH1(exp_float64, double, double, exp(a))
VECTOR1(log_float32, vf_log(a))
EACH1(log_float64, double, double, log(a))
VECTOR1(sin_float32, vf_sin(a))
EACH1(sin_float64, double, double, sin(a))
VECTOR1(cos_float32, vf_cos(a))
EACH1(cos_float64, double, double, cos(a))
VECTOR1(tanh_float32, vf_tanh(a))
EACH1(tanh_float64, double, double, tanh(a))
VECTOR1(sigmoid_float32, vf_sigmoid(a))
EACH1(sigmoid_float64, double, double, sigmoid_d(a))
VECTOR1(erf_float32, vf_erf(a))
EACH1(erf_float64, double, double, erf(a))
VECTOR1(gelu_float32, vf_gelu(a))
EACH1(gelu_float64, double, double, gelu_d(a))
VECTOR1(gelu_tanh_float32, vf_gelu_tanh(a))
EACH1(gelu_tanh_float64, double, double, gelu_tanh_d(a))
VECTOR1(silu_float32, vf_silu(a))
EACH1(silu_float64, double, double, silu_d(a))

/* ---- gradients: a is x or y as binary.def says, b the gradient of y ------ */

/* The derivatives at x of gelu, gelu_tanh and silu. */
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

LOOP2(relu_bwd_float32, float, float, a > 0 ? b : 0)
LOOP2(relu_bwd_float64, double, double, a > 0 ? b : 0)
VECTOR2(tanh_bwd_float32, b * (1 - a * a))
LOOP2(tanh_bwd_float64, double, double, b * (1 - a * a))
VECTOR2(sigmoid_bwd_float32, b * a * (1 - a))
LOOP2(sigmoid_bwd_float64, double, double, b * a * (1 - a))
VECTOR2(gelu_bwd_float32, b * vf_gelu_slope(a))
EACH2(gelu_bwd_float64, double, double, b * gelu_slope_d(a))
VECTOR2(gelu_tanh_bwd_float32, b * vf_gelu_tanh_slope(a))
EACH2(gelu_tanh_bwd_float64, double, double, b * gelu_tanh_slope_d(a))
VECTOR2(silu_bwd_float32, b * vf_silu_slope(a))
EACH2(silu_bwd_float64, double, double, b * silu_slope_d(a))

/* ---- bool results; of floats, all but 0 is true, NaN too ----------------- */

#define COMPARE_NUMBERS(LOOP, name, expression)  \
  LOOP(name##_uint8, uint8_t, uint8_t, expression) \
  LOOP(name##_int32, uint8_t, int32_t, expression) \
  LOOP(name##_int64, uint8_t, int64_t, expression) \
  LOOP(name##_float32, uint8_t, float, expression) \
  LOOP(name##_float64, uint8_t, double, expression)
#define COMPARE(LOOP, name, expression)          \
  LOOP(name##_bool, uint8_t, uint8_t, expression) \
  COMPARE_NUMBERS(LOOP, name, expression)

COMPARE(LOOP2, eq, a == b)
COMPARE(LOOP2, ne, a != b)
COMPARE(LOOP2, lt, a < b)
COMPARE(LOOP2, le, a <= b)
COMPARE(LOOP2, gt, a > b)
COMPARE(LOOP2, ge, a >= b)

COMPARE_NUMBERS(LOOP2, logical_and, (a != 0) & (b != 0))
COMPARE_NUMBERS(LOOP2, logical_or, (a != 0) | (b != 0))
COMPARE(LOOP1, logical_not, a == 0)

/* Integers are never NaN and always finite. */
LOOP1(isnan_float32, uint8_t, float, a != a)
LOOP1(isnan_float64, uint8_t, double, a != a)
LOOP1(isfinite_float32, uint8_t, float, fabsf(a) < INFINITY)
LOOP1(isfinite_float64, uint8_t, double, fabs(a) < (double)INFINITY)
LOOP1(never_1, uint8_t, uint8_t, a & 0)
LOOP1(never_4, uint8_t, int32_t, a & 0)
LOOP1(never_8, uint8_t, int64_t, a & 0)
LOOP1(always_1, uint8_t, uint8_t, (a & 0) == 0)
LOOP1(always_4, uint8_t, int32_t, (a & 0) == 0)
LOOP1(always_8, uint8_t, int64_t, (a & 0) == 0)

/* ---- the tables --------------------------------------------------------- */

/* Halves have no entries: arithmetic reads them as float32. */
#define FLOATS(name) \
  {[HEED_FLOAT32] = name##_float32, [HEED_FLOAT64] = name##_float64}
#define WITH(first, name)                                           \
  {[HEED_BOOL] = first, [HEED_UINT8] = name##_uint8,                \
   [HEED_INT32] = name##_int32, [HEED_INT64] = name##_int64,        \
   [HEED_FLOAT32] = name##_float32, [HEED_FLOAT64] = name##_float64}
#define NUMBERS(name) WITH(NULL, name)
#define ALL(name) WITH(name##_bool, name)
/* Integers are whole: the function gives them back. */
#define WHOLE(name)                                                    \
  {[HEED_UINT8] = copy_1, [HEED_INT32] = copy_4, [HEED_INT64] = copy_8, \
   [HEED_FLOAT32] = name##_float32, [HEED_FLOAT64] = name##_float64}
#define KIND(integers, name)                                            \
  {[HEED_BOOL] = integers##_1, [HEED_UINT8] = integers##_1,             \
   [HEED_INT32] = integers##_4, [HEED_INT64] = integers##_8,            \
   [HEED_FLOAT32] = name##_float32, [HEED_FLOAT64] = name##_float64}

static heed_loop1 *const unary[HEED_NUNARY][HEED_NDTYPE] = {
    [HEED_UNARY_neg] = NUMBERS(neg),
    [HEED_UNARY_abs] = NUMBERS(abs),
    [HEED_UNARY_sign] = NUMBERS(sign),
    [HEED_UNARY_exp] = FLOATS(exp),
    [HEED_UNARY_log] = FLOATS(log),
    [HEED_UNARY_sqrt] = FLOATS(sqrt),
    [HEED_UNARY_rsqrt] = FLOATS(rsqrt),
    [HEED_UNARY_sin] = FLOATS(sin),
    [HEED_UNARY_cos] = FLOATS(cos),
    [HEED_UNARY_tanh] = FLOATS(tanh),
    [HEED_UNARY_sigmoid] = FLOATS(sigmoid),
    [HEED_UNARY_erf] = FLOATS(erf),
    [HEED_UNARY_relu] = NUMBERS(relu),
    [HEED_UNARY_gelu] = FLOATS(gelu),
    [HEED_UNARY_gelu_tanh] = FLOATS(gelu_tanh),
    [HEED_UNARY_silu] = FLOATS(silu),
    [HEED_UNARY_floor] = WHOLE(floor),
    [HEED_UNARY_ceil] = WHOLE(ceil),
    [HEED_UNARY_round] = WHOLE(round),
    [HEED_UNARY_logical_not] = ALL(logical_not),
    [HEED_UNARY_isnan] = KIND(never, isnan),
    [HEED_UNARY_isfinite] = KIND(always, isfinite),
};

static heed_loop2 *const binary[HEED_NBINARY][HEED_NDTYPE] = {
    [HEED_BINARY_add] = WITH(or_bool, add),
    [HEED_BINARY_sub] = NUMBERS(sub),
    [HEED_BINARY_mul] = WITH(and_bool, mul),
    [HEED_BINARY_div] = FLOATS(div),
    [HEED_BINARY_floor_div] = NUMBERS(floor_div),
    [HEED_BINARY_remainder] = NUMBERS(remainder),
    [HEED_BINARY_pow] = NUMBERS(pow),
    [HEED_BINARY_maximum] = WITH(or_bool, maximum),
    [HEED_BINARY_minimum] = WITH(and_bool, minimum),
    [HEED_BINARY_eq] = ALL(eq),
    [HEED_BINARY_ne] = ALL(ne),
    [HEED_BINARY_lt] = ALL(lt),
    [HEED_BINARY_le] = ALL(le),
    [HEED_BINARY_gt] = ALL(gt),
    [HEED_BINARY_ge] = ALL(ge),
    [HEED_BINARY_logical_and] = WITH(and_bool, logical_and),
    [HEED_BINARY_logical_or] = WITH(or_bool, logical_or),
    [HEED_BINARY_relu_bwd] = FLOATS(relu_bwd),
    [HEED_BINARY_tanh_bwd] = FLOATS(tanh_bwd),
    [HEED_BINARY_sigmoid_bwd] = FLOATS(sigmoid_bwd),
    [HEED_BINARY_gelu_bwd] = FLOATS(gelu_bwd),
    [HEED_BINARY_gelu_tanh_bwd] = FLOATS(gelu_tanh_bwd),
    [HEED_BINARY_silu_bwd] = FLOATS(silu_bwd),
};

HEED_FILL(elementwise);
HEED_FILL(elementwise) {
  memcpy(k->unary, unary, sizeof unary);
  memcpy(k->binary, binary, sizeof binary);
}
