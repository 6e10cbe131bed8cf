/*
 * gather - ops with a place in one dimension for each element. Layer: ops.
 * Read first: places.h. For whole rows see index.c.
 *
 * For dim 2 of a matrix:
 *     gather:   out[i][j] = x[i][index[i][j]]
 *     scatter:  out[i][index[i][j]] = source[i][j]
 */
#include <string.h>

#include "base/error.h"
#include "ops/copy.h"
#include "ops/ops.h"
#include "ops/places.h"

/* The index must fit into input i, but for dimension `free` of it. */
static bool want_fit(const heed_call *c, int i, int64_t free) {
  const heed_shape *index = &c->in[1]->shape, *t = &c->in[i]->shape;
  if (index->ndim != t->ndim)
    return heed_fail("%s: index %s must have as many dimensions as %s %s",
                     c->op->name, heed_shape_text(index),
                     heed_input_name(c, i), heed_shape_text(t));
  for (int d = 0; d < t->ndim; d++) {
    if (d == free || index->dim[d] <= t->dim[d]) continue;
    return heed_fail("%s: index %s must not be larger than %s %s in dim %d",
                     c->op->name, heed_shape_text(index),
                     heed_input_name(c, i), heed_shape_text(t), d + 1);
  }
  return true;
}

static bool want_places(heed_call *c) {
  return heed_axis(c, 0, &c->attr[0].i) &&
         heed_want_index(c, 1) && want_fit(c, 0, c->attr[0].i);
}

/***
For each place of the index the element of x there, at the position in one
dimension that the index says: out[i][j] = x[i][index[i][j]] for dim 2.
@function gather
@param x tensor
@param dim dimension
@param index tensor of int64, int32 or uint8 with as many dimensions as x and, but for dim, no
larger; positions may count from the end
@return tensor of the shape of the index
@raise when the shapes do not fit or a position is out of range
@usage heed.tensor{{1, 2}, {3, 4}}:gather(2, heed.tensor{{2}, {1}}) --> 2, 3
*/
static bool gather_check(heed_call *c) {
  if (!want_places(c)) return false;
  heed_out(c, 0, c->in[0]->dtype, &c->in[1]->shape);
  return true;
}
static bool gather_fwd(heed_call *c) {
  heed_places p;
  if (!heed_places_open_elements(&p, c, 1, c->in[0], c->attr[0].i))
    return false;
  heed_places_read(&p, c->out[0], c->in[0]);
  heed_places_close(&p);
  return true;
}
static bool gather_bwd(heed_rule_call *r) {
  heed_attr attr[2] = {{.list = *heed_in_shape(r, 0)}, r->attr[0]};
  return heed_give(r, 0, heed_do2_with(r, HEED_OP_gather_bwd, r->grad[0],
                                       heed_in(r, 1), attr));
}
const heed_rule heed_rule_gather = {
    .check = gather_check, .forward = gather_fwd, .backward = gather_bwd,
    .keep = {0, HEED_NEED(0)}, .moves = true};

/* Zeros of a shape, with the gradient added at the places. */
static bool gather_bwd_check(heed_call *c) {
  heed_out(c, 0, c->in[0]->dtype, &c->attr[0].list);
  return true;
}
static bool gather_bwd_fwd(heed_call *c) {
  heed_tensor *y = c->out[0];
  heed_places p;
  if (!heed_places_open_elements(&p, c, 1, y, c->attr[1].i))
    return false;
  memset(heed_tensor_data(y), 0, y->storage->bytes);
  heed_places_write(&p, y, c->in[0], HEED_PLACES_ADD);
  heed_places_close(&p);
  return true;
}
static bool gather_bwd_bwd(heed_rule_call *r) {
  return heed_give(r, 0, heed_do2_with(r, HEED_OP_gather, r->grad[0],
                                       heed_in(r, 1), &r->attr[1]));
}
const heed_rule heed_rule_gather_bwd = {
    .check = gather_bwd_check, .forward = gather_bwd_fwd,
    .backward = gather_bwd_bwd, .keep = {0, HEED_NEED(0)}};

/* -- scatter -- */

/* source is a number, or as large as the index at least. */
static bool scatter_check(heed_call *c) {
  if (!want_places(c)) return false;
  if (c->in[2]->shape.ndim > 0 && !want_fit(c, 2, -1)) return false;
  heed_out_like(c, 0, c->in[0]);
  return true;
}
static bool scatter_run(heed_call *c, heed_places_how how) {
  heed_tensor *x = c->in[0], *y = c->out[0];
  heed_places p;
  if (!heed_places_open_elements(&p, c, 1, y, c->attr[0].i)) return false;
  if (y != x) heed_copy(y, x);
  heed_places_write(&p, y, c->in[2], how);
  heed_places_close(&p);
  return true;
}

/* The gradient of source from that of its corner that was used: zeros in the
   rest. */
static heed_tensor *grow(heed_rule_call *r, heed_tensor *g) {
  const heed_shape *source = heed_in_shape(r, 2);
  if (!g || source->ndim == 0) return g;
  if (heed_tensor_numel(g) == 0) return heed_grad_zeros(r, 2);
  for (int d = 0; g && d < source->ndim; d++) {
    if (g->shape.dim[d] == source->dim[d]) continue;
    heed_attr attr[5] = {{.list = g->shape}, {.i = d}, {.i = 0},
                         {.i = g->shape.dim[d] - 1}, {.i = 1}};
    attr[0].list.dim[d] = source->dim[d];
    g = heed_do1_with(r, HEED_OP_slice_bwd, g, attr);
  }
  return g;
}

/***
x with elements of source written to the places that the index names in one
dimension: out[i][index[i][j]] = source[i][j] for dim 2. Of places that repeat
the last one, in row-major order, stays.
@function scatter
@param x tensor
@param dim dimension
@param index tensor of int64, int32 or uint8 with as many dimensions as x and, but for dim, no
larger; positions may count from the end
@param source number, or tensor no smaller than the index in any dimension
@return tensor like x, in the common dtype of x and source
@raise when the shapes do not fit or a position is out of range
@usage heed.zeros(2, 3):scatter(2, heed.tensor{{3}, {1}}, 1)
--> 0 0 1, 1 0 0
*/
static bool scatter_fwd(heed_call *c) {
  return scatter_run(c, HEED_PLACES_PUT);
}
/* The gradient at the places, for the elements that stayed. */
static heed_tensor *scatter_source_bwd(heed_rule_call *r) {
  heed_tensor *index = heed_in(r, 1);
  heed_attr attr[2] = {{.list = *heed_in_shape(r, 0)}, r->attr[0]};
  heed_tensor *last = heed_do1_with(r, HEED_OP_last_writer, index, attr);
  heed_tensor *g = heed_do2_with(r, HEED_OP_gather, r->grad[0], index,
                                 r->attr);
  heed_tensor *in[3] = {last, g, heed_number(r, 0)};
  return grow(r, heed_do(r, heed_op_find("where"), in, 3, NULL));
}
static bool scatter_bwd(heed_rule_call *r) {
  if (heed_needs(r, 0)) {
    heed_tensor *in[3] = {r->grad[0], heed_in(r, 1), heed_number(r, 0)};
    if (!heed_give(r, 0, heed_do(r, heed_op_find("scatter"), in, 3,
                                 r->attr)))
      return false;
  }
  return !heed_needs(r, 2) || heed_give(r, 2, scatter_source_bwd(r));
}
const heed_rule heed_rule_scatter = {
    .check = scatter_check, .forward = scatter_fwd, .backward = scatter_bwd,
    .keep = {0, HEED_ALWAYS}, .promote = true, .fixed = HEED_NEED(1),
    .moves = true, .elementwise = true};

/***
x with elements of source added at the places that the index names in one
dimension: out[i][index[i][j]] += source[i][j] for dim 2.
@function scatter_add
@param x tensor of numbers
@param dim dimension
@param index tensor of int64, int32 or uint8 with as many dimensions as x and, but for dim, no
larger; positions may count from the end
@param source number, or tensor no smaller than the index in any dimension
@return tensor like x, in the common dtype of x and source
@raise when the shapes do not fit or a position is out of range
@usage heed.zeros(3):scatter_add(1, heed.tensor{1, 1, 3}, 1) --> 2 0 1
*/
static bool scatter_add_check(heed_call *c) {
  if (c->in[0]->dtype == HEED_BOOL)
    return heed_fail("scatter_add: x and source must be numbers, got %s",
                     heed_tensor_text(c->in[0]));
  return scatter_check(c);
}
static bool scatter_add_fwd(heed_call *c) {
  return scatter_run(c, HEED_PLACES_ADD);
}
static bool scatter_add_bwd(heed_rule_call *r) {
  if (heed_needs(r, 0) && !heed_give(r, 0, r->grad[0])) return false;
  return !heed_needs(r, 2) ||
         heed_give(r, 2, grow(r, heed_do2_with(r, HEED_OP_gather, r->grad[0],
                                               heed_in(r, 1), r->attr)));
}
const heed_rule heed_rule_scatter_add = {
    .check = scatter_add_check, .forward = scatter_add_fwd,
    .backward = scatter_add_bwd, .keep = {0, HEED_NEED(2)}, .promote = true,
    .fixed = HEED_NEED(1), .elementwise = true};

/* Which elements are the last ones that a scatter by this index into this
   shape writes to their place? */
static bool last_writer_check(heed_call *c) {
  heed_out(c, 0, HEED_BOOL, &c->in[0]->shape);
  return true;
}
static bool last_writer_fwd(heed_call *c) {
  heed_tensor *mark = heed_tensor_new(c->op->name, HEED_BOOL,
                                      &c->attr[0].list);
  heed_places p;
  bool ok = mark &&
            heed_places_open_elements(&p, c, 0, mark, c->attr[1].i);
  if (ok) {
    memset(heed_tensor_data(mark), 0, mark->storage->bytes);
    heed_places_write(&p, mark, c->out[0], HEED_PLACES_LAST);
    heed_places_close(&p);
  }
  heed_tensor_drop(mark);
  return ok;
}
const heed_rule heed_rule_last_writer = {.check = last_writer_check,
                                         .forward = last_writer_fwd};
