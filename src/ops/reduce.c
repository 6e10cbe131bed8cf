/*
 * reduce - one value from many, over some or all dimensions. Layer: ops.
 * Read first: reduce.h, kernel/reduce.h (the contracts of the loops).
 *
 * Dimensions that are reduced and dimensions that are kept are each put in
 * the order of their strides and joined where they lie one behind the other.
 * Then there are two ways: where memory runs along a reduced dimension, each
 * result takes in rows; where it runs along a kept one, a block of results
 * takes in columns. What a block takes in is cut into parts, whose length
 * depends on sizes only, so that the order of a sum does not depend on the
 * threads; parts are merged in order.
 */
#include "ops/reduce.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"

#define PART 65536     /* elements of a row in a part */
#define SLAB 524288    /* elements of a block of columns in a part */
#define GRAIN 16384    /* elements worth a thread */
#define FEW_ROWS 16    /* rows that are too short to be taken one by one */
#define FEW_COLUMNS 8  /* columns that are too few to be taken together */
#define ROOM_MAX sizeof(heed_moments)

/* Strides count elements; `out`: from one result to the next. */
typedef struct axis {
  int64_t size, stride, out;
} axis;

typedef struct plan {
  const heed_reduce_loops *loops;
  const char *data;
  int64_t size; /* bytes of an element */
  int nkeep, nover;
  axis keep[HEED_MAX_DIM], over[HEED_MAX_DIM];
  int64_t results, length; /* kept and reduced elements */
  bool columns;
  int64_t block, blocks; /* results of a block, blocks of the last kept axis */
  int64_t part, parts;   /* reduced elements (of a result) of a part */
  char *acc;             /* [blocks in all, parts, block], with parts > 1 */
  heed_finish *finish;
  void *context;
} plan;

/* -- the plan -- */

/* What lies closest in memory is the innermost; repeated elements are not. */
static int64_t distance(const axis *a) {
  return a->stride == 0 ? INT64_MAX : llabs(a->stride);
}

/* Adds an axis to n of them in the order of their distances. */
static void add_axis(axis *list, int *n, axis a, bool in_order) {
  if (a.size == 1) return;
  int at = (*n)++;
  for (; !in_order && at > 0 && distance(&list[at - 1]) < distance(&a); at--)
    list[at] = list[at - 1];
  list[at] = a;
}

/* Joins axes that lie one behind the other; at least one is left, so that
   loops have an innermost one. */
static void join_axes(axis *list, int *n, int64_t count) {
  int kept = 0;
  for (int k = 0; k < *n; k++) {
    axis *last = &list[kept - 1], a = list[k];
    if (kept > 0 && last->stride == a.size * a.stride &&
        last->out == a.size * a.out)
      *last = (axis){last->size * a.size, a.stride, a.out};
    else
      list[kept++] = a;
  }
  if (kept == 0) list[kept++] = (axis){count, 0, 0};
  *n = kept;
}

static void plan_axes(plan *p, const heed_tensor *x, const bool *on,
                      bool in_order) {
  p->results = p->length = 1;
  for (int d = x->shape.ndim - 1; d >= 0; d--)
    if (!on[d]) p->results *= x->shape.dim[d];
  int64_t out = p->results;
  for (int d = 0; d < x->shape.ndim; d++) {
    int64_t n = x->shape.dim[d];
    if (on[d]) {
      p->length *= n;
      add_axis(p->over, &p->nover, (axis){n, x->stride[d], 0}, in_order);
    } else {
      out = n ? out / n : 0;
      add_axis(p->keep, &p->nkeep, (axis){n, x->stride[d], out}, false);
    }
  }
  join_axes(p->keep, &p->nkeep, p->results);
  join_axes(p->over, &p->nover, p->length);
}

/* Rows or columns? Short rows are taken as columns with gaps. */
static void plan_way(plan *p) {
  axis *keep = &p->keep[p->nkeep - 1], *over = &p->over[p->nover - 1];
  if (over->size >= FEW_ROWS) {
    p->columns = distance(keep) < distance(over) && keep->size >= FEW_COLUMNS;
    return;
  }
  if (keep->size < FEW_COLUMNS)
    for (axis *a = p->keep; a < keep; a++)
      if (a->size > keep->size) {
        axis t = *a;
        *a = *keep;
        *keep = t;
      }
  p->columns = keep->size > over->size;
}

static void plan_cuts(plan *p) {
  int64_t n = p->keep[p->nkeep - 1].size, length = p->length ? p->length : 1;
  int64_t most = HEED_REDUCE_COLUMNS;
  if (!p->columns && GRAIN / length + 1 < most) most = GRAIN / length + 1;
  p->block = n < most ? n : most;
  p->blocks = (n + p->block - 1) / p->block;
  p->part = p->columns ? SLAB / p->block : PART;
  p->parts = (length + p->part - 1) / p->part;
}

/* -- the run -- */

/* Where position `index` of the first n axes lies, and its result. */
static int64_t offset_of(const axis *list, int n, int64_t index,
                         int64_t *out) {
  int64_t at = 0;
  *out = 0;
  for (int d = n - 1; d >= 0; d--) {
    int64_t i = index % list[d].size;
    at += i * list[d].stride;
    *out += i * list[d].out;
    index /= list[d].size;
  }
  return at;
}

/* Takes the reduced elements [begin, end) of n results, whose first one
   starts at `from`, into acc. */
static void take(const plan *p, const char *from, int64_t n, int64_t begin,
                 int64_t end, char *acc) {
  const axis *keep = &p->keep[p->nkeep - 1], *last = &p->over[p->nover - 1];
  while (begin < end) {
    int64_t row = begin % last->size, rows = last->size - row, out;
    if (rows > end - begin) rows = end - begin;
    int64_t at = offset_of(p->over, p->nover - 1, begin / last->size, &out) +
                 row * last->stride;
    const char *x = from + at * p->size;
    if (p->columns)
      p->loops->columns(rows, n, x, last->stride, keep->stride, begin, acc);
    else
      for (int64_t j = 0; j < n; j++)
        p->loops->row(rows, x + j * keep->stride * p->size, last->stride,
                      begin, acc + (size_t)j * p->loops->room);
    begin += rows;
  }
}

/* The results of block i: how many, where they start, where they go. */
static int64_t find_block(const plan *p, int64_t i, const char **from,
                          int64_t *out) {
  const axis *keep = &p->keep[p->nkeep - 1];
  int64_t first = i % p->blocks * p->block;
  int64_t at = offset_of(p->keep, p->nkeep - 1, i / p->blocks, out);
  *from = p->data + (at + first * keep->stride) * p->size;
  *out += first * keep->out;
  return keep->size - first < p->block ? keep->size - first : p->block;
}

static void run_part(void *context, int64_t begin, int64_t end, int worker) {
  const plan *p = context;
  _Alignas(64) char own[HEED_REDUCE_COLUMNS * ROOM_MAX];
  (void)worker;
  for (int64_t i = begin; i < end; i++) {
    int64_t first = i % p->parts * p->part, last = first + p->part, out;
    const char *from;
    int64_t n = find_block(p, i / p->parts, &from, &out);
    char *acc = p->acc ? p->acc + (size_t)(i * p->block) * p->loops->room
                       : own;
    p->loops->start(n, first, acc);
    take(p, from, n, first, last < p->length ? last : p->length, acc);
    if (!p->acc)
      p->finish(p->context, out, p->keep[p->nkeep - 1].out, n, acc);
  }
}

static void merge_parts(void *context, int64_t begin, int64_t end,
                        int worker) {
  const plan *p = context;
  size_t pitch = (size_t)p->block * p->loops->room;
  (void)worker;
  for (int64_t i = begin; i < end; i++) {
    const char *from;
    int64_t out, n = find_block(p, i, &from, &out);
    char *acc = p->acc + (size_t)(i * p->parts) * pitch;
    for (int64_t k = 1; k < p->parts; k++)
      p->loops->merge(n, acc, acc + (size_t)k * pitch);
    p->finish(p->context, out, p->keep[p->nkeep - 1].out, n, acc);
  }
}

bool heed_reduce(heed_reduction how, const heed_tensor *x, const bool *on,
                 heed_finish *finish, void *context) {
  plan p = {.loops = &heed_kernel.reduce[how][x->dtype],
            .data = heed_tensor_data(x),
            .size = (int64_t)heed_dtype_size(x->dtype),
            .finish = finish, .context = context};
  plan_axes(&p, x, on, how == HEED_REDUCE_ARGMAX || how == HEED_REDUCE_ARGMIN);
  if (p.results == 0) return true;
  plan_way(&p);
  plan_cuts(&p);
  int64_t blocks = p.results / p.keep[p.nkeep - 1].size * p.blocks;
  size_t bytes = 0;
  if (p.parts > 1) {
    bytes = (size_t)(blocks * p.parts * p.block) * p.loops->room;
    p.acc = heed_mem_alloc(bytes);
    if (!p.acc) return false;
  }
  int64_t rows = p.length < p.part ? p.length : p.part;
  heed_parallel_values(blocks * p.parts, GRAIN / (p.block * rows + 1) + 1,
                       run_part, &p);
  if (p.acc) {
    heed_parallel(blocks, GRAIN / (p.parts * p.block) + 1, merge_parts, &p);
    heed_mem_free(p.acc, bytes);
  }
  return true;
}

/* -- shared by the ops -- */

int64_t heed_reduce_length(const heed_tensor *x, const bool *on) {
  int64_t n = 1;
  for (int d = 0; d < x->shape.ndim; d++)
    if (on[d]) n *= x->shape.dim[d];
  return n;
}

int64_t heed_reduce_length_of(const heed_rule_call *r) {
  int64_t n = heed_shape_numel(heed_in_shape(r, 0));
  int64_t m = heed_shape_numel(&r->node->out[0].shape);
  return m > 0 ? n / m : 0;
}

heed_shape heed_reduce_shape(const heed_shape *x, const bool *on,
                             bool keepdim) {
  heed_shape shape = {0};
  for (int d = 0; d < x->ndim; d++)
    if (!on[d] || keepdim) shape.dim[shape.ndim++] = on[d] ? 1 : x->dim[d];
  return shape;
}

bool heed_reduce_check(heed_call *c, heed_dtype dtype) {
  bool on[HEED_MAX_DIM];
  if (!heed_axes(c, 0, &c->attr[0].list, on)) return false;
  heed_shape shape = heed_reduce_shape(&c->in[0]->shape, on, c->attr[1].i);
  heed_out(c, 0, dtype, &shape);
  return true;
}

typedef struct casting {
  heed_loop1 *cast;
  char *y;
  size_t size;
  bool scaled;
  double scale;
} casting;

static void finish_cast(void *context, int64_t at, int64_t step, int64_t n,
                        void *acc) {
  const casting *to = context;
  if (to->scaled)
    for (int64_t j = 0; j < n; j++) ((double *)acc)[j] *= to->scale;
  to->cast(n, to->y + (size_t)at * to->size, step, acc, 1);
}

/* The dtype of an accumulator. */
static heed_dtype acc_dtype(heed_reduction how, heed_dtype dtype) {
  switch (how) {
    case HEED_REDUCE_SUM:
    case HEED_REDUCE_NANSUM:
    case HEED_REDUCE_PROD:
      return heed_dtype_is_float(dtype) ? HEED_FLOAT64 : HEED_INT64;
    case HEED_REDUCE_COUNT: return HEED_INT64;
    case HEED_REDUCE_ANY:
    case HEED_REDUCE_ALL: return HEED_BOOL;
    default: return dtype;
  }
}

bool heed_reduce_fwd(heed_call *c, heed_reduction how, double scale) {
  heed_tensor *x = c->in[0], *y = c->out[0];
  bool on[HEED_MAX_DIM];
  casting to = {heed_kernel.cast[y->dtype][acc_dtype(how, x->dtype)],
                heed_tensor_data(y), heed_dtype_size(y->dtype), scale != 1,
                scale};
  return heed_axes(c, 0, &c->attr[0].list, on) &&
         heed_reduce(how, x, on, finish_cast, &to);
}

void heed_reduce_marks(const heed_shape *dims, int ndim, bool *on) {
  for (int d = 0; d < ndim; d++) on[d] = dims->ndim < 0;
  for (int k = 0; k < dims->ndim; k++)
    on[dims->dim[k] < 0 ? dims->dim[k] + ndim : dims->dim[k]] = true;
}

heed_tensor *heed_reduce_put_back_on(heed_rule_call *r, heed_tensor *t,
                                     const heed_shape *dims) {
  const heed_shape *x = heed_in_shape(r, 0);
  bool on[HEED_MAX_DIM];
  heed_reduce_marks(dims, x->ndim, on);
  heed_attr shape = {.list = heed_reduce_shape(x, on, true)};
  return heed_do1_with(r, HEED_OP_reshape, t, &shape);
}

heed_tensor *heed_reduce_put_back(heed_rule_call *r, heed_tensor *t) {
  return heed_reduce_put_back_on(r, t, &r->attr[0].list);
}

heed_tensor *heed_reduce_stretch(heed_rule_call *r, heed_tensor *t) {
  return heed_do1_with(r, HEED_OP_expand, t,
                       &(heed_attr){.list = *heed_in_shape(r, 0)});
}
