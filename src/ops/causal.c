/*
 * causal - products of queries, keys and values under a causal mask, in a time
 * linear in the length. Layer: ops. Read first: core/op.h, gemm.h.
 *
 *     y[i] = sum over j <= i of (q[i] . k[j]) v[j]
 *
 * Positions are cut into chunks. What lies in chunks before is held as one
 * matrix, the sum of k[j] v[j]^T, which every query of the chunk multiplies;
 * only within a chunk are there scores. Example: T = 100, chunks of 64:
 * queries 0 .. 63 have scores with each other; the matrix of keys 0 .. 63
 * serves queries 64 .. 99, which have scores with each other.
 *
 * The gradients are the same products, some with the mask turned (j >= i):
 *     dq = y(g, v, k), dk = y'(v, g, q), dv = y'(k, q, g),
 * so they need no kernel and can be differentiated in turn.
 */
#include "ops/causal.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "ops/ops.h"

enum { Q, K, V };

#define CHUNK HEED_CAUSAL_CHUNK

/* -- scores and values -- */

/* Zeros in place of the scores [n n] that the mask shuts out. */
static void mask_scores(size_t size_of, int64_t n, char *scores,
                        bool reverse) {
  for (int64_t i = 0; i < n; i++) {
    int64_t first = reverse ? 0 : i + 1, end = reverse ? i : n;
    memset(scores + (size_t)(i * n + first) * size_of, 0,
           (size_t)(end - first) * size_of);
  }
}

/* Are n rows of v free of NaN and infinities? */
static bool finite32(int64_t n, int64_t dv, heed_matrix v) {
  bool odd = false;
  for (int64_t i = 0; i < n; i++)
    for (int64_t e = 0; e < dv; e++) {
      uint32_t bits; /* all ones in the exponent */
      memcpy(&bits, (const float *)v.data + i * v.row + e * v.column, 4);
      odd |= (bits & 0x7f800000) == 0x7f800000;
    }
  return !odd;
}
static bool finite64(int64_t n, int64_t dv, heed_matrix v) {
  bool odd = false;
  for (int64_t i = 0; i < n; i++)
    for (int64_t e = 0; e < dv; e++)
      odd |= !isfinite(((const double *)v.data)[i * v.row + e * v.column]);
  return !odd;
}

/* y = scores v, leaving out what the mask shuts out: 0 times NaN is NaN. */
static void weigh_plainly(heed_dtype dtype, int64_t n, int64_t dv,
                          const char *scores, heed_matrix v, char *y,
                          bool reverse) {
  for (int64_t i = 0; i < n; i++)
    for (int64_t e = 0; e < dv; e++) {
      double sum = 0;
      int64_t first = reverse ? i : 0, end = reverse ? n : i + 1;
      for (int64_t j = first; j < end; j++)
        sum += heed_element_float(dtype, scores, i * n + j) *
               heed_element_float(dtype, v.data, j * v.row + e * v.column);
      heed_element_store(dtype, y, i * dv + e, false, (heed_value){.f = sum});
    }
}

bool heed_causal_weigh(heed_dtype dtype, int64_t n, int64_t dv, void *scores,
                       heed_matrix v, void *y, bool reverse) {
  bool finite = dtype == HEED_FLOAT32 ? finite32(n, dv, v)
                                      : finite64(n, dv, v);
  mask_scores(heed_dtype_size(dtype), n, scores, reverse);
  if (finite)
    return heed_gemm(dtype, n, dv, n, (heed_matrix){scores, n, 1}, v, y, dv,
                     false);
  weigh_plainly(dtype, n, dv, scores, v, y, reverse);
  return true;
}

/* -- causal_product -- */

/***
The products of causal linear attention: y[i] is the sum over j of
(q[i] . k[j]) v[j] for the keys 1 .. i, made in a time and memory linear in T.
`F.linear_attention` divides it by the sum of the weights. Nothing of a key or
value that is not summed reaches a result, not even a NaN.
@function causal_product
@param q float tensor [.. T D]
@param k float tensor [.. T D]
@param v float tensor [.. T Dv]
@param reverse sums over the keys i .. T instead
@return float tensor [.. T Dv]
@raise when dtypes or shapes do not fit
@usage local one = heed.ones(3, 1)
heed.core.ops.causal_product(one, one, one) --> 1 2 3
*/
static bool causal_product_check(heed_call *c) {
  const heed_tensor *q = c->in[Q], *k = c->in[K], *v = c->in[V];
  int n = q->shape.ndim;
  for (int i = Q; i <= V; i++)
    if (!heed_want_float(c, i) || !heed_want_ndim(c, i, 2)) return false;
  if (k->dtype != q->dtype || v->dtype != q->dtype)
    return heed_fail("%s: q, k and v must have one dtype, got %s, %s and %s",
                     c->op->name, heed_dtype_name(q->dtype),
                     heed_dtype_name(k->dtype), heed_dtype_name(v->dtype));
  bool same = heed_shape_equal(&q->shape, &k->shape) && v->shape.ndim == n;
  for (int i = 0; same && i < n - 1; i++)
    same = v->shape.dim[i] == q->shape.dim[i];
  if (!same)
    return heed_fail("%s: q %s, k %s and v %s must be [.. T D], [.. T D] and "
                     "[.. T Dv]", c->op->name, heed_shape_text(&q->shape),
                     heed_shape_text(&k->shape), heed_shape_text(&v->shape));
  heed_out(c, 0, q->dtype, &v->shape);
  return true;
}

typedef struct run {
  heed_call *c;
  int64_t length, d, dv;
  bool reverse;
  size_t size_of; /* bytes of a number */
  char *room;     /* for each worker: state [d dv], scores [CHUNK CHUNK] */
  size_t room_size;
  atomic_bool failed; /* a message stays with the thread that fails */
} run;

/* Rows of one batch entry. */
static heed_matrix rows_of(const heed_tensor *t, int64_t entry) {
  heed_shape batch = t->shape;
  int n = t->shape.ndim;
  batch.ndim = n - 2;
  int64_t offset = heed_batch_offset(t, &batch, entry);
  return (heed_matrix){(char *)heed_tensor_data(t) +
                           offset * (int64_t)heed_dtype_size(t->dtype),
                       t->stride[n - 2], t->stride[n - 1]};
}

static heed_matrix from_row(const run *r, heed_matrix m, int64_t row) {
  m.data = (const char *)m.data + row * m.row * (int64_t)r->size_of;
  return m;
}

/* n positions, whose rows are given. The state is that of the chunks before,
   and is carried on; there is none in the first one. */
static bool chunk(const run *r, int64_t n, heed_matrix q, heed_matrix k,
                  heed_matrix v, char *y, char *room, bool first) {
  heed_dtype dtype = r->c->out[0]->dtype;
  char *state = room, *scores = room + (size_t)(r->d * r->dv) * r->size_of;
  heed_matrix sum = {state, r->dv, 1};
  return heed_gemm(dtype, n, n, r->d, q, heed_turned(k), scores, n, false) &&
         heed_causal_weigh(dtype, n, r->dv, scores, v, y, r->reverse) &&
         (first ||
          heed_gemm(dtype, n, r->dv, r->d, q, sum, y, r->dv, true)) &&
         heed_gemm(dtype, r->d, r->dv, n, heed_turned(k), v, state, r->dv,
                   !first);
}

static bool entry(const run *r, int64_t i, char *room) {
  heed_matrix q = rows_of(r->c->in[Q], i), k = rows_of(r->c->in[K], i);
  heed_matrix v = rows_of(r->c->in[V], i);
  char *y = (char *)heed_tensor_data(r->c->out[0]) +
            (size_t)(i * r->length * r->dv) * r->size_of;
  int64_t count = (r->length + CHUNK - 1) / CHUNK;
  for (int64_t t = 0; t < count; t++) {
    int64_t row = (r->reverse ? count - 1 - t : t) * CHUNK;
    int64_t n = r->length - row < CHUNK ? r->length - row : CHUNK;
    if (!chunk(r, n, from_row(r, q, row), from_row(r, k, row),
               from_row(r, v, row), y + (size_t)(row * r->dv) * r->size_of,
               room, t == 0))
      return false;
  }
  return true;
}

static void entries(void *context, int64_t begin, int64_t end, int worker) {
  run *r = context;
  for (int64_t i = begin; i < end; i++)
    if (!entry(r, i, r->room + r->room_size * (size_t)worker))
      atomic_store(&r->failed, true);
}

static bool causal_product_fwd(heed_call *c) {
  heed_shape batch = c->in[Q]->shape;
  int n = batch.ndim -= 2;
  run r = {.c = c, .length = batch.dim[n], .d = batch.dim[n + 1],
           .dv = c->in[V]->shape.dim[n + 1], .reverse = c->attr[0].i,
           .size_of = heed_dtype_size(c->out[0]->dtype)};
  if (heed_tensor_numel(c->out[0]) == 0) return true;
  int64_t numbers = r.d * r.dv + CHUNK * CHUNK;
  r.room_size = ((size_t)numbers * r.size_of + 63) / 64 * 64;
  size_t bytes = r.room_size * (size_t)heed_get_num_threads();
  r.room = heed_mem_alloc(bytes);
  if (!r.room) return false;
  double work = (double)r.length * (double)(r.d + 1) * (double)(r.dv + CHUNK);
  heed_parallel(heed_shape_numel(&batch), heed_parallel_grain(work), entries,
                &r);
  heed_mem_free(r.room, bytes);
  return !r.failed || heed_fail("%s: out of memory", c->op->name);
}

static heed_tensor *product(heed_rule_call *r, heed_tensor *q, heed_tensor *k,
                            heed_tensor *v, bool reverse) {
  return heed_do3_with(r, HEED_OP_causal_product, q, k, v,
                       &(heed_attr){.i = reverse});
}

static bool causal_product_bwd(heed_rule_call *r) {
  heed_tensor *g = r->grad[0];
  bool reverse = r->attr[0].i;
  if (heed_needs(r, Q) &&
      !heed_give(r, Q, product(r, g, heed_in(r, V), heed_in(r, K), reverse)))
    return false;
  if (heed_needs(r, K) &&
      !heed_give(r, K, product(r, heed_in(r, V), g, heed_in(r, Q), !reverse)))
    return false;
  return !heed_needs(r, V) ||
         heed_give(r, V, product(r, heed_in(r, K), heed_in(r, Q), g,
                                 !reverse));
}
const heed_rule heed_rule_causal_product = {
    .check = causal_product_check, .forward = causal_product_fwd,
    .backward = causal_product_bwd,
    .keep = {HEED_NEED(K) | HEED_NEED(V), HEED_NEED(Q) | HEED_NEED(V),
             HEED_NEED(Q) | HEED_NEED(K)}};
