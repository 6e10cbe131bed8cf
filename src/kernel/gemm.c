/*
 * gemm - the innermost loops of matrix products. Layer: kernel.
 * Read first: gemm_tile.h, and ops/gemm.c for how they are used.
 *
 * MR x 2 vectors of sums stay in registers: 12 of 16, or 24 of 32; the rest
 * hold the two vectors of b and one broadcast number of a.
 */
#include "kernel/kernel.h"
#include "kernel/vec.h"

#if VEC_BYTES == 64
#define MR 12
#else
#define MR 6
#endif

/* rows of a in products of rows with rows: times 3 of b, 12 sums */
#define DOTS 4

/* Lists X(m, w) for all heights of a tile, and of one of half the height. */
#define EACH_3(X, w) X(1, w) X(2, w) X(3, w)
#define EACH_6(X, w) EACH_3(X, w) X(4, w) X(5, w) X(6, w)
#if VEC_BYTES == 64
#define EACH_HALF EACH_6
#define EACH_HEIGHT(X, w) \
  EACH_6(X, w) X(7, w) X(8, w) X(9, w) X(10, w) X(11, w) X(12, w)
#else
#define EACH_HALF EACH_3
#define EACH_HEIGHT EACH_6
#endif

#define LOOPS "kernel/gemm_tile.h"
#include "kernel/both.h"

HEED_FILL(gemm);
HEED_FILL(gemm) {
  k->gemm[HEED_FLOAT32] = (heed_gemm_loops){
      MR, 2 * VF, DOTS, pack_float32,
      tile_float32, wide_tile_float32, dots_float32};
  k->gemm[HEED_FLOAT64] = (heed_gemm_loops){
      MR, 2 * VD, DOTS, pack_float64,
      tile_float64, wide_tile_float64, dots_float64};
}
