/*
 * panels - a matrix packed once, for many products. Layer: ops.
 * Read first: gemm.h.
 */
#ifndef HEED_OPS_PANELS_H
#define HEED_OPS_PANELS_H

#include "ops/gemm.h"

typedef struct heed_panels {
  heed_dtype dtype;
  int64_t k, n;     /* of the matrix */
  int64_t kc;       /* rows of a block */
  char *data;
  size_t bytes;
} heed_panels;

/* Packs b [k n]. False without memory; heed_panels_drop frees it. */
bool heed_panels_make(heed_panels *p, heed_dtype dtype, int64_t k, int64_t n,
                      heed_matrix b);
void heed_panels_drop(heed_panels *p);

/* c [m n] (+)= a [m k] b; both are row-major without gaps. Runs in the calling
   thread; a row of c does not depend on the other rows of a. */
void heed_panels_multiply(const heed_panels *p, int64_t m, const void *a,
                          void *c, bool accumulate);

#endif
