/*
 * attention_lanes - what the queries of a panel see, and how products become
 * scores, with the queries side by side. Layer: kernel.
 * Read first: attention_work.h, attention_panel.h.
 *
 * Each lane of a panel is a query: a row of the panel holds what PANEL queries
 * have to do with one key. Keys are worked on in blocks of at most KEYS.
 * Example: 6 causal queries over 140 keys stand beside keys 134..139. With 8
 * floats to a vector, blocks have 72 keys. The panel sees all 68 of the second
 * one (72..139); at its place 63, key 135, lane 0 becomes -inf; at place 64
 * lanes 0 and 1.
 */
#ifndef HEED_KERNEL_ATTENTION_LANES_H
#define HEED_KERNEL_ATTENTION_LANES_H

#include "kernel/attention_panel.h"
#include "kernel/attention_work.h"

#define ROW_WIDE (KEYS + VF) /* rows do not lie a power of two apart */

/* Even blocks: the last one is hardly smaller than the others. */
VEC_INLINE int64_t block_step(int64_t tk) {
  int64_t blocks = (tk + KEYS - 1) / KEYS;
  return blocks > 0 ? padded((tk + blocks - 1) / blocks, VF) : VF;
}

/* Cuts what every kind of work needs from the scratch, by the numbers of a
   call alone: its grids may not be there yet. */
static work work_cut(const heed_attention *a, pool *room) {
  work w = {.a = a, .step = block_step(a->tk)};
  w.term = cut(room, w.step * PANEL);
  w.drop = cut(room, a->dropout ? w.step * PANEL : 0);
  w.row = cut(room, PANEL * ROW_WIDE);
  w.word = (uint32_t *)cut(room, a->dropout ? KEYS + 4 * PHILOX_LANES : 0);
  w.halves = cut(room, PANEL * (a->d > a->dv ? a->d : a->dv));
  return w;
}

/* ---- what lanes see ----------------------------------------------------- */

/* Lane l is a row of the group, query[l] of head[l]. Where rows are limited, it
   may see keys lo[l] .. hi[l] - 1 at most; lo = hi = 0: none. Lanes behind
   `count` copy the last one. */
typedef struct lanes {
  int64_t count;
  int64_t first, end;        /* all of lo .. hi - 1 */
  int64_t whole, whole_end;  /* what every lane sees */
  int32_t lo[PANEL], hi[PANEL];
  int32_t head[PANEL], query[PANEL];
} lanes;

static void see(const work *w, lanes *t) {
  t->first = w->a->tk;
  t->whole_end = w->a->tk;
  t->end = t->whole = 0;
  for (int64_t l = 0; l < t->count; l++) {
    int64_t lo, hi;
    seen_keys(w, t->query[l], &lo, &hi);
    t->lo[l] = (int32_t)lo;
    t->hi[l] = (int32_t)hi;
    if (lo > t->whole) t->whole = lo;
    if (hi < t->whole_end) t->whole_end = hi;
    if (lo == hi) continue;
    if (lo < t->first) t->first = lo;
    if (hi > t->end) t->end = hi;
  }
  if (t->first > t->end) t->first = t->end;
}

/* The panel that starts at `row`; `end` is behind the last row. */
static void lanes_at(const work *w, int64_t row, int64_t end, lanes *t) {
  int64_t head = row / w->a->tq, query = row % w->a->tq;
  t->count = end - row < PANEL ? end - row : PANEL;
  for (int64_t l = 0; l < PANEL; l++) {
    t->head[l] = (int32_t)head;
    t->query[l] = (int32_t)query;
    if (l + 1 < t->count && ++query == w->a->tq) query = 0, head++;
  }
  t->first = t->whole = 0;
  t->end = t->whole_end = w->a->tk;
  if (!w->limited) return;
  see(w, t);
  for (int64_t l = t->count; l < PANEL; l++) {
    t->lo[l] = t->lo[t->count - 1];
    t->hi[l] = t->hi[t->count - 1];
  }
}

/* Places first .. end - 1 of the block are seen; true when there are any. */
VEC_INLINE bool seen_of_block(const work *w, const lanes *t, int64_t *first,
                              int64_t *end) {
  *first = t->first > w->from ? t->first - w->from : 0;
  *end = t->end < w->from + w->count ? t->end - w->from : w->count;
  return *first < *end;
}

/* The rows of q that the lanes stand for. */
VEC_INLINE void lane_queries(const work *w, const lanes *t,
                             const float **row) {
  const heed_attention *a = w->a;
  for (int64_t l = 0; l < PANEL; l++)
    row[l] = read_row(&a->q, a->q_dtype, t->head[l], t->query[l], a->d,
                      w->halves + l * a->d);
}

/* Keys, or values, of the block, copied to panels. */
static matrix pack(const work *w, const heed_grid *g, heed_dtype dtype,
                   int64_t d, float *to) {
  matrix m = {to, PANEL, PANEL * w->count};
  const int64_t size = dtype == HEED_FLOAT32 ? 4 : 2;
  for (int64_t i = 0; i < w->count; i++, to += PANEL) {
    int64_t row = w->from + i;
    if (i + AHEAD < w->count)
      fetch(size * d, (const char *)g->data + size * (row + AHEAD) * g->row);
    pack_row(d, read_row(g, dtype, 0, row, d, w->halves), 1, to, m.chunk);
  }
  return m;
}

/* The rows of a grid that the lanes stand for. */
VEC_INLINE void lane_rows(const heed_grid *g, const lanes *t, float **row) {
  for (int64_t l = 0; l < PANEL; l++)
    row[l] = place(g, t->head[l], t->query[l]);
}

/* ---- bias and masks ----------------------------------------------------- */

/* to[j PANEL], j < n, from rows of n numbers, PANEL of them. */
static void turn_rows(const float *rows, int64_t n, float *to) {
  for (int64_t j = 0; j < n; j += VF)
    for (int64_t l = 0; l < PANEL; l += VF) {
      vf square[VF];
      UNROLL for (int i = 0; i < VF; i++)
        square[i] = vf_load(rows + (l + i) * ROW_WIDE + j);
      turn_square(square);
      for (int64_t i = 0; i < VF && j + i < n; i++)
        vf_store(to + (j + i) * PANEL + l, square[i]);
    }
}

/* The other way round. */
static inline void turn_back(const float *from, int64_t n, float *rows) {
  for (int64_t j = 0; j < n; j += VF)
    for (int64_t l = 0; l < PANEL; l += VF) {
      vf square[VF];
      for (int64_t i = 0; i < VF; i++)
        square[i] =
            j + i < n ? vf_load(from + (j + i) * PANEL + l) : (vf){0};
      turn_square(square);
      UNROLL for (int i = 0; i < VF; i++)
        vf_store(rows + (l + i) * ROW_WIDE + j, square[i]);
    }
}

VEC_INLINE bool shared(const heed_grid *g, bool one_head) {
  return !g->data || (g->row == 0 && (g->head == 0 || one_head));
}

/* w->term for places first .. end - 1. Returns whether a lane is left any. */
static bool list_terms(const work *w, const lanes *t, int64_t first,
                       int64_t end) {
  const heed_attention *a = w->a;
  if (!w->listed) return true;
  int64_t key = w->from + first, n = end - first;
  bool one_head = t->head[0] == t->head[t->count - 1], any = false;
  float *to = w->term + first * PANEL;
  if (shared(&a->bias, one_head) && shared(&a->mask, one_head)) {
    any = list_row(a, t->head[0], t->query[0], key, n, w->row);
    for (int64_t j = 0; j < n; j++, to += PANEL) {
      vf_store(to, vf_all(w->row[j]));
      vf_store(to + VF, vf_all(w->row[j]));
    }
    return any;
  }
  for (int64_t l = 0; l < PANEL; l++) {
    float *row = w->row + l * ROW_WIDE;
    if (l < t->count)
      any |= list_row(a, t->head[l], t->query[l], key, n, row);
    else
      memcpy(row, row - ROW_WIDE, sizeof *row * (size_t)n);
  }
  turn_rows(w->row, n, to);
  return any;
}

/* ---- scores ------------------------------------------------------------- */

/* What scores of two vectors go through, lanes beside each other. */
typedef struct shaping {
  vi lo[2], hi[2], here[2]; /* places in the block */
  vf slope[2];              /* of alibi */
} shaping;

static shaping shaping_of(const work *w, const lanes *t) {
  const heed_attention *a = w->a;
  shaping s = {0};
  int32_t here[PANEL];
  float slope[PANEL] = {0};
  for (int64_t l = 0; l < PANEL; l++) {
    here[l] = (int32_t)(t->query[l] + a->shift - w->from);
    if (a->alibi.data) slope[l] = *place(&a->alibi, t->head[l], 0);
  }
  for (int v = 0; v < 2; v++) {
    memcpy(&s.here[v], here + v * VF, sizeof s.here[v]);
    s.slope[v] = vf_load(slope + v * VF);
    if (!w->limited) continue;
    memcpy(&s.lo[v], t->lo + v * VF, sizeof s.lo[v]);
    memcpy(&s.hi[v], t->hi + v * VF, sizeof s.hi[v]);
    s.lo[v] -= (int32_t)w->from;
    s.hi[v] -= (int32_t)w->from;
  }
  return s;
}

/* s[first .. end)[PANEL] holds scaled products; with `slope`, what a softcap
   makes of them has that derivative. */
static void bound_scores(const work *w, int64_t first, int64_t end, float *s,
                         float *slope) {
  const float cap = (float)w->a->softcap;
  for (int64_t i = first * PANEL; i < end * PANEL; i += VF) {
    vf y = vf_tanh(vf_load(s + i) / cap);
    vf_store(s + i, y * cap);
    if (slope) vf_store(slope + i, 1.0f - y * y);
  }
}

/* What a lane may not see of places first .. end - 1 becomes -inf. */
static void cut_off(const shaping *by, int64_t first, int64_t end, float *s) {
  for (int64_t j = first; j < end; j++)
    UNROLL for (int v = 0; v < 2; v++) {
      float *at = s + j * PANEL + v * VF;
      const vi place_of = vi_all((int32_t)j);
      vf_store(at, vf_pick((place_of >= by->lo[v]) & (place_of < by->hi[v]),
                           vf_load(at), vf_all(-INFINITY)));
    }
}

/* Distances, and what list_terms has found, are added. */
static void add_terms(const work *w, const shaping *by, int64_t first,
                      int64_t end, float *s) {
  for (int64_t j = first; j < end; j++)
    UNROLL for (int v = 0; v < 2; v++) {
      float *at = s + j * PANEL + v * VF;
      vf x = vf_load(at);
      if (w->a->alibi.data)
        x -= by->slope[v] *
             vf_abs(__builtin_convertvector(
                 by->here[v] - vi_all((int32_t)j), vf));
      if (w->listed) {
        /* -inf shuts a key out, whatever its score is */
        vf term = vf_load(w->term + j * PANEL + v * VF);
        x = vf_pick(term == -INFINITY, term, x + term);
      }
      vf_store(at, x);
    }
}

/* Turns scaled products in s[first .. end)[PANEL] into scores, -inf for what
   a lane may not see. list_terms has been there. */
static void shape_scores(const work *w, const lanes *t, int64_t first,
                         int64_t end, float *s, float *slope) {
  const heed_attention *a = w->a;
  /* every lane sees what lies between these */
  int64_t whole = t->whole - w->from, whole_end = t->whole_end - w->from;
  bool more = w->listed || a->alibi.data;
  if (a->softcap > 0) bound_scores(w, first, end, s, slope);
  if (whole <= first && whole_end >= end && !more) return;
  const shaping by = shaping_of(w, t);
  if (more) add_terms(w, &by, first, end, s);
  if (!w->limited) return;
  if (whole > end || whole_end < whole) whole = end;
  if (whole_end < whole) whole_end = whole;
  cut_off(&by, first, whole, s);
  cut_off(&by, whole_end > first ? whole_end : first, end, s);
}

/* w->drop for places first .. end - 1. */
static void draw(const work *w, const lanes *t, int64_t first, int64_t end) {
  const heed_attention *a = w->a;
  const float keep = (float)a->keep_factor;
  /* the words of a row come in fours and start at key 0 */
  int64_t start = (w->from + first) / 4, skip = (w->from + first) % 4;
  for (int64_t l = 0; l < t->count; l++) {
    float *row = w->row + l * ROW_WIDE;
    philox_words(a->seed, a->first_head + (uint64_t)t->head[l],
                 (uint32_t)t->query[l], (uint32_t)start,
                 (skip + end - first + 3) / 4, w->word);
    for (int64_t j = 0; j < end - first; j++)
      row[j] = w->word[skip + j] < a->drop_below ? 0 : keep;
  }
  turn_rows(w->row, end - first, w->drop + first * PANEL);
}

/* ---- keys ---------------------------------------------------------------- */

/* Are all keys, or values, of the block? */
static bool block_finite(const work *w, const heed_grid *g, heed_dtype dtype,
                         int64_t d) {
  vf bad = {0};
  for (int64_t i = w->from; i < w->from + w->count; i++)
    bad += not_finite(read_row(g, dtype, 0, i, d, w->halves), d);
  return sum_lanes(bad)[0] == 0;
}

#endif
