/*
 * scan - running sums, products and extremes along a dimension. Layer: ops.
 * Read first: core/op.h, kernel/scan.h.
 *
 * The kernel takes many lines at a time, side by side: those along the
 * dimensions behind, whose elements are neighbours in memory, or else those
 * along the dimension in front.
 */
#include <math.h>

#include "base/error.h"
#include "base/parallel.h"
#include "kernel/kernel.h"
#include "ops/copy.h"
#include "ops/lines.h"
#include "ops/rows.h"

#define GRAIN 16384 /* elements worth a thread */

typedef struct scan {
  heed_loop_scan *loop;
  const heed_tensor *x;
  heed_tensor *y, *place; /* without gaps; place: or NULL */
  int first, dim, last;   /* side by side: first .. last but dim */
  int64_t n, side;        /* elements of a line, lines side by side */
  int64_t block, blocks;  /* lines at a time, how often */
  int64_t gap, out;       /* from one line to the next, of x and y */
  int64_t inner;          /* of y, from one element of a line to the next */
} scan;

/* Finds the lines that lie side by side; false when the kernel would have to
   jump through x. */
static bool scan_sides(scan *s) {
  const heed_tensor *x = s->x;
  s->n = x->shape.dim[s->dim];
  s->side = s->gap = s->out = s->inner = 1;
  s->first = s->dim;
  s->last = x->shape.ndim - 1;
  for (int d = s->last; d > s->dim; d--) {
    int64_t size = x->shape.dim[d];
    s->inner *= size;
    if (size == 1) continue;
    if (s->side == 1) s->gap = x->stride[d];
    else if (x->stride[d] != s->gap * s->side) return false;
    s->side *= size;
  }
  s->block = HEED_SCAN_COLUMNS;
  if (s->inner == 1) {
    s->block = HEED_SCAN_LINES;
    while (s->side == 1 && s->first > 0) {
      s->side = x->shape.dim[--s->first];
      s->gap = x->stride[s->first];
      s->out = s->n;
    }
  }
  s->blocks = (s->side + s->block - 1) / s->block;
  return s->inner > 1 || s->n < 2 || x->stride[s->dim] == 1;
}

static void run_blocks(void *context, int64_t begin, int64_t end,
                       int worker) {
  const scan *s = context;
  const heed_tensor *x = s->x;
  int64_t size = (int64_t)heed_dtype_size(x->dtype);
  int64_t wide = (int64_t)heed_dtype_size(s->y->dtype);
  int64_t *place = s->place ? heed_tensor_data(s->place) : NULL;
  (void)worker;
  for (int64_t i = begin; i < end; i++) {
    int64_t rest = i / s->blocks, first = i % s->blocks * s->block;
    int64_t from = first * s->gap;
    int64_t to = first * s->out + rest * s->n * s->side;
    for (int d = s->first - 1; d >= 0; d--) {
      from += rest % x->shape.dim[d] * x->stride[d];
      rest /= x->shape.dim[d];
    }
    int64_t n = s->side - first < s->block ? s->side - first : s->block;
    s->loop(s->n, n, (const char *)heed_tensor_data(x) + from * size,
            x->stride[s->dim], s->gap,
            (char *)heed_tensor_data(s->y) + to * wide,
            place ? place + to : NULL, s->inner, s->out);
  }
}

/* One line at a time, of x as it lies in a tile of rows.c. */
static void scan_row(void *context, int64_t row, int64_t n,
                     void *const *data) {
  const scan *s = context;
  (void)row;
  s->loop(n, 1, data[s->place ? 2 : 1], 1, 1, data[0],
          s->place ? data[1] : NULL, 1, 1);
}

static bool scan_fwd(heed_call *c, heed_scan how) {
  heed_tensor *x = c->in[0];
  scan s = {.loop = heed_kernel.scan[how][x->dtype], .x = x, .y = c->out[0],
            .place = c->nout > 1 ? c->out[1] : NULL,
            .dim = (int)c->attr[0].i};
  int64_t numel = heed_tensor_numel(x);
  if (numel == 0) return true;
  if (scan_sides(&s)) {
    int64_t items = numel / (s.n * s.side) * s.blocks;
    heed_parallel(items, GRAIN / (numel / items) + 1, run_blocks, &s);
    return true;
  }
  heed_rows rows = {.shape = x->shape, .nwrite = c->nout,
                    .ntensor = c->nout + 1};
  for (int k = 0; k < c->nout; k++) rows.tensor[k] = c->out[k];
  rows.tensor[c->nout] = x;
  rows.along[s.dim] = true;
  return heed_rows_run(&rows, scan_row, &s);
}

static bool cumsum_check(heed_call *c) {
  heed_dtype dtype = c->in[0]->dtype;
  if (!heed_axis(c, 0, &c->attr[0].i)) return false;
  heed_out(c, 0, heed_dtype_is_float(dtype) ? dtype : HEED_INT64,
           &c->in[0]->shape);
  return true;
}

/* -- shared by backward rules -- */

/* Elements first .. last, from 0, of t along the dimension of attr[0]. */
static heed_tensor *part(heed_rule_call *r, heed_tensor *t, int64_t first,
                         int64_t last) {
  heed_attr attr[4] = {r->attr[0], {.i = first}, {.i = last}, {.i = 1}};
  return heed_do1_with(r, HEED_OP_slice, t, attr);
}

static int64_t line_length(const heed_rule_call *r) {
  const heed_shape *x = heed_in_shape(r, 0);
  return x->dim[r->attr[0].i];
}

/* z_i = g_i + link_i z_(i+1): link i leads from element i to the next. */
static heed_tensor *gather_back(heed_rule_call *r, heed_tensor *link,
                                heed_tensor *g) {
  heed_attr attr[2] = {r->attr[0], {.i = true}};
  return heed_do2_with(r, HEED_OP_recurrence, link, g, attr);
}

/***
The running sums along one dimension: each element is the sum of those up to
and with it. Floats are added up in double precision.
@function cumsum
@param x tensor
@param dim dimension
@return tensor of the shape of x; int64 for integers and bools
@raise when dim is out of range
@usage heed.tensor{1, 2, 3}:cumsum(1) --> 1 3 6
*/
static bool cumsum_fwd(heed_call *c) { return scan_fwd(c, HEED_SCAN_SUM); }
/* Running sums from the other end. */
static bool cumsum_bwd(heed_rule_call *r) {
  heed_attr dims = {.list = {1, {r->attr[0].i}}};
  heed_tensor *g = heed_do1_with(r, HEED_OP_flip, r->grad[0], &dims);
  g = heed_do1_with(r, HEED_OP_cumsum, g, r->attr);
  return heed_give(r, 0, heed_do1_with(r, HEED_OP_flip, g, &dims));
}
const heed_rule heed_rule_cumsum = {
    .check = cumsum_check, .forward = cumsum_fwd, .backward = cumsum_bwd};

/***
The running products along one dimension: each element is the product of those
up to and with it. Floats are multiplied in double precision.
@function cumprod
@param x tensor
@param dim dimension
@return tensor of the shape of x; int64 for integers and bools
@raise when dim is out of range
@usage heed.tensor{1, 2, 3}:cumprod(1) --> 1 2 6
*/
static bool cumprod_fwd(heed_call *c) { return scan_fwd(c, HEED_SCAN_PROD); }
/* dx_i = y_(i-1) z_i, z_i = g_i + x_(i+1) z_(i+1): without a division, so
   that zeros need no care. */
static bool cumprod_bwd(heed_rule_call *r) {
  heed_tensor *x = heed_in(r, 0), *y = heed_kept_out(r, 0);
  heed_tensor *g = r->grad[0];
  int64_t n = line_length(r);
  if (n < 2) return heed_give(r, 0, g);
  heed_tensor *z = gather_back(r, part(r, x, 1, n - 1), g);
  heed_tensor *rest = heed_do2(r, HEED_OP_mul, part(r, y, 0, n - 2),
                               part(r, z, 1, n - 1));
  return heed_give(r, 0, heed_do2_with(r, HEED_OP_cat, part(r, z, 0, 0), rest,
                                       r->attr));
}
const heed_rule heed_rule_cumprod = {
    .check = cumsum_check, .forward = cumprod_fwd, .backward = cumprod_bwd,
    .keep = {HEED_ALWAYS}, .keep_out = {HEED_ALWAYS}};

static bool cummax_check(heed_call *c) {
  if (!heed_axis(c, 0, &c->attr[0].i)) return false;
  heed_out_like(c, 0, c->in[0]);
  heed_out(c, 1, HEED_INT64, &c->in[0]->shape);
  return true;
}
static bool cummax_bwd(heed_rule_call *r) {
  return heed_lines_bwd(r, r->attr[0].i, true);
}

/***
The largest element so far along one dimension, and where it stood; NaN wins.
@function cummax
@param x tensor
@param dim dimension
@return tensor of the shape of x
@return int64 tensor of that shape: places from 1, of equals the last so far
@raise when dim is out of range
@usage local value, place = heed.tensor{1, 3, 2}:cummax(1) --> 1 3 3, 1 2 2
*/
static bool cummax_fwd(heed_call *c) { return scan_fwd(c, HEED_SCAN_MAX); }
const heed_rule heed_rule_cummax = {
    .check = cummax_check, .forward = cummax_fwd, .backward = cummax_bwd,
    .keep_out = {0, HEED_NEED(0)}};

/***
The smallest element so far along one dimension, and where it stood; NaN wins.
@function cummin
@param x tensor
@param dim dimension
@return tensor of the shape of x
@return int64 tensor of that shape: places from 1, of equals the last so far
@raise when dim is out of range
@usage local value, place = heed.tensor{3, 1, 2}:cummin(1) --> 3 1 1, 1 2 2
*/
static bool cummin_fwd(heed_call *c) { return scan_fwd(c, HEED_SCAN_MIN); }
const heed_rule heed_rule_cummin = {
    .check = cummax_check, .forward = cummin_fwd, .backward = cummax_bwd,
    .keep_out = {0, HEED_NEED(0)}};

/* -- logcumsumexp -- */

/* y = top + log(sum), sum = sum of e^(x - top), top the largest so far. */
static void log_row(void *context, int64_t row, int64_t n,
                    void *const *data) {
  heed_dtype dtype = *(const heed_dtype *)context;
  double top = -INFINITY, sum = 0;
  (void)row;
  for (int64_t i = 0; i < n; i++) {
    double x = heed_real(dtype, data[1], i);
    if (x > top) {
      sum = sum * exp(top - x) + 1;
      top = x;
    } else if (x == top) {
      sum += x == -INFINITY ? 0 : 1;
    } else {
      sum += exp(x - top);
    }
    heed_real_store(dtype, data[0], i,
                    top == -INFINITY && sum == 0 ? top : top + log(sum));
  }
}

/***
The logarithm of the running sums of e^x along one dimension, without overflow.
@function logcumsumexp
@param x float tensor
@param dim dimension
@return tensor of the shape of x
@raise when x is not float or dim is out of range
@usage heed.tensor{0.0, 0.0}:logcumsumexp(1) --> 0 0.6931
*/
static bool logcumsumexp_check(heed_call *c) {
  return heed_want_float(c, 0) && cumsum_check(c);
}
static bool logcumsumexp_fwd(heed_call *c) {
  heed_tensor *x = c->in[0];
  heed_rows rows = {.shape = x->shape, .ntensor = 2, .nwrite = 1,
                    .tensor = {c->out[0], x}};
  rows.along[c->attr[0].i] = true;
  return heed_rows_run(&rows, log_row, &x->dtype);
}
/* dx_i = e^(x_i - y_i) z_i, z_i = g_i + e^(y_i - y_(i+1)) z_(i+1); no
   exponent is above 0. Where y is -inf, 0 stands in for it in what is
   subtracted, so that e^-inf = 0 is left and not NaN. */
static bool logcumsumexp_bwd(heed_rule_call *r) {
  heed_tensor *y = heed_kept_out(r, 0);
  heed_tensor *low = heed_do2(r, HEED_OP_eq, y, heed_number(r, -INFINITY));
  heed_tensor *base = heed_do3(r, HEED_OP_where, low, heed_number(r, 0), y);
  int64_t n = line_length(r);
  heed_tensor *z = r->grad[0];
  if (n > 1) {
    heed_tensor *step = heed_do2(r, HEED_OP_sub, part(r, y, 0, n - 2),
                                 part(r, base, 1, n - 1));
    z = gather_back(r, heed_do1(r, HEED_OP_exp, step), z);
  }
  heed_tensor *share = heed_do1(r, HEED_OP_exp,
                                heed_do2(r, HEED_OP_sub, heed_in(r, 0),
                                         base));
  return heed_give(r, 0, heed_do2(r, HEED_OP_mul, share, z));
}
const heed_rule heed_rule_logcumsumexp = {
    .check = logcumsumexp_check, .forward = logcumsumexp_fwd,
    .backward = logcumsumexp_bwd, .keep = {HEED_ALWAYS},
    .keep_out = {HEED_ALWAYS}};

/* -- for backward rules: recurrences --
 * z_i = x_i + link_(i-1) z_(i-1), or from the end z_i = x_i + link_i z_(i+1).
 * A link is between two elements, so there is one less. The gradient goes
 * through the same links the other way. */

typedef struct chain {
  const heed_tensor *link, *x;
  heed_tensor *z; /* all without gaps */
  int64_t n, inner;
  bool back;
} chain;

static void run_chains(void *context, int64_t begin, int64_t end,
                       int worker) {
  const chain *c = context;
  (void)worker;
#define CHAINS(type)                                                      \
  for (int64_t i = begin; i < end; i++) {                                 \
    int64_t outer = i / c->inner, j = i % c->inner;                       \
    const type *link = (const type *)heed_tensor_data(c->link) +          \
                       outer * (c->n - 1) * c->inner + j;                 \
    int64_t first = outer * c->n * c->inner + j;                          \
    const type *x = (const type *)heed_tensor_data(c->x) + first;         \
    type *z = (type *)heed_tensor_data(c->z) + first;                     \
    double run = 0;                                                       \
    for (int64_t k = 0; k < c->n; k++) {                                  \
      int64_t at = (c->back ? c->n - 1 - k : k) * c->inner;               \
      if (k > 0) run *= (double)link[c->back ? at : at - c->inner];       \
      z[at] = (type)(run += (double)x[at]);                               \
    }                                                                     \
  }
  if (c->x->dtype == HEED_FLOAT64) {
    CHAINS(double)
  } else {
    CHAINS(float)
  }
#undef CHAINS
}

static bool recurrence_check(heed_call *c) {
  heed_out_like(c, 0, c->in[1]);
  return true;
}
static bool recurrence_fwd(heed_call *c) {
  heed_tensor *link = heed_contiguous("recurrence", c->in[0]);
  heed_tensor *x = link ? heed_contiguous("recurrence", c->in[1]) : NULL;
  int64_t numel = heed_tensor_numel(c->out[0]);
  if (x && numel > 0) {
    chain run = {link, x, c->out[0], x->shape.dim[c->attr[0].i], 1,
                 c->attr[1].i};
    for (int d = x->shape.ndim - 1; d > c->attr[0].i; d--)
      run.inner *= x->shape.dim[d];
    heed_parallel(numel / run.n, GRAIN / run.n + 1, run_chains, &run);
  }
  heed_tensor_drop(link);
  heed_tensor_drop(x);
  return x != NULL;
}
static bool recurrence_bwd(heed_rule_call *r) {
  bool back = r->attr[1].i;
  int64_t n = r->node->out[0].shape.dim[r->attr[0].i];
  heed_attr attr[2] = {r->attr[0], {.i = !back}};
  heed_tensor *g = heed_do2_with(r, HEED_OP_recurrence, heed_in(r, 0),
                                 r->grad[0], attr);
  if (heed_needs(r, 1) && !heed_give(r, 1, g)) return false;
  if (!heed_needs(r, 0)) return true;
  heed_tensor *z = heed_kept_out(r, 0);
  return heed_give(r, 0, heed_do2(
      r, HEED_OP_mul, part(r, g, back ? 0 : 1, back ? n - 2 : n - 1),
      part(r, z, back ? 1 : 0, back ? n - 1 : n - 2)));
}
const heed_rule heed_rule_recurrence = {
    .check = recurrence_check, .forward = recurrence_fwd,
    .backward = recurrence_bwd, .keep = {HEED_ALWAYS},
    .keep_out = {HEED_NEED(0)}};
