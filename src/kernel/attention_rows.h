/*
 * attention_rows - what rows of queries see of a block of keys, and how
 * products become weights, with the keys of a row side by side. Layer: kernel.
 * Read first: attention_work.h.
 *
 * Example: 6 causal queries over 140 keys stand beside keys 134..139. With 8
 * floats to a vector, the first tile of rows sees places 0..11 at most of the
 * second block (keys 128..139), whose scores are 16 numbers a row; of row 0,
 * places 7 and on become -inf.
 */
#ifndef HEED_KERNEL_ATTENTION_ROWS_H
#define HEED_KERNEL_ATTENTION_ROWS_H

#include "kernel/attention_work.h"

#define ROWS 48 /* of a block of queries; a multiple of TILE */
#define TILE 4  /* rows, at most, that are worked on together */

/* The most keys of a block, whole panels. */
VEC_INLINE int64_t block_width(const heed_attention *a) {
  return a->tk < KEYS ? padded(a->tk, PANEL) : KEYS;
}

/* rows of scores do not lie a power of two apart: columns are read too */
VEC_INLINE int64_t row_wide(const heed_attention *a) {
  return block_width(a) + PANEL;
}

static work work_cut(const heed_attention *a, pool *room) {
  work w = {.a = a, .step = KEYS};
  int64_t wide = row_wide(a);
  w.row = cut(room, wide);
  w.drop = cut(room, a->dropout ? wide : 0);
  w.word = (uint32_t *)cut(room, a->dropout ? wide + 4 * PHILOX_LANES : 0);
  return w;
}

/* The keys that some of rows begin .. end - 1 of the group may see: first ..
   end_key - 1, first at the start of a block. */
static inline void seen_by_rows(const work *w, int64_t begin, int64_t end,
                                int64_t *first, int64_t *end_key) {
  *first = 0;
  *end_key = w->a->tk;
  if (!w->limited) return;
  *first = w->a->tk;
  *end_key = 0;
  for (int64_t row = begin; row < end; row++) {
    int64_t lo, hi;
    seen_keys(w, row % w->a->tq, &lo, &hi);
    if (lo >= hi) continue;
    if (lo < *first) *first = lo;
    if (hi > *end_key) *end_key = hi;
  }
  *first = *first / KEYS * KEYS;
}

/* Rows row .. row + rows - 1 of the group, at most TILE, and what they may
   see of the block: row r places lo[r] .. hi[r] - 1, which lie all in first ..
   end - 1; first is at the start of a panel, end at that of a vector. */
typedef struct span {
  int64_t row, rows, first, end, lo[TILE], hi[TILE];
} span;

static inline void limit_span(const work *w, span *t) {
  t->first = w->count;
  t->end = 0;
  for (int64_t r = 0; r < t->rows; r++) {
    int64_t lo, hi;
    seen_keys(w, (t->row + r) % w->a->tq, &lo, &hi);
    lo = lo < w->from ? 0 : lo - w->from;
    hi = hi - w->from < w->count ? hi - w->from : w->count;
    if (lo >= hi) lo = hi = 0;
    t->lo[r] = lo;
    t->hi[r] = hi;
    if (lo == hi) continue;
    if (lo < t->first) t->first = lo;
    if (hi > t->end) t->end = hi;
  }
  t->first = t->first < t->end ? t->first / PANEL * PANEL : 0;
  t->end = padded(t->end, VF);
}

/* The tile that starts at `row`; `end` is behind the last row. */
static inline void span_at(const work *w, int64_t row, int64_t end, span *t) {
  t->row = row;
  t->rows = end - row < TILE ? end - row : TILE;
  if (w->limited) {
    limit_span(w, t);
    return;
  }
  t->first = 0;
  t->end = padded(w->count, VF);
  for (int r = 0; r < TILE; r++) {
    t->lo[r] = 0;
    t->hi[r] = w->count;
  }
}

/* How many of its places there are keys for. */
VEC_INLINE int64_t span_depth(const work *w, const span *t) {
  return (t->end < w->count ? t->end : w->count) - t->first;
}

/* ---- scores ------------------------------------------------------------- */

static inline void apply_alibi(float *restrict x, int64_t lo, int64_t hi,
                               float by, int64_t here) {
  for (int64_t j = lo; j < hi; j++)
    x[j] -= by * (float)(int32_t)(j < here ? here - j : j - here);
}

static inline void apply_softcap(float *s, int64_t n, float cap) {
  for (int64_t j = 0; j < n; j += VF)
    vf_store(s + j, vf_tanh(vf_load(s + j) / cap) * cap);
}

/* The part of shape_scores that most calls do without. */
static inline void shape_more(const work *w, int64_t row, int64_t lo,
                              int64_t hi, float *s) {
  const heed_attention *a = w->a;
  int64_t head = row / a->tq, query = row % a->tq, n = hi - lo;
  int64_t key = w->from + lo;
  if (a->alibi.data)
    apply_alibi(s, lo, hi, *place(&a->alibi, head, 0),
                query + a->shift - w->from);
  if (!w->listed) return;
  list_row(a, head, query, key, n, w->row);
  for (int64_t j = 0; j < n; j++)
    s[lo + j] = w->row[j] == -INFINITY ? -INFINITY : s[lo + j] + w->row[j];
}

/* Turns scaled products in s[first .. end) into scores, -inf for what row r
   may not see. */
static inline void shape_scores(const work *w, const span *t, int64_t r,
                                float *s) {
  int64_t lo = t->lo[r], hi = t->hi[r];
  if (w->a->softcap > 0)
    apply_softcap(s + t->first, t->end - t->first, (float)w->a->softcap);
  if (w->listed || w->a->alibi.data) shape_more(w, t->row + r, lo, hi, s);
  for (int64_t j = t->first; j < lo; j++) s[j] = -INFINITY;
  if (hi < t->first) hi = t->first;
  for (int64_t j = hi; j < t->end; j++) s[j] = -INFINITY;
}

/* Drop factors of places first .. end - 1 for row r, at w->drop. */
static inline void draw(const work *w, const span *t, int64_t r) {
  const heed_attention *a = w->a;
  int64_t head = (t->row + r) / a->tq, query = (t->row + r) % a->tq;
  /* the words of a row start at key 0; first and end are multiples of 4 */
  philox_words(a->seed, a->first_head + (uint64_t)head, (uint32_t)query,
               (uint32_t)((w->from + t->first) / 4), (t->end - t->first) / 4,
               w->word);
  float keep = (float)a->keep_factor;
  for (int64_t j = t->first; j < t->end; j++)
    w->drop[j] = w->word[j - t->first] < a->drop_below ? 0 : keep;
}

/* Row r of a tile: products in s become weights e^(s - top). *top, the largest
   score of the row so far, and *sum, of its weights, take these in; what was
   summed before is to be multiplied by *shrink. */
static inline void soften(const work *w, const span *t, int64_t r, float *s,
                          float *row_top, float *row_sum, float *shrink) {
  int64_t first = t->first, end = t->end;
  shape_scores(w, t, r, s);
  vf high = vf_all(-INFINITY), sum = {0};
  for (int64_t j = first; j < end; j += VF) high = vf_max(vf_load(s + j), high);
  float top = max_lanes(high)[0], before = *row_top;
  if (top < before) top = before;
  /* a row that has seen nothing yet: e^(-inf - 0) = 0, and NaN stays */
  vf from = vf_all(top == -INFINITY ? 0 : top);
  for (int64_t j = first; j < end; j += VF) {
    vf e = weight_of(vf_load(s + j), from);
    vf_store(s + j, e);
    sum += e;
  }
  if (w->a->dropout) {
    draw(w, t, r);
    for (int64_t j = first; j < end; j += VF)
      vf_store(s + j, vf_load(s + j) * vf_load(w->drop + j));
  }
  *shrink = top == before          ? 1
            : before == -INFINITY ? 0
                                  : weight_of(vf_all(before), from)[0];
  *row_sum = *row_sum * *shrink + sum_lanes(sum)[0];
  *row_top = top;
}

#endif
