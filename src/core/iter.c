/* iter - loops over the elements of several tensors. Layer: core. */
#include "core/iter.h"

#include "base/parallel.h"

void heed_iter_init(heed_iter *it, const heed_shape *shape, int ntensor,
                    heed_tensor *const *t) {
  it->ntensor = ntensor;
  it->ndim = 0;
  for (int k = 0; k < ntensor; k++) {
    it->size[k] = heed_dtype_size(t[k]->dtype);
    it->data[k] = heed_tensor_data(t[k]);
  }
  for (int d = 0; d < shape->ndim; d++) {
    if (shape->dim[d] == 1) continue;
    int64_t step[HEED_ITER_MAX];
    bool joins = it->ndim > 0;
    for (int k = 0; k < ntensor; k++) {
      int own = d - (shape->ndim - t[k]->shape.ndim);
      step[k] = own < 0 || t[k]->shape.dim[own] == 1
                    ? 0
                    : t[k]->stride[own] * (int64_t)it->size[k];
      joins = joins && it->stride[k][it->ndim - 1] == step[k] * shape->dim[d];
    }
    int at = joins ? it->ndim - 1 : it->ndim++;
    it->dim[at] = joins ? it->dim[at] * shape->dim[d] : shape->dim[d];
    for (int k = 0; k < ntensor; k++) it->stride[k][at] = step[k];
  }
  if (it->ndim == 0) {
    it->ndim = 1;
    it->dim[0] = 1;
    for (int k = 0; k < ntensor; k++) it->stride[k][0] = 0;
  }
}

typedef struct run {
  const heed_iter *it;
  heed_row_fn *fn;
  void *context;
  int64_t row; /* elements of a row */
} run;

/* Elements [begin, end) in row-major order: parts of rows. */
static void run_range(void *context, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const run *r = context;
  const heed_iter *it = r->it;
  int last = it->ndim - 1;
  int64_t element_stride[HEED_ITER_MAX];
  for (int k = 0; k < it->ntensor; k++)
    element_stride[k] = it->stride[k][last] / (int64_t)it->size[k];
  while (begin < end) {
    int64_t rest = begin / r->row, column = begin % r->row;
    int64_t n = r->row - column;
    if (n > end - begin) n = end - begin;
    char *data[HEED_ITER_MAX];
    for (int k = 0; k < it->ntensor; k++)
      data[k] = it->data[k] + column * it->stride[k][last];
    for (int d = last - 1; d >= 0; d--) {
      int64_t i = rest % it->dim[d];
      rest /= it->dim[d];
      for (int k = 0; k < it->ntensor; k++)
        data[k] += i * it->stride[k][d];
    }
    r->fn(r->context, n, data, element_stride);
    begin += n;
  }
}

void heed_iter_run(const heed_iter *it, int64_t grain, heed_row_fn *fn,
                   void *context) {
  run r = {it, fn, context, it->dim[it->ndim - 1]};
  int64_t n = 1;
  for (int d = 0; d < it->ndim; d++) n *= it->dim[d];
  heed_parallel(n, grain, run_range, &r);
}
