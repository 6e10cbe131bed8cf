/*
 * random - words of MT19937, and numbers made of words. Layer: kernel.
 * Read first: kernel.h, core/generator.h.
 *
 * A word of 32 bits is uniform. w is the word as drawn; two words make one of
 * 64 bits, the first drawn being the high half.
 */
#include <math.h>
#include <string.h>

#include "kernel/kernel.h"

#define WORDS 624
#define AHEAD 397

static inline uint32_t twist(uint32_t high, uint32_t low) {
  uint32_t mixed = (high & 0x80000000u) | (low & 0x7fffffffu);
  return (mixed >> 1) ^ (0x9908b0dfu & (0u - (low & 1)));
}

/* The next 624 words of state from the last ones, in place. Each loop reads
   only words that it has not written yet, or wrote at least 227 words ago:
   far more than a vector, so vectors may be used. */
static void mt_twist(uint32_t *s) {
#if defined(__clang__)
#define FAR _Pragma("clang loop vectorize(assume_safety)")
#else
#define FAR _Pragma("GCC ivdep")
#endif
  FAR for (int i = 0; i < WORDS - AHEAD; i++)
    s[i] = s[i + AHEAD] ^ twist(s[i], s[i + 1]);
  FAR for (int i = WORDS - AHEAD; i < WORDS - 1; i++)
    s[i] = s[i + AHEAD - WORDS] ^ twist(s[i], s[i + 1]);
  s[WORDS - 1] = s[AHEAD - 1] ^ twist(s[WORDS - 1], s[0]);
#undef FAR
}

static void mt_temper(int64_t n, uint32_t *restrict out,
                      const uint32_t *restrict s) {
  for (int64_t i = 0; i < n; i++) {
    uint32_t w = s[i];
    w ^= w >> 11;
    w ^= (w << 7) & 0x9d2c5680u;
    w ^= (w << 15) & 0xefc60000u;
    out[i] = w ^ (w >> 18);
  }
}

/* y = u * width + low, rounded once, with u in [0, 1) of 24 bits. */
static void uniform_float32(int64_t n, void *to, const uint32_t *restrict w,
                            double width, double low) {
  float *restrict y = to;
  float fwidth = (float)width, flow = (float)low;
  for (int64_t i = 0; i < n; i++) {
    float u = (float)(int32_t)(w[i] & 0xffffff) * 0x1p-24f;
    y[i] = fmaf(u, fwidth, flow);
  }
}

static inline uint64_t pair(const uint32_t *w, int64_t i) {
  return (uint64_t)w[2 * i] << 32 | w[2 * i + 1];
}

/* The same with u of 53 bits, of two words each. */
static void uniform_float64(int64_t n, void *to, const uint32_t *restrict w,
                            double width, double low) {
  double *restrict y = to;
  for (int64_t i = 0; i < n; i++) {
    double u = (double)(int64_t)(pair(w, i) & 0x1fffffffffffff) * 0x1p-53;
    y[i] = fma(u, width, low);
  }
}

/* mask = (u < limit / 2^53), with u of 53 bits, of two words each. */
static void bernoulli(int64_t n, uint8_t *restrict mask,
                      const uint32_t *restrict w, int64_t limit) {
  for (int64_t i = 0; i < n; i++)
    mask[i] = (int64_t)(pair(w, i) & 0x1fffffffffffff) < limit;
}

/*
 * Standard normals times std plus mean, by Box and Muller, from 16 numbers
 * u in [0, 1) in place: those of the first half give the radius, those of the
 * second the angle.
 */
static void normal16_float32(void *to, double std, double mean) {
  float *x = to, s = (float)std, m = (float)mean;
  for (int i = 0; i < 8; i++) {
    float r = sqrtf(-2 * logf(1 - x[i])), t = 6.2831853071795865f * x[i + 8];
    x[i] = fmaf(r * cosf(t), s, m);
    x[i + 8] = fmaf(r * sinf(t), s, m);
  }
}
static void normal16_float64(void *to, double std, double mean) {
  double *x = to;
  for (int i = 0; i < 8; i++) {
    double r = sqrt(-2 * log(1 - x[i])), t = 6.2831853071795865 * x[i + 8];
    x[i] = fma(r * cos(t), std, mean);
    x[i + 8] = fma(r * sin(t), std, mean);
  }
}

/* y = mask ? x * scale : 0, so that nothing of a dropped x stays. */
static void drop_float32(int64_t n, void *to, const void *from,
                         const uint8_t *restrict mask, double by) {
  float *restrict y = to;
  const float *restrict x = from;
  float scale = (float)by;
  for (int64_t i = 0; i < n; i++) y[i] = mask[i] ? x[i] * scale : 0;
}
static void drop_float64(int64_t n, void *to, const void *from,
                         const uint8_t *restrict mask, double scale) {
  double *restrict y = to;
  const double *restrict x = from;
  for (int64_t i = 0; i < n; i++) y[i] = mask[i] ? x[i] * scale : 0;
}

HEED_FILL(random);
HEED_FILL(random) {
  k->mt_twist = mt_twist;
  k->mt_temper = mt_temper;
  k->uniform[HEED_FLOAT32] = uniform_float32;
  k->uniform[HEED_FLOAT64] = uniform_float64;
  k->normal16[HEED_FLOAT32] = normal16_float32;
  k->normal16[HEED_FLOAT64] = normal16_float64;
  k->bernoulli = bernoulli;
  k->drop[HEED_FLOAT32] = drop_float32;
  k->drop[HEED_FLOAT64] = drop_float64;
}
