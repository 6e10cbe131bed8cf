/*
 * order - values along one dimension in order: sort, topk. Layer: ops.
 * Read first: ranks.h, lines.h.
 */
#include <string.h>

#include "base/error.h"
#include "ops/lines.h"
#include "ops/ranks.h"

#define FEW 32 /* a part of a line that is kept in a heap is at most 1 / FEW */

/* -- the first k of a line -- */

static void sort_line(const heed_lines *l, const void *x, int64_t *place,
                      void *scratch) {
  heed_ranks r;
  heed_ranks_read(&r, l->dtype, l->n, x, l->down, scratch);
  if (l->k < l->n) heed_ranks_keep(&r, l->k);
  heed_ranks_sort(&r);
  for (int64_t i = 0; i < l->k; i++) place[i] = heed_ranks_place(&r, i);
}

typedef struct ranked {
  uint64_t rank;
  int64_t place;
} ranked;

/* Puts a into a heap of k, worst on top, in place of the worst. */
static void heap_replace(ranked *heap, int64_t k, ranked a) {
  int64_t i = 0;
  for (int64_t child; (child = 2 * i + 1) < k; i = child) {
    if (child + 1 < k &&
        (heap[child + 1].rank > heap[child].rank ||
         (heap[child + 1].rank == heap[child].rank &&
          heap[child + 1].place > heap[child].place)))
      child++;
    if (heap[child].rank < a.rank ||
        (heap[child].rank == a.rank && heap[child].place < a.place))
      break;
    heap[i] = heap[child];
  }
  heap[i] = a;
}

/* The first place from i on that may be better than place `worst`: a plain
   comparison passes over nearly all values of a long line. */
static int64_t skip_worse(const heed_lines *l, const void *line, int64_t i,
                          int64_t worst) {
#define SKIP(type)                                     \
  {                                                    \
    const type *x = line;                              \
    type limit = x[worst];                             \
    if (l->down)                                       \
      while (i < l->n && x[i] <= limit) i++;           \
    else                                               \
      while (i < l->n && x[i] >= limit) i++;           \
    return i;                                          \
  }
  switch (l->dtype) {
    case HEED_FLOAT32: SKIP(float)
    case HEED_FLOAT64: SKIP(double)
    case HEED_INT64: SKIP(int64_t)
    case HEED_INT32: SKIP(int32_t)
    default: SKIP(uint8_t)
  }
#undef SKIP
}

/* The best so far are kept in a heap, and most values are seen to be worse
   than its top. Of equal ranks the first stay. */
static void choose_line(const heed_lines *l, const void *x, int64_t *place,
                        void *scratch) {
  int64_t k = l->k, size = (int64_t)heed_dtype_size(l->dtype);
  ranked *heap = scratch;
  heed_ranks r;
  heed_ranks_read(&r, l->dtype, k, x, l->down, heap + k);
  heed_ranks_sort(&r);
  for (int64_t i = 0; i < k; i++) {
    int64_t at = heed_ranks_place(&r, k - 1 - i);
    heap[i] = (ranked){
        heed_rank_of(l->dtype, (const char *)x + at * size, l->down), at};
  }
  for (int64_t i = k;; i++) {
    i = skip_worse(l, x, i, heap[0].place);
    if (i >= l->n) break;
    uint64_t rank = heed_rank_of(l->dtype, (const char *)x + i * size,
                                 l->down);
    if (rank < heap[0].rank) heap_replace(heap, k, (ranked){rank, i});
  }
  while (k-- > 0) {
    place[k] = heap[0].place;
    heap_replace(heap, k, heap[k]);
  }
}

static bool order_lines(heed_call *c, int64_t dim, int64_t k, bool down) {
  heed_dtype dtype = c->in[0]->dtype;
  int64_t n = c->in[0]->shape.dim[dim];
  if (k > n / FEW)
    return heed_lines_run(c, dim, k, down, heed_ranks_room(dtype, n),
                          sort_line);
  size_t room = (size_t)k * sizeof(ranked) + heed_ranks_room(dtype, k);
  return heed_lines_run(c, dim, k, down, room, choose_line);
}

/***
The values along one dimension in order, and where they stood. Equal values
stay in their order; NaN counts as greater than all others.
@function sort
@param x tensor
@param dim dimension, the last by default
@param descending from the greatest to the smallest? false by default
@return tensor like x
@return int64 tensor of that shape: the positions in x
@raise when dim is out of range
@usage local values, positions = heed.tensor{3, 1, 2}:sort() --> 1 2 3, 2 3 1
*/
static bool sort_check(heed_call *c) {
  heed_tensor *x = c->in[0];
  if (!heed_axis(c, 0, &c->attr[0].i)) return false;
  heed_out_like(c, 0, x);
  heed_out(c, 1, HEED_INT64, &x->shape);
  return true;
}
static bool sort_fwd(heed_call *c) {
  int64_t dim = c->attr[0].i;
  return order_lines(c, dim, c->in[0]->shape.dim[dim], c->attr[1].i);
}
static bool sort_bwd(heed_rule_call *r) {
  return heed_lines_bwd(r, r->attr[0].i, true);
}
const heed_rule heed_rule_sort = {
    .check = sort_check, .forward = sort_fwd, .backward = sort_bwd,
    .keep_out = {0, HEED_NEED(0)}};

/***
The k greatest values along one dimension, the greatest first, and where they
stood. Of equal values the first are taken; NaN counts as greater than all
others.
@function topk
@param x tensor
@param k how many, 0 to the size of that dimension
@param dim dimension, the last by default
@param largest false for the smallest values, the smallest first
@return tensor with k instead of the size of that dimension
@return int64 tensor of that shape: the positions in x
@raise when dim or k is out of range
@usage local values, positions = heed.tensor{3, 1, 2}:topk(2) --> 3 2, 1 3
*/
static bool topk_check(heed_call *c) {
  heed_tensor *x = c->in[0];
  int64_t k = c->attr[0].i;
  if (!heed_axis(c, 0, &c->attr[1].i)) return false;
  heed_shape shape = x->shape;
  int64_t *size = &shape.dim[c->attr[1].i];
  if (k < 0 || k > *size)
    return heed_fail("topk: k must be 0..%lld for dim %lld of x %s, got %lld",
                     (long long)*size, (long long)c->attr[1].i + 1,
                     heed_shape_text(&x->shape), (long long)k);
  *size = k;
  heed_out(c, 0, x->dtype, &shape);
  heed_out(c, 1, HEED_INT64, &shape);
  return true;
}
static bool topk_fwd(heed_call *c) {
  return order_lines(c, c->attr[1].i, c->attr[0].i, c->attr[2].i);
}
static bool topk_bwd(heed_rule_call *r) {
  return heed_lines_bwd(r, r->attr[1].i, true);
}
const heed_rule heed_rule_topk = {
    .check = topk_check, .forward = topk_fwd, .backward = topk_bwd,
    .keep_out = {0, HEED_NEED(0)}};
