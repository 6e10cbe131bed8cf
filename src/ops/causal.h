/* causal - what products under a causal mask share. Layer: ops. */
#ifndef HEED_OPS_CAUSAL_H
#define HEED_OPS_CAUSAL_H

#include "ops/gemm.h"

#define HEED_CAUSAL_CHUNK 64 /* positions that have scores with each other */

/* y [n dv] = scores [n n] v [n dv] under the mask: row i takes rows 0 .. i of
   v, or i .. n - 1 in reverse, and nothing of the others, not even a NaN. The
   scores that the mask shuts out are set to 0; y and they are row-major. Fails
   without memory. */
bool heed_causal_weigh(heed_dtype dtype, int64_t n, int64_t dv, void *scores,
                       heed_matrix v, void *y, bool reverse);

#endif
