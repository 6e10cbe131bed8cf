/*
 * npz - NumPy's archives of named arrays, read and written.
 * Layer: core. Read first: npy.h.
 *
 * A zip archive with a member NAME.npy for each array, stored or deflated.
 * libzip reads and writes archives, also those beyond 4 GB (ZIP64); here its
 * bytes come from a heed_reader and go to a heed_file, so that a file is
 * replaced whole. Members that do not end in .npy are left alone.
 */
#ifndef HEED_CORE_NPZ_H
#define HEED_CORE_NPZ_H

#include "core/file.h"
#include "core/npy.h"

typedef struct heed_npz heed_npz;

/* Opens an archive and checks its directory; NULL with a message on failure.
   `op` opens messages and must last as long as the archive. */
heed_npz *heed_npz_open(const char *op, const char *path);
void heed_npz_close(heed_npz *z); /* NULL is allowed */

/* The arrays, in the order of the directory. */
int heed_npz_count(const heed_npz *z);
heed_text heed_npz_name(const heed_npz *z, int i); /* without .npy */
/* What stands before the elements of array i. */
bool heed_npz_head(heed_npz *z, int i, heed_npy *head);
/* Reads array i as heed_npy_read_elements does; the caller owns it. */
heed_tensor *heed_npz_load(heed_npz *z, int i);

/* Writes n tensors. The file at `path` is replaced whole or, on failure,
   stays as it was. */
bool heed_npz_save(const char *op, const char *path, int n,
                   const heed_text *names, heed_tensor *const *tensors,
                   bool compressed);

#endif
