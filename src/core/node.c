/* node - recording calls, and running their backward rules. Layer: core. */
#include "core/node.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "core/extra.h"
#include "core/family.h"

static _Thread_local uint64_t next_number;
static _Thread_local heed_node *dead; /* to be freed, linked through in[0] */
static _Thread_local bool freeing;

static heed_node *node_new(const heed_op *op, int inputs, int outputs,
                           const heed_attr *attr) {
  size_t nattr = (size_t)heed_op_nattr(op), nin = (size_t)inputs;
  size_t nout = (size_t)outputs;
  size_t bytes = sizeof(heed_node) + nin * sizeof(heed_edge) +
                 nout * sizeof(heed_end) + nattr * sizeof(heed_attr);
  heed_node *n = heed_mem_alloc(bytes);
  if (!n) return NULL;
  memset(n, 0, bytes);
  n->refs = 1;
  n->bytes = bytes;
  n->op = op;
  n->nin = inputs;
  n->nout = outputs;
  n->nattr = (int)nattr;
  n->in = (heed_edge *)(n + 1);
  n->out = (heed_end *)(n->in + nin);
  n->attr = (heed_attr *)(n->out + nout);
  if (nattr) memcpy(n->attr, attr, nattr * sizeof *n->attr);
  const heed_anomaly *anomaly = heed_anomaly_get();
  if (anomaly && anomaly->where) n->where = strdup(anomaly->where);
  return n;
}

/* Behind the nodes before it, of which other threads may have made some. */
static void number(heed_node *n) {
  for (int i = 0; i < n->nin; i++) {
    const heed_node *from = n->in[i].node;
    if (from && from->number >= next_number) next_number = from->number + 1;
  }
  n->number = next_number++;
}

heed_node *heed_node_make(const char *name, const heed_edge *in, int nin,
                          const heed_attr *attr, const heed_tensor *result) {
  heed_node *n = node_new(heed_op_find(name), nin, 1, attr);
  if (!n) return NULL;
  n->out[0].dtype = result->dtype;
  n->out[0].shape = result->shape;
  for (int i = 0; i < nin; i++) {
    n->in[i] = in[i];
    if (in[i].node) in[i].node->refs++;
  }
  number(n);
  return n;
}

heed_tensor *heed_node_result(heed_node *n, uint8_t slot, heed_tensor *t) {
  heed_tensor *result = heed_tensor_detach(t);
  if (!result || !n) return result;
  result->node = n;
  result->slot = slot;
  n->refs++;
  return result;
}

/* What a node keeps of an input: a leaf itself, for its gradient; else, of one
   that is overwritten the copy of before, and of a member of a family, which
   might come to own this node, another tensor with the same history. */
static heed_tensor *kept_value(const heed_call *c, int i, const heed_edge *e) {
  heed_tensor *t = c->in[i];
  bool overwritten = c->in_place == i + 1, leaf = e->need && !e->node;
  if (!overwritten && (!t->family || leaf)) return heed_tensor_ref(t);
  return heed_node_result(e->node, e->slot, overwritten ? c->before : t);
}

static bool record_input(const heed_call *c, heed_edge *e, int i) {
  heed_tensor *t = c->in[i];
  if (!heed_family_sync(t)) return false;
  e->dtype = t->dtype;
  e->shape = t->shape;
  e->need = heed_tensor_tracks(t) && heed_dtype_is_float(t->dtype);
  e->node = t->node;
  e->slot = t->slot;
  if (e->node) e->node->refs++;
  e->kept = i < HEED_MAX_KEEP && (c->op->rule->keep[i] & c->need);
  if (!e->kept && (!e->need || e->node)) return true;
  e->value = kept_value(c, i, e);
  if (e->value) e->version = e->value->storage->version;
  return e->value != NULL;
}

static bool record_inputs(const heed_call *c, heed_node *n) {
  for (int i = 0; i < c->nin; i++)
    if (c->in[i] && !record_input(c, &n->in[i], i)) return false;
  return true;
}

static bool record_outputs(const heed_call *c, heed_node *n) {
  for (int k = 0; k < c->nout; k++) {
    heed_tensor *t = c->out[k];
    n->out[k].dtype = t->dtype;
    n->out[k].shape = t->shape;
    n->out[k].version = t->storage->version;
    if (!(c->op->rule->keep_out[k] & c->need)) continue;
    n->out[k].value = heed_tensor_detach(t);
    if (!n->out[k].value) return false;
  }
  return true;
}

bool heed_node_record(heed_call *c) {
  heed_node *n = node_new(c->op, c->nin, c->nout, c->attr);
  if (!n) return false;
  bool ok = record_inputs(c, n) && record_outputs(c, n);
  number(n); /* behind nodes that recording inputs made */
  for (int k = 0; ok && k < c->nout; k++) {
    heed_tensor *t = c->out[k];
    if (!heed_dtype_is_float(t->dtype)) continue;
    heed_node *old = t->node; /* of an in-place result */
    t->node = n;
    t->slot = (uint8_t)k;
    n->refs++;
    heed_node_drop(old);
  }
  ok = ok && (!c->in_place || heed_family_wrote(c->out[0]));
  heed_node_drop(n);
  return ok;
}

bool heed_node_custom(heed_tensor **in, int nin, heed_tensor **out, int nout,
                      const heed_custom *custom) {
  heed_call c = {.op = heed_op_find("custom"), .in = in, .nin = nin,
                 .nout = nout};
  for (int k = 0; k < nout; k++) c.out[k] = out[k];
  if (!heed_node_record(&c)) {
    custom->drop(custom->context);
    return false;
  }
  for (int k = 0; k < nout; k++)
    if (out[k]->node) {
      out[k]->node->custom = *custom;
      return true;
    }
  custom->drop(custom->context); /* integers: there is no way back */
  return true;
}

/* Gives up all that a node holds; its memory stays. */
static void release(heed_node *n) {
  free(n->where);
  heed_hooks_drop(n->hooks);
  if (n->custom.drop) n->custom.drop(n->custom.context);
  for (int i = 0; i < n->nin; i++) {
    heed_tensor_drop(n->in[i].value);
    heed_node_drop(n->in[i].node);
    n->in[i].value = NULL;
    n->in[i].node = NULL;
  }
  for (int k = 0; k < n->nout; k++) {
    heed_tensor_drop(n->out[k].value);
    heed_tensor_drop(n->out[k].grad);
    n->out[k].value = n->out[k].grad = NULL;
  }
}

void heed_node_drop(heed_node *n) {
  if (!n || --n->refs > 0) return;
  /* a chain of a million nodes must not recurse: inner drops only queue */
  n->attr = (heed_attr *)dead;
  dead = n;
  if (freeing) return;
  freeing = true;
  while (dead) {
    heed_node *first = dead;
    dead = (heed_node *)first->attr;
    release(first);
    heed_mem_free(first, first->bytes);
  }
  freeing = false;
}

heed_tensor *heed_node_lend(heed_rule_call *r, heed_tensor *t) {
  if (!t) {
    r->failed = true;
    return NULL;
  }
  if (r->nown == r->room) {
    int room = r->room ? 2 * r->room : 16;
    heed_tensor **more = realloc(r->own, sizeof *more * (size_t)room);
    if (!more) {
      heed_tensor_drop(t);
      heed_fail_memory(sizeof *more * (size_t)room);
      r->failed = true;
      return NULL;
    }
    r->own = more;
    r->room = room;
  }
  return r->own[r->nown++] = t;
}

static heed_tensor *overwritten(heed_rule_call *r, const char *which, int i,
                                uint32_t then, uint32_t now) {
  heed_fail("backward: %s %d of %s was overwritten after it was used "
            "(version %u, needed %u); write to a copy instead",
            which, i + 1, r->node->op->name, now, then);
  r->failed = true;
  return NULL;
}

heed_tensor *heed_in(heed_rule_call *r, int input) {
  heed_edge *e = &r->node->in[input];
  if (!e->value || !e->kept) return NULL;
  if (e->value->storage->version != e->version)
    return overwritten(r, "input", input, e->version,
                       e->value->storage->version);
  return e->value;
}

heed_tensor *heed_kept_out(heed_rule_call *r, int result) {
  heed_end *end = &r->node->out[result];
  if (!end->value) return NULL;
  if (end->value->storage->version != end->version)
    return overwritten(r, "result", result, end->version,
                       end->value->storage->version);
  if (!heed_grad_enabled()) return end->value;
  /* for a second derivative the value must lead back to this node; the kept
     one does not, or the node would own itself */
  heed_node *n = heed_dtype_is_float(end->value->dtype) ? r->node : NULL;
  return heed_node_lend(r, heed_node_result(n, (uint8_t)result, end->value));
}

static heed_tensor *zeros(heed_rule_call *r, heed_dtype dtype,
                          const heed_shape *shape) {
  heed_tensor *t = heed_tensor_new("backward", dtype, shape);
  if (t) memset(t->storage->data, 0, t->storage->bytes);
  return heed_node_lend(r, t);
}

heed_tensor *heed_grad_of(heed_rule_call *r, int k) {
  heed_end *end = &r->node->out[k];
  return r->grad[k] ? r->grad[k] : zeros(r, end->dtype, &end->shape);
}

heed_tensor *heed_grad_zeros(heed_rule_call *r, int input) {
  const heed_edge *e = &r->node->in[input];
  return zeros(r, e->dtype, &e->shape);
}

bool heed_do_all(heed_rule_call *r, const heed_op *op, heed_tensor **in,
                 int nin, const heed_attr *attr, heed_tensor **out) {
  if (r->failed) return false;
  heed_attr copy[HEED_MAX_PARAM];
  heed_op_attributes(op, attr, copy);
  heed_call c = {.op = op, .nin = nin, .in = in, .attr = copy};
  if (!heed_apply(&c)) {
    r->failed = true;
    return false;
  }
  for (int k = 0; k < c.nout; k++) out[k] = heed_node_lend(r, c.out[k]);
  return !r->failed;
}

heed_tensor *heed_do(heed_rule_call *r, const heed_op *op, heed_tensor **in,
                     int nin, const heed_attr *attr) {
  heed_tensor *out[HEED_MAX_OUT];
  for (int i = 0; i < nin; i++)
    if (!in[i] && !heed_op_input(op, i)->optional) {
      r->failed = true;
      return NULL;
    }
  return heed_do_all(r, op, in, nin, attr, out) ? out[0] : NULL;
}

bool heed_give(heed_rule_call *r, int input, heed_tensor *gradient) {
  if (!gradient || r->failed) {
    r->failed = true;
    return false;
  }
  const heed_edge *e = &r->node->in[input];
  if (!heed_shape_equal(&gradient->shape, &e->shape)) {
    static const heed_op *sum_to;
    if (!sum_to) sum_to = heed_op_find("sum_to");
    gradient = heed_do(r, sum_to, &gradient, 1,
                       &(heed_attr){.list = e->shape});
    if (!gradient) return false;
  }
  if (gradient->dtype != e->dtype) {
    static const heed_op *to;
    if (!to) to = heed_op_find("to");
    gradient = heed_do(r, to, &gradient, 1, &(heed_attr){.i = e->dtype});
    if (!gradient) return false;
  }
  r->given[input] = gradient;
  return true;
}
