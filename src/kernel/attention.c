/*
 * attention - attention in float32 on vectors, the way forward.
 * Layer: kernel. Read first: attention.h, attention_plain.c (the same in plain
 * words), attention_panel.h, attention_lanes.h.
 *
 * Queries are lanes: PANEL of them side by side, turned once, so that what a
 * softmax does along the keys is done from row to row, on whole vectors. A
 * lane keeps the largest score so far, m, the sum of its weights e^(s - m),
 * and the sum of weights times values, O, turned as the queries. Against each
 * block of keys, which is copied once for all panels of the call:
 *   1. S = K Q^T, by tiles
 *   2. scores, then weights P = e^(S - m); where m grows, what was summed
 *      before is to shrink by e^(m before - m)
 *   3. O = shrink * O + V^T P, by tiles
 * In the end O / sum is turned back. Example: scores 1, 3 in one block and 4
 * in the next: m = 3, sum = e^-2 + 1; then m = 4, sum = (e^-2 + 1) e^-1 + 1.
 *
 * NaN: products run over all keys of a panel, with a weight of 0 for those
 * that are not allowed. Where values of a block are not finite, the slower
 * product is taken that does not touch what has a weight of 0.
 */
#include "kernel/attention.h"

#include "kernel/attention_dots.h"
#include "kernel/attention_lanes.h"
#include "kernel/kernel.h"

#define IN_PLACE 4 /* panels, at most, that take keys as they lie */

typedef struct forward_work {
  work w;
  int64_t begin, end, panels; /* rows at hand */
  bool copies;                /* are keys copied? */
  bool dots;                  /* as pairs, see attention_dots.h? */
  bool loaded;                /* are those of this block? */
  bool careful;               /* with its values? */
  matrix keys, values;
  float *key_room, *value_room;
  lanes *seen;
  bool *begun;                /* has a panel seen a block? */
  float *q, *out;             /* of all panels, [d PANEL], q times the scale */
  float *top, *sum;           /* of all lanes */
  float *score;               /* of a panel and a block */
} forward_work;

static forward_work forward_cut(const heed_attention *a, pool *room) {
  forward_work f = {.w = work_cut(a, room)};
  int64_t rows = a->heads * a->tq;
  if (rows > HEED_ATTENTION_ROWS) rows = HEED_ATTENTION_ROWS;
  int64_t panels = (rows + PANEL - 1) / PANEL, lanes_all = panels * PANEL;
  f.copies = panels > IN_PLACE || a->k_dtype != HEED_FLOAT32 ||
             a->v_dtype != HEED_FLOAT32;
  f.key_room = cut(room, f.copies ? f.w.step * padded(a->d, PANEL) : 0);
  f.value_room = cut(room, f.copies ? f.w.step * padded(a->dv, PANEL) : 0);
  f.seen = (lanes *)cut(
      room, panels * (int64_t)(sizeof(lanes) / sizeof(float) + 1));
  f.begun = (bool *)cut(room, panels);
  f.q = cut(room, lanes_all * a->d);
  f.out = cut(room, lanes_all * a->dv);
  f.top = cut(room, lanes_all);
  f.sum = cut(room, lanes_all);
  f.score = cut(room, f.w.step * PANEL);
  return f;
}

/* Where there is a way back it makes the same scores, from floats. */
static bool takes_dots(const heed_attention *a) {
  return a->q_dtype == HEED_BFLOAT16 && a->k_dtype == HEED_BFLOAT16 &&
         !a->stats.data && has_dots();
}

static size_t room_size(const heed_attention *a) {
  pool count = {0};
  forward_cut(a, &count);
  return count.used;
}

/* The panel at f->q + p * PANEL * d, of pairs in its first half. */
static void load_queries(forward_work *f, int64_t p) {
  const heed_attention *a = f->w.a;
  const lanes *t = &f->seen[p];
  float *to = f->q + p * PANEL * a->d;
  if (f->dots) {
    const uint16_t *pair[PANEL];
    for (int64_t l = 0; l < PANEL; l++)
      pair[l] = place_of_half(&a->q, t->head[l], t->query[l]);
    turn_pairs(t->count, a->d, pair, (uint32_t *)to);
    return;
  }
  const float *row[PANEL];
  lane_queries(&f->w, t, row);
  turn_in(t->count, a->d, row, (float)a->scale, to);
}

static void load_panel(forward_work *f, int64_t p) {
  lanes *t = &f->seen[p];
  lanes_at(&f->w, f->begin + p * PANEL, f->end, t);
  load_queries(f, p);
  f->begun[p] = false;
  for (int64_t l = p * PANEL; l < (p + 1) * PANEL; l++) {
    f->top[l] = -INFINITY;
    f->sum[l] = 0;
  }
}

/* The keys of a block, when the first panel wants them. */
static void load_keys(forward_work *f) {
  const work *w = &f->w;
  const heed_attention *a = w->a;
  if (f->loaded) return;
  f->loaded = true;
  if (f->dots)
    for (int64_t i = 0; i < w->count; i++)
      copy_pairs(place_of_half(&a->k, 0, w->from + i), a->d,
                 (uint32_t *)f->key_room + i * pairs_of(a->d));
  else if (f->copies)
    f->keys = pack(w, &a->k, a->k_dtype, a->d, f->key_room);
  else
    f->keys = (matrix){place(&a->k, 0, w->from), a->k.row, PANEL};
  if (f->copies)
    f->values = pack(w, &a->v, a->v_dtype, a->dv, f->value_room);
  else
    f->values = (matrix){place(&a->v, 0, w->from), a->v.row, PANEL};
  f->careful = w->partial && !block_finite(w, &a->v, a->v_dtype, a->dv);
}

/* Scores in s[first .. end)[PANEL] of panel p become weights e^(s - top);
   shrink is what sums before are to be multiplied with. */
static void soften(forward_work *f, int64_t p, int64_t first, int64_t end,
                   float *shrink) {
  float *s = f->score;
  vf top[2], from[2], sum[2] = {{0}};
  UNROLL for (int v = 0; v < 2; v++)
    top[v] = vf_load(f->top + p * PANEL + v * VF);
  for (int64_t j = first; j < end; j++)
    UNROLL for (int v = 0; v < 2; v++)
      top[v] = vf_max(vf_load(s + j * PANEL + v * VF), top[v]);
  /* a lane that has seen nothing yet: e^(-inf - 0) = 0, and NaN stays */
  UNROLL for (int v = 0; v < 2; v++)
    from[v] = vf_pick(top[v] == -INFINITY, (vf){0}, top[v]);
  for (int64_t j = first; j < end; j++)
    UNROLL for (int v = 0; v < 2; v++) {
      float *at = s + j * PANEL + v * VF;
      vf e = weight_of(vf_load(at), from[v]);
      vf_store(at, e);
      sum[v] += e;
    }
  UNROLL for (int v = 0; v < 2; v++) {
    int64_t l = p * PANEL + v * VF;
    vf by = weight_of(vf_load(f->top + l), from[v]);
    vf_store(shrink + v * VF, by);
    vf_store(f->sum + l, vf_load(f->sum + l) * by + sum[v]);
    vf_store(f->top + l, top[v]);
  }
}

/* Scaled products of keys first .. end - 1 of the block and panel p. */
static void score_panel(forward_work *f, int64_t p, int64_t first,
                        int64_t end) {
  const heed_attention *a = f->w.a;
  const float *q = f->q + p * PANEL * a->d;
  float *to = f->score + first * PANEL;
  if (f->dots) {
    int64_t pairs = pairs_of(a->d);
    product_dots(end - first, pairs,
                 (const uint32_t *)f->key_room + first * pairs,
                 (const uint32_t *)q, (float)a->scale, to);
    return;
  }
  matrix keys = f->keys;
  keys.data += first * keys.row;
  product(SET, NONE, end - first, a->d, keys, q, to, NULL);
}

static void panel_forward(forward_work *f, int64_t p) {
  const heed_attention *a = f->w.a;
  const lanes *t = &f->seen[p];
  int64_t first, end;
  float shrink[PANEL], *s = f->score;
  if (!seen_of_block(&f->w, t, &first, &end) ||
      !list_terms(&f->w, t, first, end))
    return;
  load_keys(f);
  score_panel(f, p, first, end);
  shape_scores(&f->w, t, first, end, s, NULL);
  soften(f, p, first, end, shrink);
  if (a->dropout) {
    draw(&f->w, t, first, end);
    for (int64_t i = first * PANEL; i < end * PANEL; i += VF)
      vf_store(s + i, vf_load(s + i) * vf_load(f->w.drop + i));
  }
  for (int64_t e = 0; e < a->dv; e += PANEL)
    product_across(f->begun[p] ? RESCALE : SET, f->careful ? RIGHT : NONE,
                   a->dv - e < PANEL ? a->dv - e : PANEL, end - first,
                   matrix_at(f->values, first, e), f->values.row,
                   s + first * PANEL, f->out + (p * a->dv + e) * PANEL,
                   shrink);
  f->begun[p] = true;
}

/* Writes out and stats of a panel. */
static void finish_panel(const forward_work *f, int64_t p) {
  const heed_attention *a = f->w.a;
  const lanes *t = &f->seen[p];
  float gain[PANEL] = {0}, *row[PANEL];
  lane_rows(&a->out, t, row);
  for (int64_t l = 0; l < t->count; l++)
    gain[l] = finish_row(a, t->head[l], t->query[l], f->top[p * PANEL + l],
                         f->sum[p * PANEL + l]);
  float *out = f->out + p * PANEL * a->dv;
  if (!f->begun[p]) memset(out, 0, sizeof *out * (size_t)(PANEL * a->dv));
  turn_out(t->count, a->dv, out, gain, row);
}

static void forward(const heed_attention *a, int64_t begin, int64_t end,
                    void *room) {
  forward_work f = forward_cut(a, &(pool){.start = room});
  int64_t first = a->tk, last = 0;
  f.begin = begin;
  f.end = end;
  f.panels = (end - begin + PANEL - 1) / PANEL;
  f.dots = takes_dots(a);
  describe(&f.w, 0, a->tk);
  for (int64_t p = 0; p < f.panels; p++) {
    load_panel(&f, p);
    const lanes *t = &f.seen[p];
    if (t->first >= t->end) continue;
    if (t->first < first) first = t->first;
    if (t->end > last) last = t->end;
  }
  for (int64_t from = first / f.w.step * f.w.step; from < last;
       from += f.w.step) {
    take_keys(&f.w, from, a->tk);
    f.loaded = false;
    for (int64_t p = 0; p < f.panels; p++) panel_forward(&f, p);
  }
  for (int64_t p = 0; p < f.panels; p++) finish_panel(&f, p);
}

HEED_FILL(attention);
HEED_FILL(attention) {
  heed_attention_loops *loops = &k->attention[HEED_FLOAT32];
  loops->forward_room = room_size;
  loops->forward = forward;
}
