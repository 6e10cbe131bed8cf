/* random - numbers for whole blocks of memory. Layer: ops. */
#ifndef HEED_OPS_RANDOM_H
#define HEED_OPS_RANDOM_H

#include "core/generator.h"

/* mask[i] is 1 with probability p, else 0; two words an element, in order.
   NULL is the default generator. */
void heed_random_mask(heed_generator *g, int64_t n, uint8_t *mask, double p);

#endif
