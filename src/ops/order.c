/*
 * order - values along one dimension in order: sort, topk.
 * Layer: ops. Read first: core/op.h.
 *
 * To be sorted, a value becomes a rank: an unsigned number of as many bytes
 * whose order is the order wanted. The bits of floats are ordered like
 * integers but for their sign; NaN comes behind infinity, -0 is 0; to sort
 * downwards, the bits are turned. Ranks with their places are then sorted by
 * their bytes, lowest first, which keeps the places of equal values in order.
 */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "ops/ops.h"

#define GRAIN 4096 /* elements worth a thread */
#define FEW 48     /* elements that are sorted by insertion */

/* A value as it is sorted, and where it stood. */
typedef struct ranked {
  uint64_t rank;
  int64_t place;
} ranked;

/* -- ranks -- */

static uint64_t rank_of(heed_dtype dtype, const void *value, bool down) {
  uint64_t rank;
  switch (dtype) {
    case HEED_FLOAT32: {
      float f = *(const float *)value;
      uint32_t bits;
      if (f == 0) f = 0; /* -0 too */
      memcpy(&bits, &f, sizeof bits);
      bits = f != f ? UINT32_MAX
                    : bits ^ (bits >> 31 ? UINT32_MAX : 1u << 31);
      return down ? (uint32_t)~bits : bits;
    }
    case HEED_FLOAT64: {
      double f = *(const double *)value;
      if (f == 0) f = 0;
      memcpy(&rank, &f, sizeof rank);
      rank = f != f ? UINT64_MAX
                    : rank ^ (rank >> 63 ? UINT64_MAX : (uint64_t)1 << 63);
      break;
    }
    case HEED_INT64:
      rank = (uint64_t)*(const int64_t *)value ^ (uint64_t)1 << 63;
      break;
    default: return (*(const unsigned char *)value != 0) ^ down;
  }
  return down ? ~rank : rank;
}

/* Sorts n elements whose ranks have `bytes` bytes, using spare ones; returns
   which of the two holds the result. */
static ranked *sort_ranked(ranked *a, ranked *spare, int64_t n, int bytes) {
  if (n <= FEW) {
    for (int64_t i = 1; i < n; i++) {
      ranked x = a[i];
      int64_t j = i;
      for (; j > 0 && a[j - 1].rank > x.rank; j--) a[j] = a[j - 1];
      a[j] = x;
    }
    return a;
  }
  for (int shift = 0; shift < 8 * bytes; shift += 8) {
    int64_t start[257] = {0};
    for (int64_t i = 0; i < n; i++) start[(a[i].rank >> shift & 255) + 1]++;
    if (start[(a[0].rank >> shift & 255) + 1] == n) continue; /* all alike */
    for (int b = 0; b < 256; b++) start[b + 1] += start[b];
    for (int64_t i = 0; i < n; i++)
      spare[start[a[i].rank >> shift & 255]++] = a[i];
    ranked *t = a;
    a = spare;
    spare = t;
  }
  return a;
}

/* -- the lines of a tensor along one dimension -- */

typedef struct lines {
  heed_tensor *x, *values, *places; /* values, places: row-major, k long */
  int64_t dim, n, k, count, inner;  /* inner: elements from one to the next */
  bool down;
  ranked *scratch;
  int64_t room; /* of scratch, for each worker */
} lines;

/* The first element of line i of x. */
static const char *line_start(const lines *l, int64_t i) {
  const heed_tensor *x = l->x;
  int64_t at = 0;
  for (int d = x->shape.ndim - 1; d >= 0; d--) {
    if (d == l->dim) continue;
    at += i % x->shape.dim[d] * x->stride[d];
    i /= x->shape.dim[d];
  }
  return (const char *)heed_tensor_data(x) +
         at * (int64_t)heed_dtype_size(x->dtype);
}

/* Writes line i of the results: the values of x at k places. */
static void write_line(const lines *l, int64_t i, const ranked *a) {
  size_t size = heed_dtype_size(l->x->dtype);
  int64_t step = l->x->stride[l->dim] * (int64_t)size;
  int64_t at = i / l->inner * l->k * l->inner + i % l->inner;
  const char *from = line_start(l, i);
  char *values = heed_tensor_data(l->values);
  int64_t *places = heed_tensor_data(l->places);
  for (int64_t j = 0; j < l->k; j++, at += l->inner) {
    memcpy(values + at * (int64_t)size, from + a[j].place * step, size);
    places[at] = a[j].place + 1;
  }
}

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
static int64_t skip_worse(const lines *l, const char *from, int64_t step,
                          int64_t i, int64_t worst) {
#define SKIP(type)                                        \
  {                                                       \
    type limit = *(const type *)(from + worst * step);    \
    const char *at = from + i * step;                     \
    if (l->down)                                          \
      for (; i < l->n && *(const type *)at <= limit; i++) \
        at += step;                                       \
    else                                                  \
      for (; i < l->n && *(const type *)at >= limit; i++) \
        at += step;                                       \
    return i;                                             \
  }
  switch (l->x->dtype) {
    case HEED_FLOAT32: SKIP(float)
    case HEED_FLOAT64: SKIP(double)
    case HEED_INT64: SKIP(int64_t)
    default: return i;
  }
#undef SKIP
}

/* Does a line need its whole length sorted? */
static bool sorts_all(const lines *l) { return l->k > l->n / 8; }

/* The k smallest ranks of a line, in order. a: room for twice the elements
   that are sorted. When k is small, the best so far are kept in a heap, and
   most values are seen to be worse than its top. Of equal ranks the first
   stay. */
static const ranked *choose(const lines *l, const char *from, ranked *a) {
  heed_dtype dtype = l->x->dtype;
  int64_t size = (int64_t)heed_dtype_size(dtype), k = l->k;
  int64_t step = l->x->stride[l->dim] * size;
  int64_t m = sorts_all(l) ? l->n : k;
  for (int64_t i = 0; i < m; i++)
    a[i] = (ranked){rank_of(dtype, from + i * step, l->down), i};
  ranked *sorted = sort_ranked(a, a + m, m, (int)size);
  if (m == l->n) return sorted;

  ranked *heap = sorted == a ? a + m : a;
  for (int64_t i = 0; i < k; i++) heap[i] = sorted[k - 1 - i];
  for (int64_t i = k;; i++) {
    i = skip_worse(l, from, step, i, heap[0].place);
    if (i >= l->n) break;
    uint64_t rank = rank_of(dtype, from + i * step, l->down);
    if (rank < heap[0].rank) heap_replace(heap, k, (ranked){rank, i});
  }
  while (k-- > 0) {
    sorted[k] = heap[0];
    heap_replace(heap, k, heap[k]);
  }
  return sorted;
}

static void run_lines(void *context, int64_t begin, int64_t end,
                      int worker) {
  const lines *l = context;
  ranked *scratch = l->scratch + worker * l->room;
  for (int64_t i = begin; i < end; i++)
    write_line(l, i, choose(l, line_start(l, i), scratch));
}

/* Fills values and places with the first k of each line. */
static bool order_lines(heed_call *c, int64_t dim, int64_t k, bool down) {
  lines l = {.x = c->in[0], .values = c->out[0], .places = c->out[1],
             .dim = dim, .n = c->in[0]->shape.dim[dim], .k = k, .inner = 1,
             .down = down};
  int64_t n = heed_tensor_numel(c->out[0]);
  if (n == 0) return true;
  for (int d = l.x->shape.ndim - 1; d > dim; d--)
    l.inner *= l.x->shape.dim[d];
  l.room = 2 * (sorts_all(&l) ? l.n : k);
  size_t bytes = sizeof *l.scratch * (size_t)l.room *
                 (size_t)heed_get_num_threads();
  l.scratch = heed_mem_alloc(bytes);
  if (!l.scratch) return heed_fail_prefix("%s: ", c->op->name);
  heed_parallel(n / k, (GRAIN + l.n - 1) / l.n, run_lines, &l);
  heed_mem_free(l.scratch, bytes);
  return true;
}

/* The values were gathered from x: their gradients go back there. */
static bool values_bwd(heed_rule_call *r, int64_t dim) {
  heed_attr attr[2] = {{.list = *heed_in_shape(r, 0)}, {.i = dim}};
  return heed_give(r, 0, heed_do2_with(r, HEED_OP_gather_bwd,
                                       heed_grad_of(r, 0),
                                       heed_kept_out(r, 1), attr));
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
  return values_bwd(r, r->attr[0].i);
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
  return values_bwd(r, r->attr[1].i);
}
const heed_rule heed_rule_topk = {
    .check = topk_check, .forward = topk_fwd, .backward = topk_bwd,
    .keep_out = {0, HEED_NEED(0)}};
