/*
 * recurrent - what one step of a recurrent cell reads and writes.
 * Layer: kernel.
 *
 * All rows have n numbers a part and no gaps; `gates` says how many parts x,
 * product and bias have, `kept` how many the row has that backward reads.
 *
 *     cell   gates          kept
 *     tanh   y              y h
 *     relu   y              y h
 *     gru    r z n          r z n q h    q: the state's part of n
 *     lstm   i f g o        i f g o c h
 *
 * where h and c are the states before the step.
 */
#ifndef HEED_KERNEL_RECURRENT_H
#define HEED_KERNEL_RECURRENT_H

#include <stdint.h>

#include "heed.h"

typedef enum heed_cell {
  HEED_CELL_TANH,
  HEED_CELL_RELU,
  HEED_CELL_GRU,
  HEED_CELL_LSTM,
  HEED_NCELL
} heed_cell;

/* A row of a batch at one step, forward. */
typedef struct heed_cell_row {
  const void *x, *product; /* of the input and of the state, by the weights */
  const void *bias;        /* of the product, or NULL */
  void *h, *c;             /* states, which become those after the step */
  void *kept;              /* or NULL */
} heed_cell_row;

/* And backward. */
typedef struct heed_cell_slope {
  const void *kept;
  void *dh, *dc;  /* gradients of the states after the step; they become those
                     before it, dh without what comes through the product */
  void *dproduct; /* gradient of product (and bias) */
  void *dx;       /* of x; written by the GRU only, where it is another one */
} heed_cell_slope;

typedef void heed_cell_fwd(int64_t n, const heed_cell_row *row);
typedef void heed_cell_bwd(int64_t n, const heed_cell_slope *row);

#endif
