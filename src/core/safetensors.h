/*
 * safetensors - files of named tensors, read and written.
 * Layer: core. Read first: tensor.h.
 *
 *   8 bytes  n, the length of the header, little-endian
 *   n bytes  a JSON object: name -> {"dtype": "F32", "shape": [2, 3],
 *            "data_offsets": [begin, end]}, offsets counted from the end of
 *            the header; "__metadata__" -> an object of strings
 *   the rest the tensors' elements, row-major, little-endian, no gaps
 *
 * Every dtype of heed is written, and read again as it is. The integers that
 * heed lacks (I16, I8, U64, U32, U16) become int64; a U64 beyond it is an
 * error.
 *
 * A file is not trusted: everything is checked against its size before memory
 * is asked for, and it is read with pread, so that a file that is cut short
 * meanwhile is an error. Mapped (base/mapping.h) it is one too, of the op that
 * comes upon what is missing.
 */
#ifndef HEED_CORE_SAFETENSORS_H
#define HEED_CORE_SAFETENSORS_H

#include "core/file.h"
#include "core/tensor.h"

typedef struct heed_safetensors heed_safetensors;

/* Opens a file and checks its header; NULL with a message on failure. `op`
   opens messages and must last as long as the file. Elements are read when
   they are asked for; `mapped`: tensors of floats and of bytes are views of
   the file in memory, unless they lie where their dtype cannot. What is checked
   before it is used, bools and the integers that are positions, is always read:
   in a mapping it could change in between. */
heed_safetensors *heed_safetensors_open(const char *op, const char *path,
                                        bool mapped);
void heed_safetensors_close(heed_safetensors *s); /* NULL is allowed */

/* The tensors, in the order in which their data lies in the file. */
int heed_safetensors_count(const heed_safetensors *s);
const char *heed_safetensors_name(const heed_safetensors *s, int i);
heed_dtype heed_safetensors_dtype(const heed_safetensors *s, int i);
const heed_shape *heed_safetensors_shape(const heed_safetensors *s, int i);
/* Reads tensor i; the caller owns it. */
heed_tensor *heed_safetensors_load(const heed_safetensors *s, int i);
/* Reads n rows of it from row `first`, counted from 0, which it must have. */
heed_tensor *heed_safetensors_rows(const heed_safetensors *s, int i,
                                   int64_t first, int64_t n);

/* Calls `visit` for every pair of the metadata. */
void heed_safetensors_metadata(const heed_safetensors *s,
                               void (*visit)(void *user, const char *key,
                                             const char *value),
                               void *user);

/* Writes n tensors (any strides) in the given order, and nmeta pairs of
   metadata: keys and values in turn. The file at `path` is replaced whole or,
   on failure, stays as it was. */
bool heed_safetensors_save(const char *path, int n, const heed_text *names,
                           heed_tensor *const *tensors, int nmeta,
                           const heed_text *metadata);

#endif
