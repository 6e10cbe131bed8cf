/*
 * rows - tensors of any layout as rows along some of their dimensions.
 * Layer: ops. Read first: rows.h.
 *
 * Rows that lie in memory without gaps are handed out as they are. The others
 * are copied, some at a time, into a tile of scratch (and back): neighbours
 * such as the columns of a matrix share cache lines, so a tile costs little
 * more than a plain copy.
 */
#include "ops/rows.h"

#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "ops/ops.h"

#define TILE_ROWS 64
#define TILE_BYTES (1 << 20) /* a tile of a tensor stays below, or 1 row */
#define GRAIN 8192              /* elements worth a thread */

/* Dimensions of all tensors, joined where they lie one behind the other;
   strides in bytes. */
typedef struct dims {
  int n;
  int64_t size[HEED_MAX_DIM];
  int64_t stride[HEED_ROWS_MAX][HEED_MAX_DIM];
} dims;

typedef struct plan {
  const heed_rows *rows;
  heed_rows_fn *fn;
  void *context;
  dims inner, outer; /* of a row, of the rows */
  int64_t length, count;
  size_t size[HEED_ROWS_MAX];  /* of an element */
  bool direct[HEED_ROWS_MAX];  /* rows have no gaps */
  size_t tile[HEED_ROWS_MAX];  /* where in the scratch of a worker */
  size_t pitch[HEED_ROWS_MAX]; /* bytes from row to row of a tile */
  int64_t tile_rows;
  size_t scratch_bytes; /* of a worker */
  char *scratch;
} plan;

static void add_dim(const plan *p, dims *to, int d) {
  const heed_rows *rows = p->rows;
  int64_t step[HEED_ROWS_MAX];
  bool joins = to->n > 0;
  for (int k = 0; k < rows->ntensor; k++) {
    const heed_tensor *t = rows->tensor[k];
    int own = d - (rows->shape.ndim - t->shape.ndim);
    step[k] = own < 0 || t->shape.dim[own] == 1
                  ? 0
                  : t->stride[own] * (int64_t)p->size[k];
    joins = joins &&
            to->stride[k][to->n - 1] == step[k] * rows->shape.dim[d];
  }
  int at = joins ? to->n - 1 : to->n++;
  to->size[at] = joins ? to->size[at] * rows->shape.dim[d]
                       : rows->shape.dim[d];
  for (int k = 0; k < rows->ntensor; k++) to->stride[k][at] = step[k];
}

static void plan_dims(plan *p) {
  const heed_rows *rows = p->rows;
  p->length = p->count = 1;
  for (int k = 0; k < rows->ntensor; k++)
    p->size[k] = heed_dtype_size(rows->tensor[k]->dtype);
  for (int d = 0; d < rows->shape.ndim; d++) {
    int64_t n = rows->shape.dim[d];
    if (rows->along[d])
      p->length *= n;
    else
      p->count *= n;
    if (n != 1) add_dim(p, rows->along[d] ? &p->inner : &p->outer, d);
  }
}

static void plan_tiles(plan *p) {
  size_t widest = 1;
  bool copies = false;
  for (int k = 0; k < p->rows->ntensor; k++) {
    p->direct[k] = p->inner.n == 0 ||
                   (p->inner.n == 1 &&
                    p->inner.stride[k][0] == (int64_t)p->size[k]);
    if (p->direct[k]) continue;
    copies = true;
    if (p->size[k] > widest) widest = p->size[k];
  }
  if (!copies) {
    p->tile_rows = INT64_MAX;
    return;
  }
  p->tile_rows = TILE_BYTES / (int64_t)widest / p->length;
  if (p->tile_rows > TILE_ROWS) p->tile_rows = TILE_ROWS;
  if (p->tile_rows < 1) p->tile_rows = 1;
  for (int k = 0; k < p->rows->ntensor; k++) {
    if (p->direct[k]) continue;
    p->tile[k] = p->scratch_bytes;
    /* an odd number of cache lines: powers of two would evict each other */
    size_t lines = (size_t)p->length * p->size[k] / HEED_ALIGN + 1;
    p->pitch[k] = (lines | 1) * HEED_ALIGN;
    p->scratch_bytes += (size_t)p->tile_rows * p->pitch[k];
  }
}

/* Steps the offsets `at` to the next place of the dimensions, the last one
   fastest; behind the end comes the start. */
static void step(const dims *over, int64_t *place, int ntensor,
                 int64_t *at) {
  for (int d = over->n - 1; d >= 0; d--) {
    place[d]++;
    for (int k = 0; k < ntensor; k++) at[k] += over->stride[k][d];
    if (place[d] < over->size[d]) return;
    place[d] = 0;
    for (int k = 0; k < ntensor; k++)
      at[k] -= over->stride[k][d] * over->size[d];
  }
}

/* Moves n elements of each of `nrow` rows between row[j], where they lie
   `gap` bytes apart, and tile + j * pitch. Neighbours across rows share cache
   lines, so rows are the inner loop. */
#define MOVE(type, count, to, from)                             \
  for (int64_t i = 0; i < n; i++)                               \
    for (int64_t j = 0; j < (count); j++) {                     \
      type *in_tile = (type *)(tile + (size_t)j * pitch) + i;   \
      type *in_row = (type *)(row[j] + i * gap);                \
      *to = *from;                                              \
    }
#define MOVES(type)                                             \
  if (write) {                                                  \
    MOVE(type, nrow, in_row, in_tile)                           \
  } else if (nrow == TILE_ROWS) {                               \
    MOVE(type, TILE_ROWS, in_tile, in_row)                      \
  } else {                                                      \
    MOVE(type, nrow, in_tile, in_row)                           \
  }

static void move(size_t size, bool write, int64_t n, int64_t nrow, char *tile,
                 size_t pitch, char **row, int64_t gap) {
  if (size == 1) {
    MOVES(uint8_t)
  } else if (size == 4) {
    MOVES(uint32_t)
  } else {
    MOVES(uint64_t)
  }
}

/* Copies whole rows of tensor k to the tile or back. */
static void move_rows(const plan *p, int k, bool write, int64_t nrow,
                      char *tile, char *const *row) {
  const dims *inner = &p->inner;
  int last = inner->n - 1;
  int64_t n = inner->size[last], gap = inner->stride[k][last];
  dims over = *inner; /* the others, of this tensor alone */
  over.n = last;
  memcpy(over.stride[0], inner->stride[k], sizeof over.stride[0]);
  int64_t place[HEED_MAX_DIM] = {0};
  int64_t offset = 0;
  char *at[TILE_ROWS];
  for (int64_t done = 0; done < p->length; done += n) {
    for (int64_t j = 0; j < nrow; j++) at[j] = row[j] + offset;
    move(p->size[k], write, n, nrow, tile + (size_t)done * p->size[k],
         p->pitch[k], at, gap);
    step(&over, place, 1, &offset);
  }
}

/* Rows in no more than a tile; row[k][j] is where row j of tensor k is. */
static void run_tile(const plan *p, int64_t first, int64_t nrow, char *scratch,
                     char *row[][TILE_ROWS]) {
  int ntensor = p->rows->ntensor, nwrite = p->rows->nwrite;
  for (int k = nwrite; k < ntensor; k++)
    if (!p->direct[k])
      move_rows(p, k, false, nrow, scratch + p->tile[k], row[k]);
  for (int64_t j = 0; j < nrow; j++) {
    void *data[HEED_ROWS_MAX];
    for (int k = 0; k < ntensor; k++)
      data[k] = p->direct[k]
                    ? row[k][j]
                    : scratch + p->tile[k] + (size_t)j * p->pitch[k];
    p->fn(p->context, first + j, p->length, data);
  }
  for (int k = 0; k < nwrite; k++)
    if (!p->direct[k])
      move_rows(p, k, true, nrow, scratch + p->tile[k], row[k]);
}

static void run_range(void *context, int64_t begin, int64_t end, int worker) {
  const plan *p = context;
  int ntensor = p->rows->ntensor;
  char *scratch = p->scratch ? p->scratch + (size_t)worker * p->scratch_bytes
                             : NULL;
  char *base[HEED_ROWS_MAX], *row[HEED_ROWS_MAX][TILE_ROWS];
  int64_t at[HEED_ROWS_MAX] = {0}, place[HEED_MAX_DIM], rest = begin;
  for (int k = 0; k < ntensor; k++)
    base[k] = heed_tensor_data(p->rows->tensor[k]);
  for (int d = p->outer.n - 1; d >= 0; d--) {
    place[d] = rest % p->outer.size[d];
    rest /= p->outer.size[d];
    for (int k = 0; k < ntensor; k++)
      at[k] += place[d] * p->outer.stride[k][d];
  }
  int64_t most = p->tile_rows < TILE_ROWS ? p->tile_rows : TILE_ROWS;
  while (begin < end) {
    int64_t nrow = end - begin < most ? end - begin : most;
    for (int64_t j = 0; j < nrow; j++) {
      for (int k = 0; k < ntensor; k++) row[k][j] = base[k] + at[k];
      step(&p->outer, place, ntensor, at);
    }
    run_tile(p, begin, nrow, scratch, row);
    begin += nrow;
  }
}

/* Rows without elements still count: a sum over nothing has a value. */
static void run_empty(const plan *p) {
  void *data[HEED_ROWS_MAX];
  for (int k = 0; k < p->rows->ntensor; k++)
    data[k] = heed_tensor_data(p->rows->tensor[k]);
  for (int64_t row = 0; row < p->count; row++)
    p->fn(p->context, row, 0, data);
}

bool heed_rows_run(const heed_rows *rows, heed_rows_fn *fn, void *context) {
  plan p = {.rows = rows, .fn = fn, .context = context};
  plan_dims(&p);
  if (p.count == 0) return true;
  if (p.length == 0) {
    run_empty(&p);
    return true;
  }
  plan_tiles(&p);
  size_t bytes = p.scratch_bytes * (size_t)heed_get_num_threads();
  if (bytes > 0 && !(p.scratch = heed_mem_alloc(bytes))) return false;
  heed_parallel_values(p.count, (GRAIN + p.length - 1) / p.length, run_range,
                       &p);
  if (p.scratch) heed_mem_free(p.scratch, bytes);
  return true;
}

heed_tensor *heed_dense(heed_rule_call *r, heed_tensor *t) {
  if (!t || heed_tensor_is_contiguous(t)) return t;
  return heed_do1(r, HEED_OP_contiguous, t);
}
