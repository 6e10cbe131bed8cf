/*
 * attention_work - what all float32 loops of attention share: scratch, what a
 * call describes, and weights. Layer: kernel. Read first: attention.h.
 *
 * Keys are worked on in blocks of at most KEYS; places in a block count from
 * its start.
 */
#ifndef HEED_KERNEL_ATTENTION_WORK_H
#define HEED_KERNEL_ATTENTION_WORK_H

#include <math.h>
#include <string.h>

#include "base/half.h"
#include "kernel/attention.h"
#include "kernel/philox.h"
#include "kernel/vec_lanes.h"

#define KEYS 128 /* of a block, at most */
#define PANEL (2 * VF) /* numbers side by side that are worked on together */

static int64_t padded(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

/* ---- scratch ------------------------------------------------------------ */

/* Scratch that is handed out from its start; without `start` it is only
   counted. */
typedef struct pool {
  char *start;
  size_t used;
} pool;

/* The next n floats; lines of cache stay whole. */
VEC_INLINE float *cut(pool *p, int64_t n) {
  float *part = p->start ? (float *)(p->start + p->used) : NULL;
  p->used += (size_t)padded(n * (int64_t)sizeof *part, 64);
  return part;
}

/* A group, and the block of its keys at hand. */
typedef struct work {
  const heed_attention *a;
  int64_t first_key, end_key; /* what the key mask leaves, at its ends */
  bool limited; /* may rows see other keys than 0 .. tk - 1? */
  bool listed;  /* is there a bias or a mask? */
  bool partial; /* may a key have a factor of 0? */
  int64_t step; /* keys of a block */
  int64_t from, count; /* keys from .. from + count - 1 */
  float *term;  /* what is added to scores */
  float *drop;  /* drop factors */
  float *row;   /* of either, before they are turned */
  uint32_t *word;
  float *halves; /* rows of halves, as floats */
} work;

/* Finds out what the description asks for; keys first .. end - 1 count. */
static void describe(work *w, int64_t first, int64_t end) {
  const heed_attention *a = w->a;
  const uint8_t *mask = a->key_mask.data;
  int64_t all = a->tq + a->tk, step = a->key_mask.column;
  w->first_key = first;
  w->end_key = end;
  while (mask && w->end_key > first && !mask[(w->end_key - 1) * step])
    w->end_key--;
  while (mask && w->first_key < w->end_key && !mask[w->first_key * step])
    w->first_key++;
  w->listed = a->bias.data || mask || a->mask.data;
  w->limited = a->valid.data || mask || a->left < all || a->right < all;
  w->partial = w->limited || w->listed || a->dropout;
}

/* The block that starts at `from`; `end` is behind the last key. */
VEC_INLINE void take_keys(work *w, int64_t from, int64_t end) {
  w->from = from;
  w->count = end - from < w->step ? end - from : w->step;
}

/* The keys lo .. hi - 1 that a query may see at most; lo = hi = 0: none. */
VEC_INLINE void seen_keys(const work *w, int64_t query, int64_t *lo,
                          int64_t *hi) {
  heed_attention_range(w->a, query, lo, hi);
  if (*lo < w->first_key) *lo = w->first_key;
  if (*hi > w->end_key) *hi = w->end_key;
  if (*lo >= *hi) *lo = *hi = 0;
}

/* ---- rows in memory ----------------------------------------------------- */

VEC_INLINE float *place(const heed_grid *g, int64_t head, int64_t row) {
  return (float *)g->data + head * g->head + row * g->row;
}

VEC_INLINE const uint16_t *place_of_half(const heed_grid *g, int64_t head,
                                         int64_t row) {
  return (const uint16_t *)g->data + head * g->head + row * g->row;
}

/* VF halves */
typedef uint16_t vec_short __attribute__((vector_size(VEC_BYTES / 2)));

/* VF numbers of bfloat16. */
VEC_INLINE vf widened(const uint16_t *from) {
  vec_short x;
  memcpy(&x, from, sizeof x);
  return (vf)(__builtin_convertvector(x, vu) << 16);
}

static void read_halves(heed_dtype dtype, const uint16_t *from, int64_t n,
                        float *to) {
  int64_t i = 0;
  if (dtype == HEED_BFLOAT16) {
    for (; i + VF <= n; i += VF) vf_store(to + i, widened(from + i));
    for (; i < n; i++) to[i] = heed_bfloat16_to_float(from[i]);
  } else {
    for (; i < n; i++) to[i] = heed_float16_to_float(from[i]);
  }
}

/* d numbers of a row: where they are, or from halves, at `room`. */
VEC_INLINE const float *read_row(const heed_grid *g, heed_dtype dtype,
                                 int64_t head, int64_t row, int64_t d,
                                 float *room) {
  if (dtype == HEED_FLOAT32) return place(g, head, row);
  read_halves(dtype, place_of_half(g, head, row), d, room);
  return room;
}

/* 0 in every lane, or NaN in some when a number is not finite. */
VEC_INLINE vf not_finite(const float *x, int64_t n) {
  vf bad = {0};
  int64_t i = 0;
  for (; i + VF <= n; i += VF) bad += vf_load(x + i) * 0.0f;
  return i < n ? bad + vf_load_n(x + i, n - i, 0) * 0.0f : bad;
}

static inline bool all_finite(const float *x, int64_t n) {
  return sum_lanes(not_finite(x, n))[0] == 0;
}

/* ---- bias and masks ----------------------------------------------------- */

/* Numbers to add for n keys from key on: the bias, and -inf for what is shut
   out. Returns whether anything is left. */
static bool list_row(const heed_attention *a, int64_t head, int64_t query,
                     int64_t key, int64_t n, float *restrict to) {
  if (a->bias.data) {
    const float *bias = place(&a->bias, head, query) + key * a->bias.column;
    for (int64_t j = 0; j < n; j++) to[j] = bias[j * a->bias.column];
  } else {
    memset(to, 0, sizeof *to * (size_t)n);
  }
  const heed_grid *grid[] = {&a->mask, &a->key_mask};
  for (int i = 0; i < 2; i++) {
    const heed_grid *g = grid[i];
    if (!g->data) continue;
    const uint8_t *mask = (const uint8_t *)g->data + head * g->head +
                          query * g->row + key * g->column;
    int64_t step = g->column;
    if (step == 1)
      for (int64_t j = 0; j < n; j++) to[j] = mask[j] ? to[j] : -INFINITY;
    else
      for (int64_t j = 0; j < n; j++)
        to[j] = mask[j * step] ? to[j] : -INFINITY;
  }
  bool any = false;
  for (int64_t j = 0; j < n; j++) any |= to[j] != -INFINITY;
  return any;
}

/* ---- weights ------------------------------------------------------------ */

#define LOG2_E 1.44269504f

/* 2^y for y <= 0, or NaN; 0 where it is below the normal range. The
   polynomial is a minimax fit of this project, within 0.6 ulp. */
VEC_INLINE vf power_of_2(vf y) {
  const vf shifter = vf_all(0x1.8p23f); /* adding it rounds to an integer */
  y = vf_max(vf_all(-127.0f), y);       /* there the bits of 2^k are 0 */
  vf shifted = y + shifter;
  vu k = (vu)shifted - (vu)shifter;
  vf r = y - (shifted - shifter);
  vf p = r * 1.53264729e-4f + 1.33908063e-3f;
  p = p * r + 9.61850584e-3f;
  p = p * r + 5.55035993e-2f;
  p = p * r + 2.40226477e-1f;
  p = p * r + 6.93147182e-1f;
  p = p * r + 1.0f;
  return p * (vf)((k + 127) << 23);
}

/* e^(x - top), 1 where they are equal; top may not be -inf. */
VEC_INLINE vf weight_of(vf x, vf top) {
  return power_of_2((x - top) * LOG2_E);
}

/* What the sum of a row and its O are to be multiplied with, where a sink
   joins its keys; top becomes the largest of both. */
static inline float take_sink(const heed_attention *a, int64_t head,
                              float *top, float *sum) {
  float sink = *place(&a->sinks, head, 0), before = *top;
  if (sink > before) *top = sink;
  float gain = weight_of(vf_all(before), vf_all(*top))[0];
  *sum = *sum * gain + weight_of(vf_all(sink), vf_all(*top))[0];
  return gain;
}

/* Of a row with the largest score and the sum of its weights: writes its stats
   and returns what its O is to be multiplied with. */
static inline float finish_row(const heed_attention *a, int64_t head,
                               int64_t query, float top, float sum) {
  float more = 1, over = 0;
  if (top != -INFINITY || sum != 0) {
    if (top == -INFINITY) top = 0; /* NaN is all that was seen */
    if (a->sinks.data) more = take_sink(a, head, &top, &sum);
    over = 1 / sum;
  }
  if (a->stats.data) {
    float *stats = place(&a->stats, head, query);
    stats[0] = top;
    stats[1] = over;
  }
  return more * over;
}

#endif
