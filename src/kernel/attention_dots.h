/*
 * attention_dots - scores of bfloat16 by the processor's dot products of
 * pairs. Layer: kernel. Read first: attention_panel.h.
 *
 * VDPBF16PS adds both products of a pair of bfloat16 to a float, in each lane:
 * twice the multiply-adds of an instruction. Queries and keys are exact in
 * bfloat16, so that nothing is lost (but below the normal range, which counts
 * as 0); weights are not, and their products with values stay in float32.
 *
 * Row e of a panel of queries holds elements 2e and 2e + 1 of its queries, in
 * the halves of each lane; keys are copied to rows of such pairs. Example: a
 * key of 5 numbers has 3 pairs, the last of which ends in 0.
 */
#ifndef HEED_KERNEL_ATTENTION_DOTS_H
#define HEED_KERNEL_ATTENTION_DOTS_H

#include "base/cpu.h"
#include "kernel/attention_panel.h"

/* sum + (both products of the pairs of a and b). */
#if VEC_BYTES == 64
#define WITH_DOTS __attribute__((target("avx512bf16")))
static bool has_dots(void) { return heed_cpu_has_bfloat16_dots(); }
WITH_DOTS VEC_INLINE vf add_pairs(vf sum, vu a, vu b) {
  return (vf)_mm512_dpbf16_ps((__m512)sum, (__m512bh)a, (__m512bh)b);
}
#else /* the same in plain words; not worth its while without them */
#define WITH_DOTS
static bool has_dots(void) { return false; }
VEC_INLINE vf add_pairs(vf sum, vu a, vu b) {
  const vu high = (vu)vi_all(~0xffff);
  sum += (vf)(a & high) * (vf)(b & high);
  return sum + (vf)(a << 16) * (vf)(b << 16);
}
#endif

VEC_INLINE int64_t pairs_of(int64_t d) { return (d + 1) / 2; }

static inline void copy_pairs(const uint16_t *row, int64_t d, uint32_t *to) {
  if (d % 2) to[d / 2] = row[d - 1];
  memcpy(to, row, sizeof *row * (size_t)(d - d % 2));
}

/* A panel of pairs from up to PANEL rows of d numbers; zeros where there is no
   row. */
static inline void turn_pairs(int64_t n, int64_t d,
                              const uint16_t *const *row, uint32_t *to) {
  for (int64_t e = 0; e < d; e += 2, to += PANEL)
    for (int64_t r = 0; r < PANEL; r++) {
      uint32_t low = r < n ? row[r][e] : 0;
      uint32_t high = r < n && e + 1 < d ? row[r][e + 1] : 0;
      to[r] = high << 16 | low;
    }
}

/* `rows` rows of scores: gain times the products of keys, `pairs` of them a
   row, and a panel of queries. */
WITH_DOTS VEC_INLINE void dots_tile(int rows, int64_t pairs,
                                    const uint32_t *key, const uint32_t *q,
                                    float gain, float *c) {
  vf sum[TILE][2];
  UNROLL for (int i = 0; i < rows; i++) sum[i][0] = sum[i][1] = (vf){0};
  for (int64_t e = 0; e < pairs; e++, q += PANEL) {
    vu low, high;
    memcpy(&low, q, sizeof low);
    memcpy(&high, q + VF, sizeof high);
    UNROLL for (int i = 0; i < rows; i++) {
      const vu left = (vu)vi_all((int32_t)key[i * pairs + e]);
      sum[i][0] = add_pairs(sum[i][0], left, low);
      sum[i][1] = add_pairs(sum[i][1], left, high);
    }
  }
  UNROLL for (int i = 0; i < rows; i++) {
    vf_store(c + i * PANEL, sum[i][0] * gain);
    vf_store(c + i * PANEL + VF, sum[i][1] * gain);
  }
}

/* C [m PANEL] = gain K Q^T, from keys K [m pairs]. */
WITH_DOTS static __attribute__((noinline)) void product_dots(
    int64_t m, int64_t pairs, const uint32_t *key, const uint32_t *q,
    float gain, float *c) {
  for (; m >= TILE; m -= TILE, key += TILE * pairs, c += TILE * PANEL)
    dots_tile(TILE, pairs, key, q, gain, c);
  for (; m > 0; m--, key += pairs, c += PANEL)
    dots_tile(1, pairs, key, q, gain, c);
}

#endif
