/*
 * loop - makers of loops over rows from an expression. Layer: kernel.
 *
 * LOOP1 and LOOP2 make a loop of heed_loop1 or heed_loop2 from an expression
 * in a (and b). Rows without gaps, and numbers repeated along a row (stride
 * 0), have loops of their own that the compiler turns into vector code.
 */
#ifndef HEED_KERNEL_LOOP_H
#define HEED_KERNEL_LOOP_H

#include <stdint.h>

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

/* Loops of heed_loop3: an expression in a, b, c and the number `value`. */
#define LOOP3(name, T, expression)                                         \
  static void name(int64_t n, void *to, int64_t sy, const void *from_a,    \
                   int64_t sa, const void *from_b, int64_t sb,             \
                   const void *from_c, int64_t sc, double value) {         \
    T *y = to;                                                             \
    const T *pa = from_a, *pb = from_b, *pc = from_c;                       \
    (void)value;                                                           \
    if (sy == 1 && sa == 1 && sb == 1 && sc == 1) {                        \
      INDEPENDENT for (int64_t i = 0; i < n; i++) {                        \
        const T a = pa[i], b = pb[i], c = pc[i];                           \
        y[i] = (T)(expression);                                            \
      }                                                                    \
    } else if (sy == 1 && sa == 1 && sb == 1 && sc == 0 && n > 0) {        \
      const T c = *pc;                                                     \
      INDEPENDENT for (int64_t i = 0; i < n; i++) {                        \
        const T a = pa[i], b = pb[i];                                      \
        y[i] = (T)(expression);                                            \
      }                                                                    \
    } else if (sy == 1 && sa == 1 && sb == 0 && sc == 0 && n > 0) {        \
      const T b = *pb, c = *pc;                                            \
      INDEPENDENT for (int64_t i = 0; i < n; i++) {                        \
        const T a = pa[i];                                                 \
        y[i] = (T)(expression);                                            \
      }                                                                    \
    } else {                                                               \
      for (int64_t i = 0; i < n; i++) {                                    \
        const T a = pa[i * sa], b = pb[i * sb], c = pc[i * sc];            \
        y[i * sy] = (T)(expression);                                       \
      }                                                                    \
    }                                                                      \
  }

/* Functions that numbers p[0], p[1] ... tune: of a, and of a and b. */
#define TUNED1(name, T, expression)                                   \
  static void name(int64_t n, void *to, int64_t sy, const void *from, \
                   int64_t sa, const double *restrict p) {            \
    T *y = to;                                                        \
    const T *pa = from;                                               \
    (void)p;                                                          \
    if (sy == 1 && sa == 1) {                                         \
      INDEPENDENT for (int64_t i = 0; i < n; i++) {                   \
        const T a = pa[i];                                            \
        y[i] = (T)(expression);                                       \
      }                                                               \
      return;                                                         \
    }                                                                 \
    for (int64_t i = 0; i < n; i++) {                                 \
      const T a = pa[i * sa];                                         \
      y[i * sy] = (T)(expression);                                    \
    }                                                                 \
  }

#define TUNED2(name, T, expression)                                     \
  static void name(int64_t n, void *to, int64_t sy, const void *from_a, \
                   int64_t sa, const void *from_b, int64_t sb,          \
                   const double *restrict p) {                          \
    T *y = to;                                                          \
    const T *pa = from_a, *pb = from_b;                                 \
    (void)p;                                                            \
    if (sy == 1 && sa == 1 && sb == 1) {                                \
      INDEPENDENT for (int64_t i = 0; i < n; i++) {                     \
        const T a = pa[i], b = pb[i];                                   \
        y[i] = (T)(expression);                                         \
      }                                                                 \
      return;                                                           \
    }                                                                   \
    for (int64_t i = 0; i < n; i++) {                                   \
      const T a = pa[i * sa], b = pb[i * sb];                           \
      y[i * sy] = (T)(expression);                                      \
    }                                                                   \
  }

#endif
