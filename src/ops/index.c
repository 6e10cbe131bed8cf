/*
 * index - ops on the places that index tensors name in one or several
 * dimensions. Layer: ops. Read first: places.h. For a place for each element
 * see gather.c.
 *
 * index and index_put are what t[key] and t[key] = value (bind/index.c) come
 * down to, once integers and ranges have been seen to.
 */
#include <string.h>

#include "base/error.h"
#include "ops/copy.h"
#include "ops/ops.h"
#include "ops/places.h"

#define MOST (2 + HEED_MAX_DIM) /* inputs: x, value and indices */

/* Every index is kept for the gradients of `inputs`. */
#define KEEP_FROM_1(inputs)                                              \
  {0, inputs, inputs, inputs, inputs, inputs, inputs, inputs, inputs, inputs}
#define KEEP_FROM_2(inputs)                                              \
  {0, 0, inputs, inputs, inputs, inputs, inputs, inputs, inputs, inputs}

static heed_indices one_index(const heed_call *c, int64_t dim) {
  return (heed_indices){c, 1, {1, {dim}}};
}

/* The indices from input `first` on, one for each of the dims. */
static bool list_of_indices(heed_call *c, int first, heed_shape *dims,
                            heed_indices *s) {
  int n = c->nin - first;
  bool rise = dims->ndim == n && n > 0;
  for (int j = 0; j < dims->ndim; j++) {
    if (!heed_axis(c, 0, &dims->dim[j])) return false;
    rise = rise && (j == 0 || dims->dim[j] > dims->dim[j - 1]);
  }
  *s = (heed_indices){c, first, *dims};
  return rise || heed_fail("%s: dims must name one dimension for each index, "
                           "in rising order", c->op->name);
}

/* -- reading -- */

static bool read_check(heed_call *c, const heed_indices *s) {
  heed_places p;
  if (!heed_places_rows(&p, s, &c->in[0]->shape)) return false;
  heed_out(c, 0, c->in[0]->dtype, &p.region);
  return true;
}

static bool read_fwd(heed_call *c, const heed_indices *s) {
  heed_places p;
  if (!heed_places_open_rows(&p, s, c->in[0])) return false;
  heed_places_read(&p, c->out[0], c->in[0]);
  heed_places_close(&p);
  return true;
}

/* An op on `t`, a value and `count` indices of the node, from input `first`
   on. */
static heed_tensor *do_indices(heed_rule_call *r, heed_op_id op,
                               heed_tensor *t, heed_tensor *value, int first,
                               int count, const heed_attr *attr) {
  heed_tensor *in[MOST];
  int n = 0;
  if (t) in[n++] = t;
  if (value) in[n++] = value;
  for (int i = first; i < first + count; i++)
    if (!(in[n++] = heed_in(r, i))) return NULL;
  return heed_do(r, heed_op_at((int)op), in, n, attr);
}

/* The gradient of input 0, of which the indices took a part. */
static bool give_back(heed_rule_call *r, const heed_shape *dims) {
  heed_attr attr[2] = {{.list = *heed_in_shape(r, 0)}, {.list = *dims}};
  return heed_give(r, 0, do_indices(r, HEED_OP_index_bwd, r->grad[0], NULL,
                                    1, dims->ndim, attr));
}

/***
The entries of one dimension that the index names, in its order: a copy.
@function index_select
@param x tensor
@param index tensor of int64, int32 or uint8, of any shape: positions, which
may repeat and may count from the end
@param dim dimension, 1 by default
@return tensor like x with that dimension replaced by those of the index
@raise when index holds no integers or a position is out of range
@usage heed.tensor{10, 20, 30}:index_select(heed.tensor{3, 1}) --> 30 10
*/
static bool index_select_check(heed_call *c) {
  if (!heed_axis(c, 0, &c->attr[0].i)) return false;
  heed_indices s = one_index(c, c->attr[0].i);
  return read_check(c, &s);
}
static bool index_select_fwd(heed_call *c) {
  heed_indices s = one_index(c, c->attr[0].i);
  return read_fwd(c, &s);
}
static bool index_select_bwd(heed_rule_call *r) {
  return give_back(r, &(heed_shape){1, {r->attr[0].i}});
}
const heed_rule heed_rule_index_select = {
    .check = index_select_check, .forward = index_select_fwd,
    .backward = index_select_bwd, .keep = {0, HEED_NEED(0)}, .moves = true};

/***
What x has at the places that indices name in several of its dimensions: a
copy. The indices are broadcast together; their dimensions replace the indexed
ones, in their place when those lie side by side, else in front.
@function index
@param x tensor
@param index list of tensors of int64, int32 or uint8: positions
@param dims one dimension of x for each index, in rising order
@return tensor
@raise when the indices do not fit together or a position is out of range
@usage local i, j = heed.tensor{1, 2}, heed.tensor{2, 2}
heed.core.ops.index(heed.tensor{{1, 2}, {3, 4}}, {i, j}, {1, 2}) --> 2 4
*/
static bool index_check(heed_call *c) {
  heed_indices s;
  return list_of_indices(c, 1, &c->attr[0].list, &s) && read_check(c, &s);
}
static bool index_fwd(heed_call *c) {
  return read_fwd(c, &(heed_indices){c, 1, c->attr[0].list});
}
static bool index_bwd(heed_rule_call *r) {
  return give_back(r, &r->attr[0].list);
}
const heed_rule heed_rule_index = {
    .check = index_check, .forward = index_fwd, .backward = index_bwd,
    .keep = KEEP_FROM_1(HEED_NEED(0)), .moves = true};

/* Zeros of a shape, with the gradient added at the places. */
static bool index_bwd_fwd(heed_call *c) {
  heed_tensor *y = c->out[0];
  heed_places p;
  heed_indices s = {c, 1, c->attr[1].list};
  if (!heed_places_open_rows(&p, &s, y)) return false;
  memset(heed_tensor_data(y), 0, y->storage->bytes);
  heed_places_write(&p, y, c->in[0], HEED_PLACES_ADD);
  heed_places_close(&p);
  return true;
}
static bool index_bwd_bwd(heed_rule_call *r) {
  return heed_give(r, 0, do_indices(r, HEED_OP_index, r->grad[0], NULL, 1,
                                    r->attr[1].list.ndim, &r->attr[1]));
}
const heed_rule heed_rule_index_bwd = {
    .check = heed_check_shape, .forward = index_bwd_fwd,
    .backward = index_bwd_bwd, .keep = KEEP_FROM_1(HEED_NEED(0))};

/* -- writing -- */

/* `value` must broadcast to what the indices take from x. */
static bool write_check(heed_call *c, const heed_indices *s,
                        const heed_tensor *value) {
  heed_tensor *x = c->in[0];
  heed_places p;
  heed_shape both;
  if (!heed_places_rows(&p, s, &x->shape)) return false;
  if (!heed_shape_broadcast(&value->shape, &p.region, &both) ||
      !heed_shape_equal(&both, &p.region))
    return heed_fail("%s: value %s cannot be broadcast to the %s that the "
                     "index takes from x %s", c->op->name,
                     heed_shape_text(&value->shape),
                     heed_shape_text(&p.region), heed_shape_text(&x->shape));
  heed_out_like(c, 0, x);
  return true;
}

static bool write_fwd(heed_call *c, const heed_indices *s,
                      heed_tensor *value, heed_places_how how) {
  heed_tensor *x = c->in[0], *y = c->out[0];
  heed_places p;
  if (!heed_places_open_rows(&p, s, y)) return false;
  if (y != x) heed_copy(y, x);
  heed_tensor *from = heed_places_source(c->op->name, value, y);
  if (from) heed_places_write(&p, y, from, how);
  heed_tensor_drop(from);
  heed_places_close(&p);
  return from != NULL;
}

/* Puts a value there, in the dtype of x. */
static bool put_fwd(heed_call *c, const heed_indices *s, heed_tensor *value) {
  heed_dtype dtype = c->in[0]->dtype;
  heed_tensor *own = heed_tensor_ref(value);
  if (value->dtype != dtype) {
    heed_tensor_drop(own);
    own = heed_tensor_new(c->op->name, dtype, &value->shape);
    if (own) heed_copy(own, value);
  }
  bool ok = own && write_fwd(c, s, own, HEED_PLACES_PUT);
  heed_tensor_drop(own);
  return ok;
}

static bool want_numbers(const heed_call *c) {
  return c->in[0]->dtype != HEED_BOOL ||
         heed_fail("%s: x must hold numbers, got %s", c->op->name,
                   heed_tensor_text(c->in[0]));
}

/***
x with a value at the places that indices name, as `index` reads them: a copy,
where `x[{i, j}] = value` changes x itself. Of places that repeat the last one
stays.
@function index_put
@param x tensor
@param value number, or tensor that broadcasts to what the indices take from
x; taken in the dtype of x
@param index list of tensors of int64, int32 or uint8: positions
@param dims one dimension of x for each index, in rising order
@return tensor like x
@raise when the shapes do not fit or a position is out of range
@usage heed.core.ops.index_put(heed.zeros(3), 7, {heed.tensor{3, 1}}, 1)
--> 7 0 7
*/
static bool index_put_check(heed_call *c) {
  heed_indices s;
  return list_of_indices(c, 2, &c->attr[0].list, &s) &&
         write_check(c, &s, c->in[1]) &&
         heed_want_held(c, 1, c->in[0]->dtype);
}
static bool index_put_fwd(heed_call *c) {
  return put_fwd(c, &(heed_indices){c, 2, c->attr[0].list}, c->in[1]);
}
/* The gradient of a value at the places, for the elements that stayed. The
   n indices are the inputs from number `first` on. */
static heed_tensor *value_bwd(heed_rule_call *r, int first,
                              const heed_shape *dims) {
  const heed_shape *x = heed_in_shape(r, 0);
  int n = dims->ndim;
  heed_attr sizes = {.list = {.ndim = n}}, list = {.list = *dims};
  for (int j = 0; j < n; j++) sizes.list.dim[j] = x->dim[dims->dim[j]];
  heed_tensor *g = do_indices(r, HEED_OP_index, r->grad[0], NULL, first, n,
                              &list);
  heed_tensor *last = do_indices(r, HEED_OP_index_last, NULL, NULL, first, n,
                                 &sizes);
  if (!g || !last) return NULL;
  /* sizes of 1 behind it, to broadcast over the rest of the region */
  bool together = dims->dim[n - 1] - dims->dim[0] == n - 1;
  int at = together ? (int)dims->dim[0] : 0;
  heed_attr column = {.list = last->shape};
  while (at + column.list.ndim < g->shape.ndim)
    column.list.dim[column.list.ndim++] = 1;
  last = heed_do1_with(r, HEED_OP_reshape, last, &column);
  return heed_do3(r, HEED_OP_where, last, g, heed_number(r, 0));
}
/* The gradient of x: 0 at the places. */
static heed_tensor *rest_bwd(heed_rule_call *r, int first,
                             const heed_shape *dims) {
  heed_attr list = {.list = *dims};
  return do_indices(r, HEED_OP_index_put, r->grad[0], heed_number(r, 0),
                    first, dims->ndim, &list);
}
static bool index_put_bwd(heed_rule_call *r) {
  const heed_shape *dims = &r->attr[0].list;
  return (!heed_needs(r, 0) || heed_give(r, 0, rest_bwd(r, 2, dims))) &&
         (!heed_needs(r, 1) || heed_give(r, 1, value_bwd(r, 2, dims)));
}
const heed_rule heed_rule_index_put = {
    .check = index_put_check, .forward = index_put_fwd,
    .backward = index_put_bwd, .keep = KEEP_FROM_2(HEED_ALWAYS),
    .moves = true, .elementwise = true};

/***
x with a value added at the places that indices name, as `index` reads them;
where places repeat, all of them count.
@function index_put_add
@param x tensor of numbers
@param value number, or tensor that broadcasts to what the indices take from x
@param index list of tensors of int64, int32 or uint8: positions
@param dims one dimension of x for each index, in rising order
@return tensor like x, in the common dtype of x and value
@raise when the shapes do not fit or a position is out of range
@usage heed.core.ops.index_put_add(heed.zeros(3), 7, {heed.tensor{1, 1}}, 1)
--> 14 0 0
*/
static bool index_put_add_check(heed_call *c) {
  return want_numbers(c) && index_put_check(c);
}
static bool index_put_add_fwd(heed_call *c) {
  return write_fwd(c, &(heed_indices){c, 2, c->attr[0].list}, c->in[1],
                   HEED_PLACES_ADD);
}
static bool index_put_add_bwd(heed_rule_call *r) {
  if (heed_needs(r, 0) && !heed_give(r, 0, r->grad[0])) return false;
  return !heed_needs(r, 1) ||
         heed_give(r, 1, do_indices(r, HEED_OP_index, r->grad[0], NULL, 2,
                                    r->attr[0].list.ndim, r->attr));
}
const heed_rule heed_rule_index_put_add = {
    .check = index_put_add_check, .forward = index_put_add_fwd,
    .backward = index_put_add_bwd, .keep = KEEP_FROM_2(HEED_NEED(1)),
    .promote = true, .fixed = ~(HEED_NEED(0) | HEED_NEED(1)),
    .elementwise = true};

/* -- one dimension by name -- */

/* source must be x with the dimension replaced by those of the index. */
static bool entries_check(heed_call *c) {
  heed_tensor *x = c->in[0], *source = c->in[2];
  heed_places p;
  if (!heed_axis(c, 0, &c->attr[0].i)) return false;
  heed_indices s = one_index(c, c->attr[0].i);
  if (!heed_places_rows(&p, &s, &x->shape)) return false;
  if (!heed_shape_equal(&source->shape, &p.region))
    return heed_fail("%s: source must be %s for x %s and index %s, got %s",
                     c->op->name, heed_shape_text(&p.region),
                     heed_shape_text(&x->shape),
                     heed_shape_text(&c->in[1]->shape),
                     heed_shape_text(&source->shape));
  heed_out_like(c, 0, x);
  return true;
}

/***
x with the entries of source added to those of one dimension that the index
names; where positions repeat, all of them count.
@function index_add
@param x tensor of numbers
@param dim dimension
@param index tensor of int64, int32 or uint8, of any shape: positions; may
count from the end
@param source tensor like x with that dimension replaced by those of the index
@return tensor like x, in the common dtype of x and source
@raise when the shapes do not fit or a position is out of range
@usage heed.zeros(3):index_add(1, heed.tensor{1, 1}, heed.tensor{5, 6})
--> 11 0 0
*/
static bool index_add_check(heed_call *c) {
  return want_numbers(c) && entries_check(c);
}
static bool index_add_fwd(heed_call *c) {
  heed_indices s = one_index(c, c->attr[0].i);
  return write_fwd(c, &s, c->in[2], HEED_PLACES_ADD);
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
    .fixed = HEED_NEED(1), .elementwise = true};

/***
x with the entries of source in place of those of one dimension that the index
names. Of positions that repeat the last one stays.
@function index_copy
@param x tensor
@param dim dimension
@param index tensor of int64, int32 or uint8, of any shape: positions; may
count from the end
@param source tensor like x with that dimension replaced by those of the
index; taken in the dtype of x
@return tensor like x
@raise when the shapes do not fit or a position is out of range
@usage heed.zeros(3):index_copy(1, heed.tensor{3, 1}, heed.tensor{5, 6})
--> 6 0 5
*/
static bool index_copy_fwd(heed_call *c) {
  heed_indices s = one_index(c, c->attr[0].i);
  return put_fwd(c, &s, c->in[2]);
}
static bool index_copy_bwd(heed_rule_call *r) {
  heed_shape dims = {1, {r->attr[0].i}};
  return (!heed_needs(r, 0) || heed_give(r, 0, rest_bwd(r, 1, &dims))) &&
         (!heed_needs(r, 2) || heed_give(r, 2, value_bwd(r, 1, &dims)));
}
const heed_rule heed_rule_index_copy = {
    .check = entries_check, .forward = index_copy_fwd,
    .backward = index_copy_bwd, .keep = {0, HEED_ALWAYS}, .moves = true,
    .elementwise = true};

/***
x with a value for the entries of one dimension that the index names.
@function index_fill
@param x tensor
@param dim dimension
@param index tensor of int64, int32 or uint8, of any shape: positions; may
count from the end
@param value number, or tensor without dimensions; taken in the dtype of x
@return tensor like x
@raise when value has dimensions or a position is out of range
@usage heed.zeros(3):index_fill(1, heed.tensor{3, 1}, 7) --> 7 0 7
*/
static bool index_fill_check(heed_call *c) {
  if (!heed_axis(c, 0, &c->attr[0].i)) return false;
  if (c->in[2]->shape.ndim > 0)
    return heed_fail("index_fill: value must be a number or a tensor without "
                     "dimensions, got %s", heed_tensor_text(c->in[2]));
  heed_indices s = one_index(c, c->attr[0].i);
  return write_check(c, &s, c->in[2]) &&
         heed_want_held(c, 2, c->in[0]->dtype);
}
const heed_rule heed_rule_index_fill = {
    .check = index_fill_check, .forward = index_copy_fwd,
    .backward = index_copy_bwd, .keep = {0, HEED_ALWAYS}, .moves = true,
    .elementwise = true};

/* An index for each of the first dimensions. */
static heed_indices first_dims(const heed_call *c) {
  heed_indices s = {c, 0, {.ndim = c->nin}};
  for (int j = 0; j < c->nin; j++) s.dims.dim[j] = j;
  return s;
}

/* Which entries are the last ones that a write by these indices, into
   dimensions of these sizes, puts at their place? In the shape of the indices
   together. */
static bool index_last_check(heed_call *c) {
  heed_places p;
  heed_indices s = first_dims(c);
  if (!heed_places_rows(&p, &s, &c->attr[0].list)) return false;
  heed_out(c, 0, HEED_BOOL, &p.region);
  return true;
}
static bool index_last_fwd(heed_call *c) {
  heed_tensor *mark = heed_tensor_new(c->op->name, HEED_BOOL,
                                      &c->attr[0].list);
  heed_places p;
  heed_indices s = first_dims(c);
  bool ok = mark && heed_places_open_rows(&p, &s, mark);
  if (ok) {
    heed_places_write(&p, mark, c->out[0], HEED_PLACES_LAST);
    heed_places_close(&p);
  }
  heed_tensor_drop(mark);
  return ok;
}
const heed_rule heed_rule_index_last = {.check = index_last_check,
                                        .forward = index_last_fwd};
