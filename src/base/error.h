/* error - the thread's message slot. Layer: base. */
#ifndef HEED_BASE_ERROR_H
#define HEED_BASE_ERROR_H

#include "heed.h"

/* Sets the message and returns false, so that a check reads
   `return heed_fail("softmax: ...")`. */
bool heed_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Puts `format` in front of the message that is there. */
bool heed_fail_prefix(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

bool heed_fail_memory(size_t bytes);

#endif
