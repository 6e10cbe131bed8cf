/* parallel - one pool of threads for every loop. Layer: base. */
#include "base/parallel.h"

#include <omp.h>

static int thread_count; /* 0: not set yet, take what OpenMP offers */

int heed_get_num_threads(void) {
  return thread_count > 0 ? thread_count : omp_get_max_threads();
}

void heed_set_num_threads(int n) {
  thread_count = n < 1 ? 1 : n;
  /* OpenBLAS (its OpenMP build) takes its count from here too */
  omp_set_num_threads(thread_count);
}

void heed_parallel(int64_t n, int64_t grain, heed_range_fn *fn,
                   void *context) {
  if (n <= 0) return;
  if (grain < 1) grain = 1;
  int64_t parts = (n + grain - 1) / grain;
  int threads = heed_get_num_threads();
  if (parts > threads) parts = threads;
  if (parts <= 1 || omp_in_parallel()) {
    fn(context, 0, n, 0);
    return;
  }
#pragma omp parallel num_threads((int)parts)
  {
    int worker = omp_get_thread_num();
    int count = omp_get_num_threads();
    int64_t begin = n * worker / count, end = n * (worker + 1) / count;
    if (begin < end) fn(context, begin, end, worker);
  }
}
