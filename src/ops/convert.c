/* convert - dtypes and copies. Layer: ops. Read first: core/op.h. */
#include <math.h>

#include "base/error.h"
#include "core/iter.h"
#include "kernel/kernel.h"
#include "ops/copy.h"
#include "ops/ops.h"

static void row_cast(void *loop, int64_t n, char *const *p,
                     const int64_t *s) {
  (*(heed_loop1 **)loop)(n, p[0], s[0], p[1], s[1]);
}

void heed_copy(heed_tensor *to, heed_tensor *from) {
  heed_loop1 *loop = heed_kernel.cast[to->dtype][from->dtype];
  heed_iter_map(&to->shape, 2, (heed_tensor *[]){to, from}, 32768, row_cast,
                &loop);
}

heed_tensor *heed_contiguous(const char *op, heed_tensor *x) {
  if (heed_tensor_is_contiguous(x)) return heed_tensor_ref(x);
  heed_tensor *y = heed_tensor_new(op, x->dtype, &x->shape);
  if (y) heed_copy(y, x);
  return y;
}

bool heed_want_held(const heed_call *c, int i, heed_dtype dtype) {
  const heed_tensor *t = c->in[i];
  if (!t->weak) return true;
  heed_value v = heed_element(t->dtype, heed_tensor_data(t), 0);
  return heed_dtype_holds(dtype, !heed_dtype_is_float(t->dtype), v) ||
         heed_fail("%s: %s must be %s for %s, got %.17g", c->op->name,
                   heed_input_name(c, i), heed_dtype_range(dtype),
                   heed_dtype_name(dtype), v.f == v.f ? v.f : NAN);
}

static bool copy_fwd(heed_call *c) {
  if (!c->result[0].base) heed_copy(c->out[0], c->in[0]);
  return true;
}

/* The result is x itself, seen through a new tensor. */
static void out_same(heed_call *c) {
  heed_tensor *x = c->in[0];
  heed_out_view(c, 0, x, &x->shape, x->stride, x->offset);
}

static bool same_bwd(heed_rule_call *r) {
  return heed_give(r, 0, r->grad[0]);
}

/***
x in another dtype. Floats become integers by dropping the fraction; a number
is true when it is not 0. A view of x when the dtype is already right.
@function to
@param x tensor
@param dtype `"bool"`, `"uint8"`, `"int32"`, `"int64"`, `"float16"`,
`"bfloat16"`, `"float32"` or `"float64"`
@return tensor of the shape of x
@raise for an unknown dtype
@usage heed.tensor{1.7, -1.7}:to("int64") --> 1 -1
*/
static bool to_check(heed_call *c) {
  heed_tensor *x = c->in[0];
  heed_dtype dtype = (heed_dtype)c->attr[0].i;
  if (dtype == x->dtype)
    out_same(c);
  else
    heed_out(c, 0, dtype, &x->shape);
  return true;
}
/* heed_give casts the gradient back */
const heed_rule heed_rule_to = {
    .check = to_check, .forward = copy_fwd, .backward = same_bwd,
    .moves = true};

/***
A copy of x in memory of its own, row-major.
@function clone
@param x tensor
@return tensor like x
@usage local y = heed.ones{2}:clone()
*/
const heed_rule heed_rule_clone = {
    .check = heed_check_like, .forward = copy_fwd, .backward = same_bwd,
    .moves = true};

/***
x when it is row-major without gaps (as a view), else a copy that is.
@function contiguous
@param x tensor
@return tensor like x
@usage heed.ones{2, 3}:transpose(1, 2):contiguous()
*/
static bool contiguous_check(heed_call *c) {
  if (heed_tensor_is_contiguous(c->in[0]))
    out_same(c);
  else
    heed_out_like(c, 0, c->in[0]);
  return true;
}
const heed_rule heed_rule_contiguous = {
    .check = contiguous_check, .forward = copy_fwd, .backward = same_bwd,
    .moves = true};

/***
x cut off from its graph: shares the memory, takes no gradient.
@function detach
@param x tensor
@return tensor like x
@usage local y = heed.ones({2}, {requires_grad = true}):detach()
*/
static bool detach_check(heed_call *c) {
  out_same(c);
  return true;
}
const heed_rule heed_rule_detach = {.check = detach_check, .moves = true};

/* x and b must fit without changing x. */
static bool copy__check(heed_call *c) {
  heed_tensor *x = c->in[0], *b = c->in[1];
  heed_shape shape;
  if (!heed_shape_broadcast(&x->shape, &b->shape, &shape) ||
      !heed_shape_equal(&shape, &x->shape))
    return heed_fail("%s: %s %s does not broadcast to x %s", c->op->name,
                     heed_input_name(c, 1), heed_shape_text(&b->shape),
                     heed_shape_text(&x->shape));
  heed_out_like(c, 0, x);
  return heed_want_held(c, 1, x->dtype);
}

/* b in the dtype of x and apart from what is about to be written. */
static heed_tensor *operand_for(heed_call *c) {
  heed_tensor *x = c->in[0], *b = c->in[1];
  if (b->dtype == x->dtype && b->storage != x->storage)
    return heed_tensor_ref(b);
  heed_tensor *own = heed_tensor_new(c->op->name, x->dtype, &b->shape);
  if (own) heed_copy(own, b);
  return own;
}

/***
Copies source into x, broadcast and cast to the dtype of x as `to` casts:
integers drop a fraction.
@function copy_
@param x tensor, overwritten
@param source tensor that broadcasts to x, or number
@return x
@raise when source does not broadcast to x, or when x is a leaf that wants
gradients (outside `heed.no_grad`)
@usage local x = heed.zeros{2}; x:copy_(heed.tensor{1, 2}) --> 1 2
*/
static bool copy__fwd(heed_call *c) {
  heed_tensor *x = c->in[0], *b = operand_for(c);
  if (!b) return false;
  heed_copy(x, b);
  heed_tensor_drop(b);
  return true;
}
static bool copy__bwd(heed_rule_call *r) {
  if (heed_needs(r, 0) && !heed_give(r, 0, heed_grad_zeros(r, 0)))
    return false;
  return !heed_needs(r, 1) || heed_give(r, 1, r->grad[0]);
}
const heed_rule heed_rule_copy_ = {
    .check = copy__check, .forward = copy__fwd, .backward = copy__bwd,
    .in_place = 1, .moves = true};

/***
Fills x with one number.
@function fill_
@param x tensor, overwritten
@param value number, boolean, or tensor without dimensions
@return x
@raise when value has dimensions or lies beyond the dtype of x, or when x is a
leaf that wants gradients (outside `heed.no_grad`)
@usage heed.empty(2):fill_(1.5) --> 1.5 1.5
*/
static bool fill__check(heed_call *c) {
  if (c->in[1]->shape.ndim > 0)
    return heed_fail("fill_: value must be a number or a tensor without "
                     "dimensions, got %s", heed_tensor_text(c->in[1]));
  return copy__check(c);
}
const heed_rule heed_rule_fill_ = {
    .check = fill__check, .forward = copy__fwd, .backward = copy__bwd,
    .in_place = 1, .moves = true};
