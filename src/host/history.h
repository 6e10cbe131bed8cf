/*
 * history - the file that keeps what was typed between sessions. Layer: host.
 */
#ifndef HEED_HOST_HISTORY_H
#define HEED_HOST_HISTORY_H

#include <stdbool.h>
#include <stddef.h>

/* Appends a line, given without its end, to the file, which only its owner may
   read; makes it and its folders if need be. A file that has grown beyond
   `limit` bytes loses the older half of its lines. Sessions may do so at the
   same time and lose nothing. False, with errno set, if it failed. */
bool heed_history_append(const char *path, const char *line, size_t size,
                         size_t limit);

#endif
