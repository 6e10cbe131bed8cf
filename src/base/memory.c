/* memory - aligned blocks for tensor data, kept for reuse. Layer: base. */
#define _GNU_SOURCE
#include "base/memory.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/error.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PLAIN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define PLAIN 1
#endif
#endif
#ifndef PLAIN
#define PLAIN 0
#endif

#define SMALL_MAX 1024
#define SMALL_CLASSES (SMALL_MAX / HEED_ALIGN)
#define SLAB ((size_t)64 << 10)
#define HUGE ((size_t)2 << 20)        /* size of a huge page */
#define SEGMENT ((size_t)32 << 20)    /* the least asked of the system */
#define IDLE_FLOOR ((size_t)64 << 20) /* idle bytes that are never given back */
#define BINS 256

/* Stands before each block of a segment; as large as the alignment. */
typedef struct block {
  _Alignas(HEED_ALIGN) size_t size; /* bytes after this header */
  struct block *before;             /* neighbour at a lower address, or NULL */
  struct block *next, *previous; /* in its bin, while free */
  size_t segment;                /* bytes of its segment */
  bool free, last;
} block;

_Static_assert(sizeof(block) == HEED_ALIGN, "a header keeps the alignment");

typedef struct free_small {
  struct free_small *next;
} free_small;

/* Each thread keeps some small blocks for itself, and what it has taken and
   given since it last told the others. */
typedef struct cache {
  free_small *list[SMALL_CLASSES];
  unsigned count[SMALL_CLASSES];
  int64_t used;
  bool started; /* the end of the thread will give all back */
} cache;

#define CACHE_MOST 256 /* blocks of a class */
#define CACHE_TAKE 32  /* blocks taken at a time */

static _Thread_local cache mine;
static pthread_key_t cache_key;
static pthread_once_t cache_once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static free_small *small[SMALL_CLASSES];
static block *bins[BINS];
static uint64_t bin_used[BINS / 64];
static heed_mem_stats stats;
static size_t high_water; /* recent peak of stats.used: it decays */
static _Thread_local heed_mem_relief *relief;

static size_t round_up(size_t n, size_t unit) {
  return (n + unit - 1) / unit * unit;
}

/* Four bins for each doubling; sizes within one differ by a quarter at most.
 */
static int bin_of(size_t size) {
  int log = 63 - __builtin_clzll((unsigned long long)size);
  return log * 4 + (int)((size >> (log - 2)) & 3);
}

static void bin_add(block *b) {
  int i = bin_of(b->size);
  b->free = true;
  b->previous = NULL;
  b->next = bins[i];
  if (bins[i]) bins[i]->previous = b;
  bins[i] = b;
  bin_used[i / 64] |= (uint64_t)1 << (i % 64);
}

static void bin_remove(block *b) {
  int i = bin_of(b->size);
  b->free = false;
  if (b->previous) b->previous->next = b->next;
  else bins[i] = b->next;
  if (b->next) b->next->previous = b->previous;
  if (!bins[i]) bin_used[i / 64] &= ~((uint64_t)1 << (i % 64));
}

/* The smallest free block in the first bin that has one large enough. */
static block *bin_find(size_t size) {
  int first = bin_of(size);
  for (int i = first; i < BINS; i++) {
    uint64_t word = bin_used[i / 64] >> (i % 64);
    if (!word) {
      i = i / 64 * 64 + 63;
      continue;
    }
    i += __builtin_ctzll(word);
    block *best = NULL;
    for (block *b = bins[i]; b; b = b->next)
      if (b->size >= size && (!best || b->size < best->size)) best = b;
    if (best) return best;
  }
  return NULL;
}

static block *after(block *b) {
  return b->last ? NULL : (block *)((char *)(b + 1) + b->size);
}

static block *segment_of(size_t bytes) {
  /* one huge page more than needed, to cut an aligned piece out of it */
  char *map = mmap(NULL, bytes + HUGE, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) return NULL;
  char *start = (char *)round_up((size_t)map, HUGE);
  if (start > map) munmap(map, (size_t)(start - map));
  if (map + HUGE > start) munmap(start + bytes, (size_t)(map + HUGE - start));
  madvise(start, bytes, MADV_HUGEPAGE);
  block *b = (block *)start;
  *b = (block){.size = bytes - sizeof(block), .segment = bytes, .last = true};
  stats.reserved += bytes;
  return b;
}

static block *segment_new(size_t size) {
  size_t bytes = round_up(size + sizeof(block), HUGE);
  block *b = segment_of(bytes < SEGMENT ? SEGMENT : bytes);
  /* where little is left, what is needed has to do */
  return b || bytes >= SEGMENT ? b : segment_of(bytes);
}

/* Cuts `b` down to `size` and gives what is left back to the bins. */
static void split(block *b, size_t size) {
  if (b->size < size + sizeof(block) + SMALL_MAX) return;
  block *rest = (block *)((char *)(b + 1) + size);
  *rest = (block){.size = b->size - size - sizeof(block),
                  .before = b,
                  .segment = b->segment,
                  .last = b->last};
  b->size = size;
  b->last = false;
  if (after(rest)) after(rest)->before = rest;
  bin_add(rest);
}

static block *join(block *low, block *high) {
  low->size += sizeof(block) + high->size;
  low->last = high->last;
  if (after(low)) after(low)->before = low;
  return low;
}

static void segment_free(block *b) {
  stats.reserved -= b->segment;
  munmap(b, b->segment);
}

static void *large_alloc(size_t size) {
  block *b = bin_find(size);
  if (b) bin_remove(b);
  else if (!(b = segment_new(size))) return NULL;
  split(b, size);
  return b + 1;
}

static void large_free(void *data) {
  block *b = (block *)data - 1, *next = after(b);
  if (next && next->free) {
    bin_remove(next);
    join(b, next);
  }
  if (b->before && b->before->free) {
    bin_remove(b->before);
    b = join(b->before, b);
  }
  bool whole = !b->before && b->last;
  if (whole) {
    high_water -= high_water / 64;
    if (high_water < stats.used) high_water = stats.used;
  }
  if (whole && stats.reserved > high_water + high_water / 4 + IDLE_FLOOR)
    segment_free(b);
  else
    bin_add(b);
}

/* Small blocks are cut from slabs and never joined again. */
static void *small_alloc(size_t size) {
  size_t class = size / HEED_ALIGN - 1;
  if (!small[class]) {
    char *slab = large_alloc(SLAB);
    if (!slab) return NULL;
    for (size_t at = 0; at + size <= SLAB; at += size) {
      free_small *f = (free_small *)(slab + at);
      f->next = small[class];
      small[class] = f;
    }
  }
  free_small *f = small[class];
  small[class] = f->next;
  return f;
}

static void note_used(int64_t change) {
  stats.used += (size_t)change;
  if (stats.used > stats.peak) stats.peak = stats.used;
  if (stats.used > high_water) high_water = stats.used;
}

/* -- the thread's own blocks; everything below with the lock held -- */

static void tell_used(void) {
  note_used(mine.used);
  mine.used = 0;
}

static bool take_some(size_t class) {
  for (int i = 0; i < CACHE_TAKE; i++) {
    free_small *f = small_alloc((class + 1) * HEED_ALIGN);
    if (!f) return i > 0;
    f->next = mine.list[class];
    mine.list[class] = f;
    mine.count[class]++;
  }
  return true;
}

static void give_some(size_t class, unsigned keep) {
  while (mine.count[class] > keep) {
    free_small *f = mine.list[class];
    mine.list[class] = f->next;
    mine.count[class]--;
    f->next = small[class];
    small[class] = f;
  }
}

/* At the end of a thread. */
static void cache_end(void *unused) {
  (void)unused;
  pthread_mutex_lock(&lock);
  for (size_t class = 0; class < SMALL_CLASSES; class++) give_some(class, 0);
  tell_used();
  pthread_mutex_unlock(&lock);
  mine.started = false;
}

static void make_key(void) { pthread_key_create(&cache_key, cache_end); }

static void cache_start(void) {
  pthread_once(&cache_once, make_key);
  mine.started = pthread_setspecific(cache_key, &mine) == 0;
}

/* -- without the lock, until more blocks or room are needed -- */

static bool refill(size_t class) {
  if (!mine.started) cache_start();
  pthread_mutex_lock(&lock);
  tell_used();
  bool some = take_some(class);
  pthread_mutex_unlock(&lock);
  return some;
}

static inline void *cache_alloc(size_t size) {
  size_t class = size / HEED_ALIGN - 1;
  cache *m = &mine;
  if (!m->list[class] && !refill(class)) return NULL;
  free_small *f = m->list[class];
  m->list[class] = f->next;
  m->count[class]--;
  m->used += (int64_t)size;
  return f;
}

static void give_back(size_t class) {
  pthread_mutex_lock(&lock);
  give_some(class, CACHE_MOST / 2);
  tell_used();
  pthread_mutex_unlock(&lock);
}

static inline void cache_free(void *data, size_t size) {
  size_t class = size / HEED_ALIGN - 1;
  cache *m = &mine;
  if (!m->started) cache_start(); /* made by another thread */
  free_small *f = data;
  f->next = m->list[class];
  m->list[class] = f;
  m->used -= (int64_t)size;
  if (++m->count[class] > CACHE_MOST) give_back(class);
}

/* What a request takes; 0 when it cannot be served. */
static size_t rounded(size_t bytes) {
  if (bytes > SIZE_MAX / 2) return 0;
  return bytes ? round_up(bytes, HEED_ALIGN) : HEED_ALIGN;
}

static void *try_alloc(size_t size) {
  if (!PLAIN && size <= SMALL_MAX) return cache_alloc(size);
  pthread_mutex_lock(&lock);
  void *data = PLAIN ? aligned_alloc(HEED_ALIGN, size) : large_alloc(size);
  if (data) {
    tell_used();
    note_used((int64_t)size);
  }
  pthread_mutex_unlock(&lock);
  return data;
}

void *heed_mem_alloc(size_t bytes) {
  size_t size = rounded(bytes);
  void *data = size ? try_alloc(size) : NULL;
  if (!data && size) {
    /* relief frees blocks, so it must run without the lock */
    if (relief) relief();
    heed_mem_trim();
    data = try_alloc(size);
  }
  if (!data) heed_fail_memory(bytes);
  return data;
}

void heed_mem_free(void *data, size_t bytes) {
  if (!data) return;
  size_t size = rounded(bytes);
  if (!PLAIN && size <= SMALL_MAX) {
    cache_free(data, size);
    return;
  }
  pthread_mutex_lock(&lock);
  note_used(-(int64_t)size);
  if (PLAIN) free(data);
  else large_free(data);
  pthread_mutex_unlock(&lock);
}

void heed_mem_trim(void) {
  pthread_mutex_lock(&lock);
  for (int i = 0; i < BINS; i++)
    for (block *b = bins[i], *next; b; b = next) {
      next = b->next;
      if (b->before || !b->last) continue;
      bin_remove(b);
      segment_free(b);
    }
  high_water = stats.used;
  pthread_mutex_unlock(&lock);
}

static void fork_begins(void) { pthread_mutex_lock(&lock); }
static void fork_ends(void) { pthread_mutex_unlock(&lock); }

void heed_mem_allow_fork(void) {
  pthread_atfork(fork_begins, fork_ends, fork_ends);
}

void heed_mem_set_relief(heed_mem_relief *f) { relief = f; }

heed_mem_stats heed_mem_get_stats(void) {
  pthread_mutex_lock(&lock);
  tell_used();
  heed_mem_stats now = stats;
  pthread_mutex_unlock(&lock);
  return now;
}

void heed_mem_reset_peak(void) {
  pthread_mutex_lock(&lock);
  tell_used();
  stats.peak = stats.used;
  pthread_mutex_unlock(&lock);
}
