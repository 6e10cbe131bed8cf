/*
 * choose - one of two numbers for each element. Layer: kernel.
 * Read first: kernel.h.
 *
 * Elements are moved, not read: one loop for each size.
 */
#include "kernel/kernel.h"
#include "kernel/loop.h"

#define PICK(name, T)                                                      \
  static void name(int64_t n, void *to, int64_t sy, const void *test,      \
                   int64_t st, const void *from_a, int64_t sa,             \
                   const void *from_b, int64_t sb) {                       \
    T *y = to;                                                             \
    const T *a = from_a, *b = from_b;                                      \
    const uint8_t *t = test;                                               \
    if (sy == 1 && st == 1 && sa == 1 && sb == 1) {                        \
      INDEPENDENT for (int64_t i = 0; i < n; i++) {                        \
        const T u = a[i], v = b[i];                                        \
        y[i] = t[i] ? u : v;                                               \
      }                                                                    \
    } else if (sy == 1 && st == 1 && sa == 1 && sb == 0 && n > 0) {        \
      const T v = *b;                                                      \
      INDEPENDENT for (int64_t i = 0; i < n; i++) {                        \
        const T u = a[i];                                                  \
        y[i] = t[i] ? u : v;                                               \
      }                                                                    \
    } else if (sy == 1 && st == 1 && sa == 0 && sb == 1 && n > 0) {        \
      const T u = *a;                                                      \
      INDEPENDENT for (int64_t i = 0; i < n; i++) {                        \
        const T v = b[i];                                                  \
        y[i] = t[i] ? u : v;                                               \
      }                                                                    \
    } else {                                                               \
      for (int64_t i = 0; i < n; i++)                                      \
        y[i * sy] = t[i * st] ? a[i * sa] : b[i * sb];                     \
    }                                                                      \
  }

PICK(pick_1, uint8_t)
PICK(pick_2, uint16_t)
PICK(pick_4, uint32_t)
PICK(pick_8, uint64_t)

HEED_FILL(choose);
HEED_FILL(choose) {
  k->pick[HEED_BOOL] = k->pick[HEED_UINT8] = pick_1;
  k->pick[HEED_FLOAT16] = k->pick[HEED_BFLOAT16] = pick_2;
  k->pick[HEED_INT32] = k->pick[HEED_FLOAT32] = pick_4;
  k->pick[HEED_INT64] = k->pick[HEED_FLOAT64] = pick_8;
}
