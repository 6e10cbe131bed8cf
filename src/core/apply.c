/* apply - the one path that every op takes: check, allocate, run, record.
 * Layer: core. Read first: op.h. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "core/family.h"
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

/* Gives up the results from k on. */
static void drop_results(heed_call *c, int k) {
  for (; k < c->nout; k++) {
    heed_tensor_drop(c->out[k]);
    c->out[k] = NULL;
  }
}

void heed_call_trim(heed_call *c) {
  drop_results(c, c->op->nreturn);
  if (c->nout > c->op->nreturn) c->nout = c->op->nreturn;
}

heed_tensor *heed_op_run(const char *name, heed_tensor **in, int nin,
                         const heed_attr *attr) {
  heed_attr copy[HEED_MAX_PARAM];
  heed_call c = {.op = heed_op_find(name), .nin = nin, .in = in, .attr = copy};
  heed_op_attributes(c.op, attr, copy);
  if (!heed_apply(&c)) return NULL;
  drop_results(&c, 1);
  return c.out[0];
}

/* Casts input i; the cast is an op of its own, so gradients pass, which a
   plain number has none of. */
static heed_tensor *cast(heed_tensor *t, heed_dtype dtype) {
  if (t->weak) {
    heed_value v = heed_element(t->dtype, heed_tensor_data(t), 0);
    bool whole = !heed_dtype_is_float(t->dtype);
    heed_tensor *own = heed_tensor_new("to", dtype, &t->shape);
    if (own) heed_element_store(dtype, heed_tensor_data(own), 0, whole, v);
    return own;
  }
  return heed_op_run("to", &t, 1, &(heed_attr){.i = dtype});
}

/* Is input i in a set? Of the long list of an op all are, or none. */
static bool in_set(uint32_t set, int i) {
  return i < 32 ? set >> i & 1 : set == HEED_ALWAYS;
}

/* The dtype that the inputs of a promoting op meet in. A plain number gives
   way to a tensor of its kind (integer or float), and an integer number to
   any tensor but bool. */
static heed_dtype common_dtype(const heed_call *c) {
  const heed_rule *rule = c->op->rule;
  heed_dtype tensors = HEED_BOOL, numbers = HEED_BOOL;
  bool any = false;
  for (int i = 0; i < c->nin; i++) {
    if (!c->in[i] || in_set(rule->fixed, i)) continue;
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
  else if (tensors == HEED_BOOL)
    result = numbers;
  if (rule->to_float && !heed_dtype_is_float(result)) result = HEED_FLOAT32;
  if (!rule->moves && heed_dtype_is_half(result)) result = HEED_FLOAT32;
  return result;
}

static bool takes_halves(const heed_rule *rule, int i) {
  return rule->moves || in_set(rule->halves, i);
}

/* The dtype that input i is computed in, `common` being that of promoting
   inputs. */
static heed_dtype dtype_of(const heed_call *c, int i, heed_dtype common) {
  const heed_rule *rule = c->op->rule;
  heed_dtype d = c->in[i]->dtype;
  if (rule->promote && !in_set(rule->fixed, i)) return common;
  return heed_dtype_is_half(d) && !takes_halves(rule, i) ? HEED_FLOAT32 : d;
}

/* Is every input computed as it is? The frequent case, kept cheap. */
static bool inputs_fit(const heed_call *c) {
  const heed_rule *rule = c->op->rule;
  heed_dtype first = HEED_NDTYPE;
  for (int i = 0; i < c->nin; i++) {
    if (!c->in[i]) continue;
    heed_dtype d = c->in[i]->dtype;
    if (heed_dtype_is_half(d) && !takes_halves(rule, i)) return false;
    if (!rule->promote || in_set(rule->fixed, i)) continue;
    if (first == HEED_NDTYPE) first = d;
    else if (d != first) return false;
  }
  return !rule->to_float || heed_dtype_is_float(first);
}

/* A view; of a tensor that may have a gradient, it joins its family. */
static heed_tensor *view_of(const heed_call *c, const heed_result *r) {
  heed_tensor *t =
      heed_tensor_view(r->base, &r->shape, r->stride, r->offset);
  if (!t || grad_off || !c->op->rule->backward ||
      !heed_dtype_is_float(t->dtype) || heed_family_join(t, r->base))
    return t;
  heed_tensor_drop(t);
  return NULL;
}

static bool allocate(heed_call *c) {
  for (int k = 0; k < c->nout; k++) {
    heed_result *r = &c->result[k];
    if (k == 0 && c->in_place) {
      c->out[0] = heed_tensor_ref(c->in[c->in_place - 1]);
    } else if (r->base) {
      c->out[k] = view_of(c, r);
    } else {
      c->out[k] = heed_tensor_new(c->op->name, r->dtype, &r->shape);
    }
    if (!c->out[k]) return false;
  }
  return true;
}

bool heed_check_writable(const heed_call *c, int i, const char *name) {
  const heed_tensor *t = c->in[i];
  if (heed_tensor_is_folded(t))
    return heed_fail("%s: %s %s is expanded or unfolded, so several of its "
                     "elements are one place in memory; write to a copy "
                     "(clone)", c->op->name, name,
                     heed_shape_text(&t->shape));
  if (grad_off || (!heed_tensor_tracks(t) && !c->need)) return true;
  if (t->requires_grad && !t->node)
    return heed_fail("%s: %s is a leaf that wants gradients; write to it "
                     "inside heed.no_grad", c->op->name, name);
  if (!c->op->rule->backward && heed_tensor_tracks(t))
    return heed_fail("%s: %s takes part in gradients, and %s has none; write "
                     "to a copy (clone)", c->op->name, name, c->op->name);
  return heed_family_check_write(c, t);
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

/* Can x hold what its op gives? Floats hold numbers, integers integers. */
static bool holds_result(const heed_call *c, heed_dtype result) {
  const heed_tensor *x = c->in[0];
  if (x->dtype == result || heed_dtype_is_float(x->dtype)) return true;
  if (heed_dtype_is_integer(x->dtype) && !heed_dtype_is_float(result))
    return true;
  return heed_fail("%s: %s %s cannot hold a result of %s", c->op->name,
                   heed_input_name(c, 0), heed_tensor_text(x),
                   heed_dtype_name(result));
}

/* Is that the result's shape, so that it can be written over x? */
static bool same_shape(const heed_call *c, const heed_shape *result) {
  const heed_tensor *x = c->in[0];
  return heed_shape_equal(&x->shape, result) ||
         heed_fail("%s: the result %s does not fit into %s %s", c->op->name,
                   heed_shape_text(result), heed_input_name(c, 0),
                   heed_shape_text(&x->shape));
}

/* Copies what is about to be overwritten, if backward needs its value. */
static bool save_before(heed_call *c) {
  const heed_rule *rule = c->op->rule;
  if (!(rule->keep[c->in_place - 1] & c->need)) return true;
  bool was = heed_grad_mode(false);
  c->before = heed_op_run("clone", &c->in[c->in_place - 1], 1, NULL);
  heed_grad_mode(was);
  return c->before != NULL;
}

/* The result goes over input 0 of the in-place form of an op. */
static bool check_twin(const heed_call *c) {
  return !c->op->twin ||
         (same_shape(c, &c->result[0].shape) &&
          holds_result(c, c->result[0].dtype));
}

/* Were all inputs there when they were read? */
static bool inputs_whole(const heed_call *c) {
  for (int i = 0; i < c->nin; i++)
    if (c->in[i] && !heed_tensor_check_whole(c->op->name, c->in[i]))
      return false;
  return true;
}

static bool forward(heed_call *c) {
  heed_scope was = heed_scope_enter(c->in_place ? HEED_SCOPE_WRITE
                                                : HEED_SCOPE_RESULT);
  int threads_before = heed_parallel_enter();
  bool ok = c->op->rule->forward(c);
  heed_parallel_leave(threads_before);
  /* before the scope is left: what overwrites is whole */
  bool given_up = heed_interrupt_take();
  heed_scope_leave(was);
  /* whatever else it says: zeros may have led it there */
  if (heed_mapping_any_broken() && !inputs_whole(c)) ok = false;
  return ok && (!given_up || heed_fail("%s: interrupted", c->op->name));
}

static bool compute(heed_call *c) {
  if (!allocate(c)) return false;
  if (c->op->rule->forward && !forward(c)) return false;
  if (heed_anomaly_get() && !heed_anomaly_check_call(c)) return false;
  if (c->in_place) c->out[0]->storage->version++;
  return !c->need || heed_node_record(c);
}

static bool run(heed_call *c) {
  if (heed_interrupt_take())
    return heed_fail("%s: interrupted", c->op->name);
  c->nout = 0;
  c->need = needed(c);
  c->before = NULL;
  memset(c->out, 0, sizeof c->out);
  if (!c->op->rule->check(c)) return false;
  int over = c->in_place - 1;
  if (c->in_place &&
      !(heed_check_writable(c, over, heed_input_name(c, over)) &&
        check_twin(c) && save_before(c)))
    return false;
  bool ok = compute(c);
  if (c->before) heed_tensor_drop(c->before);
  if (!ok) drop_results(c, 0);
  return ok;
}

/* A copy of the input list, with the references that were made for it. */
typedef struct inputs {
  heed_tensor **in, *few[HEED_MAX_KEEP];
  heed_tensor **own, *few_own[HEED_MAX_KEEP];
  int n, nown;
} inputs;

static bool inputs_open(inputs *s, const heed_call *c) {
  s->n = c->nin;
  s->nown = 0;
  s->in = s->few;
  s->own = s->few_own;
  if (c->nin > HEED_MAX_KEEP) {
    s->in = heed_mem_alloc(2 * sizeof *s->in * (size_t)c->nin);
    if (!s->in) return false;
    s->own = s->in + c->nin;
  }
  memcpy(s->in, c->in, sizeof *s->in * (size_t)c->nin);
  return true;
}

static void inputs_close(inputs *s) {
  while (s->nown > 0) heed_tensor_drop(s->own[--s->nown]);
  if (s->in != s->few)
    heed_mem_free(s->in, 2 * sizeof *s->in * (size_t)s->n);
}

/* Puts t, which may be NULL after a failure, in the place of input i. */
static bool inputs_own(inputs *s, int i, heed_tensor *t) {
  if (!t) return false;
  s->own[s->nown++] = s->in[i] = t;
  return true;
}

static bool cast_inputs(heed_call *c, inputs *s) {
  heed_dtype common = common_dtype(c);
  for (int i = 0; i < c->nin; i++) {
    if (!c->in[i]) continue;
    heed_dtype d = dtype_of(c, i, common);
    if (d != c->in[i]->dtype && !inputs_own(s, i, cast(c->in[i], d)))
      return false;
  }
  return true;
}

/* Runs the op on what `fit` makes of its inputs. */
static bool run_fitted(heed_call *c, bool (*fit)(heed_call *c, inputs *s)) {
  inputs s;
  heed_tensor **caller = c->in;
  if (!inputs_open(&s, c)) return false;
  bool ok = fit(c, &s);
  c->in = s.in;
  ok = ok && run(c);
  c->in = caller;
  inputs_close(&s);
  return ok;
}

static bool run_cast(heed_call *c) {
  return inputs_fit(c) ? run(c) : run_fitted(c, cast_inputs);
}

/* The plain op; of a copy of x, if backward needs the value of before. */
static bool run_plain(heed_call *c) {
  heed_tensor *x = c->in[0], *copy = NULL;
  c->in_place = 0;
  if (c->op->rule->keep[0] & needed(c)) {
    copy = heed_op_run("clone", &x, 1, NULL);
    if (!copy) return false;
    c->in[0] = copy;
  }
  bool ok = run_cast(c);
  c->in[0] = x;
  heed_tensor_drop(copy);
  return ok;
}

/* The plain op, then a copy of its result into x. */
static bool run_and_copy(heed_call *c) {
  heed_tensor *x = c->in[0];
  if (!run_plain(c)) return false;
  heed_tensor *y = c->out[0];
  drop_results(c, 1);
  bool ok = same_shape(c, &y->shape) && holds_result(c, y->dtype);
  c->nout = 1;
  c->out[0] =
      ok ? heed_op_run("copy_", (heed_tensor *[]){x, y}, 2, NULL) : NULL;
  heed_tensor_drop(y);
  return c->out[0] != NULL;
}

/* May input i not be overwritten with x? It may be where it is x itself, place
   for place, unless backward wants its value of before. */
static bool wants_copy(const heed_call *c, int i, uint32_t need) {
  const heed_tensor *t = c->in[i], *x = c->in[0];
  return heed_tensor_overlaps(t, x) ||
         (t->storage == x->storage && (c->op->rule->keep[i] & need));
}

/* Everything but x in the dtype of x, and apart from what is written. */
static bool fit_to_x(heed_call *c, inputs *s) {
  heed_tensor *x = c->in[0];
  uint32_t need = needed(c);
  for (int i = 1; i < c->nin; i++) {
    heed_tensor *t = c->in[i];
    if (!t) continue;
    heed_dtype d = dtype_of(c, i, x->dtype);
    if (d != t->dtype ? !inputs_own(s, i, cast(t, d))
                      : wants_copy(c, i, need) &&
                            !inputs_own(s, i, heed_op_run("clone", &t, 1,
                                                          NULL)))
      return false;
  }
  return true;
}

static bool run_over_x(heed_call *c, heed_dtype common) {
  if (!holds_result(c, common)) return false;
  c->in_place = 1;
  return run_fitted(c, fit_to_x);
}

/* May the call be computed in the dtype of x? Integers may not where another
   operand is wider: it would be cut before it is used. */
static bool fits_x(const heed_call *c, heed_dtype common) {
  heed_dtype x = c->in[0]->dtype;
  return c->op->rule->elementwise && !heed_dtype_is_half(x) &&
         (x == common || heed_dtype_is_float(x) ||
          heed_dtype_is_float(common));
}

/* Halves are for storage: only what moves elements may write to them. */
static bool check_written_dtype(const heed_call *c) {
  int i = c->in_place - 1;
  if (i >= c->nin || !heed_dtype_is_half(c->in[i]->dtype) ||
      takes_halves(c->op->rule, i))
    return true;
  return heed_fail("%s: %s must be float32 or float64, got %s", c->op->name,
                   heed_input_name(c, i), heed_tensor_text(c->in[i]));
}

bool heed_apply(heed_call *c) {
  const heed_rule *rule = c->op->rule;
  if (!c->op->twin) {
    c->in_place = rule->in_place;
    return (!c->in_place || check_written_dtype(c)) && run_cast(c);
  }
  heed_dtype common = rule->promote ? common_dtype(c) : c->in[0]->dtype;
  return fits_x(c, common) ? run_over_x(c, common) : run_and_copy(c);
}
