/*
 * peak - what the cores at hand can do at most: multiply-adds of float32 a
 * second. For each line read it prints the GFLOP/s of all threads together,
 * measured for a few milliseconds.
 *
 *   peak [threads]
 *
 * Chains of independent multiply-adds fill the pipes; two operations each.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MOST 256 /* threads */
#define STEPS 400000

static atomic_int ready;
static int threads;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* CHAINS are as many as hide the latency and stay in registers. */
#define CHAINS 12
#define LOOP(name, target, bytes)                                          \
  target static double name(void) {                                        \
    typedef float v __attribute__((vector_size(bytes)));                   \
    v sum[CHAINS], by = (v){0} + 0.999f, plus = (v){0} + 1e-3f;            \
    for (int c = 0; c < CHAINS; c++) sum[c] = (v){0} + (float)c;           \
    for (long i = 0; i < STEPS; i++) {                                     \
      _Pragma("GCC unroll 12") for (int c = 0; c < CHAINS; c++) sum[c] =   \
          sum[c] * by + plus;                                              \
    }                                                                      \
    for (int c = 1; c < CHAINS; c++) sum[0] += sum[c];                     \
    volatile float keep = sum[0][0];                                       \
    (void)keep;                                                            \
    return 2.0 * (bytes) / 4 * CHAINS * STEPS;                             \
  }

#if defined(__x86_64__)
LOOP(run_avx512, __attribute__((target("avx512f"))), 64)
LOOP(run_avx2, __attribute__((target("avx2,fma"))), 32)
#endif
LOOP(run_baseline, , 16)

static double run(void) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return run_avx512();
  if (__builtin_cpu_supports("avx2")) return run_avx2();
#endif
  return run_baseline();
}

/* All begin together; the rate is that of the thread itself. */
static void *measure(void *rate) {
  atomic_fetch_add(&ready, 1);
  while (atomic_load(&ready) < threads) {
  }
  double start = now(), work = run();
  *(double *)rate = work / (now() - start);
  return NULL;
}

int main(int count, char **argument) {
  double rate[MOST];
  pthread_t thread[MOST];
  threads = count > 1 ? atoi(argument[1]) : 1;
  if (threads < 1 || threads > MOST) return 1;
  while (getchar() != EOF) {
    double sum = 0;
    atomic_store(&ready, 0);
    for (int i = 0; i < threads; i++)
      if (pthread_create(&thread[i], NULL, measure, &rate[i]) != 0) return 1;
    for (int i = 0; i < threads; i++) {
      pthread_join(thread[i], NULL);
      sum += rate[i];
    }
    printf("%.3f\n", sum * 1e-9);
    fflush(stdout);
  }
  return 0;
}
