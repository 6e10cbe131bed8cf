/*
 * extremes - the largest and smallest elements, and their places. Layer: ops.
 * Read first: reduce.h.
 */
#include <string.h>

#include "base/error.h"
#include "ops/copy.h"
#include "ops/lines.h"
#include "ops/reduce.h"

bool heed_reduce_not_empty(const heed_call *c) {
  bool on[HEED_MAX_DIM];
  if (!heed_axes(c, 0, &c->attr[0].list, on)) return false;
  return heed_reduce_length(c->in[0], on) > 0 ||
         heed_fail("%s: x %s has no elements to choose from", c->op->name,
                   heed_shape_text(&c->in[0]->shape));
}

/* -- places -- */

typedef struct finding {
  int64_t *place;
  char *value; /* or NULL */
  size_t size;
} finding;

static void finish_places(void *context, int64_t at, int64_t step, int64_t n,
                          void *acc) {
  const finding *to = context;
  const heed_found *found = acc;
  for (int64_t j = 0; j < n; j++, at += step) {
    to->place[at] = found[j].place + 1;
    if (to->value)
      memcpy(to->value + (size_t)at * to->size, found[j].value, to->size);
  }
}

/* A description of x with the dimensions `on` last, in their order, and
   which of those of the result are reduced. */
static heed_tensor reduced_last(const heed_tensor *x, const bool *on,
                                bool *moved) {
  heed_tensor y = *x;
  int at = 0;
  for (int reduced = 0; reduced < 2; reduced++)
    for (int d = 0; d < x->shape.ndim; d++) {
      if (on[d] != reduced) continue;
      y.shape.dim[at] = x->shape.dim[d];
      y.stride[at] = x->stride[d];
      moved[at++] = reduced;
    }
  return y;
}

/* Does one stride lead through all dimensions from `first` on? */
static bool in_a_line(const heed_tensor *x, const bool *on) {
  int64_t next = 0;
  for (int d = x->shape.ndim - 1; d >= 0; d--) {
    if (!on[d] || x->shape.dim[d] == 1) continue;
    if (next != 0 && x->stride[d] != next) return false;
    next = x->stride[d] * x->shape.dim[d];
    if (next == 0) next = -1; /* repeated elements: of no other stride */
  }
  return true;
}

/* Places, from 1, of the extremes over the dimensions of attr[0], counted
   row-major over these; and the values. */
static bool find(heed_call *c, heed_reduction how, heed_tensor *places,
                 heed_tensor *values) {
  bool on[HEED_MAX_DIM], moved[HEED_MAX_DIM];
  if (!heed_axes(c, 0, &c->attr[0].list, on)) return false;
  heed_tensor x = reduced_last(c->in[0], on, moved), *rows = NULL;
  if (!in_a_line(&x, moved)) {
    rows = heed_contiguous(c->op->name, &x);
    if (!rows) return false;
    x = *rows;
  }
  finding to = {heed_tensor_data(places),
                values ? heed_tensor_data(values) : NULL,
                heed_dtype_size(x.dtype)};
  bool ok = heed_reduce(how, &x, moved, finish_places, &to);
  heed_tensor_drop(rows);
  return ok;
}

static bool place_check(heed_call *c) {
  return heed_reduce_not_empty(c) && heed_reduce_check(c, HEED_INT64);
}

/***
The place of the largest value, from 1; the first of equals. NaN counts as the
largest.
@function argmax
@param x tensor
@param dim one dimension or a list, in which places count row-major; all by
default
@param keepdim keep the reduced dimensions with size 1; false by default
@return int64 tensor
@raise when a dimension is out of range or there are no elements
@usage heed.tensor{3, 9, 2}:argmax() --> 2
*/
static bool argmax_fwd(heed_call *c) {
  return find(c, HEED_REDUCE_ARGMAX, c->out[0], NULL);
}
const heed_rule heed_rule_argmax = {.check = place_check,
                                    .forward = argmax_fwd};

/***
The place of the smallest value, from 1; the first of equals. NaN counts as
the smallest.
@function argmin
@param x tensor
@param dim one dimension or a list, in which places count row-major; all by
default
@param keepdim keep the reduced dimensions with size 1; false by default
@return int64 tensor
@raise when a dimension is out of range or there are no elements
@usage heed.tensor{3, 9, 2}:argmin() --> 3
*/
static bool argmin_fwd(heed_call *c) {
  return find(c, HEED_REDUCE_ARGMIN, c->out[0], NULL);
}
const heed_rule heed_rule_argmin = {.check = place_check,
                                    .forward = argmin_fwd};

/* -- values -- */

bool heed_reduce_even_bwd(heed_rule_call *r) {
  heed_tensor *g = heed_reduce_put_back(r, heed_grad_of(r, 0));
  heed_tensor *y = heed_reduce_put_back(r, heed_kept_out(r, 0));
  heed_tensor *x = heed_in(r, 0);
  heed_tensor *same = heed_do2(r, HEED_OP_logical_or,
                               heed_do2(r, HEED_OP_eq, x, y),
                               heed_do1(r, HEED_OP_isnan, x));
  heed_tensor *n = heed_do1_with(
      r, HEED_OP_sum, same, (heed_attr[]){r->attr[0], {.i = true}});
  return heed_give(r, 0, heed_do2(r, HEED_OP_mul, same,
                                  heed_do2(r, HEED_OP_div, g, n)));
}

static bool even_check(heed_call *c) {
  return heed_reduce_not_empty(c) && heed_reduce_check(c, c->in[0]->dtype);
}

/***
The largest value over some or all dimensions; NaN wins. The gradient goes
evenly to all that are equal to the largest.
@function amax
@param x tensor
@param dim one dimension or a list; all by default
@param keepdim keep the reduced dimensions with size 1; false by default
@return tensor without the reduced dimensions
@raise when a dimension is out of range or there are no elements
@usage heed.tensor{{1, 5}, {4, 2}}:amax(1) --> 4 5
*/
static bool amax_fwd(heed_call *c) {
  return heed_reduce_fwd(c, HEED_REDUCE_MAX, 1);
}
const heed_rule heed_rule_amax = {
    .check = even_check, .forward = amax_fwd, .backward = heed_reduce_even_bwd,
    .keep = {HEED_ALWAYS}, .keep_out = {HEED_ALWAYS}};

/***
The smallest value over some or all dimensions; NaN wins. The gradient goes
evenly to all that are equal to the smallest.
@function amin
@param x tensor
@param dim one dimension or a list; all by default
@param keepdim keep the reduced dimensions with size 1; false by default
@return tensor without the reduced dimensions
@raise when a dimension is out of range or there are no elements
@usage heed.tensor{{1, 5}, {4, 2}}:amin(1) --> 1 2
*/
static bool amin_fwd(heed_call *c) {
  return heed_reduce_fwd(c, HEED_REDUCE_MIN, 1);
}
const heed_rule heed_rule_amin = {
    .check = even_check, .forward = amin_fwd, .backward = heed_reduce_even_bwd,
    .keep = {HEED_ALWAYS}, .keep_out = {HEED_ALWAYS}};

bool heed_reduce_choice_check(heed_call *c) {
  heed_shape *dims = &c->attr[0].list;
  if (!even_check(c)) return false;
  if (dims->ndim > 1)
    return heed_fail("%s: dim must be one dimension, got %d", c->op->name,
                     dims->ndim);
  if (dims->ndim == 1 && !heed_axis(c, 0, &dims->dim[0])) return false;
  if (dims->ndim == 1) heed_out(c, 1, HEED_INT64, &c->result[0].shape);
  return true;
}
bool heed_reduce_choice_bwd(heed_rule_call *r) {
  const heed_shape *dims = &r->attr[0].list;
  return dims->ndim == 1 ? heed_lines_bwd(r, dims->dim[0], r->attr[1].i)
                         : heed_reduce_even_bwd(r);
}

/***
The largest value over one dimension, with its place, or over all; NaN wins.
The gradient goes to the place; over all dimensions, evenly to all that are
equal to the largest.
@function max
@param x tensor
@param dim dimension; all by default
@param keepdim keep the reduced dimension with size 1; false by default
@return tensor of values
@return int64 tensor of the first places, from 1; only when dim is given
@raise when a dimension is out of range or has no elements
@usage local value, place = heed.tensor{{1, 5}, {4, 2}}:max(2) --> 5 4, 2 1
*/
static bool max_fwd(heed_call *c) {
  return c->nout > 1 ? find(c, HEED_REDUCE_ARGMAX, c->out[1], c->out[0])
                     : amax_fwd(c);
}
const heed_rule heed_rule_max = {
    .check = heed_reduce_choice_check, .forward = max_fwd,
    .backward = heed_reduce_choice_bwd, .keep = {HEED_ALWAYS},
    .keep_out = {HEED_ALWAYS, HEED_ALWAYS}};

/***
The smallest value over one dimension, with its place, or over all; NaN wins.
The gradient goes as that of `max`.
@function min
@param x tensor
@param dim dimension; all by default
@param keepdim keep the reduced dimension with size 1; false by default
@return tensor of values
@return int64 tensor of the first places, from 1; only when dim is given
@raise when a dimension is out of range or has no elements
@usage local value, place = heed.tensor{{1, 5}, {4, 2}}:min(2) --> 1 2, 1 2
*/
static bool min_fwd(heed_call *c) {
  return c->nout > 1 ? find(c, HEED_REDUCE_ARGMIN, c->out[1], c->out[0])
                     : amin_fwd(c);
}
const heed_rule heed_rule_min = {
    .check = heed_reduce_choice_check, .forward = min_fwd,
    .backward = heed_reduce_choice_bwd, .keep = {HEED_ALWAYS},
    .keep_out = {HEED_ALWAYS, HEED_ALWAYS}};
