/*
 * attention_backward - the way back of attention in float32 on vectors.
 * Layer: kernel. Read first: attention.c.
 *
 * Up to SPAN rows are taken at once, turned and as they are. For each block of
 * keys, and each BAND of these rows (queries are lanes again):
 *   1. S = K Q^T and D = V dO^T, by tiles
 *   2. P and dS = P (D - delta), in place
 *   3. dV += P dO, dK += dS Q           4. dQ += dS^T K
 * delta, the sum of P D over all keys of a row, is taken as dO . O, but for
 * keys of a single block as the sum itself. Both add in the order in which D
 * was made, so that a weight of 1 gets a dS of exactly 0.
 */
#include "kernel/attention_lanes.h"
#include "kernel/kernel.h"

#define SPAN 1024 /* rows */
#define BAND 96   /* rows */
#define PANELS (BAND / PANEL)

/* Rows of a span: [d PANEL] for each panel of lanes, and as panels of
   columns, [rows PANEL] each. */
typedef struct span {
  float *lanes, *columns;
  bool finite;
} span;

typedef struct backward_work {
  work w;
  int64_t rows, panels;      /* of the span at hand */
  lanes *seen;
  span q, dout;
  float *dq;                 /* panels of columns */
  float *top, *over, *delta; /* of its rows; delta is known or not */
  bool known;
  bool loaded;               /* are the keys of the block? */
  matrix keys, values;
  float *key_room, *value_room, *dk, *dvalue;
  product_care key_care;
  float *score, *other;      /* of a band: P; D, then dS */
  float *slope, *weight;     /* of a panel: of the softcap; P undropped */
} backward_work;

static backward_work backward_cut(const heed_attention *a, pool *room) {
  backward_work b = {.w = work_cut(a, room)};
  int64_t rows = padded(a->heads * a->tq, PANEL), panel = b.w.step * PANEL;
  if (rows > SPAN) rows = SPAN;
  int64_t band = rows < BAND ? rows : BAND;
  int64_t wide = padded(a->d, PANEL), value_wide = padded(a->dv, PANEL);
  b.seen = (lanes *)cut(room, rows / PANEL * (int64_t)(sizeof(lanes) /
                                                       sizeof(float)));
  b.q.lanes = cut(room, rows * a->d);
  b.q.columns = cut(room, rows * wide);
  b.dout.lanes = cut(room, rows * a->dv);
  b.dout.columns = cut(room, rows * value_wide);
  b.dq = cut(room, rows * wide);
  b.top = cut(room, rows);
  b.over = cut(room, rows);
  b.delta = cut(room, rows);
  b.key_room = cut(room, b.w.step * wide);
  b.value_room = cut(room, b.w.step * value_wide);
  b.dk = cut(room, b.w.step * wide);
  b.dvalue = cut(room, b.w.step * value_wide);
  b.score = cut(room, band * b.w.step);
  /* out is turned in here */
  b.other = cut(room, band * (b.w.step > a->dv ? b.w.step : a->dv));
  b.slope = cut(room, a->softcap > 0 ? panel : 0);
  b.weight = cut(room, a->dropout ? panel : 0);
  return b;
}

static size_t room_size(const heed_attention *a) {
  pool count = {0};
  backward_cut(a, &count);
  return count.used;
}

/* ---- rows --------------------------------------------------------------- */

/* Panel p of a span, from d columns of its rows. */
static void load_rows(const backward_work *b, span *s, int64_t p, int64_t d,
                      const float *const *row, float gain) {
  const lanes *t = &b->seen[p];
  turn_in(t->count, d, row, gain, s->lanes + p * PANEL * d);
  for (int64_t l = 0; l < t->count; l++) {
    pack_row(d, row[l], gain, s->columns + (p * PANEL + l) * PANEL,
             b->rows * PANEL);
    if (b->w.partial && s->finite) s->finite = all_finite(row[l], d);
  }
}

/* delta = dout . out of a panel. */
static void find_delta(const backward_work *b, int64_t p) {
  const heed_attention *a = b->w.a;
  const lanes *t = &b->seen[p];
  const float *x = b->dout.lanes + p * PANEL * a->dv, *y = b->other;
  float *row[PANEL];
  lane_rows(&a->out, t, row);
  turn_in(t->count, a->dv, (const float *const *)row, 1, b->other);
  vf sum[2] = {{0}};
  for (int64_t e = 0; e < a->dv; e++, x += PANEL, y += PANEL) {
    sum[0] += vf_load(x) * vf_load(y);
    sum[1] += vf_load(x + VF) * vf_load(y + VF);
  }
  vf_store(b->delta + p * PANEL, sum[0]);
  vf_store(b->delta + p * PANEL + VF, sum[1]);
}

static void load_span(backward_work *b, int64_t row, int64_t end) {
  const heed_attention *a = b->w.a;
  b->rows = end - row < SPAN ? end - row : SPAN;
  b->panels = (b->rows + PANEL - 1) / PANEL;
  b->known = a->tk > b->w.step;
  b->q.finite = b->dout.finite = true;
  for (int64_t p = 0; p < b->panels; p++) {
    lanes *t = &b->seen[p];
    lanes_at(&b->w, row + p * PANEL, row + b->rows, t);
    const float *query[PANEL];
    float *dout[PANEL];
    lane_queries(&b->w, t, query);
    load_rows(b, &b->q, p, a->d, query, (float)a->scale);
    lane_rows(&a->dout, t, dout);
    load_rows(b, &b->dout, p, a->dv, (const float *const *)dout, 1);
    for (int64_t l = 0; l < PANEL; l++) {
      const float *stats = place(&a->stats, t->head[l], t->query[l]);
      bool any = l < t->count && stats[0] != -INFINITY;
      b->top[p * PANEL + l] = any ? stats[0] : 0;
      b->over[p * PANEL + l] = any ? stats[1] : 0;
    }
    if (b->known) find_delta(b, p);
  }
  memset(b->dq, 0, sizeof *b->dq * (size_t)(b->rows * padded(a->d, PANEL)));
}

/* The keys of a block, when the first panel wants them. */
static void load_keys(backward_work *b) {
  const work *w = &b->w;
  const heed_attention *a = w->a;
  if (b->loaded) return;
  b->loaded = true;
  b->keys = pack(w, &a->k, a->k_dtype, a->d, b->key_room);
  b->values = pack(w, &a->v, a->v_dtype, a->dv, b->value_room);
  bool careful = w->partial && !block_finite(w, &a->k, a->k_dtype, a->d);
  b->key_care = careful ? LEFT : NONE;
}

/* ---- weights ------------------------------------------------------------ */

/* From scores s and products dout . v in ds: the dropped P, and dS where delta
   is known; else D, with P itself at b->weight where there is dropout, and
   delta. What is not attended to, or dropped, may be NaN in ds: with `partial`
   it becomes 0. */
VEC_INLINE void weigh(backward_work *b, int64_t p, int64_t first, int64_t end,
                      float *s, float *ds, bool known, bool partial) {
  const bool drop = partial && b->w.a->dropout;
  UNROLL for (int v = 0; v < 2; v++) {
    int64_t l = p * PANEL + v * VF;
    const vf top = vf_load(b->top + l), over = vf_load(b->over + l);
    vf delta = known ? vf_load(b->delta + l) : (vf){0};
    for (int64_t i = first * PANEL + v * VF; i < end * PANEL; i += PANEL) {
      vf weight = weight_of(vf_load(s + i), top) * over, kept = weight;
      vf x = vf_load(ds + i);
      if (drop) {
        vf factor = vf_load(b->w.drop + i);
        kept *= factor;
        x *= factor;
        if (!known) vf_store(b->weight + i, weight);
      }
      if (partial) x = vf_pick(kept == 0.0f, kept, x);
      if (known) {
        x = weight * (x - delta);
        if (partial) x = vf_pick(weight == 0.0f, weight, x);
      } else {
        delta += weight * x;
      }
      vf_store(s + i, kept);
      vf_store(ds + i, x);
    }
    if (!known) vf_store(b->delta + l, delta);
  }
}

/* dS from D. */
static void differ(const backward_work *b, int64_t p, int64_t first,
                   int64_t end, const float *s, float *ds) {
  const float *weight = b->w.a->dropout ? b->weight : s;
  UNROLL for (int v = 0; v < 2; v++) {
    const vf delta = vf_load(b->delta + p * PANEL + v * VF);
    for (int64_t i = first * PANEL + v * VF; i < end * PANEL; i += PANEL) {
      vf x = vf_load(weight + i); /* delta may be NaN */
      vf_store(ds + i,
               vf_pick(x == 0.0f, x, x * (vf_load(ds + i) - delta)));
    }
  }
}

/* P and dS from scores and products dout . v. */
static void weigh_panel(backward_work *b, int64_t p, int64_t first,
                        int64_t end, float *s, float *ds) {
  if (!b->known) {
    weigh(b, p, first, end, s, ds, false, true);
    differ(b, p, first, end, s, ds);
  } else if (b->w.partial) {
    weigh(b, p, first, end, s, ds, true, true);
  } else {
    weigh(b, p, first, end, s, ds, true, false);
  }
}

static void add_bias_gradient(const work *w, const lanes *t, int64_t first,
                              int64_t end, const float *ds) {
  const heed_grid *g = &w->a->dbias;
  int64_t step = g->column, n = end - first;
  float *row[PANEL];
  lane_rows(g, t, row);
  turn_back(ds + first * PANEL, n, w->row);
  for (int64_t l = 0; l < t->count; l++) {
    const float *restrict from = w->row + l * ROW_WIDE;
    float *restrict to = row[l] + (w->from + first) * step;
    if (step == 1)
      for (int64_t j = 0; j < n; j++) to[j] += from[j];
    else
      for (int64_t j = 0; j < n; j++) to[j * step] += from[j];
  }
}

/* P and dS of places first .. end - 1 for panel p, at s and ds; false when no
   key is left. */
static bool panel_weights(backward_work *b, int64_t p, int64_t first,
                          int64_t end, float *s, float *ds) {
  const work *w = &b->w;
  const heed_attention *a = w->a;
  const lanes *t = &b->seen[p];
  if (!list_terms(w, t, first, end)) return false;
  load_keys(b);
  matrix keys = b->keys, values = b->values;
  keys.data += first * PANEL;
  values.data += first * PANEL;
  product(SET, NONE, end - first, a->d, keys, b->q.lanes + p * PANEL * a->d,
          s + first * PANEL, NULL);
  product(SET, NONE, end - first, a->dv, values,
          b->dout.lanes + p * PANEL * a->dv, ds + first * PANEL, NULL);
  shape_scores(w, t, first, end, s, b->slope);
  if (a->dropout) draw(w, t, first, end);
  weigh_panel(b, p, first, end, s, ds);
  if (a->dbias.data) add_bias_gradient(w, t, first, end, ds);
  if (a->softcap > 0)
    for (int64_t i = first * PANEL; i < end * PANEL; i += VF) {
      vf x = vf_load(ds + i); /* the slope of what is shut out may be NaN */
      vf_store(ds + i, vf_pick(x == 0.0f, x, x * vf_load(b->slope + i)));
    }
  return true;
}

/* ---- products ----------------------------------------------------------- */

/* The panels of a band, in order, and the places that each sees. */
typedef struct band {
  int64_t panel, panels;
  int64_t first[PANELS], end[PANELS];
} band;

/* Which of them see a place of i .. i + n - 1, from the first to the last.
   What lies between is 0 where it is not seen. */
static void seeing(const band *t, int64_t i, int64_t n, int64_t *from,
                   int64_t *to) {
  *from = t->panels;
  *to = 0;
  for (int64_t p = 0; p < t->panels; p++) {
    if (t->first[p] >= i + n || t->end[p] <= i) continue;
    if (*from > p) *from = p;
    *to = p + 1;
  }
}

/* sums [step columns] += weights (of the band, [keys PANEL] for each panel)
   times the rows of the band. */
static void add_sums(const backward_work *b, const band *t,
                     const float *weights, const span *rows, int64_t columns,
                     float *sums) {
  product_care care = rows->finite ? NONE : LEFT;
  int64_t step = b->w.step, first = t->panel * PANEL;
  for (int64_t i = 0, n; i < b->w.count; i += n) {
    int64_t from, to;
    n = tile_rows(b->w.count - i);
    seeing(t, i, n, &from, &to);
    if (from >= to) continue;
    int64_t start = first + from * PANEL, end = first + to * PANEL;
    if (end > b->rows) end = b->rows;
    matrix left = {weights + (from * step + i) * PANEL, PANEL, step * PANEL};
    for (int64_t e = 0; e < columns; e += PANEL)
      product(ADD, care, n, end - start, left,
              rows->columns + e * b->rows + start * PANEL,
              sums + e * step + i * PANEL, NULL);
  }
}

static void add_queries(const backward_work *b, const band *t) {
  const heed_attention *a = b->w.a;
  for (int64_t e = 0; e < a->d; e += PANEL)
    for (int64_t p = 0; p < t->panels; p++) {
      int64_t row = (t->panel + p) * PANEL, first = t->first[p];
      if (first >= t->end[p]) continue;
      product_across(ADD, b->key_care, b->seen[t->panel + p].count,
                     t->end[p] - first,
                     b->other + (p * b->w.step + first) * PANEL, PANEL,
                     matrix_at(b->keys, first, e),
                     b->dq + e * b->rows + row * PANEL, NULL);
    }
}

/* Zeros in the rows of a panel, but for those that it sees. */
static void clear_unseen(float *s, int64_t count, int64_t first,
                         int64_t end) {
  size_t row = sizeof *s * PANEL;
  memset(s, 0, row * (size_t)first);
  memset(s + end * PANEL, 0, row * (size_t)(count - end));
}

static void band_backward(backward_work *b, int64_t panel) {
  const heed_attention *a = b->w.a;
  const int64_t size = b->w.step * PANEL;
  band t = {.panel = panel};
  bool any = false;
  t.panels = b->panels - panel < PANELS ? b->panels - panel : PANELS;
  for (int64_t p = 0; p < t.panels; p++) {
    if (seen_of_block(&b->w, &b->seen[panel + p], &t.first[p], &t.end[p]) &&
        panel_weights(b, panel + p, t.first[p], t.end[p], b->score + p * size,
                      b->other + p * size))
      any = true;
    else
      t.first[p] = t.end[p] = 0;
  }
  if (!any) return;
  for (int64_t p = 0; p < t.panels; p++) {
    clear_unseen(b->score + p * size, b->w.count, t.first[p], t.end[p]);
    clear_unseen(b->other + p * size, b->w.count, t.first[p], t.end[p]);
  }
  add_sums(b, &t, b->score, &b->dout, a->dv, b->dvalue);
  add_sums(b, &t, b->other, &b->q, a->d, b->dk);
  add_queries(b, &t);
}

/* ---- all together ------------------------------------------------------- */

static void take_block(backward_work *b, int64_t from, int64_t end) {
  const heed_attention *a = b->w.a;
  size_t row = sizeof(float) * (size_t)b->w.step;
  take_keys(&b->w, from, end);
  b->loaded = false;
  memset(b->dk, 0, row * (size_t)padded(a->d, PANEL));
  memset(b->dvalue, 0, row * (size_t)padded(a->dv, PANEL));
}

/* Rows of dk or dvalue become the sums, or more by them. */
static void store_keys(const backward_work *b, const heed_grid *g, int64_t d,
                       const float *sums, bool add) {
  for (int64_t i = 0; i < b->w.count; i++)
    unpack_row(d, sums + i * PANEL, b->w.step * PANEL, 1, add,
               place(g, 0, b->w.from + i));
}

static void store_queries(const backward_work *b) {
  const heed_attention *a = b->w.a;
  for (int64_t p = 0; p < b->panels; p++) {
    float *row[PANEL];
    lane_rows(&a->dq, &b->seen[p], row);
    for (int64_t l = 0; l < b->seen[p].count; l++)
      unpack_row(a->d, b->dq + (p * PANEL + l) * PANEL, b->rows * PANEL,
                 (float)a->scale, false, row[l]);
  }
}

static void backward(const heed_attention *a, int64_t first, int64_t end,
                     void *room) {
  backward_work b = backward_cut(a, &(pool){.start = room});
  int64_t rows = a->heads * a->tq;
  describe(&b.w, first, end);
  for (int64_t row = 0; row < rows || row == 0; row += SPAN) {
    load_span(&b, row, rows);
    for (int64_t from = first; from < end; from += b.w.step) {
      take_block(&b, from, end);
      for (int64_t p = 0; p < b.panels; p += PANELS) band_backward(&b, p);
      store_keys(&b, &a->dk, a->d, b.dk, row > 0);
      store_keys(&b, &a->dvalue, a->dv, b.dvalue, row > 0);
    }
    store_queries(&b);
  }
}

static double sink_gradient(const heed_attention *a, int64_t h) {
  float sink = *place(&a->sinks, h, 0);
  double sum = 0;
  for (int64_t i = 0; i < a->tq; i++) {
    const float *stats = place(&a->stats, h, i);
    const float *x = place(&a->dout, h, i), *y = place(&a->out, h, i);
    if (stats[0] == -INFINITY) continue;
    double product = 0;
    for (int64_t e = 0; e < a->dv; e++) product += (double)x[e] * y[e];
    sum -= exp((double)sink - stats[0]) * stats[1] * product;
  }
  return sum;
}

HEED_FILL(attention_backward);
HEED_FILL(attention_backward) {
  heed_attention_loops *loops = &k->attention[HEED_FLOAT32];
  loops->backward_room = room_size;
  loops->backward = backward;
  loops->backward_keys = 4 * KEYS;
  loops->sink_gradient = sink_gradient;
}
