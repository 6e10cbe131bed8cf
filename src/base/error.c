/* error - the thread's message slot. Layer: base. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/point.h"

static _Thread_local char message[1024];

const char *heed_error(void) { return message; }

bool heed_fail(const char *format, ...) {
  va_list args;
  va_start(args, format);
  locale_t was = heed_point_begin();
  vsnprintf(message, sizeof message, format, args);
  heed_point_end(was);
  va_end(args);
  return false;
}

bool heed_fail_prefix(const char *format, ...) {
  char old[sizeof message];
  memcpy(old, message, sizeof old);
  va_list args;
  va_start(args, format);
  int n = vsnprintf(message, sizeof message, format, args);
  va_end(args);
  if (n >= 0 && (size_t)n < sizeof message)
    snprintf(message + n, sizeof message - (size_t)n, "%s", old);
  return false;
}

bool heed_fail_memory(size_t bytes) {
  return heed_fail("out of memory: %zu bytes could not be allocated", bytes);
}
