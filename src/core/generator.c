/*
 * generator - MT19937 and the numbers made of its words. Layer: core.
 *
 * Matsumoto and Nishimura, "Mersenne twister", 1998. The twist and the
 * tempering are kernels: a block of 624 words is made at a time.
 */
#define _GNU_SOURCE
#include "core/generator.h"

#include <math.h>

#include "kernel/kernel.h"

#define WORDS HEED_GENERATOR_WORDS

void heed_generator_seed(heed_generator *g, uint64_t seed) {
  g->seed = seed;
  g->state[0] = (uint32_t)seed;
  for (uint32_t i = 1; i < WORDS; i++) {
    uint32_t before = g->state[i - 1];
    g->state[i] = 1812433253u * (before ^ (before >> 30)) + i;
  }
  g->next = WORDS;
  g->has_spare = false;
  g->spare = 0;
}

heed_generator *heed_generator_default(void) {
  static _Thread_local heed_generator g;
  static _Thread_local bool seeded;
  if (!seeded) {
    heed_generator_seed(&g, HEED_GENERATOR_SEED);
    seeded = true;
  }
  return &g;
}

void heed_generator_fill(heed_generator *g, uint32_t *out, int64_t n) {
  while (n > 0) {
    if (g->next >= WORDS) {
      heed_kernel.mt_twist(g->state);
      g->next = 0;
    }
    int64_t part = WORDS - g->next;
    if (part > n) part = n;
    heed_kernel.mt_temper(part, out, g->state + g->next);
    g->next += (int32_t)part;
    out += part;
    n -= part;
  }
}

uint32_t heed_generator_u32(heed_generator *g) {
  uint32_t word;
  heed_generator_fill(g, &word, 1);
  return word;
}

uint64_t heed_generator_u64(heed_generator *g) {
  uint32_t word[2];
  heed_generator_fill(g, word, 2);
  return (uint64_t)word[0] << 32 | word[1];
}

float heed_generator_float(heed_generator *g) {
  return (float)(heed_generator_u32(g) & 0xffffff) * 0x1p-24f;
}

double heed_generator_double(heed_generator *g) {
  return (double)(heed_generator_u64(g) & 0x1fffffffffffff) * 0x1p-53;
}

double heed_generator_normal(heed_generator *g) {
  if (g->has_spare) {
    g->has_spare = false;
    return g->spare;
  }
  double a = heed_generator_double(g), b = heed_generator_double(g);
  double r = sqrt(-2 * log1p(-b)), t = 2 * M_PI * a;
  g->spare = r * sin(t);
  g->has_spare = true;
  return r * cos(t);
}
