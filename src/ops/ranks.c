/*
 * ranks - the values of a line as numbers to be sorted. Layer: ops.
 * Read first: ranks.h.
 *
 * Where a rank and a place fit into 64 bits together, they are one number,
 * the rank on top. Many entries are sorted by a digit of the rank at a time,
 * the lowest first, each time keeping the order of equal digits; fewer by
 * merging runs. To find entry number k, they are counted by their highest
 * digit, and only those of its digit are looked at further.
 */
#include "ops/ranks.h"

#include <string.h>

#include "base/parallel.h"

#define FEW 24   /* entries that are sorted by insertion */
#define SOME 400 /* entries that are sorted by merging */
#define DIGIT 8  /* bits */
#define BASE (1 << DIGIT)
#define STRETCH (1 << 20) /* entries between looks for an interrupt */

typedef uint64_t u64;

typedef struct pair {
  u64 rank;
  int64_t place;
} pair;

/* -- ranks -- */

static inline u64 rank32(float f) {
  uint32_t bits;
  if (f == 0) f = 0; /* -0 too */
  memcpy(&bits, &f, sizeof bits);
  bits ^= bits >> 31 ? UINT32_MAX : 1u << 31;
  return f != f ? UINT32_MAX : bits;
}
static inline u64 rank64(double f) {
  u64 bits;
  if (f == 0) f = 0;
  memcpy(&bits, &f, sizeof bits);
  bits ^= bits >> 63 ? UINT64_MAX : (u64)1 << 63;
  return f != f ? UINT64_MAX : bits;
}

/* Does CASE(type, rank of v) for a dtype. */
#define EACH_DTYPE(dtype, CASE)                                \
  switch (dtype) {                                             \
    case HEED_FLOAT32: CASE(float, rank32(v))                  \
    case HEED_FLOAT64: CASE(double, rank64(v))                 \
    case HEED_INT64: CASE(int64_t, (u64)v ^ (u64)1 << 63)      \
    case HEED_INT32: CASE(int32_t, (uint32_t)v ^ 1u << 31)     \
    default: CASE(uint8_t, v)                                  \
  }

static int rank_bits(heed_dtype dtype) {
  return (int)heed_dtype_size(dtype) * 8;
}
/* What turns the bits of a rank. */
static u64 turning(int bits, bool down) {
  return down ? UINT64_MAX >> (64 - bits) : 0;
}

u64 heed_rank_of(heed_dtype dtype, const void *value, bool down) {
  u64 turn = turning(rank_bits(dtype), down);
#define ONE(type, rank)              \
  {                                  \
    type v = *(const type *)value;   \
    return (rank) ^ turn;            \
  }
  EACH_DTYPE(dtype, ONE)
#undef ONE
}

static bool is_wide(heed_dtype dtype, int64_t n) {
  return rank_bits(dtype) > 32 || n > UINT32_MAX;
}

size_t heed_ranks_room(heed_dtype dtype, int64_t n) {
  return 2 * (size_t)n * (is_wide(dtype, n) ? sizeof(pair) : sizeof(u64));
}

void heed_ranks_read(heed_ranks *r, heed_dtype dtype, int64_t n, const void *x,
                     bool down, void *scratch) {
  *r = (heed_ranks){.dtype = dtype, .down = down, .wide = is_wide(dtype, n),
                    .bits = rank_bits(dtype), .n = n, .entry = scratch};
  u64 turn = turning(r->bits, down), *narrow = scratch;
  pair *wide = scratch;
  r->spare = r->wide ? (void *)(wide + n) : (void *)(narrow + n);
#define ALL(type, rank)                                \
  {                                                    \
    const type *from = x;                              \
    if (r->wide)                                       \
      for (int64_t i = 0; i < n; i++) {                \
        const type v = from[i];                        \
        wide[i] = (pair){(rank) ^ turn, i};            \
      }                                                \
    else                                               \
      for (int64_t i = 0; i < n; i++) {                \
        const type v = from[i];                        \
        narrow[i] = ((rank) ^ turn) << 32 | (u64)i;    \
      }                                                \
    break;                                             \
  }
  EACH_DTYPE(dtype, ALL)
#undef ALL
}

/* -- sorting and selecting, for both kinds of entries -- */

#define LESS_narrow(a, b) ((a) < (b))
#define LESS_wide(a, b) ((a).rank < (b).rank)
#define UP_TO_narrow(a, b) ((a) <= (b))
#define UP_TO_wide(a, b)   \
  ((a).rank < (b).rank || ((a).rank == (b).rank && (a).place <= (b).place))
#define RANK_narrow(a) ((a) >> 32)
#define RANK_wide(a) ((a).rank)

#define INSERT(kind, type)                                          \
  static void insert_##kind(type *a, int64_t n) {                   \
    for (int64_t i = 1; i < n; i++) {                               \
      type x = a[i];                                                \
      int64_t j = i;                                                \
      for (; j > 0 && LESS_##kind(x, a[j - 1]); j--) a[j] = a[j - 1]; \
      a[j] = x;                                                     \
    }                                                               \
  }

/* Runs of FEW, then of twice as many ... */
#define MERGE(kind, type)                                           \
  static type *merge_##kind(type *a, type *spare, int64_t n) {      \
    for (int64_t i = 0; i < n; i += FEW)                            \
      insert_##kind(a + i, n - i < FEW ? n - i : FEW);              \
    for (int64_t run = FEW; run < n; run *= 2) {                    \
      for (int64_t i = 0; i < n; i += 2 * run) {                    \
        int64_t middle = i + run < n ? i + run : n;                 \
        int64_t end = middle + run < n ? middle + run : n;          \
        int64_t left = i, right = middle, to = i;                   \
        while (left < middle && right < end) {                      \
          const bool second = LESS_##kind(a[right], a[left]);       \
          spare[to++] = a[second ? right : left];                   \
          right += second;                                          \
          left += !second;                                          \
        }                                                           \
        while (left < middle) spare[to++] = a[left++];              \
        while (right < end) spare[to++] = a[right++];               \
      }                                                             \
      type *t = a;                                                  \
      a = spare;                                                    \
      spare = t;                                                    \
    }                                                               \
    return a;                                                       \
  }

/* All digits are counted in one pass. When the op is given up, the entries
   stay as they were before a digit: in some order, all there. */
#define SORT(kind, type)                                            \
  static type *sort_##kind(type *a, type *spare, int64_t n, int bits) { \
    if (n <= SOME) return merge_##kind(a, spare, n);                \
    int64_t count[64 / DIGIT][BASE] = {0};                          \
    for (int64_t i = 0; i < n; i++) {                               \
      if (i % STRETCH == 0 && heed_parallel_given_up()) return a;   \
      for (int d = 0; d < bits / DIGIT; d++)                        \
        count[d][RANK_##kind(a[i]) >> d * DIGIT & (BASE - 1)]++;    \
    }                                                               \
    for (int d = 0; d < bits / DIGIT; d++) {                        \
      const int shift = d * DIGIT;                                  \
      int64_t *start = count[d], at = 0;                            \
      if (start[RANK_##kind(a[0]) >> shift & (BASE - 1)] == n) continue; \
      for (int b = 0; b < BASE; b++) {                              \
        int64_t some = start[b];                                    \
        start[b] = at;                                              \
        at += some;                                                 \
      }                                                             \
      for (int64_t from = 0; from < n; from += STRETCH) {           \
        const int64_t end = n - from < STRETCH ? n : from + STRETCH; \
        if (heed_parallel_given_up()) return a;                     \
        for (int64_t i = from; i < end; i++)                        \
          spare[start[RANK_##kind(a[i]) >> shift & (BASE - 1)]++] = a[i]; \
      }                                                             \
      type *t = a;                                                  \
      a = spare;                                                    \
      spare = t;                                                    \
    }                                                               \
    return a;                                                       \
  }

#define SELECT(kind, type)                                          \
  static type select_##kind(type *a, int64_t n, int64_t k, int bits) { \
    for (int shift = bits - DIGIT; n > FEW && shift >= 0; shift -= DIGIT) { \
      int64_t count[BASE] = {0}, m = 0;                             \
      u64 b = 0;                                                    \
      for (int64_t i = 0; i < n; i++)                               \
        count[RANK_##kind(a[i]) >> shift & (BASE - 1)]++;           \
      for (; k >= count[b]; b++) k -= count[b];                     \
      if (count[b] == n) continue;                                  \
      for (int64_t i = 0; i < n; i++) {                             \
        a[m] = a[i];                                                \
        m += (RANK_##kind(a[i]) >> shift & (BASE - 1)) == b;        \
      }                                                             \
      n = m;                                                        \
    }                                                               \
    if (n <= FEW) insert_##kind(a, n);                              \
    return a[k];                                                    \
  }

/* Keeps the first k in order, where they are. */
#define KEEP(kind, type)                                            \
  static void keep_##kind(type *a, type *spare, int64_t n, int64_t k, \
                          int bits) {                               \
    memcpy(spare, a, sizeof *a * (size_t)n);                        \
    const type last = select_##kind(spare, n, k - 1, bits);         \
    int64_t m = 0;                                                  \
    for (int64_t i = 0; m < k; i++) {                               \
      a[m] = a[i];                                                  \
      m += UP_TO_##kind(a[i], last);                                \
    }                                                               \
  }

INSERT(narrow, u64)
INSERT(wide, pair)
MERGE(narrow, u64)
MERGE(wide, pair)
SORT(narrow, u64)
SORT(wide, pair)
SELECT(narrow, u64)
SELECT(wide, pair)
KEEP(narrow, u64)
KEEP(wide, pair)

void heed_ranks_sort(heed_ranks *r) {
  void *sorted = r->wide ? (void *)sort_wide(r->entry, r->spare, r->n, r->bits)
                         : (void *)sort_narrow(r->entry, r->spare, r->n,
                                               r->bits);
  if (sorted == r->spare) {
    r->spare = r->entry;
    r->entry = sorted;
  }
}

int64_t heed_ranks_select(heed_ranks *r, int64_t k) {
  if (r->wide) return select_wide(r->entry, r->n, k, r->bits).place;
  return (int64_t)(select_narrow(r->entry, r->n, k, r->bits) & UINT32_MAX);
}

void heed_ranks_keep(heed_ranks *r, int64_t k) {
  if (r->wide) keep_wide(r->entry, r->spare, r->n, k, r->bits);
  else keep_narrow(r->entry, r->spare, r->n, k, r->bits);
  r->n = k;
}
