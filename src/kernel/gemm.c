/*
 * gemm - the innermost loops of matrix products. Layer: kernel.
 * Read first: gemm_tile.h, and ops/gemm.c for how they are used.
 *
 * MR x 2 vectors of sums stay in registers: 6 of 16 with 16 of them, 12 with
 * 32; the rest hold the two vectors of b and one broadcast number of a.
 */
#include "kernel/kernel.h"
#include "kernel/vec.h"

#if VEC_BYTES == 64
#define MR 12
#else
#define MR 6
#endif

/* The sums are an array, which stays in registers only where every loop over
   it is unrolled whole. */
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

#define T float
#define V vf
#define LANES VF
#define LOAD vf_load
#define STORE vf_store
#define ALL vf_all
#define NAME(x) x##_float32
#include "kernel/gemm_tile.h"
#undef T
#undef V
#undef LANES
#undef LOAD
#undef STORE
#undef ALL
#undef NAME

#define T double
#define V vd
#define LANES VD
#define LOAD vd_load
#define STORE vd_store
#define ALL vd_all
#define NAME(x) x##_float64
#include "kernel/gemm_tile.h"

HEED_FILL(gemm);
HEED_FILL(gemm) {
  k->gemm[HEED_FLOAT32] = (heed_gemm_loops){
      MR, 2 * VF, pack_a_float32, pack_b_float32, tile_float32,
      tile_rows_float32, thin_rows_float32, thin_dots_float32};
  k->gemm[HEED_FLOAT64] = (heed_gemm_loops){
      MR, 2 * VD, pack_a_float64, pack_b_float64, tile_float64,
      tile_rows_float64, thin_rows_float64, thin_dots_float64};
}
