/*
 * pool - the largest or mean elements of windows of planes. Layer: ops.
 * Read first: core/op.h, kernel/pool.h.
 *
 * A plane is what lies in the last two dimensions. Windows are regular (a
 * kernel that moves by a stride) or adaptive (as many as are asked for, even
 * parts of the plane that may overlap by one). In either case a window is the
 * product of two ranges, so tables of ranges say all that the kernels need.
 *
 * Gradients: that of a maximum goes to where it was found, `max_unpool`; that
 * of a mean to all of its elements. Both are linear, so each is
 * differentiable in turn.
 */
#include <string.h>

#include "base/count.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "kernel/kernel.h"
#include "ops/copy.h"
#include "ops/ops.h"
#include "ops/slide.h"

#define GRAIN 16384 /* elements worth a thread */

/* -- windows along one dimension -- */

typedef struct windows {
  int64_t size, count;
  bool adaptive; /* else by the following: */
  int64_t kernel, stride, pad, dilation;
  bool whole_kernel; /* padding counts in means */
} windows;

/* How often a window fits; with `ceil` the last one may reach over the end,
   but must begin before it. */
static int64_t count_windows(const windows *w, bool ceil) {
  int64_t room = w->size + 2 * w->pad - w->dilation * (w->kernel - 1) - 1;
  if (room < 0) return 0;
  int64_t count = (room + (ceil ? w->stride - 1 : 0)) / w->stride + 1;
  if (ceil && (count - 1) * w->stride >= w->size + w->pad) count--;
  return count;
}

/* Where window i begins and ends, and how many elements count in its mean. */
static int64_t range_of(const windows *w, int64_t i, int64_t *begin,
                        int64_t *end) {
  if (w->adaptive) {
    *begin = i * w->size / w->count;
    *end = ((i + 1) * w->size + w->count - 1) / w->count;
    return *end - *begin;
  }
  int64_t first = i * w->stride - w->pad;
  int64_t last = first + w->dilation * (w->kernel - 1) + 1;
  int64_t counted = heed_least(last, w->size + w->pad) - first;
  *begin = first < 0
               ? first + (-first + w->dilation - 1) / w->dilation * w->dilation
               : first;
  *end = heed_least(last, w->size);
  return w->whole_kernel ? counted : *end - *begin;
}

/* -- checks -- */

static bool read_pair(const heed_call *c, int attr, const char *name,
                      int64_t least, int64_t *pair) {
  const heed_shape *list = &c->attr[attr].list;
  bool ok = list->ndim == 2;
  for (int d = 0; ok && d < 2; d++) ok = list->dim[d] >= least;
  memcpy(pair, list->dim, 2 * sizeof *pair);
  if (!ok)
    return heed_fail("%s: %s must have 2 entries of at least %lld, got %s",
                     c->op->name, name, (long long)least,
                     heed_shape_text(list));
  return heed_slide_small(c, name, list);
}

/* x and the sizes of its planes. */
static bool read_planes(const heed_call *c, windows *w) {
  const heed_shape *x = &c->in[0]->shape;
  if (!heed_want_float(c, 0) || !heed_want_ndim(c, 0, 2)) return false;
  for (int d = 0; d < 2; d++)
    w[d] = (windows){.size = x->dim[x->ndim - 2 + d], .dilation = 1,
                     .whole_kernel = true};
  return true;
}

/* The kernel, stride and padding from attribute `first` on; the dilation is
   attribute `dilation`, unless that is -1. */
static bool read_window(const heed_call *c, int first, int dilation,
                        windows *w) {
  int64_t kernel[2], stride[2], pad[2], apart[2] = {1, 1};
  if (!read_pair(c, first, "kernel", 1, kernel) ||
      !read_pair(c, first + 1, "stride", 1, stride) ||
      !read_pair(c, first + 2, "padding", 0, pad) ||
      (dilation >= 0 && !read_pair(c, dilation, "dilation", 1, apart)))
    return false;
  for (int d = 0; d < 2; d++) {
    w[d].kernel = kernel[d];
    w[d].stride = stride[d];
    w[d].pad = pad[d];
    w[d].dilation = apart[d];
    if (pad[d] > (apart[d] * (kernel[d] - 1) + 1) / 2)
      return heed_fail("%s: padding must be at most half of the window, %lld "
                       "for a kernel of %lld, got %lld", c->op->name,
                       (long long)(apart[d] * (kernel[d] - 1) + 1) / 2,
                       (long long)kernel[d], (long long)pad[d]);
  }
  return true;
}

/* Sets the counts; every window must see something. */
static bool fit(const heed_call *c, bool ceil, windows *w) {
  for (int d = 0; d < 2; d++) {
    w[d].count = count_windows(&w[d], ceil);
    bool ok = w[d].count > 0;
    for (int64_t i = 0; ok && i < w[d].count; i++) {
      int64_t begin, end;
      range_of(&w[d], i, &begin, &end);
      ok = begin < end;
    }
    if (!ok)
      return heed_fail("%s: a window of %lld x %lld, dilated by %lld x %lld, "
                       "does not fit into planes of %lld x %lld with padding",
                       c->op->name, (long long)w[0].kernel,
                       (long long)w[1].kernel, (long long)w[0].dilation,
                       (long long)w[1].dilation, (long long)w[0].size,
                       (long long)w[1].size);
  }
  return true;
}

static bool read_adaptive(const heed_call *c, windows *w) {
  int64_t count[2];
  if (!read_planes(c, w) || !read_pair(c, 0, "size", 0, count)) return false;
  for (int d = 0; d < 2; d++) {
    w[d].adaptive = true;
    w[d].count = count[d];
    if (w[d].size == 0 && count[d] > 0)
      return heed_fail("%s: x %s has no elements to take windows of",
                       c->op->name, heed_shape_text(&c->in[0]->shape));
  }
  return true;
}

/* The shape of x with planes of the sizes `h` and `w`. */
static heed_shape planes_of(const heed_shape *x, int64_t h, int64_t w) {
  heed_shape shape = *x;
  shape.dim[x->ndim - 2] = h;
  shape.dim[x->ndim - 1] = w;
  return shape;
}

static void pooled_out(heed_call *c, int k, heed_dtype dtype,
                       const windows *w) {
  heed_shape shape = planes_of(&c->in[0]->shape, w[0].count, w[1].count);
  heed_out(c, k, dtype, &shape);
}

/* -- planes over the threads -- */

typedef struct job {
  heed_pool pool;
  heed_dtype dtype;
  int64_t from_bytes, to_bytes, scratch_bytes; /* of a plane; of a worker */
  const char *from;
  char *to, *scratch;
  int64_t *at; /* of maxima, or NULL */
  enum { MAX, MEAN, MEAN_BWD } what;
} job;

static void planes(void *context, int64_t begin, int64_t end, int worker) {
  const job *g = context;
  const heed_pool_loops *loops = &heed_kernel.pool[g->dtype];
  void *line = g->scratch + worker * g->scratch_bytes;
  int64_t windows_of = g->pool.count[0] * g->pool.count[1];
  for (int64_t i = begin; i < end; i++) {
    const char *from = g->from + i * g->from_bytes;
    char *to = g->to + i * g->to_bytes;
    if (g->what == MAX)
      loops->max(&g->pool, from, to, g->at ? g->at + i * windows_of : NULL);
    else if (g->what == MEAN)
      loops->mean(&g->pool, from, to, line);
    else
      loops->mean_bwd(&g->pool, from, to, line);
  }
}

/* Writes the tables behind each other into `table`: begin and end of windows
   down, then across; then their shares. */
static void fill_tables(heed_pool *p, const windows *w, int64_t divisor,
                        int64_t *table) {
  int64_t all = w[0].count + w[1].count;
  double *share = (double *)(table + 2 * all);
  for (int d = 0; d < 2; d++) {
    int64_t *begin = table, *end = table + w[d].count;
    for (int64_t i = 0; i < w[d].count; i++) {
      int64_t counted = range_of(&w[d], i, &begin[i], &end[i]);
      share[i] = divisor ? (d == 0 ? 1 / (double)divisor : 1)
                         : 1 / (double)counted;
    }
    p->size[d] = w[d].size;
    p->count[d] = w[d].count;
    p->step[d] = w[d].dilation;
    p->begin[d] = begin;
    p->end[d] = end;
    p->share[d] = share;
    table += 2 * w[d].count;
    share += w[d].count;
  }
}

/* Result 0 from input 0, plane by plane. */
static bool run(heed_call *c, const windows *w, int what, int64_t divisor,
                int64_t *at) {
  heed_tensor *from = heed_contiguous(c->op->name, c->in[0]), *to = c->out[0];
  if (!from) return false;
  int64_t elements = w[0].size * w[1].size, out = w[0].count * w[1].count;
  int64_t size = (int64_t)heed_dtype_size(from->dtype);
  job g = {.dtype = from->dtype, .from = heed_tensor_data(from),
           .to = heed_tensor_data(to), .at = at, .what = what,
           .from_bytes = size * (what == MEAN_BWD ? out : elements),
           .to_bytes = size * (what == MEAN_BWD ? elements : out),
           .scratch_bytes = (size * w[1].size + HEED_ALIGN - 1) / HEED_ALIGN *
                            HEED_ALIGN};
  size_t tables = (size_t)(w[0].count + w[1].count) *
                  (2 * sizeof(int64_t) + sizeof(double));
  size_t bytes = tables + (size_t)(g.scratch_bytes * heed_get_num_threads());
  int64_t *block = heed_mem_alloc(bytes);
  if (block) {
    fill_tables(&g.pool, w, divisor, block);
    g.scratch = (char *)block + tables;
    int64_t all = heed_tensor_numel(what == MEAN_BWD ? to : from);
    if (all > 0 && heed_tensor_numel(to) > 0)
      heed_parallel(all / elements, GRAIN / (elements + 1) + 1, planes, &g);
    heed_mem_free(block, bytes);
  }
  heed_tensor_drop(from);
  return block != NULL;
}

/* -- largest elements -- */

static bool max_out(heed_call *c, const windows *w) {
  pooled_out(c, 0, c->in[0]->dtype, w);
  pooled_out(c, 1, HEED_INT64, w);
  return true;
}

static bool max_run(heed_call *c, const windows *w) {
  return run(c, w, MAX, 0, heed_tensor_data(c->out[1]));
}

/* The gradient of each element goes to where it came from. */
static bool max_bwd(heed_rule_call *r) {
  const heed_shape *x = heed_in_shape(r, 0);
  heed_attr size = {.list = {2, {x->dim[x->ndim - 2], x->dim[x->ndim - 1]}}};
  return heed_give(r, 0, heed_do2_with(r, HEED_OP_max_unpool, r->grad[0],
                                       heed_kept_out(r, 1), &size));
}

/***
The largest element of each window, and where it stands.
@function max_pool
@param x float tensor [.. H W]
@param kernel sizes of the window, down and across
@param stride its steps
@param padding how far windows reach over the edges, at most half of the
kernel; nothing is found there
@param dilation steps between the elements of a window
@param ceil_mode a last window that reaches over the end counts too
@return tensor [.. OH OW], with OH = floor((H + 2 padding - dilation (kh - 1) -
1) / stride) + 1 (with `ceil_mode`, rounded up)
@return int64 tensor [.. OH OW]: which element of the H W of its plane it is,
row by row from 1; the first of several
@raise when the window does not fit
@usage local x = heed.arange(1, 9):to "float32":reshape(3, 3)
return heed.core.ops.max_pool(x, {2, 2}) --> 5 6 8 9 5 6 8 9
*/
static bool read_max(const heed_call *c, windows *w) {
  return read_planes(c, w) && read_window(c, 0, 3, w) &&
         fit(c, c->attr[4].i, w);
}
static bool max_pool_check(heed_call *c) {
  windows w[2];
  return read_max(c, w) && max_out(c, w);
}
static bool max_pool_fwd(heed_call *c) {
  windows w[2];
  return read_max(c, w) && max_run(c, w);
}
const heed_rule heed_rule_max_pool = {
    .check = max_pool_check, .forward = max_pool_fwd, .backward = max_bwd,
    .keep_out = {0, HEED_ALWAYS}};

/***
The largest elements of as many even parts of each plane as are asked for: part
i of n goes from floor(i size / n) to ceil((i + 1) size / n), counted from 0.
@function adaptive_max_pool
@param x float tensor [.. H W]
@param size parts down and across
@return tensor [.. size]
@return int64 tensor [.. size]: which element of its plane it is, from 1
@raise when x has no elements
@usage local x = heed.arange(1, 6):to "float32":reshape(2, 3)
return heed.core.ops.adaptive_max_pool(x, {1, 2}) --> 5 6 5 6
*/
static bool adaptive_max_pool_check(heed_call *c) {
  windows w[2];
  return read_adaptive(c, w) && max_out(c, w);
}
static bool adaptive_max_pool_fwd(heed_call *c) {
  windows w[2];
  return read_adaptive(c, w) && max_run(c, w);
}
const heed_rule heed_rule_adaptive_max_pool = {
    .check = adaptive_max_pool_check, .forward = adaptive_max_pool_fwd,
    .backward = max_bwd, .keep_out = {0, HEED_ALWAYS}};

/***
Planes of zeros with the elements of x at the places that `max_pool` has found
them at; what meets in one place is added.
@function max_unpool
@param x float tensor [.. OH OW]
@param index int64 tensor of its shape: elements of a plane, from 1
@param size height and width of the planes
@return tensor [.. H W]
@raise when shapes do not fit, or a place is outside of the planes
@usage heed.core.ops.max_unpool(heed.tensor {{5.0, 6.0}}, heed.tensor {{2, 3}},
  {2, 2}) --> 0 5 6 0
*/
static bool max_unpool_check(heed_call *c) {
  int64_t size[2];
  if (!heed_want_float(c, 0) || !heed_want_ndim(c, 0, 2) ||
      !heed_want_dtype(c, 1, HEED_INT64) || !read_pair(c, 0, "size", 0, size))
    return false;
  if (!heed_shape_equal(&c->in[0]->shape, &c->in[1]->shape))
    return heed_fail("%s: index %s must have the shape of x %s", c->op->name,
                     heed_shape_text(&c->in[1]->shape),
                     heed_shape_text(&c->in[0]->shape));
  heed_shape shape = planes_of(&c->in[0]->shape, size[0], size[1]);
  heed_out(c, 0, c->in[0]->dtype, &shape);
  return true;
}

typedef struct unpool {
  heed_dtype dtype;
  int64_t count, elements; /* of a plane: of x, of the result */
  const char *x;
  const int64_t *at;
  char *y;
} unpool;

#define UNPOOL(T, x, y)                                       \
  for (int64_t i = begin * u->count; i < end * u->count; i++) \
    ((T *)(y))[i / u->count * u->elements + u->at[i] - 1] +=  \
        ((const T *)(x))[i];

static void unpool_planes(void *context, int64_t begin, int64_t end,
                          int worker) {
  (void)worker;
  const unpool *u = context;
  int64_t bytes = u->elements * (int64_t)heed_dtype_size(u->dtype);
  memset(u->y + begin * bytes, 0, (size_t)((end - begin) * bytes));
  if (u->dtype == HEED_FLOAT32) {
    UNPOOL(float, u->x, u->y)
  } else {
    UNPOOL(double, u->x, u->y)
  }
}

static bool places_fit(const heed_call *c, const unpool *u, int64_t n) {
  for (int64_t i = 0; i < n; i++)
    if (u->at[i] < 1 || u->at[i] > u->elements)
      return heed_fail("%s: index must be 1..%lld, an element of a plane, got "
                       "%lld", c->op->name, (long long)u->elements,
                       (long long)u->at[i]);
  return true;
}

static bool max_unpool_fwd(heed_call *c) {
  const heed_shape *size = &c->attr[0].list, *shape = &c->in[0]->shape;
  heed_tensor *x = heed_contiguous(c->op->name, c->in[0]), *at = NULL;
  bool ok = x && (at = heed_contiguous(c->op->name, c->in[1]));
  if (ok) {
    unpool u = {.dtype = x->dtype, .x = heed_tensor_data(x),
                .count = shape->dim[shape->ndim - 2] *
                         shape->dim[shape->ndim - 1],
                .elements = size->dim[0] * size->dim[1],
                .at = heed_tensor_data(at), .y = heed_tensor_data(c->out[0])};
    ok = places_fit(c, &u, heed_tensor_numel(x));
    int64_t all = heed_tensor_numel(c->out[0]);
    if (ok && all > 0)
      heed_parallel(all / u.elements, GRAIN / (u.elements + 1) + 1,
                    unpool_planes, &u);
  }
  heed_tensor_drop(at);
  heed_tensor_drop(x);
  return ok;
}

static bool max_unpool_bwd(heed_rule_call *r) {
  heed_attr flat[2] = {{.i = -2}, {.i = -1}};
  heed_tensor *at = heed_in(r, 1);
  heed_tensor *found = heed_do2_with(
      r, HEED_OP_gather, heed_do1_with(r, HEED_OP_flatten, r->grad[0], flat),
      heed_do1_with(r, HEED_OP_flatten, at, flat), &(heed_attr){.i = -1});
  return heed_give(r, 0, heed_do1_with(r, HEED_OP_reshape, found,
                                       &(heed_attr){.list = *heed_in_shape(
                                                        r, 0)}));
}
const heed_rule heed_rule_max_unpool = {
    .check = max_unpool_check, .forward = max_unpool_fwd,
    .backward = max_unpool_bwd, .keep = {0, HEED_NEED(0)}};

/* -- means -- */

/***
The mean of each window.
@function avg_pool
@param x float tensor [.. H W]
@param kernel sizes of the window, down and across
@param stride its steps
@param padding zeros around the planes, at most half of the kernel
@param ceil_mode a last window that reaches over the end counts too
@param count_include_pad do zeros of the padding count in the mean?
@param divisor of the sums; 0: how many elements count
@return tensor [.. OH OW], of the sizes of `max_pool`
@raise when the window does not fit
@usage local x = heed.arange(1, 9):to "float32":reshape(3, 3)
return heed.core.ops.avg_pool(x, {2, 2}) --> 3 4 6 7
*/
static bool read_avg(const heed_call *c, int first, windows *w) {
  if (!read_window(c, first, -1, w)) return false;
  for (int d = 0; d < 2; d++) w[d].whole_kernel = c->attr[first + 4].i;
  if (c->attr[first + 5].i < 0)
    return heed_fail("%s: divisor must be at least 0, got %lld", c->op->name,
                     (long long)c->attr[first + 5].i);
  return fit(c, c->attr[first + 3].i, w);
}
static bool avg_pool_check(heed_call *c) {
  windows w[2];
  if (!read_planes(c, w) || !read_avg(c, 0, w)) return false;
  pooled_out(c, 0, c->in[0]->dtype, w);
  return true;
}
static bool avg_pool_fwd(heed_call *c) {
  windows w[2];
  return read_planes(c, w) && read_avg(c, 0, w) &&
         run(c, w, MEAN, c->attr[5].i, NULL);
}
static bool avg_pool_bwd(heed_rule_call *r) {
  const heed_shape *x = heed_in_shape(r, 0);
  heed_attr attr[7] = {{.list = {2, {x->dim[x->ndim - 2],
                                     x->dim[x->ndim - 1]}}}};
  memcpy(attr + 1, r->attr, 6 * sizeof *attr);
  return heed_give(r, 0, heed_do1_with(r, HEED_OP_avg_pool_bwd, r->grad[0],
                                       attr));
}
const heed_rule heed_rule_avg_pool = {
    .check = avg_pool_check, .forward = avg_pool_fwd,
    .backward = avg_pool_bwd};

/* The planes of the result, whose size is attribute 0. */
static void result_planes(const heed_call *c, windows *w) {
  for (int d = 0; d < 2; d++)
    w[d] = (windows){.size = c->attr[0].list.dim[d], .dilation = 1};
}
static bool spread_check(heed_call *c) {
  const heed_shape *size = &c->attr[0].list;
  heed_shape shape = planes_of(&c->in[0]->shape, size->dim[0], size->dim[1]);
  heed_out(c, 0, c->in[0]->dtype, &shape);
  return true;
}

static bool avg_pool_bwd_fwd(heed_call *c) {
  windows w[2];
  result_planes(c, w);
  return read_avg(c, 1, w) && run(c, w, MEAN_BWD, c->attr[6].i, NULL);
}
static bool avg_pool_bwd_bwd(heed_rule_call *r) {
  return heed_give(r, 0, heed_do1_with(r, HEED_OP_avg_pool, r->grad[0],
                                       r->attr + 1));
}
const heed_rule heed_rule_avg_pool_bwd = {
    .check = spread_check, .forward = avg_pool_bwd_fwd,
    .backward = avg_pool_bwd_bwd};

/***
The means of as many even parts of each plane as are asked for, cut as by
`adaptive_max_pool`.
@function adaptive_avg_pool
@param x float tensor [.. H W]
@param size parts down and across
@return tensor [.. size]
@raise when x has no elements
@usage local x = heed.arange(1, 6):to "float32":reshape(2, 3)
return heed.core.ops.adaptive_avg_pool(x, {1, 2}) --> 3 4
*/
static bool adaptive_avg_pool_check(heed_call *c) {
  windows w[2];
  if (!read_adaptive(c, w)) return false;
  pooled_out(c, 0, c->in[0]->dtype, w);
  return true;
}
static bool adaptive_avg_pool_fwd(heed_call *c) {
  windows w[2];
  return read_adaptive(c, w) && run(c, w, MEAN, 0, NULL);
}
static bool adaptive_avg_pool_bwd(heed_rule_call *r) {
  const heed_shape *x = heed_in_shape(r, 0);
  heed_attr size = {.list = {2, {x->dim[x->ndim - 2], x->dim[x->ndim - 1]}}};
  return heed_give(r, 0, heed_do1_with(r, HEED_OP_adaptive_avg_pool_bwd,
                                       r->grad[0], &size));
}
const heed_rule heed_rule_adaptive_avg_pool = {
    .check = adaptive_avg_pool_check, .forward = adaptive_avg_pool_fwd,
    .backward = adaptive_avg_pool_bwd};

static bool adaptive_avg_pool_bwd_fwd(heed_call *c) {
  const heed_shape *g = &c->in[0]->shape;
  windows w[2];
  result_planes(c, w);
  for (int d = 0; d < 2; d++) {
    w[d].adaptive = true;
    w[d].count = g->dim[g->ndim - 2 + d];
  }
  return run(c, w, MEAN_BWD, 0, NULL);
}
static bool adaptive_avg_pool_bwd_bwd(heed_rule_call *r) {
  const heed_shape *g = heed_in_shape(r, 0);
  heed_attr size = {.list = {2, {g->dim[g->ndim - 2], g->dim[g->ndim - 1]}}};
  return heed_give(r, 0, heed_do1_with(r, HEED_OP_adaptive_avg_pool,
                                       r->grad[0], &size));
}
const heed_rule heed_rule_adaptive_avg_pool_bwd = {
    .check = spread_check, .forward = adaptive_avg_pool_bwd_fwd,
    .backward = adaptive_avg_pool_bwd_bwd};
