/*
 * attention - softmax(scale Q K^T) V, fused. Layer: ops.
 * Read first: kernel/attention.h, kernel/attention_plain.c, attention_plan.h.
 *
 * q, k and v are taken as they lie, heads beside each other in memory as a
 * projection makes them: [batch T H D] seen as [batch H T D]. Results are
 * laid out the same way, so that joining the heads again is a view.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "ops/attention_plan.h"
#include "ops/copy.h"

/* -- checks -- */

static bool check_qkv(const heed_call *c) {
  const heed_tensor *q = c->in[Q], *k = c->in[K], *v = c->in[V];
  int n = q->shape.ndim;
  for (int i = Q; i <= V; i++)
    if (!heed_want_float(c, i) || !heed_want_ndim(c, i, 3)) return false;
  heed_dtype dtype = heed_plan_dtype(q);
  if (heed_plan_dtype(k) != dtype || heed_plan_dtype(v) != dtype)
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
  for (int i = Q; i <= K; i++)
    if (c->in[i]->shape.dim[n - 2] > HEED_ATTENTION_TIME)
      return heed_fail("%s: %s %s: time must be at most %lld", c->op->name,
                       heed_input_name(c, i),
                       heed_shape_text(&c->in[i]->shape),
                       (long long)HEED_ATTENTION_TIME);
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
  heed_dtype dtype = heed_plan_dtype(c->in[Q]);
  if (!t || t->dtype == dtype) return true;
  return heed_fail("%s: %s must be %s like q, got %s", c->op->name,
                   heed_input_name(c, i), heed_dtype_name(dtype),
                   heed_tensor_text(t));
}

static bool check_per_head(const heed_call *c, int i, const heed_sizes *s) {
  const heed_tensor *t = c->in[i];
  if (!t || (t->shape.ndim == 1 && t->shape.dim[0] == s->heads)) return true;
  return heed_fail("%s: %s must be [%lld], one number a head of q, got %s",
                   c->op->name, heed_input_name(c, i), (long long)s->heads,
                   heed_shape_text(&t->shape));
}

/* -- checks: sequences -- */

/* int64 [N + 1] that ascend from 0 to `size`, the number of `what`. */
static bool check_offsets(const heed_call *c, int i, int64_t size,
                          const char *what) {
  const heed_tensor *t = c->in[i];
  if (!heed_want_dtype(c, i, HEED_INT64)) return false;
  const char *op = c->op->name, *name = heed_input_name(c, i);
  if (t->shape.ndim != 1 || t->shape.dim[0] == 0)
    return heed_fail("%s: %s must be [N + 1], 0 and then the end of each of N "
                     "sequences, got %s", op, name,
                     heed_shape_text(&t->shape));
  const int64_t *x = heed_tensor_data(t);
  int64_t last = x[0];
  if (last != 0)
    return heed_fail("%s: %s must begin with 0, got %lld", op, name,
                     (long long)last);
  for (int64_t k = 1; k < t->shape.dim[0]; k++) {
    int64_t next = x[k * t->stride[0]];
    if (next < last)
      return heed_fail("%s: %s must not descend, got %lld behind %lld", op,
                       name, (long long)next, (long long)last);
    last = next;
  }
  if (last != size)
    return heed_fail("%s: %s must end with %lld, the number of %s, got %lld",
                     op, name, (long long)size, what, (long long)last);
  return true;
}

static bool check_packed(const heed_call *c, const heed_sizes *s) {
  const heed_tensor *queries = c->in[CU_SEQLENS], *keys = c->in[CU_SEQLENS_K];
  if (!queries && !keys) return true;
  if (!queries)
    return heed_fail("%s: cu_seqlens_k goes with cu_seqlens, which is missing",
                     c->op->name);
  if (!check_offsets(c, CU_SEQLENS, s->tq, "queries")) return false;
  if (!keys)
    return s->tk == s->tq ||
           heed_fail("%s: %lld keys for %lld queries are cut apart by "
                     "cu_seqlens_k, which is missing", c->op->name,
                     (long long)s->tk, (long long)s->tq);
  if (!check_offsets(c, CU_SEQLENS_K, s->tk, "keys")) return false;
  return keys->shape.dim[0] == queries->shape.dim[0] ||
         heed_fail("%s: cu_seqlens and cu_seqlens_k must tell of as many "
                   "sequences, got %lld and %lld", c->op->name,
                   (long long)queries->shape.dim[0] - 1,
                   (long long)keys->shape.dim[0] - 1);
}

/* n lengths must lie in 0 .. tk of a sequence. */
static bool check_lengths(const heed_call *c, const int64_t *length, int64_t n,
                          int64_t sequence) {
  int64_t tk = heed_plan_sequence(c->in, sequence).tk, i = 0;
  while (i < n && length[i] >= 0 && length[i] <= tk) i++;
  if (i == n) return true;
  char of[50] = "";
  if (c->in[CU_SEQLENS])
    snprintf(of, sizeof of, " of sequence %lld", (long long)sequence + 1);
  return heed_fail("%s: valid_lens must lie in 0..%lld, the number of keys%s, "
                   "got %lld", c->op->name, (long long)tk, of,
                   (long long)length[i]);
}

static bool check_all_lengths(const heed_call *c, const heed_sizes *s,
                              const int64_t *length) {
  bool by_query = heed_plan_valid_by_query(c->in);
  if (!c->in[CU_SEQLENS])
    return check_lengths(c, length, s->count * (by_query ? s->tq : 1), 0);
  for (int64_t i = 0; i < heed_plan_sequences(c->in); i++) {
    heed_sequence q = heed_plan_sequence(c->in, i);
    if (!by_query && !check_lengths(c, length + i, 1, i)) return false;
    for (int64_t entry = 0; by_query && entry < s->count; entry++)
      if (!check_lengths(c, length + entry * s->tq + q.query, q.tq, i))
        return false;
  }
  return true;
}

/* int64, one number a query, or one a batch entry or a sequence. */
static bool check_valid(const heed_call *c, const heed_sizes *s) {
  heed_tensor *t = c->in[VALID];
  if (!t) return true;
  if (!heed_want_dtype(c, VALID, HEED_INT64)) return false;
  bool packed = c->in[CU_SEQLENS] != NULL;
  heed_shape entry = {.ndim = s->nbatch}, query;
  memcpy(entry.dim, s->batch, sizeof entry.dim);
  query = entry;
  query.dim[query.ndim++] = s->tq;
  if (packed)
    entry = (heed_shape){.ndim = 1, .dim = {heed_plan_sequences(c->in)}};
  if (!heed_shape_equal(&t->shape, &entry) &&
      !heed_shape_equal(&t->shape, &query))
    return heed_fail("%s: valid_lens must be %s, one number a %s, or %s, one "
                     "a query, got %s", c->op->name, heed_shape_text(&entry),
                     packed ? "sequence" : "batch entry",
                     heed_shape_text(&query), heed_shape_text(&t->shape));
  t = heed_contiguous(c->op->name, t);
  bool ok = t && check_all_lengths(c, s, heed_tensor_data(t));
  heed_tensor_drop(t);
  return ok;
}

/* Where align = "valid" puts the queries. */
static bool check_align(const heed_call *c, const heed_sizes *s) {
  const heed_tensor *t = c->in[VALID];
  if (c->attr[ALIGN].i != AT_VALID) return true;
  if (!t || heed_plan_valid_by_query(c->in)) {
    bool packed = c->in[CU_SEQLENS];
    heed_shape entry = {.ndim = s->nbatch};
    memcpy(entry.dim, s->batch, sizeof entry.dim);
    if (packed)
      entry = (heed_shape){.ndim = 1, .dim = {heed_plan_sequences(c->in)}};
    return heed_fail("%s: align = \"valid\" needs valid_lens %s, one number a "
                     "%s, got %s", c->op->name, heed_shape_text(&entry),
                     packed ? "sequence" : "batch entry",
                     t ? heed_shape_text(&t->shape) : "none");
  }
  if (c->attr[CAUSAL].i == TOP_LEFT)
    return heed_fail("%s: align = \"valid\" puts the last query beside the "
                     "last valid key, causal = \"top-left\" the first beside "
                     "the first key: only one can be", c->op->name);
  return true;
}

/* -- checks: all -- */

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
         check_packed(c, s) && check_valid(c, s) && check_align(c, s) &&
         check_like_q(c, ALIBI) && check_per_head(c, ALIBI, s) &&
         check_like_q(c, SINKS) && check_per_head(c, SINKS, s) &&
         check_numbers(c);
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

With `cu_seqlens`, the queries and keys of several sequences lie one behind
the other, and each sequence is an attention by itself, whose queries see no
keys of another: places, windows and valid_lens count from its own first key,
Tq and Tk are its own lengths, and of a mask or bias only its own block is
read. Only what these blocks take is worked on.

Memory grows with Tq + Tk, not with Tq * Tk. The backward pass is fused: it
cannot be differentiated again, and alibi slopes get no gradient.
@function attention
@param q float tensor [.. H Tq D]; q, k and v may be halves beside float32,
each as it is: sums are in float32
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
may be seen; with cu_seqlens [N], one a sequence, or [.. Tq], and one a
sequence where both fit
@param alibi float tensor [H], slopes
@param sinks float tensor [H], scores of keys without a value
@param cu_seqlens int64 tensor [N + 1]: 0, then how many queries there are in
the sequences up to each, so that sequence n has queries cu_seqlens[n] + 1 ..
cu_seqlens[n + 1]
@param cu_seqlens_k the same of keys, cu_seqlens by default
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
  heed_out(c, 0, heed_plan_dtype(c->in[Q]), &shape);
  stats.dim[last] = 2;
  if (c->need) heed_out(c, 1, c->result[0].dtype, &stats);
  return true;
}

/*
 * The groups of a sequence are cut into parts: ranges of rows, or, of few
 * queries, ranges of keys whose sums are joined in the end. They are cut by
 * the sizes alone: how sums are cut shows in their last bits, which must not
 * depend on the number of threads.
 */
typedef struct forward_cut {
  bool few;
  int64_t parts;
  int64_t step;           /* rows of a part */
  size_t sums, sums_size; /* of the few: where they are, and of one part */
} forward_cut;

typedef struct forward_run {
  const heed_plan *p;
  forward_cut *cut; /* of each sequence */
  char *sums;
} forward_run;

/* Parts of whole panels of queries, about as large as each other. */
static void cut_rows(forward_cut *cut, int64_t rows) {
  int64_t parts = (rows + HEED_ATTENTION_ROWS - 1) / HEED_ATTENTION_ROWS;
  if (parts == 0) return;
  cut->step = (rows + parts - 1) / parts;
  cut->step = (cut->step + HEED_ATTENTION_STEP - 1) / HEED_ATTENTION_STEP *
              HEED_ATTENTION_STEP;
  cut->parts = (rows + cut->step - 1) / cut->step;
}

static forward_cut cut_groups(const heed_plan *p, int64_t sequence) {
  heed_attention a = heed_plan_sized(p, sequence);
  forward_cut cut = {.few = heed_plan_is_few(p, sequence)};
  if (cut.few) {
    cut.parts = heed_attention_splits(&a);
    cut.sums_size = p->loops->few_sums(&a);
  } else {
    cut_rows(&cut, a.heads * a.tq);
  }
  return cut;
}

/* The sums of the parts of a group. */
static char *sums_of(const forward_run *run, const forward_cut *cut,
                     int64_t group) {
  return run->sums + cut->sums + cut->sums_size * (size_t)(group * cut->parts);
}

static void forward_unit(const void *context, int64_t sequence, int64_t unit,
                         void *room) {
  const forward_run *run = context;
  const heed_plan *p = run->p;
  const forward_cut *cut = &run->cut[sequence];
  int64_t group = unit / cut->parts, part = unit % cut->parts;
  heed_attention a = heed_plan_group(p, sequence, group);
  if (cut->few) {
    int64_t key = part * HEED_ATTENTION_SPLIT;
    p->loops->few_split(
        &a, part, (char *)a.k.data + key * a.k.row * p->in[K].size,
        (char *)a.v.data + key * a.v.row * p->in[V].size,
        sums_of(run, cut, group), room);
    return;
  }
  int64_t begin = part * cut->step, end = begin + cut->step;
  if (end > a.heads * a.tq) end = a.heads * a.tq;
  p->loops->forward(&a, begin, end, room);
}

static void join_group(const void *context, int64_t sequence, int64_t group,
                       void *room) {
  (void)room;
  const forward_run *run = context;
  heed_attention a = heed_plan_group(run->p, sequence, group);
  run->p->loops->few_join(&a, sums_of(run, &run->cut[sequence], group));
}

/* Cuts all groups; returns the bytes of the sums of the few. */
static size_t cut_all(forward_run *run) {
  const heed_plan *p = run->p;
  size_t sums = 0;
  for (int64_t i = 0; i < p->sequences; i++) {
    forward_cut cut = cut_groups(p, i);
    heed_sequence *q = &p->sequence[i];
    q->units = p->groups * cut.parts;
    if (q->units > 0) q->work = heed_plan_work(p, i) / (double)cut.parts;
    cut.sums = sums;
    sums += (size_t)q->units * cut.sums_size;
    run->cut[i] = cut;
  }
  return sums;
}

static void join_all(const forward_run *run) {
  const heed_plan *p = run->p;
  for (int64_t i = 0; i < p->sequences; i++) {
    const forward_cut *cut = &run->cut[i];
    heed_sequence *q = &p->sequence[i];
    q->units = cut->few ? p->groups : 0;
    q->work = (double)(p->repeat * q->tq * cut->parts * p->s.dv);
  }
  heed_plan_run(p, join_group, run);
}

static bool run_forward(const heed_plan *p) {
  size_t cuts = sizeof(forward_cut) * (size_t)p->sequences;
  forward_run run = {.p = p, .cut = heed_mem_alloc(cuts)};
  if (!run.cut) return false;
  size_t sums = cut_all(&run);
  run.sums = heed_mem_alloc(sums);
  if (run.sums) {
    heed_plan_run(p, forward_unit, &run);
    if (sums > 0) join_all(&run);
  }
  heed_mem_free(run.cut, cuts);
  heed_mem_free(run.sums, sums);
  return run.sums != NULL;
}

static bool attention_fwd(heed_call *c) {
  heed_plan p;
  heed_plan_heads_inside(c->out[0]);
  bool ok = heed_plan_begin(&p, c, false);
  if (ok) {
    p.out = heed_plan_lay(c->out[0], p.s.nbatch, "crh");
    if (c->nout > 1) p.stats = heed_plan_lay(c->out[1], p.s.nbatch, "crh");
    ok = run_forward(&p);
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
    .halves = HEED_PLAN_HALVES,
    .keep = {HEED_ALWAYS, HEED_ALWAYS, HEED_ALWAYS, HEED_ALWAYS, HEED_ALWAYS,
             HEED_ALWAYS, HEED_ALWAYS, HEED_ALWAYS, HEED_ALWAYS, HEED_ALWAYS,
             HEED_ALWAYS},
    .keep_out = {HEED_ALWAYS, HEED_ALWAYS}};
