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
/* Calls fn for every row, over the threads, `grain` elements at least; in
   row-major order when that is all of them. */
void heed_iter_run(const heed_iter *it, int64_t grain, heed_row_fn *fn,
                   void *context);

/* The same for t[0] as the result and the others as operands, in whatever
   order is the fastest: fn must treat each element by itself. The result may
   be an operand itself (the same elements in the same places), and else
   overlaps none. fn may get copies of operands, and its result be copied. */
void heed_iter_map(const heed_shape *shape, int ntensor,
                   heed_tensor *const *t, int64_t grain, heed_row_fn *fn,
                   void *context);

#endif
