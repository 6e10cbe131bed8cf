/*
 * vector_norm - p-norms over dimensions. Layer: ops.
 * Read first: rows.h, kernel/distance.c.
 */
#include "ops/vector_norm.h"

#include <math.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "kernel/kernel.h"
#include "ops/copy.h"
#include "ops/reduce.h"
#include "ops/rows.h"

/* ---- one sum over everything --------------------------------------------- */

/* Elements of a block. Blocks are the same for every number of threads, so
   that a result does not depend on it. */
#define BLOCK 4096
#define GRAIN 8 /* blocks worth a thread */

typedef struct sums {
  const heed_tensor *x;
  double p;
  double *sum; /* one a block */
} sums;

static void sum_blocks(void *context, int64_t begin, int64_t end,
                       int worker) {
  const sums *s = context;
  (void)worker;
  const char *data = heed_tensor_data(s->x);
  int64_t n = heed_tensor_numel(s->x);
  int64_t bytes = BLOCK * (int64_t)heed_dtype_size(s->x->dtype);
  for (int64_t b = begin; b < end; b++) {
    int64_t left = n - b * BLOCK;
    s->sum[b] = heed_kernel.power_sum[s->x->dtype](
        left < BLOCK ? left : BLOCK, data + b * bytes, s->p);
  }
}

static double join(double a, double b, double p) {
  if (!isinf(p)) return a + b;
  return isnan(b) || (p > 0 ? b > a : b < a) ? b : a;
}

bool heed_power_sum(const char *op, heed_tensor *x, double p, double *total) {
  heed_tensor *rows = heed_contiguous(op, x);
  if (!rows) return false;
  int64_t n = (heed_tensor_numel(rows) + BLOCK - 1) / BLOCK;
  size_t bytes = sizeof(double) * (size_t)n;
  sums s = {rows, p, heed_mem_alloc(bytes)};
  if (s.sum) {
    heed_parallel(n, GRAIN, sum_blocks, &s);
    for (int64_t b = 0; b < n; b++) *total = join(*total, s.sum[b], p);
    heed_mem_free(s.sum, bytes);
  }
  heed_tensor_drop(rows);
  return s.sum != NULL;
}

/* ---- vector_norm --------------------------------------------------------- */

typedef struct norms {
  double p;
  heed_tensor *y; /* contiguous, one element a row */
} norms;

static void put_root(const norms *to, int64_t row, double sum) {
  double p = to->p, v = sum;
  if (p == 2) v = sqrt(sum);
  else if (p != 0 && p != 1 && !isinf(p)) v = pow(sum, 1 / p);
  heed_real_store(to->y->dtype, heed_tensor_data(to->y), row, v);
}

static void norm_row(void *context, int64_t row, int64_t n,
                     void *const *data) {
  const norms *to = context;
  heed_dtype dtype = to->y->dtype;
  put_root(to, row, heed_kernel.power_sum[dtype](n, data[0], to->p));
}

/***
The norm of the elements over some or all dimensions: the root 1 / ord of the
sum of abs(x)^ord. For `ord` 0 how many are not 0; for `math.huge` the largest
abs(x), for `-math.huge` the smallest. Where the norm is 0 its gradient is 0;
where elements share an extreme, they share its gradient evenly.
@function vector_norm
@param x float tensor
@param ord number, 2 by default
@param dim one dimension or a list; all by default
@param keepdim keep the reduced dimensions with size 1; false by default
@return tensor without the reduced dimensions
@raise when x is no float, ord is NaN, a dimension is out of range, or nothing
is there whose extreme or negative power could be taken
@usage heed.linalg.vector_norm(heed.tensor{3.0, -4.0}) --> 5
*/
static bool vector_norm_check(heed_call *c) {
  const heed_shape *x = &c->in[0]->shape;
  double p = c->attr[0].f;
  bool on[HEED_MAX_DIM];
  if (!heed_want_float(c, 0) || !heed_axes(c, 0, &c->attr[1].list, on))
    return false;
  if (isnan(p)) return heed_fail("vector_norm: ord must be a number, got nan");
  heed_shape shape = heed_reduce_shape(x, on, c->attr[2].i);
  if (heed_reduce_length(c->in[0], on) == 0 && (p < 0 || p == INFINITY))
    return heed_fail("vector_norm: x %s has no elements, of which ord %g has "
                     "no value", heed_shape_text(x), p);
  heed_out(c, 0, c->in[0]->dtype, &shape);
  return true;
}
static bool vector_norm_fwd(heed_call *c) {
  heed_tensor *x = c->in[0];
  heed_rows rows = {.shape = x->shape, .ntensor = 1, .tensor = {x}};
  norms to = {c->attr[0].f, c->out[0]};
  if (!heed_axes(c, 0, &c->attr[1].list, rows.along)) return false;
  if (heed_tensor_numel(to.y) != 1 || heed_tensor_numel(x) <= BLOCK)
    return heed_rows_run(&rows, norm_row, &to);
  double sum = to.p == -INFINITY ? INFINITY : 0;
  if (!heed_power_sum("vector_norm", x, to.p, &sum)) return false;
  put_root(&to, 0, sum);
  return true;
}

/* g shared by the elements whose |x| is the extreme y */
static heed_tensor *share(heed_rule_call *r, heed_tensor *x, heed_tensor *y,
                          heed_tensor *g, const heed_shape *dims) {
  heed_tensor *same = heed_do2(r, HEED_OP_eq, heed_do1(r, HEED_OP_abs, x), y);
  heed_attr attr[2] = {{.list = *dims}, {.i = true}};
  heed_tensor *n = heed_do1_with(r, HEED_OP_sum, same, attr);
  return heed_do2(r, HEED_OP_mul, same, heed_do2(r, HEED_OP_div, g, n));
}

heed_tensor *heed_norm_gradient(heed_rule_call *r, heed_tensor *x,
                                heed_tensor *y, heed_tensor *g, double p,
                                const heed_shape *dims) {
  heed_tensor *zero = heed_number(r, 0), *one = heed_number(r, 1);
  if (p == 0)
    return heed_do2(r, HEED_OP_mul, g, heed_do2(r, HEED_OP_mul, x, zero));
  heed_tensor *sign = heed_do1(r, HEED_OP_sign, x);
  if (p == 1) return heed_do2(r, HEED_OP_mul, g, sign);
  if (isinf(p))
    return heed_do2(r, HEED_OP_mul, share(r, x, y, g, dims), sign);
  heed_tensor *none = heed_do2(r, HEED_OP_eq, y, zero);
  y = heed_do3(r, HEED_OP_where, none, one, y);
  g = heed_do3(r, HEED_OP_where, none, zero, g);
  if (p == 2)
    return heed_do2(r, HEED_OP_mul, x, heed_do2(r, HEED_OP_div, g, y));
  /* g sign(x) (|x| / y)^(p - 1), where x = 0 gives 0 for any p */
  heed_tensor *a = heed_do1(r, HEED_OP_abs, x);
  a = heed_do3(r, HEED_OP_where, heed_do2(r, HEED_OP_eq, x, zero), one, a);
  heed_tensor *power = heed_do2(r, HEED_OP_pow, heed_do2(r, HEED_OP_div, a, y),
                                heed_number(r, p - 1));
  return heed_do2(r, HEED_OP_mul, g, heed_do2(r, HEED_OP_mul, sign, power));
}

static bool vector_norm_bwd(heed_rule_call *r) {
  const heed_shape *dims = &r->attr[1].list;
  heed_tensor *y = heed_reduce_put_back_on(r, heed_kept_out(r, 0), dims);
  heed_tensor *g = heed_reduce_put_back_on(r, r->grad[0], dims);
  return heed_give(r, 0, heed_norm_gradient(r, heed_in(r, 0), y, g,
                                            r->attr[0].f, dims));
}
const heed_rule heed_rule_vector_norm = {
    .check = vector_norm_check, .forward = vector_norm_fwd,
    .backward = vector_norm_bwd, .keep = {HEED_ALWAYS},
    .keep_out = {HEED_ALWAYS}};
