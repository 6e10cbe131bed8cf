/*
 * parallel - one pool of threads for every loop. Layer: base.
 *
 * A loop is cut into more pieces than there are threads, and whoever is free
 * takes the next one; the caller takes pieces too, and waits only for those
 * that others have begun. So a thread that the system has put aside holds
 * nothing up, and a loop costs little when the machine is busy with something
 * else. Idle threads look for work a short while, then sleep.
 *
 * The loop at hand is told in one word, `ticket`: its number, how many threads
 * may take part, how many pieces it has, and the next one to take. Taking one
 * is an exchange of that word, so nobody can take a piece of a loop that it
 * has not seen; and a piece taken keeps its loop from ending, so that the
 * fields of `job` hold still as long as somebody works on it.
 */
#define _GNU_SOURCE
#include "base/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/interrupt.h"

#define PIECES 4      /* for each thread */
#define SHORT 1024    /* pieces of a loop that may be given up */
#define MAX_THREADS 255
#define SPINS 4000    /* about 50 microseconds of looking for work */

static struct {
  heed_range_fn *fn;
  void *context;
  int64_t n, pieces;
  bool optional; /* may pieces be left out? */
  atomic_bool left_out;
} job;

static _Thread_local bool inside;
/* Where a part that this thread works on notes that it leaves something out:
   nowhere, since it may not; in the thread; in `job`. */
static _Thread_local enum { NOWHERE, IN_THREAD, IN_JOB } notes;

/* number, threads, pieces, next: 24, 8, 16 and 16 bits */
static _Atomic uint64_t ticket;
static atomic_long done; /* pieces that are finished */
static atomic_int sleeping;
static int started; /* threads beside the callers */
static int refused; /* of this many the system gave us fewer; or 0 */
static atomic_int wanted_threads;
static _Thread_local int held_threads; /* within an op; or 0 */

static pthread_mutex_t busy = PTHREAD_MUTEX_INITIALIZER; /* one loop at once */
static pthread_mutex_t bed = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t alarm_bell = PTHREAD_COND_INITIALIZER;

static void pause_cpu(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

static int default_threads(void) {
  const char *text = getenv("OMP_NUM_THREADS");
  long n = text ? strtol(text, NULL, 10) : 0;
  cpu_set_t set;
  if (n < 1 && sched_getaffinity(0, sizeof set, &set) == 0)
    n = CPU_COUNT(&set);
  return n < 1 ? 1 : n > MAX_THREADS ? MAX_THREADS : (int)n;
}

int heed_get_num_threads(void) {
  int n = held_threads ? held_threads : atomic_load(&wanted_threads);
  if (n == 0) {
    n = default_threads();
    atomic_store(&wanted_threads, n);
  }
  return n;
}

void heed_set_num_threads(int n) {
  atomic_store(&wanted_threads,
               n < 1 ? 1 : n > MAX_THREADS ? MAX_THREADS : n);
}

int heed_parallel_enter(void) {
  int was = held_threads;
  held_threads = heed_get_num_threads();
  return was;
}

void heed_parallel_leave(int was) { held_threads = was; }

static uint64_t number_of(uint64_t t) { return t >> 40; }
static int threads_of(uint64_t t) { return (int)(t >> 32 & 0xff); }
static int64_t pieces_of(uint64_t t) { return (int64_t)(t >> 16 & 0xffff); }
static int64_t next_of(uint64_t t) { return (int64_t)(t & 0xffff); }

static void run_part(int notes_to, heed_range_fn *fn, void *context,
                     int64_t begin, int64_t end, int worker) {
  int was = notes;
  notes = notes_to;
  fn(context, begin, end, worker);
  notes = was;
}

bool heed_parallel_given_up(void) {
  if (notes == NOWHERE || !heed_interrupt_asked()) return false;
  if (notes == IN_JOB) atomic_store(&job.left_out, true);
  else heed_interrupt_note();
  return true;
}

/* Takes pieces of the loop at hand until none is left. */
static void work(int worker) {
  inside = true;
  for (;;) {
    uint64_t t = atomic_load(&ticket);
    if (next_of(t) >= pieces_of(t) || worker >= threads_of(t)) break;
    if (!atomic_compare_exchange_weak(&ticket, &t, t + 1)) continue;
    int64_t i = next_of(t);
    if (job.optional && heed_interrupt_asked())
      atomic_store(&job.left_out, true);
    else
      run_part(job.optional ? IN_JOB : NOWHERE, job.fn, job.context,
               job.n * i / job.pieces, job.n * (i + 1) / job.pieces, worker);
    atomic_fetch_add(&done, 1);
  }
  inside = false;
}

static void *serve(void *index) {
  int worker = (int)(intptr_t)index;
  uint64_t seen = 0;
  for (;;) {
    int spins = 0;
    while (number_of(atomic_load(&ticket)) == seen && spins++ < SPINS)
      pause_cpu();
    if (number_of(atomic_load(&ticket)) == seen) {
      pthread_mutex_lock(&bed);
      atomic_fetch_add(&sleeping, 1);
      while (number_of(atomic_load(&ticket)) == seen)
        pthread_cond_wait(&alarm_bell, &bed);
      atomic_fetch_sub(&sleeping, 1);
      pthread_mutex_unlock(&bed);
    }
    seen = number_of(atomic_load(&ticket));
    work(worker);
  }
  return NULL;
}

/* A child of fork has none of the threads: its first loop starts them anew.
   What another thread of the parent was at does not concern it. */
static void after_fork(void) {
  started = refused = 0;
  atomic_store(&sleeping, 0);
  pthread_mutex_init(&busy, NULL);
  pthread_mutex_init(&bed, NULL);
  pthread_cond_init(&alarm_bell, NULL);
}

static void prepare(void) { pthread_atfork(NULL, NULL, after_fork); }

static bool start_one(int worker) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, serve, (void *)(intptr_t)worker) != 0)
    return false;
  pthread_detach(thread);
  return true;
}

/* As many threads as can be had, up to `threads` with the caller. Signals are
   for the threads of the program: a handler of ours would look at a Lua state
   that runs meanwhile. */
static void start(int threads) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, prepare);
  if (started >= threads - 1 || threads == refused) return;
  sigset_t all, before;
  sigfillset(&all);
  /* faults of the thread itself have handlers of their own (mapping.c) */
  static const int faults[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP};
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
    sigdelset(&all, faults[i]);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  while (started < threads - 1 && start_one(started + 1)) started++;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  refused = started < threads - 1 ? threads : 0;
}

static void run(int threads, int64_t pieces) {
  uint64_t number = number_of(atomic_load(&ticket)) + 1;
  job.pieces = pieces;
  atomic_store(&done, 0);
  atomic_store(&ticket, number << 40 | (uint64_t)threads << 32 |
                            (uint64_t)pieces << 16);
  if (atomic_load(&sleeping) > 0) {
    pthread_mutex_lock(&bed);
    pthread_cond_broadcast(&alarm_bell);
    pthread_mutex_unlock(&bed);
  }
  work(0);
  for (int spins = 0; atomic_load(&done) < pieces; spins++) {
    if (spins < SPINS) pause_cpu();
    else sched_yield();
  }
}

/* In the calling thread alone. */
static void run_alone(int64_t n, int64_t pieces, bool optional,
                      heed_range_fn *fn, void *context) {
  if (!optional) pieces = 1;
  for (int64_t i = 0; i < pieces; i++) {
    if (optional && heed_interrupt_asked()) {
      heed_interrupt_note();
      return;
    }
    run_part(optional ? IN_THREAD : NOWHERE, fn, context, n * i / pieces,
             n * (i + 1) / pieces, 0);
  }
}

static void loop(int64_t n, int64_t grain, bool optional, heed_range_fn *fn,
                 void *context) {
  if (n <= 0) return;
  if (grain < 1) grain = 1;
  int64_t pieces = 1 + (n - 1) / grain;
  int threads = heed_get_num_threads();
  int64_t most = threads * PIECES;
  if (optional && most < SHORT) most = SHORT;
  if (pieces > most) pieces = most;
  /* another program thread's loop has the pool: do without */
  if (threads == 1 || pieces <= 1 || inside ||
      pthread_mutex_trylock(&busy) != 0) {
    run_alone(n, pieces, optional, fn, context);
    return;
  }
  start(threads);
  job.fn = fn;
  job.context = context;
  job.n = n;
  job.optional = optional;
  atomic_store(&job.left_out, false);
  run(threads, pieces);
  if (atomic_load(&job.left_out)) heed_interrupt_note();
  pthread_mutex_unlock(&busy);
}

void heed_parallel(int64_t n, int64_t grain, heed_range_fn *fn,
                   void *context) {
  loop(n, grain, false, fn, context);
}

void heed_parallel_values(int64_t n, int64_t grain, heed_range_fn *fn,
                          void *context) {
  loop(n, grain, heed_interrupt_allowed(), fn, context);
}
