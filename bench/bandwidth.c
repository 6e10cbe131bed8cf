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
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "meter.h"

#define TURNS 5
#define TURN_BYTES (16 << 20) /* at least, of a turn */
#define BLOCK 512              /* bytes of a step */
#define HUGE (2 << 20)         /* a large page */

static int64_t blocks, passes; /* in the buffer; in a turn */
static char *buffer;

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

/* A part of the buffer, over and over. */
static double read_part(int index, int threads) {
  int64_t begin = blocks * index / threads;
  int64_t n = blocks * (index + 1) / threads - begin;
  volatile float keep = 0;
  for (int64_t i = 0; i < passes; i++) keep += sum(buffer + begin * BLOCK, n);
  return (double)(n * BLOCK * passes);
}

int main(int count, char **argument) {
  int64_t bytes = count > 1 ? strtoll(argument[1], NULL, 10) : 0;
  if (bytes < BLOCK) return 1;
  blocks = bytes / BLOCK;
  passes = TURN_BYTES / bytes + 1;
  buffer = aligned_alloc(HUGE, (size_t)(bytes + HUGE - 1) / HUGE * HUGE);
  if (!buffer) return 1;
  /* as heed has its memory: few pages, large ones */
  madvise(buffer, (size_t)bytes, MADV_HUGEPAGE);
  memset(buffer, 0, (size_t)bytes);
  return meter_serve(count > 2 ? atoi(argument[2]) : 1, TURNS, read_part);
}
