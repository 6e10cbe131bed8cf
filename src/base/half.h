/*
 * half - the two 16-bit floats, bit by bit. Layer: base.
 *
 * float16 (IEEE 754 binary16): sign, 5 bits of exponent (bias 15), 10 bits of
 * fraction. bfloat16: the upper half of a float32. Conversions to them round
 * to nearest, ties to even; NaN stays NaN. Written without branches, so that
 * loops over them become vector code.
 */
#ifndef HEED_BASE_HALF_H
#define HEED_BASE_HALF_H

#include <stdint.h>
#include <string.h>

static inline float heed_float_of_bits(uint32_t bits) {
  float v;
  memcpy(&v, &bits, sizeof v);
  return v;
}

static inline uint32_t heed_bits_of_float(float v) {
  uint32_t bits;
  memcpy(&bits, &v, sizeof bits);
  return bits;
}

static inline float heed_bfloat16_to_float(uint16_t h) {
  return heed_float_of_bits((uint32_t)h << 16);
}

static inline uint16_t heed_bfloat16_of_float(float v) {
  uint32_t u = heed_bits_of_float(v);
  uint32_t rounded = (u + 0x7fff + (u >> 16 & 1)) >> 16;
  uint32_t nan = u >> 16 | 0x40;
  return (uint16_t)((u & 0x7fffffff) > 0x7f800000 ? nan : rounded);
}

static inline float heed_float16_to_float(uint16_t h) {
  uint32_t sign = (uint32_t)(h & 0x8000) << 16, rest = (uint32_t)(h & 0x7fff);
  /* exponent and fraction as those of a float32, 2^112 too small; the product
     is exact and gives numbers without a leading one theirs */
  uint32_t scaled = heed_bits_of_float(
      heed_float_of_bits(rest << 13) * heed_float_of_bits(0x77800000));
  uint32_t special = 0x7f800000 | rest << 13; /* infinity, NaN */
  return heed_float_of_bits(sign | (rest >= 0x7c00 ? special : scaled));
}

static inline uint16_t heed_float16_of_float(float v) {
  uint32_t u = heed_bits_of_float(v), rest = u & 0x7fffffff;
  /* the exponent moved from bias 127 to 15, the fraction rounded to 10 bits;
     what grows past 65504 becomes infinity by itself up to 2^16 */
  uint32_t normal =
      (rest - (112u << 23) + 0xfff + (rest >> 13 & 1)) >> 13;
  /* below 2^-14 the sum with 0.5 leaves the fraction, rounded, in the last
     bits */
  uint32_t small = heed_bits_of_float(heed_float_of_bits(
      rest < 0x38800000 ? rest : 0) + 0.5f) - 0x3f000000;
  uint32_t h = rest < 0x38800000 ? small : normal;
  h = rest >= 0x47800000 ? 0x7c00 : h;
  h = rest > 0x7f800000 ? 0x7e00 | (rest >> 13 & 0x3ff) : h;
  return (uint16_t)(u >> 16 & 0x8000) | (uint16_t)h;
}

#endif
