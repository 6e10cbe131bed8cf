/*
 * attention_plan - a call of attention as its loops see it. Layer: ops.
 * Read first: attention_plan.h.
 */
#include "ops/attention_plan.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "ops/copy.h"

#define MULTIPLY_ADDS 100000 /* worth a thread */

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

heed_grid heed_plan_grid(const heed_layout *l, const heed_sizes *s,
                         int64_t entry, int64_t head) {
  if (!l->data) return (heed_grid){0};
  int64_t offset = heed_plan_batch(l, s, entry) + head * l->head;
  return (heed_grid){l->data + offset * l->size, l->head, l->row, l->column};
}

heed_attention heed_plan_group(const heed_plan *p, int64_t g) {
  heed_attention a = p->common;
  const heed_sizes *s = &p->s;
  int64_t entry = g / s->kv_heads, kv_head = g % s->kv_heads;
  int64_t head = kv_head * p->repeat;
  a.first_head = (uint64_t)(entry * s->heads + head);
  a.q = heed_plan_grid(&p->in[Q], s, entry, head);
  a.k = heed_plan_grid(&p->in[K], s, entry, kv_head);
  a.v = heed_plan_grid(&p->in[V], s, entry, kv_head);
  a.mask = heed_plan_grid(&p->in[MASK], s, entry, head);
  a.key_mask = heed_plan_grid(&p->in[KEY_MASK], s, entry, head);
  a.bias = heed_plan_grid(&p->in[BIAS], s, entry, head);
  a.valid = heed_plan_grid(&p->in[VALID], s, entry, head);
  a.alibi = heed_plan_grid(&p->in[ALIBI], s, entry, head);
  a.sinks = heed_plan_grid(&p->in[SINKS], s, entry, head);
  a.out = heed_plan_grid(&p->out, s, entry, head);
  a.dout = heed_plan_grid(&p->in[GRAD], s, entry, head);
  a.dq = heed_plan_grid(&p->dq, s, entry, head);
  a.dk = heed_plan_grid(&p->dk, s, entry, kv_head);
  a.dvalue = heed_plan_grid(&p->dv, s, entry, kv_head);
  a.dbias = heed_plan_grid(&p->dbias, s, entry, head);
  if (p->at_valid) a.shift = *(const int64_t *)a.valid.data - a.tq;
  if (p->stats)
    a.stats = p->stats + 2 * (int64_t)a.first_head * s->tq * p->in[Q].size;
  return a;
}

static void set_numbers(heed_plan *p, const heed_attr *attr) {
  heed_attention *a = &p->common;
  const heed_sizes *s = &p->s;
  int64_t all = s->tq + s->tk;
  int64_t left = attr[WINDOW_LEFT].i, right = attr[WINDOW_RIGHT].i;
  *a = (heed_attention){.heads = p->repeat, .tq = s->tq, .tk = s->tk,
                        .d = s->d, .dv = s->dv};
  a->scale = attr[SCALE].f;
  if (isnan(a->scale)) a->scale = s->d ? 1 / sqrt((double)s->d) : 1;
  a->softcap = attr[SOFTCAP].f;
  a->shift = attr[CAUSAL].i == TOP_LEFT ? 0 : s->tk - s->tq;
  p->at_valid = attr[ALIGN].i == AT_VALID;
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
  if (p->room) heed_mem_free(p->room, p->room_bytes);
}

bool heed_plan_begin(heed_plan *p, heed_call *c, bool backward) {
  *p = (heed_plan){.s = heed_plan_sizes(c->in)};
  p->loops = &heed_kernel.attention[c->in[Q]->dtype];
  p->groups = p->s.count * p->s.kv_heads;
  p->repeat = p->s.kv_heads ? p->s.heads / p->s.kv_heads : 0;
  set_numbers(p, c->attr);
  int n = p->s.nbatch;
  p->in[MASK] = heed_plan_lay(c->in[MASK], n, "crh");
  p->in[KEY_MASK] = heed_plan_lay(c->in[KEY_MASK], n, "c");
  p->in[BIAS] = heed_plan_lay(c->in[BIAS], n, "crh");
  const heed_tensor *valid = c->in[VALID];
  bool by_query = valid && valid->shape.ndim > n;
  p->in[VALID] = heed_plan_lay(valid, n, by_query ? "r" : "");
  p->in[ALIBI] = heed_plan_lay(c->in[ALIBI], n, "h");
  p->in[SINKS] = heed_plan_lay(c->in[SINKS], n, "h");
  for (int i = Q; i <= V; i++)
    if (!lay_rows(p, c, i)) return false;
  if (backward && !(lay_rows(p, c, OUT) && lay_rows(p, c, GRAD))) return false;
  const heed_attention *common = &p->common;
  p->few = !backward && p->loops->few_split && heed_attention_is_few(common);
  size_t room = backward ? p->loops->backward_room(common)
                : p->few ? p->loops->few_room(common)
                         : p->loops->forward_room(common);
  p->room_size = (room + 63) / 64 * 64;
  p->room_bytes = p->room_size * (size_t)heed_get_num_threads();
  p->room = heed_mem_alloc(p->room_bytes);
  return p->room != NULL;
}

int64_t heed_plan_work(const heed_plan *p) {
  const heed_sizes *s = &p->s;
  double work = (double)p->repeat * (double)s->tq * (double)s->tk *
                (double)(s->d + s->dv + 16);
  return work < 1e15 ? (int64_t)work + 1 : (int64_t)1e15;
}

int64_t heed_plan_grain(int64_t work) {
  return work < MULTIPLY_ADDS ? MULTIPLY_ADDS / work : 1;
}

void heed_plan_heads_inside(heed_tensor *t) {
  int n = t->shape.ndim;
  const int64_t *size = t->shape.dim;
  int64_t width = size[n - 1] > 1 ? size[n - 1] : 1;
  t->stride[n - 3] = width;
  t->stride[n - 2] = width * (size[n - 3] > 1 ? size[n - 3] : 1);
}
