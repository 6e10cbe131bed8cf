/*
 * scan - running sums, products and extremes. Layer: kernel.
 * Read first: scan.h (the contract).
 *
 * Along the rows of a matrix, for many columns at a time: what has been
 * gathered of each column lies in a small array, and the compiler makes
 * vectors along it. Columns whose elements lie apart in y (they are lines of
 * a last dimension) are taken by LINES, with what is gathered in registers.
 */
#include <string.h>

#include "kernel/kernel.h"

typedef uint64_t u64;

#define LINES HEED_SCAN_LINES

#define SCAN(name, From, To, Acc, first, expression)                      \
  /* `count` lines, which the compiler takes apart when it is known */    \
  static inline __attribute__((always_inline)) void name##_lines(         \
      int count, int64_t rows, const From *x, int64_t lx, int64_t sx,     \
      To *y, int64_t ly, int64_t sy) {                                    \
    Acc all[LINES];                                                       \
    for (int j = 0; j < count; j++) all[j] = first;                       \
    for (int64_t i = 0; i < rows; i++)                                    \
      for (int j = 0; j < count; j++) {                                   \
        const From v = x[i * lx + j * sx];                                \
        const Acc acc = all[j];                                           \
        y[i * ly + j * sy] = (To)(all[j] = (Acc)(expression));            \
      }                                                                   \
  }                                                                       \
  static void name(int64_t rows, int64_t n, const void *from, int64_t lx, \
                   int64_t sx, void *to, int64_t *place, int64_t ly,      \
                   int64_t sy) {                                          \
    Acc all[HEED_SCAN_COLUMNS];                                           \
    (void)place;                                                          \
    if (sy != 1 || n == 1) {                                              \
      const From *x = from;                                               \
      To *y = to;                                                         \
      int64_t j = 0;                                                      \
      for (; j + LINES <= n; j += LINES)                                  \
        name##_lines(LINES, rows, x + j * sx, lx, sx, y + j * sy, ly, sy); \
      for (; j < n; j++)                                                  \
        name##_lines(1, rows, x + j * sx, lx, sx, y + j * sy, ly, sy);    \
      return;                                                             \
    }                                                                     \
    for (int64_t j = 0; j < n; j++) all[j] = first;                       \
    for (int64_t i = 0; i < rows; i++) {                                  \
      const From *restrict x = (const From *)from + i * lx;               \
      To *restrict y = (To *)to + i * ly;                                 \
      if (sx == 1)                                                        \
        for (int64_t j = 0; j < n; j++) {                                 \
          const From v = x[j];                                            \
          const Acc acc = all[j];                                         \
          y[j] = (To)(all[j] = (Acc)(expression));                        \
        }                                                                 \
      else                                                                \
        for (int64_t j = 0; j < n; j++) {                                 \
          const From v = x[j * sx];                                       \
          const Acc acc = all[j];                                         \
          y[j] = (To)(all[j] = (Acc)(expression));                        \
        }                                                                 \
    }                                                                     \
  }

#define SUMS(name, first, operator)                                   \
  SCAN(name##_uint8, uint8_t, int64_t, int64_t, first,                \
       (u64)acc operator(u64) v)                                      \
  SCAN(name##_int32, int32_t, int64_t, int64_t, first,                \
       (u64)acc operator(u64) v)                                      \
  SCAN(name##_int64, int64_t, int64_t, int64_t, first,                \
       (u64)acc operator(u64) v)                                      \
  SCAN(name##_float32, float, float, double, first,                   \
       acc operator(double) v)                                        \
  SCAN(name##_float64, double, double, double, first, acc operator v)
SUMS(sum, 0, +)
SUMS(prod, 1, *)

/* Does v take the place of best? The last of equals does, and every NaN. */
#define FROM_BELOW(v, best) \
  (((v) != (v)) | (((best) == (best)) & ((v) >= (best))))
#define FROM_ABOVE(v, best) \
  (((v) != (v)) | (((best) == (best)) & ((v) <= (best))))

#define EXTREME(name, Type, takes)                                        \
  static void name(int64_t rows, int64_t n, const void *from, int64_t lx, \
                   int64_t sx, void *to, int64_t *places, int64_t ly,     \
                   int64_t sy) {                                          \
    Type best[HEED_SCAN_COLUMNS];                                         \
    int64_t at[HEED_SCAN_COLUMNS];                                        \
    if (rows == 0) return;                                                \
    for (int64_t j = 0; j < n; j++) {                                     \
      best[j] = ((const Type *)from)[j * sx];                             \
      at[j] = 1;                                                          \
    }                                                                     \
    for (int64_t i = 0; i < rows; i++) {                                  \
      const Type *restrict x = (const Type *)from + i * lx;               \
      Type *restrict y = (Type *)to + i * ly;                             \
      int64_t *restrict place = places + i * ly;                          \
      for (int64_t j = 0; j < n; j++) {                                   \
        const Type v = x[j * sx];                                         \
        const int take = takes(v, best[j]);                               \
        y[j * sy] = best[j] = take ? v : best[j];                         \
        place[j * sy] = at[j] = take ? i + 1 : at[j];                     \
      }                                                                   \
    }                                                                     \
  }

#define EXTREMES(name, takes)              \
  EXTREME(name##_uint8, uint8_t, takes)    \
  EXTREME(name##_int32, int32_t, takes)    \
  EXTREME(name##_int64, int64_t, takes)    \
  EXTREME(name##_float32, float, takes)    \
  EXTREME(name##_float64, double, takes)
EXTREMES(max, FROM_BELOW)
EXTREMES(min, FROM_ABOVE)

#define EACH_DTYPE(name)                                              \
  {[HEED_BOOL] = name##_uint8,     [HEED_UINT8] = name##_uint8,       \
   [HEED_INT32] = name##_int32,    [HEED_INT64] = name##_int64,       \
   [HEED_FLOAT32] = name##_float32, [HEED_FLOAT64] = name##_float64}

static heed_loop_scan *const scan[HEED_NSCAN][HEED_NDTYPE] = {
    [HEED_SCAN_SUM] = EACH_DTYPE(sum),
    [HEED_SCAN_PROD] = EACH_DTYPE(prod),
    [HEED_SCAN_MAX] = EACH_DTYPE(max),
    [HEED_SCAN_MIN] = EACH_DTYPE(min),
};

HEED_FILL(scan);
HEED_FILL(scan) { memcpy(k->scan, scan, sizeof scan); }
