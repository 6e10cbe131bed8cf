/*
 * sweep - one pass of the threads over many tensors. Layer: ops.
 * Read first: core/op.h, base/parallel.h.
 *
 * Ops of optimisers take one list of tensors, which is several lists of n in
 * one: all parameters x[1] .. x[n], then their gradients, then state of one
 * kind after the other. Element i of what changes depends on elements i of the
 * parameter's tensors, so the tensors are cut into blocks, and the threads
 * share the blocks of all parameters in one parallel loop.
 */
#ifndef HEED_OPS_SWEEP_H
#define HEED_OPS_SWEEP_H

#include "core/op.h"

#define HEED_SWEEP_BLOCK 4096 /* elements; the same for any number of threads */
#define HEED_SWEEP_LISTS 5    /* at most */

/* What the lists are called, in order, and which an op writes to: bit l for
   list l. */
typedef struct heed_sweep_lists {
  int n;
  const char *name[HEED_SWEEP_LISTS];
  uint32_t written;
} heed_sweep_lists;

/* One parameter, and the tensors that belong to it as rows without gaps. */
typedef struct heed_sweep_item {
  heed_tensor *dense[HEED_SWEEP_LISTS];
  void *data[HEED_SWEEP_LISTS];
  heed_dtype dtype;
  int64_t n;     /* elements of the parameter */
  int64_t first; /* number of its first block among those of the sweep */
} heed_sweep_item;

typedef struct heed_sweep {
  const heed_sweep_lists *lists;
  heed_sweep_item *item;
  int n;
  int64_t blocks; /* of all items */
} heed_sweep;

static inline int64_t heed_sweep_blocks(int64_t n) {
  return (n + HEED_SWEEP_BLOCK - 1) / HEED_SWEEP_BLOCK;
}

/* For a check: the list of tensors must be lists->n lists in one, not empty
   when some are written, each parameter a float32 or float64 tensor and the
   first `alike` of its tensors like it; what is written must be writable. */
bool heed_sweep_check(const heed_call *c, const heed_sweep_lists *lists,
                      int alike);
/* For a check: the number of a step, from 1. */
bool heed_sweep_check_step(const heed_call *c, int64_t step);

/* For a forward: opens the tensors, calls `step` and writes back. Tensors that
   share memory with one that is written are taken one parameter after the
   other (several calls of `step`), so that the result is the same as that of a
   call for each. */
typedef bool heed_sweep_step(heed_sweep *w, void *how);
bool heed_sweep_run(heed_call *c, const heed_sweep_lists *lists,
                    heed_sweep_step *step, void *how);

/* In a step: the threads call `part` for elements begin .. end - 1 of an item,
   which are whole blocks, but for the last of an item. */
typedef void heed_sweep_part(void *context, const heed_sweep_item *item,
                             int64_t begin, int64_t end);
void heed_sweep_each(const heed_sweep *w, heed_sweep_part *part, void *context);

/* data[l] at element `begin`, for every list. */
static inline void heed_sweep_at(const heed_sweep_item *item, int64_t begin,
                                 void *data[HEED_SWEEP_LISTS]) {
  int64_t offset = begin * (int64_t)heed_dtype_size(item->dtype);
  for (int l = 0; l < HEED_SWEEP_LISTS; l++)
    data[l] = item->data[l] ? (char *)item->data[l] + offset : NULL;
}

/* A block of elements, of either dtype. */
typedef union heed_sweep_row {
  float f[HEED_SWEEP_BLOCK];
  double d[HEED_SWEEP_BLOCK];
} heed_sweep_row;

#endif
