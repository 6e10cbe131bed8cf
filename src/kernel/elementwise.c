/*
 * elementwise - functions of one or two numbers over rows. Layer: kernel.
 * Read first: kernel.h, vec.h.
 *
 * LOOP1 and LOOP2 make a loop of heed_loop1 or heed_loop2 from an expression
 * in a (and b). Rows without gaps, and numbers repeated along a row (stride
 * 0), have loops of their own that the compiler turns into vector code.
 * A result depends on its operands only, not on strides or places in a row.
 *
 * bool is a byte of 0 or 1. int64 wraps. NaN stays NaN unless said otherwise.
 */
#include <math.h>
#include <string.h>

#include "kernel/kernel.h"
#include "kernel/vec.h"

/* Element i of the result depends on elements i only: y may be a or b, and
   the compiler need not look for overlap. */
#if defined(__clang__)
/* it warns where vectors are turned off, as by -O1 */
#pragma clang diagnostic ignored "-Wpass-failed"
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

#define LOOP1(name, To, From, expression)                            \
  static void name(int64_t n, void *to, int64_t sy, const void *from, \
                   int64_t sa) {                                     \
    To *y = to;                                                      \
    const From *pa = from;                                           \
    if (sy == 1 && sa == 1) {                                        \
      INDEPENDENT for (int64_t i = 0; i < n; i++) {                  \
        const From a = pa[i];                                        \
        y[i] = (To)(expression);                                     \
      }                                                              \
      return;                                                        \
    }                                                                \
    for (int64_t i = 0; i < n; i++) {                                \
      const From a = pa[i * sa];                                     \
      y[i * sy] = (To)(expression);                                  \
    }                                                                \
  }

#define LOOP2(name, To, From, expression)                               \
  static void name(int64_t n, void *to, int64_t sy, const void *from_a, \
                   int64_t sa, const void *from_b, int64_t sb) {        \
    To *y = to;                                                         \
    const From *pa = from_a, *pb = from_b;                              \
    if (sy == 1 && sa == 1 && sb == 1) {                                \
      INDEPENDENT for (int64_t i = 0; i < n; i++) {                     \
        const From a = pa[i], b = pb[i];                                \
        y[i] = (To)(expression);                                        \
      }                                                                 \
    } else if (sy == 1 && sa == 1 && sb == 0 && n > 0) {                \
      const From b = *pb;                                               \
      INDEPENDENT for (int64_t i = 0; i < n; i++) {                     \
        const From a = pa[i];                                           \
        y[i] = (To)(expression);                                        \
      }                                                                 \
    } else if (sy == 1 && sa == 0 && sb == 1 && n > 0) {                \
      const From a = *pa;                                               \
      INDEPENDENT for (int64_t i = 0; i < n; i++) {                     \
        const From b = pb[i];                                           \
        y[i] = (To)(expression);                                        \
      }                                                                 \
    } else {                                                            \
      for (int64_t i = 0; i < n; i++) {                                 \
        const From a = pa[i * sa], b = pb[i * sb];                      \
        y[i * sy] = (To)(expression);                                   \
      }                                                                 \
    }                                                                   \
  }

/* The same for expressions that no compiler makes vectors of. */
#define EACH1(name, To, From, expression)                             \
  static void name(int64_t n, void *to, int64_t sy, const void *from, \
                   int64_t sa) {                                      \
    To *y = to;                                                       \
    const From *pa = from;                                            \
    for (int64_t i = 0; i < n; i++) {                                 \
      const From a = pa[i * sa];                                      \
      y[i * sy] = (To)(expression);                                   \
    }                                                                 \
  }

#define EACH2(name, To, From, expression)                               \
  static void name(int64_t n, void *to, int64_t sy, const void *from_a, \
                   int64_t sa, const void *from_b, int64_t sb) {        \
    To *y = to;                                                         \
    const From *pa = from_a, *pb = from_b;                              \
    for (int64_t i = 0; i < n; i++) {                                   \
      const From a = pa[i * sa], b = pb[i * sb];                        \
      y[i * sy] = (To)(expression);                                     \
    }                                                                   \
  }

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

/* ---- int64: wrapping arithmetic through unsigned ------------------------ */

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

LOOP1(neg_int64, int64_t, int64_t, 0 - (u64)a)
LOOP1(abs_int64, int64_t, int64_t, a < 0 ? 0 - (u64)a : (u64)a)
LOOP1(sign_int64, int64_t, int64_t, (a > 0) - (a < 0))
LOOP1(relu_int64, int64_t, int64_t, a > 0 ? a : 0)
LOOP2(add_int64, int64_t, int64_t, (u64)a + (u64)b)
LOOP2(sub_int64, int64_t, int64_t, (u64)a - (u64)b)
LOOP2(mul_int64, int64_t, int64_t, (u64)a * (u64)b)
EACH2(floor_div_int64, int64_t, int64_t, floor_div_i(a, b))
EACH2(remainder_int64, int64_t, int64_t, remainder_i(a, b))
EACH2(pow_int64, int64_t, int64_t, pow_i(a, b))
LOOP2(maximum_int64, int64_t, int64_t, a > b ? a : b)
LOOP2(minimum_int64, int64_t, int64_t, a < b ? a : b)

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

#define COMPARE(name, expression)                            \
  LOOP2(name##_bool, uint8_t, uint8_t, expression)           \
  LOOP2(name##_int64, uint8_t, int64_t, expression)          \
  LOOP2(name##_float32, uint8_t, float, expression)          \
  LOOP2(name##_float64, uint8_t, double, expression)

COMPARE(eq, a == b)
COMPARE(ne, a != b)
COMPARE(lt, a < b)
COMPARE(le, a <= b)
COMPARE(gt, a > b)
COMPARE(ge, a >= b)

LOOP2(logical_and_int64, uint8_t, int64_t, (a != 0) & (b != 0))
LOOP2(logical_and_float32, uint8_t, float, (a != 0) & (b != 0))
LOOP2(logical_and_float64, uint8_t, double, (a != 0) & (b != 0))
LOOP2(logical_or_int64, uint8_t, int64_t, (a != 0) | (b != 0))
LOOP2(logical_or_float32, uint8_t, float, (a != 0) | (b != 0))
LOOP2(logical_or_float64, uint8_t, double, (a != 0) | (b != 0))

LOOP1(logical_not_bool, uint8_t, uint8_t, a == 0)
LOOP1(logical_not_int64, uint8_t, int64_t, a == 0)
LOOP1(logical_not_float32, uint8_t, float, a == 0)
LOOP1(logical_not_float64, uint8_t, double, a == 0)
LOOP1(isnan_bool, uint8_t, uint8_t, a & 0)
LOOP1(isnan_int64, uint8_t, int64_t, a & 0)
LOOP1(isnan_float32, uint8_t, float, a != a)
LOOP1(isnan_float64, uint8_t, double, a != a)
LOOP1(isfinite_bool, uint8_t, uint8_t, (a & 0) == 0)
LOOP1(isfinite_int64, uint8_t, int64_t, (a & 0) == 0)
LOOP1(isfinite_float32, uint8_t, float, fabsf(a) < INFINITY)
LOOP1(isfinite_float64, uint8_t, double, fabs(a) < (double)INFINITY)

/* ---- casts -------------------------------------------------------------- */

/* Cuts towards 0; out of range gives the nearest end, NaN gives 0. */
static inline int64_t to_int64(double a) {
  if (a != a) return 0;
  if (a >= 9223372036854775808.0) return INT64_MAX;
  if (a < -9223372036854775808.0) return INT64_MIN;
  return (int64_t)a;
}

LOOP1(copy_bool, uint8_t, uint8_t, a)
LOOP1(bool_from_int64, uint8_t, int64_t, a != 0)
LOOP1(bool_from_float32, uint8_t, float, a != 0)
LOOP1(bool_from_float64, uint8_t, double, a != 0)
LOOP1(int64_from_bool, int64_t, uint8_t, a)
LOOP1(copy_int64, int64_t, int64_t, a)
LOOP1(int64_from_float32, int64_t, float, to_int64(a))
LOOP1(int64_from_float64, int64_t, double, to_int64(a))
LOOP1(float32_from_bool, float, uint8_t, a)
LOOP1(float32_from_int64, float, int64_t, a)
LOOP1(copy_float32, float, float, a)
LOOP1(float32_from_float64, float, double, a)
LOOP1(float64_from_bool, double, uint8_t, a)
LOOP1(float64_from_int64, double, int64_t, a)
LOOP1(float64_from_float32, double, float, a)
LOOP1(copy_float64, double, double, a)

/* ---- the tables; columns: bool, int64, float32, float64 ------------------ */

#define FLOATS(name) {NULL, NULL, name##_float32, name##_float64}
#define NUMBERS(name) {NULL, name##_int64, name##_float32, name##_float64}
#define ALL(name) \
  {name##_bool, name##_int64, name##_float32, name##_float64}

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
    [HEED_UNARY_floor] = {NULL, copy_int64, floor_float32, floor_float64},
    [HEED_UNARY_ceil] = {NULL, copy_int64, ceil_float32, ceil_float64},
    [HEED_UNARY_round] = {NULL, copy_int64, round_float32, round_float64},
    [HEED_UNARY_logical_not] = ALL(logical_not),
    [HEED_UNARY_isnan] = ALL(isnan),
    [HEED_UNARY_isfinite] = ALL(isfinite),
};

static heed_loop2 *const binary[HEED_NBINARY][HEED_NDTYPE] = {
    [HEED_BINARY_add] = {or_bool, add_int64, add_float32, add_float64},
    [HEED_BINARY_sub] = NUMBERS(sub),
    [HEED_BINARY_mul] = {and_bool, mul_int64, mul_float32, mul_float64},
    [HEED_BINARY_div] = FLOATS(div),
    [HEED_BINARY_floor_div] = NUMBERS(floor_div),
    [HEED_BINARY_remainder] = NUMBERS(remainder),
    [HEED_BINARY_pow] = NUMBERS(pow),
    [HEED_BINARY_maximum] = {or_bool, maximum_int64, maximum_float32,
                             maximum_float64},
    [HEED_BINARY_minimum] = {and_bool, minimum_int64, minimum_float32,
                             minimum_float64},
    [HEED_BINARY_eq] = ALL(eq),
    [HEED_BINARY_ne] = ALL(ne),
    [HEED_BINARY_lt] = ALL(lt),
    [HEED_BINARY_le] = ALL(le),
    [HEED_BINARY_gt] = ALL(gt),
    [HEED_BINARY_ge] = ALL(ge),
    [HEED_BINARY_logical_and] = {and_bool, logical_and_int64,
                                 logical_and_float32, logical_and_float64},
    [HEED_BINARY_logical_or] = {or_bool, logical_or_int64,
                                logical_or_float32, logical_or_float64},
    [HEED_BINARY_relu_bwd] = FLOATS(relu_bwd),
    [HEED_BINARY_tanh_bwd] = FLOATS(tanh_bwd),
    [HEED_BINARY_sigmoid_bwd] = FLOATS(sigmoid_bwd),
    [HEED_BINARY_gelu_bwd] = FLOATS(gelu_bwd),
    [HEED_BINARY_gelu_tanh_bwd] = FLOATS(gelu_tanh_bwd),
    [HEED_BINARY_silu_bwd] = FLOATS(silu_bwd),
};

/* [to][from] */
static heed_loop1 *const cast[HEED_NDTYPE][HEED_NDTYPE] = {
    {copy_bool, bool_from_int64, bool_from_float32, bool_from_float64},
    {int64_from_bool, copy_int64, int64_from_float32, int64_from_float64},
    {float32_from_bool, float32_from_int64, copy_float32,
     float32_from_float64},
    {float64_from_bool, float64_from_int64, float64_from_float32,
     copy_float64},
};

HEED_FILL(elementwise);
HEED_FILL(elementwise) {
  memcpy(k->unary, unary, sizeof unary);
  memcpy(k->binary, binary, sizeof binary);
  memcpy(k->cast, cast, sizeof cast);
}
