/* file - a file that replaces another one whole. Layer: core. */
#define _GNU_SOURCE
#include "core/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

static bool fail(const heed_file *f, const char *path, const char *what) {
  return heed_fail("%s: %s: %s: %s", f->op, path, what, strerror(errno));
}

/* Frees the names, keeps errno. */
static void release(heed_file *f) {
  int error = errno;
  if (f->fd >= 0) close(f->fd);
  free(f->path);
  free(f->temp);
  *f = (heed_file){.op = f->op, .fd = -1};
  errno = error;
}

/* Length of the folder part of a path, with its slash. */
static size_t folder_length(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? (size_t)(slash - path) + 1 : 0;
}

/* Opens a new file beside the target. Its name does not grow with the
   target's, which may be as long as names can be. */
static bool open_temp(heed_file *f) {
  size_t folder = folder_length(f->path);
  size_t room = folder + 64;
  f->temp = malloc(room);
  if (!f->temp) return false;
  for (int i = 0; i < 1000; i++) {
    snprintf(f->temp, room, "%.*s.heed-%ld-%d.tmp", (int)folder, f->path,
             (long)getpid(), i);
    f->fd = open(f->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (f->fd >= 0 || errno != EEXIST) break;
  }
  return f->fd >= 0;
}

bool heed_file_begin(heed_file *f, const char *op, const char *path) {
  *f = (heed_file){.op = op, .fd = -1};
  /* a link stays a link: what it points to is replaced */
  f->path = realpath(path, NULL);
  if (!f->path && errno == ENOENT) f->path = strdup(path);
  if (!f->path) return fail(f, path, "cannot be written");
  struct stat old;
  bool there = stat(f->path, &old) == 0;
  if (there && !S_ISREG(old.st_mode)) {
    release(f);
    return heed_fail("%s: %s: cannot be written: it is no plain file", op,
                     path);
  }
  /* a rename would not ask: what is protected is not replaced */
  if (there && access(f->path, W_OK) != 0) {
    release(f);
    return fail(f, path, "cannot be written");
  }
  if (!open_temp(f)) {
    release(f);
    return fail(f, path, "cannot be written");
  }
  if (there) (void)!fchmod(f->fd, old.st_mode & 07777);
  return true;
}

/* Writes where the file stands, or at `offset` unless that is negative. */
static bool write_bytes(heed_file *f, const char *at, size_t bytes,
                        int64_t offset) {
  while (bytes > 0) {
    ssize_t n = offset < 0 ? write(f->fd, at, bytes)
                           : pwrite(f->fd, at, bytes, (off_t)offset);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      if (n == 0) errno = ENOSPC;
      return fail(f, f->path, "writing failed");
    }
    at += n;
    bytes -= (size_t)n;
    if (offset >= 0) offset += n;
  }
  return true;
}

bool heed_file_write(heed_file *f, const void *data, size_t bytes) {
  return write_bytes(f, data, bytes, -1);
}

bool heed_file_write_at(heed_file *f, const void *data, size_t bytes,
                        int64_t offset) {
  return write_bytes(f, data, bytes, offset);
}

/* Makes a rename in the folder of `path` last through a power cut. Some
   filesystems cannot sync folders: there is nothing more to do on them. */
static bool sync_folder(const char *path) {
  size_t n = folder_length(path);
  char *folder = n ? strndup(path, n) : strdup(".");
  if (!folder) return false;
  int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  free(folder);
  if (fd < 0) return errno == EACCES;
  bool ok = fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP;
  int error = errno;
  close(fd);
  errno = error;
  return ok;
}

bool heed_file_commit(heed_file *f) {
  bool ok = fsync(f->fd) == 0;
  if (close(f->fd) != 0) ok = false;
  f->fd = -1;
  if (!ok || rename(f->temp, f->path) != 0) {
    fail(f, f->path, "writing failed");
    heed_file_abandon(f);
    return false;
  }
  ok = sync_folder(f->path) ||
       fail(f, f->path, "is written, but its folder cannot be synced");
  release(f);
  return ok;
}

void heed_file_abandon(heed_file *f) {
  if (f->temp) unlink(f->temp);
  release(f);
}
