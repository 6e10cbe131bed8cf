/* elements - the elements of tensors as the bytes of files. Layer: core. */
#include "core/elements.h"

#include <string.h>

#include "base/error.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "files are little-endian, and are read and written as memory is"
#endif

#define CHUNK 65536 /* bytes that are converted at a time */

heed_encoding heed_encoding_of(heed_dtype dtype) {
  return (heed_encoding){.dtype = dtype,
                         .size = (unsigned char)heed_dtype_size(dtype),
                         .is_signed = dtype != HEED_UINT8};
}

heed_encoding heed_encoding_of_integer(size_t size, bool is_signed) {
  heed_encoding e = {.dtype = HEED_INT64, .size = (unsigned char)size,
                     .is_signed = is_signed};
  if (size == 1 && !is_signed) e.dtype = HEED_UINT8;
  if (size == 4 && is_signed) e.dtype = HEED_INT32;
  return e;
}

/* -- reading -- */

static void swap_bytes(unsigned char *data, size_t n, size_t size) {
  for (size_t i = 0; i < n; i++, data += size)
    for (size_t j = 0; j < size / 2; j++) {
      unsigned char byte = data[j];
      data[j] = data[size - 1 - j];
      data[size - 1 - j] = byte;
    }
}

static bool check_bools(const unsigned char *data, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (data[i] > 1)
      return heed_fail("a bool must be the byte 0 or 1, got %d", data[i]);
  return true;
}

/* from: n integers of `size` bytes. Copied before they are read: they may lie
   anywhere. */
static bool widen(int64_t *to, const unsigned char *from, size_t n,
                  const heed_encoding *e) {
  int unused = 64 - 8 * e->size;
  for (size_t i = 0; i < n; i++) {
    uint64_t bits = 0;
    memcpy(&bits, from + i * e->size, e->size);
    if (e->is_signed) {
      to[i] = (int64_t)(bits << unused) >> unused;
    } else {
      if (bits > INT64_MAX)
        return heed_fail("%llu does not fit into int64, which integers become",
                         (unsigned long long)bits);
      to[i] = (int64_t)bits;
    }
  }
  return true;
}

static bool read_widened(heed_tensor *t, const heed_encoding *e,
                         heed_pull *pull, void *from) {
  unsigned char chunk[CHUNK];
  int64_t *to = heed_tensor_data(t);
  size_t left = (size_t)heed_tensor_numel(t), room = CHUNK / e->size;
  while (left > 0) {
    size_t n = left < room ? left : room;
    if (!pull(from, chunk, n * e->size)) return false;
    if (e->swapped) swap_bytes(chunk, n, e->size);
    if (!widen(to, chunk, n, e)) return false;
    to += n;
    left -= n;
  }
  return true;
}

static bool is_widened(const heed_encoding *e) {
  return e->dtype == HEED_INT64 && (e->size < 8 || !e->is_signed);
}

bool heed_elements_read(heed_tensor *t, const heed_encoding *e,
                        heed_pull *pull, void *from) {
  if (is_widened(e)) return read_widened(t, e, pull, from);
  size_t n = (size_t)heed_tensor_numel(t);
  void *data = heed_tensor_data(t);
  if (!pull(from, data, n * e->size)) return false;
  if (e->swapped) swap_bytes(data, n, e->size);
  return e->dtype != HEED_BOOL || check_bools(data, n);
}

/* -- writing -- */

heed_elements heed_elements_of(const heed_tensor *t) {
  return (heed_elements){.tensor = t, .place = t->offset,
                         .left = heed_tensor_numel(t)};
}

size_t heed_elements_next(heed_elements *e, void *data, size_t room) {
  const heed_tensor *t = e->tensor;
  size_t size = heed_dtype_size(t->dtype), used = 0;
  const char *from = t->storage->data;
  for (; e->left > 0 && used + size <= room; e->left--, used += size) {
    memcpy((char *)data + used, from + (size_t)e->place * size, size);
    for (int d = t->shape.ndim - 1; d >= 0; d--) { /* the next position */
      e->place += t->stride[d];
      if (++e->at[d] < t->shape.dim[d]) break;
      e->place -= e->at[d] * t->stride[d];
      e->at[d] = 0;
    }
  }
  return used;
}

bool heed_elements_write(const char *op, const heed_tensor *t,
                         heed_push *push, void *to) {
  size_t bytes =
      (size_t)heed_tensor_numel(t) * heed_dtype_size(t->dtype);
  /* what is mapped goes by way of a buffer: the system, asked to write what is
     gone, only fails */
  if (heed_tensor_is_contiguous(t) && !t->storage->mapping)
    return push(to, heed_tensor_data(t), bytes);
  char chunk[CHUNK];
  heed_elements e = heed_elements_of(t);
  while (e.left > 0) {
    size_t n = heed_elements_next(&e, chunk, sizeof chunk);
    if (!heed_tensor_check_whole(op, t) || !push(to, chunk, n)) return false;
  }
  return true;
}

void heed_elements_reverse(const heed_tensor *t, heed_shape *shape,
                           int64_t *stride) {
  int n = t->shape.ndim;
  shape->ndim = n;
  for (int d = 0; d < n; d++) {
    shape->dim[d] = t->shape.dim[n - 1 - d];
    stride[d] = t->stride[n - 1 - d];
  }
}
