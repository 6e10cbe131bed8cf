/*
 * anomaly - finds the call that made the first NaN. Layer: core.
 * Read first: node.h.
 */
#include "base/error.h"
#include "core/node.h"

static _Thread_local heed_anomaly state;

bool heed_anomaly_used;

heed_anomaly *heed_anomaly_find(void) { return state.on ? &state : NULL; }

bool heed_anomaly_set(bool on) {
  bool was = state.on;
  if (on) heed_anomaly_used = true;
  state.on = on;
  return was;
}

/* The place of the first NaN in row-major order, from 1; 0: there is none. */
static int64_t find_nan(const heed_tensor *t) {
  if (!heed_dtype_is_float(t->dtype)) return 0;
  int64_t at[HEED_MAX_DIM] = {0}, place = t->offset;
  int64_t n = heed_tensor_numel(t);
  for (int64_t i = 1; i <= n; i++) {
    double v = heed_element_float(t->dtype, t->storage->data, place);
    if (v != v) return i;
    for (int d = t->shape.ndim - 1; d >= 0; d--) {
      place += t->stride[d];
      if (++at[d] < t->shape.dim[d]) break;
      place -= at[d] * t->stride[d];
      at[d] = 0;
    }
  }
  return 0;
}

bool heed_anomaly_check_call(const heed_call *c) {
  for (int k = 0; k < c->nout && k < c->op->nreturn; k++) {
    if (c->result[k].base) continue;
    int64_t at = find_nan(c->out[k]);
    if (!at) continue;
    for (int i = 0; i < c->nin; i++)
      if (c->in[i] && i != c->in_place - 1 && find_nan(c->in[i])) return true;
    return heed_fail("%s: made the first NaN, element %lld of result %d %s",
                     c->op->name, (long long)at, k + 1,
                     heed_tensor_text(c->out[k]));
  }
  return true;
}

bool heed_anomaly_check_gradient(const heed_node *n, int input,
                                 heed_tensor *gradient) {
  int64_t at = find_nan(gradient);
  const heed_param *p = heed_op_input(n->op, input);
  return !at ||
         heed_fail("backward: the gradient of %s made the first NaN, element "
                   "%lld of %s for %s%s%s", n->op->name, (long long)at,
                   heed_tensor_text(gradient), p ? p->name : "an input",
                   n->where ? "; called at " : "", n->where ? n->where : "");
}
