/*
 * memory - aligned blocks for tensor data, kept for reuse. Layer: base.
 *
 * Small blocks (up to 1 KiB) come from free lists by size class, of which each
 * thread keeps its own. Larger ones
 * are cut from segments, best fit first, and joined again with their free
 * neighbours, so that a loop with changing shapes reuses what it has instead
 * of asking the system: a fresh page costs far more than the work done in it.
 * A wholly free segment goes back to the system when more than a quarter of
 * the recent peak would lie idle. Built with a sanitizer, every block is
 * a plain allocation, so that an access outside it is seen.
 */
#ifndef HEED_BASE_MEMORY_H
#define HEED_BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#define HEED_ALIGN 64

/* A block of at least `bytes` (0 gives a valid block), aligned to HEED_ALIGN,
   not cleared; NULL with a message when there is no memory. Any thread may
   allocate and free. */
void *heed_mem_alloc(size_t bytes);
/* `bytes` as asked for; a NULL block is allowed */
void heed_mem_free(void *block, size_t bytes);

/* Called when an allocation would fail, at most once for it: frees what it
   can. Set by whoever can (the binding runs a full collection). */
typedef void heed_mem_relief(void);
void heed_mem_set_relief(heed_mem_relief *relief); /* for this thread */

/* From now on fork waits until no other thread is in the midst of an
   allocation, so that its child can allocate. Once is enough. */
void heed_mem_allow_fork(void);

/* Gives idle memory back to the system. */
void heed_mem_trim(void);

typedef struct heed_mem_stats {
  size_t used;     /* bytes in blocks handed out, now */
  size_t peak;     /* the most that `used` has been */
  size_t reserved; /* bytes held from the system */
} heed_mem_stats;
heed_mem_stats heed_mem_get_stats(void);
void heed_mem_reset_peak(void);

#endif
