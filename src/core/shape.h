/* shape - sizes, strides and broadcasting. Layer: core. */
#ifndef HEED_CORE_SHAPE_H
#define HEED_CORE_SHAPE_H

#include "heed.h"

/* Also serves for short lists of axes or positions. */
typedef struct heed_shape {
  int ndim;
  int64_t dim[HEED_MAX_DIM];
} heed_shape;

/* "[2 3 5]" for messages, in a buffer of this thread that the fourth next
   call reuses. */
const char *heed_shape_text(const heed_shape *s);

static inline bool heed_shape_equal(const heed_shape *a,
                                    const heed_shape *b) {
  if (a->ndim != b->ndim) return false;
  for (int i = 0; i < a->ndim; i++)
    if (a->dim[i] != b->dim[i]) return false;
  return true;
}

/* Number of elements; 1 for no dimensions. */
static inline int64_t heed_shape_numel(const heed_shape *s) {
  int64_t n = 1;
  for (int i = 0; i < s->ndim; i++) n *= s->dim[i];
  return n;
}

/* Fails when a size is negative or the bytes overflow what can be allocated.
   `op` opens the message. */
bool heed_shape_check(const char *op, const heed_shape *s, heed_dtype d);

/* Row-major strides, in elements. */
void heed_shape_strides(const heed_shape *s, int64_t *stride);

/* out = a and b broadcast together (sizes aligned at the end, 1 stretches);
   false, without a message, when they do not fit. */
bool heed_shape_broadcast(const heed_shape *a, const heed_shape *b,
                          heed_shape *out);

#endif
