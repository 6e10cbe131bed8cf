/*
 * iter - loops over the elements of several tensors. Layer: core.
 *
 * heed_iter_map walks in the order of the result's memory. An operand that
 * lies across it, as a transpose does, would be read one element from each
 * cache line. So a tile of it is turned first: read line by line into a
 * buffer, from which rows then come without gaps.
 *
 *     result   0 1 2 3     operand  0 4 8 c     tile, turned  0 4 8 c
 *     (by      4 5 6 7     (by      1 5 9 d     by reading    1 5 9 d
 *     rows)    8 9 a b     columns) 2 6 a e     down columns  2 6 a e
 */
#include "core/iter.h"

#include <stdlib.h>

#include "base/parallel.h"
#include "kernel/kernel.h"

/* Sets tensors, and dimensions that are not 1, none joined yet. */
static void set(heed_iter *it, const heed_shape *shape, int ntensor,
                heed_tensor *const *t) {
  it->ntensor = ntensor;
  it->ndim = 0;
  for (int k = 0; k < ntensor; k++) {
    it->size[k] = heed_dtype_size(t[k]->dtype);
    it->data[k] = heed_tensor_data(t[k]);
  }
  for (int d = 0; d < shape->ndim; d++) {
    if (shape->dim[d] == 1) continue;
    it->dim[it->ndim] = shape->dim[d];
    for (int k = 0; k < ntensor; k++) {
      int own = d - (shape->ndim - t[k]->shape.ndim);
      it->stride[k][it->ndim] =
          own < 0 || t[k]->shape.dim[own] == 1
              ? 0
              : t[k]->stride[own] * (int64_t)it->size[k];
    }
    it->ndim++;
  }
}

/* Joins dimensions that lie one behind the other in every tensor. */
static void join(heed_iter *it) {
  int n = 0;
  for (int d = 0; d < it->ndim; d++) {
    bool joins = n > 0;
    for (int k = 0; joins && k < it->ntensor; k++)
      joins = it->stride[k][n - 1] == it->stride[k][d] * it->dim[d];
    int at = joins ? n - 1 : n++;
    it->dim[at] = joins ? it->dim[at] * it->dim[d] : it->dim[d];
    for (int k = 0; k < it->ntensor; k++)
      it->stride[k][at] = it->stride[k][d];
  }
  if (n == 0) { /* one element */
    n = 1;
    it->dim[0] = 1;
    for (int k = 0; k < it->ntensor; k++) it->stride[k][0] = 0;
  }
  it->ndim = n;
}

void heed_iter_init(heed_iter *it, const heed_shape *shape, int ntensor,
                    heed_tensor *const *t) {
  set(it, shape, ntensor, t);
  join(it);
}

static int64_t count(const heed_iter *it) {
  int64_t n = 1;
  for (int d = 0; d < it->ndim; d++) n *= it->dim[d];
  return n;
}

typedef struct run {
  const heed_iter *it;
  heed_row_fn *fn;
  void *context;
  int64_t row; /* elements of a row */
  bool stream; /* writes the result past the cache */
} run;

/* A result of this many bytes does not stay in the cache anyway. */
#define STREAM_FROM ((int64_t)16 << 20)
#define CHUNK 4096 /* bytes that are computed in the cache, then streamed */

/* n elements of a row, of which the result goes through a buffer. */
static void stream_row(const run *r, int64_t n, char *const *data,
                       const int64_t *stride) {
  _Alignas(64) char buffer[CHUNK];
  const heed_iter *it = r->it;
  int64_t size = (int64_t)it->size[0], most = CHUNK / size;
  char *at[HEED_ITER_MAX] = {buffer};
  for (int64_t i = 0; i < n; i += most) {
    int64_t m = n - i < most ? n - i : most;
    for (int k = 1; k < it->ntensor; k++)
      at[k] = data[k] + i * stride[k] * (int64_t)it->size[k];
    r->fn(r->context, m, at, stride);
    heed_kernel.stream(m * size, data[0] + i * size, buffer);
  }
}

/* Is the result large, in one piece along the rows, and no operand too? */
static bool can_stream(const heed_iter *it, int64_t n) {
  int64_t size = (int64_t)it->size[0];
  if (n * size < STREAM_FROM || it->stride[0][it->ndim - 1] != size)
    return false;
  for (int k = 1; k < it->ntensor; k++)
    if (it->data[k] == it->data[0]) return false;
  return true;
}

/* Elements [begin, end) in row-major order: parts of rows. */
static void run_range(void *context, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const run *r = context;
  const heed_iter *it = r->it;
  int last = it->ndim - 1;
  int64_t element_stride[HEED_ITER_MAX];
  for (int k = 0; k < it->ntensor; k++)
    element_stride[k] = it->stride[k][last] / (int64_t)it->size[k];
  while (begin < end) {
    int64_t rest = begin / r->row, column = begin % r->row;
    int64_t n = r->row - column;
    if (n > end - begin) n = end - begin;
    char *data[HEED_ITER_MAX];
    for (int k = 0; k < it->ntensor; k++)
      data[k] = it->data[k] + column * it->stride[k][last];
    for (int d = last - 1; d >= 0; d--) {
      int64_t i = rest % it->dim[d];
      rest /= it->dim[d];
      for (int k = 0; k < it->ntensor; k++)
        data[k] += i * it->stride[k][d];
    }
    if (r->stream) stream_row(r, n, data, element_stride);
    else r->fn(r->context, n, data, element_stride);
    begin += n;
  }
  if (r->stream) heed_kernel.stream_end();
}

void heed_iter_run(const heed_iter *it, int64_t grain, heed_row_fn *fn,
                   void *context) {
  run r = {it, fn, context, it->dim[it->ndim - 1], false};
  heed_parallel(count(it), grain, run_range, &r);
}

/* ---- elementwise, in any order ------------------------------------------ */

/* Should dimension a be outside of b? By the result's strides first. */
static bool outer(const heed_iter *it, int a, int b) {
  for (int k = 0; k < it->ntensor; k++) {
    int64_t x = llabs(it->stride[k][a]), y = llabs(it->stride[k][b]);
    if (x != y) return x > y;
  }
  return false;
}

static void swap(heed_iter *it, int a, int b) {
  int64_t dim = it->dim[a];
  it->dim[a] = it->dim[b];
  it->dim[b] = dim;
  for (int k = 0; k < it->ntensor; k++) {
    int64_t stride = it->stride[k][a];
    it->stride[k][a] = it->stride[k][b];
    it->stride[k][b] = stride;
  }
}

/* Sorts the dimensions, those of the widest strides first. */
static void order(heed_iter *it) {
  for (int d = 1; d < it->ndim; d++)
    for (int at = d; at > 0 && outer(it, at, at - 1); at--)
      swap(it, at, at - 1);
}

/* Long bursts along the rows of the others, shorter ones along the operand
   that is turned, in a buffer that stays in the cache; half as high for
   elements of 8 bytes. */
#define HIGH 64
#define WIDE 256
#define PITCH (WIDE + 8) /* so that rows of a buffer share fewer cache sets */

/* A walk over tiles of dimensions `down` and the last one. */
typedef struct tiles {
  run run;
  int down;
  heed_loop_turn *turn[HEED_ITER_MAX]; /* of operands that lie along it */
  int64_t high, wide;    /* elements of a tile, down and across */
  int64_t rows, columns; /* tiles along `down`, along the last */
} tiles;

static void run_tile(const tiles *t, char *const *data, int64_t rows,
                     int64_t columns) {
  const heed_iter *it = t->run.it;
  const int last = it->ndim - 1;
  _Alignas(64) char buffer[HEED_ITER_MAX - 1][HIGH * PITCH * sizeof(float)];
  char *row[HEED_ITER_MAX];
  int64_t step[HEED_ITER_MAX], stride[HEED_ITER_MAX];
  for (int k = 0; k < it->ntensor; k++) {
    int64_t size = (int64_t)it->size[k];
    row[k] = data[k];
    step[k] = it->stride[k][t->down];
    stride[k] = it->stride[k][last] / size;
    if (!t->turn[k]) continue;
    t->turn[k](rows, columns, buffer[k - 1], PITCH, data[k], stride[k]);
    row[k] = buffer[k - 1];
    step[k] = PITCH * size;
    stride[k] = 1;
  }
  for (int64_t i = 0; i < rows; i++) {
    if (t->run.stream) stream_row(&t->run, columns, row, stride);
    else t->run.fn(t->run.context, columns, row, stride);
    for (int k = 0; k < it->ntensor; k++) row[k] += step[k];
  }
}

static int64_t part(int64_t n, int64_t at, int64_t most) {
  return n - at < most ? n - at : most;
}

static void run_tiles(void *context, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const tiles *t = context;
  const heed_iter *it = t->run.it;
  const int last = it->ndim - 1;
  for (; begin < end; begin++) {
    int64_t rest = begin / t->columns, j = begin % t->columns * t->wide;
    int64_t i = rest % t->rows * t->high;
    rest /= t->rows;
    char *data[HEED_ITER_MAX];
    for (int k = 0; k < it->ntensor; k++)
      data[k] = it->data[k] + i * it->stride[k][t->down] +
                j * it->stride[k][last];
    for (int d = last - 1; d >= 0; d--) {
      if (d == t->down) continue;
      for (int k = 0; k < it->ntensor; k++)
        data[k] += rest % it->dim[d] * it->stride[k][d];
      rest /= it->dim[d];
    }
    run_tile(t, data, part(it->dim[t->down], i, t->high),
             part(it->dim[last], j, t->wide));
  }
  if (t->run.stream) heed_kernel.stream_end();
}

/* Finds the dimension along which operands lie that lie across the rows, and
   marks them. Where they are small, lines stay in the cache anyway. */
static bool find_turned(const heed_iter *it, heed_tensor *const *t,
                        tiles *w) {
  const int last = it->ndim - 1;
  bool any = false;
  if (it->dim[last] < 8 || count(it) < 4096) return false;
  for (int k = 1; k < it->ntensor; k++) {
    int64_t size = (int64_t)it->size[k], across = it->stride[k][last];
    if (across == 0 || across == size) continue;
    for (int d = 0; d < last && !w->turn[k]; d++) {
      if (it->stride[k][d] != size || it->dim[d] < 8) continue;
      if (any && d != w->down) continue;
      w->turn[k] = heed_kernel.turn[t[k]->dtype];
      w->down = d;
      any = true;
    }
  }
  return any;
}

void heed_iter_map(const heed_shape *shape, int ntensor,
                   heed_tensor *const *t, int64_t grain, heed_row_fn *fn,
                   void *context) {
  heed_iter it;
  set(&it, shape, ntensor, t);
  order(&it);
  join(&it);
  int64_t n = count(&it);
  run r = {&it, fn, context, it.dim[it.ndim - 1], can_stream(&it, n)};
  tiles w = {r, 0, {NULL}, HIGH, WIDE, 0, 0};
  if (!find_turned(&it, t, &w)) {
    heed_parallel_values(n, grain, run_range, &r);
    return;
  }
  for (int k = 0; k < ntensor; k++)
    if (it.size[k] == sizeof(double)) w.high = HIGH / 2;
  w.rows = (it.dim[w.down] + w.high - 1) / w.high;
  w.columns = (it.dim[it.ndim - 1] + w.wide - 1) / w.wide;
  int64_t tiles_count = w.rows * w.columns;
  for (int d = 0; d < it.ndim - 1; d++)
    if (d != w.down) tiles_count *= it.dim[d];
  heed_parallel_values(tiles_count, 1 + grain / (w.high * w.wide), run_tiles,
                       &w);
}
