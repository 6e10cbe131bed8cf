/*
 * part - views of some of the elements. Layer: ops.
 * Read first: core/op.h.
 */
#include <string.h>

#include "base/error.h"
#include "ops/copy.h"
#include "ops/each.h"

/* Puts a position (from 0, or from the end) into range, or fails. */
static bool position(const heed_call *c, const char *what, int64_t size,
                     int64_t low, int64_t high, int64_t *p) {
  int64_t got = *p;
  if (got < 0) *p += size;
  if (*p >= low && *p <= high) return true;
  return heed_fail("%s: %s must be 1..%lld or -%lld..-1 for x %s, got %lld",
                   c->op->name, what, (long long)size, (long long)size,
                   heed_shape_text(&c->in[0]->shape),
                   (long long)(got >= 0 ? got + 1 : got));
}

/***
The elements first, first + step, ... up to and including last of one
dimension.
@function slice
@param x tensor
@param dim dimension
@param first position, 1 by default; may count from the end
@param last position, -1 by default; may count from the end
@param step not 0, 1 by default; a negative one runs from first down to last
@return view of x; of size 0 when first lies behind last
@raise when a position is out of range
@usage heed.arange(5):slice(1, 2, 4) --> 2 3 4
*/
static bool slice_check(heed_call *c) {
  heed_tensor *x = c->in[0];
  int64_t dim = c->attr[0].i, step = c->attr[3].i;
  if (!heed_axis(c, 0, &dim)) return false;
  int64_t size = x->shape.dim[dim];
  int64_t first = c->attr[1].i, last = c->attr[2].i;
  if (step == 0) return heed_fail("slice: step must not be 0");
  /* a larger step leads to nothing else, but to overflow */
  if (step > size) step = size + 1;
  if (step < -size) step = -size - 1;
  /* one place beyond either end may be named, for an empty slice */
  if (!position(c, "first", size, 0, size, &first) ||
      !position(c, "last", size, -1, size - 1, &last))
    return false;
  int64_t n = step > 0 ? (last - first + step) / step
                       : (first - last - step) / -step;
  if ((step > 0 && last < first) || (step < 0 && last > first)) n = 0;
  if (n > 0 && first >= size)
    return position(c, "first", size, 0, size - 1, &c->attr[1].i);
  heed_shape shape = x->shape;
  shape.dim[dim] = n;
  int64_t stride[HEED_MAX_DIM];
  memcpy(stride, x->stride, sizeof stride);
  int64_t offset = n > 0 ? x->offset + first * stride[dim] : x->offset;
  stride[dim] *= step;
  heed_out_view(c, 0, x, &shape, stride, offset);
  return true;
}
/* The gradient of a part: zeros, with g in its place. */
static heed_tensor *spread(heed_rule_call *r, heed_tensor *g, int64_t dim,
                           int64_t first, int64_t last, int64_t step) {
  heed_attr attr[5] = {{.list = *heed_in_shape(r, 0)}, {.i = dim},
                       {.i = first}, {.i = last}, {.i = step}};
  return heed_do1_with(r, HEED_OP_slice_bwd, g, attr);
}
static bool slice_bwd(heed_rule_call *r) {
  const heed_attr *a = r->attr;
  return heed_give(r, 0, spread(r, r->grad[0], a[0].i, a[1].i, a[2].i,
                                a[3].i));
}
const heed_rule heed_rule_slice = {.check = slice_check,
                                   .backward = slice_bwd, .moves = true};

static bool slice_bwd_fwd(heed_call *c) {
  heed_tensor *y = c->out[0];
  memset(heed_tensor_data(y), 0, y->storage->bytes);
  bool was = heed_grad_mode(false);
  heed_tensor *part = heed_op_run("slice", &y, 1, c->attr + 1);
  heed_grad_mode(was);
  if (!part) return false;
  heed_copy(part, c->in[0]);
  heed_tensor_drop(part);
  return true;
}
static bool slice_bwd_bwd(heed_rule_call *r) {
  return heed_give(r, 0, heed_do1_with(r, HEED_OP_slice, r->grad[0],
                                       r->attr + 1));
}
const heed_rule heed_rule_slice_bwd = {
    .check = heed_check_shape, .forward = slice_bwd_fwd,
    .backward = slice_bwd_bwd, .moves = true};

/***
One position of a dimension; the dimension goes.
@function select
@param x tensor
@param dim dimension
@param index position; may count from the end
@return view of x with one dimension less
@raise when dim or index is out of range
@usage heed.zeros(2, 3):select(1, -1) --> shape (3)
*/
static bool select_check(heed_call *c) {
  heed_tensor *x = c->in[0];
  int64_t dim = c->attr[0].i, at = c->attr[1].i;
  if (!heed_axis(c, 0, &dim)) return false;
  int64_t size = x->shape.dim[dim];
  if (!position(c, "index", size, 0, size - 1, &at)) return false;
  heed_shape shape = {0};
  int64_t stride[HEED_MAX_DIM];
  for (int d = 0; d < x->shape.ndim; d++) {
    if (d == dim) continue;
    stride[shape.ndim] = x->stride[d];
    shape.dim[shape.ndim++] = x->shape.dim[d];
  }
  heed_out_view(c, 0, x, &shape, stride, x->offset + at * x->stride[dim]);
  return true;
}
static bool select_bwd(heed_rule_call *r) {
  const heed_attr *a = r->attr;
  int64_t dim = a[0].i < 0 ? a[0].i + heed_in_shape(r, 0)->ndim : a[0].i;
  heed_tensor *g = heed_unsqueeze(r, r->grad[0], dim);
  return heed_give(r, 0, spread(r, g, dim, a[1].i, a[1].i, 1));
}
const heed_rule heed_rule_select = {.check = select_check,
                                    .backward = select_bwd, .moves = true};

/* -- windows -- */

/***
The windows of a dimension, one after the other: element i, j of the dimension
and the new last one is element (i - 1) * step + j of x.
@function unfold
@param x tensor
@param dim dimension
@param size of a window, at least 1
@param step from one window to the next, 1 by default
@return view of x with as many windows as fit into the dimension, and a
dimension of their size behind the others; elements of windows that overlap
are one place in memory
@raise when the dimension is shorter than a window
@usage heed.arange(4):unfold(1, 2) --> 1 2, 2 3, 3 4
*/
static bool unfold_check(heed_call *c) {
  heed_tensor *x = c->in[0];
  int64_t size = c->attr[1].i, step = c->attr[2].i;
  int ndim = x->shape.ndim;
  if (!heed_axis(c, 0, &c->attr[0].i)) return false;
  int64_t dim = c->attr[0].i, n = x->shape.dim[dim];
  if (size < 1 || size > n)
    return heed_fail("unfold: size must be 1..%lld for dim %lld of x %s, got "
                     "%lld", (long long)n, (long long)dim + 1,
                     heed_shape_text(&x->shape), (long long)size);
  if (step < 1)
    return heed_fail("unfold: step must be at least 1, got %lld",
                     (long long)step);
  if (ndim == HEED_MAX_DIM)
    return heed_fail("unfold: x %s has %d dimensions already",
                     heed_shape_text(&x->shape), HEED_MAX_DIM);
  if (step > n) step = n; /* there is one window */
  heed_shape shape = x->shape;
  int64_t stride[HEED_MAX_DIM];
  memcpy(stride, x->stride, sizeof stride);
  shape.dim[dim] = (n - size) / step + 1;
  shape.dim[shape.ndim++] = size;
  if (!heed_shape_check(c->op->name, &shape, x->dtype)) return false;
  stride[ndim] = stride[dim];
  stride[dim] *= step;
  heed_out_view(c, 0, x, &shape, stride, x->offset);
  return true;
}
static bool unfold_bwd(heed_rule_call *r) {
  heed_attr attr[4] = {{.list = *heed_in_shape(r, 0)}, r->attr[0], r->attr[1],
                       r->attr[2]};
  return heed_give(r, 0, heed_do1_with(r, HEED_OP_unfold_bwd, r->grad[0],
                                       attr));
}
const heed_rule heed_rule_unfold = {
    .check = unfold_check, .backward = unfold_bwd, .moves = true};

/* Zeros of a shape, with the windows added, one of their places after the
   other: those of one place do not overlap. */
static bool unfold_bwd_fwd(heed_call *c) {
  heed_tensor *y = c->out[0];
  heed_tensor to = *y, from = *c->in[0];
  int64_t dim = c->attr[1].i, size = c->attr[2].i, step = c->attr[3].i;
  if (step > y->shape.dim[dim]) step = y->shape.dim[dim];
  memset(heed_tensor_data(y), 0, y->storage->bytes);
  int64_t next = from.stride[--from.shape.ndim];
  to.shape.dim[dim] = from.shape.dim[dim];
  to.stride[dim] *= step;
  for (int64_t j = 0; j < size; j++) {
    heed_each_into(&to, &to, &from, heed_kernel.binary[HEED_BINARY_add]
                                                      [y->dtype]);
    to.offset += y->stride[dim];
    from.offset += next;
  }
  return true;
}
static bool unfold_bwd_bwd(heed_rule_call *r) {
  return heed_give(r, 0, heed_do1_with(r, HEED_OP_unfold, r->grad[0],
                                       r->attr + 1));
}
const heed_rule heed_rule_unfold_bwd = {
    .check = heed_check_shape, .forward = unfold_bwd_fwd,
    .backward = unfold_bwd_bwd};
