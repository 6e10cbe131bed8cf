/*
 * reduce_loop - makers of the loops of a reduction from an expression.
 * Layer: kernel. Read first: reduce.h.
 *
 * Expressions are of `acc`, the accumulator, and `v`, an element.
 */
#ifndef HEED_KERNEL_REDUCE_LOOP_H
#define HEED_KERNEL_REDUCE_LOOP_H

#include "kernel/reduce.h"

#define START(name, Acc, value)                                       \
  static void name##_start(int64_t n, int64_t first, void *acc) {     \
    (void)first;                                                      \
    for (int64_t j = 0; j < n; j++) ((Acc *)acc)[j] = (value);        \
  }

#define MERGE(name, Acc, expression)                                  \
  static void name##_merge(int64_t n, void *to, const void *other) {  \
    for (int64_t j = 0; j < n; j++) {                                 \
      const Acc v = ((const Acc *)other)[j], acc = ((Acc *)to)[j];    \
      ((Acc *)to)[j] = (Acc)(expression);                             \
    }                                                                 \
  }

/* One element after the other: for integers, of which compilers make
   vectors. */
#define ROW(name, From, Acc, expression)                              \
  static void name##_row(int64_t n, const void *from, int64_t sx,     \
                         int64_t first, void *to) {                   \
    const From *x = from;                                             \
    Acc acc = *(Acc *)to;                                             \
    (void)first;                                                      \
    if (sx == 1)                                                      \
      for (int64_t i = 0; i < n; i++) {                               \
        const From v = x[i];                                          \
        acc = (Acc)(expression);                                      \
      }                                                               \
    else                                                              \
      for (int64_t i = 0; i < n; i++) {                               \
        const From v = x[i * sx];                                     \
        acc = (Acc)(expression);                                      \
      }                                                               \
    *(Acc *)to = acc;                                                 \
  }

/* acc[j] takes in column j; the compiler makes vectors along j. */
#define COLUMNS(name, From, Acc, expression)                              \
  static void name##_columns(int64_t rows, int64_t n, const void *from,   \
                             int64_t ld, int64_t sx, int64_t first,       \
                             void *to) {                                  \
    Acc *restrict y = to;                                                 \
    (void)first;                                                          \
    for (int64_t i = 0; i < rows; i++) {                                  \
      const From *restrict x = (const From *)from + i * ld;               \
      if (sx == 1)                                                        \
        for (int64_t j = 0; j < n; j++) {                                 \
          const From v = x[j];                                            \
          const Acc acc = y[j];                                           \
          y[j] = (Acc)(expression);                                       \
        }                                                                 \
      else                                                                \
        for (int64_t j = 0; j < n; j++) {                                 \
          const From v = x[j * sx];                                       \
          const Acc acc = y[j];                                           \
          y[j] = (Acc)(expression);                                       \
        }                                                                 \
    }                                                                     \
  }

/* take: what acc becomes with the element v, merge: with the accumulator v */
#define REDUCTION(name, From, Acc, value, take, merge) \
  START(name, Acc, value)                              \
  ROW(name, From, Acc, take)                           \
  COLUMNS(name, From, Acc, take)                       \
  MERGE(name, Acc, merge)

#define LOOPS(name, Acc) \
  {sizeof(Acc), name##_start, name##_row, name##_columns, name##_merge}

#endif
