/*
 * cast - elements of one dtype as another. Layer: kernel.
 * Read first: kernel.h, loop.h, base/half.h.
 *
 * Floats become integers by dropping the fraction; what is out of range of
 * int64 gives its nearest end, NaN gives 0; smaller integers keep the low
 * bits. A number is true when it is not 0.
 */
#include <string.h>

#include "base/half.h"
#include "kernel/kernel.h"
#include "kernel/loop.h"

static inline int64_t whole(double a) {
  if (a != a) return 0;
  if (a >= 0x1p63) return INT64_MAX;
  if (a < -0x1p63) return INT64_MIN;
  return (int64_t)a;
}

typedef uint16_t half;

#define READ_F16(a) heed_float16_to_float(a)
#define READ_BF16(a) heed_bfloat16_to_float(a)

/* Everything but a float to an integer: a plain conversion; floats go
   through int64. */
#define TO_NUMBER(to, To)                               \
  LOOP1(to##_bool, To, uint8_t, a)                      \
  LOOP1(to##_uint8, To, uint8_t, a)                     \
  LOOP1(to##_int32, To, int32_t, a)                     \
  LOOP1(to##_int64, To, int64_t, a)
#define TO_INTEGER(to, To)                              \
  TO_NUMBER(to, To)                                     \
  LOOP1(to##_float16, To, half, whole(READ_F16(a)))     \
  LOOP1(to##_bfloat16, To, half, whole(READ_BF16(a)))

/* Floats to integers of 32 bits or less: by a plain conversion, which has a
   vector instruction, where a whole piece is within int32. */
#define PIECE 256
#define FROM_FLOAT(name, To, From)                                         \
  LOOP1(name##_any, To, From, whole(a))                                    \
  static void name(int64_t n, void *to, int64_t sy, const void *from,      \
                   int64_t sa) {                                           \
    for (int64_t at = 0; at < n; at += PIECE) {                            \
      const int64_t m = n - at < PIECE ? n - at : PIECE;                   \
      const From *a = (const From *)from + at * sa;                        \
      To *y = (To *)to + at * sy;                                          \
      int wide = sy != 1 || sa != 1;                                       \
      for (int64_t i = 0; sa == 1 && i < m; i++)                           \
        wide |= !(a[i] > (From)-0x1p31) | !(a[i] < (From)0x1p31);          \
      if (wide) {                                                          \
        name##_any(m, y, sy, a, sa);                                       \
      } else {                                                             \
        INDEPENDENT for (int64_t i = 0; i < m; i++)                        \
          y[i] = (To)(int32_t)a[i];                                        \
      }                                                                    \
    }                                                                      \
  }
#define TO_FLOAT(to, To)                                \
  TO_NUMBER(to, To)                                     \
  LOOP1(to##_float16, To, half, READ_F16(a))            \
  LOOP1(to##_bfloat16, To, half, READ_BF16(a))          \
  LOOP1(to##_float32, To, float, a)                     \
  LOOP1(to##_float64, To, double, a)
#define TO_HALF(to, of)                                 \
  LOOP1(to##_bool, half, uint8_t, of(a))                \
  LOOP1(to##_uint8, half, uint8_t, of(a))               \
  LOOP1(to##_int32, half, int32_t, of((float)a))        \
  LOOP1(to##_int64, half, int64_t, of((float)a))        \
  LOOP1(to##_float32, half, float, of(a))               \
  LOOP1(to##_float64, half, double, of((float)a))
#define TO_BOOL(to)                                     \
  LOOP1(to##_bool, uint8_t, uint8_t, a)                 \
  LOOP1(to##_uint8, uint8_t, uint8_t, a != 0)           \
  LOOP1(to##_int32, uint8_t, int32_t, a != 0)           \
  LOOP1(to##_int64, uint8_t, int64_t, a != 0)           \
  LOOP1(to##_float16, uint8_t, half, (a & 0x7fff) != 0) \
  LOOP1(to##_bfloat16, uint8_t, half, (a & 0x7fff) != 0) \
  LOOP1(to##_float32, uint8_t, float, a != 0)           \
  LOOP1(to##_float64, uint8_t, double, a != 0)

TO_BOOL(bool)
TO_INTEGER(uint8, uint8_t)
TO_INTEGER(int32, int32_t)
TO_INTEGER(int64, int64_t)
FROM_FLOAT(uint8_float32, uint8_t, float)
FROM_FLOAT(uint8_float64, uint8_t, double)
FROM_FLOAT(int32_float32, int32_t, float)
FROM_FLOAT(int32_float64, int32_t, double)
LOOP1(int64_float32, int64_t, float, whole(a))
LOOP1(int64_float64, int64_t, double, whole(a))
TO_HALF(float16, heed_float16_of_float)
LOOP1(float16_float16, half, half, a)
LOOP1(float16_bfloat16, half, half, heed_float16_of_float(READ_BF16(a)))
TO_HALF(bfloat16, heed_bfloat16_of_float)
LOOP1(bfloat16_float16, half, half, heed_bfloat16_of_float(READ_F16(a)))
LOOP1(bfloat16_bfloat16, half, half, a)
TO_FLOAT(float32, float)
TO_FLOAT(float64, double)

#define FROM(to)                                            \
  {[HEED_BOOL] = to##_bool, [HEED_UINT8] = to##_uint8,      \
   [HEED_INT32] = to##_int32, [HEED_INT64] = to##_int64,    \
   [HEED_FLOAT16] = to##_float16,                           \
   [HEED_BFLOAT16] = to##_bfloat16,                         \
   [HEED_FLOAT32] = to##_float32, [HEED_FLOAT64] = to##_float64}

/* [to][from] */
static heed_loop1 *const cast[HEED_NDTYPE][HEED_NDTYPE] = {
    [HEED_BOOL] = FROM(bool),         [HEED_UINT8] = FROM(uint8),
    [HEED_INT32] = FROM(int32),       [HEED_INT64] = FROM(int64),
    [HEED_FLOAT16] = FROM(float16),   [HEED_BFLOAT16] = FROM(bfloat16),
    [HEED_FLOAT32] = FROM(float32),   [HEED_FLOAT64] = FROM(float64),
};

HEED_FILL(cast);
HEED_FILL(cast) { memcpy(k->cast, cast, sizeof cast); }
