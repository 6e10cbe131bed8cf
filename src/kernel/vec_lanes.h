/*
 * vec_lanes - sums over the lanes of a vector, and rows turned into columns.
 * Layer: kernel. Read first: vec.h.
 */
#ifndef HEED_KERNEL_VEC_LANES_H
#define HEED_KERNEL_VEC_LANES_H

#include "kernel/vec.h"

#define SHUFFLE __builtin_shufflevector
#if VF == 4
#define ZIP_LOW(a, b) SHUFFLE(a, b, 0, 4, 1, 5)
#define ZIP_HIGH(a, b) SHUFFLE(a, b, 2, 6, 3, 7)
#define TURN_1(a) SHUFFLE(a, a, 1, 0, 3, 2)
#define TURN_2(a) SHUFFLE(a, a, 2, 3, 0, 1)
#define OVER_LANES(x, f) (x = f(x, TURN_2(x)), x = f(x, TURN_1(x)))
#elif VF == 8
#define ZIP_LOW(a, b) SHUFFLE(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define ZIP_HIGH(a, b) SHUFFLE(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define TURN_1(a) SHUFFLE(a, a, 1, 0, 3, 2, 5, 4, 7, 6)
#define TURN_2(a) SHUFFLE(a, a, 2, 3, 0, 1, 6, 7, 4, 5)
#define TURN_4(a) SHUFFLE(a, a, 4, 5, 6, 7, 0, 1, 2, 3)
#define OVER_LANES(x, f) \
  (x = f(x, TURN_4(x)), x = f(x, TURN_2(x)), x = f(x, TURN_1(x)))
#else
#define ZIP_LOW(a, b)                                                      \
  SHUFFLE(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define ZIP_HIGH(a, b)                                                     \
  SHUFFLE(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#define TURN_1(a) \
  SHUFFLE(a, a, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14)
#define TURN_2(a) \
  SHUFFLE(a, a, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13)
#define TURN_4(a) \
  SHUFFLE(a, a, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11)
#define TURN_8(a) \
  SHUFFLE(a, a, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7)
#define OVER_LANES(x, f)                                          \
  (x = f(x, TURN_8(x)), x = f(x, TURN_4(x)), x = f(x, TURN_2(x)), \
   x = f(x, TURN_1(x)))
#endif

VEC_INLINE vf plus(vf a, vf b) { return a + b; }

/* The sum, or the largest, of all lanes, in every lane. */
VEC_INLINE vf sum_lanes(vf x) { return OVER_LANES(x, plus); }
VEC_INLINE vf max_lanes(vf x) { return OVER_LANES(x, vf_max); }

/* Rows of a VF x VF square become columns: each step zips the first half
   with the second, which turns the bits of (row, column) round by one. */
VEC_INLINE void turn_square(vf *row) {
  for (int step = 1; step < VF; step *= 2) {
    vf next[VF];
    UNROLL for (int i = 0; i < VF / 2; i++) {
      next[2 * i] = ZIP_LOW(row[i], row[i + VF / 2]);
      next[2 * i + 1] = ZIP_HIGH(row[i], row[i + VF / 2]);
    }
    memcpy(row, next, sizeof next);
  }
}

#endif
