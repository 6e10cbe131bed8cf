/*
 * reader - the bytes of a plain file, by place.
 * Layer: core.
 *
 * Bytes are read when they are wanted, with pread, and not through a mapping:
 * a file that another process cuts short is then an error and not a fault.
 */
#ifndef HEED_CORE_READER_H
#define HEED_CORE_READER_H

#include "heed.h"

typedef struct heed_reader {
  const char *op; /* opens messages */
  char *path;
  int fd;
  int64_t size; /* when it was opened */
} heed_reader;

/* Opens `path`; `op` must last as long as the reader. On failure there is
   nothing to close. */
bool heed_reader_open(heed_reader *r, const char *op, const char *path);
bool heed_reader_read(const heed_reader *r, void *data, size_t bytes,
                      int64_t offset);
void heed_reader_close(heed_reader *r); /* also of {.fd = -1} */

/* Fails with "OP: PATH: " and a message. */
bool heed_reader_fail(const heed_reader *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Puts "OP: PATH: " in front of the message that is there. */
bool heed_reader_blame(const heed_reader *r);

#endif
