/*
 * lines - lines of elements without gaps. Layer: kernel.
 * Read first: kernel.h, lines.h, vec.h.
 */
#include "kernel/kernel.h"
#include "kernel/vec.h"

#define LOOPS "kernel/lines_loop.h"
#include "kernel/both.h"

HEED_FILL(lines);
HEED_FILL(lines) {
  k->lines[HEED_FLOAT32] = (heed_line_loops){
      moments_float32, pulls_float32, scale_float32, mix_float32,
      taps_float32, tap_sums_float32, VF, panel_float32};
  k->lines[HEED_FLOAT64] = (heed_line_loops){
      moments_float64, pulls_float64, scale_float64, mix_float64,
      taps_float64, tap_sums_float64, VD, panel_float64};
}
