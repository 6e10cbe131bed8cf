/*
 * gemm_tile - the loops of a matrix product for one element type: packing of
 * panels and the product of two panels. Layer: kernel. Included by gemm.c,
 * once for each type, with T (element), V (vector), LANES, LOAD, STORE, ALL
 * and NAME(x) defined.
 *
 * A panel of a holds MR rows, k by k: a[p * MR + r]. A panel of b holds NR
 * columns: b[p * NR + j]. Rows and columns behind the last are zeros.
 */

#define NR (2 * LANES)

/* Rows r < m of a matrix into a panel of MR. */
static void NAME(pack_a)(int64_t k, int m, const void *from, int64_t row,
                         int64_t column, void *to) {
  const T *a = from;
  T *restrict panel = to;
  if (m == MR && row == 1) {
    for (int64_t p = 0; p < k; p++)
      for (int r = 0; r < MR; r++) panel[p * MR + r] = a[p * column + r];
    return;
  }
  for (int r = 0; r < m; r++)
    for (int64_t p = 0; p < k; p++)
      panel[p * MR + r] = a[r * row + p * column];
  for (int r = m; r < MR; r++)
    for (int64_t p = 0; p < k; p++) panel[p * MR + r] = 0;
}

/* Columns j < n of a matrix into a panel of NR. */
static void NAME(pack_b)(int64_t k, int n, const void *from, int64_t row,
                         int64_t column, void *to) {
  const T *b = from;
  T *restrict panel = to;
  if (n == NR && column == 1) {
    for (int64_t p = 0; p < k; p++) {
      STORE(panel + p * NR, LOAD(b + p * row));
      STORE(panel + p * NR + LANES, LOAD(b + p * row + LANES));
    }
    return;
  }
  /* a few k at a time, so that the panel's lines stay in the nearest cache */
  for (int64_t p0 = 0; p0 < k; p0 += 16) {
    int64_t p1 = p0 + 16 < k ? p0 + 16 : k;
    for (int j = 0; j < n; j++)
      for (int64_t p = p0; p < p1; p++)
        panel[p * NR + j] = b[p * row + j * column];
    for (int j = n; j < NR; j++)
      for (int64_t p = p0; p < p1; p++) panel[p * NR + j] = 0;
  }
}

/* c [m n] (+)= rows of a times a panel of b. Row r, step p of a is
   a[r * row + p * step]: a panel has row 1 and step MR, a matrix that lies row
   by row its own row and step 1. */
VEC_INLINE void NAME(product)(int64_t k, const T *restrict a, int64_t row,
                              int64_t step, const T *restrict b,
                              T *restrict c, int64_t pitch, int m, int n,
                              bool accumulate) {
  V sum[MR][2];
  UNROLL
  for (int r = 0; r < MR; r++) sum[r][0] = sum[r][1] = ALL(0);
  for (int64_t p = 0; p < k; p++, a += step, b += NR) {
    const V b0 = LOAD(b), b1 = LOAD(b + LANES);
    UNROLL
    for (int r = 0; r < MR; r++) {
      const V x = ALL(a[r * row]);
      sum[r][0] += x * b0;
      sum[r][1] += x * b1;
    }
  }
  if (m == MR && n == NR) {
    UNROLL
    for (int r = 0; r < MR; r++, c += pitch) {
      if (accumulate) {
        sum[r][0] += LOAD(c);
        sum[r][1] += LOAD(c + LANES);
      }
      STORE(c, sum[r][0]);
      STORE(c + LANES, sum[r][1]);
    }
    return;
  }
  T rows[MR][NR];
  UNROLL
  for (int r = 0; r < MR; r++) {
    STORE(rows[r], sum[r][0]);
    STORE(rows[r] + LANES, sum[r][1]);
  }
  for (int r = 0; r < m; r++, c += pitch)
    for (int j = 0; j < n; j++)
      c[j] = accumulate ? c[j] + rows[r][j] : rows[r][j];
}

/* a is a panel. */
static void NAME(tile)(int64_t k, const void *a, const void *b, void *c,
                       int64_t pitch, int m, int n, bool accumulate) {
  NAME(product)(k, a, 1, MR, b, c, pitch, m, n, accumulate);
}

/* a is MR rows as they lie. */
static void NAME(tile_rows)(int64_t k, const void *a, int64_t row,
                            const void *b, void *c, int64_t pitch, int n,
                            bool accumulate) {
  NAME(product)(k, a, row, 1, b, c, pitch, MR, n, accumulate);
}

/* A few rows of a against b where packing b would cost more than it saves;
   columns of b lie without gaps ... */
static void NAME(thin_rows)(int64_t k, const void *left, int64_t row,
                            int64_t column, const void *right,
                            int64_t b_row, void *result, int64_t pitch,
                            int m, int64_t n, bool accumulate) {
  const T *a = left, *b = right;
  T *c = result;
  for (int r = 0; r < m; r++, a += row, c += pitch) {
    int64_t j = 0;
    for (; j + 4 * LANES <= n; j += 4 * LANES) {
      V s0 = ALL(0), s1 = s0, s2 = s0, s3 = s0;
      for (int64_t p = 0; p < k; p++) {
        const V x = ALL(a[p * column]);
        const T *from = b + p * b_row + j;
        s0 += x * LOAD(from);
        s1 += x * LOAD(from + LANES);
        s2 += x * LOAD(from + 2 * LANES);
        s3 += x * LOAD(from + 3 * LANES);
      }
      if (accumulate) {
        s0 += LOAD(c + j);
        s1 += LOAD(c + j + LANES);
        s2 += LOAD(c + j + 2 * LANES);
        s3 += LOAD(c + j + 3 * LANES);
      }
      STORE(c + j, s0);
      STORE(c + j + LANES, s1);
      STORE(c + j + 2 * LANES, s2);
      STORE(c + j + 3 * LANES, s3);
    }
    for (; j < n; j++) {
      T s = 0;
      for (int64_t p = 0; p < k; p++) s += a[p * column] * b[p * b_row + j];
      c[j] = accumulate ? c[j] + s : s;
    }
  }
}

static inline T NAME(lanes_sum)(V v) {
  T lane[LANES];
  STORE(lane, v);
  for (int half = LANES / 2; half > 0; half /= 2)
    for (int i = 0; i < half; i++) lane[i] += lane[i + half];
  return lane[0];
}

/* ... or rows of its transpose do: products of rows with rows. */
static void NAME(thin_dots)(int64_t k, const void *left, int64_t row,
                            const void *right, int64_t b_column,
                            void *result, int64_t pitch, int m, int64_t n,
                            bool accumulate) {
  const T *a = left;
  T *c = result;
  for (int r = 0; r < m; r++, a += row, c += pitch) {
    for (int64_t j = 0; j < n; j++) {
      const T *b = (const T *)right + j * b_column;
      V s0 = ALL(0), s1 = s0, s2 = s0, s3 = s0;
      int64_t p = 0;
      for (; p + 4 * LANES <= k; p += 4 * LANES) {
        s0 += LOAD(a + p) * LOAD(b + p);
        s1 += LOAD(a + p + LANES) * LOAD(b + p + LANES);
        s2 += LOAD(a + p + 2 * LANES) * LOAD(b + p + 2 * LANES);
        s3 += LOAD(a + p + 3 * LANES) * LOAD(b + p + 3 * LANES);
      }
      T s = NAME(lanes_sum)((s0 + s1) + (s2 + s3));
      for (; p < k; p++) s += a[p] * b[p];
      c[j] = accumulate ? c[j] + s : s;
    }
  }
}

#undef NR
