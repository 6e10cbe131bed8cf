/*
 * lines - what norms over channels and convolutions of single channels do with
 * lines of elements that have no gaps. Layer: kernel.
 */
#ifndef HEED_KERNEL_LINES_H
#define HEED_KERNEL_LINES_H

#include <stdint.h>

typedef struct heed_line_loops {
  /* sums[0] += x - shift, sums[1] += (x - shift)^2 */
  void (*moments)(int64_t n, const void *x, double shift, double *sums);
  /* sums[0] += g, sums[1] += g (x - shift) */
  void (*pulls)(int64_t n, const void *g, const void *x, double shift,
                double *sums);
  /* y = (x - shift) a + b; y may be x */
  void (*scale)(int64_t n, const void *x, double shift, double a, double b,
                void *y);
  /* y = g a + (x - shift) b + c; y may be g */
  void (*mix)(int64_t n, const void *g, const void *x, double shift, double a,
              double b, double c, void *y);

  /* y[i] = bias + the sum over t of w[t] x[at[t] + i step] */
  void (*taps)(int64_t n, int64_t taps, const int64_t *at, const void *w,
               const void *x, int64_t step, double bias, void *y);
  /* sums[t] += the sum over i of g[i] x[at[t] + i step]; several sums side by
     side: `lanes` of them for each t */
  void (*tap_sums)(int64_t n, int64_t taps, const int64_t *at, const void *g,
                   const void *x, int64_t step, void *sums);
  int lanes;

  /* Panels for gemm_tile.h: to[r * wide + i] = x[at[r] + place[i]] for i < n,
     where places between runs[k] and runs[k + 1] lie `step` apart; what is
     behind n, up to `wide`, is 0. A vector may be read and written from the
     last elements on of x and of `to`. */
  void (*panel)(int64_t rows, const int64_t *at, const int64_t *place,
                int runs, const int *run, int64_t step, int wide,
                const void *x, void *to);
} heed_line_loops;

#endif
