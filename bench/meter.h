/*
 * meter - what the meters of a machine share: a team of threads that begin
 * together, and a number for each line read.
 */
#ifndef HEED_BENCH_METER_H
#define HEED_BENCH_METER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define METER_MOST 256 /* threads */

/* Does the part of thread `index` of `threads`; returns how much it was. */
typedef double meter_work(int index, int threads);

typedef struct meter_member {
  pthread_t thread;
  int index, threads;
  meter_work *work;
  double rate;
} meter_member;

static atomic_int meter_ready;

static double meter_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* All begin together; the rate is that of the thread itself. */
static void *meter_member_run(void *context) {
  meter_member *m = context;
  atomic_fetch_add(&meter_ready, 1);
  while (atomic_load(&meter_ready) < m->threads) {
  }
  double start = meter_now(), amount = m->work(m->index, m->threads);
  m->rate = amount / (meter_now() - start);
  return NULL;
}

/* How much all threads do in a second. */
static double meter_rate(int threads, meter_work *work) {
  static meter_member team[METER_MOST];
  double rate = 0;
  atomic_store(&meter_ready, 0);
  for (int i = 0; i < threads; i++) {
    team[i] = (meter_member){.index = i, .threads = threads, .work = work};
    if (pthread_create(&team[i].thread, NULL, meter_member_run, &team[i]) != 0)
      exit(1);
  }
  for (int i = 0; i < threads; i++) {
    pthread_join(team[i].thread, NULL);
    rate += team[i].rate;
  }
  return rate;
}

/* For each line read, prints the best rate of some turns, in 10^9 a second. */
static int meter_serve(int threads, int turns, meter_work *work) {
  if (threads < 1 || threads > METER_MOST) return 1;
  while (getchar() != EOF) {
    double best = 0;
    for (int i = 0; i < turns; i++) {
      double rate = meter_rate(threads, work);
      if (rate > best) best = rate;
    }
    printf("%.3f\n", best * 1e-9);
    fflush(stdout);
  }
  return 0;
}

#endif
