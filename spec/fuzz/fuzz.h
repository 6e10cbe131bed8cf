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
static const char *fuzz_path(const uint8_t *data, size_t size) {
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

/* Reads every element of a result, so that a sanitizer sees them; and sees
   that a reader asks for no more memory than a file of this size can fill. */
static void fuzz_use(heed_tensor *t, size_t size) {
  if (!t) return;
  size_t bytes = (size_t)heed_tensor_numel(t) * heed_dtype_size(t->dtype);
  if (bytes / 8 / 1032 > size) abort();
  volatile unsigned char sum = 0;
  const unsigned char *at = t->storage->data;
  for (size_t i = 0; i < bytes; i++) sum = (unsigned char)(sum + at[i]);
  heed_tensor_drop(t);
}

#endif
