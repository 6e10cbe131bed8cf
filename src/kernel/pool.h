/*
 * pool - windows of planes whose largest or mean elements are wanted.
 * Layer: kernel.
 *
 * Window (i, j) is lines begin[0][i], + step[0], .. below end[0][i], and
 * places of these from begin[1][j] to end[1][j]; none is empty.
 */
#ifndef HEED_KERNEL_POOL_H
#define HEED_KERNEL_POOL_H

#include <stdint.h>

typedef struct heed_pool {
  int64_t size[2];  /* of a plane: lines and their length */
  int64_t count[2]; /* windows, down and across */
  int64_t step[2];
  const int64_t *begin[2], *end[2];
  const double *share[2]; /* of means: 1 / elements that count, along each */
} heed_pool;

typedef struct heed_pool_loops {
  /* y[i j] = the largest element, at[i j] (unless NULL) = which one of the
     plane it is, from 1. The first of several; the last NaN. */
  void (*max)(const heed_pool *p, const void *x, void *y, int64_t *at);
  /* y[i j] = the sum of the window times both shares; `line` has room for
     size[1] elements. */
  void (*mean)(const heed_pool *p, const void *x, void *y, void *line);
  /* x = the gradient of y, spread over the windows. */
  void (*mean_bwd)(const heed_pool *p, const void *y, void *x, void *line);
} heed_pool_loops;

#endif
