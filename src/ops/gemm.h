/* gemm - products of matrices in memory. Layer: ops. */
#ifndef HEED_OPS_GEMM_H
#define HEED_OPS_GEMM_H

#include "core/tensor.h"

/* A matrix: element (i, j) is data[i * row + j * column]. */
typedef struct heed_matrix {
  const void *data;
  int64_t row, column;
} heed_matrix;

/* c [m n] (+)= a [m k] b [k n]; c is row-major with `pitch` elements a row
   and overlaps neither. float32 or float64. Fails without memory. */
bool heed_gemm(heed_dtype dtype, int64_t m, int64_t n, int64_t k,
               heed_matrix a, heed_matrix b, void *c, int64_t pitch,
               bool accumulate);

static inline heed_matrix heed_turned(heed_matrix m) {
  return (heed_matrix){m.data, m.column, m.row};
}

/* Where the matrix of t starts that belongs to number `index` of a batch that
   the other dimensions of t broadcast to; in elements from its first. */
int64_t heed_batch_offset(const heed_tensor *t, const heed_shape *batch,
                          int64_t index);

#endif
