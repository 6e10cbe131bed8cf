/*
 * diagonal - diagonals of matrices, and matrices from them. Layer: ops.
 * Read first: core/op.h.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "ops/copy.h"
#include "ops/ops.h"

/* A diagonal of the dimensions dim1 (rows) and dim2 (columns) of a shape. */
typedef struct diagonal {
  int64_t dim1, dim2;
  int64_t first1, first2; /* where it begins */
  int64_t length;
} diagonal;

static void place(const heed_shape *shape, int64_t offset, diagonal *d) {
  if (offset == INT64_MIN) offset++; /* as far outside, and has a negative */
  d->first1 = offset < 0 ? -offset : 0;
  d->first2 = offset > 0 ? offset : 0;
  int64_t rows = shape->dim[d->dim1] - d->first1;
  int64_t columns = shape->dim[d->dim2] - d->first2;
  d->length = rows < columns ? rows : columns;
  if (d->length < 0) d->length = 0;
}

/* Puts two axes of `ndim` dimensions into range; those of a tensor that is
   not there yet. */
static bool two_axes(const heed_call *c, int ndim, const heed_attr *attr,
                     diagonal *d) {
  int64_t *axis[2] = {&d->dim1, &d->dim2};
  for (int k = 0; k < 2; k++) {
    int64_t got = attr[k].i;
    *axis[k] = got < 0 ? got + ndim : got;
    if (*axis[k] < 0 || *axis[k] >= ndim)
      return heed_fail("%s: dim%d must be 1..%d or -%d..-1 for x %s, got "
                       "%lld", c->op->name, k + 1, ndim, ndim,
                       heed_shape_text(&c->in[0]->shape),
                       (long long)(got < 0 ? got : got + 1));
  }
  return d->dim1 != d->dim2 ||
         heed_fail("%s: dim1 and dim2 must differ, both are %lld",
                   c->op->name, (long long)d->dim1 + 1);
}

/* Describes the diagonal of t: its dimensions without the two, then the
   elements of the diagonal. */
static void describe(const heed_tensor *t, const diagonal *d,
                     heed_shape *shape, int64_t *stride, int64_t *offset) {
  shape->ndim = 0;
  for (int k = 0; k < t->shape.ndim; k++) {
    if (k == d->dim1 || k == d->dim2) continue;
    stride[shape->ndim] = t->stride[k];
    shape->dim[shape->ndim++] = t->shape.dim[k];
  }
  stride[shape->ndim] = t->stride[d->dim1] + t->stride[d->dim2];
  shape->dim[shape->ndim++] = d->length;
  *offset = t->offset;
  if (d->length > 0)
    *offset += d->first1 * t->stride[d->dim1] +
               d->first2 * t->stride[d->dim2];
}

/* Zeros, with x on a diagonal of attr: offset, dim1, dim2. */
static bool fill(heed_call *c, const heed_attr *attr) {
  heed_tensor *y = c->out[0], part = *y;
  diagonal d;
  if (!two_axes(c, y->shape.ndim, attr + 1, &d)) return false;
  memset(heed_tensor_data(y), 0, y->storage->bytes);
  place(&y->shape, attr[0].i, &d);
  describe(y, &d, &part.shape, part.stride, &part.offset);
  heed_copy(&part, c->in[0]);
  return true;
}

/***
A diagonal of two dimensions of x, as the last dimension of a view.
@function diagonal
@param x tensor with at least 2 dimensions
@param offset 0, the main diagonal, by default; above it when positive, below
when negative
@param dim1 dimension of the rows, 1 by default
@param dim2 dimension of the columns, 2 by default
@return view of x, which lacks the two dimensions and has a last one more; of
size 0 when the offset lies outside of the matrix
@raise when a dimension is out of range, or both are the same
@usage heed.tensor{{1, 2}, {3, 4}}:diagonal() --> 1 4
*/
static bool diagonal_check(heed_call *c) {
  heed_tensor *x = c->in[0];
  diagonal d;
  heed_shape shape;
  int64_t stride[HEED_MAX_DIM], offset;
  if (!heed_want_ndim(c, 0, 2) ||
      !two_axes(c, x->shape.ndim, c->attr + 1, &d))
    return false;
  place(&x->shape, c->attr[0].i, &d);
  describe(x, &d, &shape, stride, &offset);
  heed_out_view(c, 0, x, &shape, stride, offset);
  return true;
}
static bool diagonal_rule_bwd(heed_rule_call *r) {
  heed_attr attr[4] = {{.list = *heed_in_shape(r, 0)}, r->attr[0],
                       r->attr[1], r->attr[2]};
  return heed_give(r, 0, heed_do1_with(r, HEED_OP_diagonal_bwd, r->grad[0],
                                       attr));
}
const heed_rule heed_rule_diagonal = {.check = diagonal_check,
                                      .backward = diagonal_rule_bwd,
                                      .moves = true};

/* Both of what follows: the gradient is the diagonal of the gradient. */
static bool filled_bwd(heed_rule_call *r, const heed_attr *attr) {
  return heed_give(r, 0, heed_do1_with(r, HEED_OP_diagonal, r->grad[0],
                                       attr));
}

/***
Square matrices of zeros with x on a diagonal.
@function diag_embed
@param x tensor (..., n): one diagonal for each matrix
@param offset 0, the main diagonal, by default; above it when positive, below
when negative
@param dim1 where the dimension of the rows stands in the result, -2 by default
@param dim2 where that of the columns stands, -1 by default
@return tensor with one dimension more; its matrices have n + abs(offset) rows
@raise when a dimension is out of range, or both are the same
@usage heed.tensor{1, 2}:diag_embed() --> 1 0, 0 2
*/
static bool diag_embed_check(heed_call *c) {
  const heed_shape *x = &c->in[0]->shape;
  diagonal d;
  if (!heed_want_ndim(c, 0, 1)) return false;
  if (x->ndim == HEED_MAX_DIM)
    return heed_fail("diag_embed: x %s has %d dimensions already",
                     heed_shape_text(x), HEED_MAX_DIM);
  if (!two_axes(c, x->ndim + 1, c->attr + 1, &d)) return false;
  heed_shape shape = {.ndim = x->ndim + 1};
  int64_t n = x->dim[x->ndim - 1], side;
  if (c->attr[0].i == INT64_MIN ||
      __builtin_add_overflow(n, llabs(c->attr[0].i), &side))
    return heed_fail("diag_embed: offset %lld is too large",
                     (long long)c->attr[0].i);
  for (int k = 0, from = 0; k < shape.ndim; k++)
    shape.dim[k] = k == d.dim1 || k == d.dim2 ? side : x->dim[from++];
  heed_out(c, 0, c->in[0]->dtype, &shape);
  return true;
}
static bool diag_embed_fwd(heed_call *c) { return fill(c, c->attr); }
static bool diag_embed_bwd(heed_rule_call *r) {
  return filled_bwd(r, r->attr);
}
const heed_rule heed_rule_diag_embed = {.check = diag_embed_check,
                                        .forward = diag_embed_fwd,
                                        .backward = diag_embed_bwd,
                                        .moves = true};

/* The gradient of a diagonal: zeros, with g in its place. */
static bool diagonal_bwd_fwd(heed_call *c) { return fill(c, c->attr + 1); }
static bool diagonal_bwd_bwd(heed_rule_call *r) {
  return filled_bwd(r, r->attr + 1);
}
const heed_rule heed_rule_diagonal_bwd = {.check = heed_check_shape,
                                          .forward = diagonal_bwd_fwd,
                                          .backward = diagonal_bwd_bwd,
                                          .moves = true};
