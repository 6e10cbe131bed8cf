/*
 * philox - random words from a counter (Philox 4x32-10). Layer: kernel.
 *
 * Words depend on a key and a counter of four 32-bit numbers only, so that
 * whoever needs them again makes them again and nothing is stored. Formula:
 * Salmon and others, Parallel random numbers: as easy as 1, 2, 3 (2011).
 */
#ifndef HEED_KERNEL_PHILOX_H
#define HEED_KERNEL_PHILOX_H

#include <stdint.h>

#define PHILOX_LANES 8 /* counters worked on at once */

/* The words of n counters (first, row, stream) .. (first + n - 1, row,
   stream): out[4 * i] .. out[4 * i + 3] are those of counter first + i.
   Writes whole groups of PHILOX_LANES counters: out has room for n rounded
   up to that. */
static inline void philox_words(uint64_t key, uint64_t stream, uint32_t row,
                                uint32_t first, int64_t n,
                                uint32_t *restrict out) {
  enum { L = PHILOX_LANES };
  for (int64_t at = 0; at < n; at += L) {
    uint32_t a[L], b[L], c[L], d[L];
    for (int i = 0; i < L; i++) {
      a[i] = first + (uint32_t)(at + i);
      b[i] = row;
      c[i] = (uint32_t)stream;
      d[i] = (uint32_t)(stream >> 32);
    }
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int round = 0; round < 10; round++) {
      for (int i = 0; i < L; i++) {
        uint64_t p = (uint64_t)a[i] * 0xd2511f53u;
        uint64_t q = (uint64_t)c[i] * 0xcd9e8d57u;
        a[i] = (uint32_t)(q >> 32) ^ b[i] ^ k0;
        b[i] = (uint32_t)q;
        c[i] = (uint32_t)(p >> 32) ^ d[i] ^ k1;
        d[i] = (uint32_t)p;
      }
      k0 += 0x9e3779b9u;
      k1 += 0xbb67ae85u;
    }
    for (int i = 0; i < L; i++) {
      out[4 * (at + i)] = a[i];
      out[4 * (at + i) + 1] = b[i];
      out[4 * (at + i) + 2] = c[i];
      out[4 * (at + i) + 3] = d[i];
    }
  }
}

#endif
