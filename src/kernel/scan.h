/* scan - running sums, products and extremes. Layer: kernel. */
#ifndef HEED_KERNEL_SCAN_H
#define HEED_KERNEL_SCAN_H

#include <stdint.h>

typedef enum heed_scan {
  HEED_SCAN_SUM,  /* floats in doubles; the others give int64, wrapping */
  HEED_SCAN_PROD, /* the same */
  HEED_SCAN_MAX,  /* NaN stays */
  HEED_SCAN_MIN,
  HEED_NSCAN
} heed_scan;

/* The most columns at once. */
#define HEED_SCAN_COLUMNS 4096

/* Lines that a kernel takes at once, to hide how long an addition takes. */
#define HEED_SCAN_LINES 4

/* y[i*ly + j*sy] = x[0*lx + j*sx] .. x[i*lx + j*sx] taken together, i < rows,
   j < n <= HEED_SCAN_COLUMNS. MAX and MIN also write place[i*ly + j*sy], from
   1, of the last of equals. y overlaps no x. */
typedef void heed_loop_scan(int64_t rows, int64_t n, const void *x, int64_t lx,
                            int64_t sx, void *y, int64_t *place, int64_t ly,
                            int64_t sy);

#endif
