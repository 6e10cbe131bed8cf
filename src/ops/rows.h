/*
 * rows - tensors of any layout as rows along some of their dimensions.
 * Layer: ops. Read first: core/tensor.h.
 *
 * For ops that work on whole rows (softmax, norms, losses): a row lies in
 * memory without gaps when the kernel sees it, whatever the strides.
 */
#ifndef HEED_OPS_ROWS_H
#define HEED_OPS_ROWS_H

#include "core/node.h"

#define HEED_ROWS_MAX 4

/* What to run over. All tensors broadcast to `shape`. */
typedef struct heed_rows {
  heed_shape shape;
  bool along[HEED_MAX_DIM]; /* the dimensions that make a row */
  int ntensor, nwrite;      /* the first `nwrite` are written, the rest read */
  heed_tensor *tensor[HEED_ROWS_MAX];
} heed_rows;

/* data[k]: the elements of tensor k, in row-major order without gaps. `row`
   counts the rows from 0, row-major over the other dimensions. */
typedef void heed_rows_fn(void *context, int64_t row, int64_t length,
                          void *const *data);

/* Calls fn for every row, over the threads; false without memory. */
bool heed_rows_run(const heed_rows *rows, heed_rows_fn *fn, void *context);

/* For backward rules: t itself, or a row-major copy of it. NULL passes. */
heed_tensor *heed_dense(heed_rule_call *r, heed_tensor *t);

#endif
