/*
 * attention - softmax(scale Q K^T) V, fused. Layer: ops.
 * Read first: kernel/attention.h, kernel/attention_plain.c, core/op.h.
 *
 * The call is cut into groups: the query heads of one batch entry that share
 * a key/value head. Groups are independent, but for the gradient of a bias
 * that several of them share, see gather_bias.
 *
 * q, k and v are taken as they lie, heads beside each other in memory as a
 * projection makes them: [batch T H D] seen as [batch H T D]. Results are
 * laid out the same way, so that joining the heads again is a view.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "kernel/kernel.h"
#include "ops/copy.h"
#include "ops/ops.h"

/* Inputs and attributes, in the order of the signature. */
enum { Q, K, V, MASK, KEY_MASK, BIAS, VALID, ALIBI, SINKS, NINPUT };
enum { OUT = NINPUT, STATS, GRAD, NBACKWARD }; /* of attention_bwd */
enum {
  CAUSAL, WINDOW_LEFT, WINDOW_RIGHT, SCALE, SOFTCAP, DROPOUT, SEED, NATTR
};
enum { BOTTOM_RIGHT = 1, TOP_LEFT = 2 };

#define MULTIPLY_ADDS 100000 /* worth a thread */

/* -- checks -- */

/* The sizes of a call. The batch is all dimensions before the heads. */
typedef struct sizes {
  int nbatch;
  int64_t batch[HEED_MAX_DIM], count; /* count: their product */
  int64_t heads, kv_heads, tq, tk, d, dv;
} sizes;

static sizes sizes_of(heed_tensor *const *in) {
  const heed_shape *q = &in[Q]->shape, *k = &in[K]->shape;
  const heed_shape *v = &in[V]->shape;
  int n = q->ndim - 3;
  sizes s = {.nbatch = n, .count = 1, .heads = q->dim[n],
             .kv_heads = k->dim[n], .tq = q->dim[n + 1],
             .tk = k->dim[n + 1], .d = q->dim[n + 2], .dv = v->dim[n + 2]};
  for (int i = 0; i < n; i++) {
    s.batch[i] = q->dim[i];
    s.count *= q->dim[i];
  }
  return s;
}

static bool check_qkv(const heed_call *c) {
  const heed_tensor *q = c->in[Q], *k = c->in[K], *v = c->in[V];
  int n = q->shape.ndim;
  for (int i = Q; i <= V; i++)
    if (!heed_want_float(c, i) || !heed_want_ndim(c, i, 3)) return false;
  if (k->dtype != q->dtype || v->dtype != q->dtype)
    return heed_fail("%s: q, k and v must have one dtype, got %s, %s and %s",
                     c->op->name, heed_dtype_name(q->dtype),
                     heed_dtype_name(k->dtype), heed_dtype_name(v->dtype));
  bool same = k->shape.ndim == n && v->shape.ndim == n;
  for (int i = 0; same && i < n - 3; i++)
    same = k->shape.dim[i] == q->shape.dim[i] &&
           v->shape.dim[i] == q->shape.dim[i];
  if (!same)
    return heed_fail("%s: q %s, k %s and v %s must agree in all dimensions "
                     "before the heads (the last three are heads, time, "
                     "size)", c->op->name, heed_shape_text(&q->shape),
                     heed_shape_text(&k->shape), heed_shape_text(&v->shape));
  if (k->shape.dim[n - 1] != q->shape.dim[n - 1])
    return heed_fail("%s: q %s and k %s must have the same last size, got "
                     "%lld and %lld", c->op->name, heed_shape_text(&q->shape),
                     heed_shape_text(&k->shape),
                     (long long)q->shape.dim[n - 1],
                     (long long)k->shape.dim[n - 1]);
  if (v->shape.dim[n - 3] != k->shape.dim[n - 3] ||
      v->shape.dim[n - 2] != k->shape.dim[n - 2])
    return heed_fail("%s: k %s and v %s must agree in heads and time",
                     c->op->name, heed_shape_text(&k->shape),
                     heed_shape_text(&v->shape));
  int64_t heads = q->shape.dim[n - 3], kv_heads = k->shape.dim[n - 3];
  if (kv_heads == 0 ? heads != 0 : heads % kv_heads != 0)
    return heed_fail("%s: the heads of q %s must be a multiple of those of "
                     "k %s, got %lld and %lld", c->op->name,
                     heed_shape_text(&q->shape), heed_shape_text(&k->shape),
                     (long long)heads, (long long)kv_heads);
  return true;
}

/* Input i, when given, must broadcast to `want`. */
static bool check_fits(const heed_call *c, int i, const heed_shape *want) {
  heed_shape joined;
  const heed_tensor *t = c->in[i];
  if (!t) return true;
  if (heed_shape_broadcast(&t->shape, want, &joined) &&
      heed_shape_equal(&joined, want))
    return true;
  return heed_fail("%s: %s %s does not broadcast to %s", c->op->name,
                   heed_input_name(c, i), heed_shape_text(&t->shape),
                   heed_shape_text(want));
}

static bool check_bool(const heed_call *c, int i) {
  if (!c->in[i] || c->in[i]->dtype == HEED_BOOL) return true;
  return heed_fail("%s: %s must be bool, true where attending is allowed, "
                   "got %s; numbers to add to the scores are a bias",
                   c->op->name, heed_input_name(c, i),
                   heed_tensor_text(c->in[i]));
}

static bool check_like_q(const heed_call *c, int i) {
  const heed_tensor *t = c->in[i];
  if (!t || t->dtype == c->in[Q]->dtype) return true;
  return heed_fail("%s: %s must be %s like q, got %s", c->op->name,
                   heed_input_name(c, i), heed_dtype_name(c->in[Q]->dtype),
                   heed_tensor_text(t));
}

static bool check_per_head(const heed_call *c, int i, const sizes *s) {
  const heed_tensor *t = c->in[i];
  if (!t || (t->shape.ndim == 1 && t->shape.dim[0] == s->heads)) return true;
  return heed_fail("%s: %s must be [%lld], one number a head of q, got %s",
                   c->op->name, heed_input_name(c, i), (long long)s->heads,
                   heed_shape_text(&t->shape));
}

static bool find_length(const heed_call *c, int64_t tk) {
  heed_tensor *t = heed_contiguous(c->op->name, c->in[VALID]);
  if (!t) return false;
  const int64_t *length = heed_tensor_data(t);
  int64_t n = heed_tensor_numel(t), i = 0;
  while (i < n && length[i] >= 0 && length[i] <= tk) i++;
  long long bad = i < n ? (long long)length[i] : 0;
  heed_tensor_drop(t);
  return i == n ||
         heed_fail("%s: valid_lens must lie in 0..%lld, the number of keys, "
                   "got %lld", c->op->name, (long long)tk, bad);
}

/* int64, one number a batch entry or a query. */
static bool check_valid(const heed_call *c, const sizes *s) {
  const heed_tensor *t = c->in[VALID];
  if (!t) return true;
  if (!heed_want_dtype(c, VALID, HEED_INT64)) return false;
  heed_shape entry = {.ndim = s->nbatch}, query;
  memcpy(entry.dim, s->batch, sizeof entry.dim);
  query = entry;
  query.dim[query.ndim++] = s->tq;
  if (!heed_shape_equal(&t->shape, &entry) &&
      !heed_shape_equal(&t->shape, &query))
    return heed_fail("%s: valid_lens must be %s, one number a batch entry, "
                     "or %s, one a query, got %s", c->op->name,
                     heed_shape_text(&entry), heed_shape_text(&query),
                     heed_shape_text(&t->shape));
  return find_length(c, s->tk);
}

static bool check_numbers(const heed_call *c) {
  const heed_attr *attr = c->attr;
  for (int i = WINDOW_LEFT; i <= WINDOW_RIGHT; i++)
    if (attr[i].i < -1)
      return heed_fail("%s: %s must be a number of keys, or -1 for all, got "
                       "%lld", c->op->name,
                       i == WINDOW_LEFT ? "window_left" : "window_right",
                       (long long)attr[i].i);
  if (isinf(attr[SCALE].f))
    return heed_fail("%s: scale must be finite, got %g", c->op->name,
                     attr[SCALE].f);
  if (!(attr[SOFTCAP].f >= 0 && attr[SOFTCAP].f < INFINITY))
    return heed_fail("%s: softcap must be positive, or 0 for none, got %g",
                     c->op->name, attr[SOFTCAP].f);
  if (!(attr[DROPOUT].f >= 0 && attr[DROPOUT].f <= 1))
    return heed_fail("%s: dropout must lie in 0..1, got %g", c->op->name,
                     attr[DROPOUT].f);
  return true;
}

static bool check_description(const heed_call *c, const sizes *s) {
  heed_shape scores = c->in[Q]->shape, keys = {.ndim = s->nbatch + 1};
  scores.dim[scores.ndim - 1] = s->tk;
  memcpy(keys.dim, s->batch, sizeof keys.dim);
  keys.dim[s->nbatch] = s->tk;
  return check_bool(c, MASK) && check_fits(c, MASK, &scores) &&
         check_bool(c, KEY_MASK) && check_fits(c, KEY_MASK, &keys) &&
         check_like_q(c, BIAS) && check_fits(c, BIAS, &scores) &&
         check_valid(c, s) && check_like_q(c, ALIBI) &&
         check_per_head(c, ALIBI, s) && check_like_q(c, SINKS) &&
         check_per_head(c, SINKS, s) && check_numbers(c);
}

/* -- tensors as the loops see them -- */

/* A tensor with its strides in every dimension of a call, 0 where it is
   broadcast. */
typedef struct layout {
  char *data; /* NULL: left out */
  int64_t size; /* of an element */
  int64_t batch[HEED_MAX_DIM], head, row, column;
} layout;

/* `axes` names the last dimensions from behind: c column, r row, h head; the
   others are the batch. */
static layout lay(const heed_tensor *t, int nbatch, const char *axes) {
  layout l = {0};
  if (!t) return l;
  l.data = heed_tensor_data(t);
  l.size = (int64_t)heed_dtype_size(t->dtype);
  int batch = nbatch - 1;
  for (int i = t->shape.ndim - 1; i >= 0; i--) {
    int64_t stride = t->shape.dim[i] == 1 ? 0 : t->stride[i];
    switch (*axes) {
      case 'c': l.column = stride; break;
      case 'r': l.row = stride; break;
      case 'h': l.head = stride; break;
      default: l.batch[batch--] = stride;
    }
    if (*axes) axes++;
  }
  return l;
}

static int64_t batch_offset(const layout *l, const sizes *s, int64_t entry) {
  int64_t offset = 0;
  for (int i = s->nbatch - 1; i >= 0; i--) {
    offset += entry % s->batch[i] * l->batch[i];
    entry /= s->batch[i];
  }
  return offset;
}

/* The part of one group. */
static heed_grid grid(const layout *l, const sizes *s, int64_t entry,
                      int64_t head) {
  if (!l->data) return (heed_grid){0};
  int64_t offset = batch_offset(l, s, entry) + head * l->head;
  return (heed_grid){l->data + offset * l->size, l->head, l->row, l->column};
}

/* A whole call: what its groups share, and its tensors. */
typedef struct plan {
  sizes s;
  const heed_attention_loops *loops;
  heed_attention common;
  layout in[NBACKWARD], out, dq, dk, dv, dbias;
  char *stats;
  int64_t groups, repeat; /* repeat: query heads of a group */
  heed_tensor *own[NBACKWARD]; /* copies of inputs without whole rows */
  char *room;
  size_t room_size, room_bytes; /* of one worker, and of all */
} plan;

static heed_attention group(const plan *p, int64_t g) {
  heed_attention a = p->common;
  const sizes *s = &p->s;
  int64_t entry = g / s->kv_heads, kv_head = g % s->kv_heads;
  int64_t head = kv_head * p->repeat;
  a.first_head = (uint64_t)(entry * s->heads + head);
  a.q = grid(&p->in[Q], s, entry, head);
  a.k = grid(&p->in[K], s, entry, kv_head);
  a.v = grid(&p->in[V], s, entry, kv_head);
  a.mask = grid(&p->in[MASK], s, entry, head);
  a.key_mask = grid(&p->in[KEY_MASK], s, entry, head);
  a.bias = grid(&p->in[BIAS], s, entry, head);
  a.valid = grid(&p->in[VALID], s, entry, head);
  a.alibi = grid(&p->in[ALIBI], s, entry, head);
  a.sinks = grid(&p->in[SINKS], s, entry, head);
  a.out = grid(&p->out, s, entry, head);
  a.dout = grid(&p->in[GRAD], s, entry, head);
  a.dq = grid(&p->dq, s, entry, head);
  a.dk = grid(&p->dk, s, entry, kv_head);
  a.dvalue = grid(&p->dv, s, entry, kv_head);
  a.dbias = grid(&p->dbias, s, entry, head);
  if (p->stats)
    a.stats = p->stats + 2 * (int64_t)a.first_head * s->tq * p->in[Q].size;
  return a;
}

static void set_numbers(plan *p, const heed_attr *attr) {
  heed_attention *a = &p->common;
  const sizes *s = &p->s;
  int64_t all = s->tq + s->tk;
  int64_t left = attr[WINDOW_LEFT].i, right = attr[WINDOW_RIGHT].i;
  *a = (heed_attention){.heads = p->repeat, .tq = s->tq, .tk = s->tk,
                        .d = s->d, .dv = s->dv};
  a->scale = attr[SCALE].f;
  if (isnan(a->scale)) a->scale = s->d ? 1 / sqrt((double)s->d) : 1;
  a->softcap = attr[SOFTCAP].f;
  a->shift = attr[CAUSAL].i == TOP_LEFT ? 0 : s->tk - s->tq;
  a->left = left < 0 || left > all ? all : left;
  a->right = right < 0 || right > all ? all : right;
  if (attr[CAUSAL].i) a->right = 0;
  double drop = attr[DROPOUT].f;
  a->dropout = drop > 0;
  a->drop_below = (uint64_t)(drop * 0x1p32);
  a->keep_factor = drop < 1 ? 1 / (1 - drop) : 0;
  a->seed = (uint64_t)attr[SEED].i;
}

/* The layout of a tensor whose columns must lie side by side. */
static bool lay_rows(plan *p, heed_call *c, int i) {
  heed_tensor *t = c->in[i];
  int last = t->shape.ndim - 1;
  if (t->shape.dim[last] > 1 && t->stride[last] != 1) {
    t = p->own[i] = heed_contiguous(c->op->name, t);
    if (!t) return false;
  }
  p->in[i] = lay(t, p->s.nbatch, "crh");
  return true;
}

static void plan_end(plan *p) {
  for (int i = 0; i < NBACKWARD; i++) heed_tensor_drop(p->own[i]);
  if (p->room) heed_mem_free(p->room, p->room_bytes);
}

/* Also works when it fails: plan_end is to follow. */
static bool plan_begin(plan *p, heed_call *c, bool backward) {
  *p = (plan){.s = sizes_of(c->in)};
  p->loops = &heed_kernel.attention[c->in[Q]->dtype];
  p->groups = p->s.count * p->s.kv_heads;
  p->repeat = p->s.kv_heads ? p->s.heads / p->s.kv_heads : 0;
  set_numbers(p, c->attr);
  int n = p->s.nbatch;
  p->in[MASK] = lay(c->in[MASK], n, "crh");
  p->in[KEY_MASK] = lay(c->in[KEY_MASK], n, "c");
  p->in[BIAS] = lay(c->in[BIAS], n, "crh");
  const heed_tensor *valid = c->in[VALID];
  p->in[VALID] = lay(valid, n, valid && valid->shape.ndim > n ? "r" : "");
  p->in[ALIBI] = lay(c->in[ALIBI], n, "h");
  p->in[SINKS] = lay(c->in[SINKS], n, "h");
  for (int i = Q; i <= V; i++)
    if (!lay_rows(p, c, i)) return false;
  if (backward && !(lay_rows(p, c, OUT) && lay_rows(p, c, GRAD))) return false;
  size_t room = backward ? p->loops->backward_room(&p->common)
                         : p->loops->forward_room(&p->common);
  p->room_size = (room + 63) / 64 * 64;
  p->room_bytes = p->room_size * (size_t)heed_get_num_threads();
  p->room = heed_mem_alloc(p->room_bytes);
  return p->room != NULL;
}

/* Multiply-adds of one group when nothing is skipped. */
static int64_t group_work(const plan *p) {
  const sizes *s = &p->s;
  double work = (double)p->repeat * (double)s->tq * (double)s->tk *
                (double)(s->d + s->dv + 16);
  return work < 1e15 ? (int64_t)work + 1 : (int64_t)1e15;
}

static int64_t grain(int64_t work) {
  return work < MULTIPLY_ADDS ? MULTIPLY_ADDS / work : 1;
}

/* Lays a fresh contiguous result [.. H T D] out as [.. T H D] in memory. */
static void heads_inside(heed_tensor *t) {
  int n = t->shape.ndim;
  const int64_t *size = t->shape.dim;
  int64_t width = size[n - 1] > 1 ? size[n - 1] : 1;
  t->stride[n - 3] = width;
  t->stride[n - 2] = width * (size[n - 3] > 1 ? size[n - 3] : 1);
}

/* -- attention -- */

/***
Attention: for each query the mean of the values, weighted with the softmax
of the scaled products of query and keys. `F.scaled_dot_product_attention` is
the form for users.

Query i stands beside key i + (Tk - Tq): the last query beside the last key,
so that keys of earlier steps may come from a cache. With causal =
`"top-left"` it stands beside key i. What a query may see is what all of
`mask`, `key_mask`, `valid_lens`, `causal` and the window allow; a query that
may see nothing gives zeros. Nothing of a key or value that is shut out
reaches the result, not even a NaN.

The score of query i and key j is s = scale * q[i] . k[j], then
s = softcap * tanh(s / softcap) when there is a softcap, then
s - slope * |place of i - j| + bias. With sinks, e^sink joins the sum that the
weights of a query are divided by.

Memory grows with Tq + Tk, not with Tq * Tk. The backward pass is fused: it
cannot be differentiated again, and alibi slopes get no gradient.
@function attention
@param q float tensor [.. H Tq D]
@param k float tensor [.. Hk Tk D]; query head h (from 0) uses head
floor(h / (H / Hk))
@param v float tensor [.. Hk Tk Dv]
@param mask bool tensor that broadcasts to [.. H Tq Tk], true where attending
is allowed
@param key_mask bool tensor that broadcasts to [.. Tk], true where attending
is allowed
@param bias float tensor that broadcasts to [.. H Tq Tk], added to the scores;
-inf shuts a key out
@param valid_lens int64 tensor [..] or [.. Tq]: how many keys, from the first,
may be seen
@param alibi float tensor [H], slopes
@param sinks float tensor [H], scores of keys without a value
@param causal `"bottom-right"` or `"top-left"`: no key behind the query's
place is seen
@param window_left how many keys before its place a query sees; -1: all
@param window_right how many keys behind its place a query sees; -1: all. A
causal window of w keys, the query's own place counted, has window_left = w - 1
@param scale of the products; nan: 1 / sqrt(D)
@param softcap bound of the scores; 0: none
@param dropout probability with which a weight is set to 0, the others being
divided by 1 - dropout
@param seed of the dropout: the same seed drops the same weights
@return float tensor [.. H Tq Dv], in memory as [.. Tq H Dv]
@raise when dtypes or shapes do not fit, or a number is out of range
@usage
local out = heed.core.ops.attention(q, k, v, {causal = "bottom-right"})
*/
static bool attention_check(heed_call *c) {
  if (!check_qkv(c)) return false;
  sizes s = sizes_of(c->in);
  if (!check_description(c, &s)) return false;
  if (c->need & HEED_NEED(ALIBI))
    return heed_fail("attention: alibi has no gradient; pass slopes that are "
                     "learnt as part of a bias");
  heed_shape shape = c->in[Q]->shape, stats = shape;
  int last = shape.ndim - 1;
  shape.dim[last] = s.dv;
  heed_out(c, 0, c->in[Q]->dtype, &shape);
  stats.dim[last] = 2;
  if (c->need) heed_out(c, 1, c->in[Q]->dtype, &stats);
  return true;
}

/* Groups are cut into `parts` ranges of rows. A part packs the keys anew,
   which is little beside the work of so many rows. */

typedef struct forward_run {
  const plan *p;
  int64_t parts, splits; /* splits: see heed_attention_splits */
  char *sums;
  size_t sums_size; /* of one split */
} forward_run;

/* The group of a part, its rows, and the sums of its splits. */
static heed_attention part_of(const forward_run *run, int64_t part,
                              int64_t *begin, int64_t *end, char **sums) {
  const plan *p = run->p;
  int64_t rows = p->repeat * p->s.tq, i = part % run->parts;
  *begin = rows * i / run->parts;
  *end = rows * (i + 1) / run->parts;
  if (run->sums)
    *sums = run->sums + run->sums_size * (size_t)(part * run->splits);
  return group(p, part / run->parts);
}

static void forward_units(void *context, int64_t first, int64_t last,
                          int worker) {
  const forward_run *run = context;
  const plan *p = run->p;
  void *room = p->room + p->room_size * (size_t)worker;
  for (int64_t unit = first; unit < last; unit++) {
    int64_t begin, end;
    char *sums = NULL;
    heed_attention a =
        part_of(run, unit / run->splits, &begin, &end, &sums);
    if (run->splits == 1)
      p->loops->forward(&a, begin, end, room);
    else
      p->loops->forward_split(&a, begin, end, unit % run->splits, sums, room);
  }
}

static void join_parts(void *context, int64_t first, int64_t last,
                       int worker) {
  (void)worker;
  const forward_run *run = context;
  for (int64_t part = first; part < last; part++) {
    int64_t begin, end;
    char *sums = NULL;
    heed_attention a = part_of(run, part, &begin, &end, &sums);
    run->p->loops->join_splits(&a, begin, end, sums);
  }
}

/* Cut by the shape alone: how sums are cut shows in their last bits, which
   must not depend on the number of threads. */
static bool run_forward(const plan *p) {
  int64_t rows = p->repeat * p->s.tq;
  forward_run run = {.p = p, .splits = 1};
  run.parts = (rows + HEED_ATTENTION_ROWS - 1) / HEED_ATTENTION_ROWS;
  if (run.parts < 1) run.parts = 1;
  int64_t parts = p->groups * run.parts, bytes = 0;
  if (p->loops->forward_split) run.splits = heed_attention_splits(&p->common);
  if (run.splits > 1 && parts > 0) {
    run.sums_size = p->loops->sums_size(&p->common);
    bytes = parts * run.splits * (int64_t)run.sums_size;
    run.sums = heed_mem_alloc((size_t)bytes);
    if (!run.sums) return false;
  }
  heed_parallel(parts * run.splits,
                grain(group_work(p) / run.parts / run.splits + 1),
                forward_units, &run);
  if (!run.sums) return true;
  heed_parallel(parts, grain(rows / run.parts * run.splits * p->s.dv + 1),
                join_parts, &run);
  heed_mem_free(run.sums, (size_t)bytes);
  return true;
}

static bool attention_fwd(heed_call *c) {
  plan p;
  heads_inside(c->out[0]);
  bool ok = plan_begin(&p, c, false);
  if (ok) {
    p.out = lay(c->out[0], p.s.nbatch, "crh");
    if (c->nout > 1) p.stats = heed_tensor_data(c->out[1]);
    ok = run_forward(&p);
  }
  plan_end(&p);
  return ok;
}

/* Sum over all results: dsink = -(weight of the sink) * (dout . out). */
static bool give_sinks(heed_rule_call *r) {
  heed_tensor *in[] = {heed_in(r, SINKS), heed_kept_out(r, 0),
                       heed_kept_out(r, 1), r->grad[0]};
  return heed_give(r, SINKS, heed_do(r, heed_op_find("attention_sinks_bwd"),
                                     in, 4, NULL));
}

static bool attention_rule_bwd(heed_rule_call *r) {
  heed_tensor *in[NBACKWARD], *out[HEED_MAX_OUT] = {0};
  for (int i = 0; i < NINPUT; i++)
    in[i] = i < r->node->nin && r->node->in[i].value ? heed_in(r, i) : NULL;
  in[OUT] = heed_kept_out(r, 0);
  in[STATS] = heed_kept_out(r, 1);
  in[GRAD] = r->grad[0];
  if (r->failed) return false;
  if (heed_needs(r, SINKS) && !give_sinks(r)) return false;
  heed_attr attr[NATTR + 1];
  memcpy(attr, r->attr, sizeof *attr * NATTR);
  attr[NATTR].i = heed_needs(r, BIAS);
  if (!heed_needs(r, Q) && !heed_needs(r, K) && !heed_needs(r, V) &&
      !heed_needs(r, BIAS))
    return true;
  if (!heed_do_all(r, heed_op_find("attention_bwd"), in, NBACKWARD, attr,
                   out))
    return false;
  for (int i = Q; i <= V; i++)
    if (heed_needs(r, i) && !heed_give(r, i, out[i])) return false;
  return !heed_needs(r, BIAS) || heed_give(r, BIAS, out[3]);
}

const heed_rule heed_rule_attention = {
    .check = attention_check, .forward = attention_fwd,
    .backward = attention_rule_bwd, .fused = true,
    .keep = {HEED_ALWAYS, HEED_ALWAYS, HEED_ALWAYS, HEED_ALWAYS, HEED_ALWAYS,
             HEED_ALWAYS, HEED_ALWAYS, HEED_ALWAYS, HEED_ALWAYS},
    .keep_out = {HEED_ALWAYS, HEED_ALWAYS}};

/* -- attention_bwd: gradients of q, k, v and, when asked for, bias -- */

static bool attention_bwd_check(heed_call *c) {
  for (int i = Q; i <= V; i++) heed_out_like(c, i, c->in[i]);
  if (c->attr[NATTR].i) heed_out_like(c, 3, c->in[BIAS]);
  return true;
}

/*
 * Groups that share a part of the bias (a slot) add to the same numbers. They
 * are put into `teams` of one slot each, one after the other in a team, with
 * a sum for each team; these are added up in order. Slots that are many need
 * no more than one team each, and its sum is the result itself. How groups
 * are put into teams depends on the shapes only. Example: bias [H Tq Tk] with
 * 64 batch entries and H = 4: 4 slots of 64 groups, in 2 teams each.
 */
#define TEAMS 8 /* so many at least, where there are groups for them */

typedef struct backward_run {
  const plan *p;
  int64_t teams, slots, slot_size;
  int64_t *order; /* groups, slot by slot; NULL: one group a team */
  char *sums;     /* [teams slot_size] where teams > slots */
} backward_run;

static void backward_groups(const backward_run *run, int64_t team,
                            void *room) {
  const plan *p = run->p;
  if (!run->order) {
    heed_attention a = group(p, team);
    p->loops->backward(&a, room);
    return;
  }
  int64_t each = run->teams / run->slots, part = team % each;
  int64_t members = p->groups / run->slots, slot = team / each;
  for (int64_t m = members * part / each; m < members * (part + 1) / each;
       m++) {
    heed_attention a = group(p, run->order[slot * members + m]);
    if (run->sums)
      a.dbias.data = run->sums + team * run->slot_size * p->dbias.size;
    p->loops->backward(&a, room);
  }
}

static void backward_teams(void *context, int64_t begin, int64_t end,
                           int worker) {
  const backward_run *run = context;
  char *room = run->p->room + run->p->room_size * (size_t)worker;
  for (int64_t team = begin; team < end; team++)
    backward_groups(run, team, room);
}

/* Sets slots and order. */
static bool find_slots(backward_run *run, const heed_tensor *dbias) {
  const plan *p = run->p;
  bool by_head = p->dbias.head != 0;
  int64_t batch = 1, n = dbias->shape.ndim;
  for (int i = 0; i < n - 3; i++) batch *= dbias->shape.dim[i];
  run->slots = batch * (by_head ? p->s.kv_heads : 1);
  run->slot_size = heed_tensor_numel(dbias) / run->slots;
  size_t bytes = sizeof *run->order * (size_t)p->groups;
  run->order = heed_mem_alloc(bytes);
  if (!run->order) return false;
  int64_t members = p->groups / run->slots;
  int64_t *filled = heed_mem_alloc(sizeof *filled * (size_t)run->slots);
  if (!filled) return false;
  memset(filled, 0, sizeof *filled * (size_t)run->slots);
  for (int64_t g = 0; g < p->groups; g++) {
    int64_t head = by_head ? g % p->s.kv_heads * p->repeat : 0;
    int64_t offset = batch_offset(&p->dbias, &p->s, g / p->s.kv_heads) +
                     head * p->dbias.head;
    int64_t slot = offset / run->slot_size;
    run->order[slot * members + filled[slot]++] = g;
  }
  heed_mem_free(filled, sizeof *filled * (size_t)run->slots);
  return true;
}

static bool alloc_sums(backward_run *run) {
  int64_t members = run->p->groups / run->slots;
  int64_t each = (TEAMS + run->slots - 1) / run->slots;
  if (each > members) each = members;
  run->teams = run->slots * each;
  if (each == 1) return true;
  size_t bytes = (size_t)(run->teams * run->slot_size * run->p->dbias.size);
  run->sums = heed_mem_alloc(bytes);
  if (!run->sums) return false;
  memset(run->sums, 0, bytes);
  return true;
}

/* dbias = the sums of the teams of each slot. */
static void gather_bias(const backward_run *run, heed_tensor *dbias) {
  int64_t each = run->teams / run->slots, n = run->slot_size;
  heed_loop2 *add = heed_kernel.binary[HEED_BINARY_add][dbias->dtype];
  int64_t bytes = n * run->p->dbias.size;
  for (int64_t team = 0; team < run->teams; team++) {
    char *to = (char *)heed_tensor_data(dbias) + team / each * bytes;
    add(n, to, 1, to, 1, run->sums + team * bytes, 1);
  }
}

static bool run_backward(plan *p, heed_tensor *dbias) {
  backward_run run = {.p = p, .teams = p->groups};
  bool ok = true;
  if (dbias) {
    memset(heed_tensor_data(dbias), 0, dbias->storage->bytes);
    p->dbias = lay(dbias, p->s.nbatch, "crh");
    if (heed_tensor_numel(dbias) > 0 && p->groups > 0)
      ok = find_slots(&run, dbias) && alloc_sums(&run);
  }
  int64_t work = group_work(p);
  if (run.order) work *= p->groups / run.teams;
  if (ok) heed_parallel(run.teams, grain(work), backward_teams, &run);
  if (ok && run.sums) gather_bias(&run, dbias);
  if (run.order)
    heed_mem_free(run.order, sizeof *run.order * (size_t)p->groups);
  if (run.sums)
    heed_mem_free(run.sums,
                  (size_t)(run.teams * run.slot_size * p->dbias.size));
  return ok;
}

static bool attention_bwd_fwd(heed_call *c) {
  plan p;
  bool ok = plan_begin(&p, c, true);
  if (ok) {
    int n = p.s.nbatch;
    for (int i = Q; i <= V; i++) heads_inside(c->out[i]);
    p.dq = lay(c->out[Q], n, "crh");
    p.dk = lay(c->out[K], n, "crh");
    p.dv = lay(c->out[V], n, "crh");
    p.out = p.in[OUT];
    p.stats = heed_tensor_data(c->in[STATS]);
    ok = run_backward(&p, c->nout > 3 ? c->out[3] : NULL);
  }
  plan_end(&p);
  return ok;
}

const heed_rule heed_rule_attention_bwd = {
    .check = attention_bwd_check, .forward = attention_bwd_fwd};

/* -- attention_sinks_bwd -- */

static bool attention_sinks_bwd_check(heed_call *c) {
  heed_out_like(c, 0, c->in[0]);
  return true;
}

/* One head a unit, batch entries in order. */
typedef struct sink_run {
  const heed_attention_loops *loops;
  sizes s;
  layout sinks, out, dout;
  char *stats;
  heed_tensor *result;
} sink_run;

static void sink_heads(void *context, int64_t begin, int64_t end,
                       int worker) {
  (void)worker;
  const sink_run *run = context;
  const sizes *s = &run->s;
  for (int64_t head = begin; head < end; head++) {
    double sum = 0;
    for (int64_t entry = 0; entry < s->count; entry++) {
      heed_attention a = {.tq = s->tq, .dv = s->dv};
      a.sinks = grid(&run->sinks, s, entry, head);
      a.out = grid(&run->out, s, entry, head);
      a.dout = grid(&run->dout, s, entry, head);
      a.stats = run->stats +
                2 * (entry * s->heads + head) * s->tq * run->out.size;
      sum += run->loops->sink_gradient(&a, 0);
    }
    if (run->result->dtype == HEED_FLOAT64)
      ((double *)heed_tensor_data(run->result))[head] = sum;
    else
      ((float *)heed_tensor_data(run->result))[head] = (float)sum;
  }
}

static bool attention_sinks_bwd_fwd(heed_call *c) {
  heed_tensor *out = heed_contiguous(c->op->name, c->in[1]);
  heed_tensor *dout = out ? heed_contiguous(c->op->name, c->in[3]) : NULL;
  if (dout) {
    /* [.. H Tq Dv]: as q, k and v */
    sizes s = sizes_of((heed_tensor *[]){out, out, out});
    sink_run run = {.loops = &heed_kernel.attention[out->dtype], .s = s,
                    .sinks = lay(c->in[0], s.nbatch, "h"),
                    .out = lay(out, s.nbatch, "crh"),
                    .dout = lay(dout, s.nbatch, "crh"),
                    .stats = heed_tensor_data(c->in[2]),
                    .result = c->out[0]};
    heed_parallel(s.heads, grain(s.count * s.tq * (s.dv + 1) + 1),
                  sink_heads, &run);
  }
  heed_tensor_drop(out);
  heed_tensor_drop(dout);
  return dout != NULL;
}

const heed_rule heed_rule_attention_sinks_bwd = {
    .check = attention_sinks_bwd_check, .forward = attention_sinks_bwd_fwd};
