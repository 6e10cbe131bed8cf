/*
 * mask - elements chosen by a condition or by where they stand. Layer: ops.
 * Read first: core/op.h, core/iter.h.
 */
#include <stdatomic.h>
#include <string.h>

#include "base/error.h"
#include "base/parallel.h"
#include "core/iter.h"
#include "ops/copy.h"
#include "ops/ops.h"

#define GRAIN 32768           /* elements worth a thread */
#define ALONE (INT64_MAX / 2) /* a grain that keeps a loop in its thread */

/* -- masked_select -- */

static void row_count(void *context, int64_t n, char *const *p,
                      const int64_t *s) {
  int64_t count = 0;
  for (int64_t i = 0; i < n; i++) count += p[0][i * s[0]] != 0;
  atomic_fetch_add_explicit((_Atomic int64_t *)context, count,
                            memory_order_relaxed);
}

/* How many elements of a bool tensor, broadcast to the shape, are true? */
static int64_t count_true(heed_tensor *mask, const heed_shape *shape) {
  _Atomic int64_t count = 0;
  heed_iter it;
  heed_iter_init(&it, shape, 1, &mask);
  heed_iter_run(&it, GRAIN, row_count, &count);
  return count;
}

/* The list of chosen elements, filled or used up in row-major order. */
typedef struct list {
  char *next;
  int64_t step; /* in bytes */
  size_t size;  /* of an element */
} list;

/* For rows (elements, mask): MOVE(type) of each chosen one. */
#define EACH_CHOSEN(type, MOVE)     \
  for (int64_t i = 0; i < n; i++) { \
    if (!p[1][i * s[1]]) continue;  \
    MOVE(type);                     \
    l->next += l->step;             \
  }
#define CHOSEN_ROW(name, MOVE)                                   \
  static void name(void *context, int64_t n, char *const *p,     \
                   const int64_t *s) {                           \
    list *l = context;                                           \
    if (l->size == 1) {                                          \
      EACH_CHOSEN(unsigned char, MOVE)                           \
    } else if (l->size == 2) {                                   \
      EACH_CHOSEN(uint16_t, MOVE)                                \
    } else if (l->size == 4) {                                   \
      EACH_CHOSEN(uint32_t, MOVE)                                \
    } else {                                                     \
      EACH_CHOSEN(uint64_t, MOVE)                                \
    }                                                            \
  }
#define TO_LIST(type) *(type *)l->next = ((const type *)p[0])[i * s[0]]
#define FROM_LIST(type) ((type *)p[0])[i * s[0]] = *(const type *)l->next
CHOSEN_ROW(row_to_list, TO_LIST)
CHOSEN_ROW(row_from_list, FROM_LIST)

static void run_list(heed_tensor *t, heed_tensor *mask,
                     const heed_shape *shape, const heed_tensor *of,
                     heed_row_fn *row) {
  size_t size = heed_dtype_size(t->dtype);
  list l = {heed_tensor_data(of), of->stride[0] * (int64_t)size, size};
  heed_iter it;
  heed_iter_init(&it, shape, 2, (heed_tensor *[]){t, mask});
  heed_iter_run(&it, ALONE, row, &l);
}

/***
The elements of x where the mask is true, in row-major order.
@function masked_select
@param x tensor
@param mask bool tensor that broadcasts with x
@return tensor with one dimension, a copy
@raise when mask is not bool or the shapes do not fit
@usage heed.tensor{1, 2, 3}:masked_select(heed.tensor{true, false, true})
--> 1 3
*/
static bool masked_select_check(heed_call *c) {
  heed_tensor *x = c->in[0], *mask = c->in[1];
  heed_shape shape;
  if (!heed_want_dtype(c, 1, HEED_BOOL)) return false;
  if (!heed_shape_broadcast(&x->shape, &mask->shape, &shape))
    return heed_fail("masked_select: x %s and mask %s cannot be broadcast "
                     "together", heed_shape_text(&x->shape),
                     heed_shape_text(&mask->shape));
  if (!heed_shape_check(c->op->name, &shape, x->dtype)) return false;
  heed_out(c, 0, x->dtype, &(heed_shape){1, {count_true(mask, &shape)}});
  return true;
}
static bool masked_select_fwd(heed_call *c) {
  heed_shape shape;
  heed_shape_broadcast(&c->in[0]->shape, &c->in[1]->shape, &shape);
  run_list(c->in[0], c->in[1], &shape, c->out[0], row_to_list);
  return true;
}
static bool masked_select_bwd(heed_rule_call *r) {
  heed_tensor *mask = heed_in(r, 1);
  if (!mask) return false;
  heed_attr shape;
  heed_shape_broadcast(heed_in_shape(r, 0), &mask->shape, &shape.list);
  return heed_give(r, 0, heed_do2_with(r, HEED_OP_masked_select_bwd,
                                       r->grad[0], mask, &shape));
}
const heed_rule heed_rule_masked_select = {
    .check = masked_select_check, .forward = masked_select_fwd,
    .backward = masked_select_bwd, .keep = {0, HEED_NEED(0)}, .moves = true};

/* Zeros of a shape, with the gradients where the mask is true. */
static bool masked_select_bwd_fwd(heed_call *c) {
  heed_tensor *y = c->out[0];
  memset(heed_tensor_data(y), 0, y->storage->bytes);
  run_list(y, c->in[1], &y->shape, c->in[0], row_from_list);
  return true;
}
static bool masked_select_bwd_bwd(heed_rule_call *r) {
  return heed_give(r, 0, heed_do2(r, HEED_OP_masked_select, r->grad[0],
                                  heed_in(r, 1)));
}
const heed_rule heed_rule_masked_select_bwd = {
    .check = heed_check_shape, .forward = masked_select_bwd_fwd,
    .backward = masked_select_bwd_bwd, .keep = {0, HEED_NEED(0)},
    .moves = true};

/* -- nonzero -- */

/* x itself when bool, else a new bool tensor: is it not 0? */
static heed_tensor *truth(heed_tensor *x) {
  if (x->dtype == HEED_BOOL) return heed_tensor_ref(x);
  heed_tensor *t = heed_tensor_new("nonzero", HEED_BOOL, &x->shape);
  if (t) heed_copy(t, x);
  return t;
}

typedef struct finder {
  int64_t *next; /* where the next positions go */
  int64_t at[HEED_MAX_DIM]; /* of the element to come, from 1 */
  const heed_shape *shape;
} finder;

static void row_find(void *context, int64_t n, char *const *p,
                     const int64_t *s) {
  finder *f = context;
  int ndim = f->shape->ndim;
  for (int64_t i = 0; i < n; i++) {
    if (p[0][i * s[0]]) {
      memcpy(f->next, f->at, sizeof *f->at * (size_t)ndim);
      f->next += ndim;
    }
    for (int d = ndim - 1; d >= 0; d--) {
      if (++f->at[d] <= f->shape->dim[d]) break;
      f->at[d] = 1;
    }
  }
}

/***
The positions of the elements that are not 0 (or true), in row-major order.
@function nonzero
@param x tensor
@return int64 tensor (n, dimensions of x), one row for each element
@usage heed.tensor{{0, 5}, {6, 0}}:nonzero() --> 1 2, 2 1
*/
static bool nonzero_check(heed_call *c) {
  heed_tensor *x = c->in[0], *t = truth(x);
  if (!t) return false;
  heed_shape shape = {2, {count_true(t, &t->shape), x->shape.ndim}};
  heed_tensor_drop(t);
  heed_out(c, 0, HEED_INT64, &shape);
  return true;
}
static bool nonzero_fwd(heed_call *c) {
  heed_tensor *x = c->in[0], *t = truth(x);
  if (!t) return false;
  finder f = {.next = heed_tensor_data(c->out[0]), .shape = &x->shape};
  for (int d = 0; d < x->shape.ndim; d++) f.at[d] = 1;
  heed_iter it;
  heed_iter_init(&it, &x->shape, 1, &t);
  heed_iter_run(&it, ALONE, row_find, &f);
  heed_tensor_drop(t);
  return true;
}
const heed_rule heed_rule_nonzero = {.check = nonzero_check,
                                     .forward = nonzero_fwd};

/* -- triangles -- */

typedef struct triangle {
  char *data;
  size_t size; /* of an element */
  int64_t nrow, ncol, diagonal;
  bool upper;
} triangle;

/* Clears the other triangle in rows of a row-major batch of matrices. */
static void clear_rows(void *context, int64_t begin, int64_t end,
                       int worker) {
  (void)worker;
  const triangle *t = context;
  for (int64_t row = begin; row < end; row++) {
    /* the diagonal ends the lower triangle and starts the upper one */
    int64_t cut = row % t->nrow + t->diagonal + (t->upper ? 0 : 1);
    if (cut < 0) cut = 0;
    if (cut > t->ncol) cut = t->ncol;
    int64_t from = t->upper ? 0 : cut, to = t->upper ? cut : t->ncol;
    memset(t->data + (row * t->ncol + from) * (int64_t)t->size, 0,
           (size_t)(to - from) * t->size);
  }
}

static bool triangle_check(heed_call *c) {
  heed_out_like(c, 0, c->in[0]);
  return heed_want_ndim(c, 0, 2);
}

static bool triangle_fwd(heed_call *c, bool upper) {
  heed_tensor *y = c->out[0];
  int64_t n = heed_tensor_numel(y);
  if (n == 0) return true;
  heed_copy(y, c->in[0]);
  const int64_t *size = y->shape.dim + y->shape.ndim - 2;
  int64_t diagonal = c->attr[0].i;
  if (diagonal < -size[0]) diagonal = -size[0];
  if (diagonal > size[1]) diagonal = size[1];
  triangle t = {heed_tensor_data(y), heed_dtype_size(y->dtype),
                size[0], size[1], diagonal, upper};
  heed_parallel(n / size[1], (GRAIN + size[1] - 1) / size[1], clear_rows,
                &t);
  return true;
}

/***
The lower triangle of matrices; the rest is 0.
@function tril
@param x tensor with at least two dimensions, the last two of which are the
matrices
@param diagonal the last diagonal that stays: 0, the default, is the main one,
1 the one above
@return tensor like x
@raise when x has fewer than two dimensions
@usage heed.ones(2, 2):tril() --> 1 0, 1 1
*/
static bool tril_fwd(heed_call *c) { return triangle_fwd(c, false); }
static bool tril_bwd(heed_rule_call *r) {
  return heed_give(r, 0, heed_do1_with(r, HEED_OP_tril, r->grad[0], r->attr));
}
const heed_rule heed_rule_tril = {
    .check = triangle_check, .forward = tril_fwd, .backward = tril_bwd,
    .moves = true};

/***
The upper triangle of matrices; the rest is 0.
@function triu
@param x tensor with at least two dimensions, the last two of which are the
matrices
@param diagonal the first diagonal that stays: 0, the default, is the main
one, 1 the one above
@return tensor like x
@raise when x has fewer than two dimensions
@usage heed.ones(2, 2):triu() --> 1 1, 0 1
*/
static bool triu_fwd(heed_call *c) { return triangle_fwd(c, true); }
static bool triu_bwd(heed_rule_call *r) {
  return heed_give(r, 0, heed_do1_with(r, HEED_OP_triu, r->grad[0], r->attr));
}
const heed_rule heed_rule_triu = {
    .check = triangle_check, .forward = triu_fwd, .backward = triu_bwd,
    .moves = true};
