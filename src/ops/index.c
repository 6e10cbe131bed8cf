/*
 * index - ops on the rows of one dimension that an index names. Layer: ops.
 * Read first: places.h. For a place for each element see gather.c.
 */
#include <string.h>

#include "base/error.h"
#include "ops/copy.h"
#include "ops/ops.h"
#include "ops/places.h"

/***
The entries of one dimension that the index names, in its order.
@function index_select
@param x tensor
@param index int64 tensor of any shape: positions, which may repeat and may
count from the end
@param dim dimension, 1 by default
@return tensor like x with that dimension replaced by those of the index
@raise when index is not int64 or a position is out of range
@usage heed.tensor{10, 20, 30}:index_select(heed.tensor{3, 1}) --> 30 10
*/
static bool index_select_check(heed_call *c) {
  heed_shape region;
  heed_tensor *x = c->in[0];
  if (!heed_axis(c, 0, &c->attr[0].i) ||
      !heed_places_region(c, 1, &x->shape, c->attr[0].i, &region))
    return false;
  heed_out(c, 0, x->dtype, &region);
  return true;
}
static bool index_select_fwd(heed_call *c) {
  heed_places p;
  if (!heed_places_open(&p, c, 1, &c->in[0]->shape, c->attr[0].i, true))
    return false;
  heed_places_read(&p, c->out[0], c->in[0]);
  heed_places_close(&p);
  return true;
}
static bool index_select_bwd(heed_rule_call *r) {
  heed_attr attr[2] = {{.list = *heed_in_shape(r, 0)}, r->attr[0]};
  return heed_give(r, 0, heed_do2_with(r, HEED_OP_index_select_bwd,
                                       r->grad[0], heed_in(r, 1), attr));
}
const heed_rule heed_rule_index_select = {
    .check = index_select_check, .forward = index_select_fwd,
    .backward = index_select_bwd, .keep = {0, HEED_NEED(0)}, .moves = true};

/* Zeros of a shape, with the gradient added to the rows. */
static bool index_select_bwd_check(heed_call *c) {
  heed_out(c, 0, c->in[0]->dtype, &c->attr[0].list);
  return true;
}
static bool index_select_bwd_fwd(heed_call *c) {
  heed_tensor *y = c->out[0];
  heed_places p;
  if (!heed_places_open(&p, c, 1, &y->shape, c->attr[1].i, true))
    return false;
  memset(heed_tensor_data(y), 0, y->storage->bytes);
  heed_places_write(&p, y, c->in[0], HEED_PLACES_ADD);
  heed_places_close(&p);
  return true;
}
static bool index_select_bwd_bwd(heed_rule_call *r) {
  return heed_give(r, 0, heed_do2_with(r, HEED_OP_index_select, r->grad[0],
                                       heed_in(r, 1), &r->attr[1]));
}
const heed_rule heed_rule_index_select_bwd = {
    .check = index_select_bwd_check, .forward = index_select_bwd_fwd,
    .backward = index_select_bwd_bwd, .keep = {0, HEED_NEED(0)}};

/***
x with the entries of dimension 1 that the index names replaced by a value: a
copy, where `x[index] = value` changes x itself. Of positions that repeat the
last one stays.
@function index_put
@param x tensor
@param index int64 tensor of any shape: positions; may count from the end
@param value number, or tensor that broadcasts to what `x[index]` is; taken in
the dtype of x
@return tensor like x
@raise when the shapes do not fit or a position is out of range
@usage heed.core.ops.index_put(heed.zeros(3), heed.tensor{3, 1}, 7) --> 7 0 7
*/
static bool index_put_check(heed_call *c) {
  heed_tensor *x = c->in[0], *value = c->in[2];
  heed_shape region, both;
  if (!heed_want_ndim(c, 0, 1) ||
      !heed_places_region(c, 1, &x->shape, 0, &region))
    return false;
  if (!heed_shape_broadcast(&value->shape, &region, &both) ||
      !heed_shape_equal(&both, &region))
    return heed_fail("index_put: value %s cannot be broadcast to %s, which "
                     "index %s takes from x %s",
                     heed_shape_text(&value->shape),
                     heed_shape_text(&region),
                     heed_shape_text(&c->in[1]->shape),
                     heed_shape_text(&x->shape));
  heed_out_like(c, 0, x);
  return true;
}
/* t in a dtype; a new reference. */
static heed_tensor *in_dtype(heed_tensor *t, heed_dtype dtype) {
  if (t->dtype == dtype) return heed_tensor_ref(t);
  heed_tensor *cast = heed_tensor_new("index_put", dtype, &t->shape);
  if (cast) heed_copy(cast, t);
  return cast;
}
static bool index_put_fwd(heed_call *c) {
  heed_tensor *x = c->in[0];
  heed_places p;
  if (!heed_places_open(&p, c, 1, &x->shape, 0, true)) return false;
  heed_tensor *value = in_dtype(c->in[2], x->dtype);
  if (value) {
    heed_copy(c->out[0], x);
    heed_places_write(&p, c->out[0], value, HEED_PLACES_PUT);
  }
  heed_places_close(&p);
  heed_tensor_drop(value);
  return value != NULL;
}
/* The gradient at the rows, for those that stayed. */
static heed_tensor *index_put_value_bwd(heed_rule_call *r) {
  heed_tensor *index = heed_in(r, 1);
  if (!index) return NULL;
  const heed_shape *x = heed_in_shape(r, 0);
  heed_attr flat = {.list = {1, {heed_tensor_numel(index)}}};
  heed_attr first[2] = {{.list = {1, {x->dim[0]}}}, {.i = 0}};
  heed_attr column = {.list = index->shape}; /* to broadcast over rows */
  for (int d = 1; d < x->ndim; d++) column.list.dim[column.list.ndim++] = 1;

  heed_tensor *last = heed_do1_with(r, HEED_OP_reshape, index, &flat);
  last = heed_do1_with(r, HEED_OP_last_writer, last, first);
  last = heed_do1_with(r, HEED_OP_reshape, last, &column);
  heed_tensor *g = heed_do2_with(r, HEED_OP_index_select, r->grad[0], index,
                                 &(heed_attr){.i = 0});
  return heed_do(r, heed_op_find("where"),
                 (heed_tensor *[]){last, g, heed_number(r, 0)}, 3, NULL);
}
static bool index_put_bwd(heed_rule_call *r) {
  if (heed_needs(r, 0)) {
    heed_tensor *in[3] = {r->grad[0], heed_in(r, 1), heed_number(r, 0)};
    if (!heed_give(r, 0, heed_do(r, heed_op_find("index_put"), in, 3, NULL)))
      return false;
  }
  return !heed_needs(r, 2) || heed_give(r, 2, index_put_value_bwd(r));
}
const heed_rule heed_rule_index_put = {
    .check = index_put_check, .forward = index_put_fwd,
    .backward = index_put_bwd, .keep = {0, HEED_ALWAYS}, .moves = true};

/***
x with the entries of source added to those of one dimension that the index
names; where positions repeat, all of them count.
@function index_add
@param x tensor of numbers
@param dim dimension
@param index int64 tensor of any shape: positions; may count from the end
@param source tensor like x with that dimension replaced by those of the index
@return tensor like x, in the common dtype of x and source
@raise when the shapes do not fit or a position is out of range
@usage heed.zeros(3):index_add(1, heed.tensor{1, 1}, heed.tensor{5, 6})
--> 11 0 0
*/
static bool index_add_check(heed_call *c) {
  heed_tensor *x = c->in[0], *source = c->in[2];
  heed_shape region;
  if (!heed_axis(c, 0, &c->attr[0].i) ||
      !heed_places_region(c, 1, &x->shape, c->attr[0].i, &region))
    return false;
  if (x->dtype == HEED_BOOL)
    return heed_fail("index_add: x and source must be numbers, got %s",
                     heed_tensor_text(x));
  if (!heed_shape_equal(&source->shape, &region))
    return heed_fail("index_add: source must be %s for x %s and index %s, "
                     "got %s", heed_shape_text(&region),
                     heed_shape_text(&x->shape),
                     heed_shape_text(&c->in[1]->shape),
                     heed_shape_text(&source->shape));
  heed_out_like(c, 0, x);
  return true;
}
static bool index_add_fwd(heed_call *c) {
  heed_tensor *x = c->in[0];
  heed_places p;
  if (!heed_places_open(&p, c, 1, &x->shape, c->attr[0].i, true))
    return false;
  heed_copy(c->out[0], x);
  heed_places_write(&p, c->out[0], c->in[2], HEED_PLACES_ADD);
  heed_places_close(&p);
  return true;
}
static bool index_add_bwd(heed_rule_call *r) {
  if (heed_needs(r, 0) && !heed_give(r, 0, r->grad[0])) return false;
  return !heed_needs(r, 2) ||
         heed_give(r, 2, heed_do2_with(r, HEED_OP_index_select, r->grad[0],
                                       heed_in(r, 1), r->attr));
}
const heed_rule heed_rule_index_add = {
    .check = index_add_check, .forward = index_add_fwd,
    .backward = index_add_bwd, .keep = {0, HEED_NEED(2)}, .promote = true,
    .fixed = HEED_NEED(1)};
