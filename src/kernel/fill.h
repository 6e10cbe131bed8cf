/*
 * fill - rows of the tables of elementwise loops. Layer: kernel.
 *
 * A row names a function and its loop for each dtype; what has no loop is
 * NULL. Halves have none: arithmetic reads them as float32.
 */
#ifndef HEED_KERNEL_FILL_H
#define HEED_KERNEL_FILL_H

#include <string.h>

#include "kernel/kernel.h"

typedef struct heed_fill1 {
  heed_unary f;
  heed_loop1 *loop[HEED_NDTYPE];
} heed_fill1;
typedef struct heed_fill2 {
  heed_binary f;
  heed_loop2 *loop[HEED_NDTYPE];
} heed_fill2;
typedef struct heed_fill3 {
  heed_ternary f;
  heed_loop3 *loop[HEED_NDTYPE];
} heed_fill3;
typedef struct heed_fill_tuned {
  heed_tuned f;
  heed_loop1_tuned *loop[HEED_NDTYPE];
  heed_loop2_tuned *bwd[HEED_NDTYPE];
} heed_fill_tuned;

/* Copies the rows of an array into a table of heed_kernels. */
#define FILL(table, rows)                                              \
  for (size_t row = 0; row < sizeof(rows) / sizeof *(rows); row++)     \
    memcpy((table)[(rows)[row].f], (rows)[row].loop,                   \
           sizeof (rows)[row].loop)

#define FLOATS(name) \
  {[HEED_FLOAT32] = name##_float32, [HEED_FLOAT64] = name##_float64}
#define INTEGERS_AND(first, name)                    \
  {[HEED_BOOL] = first, [HEED_UINT8] = name##_uint8, \
   [HEED_INT32] = name##_int32, [HEED_INT64] = name##_int64}
#define WITH(first, name)                                    \
  {[HEED_BOOL] = first, [HEED_UINT8] = name##_uint8,         \
   [HEED_INT32] = name##_int32, [HEED_INT64] = name##_int64, \
   [HEED_FLOAT32] = name##_float32, [HEED_FLOAT64] = name##_float64}
#define NUMBERS(name) WITH(NULL, name)
#define ALL(name) WITH(name##_bool, name)

#endif
