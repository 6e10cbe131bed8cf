/*
 * convolve - the convolution of one image in memory. Layer: ops.
 * Read first: slide.h.
 */
#ifndef HEED_OPS_CONVOLVE_H
#define HEED_OPS_CONVOLVE_H

#include "ops/slide.h"

typedef struct heed_convolve {
  heed_slide s;
  heed_dtype dtype;
  int64_t out, rows; /* channels of the result; rows of the columns */
  int64_t padded[2]; /* sizes of the image with its padding */
  int64_t *at;       /* where the first pixel of each row stands in it */
  size_t scratch;    /* bytes that a run wants */
} heed_convolve;

/* For images and windows of the slide; fails without memory, and when a padded
   image is larger than any. */
bool heed_convolve_open(heed_convolve *v, const char *op, const heed_slide *s,
                        heed_dtype dtype, int64_t out);
void heed_convolve_close(heed_convolve *v);

/* Some lines of y [out count[0] count[1]]: the sum over the rows of weight
   [out rows] times what the window sees, plus bias [out], unless NULL. All lie
   without gaps. How sums run depends on the sizes only. */
void heed_convolve_run(const heed_convolve *v, const void *image,
                       const void *weight, const void *bias, int64_t line,
                       int64_t lines, void *y, void *scratch);

/* sums [out rows], each of `lanes` parts (kernel/lines.h), += the products of
   y with what each row sees; for images of one channel only. */
void heed_convolve_sums(const heed_convolve *v, const void *image,
                        const void *y, void *sums, void *scratch);

/* Is that an image of one channel that few results are made of? Then no
   product of matrices is worth while. */
static inline bool heed_convolve_is_thin(const heed_slide *s, int64_t out) {
  return s->channels == 1 && out < 4;
}

#endif
