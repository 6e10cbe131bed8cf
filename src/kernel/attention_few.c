/*
 * attention_few - attention of few queries to many keys, in float32: decoding.
 * Layer: kernel. Read first: attention.h, attention.c, attention_rows.h.
 *
 * Reading the keys and values is most of the work, so they are taken as they
 * lie, once for all rows. Keys are cut into splits of HEED_ATTENTION_SPLIT,
 * each with a largest score, a sum of weights and an O of its own for every
 * row, which are joined in order. Example: scores 1, 3 in one split and 4 in
 * the next: sums e^-2 + 1 and 1; joined, (e^-2 + 1) e^-1 + 1.
 *
 * Rows are taken four at a time, where there are so many. A weight of 0 times
 * NaN is not to be formed: when sums come out that are not finite, they are
 * made again without touching values with a weight of 0.
 */
#include "kernel/attention.h"

#include "kernel/attention_rows.h"
#include "kernel/kernel.h"

/* What a split knows of every row. */
typedef struct split_sums {
  float *top, *sum;
  float *out; /* [rows out_wide] */
} split_sums;

typedef struct few_work {
  work w;
  int64_t rows, q_wide, out_wide;
  int64_t wide; /* between rows of scores */
  float *q;     /* [rows q_wide], times the scale; rows padded to 4 */
  float *score; /* [rows wide] */
  bool skip; /* values with a weight of 0? */
  split_sums s;
  heed_grid k, v; /* of the split, whose keys are begin .. stop - 1 */
  int64_t begin, stop;
  const float *keys, *values; /* of the block at hand, rows that far apart: */
  int64_t key_step, value_step;
  float *key_room, *value_room; /* the block, where it is of halves */
} few_work;

static few_work few_cut(const heed_attention *a, pool *room) {
  few_work f = {.w = work_cut(a, room), .rows = a->heads * a->tq,
                .q_wide = padded(a->d, VF), .out_wide = padded(a->dv, VF),
                .wide = row_wide(a)};
  int64_t rows = padded(f.rows, 4);
  f.q = cut(room, rows * f.q_wide);
  f.score = cut(room, rows * f.wide);
  f.key_room = cut(room, a->k_dtype != HEED_FLOAT32 ? KEYS * a->d : 0);
  f.value_room = cut(room, a->v_dtype != HEED_FLOAT32 ? KEYS * a->dv : 0);
  f.w.halves = cut(room, a->d);
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
  s.out = cut(room, padded(rows, 4) * padded(a->dv, VF));
  return s;
}

static size_t few_sums(const heed_attention *a) {
  pool count = {0};
  cut_sums(a, &count);
  return count.used;
}

/* to = a row of q times the scale, with zeros up to a whole vector. */
static void load_query(const few_work *f, int64_t head, int64_t query,
                       float *to) {
  const heed_attention *a = f->w.a;
  const float gain = (float)a->scale;
  const float *row =
      read_row(&a->q, a->q_dtype, head, query, a->d, f->w.halves);
  int64_t e = 0;
  for (; e + VF <= a->d; e += VF) vf_store(to + e, vf_load(row + e) * gain);
  if (e < a->d) vf_store(to + e, vf_load_n(row + e, a->d - e, 0) * gain);
}

static void load_rows(few_work *f) {
  const heed_attention *a = f->w.a;
  for (int64_t r = 0; r < f->rows; r++)
    load_query(f, r / a->tq, r % a->tq, f->q + r * f->q_wide);
  for (int64_t r = 0; r < f->rows; r++) {
    f->s.top[r] = -INFINITY;
    f->s.sum[r] = 0;
  }
  int64_t rows = padded(f->rows, 4);
  memset(f->q + f->rows * f->q_wide, 0,
         sizeof *f->q * (size_t)((rows - f->rows) * f->q_wide));
  memset(f->s.out, 0, sizeof *f->s.out * (size_t)(rows * f->out_wide));
}

/* ---- scores ------------------------------------------------------------- */

/* Memory is to stay busy while several rows are worked on: keys and values are
   asked for, into the second cache, AHEAD rows before their turn. One row is
   faster without, by reading in order. Behind the last row this reads
   nothing. */
#define AHEAD 32
#define STEP 16 /* values that are near for all columns and rows */
#define LINE (64 / (int64_t)sizeof(float))

VEC_INLINE void fetch_ahead(const float *row, int64_t stride, int64_t e) {
  if (e % LINE == 0)
    __builtin_prefetch((const void *)((uintptr_t)row + sizeof *row *
                                      (size_t)(AHEAD * stride + e)),
                       0, 2);
}

/* Products of `rows` rows, 1, 2 or 4, with VF keys, of which `left` are there;
   the others give those of the last one. As many sums as a vector has lanes
   are made, then added up across by turning them. */
VEC_INLINE void score_tile(int rows, const float *q, int64_t q_wide,
                           int64_t d, const float *keys, int64_t stride,
                           int64_t left, bool ahead, float *score,
                           int64_t wide) {
  const int across = VF / rows; /* keys for so many sums */
  const int near = rows == 1 || across == 1 ? 1 : 2; /* read at once */
  for (int k = 0; k < VF; k += across) {
    vf sum[VF];
    const float *key[VF];
    UNROLL for (int i = 0; i < VF; i++) sum[i] = (vf){0};
    UNROLL for (int i = 0; i < across; i++)
      key[i] = keys + (k + i < left ? k + i : left - 1) * stride;
    UNROLL for (int i = 0; i < across; i += near)
      for (int64_t e = 0; e < d; e += VF)
        for (int n = i; n < i + near; n++) {
          vf x = e + VF <= d ? vf_load(key[n] + e)
                             : vf_load_n(key[n] + e, d - e, 0);
          if (rows > 1 && ahead) fetch_ahead(key[n], stride, e);
          UNROLL for (int r = 0; r < rows; r++)
            sum[r * across + n] += vf_load(q + r * q_wide + e) * x;
        }
    turn_square(sum);
    UNROLL for (int half = VF / 2; half > 0; half /= 2)
      UNROLL for (int i = 0; i < half; i++) sum[i] += sum[i + half];
    float lane[VF];
    vf_store(lane, sum[0]);
    UNROLL for (int r = 0; r < rows; r++)
      memcpy(score + r * wide + k, lane + r * across,
             sizeof *lane * (size_t)across);
  }
}

/* Keys are the outer loop: all rows pass over them while they are near. */
static void score_tiles(few_work *f, const span *tiles, int count) {
  int64_t d = f->w.a->d, stride = f->key_step, wide = f->wide;
  for (int64_t j = 0; j < f->w.count; j += VF) {
    const float *keys = f->keys + j * stride;
    int64_t left = f->w.count - j;
    bool ahead = true;
    for (const span *t = tiles; t < tiles + count; t++) {
      if (j < t->first || j >= t->end) continue;
      const float *q = f->q + t->row * f->q_wide;
      float *to = f->score + t->row * wide + j;
#define SCORE(rows) \
  score_tile(rows, q, f->q_wide, d, keys, stride, left, ahead, to, wide)
      if (t->rows == 1) SCORE(1);
      else if (t->rows == 2) SCORE(2);
      else SCORE(4);
      ahead = false;
    }
  }
}

/* ---- values ------------------------------------------------------------- */

/* O[row][0 .. vecs vectors) += (weights p of `count` keys) V; `left`: columns
   that values have. */
VEC_INLINE void add_values(int rows, int vecs, float *out, int64_t out_wide,
                           const float *p, int64_t wide, int64_t count,
                           const float *values, int64_t stride, int64_t left,
                           bool ahead) {
  vf sum[4][8];
  UNROLL for (int r = 0; r < rows; r++)
    UNROLL for (int v = 0; v < vecs; v++)
      sum[r][v] = vf_load(out + r * out_wide + v * VF);
  for (int64_t j = 0; j < count; j++) {
    const float *value = values + j * stride;
    UNROLL for (int v = 0; v < vecs; v++) {
      vf x = vecs > 1 || left >= VF ? vf_load(value + v * VF)
                                    : vf_load_n(value, left, 0);
      if (rows > 1 && ahead) fetch_ahead(value, stride, v * VF);
      UNROLL for (int r = 0; r < rows; r++)
        sum[r][v] += vf_all(p[r * wide + j]) * x;
    }
  }
  UNROLL for (int r = 0; r < rows; r++)
    UNROLL for (int v = 0; v < vecs; v++)
      vf_store(out + r * out_wide + v * VF, sum[r][v]);
}

/* The same for all columns. */
VEC_INLINE void value_tile(int rows, float *out, int64_t out_wide,
                           const float *p, int64_t wide, int64_t count,
                           const float *values, int64_t stride, int64_t dv,
                           bool ahead) {
  const int vecs = 8 / rows; /* as many sums as hide the latency */
  int64_t e = 0;
  for (; e + vecs * VF <= dv; e += vecs * VF)
    add_values(rows, vecs, out + e, out_wide, p, wide, count, values + e,
               stride, dv - e, ahead);
  for (; e < dv; e += VF)
    add_values(rows, 1, out + e, out_wide, p, wide, count, values + e, stride,
               dv - e, ahead);
}

/* The same for one row; values with a weight of 0 are not touched. */
static void value_skipping(float *out, const float *p, int64_t count,
                           const float *values, int64_t stride, int64_t dv) {
  for (int64_t j = 0; j < count; j++)
    for (int64_t e = 0; p[j] != 0 && e < dv; e++)
      out[e] += p[j] * values[j * stride + e];
}

/* Of keys from .. end - 1 of the block, for the rows of a tile. */
static void value_rows(const few_work *f, const span *t, int64_t from,
                       int64_t end, bool ahead) {
  int64_t dv = f->w.a->dv, stride = f->value_step, wide = f->wide;
  int64_t out_wide = f->out_wide, n = end - from;
  const float *p = f->score + t->row * wide + from;
  const float *values = f->values + from * stride;
  float *out = f->s.out + t->row * out_wide;
#define VALUE(rows) \
  value_tile(rows, out, out_wide, p, wide, n, values, stride, dv, ahead)
  if (f->skip)
    for (int64_t r = 0; r < t->rows; r++)
      value_skipping(out + r * out_wide, p + r * wide, n, values, stride, dv);
  else if (t->rows == 1) VALUE(1);
  else if (t->rows == 2) VALUE(2);
  else VALUE(4);
}

/* Values are the outer loop, STEP at a time where they are passed over more
   than once. */
static void value_tiles(const few_work *f, const span *tiles, int count) {
  int64_t step = f->rows == 1 && f->w.a->dv <= 8 * VF ? KEYS : STEP;
  for (int64_t from = 0; from < f->w.count; from += step) {
    bool ahead = true;
    for (const span *t = tiles; t < tiles + count; t++) {
      int64_t first = t->first > from ? t->first : from;
      int64_t end = t->first + span_depth(&f->w, t);
      if (end > from + step) end = from + step;
      if (first >= end) continue;
      value_rows(f, t, first, end, ahead);
      ahead = false;
    }
  }
}

/* ---- all together ------------------------------------------------------- */

/* Turns the products of a tile into weights, and takes them into the sums. */
static void soften_rows(few_work *f, const span *t) {
  if (t->first >= t->end) return;
  for (int64_t r = t->row; r < t->row + t->rows; r++) {
    float shrink, *out = f->s.out + r * f->out_wide;
    soften(&f->w, t, r - t->row, f->score + r * f->wide, f->s.top + r,
           f->s.sum + r, &shrink);
    for (int64_t e = 0; shrink != 1 && e < f->out_wide; e += VF)
      vf_store(out + e, vf_load(out + e) * shrink);
  }
}

/* One block of keys, rows row .. end - 1 in tiles of 4 at most. */
static void sum_rows(few_work *f, int64_t row, int64_t end) {
  span tiles[ROWS / 4];
  int count = 0;
  for (; row < end; row += 4)
    span_at(&f->w, row, row + 4 < end ? row + 4 : end, &tiles[count++]);
  score_tiles(f, tiles, count);
  for (int i = 0; i < count; i++) soften_rows(f, &tiles[i]);
  value_tiles(f, tiles, count);
}

/* Keys, or values, of the block: where they are, or of halves, as floats. */
static const float *load_block(const few_work *f, const heed_grid *g,
                               heed_dtype dtype, int64_t d, float *room,
                               int64_t *step) {
  int64_t first = f->w.from - f->begin;
  *step = dtype == HEED_FLOAT32 ? g->row : d;
  if (dtype == HEED_FLOAT32) return place(g, 0, first);
  for (int64_t i = 0; i < f->w.count; i++)
    read_row(g, dtype, 0, first + i, d, room + i * d);
  return room;
}

/* Keys first .. end - 1 of the split. */
static void sum_keys(few_work *f, int64_t first, int64_t end) {
  const heed_attention *a = f->w.a;
  load_rows(f);
  for (int64_t from = first; from < end; from += KEYS) {
    take_keys(&f->w, from, f->stop);
    f->keys = load_block(f, &f->k, a->k_dtype, a->d, f->key_room,
                         &f->key_step);
    f->values = load_block(f, &f->v, a->v_dtype, a->dv, f->value_room,
                           &f->value_step);
    for (int64_t row = 0; row < f->rows; row += ROWS)
      sum_rows(f, row, row + ROWS < f->rows ? row + ROWS : f->rows);
  }
}

static void few_split(const heed_attention *a, int64_t split, const void *k,
                      const void *v, void *sums, void *room) {
  few_work f = few_cut(a, &(pool){.start = room});
  int64_t first, end;
  f.s = cut_sums(a, &(pool){.start = (char *)sums +
                                     (size_t)split * few_sums(a)});
  f.k = (heed_grid){(void *)k, 0, a->k.row, 1};
  f.v = (heed_grid){(void *)v, 0, a->v.row, 1};
  f.begin = split * HEED_ATTENTION_SPLIT;
  f.stop = f.begin + HEED_ATTENTION_SPLIT;
  if (f.stop > a->tk) f.stop = a->tk;
  describe(&f.w, f.begin, f.stop);
  seen_by_rows(&f.w, 0, f.rows, &first, &end);
  if (first < f.begin) first = f.begin;
  if (end > f.stop) end = f.stop;
  sum_keys(&f, first, end);
  if (!all_finite(f.s.out, f.rows * f.out_wide)) {
    f.skip = true;
    sum_keys(&f, first, end);
  }
}

/* Row r of s takes in that of a later split. */
static void join_row(const heed_attention *a, split_sums *s,
                     const split_sums *later, int64_t r) {
  float before = s->top[r], other = later->top[r];
  float top = other > before ? other : before;
  vf from = vf_all(top == -INFINITY ? 0 : top);
  vf mine = weight_of(vf_all(before), from);
  vf theirs = weight_of(vf_all(other), from);
  s->top[r] = top;
  s->sum[r] = s->sum[r] * mine[0] + later->sum[r] * theirs[0];
  int64_t wide = padded(a->dv, VF);
  float *out = s->out + r * wide;
  const float *more = later->out + r * wide;
  for (int64_t e = 0; e < wide; e += VF)
    vf_store(out + e, vf_load(out + e) * mine + vf_load(more + e) * theirs);
}

static void store_row(int64_t n, const float *from, float gain, float *to) {
  int64_t e = 0;
  for (; e + VF <= n; e += VF) vf_store(to + e, vf_load(from + e) * gain);
  for (; e < n; e++) to[e] = from[e] * gain;
}

static void few_join(const heed_attention *a, void *sums) {
  split_sums s = cut_sums(a, &(pool){.start = sums});
  int64_t rows = a->heads * a->tq, wide = padded(a->dv, VF);
  for (int64_t split = 1; split < heed_attention_splits(a); split++) {
    char *start = (char *)sums + (size_t)split * few_sums(a);
    split_sums later = cut_sums(a, &(pool){.start = start});
    for (int64_t r = 0; r < rows; r++) join_row(a, &s, &later, r);
  }
  for (int64_t r = 0; r < rows; r++) {
    int64_t head = r / a->tq, query = r % a->tq;
    float gain = finish_row(a, head, query, s.top[r], s.sum[r]);
    store_row(a->dv, s.out + r * wide, gain, place(&a->out, head, query));
  }
}

HEED_FILL(attention_few);
HEED_FILL(attention_few) {
  heed_attention_loops *loops = &k->attention[HEED_FLOAT32];
  loops->few_room = few_room;
  loops->few_sums = few_sums;
  loops->few_split = few_split;
  loops->few_join = few_join;
}
