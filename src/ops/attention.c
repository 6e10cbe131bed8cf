/*
 * attention - softmax(scale Q K^T) V, fused. Layer: ops.
 * Read first: kernel/attention.h, kernel/attention_plain.c, attention_plan.h.
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
#include "ops/attention_plan.h"
#include "ops/copy.h"

/* -- checks -- */

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

static bool check_per_head(const heed_call *c, int i, const heed_sizes *s) {
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
static bool check_valid(const heed_call *c, const heed_sizes *s) {
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

/* Where align = "valid" puts the queries. */
static bool check_align(const heed_call *c, const heed_sizes *s) {
  const heed_tensor *t = c->in[VALID];
  if (c->attr[ALIGN].i != AT_VALID) return true;
  if (!t || t->shape.ndim != s->nbatch) {
    heed_shape entry = {.ndim = s->nbatch};
    memcpy(entry.dim, s->batch, sizeof entry.dim);
    return heed_fail("%s: align = \"valid\" needs valid_lens %s, one number a "
                     "batch entry, got %s", c->op->name,
                     heed_shape_text(&entry),
                     t ? heed_shape_text(&t->shape) : "none");
  }
  if (c->attr[CAUSAL].i == TOP_LEFT)
    return heed_fail("%s: align = \"valid\" puts the last query beside the "
                     "last valid key, causal = \"top-left\" the first beside "
                     "the first key: only one can be", c->op->name);
  return true;
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

static bool check_description(const heed_call *c, const heed_sizes *s) {
  heed_shape scores = c->in[Q]->shape, keys = {.ndim = s->nbatch + 1};
  scores.dim[scores.ndim - 1] = s->tk;
  memcpy(keys.dim, s->batch, sizeof keys.dim);
  keys.dim[s->nbatch] = s->tk;
  return check_bool(c, MASK) && check_fits(c, MASK, &scores) &&
         check_bool(c, KEY_MASK) && check_fits(c, KEY_MASK, &keys) &&
         check_like_q(c, BIAS) && check_fits(c, BIAS, &scores) &&
         check_valid(c, s) && check_align(c, s) && check_like_q(c, ALIBI) &&
         check_per_head(c, ALIBI, s) && check_like_q(c, SINKS) &&
         check_per_head(c, SINKS, s) && check_numbers(c);
}

/* -- attention -- */

/***
Attention: for each query the mean of the values, weighted with the softmax
of the scaled products of query and keys. `F.scaled_dot_product_attention` is
the form for users.

Query i stands beside key i + (Tk - Tq): the last query beside the last key,
so that keys of earlier steps may come from a cache. With causal =
`"top-left"` it stands beside key i, and with align = `"valid"` beside key
i + (n - Tq), where n is the number of valid keys of its batch entry. What a
query may see is what all of `mask`, `key_mask`, `valid_lens`, `causal` and the
window allow; a query that may see nothing gives zeros. Nothing of a key or
value that is shut out reaches the result, not even a NaN.

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
@param align `"valid"`: the last query stands beside the last key of those
that valid_lens [..] leaves, not the last of all
@return float tensor [.. H Tq Dv], in memory as [.. Tq H Dv]
@raise when dtypes or shapes do not fit, or a number is out of range
@usage
local out = heed.core.ops.attention(q, k, v, {causal = "bottom-right"})
*/
static bool attention_check(heed_call *c) {
  if (!check_qkv(c)) return false;
  heed_sizes s = heed_plan_sizes(c->in);
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
  const heed_plan *p;
  int64_t parts;
} forward_run;

static void forward_parts(void *context, int64_t first, int64_t last,
                          int worker) {
  const forward_run *run = context;
  const heed_plan *p = run->p;
  void *room = p->room + p->room_size * (size_t)worker;
  int64_t rows = p->repeat * p->s.tq;
  for (int64_t part = first; part < last; part++) {
    int64_t i = part % run->parts;
    heed_attention a = heed_plan_group(p, part / run->parts);
    p->loops->forward(&a, rows * i / run->parts, rows * (i + 1) / run->parts,
                      room);
  }
}

static bool run_forward(const heed_plan *p) {
  int64_t rows = p->repeat * p->s.tq;
  forward_run run = {p, (rows + HEED_ATTENTION_ROWS - 1) / HEED_ATTENTION_ROWS};
  if (run.parts < 1) run.parts = 1;
  heed_parallel(p->groups * run.parts,
                heed_plan_grain(heed_plan_work(p) / run.parts + 1),
                forward_parts, &run);
  return true;
}

/* Few queries: groups are cut into splits of the keys. How, the shape alone
   decides: it shows in the last bits of the sums, which must not depend on the
   number of threads. */

typedef struct few_run {
  const heed_plan *p;
  int64_t splits;
  char *sums;
  size_t sums_size; /* of one split */
} few_run;

static void few_units(void *context, int64_t first, int64_t last, int worker) {
  const few_run *run = context;
  const heed_plan *p = run->p;
  void *room = p->room + p->room_size * (size_t)worker;
  for (int64_t unit = first; unit < last; unit++) {
    int64_t group = unit / run->splits, split = unit % run->splits;
    int64_t key = split * HEED_ATTENTION_SPLIT;
    heed_attention a = heed_plan_group(p, group);
    size_t group_size = run->sums_size * (size_t)run->splits;
    p->loops->few_split(
        &a, split, (char *)a.k.data + key * a.k.row * p->in[K].size,
        (char *)a.v.data + key * a.v.row * p->in[V].size,
        run->sums + group_size * (size_t)group, room);
  }
}

static void few_groups(void *context, int64_t first, int64_t last,
                       int worker) {
  (void)worker;
  const few_run *run = context;
  for (int64_t g = first; g < last; g++) {
    heed_attention a = heed_plan_group(run->p, g);
    size_t group_size = run->sums_size * (size_t)run->splits;
    run->p->loops->few_join(&a, run->sums + group_size * (size_t)g);
  }
}

static bool run_few(const heed_plan *p) {
  few_run run = {.p = p, .splits = heed_attention_splits(&p->common),
                 .sums_size = p->loops->few_sums(&p->common)};
  int64_t units = p->groups * run.splits, rows = p->repeat * p->s.tq;
  size_t bytes = run.sums_size * (size_t)units;
  run.sums = heed_mem_alloc(bytes);
  if (!run.sums) return false;
  heed_parallel(units, heed_plan_grain(heed_plan_work(p) / run.splits + 1),
                few_units, &run);
  heed_parallel(p->groups,
                heed_plan_grain(rows * run.splits * (p->s.dv + 1) + 1),
                few_groups, &run);
  heed_mem_free(run.sums, bytes);
  return true;
}

static bool attention_fwd(heed_call *c) {
  heed_plan p;
  heed_plan_heads_inside(c->out[0]);
  bool ok = heed_plan_begin(&p, c, false);
  if (ok) {
    p.out = heed_plan_lay(c->out[0], p.s.nbatch, "crh");
    if (c->nout > 1) p.stats = heed_tensor_data(c->out[1]);
    ok = p.few ? run_few(&p) : run_forward(&p);
  }
  heed_plan_end(&p);
  return ok;
}

/* Sum over all results: dsink = -(weight of the sink) * (dout . out). */
static bool give_sinks(heed_rule_call *r) {
  heed_tensor *in[] = {heed_in(r, SINKS), heed_kept_out(r, 0),
                       heed_kept_out(r, 1), r->grad[0]};
  const heed_op *op = heed_op_at(HEED_OP_attention_sinks_bwd);
  return heed_give(r, SINKS, heed_do(r, op, in, 4, NULL));
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
  if (!heed_do_all(r, heed_op_at(HEED_OP_attention_bwd), in, NBACKWARD, attr,
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
