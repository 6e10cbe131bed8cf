/*
 * attention_product - the products of attention.c: C = A B with a tile of C
 * held in registers. Layer: kernel. Read first: vec.h.
 *
 * B is cut into panels of PANEL columns, packed one behind the other, so that
 * a panel stays in the nearest cache while all rows of A pass over it. Every
 * element of C is one sum in the order of the depth, however C is cut.
 * Example: 8 queries over 20 keys with 8 floats to a vector: C is a tile of 6
 * and one of 2 rows; K^T is packed as panels of keys 0..15 and 16..31, the
 * last 12 of them zeros, of which the second vector is skipped.
 */
#ifndef HEED_KERNEL_ATTENTION_PRODUCT_H
#define HEED_KERNEL_ATTENTION_PRODUCT_H

#include <stdbool.h>

#include "kernel/vec_lanes.h"

#define PANEL (2 * VF) /* columns of a panel */
/* rows of a tile: as many as there are registers for */
#if VEC_BYTES == 64
#define TILE 8
#else
#define TILE 6
#endif

/* ---- the second factor of a product ------------------------------------- */

/* Row k, columns PANEL * p ... of B lie at data + k * step + p * panel; what
   is read goes up to a whole vector, so short rows are padded. */
typedef struct factor {
  const float *data;
  int64_t step, panel;
} factor;

static int64_t padded(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

/* The head beside this one in memory is what comes next, often: asks for its
   rows while there is other work. */
VEC_INLINE void fetch_next(int64_t n, int64_t d, const float *rows,
                           int64_t stride) {
  for (int64_t i = 0; i < n; i++)
    __builtin_prefetch((const void *)((uintptr_t)(rows + i * stride) +
                                      sizeof *rows * (size_t)d));
}

/* B = the transpose of n rows of d numbers, packed to panels; columns n ...
   of the last one are zeros. */
static inline factor pack_turned(int64_t n, int64_t d, const float *rows,
                                 int64_t stride, float *to) {
  for (int64_t j = 0; j < padded(n, PANEL); j += VF) {
    float *panel = to + j / PANEL * PANEL * d + j % PANEL;
    int64_t left = n - j < VF ? n - j : VF, e = 0;
    const float *from = rows + j * stride;
    if (left <= 0) {
      for (; e < d; e++) vf_store(panel + e * PANEL, (vf){0});
      continue;
    }
    for (; e + VF <= d; e += VF) {
      vf square[VF];
      UNROLL for (int i = 0; i < VF; i++)
        square[i] = i < left ? vf_load(from + i * stride + e) : (vf){0};
      fetch_next(left, d, from + e, stride);
      turn_square(square);
      UNROLL for (int i = 0; i < VF; i++)
        vf_store(panel + (e + i) * PANEL, square[i]);
    }
    for (; e < d; e++)
      vf_store(panel + e * PANEL, vf_gather_n(from + e, stride, left, 0));
  }
  return (factor){to, PANEL, PANEL * d};
}

/* B = n rows of d numbers times gain, packed to panels; columns d ... of the
   last one are zeros up to a whole vector. Rows that lie a power of two apart
   share few places of the cache, so copying them once is cheaper than it
   looks. */
static inline factor pack_rows(int64_t n, int64_t d, const float *rows,
                               int64_t stride, float gain, float *to) {
  for (int64_t e = 0; e < d; e += VF) {
    float *column = to + e / PANEL * PANEL * n + e % PANEL;
    const float *from = rows + e;
    fetch_next(n, d, from, stride);
    if (e + VF <= d)
      for (int64_t i = 0; i < n; i++)
        vf_store(column + i * PANEL, vf_load(from + i * stride) * gain);
    else
      for (int64_t i = 0; i < n; i++)
        vf_store(column + i * PANEL,
                 vf_load_n(from + i * stride, d - e, 0) * gain);
  }
  return (factor){to, PANEL, PANEL * n};
}

/* to = gain * rows, without gaps but for zeros up to a whole vector; `ahead`:
   are those of the next head asked for? */
static void copy_rows(int64_t n, int64_t d, const float *rows, int64_t stride,
                      float gain, bool ahead, float *to) {
  int64_t wide = padded(d, VF);
  for (int64_t e = 0; ahead && e < d; e += VF)
    fetch_next(n, d, rows + e, stride);
  for (int64_t i = 0; i < n; i++) {
    int64_t e = 0;
    for (; e + VF <= d; e += VF)
      vf_store(to + i * wide + e, vf_load(rows + i * stride + e) * gain);
    if (e < d)
      vf_store(to + i * wide + e,
               vf_load_n(rows + i * stride + e, d - e, 0) * gain);
  }
}

/* ---- the product -------------------------------------------------------- */

/* The first factor: element (i, k) at data[i * row + k * step]. */
typedef struct left_factor {
  const float *data;
  int64_t row, step;
} left_factor;

typedef enum product_kind {
  SET,    /* C = A B */
  ADD,    /* C += A B */
  RESCALE /* C[i] = gain[i] * C[i] + (A B)[i] */
} product_kind;

/* What is to stand at `to`, given a sum of A B. */
VEC_INLINE vf joined(product_kind kind, vf sum, const float *to,
                     const float *gain) {
  if (kind == ADD) return vf_load(to) + sum;
  return kind == SET ? sum : vf_load(to) * *gain + sum;
}

/* rows x (vecs * VF) elements of C; rows, vecs and kind are constants where
   this is used. */
VEC_INLINE void tile(int rows, int vecs, product_kind kind, int64_t depth,
                     left_factor a, const float *b, int64_t step, float *c,
                     int64_t c_row, const float *gain) {
  vf sum[TILE][2];
  UNROLL for (int i = 0; i < rows; i++)
    UNROLL for (int v = 0; v < vecs; v++) sum[i][v] = (vf){0};
  for (int64_t k = 0; k < depth; k++) {
    vf right[2];
    UNROLL for (int v = 0; v < vecs; v++)
      right[v] = vf_load(b + k * step + v * VF);
    UNROLL for (int i = 0; i < rows; i++) {
      vf left = vf_all(a.data[i * a.row + k * a.step]);
      UNROLL for (int v = 0; v < vecs; v++) sum[i][v] += left * right[v];
    }
  }
  UNROLL for (int i = 0; i < rows; i++)
    UNROLL for (int v = 0; v < vecs; v++) {
      float *to = c + i * c_row + v * VF;
      vf_store(to, joined(kind, sum[i][v], to, gain + i));
    }
}

#define TILE_ROWS(rows)                                               \
  case rows:                                                          \
    if (n > VF) tile(rows, 2, kind, depth, a, b, step, c, c_row, gain); \
    else tile(rows, 1, kind, depth, a, b, step, c, c_row, gain);      \
    break

/* The same for 1 .. TILE rows and up to two vectors of columns. */
VEC_INLINE void any_tile(product_kind kind, int64_t rows, int64_t n,
                         int64_t depth, left_factor a, const float *b,
                         int64_t step, float *c, int64_t c_row,
                         const float *gain) {
  switch (rows) {
    TILE_ROWS(1);
    TILE_ROWS(2);
    TILE_ROWS(3);
    TILE_ROWS(4);
    TILE_ROWS(5);
#if TILE == 8
    TILE_ROWS(6);
    TILE_ROWS(7);
#endif
    default:
      if (n > VF) tile(TILE, 2, kind, depth, a, b, step, c, c_row, gain);
      else tile(TILE, 1, kind, depth, a, b, step, c, c_row, gain);
  }
}

/* The same sums; what has a factor of 0 in A is not touched. */
static void tile_skipping(product_kind kind, int64_t rows, int64_t n,
                          int64_t depth, left_factor a, const float *b,
                          int64_t step, float *c, int64_t c_row,
                          const float *gain) {
  for (int64_t i = 0; i < rows; i++)
    for (int64_t v = 0; v < n; v += VF) {
      float *to = c + i * c_row + v;
      vf sum = {0};
      for (int64_t k = 0; k < depth; k++) {
        float left = a.data[i * a.row + k * a.step];
        if (left != 0) sum += vf_all(left) * vf_load(b + k * step + v);
      }
      vf_store(to, joined(kind, sum, to, gain + i));
    }
}

/* Up to TILE rows and PANEL columns of a product of any kind, where C has
   room for whole vectors. depth = 0: A B is 0. With `skip` zeros in A are
   skipped. Apart, as this is much code. */
static __attribute__((noinline)) void whole_tile(
    product_kind kind, bool skip, int64_t rows, int64_t n, int64_t depth,
    left_factor a, const float *b, int64_t step, float *c, int64_t c_row,
    const float *gain) {
  if (skip) tile_skipping(kind, rows, n, depth, a, b, step, c, c_row, gain);
  else if (kind == SET)
    any_tile(SET, rows, n, depth, a, b, step, c, c_row, gain);
  else if (kind == ADD)
    any_tile(ADD, rows, n, depth, a, b, step, c, c_row, gain);
  else any_tile(RESCALE, rows, n, depth, a, b, step, c, c_row, gain);
}

/* The same for the first n columns of C and no more. */
static inline void panel_tile(product_kind kind, bool skip, int64_t rows,
                              int64_t n, int64_t depth, left_factor a,
                              const float *b, int64_t step, float *c,
                              int64_t c_row, const float *gain) {
  if (rows > TILE) rows = TILE;
  if (n > PANEL) n = PANEL;
  if (n % VF == 0) {
    whole_tile(kind, skip, rows, n, depth, a, b, step, c, c_row, gain);
    return;
  }
  float part[TILE * PANEL] = {0};
  for (int64_t i = 0; kind != SET && i < rows; i++)
    memcpy(part + i * PANEL, c + i * c_row, sizeof *c * (size_t)n);
  whole_tile(kind, skip, rows, n, depth, a, b, step, part, PANEL, gain);
  for (int64_t i = 0; i < rows; i++)
    memcpy(c + i * c_row, part + i * PANEL, sizeof *c * (size_t)n);
}

#endif
