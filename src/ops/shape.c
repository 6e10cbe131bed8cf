/*
 * shape - the same elements, seen in another way. Layer: ops.
 * Read first: core/op.h.
 *
 * Where strides can express the result it is a view that shares memory with
 * x; otherwise (reshape of a transposed tensor, cat, flip) it is a copy.
 */
#include <string.h>

#include "base/error.h"
#include "ops/copy.h"
#include "ops/ops.h"

/* -- reshape -- */

/* Puts the one size -1 right; fails when the counts do not fit. */
static bool fill_size(const heed_call *c, heed_shape *shape) {
  const heed_tensor *x = c->in[0];
  int64_t n = heed_tensor_numel(x), known = 1;
  int open = -1;
  bool ok = true;
  for (int i = 0; i < shape->ndim; i++) {
    if (shape->dim[i] == -1 && open < 0)
      open = i;
    else if (shape->dim[i] < 0 ||
             __builtin_mul_overflow(known, shape->dim[i], &known))
      ok = false;
  }
  if (ok) ok = open < 0 ? known == n : known > 0 && n % known == 0;
  if (!ok)
    return heed_fail("%s: x %s with %lld elements cannot become %s",
                     c->op->name, heed_shape_text(&x->shape), (long long)n,
                     heed_shape_text(shape));
  if (open >= 0) shape->dim[open] = n / known;
  return true;
}

/* The strides of x seen as `shape`, where they exist: each run of dimensions
   that lie one behind the other in x is cut anew. */
static bool view_strides(const heed_tensor *x, const heed_shape *shape,
                         int64_t *stride) {
  if (heed_tensor_numel(x) == 0) {
    heed_shape_strides(shape, stride);
    return true;
  }
  int d = x->shape.ndim - 1, e = shape->ndim - 1;
  while (e >= 0) {
    while (d >= 0 && x->shape.dim[d] == 1) d--;
    if (d < 0) {
      /* only sizes of 1 are left */
      for (; e >= 0; e--) stride[e] = 1;
      return true;
    }
    int64_t step = x->stride[d], run = x->shape.dim[d];
    while (d > 0 && (x->shape.dim[d - 1] == 1 ||
                     x->stride[d - 1] == step * run))
      run *= x->shape.dim[--d];
    int64_t used = 1;
    while (e >= 0 && used < run) {
      stride[e] = step * used;
      used *= shape->dim[e--];
    }
    if (used != run) return false;
    while (e >= 0 && shape->dim[e] == 1) stride[e--] = step * used;
    d--;
  }
  return true;
}

static bool reshape_to(heed_call *c, const heed_shape *shape, bool copy) {
  heed_tensor *x = c->in[0];
  int64_t stride[HEED_MAX_DIM];
  if (view_strides(x, shape, stride)) {
    heed_out_view(c, 0, x, shape, stride, x->offset);
    return true;
  }
  if (!copy)
    return heed_fail("%s: x %s is not laid out so that it can be seen as %s; "
                     "use reshape", c->op->name, heed_shape_text(&x->shape),
                     heed_shape_text(shape));
  heed_out(c, 0, x->dtype, shape);
  return true;
}

/* Copies x into a result that has its elements in row-major order. */
static bool reshape_fwd(heed_call *c) {
  if (c->result[0].base) return true;
  heed_tensor rows = *c->out[0];
  rows.shape = c->in[0]->shape;
  heed_shape_strides(&rows.shape, rows.stride);
  heed_copy(&rows, c->in[0]);
  return true;
}

/* The gradient goes back to the shape of x. */
static bool reshape_bwd(heed_rule_call *r) {
  heed_attr shape = {.list = *heed_in_shape(r, 0)};
  return heed_give(r, 0, heed_do1_with(r, HEED_OP_reshape, r->grad[0],
                                       &shape));
}

/***
The elements of x, in row-major order, in another shape. A view where the
layout allows, else a copy.
@function reshape
@param x tensor
@param shape sizes; one may be -1 and is worked out
@return tensor of that shape
@raise when the number of elements differs
@usage heed.arange(6):reshape(2, -1) --> shape (2, 3)
*/
static bool reshape_check(heed_call *c) {
  heed_shape shape = c->attr[0].list;
  return fill_size(c, &shape) && reshape_to(c, &shape, true);
}
const heed_rule heed_rule_reshape = {
    .check = reshape_check, .forward = reshape_fwd, .backward = reshape_bwd,
    .moves = true};

/***
As `reshape`, but always shares memory with x.
@function view
@param x tensor
@param shape sizes; one may be -1 and is worked out
@return tensor of that shape
@raise when the number of elements differs or the layout does not allow it
@usage heed.arange(6):view(3, 2)
*/
static bool view_check(heed_call *c) {
  heed_shape shape = c->attr[0].list;
  return fill_size(c, &shape) && reshape_to(c, &shape, false);
}
const heed_rule heed_rule_view = {.check = view_check,
                                  .backward = reshape_bwd, .moves = true};

/***
Joins the dimensions first to last into one.
@function flatten
@param x tensor
@param first the first dimension to join, 1 by default
@param last the last one, -1 by default
@return tensor with fewer dimensions; a view where the layout allows
@raise when a dimension is out of range or first lies behind last
@usage heed.zeros(2, 3, 4):flatten(2) --> shape (2, 12)
*/
static bool flatten_check(heed_call *c) {
  heed_tensor *x = c->in[0];
  heed_shape shape = {0};
  if (x->shape.ndim == 0) {
    shape = (heed_shape){1, {1}};
    return reshape_to(c, &shape, true);
  }
  int64_t first = c->attr[0].i, last = c->attr[1].i;
  if (!heed_axis(c, 0, &first) || !heed_axis(c, 0, &last)) return false;
  if (first > last)
    return heed_fail("flatten: first %lld lies behind last %lld",
                     (long long)first + 1, (long long)last + 1);
  for (int d = 0; d < x->shape.ndim; d++) {
    if (d > first && d <= last)
      shape.dim[shape.ndim - 1] *= x->shape.dim[d];
    else
      shape.dim[shape.ndim++] = x->shape.dim[d];
  }
  return reshape_to(c, &shape, true);
}
const heed_rule heed_rule_flatten = {
    .check = flatten_check, .forward = reshape_fwd, .backward = reshape_bwd,
    .moves = true};

/***
Drops dimensions of size 1.
@function squeeze
@param x tensor
@param dim one dimension or a list; all by default. Those of another size stay
@return view of x
@raise when a dimension is out of range
@usage heed.zeros(2, 1, 3):squeeze(2) --> shape (2, 3)
*/
static bool squeeze_check(heed_call *c) {
  heed_tensor *x = c->in[0];
  bool on[HEED_MAX_DIM];
  if (!heed_axes(c, 0, &c->attr[0].list, on)) return false;
  heed_shape shape = {0};
  int64_t stride[HEED_MAX_DIM];
  for (int d = 0; d < x->shape.ndim; d++) {
    if (on[d] && x->shape.dim[d] == 1) continue;
    stride[shape.ndim] = x->stride[d];
    shape.dim[shape.ndim++] = x->shape.dim[d];
  }
  heed_out_view(c, 0, x, &shape, stride, x->offset);
  return true;
}
const heed_rule heed_rule_squeeze = {.check = squeeze_check,
                                     .backward = reshape_bwd, .moves = true};

/***
Puts in a dimension of size 1.
@function unsqueeze
@param x tensor
@param dim where the new dimension stands in the result
@return view of x
@raise when dim is out of range, or x has 8 dimensions
@usage heed.zeros(2, 3):unsqueeze(2) --> shape (2, 1, 3)
*/
static bool unsqueeze_check(heed_call *c) {
  heed_tensor *x = c->in[0];
  int ndim = x->shape.ndim;
  int64_t at = c->attr[0].i;
  if (ndim == HEED_MAX_DIM)
    return heed_fail("unsqueeze: x %s has %d dimensions already",
                     heed_shape_text(&x->shape), HEED_MAX_DIM);
  if (at < 0) at += ndim + 1;
  if (at < 0 || at > ndim)
    return heed_fail("unsqueeze: dim must be 1..%d or -%d..-1 for x %s, got "
                     "%lld", ndim + 1, ndim + 1, heed_shape_text(&x->shape),
                     (long long)(c->attr[0].i + (c->attr[0].i >= 0)));
  heed_shape shape = {.ndim = ndim + 1};
  int64_t stride[HEED_MAX_DIM];
  for (int d = 0, from = 0; d <= ndim; d++) {
    shape.dim[d] = d == at ? 1 : x->shape.dim[from];
    stride[d] = d == at ? 1 : x->stride[from];
    if (d != at) from++;
  }
  heed_out_view(c, 0, x, &shape, stride, x->offset);
  return true;
}
const heed_rule heed_rule_unsqueeze = {.check = unsqueeze_check,
                                       .backward = reshape_bwd, .moves = true};

/* -- reordering and stretching -- */

/***
x with its dimensions in another order.
@function permute
@param x tensor
@param dims every dimension of x once, in the new order
@return view of x
@raise when dims is no permutation of the dimensions
@usage heed.zeros(2, 3, 4):permute(3, 1, 2) --> shape (4, 2, 3)
*/
static bool permute_check(heed_call *c) {
  heed_tensor *x = c->in[0];
  const heed_shape *dims = &c->attr[0].list;
  bool on[HEED_MAX_DIM];
  if (dims->ndim != x->shape.ndim)
    return heed_fail("permute: dims must name all %d dimensions of x %s, got "
                     "%d", x->shape.ndim, heed_shape_text(&x->shape),
                     dims->ndim < 0 ? 0 : dims->ndim);
  if (!heed_axes(c, 0, dims, on)) return false;
  heed_shape shape = {.ndim = dims->ndim};
  int64_t stride[HEED_MAX_DIM];
  for (int d = 0; d < dims->ndim; d++) {
    int64_t from = dims->dim[d];
    if (from < 0) from += dims->ndim;
    shape.dim[d] = x->shape.dim[from];
    stride[d] = x->stride[from];
  }
  heed_out_view(c, 0, x, &shape, stride, x->offset);
  return true;
}
static bool permute_bwd(heed_rule_call *r) {
  const heed_shape *dims = &r->attr[0].list;
  heed_attr back = {.list = {.ndim = dims->ndim}};
  for (int d = 0; d < dims->ndim; d++) {
    int64_t from = dims->dim[d];
    back.list.dim[from < 0 ? from + dims->ndim : from] = d;
  }
  return heed_give(r, 0, heed_do1_with(r, HEED_OP_permute, r->grad[0],
                                       &back));
}
const heed_rule heed_rule_permute = {.check = permute_check,
                                     .backward = permute_bwd, .moves = true};

/***
x with two dimensions exchanged.
@function transpose
@param x tensor
@param dim1 one dimension, the last by default
@param dim2 the other, the last but one by default
@return view of x
@raise when a dimension is out of range
@usage heed.zeros(2, 3):transpose() --> shape (3, 2)
*/
static bool transpose_check(heed_call *c) {
  heed_tensor *x = c->in[0];
  int64_t a = c->attr[0].i, b = c->attr[1].i;
  if (!heed_axis(c, 0, &a) || !heed_axis(c, 0, &b)) return false;
  heed_shape shape = x->shape;
  int64_t stride[HEED_MAX_DIM];
  memcpy(stride, x->stride, sizeof stride);
  shape.dim[a] = x->shape.dim[b];
  shape.dim[b] = x->shape.dim[a];
  stride[a] = x->stride[b];
  stride[b] = x->stride[a];
  heed_out_view(c, 0, x, &shape, stride, x->offset);
  return true;
}
static bool transpose_bwd(heed_rule_call *r) {
  return heed_give(r, 0, heed_do1_with(r, HEED_OP_transpose, r->grad[0],
                                       r->attr));
}
const heed_rule heed_rule_transpose = {.check = transpose_check,
                                       .backward = transpose_bwd,
    .moves = true};

/***
x with dimensions of size 1 stretched, and new ones in front, without a copy.
@function expand
@param x tensor
@param shape the sizes wanted; -1 keeps a size of x
@return view of x, in which several elements are one place in memory
@raise when another size than 1 would have to change
@usage heed.ones(3, 1):expand(3, 4)
*/
static bool expand_check(heed_call *c) {
  heed_tensor *x = c->in[0];
  heed_shape shape = c->attr[0].list;
  int64_t stride[HEED_MAX_DIM];
  int extra = shape.ndim - x->shape.ndim;
  bool ok = extra >= 0;
  for (int d = 0; ok && d < shape.ndim; d++) {
    int64_t from = d < extra ? 1 : x->shape.dim[d - extra];
    if (shape.dim[d] == -1 && d >= extra) shape.dim[d] = from;
    ok = shape.dim[d] >= 0 && (from == shape.dim[d] || from == 1);
    bool stretched = d < extra || from != shape.dim[d];
    stride[d] = stretched ? 0 : x->stride[d - extra];
  }
  if (!ok)
    return heed_fail("expand: x %s cannot be expanded to %s",
                     heed_shape_text(&x->shape),
                     heed_shape_text(&c->attr[0].list));
  if (!heed_shape_check(c->op->name, &shape, x->dtype)) return false;
  heed_out_view(c, 0, x, &shape, stride, x->offset);
  return true;
}
static bool expand_bwd(heed_rule_call *r) {
  return heed_give(r, 0, r->grad[0]); /* which sums it down */
}
const heed_rule heed_rule_expand = {.check = expand_check,
                                    .backward = expand_bwd, .moves = true};

/* -- joining -- */

static bool one_dtype(const heed_call *c) {
  if (c->nin == 0)
    return heed_fail("%s: tensors must not be empty", c->op->name);
  for (int i = 1; i < c->nin; i++)
    if (c->in[i]->dtype != c->in[0]->dtype)
      return heed_fail("%s: tensors must have one dtype, got %s at 1 and %s "
                       "at %d", c->op->name,
                       heed_dtype_name(c->in[0]->dtype),
                       heed_dtype_name(c->in[i]->dtype), i + 1);
  return true;
}

/* Copies the inputs one behind the other along `dim` of the result. */
static void join(heed_call *c, int64_t dim, bool keep) {
  heed_tensor part = *c->out[0];
  for (int i = 0; i < c->nin; i++) {
    heed_tensor *x = c->in[i];
    int64_t n = keep ? x->shape.dim[dim] : 1;
    part.shape.dim[dim] = n;
    heed_tensor from = *x;
    if (!keep) {
      from.shape = part.shape;
      for (int d = part.shape.ndim - 1; d >= 0; d--)
        from.stride[d] = d == dim ? 1 : x->stride[d > dim ? d - 1 : d];
    }
    heed_copy(&part, &from);
    part.offset += n * part.stride[dim];
  }
}

/***
Tensors one behind the other along a dimension.
@function cat
@param tensors list of tensors of one dtype whose other sizes agree
@param dim dimension, 1 by default
@return tensor, a copy
@raise when the list is empty or sizes or dtypes differ
@usage heed.cat({heed.zeros(2, 3), heed.ones(1, 3)}) --> shape (3, 3)
*/
static bool cat_check(heed_call *c) {
  int64_t dim = c->attr[0].i;
  if (!one_dtype(c) || !heed_axis(c, 0, &dim)) return false;
  heed_shape shape = c->in[0]->shape;
  for (int i = 1; i < c->nin; i++) {
    const heed_shape *s = &c->in[i]->shape;
    bool fits = s->ndim == shape.ndim;
    for (int d = 0; fits && d < shape.ndim; d++)
      fits = d == dim || s->dim[d] == shape.dim[d];
    if (!fits)
      return heed_fail("cat: tensor %d %s must agree with tensor 1 %s in all "
                       "sizes but that of dim %lld", i + 1,
                       heed_shape_text(s), heed_shape_text(&c->in[0]->shape),
                       (long long)dim + 1);
    if (__builtin_add_overflow(shape.dim[dim], s->dim[dim], &shape.dim[dim]))
      return heed_fail("cat: tensors have too many elements");
  }
  heed_out(c, 0, c->in[0]->dtype, &shape);
  return true;
}
static bool cat_fwd(heed_call *c) {
  int64_t dim = c->attr[0].i;
  join(c, dim < 0 ? dim + c->out[0]->shape.ndim : dim, true);
  return true;
}
static bool cat_bwd(heed_rule_call *r) {
  int64_t dim = r->attr[0].i, at = 0;
  if (dim < 0) dim += heed_in_shape(r, 0)->ndim;
  for (int i = 0; i < r->node->nin; i++) {
    int64_t n = heed_in_shape(r, i)->dim[dim];
    heed_attr attr[4] = {{.i = dim}, {.i = at}, {.i = at + n - 1}, {.i = 1}};
    at += n;
    if (!heed_needs(r, i)) continue;
    heed_tensor *g = r->grad[0];
    if (n > 0) g = heed_do1_with(r, HEED_OP_slice, g, attr);
    else g = heed_grad_zeros(r, i);
    if (!heed_give(r, i, g)) return false;
  }
  return true;
}
const heed_rule heed_rule_cat = {.check = cat_check, .forward = cat_fwd,
                                 .backward = cat_bwd, .moves = true};

/***
Tensors of one shape along a new dimension.
@function stack
@param tensors list of tensors of one shape and dtype
@param dim where the new dimension stands, 1 by default
@return tensor with one dimension more, a copy
@raise when the list is empty or shapes or dtypes differ
@usage heed.stack({heed.zeros(3), heed.ones(3)}) --> shape (2, 3)
*/
static bool stack_check(heed_call *c) {
  if (!one_dtype(c)) return false;
  const heed_shape *first = &c->in[0]->shape;
  for (int i = 1; i < c->nin; i++)
    if (!heed_shape_equal(first, &c->in[i]->shape))
      return heed_fail("stack: tensor %d %s must have the shape of tensor 1 "
                       "%s", i + 1, heed_shape_text(&c->in[i]->shape),
                       heed_shape_text(first));
  int ndim = first->ndim + 1;
  int64_t at = c->attr[0].i < 0 ? c->attr[0].i + ndim : c->attr[0].i;
  if (ndim > HEED_MAX_DIM)
    return heed_fail("stack: tensors %s have %d dimensions already",
                     heed_shape_text(first), HEED_MAX_DIM);
  if (at < 0 || at >= ndim)
    return heed_fail("stack: dim must be 1..%d or -%d..-1 for tensors %s, "
                     "got %lld", ndim, ndim, heed_shape_text(first),
                     (long long)(c->attr[0].i + (c->attr[0].i >= 0)));
  heed_shape shape = {.ndim = ndim};
  for (int d = 0, from = 0; d < ndim; d++)
    shape.dim[d] = d == at ? c->nin : first->dim[from++];
  heed_out(c, 0, c->in[0]->dtype, &shape);
  return true;
}
static bool stack_fwd(heed_call *c) {
  int64_t dim = c->attr[0].i;
  join(c, dim < 0 ? dim + c->out[0]->shape.ndim : dim, false);
  return true;
}
static bool stack_bwd(heed_rule_call *r) {
  for (int i = 0; i < r->node->nin; i++) {
    heed_attr attr[2] = {r->attr[0], {.i = i}};
    if (heed_needs(r, i) &&
        !heed_give(r, i, heed_do1_with(r, HEED_OP_select, r->grad[0], attr)))
      return false;
  }
  return true;
}
const heed_rule heed_rule_stack = {.check = stack_check,
                                   .forward = stack_fwd,
                                   .backward = stack_bwd, .moves = true};

/***
A copy of x with dimensions reversed.
@function flip
@param x tensor
@param dims one dimension or a list; all by default
@return tensor like x
@raise when a dimension is out of range
@usage heed.arange(3):flip() --> 3 2 1
*/
static bool flip_check(heed_call *c) {
  bool on[HEED_MAX_DIM];
  heed_out_like(c, 0, c->in[0]);
  return heed_axes(c, 0, &c->attr[0].list, on);
}
static bool flip_fwd(heed_call *c) {
  bool on[HEED_MAX_DIM];
  heed_tensor from = *c->in[0];
  if (!heed_axes(c, 0, &c->attr[0].list, on)) return false;
  if (heed_tensor_numel(&from) == 0) return true;
  for (int d = 0; d < from.shape.ndim; d++) {
    if (!on[d]) continue;
    from.offset += (from.shape.dim[d] - 1) * from.stride[d];
    from.stride[d] = -from.stride[d];
  }
  heed_copy(c->out[0], &from);
  return true;
}
static bool flip_bwd(heed_rule_call *r) {
  return heed_give(r, 0, heed_do1_with(r, HEED_OP_flip, r->grad[0],
                                       r->attr));
}
const heed_rule heed_rule_flip = {.check = flip_check, .forward = flip_fwd,
                                  .backward = flip_bwd, .moves = true};
