/*
 * matmul - products of matrices, of batches of them, and linear layers.
 * Layer: ops. Read first: core/op.h, gemm.h.
 */
#include <stdatomic.h>
#include <string.h>

#include "base/error.h"
#include "base/parallel.h"
#include "kernel/kernel.h"
#include "ops/copy.h"
#include "ops/gemm.h"
#include "ops/ops.h"

#define WORTH (1 << 17) /* multiply-adds worth a thread */

/* The matrix in the last two dimensions, `extra` elements further on. */
static heed_matrix matrix_of(const heed_tensor *t, int64_t extra,
                             bool vector_is_row) {
  int n = t->shape.ndim;
  size_t size = heed_dtype_size(t->dtype);
  heed_matrix m = {.data = (char *)heed_tensor_data(t) +
                           extra * (int64_t)size};
  if (n == 1) {
    m.row = vector_is_row ? 1 : t->stride[0];
    m.column = vector_is_row ? t->stride[0] : 1;
  } else {
    m.row = t->stride[n - 2];
    m.column = t->stride[n - 1];
  }
  return m;
}

/* The sizes of a product: batch dimensions, then m, k, n. */
typedef struct sizes {
  heed_shape batch;
  int64_t m, k, n;
} sizes;

/* Of the product of inputs `first` and `first` + 1. */
static bool sizes_of(const heed_call *c, int first, sizes *s) {
  const heed_shape *p = &c->in[first]->shape, *q = &c->in[first + 1]->shape;
  if (!heed_want_ndim(c, first, 1) || !heed_want_ndim(c, first + 1, 1))
    return false;
  s->m = p->ndim == 1 ? 1 : p->dim[p->ndim - 2];
  s->k = p->dim[p->ndim - 1];
  int64_t inner = q->ndim == 1 ? q->dim[0] : q->dim[q->ndim - 2];
  s->n = q->ndim == 1 ? 1 : q->dim[q->ndim - 1];
  if (s->k != inner)
    return heed_fail("%s: a %s and b %s: inner sizes %lld and %lld differ",
                     c->op->name, heed_shape_text(p), heed_shape_text(q),
                     (long long)s->k, (long long)inner);
  heed_shape left = *p, right = *q;
  left.ndim = p->ndim > 2 ? p->ndim - 2 : 0;
  right.ndim = q->ndim > 2 ? q->ndim - 2 : 0;
  return heed_shape_broadcast(&left, &right, &s->batch) ||
         heed_fail("%s: a %s and b %s: batch sizes %s and %s cannot be "
                   "broadcast together", c->op->name, heed_shape_text(p),
                   heed_shape_text(q), heed_shape_text(&left),
                   heed_shape_text(&right));
}

int64_t heed_batch_offset(const heed_tensor *t, const heed_shape *batch,
                          int64_t index) {
  int64_t at = 0;
  int own = t->shape.ndim - 2;
  for (int d = batch->ndim - 1; d >= 0; d--) {
    int64_t i = index % batch->dim[d];
    index /= batch->dim[d];
    int k = d - batch->ndim + own;
    if (k >= 0 && t->shape.dim[k] != 1) at += i * t->stride[k];
  }
  return at;
}

/* May all leading dimensions of a be taken as rows of one matrix? */
static bool rows_join(const heed_tensor *a) {
  for (int d = a->shape.ndim - 2; d > 0; d--)
    if (a->shape.dim[d - 1] != 1 &&
        a->stride[d - 1] != a->stride[d] * a->shape.dim[d])
      return false;
  return true;
}

typedef struct products {
  const sizes *s;
  heed_tensor *a, *b, *y;
  bool accumulate;
  atomic_bool failed; /* a message stays with the thread that fails */
} products;

static void multiply_range(void *context, int64_t begin, int64_t end,
                           int worker) {
  (void)worker;
  products *p = context;
  const sizes *s = p->s;
  int64_t bytes = s->m * s->n * (int64_t)heed_dtype_size(p->y->dtype);
  for (int64_t i = begin; i < end; i++) {
    int64_t left = heed_batch_offset(p->a, &s->batch, i);
    int64_t right = heed_batch_offset(p->b, &s->batch, i);
    if (!heed_gemm(p->y->dtype, s->m, s->n, s->k,
                   matrix_of(p->a, left, true), matrix_of(p->b, right, false),
                   (char *)heed_tensor_data(p->y) + i * bytes, s->n,
                   p->accumulate))
      atomic_store(&p->failed, true);
  }
}

/* out (+)= a b, for all matrices of the batch; out is row-major. The threads
   share the matrices out where there are many or small ones, else each
   product is cut. */
static bool multiply(const char *op, const sizes *s, heed_tensor *a,
                     heed_tensor *b, heed_tensor *y, bool accumulate) {
  char *out = heed_tensor_data(y);
  int64_t count = heed_shape_numel(&s->batch);
  if (b->shape.ndim <= 2 && a->shape.ndim > 2 && rows_join(a) && s->m > 0) {
    heed_matrix rows = matrix_of(a, 0, true);
    if (s->m == 1) rows.row = a->stride[a->shape.ndim - 3];
    return heed_gemm(y->dtype, count * s->m, s->n, s->k, rows,
                     matrix_of(b, 0, false), out, s->n, accumulate);
  }
  products p = {s, a, b, y, accumulate, false};
  int64_t work = s->m * s->n * s->k + 1;
  if (work < WORTH || count >= 4 * heed_get_num_threads())
    heed_parallel_values(count, WORTH / work + 1, multiply_range, &p);
  else
    multiply_range(&p, 0, count, 0);
  return !p.failed || heed_fail("%s: out of memory", op);
}

/***
The matrix product of a and b. With more than two dimensions, a batch of
products over the last two, the others broadcast; one dimension is a row on
the left and a column on the right, and is dropped from the result.
@function matmul
@param a float tensor (..., m, k) or (k)
@param b float tensor (..., k, n) or (k)
@return tensor (..., m, n)
@raise when the inner sizes differ or the batches do not broadcast
@usage heed.ones(2, 3):matmul(heed.ones(3, 4)) --> shape (2, 4)
*/
static bool matmul_check(heed_call *c) {
  sizes s;
  if (!heed_want_float(c, 0) || !heed_want_float(c, 1) || !sizes_of(c, 0, &s))
    return false;
  heed_shape shape = s.batch;
  if (c->in[0]->shape.ndim > 1) shape.dim[shape.ndim++] = s.m;
  if (c->in[1]->shape.ndim > 1) shape.dim[shape.ndim++] = s.n;
  heed_out(c, 0, c->in[0]->dtype, &shape);
  return true;
}
static bool matmul_fwd(heed_call *c) {
  sizes s;
  return sizes_of(c, 0, &s) &&
         multiply(c->op->name, &s, c->in[0], c->in[1], c->out[0], false);
}

/* t as (rows, last size): all leading dimensions are rows. */
static heed_tensor *as_rows(heed_rule_call *r, heed_tensor *t) {
  if (!t) return NULL;
  int n = t->shape.ndim;
  int64_t last = t->shape.dim[n - 1], rows = 1;
  for (int d = 0; d < n - 1; d++) rows *= t->shape.dim[d];
  heed_attr shape = {.list = {2, {rows, last}}};
  return n == 2 ? t : heed_do1_with(r, HEED_OP_reshape, t, &shape);
}

static heed_tensor *drop_dim(heed_rule_call *r, heed_tensor *t, int at) {
  return heed_do1_with(r, HEED_OP_squeeze, t,
                       &(heed_attr){.list = {1, {at}}});
}

static bool matmul_bwd(heed_rule_call *r) {
  /* da = g b^T, db = a^T g; vectors are made matrices first */
  heed_tensor *g = r->grad[0], *a = heed_in(r, 0), *b = heed_in(r, 1);
  bool row = heed_in_shape(r, 0)->ndim == 1;
  bool column = heed_in_shape(r, 1)->ndim == 1;
  if (row) g = heed_unsqueeze(r, g, column ? -1 : -2);
  if (column) g = heed_unsqueeze(r, g, -1);
  if (heed_needs(r, 0)) {
    heed_tensor *right = column ? heed_unsqueeze(r, b, -1) : b;
    heed_tensor *da = heed_do2(r, HEED_OP_matmul, g, heed_turn(r, right));
    if (row) da = drop_dim(r, da, -2);
    if (!heed_give(r, 0, da)) return false;
  }
  if (!heed_needs(r, 1)) return true;
  heed_tensor *left = row ? heed_unsqueeze(r, a, 0) : a, *db;
  if (heed_in_shape(r, 1)->ndim <= 2 && !row)
    /* one b for the whole batch: its products add up in one */
    db = heed_do2(r, HEED_OP_matmul, heed_turn(r, as_rows(r, left)),
                  as_rows(r, g));
  else
    db = heed_do2(r, HEED_OP_matmul, heed_turn(r, left), g);
  if (column) db = drop_dim(r, db, -1);
  return heed_give(r, 1, db);
}
const heed_rule heed_rule_matmul = {
    .check = matmul_check, .forward = matmul_fwd, .backward = matmul_bwd,
    .keep = {HEED_NEED(1), HEED_NEED(0)}, .promote = true};

/* -- the same for given ranks -- */

static bool want_rank(const heed_call *c, int i, int rank) {
  const heed_tensor *t = c->in[i];
  return t->shape.ndim == rank ||
         heed_fail("%s: %s must have %d dimension%s, got %s", c->op->name,
                   heed_input_name(c, i), rank, rank == 1 ? "" : "s",
                   heed_tensor_text(t));
}

static bool ranked_check(heed_call *c, int left, int right) {
  return want_rank(c, 0, left) && want_rank(c, 1, right) && matmul_check(c);
}

/***
The product of two matrices; `matmul` for operands that must be matrices.
@function mm
@param a float tensor (m, k)
@param b float tensor (k, n)
@return tensor (m, n)
@raise when a or b is no matrix or the inner sizes differ
@usage heed.ones(2, 3):mm(heed.ones(3, 4)) --> shape (2, 4)
*/
static bool mm_check(heed_call *c) { return ranked_check(c, 2, 2); }
const heed_rule heed_rule_mm = {
    .check = mm_check, .forward = matmul_fwd, .backward = matmul_bwd,
    .keep = {HEED_NEED(1), HEED_NEED(0)}, .promote = true};

/***
The product of a matrix and a vector.
@function mv
@param a float tensor (m, k)
@param b float tensor (k)
@return tensor (m)
@raise when a is no matrix, b no vector or the inner sizes differ
@usage heed.ones(2, 3):mv(heed.ones(3)) --> 3 3
*/
static bool mv_check(heed_call *c) { return ranked_check(c, 2, 1); }
const heed_rule heed_rule_mv = {
    .check = mv_check, .forward = matmul_fwd, .backward = matmul_bwd,
    .keep = {HEED_NEED(1), HEED_NEED(0)}, .promote = true};

/***
The sum of the products of the elements of two vectors.
@function dot
@param a float tensor (k)
@param b float tensor (k)
@return tensor without dimensions
@raise when a or b is no vector or their sizes differ
@usage heed.tensor{1.0, 2.0}:dot(heed.tensor{3.0, 4.0}) --> 11
*/
static bool dot_check(heed_call *c) { return ranked_check(c, 1, 1); }
const heed_rule heed_rule_dot = {
    .check = dot_check, .forward = matmul_fwd, .backward = matmul_bwd,
    .keep = {HEED_NEED(1), HEED_NEED(0)}, .promote = true};

/* Batches of one size, which do not broadcast. */
static bool want_batches(heed_call *c, int first) {
  const heed_shape *p = &c->in[first]->shape, *q = &c->in[first + 1]->shape;
  return (want_rank(c, first, 3) && want_rank(c, first + 1, 3)) &&
         (p->dim[0] == q->dim[0] ||
          heed_fail("%s: %s %s and %s %s must have one batch size",
                    c->op->name, heed_input_name(c, first),
                    heed_shape_text(p), heed_input_name(c, first + 1),
                    heed_shape_text(q)));
}

/***
The products of the matrices of two batches.
@function bmm
@param a float tensor (batch, m, k)
@param b float tensor (batch, k, n)
@return tensor (batch, m, n)
@raise when a or b has not 3 dimensions, or sizes do not fit
@usage heed.ones(5, 2, 3):bmm(heed.ones(5, 3, 4)) --> shape (5, 2, 4)
*/
static bool bmm_check(heed_call *c) {
  return want_batches(c, 0) && matmul_check(c);
}
const heed_rule heed_rule_bmm = {
    .check = bmm_check, .forward = matmul_fwd, .backward = matmul_bwd,
    .keep = {HEED_NEED(1), HEED_NEED(0)}, .promote = true};

/* -- beta input + alpha (a b) -- */

/* The result has the shape of the product; input broadcasts to it. */
static bool added_check(heed_call *c) {
  sizes s;
  for (int i = 0; i < 3; i++)
    if (!heed_want_float(c, i)) return false;
  if (!sizes_of(c, 1, &s)) return false;
  heed_shape shape = s.batch, both;
  shape.dim[shape.ndim++] = s.m;
  shape.dim[shape.ndim++] = s.n;
  if (!heed_shape_broadcast(&c->in[0]->shape, &shape, &both) ||
      !heed_shape_equal(&both, &shape))
    return heed_fail("%s: input %s cannot be broadcast to the product %s",
                     c->op->name, heed_shape_text(&c->in[0]->shape),
                     heed_shape_text(&shape));
  heed_out(c, 0, c->in[0]->dtype, &shape);
  return true;
}

typedef struct scaling {
  heed_tensor *x;
  double by;
} scaling;

static void scale_range(void *context, int64_t begin, int64_t end,
                        int worker) {
  (void)worker;
  const scaling *s = context;
  float narrow = (float)s->by;
  const void *by = s->x->dtype == HEED_FLOAT64 ? (const void *)&s->by
                                               : (const void *)&narrow;
  char *x = (char *)heed_tensor_data(s->x) +
            begin * (int64_t)heed_dtype_size(s->x->dtype);
  heed_kernel.binary[HEED_BINARY_mul][s->x->dtype](end - begin, x, 1, x, 1,
                                                   by, 0);
}

/* A row-major x times a number, in place. */
static void scale(heed_tensor *x, double by) {
  if (by != 1)
    heed_parallel(heed_tensor_numel(x), 32768, scale_range,
                  &(scaling){x, by});
}

/* The sum starts from beta input, so that no pass adds it. */
static bool added_fwd(heed_call *c) {
  sizes s;
  double beta = c->attr[0].f, alpha = c->attr[1].f;
  heed_tensor *a = c->in[1], *y = c->out[0], *own = NULL;
  if (!sizes_of(c, 1, &s)) return false;
  if (beta != 0) {
    heed_copy(y, c->in[0]);
    scale(y, beta);
  }
  if (alpha != 1) {
    own = heed_tensor_new(c->op->name, a->dtype, &a->shape);
    if (!own) return false;
    heed_copy(own, a);
    scale(own, alpha);
  }
  bool ok = multiply(c->op->name, &s, own ? own : a, c->in[2], y, beta != 0);
  heed_tensor_drop(own);
  return ok;
}

static heed_tensor *times(heed_rule_call *r, heed_tensor *t, double by) {
  return by == 1 ? t : heed_do2(r, HEED_OP_mul, t, heed_number(r, by));
}

static bool added_bwd(heed_rule_call *r) {
  heed_tensor *g = r->grad[0];
  double beta = r->attr[0].f, alpha = r->attr[1].f;
  if (heed_needs(r, 0) &&
      !heed_give(r, 0, beta != 0 ? times(r, g, beta) : heed_grad_zeros(r, 0)))
    return false;
  if (!heed_needs(r, 1) && !heed_needs(r, 2)) return true;
  g = times(r, g, alpha);
  if (heed_needs(r, 1) &&
      !heed_give(r, 1, heed_do2(r, HEED_OP_matmul, g,
                                heed_turn(r, heed_in(r, 2)))))
    return false;
  return !heed_needs(r, 2) ||
         heed_give(r, 2, heed_do2(r, HEED_OP_matmul,
                                  heed_turn(r, heed_in(r, 1)), g));
}

/***
beta * input + alpha * (a b), for matrices a and b. With beta = 0, input may
hold anything.
@function addmm
@param input float tensor that broadcasts to (m, n)
@param a float tensor (m, k)
@param b float tensor (k, n)
@param beta factor of input, 1 by default
@param alpha factor of the product, 1 by default
@return tensor (m, n)
@raise when a or b is no matrix or sizes do not fit
@usage heed.ones(2):addmm(heed.ones(1, 3), heed.ones(3, 2), {beta = 2}) --> 5 5
*/
static bool addmm_check(heed_call *c) {
  return want_rank(c, 1, 2) && want_rank(c, 2, 2) && added_check(c);
}
const heed_rule heed_rule_addmm = {
    .check = addmm_check, .forward = added_fwd, .backward = added_bwd,
    .keep = {0, HEED_NEED(2), HEED_NEED(1)}, .promote = true};

/***
beta * input + alpha * (a b), for the matrices of two batches. With beta = 0,
input may hold anything.
@function baddbmm
@param input float tensor that broadcasts to (batch, m, n)
@param a float tensor (batch, m, k)
@param b float tensor (batch, k, n)
@param beta factor of input, 1 by default
@param alpha factor of the product, 1 by default
@return tensor (batch, m, n)
@raise when a or b has not 3 dimensions, or sizes do not fit
@usage heed.ones(2):baddbmm(heed.ones(4, 1, 3), heed.ones(4, 3, 2))
*/
static bool baddbmm_check(heed_call *c) {
  return want_batches(c, 1) && added_check(c);
}
const heed_rule heed_rule_baddbmm = {
    .check = baddbmm_check, .forward = added_fwd, .backward = added_bwd,
    .keep = {0, HEED_NEED(2), HEED_NEED(1)}, .promote = true};

/***
x weight^T + bias: a linear layer, with PyTorch's layout of the weight.
@function linear
@param x float tensor (..., k)
@param weight tensor (n, k)
@param bias tensor (n), none by default
@return tensor (..., n)
@raise when the sizes do not fit
@usage heed.nn.functional.linear(heed.ones(2, 3), heed.ones(4, 3))
*/
static bool linear_check(heed_call *c) {
  heed_tensor *x = c->in[0], *w = c->in[1], *bias = c->in[2];
  if (!heed_want_float(c, 0) || !heed_want_ndim(c, 0, 1)) return false;
  if (w->shape.ndim != 2)
    return heed_fail("linear: weight must be (n, k), got %s",
                     heed_tensor_text(w));
  heed_shape shape = x->shape;
  int64_t *last = &shape.dim[shape.ndim - 1];
  if (*last != w->shape.dim[1])
    return heed_fail("linear: x %s must end in %lld, the input size of "
                     "weight %s", heed_shape_text(&x->shape),
                     (long long)w->shape.dim[1], heed_shape_text(&w->shape));
  if (bias && (bias->shape.ndim != 1 ||
               bias->shape.dim[0] != w->shape.dim[0]))
    return heed_fail("linear: bias must be [%lld] like the output size of "
                     "weight %s, got %s", (long long)w->shape.dim[0],
                     heed_shape_text(&w->shape),
                     heed_shape_text(&bias->shape));
  *last = w->shape.dim[0];
  heed_out(c, 0, x->dtype, &shape);
  return true;
}
static bool linear_fwd(heed_call *c) {
  heed_tensor *x = c->in[0], *w = c->in[1], *bias = c->in[2];
  heed_tensor *y = c->out[0], *own = NULL;
  int64_t n = w->shape.dim[0], k = w->shape.dim[1];
  int64_t m = n ? heed_tensor_numel(y) / n : 0;
  if (bias) {
    heed_tensor rows = *y;
    rows.shape = (heed_shape){2, {m, n}};
    heed_shape_strides(&rows.shape, rows.stride);
    heed_copy(&rows, bias);
  }
  heed_matrix left = matrix_of(x, 0, true);
  if (x->shape.ndim > 2) {
    if (!rows_join(x)) {
      own = heed_contiguous("linear", x);
      if (!own) return false;
    }
    left = (heed_matrix){heed_tensor_data(own ? own : x),
                         own ? k : x->stride[x->shape.ndim - 2],
                         own ? 1 : x->stride[x->shape.ndim - 1]};
    if (!own && x->shape.dim[x->shape.ndim - 2] == 1)
      left.row = x->stride[x->shape.ndim - 3];
  }
  heed_matrix right = {heed_tensor_data(w), w->stride[1], w->stride[0]};
  bool ok = heed_gemm(y->dtype, m, n, k, left, right, heed_tensor_data(y), n,
                      bias != NULL);
  heed_tensor_drop(own);
  return ok;
}
static bool linear_bwd(heed_rule_call *r) {
  heed_tensor *g = r->grad[0];
  if (heed_needs(r, 0) &&
      !heed_give(r, 0, heed_do2(r, HEED_OP_matmul, g, heed_in(r, 1))))
    return false;
  heed_tensor *rows = g->shape.ndim == 1 ? heed_unsqueeze(r, g, 0)
                                         : as_rows(r, g);
  if (heed_needs(r, 1)) {
    heed_tensor *x = heed_in(r, 0);
    if (x) x = x->shape.ndim == 1 ? heed_unsqueeze(r, x, 0) : as_rows(r, x);
    if (!heed_give(r, 1, heed_do2(r, HEED_OP_matmul, heed_turn(r, rows), x)))
      return false;
  }
  return !heed_needs(r, 2) || heed_give(r, 2, rows);
}
const heed_rule heed_rule_linear = {
    .check = linear_check, .forward = linear_fwd, .backward = linear_bwd,
    .keep = {HEED_NEED(1), HEED_NEED(0)}, .promote = true};
