/* dtype - element types, their sizes and names. Layer: core. */
#ifndef HEED_CORE_DTYPE_H
#define HEED_CORE_DTYPE_H

#include "heed.h"

static inline size_t heed_dtype_size(heed_dtype d) {
  static const unsigned char size[HEED_NDTYPE] = {1, 8, 4, 8};
  return size[d];
}

static inline bool heed_dtype_is_float(heed_dtype d) {
  return d >= HEED_FLOAT32;
}

const char *heed_dtype_name(heed_dtype d);
/* The dtype called `name`; fails with the list of known names. */
bool heed_dtype_find(const char *name, heed_dtype *d);

/* The smallest dtype that holds both: bool < int64 < float32 < float64. */
static inline heed_dtype heed_dtype_join(heed_dtype a, heed_dtype b) {
  return a > b ? a : b;
}

#endif
