/*
 * vec - vectors of the instruction set at hand, and the functions of a number
 * that kernels need, on vectors. Layer: kernel.
 *
 * vf holds VF floats, vd holds VD doubles, vi and vl the integers of the same
 * widths. Comparisons give masks of integers (all ones where true).
 * Written with the compiler's vector extensions, so one source serves all
 * sets; a * b + c becomes one fused operation where there is one.
 *
 * The functions take every float, give NaN for NaN, and are within 2 units
 * in the last place (ulp) where no other bound is given. Their polynomials
 * are minimax fits of this project; the degree is the smallest whose error
 * stays below 2^-27.
 */
#ifndef HEED_KERNEL_VEC_H
#define HEED_KERNEL_VEC_H

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <immintrin.h> /* only for vf_max and vf_min, see there */
#endif

#ifndef VEC_BYTES /* a test may choose another width */
#if defined(__AVX512F__)
#define VEC_BYTES 64
#elif defined(__AVX2__)
#define VEC_BYTES 32
#else
#define VEC_BYTES 16
#endif
#endif
#define VF (VEC_BYTES / 4)
#define VD (VEC_BYTES / 8)

typedef float vf __attribute__((vector_size(VEC_BYTES)));
typedef double vd __attribute__((vector_size(VEC_BYTES)));
typedef int32_t vi __attribute__((vector_size(VEC_BYTES)));
typedef int64_t vl __attribute__((vector_size(VEC_BYTES)));
/* for sums that may wrap */
typedef uint32_t vu __attribute__((vector_size(VEC_BYTES)));
typedef uint64_t vul __attribute__((vector_size(VEC_BYTES)));
/* VD floats, what a vd is made from */
typedef float vec_half __attribute__((vector_size(VEC_BYTES / 2)));

#define VEC_INLINE static inline __attribute__((always_inline, unused))

/* Before a loop over an array of vectors, of 16 turns at most: it stays in
   registers only where every loop over it is unrolled whole. */
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

/* ---- memory ------------------------------------------------------------- */

VEC_INLINE vf vf_load(const float *p) {
  vf v;
  memcpy(&v, p, sizeof v);
  return v;
}
VEC_INLINE void vf_store(float *p, vf v) { memcpy(p, &v, sizeof v); }
VEC_INLINE vd vd_load(const double *p) {
  vd v;
  memcpy(&v, p, sizeof v);
  return v;
}
VEC_INLINE void vd_store(double *p, vd v) { memcpy(p, &v, sizeof v); }

/* The first n lanes (0 <= n <= VF), `fill` in the others; nothing behind them
   is read. */
VEC_INLINE vf vf_load_n(const float *p, int64_t n, float fill) {
#if defined(__AVX512F__) && VEC_BYTES == 64
  return _mm512_mask_loadu_ps(fill - (vf){0}, (__mmask16)((1u << n) - 1), p);
#elif defined(__AVX2__) && VEC_BYTES == 32
  const vi have = (vi){0, 1, 2, 3, 4, 5, 6, 7} < (int32_t)n;
  const vi kept = (vi)_mm256_maskload_ps(p, (__m256i)have);
  return (vf)(kept | (~have & (vi)(fill - (vf){0})));
#else
  float lane[VF];
  for (int i = 0; i < VF; i++) lane[i] = i < n ? p[i] : fill;
  return vf_load(lane);
#endif
}
VEC_INLINE vd vd_load_n(const double *p, int64_t n, double fill) {
#if defined(__AVX512F__) && VEC_BYTES == 64
  return _mm512_mask_loadu_pd(fill - (vd){0}, (__mmask8)((1u << n) - 1), p);
#elif defined(__AVX2__) && VEC_BYTES == 32
  const vl have = (vl){0, 1, 2, 3} < n;
  const vl kept = (vl)_mm256_maskload_pd(p, (__m256i)have);
  return (vd)(kept | (~have & (vl)(fill - (vd){0})));
#else
  double lane[VD];
  for (int i = 0; i < VD; i++) lane[i] = i < n ? p[i] : fill;
  return vd_load(lane);
#endif
}
VEC_INLINE void vf_store_n(float *p, vf v, int64_t n) {
#if defined(__AVX512F__) && VEC_BYTES == 64
  _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1), v);
#elif defined(__AVX2__) && VEC_BYTES == 32
  const vi have = (vi){0, 1, 2, 3, 4, 5, 6, 7} < (int32_t)n;
  _mm256_maskstore_ps(p, (__m256i)have, v);
#else
  float lane[VF];
  vf_store(lane, v);
  for (int64_t i = 0; i < n; i++) p[i] = lane[i];
#endif
}
VEC_INLINE void vd_store_n(double *p, vd v, int64_t n) {
#if defined(__AVX512F__) && VEC_BYTES == 64
  _mm512_mask_storeu_pd(p, (__mmask8)((1u << n) - 1), v);
#elif defined(__AVX2__) && VEC_BYTES == 32
  const vl have = (vl){0, 1, 2, 3} < n;
  _mm256_maskstore_pd(p, (__m256i)have, v);
#else
  double lane[VD];
  vd_store(lane, v);
  for (int64_t i = 0; i < n; i++) p[i] = lane[i];
#endif
}

/* The same for elements that lie `stride` apart. */
VEC_INLINE vf vf_gather_n(const float *p, int64_t stride, int64_t n,
                          float fill) {
  float lane[VF];
  for (int i = 0; i < VF; i++) lane[i] = i < n ? p[i * stride] : fill;
  return vf_load(lane);
}

/* VD floats as doubles, and back. */
VEC_INLINE vd vd_load_float(const float *p) {
  vec_half h;
  memcpy(&h, p, sizeof h);
  return __builtin_convertvector(h, vd);
}
VEC_INLINE void vd_store_float(float *p, vd v) {
  vec_half h = __builtin_convertvector(v, vec_half);
  memcpy(p, &h, sizeof h);
}

/* ---- lanes -------------------------------------------------------------- */

VEC_INLINE vf vf_all(float x) { return x - (vf){0}; }
VEC_INLINE vd vd_all(double x) { return x - (vd){0}; }
VEC_INLINE vi vi_all(int32_t x) { return x - (vi){0}; }

/* mask ? a : b, lane by lane. */
VEC_INLINE vf vf_pick(vi mask, vf a, vf b) {
  return (vf)((mask & (vi)a) | (~mask & (vi)b));
}
VEC_INLINE vd vd_pick(vl mask, vd a, vd b) {
  return (vd)((mask & (vl)a) | (~mask & (vl)b));
}
/* With a NaN, the second one: vf_max(limit, x) keeps it, vf_max(x, limit)
   does not. gcc makes two instructions more of the pick (exp takes half as
   long again). */
VEC_INLINE vf vf_max(vf a, vf b) {
#if defined(__AVX512F__) && VEC_BYTES == 64
  return _mm512_max_ps(a, b);
#elif defined(__AVX2__) && VEC_BYTES == 32
  return _mm256_max_ps(a, b);
#elif defined(__SSE2__) && VEC_BYTES == 16
  return _mm_max_ps(a, b);
#else
  return vf_pick(a > b, a, b);
#endif
}
VEC_INLINE vf vf_min(vf a, vf b) {
#if defined(__AVX512F__) && VEC_BYTES == 64
  return _mm512_min_ps(a, b);
#elif defined(__AVX2__) && VEC_BYTES == 32
  return _mm256_min_ps(a, b);
#elif defined(__SSE2__) && VEC_BYTES == 16
  return _mm_min_ps(a, b);
#else
  return vf_pick(a < b, a, b);
#endif
}

VEC_INLINE vf vf_abs(vf x) { return (vf)((vi)x & 0x7fffffff); }
/* The magnitude of x (which is not negative) with the sign of `sign`. */
VEC_INLINE vf vf_with_sign(vf x, vf sign) {
  return (vf)((vi)x | ((vi)sign & INT32_MIN));
}

VEC_INLINE int vi_any(vi mask) {
  int64_t lane[VD], any = 0;
  memcpy(lane, &mask, sizeof lane);
  for (int i = 0; i < VD; i++) any |= lane[i];
  return any != 0;
}

/* Sums of the lanes, in a fixed order (halves, quarters, ...). */
VEC_INLINE float vf_sum(vf v) {
  float lane[VF];
  vf_store(lane, v);
  for (int half = VF / 2; half > 0; half /= 2)
    for (int i = 0; i < half; i++) lane[i] += lane[i + half];
  return lane[0];
}
VEC_INLINE double vd_sum(vd v) {
  double lane[VD];
  vd_store(lane, v);
  for (int half = VD / 2; half > 0; half /= 2)
    for (int i = 0; i < half; i++) lane[i] += lane[i + half];
  return lane[0];
}
VEC_INLINE float vf_max_lane(vf v) {
  float lane[VF];
  vf_store(lane, v);
  float m = lane[0];
  for (int i = 1; i < VF; i++) m = lane[i] > m ? lane[i] : m;
  return m;
}

/* ---- exponential --------------------------------------------------------
 * x = k ln 2 + r with k the nearest integer and |r| <= ln 2 / 2, then
 * e^x = 2^k e^r. The steps are apart because others need them so.
 */

/* k, as float and as integer; |x| < 2^21. */
VEC_INLINE vf vf_exp_k(vf x, vi *k) {
  const vf shifter = vf_all(0x1.8p23f); /* adding it rounds to an integer */
  vf shifted = x * 0x1.715476p0f + shifter; /* log2 e */
  *k = (vi)((vu)shifted - (vu)shifter);
  return shifted - shifter;
}

/* x - k ln 2 in two steps, of which the first is exact: k times the first
   part of ln 2 fits a float. */
VEC_INLINE vf vf_exp_rest(vf x, vf k) {
  return x - k * 0x1.62e4p-1f - k * 0x1.7f7d1cp-20f;
}

/* e^r for |r| <= ln 2 / 2 */
VEC_INLINE vf vf_exp_poly(vf r) {
  vf p = r * 1.38142193e-3f + 8.36889911e-3f;
  p = p * r + 4.16684076e-2f;
  p = p * r + 1.66665196e-1f;
  p = p * r + 0.49999994f;
  return p * (r * r) + r + 1.0f;
}

/* y 2^k for k in -252 .. 254, in two steps, so that a result below the normal
   range is rounded once and right, and one above it becomes infinite. */
VEC_INLINE vf vf_scale(vf y, vi k) {
  vi half = k >> 1;
  vu k1 = (vu)half, k2 = (vu)k - k1; /* of NaN: anything */
  return y * (vf)((k1 + 127) << 23) * (vf)((k2 + 127) << 23);
}

/* e^x, also below the normal range; 0 for -inf. */
VEC_INLINE vf vf_exp(vf x) {
  /* beyond these e^x is 0 and infinite */
  x = vf_min(vf_all(89.0f), vf_max(vf_all(-104.0f), x));
  vi ki;
  vf k = vf_exp_k(x, &ki);
  return vf_scale(vf_exp_poly(vf_exp_rest(x, k)), ki);
}

/* e^x for |x| <= 87 only: the result is a normal number. */
VEC_INLINE vf vf_exp_mid(vf x) {
  vi ki;
  vf k = vf_exp_k(x, &ki);
  return vf_exp_poly(vf_exp_rest(x, k)) * (vf)(((vu)ki + 127) << 23);
}

/* ---- logarithm ----------------------------------------------------------
 * x = 2^k (1 + f) with 1 + f in [sqrt 1/2, sqrt 2), then
 * log x = k ln 2 + f - f^2 / 2 + f^3 P(f).
 */
VEC_INLINE vf vf_log(vf x) {
  const vu root = (vu)vi_all(0x3f3504f3); /* sqrt 1/2 */
  vi tiny = x < FLT_MIN;
  vf scaled = vf_pick(tiny, x * 0x1p23f, x);
  vi k = (vi)((vu)scaled - root) >> 23;
  vf f = (vf)((vu)scaled - ((vu)k << 23)) - 1.0f;
  vf kf = __builtin_convertvector(k - (tiny & 23), vf);
  vf p = f * -7.63444155e-2f + 1.27615675e-1f;
  p = p * f - 1.31601989e-1f;
  p = p * f + 1.42017603e-1f;
  p = p * f - 1.66233554e-1f;
  p = p * f + 2.00012267e-1f;
  p = p * f - 2.50008225e-1f;
  p = p * f + 3.33333313e-1f;
  vf y = f * f * (p * f - 0.5f) + kf * 0x1.7f7d1cp-20f;
  y = f + y + kf * 0x1.62e4p-1f;
  y = vf_pick(x < INFINITY, y, x); /* inf and NaN stay */
  y = vf_pick(x < 0.0f, vf_all(NAN), y);
  return vf_pick(x == 0.0f, vf_all(-INFINITY), y);
}

/* ---- tanh and the logistic function ------------------------------------- */

/* a + a^3 P(a^2) for small a = |x|, else 1 - 2 / (e^2a + 1). */
VEC_INLINE vf vf_tanh(vf x) {
  vf a = vf_min(vf_all(10.0f), vf_abs(x)); /* 1 from there on */
  vf s = a * a;
  vf p = s * -5.70497848e-3f + 2.06390787e-2f;
  p = p * s - 5.37397116e-2f;
  p = p * s + 1.33314416e-1f;
  p = p * s - 3.33332807e-1f;
  vf small = a * s * p + a;
  vf large = 1.0f - 2.0f / (vf_exp_mid(2.0f * a) + 1.0f);
  return vf_with_sign(vf_pick(a < 0.625f, small, large), x);
}

/* With t = e^-|x|: 1 / (1 + t) for x >= 0, else t / (1 + t). */
VEC_INLINE vf vf_sigmoid(vf x) {
  vf t = vf_exp((vf)((vi)x | INT32_MIN));
  vi negative = x < 0.0f;
  vf sum = 1.0f + t;
  vf lost = t - (sum - 1.0f); /* what the sum was rounded by */
  vf s = vf_pick(negative, t, vf_all(1.0f)) / sum;
  vf over = vf_pick(negative, 1.0f - s, s); /* 1 / sum */
  return s - s * (lost * over);
}

/* x sigmoid(x); 0 for -inf. 3 ulp, but fewer digits below x = -87, where
   sigmoid leaves the normal range. */
VEC_INLINE vf vf_silu(vf x) {
  return vf_max(vf_all(-110.0f), x) * vf_sigmoid(x);
}

/* Its derivative s + x s (1 - s). */
VEC_INLINE vf vf_silu_slope(vf x) {
  x = vf_min(vf_all(110.0f), vf_max(vf_all(-110.0f), x));
  vf t = vf_exp((vf)((vi)x | INT32_MIN));
  vf over = 1.0f / (1.0f + t);
  vi negative = x < 0.0f;
  vf s = vf_pick(negative, t, vf_all(1.0f)) * over;
  vf rest = vf_pick(negative, vf_all(1.0f), t) * over; /* 1 - s */
  return s * (x * rest + 1.0f);
}

/* ---- erf and gelu ------------------------------------------------------- */

/* x + x P(x^2) for |x| < 0.85, else 1 - e^P(|x|). */
VEC_INLINE vf vf_erf(vf x) {
  vf a = vf_min(vf_all(4.0f), vf_abs(x)); /* 1 from there on */
  vf s = a * a;
  vf p = s * -6.31512434e-4f + 5.05109411e-3f;
  p = p * s - 2.68025473e-2f;
  p = p * s + 1.12827174e-1f;
  p = p * s - 3.76125723e-1f;
  p = p * s + 1.28379166e-1f;
  vf small = a * p + a;
  vf q = a * 2.02528478e-4f - 3.1071892e-3f;
  q = q * a + 2.24790107e-2f;
  q = q * a - 1.04448095e-1f;
  q = q * a - 6.36601567e-1f;
  q = q * a - 1.12801552f;
  q = q * a - 1.14695438e-4f;
  vf large = 1.0f - vf_exp_mid(q);
  return vf_with_sign(vf_pick(a < 0.85f, small, large), x);
}

/*
 * The normal distribution at z in 0 .. 14.5: e^(-z^2 / 2) is *e 2^*k, and
 * the part beyond z is that times the result, t P(t) with t = 1 / (1 + 0.3z).
 * The square is taken in two parts: its rounding error times z^2 would show.
 */
VEC_INLINE vf vf_normal(vf z, vf *e, vi *k) {
  vf head = (vf)((vi)z & ~0xfff), tail = z - head;
  vf kf = vf_exp_k(z * z * -0.5f, k);
  vf r = vf_exp_rest(head * head * -0.5f, kf);
  *e = vf_exp_poly(r - tail * (z + head) * 0.5f);
  vf t = 1.0f / (z * 0.3f + 1.0f);
  vf p = t * -2.06234753e-2f + 1.12435646e-1f;
  p = p * t - 2.28213683e-1f;
  p = p * t + 1.9178465e-1f;
  p = p * t - 7.9423584e-2f;
  p = p * t + 9.61568803e-2f;
  p = p * t + 7.83896297e-2f;
  p = p * t + 1.1023543e-1f;
  p = p * t + 1.19571812e-1f;
  p = p * t + 1.19686693e-1f;
  return t * p;
}

/* x times the part of the normal distribution below x; 0 for -inf. Within
   7 ulp, also far out where 1 + erf(x) would have no digits left. */
VEC_INLINE vf vf_gelu(vf x) {
  vf z = vf_min(vf_all(14.5f), vf_abs(x));
  vf e;
  vi k;
  vf m = vf_normal(z, &e, &k);
  vf beyond = vf_scale(vf_with_sign(z * m * e, x), k);
  return vf_pick(x < 0.0f, beyond, x - beyond);
}

/* Its derivative: that part, and x times the density. */
VEC_INLINE vf vf_gelu_slope(vf x) {
  vf z = vf_min(vf_all(14.5f), vf_abs(x));
  vf e;
  vi k;
  vf m = vf_normal(z, &e, &k);
  vf below = vf_scale((m - z * 0.39894228f) * e, k);
  return vf_pick(x < 0.0f, below, 1.0f - below);
}

/* gelu with tanh: x sigmoid(u), u = 2 sqrt(2 / pi) (x + 0.044715 x^3). The
   rounding of u shows in the small values for x < -3, as in any formula. */
VEC_INLINE vf vf_gelu_tanh(vf x) {
  vf c = vf_min(vf_all(12.0f), vf_max(vf_all(-12.0f), x)); /* |u| > 140 */
  vf s = vf_sigmoid(c * (c * c * 0.071354816f + 1.5957691f));
  return vf_max(vf_all(-12.0f), x) * s;
}

/* Its derivative s + x s (1 - s) u'. */
VEC_INLINE vf vf_gelu_tanh_slope(vf x) {
  x = vf_min(vf_all(12.0f), vf_max(vf_all(-12.0f), x));
  vf u = x * (x * x * 0.071354816f + 1.5957691f);
  vf s = vf_sigmoid(u), rest = vf_sigmoid(-u);
  return s * (x * rest * (x * x * 0.21406445f + 1.5957691f) + 1.0f);
}

#endif
