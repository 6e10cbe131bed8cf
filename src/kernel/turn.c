/*
 * turn - columns of elements into rows. Layer: kernel. Read first: kernel.h.
 *
 * Eight columns at once: the memory is asked for eight lines before it has
 * answered for the first.
 */
#include <string.h>

#include "kernel/kernel.h"

#define AT_ONCE 8

#define TURN(name, T)                                                   \
  static void name(int64_t rows, int64_t columns, void *to,             \
                   int64_t pitch, const void *from, int64_t stride) {   \
    const T *x = from;                                                  \
    T *y = to;                                                          \
    int64_t j = 0;                                                      \
    for (; j + AT_ONCE <= columns; j += AT_ONCE)                        \
      for (int64_t i = 0; i < rows; i++)                                \
        for (int c = 0; c < AT_ONCE; c++)                               \
          y[i * pitch + j + c] = x[(j + c) * stride + i];               \
    for (; j < columns; j++)                                            \
      for (int64_t i = 0; i < rows; i++)                                \
        y[i * pitch + j] = x[j * stride + i];                           \
  }

TURN(turn_1, uint8_t)
TURN(turn_2, uint16_t)
TURN(turn_any_4, uint32_t)
TURN(turn_8, uint64_t)

typedef uint32_t four __attribute__((vector_size(16)));

static inline four load(const uint32_t *p) {
  four v;
  memcpy(&v, p, sizeof v);
  return v;
}

/* A square of 4 by 4. */
static inline void turn_square(uint32_t *y, int64_t pitch, const uint32_t *x,
                               int64_t stride) {
  four a = load(x), b = load(x + stride);
  four c = load(x + 2 * stride), d = load(x + 3 * stride);
  four ab = __builtin_shufflevector(a, b, 0, 4, 1, 5);
  four cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);
  four row[4] = {__builtin_shufflevector(ab, cd, 0, 1, 4, 5),
                 __builtin_shufflevector(ab, cd, 2, 3, 6, 7)};
  ab = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  cd = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  row[2] = __builtin_shufflevector(ab, cd, 0, 1, 4, 5);
  row[3] = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
  for (int i = 0; i < 4; i++) memcpy(y + i * pitch, &row[i], sizeof row[i]);
}

/* The frequent size in squares: half the time. */
static void turn_4(int64_t rows, int64_t columns, void *to, int64_t pitch,
                   const void *from, int64_t stride) {
  const uint32_t *x = from;
  uint32_t *y = to;
  const int64_t wide = columns - columns % AT_ONCE, high = rows - rows % 4;
  for (int64_t j = 0; j < wide; j += AT_ONCE)
    for (int64_t i = 0; i < high; i += 4)
      for (int64_t c = j; c < j + AT_ONCE; c += 4)
        turn_square(y + i * pitch + c, pitch, x + c * stride + i, stride);
  turn_any_4(rows - high, wide, y + high * pitch, pitch, x + high, stride);
  turn_any_4(rows, columns - wide, y + wide, pitch, x + wide * stride,
             stride);
}

HEED_FILL(turn);
HEED_FILL(turn) {
  k->turn[HEED_BOOL] = k->turn[HEED_UINT8] = turn_1;
  k->turn[HEED_FLOAT16] = k->turn[HEED_BFLOAT16] = turn_2;
  k->turn[HEED_INT32] = k->turn[HEED_FLOAT32] = turn_4;
  k->turn[HEED_INT64] = k->turn[HEED_FLOAT64] = turn_8;
}
