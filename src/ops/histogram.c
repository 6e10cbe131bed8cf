/*
 * histogram - how many elements fall where: histc, bincount. Layer: ops.
 * Read first: core/op.h.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "core/iter.h"
#include "kernel/kernel.h"
#include "ops/copy.h"
#include "ops/ops.h"

#define GRAIN 16384 /* elements worth a thread */

/* -- histc -- */

typedef struct bins {
  const heed_tensor *x; /* without gaps */
  double min, max;
  int64_t n;
  int64_t *count; /* n for each worker */
} bins;

/* min == max: from the smallest element to the largest, and one more on
   either side when these are equal. */
static bool find_range(heed_call *c, const heed_tensor *x, bins *b) {
  b->min = c->attr[1].f;
  b->max = c->attr[2].f;
  int64_t numel = heed_tensor_numel(x);
  if (b->min == b->max && numel > 0) {
    char low[8], high[8];
    const heed_reduce_loops *min = &heed_kernel.reduce[HEED_REDUCE_MIN]
                                                      [x->dtype];
    const heed_reduce_loops *max = &heed_kernel.reduce[HEED_REDUCE_MAX]
                                                      [x->dtype];
    min->start(1, 0, low);
    max->start(1, 0, high);
    min->row(numel, heed_tensor_data(x), 1, 0, low);
    max->row(numel, heed_tensor_data(x), 1, 0, high);
    b->min = heed_element_float(x->dtype, low, 0);
    b->max = heed_element_float(x->dtype, high, 0);
  }
  if (!isfinite(b->min) || !isfinite(b->max))
    return heed_fail("histc: the range of x from %g to %g is not finite; give "
                     "min and max", isnan(b->min) ? NAN : b->min,
                     isnan(b->max) ? NAN : b->max); /* without its sign */
  if (b->min == b->max) {
    b->min -= 1;
    b->max += 1;
  }
  return true;
}

static void run_bins(void *context, int64_t begin, int64_t end, int worker) {
  const bins *b = context;
  int64_t *count = b->count + worker * b->n;
  /* in the dtype of x, as PyTorch does: its bounds, too, are rounded */
#define COUNT(type)                                                 \
  {                                                                 \
    const type *x = heed_tensor_data(b->x);                         \
    const type min = (type)b->min, max = (type)b->max;              \
    const type width = max - min, n = (type)b->n;                   \
    for (int64_t i = begin; i < end; i++) {                         \
      if (!(x[i] >= min && x[i] <= max)) continue;                  \
      int64_t at = (int64_t)((x[i] - min) * n / width);             \
      count[at < b->n ? at : b->n - 1]++;                           \
    }                                                               \
  }
  if (b->x->dtype == HEED_FLOAT64) COUNT(double)
  else COUNT(float)
#undef COUNT
}

/***
How many elements fall into each of some bins of one width. The last bin has
its right end; elements outside and NaN count nowhere.
@function histc
@param x tensor; integers are taken as float32
@param bins how many, 100 by default
@param min left end of the first bin, 0 by default
@param max right end of the last bin, 0 by default; when both are equal, the
smallest and the largest element take their place
@return float tensor of the counts
@raise when bins is not positive, min is above max or the range is not finite
@usage heed.tensor{1.0, 2.0, 1.0}:histc(4, 0, 3) --> 0 2 1 0
*/
static bool histc_check(heed_call *c) {
  int64_t n = c->attr[0].i;
  if (n < 1)
    return heed_fail("histc: bins must be at least 1, got %lld",
                     (long long)n);
  if (!(c->attr[1].f <= c->attr[2].f))
    return heed_fail("histc: min must not be above max, got %g and %g",
                     c->attr[1].f, c->attr[2].f);
  heed_out(c, 0, c->in[0]->dtype, &(heed_shape){1, {n}});
  return true;
}
static bool histc_fwd(heed_call *c) {
  heed_tensor *x = heed_contiguous("histc", c->in[0]);
  bins b = {.x = x, .n = c->attr[0].i};
  int64_t workers = heed_get_num_threads();
  size_t bytes = sizeof *b.count * (size_t)(b.n * workers);
  bool ok = x && find_range(c, x, &b) && (b.count = heed_mem_alloc(bytes));
  if (ok) {
    memset(b.count, 0, bytes);
    heed_parallel(heed_tensor_numel(x), GRAIN, run_bins, &b);
    for (int64_t w = 1; w < workers; w++)
      for (int64_t k = 0; k < b.n; k++) b.count[k] += b.count[w * b.n + k];
    heed_kernel.cast[x->dtype][HEED_INT64](b.n, heed_tensor_data(c->out[0]), 1,
                                           b.count, 1);
    heed_mem_free(b.count, bytes);
  }
  heed_tensor_drop(x);
  return ok;
}
const heed_rule heed_rule_histc = {.check = histc_check, .forward = histc_fwd,
                                   .promote = true, .to_float = true};

/* -- bincount -- */

/* The ids as int64 without gaps: themselves or a copy. */
static heed_tensor *read_ids(heed_tensor *ids) {
  if (ids->dtype == HEED_INT64) return heed_contiguous("bincount", ids);
  heed_tensor *copy = heed_tensor_new("bincount", HEED_INT64, &ids->shape);
  if (copy) heed_copy(copy, ids);
  return copy;
}

/***
How often each id occurs: element i counts the id i. Ids are counted from 1, as
those of `embedding`, `one_hot` and `cross_entropy` are.
@function bincount
@param ids tensor (n) of uint8, int32 or int64
@param weights tensor (n): what each occurrence counts; 1 by default
@param minlength the least size of the result; 0 by default
@return tensor (m), m the greatest id: int64; with weights float32 for these,
else float64
@raise when ids are below 1 or not in one dimension, or sizes differ
@usage heed.tensor{1, 3, 3}:bincount() --> 1 0 2
*/
static bool bincount_check(heed_call *c) {
  heed_tensor *ids = c->in[0], *weights = c->in[1];
  int64_t least = c->attr[0].i, most = 0;
  if (!heed_dtype_is_integer(ids->dtype) || ids->shape.ndim != 1)
    return heed_fail("bincount: ids must be integers in one dimension, got %s",
                     heed_tensor_text(ids));
  if (weights && !heed_shape_equal(&weights->shape, &ids->shape))
    return heed_fail("bincount: weights %s must have the shape of ids %s",
                     heed_shape_text(&weights->shape),
                     heed_shape_text(&ids->shape));
  if (least < 0)
    return heed_fail("bincount: minlength must not be negative, got %lld",
                     (long long)least);
  heed_tensor *rows = read_ids(ids);
  if (!rows) return false;
  const int64_t *id = heed_tensor_data(rows);
  for (int64_t i = 0; i < ids->shape.dim[0]; i++) {
    if (id[i] < 1) {
      heed_fail("bincount: ids[%lld] must be at least 1, got %lld",
                (long long)i + 1, (long long)id[i]);
      heed_tensor_drop(rows);
      return false;
    }
    if (id[i] > most) most = id[i];
  }
  heed_tensor_drop(rows);
  heed_dtype dtype = !weights                          ? HEED_INT64
                     : weights->dtype == HEED_FLOAT32 ? HEED_FLOAT32
                                                       : HEED_FLOAT64;
  heed_out(c, 0, dtype, &(heed_shape){1, {most > least ? most : least}});
  return true;
}

static bool count_ids(heed_call *c, const int64_t *id, int64_t n) {
  heed_tensor *y = c->out[0];
  memset(heed_tensor_data(y), 0, y->storage->bytes);
  int64_t *count = heed_tensor_data(y);
  for (int64_t i = 0; i < n; i++) count[id[i] - 1]++;
  return true;
}

/* Added up in double precision. */
static bool weigh_ids(heed_call *c, const int64_t *id, int64_t n) {
  heed_tensor *y = c->out[0];
  heed_tensor *sum = heed_tensor_new("bincount", HEED_FLOAT64, &y->shape);
  heed_tensor *weight = heed_tensor_new("bincount", HEED_FLOAT64,
                                        &c->in[1]->shape);
  bool ok = sum && weight;
  if (ok) {
    double *to = heed_tensor_data(sum);
    const double *from = heed_tensor_data(weight);
    heed_copy(weight, c->in[1]);
    memset(to, 0, sum->storage->bytes);
    for (int64_t i = 0; i < n; i++) to[id[i] - 1] += from[i];
    heed_copy(y, sum);
  }
  heed_tensor_drop(sum);
  heed_tensor_drop(weight);
  return ok;
}

static bool bincount_fwd(heed_call *c) {
  heed_tensor *ids = read_ids(c->in[0]);
  if (!ids) return false;
  const int64_t *id = heed_tensor_data(ids);
  int64_t n = ids->shape.dim[0], most = c->out[0]->shape.dim[0];
  /* those of a mapped file may be others than the check has seen */
  bool ok = true;
  for (int64_t i = 0; ok && i < n; i++)
    ok = (id[i] >= 1 && id[i] <= most) ||
         heed_fail("bincount: ids have changed while they were counted");
  ok = ok && (c->in[1] ? weigh_ids(c, id, n) : count_ids(c, id, n));
  heed_tensor_drop(ids);
  return ok;
}
static bool bincount_bwd(heed_rule_call *r) {
  heed_tensor *ids = heed_do1_with(r, HEED_OP_to, heed_in(r, 0),
                                   &(heed_attr){.i = HEED_INT64});
  return heed_give(r, 1, heed_do2_with(r, HEED_OP_index_select, r->grad[0],
                                       ids, &(heed_attr){.i = 0}));
}
const heed_rule heed_rule_bincount = {
    .check = bincount_check, .forward = bincount_fwd,
    .backward = bincount_bwd, .keep = {HEED_NEED(1)}};
