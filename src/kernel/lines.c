/*
 * lines - lines of elements without gaps. Layer: kernel.
 * Read first: kernel.h, lines.h, vec.h.
 */
#include "kernel/kernel.h"
#include "kernel/vec.h"

#define T float
#define V vf
#define LANES VF
#define LOAD vf_load
#define LOAD_N vf_load_n
#define STORE vf_store
#define STORE_N vf_store_n
#define SUM vf_sum
#define ALL vf_all
#define NAME(x) x##_float32
#include "kernel/lines_loop.h"
#undef T
#undef V
#undef LANES
#undef LOAD
#undef LOAD_N
#undef STORE
#undef STORE_N
#undef SUM
#undef ALL
#undef NAME

#define T double
#define V vd
#define LANES VD
#define LOAD vd_load
#define LOAD_N vd_load_n
#define STORE vd_store
#define STORE_N vd_store_n
#define SUM vd_sum
#define ALL vd_all
#define NAME(x) x##_float64
#include "kernel/lines_loop.h"

HEED_FILL(lines);
HEED_FILL(lines) {
  k->lines[HEED_FLOAT32] = (heed_line_loops){
      moments_float32, pulls_float32, scale_float32, mix_float32,
      taps_float32, tap_sums_float32, VF, panel_float32};
  k->lines[HEED_FLOAT64] = (heed_line_loops){
      moments_float64, pulls_float64, scale_float64, mix_float64,
      taps_float64, tap_sums_float64, VD, panel_float64};
}
