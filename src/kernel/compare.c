/*
 * compare - comparisons, logic and tests of each element; they write bool.
 * Layer: kernel. Read first: kernel.h, loop.h, fill.h.
 */
#include <math.h>

#include "kernel/fill.h"
#include "kernel/loop.h"

/* Of floats, all but 0 is true, NaN too. */

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
COMPARE_NUMBERS(LOOP2, logical_xor, (a != 0) ^ (b != 0))
LOOP2(xor_bool, uint8_t, uint8_t, a ^ b)
LOOP2(and_bool, uint8_t, uint8_t, a & b)
LOOP2(or_bool, uint8_t, uint8_t, a | b)
COMPARE(LOOP1, logical_not, a == 0)

/* Integers are never NaN and always finite. */
LOOP1(isnan_float32, uint8_t, float, a != a)
LOOP1(isnan_float64, uint8_t, double, a != a)
LOOP1(isfinite_float32, uint8_t, float, fabsf(a) < INFINITY)
LOOP1(isfinite_float64, uint8_t, double, fabs(a) < (double)INFINITY)
LOOP1(isinf_float32, uint8_t, float, fabsf(a) == INFINITY)
LOOP1(isinf_float64, uint8_t, double, fabs(a) == (double)INFINITY)
LOOP1(isposinf_float32, uint8_t, float, a == INFINITY)
LOOP1(isposinf_float64, uint8_t, double, a == (double)INFINITY)
LOOP1(isneginf_float32, uint8_t, float, a == -INFINITY)
LOOP1(isneginf_float64, uint8_t, double, a == (double)-INFINITY)
LOOP1(never_1, uint8_t, uint8_t, a & 0)
LOOP1(never_4, uint8_t, int32_t, a & 0)
LOOP1(never_8, uint8_t, int64_t, a & 0)
LOOP1(always_1, uint8_t, uint8_t, (a & 0) == 0)
LOOP1(always_4, uint8_t, int32_t, (a & 0) == 0)
LOOP1(always_8, uint8_t, int64_t, (a & 0) == 0)
/* The sign bit, of NaN and -0 too. */
LOOP1(signbit_bool, uint8_t, uint8_t, a & 0)
LOOP1(signbit_uint8, uint8_t, uint8_t, a & 0)
LOOP1(signbit_int32, uint8_t, int32_t, a < 0)
LOOP1(signbit_int64, uint8_t, int64_t, a < 0)
LOOP1(signbit_float32, uint8_t, float, signbit(a) != 0)
LOOP1(signbit_float64, uint8_t, double, signbit(a) != 0)

#define KIND(integers, name)                                            \
  {[HEED_BOOL] = integers##_1, [HEED_UINT8] = integers##_1,             \
   [HEED_INT32] = integers##_4, [HEED_INT64] = integers##_8,            \
   [HEED_FLOAT32] = name##_float32, [HEED_FLOAT64] = name##_float64}

static const heed_fill1 unary[] = {
    {HEED_UNARY_logical_not, ALL(logical_not)},
    {HEED_UNARY_isnan, KIND(never, isnan)},
    {HEED_UNARY_isfinite, KIND(always, isfinite)},
    {HEED_UNARY_isinf, KIND(never, isinf)},
    {HEED_UNARY_isposinf, KIND(never, isposinf)},
    {HEED_UNARY_isneginf, KIND(never, isneginf)},
    {HEED_UNARY_signbit, ALL(signbit)},
};

static const heed_fill2 binary[] = {
    {HEED_BINARY_eq, ALL(eq)},
    {HEED_BINARY_ne, ALL(ne)},
    {HEED_BINARY_lt, ALL(lt)},
    {HEED_BINARY_le, ALL(le)},
    {HEED_BINARY_gt, ALL(gt)},
    {HEED_BINARY_ge, ALL(ge)},
    {HEED_BINARY_logical_and, WITH(and_bool, logical_and)},
    {HEED_BINARY_logical_or, WITH(or_bool, logical_or)},
    {HEED_BINARY_logical_xor, WITH(xor_bool, logical_xor)},
};

HEED_FILL(compare);
HEED_FILL(compare) {
  FILL(k->unary, unary);
  FILL(k->binary, binary);
}
