/* copy - moving elements between tensors of any layout. Layer: ops. */
#ifndef HEED_OPS_COPY_H
#define HEED_OPS_COPY_H

#include "core/op.h"

/* to = from, broadcast to the shape of `to` and cast to its dtype. Both may
   be temporary descriptions (a struct on the stack) of storage. */
void heed_copy(heed_tensor *to, heed_tensor *from);

/* x itself (a new reference) when it is contiguous, else a contiguous copy
   without graph; for forwards that want plain rows. */
heed_tensor *heed_contiguous(const char *op, heed_tensor *x);

/* Fails when input i is a plain number that the dtype cannot hold. */
bool heed_want_held(const heed_call *c, int i, heed_dtype dtype);

#endif
