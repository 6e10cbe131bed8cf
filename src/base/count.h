/*
 * count - small functions of numbers of things. Layer: base.
 */
#ifndef HEED_BASE_COUNT_H
#define HEED_BASE_COUNT_H

#include <stdint.h>

static inline int64_t heed_least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* How many pieces of a size cover n. */
static inline int64_t heed_pieces(int64_t n, int64_t size) {
  return (n + size - 1) / size;
}

#endif
