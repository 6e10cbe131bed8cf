/*
 * attention_dots_test - scores of bfloat16 by dot products of pairs, for sizes
 * around those of tiles, pairs and panels. Where the processor has no such
 * products, their substitute is what is tested.
 * Prints `ok name` or `not ok name: ...`; returns 0 when all is well.
 */
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wunused-function"
#endif
#include "kernel/attention_dots.h"

#include <stdlib.h>

#include "report.h"

#define MOST 40 /* of keys and of numbers */

/* Numbers in -1 .. 1, the same in every run. */
static uint16_t next_number(void) {
  static uint32_t state = 1;
  state = state * 1664525u + 1013904223u;
  return heed_bfloat16_of_float((float)(int32_t)state * 0x1p-31f);
}

/* Error of scores of m keys and n queries of d numbers, in units of 2^-24 times
   the sum of all |products|; not finite when something is amiss. */
static double error_of(int64_t m, int64_t n, int64_t d) {
  static uint16_t key[MOST][MOST], query[PANEL][MOST];
  static uint32_t keys[MOST * MOST], queries[MOST * PANEL];
  static float c[MOST * PANEL];
  const uint16_t *row[PANEL];
  for (int64_t i = 0; i < m; i++)
    for (int64_t e = 0; e < d; e++) key[i][e] = next_number();
  for (int64_t r = 0; r < PANEL; r++) {
    for (int64_t e = 0; e < d; e++) query[r][e] = next_number();
    row[r] = r < n ? query[r] : NULL;
  }
  for (int64_t i = 0; i < m; i++)
    copy_pairs(key[i], d, keys + i * pairs_of(d));
  turn_pairs(n, d, row, queries);
  product_dots(m, pairs_of(d), keys, queries, 0.5f, c);
  double worst = 0;
  for (int64_t i = 0; i < m; i++)
    for (int64_t r = 0; r < PANEL; r++) {
      double want = 0, all = 0;
      for (int64_t e = 0; r < n && e < d; e++) {
        double x = heed_bfloat16_to_float(key[i][e]);
        double y = heed_bfloat16_to_float(query[r][e]);
        want += 0.5 * x * y;
        all += 0.5 * fabs(x * y);
      }
      double off = fabs((double)c[i * PANEL + r] - want);
      if (all > 0) off /= all * 0x1p-24;
      if (!(off <= worst)) worst = off;
    }
  return worst;
}

int main(void) {
  for (int64_t d = 1; d <= MOST; d += d < 9 ? 1 : 5)
    for (int64_t m = 1; m <= MOST; m += m < 2 * TILE ? 1 : 7)
      for (int64_t n = 1; n <= PANEL; n++) {
        double off = error_of(m, n, d);
        if (!(off <= (double)d))
          REPORT(false, "scores of pairs",
                 "%lld keys, %lld queries of %lld numbers: %g units off",
                 (long long)m, (long long)n, (long long)d, off);
      }
  if (!failed) REPORT(true, "scores of pairs", "%s", "");
  return failed != 0;
}
