/* parallel_test - loops over the pool: every item once, workers in range. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/interrupt.h"
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

/* Asks to give up at item 100. */
static void stop_early(void *context, int64_t begin, int64_t end,
                       int worker) {
  (void)worker;
  tally *t = context;
  for (int64_t i = begin; i < end; i++) {
    atomic_fetch_add(&t->seen[i], 1);
    if (i == 100) heed_interrupt();
  }
}

/* How many of ITEMS are done when the loop is asked to give up. */
static int done_in(heed_scope scope, int threads, bool *taken) {
  static tally t;
  memset(&t, 0, sizeof t);
  heed_set_num_threads(threads);
  heed_scope was = heed_scope_enter(scope);
  heed_parallel_values(ITEMS, 1, stop_early, &t);
  *taken = heed_interrupt_take();
  heed_scope_leave(was);
  int count = 0;
  for (int i = 0; i < ITEMS; i++) count += t.seen[i];
  return count;
}

static void check_interrupts(void) {
  bool taken;
  for (int threads = 1; threads <= 4; threads++) {
    int n = done_in(HEED_SCOPE_RESULT, threads, &taken);
    check(n > 100 / threads && n < ITEMS && taken && !heed_interrupt_take(),
          "a loop of values is given up, once");
    n = done_in(HEED_SCOPE_NONE, threads, &taken);
    check(n == ITEMS && taken, "a loop of no op runs to its end");
    n = done_in(HEED_SCOPE_WRITE, threads, &taken);
    check(n == ITEMS && !taken, "a loop that overwrites runs to its end");
    check(heed_interrupt_clear() && !heed_interrupt_clear(),
          "what nobody took can be taken back");
  }

  heed_scope write = heed_scope_enter(HEED_SCOPE_WRITE);
  done_in(HEED_SCOPE_RESULT, 2, &taken);
  check(!taken && heed_interrupt_clear(),
        "an op inside of one that overwrites is finished");
  heed_scope_leave(write);

  /* another thread may take the request before the loop's own has seen it */
  heed_scope was = heed_scope_enter(HEED_SCOPE_RESULT);
  static tally t;
  heed_parallel_values(ITEMS, 1, stop_early, &t);
  heed_interrupt_clear();
  check(heed_interrupt_take(), "what a loop left out is not forgotten");
  heed_scope_leave(was);
}

/* Room for each worker stays enough, whoever sets the number meanwhile. */
static void check_held(void) {
  static tally t;
  memset(&t, 0, sizeof t);
  t.threads = 2;
  heed_set_num_threads(2);
  int outer = heed_parallel_enter();
  heed_set_num_threads(8);
  int inner = heed_parallel_enter();
  bool same = heed_get_num_threads() == 2;
  for (int round = 0; round < 200; round++)
    heed_parallel(ITEMS, 1, count, &t);
  heed_parallel_leave(inner);
  same = same && heed_get_num_threads() == 2;
  heed_parallel_leave(outer);
  check(same && t.wrong_worker == 0 && t.seen[0] == 200,
        "within an op the number of threads holds still");
  check(heed_get_num_threads() == 8, "behind it there is the one that was set");
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
  check_held();
  check_interrupts();
  return failed != 0;
}
