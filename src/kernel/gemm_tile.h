/*
 * gemm_tile - the loops of a matrix product for one element type: packing, the
 * product of a few rows with a few columns, and products of rows with rows.
 * Layer: kernel. Included by gemm.c. Read first: both.h.
 */

#define NR (2 * LANES)

/* to[p * wide + i] = from[p * step + i * across] for i < n; the places behind,
   up to `wide`, become zeros. */
static void NAME(pack)(int64_t k, int n, int wide, const void *from,
                       int64_t step, int64_t across, void *to) {
  const T *x = from;
  T *restrict y = to;
  if (across == 1 && wide == NR && n == NR) {
    for (int64_t p = 0; p < k; p++, x += step, y += NR) {
      __builtin_prefetch(x + NR, 0, 2); /* of the next panel */
      STORE(y, LOAD(x));
      STORE(y + LANES, LOAD(x + LANES));
    }
  } else if (across == 1 && wide == MR && n == MR) {
    for (int64_t p = 0; p < k; p++, x += step, y += MR)
      memcpy(y, x, MR * sizeof *y);
  } else if (across == 1 && wide % LANES == 0) {
    for (int64_t p = 0; p < k; p++, x += step, y += wide)
      for (int i = 0; i < wide; i += LANES) {
        const int left = n - i < 0 ? 0 : n - i;
        STORE(y + i, left < LANES ? LOAD_N(x + i, left, 0) : LOAD(x + i));
      }
  } else {
    for (int64_t p = 0; p < k; p++, x += step, y += wide)
      for (int i = 0; i < wide; i++) y[i] = i < n ? x[i * across] : 0;
  }
}

/* c [m n] (+)= a [m k] b [k n] for m w <= 2 MR, n <= w LANES; element (r, p) of
   a is a[r * row + p * step], rows of b lie b_step apart and can be read up to
   w LANES. Inlined with m and w known, so that the sums are registers. */
VEC_INLINE void NAME(product)(int m, int w, int64_t k, const T *restrict a,
                              int64_t row, int64_t step, const T *restrict b,
                              int64_t b_step, T *restrict c, int64_t pitch,
                              int n, bool accumulate) {
  V sum[MR][4];
  UNROLL
  for (int r = 0; r < m; r++) {
    __builtin_prefetch(c + r * pitch);
    __builtin_prefetch(c + r * pitch + w * LANES - 1);
    UNROLL
    for (int v = 0; v < w; v++) sum[r][v] = ALL(0);
  }
  for (int64_t p = 0; p < k; p++, a += step, b += b_step) {
    V right[4];
    UNROLL
    for (int v = 0; v < w; v++) right[v] = LOAD(b + v * LANES);
    UNROLL
    for (int r = 0; r < m; r++) {
      const V x = ALL(a[r * row]);
      UNROLL
      for (int v = 0; v < w; v++) sum[r][v] += x * right[v];
    }
  }
  UNROLL
  for (int r = 0; r < m; r++, c += pitch) {
    UNROLL
    for (int v = 0; v < w; v++) {
      T *to = c + v * LANES;
      const int left = n - v * LANES;
      if (left >= LANES)
        STORE(to, accumulate ? LOAD(to) + sum[r][v] : sum[r][v]);
      else if (left > 0)
        STORE_N(to, accumulate ? LOAD_N(to, left, 0) + sum[r][v] : sum[r][v],
                left);
    }
  }
}

#define CASE(m, w)                                                      \
  case m:                                                               \
    NAME(product)(m, w, k, a, row, step, b, b_step, c, pitch, n,        \
                  accumulate);                                          \
    break;

static void NAME(tile)(int64_t k, const void *a, int64_t row, int64_t step,
                       const void *b, int64_t b_step, void *c, int64_t pitch,
                       int m, int n, bool accumulate) {
  switch (m) { EACH_HEIGHT(CASE, 2) }
}

static void NAME(wide_tile)(int64_t k, const void *a, int64_t row,
                            int64_t step, const void *b, int64_t b_step,
                            void *c, int64_t pitch, int m, int n,
                            bool accumulate) {
  switch (m) { EACH_HALF(CASE, 4) }
}
#undef CASE

/* c [m n] (+)= products of m rows of a with n <= 3 rows of b. With fewer rows
   each product is cut into more sums, so that they do not wait for each
   other. */
VEC_INLINE void NAME(dots_of)(int m, int64_t k, const T *restrict a,
                              int64_t row, const T *restrict b, int64_t b_row,
                              T *restrict c, int64_t pitch, int n,
                              bool accumulate) {
  const int cuts = DOTS / m;
  const T *const from[3] = {b, b + (n > 1 ? b_row : 0),
                            b + (n > 2 ? 2 * b_row : 0)};
  V sum[DOTS][3][DOTS]; /* row of a, row of b, cut */
  UNROLL
  for (int r = 0; r < m; r++)
    UNROLL
    for (int u = 0; u < cuts; u++)
      sum[r][0][u] = sum[r][1][u] = sum[r][2][u] = ALL(0);
  int64_t p = 0;
  for (; p + cuts * LANES <= k; p += cuts * LANES)
    UNROLL
    for (int u = 0; u < cuts; u++) {
      const int64_t q = p + u * LANES;
      const V b0 = LOAD(from[0] + q), b1 = LOAD(from[1] + q),
              b2 = LOAD(from[2] + q);
      UNROLL
      for (int r = 0; r < m; r++) {
        const V x = LOAD(a + r * row + q);
        sum[r][0][u] += x * b0;
        sum[r][1][u] += x * b1;
        sum[r][2][u] += x * b2;
      }
    }
  for (; p < k; p += LANES) {
    const int64_t left = k - p < LANES ? k - p : LANES;
    const V b0 = LOAD_N(from[0] + p, left, 0),
            b1 = LOAD_N(from[1] + p, left, 0),
            b2 = LOAD_N(from[2] + p, left, 0);
    UNROLL
    for (int r = 0; r < m; r++) {
      const V x = LOAD_N(a + r * row + p, left, 0);
      sum[r][0][0] += x * b0;
      sum[r][1][0] += x * b1;
      sum[r][2][0] += x * b2;
    }
  }
  UNROLL
  for (int r = 0; r < m; r++)
    UNROLL
    for (int j = 0; j < 3; j++) {
      UNROLL
      for (int u = 1; u < cuts; u++) sum[r][j][0] += sum[r][j][u];
      const T s = SUM(sum[r][j][0]);
      if (j < n) c[r * pitch + j] = accumulate ? c[r * pitch + j] + s : s;
    }
}

/* The same for any n, m <= DOTS. */
static void NAME(dots)(int64_t k, const void *a, int64_t row, const void *b,
                       int64_t b_row, void *c, int64_t pitch, int m,
                       int64_t n, bool accumulate) {
  for (int64_t j = 0; j < n; j += 3) {
    const T *from = (const T *)b + j * b_row;
    T *to = (T *)c + j;
    const int some = n - j < 3 ? (int)(n - j) : 3;
    switch (m) {
#define CASE(m, unused)                                                  \
  case m:                                                                \
    NAME(dots_of)(m, k, a, row, from, b_row, to, pitch, some, accumulate); \
    break;
      EACH_3(CASE, ) CASE(4, )
#undef CASE
    }
  }
}

#undef NR
