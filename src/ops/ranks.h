/*
 * ranks - the values of a line as numbers to be sorted. Layer: ops.
 *
 * To be sorted, a value becomes a rank: an unsigned number whose order is the
 * order wanted. The bits of floats are ordered like integers but for their
 * sign; NaN comes behind infinity, -0 is 0; to sort downwards, the bits are
 * turned (NaN is then the first). A rank and the place of its value are an
 * entry; equal ranks stay in the order of their places.
 */
#ifndef HEED_OPS_RANKS_H
#define HEED_OPS_RANKS_H

#include <stdbool.h>

#include "core/dtype.h"

typedef struct heed_ranks {
  heed_dtype dtype;
  bool down;
  bool wide; /* entries of two numbers, not of one */
  int bits;  /* of a rank */
  int64_t n;
  void *entry, *spare;
} heed_ranks;

/* Bytes of scratch for a line of n. */
size_t heed_ranks_room(heed_dtype dtype, int64_t n);
/* Reads the line x, which has no gaps, into scratch of heed_ranks_room. */
void heed_ranks_read(heed_ranks *r, heed_dtype dtype, int64_t n, const void *x,
                     bool down, void *scratch);
/* Puts the entries in order. */
void heed_ranks_sort(heed_ranks *r);
/* The place of the entry that would be number k (from 0) in order; entries
   are lost. */
int64_t heed_ranks_select(heed_ranks *r, int64_t k);
/* Keeps those k >= 1 that would be the first in order, as they stand. */
void heed_ranks_keep(heed_ranks *r, int64_t k);

/* The place of entry i. */
static inline int64_t heed_ranks_place(const heed_ranks *r, int64_t i) {
  return r->wide ? (int64_t)((const uint64_t *)r->entry)[2 * i + 1]
                 : (int64_t)(((const uint64_t *)r->entry)[i] & UINT32_MAX);
}
/* Have entries i and j one rank? */
static inline bool heed_ranks_equal(const heed_ranks *r, int64_t i,
                                    int64_t j) {
  const uint64_t *e = r->entry;
  return r->wide ? e[2 * i] == e[2 * j] : e[i] >> 32 == e[j] >> 32;
}

/* The rank of one value. */
uint64_t heed_rank_of(heed_dtype dtype, const void *value, bool down);

#endif
