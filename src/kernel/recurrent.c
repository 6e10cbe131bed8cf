/*
 * recurrent - steps of recurrent cells: what comes behind the products.
 * Layer: kernel. Read first: recurrent.h, recurrent_cell.h.
 *
 * float32 on vectors; float64 by the C library, lane by lane.
 */
#include "kernel/recurrent.h"

#include "kernel/kernel.h"
#include "kernel/vec_wide.h"

#define LANEWISE(name, expression)            \
  static inline vd name(vd v) {               \
    double lane[VD];                          \
    vd_store(lane, v);                        \
    for (int i = 0; i < VD; i++) {            \
      const double x = lane[i];               \
      lane[i] = (expression);                 \
    }                                         \
    return vd_load(lane);                     \
  }
LANEWISE(tanh_lanes, tanh(x))
LANEWISE(sigmoid_lanes, 1 / (1 + exp(-x)))
#undef LANEWISE

#define T float
#define V vf
#define LANES VF
#define LOAD vf_load
#define LOAD_N(p, n) vf_load_n(p, n, 0)
#define STORE vf_store
#define STORE_N vf_store_n
#define ALL vf_all
#define MAX vf_max
#define PICK vf_pick
#define TANH vf_tanh
#define SIGMOID vf_sigmoid
#define NAME(x) x##_float32
#include "kernel/recurrent_cell.h"
#undef T
#undef V
#undef LANES
#undef LOAD
#undef LOAD_N
#undef STORE
#undef STORE_N
#undef ALL
#undef MAX
#undef PICK
#undef TANH
#undef SIGMOID
#undef NAME

#define T double
#define V vd
#define LANES VD
#define LOAD vd_load
#define LOAD_N(p, n) vd_load_n(p, n, 0)
#define STORE vd_store
#define STORE_N vd_store_n
#define ALL vd_all
#define MAX vd_max
#define PICK vd_pick
#define TANH tanh_lanes
#define SIGMOID sigmoid_lanes
#define NAME(x) x##_float64
#include "kernel/recurrent_cell.h"

#define CELL(cell, name)                                      \
  k->cell_fwd[cell][HEED_FLOAT32] = name##_fwd_float32;       \
  k->cell_fwd[cell][HEED_FLOAT64] = name##_fwd_float64;       \
  k->cell_bwd[cell][HEED_FLOAT32] = name##_bwd_float32;       \
  k->cell_bwd[cell][HEED_FLOAT64] = name##_bwd_float64

HEED_FILL(recurrent);
HEED_FILL(recurrent) {
  CELL(HEED_CELL_TANH, tanh);
  CELL(HEED_CELL_RELU, relu);
  CELL(HEED_CELL_GRU, gru);
  CELL(HEED_CELL_LSTM, lstm);
}
