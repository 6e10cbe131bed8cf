/*
 * arithmetic - sums, products, powers, roundings, bits, of each element.
 * Layer: kernel. Read first: kernel.h, loop.h, fill.h.
 *
 * A result depends on its operands only, not on strides or places in a row.
 *
 * bool is a byte of 0 or 1. Integers wrap. NaN stays NaN unless said otherwise.
 */
#include <math.h>

#include "kernel/fill.h"
#include "kernel/loop.h"
#include "kernel/vec_loop.h"

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

/* Shifts by a negative number or the whole width move every bit out. */
static inline u64 left_shift_i(int64_t a, int64_t b, int bits) {
  return b < 0 || b >= bits ? 0 : (u64)a << b;
}
static inline int64_t right_shift_i(int64_t a, int64_t b, int bits) {
  return b < 0 || b >= bits ? (a < 0 ? -1 : 0) : a >> b;
}

static inline int64_t fmod_i(int64_t a, int64_t b) {
  return b == 0 || b == -1 ? 0 : a % b;
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
INTEGERS(LOOP1, square, (u64)a * (u64)a)
INTEGERS(LOOP1, bitwise_not, ~(u64)a)
INTEGERS(LOOP2, add, (u64)a + (u64)b)
INTEGERS(LOOP2, sub, (u64)a - (u64)b)
INTEGERS(LOOP2, mul, (u64)a * (u64)b)
INTEGERS(EACH2, floor_div, floor_div_i(a, b))
INTEGERS(EACH2, remainder, remainder_i(a, b))
INTEGERS(EACH2, fmod, fmod_i(a, b))
INTEGERS(EACH2, pow, pow_i(a, b))
INTEGERS(LOOP2, maximum, a > b ? a : b)
INTEGERS(LOOP2, minimum, a < b ? a : b)
INTEGERS(LOOP2, bitwise_and, a & b)
INTEGERS(LOOP2, bitwise_or, a | b)
INTEGERS(LOOP2, bitwise_xor, a ^ b)
INTEGERS(LOOP2, left_shift, left_shift_i(a, b, 8 * (int)sizeof(a)))
INTEGERS(LOOP2, right_shift, right_shift_i(a, b, 8 * (int)sizeof(a)))

#define INTEGERS3(name, expression)   \
  LOOP3(name##_uint8, uint8_t, expression) \
  LOOP3(name##_int32, int32_t, expression) \
  LOOP3(name##_int64, int64_t, expression)

INTEGERS3(clamp, (a < b ? b : a) > c ? c : (a < b ? b : a))
INTEGERS3(addcmul, (u64)a + (u64)(int64_t)value * (u64)b * (u64)c)

/* ---- bool: + is or, * is and -------------------------------------------- */

LOOP2(or_bool, uint8_t, uint8_t, a | b)
LOOP2(and_bool, uint8_t, uint8_t, a & b)
LOOP2(xor_bool, uint8_t, uint8_t, a ^ b)
LOOP1(not_bool, uint8_t, uint8_t, a ^ 1)

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
static inline double pow_d(double a, double b) {
  if (b == 2) return a * a;
  if (b == 1) return a;
  if (b == -1) return 1 / a;
  if (b == 0.5 && a > 0) return sqrt(a); /* pow(-0, 0.5) is +0 */
  return pow(a, b);
}

LOOP1(neg_float32, float, float, -a)
LOOP1(neg_float64, double, double, -a)
LOOP1(abs_float32, float, float, fabsf(a))
LOOP1(abs_float64, double, double, fabs(a))
LOOP1(sign_float32, float, float, a != a ? a : (float)((a > 0) - (a < 0)))
LOOP1(sign_float64, double, double, a != a ? a : (double)((a > 0) - (a < 0)))
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
WIDE2(pow_any_float32, vd_pow(a, b))
EACH2(pow_any_float64, double, double, pow_d(a, b))
LOOP2(maximum_float32, float, float, a > b || a != a ? a : b)
LOOP2(maximum_float64, double, double, a > b || a != a ? a : b)
LOOP2(minimum_float32, float, float, a < b || a != a ? a : b)
LOOP2(minimum_float64, double, double, a < b || a != a ? a : b)
LOOP1(square_float32, float, float, a * a)
LOOP1(square_float64, double, double, a * a)
LOOP1(reciprocal_float32, float, float, 1 / a)
LOOP1(reciprocal_float64, double, double, 1 / a)
LOOP1(floor_float32, float, float, floorf(a))
LOOP1(floor_float64, double, double, floor(a))
LOOP1(ceil_float32, float, float, ceilf(a))
LOOP1(ceil_float64, double, double, ceil(a))
LOOP1(trunc_float32, float, float, truncf(a))
LOOP1(trunc_float64, double, double, trunc(a))
LOOP1(frac_float32, float, float, a - truncf(a))
LOOP1(frac_float64, double, double, a - trunc(a))
/* Halves to the even neighbour. */
LOOP1(round_float32, float, float, rintf(a))
LOOP1(round_float64, double, double, rint(a))

EACH2(fmod_float32, float, float, fmodf(a, b))
EACH2(fmod_float64, double, double, fmod(a, b))
LOOP2(copysign_float32, float, float, copysignf(a, b))
LOOP2(copysign_float64, double, double, copysign(a, b))
EACH2(nextafter_float32, float, float, nextafterf(a, b))
EACH2(nextafter_float64, double, double, nextafter(a, b))
LOOP2(heaviside_float32, float, float,
      a == 0 ? b : a != a ? a : (float)(a > 0))
LOOP2(heaviside_float64, double, double,
      a == 0 ? b : a != a ? a : (double)(a > 0))

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

/* Both ends are reached exactly. */
LOOP3(lerp_float32, float, c < 0.5f ? a + c * (b - a)
                                    : b - (1 - c) * (b - a))
LOOP3(lerp_float64, double, c < 0.5 ? a + c * (b - a) : b - (1 - c) * (b - a))
LOOP3(addcmul_float32, float, a + (float)value * b * c)
LOOP3(addcmul_float64, double, a + value * b * c)
LOOP3(addcdiv_float32, float, a + (float)value * b / c)
LOOP3(addcdiv_float64, double, a + value * b / c)
/* NaN stays, in a bound too; where min > max it is max. */
static inline float clamp_f(float a, float b, float c) {
  float low = a < b ? b : a;
  low = b != b ? b : low;
  float held = c < low ? c : low;
  return c != c ? c : held;
}
static inline double clamp_d(double a, double b, double c) {
  double low = a < b ? b : a;
  low = b != b ? b : low;
  double held = c < low ? c : low;
  return c != c ? c : held;
}
LOOP3(clamp_float32, float, clamp_f(a, b, c))
LOOP3(clamp_float64, double, clamp_d(a, b, c))

LOOP1(copy_1, uint8_t, uint8_t, a)
LOOP1(copy_4, int32_t, int32_t, a)
LOOP1(copy_8, int64_t, int64_t, a)

/* Integers are whole: the function gives them back. */
#define WHOLE(name)                                                    \
  {[HEED_UINT8] = copy_1, [HEED_INT32] = copy_4, [HEED_INT64] = copy_8, \
   [HEED_FLOAT32] = name##_float32, [HEED_FLOAT64] = name##_float64}

static const heed_fill1 unary[] = {
    {HEED_UNARY_neg, NUMBERS(neg)},
    {HEED_UNARY_abs, NUMBERS(abs)},
    {HEED_UNARY_sign, NUMBERS(sign)},
    {HEED_UNARY_square, NUMBERS(square)},
    {HEED_UNARY_reciprocal, FLOATS(reciprocal)},
    {HEED_UNARY_floor, WHOLE(floor)},
    {HEED_UNARY_ceil, WHOLE(ceil)},
    {HEED_UNARY_trunc, WHOLE(trunc)},
    {HEED_UNARY_round, WHOLE(round)},
    {HEED_UNARY_frac, FLOATS(frac)},
    {HEED_UNARY_bitwise_not, INTEGERS_AND(not_bool, bitwise_not)},
};

static const heed_fill2 binary[] = {
    {HEED_BINARY_add, WITH(or_bool, add)},
    {HEED_BINARY_sub, NUMBERS(sub)},
    {HEED_BINARY_mul, WITH(and_bool, mul)},
    {HEED_BINARY_div, FLOATS(div)},
    {HEED_BINARY_floor_div, NUMBERS(floor_div)},
    {HEED_BINARY_remainder, NUMBERS(remainder)},
    {HEED_BINARY_fmod, NUMBERS(fmod)},
    {HEED_BINARY_pow, NUMBERS(pow)},
    {HEED_BINARY_maximum, WITH(or_bool, maximum)},
    {HEED_BINARY_minimum, WITH(and_bool, minimum)},
    {HEED_BINARY_copysign, FLOATS(copysign)},
    {HEED_BINARY_nextafter, FLOATS(nextafter)},
    {HEED_BINARY_heaviside, FLOATS(heaviside)},
    {HEED_BINARY_bitwise_and, INTEGERS_AND(and_bool, bitwise_and)},
    {HEED_BINARY_bitwise_or, INTEGERS_AND(or_bool, bitwise_or)},
    {HEED_BINARY_bitwise_xor, INTEGERS_AND(xor_bool, bitwise_xor)},
    {HEED_BINARY_left_shift, INTEGERS_AND(NULL, left_shift)},
    {HEED_BINARY_right_shift, INTEGERS_AND(NULL, right_shift)},
};

static const heed_fill3 ternary[] = {
    {HEED_TERNARY_clamp, NUMBERS(clamp)},
    {HEED_TERNARY_lerp, FLOATS(lerp)},
    {HEED_TERNARY_addcmul, NUMBERS(addcmul)},
    {HEED_TERNARY_addcdiv, FLOATS(addcdiv)},
};

HEED_FILL(arithmetic);
HEED_FILL(arithmetic) {
  FILL(k->unary, unary);
  FILL(k->binary, binary);
  FILL(k->ternary, ternary);
}
