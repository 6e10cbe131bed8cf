/*
 * attention - attention in float32 on vectors, the way forward.
 * Layer: kernel. Read first: attention.h, attention_plain.c (the same in plain
 * words), attention_product.h, attention_work.h.
 *
 * Rows are worked on together, up to HEED_ATTENTION_ROWS of them, against one
 * block of keys after the other. A row keeps the largest score so far, m, the
 * sum of its weights e^(s - m), and the sum of weights times values, O. For
 * each block, which is packed once, and for each ROWS rows:
 *   1. S = Q K^T, by tiles
 *   2. scores, then weights P = e^(S - m) row by row; where m grows, what was
 *      summed before is to shrink by e^(m before - m)
 *   3. O = shrink * O + P V, by tiles
 * In the end O / sum is the result. Example: scores 1, 3 in one block and 4 in
 * the next: m = 3, sum = e^-2 + 1; then m = 4, sum = (e^-2 + 1) e^-1 + 1.
 *
 * Few queries over many keys go another way: attention_few.c.
 *
 * NaN: products first run over all keys of a tile, with 0 for those that are
 * not allowed. When NaN or inf comes out, it may be of such a key (0 * NaN),
 * and all is done again without touching what has a factor of 0. Adding 0
 * changes no sum, so both ways agree where both are finite.
 */
#include "kernel/attention.h"

#include "kernel/attention_work.h"
#include "kernel/kernel.h"

typedef struct forward_work {
  work w;
  int64_t begin, end; /* rows at hand */
  int64_t row;        /* first of those in `score` */
  factor keys, values;
  float *key_room, *value_room;
  int64_t q_wide, out_wide;
  float *q, *out;                 /* of all rows, q times the scale */
  float *top, *sum, *shrink;      /* of all rows */
  float *score;                   /* of ROWS rows */
} forward_work;

static forward_work forward_cut(const heed_attention *a, pool *room) {
  forward_work f = {.w = work_cut(a, room)};
  int64_t rows = a->heads * a->tq, across = block_width(a);
  if (rows > HEED_ATTENTION_ROWS) rows = HEED_ATTENTION_ROWS;
  f.q_wide = padded(a->d, VF);
  f.out_wide = padded(a->dv, VF);
  f.key_room = cut(room, across * a->d);
  f.value_room = cut(room, across * padded(a->dv, PANEL));
  f.q = cut(room, rows * f.q_wide);
  f.out = cut(room, rows * f.out_wide);
  f.top = cut(room, rows);
  f.sum = cut(room, rows);
  f.shrink = cut(room, rows);
  f.score = cut(room, (rows < ROWS ? rows : ROWS) * f.w.wide);
  return f;
}

static size_t room_size(const heed_attention *a) {
  pool count = {0};
  forward_cut(a, &count);
  return count.used;
}

static void load_rows(forward_work *f) {
  const heed_attention *a = f->w.a;
  for (int64_t row = f->begin, n; row < f->end; row += n) {
    int64_t query = row % a->tq;
    n = a->tq - query < f->end - row ? a->tq - query : f->end - row;
    copy_rows(n, a->d, place(&a->q, row / a->tq, query), a->q.row,
              (float)a->scale, true, f->q + (row - f->begin) * f->q_wide);
  }
  for (int64_t r = 0; r < f->end - f->begin; r++) {
    f->top[r] = -INFINITY;
    f->sum[r] = 0;
    f->shrink[r] = 0;
  }
}

static void pack_keys(forward_work *f, int64_t from) {
  const heed_attention *a = f->w.a;
  take_keys(&f->w, from);
  f->keys = pack_turned(f->w.count, a->d, place(&a->k, 0, from), a->k.row,
                        f->key_room);
  /* values that few rows read once are not worth packing */
  if (f->end - f->begin <= 2 * TILE && a->dv % VF == 0)
    f->values = (factor){place(&a->v, 0, from), a->v.row, PANEL};
  else
    f->values = pack_rows(f->w.count, a->dv, place(&a->v, 0, from), a->v.row,
                          1, f->value_room);
}

/* Scores of up to ROWS rows in `count` tiles, panel by panel of keys. */
static void score_tiles(forward_work *f, const span *tiles, int count) {
  for (int64_t j = 0; j < f->w.count; j += PANEL) {
    const float *panel = f->keys.data + j / PANEL * f->keys.panel;
    for (const span *t = tiles; t < tiles + count; t++) {
      if (j < t->first || j >= t->end) continue;
      left_factor q = {f->q + (t->row - f->begin) * f->q_wide, f->q_wide, 1};
      panel_tile(SET, false, t->rows, t->end - j, f->w.a->d, q, panel,
                 f->keys.step, f->score + (t->row - f->row) * f->w.wide + j,
                 f->w.wide, NULL);
    }
  }
}

/* O of the same rows, panel by panel of values. */
static void value_tiles(forward_work *f, const span *tiles, int count,
                        bool first) {
  int64_t wide = f->w.wide;
  for (int64_t e = 0; e < f->out_wide; e += PANEL) {
    const float *panel = f->values.data + e / PANEL * f->values.panel;
    for (const span *t = tiles; t < tiles + count; t++) {
      if (t->first >= t->end) continue;
      int64_t row = t->row - f->begin;
      left_factor p = {f->score + (t->row - f->row) * wide + t->first, wide, 1};
      panel_tile(first ? SET : RESCALE, f->w.skip, t->rows, f->out_wide - e,
                 span_depth(&f->w, t), p, panel + t->first * f->values.step,
                 f->values.step, f->out + row * f->out_wide + e, f->out_wide,
                 f->shrink + row);
    }
  }
}

/* ---- all together ------------------------------------------------------- */

static void rows_forward(forward_work *f, int64_t row, int64_t end,
                         bool first) {
  span tiles[ROWS / TILE];
  int count = 0;
  f->row = row;
  for (int64_t at = row; at < end; at += TILE)
    span_at(&f->w, at, end, &tiles[count++]);
  score_tiles(f, tiles, count);
  for (const span *t = tiles; t < tiles + count; t++) {
    if (t->first >= t->end) continue;
    for (int64_t r = 0; r < t->rows; r++) {
      int64_t at = t->row - f->begin + r;
      soften(&f->w, t, r, f->score + (t->row - row + r) * f->w.wide,
             f->top + at, f->sum + at, f->shrink + at);
    }
  }
  value_tiles(f, tiles, count, first);
}

/* Returns whether the sums are finite, if that matters. */
static bool sum_keys(forward_work *f) {
  int64_t first, end_key, rows = f->end - f->begin;
  seen_by_rows(&f->w, f->begin, f->end, &first, &end_key);
  load_rows(f);
  bool clear = f->w.limited || first >= end_key;
  if (clear)
    memset(f->out, 0, sizeof *f->out * (size_t)(rows * f->out_wide));
  for (int64_t from = first; from < end_key; from += KEYS) {
    pack_keys(f, from);
    for (int64_t row = f->begin; row < f->end; row += ROWS)
      rows_forward(f, row, row + ROWS < f->end ? row + ROWS : f->end,
                   from == 0 && !clear);
  }
  return !f->w.partial || all_finite(f->out, rows * f->out_wide);
}

static void finish(const forward_work *f) {
  int64_t tq = f->w.a->tq, rows = f->end - f->begin;
  int64_t head = rows ? f->begin / tq : 0, query = rows ? f->begin % tq : 0;
  for (int64_t r = 0; r < rows; r++) {
    finish_row(f->w.a, head, query, f->top[r], f->sum[r],
               f->out + r * f->out_wide);
    if (++query == tq) query = 0, head++;
  }
}

static void forward(const heed_attention *a, int64_t begin, int64_t end,
                    void *room) {
  forward_work f = forward_cut(a, &(pool){.start = room});
  f.begin = begin;
  f.end = end;
  work_begin(&f.w);
  if (!sum_keys(&f)) {
    f.w.skip = true;
    sum_keys(&f);
  }
  finish(&f);
}

HEED_FILL(attention);
HEED_FILL(attention) {
  heed_attention_loops *loops = &k->attention[HEED_FLOAT32];
  loops->forward_room = room_size;
  loops->forward = forward;
}
