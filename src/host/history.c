/*
 * history - the file that keeps what was typed between sessions. Layer: host.
 */
#include "host/history.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Makes the folders above the file. What is there already is fine, and what
   cannot be made shows when the file is opened. */
static void make_folders(const char *path) {
  char at[PATH_MAX];
  size_t size = strlen(path);
  if (size >= sizeof at) return;
  memcpy(at, path, size + 1);
  for (char *slash = strchr(at + 1, '/'); slash;
       slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    mkdir(at, 0700);
    *slash = '/';
  }
}

static bool write_all(int file, const char *text, size_t size) {
  while (size > 0) {
    ssize_t done = write(file, text, size);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    text += done;
    size -= (size_t)done;
  }
  return true;
}

/* Keeps the last lines, `keep` bytes at most. They are copied to the front
   before the file is cut, so a crash in between doubles some and loses none. */
static bool trim(int file, off_t size, size_t keep) {
  char *text = malloc(keep);
  if (!text) return false;
  ssize_t got = pread(file, text, keep, size - (off_t)keep);
  const char *start =
      got > 0 ? memchr(text, '\n', (size_t)got) : NULL; /* of a whole line */
  bool ok = start != NULL;
  if (ok) {
    size_t count = (size_t)(text + got - (start + 1));
    ok = pwrite(file, start + 1, count, 0) == (ssize_t)count &&
         ftruncate(file, (off_t)count) == 0;
  }
  free(text);
  return ok;
}

/* A line that a crash has left without its end must not swallow ours. */
static bool ends_a_line(int file, off_t size) {
  char last = '\n';
  return size == 0 || pread(file, &last, 1, size - 1) != 1 || last == '\n';
}

bool heed_history_append(const char *path, const char *line, size_t size,
                         size_t limit) {
  make_folders(path);
  int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return false;
  struct stat found;
  bool ok = false;
  while (flock(file, LOCK_EX) < 0 && errno == EINTR) continue;
  if (fstat(file, &found) < 0) goto done;
  if (!S_ISREG(found.st_mode)) { /* /dev/null keeps nothing, and may */
    ok = true;
    goto done;
  }
  off_t end = lseek(file, 0, SEEK_END);
  ok = end >= 0 && (ends_a_line(file, end) || write_all(file, "\n", 1)) &&
       write_all(file, line, size) && write_all(file, "\n", 1);
  end = lseek(file, 0, SEEK_CUR);
  if (ok && end > 0 && (size_t)end > limit) ok = trim(file, end, limit / 2);
done:;
  int error = errno;
  close(file); /* gives the lock back */
  errno = error;
  return ok;
}
