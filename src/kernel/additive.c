/*
 * additive - sums of w tanh(q + k) for every pair of a query and a key, and
 * their gradients, without a tensor of all the tanh. Layer: kernel.
 * Read first: additive.h, vec.h.
 *
 * What costs is one tanh for each pair and each of `size` columns. With
 * x = e^2q e^2k it is (x - 1) / (x + 1), so the exponentials are taken once a
 * query and once a key, and a pair is left with a division. x - 1 is one
 * fused operation where there is one, so that little is lost near 0: the
 * result is off by about the rounding of e^2q and e^2k, 1e-7 at most.
 *
 * x stays within the normal range while q and k are calm, |q|, |k| <= 20.
 * Others, NaN too, take the tanh of their sum. This is decided for each query
 * and key by itself: what a key gives does not depend on its neighbours.
 *
 * forward: a vector holds VF keys, packed as [size VF]; four queries share
 * what is loaded. Example: 6 queries, 20 keys, VF = 8: panels of keys 0 .. 7,
 * 8 .. 15 and 16 .. 19 (the others of that one are zeros and not written), in
 * each of them queries 0 .. 3, then 4 and 5.
 * backward: a vector holds VF columns of a query or key, so that no sum goes
 * across lanes. Columns are independent of each other:
 *     dq[i] = w sum over j of grad[i][j] (1 - tanh^2), dk[j] likewise over i,
 *     dw = sum over i and j of grad[i][j] tanh.
 *
 * The loops of float64 state the same plainly.
 */
#include <stdbool.h>

#include "base/count.h"
#include "kernel/kernel.h"
#include "kernel/vec.h"

#define CALM 20.0f
#define TILE 4 /* queries at a time */

VEC_INLINE vi is_calm(vf x) { return vf_abs(x) <= CALM; } /* not for NaN */
/* x = e^2q e^2k */
VEC_INLINE vf tanh_of(vf eq, vf ek) {
  return (eq * ek - 1.0f) / (eq * ek + 1.0f);
}

static int64_t up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

VEC_INLINE vf load_lanes(const float *p, int64_t n) {
  return n >= VF ? vf_load(p) : vf_load_n(p, n, 0);
}
VEC_INLINE void store_lanes(float *p, vf v, int64_t n) {
  if (n >= VF) vf_store(p, v);
  else vf_store_n(p, v, n);
}

/* ---- forward ------------------------------------------------------------ */

/* A panel of keys, columns beside rows: [size VF]. */
typedef struct panel {
  int64_t first;    /* key, or -1: none is packed */
  float *raw, *exp; /* k and e^2k */
  vi calm;          /* the keys that are */
} panel;

static size_t forward_room(const heed_additive *a, int64_t rows) {
  int64_t floats = 2 * a->size * VF + rows * a->size;
  return sizeof(float) * (size_t)up(floats, 16) + (size_t)rows;
}

static void pack_keys(const heed_additive *a, int64_t j, panel *p) {
  if (p->first == j) return;
  p->first = j;
  const float *k = (const float *)a->k + j * a->size;
  const int64_t n = heed_least(a->tk - j, VF);
  p->calm = vi_all(-1);
  for (int64_t e = 0; e < a->size; e++) {
    vf x = vf_gather_n(k + e, a->size, n, 0);
    vf_store(p->raw + e * VF, x);
    vf_store(p->exp + e * VF, vf_exp(2.0f * x));
    p->calm &= is_calm(x);
  }
}

/* to = e^2q; is all of q calm? */
static bool pack_query(int64_t size, const float *q, float *to) {
  vi calm = vi_all(-1);
  for (int64_t e = 0; e < size; e += VF) {
    vf x = load_lanes(q + e, size - e);
    store_lanes(to + e, vf_exp(2.0f * x), size - e);
    calm &= is_calm(x);
  }
  return !vi_any(~calm);
}

/* The mask of n keys of a query; nothing for the lanes behind them. */
VEC_INLINE vi load_mask(const heed_additive *a, int64_t i, int64_t j,
                        int64_t n) {
  int32_t lane[VF] = {0};
  for (int64_t l = 0; l < n; l++)
    lane[l] = !a->mask || a->mask[i * a->mask_row + (j + l) * a->mask_column]
                  ? -1 : 0;
  vi v;
  memcpy(&v, lane, sizeof v);
  return v;
}

static void calm_scores(int64_t size, const float *const *eq,
                        const float *exp, const float *w, vf *score) {
  vf sum[TILE] = {{0}};
  for (int64_t e = 0; e < size; e++) {
    const vf ek = vf_load(exp + e * VF), we = vf_all(w[e]);
    UNROLL for (int r = 0; r < TILE; r++)
      sum[r] += we * tanh_of(vf_all(eq[r][e]), ek);
  }
  memcpy(score, sum, sizeof sum);
}

static vf any_scores(int64_t size, const float *q, const float *raw,
                     const float *w) {
  vf sum = {0};
  for (int64_t e = 0; e < size; e++)
    sum += vf_all(w[e]) * vf_tanh(vf_all(q[e]) + vf_load(raw + e * VF));
  return sum;
}

/* Scores of rows i .. of at most TILE for keys j ..; eq and calm: of these
   rows. */
static void forward_tile(const heed_additive *a, int64_t i, int64_t rows,
                         int64_t j, panel *p, const float *eq,
                         const uint8_t *calm) {
  const int64_t n = heed_least(a->tk - j, VF);
  const float *row[TILE];
  vi keep[TILE], any = {0};
  vf score[TILE] = {{0}};
  for (int r = 0; r < TILE; r++) {
    /* rows that are not there repeat the last one */
    row[r] = eq + (r < rows ? r : rows - 1) * a->size;
    keep[r] = r < rows ? load_mask(a, i + r, j, n) : (vi){0};
    any |= keep[r];
  }
  if (vi_any(any)) {
    pack_keys(a, j, p);
    calm_scores(a->size, row, p->exp, a->w, score);
  }
  for (int r = 0; r < rows; r++) {
    vi good = calm[r] ? p->calm : (vi){0};
    if (vi_any(~good & keep[r])) {
      const float *q = (const float *)a->q + (i + r) * a->size;
      score[r] = vf_pick(good, score[r], any_scores(a->size, q, p->raw, a->w));
    }
    score[r] = vf_pick(keep[r], score[r], (vf){0});
    store_lanes((float *)a->scores + (i + r) * a->tk + j, score[r], n);
  }
}

static void forward_float32(const heed_additive *a, int64_t begin,
                            int64_t end, void *room) {
  panel p = {.first = -1, .raw = room, .exp = (float *)room + a->size * VF};
  float *eq = p.exp + a->size * VF;
  int64_t floats = 2 * a->size * VF + (end - begin) * a->size;
  uint8_t *calm = (uint8_t *)((float *)room + up(floats, 16));
  for (int64_t i = begin; i < end; i++)
    calm[i - begin] = pack_query(a->size, (const float *)a->q + i * a->size,
                                 eq + (i - begin) * a->size);
  for (int64_t j = 0; j < a->tk; j += VF)
    for (int64_t i = begin; i < end; i += TILE)
      forward_tile(a, i, heed_least(end - i, TILE), j, &p,
                   eq + (i - begin) * a->size, calm + (i - begin));
}

/* ---- backward ----------------------------------------------------------- */

/* Columns e .. e + n - 1 of all keys. */
typedef struct block {
  int64_t e, n;
  float *exp, *dk; /* [tk VF]: e^2k, and dk / w so far */
  float *zeros;    /* [tk], the gradient of rows that are not there */
  uint8_t *calm;   /* [tk] */
} block;

static size_t backward_room(const heed_additive *a) {
  return (size_t)a->tk * (sizeof(float) * (2 * VF + 1) + 1);
}

static block pack_block(const heed_additive *a, int64_t e, int64_t n,
                        float *room) {
  block b = {.e = e, .n = n, .exp = room, .dk = room + a->tk * VF};
  b.zeros = b.dk + a->tk * VF;
  b.calm = (uint8_t *)(b.zeros + a->tk);
  memset(b.zeros, 0, sizeof(float) * (size_t)a->tk);
  const float *k = (const float *)a->k + e;
  for (int64_t j = 0; j < a->tk; j++) {
    vf x = load_lanes(k + j * a->size, n);
    vf_store(b.exp + j * VF, vf_exp(2.0f * x));
    vf_store(b.dk + j * VF, (vf){0});
    b.calm[j] = !vi_any(~is_calm(x));
  }
  return b;
}

/* TILE queries: their rows of grad, and of dq / w; what they add to dw. */
typedef struct tile {
  const float *grad[TILE];
  vf q[TILE], exp[TILE], dq[TILE], dw;
} tile;

VEC_INLINE void add_pair(float grad, vf t, vf *dq, vf *dk, vf *dw) {
  vf slope = grad * (1.0f - t * t);
  *dq += slope;
  *dk += slope;
  *dw += grad * t;
}

/* Key j with each query, where one of them may be NaN or large. */
static void any_pairs(const heed_additive *a, const block *b, int64_t j,
                      tile *t) {
  vf k = load_lanes((const float *)a->k + j * a->size + b->e, b->n);
  vf dk = vf_load(b->dk + j * VF);
  for (int r = 0; r < TILE; r++) {
    float grad = t->grad[r][j];
    if (grad != 0) add_pair(grad, vf_tanh(t->q[r] + k), &t->dq[r], &dk, &t->dw);
  }
  vf_store(b->dk + j * VF, dk);
}

/* The keys from j on up to one that is not calm, which it returns. */
static int64_t calm_pairs(const heed_additive *a, const block *b, int64_t j,
                          tile *result) {
  tile t = *result;
  for (; j < a->tk && b->calm[j]; j++) {
    float grad[TILE];
    UNROLL for (int r = 0; r < TILE; r++) grad[r] = t.grad[r][j];
    if (grad[0] == 0 && grad[1] == 0 && grad[2] == 0 && grad[3] == 0) continue;
    const vf ek = vf_load(b->exp + j * VF);
    vf dk = vf_load(b->dk + j * VF);
    UNROLL for (int r = 0; r < TILE; r++)
      add_pair(grad[r], tanh_of(t.exp[r], ek), &t.dq[r], &dk, &t.dw);
    vf_store(b->dk + j * VF, dk);
  }
  *result = t;
  return j;
}

/* Rows i .. of at most TILE: writes dq, gives their part of dw. */
static vf backward_tile(const heed_additive *a, const block *b, int64_t i,
                        vf w) {
  const int64_t rows = heed_least(a->tq - i, TILE);
  tile t = {.dw = {0}};
  vi calm = vi_all(-1);
  for (int r = 0; r < TILE; r++) {
    const float *q = (const float *)a->q + (i + r) * a->size + b->e;
    t.grad[r] = r < rows ? (const float *)a->grad + (i + r) * a->tk : b->zeros;
    t.q[r] = r < rows ? load_lanes(q, b->n) : (vf){0};
    t.exp[r] = vf_exp(2.0f * t.q[r]);
    calm &= is_calm(t.q[r]);
  }
  const bool all_calm = !vi_any(~calm);
  for (int64_t j = 0; j < a->tk; j++) {
    if (all_calm) j = calm_pairs(a, b, j, &t);
    if (j < a->tk) any_pairs(a, b, j, &t);
  }
  for (int r = 0; r < rows; r++)
    store_lanes((float *)a->dq + (i + r) * a->size + b->e, t.dq[r] * w, b->n);
  return t.dw;
}

static void backward_float32(const heed_additive *a, int64_t begin,
                             int64_t end, void *room) {
  const block b = pack_block(a, begin, end - begin, room);
  const vf w = load_lanes((const float *)a->w + begin, b.n);
  double dw[VF] = {0};
  for (int64_t i = 0; i < a->tq; i += TILE) {
    float part[VF];
    vf_store(part, backward_tile(a, &b, i, w));
    for (int64_t l = 0; l < b.n; l++) dw[l] += part[l];
  }
  for (int64_t l = 0; l < b.n; l++) a->dw[begin + l] = dw[l];
  for (int64_t j = 0; j < a->tk; j++)
    store_lanes((float *)a->dk + j * a->size + begin,
                vf_load(b.dk + j * VF) * w, b.n);
}

/* ---- float64, plain ----------------------------------------------------- */

static size_t no_forward_room(const heed_additive *a, int64_t rows) {
  (void)a, (void)rows;
  return 0;
}
static size_t no_backward_room(const heed_additive *a) {
  (void)a;
  return 0;
}

static void forward_float64(const heed_additive *a, int64_t begin,
                            int64_t end, void *room) {
  (void)room;
  const double *w = a->w;
  for (int64_t i = begin; i < end; i++)
    for (int64_t j = 0; j < a->tk; j++) {
      const double *q = (const double *)a->q + i * a->size;
      const double *k = (const double *)a->k + j * a->size;
      double sum = 0;
      if (!a->mask || a->mask[i * a->mask_row + j * a->mask_column])
        for (int64_t e = 0; e < a->size; e++) sum += w[e] * tanh(q[e] + k[e]);
      ((double *)a->scores)[i * a->tk + j] = sum;
    }
}

#define PLAIN_COLUMNS 8

static void backward_float64(const heed_additive *a, int64_t begin,
                             int64_t end, void *room) {
  (void)room;
  const double *w = a->w;
  double *dq = a->dq, *dk = a->dk;
  for (int64_t e = begin; e < end; e++) {
    double dw = 0;
    for (int64_t j = 0; j < a->tk; j++) dk[j * a->size + e] = 0;
    for (int64_t i = 0; i < a->tq; i++) {
      double sum = 0;
      for (int64_t j = 0; j < a->tk; j++) {
        double grad = ((const double *)a->grad)[i * a->tk + j];
        if (grad == 0) continue;
        double t = tanh(((const double *)a->q)[i * a->size + e] +
                        ((const double *)a->k)[j * a->size + e]);
        double slope = grad * (1 - t * t) * w[e];
        sum += slope;
        dk[j * a->size + e] += slope;
        dw += grad * t;
      }
      dq[i * a->size + e] = sum;
    }
    a->dw[e] = dw;
  }
}

HEED_FILL(additive);
HEED_FILL(additive) {
  k->additive[HEED_FLOAT32] = (heed_additive_loops){
      VF, forward_room, backward_room, forward_float32, backward_float32};
  k->additive[HEED_FLOAT64] = (heed_additive_loops){
      PLAIN_COLUMNS, no_forward_room, no_backward_room, forward_float64,
      backward_float64};
}
