/* float16 and bfloat16: every value, and every border between two. */
#include <math.h>
#include <stdio.h>

#include "base/half.h"
#include "heed.h"
#include "kernel/kernel.h"

static int failed;

static void report(const char *name, bool ok) {
  printf("%sok %s\n", ok ? "" : "not ", name);
  failed += !ok;
}

/* By the definition of the formats: sign, exponent, fraction. */
static double value(uint32_t h, int fraction_bits, int exponent_bits) {
  uint32_t fraction = h & ((1u << fraction_bits) - 1);
  int exponent = (int)(h >> fraction_bits) & ((1 << exponent_bits) - 1);
  int bias = (1 << (exponent_bits - 1)) - 1;
  double sign = h & 0x8000 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1)
    return fraction ? NAN : sign * (double)INFINITY;
  double lead = exponent ? 1 : 0;
  return sign * ldexp(lead + ldexp(fraction, -fraction_bits),
                      (exponent ? exponent : 1) - bias);
}

static double value_float16(uint32_t h) { return value(h, 10, 5); }
static double value_bfloat16(uint32_t h) { return value(h, 7, 8); }

typedef struct format {
  const char *name;
  heed_dtype dtype;
  double (*value)(uint32_t h);
  float (*widen)(uint16_t h);
  uint16_t (*narrow)(float v);
} format;

static bool widens(const format *f) {
  for (uint32_t h = 0; h < 65536; h++) {
    double want = f->value(h), got = (double)f->widen((uint16_t)h);
    if (isnan(want) ? !isnan(got) : got != want) return false;
    if (signbit(want) != signbit(got) && !isnan(want)) return false;
  }
  return true;
}

static bool comes_back(const format *f) {
  for (uint32_t h = 0; h < 65536; h++) {
    uint16_t back = f->narrow(f->widen((uint16_t)h));
    if (isnan(f->value(h)) ? !isnan(f->value(back)) : back != h) return false;
  }
  return true;
}

/* Between neighbours a and b of one sign: the middle goes to the even one,
   what is on either side to that side. Behind the largest number lies
   infinity, as if it were the next. */
static bool rounds(const format *f) {
  for (uint32_t h = 0; h < 65535; h++) {
    if (isinf(f->value(h)) || isnan(f->value(h)) || h == 0x7fff) continue;
    double a = f->value(h);
    double step = isinf(f->value(h + 1)) ? a - f->value(h - 1)
                                         : f->value(h + 1) - a;
    float middle = (float)(a + step / 2);
    uint32_t even = h & 1 ? h + 1 : h;
    if (isinf(middle)) continue; /* no float32 lies there */
    if (f->narrow(middle) != even) return false;
    if (f->narrow(nextafterf(middle, 0)) != h) return false;
    float out = nextafterf(middle, h & 0x8000 ? -INFINITY : INFINITY);
    if (f->narrow(out) != h + 1) return false;
  }
  return true;
}

/* The loops give what the functions for one value give. */
static bool loops_agree(const format *f) {
  static uint16_t half[65536], back[65536];
  static float wide[65536];
  for (uint32_t h = 0; h < 65536; h++) half[h] = (uint16_t)h;
  heed_kernel.cast[HEED_FLOAT32][f->dtype](65536, wide, 1, half, 1);
  heed_kernel.cast[f->dtype][HEED_FLOAT32](65536, back, 1, wide, 1);
  for (uint32_t h = 0; h < 65536; h++) {
    double want = f->value(h);
    if (isnan(want) ? !isnan(wide[h]) : (double)wide[h] != want) return false;
    if (!isnan(want) && back[h] != h) return false;
  }
  return true;
}

int main(void) {
  static const format formats[] = {
      {"float16", HEED_FLOAT16, value_float16, heed_float16_to_float,
       heed_float16_of_float},
      {"bfloat16", HEED_BFLOAT16, value_bfloat16, heed_bfloat16_to_float,
       heed_bfloat16_of_float}};
  if (!heed_init()) return 1;
  for (int i = 0; i < 2; i++) {
    const format *f = &formats[i];
    char name[80];
    snprintf(name, sizeof name, "%s: every value is read", f->name);
    report(name, widens(f));
    snprintf(name, sizeof name, "%s: every value comes back", f->name);
    report(name, comes_back(f));
    snprintf(name, sizeof name, "%s: rounds to nearest, ties to even",
             f->name);
    report(name, rounds(f));
    snprintf(name, sizeof name, "%s: the loops agree", f->name);
    report(name, loops_agree(f));
  }
  return failed > 0;
}
