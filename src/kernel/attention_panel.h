/*
 * attention_panel - the products of attention: tiles of a result held in
 * registers. Layer: kernel. Read first: attention_work.h.
 *
 * A panel is PANEL columns of a matrix, rows close behind each other: one row
 * of a panel is two vectors. The right factor and the result of a product are
 * panels; the left factor is read one number at a time, so it may lie
 * anywhere. Every element of a result is one sum in the order of the depth,
 * however the product is cut.
 * Example: scores of 20 keys, 16 queries, 64 columns, with 8 floats to a
 * vector. Left: the keys, as they lie. Right: the queries turned, 64 rows of
 * 16 lanes. Result: 20 rows of 16 lanes, in tiles of 6, 6, 4 and 4 rows.
 */
#ifndef HEED_KERNEL_ATTENTION_PANEL_H
#define HEED_KERNEL_ATTENTION_PANEL_H

#include "kernel/attention_work.h"

/* rows of a tile: as many as there are registers for */
#if VEC_BYTES == 64
#define TILE 8
#else
#define TILE 6
#endif

/* Column j of row i lies at data + i * row + j / PANEL * chunk + j % PANEL. */
typedef struct matrix {
  const float *data;
  int64_t row, chunk;
} matrix;

/* From row i, column j on; j is a multiple of PANEL. */
VEC_INLINE const float *matrix_at(matrix m, int64_t i, int64_t j) {
  return m.data + i * m.row + j / PANEL * m.chunk;
}

#define AHEAD 8 /* rows that are asked for before they are needed */

/* Rows far apart are nothing that a processor foresees. */
VEC_INLINE void fetch(int64_t bytes, const char *row) {
  for (int64_t i = 0; i < bytes; i += 64) __builtin_prefetch(row + i);
}

/* Copies a row of d numbers times gain to a row of panels that lie `chunk`
   apart; columns d ... of the last one become zeros. */
static void pack_row(int64_t d, const float *row, float gain, float *to,
                     int64_t chunk) {
  for (; d >= PANEL; d -= PANEL, row += PANEL, to += chunk) {
    vf_store(to, vf_load(row) * gain);
    vf_store(to + VF, vf_load(row + VF) * gain);
  }
  for (int64_t e = 0; d > 0 && e < PANEL; e++)
    to[e] = e < d ? row[e] * gain : 0;
}

/* The other way round; or adds them to what is there. */
static inline void unpack_row(int64_t d, const float *from, int64_t chunk,
                              float gain, bool add, float *row) {
  for (; d >= PANEL; d -= PANEL, row += PANEL, from += chunk) {
    vf low = vf_load(from) * gain, high = vf_load(from + VF) * gain;
    vf_store(row, add ? vf_load(row) + low : low);
    vf_store(row + VF, add ? vf_load(row + VF) + high : high);
  }
  for (int64_t e = 0; e < d; e++)
    row[e] = from[e] * gain + (add ? row[e] : 0);
}

/* A panel of lanes from up to PANEL rows of d numbers times gain: to[e *
   PANEL + r] = gain * row[r][e], 0 where there is no row r. */
static void turn_in(int64_t n, int64_t d, const float *const *row, float gain,
                    float *to) {
  for (int64_t first = 0; first < PANEL; first += VF, to += VF) {
    int64_t left = n - first, e = 0;
    for (; left > 0 && e + VF <= d; e += VF) {
      vf square[VF];
      UNROLL for (int r = 0; r < VF; r++)
        square[r] = r < left ? vf_load(row[first + r] + e) * gain : (vf){0};
      turn_square(square);
      UNROLL for (int r = 0; r < VF; r++)
        vf_store(to + (e + r) * PANEL, square[r]);
    }
    for (; e < d; e++)
      for (int64_t r = 0; r < VF; r++)
        to[e * PANEL + r] = r < left ? row[first + r][e] * gain : 0;
  }
}

/* The other way round, each lane with a gain of its own. */
static inline void turn_out(int64_t n, int64_t d, const float *from,
                     const float *gain, float *const *row) {
  for (int64_t first = 0; first < n; first += VF, from += VF) {
    int64_t left = n - first < VF ? n - first : VF, e = 0;
    vf by = vf_load(gain + first);
    for (; e + VF <= d; e += VF) {
      vf square[VF];
      UNROLL for (int r = 0; r < VF; r++)
        square[r] = vf_load(from + (e + r) * PANEL) * by;
      turn_square(square);
      for (int64_t r = 0; r < left; r++)
        vf_store(row[first + r] + e, square[r]);
    }
    for (; e < d; e++)
      for (int64_t r = 0; r < left; r++)
        row[first + r][e] = from[e * PANEL + r] * gain[first + r];
  }
}

/* ---- tiles -------------------------------------------------------------- */

typedef enum product_kind {
  SET,    /* C = A B */
  ADD,    /* C += A B */
  RESCALE /* C = gain * C + A B, a gain for each lane */
} product_kind;

/* `rows` rows of C. Element (i, k) of A lies at a + i * row + k * step, and
   chunk further for every PANEL of k. rows and either row or step are
   constants where this is used. */
VEC_INLINE void tile(int rows, product_kind kind, int64_t depth,
                     const float *a, int64_t row, int64_t step, int64_t chunk,
                     const float *b, float *c, const float *gain) {
  vf sum[TILE][2];
  UNROLL for (int i = 0; i < rows; i++) sum[i][0] = sum[i][1] = (vf){0};
  for (; depth > 0; depth -= PANEL, a += chunk) {
    int64_t n = depth < PANEL ? depth : PANEL;
    for (int64_t k = 0; k < n; k++, b += PANEL) {
      const vf low = vf_load(b), high = vf_load(b + VF);
      UNROLL for (int i = 0; i < rows; i++) {
        const vf left = vf_all(a[i * row + k * step]);
        sum[i][0] += left * low;
        sum[i][1] += left * high;
      }
    }
  }
  if (kind == ADD) {
    UNROLL for (int i = 0; i < rows; i++) {
      sum[i][0] += vf_load(c + i * PANEL);
      sum[i][1] += vf_load(c + i * PANEL + VF);
    }
  } else if (kind == RESCALE) {
    const vf low = vf_load(gain), high = vf_load(gain + VF);
    UNROLL for (int i = 0; i < rows; i++) {
      sum[i][0] += vf_load(c + i * PANEL) * low;
      sum[i][1] += vf_load(c + i * PANEL + VF) * high;
    }
  }
  UNROLL for (int i = 0; i < rows; i++) {
    vf_store(c + i * PANEL, sum[i][0]);
    vf_store(c + i * PANEL + VF, sum[i][1]);
  }
}

#if TILE == 8
#define LARGE_TILES(T) T(6) T(7)
#else
#define LARGE_TILES(T)
#endif
#define SMALL_TILES(T) T(1) T(2) T(3) T(4) T(5) LARGE_TILES(T)

/* A by rows: k runs along them. */
static __attribute__((noinline)) void tile_along(
    int64_t rows, product_kind kind, int64_t depth, matrix a, const float *b,
    float *c, const float *gain) {
#define ALONG(rows) \
  case rows: tile(rows, kind, depth, a.data, a.row, 1, a.chunk, b, c, gain); \
    break;
  switch (rows) {
    SMALL_TILES(ALONG)
    default: tile(TILE, kind, depth, a.data, a.row, 1, a.chunk, b, c, gain);
  }
}

/* A turned: k runs from row to row of what lies in memory, i along them. */
static __attribute__((noinline)) void tile_across(
    int64_t rows, product_kind kind, int64_t depth, const float *a,
    int64_t step, const float *b, float *c, const float *gain) {
#define ACROSS(rows) \
  case rows: \
    tile(rows, kind, depth, a, 1, step, PANEL * step, b, c, gain); \
    break;
  switch (rows) {
    SMALL_TILES(ACROSS)
    default: tile(TILE, kind, depth, a, 1, step, PANEL * step, b, c, gain);
  }
}

/* Whether what has a factor of 0 in A, or in B, is to be left untouched: it may
   be NaN. */
typedef enum product_care { NONE, LEFT, RIGHT } product_care;

/* The same sums, with care. */
static void tile_careful(product_care care, product_kind kind, int64_t rows,
                         int64_t depth, const float *a, int64_t row,
                         int64_t step, int64_t chunk, const float *b,
                         float *c, const float *gain) {
  for (int64_t i = 0; i < rows; i++)
    for (int64_t v = 0; v < PANEL; v += VF) {
      float *to = c + i * PANEL + v;
      vf sum = {0};
      for (int64_t k = 0; k < depth; k++) {
        vf left = vf_all(a[i * row + k / PANEL * chunk + k % PANEL * step]);
        vf right = vf_load(b + k * PANEL + v);
        vf factor = care == LEFT ? left : right;
        sum = vf_pick(factor == 0.0f, sum, left * right + sum);
      }
      if (kind == ADD) sum += vf_load(to);
      if (kind == RESCALE) sum += vf_load(to) * vf_load(gain + v);
      vf_store(to, sum);
    }
}

/* Rows of the next tile when `left` are left: few are dear, so the last two
   tiles are about as high. */
VEC_INLINE int64_t tile_rows(int64_t left) {
  if (left <= TILE) return left;
  return left < 2 * TILE ? (left + 1) / 2 : TILE;
}

/* ---- products ----------------------------------------------------------- */

/* C [m PANEL] from A [m depth] and B [depth PANEL]. */
static void product(product_kind kind, product_care care, int64_t m,
                    int64_t depth, matrix a, const float *b, float *c,
                    const float *gain) {
  if (care != NONE) {
    tile_careful(care, kind, m, depth, a.data, a.row, 1, a.chunk, b, c, gain);
    return;
  }
  for (int64_t i = 0, n; i < m; i += n, a.data += n * a.row, c += n * PANEL) {
    n = tile_rows(m - i);
    tile_along(n, kind, depth, a, b, c, gain);
  }
}

/* The same where element (i, k) of A lies at a + k * step + i. */
static void product_across(product_kind kind, product_care care, int64_t m,
                           int64_t depth, const float *a, int64_t step,
                           const float *b, float *c, const float *gain) {
  if (care != NONE) {
    tile_careful(care, kind, m, depth, a, 1, step, PANEL * step, b, c, gain);
    return;
  }
  for (int64_t i = 0, n; i < m; i += n, a += n, c += n * PANEL) {
    n = tile_rows(m - i);
    tile_across(n, kind, depth, a, step, b, c, gain);
  }
}

#endif
