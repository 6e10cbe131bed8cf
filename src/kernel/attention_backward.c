/*
 * attention_backward - the way back of attention in float32 on vectors.
 * Layer: kernel. Read first: attention.c.
 *
 * For each block of keys, which is packed once, and each ROWS rows of a head:
 *   1. S = Q K^T and D = dO V^T, by tiles
 *   2. P and dS = P (D - delta), row by row, in place
 *   3. dQ += dS K           4. dV += P^T dO, dK += dS^T Q
 * delta, the sum of P D over all keys of a row, is taken as dO . O, but for
 * keys of a single block as the sum itself. Both add in the order in which D
 * was made, so that a weight of 1 gets a dS of exactly 0.
 */
#include "kernel/attention_work.h"
#include "kernel/kernel.h"

typedef struct backward_work {
  work w;
  factor keys_turned, values_turned, keys;
  float *pack[3];
  /* the block: up to ROWS rows of one head, or with tq = 1 of several */
  int64_t row, rows;
  int64_t q_wide, dout_wide;
  float *q, *dout;      /* its rows, those of q times the scale */
  float *score, *other; /* rows of P, and of D and dS */
  float *slope, *weight; /* of one row: of the softcap; P undropped */
  float *delta;         /* of all rows; NULL: keys are one block */
  bool begun;           /* dk and dvalue of these keys hold sums already */
} backward_work;

static backward_work backward_cut(const heed_attention *a, pool *room) {
  backward_work b = {.w = work_cut(a, room)};
  int64_t across = block_width(a), all = a->heads * a->tq;
  int64_t rows = all < ROWS ? all : ROWS;
  b.q_wide = padded(a->d, VF);
  b.dout_wide = padded(a->dv, VF);
  b.pack[0] = cut(room, across * a->d);
  b.pack[1] = cut(room, across * a->dv);
  b.pack[2] = cut(room, across * padded(a->d, PANEL));
  b.q = cut(room, rows * b.q_wide);
  b.dout = cut(room, rows * b.dout_wide);
  b.score = cut(room, rows * b.w.wide);
  b.other = cut(room, rows * b.w.wide);
  b.slope = cut(room, a->softcap > 0 ? b.w.wide : 0);
  b.weight = cut(room, a->dropout ? b.w.wide : 0);
  b.delta = a->tk > KEYS ? cut(room, all) : NULL;
  return b;
}

static size_t room_size(const heed_attention *a) {
  pool count = {0};
  backward_cut(a, &count);
  return count.used;
}

static int64_t row_step(const heed_attention *a, const heed_grid *g) {
  return a->tq == 1 ? g->head : g->row;
}

static float *row_place(const heed_attention *a, const heed_grid *g,
                        int64_t row) {
  return place(g, row / a->tq, row % a->tq);
}

/* Takes the block of rows that starts at `row`. */
static void load_block(backward_work *b, int64_t row) {
  const heed_attention *a = b->w.a;
  int64_t left = a->tq == 1 ? a->heads - row : a->tq - row % a->tq;
  bool ahead = b->w.from == 0;
  b->row = row;
  b->rows = left < ROWS ? left : ROWS;
  copy_rows(b->rows, a->d, row_place(a, &a->q, row), row_step(a, &a->q),
            (float)a->scale, ahead, b->q);
  copy_rows(b->rows, a->dv, row_place(a, &a->dout, row),
            row_step(a, &a->dout), 1, ahead, b->dout);
}

/* delta = dout . out, in the order in which a tile adds up: then it is
   exactly D where a row has one key. */
static void find_delta(const backward_work *b) {
  const heed_attention *a = b->w.a;
  for (int64_t row = 0; row < a->heads * a->tq; row++) {
    const float *x = row_place(a, &a->dout, row);
    const float *y = row_place(a, &a->out, row);
    float sum = 0;
    for (int64_t e = 0; e < a->dv; e++) sum += x[e] * y[e];
    b->delta[row] = sum;
  }
}

static void pack_keys(backward_work *b, int64_t from) {
  const heed_attention *a = b->w.a;
  take_keys(&b->w, from);
  const float *k = place(&a->k, 0, from), *v = place(&a->v, 0, from);
  int64_t n = b->w.count;
  b->keys_turned = pack_turned(n, a->d, k, a->k.row, b->pack[0]);
  b->values_turned = pack_turned(n, a->dv, v, a->v.row, b->pack[1]);
  b->keys = pack_rows(n, a->d, k, a->k.row, (float)a->scale, b->pack[2]);
}

static void add_bias_gradient(const work *w, const span *t, int64_t r,
                              const float *restrict ds) {
  const heed_grid *g = &w->a->dbias;
  int64_t step = g->column;
  float *restrict to = row_place(w->a, g, t->row + r) + w->from * step;
  if (step == 1)
    for (int64_t j = t->lo[r]; j < t->hi[r]; j++) to[j] += ds[j];
  else
    for (int64_t j = t->lo[r]; j < t->hi[r]; j++) to[j * step] += ds[j];
}

/* Row r of a tile: scaled products q . k in s become the dropped P, products
   dout . v in ds become D, which is 0 where P is. Returns the sum of P D. */
static float weigh_row(const backward_work *b, const span *t, int64_t r,
                       float *s, float *ds) {
  const work *w = &b->w;
  const float *stats = row_place(w->a, &w->a->stats, t->row + r);
  shape_scores(w, t, r, s, b->slope);
  if (w->a->dropout) draw(w, t, r);
  vf top = vf_all(stats[0]), over = vf_all(stats[1]), delta = {0};
  for (int64_t j = t->first; j < t->end; j += VF) {
    vf p = weight_of(vf_load(s + j) - top) * over, kept = p;
    vf dp = vf_load(ds + j);
    if (w->a->dropout) {
      kept = p * vf_load(w->drop + j);
      dp *= vf_load(w->drop + j);
      vf_store(b->weight + j, p);
    }
    /* what is not attended to, or dropped, may be NaN in dp */
    dp = vf_pick(kept == 0.0f, kept, dp);
    delta += p * dp;
    vf_store(s + j, kept);
    vf_store(ds + j, dp);
  }
  return sum_lanes(delta)[0];
}

/* Row r of a tile: P in s, and in ds the gradient of the scaled products. */
static void row_backward(const backward_work *b, const span *t, int64_t r,
                         float *s, float *ds) {
  const heed_attention *a = b->w.a;
  const float *stats = row_place(a, &a->stats, t->row + r);
  if (stats[0] == -INFINITY) {
    memset(s + t->first, 0, sizeof *s * (size_t)(t->end - t->first));
    memset(ds + t->first, 0, sizeof *s * (size_t)(t->end - t->first));
    return;
  }
  float sum = weigh_row(b, t, r, s, ds);
  float delta = b->delta ? b->delta[t->row + r] : sum;
  const float *weight = a->dropout ? b->weight : s;
  for (int64_t j = t->first; j < t->end; j += VF) {
    vf p = vf_load(weight + j); /* delta may be NaN */
    vf_store(ds + j, vf_pick(p == 0.0f, p, p * (vf_load(ds + j) - delta)));
  }
  if (a->dbias.data && !b->w.skip) add_bias_gradient(&b->w, t, r, ds);
  if (a->softcap > 0)
    for (int64_t j = t->first; j < t->end; j += VF) {
      vf x = vf_load(ds + j); /* the slope of what is shut out may be NaN */
      vf_store(ds + j, vf_pick(x == 0.0f, x, x * vf_load(b->slope + j)));
    }
}

/* c = (rows of x) . (keys or values) for all tiles, panel by panel. */
static void score_tiles(const backward_work *b, const span *tiles, int count,
                        const float *x, int64_t x_wide, int64_t d,
                        factor turned, float *c) {
  for (int64_t j = 0; j < b->w.count; j += PANEL)
    for (const span *t = tiles; t < tiles + count; t++) {
      if (j < t->first || j >= t->end) continue;
      int64_t r = t->row - b->row;
      panel_tile(SET, false, t->rows, t->end - j, d,
                 (left_factor){x + r * x_wide, x_wide, 1},
                 turned.data + j / PANEL * turned.panel, turned.step,
                 c + r * b->w.wide + j, b->w.wide, NULL);
    }
}

/* dq of the block's rows. */
static void query_tiles(const backward_work *b, const span *tiles,
                        int count) {
  const heed_attention *a = b->w.a;
  int64_t step = row_step(a, &a->dq), wide = b->w.wide;
  product_kind kind = b->w.limited || b->w.from > 0 ? ADD : SET;
  for (int64_t e = 0; e < a->d; e += PANEL)
    for (const span *t = tiles; t < tiles + count; t++) {
      if (t->first >= t->end) continue;
      left_factor ds = {b->other + (t->row - b->row) * wide + t->first, wide,
                        1};
      panel_tile(kind, b->w.skip, t->rows, a->d - e, span_depth(&b->w, t), ds,
                 b->keys.data + e / PANEL * b->keys.panel +
                     t->first * b->keys.step,
                 b->keys.step, row_place(a, &a->dq, t->row) + e, step, NULL);
    }
}

/* Zeros for places first .. end - 1 of the block that a tile does not
   reach. */
static void clear_around(const backward_work *b, const span *t, int64_t first,
                         int64_t end) {
  for (int64_t r = t->row - b->row; r < t->row - b->row + t->rows; r++) {
    float *s = b->score + r * b->w.wide, *ds = b->other + r * b->w.wide;
    for (int64_t j = first; j < t->first; j++) s[j] = ds[j] = 0;
    for (int64_t j = t->end > first ? t->end : first; j < end; j++)
      s[j] = ds[j] = 0;
  }
}

static void clear(const heed_grid *g, int64_t head, int64_t first,
                  int64_t rows, int64_t columns) {
  for (int64_t i = first; i < first + rows; i++)
    memset(place(g, head, i), 0, sizeof(float) * (size_t)columns);
}

static void clear_sums(backward_work *b, int64_t from, int64_t count) {
  clear(&b->w.a->dk, 0, from, count, b->w.a->d);
  clear(&b->w.a->dvalue, 0, from, count, b->w.a->dv);
  b->begun = true;
}

/* C [m n], rows c_row apart, from A [m depth] and B [depth n]; kind is SET
   or ADD. */
static void product(product_kind kind, bool skip, int64_t m, int64_t n,
                    int64_t depth, left_factor a, factor b, float *c,
                    int64_t c_row) {
  for (int64_t j = 0; j < n; j += PANEL) {
    left_factor rows = a;
    for (int64_t i = 0; i < m; i += TILE) {
      rows.data = a.data + i * a.row;
      panel_tile(kind, skip, m - i, n - j, depth, rows,
                 b.data + j / PANEL * b.panel, b.step, c + i * c_row + j,
                 c_row, NULL);
    }
  }
}

/* Rows first .. end - 1 of the block in `sums` += the columns of `left`,
   times `right`. */
static void add_sums(const backward_work *b, int64_t first, int64_t end,
                     const float *left, factor right, int64_t columns,
                     const heed_grid *sums) {
  product(b->begun ? ADD : SET, b->w.skip, end - first, columns, b->rows,
          (left_factor){left + first, 1, b->w.wide}, right,
          place(sums, 0, b->w.from + first), sums->row);
}

static void block_backward(backward_work *b) {
  const heed_attention *a = b->w.a;
  span tiles[ROWS / TILE];
  int64_t first = b->w.count, end = 0;
  int count = 0;
  for (int64_t at = 0; at < b->rows; at += TILE, count++) {
    span *t = &tiles[count];
    span_at(&b->w, b->row + at, b->row + b->rows, t);
    if (t->first < t->end && t->first < first) first = t->first;
    if (t->end > end) end = t->end;
  }
  if (end > b->w.count) end = b->w.count;
  if (first >= end) return;
  score_tiles(b, tiles, count, b->q, b->q_wide, a->d, b->keys_turned,
              b->score);
  score_tiles(b, tiles, count, b->dout, b->dout_wide, a->dv,
              b->values_turned, b->other);
  for (const span *t = tiles; t < tiles + count; t++) {
    clear_around(b, t, first, end);
    if (t->first >= t->end) continue;
    for (int64_t r = 0; r < t->rows; r++) {
      int64_t at = (t->row - b->row + r) * b->w.wide;
      row_backward(b, t, r, b->score + at, b->other + at);
    }
  }
  query_tiles(b, tiles, count);
  if (!b->begun && end - first < b->w.count)
    clear_sums(b, b->w.from, b->w.count);
  add_sums(b, first, end, b->score, (factor){b->dout, b->dout_wide, PANEL},
           a->dv, &a->dvalue);
  add_sums(b, first, end, b->other, (factor){b->q, b->q_wide, PANEL}, a->d,
           &a->dk);
  b->begun = true;
}

static void group_backward(backward_work *b) {
  const heed_attention *a = b->w.a;
  int64_t rows = a->heads * a->tq;
  if (b->w.limited || a->tk == 0)
    for (int64_t h = 0; h < a->heads; h++) clear(&a->dq, h, 0, a->tq, a->d);
  for (int64_t from = 0; from < a->tk; from += KEYS) {
    b->begun = false;
    pack_keys(b, from);
    for (int64_t row = 0; row < rows; row += b->rows) {
      load_block(b, row);
      block_backward(b);
    }
    if (!b->begun) clear_sums(b, from, b->w.count);
  }
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
  backward_work b = backward_cut(a, &(pool){.start = room});
  work_begin(&b.w);
  if (b.delta) find_delta(&b);
  group_backward(&b);
  if (!b.w.partial || gradients_finite(a)) return;
  b.w.skip = true;
  group_backward(&b);
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
    const float *stats = place(&a->stats, h, i);
    if (stats[0] == -INFINITY) continue;
    sum -= exp((double)sink - stats[0]) * stats[1] *
           dot(a->dv, place(&a->dout, h, i), place(&a->out, h, i));
  }
  return sum;
}

HEED_FILL(attention_backward);
HEED_FILL(attention_backward) {
  heed_attention_loops *loops = &k->attention[HEED_FLOAT32];
  loops->backward_room = room_size;
  loops->backward = backward;
  loops->sink_gradient = sink_gradient;
}
