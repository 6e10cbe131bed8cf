/*
 * search - places in what is sorted. Layer: ops. Read first: core/op.h.
 */
#include "base/error.h"
#include "base/parallel.h"
#include "ops/copy.h"
#include "ops/ops.h"

#define GRAIN 4096 /* searches worth a thread */

typedef struct search {
  heed_dtype dtype;
  const void *sorted, *value;
  int64_t *place;
  int64_t n, each; /* sorted numbers; values that look for a place in them */
  bool shared;     /* one sequence for all rows of values */
  bool right;
} search;

/* How many of the n sorted numbers come before v? NaN is larger than all
   other numbers and equal to itself, as `sort` has it. */
#define BEFORE(type)                                                   \
  static int64_t before_##type(const type *sorted, int64_t n, type v,  \
                               bool right) {                           \
    int64_t low = 0, high = n;                                         \
    while (low < high) {                                               \
      int64_t middle = low + (high - low) / 2;                         \
      type s = sorted[middle];                                         \
      bool below = s < v || (v != v && s == s);                        \
      bool equal = s == v || (v != v && s != s);                       \
      if (below || (right && equal)) low = middle + 1;                 \
      else high = middle;                                              \
    }                                                                  \
    return low;                                                        \
  }
BEFORE(uint8_t)
BEFORE(int32_t)
BEFORE(int64_t)
BEFORE(float)
BEFORE(double)

static void find_places(void *context, int64_t begin, int64_t end,
                        int worker) {
  (void)worker;
  const search *s = context;
#define FIND(type)                                                         \
  for (int64_t i = begin; i < end; i++) {                                  \
    const type *sorted = (const type *)s->sorted +                         \
                         (s->shared ? 0 : i / s->each * s->n);             \
    s->place[i] = 1 + before_##type(sorted, s->n,                          \
                                    ((const type *)s->value)[i], s->right); \
  }
  switch (s->dtype) {
    case HEED_FLOAT32: FIND(float) break;
    case HEED_FLOAT64: FIND(double) break;
    case HEED_INT64: FIND(int64_t) break;
    case HEED_INT32: FIND(int32_t) break;
    default: FIND(uint8_t)
  }
#undef FIND
}

/***
The place of each value in sorted numbers: the first position where it could
be put in without disturbing their order, from 1 to their number + 1.
@function searchsorted
@param sorted tensor, ascending along its last dimension; NaN comes last
@param values number, or tensor: of any shape where sorted has one dimension,
else like sorted in all dimensions but the last
@param right false by default; true: the place behind equal numbers, not the
one before them
@return int64 tensor of the shape of values
@raise when the shapes do not fit
@usage heed.searchsorted(heed.tensor{10, 20, 20}, heed.tensor{5, 20, 30})
--> 1 2 4
*/
static bool searchsorted_check(heed_call *c) {
  const heed_shape *s = &c->in[0]->shape, *v = &c->in[1]->shape;
  bool fits = s->ndim == 1 || s->ndim == v->ndim;
  for (int d = 0; fits && s->ndim > 1 && d < s->ndim - 1; d++)
    fits = s->dim[d] == v->dim[d];
  if (!heed_want_ndim(c, 0, 1)) return false;
  if (!fits)
    return heed_fail("searchsorted: sorted %s must have one dimension, or "
                     "all sizes but the last of values %s",
                     heed_shape_text(s), heed_shape_text(v));
  heed_out(c, 0, HEED_INT64, v);
  return true;
}
static bool searchsorted_fwd(heed_call *c) {
  heed_tensor *sorted = heed_contiguous(c->op->name, c->in[0]);
  heed_tensor *value = heed_contiguous(c->op->name, c->in[1]);
  if (sorted && value) {
    int ndim = value->shape.ndim;
    search s = {
        .dtype = sorted->dtype, .sorted = heed_tensor_data(sorted),
        .value = heed_tensor_data(value),
        .place = heed_tensor_data(c->out[0]),
        .n = sorted->shape.dim[sorted->shape.ndim - 1],
        .each = ndim ? value->shape.dim[ndim - 1] : 1,
        .shared = sorted->shape.ndim == 1, .right = c->attr[0].i};
    heed_parallel(heed_tensor_numel(value), GRAIN, find_places, &s);
  }
  bool ok = sorted && value;
  heed_tensor_drop(sorted);
  heed_tensor_drop(value);
  return ok;
}
const heed_rule heed_rule_searchsorted = {
    .check = searchsorted_check, .forward = searchsorted_fwd,
    .promote = true};
