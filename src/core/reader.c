/* reader - the bytes of a plain file, by place. Layer: core. */
#define _GNU_SOURCE
#include "core/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/interrupt.h"

#define PIECE ((size_t)1 << 26) /* bytes between looks for an interrupt */

bool heed_reader_blame(const heed_reader *r) {
  return heed_fail_prefix("%s: %s: ", r->op, r->path);
}

bool heed_reader_fail(const heed_reader *r, const char *format, ...) {
  char text[700];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  heed_fail("%s", text);
  return heed_reader_blame(r);
}

bool heed_reader_open(heed_reader *r, const char *op, const char *path) {
  *r = (heed_reader){.op = op, .path = strdup(path), .fd = -1};
  if (!r->path) return heed_fail_memory(strlen(path) + 1);
  /* without O_NONBLOCK, opening a pipe would wait for its other end */
  r->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat info;
  bool ok = true;
  if (r->fd < 0 || fstat(r->fd, &info) != 0)
    ok = heed_reader_fail(r, "cannot be opened: %s", strerror(errno));
  else if (!S_ISREG(info.st_mode))
    ok = heed_reader_fail(r, "is no plain file");
  else
    r->size = info.st_size;
  if (!ok) heed_reader_close(r);
  return ok;
}

bool heed_reader_read(const heed_reader *r, void *data, size_t bytes,
                      int64_t offset) {
  char *at = data;
  while (bytes > 0) {
    if (heed_interrupt_asked() && heed_interrupt_take())
      return heed_fail("%s: interrupted", r->op);
    ssize_t n = pread(r->fd, at, bytes < PIECE ? bytes : PIECE,
                      (off_t)offset);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0)
      return heed_reader_fail(r, "cannot be read: %s", strerror(errno));
    if (n == 0) return heed_reader_fail(r, "was cut short while it was read");
    at += n;
    offset += n;
    bytes -= (size_t)n;
  }
  return true;
}

void heed_reader_close(heed_reader *r) {
  if (r->fd >= 0) close(r->fd);
  free(r->path);
  *r = (heed_reader){.op = r->op, .fd = -1};
}
