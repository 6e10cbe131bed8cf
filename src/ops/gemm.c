/*
 * gemm - products of matrices in memory. Layer: ops.
 * Read first: gemm.h, kernel/gemm_tile.h.
 *
 * The usual blocking (Goto and van de Geijn, 2008): KC rows of b are packed
 * into panels of a tile's width, which fit the nearest cache; a block of MC
 * rows of a, which fits the second, passes over one panel after the other.
 * What is read only a few times is not packed, and a panel that one block of
 * rows reads is packed just before it. Products of few rows with columns that
 * lie without gaps need no panels at all: dots.
 *
 * Each element of c is summed in one order, k by k within a block and block by
 * block, by one thread: the result does not depend on how the work is cut.
 * OpenBLAS, which cuts k by the number of threads, gives other last bits for
 * each.
 */
#include "ops/gemm.h"

#include <string.h>

#include "base/count.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "kernel/kernel.h"

#define KC 256
#define MC 144
#define NC 4096
#define REUSED 8          /* panels of b for which a is worth packing */
#define MOST_DOTS 16      /* rows of a, for dots */
#define WORTH (1 << 17)   /* multiply-adds worth a thread */
#define SMALL (16 << 10)  /* bytes of scratch that the stack holds */

typedef struct job {
  const heed_gemm_loops *loops;
  heed_dtype dtype;
  size_t size;
  int64_t m, n, k; /* of this block: n <= NC, k <= KC */
  heed_matrix a, b;
  char *c;
  int64_t pitch;
  bool accumulate;
  heed_gemm_tile *tile;
  int64_t high, nr;     /* rows and columns of a tile */
  int64_t mc;           /* rows of a block, whole tiles */
  int64_t parts, part;  /* column parts and their size */
  bool keep_a, keep_b;  /* are they read as they lie? */
  char *packed_b;       /* all panels, where several blocks of rows read them */
  char *scratch;        /* of each worker: else a panel of b; a block of a */
  size_t scratch_bytes; /* of one worker */
} job;

static const char *at(const job *g, heed_matrix m, int64_t i, int64_t j) {
  return (const char *)m.data +
         (i * m.row + j * m.column) * (int64_t)g->size;
}

static int64_t round_up(int64_t n, int64_t unit) {
  return heed_pieces(n, unit) * unit;
}

/* The size of pieces of n that are even and at most `most`. */
static int64_t even(int64_t n, int64_t most) {
  return heed_pieces(n, heed_pieces(n, most));
}

/* -- packing -- */

/* A panel of b holds nr columns, row by row; behind the last are zeros. */
static void pack_panel(const job *g, int64_t j, char *to) {
  int n = (int)heed_least(g->nr, g->n - j);
  const char *from = at(g, g->b, 0, j);
  if (g->b.row == 1) {
    if (n < g->nr) memset(to, 0, (size_t)(g->k * g->nr) * g->size);
    heed_kernel.turn[g->dtype](g->k, n, to, g->nr, from, g->b.column);
  } else {
    g->loops->pack(g->k, n, (int)g->nr, from, g->b.row, g->b.column, to);
  }
}

static void pack_panels(void *context, int64_t begin, int64_t end,
                        int worker) {
  (void)worker;
  const job *g = context;
  for (int64_t j = begin * g->nr; j < end * g->nr; j += g->nr)
    pack_panel(g, j, g->packed_b + (size_t)(j * g->k) * g->size);
}

/* A block of rows of a, without gaps where rows lie so, else in panels of a
   tile's height, column by column. */
static heed_matrix pack_rows(const job *g, int64_t first, int64_t rows,
                             char *to) {
  if (g->a.column == 1) {
    size_t bytes = (size_t)g->k * g->size;
    for (int64_t i = 0; i < rows; i++)
      memcpy(to + (size_t)i * bytes, at(g, g->a, first + i, 0), bytes);
    return (heed_matrix){to, g->k, 1};
  }
  for (int64_t i = 0; i < rows; i += g->high)
    g->loops->pack(g->k, (int)heed_least(g->high, rows - i), (int)g->high,
                   at(g, g->a, first + i, 0), g->a.column, g->a.row,
                   to + (size_t)(i * g->k) * g->size);
  return (heed_matrix){to, 1, g->high};
}

/* -- the product of blocks -- */

/* The panel at column j and the distance of its rows; it may be packed into
   `own`. */
static const char *panel_at(const job *g, int64_t j, char *own,
                            int64_t *step) {
  *step = g->nr;
  if (g->packed_b) return g->packed_b + (size_t)(j * g->k) * g->size;
  if (g->keep_b && g->n - j >= g->nr) {
    *step = g->b.row;
    return at(g, g->b, 0, j);
  }
  pack_panel(g, j, own);
  return own;
}

/* Tasks: blocks of rows, each cut into parts of columns. */
static void multiply(void *context, int64_t begin, int64_t end, int worker) {
  const job *g = context;
  char *own = g->scratch + (size_t)worker * g->scratch_bytes;
  char *packed = g->packed_b ? own : own + (size_t)(g->k * g->nr) * g->size;
  int64_t have = -1, size = (int64_t)g->size;
  heed_matrix a = g->a;
  for (int64_t t = begin; t < end; t++) {
    int64_t block = t / g->parts, first = block * g->mc;
    int64_t rows = heed_least(g->mc, g->m - first);
    int64_t left = t % g->parts * g->part;
    int64_t right = heed_least(left + g->part, g->n);
    if (g->keep_a) a.data = at(g, g->a, first, 0);
    else if (block != have) a = pack_rows(g, first, rows, packed);
    have = block;
    int64_t a_tile = g->high * (a.row == 1 && !g->keep_a ? g->k : a.row);
    for (int64_t j = left; j < right; j += g->nr) {
      int64_t step;
      int n = (int)heed_least(g->nr, g->n - j);
      const char *from = a.data, *b = panel_at(g, j, own, &step);
      char *c = g->c + (first * g->pitch + j) * size;
      for (int64_t i = 0; i < rows; i += g->high) {
        g->tile(g->k, from, a.row, a.column, b, step, c, g->pitch,
                (int)heed_least(g->high, rows - i), n, g->accumulate);
        from += a_tile * size;
        c += g->high * g->pitch * size;
      }
    }
  }
}

static void run_block(job *g) {
  if (g->packed_b)
    heed_parallel(heed_pieces(g->n, g->nr), WORTH / 4 / (g->k * g->nr + 1) + 1,
                  pack_panels, g);
  int64_t tasks = heed_pieces(g->m, g->mc) * g->parts;
  heed_parallel_values(tasks, WORTH / (g->m * g->n * g->k / tasks + 1) + 1,
                       multiply, g);
}

/* Tiles and blocks of even height; enough tasks for the threads. Few rows that
   read b once take it as it lies, with wider tiles for longer runs of it. */
static void cut(job *g) {
  const heed_gemm_loops *loops = g->loops;
  g->high = even(g->m, loops->mr);
  g->keep_b = g->b.column == 1 && g->m <= g->high;
  bool wide = g->keep_b && g->m <= loops->mr / 2;
  g->tile = wide ? loops->wide_tile : loops->tile;
  g->nr = wide ? 2 * loops->nr : loops->nr;
  g->mc = round_up(even(g->m, MC), g->high);
  int threads = heed_get_num_threads();
  int64_t wanted = threads > 1 ? 4 * threads : 1, n = heed_least(g->n, NC);
  const int64_t cuts = heed_pieces(wanted, heed_pieces(g->m, g->mc));
  g->part = round_up(heed_pieces(n, cuts), g->nr);
  if (g->part < 4 * g->nr) g->part = 4 * g->nr;
  g->keep_a = g->part <= REUSED * g->nr || n <= REUSED * g->nr;
}

static bool run_blocks(job g) {
  const int64_t n = g.n, k = g.k;
  const heed_matrix a = g.a, b = g.b;
  char *const c = g.c;
  const bool accumulate = g.accumulate;
  cut(&g);
  int64_t kc = even(k, KC), nc = heed_least(round_up(n, g.nr), NC);
  bool shared = g.m > g.mc; /* by several blocks of rows */
  int64_t own = (shared ? 0 : g.nr) + (g.keep_a ? 0 : g.mc);
  size_t b_bytes = shared ? (size_t)(kc * nc) * g.size : 0;
  g.scratch_bytes = (size_t)round_up(kc * own * (int64_t)g.size, HEED_ALIGN);
  size_t bytes = b_bytes + g.scratch_bytes * (size_t)heed_get_num_threads();
  _Alignas(HEED_ALIGN) char small[SMALL];
  char *block = bytes <= SMALL ? small : heed_mem_alloc(bytes);
  if (!block) return false;
  g.packed_b = shared ? block : NULL;
  g.scratch = block + b_bytes;
  for (int64_t j = 0; j < n; j += NC)
    for (int64_t p = 0; p < k; p += kc) {
      g.n = heed_least(NC, n - j);
      g.parts = heed_pieces(g.n, g.part);
      g.k = heed_least(kc, k - p);
      g.a.data = at(&g, a, 0, p);
      g.b.data = at(&g, b, p, j);
      g.c = c + j * (int64_t)g.size;
      g.accumulate = accumulate || p > 0;
      run_block(&g);
    }
  if (block != small) heed_mem_free(block, bytes);
  return true;
}

/* -- products of rows with rows -- */

static void dots(void *context, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const job *g = context;
  for (int64_t t = begin; t < end; t++) {
    int64_t j = t * g->part, n = heed_least(g->part, g->n - j);
    for (int64_t i = 0; i < g->m; i += g->high)
      g->loops->dots(g->k, at(g, g->a, i, 0), g->a.row, at(g, g->b, 0, j),
                     g->b.column,
                     g->c + (i * g->pitch + j) * (int64_t)g->size, g->pitch,
                     (int)heed_least(g->high, g->m - i), n, g->accumulate);
  }
}

/* Packing b would cost more than it saves: few rows, or b far from the
   nearest cache. False where rows of a or columns of b have gaps. A sum has
   as many parts as a vector has lanes: none is longer than in a tile. */
static bool run_dots(job g) {
  const int few = g.loops->few;
  const int64_t k = g.k, kc = KC * g.loops->nr / 2;
  const heed_matrix a = g.a, b = g.b;
  if (b.row != 1 || a.column != 1) return false;
  if (g.m > few && (g.m > MOST_DOTS || k < 16 * g.m)) return false;
  g.high = even(g.m, few);
  g.part = 12; /* columns that stay near while the rows pass */
  for (int64_t p = 0; p < k; p += kc) {
    g.k = heed_least(kc, k - p);
    g.a.data = at(&g, a, 0, p);
    g.b.data = at(&g, b, p, 0);
    heed_parallel_values(heed_pieces(g.n, g.part),
                         WORTH / 4 / (g.m * g.k * g.part + 1) + 1, dots, &g);
    g.accumulate = true;
  }
  return true;
}

static void clear(const job *g) {
  for (int64_t i = 0; i < g->m; i++)
    memset(g->c + (size_t)(i * g->pitch) * g->size, 0, (size_t)g->n * g->size);
}

bool heed_gemm(heed_dtype dtype, int64_t m, int64_t n, int64_t k,
               heed_matrix a, heed_matrix b, void *c, int64_t pitch,
               bool accumulate) {
  job g = {.loops = &heed_kernel.gemm[dtype], .dtype = dtype,
           .size = heed_dtype_size(dtype), .m = m, .n = n, .k = k, .a = a,
           .b = b, .c = c, .pitch = pitch, .accumulate = accumulate};
  if (m == 0 || n == 0) return true;
  if (k == 0) {
    if (!accumulate) clear(&g);
    return true;
  }
  if (n == 1 && pitch == 1) { /* a column is a row of the turned product */
    g.m = 1, g.n = m, g.pitch = m;
    g.a = (heed_matrix){b.data, b.column, b.row};
    g.b = (heed_matrix){a.data, a.column, a.row};
  }
  return run_dots(g) || run_blocks(g);
}
