/*
 * attention - attention in float32 on vectors. Layer: kernel.
 * Read first: attention.h, attention_plain.c (the same in plain words),
 * attention_product.h.
 *
 * Four rows (a tile) are worked on at once, each over all of its keys:
 *   1. scores  S = Q K^T       2. shape and mask a row, softmax
 *   3. out     O = P V, divided by the sum of P as it is stored
 * Only a tile of scores exists at a time. Back, for blocks of BLOCK rows:
 *   1. S = Q K^T and D = dO V^T, by tiles
 *   2. P and dS, row by row, in place
 *   3. dQ = dS K, by tiles                  4. dV += P^T dO, dK += dS^T Q
 * The products are those of attention_product.h. Example: 6 causal queries
 * over 20 keys stand beside keys 14..19. The first tile sees keys 0..17 at
 * most, so with 8 floats to a vector its scores are 24 numbers a row; of row
 * 0, numbers 15 and on become -inf, and 0 in P.
 *
 * NaN: products first run over all keys of a tile, with 0 for those that are
 * not allowed. When NaN or inf comes out, it may be of such a key (0 * NaN),
 * and the product is done again without touching what has a factor of 0.
 * Adding 0 changes no sum, so both ways agree where both are finite.
 */
#include "kernel/attention.h"

#include <math.h>
#include <string.h>

#include "kernel/attention_product.h"
#include "kernel/kernel.h"
#include "kernel/philox.h"

#define BLOCK 16 /* rows of a block of the backward pass */

/* ---- scratch ------------------------------------------------------------ */

/* What is at hand while a group is worked on: packed copies of its keys and
   values, and one block of rows. */
typedef struct work {
  const heed_attention *a;
  int64_t first_key, end_key; /* what the key mask leaves, at its ends */
  bool limited; /* may rows see other keys than 0 .. tk - 1? */
  bool shaped;  /* is more than the scale applied to scores? */
  bool partial; /* may a key of a tile have a factor of 0? */
  bool skip;    /* see product */
  factor keys_turned, values_turned, keys, values;
  /* the block: up to BLOCK rows of one head, or with tq = 1 of several */
  int64_t head, query, rows;
  float *q, *dout;      /* its rows, those of q times the scale */
  int64_t q_wide, dout_wide, wide; /* between rows of q, dout, and scores */
  float *score, *other; /* rows of scores, and of dO V^T */
  bool begun;           /* dk and dvalue hold sums already */
  /* of one row: slope of the softcap, drop factors, weights undropped */
  float *slope, *drop, *weight;
  uint32_t *word;
} work;

/* Rows of scores do not lie a power of two apart either: dS^T reads columns.
   A row has room for the words of its keys. */
static int64_t score_width(const heed_attention *a) {
  int64_t words = 4 * PHILOX_LANES;
  return padded(a->tk, words > PANEL ? words : PANEL) + PANEL;
}

/* Scratch that is handed out from its start; without `start` it is only
   counted. */
typedef struct pool {
  char *start;
  size_t used;
} pool;

/* The next n floats; lines of cache stay whole. */
static float *cut(pool *p, int64_t n) {
  float *part = p->start ? (float *)(p->start + p->used) : NULL;
  p->used += (size_t)padded(n * (int64_t)sizeof *part, 64);
  return part;
}

/* Divides the scratch; pack: room for the four factors. */
static void cut_work(const heed_attention *a, bool backward, pool *room,
                     work *w, float **pack) {
  int64_t across = padded(a->tk, PANEL), rows = backward ? BLOCK : TILE;
  w->a = a;
  w->wide = score_width(a);
  w->q_wide = padded(a->d, VF);
  w->dout_wide = padded(a->dv, VF);
  pack[0] = cut(room, across * a->d);
  pack[1] = cut(room, backward ? across * a->dv : 0);
  pack[2] = cut(room, backward ? a->tk * padded(a->d, PANEL) : 0);
  pack[3] = cut(room, backward ? 0 : a->tk * padded(a->dv, PANEL));
  w->q = cut(room, BLOCK * w->q_wide);
  w->dout = cut(room, backward ? BLOCK * w->dout_wide : 0);
  w->score = cut(room, rows * w->wide);
  w->other = cut(room, backward ? rows * w->wide : 0);
  w->slope = cut(room, w->wide);
  w->drop = cut(room, w->wide);
  w->weight = cut(room, w->wide);
  w->word = (uint32_t *)cut(room, w->wide);
}

static size_t room_size(const heed_attention *a, bool backward) {
  work w;
  float *pack[4];
  pool count = {0};
  cut_work(a, backward, &count, &w, pack);
  return count.used;
}

static float *place(const heed_grid *g, int64_t head, int64_t row) {
  return (float *)g->data + head * g->head + row * g->row;
}

static void key_mask_ends(work *w) {
  const uint8_t *mask = w->a->key_mask.data;
  int64_t step = w->a->key_mask.column;
  w->first_key = 0;
  w->end_key = w->a->tk;
  if (!mask) return;
  while (w->end_key > 0 && !mask[(w->end_key - 1) * step]) w->end_key--;
  while (w->first_key < w->end_key && !mask[w->first_key * step])
    w->first_key++;
}

static work work_begin(const heed_attention *a, bool backward, void *room) {
  work w = {0};
  float *pack[4];
  cut_work(a, backward, &(pool){.start = room}, &w, pack);
  const float *k = a->k.data, *v = a->v.data;
  w.keys_turned = pack_turned(a->tk, a->d, k, a->k.row, pack[0]);
  if (backward) {
    w.values_turned = pack_turned(a->tk, a->dv, v, a->v.row, pack[1]);
    w.keys = pack_rows(a->tk, a->d, k, a->k.row, pack[2]);
  } else {
    w.values = pack_rows(a->tk, a->dv, v, a->v.row, pack[3]);
  }
  key_mask_ends(&w);
  int64_t all = a->tq + a->tk;
  w.limited = a->valid.data || a->key_mask.data || a->left < all ||
              a->right < all;
  w.shaped = a->softcap > 0 || a->alibi.data || a->bias.data ||
             a->mask.data || a->key_mask.data;
  w.partial = w.limited || a->mask.data || a->bias.data || a->dropout;
  return w;
}

static int64_t row_step(const heed_attention *a, const heed_grid *g) {
  return a->tq == 1 ? g->head : g->row;
}

/* Takes the block that starts at `row` and ends at most at `end`. */
static void load_block(work *w, int64_t row, int64_t end, bool backward) {
  const heed_attention *a = w->a;
  w->head = row / a->tq;
  w->query = row % a->tq;
  int64_t left = a->tq == 1 ? end - row : a->tq - w->query;
  if (left > end - row) left = end - row;
  w->rows = left < BLOCK ? left : BLOCK;
  copy_rows(w->rows, a->d, place(&a->q, w->head, w->query),
            row_step(a, &a->q), (float)a->scale, w->q);
  if (backward)
    copy_rows(w->rows, a->dv, place(&a->dout, w->head, w->query),
              row_step(a, &a->dout), 1, w->dout);
}

/* ---- one tile ----------------------------------------------------------- */

/* Rows at .. at + rows - 1 of the block, at most TILE, with the keys they may
   see: row r sees keys lo[r] .. hi[r] - 1, which lie all in first .. end - 1;
   first is at the start of a panel, end at that of a vector. */
typedef struct span {
  int64_t at, rows, first, end, lo[TILE], hi[TILE];
} span;

static int64_t head_of(const work *w, int64_t row) {
  return w->a->tq == 1 ? w->head + row : w->head;
}
static int64_t query_of(const work *w, int64_t row) {
  return w->a->tq == 1 ? 0 : w->query + row;
}

/* Sets what the rows of a span see. */
static void limit_span(const work *w, span *t) {
  t->first = w->a->tk;
  t->end = 0;
  for (int64_t r = 0; r < t->rows; r++) {
    int64_t lo, hi;
    heed_attention_range(w->a, query_of(w, t->at + r), &lo, &hi);
    if (lo < w->first_key) lo = w->first_key;
    if (hi > w->end_key) hi = w->end_key;
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

static void span_at(const work *w, int64_t at, span *t) {
  t->at = at;
  t->rows = w->rows - at < TILE ? w->rows - at : TILE;
  if (w->limited) {
    limit_span(w, t);
    return;
  }
  t->first = 0;
  t->end = padded(w->a->tk, VF);
  for (int r = 0; r < TILE; r++) {
    t->lo[r] = 0;
    t->hi[r] = w->a->tk;
  }
}

/* How many of its keys there are. */
static int64_t span_depth(const work *w, const span *t) {
  return (t->end < w->a->tk ? t->end : w->a->tk) - t->first;
}

/* c[r * wide + j] = (row r of x) . (key or value j) for the span's keys. */
static void span_product(const work *w, const span *t, const float *x,
                         int64_t x_wide, int64_t d, factor turned, float *c) {
  turned.data += t->first / PANEL * turned.panel;
  product_set(false, t->rows, t->end - t->first, d,
              (left_factor){x + t->at * x_wide, x_wide, 1}, turned,
              c + t->first, w->wide);
}

/* x[j] = keep ? x[j] : -inf, by the bools at mask. */
static void apply_mask(float *restrict x, int64_t n,
                       const uint8_t *restrict mask, int64_t step) {
  if (step == 1)
    for (int64_t j = 0; j < n; j++) x[j] = mask[j] ? x[j] : -INFINITY;
  else
    for (int64_t j = 0; j < n; j++) x[j] = mask[j * step] ? x[j] : -INFINITY;
}

/* A bias of -inf shuts a key out, whatever its score is. */
static void apply_bias(float *restrict x, int64_t n,
                       const float *restrict bias, int64_t step) {
  for (int64_t j = 0; j < n; j++) {
    float b = bias[j * step];
    x[j] = b == -INFINITY ? b : x[j] + b;
  }
}

static void apply_alibi(float *restrict x, int64_t lo, int64_t hi, float by,
                        int64_t here) {
  for (int64_t j = lo; j < hi; j++)
    x[j] -= by * (float)(int32_t)(j < here ? here - j : j - here);
}

static void apply_softcap(float *s, int64_t n, float cap, float *slope) {
  for (int64_t j = 0; j < n; j += VF) {
    vf y = vf_tanh(vf_load(s + j) / cap);
    vf_store(s + j, y * cap);
    if (slope) vf_store(slope + j, 1.0f - y * y);
  }
}

/* The part of shape_scores that most calls do without. */
static void shape_more(const work *w, int64_t row, int64_t lo, int64_t hi,
                       float *s) {
  const heed_attention *a = w->a;
  int64_t head = head_of(w, row), query = query_of(w, row), n = hi - lo;
  if (a->alibi.data)
    apply_alibi(s, lo, hi, *place(&a->alibi, head, 0), query + a->shift);
  if (a->bias.data)
    apply_bias(s + lo, n, place(&a->bias, head, query) + lo * a->bias.column,
               a->bias.column);
  if (a->mask.data)
    apply_mask(s + lo, n,
               (uint8_t *)a->mask.data + head * a->mask.head +
                   query * a->mask.row + lo * a->mask.column,
               a->mask.column);
  if (a->key_mask.data)
    apply_mask(s + lo, n,
               (uint8_t *)a->key_mask.data + lo * a->key_mask.column,
               a->key_mask.column);
}

/* Turns scaled products in s[first .. end) into scores, -inf for what row r
   may not see; with `slope`, d score / d product there under a softcap. */
static void shape_scores(const work *w, const span *t, int64_t r, float *s,
                         float *slope) {
  int64_t lo = t->lo[r], hi = t->hi[r];
  if (w->a->softcap > 0)
    apply_softcap(s + t->first, t->end - t->first, (float)w->a->softcap,
                  slope ? slope + t->first : NULL);
  if (w->shaped) shape_more(w, t->at + r, lo, hi, s);
  for (int64_t j = t->first; j < lo; j++) s[j] = -INFINITY;
  for (int64_t j = hi; j < t->end; j++) s[j] = -INFINITY;
}

/* Drop factors of keys first .. end - 1 of a row, at w->drop. */
static void draw(const work *w, const span *t, int64_t r) {
  const heed_attention *a = w->a;
  /* the words of a row start at key 0; first and end are multiples of 4 */
  philox_words(a->seed, a->first_head + (uint64_t)head_of(w, t->at + r),
               (uint32_t)query_of(w, t->at + r), (uint32_t)(t->first / 4),
               (t->end - t->first) / 4, w->word);
  float keep = (float)a->keep_factor;
  for (int64_t j = t->first; j < t->end; j++)
    w->drop[j] = w->word[j - t->first] < a->drop_below ? 0 : keep;
}

/* e^x for x <= 0, or NaN; 0 where it is below the normal range. */
VEC_INLINE vf weight_of(vf x) {
  const vf least = vf_all(-87.0f);
  return vf_pick(x < least, (vf){0}, vf_exp_mid(vf_max(least, x)));
}

static bool any_nan(const float *s, int64_t n) {
  for (int64_t j = 0; j < n; j++)
    if (s[j] != s[j]) return true;
  return false;
}

/* ---- forward ------------------------------------------------------------ */

/* Row r of a tile: s becomes e^(s - m), dropped; returns 1 / sum, and 0 with
   m = -inf when there is nothing to attend to. */
static float soften(const work *w, const span *t, int64_t r, float *s,
                    float *m) {
  const heed_attention *a = w->a;
  shape_scores(w, t, r, s, NULL);
  vf top = vf_all(-INFINITY), sum = {0};
  for (int64_t j = t->first; j < t->end; j += VF)
    top = vf_max(vf_load(s + j), top);
  top = max_lanes(top);
  if (top[0] == -INFINITY) {
    if (!any_nan(s + t->first, t->end - t->first)) {
      memset(s + t->first, 0, sizeof *s * (size_t)(t->end - t->first));
      *m = -INFINITY;
      return 0;
    }
    top = (vf){0};
  }
  float rest = 0;
  if (a->sinks.data) {
    vf sink = vf_all(*place(&a->sinks, head_of(w, t->at + r), 0));
    top = vf_max(sink, top);
    rest = weight_of(sink - top)[0];
  }
  for (int64_t j = t->first; j < t->end; j += VF) {
    vf e = weight_of(vf_load(s + j) - top);
    vf_store(s + j, e);
    sum += e;
  }
  if (a->dropout) {
    draw(w, t, r);
    for (int64_t j = t->first; j < t->end; j += VF)
      vf_store(s + j, vf_load(s + j) * vf_load(w->drop + j));
  }
  *m = top[0];
  return 1 / (sum_lanes(sum)[0] + rest);
}

static bool all_finite(const float *x, int64_t n) {
  vf bad = {0};
  int64_t i = 0;
  for (; i + VF <= n; i += VF) bad += vf_load(x + i) * 0.0f;
  float rest = 0;
  for (; i < n; i++) rest += x[i] * 0.0f;
  return sum_lanes(bad)[0] + rest == 0;
}

static void tile_forward(const work *w, int64_t at) {
  const heed_attention *a = w->a;
  span t;
  span_at(w, at, &t);
  float gain[TILE];
  float *stats = a->stats;
  if (stats)
    stats += 2 * (head_of(w, at) * a->tq + query_of(w, at));
  span_product(w, &t, w->q, w->q_wide, a->d, w->keys_turned, w->score);
  for (int64_t r = 0; r < t.rows; r++) {
    float m;
    gain[r] = soften(w, &t, r, w->score + r * w->wide, &m);
    if (!stats) continue;
    stats[2 * r] = m;
    stats[2 * r + 1] = gain[r];
  }
  left_factor p = {w->score + t.first, w->wide, 1};
  factor v = w->values;
  v.data += t.first * v.step;
  int64_t depth = span_depth(w, &t), step = row_step(a, &a->out);
  float *out = place(&a->out, head_of(w, at), query_of(w, at));
  product_gain(false, t.rows, a->dv, depth, p, v, out, step, gain);
  if (!w->partial) return;
  bool good = true;
  for (int64_t r = 0; r < t.rows; r++)
    good = good && all_finite(out + r * step, a->dv);
  if (!good)
    product_gain(true, t.rows, a->dv, depth, p, v, out, step, gain);
}

static void forward(const heed_attention *a, int64_t begin, int64_t end,
                    void *room) {
  work w = work_begin(a, false, room);
  for (int64_t row = begin; row < end; row += w.rows) {
    load_block(&w, row, end, false);
    for (int64_t at = 0; at < w.rows; at += TILE) tile_forward(&w, at);
  }
}

/* ---- backward ----------------------------------------------------------- */

static void add_bias_gradient(const work *w, const span *t, int64_t r,
                              const float *restrict ds) {
  const heed_grid *g = &w->a->dbias;
  float *restrict to = place(g, head_of(w, t->at + r), query_of(w, t->at + r));
  int64_t step = g->column;
  if (step == 1)
    for (int64_t j = t->lo[r]; j < t->hi[r]; j++) to[j] += ds[j];
  else
    for (int64_t j = t->lo[r]; j < t->hi[r]; j++) to[j * step] += ds[j];
}

/* Row r of a tile: scaled products q . k in s become the dropped p, products
   dout . v in ds become ds, the gradient of the scaled products. */
static void row_backward(const work *w, const span *t, int64_t r, float *s,
                         float *ds) {
  const heed_attention *a = w->a;
  int64_t head = head_of(w, t->at + r), query = query_of(w, t->at + r);
  const float *stats = (float *)a->stats + 2 * (head * a->tq + query);
  if (stats[0] == -INFINITY) {
    memset(s + t->first, 0, sizeof *s * (size_t)(t->end - t->first));
    memset(ds + t->first, 0, sizeof *s * (size_t)(t->end - t->first));
    return;
  }
  shape_scores(w, t, r, s, w->slope);
  if (a->dropout) draw(w, t, r);
  vf m = vf_all(stats[0]), over = vf_all(stats[1]), delta = {0};
  for (int64_t j = t->first; j < t->end; j += VF) {
    vf p = weight_of(vf_load(s + j) - m) * over, kept = p, dp = vf_load(ds + j);
    if (a->dropout) {
      kept = p * vf_load(w->drop + j);
      dp *= vf_load(w->drop + j);
      vf_store(w->weight + j, p);
    }
    /* what is not attended to, or dropped, may be NaN in dp */
    dp = vf_pick(kept == 0.0f, kept, dp);
    delta += p * dp;
    vf_store(s + j, kept);
    vf_store(ds + j, dp);
  }
  delta = sum_lanes(delta);
  const float *weight = a->dropout ? w->weight : s;
  for (int64_t j = t->first; j < t->end; j += VF)
    vf_store(ds + j, vf_load(weight + j) * (vf_load(ds + j) - delta));
  if (a->dbias.data && !w->skip) add_bias_gradient(w, t, r, ds);
  if (a->softcap > 0)
    for (int64_t j = t->first; j < t->end; j += VF) {
      vf x = vf_load(ds + j); /* the slope of what is shut out may be NaN */
      vf_store(ds + j, vf_pick(x == 0.0f, x, x * vf_load(w->slope + j)));
    }
}

/* Fills the scores of the tile at `t`, and dq of its rows. */
static void tile_backward(const work *w, const span *t) {
  const heed_attention *a = w->a;
  float *score = w->score + t->at * w->wide;
  float *other = w->other + t->at * w->wide;
  float gain[TILE];
  span_product(w, t, w->q, w->q_wide, a->d, w->keys_turned, score);
  span_product(w, t, w->dout, w->dout_wide, a->dv, w->values_turned, other);
  for (int64_t r = 0; r < t->rows; r++) {
    row_backward(w, t, r, score + r * w->wide, other + r * w->wide);
    gain[r] = (float)a->scale;
  }
  factor keys = w->keys;
  keys.data += t->first * keys.step;
  product_gain(w->skip, t->rows, a->d, span_depth(w, t),
               (left_factor){other + t->first, w->wide, 1}, keys,
               place(&a->dq, head_of(w, t->at), query_of(w, t->at)),
               row_step(a, &a->dq), gain);
}

/* Zeros for keys first .. end - 1 of the block that a tile does not reach. */
static void clear_around(const work *w, const span *t, int64_t first,
                         int64_t end) {
  for (int64_t r = t->at; r < t->at + t->rows; r++) {
    float *s = w->score + r * w->wide, *ds = w->other + r * w->wide;
    for (int64_t j = first; j < t->first; j++) s[j] = ds[j] = 0;
    for (int64_t j = t->end > first ? t->end : first; j < end; j++)
      s[j] = ds[j] = 0;
  }
}

static void clear(const heed_grid *g, int64_t rows, int64_t columns) {
  for (int64_t i = 0; i < rows; i++)
    memset(place(g, 0, i), 0, sizeof(float) * (size_t)columns);
}

static void clear_sums(work *w) {
  clear(&w->a->dk, w->a->tk, w->a->d);
  clear(&w->a->dvalue, w->a->tk, w->a->dv);
  w->begun = true;
}

/* Rows first .. end - 1 of `sums` += the columns of `left`, times `right`. */
static void add_sums(const work *w, int64_t first, int64_t end,
                     const float *left, factor right, int64_t columns,
                     const heed_grid *sums) {
  left_factor turned = {left + first, 1, w->wide};
  float *to = place(sums, 0, first);
  if (w->begun)
    product_add(w->skip, end - first, columns, w->rows, turned, right, to,
                sums->row);
  else
    product_set(w->skip, end - first, columns, w->rows, turned, right, to,
                sums->row);
}

static void block_backward(work *w) {
  const heed_attention *a = w->a;
  span tiles[BLOCK / TILE];
  int64_t first = a->tk, end = 0;
  int count = 0;
  for (int64_t at = 0; at < w->rows; at += TILE, count++) {
    span *t = &tiles[count];
    span_at(w, at, t);
    tile_backward(w, t);
    if (t->first < t->end && t->first < first) first = t->first;
    if (t->end > end) end = t->end;
  }
  if (end > a->tk) end = a->tk;
  if (first >= end) return;
  for (int i = 0; i < count; i++) clear_around(w, &tiles[i], first, end);
  if (!w->begun && end - first < a->tk) clear_sums(w);
  add_sums(w, first, end, w->score, (factor){w->dout, w->dout_wide, PANEL},
           a->dv, &a->dvalue);
  add_sums(w, first, end, w->other, (factor){w->q, w->q_wide, PANEL}, a->d,
           &a->dk);
  w->begun = true;
}

static void group_backward(work *w) {
  const heed_attention *a = w->a;
  int64_t rows = a->heads * a->tq;
  w->begun = false;
  for (int64_t row = 0; row < rows; row += w->rows) {
    load_block(w, row, rows, true);
    block_backward(w);
  }
  if (!w->begun) clear_sums(w);
}

static bool gradients_finite(const heed_attention *a) {
  for (int64_t j = 0; j < a->tk; j++)
    if (!all_finite(place(&a->dk, 0, j), a->d) ||
        !all_finite(place(&a->dvalue, 0, j), a->dv))
      return false;
  for (int64_t h = 0; h < a->heads; h++)
    for (int64_t i = 0; i < a->tq; i++)
      if (!all_finite(place(&a->dq, h, i), a->d)) return false;
  return true;
}

static void backward(const heed_attention *a, void *room) {
  work w = work_begin(a, true, room);
  group_backward(&w);
  if (!w.partial || gradients_finite(a)) return;
  w.skip = true;
  group_backward(&w);
}

static float dot(int64_t n, const float *x, const float *y) {
  vf sum = {0};
  int64_t i = 0;
  for (; i + VF <= n; i += VF) sum += vf_load(x + i) * vf_load(y + i);
  float rest = 0;
  for (; i < n; i++) rest += x[i] * y[i];
  return sum_lanes(sum)[0] + rest;
}

static double sink_gradient(const heed_attention *a, int64_t h) {
  float sink = *place(&a->sinks, h, 0);
  double sum = 0;
  for (int64_t i = 0; i < a->tq; i++) {
    const float *stats = (float *)a->stats + 2 * (h * a->tq + i);
    if (stats[0] == -INFINITY) continue;
    sum -= exp((double)sink - stats[0]) * stats[1] *
           dot(a->dv, place(&a->dout, h, i), place(&a->out, h, i));
  }
  return sum;
}

HEED_FILL(attention);
HEED_FILL(attention) {
  k->attention[HEED_FLOAT32] =
      (heed_attention_loops){room_size, forward, backward, sink_gradient};
}
