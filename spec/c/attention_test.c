/*
 * attention_test - the attention op against the formula in plain doubles.
 * Prints `ok name` or `not ok name: ...`; returns 0 when all is well.
 *
 * A sample is a random call: sizes, inputs, a description of what may attend
 * to what. `reference` computes its result from the definition; gradients are
 * compared with differences of that. float64 samples take the plain loops,
 * float32 samples those of the instruction set that HEED_ISA names.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/extra.h"
#include "core/node.h"
#include "kernel/kernel.h"
#include "kernel/philox.h"
#include "report.h"

#define GRAD(t) heed_extra_grad(t)

/* ---- random numbers ------------------------------------------------------ */

static uint32_t state = 1;

static uint32_t draw_word(void) {
  state = state * 1664525u + 1013904223u;
  return state >> 8;
}
static int draw_int(int low, int high) {
  return low + (int)(draw_word() % (uint32_t)(high - low + 1));
}
static bool chance(int percent) { return draw_int(1, 100) <= percent; }
static double draw_number(void) { /* about normal */
  double sum = 0;
  for (int i = 0; i < 12; i++) sum += draw_word() * 0x1p-24;
  return sum - 6;
}

/* ---- arrays -------------------------------------------------------------- */

enum { B1, B2, HEAD, ROW, COL, NDIM };

/* Numbers [batch batch head row column]; a size of 1 serves for all. As a
   tensor it has the dimensions from `first` on but those in `without`. */
typedef struct array {
  int64_t dim[NDIM];
  int first;
  unsigned without; /* bit d: not dimension d */
  double *x;        /* NULL: left out */
} array;

static int64_t count(const array *a) {
  int64_t n = 1;
  for (int d = 0; d < NDIM; d++) n *= a->dim[d];
  return n;
}

static double *at(const array *a, const int64_t *index) {
  int64_t i = 0;
  for (int d = 0; d < NDIM; d++)
    i = i * a->dim[d] + (a->dim[d] == 1 ? 0 : index[d]);
  return &a->x[i];
}

static array array_new(const int64_t *dim, int first, unsigned without) {
  array a = {.first = first, .without = without};
  memcpy(a.dim, dim, sizeof a.dim);
  a.x = calloc((size_t)count(&a) + 1, sizeof *a.x);
  for (int64_t i = 0; i < count(&a); i++) a.x[i] = draw_number();
  return a;
}

/* Like dim, with some sizes made 1 and leading ones left out. */
static array array_broadcast(const int64_t *dim, int first) {
  int64_t size[NDIM];
  for (int d = 0; d < NDIM; d++) size[d] = chance(40) ? 1 : dim[d];
  if (chance(25)) memcpy(size, dim, sizeof size);
  while (first < ROW && size[first] == 1 && chance(50)) first++;
  return array_new(size, first, 0);
}

/* How a tensor lies in memory: the dimension that is put last but one, or
   last, in the storage of a transposed view. */
typedef enum order { PLAIN, HEADS_INSIDE, COLUMNS_APART } order;

static void swapped(int *dims, order o) {
  for (int d = 0; d < NDIM; d++) dims[d] = d;
  if (o == HEADS_INSIDE) dims[HEAD] = ROW, dims[ROW] = HEAD;
  if (o == COLUMNS_APART) dims[ROW] = COL, dims[COL] = ROW;
}

/* A leaf with the numbers of `a` in memory as `o` says; *view is the leaf
   seen in the order of `a`. */
static heed_tensor *leaf_of(const array *a, heed_dtype dtype, order o,
                            bool gradient, heed_tensor **view) {
  int dims[NDIM], axis[NDIM], n = 0;
  heed_shape shape = {0};
  swapped(dims, o);
  for (int d = 0; d < NDIM; d++)
    if (d >= a->first && !(a->without & 1u << d)) {
      axis[n] = d;
      shape.dim[n++] = a->dim[dims[d]];
    }
  shape.ndim = n;
  heed_tensor *t = heed_tensor_new("test", dtype, &shape);
  int64_t i[NDIM], place = 0;
  int64_t size[NDIM];
  for (int d = 0; d < NDIM; d++) size[d] = a->dim[dims[d]];
#define EACH(d) for (i[dims[d]] = 0; i[dims[d]] < size[d]; i[dims[d]]++)
  EACH(0) EACH(1) EACH(2) EACH(3) EACH(4) {
    double x = *at(a, i);
    void *data = heed_tensor_data(t);
    if (dtype == HEED_FLOAT64) ((double *)data)[place++] = x;
    else if (dtype == HEED_FLOAT32) ((float *)data)[place++] = (float)x;
    else if (dtype == HEED_INT64) ((int64_t *)data)[place++] = (int64_t)x;
    else ((uint8_t *)data)[place++] = x != 0;
  }
  t->requires_grad = gradient;
  *view = heed_tensor_ref(t);
  if (o != PLAIN) {
    char attributes[40];
    int k = 0;
    while (axis[k] != (o == HEADS_INSIDE ? HEAD : ROW)) k++;
    snprintf(attributes, sizeof attributes, "dim1=%d, dim2=%d", k, k + 1);
    heed_tensor_drop(*view);
    heed_run("transpose", &t, 1, attributes, view, 1);
  }
  return t;
}

/* Element `index` (in the order of a) of a tensor made by leaf_of. */
static double element(const array *a, const heed_tensor *t, order o,
                      const int64_t *index) {
  int dims[NDIM], n = 0;
  swapped(dims, o);
  int64_t place = t->offset;
  for (int d = 0; d < NDIM; d++)
    if (d >= a->first && !(a->without & 1u << d)) {
      if (t->shape.dim[n] > 1) place += index[dims[d]] * t->stride[n];
      n++;
    }
  return t->dtype == HEED_FLOAT64 ? ((double *)t->storage->data)[place]
                                  : ((float *)t->storage->data)[place];
}

/* ---- samples ------------------------------------------------------------- */

enum {
  Q, K, V, MASK, KEY_MASK, BIAS, VALID, ALIBI, SINKS, CU_SEQLENS,
  CU_SEQLENS_K, NINPUT
};
enum { NONE, BOTTOM_RIGHT, TOP_LEFT };
static const char *const causal_word[] = {"none", "bottom-right", "top-left"};

typedef struct sample {
  int64_t b1, b2, heads, kv_heads, tq, tk, d, dv;
  array in[NINPUT], upstream;
  order layout[NINPUT];
  int causal, left, right;
  bool valid_by_sequence;
  bool at_valid; /* queries stand by the valid keys of their entry */
  double scale, softcap, dropout; /* scale 0: left out */
  long long seed;
} sample;

static void sizes_of(const sample *s, array *out) {
  *out = (array){.dim = {s->b1, s->b2, s->heads, s->tq, s->dv},
                 .first = s->in[Q].first};
}

/* Inputs of the given sizes; `first`: how many batch dimensions are none. */
static void fill(sample *s, int first) {
  int64_t q[] = {s->b1, s->b2, s->heads, s->tq, s->d};
  int64_t k[] = {s->b1, s->b2, s->kv_heads, s->tk, s->d};
  int64_t v[] = {s->b1, s->b2, s->kv_heads, s->tk, s->dv};
  int64_t out[] = {s->b1, s->b2, s->heads, s->tq, s->dv};
  s->in[Q] = array_new(q, first, 0);
  s->in[K] = array_new(k, first, 0);
  s->in[V] = array_new(v, first, 0);
  s->upstream = array_new(out, first, 0);
  s->left = s->right = -1;
}

static void to_bool(array *a, int percent) {
  for (int64_t i = 0; i < count(a); i++) a->x[i] = chance(percent);
}

/* Cuts n places into sequences, some of them empty. */
static array draw_offsets(int64_t sequences, int64_t n) {
  int64_t dim[] = {1, 1, 1, 1, sequences + 1};
  array a = array_new(dim, 0, ~(1u << COL));
  for (int64_t i = 1; i < sequences; i++) a.x[i] = draw_int(0, (int)n);
  a.x[0] = 0;
  a.x[sequences] = (double)n;
  for (int64_t i = 1; i < sequences; i++) /* sorts them */
    for (int64_t j = i; j > 1 && a.x[j] < a.x[j - 1]; j--) {
      double x = a.x[j];
      a.x[j] = a.x[j - 1];
      a.x[j - 1] = x;
    }
  return a;
}

static int64_t sequences_of(const sample *s) {
  return s->in[CU_SEQLENS].x ? s->in[CU_SEQLENS].dim[COL] - 1 : 1;
}

static const array *key_offsets(const sample *s) {
  return &s->in[s->in[CU_SEQLENS_K].x ? CU_SEQLENS_K : CU_SEQLENS];
}

/* valid_lens of packed sequences: one a query or one a sequence. */
static void describe_lengths(sample *s) {
  int64_t n = sequences_of(s), query[] = {s->b1, s->b2, 1, s->tq, 1};
  int64_t dim[] = {1, 1, 1, 1, n};
  s->valid_by_sequence = n == s->tq || chance(50);
  s->in[VALID] = s->valid_by_sequence
                     ? array_new(dim, 0, ~(1u << COL))
                     : array_new(query, s->in[Q].first, 1u << HEAD | 1u << COL);
  const double *queries = s->in[CU_SEQLENS].x, *keys = key_offsets(s)->x;
  for (int64_t i = 0; i < count(&s->in[VALID]); i++) {
    int64_t at = 0, row = i % s->tq;
    if (s->valid_by_sequence) at = i;
    else
      while (row >= queries[at + 1]) at++;
    s->in[VALID].x[i] = draw_int(0, (int)(keys[at + 1] - keys[at]));
  }
}

static void describe(sample *s) {
  int first = s->in[Q].first;
  int64_t all[] = {s->b1, s->b2, s->heads, s->tq, s->tk};
  int64_t keys[] = {s->b1, s->b2, 1, 1, s->tk};
  int64_t entry[] = {s->b1, s->b2, 1, 1, 1};
  int64_t query[] = {s->b1, s->b2, 1, s->tq, 1};
  int64_t head[] = {1, 1, s->heads, 1, 1};
  if (chance(25)) {
    s->in[MASK] = array_broadcast(all, first);
    to_bool(&s->in[MASK], 60);
  }
  if (chance(25)) {
    s->in[KEY_MASK] = array_new(keys, first, 1u << HEAD | 1u << ROW);
    to_bool(&s->in[KEY_MASK], 70);
  }
  if (chance(40)) {
    s->in[BIAS] = array_broadcast(all, first);
    for (int64_t i = 0; chance(30) && i < count(&s->in[BIAS]); i += 3)
      s->in[BIAS].x[i] = -INFINITY;
  }
  if (s->in[CU_SEQLENS].x) {
    if (chance(25)) describe_lengths(s);
  } else if (chance(25)) {
    unsigned without = 1u << HEAD | 1u << COL;
    s->in[VALID] = chance(50) ? array_new(query, first, without)
                              : array_new(entry, first, without | 1u << ROW);
    for (int64_t i = 0; i < count(&s->in[VALID]); i++)
      s->in[VALID].x[i] = draw_int(0, (int)s->tk);
  }
  unsigned but_head = ~(1u << HEAD);
  if (chance(20)) s->in[ALIBI] = array_new(head, 0, but_head);
  if (chance(20)) s->in[SINKS] = array_new(head, 0, but_head);
  if (chance(40)) s->causal = draw_int(BOTTOM_RIGHT, TOP_LEFT);
  s->at_valid = s->in[VALID].x && s->in[VALID].without & 1u << ROW &&
                s->causal != TOP_LEFT && chance(60);
  if (chance(25)) s->left = draw_int(0, 4);
  if (chance(15)) s->right = draw_int(0, 4);
  if (chance(30)) s->scale = 0.3;
  if (chance(20)) s->softcap = 1.5;
  if (chance(20)) s->dropout = 0.3, s->seed = draw_int(0, 1 << 20);
}

static void sample_free(sample *s) {
  for (int i = 0; i < NINPUT; i++) free(s->in[i].x);
  free(s->upstream.x);
}

/* A query and a key: their sequences, and where they are in them. */
typedef struct spot {
  int64_t sequence, key_sequence;
  int64_t query, key; /* from 0 */
  int64_t place;      /* of the query among the keys */
} spot;

static double valid_keys(const sample *s, const int64_t *i, int64_t sequence) {
  int64_t index[] = {0, 0, 0, 0, sequence};
  return *at(&s->in[VALID], s->valid_by_sequence ? index : i);
}

static spot spot_of(const sample *s, const int64_t *i) {
  spot p = {.query = i[ROW], .key = i[COL]};
  int64_t tq = s->tq, tk = s->tk;
  if (s->in[CU_SEQLENS].x) {
    const double *queries = s->in[CU_SEQLENS].x, *keys = key_offsets(s)->x;
    while (i[ROW] >= queries[p.sequence + 1]) p.sequence++;
    while (i[COL] >= keys[p.key_sequence + 1]) p.key_sequence++;
    p.query -= (int64_t)queries[p.sequence];
    p.key -= (int64_t)keys[p.key_sequence];
    tq = (int64_t)(queries[p.sequence + 1] - queries[p.sequence]);
    tk = (int64_t)(keys[p.sequence + 1] - keys[p.sequence]);
  }
  if (s->at_valid) tk = (int64_t)valid_keys(s, i, p.sequence);
  p.place = p.query + (s->causal == TOP_LEFT ? 0 : tk - tq);
  return p;
}

static bool may_attend(const sample *s, const int64_t *i) {
  spot p = spot_of(s, i);
  if (p.sequence != p.key_sequence) return false;
  if (s->causal && p.key > p.place) return false;
  if (s->left >= 0 && p.key < p.place - s->left) return false;
  if (s->right >= 0 && p.key > p.place + s->right) return false;
  if (s->in[VALID].x && p.key >= valid_keys(s, i, p.sequence)) return false;
  if (s->in[MASK].x && *at(&s->in[MASK], i) == 0) return false;
  if (s->in[KEY_MASK].x && *at(&s->in[KEY_MASK], i) == 0) return false;
  return !s->in[BIAS].x || *at(&s->in[BIAS], i) != -INFINITY;
}

static double score(const sample *s, const int64_t *i) {
  int64_t q[] = {i[B1], i[B2], i[HEAD], i[ROW], 0};
  int64_t k[] = {i[B1], i[B2], i[HEAD] / (s->heads / s->kv_heads), i[COL], 0};
  double x = 0;
  for (int64_t e = 0; e < s->d; e++) {
    q[COL] = k[COL] = e;
    x += *at(&s->in[Q], q) * *at(&s->in[K], k);
  }
  x *= s->scale != 0 ? s->scale : 1 / sqrt((double)s->d);
  if (s->softcap > 0) x = s->softcap * tanh(x / s->softcap);
  spot p = spot_of(s, i);
  if (s->in[ALIBI].x)
    x -= *at(&s->in[ALIBI], i) * fabs((double)(p.place - p.key));
  return s->in[BIAS].x ? x + *at(&s->in[BIAS], i) : x;
}

static double drop_factor(const sample *s, const int64_t *i) {
  uint32_t word[4 * PHILOX_LANES];
  if (s->dropout == 0) return 1;
  spot p = spot_of(s, i);
  int64_t entry = (i[B1] * s->b2 + i[B2]) * sequences_of(s) + p.sequence;
  philox_words((uint64_t)s->seed, (uint64_t)(entry * s->heads + i[HEAD]),
               (uint32_t)p.query, (uint32_t)(p.key / 4), 1, word);
  return word[p.key % 4] < s->dropout * 0x1p32 ? 0 : 1 / (1 - s->dropout);
}

/* One row of the result. */
static void reference_row(const sample *s, int64_t *i, double *out) {
  double weight[2048], top = -INFINITY, sum = 0;
  for (int64_t e = 0; e < s->dv; e++) out[e] = 0;
  for (i[COL] = 0; i[COL] < s->tk; i[COL]++) {
    weight[i[COL]] = may_attend(s, i) ? score(s, i) : -INFINITY;
    top = fmax(top, weight[i[COL]]);
  }
  if (top == -INFINITY) return;
  if (s->in[SINKS].x) sum = exp(*at(&s->in[SINKS], i) - top);
  for (int64_t j = 0; j < s->tk; j++)
    sum += weight[j] = exp(weight[j] - top);
  for (i[COL] = 0; i[COL] < s->tk; i[COL]++) {
    int64_t v[] = {i[B1], i[B2], i[HEAD] / (s->heads / s->kv_heads), i[COL],
                   0};
    double p = weight[i[COL]] / sum * drop_factor(s, i);
    for (v[COL] = 0; p != 0 && v[COL] < s->dv; v[COL]++)
      out[v[COL]] += p * *at(&s->in[V], v);
  }
}

#define EACH_ROW(s, i)                                            \
  for (i[B1] = 0; i[B1] < (s)->b1; i[B1]++)                       \
    for (i[B2] = 0; i[B2] < (s)->b2; i[B2]++)                     \
      for (i[HEAD] = 0; i[HEAD] < (s)->heads; i[HEAD]++)          \
        for (i[ROW] = 0; i[ROW] < (s)->tq; i[ROW]++)

static double reference_loss(const sample *s) {
  double out[128], loss = 0;
  int64_t i[NDIM];
  EACH_ROW(s, i) {
    reference_row(s, i, out);
    for (i[COL] = 0; i[COL] < s->dv; i[COL]++)
      loss += out[i[COL]] * *at(&s->upstream, i);
  }
  return loss;
}

/* ---- running the op ------------------------------------------------------ */

typedef struct result {
  heed_tensor *leaf[NINPUT], *view[NINPUT], *out;
} result;

static bool wants_gradient(int i) {
  return i <= V || i == BIAS || i == SINKS;
}

static bool run(const sample *s, heed_dtype dtype, bool gradient,
                result *r) {
  memset(r, 0, sizeof *r);
  for (int i = 0; i < NINPUT; i++) {
    heed_dtype d = i == MASK || i == KEY_MASK      ? HEED_BOOL
                   : i == VALID || i >= CU_SEQLENS ? HEED_INT64
                                                   : dtype;
    if (s->in[i].x)
      r->leaf[i] = leaf_of(&s->in[i], d, s->layout[i],
                           gradient && wants_gradient(i), &r->view[i]);
  }
  char text[300], scale[40] = "";
  if (s->scale != 0) snprintf(scale, sizeof scale, ", scale=%.17g", s->scale);
  snprintf(text, sizeof text,
           "causal=%s, window_left=%d, window_right=%d, softcap=%.17g, "
           "dropout=%.17g, seed=%lld%s%s", causal_word[s->causal], s->left,
           s->right, s->softcap, s->dropout, s->seed, scale,
           s->at_valid ? ", align=valid" : "");
  if (heed_run("attention", r->view, NINPUT, text, &r->out, 1) != 1)
    return false;
  if (!gradient) return true;
  heed_tensor *up, *view;
  up = leaf_of(&s->upstream, dtype, PLAIN, false, &view);
  bool ok = heed_tensor_backward(r->out, up);
  heed_tensor_drop(up);
  heed_tensor_drop(view);
  return ok;
}

static void result_free(result *r) {
  for (int i = 0; i < NINPUT; i++) {
    heed_tensor_drop(r->view[i]);
    heed_tensor_drop(r->leaf[i]);
  }
  heed_tensor_drop(r->out);
}

static double distance(double got, double want) {
  double d = fabs(got - want) / (1 + fabs(want));
  return d == d ? d : INFINITY;
}

/* The largest difference from the reference. */
static double output_error(const sample *s, const result *r) {
  double out[128], worst = 0;
  int64_t i[NDIM];
  array shape;
  sizes_of(s, &shape);
  EACH_ROW(s, i) {
    reference_row(s, i, out);
    for (i[COL] = 0; i[COL] < s->dv; i[COL]++)
      worst = fmax(worst, distance(element(&shape, r->out, PLAIN, i),
                                   out[i[COL]]));
  }
  return worst;
}

/* The same of the gradient of input n, against central differences, in about
   `places` of its elements. */
static double gradient_error(sample *s, const result *r, int n, int places) {
  array *a = &s->in[n];
  const double step = 1e-5;
  double worst = 0;
  int64_t i[NDIM];
  for (i[0] = 0; i[0] < a->dim[0]; i[0]++)
    for (i[1] = 0; i[1] < a->dim[1]; i[1]++)
      for (i[2] = 0; i[2] < a->dim[2]; i[2]++)
        for (i[3] = 0; i[3] < a->dim[3]; i[3]++)
          for (i[4] = 0; i[4] < a->dim[4]; i[4]++) {
            if (draw_int(1, (int)count(a)) > places) continue;
            double *x = at(a, i), was = *x, slope = 0;
            if (was != -INFINITY) {
              *x = was + step;
              slope = reference_loss(s);
              *x = was - step;
              slope = (slope - reference_loss(s)) / (2 * step);
              *x = was;
            }
            double got = element(a, GRAD(r->leaf[n]), s->layout[n], i);
            worst = fmax(worst, distance(got, slope));
          }
  return worst;
}

static bool same_bits(const heed_tensor *a, const heed_tensor *b) {
  if (!a || !b) return a == b;
  size_t bytes = (size_t)heed_tensor_numel(a) * heed_dtype_size(a->dtype);
  void *x = malloc(bytes + 1), *y = malloc(bytes + 1);
  bool same = heed_tensor_read((heed_tensor *)a, x, bytes) &&
              heed_tensor_read((heed_tensor *)b, y, bytes) &&
              memcmp(x, y, bytes) == 0;
  free(x);
  free(y);
  return same;
}

static bool same_results(const result *a, const result *b) {
  bool same = same_bits(a->out, b->out);
  for (int i = 0; same && i < NINPUT; i++)
    if (a->leaf[i]) same = same_bits(GRAD(a->leaf[i]),
                                   GRAD(b->leaf[i]));
  return same;
}

/* ---- tests --------------------------------------------------------------- */

static sample random_sample(int tq, int tk, int d) {
  sample s = {.b1 = draw_int(1, 2), .b2 = draw_int(1, 2),
              .kv_heads = draw_int(1, 2)};
  int first = draw_int(B1, HEAD);
  if (first > B1) s.b1 = 1;
  if (first > B2) s.b2 = 1;
  s.heads = s.kv_heads * draw_int(1, 3);
  s.tq = draw_int(1, tq);
  s.tk = draw_int(1, tk);
  s.d = draw_int(1, d);
  s.dv = draw_int(1, d);
  if (chance(30)) {
    int sequences = draw_int(1, 4);
    s.in[CU_SEQLENS] = draw_offsets(sequences, s.tq);
    if (chance(30)) s.tk = s.tq;
    else s.in[CU_SEQLENS_K] = draw_offsets(sequences, s.tk);
  }
  fill(&s, first);
  describe(&s);
  for (int i = Q; i <= V; i++) s.layout[i] = (order)draw_int(0, 2);
  return s;
}

static void test_samples(heed_dtype dtype, int times, int tq, int tk, int d,
                         double tolerance, const char *name) {
  double worst = 0;
  int worst_input = -1, bad = -1;
  state = 1;
  for (int n = 0; n < times; n++) {
    sample s = random_sample(tq, tk, d);
    result r;
    if (!run(&s, dtype, true, &r)) {
      REPORT(false, name, "sample %d: %s", n, heed_error());
      return;
    }
    for (int i = -1; i < NINPUT; i++) {
      if (i >= 0 && (!s.in[i].x || !wants_gradient(i))) continue;
      double e = i < 0 ? output_error(&s, &r) : gradient_error(&s, &r, i, 10);
      if (e > worst) worst = e, worst_input = i, bad = n;
    }
    result_free(&r);
    sample_free(&s);
  }
  REPORT(worst < tolerance, name, "sample %d, input %d: off by %g", bad,
         worst_input, worst);
}

/* Larger sizes, float32 against float64, and with other threads. */
static void test_large(int times, int tq, int tk, int d, const char *name) {
  double worst = 0;
  bool same = true;
  state = 7;
  for (int n = 0; n < times; n++) {
    sample s = random_sample(tq, tk, d);
    result fast, exact, other;
    heed_set_num_threads(1);
    bool ok = run(&s, HEED_FLOAT32, true, &fast) &&
              run(&s, HEED_FLOAT64, true, &exact);
    heed_set_num_threads(2 + n % 4);
    ok = ok && run(&s, HEED_FLOAT32, true, &other);
    if (!ok) {
      REPORT(false, name, "%s", heed_error());
      return;
    }
    same = same && same_results(&fast, &other);
    worst = fmax(worst, output_error(&s, &fast));
    int64_t i[NDIM];
    for (int k = 0; k < NINPUT; k++) {
      if (!s.in[k].x || !wants_gradient(k)) continue;
      array *a = &s.in[k];
#define UP_TO(d) for (i[d] = 0; i[d] < a->dim[d]; i[d]++)
      UP_TO(0) UP_TO(1) UP_TO(2) UP_TO(3) UP_TO(4)
        worst = fmax(worst, distance(element(a, GRAD(fast.leaf[k]),
                                             s.layout[k], i),
                                     element(a, GRAD(exact.leaf[k]),
                                             s.layout[k], i)));
    }
    result_free(&fast);
    result_free(&exact);
    result_free(&other);
    sample_free(&s);
  }
  REPORT(worst < 1e-4, name, "off by %g", worst);
  REPORT(same, "any number of threads gives the same bits", "it does not");
}

/* Strides do not change a bit of the result. */
static void test_layouts(void) {
  bool same = true;
  state = 3;
  for (int n = 0; n < 20; n++) {
    sample s = random_sample(20, 20, 20);
    result plain, other;
    for (int i = Q; i <= V; i++) s.layout[i] = PLAIN;
    run(&s, HEED_FLOAT32, false, &plain);
    for (int i = Q; i <= V; i++) s.layout[i] = (order)draw_int(0, 2);
    run(&s, HEED_FLOAT32, false, &other);
    same = same && same_bits(plain.out, other.out);
    result_free(&plain);
    result_free(&other);
    sample_free(&s);
  }
  REPORT(same, "strides do not change the result", "they do");
}

/* Puts `bad` into all of a key and value that nobody sees. */
static void spoil(sample *s, int64_t key, double bad) {
  int64_t i[NDIM];
  for (int n = K; n <= V; n++)
    for (i[B1] = 0; i[B1] < s->b1; i[B1]++)
      for (i[B2] = 0; i[B2] < s->b2; i[B2]++)
        for (i[HEAD] = 0; i[HEAD] < s->kv_heads; i[HEAD]++)
          for (i[COL] = 0; i[COL] < s->in[n].dim[COL]; i[COL]++) {
            i[ROW] = key;
            *at(&s->in[n], i) = bad;
          }
}

/* What is shut out does not matter, be it NaN; `how` shuts key 2 out, or
   (causal) keys 3 and on for the queries that come before them. */
static void test_spoilt(heed_dtype dtype) {
  static const char *const way[] = {"mask", "key_mask", "bias", "valid_lens",
                                    "valid_lens a query", "window"};
  static const double bad[] = {NAN, INFINITY, -INFINITY};
  for (int how = 0; how < 6; how++) {
    bool same = true, finite = true;
    for (int b = 0; b < 3; b++) {
      state = 11;
      sample s = {.b1 = 1, .b2 = 2, .heads = 4, .kv_heads = 2, .tq = 6,
                  .tk = 7, .d = 8, .dv = 9};
      fill(&s, B2);
      int64_t keys[] = {1, 1, 1, 1, 7}, row[] = {1, 2, 1, 1, 1};
      int64_t query[] = {1, 2, 1, 6, 1};
      int64_t key = how < 3 ? 2 : 6;
      unsigned without = 1u << HEAD | 1u << COL;
      if (how < 3) {
        int n = how == 0 ? MASK : how == 1 ? KEY_MASK : BIAS;
        s.in[n] = array_new(keys, COL, 0);
        for (int j = 0; j < 7; j++)
          s.in[n].x[j] = n == BIAS ? (j == 2 ? -INFINITY : 0.5) : j != 2;
      } else if (how < 5) {
        s.in[VALID] = how == 3 ? array_new(row, B2, without | 1u << ROW)
                               : array_new(query, B2, without);
        for (int64_t i = 0; i < count(&s.in[VALID]); i++)
          s.in[VALID].x[i] = 3 + i % 4;
      } else {
        s.causal = TOP_LEFT;
        s.left = 3;
      }
      if (b > 0) s.softcap = 2;
      result clean, spoilt;
      spoil(&s, key, 1);
      bool ok = run(&s, dtype, true, &clean);
      spoil(&s, key, bad[b]);
      ok = ok && run(&s, dtype, true, &spoilt);
      same = same && ok && same_results(&clean, &spoilt);
      finite = finite && output_error(&s, &spoilt) < 1e-4;
      result_free(&clean);
      result_free(&spoilt);
      sample_free(&s);
    }
    char name[100];
    snprintf(name, sizeof name, "NaN and inf shut out by %s (%s)", way[how],
             heed_dtype_name(dtype));
    REPORT(same && finite, name, "they reach %s",
           finite ? "gradients" : "the result");
  }
}

/* Later keys that are NaN spoil later queries only. */
static void test_causal_nan(void) {
  state = 5;
  sample s = {.b1 = 1, .b2 = 1, .heads = 1, .kv_heads = 1, .tq = 10,
              .tk = 10, .d = 8, .dv = 8, .causal = BOTTOM_RIGHT};
  fill(&s, HEAD);
  s.causal = BOTTOM_RIGHT;
  result clean, spoilt;
  run(&s, HEED_FLOAT32, false, &clean);
  spoil(&s, 6, NAN);
  run(&s, HEED_FLOAT32, false, &spoilt);
  array shape;
  sizes_of(&s, &shape);
  bool ok = true;
  int64_t i[NDIM] = {0};
  for (i[ROW] = 0; i[ROW] < 10; i[ROW]++)
    for (i[COL] = 0; i[COL] < 8; i[COL]++) {
      double x = element(&shape, clean.out, PLAIN, i);
      double y = element(&shape, spoilt.out, PLAIN, i);
      ok = ok && (i[ROW] < 6 ? x == y : isnan(y));
    }
  REPORT(ok, "NaN in a key spoils the queries that see it, and only these",
         "it does not");
  result_free(&clean);
  result_free(&spoilt);
  sample_free(&s);
}

static void test_sizes(heed_dtype dtype) {
  static const int64_t size[][6] = {
      {0, 2, 5, 7, 8, 8}, {2, 0, 5, 7, 8, 8}, {2, 2, 0, 7, 8, 8},
      {2, 2, 5, 0, 8, 8}, {2, 2, 5, 7, 0, 8}, {2, 2, 5, 7, 8, 0},
      {1, 1, 1, 1, 1, 1}, {0, 0, 0, 0, 0, 0}};
  bool good = true;
  for (size_t n = 0; n < sizeof size / sizeof size[0]; n++) {
    const int64_t *d = size[n];
    sample s = {.b1 = 1, .b2 = d[0], .heads = d[1], .kv_heads = d[1],
                .tq = d[2], .tk = d[3], .d = d[4], .dv = d[5], .scale = 1};
    fill(&s, B2);
    int64_t all[] = {1, 1, d[1], d[2], d[3]};
    s.in[BIAS] = array_new(all, HEAD, 0);
    result r;
    if (!run(&s, dtype, true, &r)) {
      printf("# %s\n", heed_error());
      good = false;
    } else {
      good = good && output_error(&s, &r) < 1e-5;
      for (int i = 0; i < NINPUT; i++)
        if (s.in[i].x && wants_gradient(i))
          good = good && gradient_error(&s, &r, i, 1000) < 1e-3;
    }
    result_free(&r);
    sample_free(&s);
  }
  REPORT(good, dtype == HEED_FLOAT32 ? "sizes of 0 and 1 (float32)"
                                     : "sizes of 0 and 1 (float64)",
         "wrong");
}

/* Scores of about 10^4, where only the largest weight is left. */
static void test_large_scores(void) {
  state = 17;
  sample s = {.b1 = 1, .b2 = 1, .heads = 2, .kv_heads = 2, .tq = 9, .tk = 20,
              .d = 16, .dv = 16, .scale = 1};
  fill(&s, HEAD);
  for (int n = Q; n <= K; n++)
    for (int64_t i = 0; i < count(&s.in[n]); i++)
      s.in[n].x[i] = (float)(30 * s.in[n].x[i]);
  result r, exact;
  bool ok = run(&s, HEED_FLOAT32, true, &r) &&
            run(&s, HEED_FLOAT64, true, &exact);
  double worst = ok ? output_error(&s, &r) : INFINITY;
  for (int64_t i = 0; ok && i < count(&s.in[V]); i++) {
    const float *got = heed_tensor_data(GRAD(r.leaf[V]));
    const double *want = heed_tensor_data(GRAD(exact.leaf[V]));
    worst = fmax(worst, distance(got[i], want[i]));
  }
  REPORT(worst < 0.02, "scores of 10^4", "off by %g", worst);
  result_free(&r);
  result_free(&exact);
  sample_free(&s);
}

/* One query at a time over a growing cache gives what all at once give. */
static void test_cache(void) {
  state = 23;
  double worst = 0;
  sample s = {.b1 = 1, .b2 = 2, .heads = 4, .kv_heads = 2, .tq = 1,
              .d = 12, .dv = 12};
  for (s.tk = 1; s.tk < 40; s.tk += 3) {
    fill(&s, B2);
    s.causal = BOTTOM_RIGHT;
    s.left = 9;
    int64_t head[] = {1, 1, 4, 1, 1};
    s.in[ALIBI] = array_new(head, 0, ~(1u << HEAD));
    result r;
    run(&s, HEED_FLOAT32, false, &r);
    worst = fmax(worst, output_error(&s, &r));
    result_free(&r);
    sample_free(&s);
  }
  REPORT(worst < 1e-5, "one query over a cache", "off by %g", worst);
}

/* Few queries over many keys: every number of rows that share them, columns
   that fill no vector, every description, and the same bits by any number of
   threads. */
static void test_few(void) {
  double worst = 0;
  bool same = true;
  state = 31;
  for (int n = 0; n < 60; n++) {
    sample s = {.b1 = 1, .b2 = draw_int(1, 2), .kv_heads = draw_int(1, 2),
                .tq = 1 + n % 8, .tk = draw_int(32, 1300),
                .d = draw_int(1, 70), .dv = draw_int(1, 128)};
    if (n % 3 == 0) s.d = 64, s.dv = 128;
    s.heads = s.kv_heads * draw_int(1, n % 10 == 0 ? 14 : 4);
    fill(&s, B2);
    if (n % 4) describe(&s);
    /* slope * 1000 is not to eat up the digits of a score */
    for (int h = 0; s.in[ALIBI].x && h < s.heads; h++)
      s.in[ALIBI].x[h] *= 0.01;
    for (int i = Q; i <= V; i++) s.layout[i] = (order)draw_int(0, 2);
    result one, two;
    heed_set_num_threads(1);
    bool ok = run(&s, HEED_FLOAT32, false, &one);
    heed_set_num_threads(2 + n % 3);
    ok = ok && run(&s, HEED_FLOAT32, false, &two);
    if (!ok) {
      REPORT(false, "few queries", "%s", heed_error());
      return;
    }
    worst = fmax(worst, output_error(&s, &one));
    same = same && same_bits(one.out, two.out);
    result_free(&one);
    result_free(&two);
    sample_free(&s);
  }
  REPORT(worst < 1e-5, "few queries", "off by %g", worst);
  REPORT(same, "few queries: any number of threads gives the same bits",
         "it does not");
}

/* NaN and inf in keys and values that few queries may not see. */
static void test_few_spoilt(void) {
  static const double bad[] = {NAN, INFINITY};
  bool same = true;
  for (int n = 0; n < 16; n++) {
    state = 37;
    sample s = {.b1 = 1, .b2 = 2, .heads = 6, .kv_heads = 2, .tq = 1 + n / 2,
                .tk = 700, .d = 20, .dv = 24};
    fill(&s, B2);
    int64_t row[] = {1, 2, 1, 1, 1}, keys[] = {1, 1, 1, 1, 700};
    s.in[VALID] = array_new(row, B2, 1u << HEAD | 1u << COL | 1u << ROW);
    s.in[VALID].x[0] = 699;
    s.in[VALID].x[1] = 300;
    s.in[MASK] = array_new(keys, COL, 0);
    for (int j = 0; j < 700; j++) s.in[MASK].x[j] = j != 5;
    result clean, spoilt;
    bool ok = run(&s, HEED_FLOAT32, false, &clean);
    spoil(&s, 5, bad[n % 2]);
    spoil(&s, 699, bad[n % 2]);
    ok = ok && run(&s, HEED_FLOAT32, false, &spoilt);
    same = same && ok && same_bits(clean.out, spoilt.out);
    result_free(&clean);
    result_free(&spoilt);
    sample_free(&s);
  }
  REPORT(same, "few queries: NaN and inf that nobody sees", "they are seen");
}

static void test_dropout(void) {
  uint32_t word[4 * PHILOX_LANES];
  philox_words(0, 0, 0, 0, 1, word);
  bool ok = word[0] == 0x6627e8d5 && word[1] == 0xe169c58d &&
            word[2] == 0xbc57ac4c && word[3] == 0x9b00dbd8;
  philox_words(UINT64_MAX, UINT64_MAX, UINT32_MAX, UINT32_MAX, 1, word);
  ok = ok && word[0] == 0x408f276d && word[1] == 0x41c83b0e &&
       word[2] == 0xa20bc7c6 && word[3] == 0x6d5451fd;
  REPORT(ok, "Philox gives its published words", "%08x %08x %08x %08x",
         word[0], word[1], word[2], word[3]);

  /* values of 1: a result is the share of the weights that stayed */
  state = 29;
  sample s = {.b1 = 1, .b2 = 4, .heads = 4, .kv_heads = 4, .tq = 64,
              .tk = 100, .d = 4, .dv = 1, .dropout = 0.25, .seed = 99};
  fill(&s, B2);
  s.scale = 1e-6;
  for (int64_t i = 0; i < count(&s.in[V]); i++) s.in[V].x[i] = 1;
  result r;
  double mean = 0;
  if (run(&s, HEED_FLOAT32, false, &r))
    for (int i = 0; i < 1024; i++)
      mean += ((float *)r.out->storage->data)[i] / 1024;
  /* 102,400 weights: the mean has a standard deviation of 0.0018 */
  REPORT(fabs(mean - 1) < 0.009, "dropout keeps the mean", "mean %g", mean);
  result_free(&r);
  s.dropout = 1;
  run(&s, HEED_FLOAT32, true, &r);
  double worst = 0;
  for (int i = 0; i < 1024; i++)
    worst = fmax(worst, fabs(((float *)r.out->storage->data)[i]));
  REPORT(worst == 0, "dropout of 1 gives zeros", "got %g", worst);
  result_free(&r);
  sample_free(&s);
}

/* ---- messages ------------------------------------------------------------ */

static heed_tensor *shaped(heed_dtype dtype, const char *sizes) {
  heed_shape shape = {0};
  for (const char *at_size = sizes; *at_size; at_size++)
    if (*at_size != ' ') shape.dim[shape.ndim++] = *at_size - '0';
  heed_tensor *t = heed_tensor_new("test", dtype, &shape);
  memset(t->storage->data, 0, t->storage->bytes);
  return t;
}

static void test_message(int input, heed_dtype dtype, const char *sizes,
                         const char *attributes, const char *want) {
  heed_tensor *in[NINPUT] = {shaped(HEED_FLOAT32, "2 4 5 8"),
                             shaped(HEED_FLOAT32, "2 2 7 8"),
                             shaped(HEED_FLOAT32, "2 2 7 6")};
  heed_tensor *out = NULL;
  if (sizes) {
    heed_tensor_drop(in[input]);
    in[input] = shaped(dtype, sizes);
    if (input == VALID)
      ((int64_t *)in[input]->storage->data)[0] = 8;
  }
  int n = heed_run("attention", in, NINPUT, attributes, &out, 1);
  REPORT(n < 0 && strcmp(heed_error(), want) == 0, want, "got %s",
         n < 0 ? heed_error() : "a result");
  for (int i = 0; i < NINPUT; i++) heed_tensor_drop(in[i]);
  heed_tensor_drop(out);
}

static void test_messages(void) {
  heed_dtype f = HEED_FLOAT32, b = HEED_BOOL;
  test_message(Q, HEED_INT64, "2 4 5 8", NULL,
               "attention: q must be float32 or float64, got int64 "
               "[2 4 5 8]");
  test_message(Q, f, "5 8", NULL,
               "attention: q must have at least 3 dimensions, got float32 "
               "[5 8]");
  test_message(K, HEED_FLOAT64, "2 2 7 8", NULL,
               "attention: q, k and v must have one dtype, got float32, "
               "float64 and float32");
  test_message(K, f, "3 2 7 8", NULL,
               "attention: q [2 4 5 8], k [3 2 7 8] and v [2 2 7 6] must "
               "agree in all dimensions before the heads (the last three "
               "are heads, time, size)");
  test_message(K, f, "2 2 7 9", NULL,
               "attention: q [2 4 5 8] and k [2 2 7 9] must have the same "
               "last size, got 8 and 9");
  test_message(V, f, "2 2 6 6", NULL,
               "attention: k [2 2 7 8] and v [2 2 6 6] must agree in heads "
               "and time");
  test_message(Q, f, "2 3 5 8", NULL,
               "attention: the heads of q [2 3 5 8] must be a multiple of "
               "those of k [2 2 7 8], got 3 and 2");
  test_message(MASK, f, "5 7", NULL,
               "attention: mask must be bool, true where attending is "
               "allowed, got float32 [5 7]; numbers to add to the scores "
               "are a bias");
  test_message(MASK, b, "7 5", NULL,
               "attention: mask [7 5] does not broadcast to [2 4 5 7]");
  test_message(KEY_MASK, b, "2 5", NULL,
               "attention: key_mask [2 5] does not broadcast to [2 7]");
  test_message(BIAS, b, "5 7", NULL,
               "attention: bias must be float32 like q, got bool [5 7]");
  test_message(BIAS, f, "3 2 4 5 7", NULL,
               "attention: bias [3 2 4 5 7] does not broadcast to "
               "[2 4 5 7]");
  test_message(VALID, HEED_INT64, "2", NULL,
               "attention: valid_lens must lie in 0..7, the number of keys, "
               "got 8");
  test_message(VALID, HEED_INT64, "5", NULL,
               "attention: valid_lens must be [2], one number a batch "
               "entry, or [2 5], one a query, got [5]");
  test_message(ALIBI, f, "2", NULL,
               "attention: alibi must be [4], one number a head of q, got "
               "[2]");
  test_message(Q, f, NULL, "window_left=-2",
               "attention: window_left must be a number of keys, or -1 for "
               "all, got -2");
  test_message(Q, f, NULL, "scale=inf",
               "attention: scale must be finite, got inf");
  test_message(Q, f, NULL, "softcap=-1",
               "attention: softcap must be positive, or 0 for none, got -1");
  test_message(Q, f, NULL, "dropout=1.5",
               "attention: dropout must lie in 0..1, got 1.5");
}

int main(void) {
  if (!heed_init()) {
    printf("not ok init: %s\n", heed_error());
    return 1;
  }
  printf("# instruction set: %s\n", heed_kernel_isa);
  test_samples(HEED_FLOAT64, 250, 7, 9, 5, 1e-7,
               "random calls in float64: result and gradients");
  test_samples(HEED_FLOAT32, 250, 7, 9, 5, 3e-4,
               "random calls in float32: result and gradients");
  test_samples(HEED_FLOAT32, 20, 9, 40, 34, 3e-4,
               "random calls over more keys");
  test_large(40, 90, 90, 70, "float32 agrees with float64 on larger sizes");
  test_large(20, 150, 400, 20, "... and over several blocks of keys");
  test_large(30, 8, 400, 40, "... and with few queries");
  test_large(12, 8, 1500, 20, "... over many keys");
  test_layouts();
  test_spoilt(HEED_FLOAT32);
  test_spoilt(HEED_FLOAT64);
  test_causal_nan();
  test_sizes(HEED_FLOAT32);
  test_sizes(HEED_FLOAT64);
  test_large_scores();
  test_cache();
  test_few();
  test_few_spoilt();
  test_dropout();
  test_messages();
  printf("# %d failed\n", failed);
  return failed != 0;
}
