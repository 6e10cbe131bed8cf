/*
 * peak - what the cores at hand can do at most: multiply-adds of float32 a
 * second. For each line read it prints the GFLOP/s of all threads together,
 * measured for a few milliseconds.
 *
 *   peak [threads]
 *
 * Chains of independent multiply-adds fill the pipes; two operations each.
 */
#include "meter.h"

#define STEPS 400000

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

static double run(int index, int threads) {
  (void)index, (void)threads;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return run_avx512();
  if (__builtin_cpu_supports("avx2")) return run_avx2();
#endif
  return run_baseline();
}

int main(int count, char **argument) {
  return meter_serve(count > 1 ? atoi(argument[1]) : 1, 1, run);
}
