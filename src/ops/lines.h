/*
 * lines - ops that choose elements of each line along a dimension.
 * Layer: ops. Read first: core/op.h.
 *
 * Result 0 are the chosen elements of input 0, result 1 (int64) where they
 * stood, from 1.
 */
#ifndef HEED_OPS_LINES_H
#define HEED_OPS_LINES_H

#include "ops/ops.h"

/* What is known while the lines are gone through. */
typedef struct heed_lines {
  heed_dtype dtype;
  int64_t n, k; /* elements of a line, how many are chosen */
  bool down;    /* to be sorted downwards */
  const heed_attr *attr; /* of the call */
} heed_lines;

/* Sets place[0 .. k-1], from 0, for the line x, which has no gaps. `scratch`:
   of its own, of the size that heed_lines_run was given. */
typedef void heed_line_fn(const heed_lines *l, const void *x, int64_t *place,
                          void *scratch);

/* Chooses k elements of each line along a dimension; fills the results, whose
   sizes are those of x but for that dimension. */
bool heed_lines_run(heed_call *c, int64_t dim, int64_t k, bool down,
                    size_t scratch, heed_line_fn *fn);

/* The gradient of result 0 goes back to where its elements stood. `kept`:
   the results have the dimension. */
bool heed_lines_bwd(heed_rule_call *r, int64_t dim, bool kept);

#endif
