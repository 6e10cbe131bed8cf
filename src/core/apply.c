/* apply - the one path that every op takes: check, allocate, run, record.
 * Layer: core. Read first: op.h. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "core/node.h"

static _Thread_local bool grad_off;

bool heed_grad_enabled(void) { return !grad_off; }

bool heed_grad_mode(bool on) {
  bool was = !grad_off;
  grad_off = !on;
  return was;
}

void heed_out(heed_call *c, int k, heed_dtype dtype,
              const heed_shape *shape) {
  c->result[k].dtype = dtype;
  c->result[k].shape = *shape;
  c->result[k].base = NULL;
  if (k >= c->nout) c->nout = k + 1;
}

void heed_out_like(heed_call *c, int k, const heed_tensor *t) {
  heed_out(c, k, t->dtype, &t->shape);
}

void heed_out_view(heed_call *c, int k, heed_tensor *base,
                   const heed_shape *shape, const int64_t *stride,
                   int64_t offset) {
  heed_out(c, k, base->dtype, shape);
  c->result[k].base = base;
  memmove(c->result[k].stride, stride,
          sizeof *stride * (size_t)shape->ndim);
  c->result[k].offset = offset;
}

const char *heed_input_name(const heed_call *c, int i) {
  const heed_param *p = heed_op_input(c->op, i);
  return p ? p->name : "input";
}

bool heed_want_float(const heed_call *c, int i) {
  const heed_tensor *t = c->in[i];
  if (heed_dtype_is_float(t->dtype)) return true;
  return heed_fail("%s: %s must be float32 or float64, got %s", c->op->name,
                   heed_input_name(c, i), heed_tensor_text(t));
}

bool heed_want_dtype(const heed_call *c, int i, heed_dtype dtype) {
  const heed_tensor *t = c->in[i];
  if (t->dtype == dtype) return true;
  return heed_fail("%s: %s must be %s, got %s", c->op->name,
                   heed_input_name(c, i), heed_dtype_name(dtype),
                   heed_tensor_text(t));
}

bool heed_want_ndim(const heed_call *c, int i, int least) {
  const heed_tensor *t = c->in[i];
  if (t->shape.ndim >= least) return true;
  return heed_fail("%s: %s must have at least %d dimension%s, got %s",
                   c->op->name, heed_input_name(c, i), least,
                   least == 1 ? "" : "s", heed_tensor_text(t));
}

/* What a user would have written for an axis counted from 0. */
static long long shown_axis(int64_t axis) {
  return (long long)(axis >= 0 ? axis + 1 : axis);
}

bool heed_axis(const heed_call *c, int i, int64_t *axis) {
  const heed_tensor *t = c->in[i];
  int ndim = t->shape.ndim;
  int64_t got = *axis;
  if (got < 0) *axis += ndim;
  if (*axis >= 0 && *axis < ndim) return true;
  if (ndim == 0)
    return heed_fail("%s: %s has no dimensions, so dim %lld is out of range",
                     c->op->name, heed_input_name(c, i), shown_axis(got));
  return heed_fail("%s: dim must be 1..%d or -%d..-1 for %s %s, got %lld",
                   c->op->name, ndim, ndim, heed_input_name(c, i),
                   heed_shape_text(&t->shape), shown_axis(got));
}

bool heed_axes(const heed_call *c, int i, const heed_shape *list, bool *on) {
  int ndim = c->in[i]->shape.ndim;
  for (int d = 0; d < ndim; d++) on[d] = list->ndim < 0;
  for (int k = 0; k < list->ndim; k++) {
    int64_t axis = list->dim[k];
    if (!heed_axis(c, i, &axis)) return false;
    if (on[axis])
      return heed_fail("%s: dim %lld is given twice", c->op->name,
                       shown_axis(axis));
    on[axis] = true;
  }
  return true;
}

void heed_call_trim(heed_call *c) {
  for (int k = c->op->nreturn; k < c->nout; k++) {
    heed_tensor_drop(c->out[k]);
    c->out[k] = NULL;
  }
  if (c->nout > c->op->nreturn) c->nout = c->op->nreturn;
}

static void drop_results(heed_call *c) {
  for (int k = 0; k < c->nout; k++) {
    heed_tensor_drop(c->out[k]);
    c->out[k] = NULL;
  }
}

/* Casts input i; the cast is an op of its own, so gradients pass. */
static heed_tensor *cast(heed_tensor *t, heed_dtype dtype) {
  static const heed_op *to;
  if (!to) to = heed_op_find("to");
  heed_attr attr = {.i = dtype};
  heed_call c = {.op = to, .nin = 1, .in = &t, .attr = &attr};
  return heed_apply(&c) ? c.out[0] : NULL;
}

/* The dtype that the inputs of a promoting op meet in. A plain number gives
   way to a tensor of its kind (integer or float), and an integer number to
   any tensor but bool. */
static heed_dtype common_dtype(const heed_call *c) {
  heed_dtype tensors = HEED_BOOL, numbers = HEED_BOOL;
  bool any = false;
  for (int i = 0; i < c->nin; i++) {
    if (!c->in[i] || c->op->rule->fixed & HEED_NEED(i)) continue;
    heed_dtype d = c->in[i]->dtype;
    if (c->in[i]->weak) {
      numbers = heed_dtype_join(numbers, d);
    } else {
      tensors = any ? heed_dtype_join(tensors, d) : d;
      any = true;
    }
  }
  heed_dtype result = tensors;
  if (!any)
    result = numbers;
  else if (heed_dtype_is_float(numbers))
    result = heed_dtype_is_float(tensors) ? tensors : HEED_FLOAT32;
  else if (numbers > tensors)
    result = numbers;
  if (c->op->rule->to_float && !heed_dtype_is_float(result))
    result = HEED_FLOAT32;
  return result;
}

static bool promote(heed_call *c, heed_tensor **own, int *nown) {
  heed_dtype dtype = common_dtype(c);
  for (int i = 0; i < c->nin; i++) {
    if (!c->in[i] || c->op->rule->fixed & HEED_NEED(i) ||
        c->in[i]->dtype == dtype)
      continue;
    heed_tensor *t = cast(c->in[i], dtype);
    if (!t) return false;
    own[(*nown)++] = c->in[i] = t;
  }
  return true;
}

static bool allocate(heed_call *c) {
  for (int k = 0; k < c->nout; k++) {
    heed_result *r = &c->result[k];
    if (k == 0 && c->op->rule->in_place) {
      c->out[0] = heed_tensor_ref(c->in[c->op->rule->in_place - 1]);
    } else if (r->base) {
      c->out[k] = heed_tensor_view(r->base, &r->shape, r->stride, r->offset);
    } else {
      c->out[k] = heed_tensor_new(c->op->name, r->dtype, &r->shape);
    }
    if (!c->out[k]) return false;
  }
  return true;
}

/* An overwritten tensor must not be one whose gradient would be lost. */
static bool check_in_place(const heed_call *c) {
  int i = c->op->rule->in_place - 1;
  const heed_tensor *t = c->in[i];
  if (grad_off || (!heed_tensor_tracks(t) && !c->need)) return true;
  if (t->requires_grad && !t->node)
    return heed_fail("%s: %s is a leaf that wants gradients; write to it "
                     "inside heed.no_grad", c->op->name,
                     heed_input_name(c, i));
  if (t->storage->refs > 1)
    return heed_fail("%s: %s shares its storage with other tensors and takes "
                     "part in gradients; write to a copy (clone)",
                     c->op->name, heed_input_name(c, i));
  return true;
}

static uint32_t needed(const heed_call *c) {
  if (grad_off || !c->op->rule->backward) return 0;
  uint32_t need = 0;
  for (int i = 0; i < c->nin; i++)
    if (c->in[i] && heed_tensor_tracks(c->in[i]) &&
        heed_dtype_is_float(c->in[i]->dtype))
      need |= 1u << (i < 31 ? i : 31);
  return need;
}

static bool run(heed_call *c) {
  c->nout = 0;
  c->need = needed(c);
  memset(c->out, 0, sizeof c->out);
  const heed_rule *rule = c->op->rule;
  if (!rule->check(c)) return false;
  if (rule->in_place && !check_in_place(c)) return false;
  if (!allocate(c) || (rule->forward && !rule->forward(c)) ) {
    drop_results(c);
    return false;
  }
  if (rule->in_place) c->out[0]->storage->version++;
  if (c->need && !heed_node_record(c)) {
    drop_results(c);
    return false;
  }
  return true;
}

bool heed_apply(heed_call *c) {
  if (!c->op->rule->promote) return run(c);
  heed_tensor *own[HEED_MAX_KEEP], **caller = c->in, *in[HEED_MAX_KEEP];
  int nown = 0;
  /* promoting ops have few inputs; longer lists are cast by their caller */
  int n = c->nin < HEED_MAX_KEEP ? c->nin : HEED_MAX_KEEP;
  memcpy(in, caller, sizeof *in * (size_t)n);
  c->in = in;
  bool ok = promote(c, own, &nown) && run(c);
  c->in = caller;
  while (nown > 0) heed_tensor_drop(own[--nown]);
  return ok;
}
