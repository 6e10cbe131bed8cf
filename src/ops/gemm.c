/* gemm - products of matrices in memory, by OpenBLAS. Layer: ops. */
#include "ops/gemm.h"

#include <cblas.h>
#include <limits.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

/* What BLAS reads: rows or columns without gaps inside. */
typedef struct operand {
  const void *data;
  CBLAS_TRANSPOSE transpose;
  int pitch;
  void *own; /* a packed copy, or NULL */
  size_t bytes;
} operand;

static bool pack(heed_dtype dtype, int64_t rows, int64_t columns,
                 heed_matrix m, operand *o) {
  size_t size = heed_dtype_size(dtype);
  o->bytes = (size_t)(rows * columns) * size;
  o->own = heed_mem_alloc(o->bytes);
  if (!o->own) return false;
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++)
      memcpy((char *)o->own + (size_t)(i * columns + j) * size,
             (const char *)m.data +
                 (i * m.row + j * m.column) * (int64_t)size,
             size);
  o->data = o->own;
  o->transpose = CblasNoTrans;
  o->pitch = (int)(columns > 0 ? columns : 1);
  return true;
}

static bool operand_of(heed_dtype dtype, int64_t rows, int64_t columns,
                       heed_matrix m, operand *o) {
  *o = (operand){.data = m.data};
  if ((m.column == 1 || columns == 1) && m.row >= columns &&
      m.row <= INT_MAX) {
    o->transpose = CblasNoTrans;
    o->pitch = (int)m.row;
  } else if (rows == 1 && m.column == 1) {
    o->transpose = CblasNoTrans;
    o->pitch = (int)columns;
  } else if ((m.row == 1 || rows == 1) && m.column >= rows &&
             m.column <= INT_MAX) {
    o->transpose = CblasTrans;
    o->pitch = (int)m.column;
  } else {
    return pack(dtype, rows, columns, m, o);
  }
  if (o->pitch < 1) o->pitch = 1;
  return true;
}

bool heed_gemm(heed_dtype dtype, int64_t m, int64_t n, int64_t k,
               heed_matrix a, heed_matrix b, void *c, int64_t pitch,
               bool accumulate) {
  if (m == 0 || n == 0) return true;
  if (m > INT_MAX || n > INT_MAX || k > INT_MAX || pitch > INT_MAX)
    return heed_fail("matmul: sizes beyond 2^31 - 1 are not possible");
  if (k == 0) {
    size_t row = (size_t)n * heed_dtype_size(dtype);
    for (int64_t i = 0; i < m && !accumulate; i++)
      memset((char *)c + (size_t)(i * pitch) * heed_dtype_size(dtype), 0,
             row);
    return true;
  }
  operand left, right = {0};
  if (!operand_of(dtype, m, k, a, &left)) return false;
  bool ok = operand_of(dtype, k, n, b, &right);
  if (ok && dtype == HEED_FLOAT32)
    cblas_sgemm(CblasRowMajor, left.transpose, right.transpose, (int)m,
                (int)n, (int)k, 1, left.data, left.pitch, right.data,
                right.pitch, accumulate, c, (int)pitch);
  else if (ok)
    cblas_dgemm(CblasRowMajor, left.transpose, right.transpose, (int)m,
                (int)n, (int)k, 1, left.data, left.pitch, right.data,
                right.pitch, accumulate, c, (int)pitch);
  heed_mem_free(left.own, left.bytes);
  heed_mem_free(right.own, right.bytes);
  return ok;
}
