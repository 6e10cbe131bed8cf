/*
 * lines_loop - the loops of lines.c for one element type. Layer: kernel.
 * Read first: both.h.
 */

/* Elements i .. i + LANES - 1 of n; what is behind the last is `fill`. */
VEC_INLINE V NAME(load)(const T *x, int64_t i, int64_t n, T fill) {
  return n - i < LANES ? LOAD_N(x + i, n - i, fill) : LOAD(x + i);
}
VEC_INLINE void NAME(store)(T *y, int64_t i, int64_t n, V v) {
  if (n - i < LANES) STORE_N(y + i, v, n - i);
  else STORE(y + i, v);
}

/* Sums are taken over BLOCK elements, and the blocks added as doubles: long
   lines of floats lose no digits. */
#define BLOCK (64 * LANES)

static void NAME(moments)(int64_t n, const void *from, double shift,
                          double *sums) {
  const T *x = from, s = (T)shift;
  for (int64_t begin = 0; begin < n; begin += BLOCK, x += BLOCK) {
    const int64_t m = n - begin < BLOCK ? n - begin : BLOCK;
    V sum[2] = {{0}, {0}}, square[2] = {{0}, {0}};
    int64_t i = 0;
    for (; i + 2 * LANES <= m; i += 2 * LANES)
      for (int u = 0; u < 2; u++) {
        const V d = LOAD(x + i + u * LANES) - s;
        sum[u] += d;
        square[u] += d * d;
      }
    for (; i < m; i += LANES) {
      const V d = NAME(load)(x, i, m, s) - s;
      sum[0] += d;
      square[0] += d * d;
    }
    sums[0] += (double)SUM(sum[0] + sum[1]);
    sums[1] += (double)SUM(square[0] + square[1]);
  }
}

static void NAME(pulls)(int64_t n, const void *from_g, const void *from_x,
                        double shift, double *sums) {
  const T *g = from_g, *x = from_x, s = (T)shift;
  for (int64_t begin = 0; begin < n; begin += BLOCK, g += BLOCK, x += BLOCK) {
    const int64_t m = n - begin < BLOCK ? n - begin : BLOCK;
    V sum[2] = {{0}, {0}}, pull[2] = {{0}, {0}};
    int64_t i = 0;
    for (; i + 2 * LANES <= m; i += 2 * LANES)
      for (int u = 0; u < 2; u++) {
        const V v = LOAD(g + i + u * LANES);
        sum[u] += v;
        pull[u] += v * (LOAD(x + i + u * LANES) - s);
      }
    for (; i < m; i += LANES) {
      const V v = NAME(load)(g, i, m, 0);
      sum[0] += v;
      pull[0] += v * (NAME(load)(x, i, m, s) - s);
    }
    sums[0] += (double)SUM(sum[0] + sum[1]);
    sums[1] += (double)SUM(pull[0] + pull[1]);
  }
}

static void NAME(scale)(int64_t n, const void *from, double shift, double a,
                        double b, void *to) {
  const T *x = from;
  T *y = to;
  const V s = ALL((T)shift), va = ALL((T)a), vb = ALL((T)b);
  for (int64_t i = 0; i < n; i += LANES)
    NAME(store)(y, i, n, (NAME(load)(x, i, n, 0) - s) * va + vb);
}

static void NAME(mix)(int64_t n, const void *from_g, const void *from_x,
                      double shift, double a, double b, double c, void *to) {
  const T *g = from_g, *x = from_x;
  T *y = to;
  const V s = ALL((T)shift), va = ALL((T)a), vb = ALL((T)b), vc = ALL((T)c);
  for (int64_t i = 0; i < n; i += LANES) {
    const V d = NAME(load)(x, i, n, 0) - s;
    NAME(store)(y, i, n, NAME(load)(g, i, n, 0) * va + (d * vb + vc));
  }
}

static void NAME(taps)(int64_t n, int64_t taps, const int64_t *at,
                       const void *weight, const void *from, int64_t step,
                       double bias, void *to) {
  const T *w = weight, *x = from;
  T *y = to;
  if (step != 1) {
    for (int64_t i = 0; i < n; i++) {
      T sum = (T)bias;
      for (int64_t t = 0; t < taps; t++) sum += w[t] * x[at[t] + i * step];
      y[i] = sum;
    }
    return;
  }
  int64_t i = 0;
  for (; i + 4 * LANES <= n; i += 4 * LANES) {
    V sum[4];
    UNROLL
    for (int u = 0; u < 4; u++) sum[u] = ALL((T)bias);
    for (int64_t t = 0; t < taps; t++) {
      const T *p = x + at[t] + i;
      const V v = ALL(w[t]);
      UNROLL
      for (int u = 0; u < 4; u++) sum[u] += v * LOAD(p + u * LANES);
    }
    UNROLL
    for (int u = 0; u < 4; u++) STORE(y + i + u * LANES, sum[u]);
  }
  for (; i < n; i += LANES) {
    V sum = ALL((T)bias);
    for (int64_t t = 0; t < taps; t++)
      sum += ALL(w[t]) * NAME(load)(x + at[t], i, n, 0);
    NAME(store)(y, i, n, sum);
  }
}

static void NAME(tap_sums)(int64_t n, int64_t taps, const int64_t *at,
                           const void *from_g, const void *from,
                           int64_t step, void *to) {
  const T *g = from_g, *x = from;
  T *sums = to;
  for (int64_t t = 0; t < taps; t++, sums += LANES) {
    const T *p = x + at[t];
    if (step == 1) {
      V sum = LOAD(sums);
      for (int64_t i = 0; i < n; i += LANES)
        sum += NAME(load)(g, i, n, 0) * NAME(load)(p, i, n, 0);
      STORE(sums, sum);
    } else {
      for (int64_t i = 0; i < n; i++) sums[i % LANES] += g[i] * p[i * step];
    }
  }
}

/* Vectors are copied whole: what one writes too much, the next run, the next
   row or the zeros behind the last run write over. */
static void NAME(panel)(int64_t rows, const int64_t *at, const int64_t *place,
                        int runs, const int *run, int64_t step, int wide,
                        const void *from, void *to) {
  const T *x = from;
  T *y = to;
  const int n = run[runs];
  if (step == 1 && runs <= 2 && wide == 2 * LANES) {
    const int left = run[1], right = n - left;
    const int64_t second = runs == 2 ? place[left] : place[0] + left;
    for (int64_t r = 0; r < rows; r++, y += wide) {
      const T *p = x + at[r] + place[0], *q = x + at[r] + second;
      STORE(y, LOAD(p));
      if (left > LANES) STORE(y + LANES, LOAD(p + LANES));
      if (right > 0) STORE(y + left, LOAD(q));
      if (right > LANES) STORE(y + left + LANES, LOAD(q + LANES));
      for (int i = n; i < wide; i++) y[i] = 0;
    }
    return;
  }
  for (int64_t r = 0; r < rows; r++, y += wide) {
    const T *p = x + at[r];
    for (int k = 0; k < runs; k++) {
      const T *q = p + place[run[k]];
      T *row = y + run[k];
      const int length = run[k + 1] - run[k];
      if (step == 1)
        for (int i = 0; i < length; i += LANES) STORE(row + i, LOAD(q + i));
      else
        for (int i = 0; i < length; i++) row[i] = q[i * step];
    }
    for (int i = n; i < wide; i++) y[i] = 0;
  }
}

#undef BLOCK
