/*
 * places - reading and writing where an index tensor says. Layer: ops.
 * Read first: core/iter.h.
 *
 * An index is int64 and names positions in one dimension of another tensor,
 * the addressed one: from 1, or from the end with negative numbers. The
 * elements that move make up a region. Either the index names rows, and its
 * dimensions stand in the region instead of that one; or it has the shape of
 * the region and names a place for each element.
 */
#ifndef HEED_OPS_PLACES_H
#define HEED_OPS_PLACES_H

#include "core/op.h"

typedef struct heed_places {
  heed_tensor *place; /* from 0, row-major in the shape of the index */
  heed_shape region;
  int64_t dim; /* of the addressed tensor */
  int k;       /* dimensions dim .. dim + k - 1 of the region stand for it */
} heed_places;

typedef enum heed_places_how {
  HEED_PLACES_PUT, /* of places that repeat the last one stays */
  HEED_PLACES_ADD, /* in row-major order of the region */
  HEED_PLACES_LAST /* from = is it the last one at its place? `to` must be
                      false everywhere and is overwritten */
} heed_places_how;

/* The region of rows: `of` with dimension dim replaced by those of input i.
   Fails when that is no int64 or gives too many dimensions. */
bool heed_places_region(const heed_call *c, int i, const heed_shape *of,
                        int64_t dim, heed_shape *region);

/* Reads input i as positions in dimension dim of the shape `of`; fails with
   the first one that is out of range. */
bool heed_places_open(heed_places *p, const heed_call *c, int i,
                      const heed_shape *of, int64_t dim, bool rows);
void heed_places_close(heed_places *p);

/* result (of the region's shape) = what x has at the places */
void heed_places_read(const heed_places *p, heed_tensor *result,
                      heed_tensor *x);
/* Changes `to` at the places; `from` broadcasts to the region, or the region
   is its first corner. One dtype (but for LAST: two bools). */
void heed_places_write(const heed_places *p, heed_tensor *to,
                       heed_tensor *from, heed_places_how how);

#endif
