/*
 * fuzz - the input of a target as a file. Read first: libFuzzer's manual.
 *
 * Readers take paths: the bytes lie in a file that has no place on a disk.
 */
#ifndef HEED_SPEC_FUZZ_H
#define HEED_SPEC_FUZZ_H

#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/tensor.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Writes the bytes and returns a path for them. */
static inline const char *fuzz_path(const uint8_t *data, size_t size) {
  static int fd = -1;
  static char path[40];
  if (fd < 0) {
    fd = memfd_create("fuzz", MFD_CLOEXEC);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  }
  if (fd < 0 || ftruncate(fd, 0) != 0 ||
      pwrite(fd, data, size, 0) != (ssize_t)size)
    abort();
  return path;
}

/* Reads every element, so that a sanitizer sees them; drops the tensor and
   returns how many bytes it had. */
static size_t fuzz_read(heed_tensor *t) {
  size_t bytes = (size_t)heed_tensor_numel(t) * heed_dtype_size(t->dtype);
  volatile unsigned char sum = 0;
  const unsigned char *at = t->storage->data;
  for (size_t i = 0; i < bytes; i++) sum = (unsigned char)(sum + at[i]);
  heed_tensor_drop(t);
  return bytes;
}

/* A result, or NULL, of a file of `size` bytes, which must be able to fill
   it. */
static inline void fuzz_use(heed_tensor *t, size_t size) {
  if (t && fuzz_read(t) / 8 / 1032 > size) abort();
}

#define FUZZ_PIXELS ((int64_t)1 << 20)

/* A picture, or NULL, of at most so many of them. */
static inline void fuzz_picture(heed_tensor *t) {
  if (t && fuzz_read(t) > (size_t)FUZZ_PIXELS * 4 * sizeof(int32_t)) abort();
}

#endif
