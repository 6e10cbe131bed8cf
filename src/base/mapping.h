/*
 * mapping - a file's bytes as memory, read by the system when they are used.
 * Layer: base.
 *
 * Private and writable: a write changes a copy of its page, never the file.
 * Whoever cuts the file short takes pages away from all that have it mapped,
 * and a process that reads one is sent SIGBUS, which ends it. So the first
 * mapping installs a handler: it puts zeros in the place of what is gone and
 * marks the mapping as broken; whoever has read from it asks
 * heed_mapping_check before it trusts a result. What the handler finds to be
 * none of ours it hands to the one that was there before.
 */
#ifndef HEED_BASE_MAPPING_H
#define HEED_BASE_MAPPING_H

#include <stdatomic.h>

#include "heed.h"

typedef struct heed_mapping heed_mapping;

/* Maps the first `bytes`, at least 1, of an open file, of which it keeps a
   descriptor of its own; the caller has one reference. `path` is for messages
   and copied. NULL with a message, which the caller opens, on failure. */
heed_mapping *heed_mapping_new(int fd, const char *path, size_t bytes);
/* Any thread may count. */
heed_mapping *heed_mapping_ref(heed_mapping *m);
void heed_mapping_drop(heed_mapping *m); /* NULL is allowed */

void *heed_mapping_data(const heed_mapping *m);

/* How many mappings of the process are broken. */
extern atomic_int heed_mapping_broken;
/* Is any? Cheap, and right in any thread. */
static inline bool heed_mapping_any_broken(void) {
  return atomic_load_explicit(&heed_mapping_broken, memory_order_relaxed) > 0;
}
/* Fails with "OP: PATH was cut short while it was mapped" if pages of m have
   been lost. */
bool heed_mapping_check(const heed_mapping *m, const char *op);
/* The same, and looks at how long the file is now, which sees what no page
   shows: that the end of the last one is gone. */
bool heed_mapping_check_size(heed_mapping *m, const char *op);

#endif
