/* parallel - one pool of threads for every loop. Layer: base. */
#ifndef HEED_BASE_PARALLEL_H
#define HEED_BASE_PARALLEL_H

#include "heed.h"

#define HEED_PARALLEL_WORTH 100000 /* multiply-adds */

/* Work on items [begin, end). `worker` is 0 .. heed_get_num_threads() - 1 and
   distinct among those that run at once: an index for scratch. */
typedef void heed_range_fn(void *context, int64_t begin, int64_t end,
                           int worker);

/* From here to heed_parallel_leave, heed_get_num_threads says the same in this
   thread, whatever is set meanwhile by another one or by a finalizer: an op
   makes room for each worker by it. Returns what heed_parallel_leave wants
   back; they nest. */
int heed_parallel_enter(void);
void heed_parallel_leave(int was);

/* Calls fn over [0, n) in parts of at least `grain` items (the last may be
   smaller). Parts may differ with the number of threads, so fn must give the
   same result however its range is cut. Runs in the calling thread when n is
   at most grain, or from inside another parallel loop. */
void heed_parallel(int64_t n, int64_t grain, heed_range_fn *fn, void *context);

/* The same for loops that write nothing but values of an op's result: parts
   are left out when the op is given up (base/interrupt.h). */
void heed_parallel_values(int64_t n, int64_t grain, heed_range_fn *fn,
                          void *context);

/* Inside of the latter: is the op given up? Then what is left of a long part
   may be left out too. */
bool heed_parallel_given_up(void);

/* How many items of so many multiply-adds are worth a thread. */
static inline int64_t heed_parallel_grain(double multiply_adds) {
  return multiply_adds < HEED_PARALLEL_WORTH
             ? (int64_t)(HEED_PARALLEL_WORTH / (multiply_adds + 1)) + 1 : 1;
}

#endif
