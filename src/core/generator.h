/*
 * generator - a stream of random numbers: MT19937, drawn as PyTorch's CPU
 * generator draws. Layer: core.
 *
 * The state is plain data: copy the struct to save it, copy it back to go on
 * from there. Draws of one generator must not run at the same time.
 */
#ifndef HEED_CORE_GENERATOR_H
#define HEED_CORE_GENERATOR_H

#include "heed.h"

#define HEED_GENERATOR_WORDS 624
#define HEED_GENERATOR_SEED 67280421310721u /* of one never seeded */

typedef struct heed_generator {
  uint64_t seed; /* as given; the stream depends on its low 32 bits */
  uint32_t state[HEED_GENERATOR_WORDS];
  int32_t next; /* the first word not drawn yet; HEED_GENERATOR_WORDS: none */
  bool has_spare; /* half of a pair of normals is left over */
  double spare;
} heed_generator;

/* Starts the stream anew; forgets the spare normal. */
void heed_generator_seed(heed_generator *g, uint64_t seed);

/* This thread's own, seeded with HEED_GENERATOR_SEED until it is seeded. */
heed_generator *heed_generator_default(void);

uint32_t heed_generator_u32(heed_generator *g);
/* Two words; the first is the high half. */
uint64_t heed_generator_u64(heed_generator *g);
/* The next n words. */
void heed_generator_fill(heed_generator *g, uint32_t *out, int64_t n);

/* In [0, 1): of 24 bits (one word), of 53 bits (two words). */
float heed_generator_float(heed_generator *g);
double heed_generator_double(heed_generator *g);
/* Mean 0, deviation 1, by pairs: every second one is the spare. */
double heed_generator_normal(heed_generator *g);

#endif
