/*
 * places - reading and writing where index tensors say. Layer: ops.
 * Read first: core/iter.h.
 *
 * An index is a tensor of integers that names positions in one dimension of
 * another tensor, the addressed one: from 1, or from the end with negative
 * numbers. The elements that move make up a region. Its shape is one of two:
 *
 * rows      The indices, one for each of several dimensions of the addressed
 *           tensor, are broadcast together; the dimensions that they get
 *           stand in the region instead of the indexed ones: in their place
 *           when those lie side by side, else in front.
 * elements  The one index has the shape of the region and names a place for
 *           each element.
 */
#ifndef HEED_OPS_PLACES_H
#define HEED_OPS_PLACES_H

#include "core/op.h"

/* Which positions: the inputs of a call from number `first` on, one for each
   dimension in `dims`, which must rise. */
typedef struct heed_indices {
  const heed_call *call;
  int first;
  heed_shape dims;
} heed_indices;

typedef struct heed_places {
  heed_tensor *place; /* where, in elements from the addressed tensor's first;
                         row-major, in the shape of the indices together */
  heed_shape region;
  int at, k; /* dimensions at .. at + k - 1 of the region are those of place */
  bool on[HEED_MAX_DIM]; /* the indexed dimensions of the addressed tensor */
} heed_places;

typedef enum heed_places_how {
  HEED_PLACES_PUT, /* of places that repeat the last one stays */
  HEED_PLACES_ADD, /* in row-major order of the region */
  HEED_PLACES_MUL,
  HEED_PLACES_MAX, /* a NaN stays */
  HEED_PLACES_MIN,
  HEED_PLACES_LAST /* from = is it the last one at its place? `to`, new and
                      of bools, is only to work with */
} heed_places_how;

/* Is input i a tensor of int64, int32 or uint8? Else fails. */
bool heed_want_index(const heed_call *c, int i);

/* The region of rows of a tensor of shape `of`, in p->region. Fails when an
   index is no tensor of integers, they do not fit together, or give too many
   dimensions. */
bool heed_places_rows(heed_places *p, const heed_indices *indices,
                      const heed_shape *of);

/* Reads positions in `of`, for rows or for elements; fails with the first one
   that is out of range. What is read or written must have the strides of
   `of`. */
bool heed_places_open_rows(heed_places *p, const heed_indices *indices,
                           const heed_tensor *of);
bool heed_places_open_elements(heed_places *p, const heed_call *c, int i,
                               const heed_tensor *of, int64_t dim);
void heed_places_close(heed_places *p);

/* result (of the region's shape) = what x has at the places */
void heed_places_read(const heed_places *p, heed_tensor *result,
                      heed_tensor *x);
/* What a write to `to` is to read: `from` (a new reference), or a copy of it
   where it lies in the storage of `to`, whose places change on the way. */
heed_tensor *heed_places_source(const char *op, heed_tensor *from,
                                const heed_tensor *to);
/* Changes `to` at the places; `from` broadcasts to the region, or the region
   is its first corner. One dtype (but for LAST: two bools); no half floats
   but to PUT. */
void heed_places_write(const heed_places *p, heed_tensor *to,
                       heed_tensor *from, heed_places_how how);

#endif
