/*
 * attention_plan - a call of attention as its loops see it. Layer: ops.
 * Read first: attention_plan.h.
 */
#include "ops/attention_plan.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "ops/copy.h"

heed_sizes heed_plan_sizes(heed_tensor *const *in) {
  const heed_shape *q = &in[Q]->shape, *k = &in[K]->shape;
  const heed_shape *v = &in[V]->shape;
  int n = q->ndim - 3;
  heed_sizes s = {.nbatch = n, .count = 1, .heads = q->dim[n],
             .kv_heads = k->dim[n], .tq = q->dim[n + 1],
             .tk = k->dim[n + 1], .d = q->dim[n + 2], .dv = v->dim[n + 2]};
  for (int i = 0; i < n; i++) {
    s.batch[i] = q->dim[i];
    s.count *= q->dim[i];
  }
  return s;
}

heed_layout heed_plan_lay(const heed_tensor *t, int nbatch, const char *axes) {
  heed_layout l = {0};
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
      case 's': l.sequence = stride; break;
      default: l.batch[batch--] = stride;
    }
    if (*axes) axes++;
  }
  return l;
}

int64_t heed_plan_batch(const heed_layout *l, const heed_sizes *s,
                        int64_t entry) {
  int64_t offset = 0;
  int i = s->nbatch - 1;
  for (; i > 0; i--) {
    offset += entry % s->batch[i] * l->batch[i];
    entry /= s->batch[i];
  }
  return i < 0 ? offset : offset + entry * l->batch[0];
}

/* -- sequences -- */

int64_t heed_plan_sequences(heed_tensor *const *in) {
  return in[CU_SEQLENS] ? in[CU_SEQLENS]->shape.dim[0] - 1 : 1;
}

/* Sets where part i starts and how long it is. */
static void cut_at(const heed_tensor *offsets, int64_t i, int64_t *start,
                   int64_t *size) {
  const int64_t *x = heed_tensor_data(offsets);
  *start = x[i * offsets->stride[0]];
  *size = x[(i + 1) * offsets->stride[0]] - *start;
}

heed_sequence heed_plan_sequence(heed_tensor *const *in, int64_t i) {
  heed_sizes s = heed_plan_sizes(in);
  heed_sequence one = {.tq = s.tq, .tk = s.tk};
  const heed_tensor *queries = in[CU_SEQLENS], *keys = in[CU_SEQLENS_K];
  if (!queries) return one;
  cut_at(queries, i, &one.query, &one.tq);
  cut_at(keys ? keys : queries, i, &one.key, &one.tk);
  return one;
}

bool heed_plan_valid_by_query(heed_tensor *const *in) {
  if (!in[VALID]) return false;
  const heed_shape *shape = &in[VALID]->shape;
  if (!in[CU_SEQLENS]) return shape->ndim > in[Q]->shape.ndim - 3;
  return shape->ndim != 1 || shape->dim[0] != heed_plan_sequences(in);
}

/* Also finds the scratch that a worker needs for any of them. */
static bool find_sequences(heed_plan *p, heed_call *c, bool backward) {
  p->sequences = heed_plan_sequences(c->in);
  p->sequence = heed_mem_alloc(sizeof *p->sequence * (size_t)p->sequences);
  if (!p->sequence) return false;
  for (int64_t i = 0; i < p->sequences; i++) {
    p->sequence[i] = heed_plan_sequence(c->in, i);
    heed_attention a = heed_plan_sized(p, i);
    size_t room = backward                ? p->loops->backward_room(&a)
                  : heed_plan_is_few(p, i) ? p->loops->few_room(&a)
                                           : p->loops->forward_room(&a);
    if (room > p->room_size) p->room_size = room;
  }
  p->room_size = (p->room_size + 63) / 64 * 64;
  return true;
}

heed_attention heed_plan_sized(const heed_plan *p, int64_t sequence) {
  const heed_sequence *q = &p->sequence[sequence];
  heed_attention a = p->common;
  int64_t all = q->tq + q->tk;
  a.tq = q->tq;
  a.tk = q->tk;
  a.shift = p->top_left ? 0 : q->tk - q->tq;
  if (a.left > all) a.left = all;
  if (a.right > all) a.right = all;
  return a;
}

bool heed_plan_is_few(const heed_plan *p, int64_t sequence) {
  heed_attention a = heed_plan_sized(p, sequence);
  return !p->recorded && p->loops->few_split && heed_attention_is_few(&a);
}

/* -- groups -- */

heed_grid heed_plan_grid(const heed_layout *l, const heed_sizes *s,
                         heed_place at) {
  if (!l->data) return (heed_grid){0};
  int64_t offset = heed_plan_batch(l, s, at.entry) +
                   at.sequence * l->sequence + at.head * l->head +
                   at.row * l->row + at.column * l->column;
  return (heed_grid){l->data + offset * l->size, l->head, l->row, l->column};
}

heed_attention heed_plan_group(const heed_plan *p, int64_t sequence,
                               int64_t g) {
  heed_attention a = heed_plan_sized(p, sequence);
  const heed_sizes *s = &p->s;
  const heed_sequence *q = &p->sequence[sequence];
  int64_t entry = g / s->kv_heads, kv_head = g % s->kv_heads;
  int64_t head = kv_head * p->repeat;
  /* as if the sequences of an entry were entries themselves */
  a.first_head =
      (uint64_t)((entry * p->sequences + sequence) * s->heads + head);
  heed_place score = {entry, sequence, head, q->query, q->key};
  heed_place query = {entry, 0, head, q->query, 0};
  heed_place key = {entry, 0, kv_head, q->key, 0};
  a.q = heed_plan_grid(&p->in[Q], s, query);
  a.k = heed_plan_grid(&p->in[K], s, key);
  a.v = heed_plan_grid(&p->in[V], s, key);
  a.mask = heed_plan_grid(&p->in[MASK], s, score);
  a.key_mask = heed_plan_grid(&p->in[KEY_MASK], s, score);
  a.bias = heed_plan_grid(&p->in[BIAS], s, score);
  a.valid = heed_plan_grid(&p->in[VALID], s, score);
  a.alibi = heed_plan_grid(&p->in[ALIBI], s, score);
  a.sinks = heed_plan_grid(&p->in[SINKS], s, score);
  a.out = heed_plan_grid(&p->out, s, query);
  a.stats = heed_plan_grid(&p->stats, s, query);
  a.dout = heed_plan_grid(&p->in[GRAD], s, query);
  a.dq = heed_plan_grid(&p->dq, s, query);
  a.dk = heed_plan_grid(&p->dk, s, key);
  a.dvalue = heed_plan_grid(&p->dv, s, key);
  a.dbias = heed_plan_grid(&p->dbias, s, score);
  if (p->at_valid) a.shift = *(const int64_t *)a.valid.data - a.tq;
  return a;
}

/* -- the plan -- */

/* A softcap that the dtype can hold: one outside of it does the same. */
static double bound_of(double softcap, heed_dtype dtype) {
  if (softcap == 0 || dtype == HEED_FLOAT64) return softcap;
  return fmin(fmax(softcap, FLT_MIN), FLT_MAX);
}

static void set_numbers(heed_plan *p, const heed_attr *attr) {
  heed_attention *a = &p->common;
  const heed_sizes *s = &p->s;
  int64_t left = attr[WINDOW_LEFT].i, right = attr[WINDOW_RIGHT].i;
  *a = (heed_attention){.heads = p->repeat, .d = s->d, .dv = s->dv};
  a->scale = attr[SCALE].f;
  if (isnan(a->scale)) a->scale = s->d ? 1 / sqrt((double)s->d) : 1;
  a->softcap = bound_of(attr[SOFTCAP].f, p->dtype);
  p->at_valid = attr[ALIGN].i == AT_VALID;
  a->left = left < 0 ? INT64_MAX : left;
  a->right = right < 0 ? INT64_MAX : right;
  if (attr[CAUSAL].i) a->right = 0;
  p->top_left = attr[CAUSAL].i == TOP_LEFT;
  double drop = attr[DROPOUT].f;
  a->dropout = drop > 0;
  a->drop_below = (uint64_t)(drop * 0x1p32);
  a->keep_factor = drop < 1 ? 1 / (1 - drop) : 0;
  a->seed = (uint64_t)attr[SEED].i;
}

/* The layout of a tensor whose columns must lie side by side. */
static bool lay_rows(heed_plan *p, heed_call *c, int i) {
  heed_tensor *t = c->in[i];
  int last = t->shape.ndim - 1;
  if (t->shape.dim[last] > 1 && t->stride[last] != 1) {
    t = p->own[i] = heed_contiguous(c->op->name, t);
    if (!t) return false;
  }
  p->in[i] = heed_plan_lay(t, p->s.nbatch, "crh");
  return true;
}

void heed_plan_end(heed_plan *p) {
  for (int i = 0; i < NBACKWARD; i++) heed_tensor_drop(p->own[i]);
  heed_mem_free(p->sequence, sizeof *p->sequence * (size_t)p->sequences);
  heed_mem_free(p->room, p->room_bytes);
}

bool heed_plan_begin(heed_plan *p, heed_call *c, bool backward) {
  *p = (heed_plan){.s = heed_plan_sizes(c->in),
                   .dtype = heed_plan_dtype(c->in[Q]),
                   .recorded = backward || c->need};
  p->loops = &heed_kernel.attention[p->dtype];
  p->groups = p->s.count * p->s.kv_heads;
  p->repeat = p->s.kv_heads ? p->s.heads / p->s.kv_heads : 0;
  set_numbers(p, c->attr);
  p->common.q_dtype = c->in[Q]->dtype;
  p->common.k_dtype = c->in[K]->dtype;
  p->common.v_dtype = c->in[V]->dtype;
  int n = p->s.nbatch;
  p->in[MASK] = heed_plan_lay(c->in[MASK], n, "crh");
  p->in[KEY_MASK] = heed_plan_lay(c->in[KEY_MASK], n, "c");
  p->in[BIAS] = heed_plan_lay(c->in[BIAS], n, "crh");
  const char *other = c->in[CU_SEQLENS] ? "s" : "";
  p->in[VALID] = heed_plan_lay(
      c->in[VALID], n, heed_plan_valid_by_query(c->in) ? "r" : other);
  p->in[ALIBI] = heed_plan_lay(c->in[ALIBI], n, "h");
  p->in[SINKS] = heed_plan_lay(c->in[SINKS], n, "h");
  for (int i = Q; i <= V; i++)
    if (!lay_rows(p, c, i)) return false;
  if (backward && !(lay_rows(p, c, OUT) && lay_rows(p, c, GRAD))) return false;
  if (!find_sequences(p, c, backward)) return false;
  p->room_bytes = p->room_size * (size_t)heed_get_num_threads();
  p->room = heed_mem_alloc(p->room_bytes);
  return p->room != NULL;
}

/* -- work -- */

double heed_plan_work(const heed_plan *p, int64_t sequence) {
  heed_attention a = heed_plan_sized(p, sequence);
  double seen = fmin((double)a.tk, (double)a.left + (double)a.right + 1);
  return (double)a.heads * (double)a.tq * seen * (double)(a.d + a.dv + 16);
}

typedef struct unit_run {
  const heed_plan *p;
  heed_unit_fn *fn;
  const void *context;
} unit_run;

/* Calls fn for the units that start in begin .. end - 1 of all work. */
static void run_units(void *context, int64_t begin, int64_t end, int worker) {
  const unit_run *run = context;
  const heed_plan *p = run->p;
  char *room = p->room + p->room_size * (size_t)worker;
  /* the last sequence that starts at `begin` or before */
  int64_t at = 0;
  for (int64_t behind = p->sequences; behind - at > 1;) {
    int64_t middle = at + (behind - at) / 2;
    if (p->sequence[middle].start <= begin) at = middle;
    else behind = middle;
  }
  for (; at < p->sequences && p->sequence[at].start < end; at++) {
    const heed_sequence *q = &p->sequence[at];
    int64_t unit = 0;
    if (q->start < begin) unit = 1 + (begin - q->start - 1) / q->step;
    for (; unit < q->units && q->start + unit * q->step < end; unit++)
      run->fn(run->context, at, unit, room);
  }
}

void heed_plan_run(const heed_plan *p, heed_unit_fn *fn,
                   const void *context) {
  const double most = 0x1p40; /* leaves heed_parallel room to multiply */
  double all = 0;
  for (int64_t i = 0; i < p->sequences; i++)
    if (p->sequence[i].units > 0)
      all += (double)p->sequence[i].units * p->sequence[i].work;
  double scale = all > most ? most / all : 1;
  int64_t start = 0, least = INT64_MAX;
  for (int64_t i = 0; i < p->sequences; i++) {
    heed_sequence *q = &p->sequence[i];
    q->start = start;
    if (q->units == 0) continue;
    q->step = 1 + (int64_t)(q->work * scale);
    start += q->units * q->step;
    if (q->step < least) least = q->step;
  }
  int64_t grain = (int64_t)(HEED_PARALLEL_WORTH * scale);
  heed_parallel_values(start, grain < least ? least : grain, run_units,
                       &(unit_run){p, fn, context});
}

void heed_plan_heads_inside(heed_tensor *t) {
  int n = t->shape.ndim;
  const int64_t *size = t->shape.dim;
  int64_t width = size[n - 1] > 1 ? size[n - 1] : 1;
  t->stride[n - 3] = width;
  t->stride[n - 2] = width * (size[n - 3] > 1 ? size[n - 3] : 1);
}
