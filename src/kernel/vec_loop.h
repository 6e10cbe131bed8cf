/*
 * vec_loop - makers of float32 loops from an expression in vectors.
 * Layer: kernel. Read first: vec.h, vec_wide.h.
 *
 * VECTOR1 and VECTOR2 work on vectors of floats (vf a, b), WIDE1 and WIDE2
 * read floats as doubles (vd a, b) and round the result. `p` are the numbers
 * that tune the function, NULL where it has none. What does not fill a vector
 * goes through the same formula.
 */
#ifndef HEED_KERNEL_VEC_LOOP_H
#define HEED_KERNEL_VEC_LOOP_H

#include "kernel/vec_wide.h"

/* A piece of a row with gaps is packed into a buffer, and back: gathered
   lane by lane in the loop itself, vectors wait for each lane. */
#define VEC_PIECE 512

VEC_INLINE const float *vec_packed(float *buffer, int64_t n, const float *x,
                                   int64_t stride) {
  if (stride == 1) return x;
  for (int64_t i = 0; i < n; i++) buffer[i] = x[i * stride];
  return buffer;
}
VEC_INLINE void vec_spread(float *y, int64_t stride, int64_t n,
                           const float *buffer) {
  for (int64_t i = 0; i < n; i++) y[i * stride] = buffer[i];
}

VEC_INLINE vd vd_load_float_n(const float *p, int64_t n) {
  float lane[VD];
  for (int i = 0; i < VD; i++) lane[i] = i < n ? p[i] : 0;
  return vd_load_float(lane);
}
VEC_INLINE void vd_store_float_n(float *p, vd v, int64_t n) {
  float lane[VD];
  vd_store_float(lane, v);
  for (int64_t i = 0; i < n; i++) p[i] = lane[i];
}

#define VEC_BODY1(V, W, load, load_n, store, store_n, expression)        \
  float in[VEC_PIECE], out[VEC_PIECE];                                   \
  for (int64_t at = 0; at < n; at += VEC_PIECE) {                        \
    const int64_t m = n - at < VEC_PIECE ? n - at : VEC_PIECE;           \
    const float *x = vec_packed(in, m, (const float *)from + at * sa, sa); \
    float *row = (float *)to + at * sy, *y = sy == 1 ? row : out;        \
    int64_t i = 0;                                                       \
    for (; i + W <= m; i += W) {                                         \
      const V a = load(x + i);                                           \
      store(y + i, expression);                                          \
    }                                                                    \
    if (i < m) {                                                         \
      const V a = load_n(x + i, m - i);                                  \
      store_n(y + i, expression, m - i);                                 \
    }                                                                    \
    if (sy != 1) vec_spread(row, sy, m, out);                            \
  }

#define VEC_BODY2(V, W, load, load_n, store, store_n, expression)        \
  float in_a[VEC_PIECE], in_b[VEC_PIECE], out[VEC_PIECE];                \
  for (int64_t at = 0; at < n; at += VEC_PIECE) {                        \
    const int64_t m = n - at < VEC_PIECE ? n - at : VEC_PIECE;           \
    const float *xa =                                                    \
        vec_packed(in_a, m, (const float *)from_a + at * sa, sa);        \
    const float *xb =                                                    \
        vec_packed(in_b, m, (const float *)from_b + at * sb, sb);        \
    float *row = (float *)to + at * sy, *y = sy == 1 ? row : out;        \
    int64_t i = 0;                                                       \
    for (; i + W <= m; i += W) {                                         \
      const V a = load(xa + i), b = load(xb + i);                        \
      store(y + i, expression);                                          \
    }                                                                    \
    if (i < m) {                                                         \
      const V a = load_n(xa + i, m - i), b = load_n(xb + i, m - i);      \
      store_n(y + i, expression, m - i);                                 \
    }                                                                    \
    if (sy != 1) vec_spread(row, sy, m, out);                            \
  }

#define VEC_LOAD_N(p, n) vf_load_n(p, n, 0)
#define VEC_FLOATS vf, VF, vf_load, VEC_LOAD_N, vf_store, vf_store_n
#define VEC_DOUBLES \
  vd, VD, vd_load_float, vd_load_float_n, vd_store_float, vd_store_float_n
/* once more, so that the lists above are seen as their parts */
#define VEC_LOOP1(...) VEC_BODY1(__VA_ARGS__)
#define VEC_LOOP2(...) VEC_BODY2(__VA_ARGS__)

#define VEC_HEAD1(name)                                               \
  static void name(int64_t n, void *to, int64_t sy, const void *from, \
                   int64_t sa)
#define VEC_HEAD2(name)                                                 \
  static void name(int64_t n, void *to, int64_t sy, const void *from_a, \
                   int64_t sa, const void *from_b, int64_t sb)

#define VECTOR1(name, expression) \
  VEC_HEAD1(name) { VEC_LOOP1(VEC_FLOATS, expression) }
#define VECTOR2(name, expression) \
  VEC_HEAD2(name) { VEC_LOOP2(VEC_FLOATS, expression) }
#define WIDE1(name, expression) \
  VEC_HEAD1(name) { VEC_LOOP1(VEC_DOUBLES, expression) }
#define WIDE2(name, expression) \
  VEC_HEAD2(name) { VEC_LOOP2(VEC_DOUBLES, expression) }

/* The same for functions that numbers p[0], p[1] ... tune. */
#define TUNED_WIDE1(name, expression)                                 \
  static void name(int64_t n, void *to, int64_t sy, const void *from, \
                   int64_t sa, const double *restrict p) {            \
    (void)p;                                                          \
    VEC_LOOP1(VEC_DOUBLES, expression)                                \
  }
#define TUNED_WIDE2(name, expression)                                   \
  static void name(int64_t n, void *to, int64_t sy, const void *from_a, \
                   int64_t sa, const void *from_b, int64_t sb,          \
                   const double *restrict p) {                          \
    (void)p;                                                            \
    VEC_LOOP2(VEC_DOUBLES, expression)                                  \
  }

#endif
