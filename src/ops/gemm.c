/*
 * gemm - products of matrices in memory. Layer: ops.
 * Read first: gemm.h, kernel/gemm_tile.h.
 *
 * The usual blocking (Goto and van de Geijn, 2008): a block of KC rows of b is
 * packed into panels once, by all threads; then blocks of MC rows of a are
 * packed by the thread that multiplies them. Each element of c is summed in
 * one order, k by k within a block and block by block, by one thread: the
 * result does not depend on how the work is cut. OpenBLAS, which cuts k by the
 * number of threads, gives other last bits for each.
 */
#include "ops/gemm.h"

#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "kernel/kernel.h"

#define KC 256
#define MC 96
#define NC 4096
#define THIN 4            /* rows of a for which b is not packed */
#define WORTH (1 << 17)   /* multiply-adds worth a thread */

typedef struct job {
  const heed_gemm_loops *loops;
  size_t size;
  int64_t m, n, k; /* of this block: n <= NC, k <= KC */
  heed_matrix a, b;
  char *c;
  int64_t pitch;
  bool accumulate;
  char *packed_b, *packed_a; /* packed_a: one block for each worker */
  size_t a_bytes;            /* of one worker */
  int64_t mc, parts, part;   /* rows of a block; column parts and their size */
} job;

static const char *at(const job *g, heed_matrix m, int64_t i, int64_t j) {
  return (const char *)m.data +
         (i * m.row + j * m.column) * (int64_t)g->size;
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static void pack_panels(void *context, int64_t begin, int64_t end,
                        int worker) {
  (void)worker;
  const job *g = context;
  int nr = g->loops->nr;
  for (int64_t j = begin; j < end; j++)
    g->loops->pack_b(g->k, (int)least(nr, g->n - j * nr),
                     at(g, g->b, 0, j * nr), g->b.row, g->b.column,
                     g->packed_b + (size_t)(j * nr * g->k) * g->size);
}

/* Rows that lie without gaps need no packing, unless so far apart that they
   fall into the same few places of a cache. */
static bool as_it_lies(const job *g) {
  int64_t bytes = g->a.row * (int64_t)g->size;
  return g->a.column == 1 && bytes % 2048 != 0;
}

/* Packs the panels of a block, or only the last one when it is not full. */
static void pack_rows(const job *g, int64_t first, int64_t rows, char *to) {
  int mr = g->loops->mr;
  int64_t i = as_it_lies(g) ? rows / mr * mr : 0;
  for (; i < rows; i += mr)
    g->loops->pack_a(g->k, (int)least(mr, rows - i),
                     at(g, g->a, first + i, 0), g->a.row, g->a.column,
                     to + (size_t)(i * g->k) * g->size);
}

/* One tile of a block that begins at row `first`. */
static void tile(const job *g, const char *panels, int64_t first,
                 int64_t rows, int64_t i, int64_t j, int64_t right) {
  int mr = g->loops->mr, nr = g->loops->nr;
  int m = (int)least(mr, rows - i), n = (int)least(nr, right - j);
  const char *b = g->packed_b + (size_t)(j * g->k) * g->size;
  char *c = g->c + ((first + i) * g->pitch + j) * (int64_t)g->size;
  if (m == mr && as_it_lies(g))
    g->loops->tile_rows(g->k, at(g, g->a, first + i, 0), g->a.row, b, c,
                        g->pitch, n, g->accumulate);
  else
    g->loops->tile(g->k, panels + (size_t)(i * g->k) * g->size, b, c,
                   g->pitch, m, n, g->accumulate);
}

/* Tasks: blocks of rows, each cut into parts of columns. */
static void multiply(void *context, int64_t begin, int64_t end, int worker) {
  const job *g = context;
  int mr = g->loops->mr, nr = g->loops->nr;
  char *a = g->packed_a + (size_t)worker * g->a_bytes;
  int64_t have = -1;
  for (int64_t t = begin; t < end; t++) {
    int64_t block = t / g->parts, first = block * g->mc;
    int64_t rows = least(g->mc, g->m - first);
    int64_t left = t % g->parts * g->part;
    int64_t right = least(left + g->part, g->n);
    if (block != have) pack_rows(g, first, rows, a);
    have = block;
    for (int64_t j = left; j < right; j += nr)
      for (int64_t i = 0; i < rows; i += mr)
        tile(g, a, first, rows, i, j, right);
  }
}

static int64_t round_up(int64_t n, int64_t unit) {
  return (n + unit - 1) / unit * unit;
}

/* Blocks of even height, and enough tasks for the threads. */
static void cut(job *g) {
  int mr = g->loops->mr, nr = g->loops->nr;
  int64_t blocks = (g->m + MC - 1) / MC;
  g->mc = round_up((g->m + blocks - 1) / blocks, mr);
  blocks = (g->m + g->mc - 1) / g->mc;
  int64_t wanted = 4 * heed_get_num_threads();
  g->parts = blocks >= wanted ? 1 : (wanted + blocks - 1) / blocks;
  g->part = round_up((g->n + g->parts - 1) / g->parts, nr);
  if (g->part < 4 * nr) g->part = 4 * nr;
  g->parts = (g->n + g->part - 1) / g->part;
}

static void run_block(job *g) {
  int nr = g->loops->nr;
  int64_t panel = g->k * nr;
  heed_parallel((g->n + nr - 1) / nr, WORTH / 4 / (panel + 1) + 1,
                pack_panels, g);
  int64_t tasks = (g->m + g->mc - 1) / g->mc * g->parts;
  int64_t work = g->m * g->n * g->k / (tasks ? tasks : 1) + 1;
  heed_parallel(tasks, WORTH / work + 1, multiply, g);
}

static void thin(void *context, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const job *g = context;
  int64_t left = begin * g->part, right = least(end * g->part, g->n);
  char *c = g->c + left * (int64_t)g->size;
  if (g->b.column == 1)
    g->loops->thin_rows(g->k, g->a.data, g->a.row, g->a.column,
                        at(g, g->b, 0, left), g->b.row, c, g->pitch,
                        (int)g->m, right - left, g->accumulate);
  else
    g->loops->thin_dots(g->k, g->a.data, g->a.row, at(g, g->b, 0, left),
                        g->b.column, c, g->pitch, (int)g->m, right - left,
                        g->accumulate);
}

/* Few rows: b is read once, as it lies. False where it lies otherwise. */
static bool run_thin(job *g) {
  bool rows = g->b.column == 1;
  bool dots = g->b.row == 1 && g->a.column == 1;
  if (g->m > THIN || !(rows || dots)) return false;
  g->part = 128;
  heed_parallel((g->n + g->part - 1) / g->part,
                WORTH / 4 / (g->m * g->k * g->part + 1) + 1, thin, g);
  return true;
}

static void clear(void *c, int64_t m, int64_t n, int64_t pitch, size_t size) {
  for (int64_t i = 0; i < m; i++)
    memset((char *)c + (size_t)(i * pitch) * size, 0, (size_t)n * size);
}

bool heed_gemm(heed_dtype dtype, int64_t m, int64_t n, int64_t k,
               heed_matrix a, heed_matrix b, void *c, int64_t pitch,
               bool accumulate) {
  job g = {.loops = &heed_kernel.gemm[dtype],
           .size = heed_dtype_size(dtype), .m = m, .n = n, .k = k, .a = a,
           .b = b, .c = c, .pitch = pitch, .accumulate = accumulate};
  if (m == 0 || n == 0) return true;
  if (k == 0) {
    if (!accumulate) clear(c, m, n, pitch, g.size);
    return true;
  }
  if (run_thin(&g)) return true;
  int64_t kc = least(k, KC), nc = least(round_up(n, g.loops->nr), NC);
  int64_t rows = least(round_up(m, g.loops->mr), MC + g.loops->mr);
  size_t b_bytes = (size_t)(kc * nc) * g.size;
  g.a_bytes = ((size_t)(kc * rows) * g.size + HEED_ALIGN - 1) / HEED_ALIGN *
              HEED_ALIGN;
  size_t bytes = b_bytes + g.a_bytes * (size_t)heed_get_num_threads();
  g.packed_b = heed_mem_alloc(bytes);
  if (!g.packed_b) return false;
  g.packed_a = g.packed_b + b_bytes;
  for (int64_t j = 0; j < n; j += NC)
    for (int64_t p = 0; p < k; p += KC) {
      g.n = least(NC, n - j);
      g.k = least(KC, k - p);
      g.a.data = (const char *)a.data + p * a.column * (int64_t)g.size;
      g.b.data = (const char *)b.data +
                 (p * b.row + j * b.column) * (int64_t)g.size;
      g.c = (char *)c + j * (int64_t)g.size;
      g.accumulate = accumulate || p > 0;
      cut(&g);
      run_block(&g);
    }
  heed_mem_free(g.packed_b, bytes);
  return true;
}
