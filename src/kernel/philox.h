/*
 * philox - random words from a counter (Philox 4x32-10). Layer: kernel.
 * Read first: vec.h.
 *
 * Words depend on a key and a counter of four 32-bit numbers only, so that
 * whoever needs them again makes them again and nothing is stored. Formula:
 * Salmon and others, Parallel random numbers: as easy as 1, 2, 3 (2011).
 */
#ifndef HEED_KERNEL_PHILOX_H
#define HEED_KERNEL_PHILOX_H

#include "kernel/vec.h"
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#define PHILOX_LANES VF /* counters worked on at once */

typedef uint32_t vec_words __attribute__((vector_size(VEC_BYTES)));
typedef uint64_t vec_long_words __attribute__((vector_size(VEC_BYTES)));

/* The lower half of each 64-bit lane, times m. gcc does not see that one
   instruction does this, and takes seven: 2.5 times the whole. */
VEC_INLINE vec_long_words philox_product(vec_long_words x, uint32_t m) {
#if defined(__AVX512F__) && VEC_BYTES == 64
  return (vec_long_words)_mm512_mul_epu32((__m512i)x,
                                          _mm512_set1_epi32((int)m));
#elif defined(__AVX2__) && VEC_BYTES == 32
  return (vec_long_words)_mm256_mul_epu32((__m256i)x,
                                          _mm256_set1_epi32((int)m));
#elif defined(__SSE2__) && VEC_BYTES == 16
  return (vec_long_words)_mm_mul_epu32((__m128i)x, _mm_set1_epi32((int)m));
#else
  return (x & 0xffffffffu) * m;
#endif
}

/* high:low = x * m in each lane. */
VEC_INLINE void philox_multiply(vec_words x, uint32_t m, vec_words *high,
                                vec_words *low) {
  const uint64_t upper = 0xffffffff00000000u;
  vec_long_words even = philox_product((vec_long_words)x, m);
  vec_long_words odd = philox_product((vec_long_words)x >> 32, m);
  *high = (vec_words)((even >> 32) | (odd & upper));
  *low = (vec_words)((even & ~upper) | (odd << 32));
}

/* The words of n counters (first, row, stream) .. (first + n - 1, row,
   stream): out[4 * i] .. out[4 * i + 3] are those of counter first + i.
   Writes whole groups of PHILOX_LANES counters: out has room for n rounded
   up to that. */
static inline void philox_words(uint64_t key, uint64_t stream, uint32_t row,
                                uint32_t first, int64_t n, uint32_t *out) {
  for (int64_t at = 0; at < n; at += PHILOX_LANES) {
    vec_words a = {0}, b = a + row, c = a + (uint32_t)stream;
    vec_words d = a + (uint32_t)(stream >> 32);
    for (int i = 0; i < PHILOX_LANES; i++)
      a[i] = first + (uint32_t)at + (uint32_t)i;
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int round = 0; round < 10; round++) {
      vec_words high_a, low_a, high_c, low_c;
      philox_multiply(a, 0xd2511f53u, &high_a, &low_a);
      philox_multiply(c, 0xcd9e8d57u, &high_c, &low_c);
      a = high_c ^ b ^ k0;
      b = low_c;
      c = high_a ^ d ^ k1;
      d = low_a;
      k0 += 0x9e3779b9u;
      k1 += 0xbb67ae85u;
    }
    for (int i = 0; i < PHILOX_LANES; i++) {
      uint32_t word[4] = {a[i], b[i], c[i], d[i]};
      memcpy(out + 4 * (at + i), word, sizeof word);
    }
  }
}

#endif
