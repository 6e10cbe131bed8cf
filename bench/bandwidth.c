/*
 * bandwidth - how fast the cores at hand can read so many bytes at most. For
 * each line read it prints the GB/s of all threads together: the best of a few
 * turns in which all bytes are summed up over and over, each thread a part.
 *
 *   bandwidth bytes [threads]
 *
 * What fits into the caches comes from there, as it does in a benchmark that
 * runs over the same tensors again and again; give more than they hold to
 * measure the memory behind them.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define MOST 256 /* threads */
#define TURNS 5
#define TURN_BYTES (16 << 20) /* at least, of a turn */
#define BLOCK 512              /* bytes of a step */
#define HUGE (2 << 20)         /* a large page */

static atomic_int ready;
static int threads;
static int64_t blocks, passes; /* in the buffer; in a turn */
static char *buffer;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Sums a range of blocks in as many vectors as hide the latency of adding. */
#define LOOP(name, target, bytes)                                            \
  target static float name(const char *p, int64_t n) {                       \
    typedef float v __attribute__((vector_size(bytes)));                     \
    v sum[8] = {0};                                                          \
    for (int64_t i = 0; i < n; i++, p += BLOCK)                              \
      _Pragma("GCC unroll 32") for (int k = 0; k < BLOCK / (bytes); k++) {   \
        v x;                                                                 \
        memcpy(&x, p + k * (bytes), sizeof x);                               \
        sum[k % 8] += x;                                                     \
      }                                                                      \
    for (int k = 1; k < 8; k++) sum[0] += sum[k];                            \
    return sum[0][0];                                                        \
  }

#if defined(__x86_64__)
LOOP(sum_avx512, __attribute__((target("avx512f"))), 64)
LOOP(sum_avx2, __attribute__((target("avx2"))), 32)
#endif
LOOP(sum_baseline, , 16)

static float sum(const char *p, int64_t n) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return sum_avx512(p, n);
  if (__builtin_cpu_supports("avx2")) return sum_avx2(p, n);
#endif
  return sum_baseline(p, n);
}

typedef struct reader {
  pthread_t thread;
  int index;
  double rate;
} reader;

/* All begin together; the rate is that of the thread itself. */
static void *measure(void *context) {
  reader *r = context;
  int64_t begin = blocks * r->index / threads;
  int64_t n = blocks * (r->index + 1) / threads - begin;
  volatile float keep = 0;
  atomic_fetch_add(&ready, 1);
  while (atomic_load(&ready) < threads) {
  }
  double start = now();
  for (int64_t i = 0; i < passes; i++) keep += sum(buffer + begin * BLOCK, n);
  r->rate = (double)(n * BLOCK * passes) / (now() - start);
  return NULL;
}

static double turn(void) {
  static reader team[MOST];
  double rate = 0;
  atomic_store(&ready, 0);
  for (int i = 0; i < threads; i++) {
    team[i].index = i;
    if (pthread_create(&team[i].thread, NULL, measure, &team[i]) != 0) exit(1);
  }
  for (int i = 0; i < threads; i++) {
    pthread_join(team[i].thread, NULL);
    rate += team[i].rate;
  }
  return rate;
}

int main(int count, char **argument) {
  int64_t bytes = count > 1 ? strtoll(argument[1], NULL, 10) : 0;
  threads = count > 2 ? atoi(argument[2]) : 1;
  if (bytes < BLOCK || threads < 1 || threads > MOST) return 1;
  blocks = bytes / BLOCK;
  passes = TURN_BYTES / bytes + 1;
  buffer = aligned_alloc(HUGE, (size_t)(bytes + HUGE - 1) / HUGE * HUGE);
  if (!buffer) return 1;
  /* as heed has its memory: few pages, large ones */
  madvise(buffer, (size_t)bytes, MADV_HUGEPAGE);
  memset(buffer, 0, (size_t)bytes);
  while (getchar() != EOF) {
    double best = 0;
    for (int i = 0; i < TURNS; i++) {
      double rate = turn();
      if (rate > best) best = rate;
    }
    printf("%.3f\n", best * 1e-9);
    fflush(stdout);
  }
  return 0;
}
