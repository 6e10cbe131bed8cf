/*
 * raw - files of nothing but elements, row-major and little-endian.
 * Layer: core. Read first: elements.h.
 */
#ifndef HEED_CORE_RAW_H
#define HEED_CORE_RAW_H

#include "core/tensor.h"

/* Reads the elements from byte `offset` on; without a shape all up to the end
   of the file, in one dimension. */
heed_tensor *heed_raw_load(const char *op, const char *path, heed_dtype dtype,
                           const heed_shape *shape, int64_t offset);
bool heed_raw_save(const char *op, const char *path, const heed_tensor *t);

#endif
