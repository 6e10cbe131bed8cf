/*
 * reduce - the loops of reductions, and what they keep. Layer: kernel.
 *
 * Elements are taken into accumulators, so that a result may come from
 * several calls; accumulators of two parts are merged. What they hold:
 *
 *   SUM, NANSUM, PROD  a double for floats, an int64 (wrapping) for others
 *   COUNT              an int64: how many are not 0; NaN counts
 *   MAX, MIN           an element; NaN stays
 *   ANY, ALL           a bool; NaN counts as true
 *   ARGMAX, ARGMIN     a heed_found; the first NaN wins over every number
 *   MOMENTS            a heed_moments; floats only
 *
 * The order of a sum depends on sizes only, not on strides or addresses.
 */
#ifndef HEED_KERNEL_REDUCE_H
#define HEED_KERNEL_REDUCE_H

#include <stddef.h>
#include <stdint.h>

typedef enum heed_reduction {
  HEED_REDUCE_SUM,
  HEED_REDUCE_NANSUM,
  HEED_REDUCE_PROD,
  HEED_REDUCE_COUNT,
  HEED_REDUCE_MAX,
  HEED_REDUCE_MIN,
  HEED_REDUCE_ANY,
  HEED_REDUCE_ALL,
  HEED_REDUCE_ARGMAX,
  HEED_REDUCE_ARGMIN,
  HEED_REDUCE_MOMENTS,
  HEED_NREDUCE
} heed_reduction;

/* An extreme and its place; value: one element of the dtype. */
typedef struct heed_found {
  int64_t place;
  char value[8];
} heed_found;

/* Of n elements the mean, and the sum of squares around it. */
typedef struct heed_moments {
  double n, mean, squares;
} heed_moments;

/* The most columns at once: 16 KiB of a row of float32, since the processor
   stops reading ahead at the end of a page, and does so once a row. */
#define HEED_REDUCE_COLUMNS 4096

typedef struct heed_reduce_loops {
  size_t room; /* bytes of an accumulator */
  /* Starts n accumulators; `first` is the place of the first element that
     they will see (for ARGMAX, ARGMIN). */
  void (*start)(int64_t n, int64_t first, void *acc);
  /* *acc takes in x[i*sx], i < n, which have places from `first` on. */
  void (*row)(int64_t n, const void *x, int64_t sx, int64_t first, void *acc);
  /* acc[j], j < n <= HEED_REDUCE_COLUMNS, takes in x[i*ld + j*sx], i < rows;
     i + first is the place. acc overlaps no x. */
  void (*columns)(int64_t rows, int64_t n, const void *x, int64_t ld,
                  int64_t sx, int64_t first, void *acc);
  /* acc[j] takes in other[j], j < n, of elements that come behind. */
  void (*merge)(int64_t n, void *acc, const void *other);
} heed_reduce_loops;

#endif
