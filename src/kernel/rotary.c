/*
 * rotary - pairs of a row turned, each by an angle of its own. Layer: kernel.
 * Read first: kernel.h.
 *
 *     (a, b) -> (a cos - b sin, b cos + a sin)
 *
 * A row holds `pairs` pairs: x[i] with x[i + pairs] where they lie in halves,
 * else neighbours x[2 i] and x[2 i + 1]. `turn` holds the cosines of all
 * pairs, then the sines. y may be x, and else overlaps neither.
 */
#include "kernel/kernel.h"

/* One loop for y = x and one for others: only so does the compiler know that
   elements do not meet. */
#define TURN(T, x, y, step, apart)                             \
  for (int64_t i = 0; i < pairs; i++) {                        \
    T a = (x)[(step) * i], b = (x)[(step) * i + (apart)];      \
    (y)[(step) * i] = a * cosine[i] - b * sine[i];             \
    (y)[(step) * i + (apart)] = b * cosine[i] + a * sine[i];   \
  }

#define ROTARY(T)                                                           \
  static void apart_##T(int64_t pairs, T *restrict y, const T *restrict x,  \
                        const T *restrict cosine, const T *restrict sine) { \
    TURN(T, x, y, 1, pairs)                                                 \
  }                                                                         \
  static void next_##T(int64_t pairs, T *restrict y, const T *restrict x,   \
                       const T *restrict cosine, const T *restrict sine) {  \
    TURN(T, x, y, 2, 1)                                                     \
  }                                                                         \
  static void apart_here_##T(int64_t pairs, T *restrict low,                \
                             T *restrict high, const T *restrict cosine,    \
                             const T *restrict sine) {                      \
    for (int64_t i = 0; i < pairs; i++) {                                   \
      T a = low[i], b = high[i];                                            \
      low[i] = a * cosine[i] - b * sine[i];                                 \
      high[i] = b * cosine[i] + a * sine[i];                                \
    }                                                                       \
  }                                                                         \
  static void next_here_##T(int64_t pairs, T *restrict x,                   \
                            const T *restrict cosine,                       \
                            const T *restrict sine) {                       \
    TURN(T, x, x, 2, 1)                                                     \
  }                                                                         \
  static void rotary_##T(int64_t pairs, void *y, const void *x,             \
                         const void *turn, bool halves) {                   \
    const T *cosine = turn, *sine = cosine + pairs;                         \
    if (halves && y == x)                                                   \
      apart_here_##T(pairs, y, (T *)y + pairs, cosine, sine);               \
    else if (halves)                                                        \
      apart_##T(pairs, y, x, cosine, sine);                                 \
    else if (y == x)                                                        \
      next_here_##T(pairs, y, cosine, sine);                                \
    else                                                                    \
      next_##T(pairs, y, x, cosine, sine);                                  \
  }

ROTARY(float)
ROTARY(double)

HEED_FILL(rotary);
HEED_FILL(rotary) {
  k->rotary[HEED_FLOAT32] = rotary_float;
  k->rotary[HEED_FLOAT64] = rotary_double;
}
