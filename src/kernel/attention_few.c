/*
 * attention_few - attention of few queries to many keys, in float32: decoding.
 * Layer: kernel. Read first: attention.h, attention.c, attention_work.h.
 *
 * Reading the keys and values is most of the work, so they are taken as they
 * lie, once for all rows. Keys are cut into splits of HEED_ATTENTION_SPLIT,
 * each with a largest score, a sum of weights and an O of its own for every
 * row, which are joined in order. Example: scores 1, 3 in one split and 4 in
 * the next: sums e^-2 + 1 and 1; joined, (e^-2 + 1) e^-1 + 1.
 *
 * A weight of 0 times a value of NaN is never formed, see attention.c.
 */
#include "kernel/attention.h"

#include "kernel/attention_work.h"
#include "kernel/kernel.h"

/* What a split knows of every row. */
typedef struct split_sums {
  float *top, *sum;
  float *out; /* [rows out_wide] */
} split_sums;

typedef struct few_work {
  work w;
  int64_t rows, q_wide, out_wide;
  float *q;      /* [rows q_wide], times the scale */
  float *score;  /* [rows w.wide] */
  float *shrink; /* [rows] */
  split_sums s;
  const float *keys, *values; /* of the block at hand */
} few_work;

static few_work few_cut(const heed_attention *a, pool *room) {
  few_work f = {.w = work_cut(a, room), .rows = a->heads * a->tq,
                .q_wide = padded(a->d, VF), .out_wide = padded(a->dv, VF)};
  f.q = cut(room, f.rows * f.q_wide);
  f.score = cut(room, f.rows * f.w.wide);
  f.shrink = cut(room, f.rows);
  return f;
}

static size_t few_room(const heed_attention *a) {
  pool count = {0};
  few_cut(a, &count);
  return count.used;
}

static split_sums cut_sums(const heed_attention *a, pool *room) {
  int64_t rows = a->heads * a->tq;
  split_sums s = {.top = cut(room, rows), .sum = cut(room, rows)};
  s.out = cut(room, rows * padded(a->dv, VF));
  return s;
}

static size_t few_sums(const heed_attention *a) {
  pool count = {0};
  cut_sums(a, &count);
  return count.used;
}

static void load_rows(few_work *f) {
  const heed_attention *a = f->w.a;
  for (int64_t head = 0; head < a->heads; head++)
    copy_rows(a->tq, a->d, place(&a->q, head, 0), a->q.row, (float)a->scale,
              false, f->q + head * a->tq * f->q_wide);
  for (int64_t r = 0; r < f->rows; r++) {
    f->s.top[r] = -INFINITY;
    f->s.sum[r] = 0;
  }
  memset(f->s.out, 0, sizeof *f->s.out * (size_t)(f->rows * f->out_wide));
}

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

static void score_rows(few_work *f, const span *t) {
  const heed_attention *a = f->w.a;
  for (int64_t j = t->first; j < t->end; j += VF)
    for (int64_t row = t->row; row < t->row + t->rows; row++)
      vf_store(f->score + row * f->w.wide + j,
               score_lanes(f->q + row * f->q_wide, a->d,
                           f->keys + j * a->k.row, a->k.row,
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

static void value_rows(few_work *f, const span *t) {
  const heed_attention *a = f->w.a;
  int64_t depth = span_depth(&f->w, t);
  for (int64_t row = t->row; row < t->row + t->rows; row++) {
    const float *p = f->score + row * f->w.wide + t->first;
    const float *values = f->values + t->first * a->v.row;
    float *out = f->s.out + row * f->out_wide, shrink = f->shrink[row];
    int64_t e = 0;
    for (; e + COLUMNS * VF <= a->dv; e += COLUMNS * VF)
      add_values(COLUMNS, out + e, shrink, p, depth, values + e, a->v.row,
                 a->dv - e);
    for (; e < a->dv; e += VF)
      add_values(1, out + e, shrink, p, depth, values + e, a->v.row,
                 a->dv - e);
  }
}

static void sum_block(few_work *f) {
  for (int64_t row = 0; row < f->rows; row += TILE) {
    span t;
    span_at(&f->w, row, f->rows, &t);
    if (t.first >= t.end) continue;
    score_rows(f, &t);
    for (int64_t r = 0; r < t.rows; r++)
      soften(&f->w, &t, r, f->score + (row + r) * f->w.wide,
             f->s.top + row + r, f->s.sum + row + r, f->shrink + row + r);
    value_rows(f, &t);
  }
}

static void few_split(const heed_attention *a, int64_t split, const void *k,
                      const void *v, void *sums, void *room) {
  few_work f = few_cut(a, &(pool){.start = room});
  int64_t begin = split * HEED_ATTENTION_SPLIT, first, end;
  int64_t stop = begin + HEED_ATTENTION_SPLIT;
  if (stop > a->tk) stop = a->tk;
  f.s = cut_sums(a, &(pool){.start = (char *)sums +
                                     (size_t)split * few_sums(a)});
  key_mask_ends(&f.w, begin, stop);
  describe(&f.w);
  seen_by_rows(&f.w, 0, f.rows, &first, &end);
  load_rows(&f);
  if (first < begin) first = begin;
  if (end > stop) end = stop;
  for (int64_t from = first; from < end; from += KEYS) {
    f.w.from = from;
    f.w.count = stop - from < KEYS ? stop - from : KEYS;
    f.keys = (const float *)k + (from - begin) * a->k.row;
    f.values = (const float *)v + (from - begin) * a->v.row;
    sum_block(&f);
  }
}

/* Row r of s takes in that of a later split. */
static void join_row(const heed_attention *a, split_sums *s,
                     const split_sums *later, int64_t r) {
  float before = s->top[r], other = later->top[r];
  float top = other > before ? other : before;
  vf from = vf_all(top == -INFINITY ? 0 : top);
  vf mine = weight_of(vf_all(before) - from);
  vf theirs = weight_of(vf_all(other) - from);
  s->top[r] = top;
  s->sum[r] = s->sum[r] * mine[0] + later->sum[r] * theirs[0];
  int64_t wide = padded(a->dv, VF);
  float *out = s->out + r * wide;
  const float *more = later->out + r * wide;
  for (int64_t e = 0; e < wide; e += VF)
    vf_store(out + e, vf_load(out + e) * mine + vf_load(more + e) * theirs);
}

static void few_join(const heed_attention *a, void *sums) {
  split_sums s = cut_sums(a, &(pool){.start = sums});
  int64_t rows = a->heads * a->tq, wide = padded(a->dv, VF);
  for (int64_t split = 1; split < heed_attention_splits(a); split++) {
    char *start = (char *)sums + (size_t)split * few_sums(a);
    split_sums later = cut_sums(a, &(pool){.start = start});
    for (int64_t r = 0; r < rows; r++) join_row(a, &s, &later, r);
  }
  for (int64_t r = 0; r < rows; r++)
    finish_row(a, r / a->tq, r % a->tq, s.top[r], s.sum[r], s.out + r * wide);
}

HEED_FILL(attention_few);
HEED_FILL(attention_few) {
  heed_attention_loops *loops = &k->attention[HEED_FLOAT32];
  loops->few_room = few_room;
  loops->few_sums = few_sums;
  loops->few_split = few_split;
  loops->few_join = few_join;
}
