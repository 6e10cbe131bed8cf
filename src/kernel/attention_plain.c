/*
 * attention_plain - attention in float64, one row and one key at a time.
 * Layer: kernel. Read first: attention.h.
 *
 * The plain statement of what attention.c does fast in float32. For a row:
 *   s[j] = scale * q . k[j];  s = softcap * tanh(s / softcap);
 *   s[j] += bias[j] - slope * |place - j|;  s[j] = -inf where not allowed
 *   p[j] = e^(s[j] - m) / sum;  out = sum of drop[j] * p[j] * v[j]
 * with m the largest s, the sink among them. Back:
 *   dp[j] = drop[j] * (dout . v[j]);  ds[j] = p[j] * (dp[j] - sum of p dp)
 * The sum is dout . out, but taken so, a weight of 1 gets a ds of exactly 0.
 * A key that is not allowed is not touched: 0 * NaN is never formed.
 */
#include <math.h>
#include <string.h>

#include "kernel/attention.h"
#include "kernel/kernel.h"
#include "kernel/philox.h"

/* Scratch for one row. */
typedef struct row_room {
  double *score, *slope, *dp; /* slope: of the softcap */
  uint32_t *word;
} row_room;

static int64_t word_count(const heed_attention *a) {
  const int64_t group = 4 * PHILOX_LANES;
  return a->dropout ? (a->tk + group - 1) / group * group : 0;
}

static size_t room_size(const heed_attention *a) {
  return sizeof(double) * 3 * (size_t)a->tk +
         sizeof(uint32_t) * (size_t)word_count(a);
}

static row_room room_cut(const heed_attention *a, void *room) {
  double *d = room;
  return (row_room){d, d + a->tk, d + 2 * a->tk,
                    (uint32_t *)(d + 3 * a->tk)};
}

static double *place(const heed_grid *g, int64_t head, int64_t row) {
  return (double *)g->data + head * g->head + row * g->row;
}

static bool allowed(const heed_attention *a, int64_t h, int64_t i,
                    int64_t j) {
  const uint8_t *mask = a->mask.data, *key_mask = a->key_mask.data;
  const double *bias = a->bias.data;
  if (mask && !mask[h * a->mask.head + i * a->mask.row + j * a->mask.column])
    return false;
  if (key_mask && !key_mask[j * a->key_mask.column]) return false;
  return !bias || bias[h * a->bias.head + i * a->bias.row +
                       j * a->bias.column] != -INFINITY;
}

static double dot(int64_t n, const double *x, const double *y) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += x[i] * y[i];
  return sum;
}

/* Scores and slopes of keys lo .. hi - 1 for row (h, i). */
static void score_row(const heed_attention *a, int64_t h, int64_t i,
                      int64_t lo, int64_t hi, const row_room *r) {
  const double *q = place(&a->q, h, i);
  for (int64_t j = lo; j < hi; j++) {
    r->score[j] = -INFINITY;
    r->slope[j] = 1;
    if (!allowed(a, h, i, j)) continue;
    double s = a->scale * dot(a->d, q, place(&a->k, 0, j));
    if (a->softcap > 0) {
      double t = tanh(s / a->softcap);
      s = a->softcap * t;
      r->slope[j] = 1 - t * t;
    }
    if (a->alibi.data) {
      int64_t distance = i + a->shift - j;
      s -= *place(&a->alibi, h, 0) *
           (double)(distance < 0 ? -distance : distance);
    }
    if (a->bias.data) s += place(&a->bias, h, i)[j * a->bias.column];
    r->score[j] = s;
  }
}

/* The largest score; -inf when there is nothing to attend to. */
static double largest(const double *s, int64_t lo, int64_t hi) {
  double m = -INFINITY;
  bool nan = false;
  for (int64_t j = lo; j < hi; j++) {
    if (s[j] > m) m = s[j];
    if (s[j] != s[j]) nan = true;
  }
  return nan && m == -INFINITY ? 0 : m;
}

static void draw(const heed_attention *a, int64_t h, int64_t i,
                 const row_room *r) {
  if (a->dropout)
    philox_words(a->seed, a->first_head + (uint64_t)h, (uint32_t)i, 0,
                 (a->tk + 3) / 4, r->word);
}

static double drop_factor(const heed_attention *a, const row_room *r,
                          int64_t j) {
  if (!a->dropout) return 1;
  return r->word[j] < a->drop_below ? 0 : a->keep_factor;
}

static void forward_row(const heed_attention *a, int64_t h, int64_t i,
                        const row_room *r) {
  double *out = place(&a->out, h, i);
  int64_t lo, hi;
  heed_attention_range(a, i, &lo, &hi);
  score_row(a, h, i, lo, hi, r);
  double m = largest(r->score, lo, hi), over = 0;
  for (int64_t e = 0; e < a->dv; e++) out[e] = 0;
  if (m != -INFINITY) {
    double sum = 0;
    if (a->sinks.data) {
      double sink = *place(&a->sinks, h, 0);
      if (sink > m) m = sink;
      sum = exp(sink - m);
    }
    draw(a, h, i, r);
    for (int64_t j = lo; j < hi; j++) {
      double p = exp(r->score[j] - m);
      sum += p;
      p *= drop_factor(a, r, j);
      const double *v = place(&a->v, 0, j);
      if (p != 0)
        for (int64_t e = 0; e < a->dv; e++) out[e] += p * v[e];
    }
    over = 1 / sum;
    for (int64_t e = 0; e < a->dv; e++) out[e] *= over;
  }
  if (a->stats.data) {
    double *stats = place(&a->stats, h, i);
    stats[0] = m;
    stats[1] = over;
  }
}

static void forward(const heed_attention *a, int64_t begin, int64_t end,
                    void *room) {
  row_room r = room_cut(a, room);
  for (int64_t row = begin; row < end; row++)
    forward_row(a, row / a->tq, row % a->tq, &r);
}

static void clear(const heed_grid *g, int64_t rows, int64_t columns) {
  for (int64_t i = 0; i < rows; i++)
    memset(place(g, 0, i), 0, sizeof(double) * (size_t)columns);
}

static void backward_row(const heed_attention *a, int64_t h, int64_t i,
                         const row_room *r) {
  const double *q = place(&a->q, h, i);
  const double *dout = place(&a->dout, h, i);
  const double *stats = place(&a->stats, h, i);
  double *dq = place(&a->dq, h, i);
  for (int64_t e = 0; e < a->d; e++) dq[e] = 0;
  if (stats[0] == -INFINITY) return;
  int64_t lo, hi;
  heed_attention_range(a, i, &lo, &hi);
  score_row(a, h, i, lo, hi, r);
  draw(a, h, i, r);
  double delta = 0;
  for (int64_t j = lo; j < hi; j++) {
    double p = exp(r->score[j] - stats[0]) * stats[1];
    double drop = drop_factor(a, r, j), *dv = place(&a->dvalue, 0, j);
    r->score[j] = p;
    r->dp[j] = 0;
    if (p == 0 || drop == 0) continue;
    r->dp[j] = drop * dot(a->dv, dout, place(&a->v, 0, j));
    delta += p * r->dp[j];
    for (int64_t e = 0; e < a->dv; e++) dv[e] += p * drop * dout[e];
  }
  for (int64_t j = lo; j < hi; j++) {
    double p = r->score[j];
    if (p == 0) continue;
    const double *k = place(&a->k, 0, j);
    double *dk = place(&a->dk, 0, j), ds = p * (r->dp[j] - delta);
    if (a->dbias.data) place(&a->dbias, h, i)[j * a->dbias.column] += ds;
    ds *= r->slope[j] * a->scale;
    for (int64_t e = 0; e < a->d; e++) dq[e] += ds * k[e];
    for (int64_t e = 0; e < a->d; e++) dk[e] += ds * q[e];
  }
}

static void backward(const heed_attention *a, int64_t first, int64_t end,
                     void *room) {
  (void)first, (void)end;
  row_room r = room_cut(a, room);
  clear(&a->dk, a->tk, a->d);
  clear(&a->dvalue, a->tk, a->dv);
  for (int64_t h = 0; h < a->heads; h++)
    for (int64_t i = 0; i < a->tq; i++) backward_row(a, h, i, &r);
}

static double sink_gradient(const heed_attention *a, int64_t h) {
  double sink = *place(&a->sinks, h, 0), sum = 0;
  for (int64_t i = 0; i < a->tq; i++) {
    const double *stats = place(&a->stats, h, i);
    if (stats[0] == -INFINITY) continue;
    sum -= exp(sink - stats[0]) * stats[1] *
           dot(a->dv, place(&a->dout, h, i), place(&a->out, h, i));
  }
  return sum;
}

HEED_FILL(attention_plain);
HEED_FILL(attention_plain) {
  k->attention[HEED_FLOAT64] =
      (heed_attention_loops){.forward_room = room_size,
                             .backward_room = room_size,
                             .forward = forward,
                             .backward = backward,
                             .sink_gradient = sink_gradient};
}
