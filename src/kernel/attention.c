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
 * Few queries over many keys take the keys and values as they lie: packing
 * them would be most of the work. Such keys are also cut into splits, each
 * with an m, a sum and an O of its own, which are joined in order.
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
  bool few;           /* queries: keys are not packed */
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
  f.few = a->tq <= HEED_ATTENTION_FEW && a->tk >= 4 * a->tq;
  f.q_wide = padded(a->d, VF);
  f.out_wide = padded(a->dv, VF);
  f.key_room = cut(room, f.few ? 0 : across * a->d);
  f.value_room = cut(room, f.few ? 0 : across * padded(a->dv, PANEL));
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
  if (f->few) return;
  f->keys = pack_turned(f->w.count, a->d, place(&a->k, 0, from), a->k.row,
                        f->key_room);
  /* values that few rows read once are not worth packing */
  if (f->end - f->begin <= 2 * TILE && a->dv % VF == 0)
    f->values = (factor){place(&a->v, 0, from), a->v.row, PANEL};
  else
    f->values = pack_rows(f->w.count, a->dv, place(&a->v, 0, from), a->v.row,
                          1, f->value_room);
}

/* Row r of a tile: products in s become weights e^(s - top). */
static void soften(forward_work *f, const span *t, int64_t r, float *s) {
  const work *w = &f->w;
  int64_t row = t->row - f->begin + r, first = t->first, end = t->end;
  shape_scores(w, t, r, s, NULL);
  vf high = vf_all(-INFINITY), sum = {0};
  for (int64_t j = first; j < end; j += VF) high = vf_max(vf_load(s + j), high);
  float top = max_lanes(high)[0], before = f->top[row];
  if (top < before) top = before;
  /* a row that has seen nothing yet: e^(-inf - 0) = 0, and NaN stays */
  vf from = vf_all(top == -INFINITY ? 0 : top);
  for (int64_t j = first; j < end; j += VF) {
    vf e = weight_of(vf_load(s + j) - from);
    vf_store(s + j, e);
    sum += e;
  }
  if (w->a->dropout) {
    draw(w, t, r);
    for (int64_t j = first; j < end; j += VF)
      vf_store(s + j, vf_load(s + j) * vf_load(w->drop + j));
  }
  f->shrink[row] = top == before          ? 1
                   : before == -INFINITY ? 0
                                         : weight_of(vf_all(before) - from)[0];
  f->sum[row] = f->sum[row] * f->shrink[row] + sum_lanes(sum)[0];
  f->top[row] = top;
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

/* ---- few queries -------------------------------------------------------- */

/* The products of q with VF keys, of which `left` are there; the others give
   those of the last one. */
VEC_INLINE vf score_lanes(const float *q, int64_t d, const float *keys,
                          int64_t stride, int64_t left) {
  const float *key[VF];
  vf sum[VF] = {0};
  for (int i = 0; i < VF; i++)
    key[i] = keys + (i < left ? i : left - 1) * stride;
  int64_t e = 0;
  for (; e + VF <= d; e += VF)
    UNROLL for (int i = 0; i < VF; i++)
      sum[i] += vf_load(q + e) * vf_load(key[i] + e);
  if (e < d)
    for (int i = 0; i < VF; i++)
      sum[i] += vf_load(q + e) * vf_load_n(key[i] + e, d - e, 0);
  turn_square(sum);
  for (int half = VF / 2; half > 0; half /= 2)
    for (int i = 0; i < half; i++) sum[i] += sum[i + half];
  return sum[0];
}

static void score_few(forward_work *f, const span *tiles, int count) {
  const heed_attention *a = f->w.a;
  for (const span *t = tiles; t < tiles + count; t++)
    for (int64_t j = t->first; j < t->end; j += VF)
      for (int64_t row = t->row; row < t->row + t->rows; row++)
        vf_store(f->score + (row - f->row) * f->w.wide + j,
                 score_lanes(f->q + (row - f->begin) * f->q_wide, a->d,
                             place(&a->k, 0, f->w.from + j), a->k.row,
                             f->w.count - j));
}

#define COLUMNS 8 /* vectors of O at once */

/* O[0 .. n vectors) = shrink * O + (weights p of `count` keys) V; values with
   a weight of 0 are not touched. `left`: columns that values have. */
VEC_INLINE void add_values(int n, float *out, float shrink, const float *p,
                           int64_t count, const float *values, int64_t stride,
                           int64_t left) {
  vf sum[COLUMNS] = {0};
  for (int64_t j = 0; j < count; j++) {
    if (p[j] == 0) continue;
    const float *value = values + j * stride;
    UNROLL for (int v = 0; v < n; v++)
      sum[v] += vf_all(p[j]) * (n > 1 || left >= VF
                                    ? vf_load(value + v * VF)
                                    : vf_load_n(value, left, 0));
  }
  UNROLL for (int v = 0; v < n; v++)
    vf_store(out + v * VF, vf_load(out + v * VF) * shrink + sum[v]);
}

static void value_few(forward_work *f, const span *tiles, int count) {
  const heed_attention *a = f->w.a;
  for (const span *t = tiles; t < tiles + count; t++)
    for (int64_t row = t->row; t->first < t->end && row < t->row + t->rows;
         row++) {
      int64_t e = 0, depth = span_depth(&f->w, t), r = row - f->begin;
      const float *p = f->score + (row - f->row) * f->w.wide + t->first;
      const float *values = place(&a->v, 0, f->w.from + t->first);
      float *out = f->out + r * f->out_wide, shrink = f->shrink[r];
      for (; e + COLUMNS * VF <= a->dv; e += COLUMNS * VF)
        add_values(COLUMNS, out + e, shrink, p, depth, values + e, a->v.row,
                   a->dv - e);
      for (; e < a->dv; e += VF)
        add_values(1, out + e, shrink, p, depth, values + e, a->v.row,
                   a->dv - e);
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
  if (f->few) score_few(f, tiles, count);
  else score_tiles(f, tiles, count);
  for (const span *t = tiles; t < tiles + count; t++) {
    if (t->first >= t->end) continue;
    for (int64_t r = 0; r < t->rows; r++)
      soften(f, t, r, f->score + (t->row - row + r) * f->w.wide);
  }
  if (f->few) value_few(f, tiles, count);
  else value_tiles(f, tiles, count, first);
}

/* Writes out and stats of row r, a query of a head. */
static void finish_row(const forward_work *f, int64_t r, int64_t head,
                       int64_t query) {
  const heed_attention *a = f->w.a;
  float top = f->top[r], sum = f->sum[r], gain = 1;
  float *out = place(&a->out, head, query);
  const float *from = f->out + r * f->out_wide;
  bool none = top == -INFINITY && sum == 0;
  if (!none && top == -INFINITY) top = 0; /* NaN is all that was seen */
  if (a->sinks.data && !none) {
    float sink = *place(&a->sinks, head, 0), before = top;
    if (sink > top) top = sink;
    gain = weight_of(vf_all(before - top))[0];
    sum = sum * gain + weight_of(vf_all(sink - top))[0];
  }
  float over = none ? 0 : 1 / sum;
  if (a->stats.data) {
    float *stats = place(&a->stats, head, query);
    stats[0] = top;
    stats[1] = over;
  }
  gain *= over;
  int64_t e = 0;
  if (none) memset(out, 0, sizeof *out * (size_t)a->dv);
  else {
    for (; e + VF <= a->dv; e += VF)
      vf_store(out + e, vf_load(from + e) * gain);
    for (; e < a->dv; e++) out[e] = from[e] * gain;
  }
}

/* Sums over keys first .. end_key - 1, the first at the start of a block.
   Returns whether all are finite, if that matters. */
static bool sum_keys(forward_work *f, int64_t first, int64_t end_key) {
  int64_t seen, end_seen, rows = f->end - f->begin;
  seen_by_rows(&f->w, f->begin, f->end, &seen, &end_seen);
  if (seen > first) first = seen;
  if (end_seen < end_key) end_key = end_seen;
  load_rows(f);
  bool clear = f->few || f->w.limited || first >= end_key;
  if (clear)
    memset(f->out, 0, sizeof *f->out * (size_t)(rows * f->out_wide));
  for (int64_t from = first; from < end_key; from += KEYS) {
    pack_keys(f, from);
    for (int64_t row = f->begin; row < f->end; row += ROWS)
      rows_forward(f, row, row + ROWS < f->end ? row + ROWS : f->end,
                   from == 0 && !clear);
  }
  return !f->w.partial || f->few || all_finite(f->out, rows * f->out_wide);
}

static forward_work forward_begin(const heed_attention *a, int64_t begin,
                                  int64_t end, void *room) {
  forward_work f = forward_cut(a, &(pool){.start = room});
  f.begin = begin;
  f.end = end;
  work_begin(&f.w);
  return f;
}

static void finish(const forward_work *f) {
  int64_t tq = f->w.a->tq, rows = f->end - f->begin;
  int64_t head = rows ? f->begin / tq : 0, query = rows ? f->begin % tq : 0;
  for (int64_t r = 0; r < rows; r++) {
    finish_row(f, r, head, query);
    if (++query == tq) query = 0, head++;
  }
}

static void forward(const heed_attention *a, int64_t begin, int64_t end,
                    void *room) {
  forward_work f = forward_begin(a, begin, end, room);
  if (!sum_keys(&f, 0, a->tk)) {
    f.w.skip = true;
    sum_keys(&f, 0, a->tk);
  }
  finish(&f);
}

/* ---- splits ------------------------------------------------------------- */

/* Top, sum and O of a split's rows lie in `sums`. */
static void cut_sums(forward_work *f, pool *sums, int64_t rows) {
  f->top = cut(sums, rows);
  f->sum = cut(sums, rows);
  f->out = cut(sums, rows * padded(f->w.a->dv, VF));
}

static size_t sums_size(const heed_attention *a) {
  forward_work f = {.w.a = a};
  pool count = {0};
  int64_t rows = a->heads * a->tq;
  cut_sums(&f, &count, rows < HEED_ATTENTION_ROWS ? rows
                                                  : HEED_ATTENTION_ROWS);
  return count.used;
}

static void forward_split(const heed_attention *a, int64_t begin, int64_t end,
                          int64_t split, void *sums, void *room) {
  forward_work f = forward_begin(a, begin, end, room);
  char *start = (char *)sums + (size_t)split * sums_size(a);
  cut_sums(&f, &(pool){.start = start}, end - begin);
  int64_t first = split * HEED_ATTENTION_SPLIT;
  int64_t end_key = first + HEED_ATTENTION_SPLIT;
  sum_keys(&f, first, end_key < a->tk ? end_key : a->tk);
}

/* Row r of f takes in that of a later split. */
static void join_row(forward_work *f, const forward_work *later, int64_t r) {
  float before = f->top[r], other = later->top[r];
  float top = other > before ? other : before;
  vf from = vf_all(top == -INFINITY ? 0 : top);
  vf mine = weight_of(vf_all(before) - from);
  vf theirs = weight_of(vf_all(other) - from);
  f->top[r] = top;
  f->sum[r] = f->sum[r] * mine[0] + later->sum[r] * theirs[0];
  float *out = f->out + r * f->out_wide;
  const float *more = later->out + r * f->out_wide;
  for (int64_t e = 0; e < f->out_wide; e += VF)
    vf_store(out + e, vf_load(out + e) * mine + vf_load(more + e) * theirs);
}

static void join_splits(const heed_attention *a, int64_t begin, int64_t end,
                        void *sums) {
  forward_work f = {.w.a = a, .begin = begin, .end = end,
                    .out_wide = padded(a->dv, VF)};
  cut_sums(&f, &(pool){.start = sums}, end - begin);
  for (int64_t split = 1; split < heed_attention_splits(a); split++) {
    forward_work later = f;
    char *start = (char *)sums + (size_t)split * sums_size(a);
    cut_sums(&later, &(pool){.start = start}, end - begin);
    for (int64_t r = 0; r < end - begin; r++) join_row(&f, &later, r);
  }
  finish(&f);
}

HEED_FILL(attention);
HEED_FILL(attention) {
  heed_attention_loops *loops = &k->attention[HEED_FLOAT32];
  loops->forward_room = room_size;
  loops->forward = forward;
  loops->sums_size = sums_size;
  loops->forward_split = forward_split;
  loops->join_splits = join_splits;
}
