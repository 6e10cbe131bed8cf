/*
 * additive - what the loops of additive attention are told. Layer: kernel.
 *
 *     scores[i][j] = sum over e of w[e] tanh(q[i][e] + k[j][e])
 *
 * for one batch entry. Rows lie one behind the other without gaps.
 */
#ifndef HEED_KERNEL_ADDITIVE_H
#define HEED_KERNEL_ADDITIVE_H

#include <stddef.h>
#include <stdint.h>

typedef struct heed_additive {
  int64_t tq, tk, size; /* size: of a query and a key */
  const void *q, *k, *w; /* [tq size], [tk size], [size] */

  /* forward: byte (i, j) at mask + i * mask_row + j * mask_column, 0 where
     the score is not wanted and 0 is written; NULL: all are wanted */
  const uint8_t *mask;
  int64_t mask_row, mask_column;
  void *scores; /* [tq tk] */

  /* backward: the gradient of the scores, and what is written. Where it is
     0, query and key are not looked at, be they NaN. */
  const void *grad;       /* [tq tk] */
  void *dq, *dk;          /* like q and k */
  double *dw;             /* [size] */
} heed_additive;

/* The loops of one dtype. `room` is scratch, aligned to 64. A result does not
   depend on how rows or columns are cut. */
typedef struct heed_additive_loops {
  int columns; /* backward: what `begin` is a multiple of */
  size_t (*forward_room)(const heed_additive *a, int64_t rows);
  size_t (*backward_room)(const heed_additive *a);
  /* Writes rows begin .. end - 1 of the scores. */
  void (*forward)(const heed_additive *a, int64_t begin, int64_t end,
                  void *room);
  /* Writes columns begin .. end - 1 of dq, dk and dw: at most `columns`. */
  void (*backward)(const heed_additive *a, int64_t begin, int64_t end,
                   void *room);
} heed_additive_loops;

#endif
