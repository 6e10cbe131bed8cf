/*
 * kernel - the table of loops over raw pointers. Layer: kernel.
 *
 * Each source here but select.c is compiled once for every instruction set
 * (HEED_ISA: baseline, avx2, avx512) and puts its loops into a table of that
 * set; select.c picks the table at start. Loops know no tensors, no errors.
 * Strides count elements and may be 0 or negative; n may be 0.
 */
#ifndef HEED_KERNEL_KERNEL_H
#define HEED_KERNEL_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "heed.h"
#include "kernel/additive.h"
#include "kernel/attention.h"
#include "kernel/lines.h"
#include "kernel/pool.h"
#include "kernel/recurrent.h"
#include "kernel/reduce.h"
#include "kernel/scan.h"

/* y[i*sy] = f(a[i*sa]); y may be a itself with the same stride. */
typedef void heed_loop1(int64_t n, void *y, int64_t sy, const void *a,
                        int64_t sa);
/* y[i*sy] = f(a[i*sa], b[i*sb]); y may be a or b with the same stride. */
typedef void heed_loop2(int64_t n, void *y, int64_t sy, const void *a,
                        int64_t sa, const void *b, int64_t sb);

/* y[i*sy] = f(a[i*sa], b[i*sb], c[i*sc]) with a number; y may be a with the
   same stride. */
typedef void heed_loop3(int64_t n, void *y, int64_t sy, const void *a,
                        int64_t sa, const void *b, int64_t sb, const void *c,
                        int64_t sc, double value);
/* The same as heed_loop1 and 2 of functions that numbers tune. */
#define HEED_TUNED_MAX 3
#define HEED_POLYGAMMA_MAX 170 /* 171! overflows */
typedef void heed_loop1_tuned(int64_t n, void *y, int64_t sy, const void *a,
                              int64_t sa, const double *p);
typedef void heed_loop2_tuned(int64_t n, void *y, int64_t sy, const void *a,
                              int64_t sa, const void *b, int64_t sb,
                              const double *p);
/* y[i*sy] = test[i*st] ? a[i*sa] : b[i*sb]; y may be a or b. */
typedef void heed_loop_pick(int64_t n, void *y, int64_t sy, const void *test,
                            int64_t st, const void *a, int64_t sa,
                            const void *b, int64_t sb);

/* y[i*pitch + j] = x[j*stride + i]: rows of what lies in columns. */
typedef void heed_loop_turn(int64_t rows, int64_t columns, void *y,
                            int64_t pitch, const void *x, int64_t stride);

typedef enum heed_unary {
#define UNARY(name) HEED_UNARY_##name,
#include "kernel/unary.def"
#undef UNARY
  HEED_NUNARY
} heed_unary;

typedef enum heed_binary {
#define BINARY(name) HEED_BINARY_##name,
#include "kernel/binary.def"
#undef BINARY
  HEED_NBINARY
} heed_binary;

typedef enum heed_ternary {
  HEED_TERNARY_clamp,   /* a within b .. c */
  HEED_TERNARY_lerp,    /* a + c (b - a) */
  HEED_TERNARY_addcmul, /* a + value b c */
  HEED_TERNARY_addcdiv, /* a + value b / c */
  HEED_NTERNARY
} heed_ternary;

typedef enum heed_tuned {
#define TUNED(name) HEED_TUNED_##name,
#include "kernel/tuned.def"
#undef TUNED
  HEED_NTUNED
} heed_tuned;

/* Steps of optimisers, and the numbers of one; how they meet is told in
   optim.c. */
typedef enum heed_stepper {
  HEED_STEP_adam,
  HEED_STEP_adamax,
  HEED_STEP_sgd,
  HEED_STEP_rmsprop,
  HEED_STEP_adagrad,
  HEED_STEP_lion,
  HEED_STEP_lamb_direction,
  HEED_STEP_lamb,
  HEED_STEP_adafactor_moments,
  HEED_STEP_adafactor_direction,
  HEED_STEP_adafactor,
  HEED_NSTEP
} heed_stepper;
#define HEED_STEP_TENSORS 5
typedef struct heed_step {
  double sign, decay, keep, rate, new1, new2, old, fresh, momentum, scale,
      root, eps;
  bool extra;
} heed_step;
typedef void heed_loop_step(int64_t n, void *const *t, const heed_step *how);

/* The loops of matrix products, told in gemm_tile.h. */
typedef void heed_gemm_tile(int64_t k, const void *a, int64_t row,
                            int64_t step, const void *b, int64_t b_step,
                            void *c, int64_t pitch, int m, int n,
                            bool accumulate);
typedef struct heed_gemm_loops {
  int mr, nr; /* rows and columns of a tile, at most */
  int few;    /* rows of dots, at most */
  void (*pack)(int64_t k, int n, int wide, const void *from, int64_t step,
               int64_t across, void *to);
  heed_gemm_tile *tile;
  heed_gemm_tile *wide_tile; /* half as many rows, twice the columns */
  void (*dots)(int64_t k, const void *a, int64_t row, const void *b,
               int64_t b_row, void *c, int64_t pitch, int m, int64_t n,
               bool accumulate);
} heed_gemm_loops;

typedef struct heed_kernels {
  /* arithmetic.c, compare.c, maths.c, special.c, activation.c; NULL where a
     dtype has no such function. Comparisons write bool. tuned_bwd takes the
     operand and the gradient of the result. */
  heed_loop1 *unary[HEED_NUNARY][HEED_NDTYPE];
  heed_loop2 *binary[HEED_NBINARY][HEED_NDTYPE];
  heed_loop3 *ternary[HEED_NTERNARY][HEED_NDTYPE];
  heed_loop1_tuned *tuned[HEED_NTUNED][HEED_NDTYPE];
  heed_loop2_tuned *tuned_bwd[HEED_NTUNED][HEED_NDTYPE];
  heed_loop_pick *pick[HEED_NDTYPE]; /* choose.c */
  heed_loop_turn *turn[HEED_NDTYPE]; /* turn.c */

  heed_loop1 *cast[HEED_NDTYPE][HEED_NDTYPE]; /* cast.c: [to][from] */

  /* stream.c: copies bytes past the cache; no overlap. Another thread sees
     them after stream_end. */
  void (*stream)(int64_t bytes, void *to, const void *from);
  void (*stream_end)(void);

  heed_reduce_loops reduce[HEED_NREDUCE][HEED_NDTYPE]; /* reduce.h */
  heed_loop_scan *scan[HEED_NSCAN][HEED_NDTYPE];       /* scan.h */

  /* softmax.c: one row of n without gaps; y may be x, dx may be y or g. */
  void (*softmax[HEED_NDTYPE])(int64_t n, void *y, const void *x);
  void (*masked_softmax[HEED_NDTYPE])(int64_t n, void *y, const void *x,
                                      const uint8_t *keep);
  void (*log_softmax[HEED_NDTYPE])(int64_t n, void *y, const void *x);
  double (*logsumexp[HEED_NDTYPE])(int64_t n, const void *x);
  void (*softmax_bwd[HEED_NDTYPE])(int64_t n, void *dx, const void *y,
                                   const void *g);
  void (*masked_softmax_bwd[HEED_NDTYPE])(int64_t n, void *dx, const void *y,
                                          const void *g);
  void (*log_softmax_bwd[HEED_NDTYPE])(int64_t n, void *dx, const void *y,
                                       const void *g);

  /* loss.c: one row of n class scores; what they compute is told there. */
  void (*cross_entropy[HEED_NDTYPE])(int64_t n, const void *x, bool spread,
                                     const void *weight, double *stat);
  void (*cross_entropy_bwd[HEED_NDTYPE])(int64_t n, void *dx, const void *x,
                                         double max, double scale,
                                         double shift, const void *weight);

  /* norm.c: what they compute is told there. */
  void (*layer_norm[HEED_NDTYPE])(int64_t n, void *y, const void *x,
                                  const void *weight, const void *bias,
                                  double eps, void *mean, void *rstd);
  void (*rms_norm[HEED_NDTYPE])(int64_t n, void *y, const void *x,
                                const void *weight, double eps, void *rstd);
  void (*norm_bwd[HEED_NDTYPE])(int64_t rows, int64_t n, const void *g,
                                const void *x, const void *weight,
                                const void *mean, const void *rstd, void *dx,
                                void *dweight, void *dbias);
  void (*sum_parts[HEED_NDTYPE])(int64_t n, int64_t parts, int64_t pitch,
                                 const void *part, void *sum);

  /* rotary.c: pairs of a row turned; what it computes is told there. */
  void (*rotary[HEED_NDTYPE])(int64_t pairs, void *y, const void *x,
                              const void *turn, bool halves);

  /* random.c: words of MT19937, and numbers made of n (float32) or 2 n of
     them. */
  void (*mt_twist)(uint32_t *state);
  void (*mt_temper)(int64_t n, uint32_t *out, const uint32_t *state);
  void (*uniform[HEED_NDTYPE])(int64_t n, void *y, const uint32_t *word,
                               double width, double low);
  void (*normal16[HEED_NDTYPE])(void *x, double std, double mean);
  void (*bernoulli)(int64_t n, uint8_t *mask, const uint32_t *word,
                    int64_t limit);
  void (*drop[HEED_NDTYPE])(int64_t n, void *y, const void *x,
                            const uint8_t *mask, double scale);

  /* optim.c: a step of n elements; sum[i] += x[i]^2 */
  heed_loop_step *step[HEED_NSTEP][HEED_NDTYPE];
  void (*add_squares[HEED_NDTYPE])(int64_t n, double *sum, const void *x);

  /* distance.c: sums of powers of x, or of a - b; what they compute is told
     there. */
  double (*power_sum[HEED_NDTYPE])(int64_t n, const void *x, double p);
  void (*distances[HEED_NDTYPE])(int64_t n, const void *a, int64_t rows,
                                 const void *b, double p, void *y);
  void (*distance_bwd[HEED_NDTYPE])(int64_t n, const void *a, const void *b,
                                    double y, double g, double p,
                                    double *sum);

  /* attention.c, attention_few.c, attention_plain.c; the floats */
  heed_attention_loops attention[HEED_NDTYPE];
  heed_additive_loops additive[HEED_NDTYPE]; /* additive.c; the floats */

  heed_gemm_loops gemm[HEED_NDTYPE]; /* gemm.c; floats only */

  /* recurrent.c: a step of one row; the floats */
  heed_cell_fwd *cell_fwd[HEED_NCELL][HEED_NDTYPE];
  heed_cell_bwd *cell_bwd[HEED_NCELL][HEED_NDTYPE];
  heed_line_loops lines[HEED_NDTYPE]; /* lines.c; the floats */
  heed_pool_loops pool[HEED_NDTYPE];  /* pool.c; the floats */
} heed_kernels;

/* The table in use; set by heed_kernels_select. */
extern heed_kernels heed_kernel;
extern const char *heed_kernel_isa;
bool heed_kernels_select(void);

/* heed_fill_arithmetic_avx2 and so on. */
#define HEED_JOIN3(a, b, c) a##_##b##_##c
#define HEED_JOIN(a, b, c) HEED_JOIN3(a, b, c)
#define HEED_FILL(part) void HEED_JOIN(heed_fill, part, HEED_ISA)( \
    heed_kernels *k)

#endif
