/* vector_norm - what other ops use of norms. Layer: ops. */
#ifndef HEED_OPS_VECTOR_NORM_H
#define HEED_OPS_VECTOR_NORM_H

#include "core/node.h"

/* *total takes in the sum of |x|^p over all elements (for p = inf or -inf the
   extreme |x|). It starts at 0, for -inf at inf. Runs over the threads; false
   without memory. */
bool heed_power_sum(const char *op, heed_tensor *x, double p, double *total);

/* The gradient of x, given that of its norm: y and g broadcast to x, and have
   size 1 where it was reduced, which `dims` names. */
heed_tensor *heed_norm_gradient(heed_rule_call *r, heed_tensor *x,
                                heed_tensor *y, heed_tensor *g, double p,
                                const heed_shape *dims);

#endif
