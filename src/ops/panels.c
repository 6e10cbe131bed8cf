/*
 * panels - a matrix packed once, for many products. Layer: ops.
 * Read first: panels.h, kernel/gemm_tile.h.
 *
 * Blocks of KC rows lie one behind the other, each as panels of a tile's
 * width, which stay in the nearest cache while the rows of a pass.
 */
#include "ops/panels.h"

#include <string.h>

#include "base/count.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "kernel/kernel.h"

#define KC 256
#define GRAIN (1 << 15) /* numbers to pack that are worth a thread */

typedef struct packing {
  const heed_panels *panels;
  heed_matrix b;
} packing;

/* Panel j of the block of rows from p on. */
static char *panel_at(const heed_panels *t, int64_t p, int64_t j) {
  const int64_t nr = heed_kernel.gemm[t->dtype].nr;
  const int64_t rows = heed_least(t->kc, t->k - p);
  return t->data + (size_t)(p * heed_pieces(t->n, nr) * nr + j * rows * nr) *
                       heed_dtype_size(t->dtype);
}

static void pack(void *context, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const packing *job = context;
  const heed_panels *t = job->panels;
  const heed_gemm_loops *loops = &heed_kernel.gemm[t->dtype];
  const int64_t nr = loops->nr, size = (int64_t)heed_dtype_size(t->dtype);
  for (int64_t j = begin; j < end; j++) {
    const int64_t width = heed_least(nr, t->n - j * nr);
    for (int64_t p = 0; p < t->k; p += t->kc) {
      const int64_t rows = heed_least(t->kc, t->k - p);
      const char *from = (const char *)job->b.data +
                         (p * job->b.row + j * nr * job->b.column) * size;
      char *to = panel_at(t, p, j);
      if (job->b.row == 1) {
        if (width < nr) memset(to, 0, (size_t)(rows * nr * size));
        heed_kernel.turn[t->dtype](rows, width, to, nr, from, job->b.column);
      } else {
        loops->pack(rows, (int)width, (int)nr, from, job->b.row,
                    job->b.column, to);
      }
    }
  }
}

bool heed_panels_make(heed_panels *t, heed_dtype dtype, int64_t k, int64_t n,
                      heed_matrix b) {
  const int64_t nr = heed_kernel.gemm[dtype].nr, count = heed_pieces(n, nr);
  *t = (heed_panels){.dtype = dtype, .k = k, .n = n};
  t->kc = k > 0 ? heed_pieces(k, heed_pieces(k, KC)) : 1;
  t->bytes = (size_t)(count * nr * k) * heed_dtype_size(dtype);
  t->data = heed_mem_alloc(t->bytes);
  if (!t->data) return false;
  heed_parallel(count, GRAIN / (k * nr + 1) + 1, pack,
                &(packing){.panels = t, .b = b});
  return true;
}

void heed_panels_drop(heed_panels *t) {
  heed_mem_free(t->data, t->bytes);
  t->data = NULL;
}

void heed_panels_multiply(const heed_panels *t, int64_t m, const void *a,
                          void *c, bool accumulate) {
  const heed_gemm_loops *loops = &heed_kernel.gemm[t->dtype];
  const int64_t nr = loops->nr, size = (int64_t)heed_dtype_size(t->dtype);
  if (m == 0 || t->n == 0) return;
  if (t->k == 0 && !accumulate) memset(c, 0, (size_t)(m * t->n * size));
  const int64_t high = heed_pieces(m, heed_pieces(m, loops->mr));
  for (int64_t p = 0; p < t->k; p += t->kc) {
    const int64_t rows = heed_least(t->kc, t->k - p);
    for (int64_t j = 0; j < t->n; j += nr) {
      const char *panel = panel_at(t, p, j / nr);
      for (int64_t i = 0; i < m; i += high)
        loops->tile(rows, (const char *)a + (i * t->k + p) * size, t->k, 1,
                    panel, nr, (char *)c + (i * t->n + j) * size, t->n,
                    (int)heed_least(high, m - i), (int)heed_least(nr, t->n - j),
                    accumulate || p > 0);
    }
  }
}
