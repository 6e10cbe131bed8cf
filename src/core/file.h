/*
 * file - a file that replaces another one whole, or not at all.
 * Layer: core.
 *
 * It is written under a name of its own beside the target, synced and then
 * renamed: a kill at any moment leaves the old file or the new one.
 */
#ifndef HEED_CORE_FILE_H
#define HEED_CORE_FILE_H

#include "heed.h"

/* A name or a text, not ended by a zero. */
typedef struct heed_text {
  const char *data;
  size_t length;
} heed_text;

typedef struct heed_file {
  const char *op; /* opens messages */
  char *path;     /* the target, symbolic links followed */
  char *temp;     /* what is written, in the same folder */
  int fd;
} heed_file;

/* Opens `f` for a new content of `path`. On failure there is nothing to
   abandon. `op` and `path` must last as long as the file. */
bool heed_file_begin(heed_file *f, const char *op, const char *path);
bool heed_file_write(heed_file *f, const void *data, size_t bytes);
/* The same at a place counted from the start; the next heed_file_write is not
   moved by it. */
bool heed_file_write_at(heed_file *f, const void *data, size_t bytes,
                        int64_t offset);
/* Puts the new content in place; on failure the old one stays. Ends `f`. */
bool heed_file_commit(heed_file *f);
/* Removes what was written. Ends `f`. */
void heed_file_abandon(heed_file *f);

#endif
