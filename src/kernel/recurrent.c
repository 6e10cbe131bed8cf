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
LANEWISE(vd_tanh, tanh(x))
LANEWISE(vd_sigmoid, 1 / (1 + exp(-x)))
#undef LANEWISE

#define LOOPS "kernel/recurrent_cell.h"
#include "kernel/both.h"

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
