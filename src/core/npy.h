/*
 * npy - NumPy's files of one array, read and written.
 * Layer: core. Read first: tensor.h, elements.h.
 *
 *   6 bytes  \x93NUMPY
 *   2 bytes  the version: 1.0, 2.0 or 3.0
 *   2 bytes  (4 from version 2 on) n, the length of the header, little-endian
 *   n bytes  a dictionary as Python writes it: {'descr': '<f4',
 *            'fortran_order': False, 'shape': (2, 3), }
 *   the rest the elements, row-major, or column-major in Fortran order
 *
 * Types are read as elements.h has it, of either byte order. Complex numbers,
 * texts, dates, records and Python objects are refused. What is written is
 * byte for byte what numpy.save writes; it has no bfloat16.
 */
#ifndef HEED_CORE_NPY_H
#define HEED_CORE_NPY_H

#include "core/elements.h"

#define HEED_NPY_MAX_HEADER 65535

/* What stands before the elements. */
typedef struct heed_npy {
  heed_encoding encoding;
  heed_shape shape;
  bool fortran;
} heed_npy;

/* Reads it through `pull`. Fails with a message about the array, which the
   caller opens with the name of the file. */
bool heed_npy_read_head(heed_npy *head, heed_pull *pull, void *from);
/* How many bytes the elements take; the shape is checked. */
int64_t heed_npy_bytes(const heed_npy *head);
/* Reads them; column-major ones become a view with such strides. */
heed_tensor *heed_npy_read_elements(const heed_npy *head, heed_pull *pull,
                                    void *from);

/* The head of a file of `t` into `text`; returns its length, or 0 with a
   message for a dtype that NumPy lacks. */
#define HEED_NPY_HEAD 512
size_t heed_npy_head(const heed_tensor *t, bool fortran,
                     char text[HEED_NPY_HEAD]);

/* A whole file. `op` opens messages. */
heed_tensor *heed_npy_load(const char *op, const char *path);
bool heed_npy_save(const char *op, const char *path, heed_tensor *t,
                   bool fortran);

#endif
