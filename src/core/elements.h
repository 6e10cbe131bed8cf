/*
 * elements - the elements of tensors as the bytes of files.
 * Layer: core. Read first: tensor.h.
 *
 * Files know types that heed lacks. What heed has stays as it is; any other
 * integer becomes int64, and one beyond int64 is an error. A bool is the byte
 * 0 or 1.
 */
#ifndef HEED_CORE_ELEMENTS_H
#define HEED_CORE_ELEMENTS_H

#include "core/tensor.h"

/* A type of a file. */
typedef struct heed_encoding {
  heed_dtype dtype;   /* what it becomes */
  unsigned char size; /* bytes in the file */
  bool is_signed;     /* of integers */
  bool swapped;       /* big-endian */
} heed_encoding;

/* As tensors of this dtype lie in memory, which is how they are written. */
heed_encoding heed_encoding_of(heed_dtype dtype);
/* That of an integer of 1, 2, 4 or 8 bytes. */
heed_encoding heed_encoding_of_integer(size_t size, bool is_signed);

/* Gives the next bytes of a file, or fails with a message. */
typedef bool heed_pull(void *from, void *data, size_t bytes);
/* Takes them. */
typedef bool heed_push(void *to, const void *data, size_t bytes);

/* Fills a row-major tensor with elements that `pull` gives. The caller has
   compared its shape with the size of the file. */
bool heed_elements_read(heed_tensor *t, const heed_encoding *e,
                        heed_pull *pull, void *from);

/* The elements of any view, row-major, a piece at a time. */
typedef struct heed_elements {
  const heed_tensor *tensor;
  int64_t at[HEED_MAX_DIM];
  int64_t place, left;
} heed_elements;

heed_elements heed_elements_of(const heed_tensor *t);
/* Copies up to `room` bytes of whole elements; 0 at the end. */
size_t heed_elements_next(heed_elements *e, void *data, size_t room);
/* All of them; `op` opens the message when they are no longer there. */
bool heed_elements_write(const char *op, const heed_tensor *t,
                         heed_push *push, void *to);

/* Sizes and strides of a tensor with its dimensions in reverse: row-major
   elements of one are column-major elements of the other. */
void heed_elements_reverse(const heed_tensor *t, heed_shape *shape,
                           int64_t *stride);

#endif
