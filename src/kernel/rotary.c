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

/* The halves of a row, and a row that is overwritten, are pointers of their
   own: only so does the compiler know that elements do not meet. */
#define TURN(T, x0, x1, y0, y1)               \
  for (int64_t i = 0; i < pairs; i++) {       \
    T a = x0, b = x1;                         \
    y0 = a * cosine[i] - b * sine[i];         \
    y1 = b * cosine[i] + a * sine[i];         \
  }

#define ROTARY(T)                                                           \
  static void apart_##T(int64_t pairs, T *restrict y, T *restrict y_high,   \
                        const T *restrict x, const T *restrict x_high,      \
                        const T *restrict cosine, const T *restrict sine) { \
    TURN(T, x[i], x_high[i], y[i], y_high[i])                               \
  }                                                                         \
  static void apart_here_##T(int64_t pairs, T *restrict y,                  \
                             T *restrict y_high, const T *restrict cosine,  \
                             const T *restrict sine) {                      \
    TURN(T, y[i], y_high[i], y[i], y_high[i])                               \
  }                                                                         \
  static void next_##T(int64_t pairs, T *restrict y, const T *restrict x,   \
                       const T *restrict cosine, const T *restrict sine) {  \
    TURN(T, x[2 * i], x[2 * i + 1], y[2 * i], y[2 * i + 1])                 \
  }                                                                         \
  static void next_here_##T(int64_t pairs, T *restrict y,                   \
                            const T *restrict cosine,                       \
                            const T *restrict sine) {                       \
    TURN(T, y[2 * i], y[2 * i + 1], y[2 * i], y[2 * i + 1])                 \
  }                                                                         \
  static void rotary_##T(int64_t pairs, void *to, const void *from,         \
                         const void *turn, bool halves) {                   \
    const T *cosine = turn, *sine = cosine + pairs, *x = from;              \
    T *y = to;                                                              \
    if (halves && y == x)                                                   \
      apart_here_##T(pairs, y, y + pairs, cosine, sine);                    \
    else if (halves)                                                        \
      apart_##T(pairs, y, y + pairs, x, x + pairs, cosine, sine);           \
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
