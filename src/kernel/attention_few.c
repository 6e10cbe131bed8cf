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

/* Keys, or values, of the block: row j lies `step` bytes behind row j - 1, as
   floats, or as bfloat16 where `half`. */
typedef struct rows_in {
  const char *data;
  int64_t step;
  bool half;
} rows_in;

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
  rows_in keys, values;         /* of the block at hand */
  float *key_room, *value_room; /* the block, where it is of halves */
} few_work;

/* Are rows of d numbers read where they are? */
static bool taken_as_is(heed_dtype dtype, int64_t d) {
  return dtype == HEED_FLOAT32 || (dtype == HEED_BFLOAT16 && d % VF == 0);
}

static few_work few_cut(const heed_attention *a, pool *room) {
  few_work f = {.w = work_cut(a, room), .rows = a->heads * a->tq,
                .q_wide = padded(a->d, VF), .out_wide = padded(a->dv, VF),
                .wide = row_wide(a)};
  int64_t rows = padded(f.rows, 4);
  f.q = cut(room, rows * f.q_wide);
  f.score = cut(room, rows * f.wide);
  f.key_room = cut(room, taken_as_is(a->k_dtype, a->d) ? 0 : KEYS * a->d);
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

VEC_INLINE vf load_lanes(bool half, const char *row, int64_t e) {
  return half ? widened((const uint16_t *)row + e)
              : vf_load((const float *)row + e);
}

/* The same of `left` numbers; halves come in whole vectors. */
VEC_INLINE vf load_some(bool half, const char *row, int64_t e, int64_t left) {
  if (half || left >= VF) return load_lanes(half, row, e);
  return vf_load_n((const float *)row + e, left, 0);
}

/* Memory is to stay busy while sums are made: keys and values are asked for,
   into the second cache, AHEAD rows before their turn. Behind the last row this
   reads nothing. */
#define AHEAD 32
#define STEP 16 /* values that are near for all columns and rows */

VEC_INLINE void fetch_ahead(bool half, const char *row, int64_t step,
                            int64_t e) {
  int64_t at = e * (half ? 2 : 4);
  if (at % 64 == 0)
    __builtin_prefetch((const void *)((uintptr_t)row +
                                      (size_t)(AHEAD * step + at)),
                       0, 2);
}

/* ---- scores ------------------------------------------------------------- */

/* Products of `rows` rows with `near` keys, a sum for each lane of them. */
VEC_INLINE void score_near(int rows, int near, bool half, const float *q,
                           int64_t q_wide, int64_t d, const char *const *key,
                           int64_t step, bool ahead, vf (*to)[4]) {
  vf sum[4][4];
  UNROLL for (int r = 0; r < rows; r++)
    UNROLL for (int n = 0; n < near; n++) sum[r][n] = (vf){0};
  int64_t e = 0;
  for (; e + VF <= d; e += VF) {
    vf x[4];
    UNROLL for (int n = 0; n < near; n++) {
      x[n] = load_lanes(half, key[n], e);
      if (ahead) fetch_ahead(half, key[n], step, e);
    }
    UNROLL for (int r = 0; r < rows; r++) {
      const vf left = vf_load(q + r * q_wide + e);
      UNROLL for (int n = 0; n < near; n++) sum[r][n] += left * x[n];
    }
  }
  if (!half && e < d)
    UNROLL for (int n = 0; n < near; n++) {
      const vf x = vf_load_n((const float *)key[n] + e, d - e, 0);
      UNROLL for (int r = 0; r < rows; r++)
        sum[r][n] += vf_load(q + r * q_wide + e) * x;
    }
  UNROLL for (int r = 0; r < rows; r++)
    UNROLL for (int n = 0; n < near; n++) to[r][n] = sum[r][n];
}

/* Products of `rows` rows, 1, 2 or 4, with VF keys, of which `left` are there;
   the others give those of the last one. As many sums as a vector has lanes
   are made, then added up across by turning them. */
VEC_INLINE void score_tile(int rows, bool half, const float *q,
                           int64_t q_wide, int64_t d, const char *keys,
                           int64_t step, int64_t left, bool ahead,
                           float *score, int64_t wide) {
  const int across = VF / rows; /* keys for so many sums */
  const int most = rows == 4 ? 2 : 4; /* sums that hide the latency */
  const int near = across < most ? across : most; /* read at once */
  for (int k = 0; k < VF; k += across) {
    vf sum[VF];
    UNROLL for (int i = 0; i < across; i += near) {
      const char *key[4];
      vf part[4][4];
      UNROLL for (int n = 0; n < near; n++)
        key[n] = keys + (k + i + n < left ? k + i + n : left - 1) * step;
      score_near(rows, near, half, q, q_wide, d, key, step, ahead, part);
      UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int n = 0; n < near; n++)
          sum[r * across + i + n] = part[r][n];
    }
    turn_square(sum);
    UNROLL for (int by = VF / 2; by > 0; by /= 2)
      UNROLL for (int i = 0; i < by; i++) sum[i] += sum[i + by];
    float lane[VF];
    vf_store(lane, sum[0]);
    UNROLL for (int r = 0; r < rows; r++)
      memcpy(score + r * wide + k, lane + r * across,
             sizeof *lane * (size_t)across);
  }
}

/* Each a function of its own, so that the registers are those of one loop. */
#define SCORE(rows, half)                                                    \
  static __attribute__((noinline)) void score_##rows##_##half(              \
      const few_work *f, int64_t row, const char *keys, int64_t left,       \
      bool ahead, float *to) {                                               \
    score_tile(rows, half, f->q + row * f->q_wide, f->q_wide, f->w.a->d,    \
               keys, f->keys.step, left, ahead, to, f->wide);                \
  }
SCORE(1, 0) SCORE(2, 0) SCORE(4, 0)
SCORE(1, 1) SCORE(2, 1) SCORE(4, 1)

typedef void score_fn(const few_work *f, int64_t row, const char *keys,
                      int64_t left, bool ahead, float *to);

static score_fn *const score_fns[2][4] = {
    {score_1_0, score_2_0, score_4_0, score_4_0},
    {score_1_1, score_2_1, score_4_1, score_4_1}};

/* Keys are the outer loop: all rows pass over them while they are near. */
static void score_tiles(const few_work *f, const span *tiles, int count) {
  for (int64_t j = 0; j < f->w.count; j += VF) {
    bool ahead = true;
    for (const span *t = tiles; t < tiles + count; t++) {
      if (j < t->first || j >= t->end) continue;
      score_fns[f->keys.half][t->rows - 1](
          f, t->row, f->keys.data + j * f->keys.step, f->w.count - j, ahead,
          f->score + t->row * f->wide + j);
      ahead = false;
    }
  }
}

/* ---- values ------------------------------------------------------------- */

/* O[row][0 .. vecs vectors) += (weights p of `count` keys) V; `left`: columns
   that values have. */
VEC_INLINE void add_values(int rows, int vecs, bool half, float *out,
                           int64_t out_wide, const float *p, int64_t wide,
                           int64_t count, const char *values, int64_t step,
                           int64_t left, bool ahead) {
  vf sum[4][8];
  UNROLL for (int r = 0; r < rows; r++)
    UNROLL for (int v = 0; v < vecs; v++)
      sum[r][v] = vf_load(out + r * out_wide + v * VF);
  for (int64_t j = 0; j < count; j++) {
    const char *value = values + j * step;
    UNROLL for (int v = 0; v < vecs; v++) {
      vf x = load_some(half, value, v * VF, vecs > 1 ? VF : left);
      if (ahead) fetch_ahead(half, value, step, v * VF);
      UNROLL for (int r = 0; r < rows; r++)
        sum[r][v] += vf_all(p[r * wide + j]) * x;
    }
  }
  UNROLL for (int r = 0; r < rows; r++)
    UNROLL for (int v = 0; v < vecs; v++)
      vf_store(out + r * out_wide + v * VF, sum[r][v]);
}

/* The same for all columns. */
VEC_INLINE void value_tile(int rows, bool half, float *out, int64_t out_wide,
                           const float *p, int64_t wide, int64_t count,
                           const char *values, int64_t step, int64_t dv,
                           bool ahead) {
  const int vecs = 8 / rows; /* as many sums as hide the latency */
  const int64_t size = half ? 2 : 4;
  int64_t e = 0;
  for (; e + vecs * VF <= dv; e += vecs * VF)
    add_values(rows, vecs, half, out + e, out_wide, p, wide, count,
               values + e * size, step, dv - e, ahead);
  for (; e < dv; e += VF)
    add_values(rows, 1, half, out + e, out_wide, p, wide, count,
               values + e * size, step, dv - e, ahead);
}

#define VALUE(rows, half)                                                    \
  static __attribute__((noinline)) void value_##rows##_##half(              \
      const few_work *f, float *out, const float *p, const char *values,    \
      int64_t count, bool ahead) {                                           \
    value_tile(rows, half, out, f->out_wide, p, f->wide, count, values,     \
               f->values.step, f->w.a->dv, ahead);                           \
  }
VALUE(1, 0) VALUE(2, 0) VALUE(4, 0)
VALUE(1, 1) VALUE(2, 1) VALUE(4, 1)

typedef void value_fn(const few_work *f, float *out, const float *p,
                      const char *values, int64_t count, bool ahead);

static value_fn *const value_fns[2][4] = {
    {value_1_0, value_2_0, value_4_0, value_4_0},
    {value_1_1, value_2_1, value_4_1, value_4_1}};

/* The same for one row, with the same roundings; values with a weight of 0 are
   not touched. */
static void value_skipping(float *out, const float *p, int64_t count,
                           const char *values, int64_t step, int64_t dv) {
  for (int64_t j = 0; j < count; j++) {
    if (p[j] == 0) continue;
    for (int64_t e = 0; e < dv; e += VF)
      vf_store(out + e, vf_load(out + e) +
                            vf_all(p[j]) * load_some(false, values + j * step,
                                                     e, dv - e));
  }
}

/* Of keys from .. end - 1 of the block, for the rows of a tile. */
static void value_rows(const few_work *f, const span *t, int64_t from,
                       int64_t end, bool ahead) {
  const float *p = f->score + t->row * f->wide + from;
  const char *values = f->values.data + from * f->values.step;
  float *out = f->s.out + t->row * f->out_wide;
  if (!f->skip) {
    value_fns[f->values.half][t->rows - 1](f, out, p, values, end - from,
                                           ahead);
    return;
  }
  for (int64_t r = 0; r < t->rows; r++)
    value_skipping(out + r * f->out_wide, p + r * f->wide, end - from, values,
                   f->values.step, f->w.a->dv);
}

/* Values are the outer loop, STEP at a time. */
static void value_tiles(const few_work *f, const span *tiles, int count) {
  for (int64_t from = 0; from < f->w.count; from += STEP) {
    bool ahead = true;
    for (const span *t = tiles; t < tiles + count; t++) {
      int64_t first = t->first > from ? t->first : from;
      int64_t end = t->first + span_depth(&f->w, t);
      if (end > from + STEP) end = from + STEP;
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

/* One block of keys, rows row .. end - 1, one at least, in tiles of 4 at
   most. */
static void sum_rows(few_work *f, int64_t row, int64_t end) {
  span tiles[ROWS / 4];
  int count = 0;
  do {
    span_at(&f->w, row, row + 4 < end ? row + 4 : end, &tiles[count++]);
    row += 4;
  } while (row < end);
  score_tiles(f, tiles, count);
  for (int i = 0; i < count; i++) soften_rows(f, &tiles[i]);
  value_tiles(f, tiles, count);
}

/* Keys, or values, of the block: where they are, or as floats. */
static rows_in load_block(const few_work *f, const heed_grid *g,
                          heed_dtype dtype, int64_t d, bool direct,
                          float *room) {
  int64_t first = f->w.from - f->begin;
  if (direct) {
    int64_t size = dtype == HEED_FLOAT32 ? 4 : 2;
    return (rows_in){(const char *)g->data + first * g->row * size,
                     g->row * size, size == 2};
  }
  for (int64_t i = 0; i < f->w.count; i++)
    read_row(g, dtype, 0, first + i, d, room + i * d);
  return (rows_in){(const char *)room, d * 4, false};
}

/* Keys first .. end - 1 of the split. */
static void sum_keys(few_work *f, int64_t first, int64_t end) {
  const heed_attention *a = f->w.a;
  load_rows(f);
  for (int64_t from = first; from < end; from += KEYS) {
    take_keys(&f->w, from, f->stop);
    f->keys = load_block(f, &f->k, a->k_dtype, a->d,
                         taken_as_is(a->k_dtype, a->d), f->key_room);
    bool as_is = taken_as_is(a->v_dtype, a->dv) &&
                 (a->v_dtype == HEED_FLOAT32 || !f->skip);
    f->values = load_block(f, &f->v, a->v_dtype, a->dv, as_is, f->value_room);
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
