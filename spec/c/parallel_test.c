/* parallel_test - loops over the pool: every item once, workers in range. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/parallel.h"

#define ITEMS 997

static int failed;

static void check(bool ok, const char *what) {
  printf("%sok %s\n", ok ? "" : "not ", what);
  failed += !ok;
}

typedef struct tally {
  atomic_int seen[ITEMS];
  atomic_int wrong_worker;
  int threads;
} tally;

static void count(void *context, int64_t begin, int64_t end, int worker) {
  tally *t = context;
  if (worker < 0 || worker >= t->threads) atomic_fetch_add(&t->wrong_worker, 1);
  for (int64_t i = begin; i < end; i++) atomic_fetch_add(&t->seen[i], 1);
}

/* Two loops must not run with one worker number at the same time. */
static atomic_int busy[8];
static atomic_int clashes;

static void occupy(void *context, int64_t begin, int64_t end, int worker) {
  (void)context;
  if (atomic_exchange(&busy[worker], 1)) atomic_fetch_add(&clashes, 1);
  for (int64_t i = begin; i < end; i++)
    for (volatile int k = 0; k < 20; k++) continue;
  atomic_store(&busy[worker], 0);
}

static void nested(void *context, int64_t begin, int64_t end, int worker) {
  (void)worker;
  for (int64_t i = begin; i < end; i++)
    heed_parallel(3, 1, count, (tally *)context);
}

int main(void) {
  static tally t;
  bool all_once = true, in_range = true;
  /* the number of threads changes between loops, up and down */
  for (int round = 0; round < 4000; round++) {
    int64_t n = round % ITEMS;
    memset(&t, 0, sizeof t);
    t.threads = 1 + round * 7 % 6;
    heed_set_num_threads(t.threads);
    heed_parallel(n, 1 + round % 5, count, &t);
    for (int64_t i = 0; i < ITEMS; i++)
      all_once = all_once && t.seen[i] == (i < n);
    in_range = in_range && t.wrong_worker == 0;
  }
  check(all_once, "every item is done once");
  check(in_range, "workers are numbered below the number of threads");

  for (int round = 0; round < 2000; round++) {
    heed_set_num_threads(1 + round % 8);
    heed_parallel(64, 1, occupy, NULL);
  }
  check(clashes == 0, "a worker number is used once at a time");

  memset(&t, 0, sizeof t);
  t.threads = 4;
  heed_set_num_threads(4);
  heed_parallel(100, 1, nested, &t);
  check(t.seen[0] == 100 && t.seen[2] == 100 && t.wrong_worker == 0,
        "a loop inside a loop runs in its own thread");

  heed_set_num_threads(0);
  check(heed_get_num_threads() == 1, "at least one thread");
  memset(&t, 0, sizeof t);
  t.threads = 2;
  heed_set_num_threads(2);
  heed_parallel(0, 1, count, &t);
  heed_parallel(5, INT64_MAX, count, &t);
  check(t.seen[0] == 1 && t.seen[4] == 1 && t.seen[5] == 0,
        "a grain of any size");
  return failed != 0;
}
