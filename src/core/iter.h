/*
 * iter - loops over the elements of several tensors of one (broadcast) shape.
 * Layer: core. Read first: tensor.h.
 *
 * Dimensions that lie one behind the other in every tensor are joined, so
 * that a contiguous tensor of any rank is one long row.
 */
#ifndef HEED_CORE_ITER_H
#define HEED_CORE_ITER_H

#include "core/tensor.h"

#define HEED_ITER_MAX 4

typedef struct heed_iter {
  int ndim, ntensor;
  int64_t dim[HEED_MAX_DIM];
  int64_t stride[HEED_ITER_MAX][HEED_MAX_DIM]; /* in bytes */
  char *data[HEED_ITER_MAX];
  size_t size[HEED_ITER_MAX]; /* bytes of one element */
} heed_iter;

/* All tensors must broadcast to `shape`; t[0] is usually the result. */
void heed_iter_init(heed_iter *it, const heed_shape *shape, int ntensor,
                    heed_tensor *const *t);

/* One row: n elements, pointers to the first, strides in elements. */
typedef void heed_row_fn(void *context, int64_t n, char *const *data,
                         const int64_t *stride);
/* Calls fn for every row, over the threads; `grain` elements at least. */
void heed_iter_run(const heed_iter *it, int64_t grain, heed_row_fn *fn,
                   void *context);

#endif
