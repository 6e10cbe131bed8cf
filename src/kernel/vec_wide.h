/*
 * vec_wide - functions of float32 numbers by way of doubles, on vectors.
 * Layer: kernel. Read first: vec.h.
 *
 * A loop reads VD floats as doubles (vd), runs one of these and rounds once.
 * Doubles have digits to spare, so a short polynomial and no care for lost
 * ones give the exact result, rounded, nearly always: within 0.6 ulp. They
 * take every float, with the special values of C99; no argument here is a
 * denormal double. Polynomials are fits of this project with a relative
 * error below 2^-30, those that pow needs below 2^-37.
 */
#ifndef HEED_KERNEL_VEC_WIDE_H
#define HEED_KERNEL_VEC_WIDE_H

#include "kernel/vec.h"

/* ---- lanes -------------------------------------------------------------- */

VEC_INLINE vd vd_max(vd a, vd b) { /* with a NaN, the second one */
#if defined(__AVX512F__) && VEC_BYTES == 64
  return _mm512_max_pd(a, b);
#elif defined(__AVX2__) && VEC_BYTES == 32
  return _mm256_max_pd(a, b);
#elif defined(__SSE2__) && VEC_BYTES == 16
  return _mm_max_pd(a, b);
#else
  return vd_pick(a > b, a, b);
#endif
}
VEC_INLINE vd vd_min(vd a, vd b) {
#if defined(__AVX512F__) && VEC_BYTES == 64
  return _mm512_min_pd(a, b);
#elif defined(__AVX2__) && VEC_BYTES == 32
  return _mm256_min_pd(a, b);
#elif defined(__SSE2__) && VEC_BYTES == 16
  return _mm_min_pd(a, b);
#else
  return vd_pick(a < b, a, b);
#endif
}
VEC_INLINE vd vd_sqrt(vd x) {
#if defined(__AVX512F__) && VEC_BYTES == 64
  return _mm512_sqrt_pd(x);
#elif defined(__AVX2__) && VEC_BYTES == 32
  return _mm256_sqrt_pd(x);
#elif defined(__SSE2__) && VEC_BYTES == 16
  return _mm_sqrt_pd(x);
#else
  double lane[VD];
  vd_store(lane, x);
  for (int i = 0; i < VD; i++) lane[i] = sqrt(lane[i]);
  return vd_load(lane);
#endif
}

VEC_INLINE vd vd_abs(vd x) { return (vd)((vl)x & INT64_MAX); }
/* The magnitude of x (which is not negative) with the sign of `sign`. */
VEC_INLINE vd vd_with_sign(vd x, vd sign) {
  return (vd)((vl)x | ((vl)sign & INT64_MIN));
}
VEC_INLINE int vl_any(vl mask) { return vi_any((vi)mask); }

/* The nearest integer k of x, |x| < 2^51: *shifted holds k in its low bits. */
VEC_INLINE vd vd_nearest(vd x, vd *shifted) {
  const vd shifter = vd_all(0x1.8p52); /* adding it rounds to an integer */
  *shifted = x + shifter;
  return *shifted - shifter;
}
/* 2^k by what vd_nearest gave, |k| < 1023 */
VEC_INLINE vd vd_two_to(vd shifted) {
  return (vd)(((vul)shifted << 52) + (UINT64_C(1023) << 52));
}

/* ---- exponentials: x = k ln 2 + r, e^x = 2^k e^r ------------------------- */

/* e^r - 1 for |r| <= ln 2 / 2 */
VEC_INLINE vd vd_expm1_poly(vd r) {
  vd p = r * 2.4867883453521802e-05 + 0.00019907582591325134;
  p = p * r + 0.001388883909064138;
  p = p * r + 0.0083332835187681052;
  p = p * r + 0.041666666786337556;
  p = p * r + 0.16666666786380441;
  p = p * r + 0.49999999999955069;
  return r * (p * r + 0.99999999999550548);
}

/* e^r - 1 and 2^k of e^x; beyond +-700 float32 is long at its ends */
VEC_INLINE vd vd_exp_parts(vd x, vd *scale) {
  x = vd_min(vd_all(700), vd_max(vd_all(-700), x));
  vd shifted, k = vd_nearest(x * 1.4426950408889634, &shifted);
  *scale = vd_two_to(shifted);
  return vd_expm1_poly(x - k * 0.69314718055994531);
}

VEC_INLINE vd vd_exp(vd x) {
  vd scale, rest = vd_exp_parts(x, &scale);
  return rest * scale + scale;
}

VEC_INLINE vd vd_expm1(vd x) {
  vd scale, rest = vd_exp_parts(x, &scale);
  return vd_pick(x == 0, x, rest * scale + (scale - 1.0));
}

VEC_INLINE vd vd_exp2(vd x) {
  x = vd_min(vd_all(1000), vd_max(vd_all(-1000), x));
  vd shifted, k = vd_nearest(x, &shifted), scale = vd_two_to(shifted);
  return vd_expm1_poly((x - k) * 0.69314718055994531) * scale + scale;
}

/* ---- logarithms: x = 2^k (1 + f), 1 + f in [sqrt 1/2, sqrt 2) ------------ */

/* log(1 + f): 2 atanh s with s = f / (2 + f) */
VEC_INLINE vd vd_log_poly(vd f) {
  vd s = f / (f + 2.0), z = s * s;
  vd p = z * 0.19609592365208597 + 0.22174150798049669;
  p = p * z + 0.28572168414203503;
  p = p * z + 0.39999994870979366;
  p = p * z + 0.66666666679644959;
  return s * (p * z + 1.9999999999999469);
}

/* k and 1 + f of a normal x > 0 */
VEC_INLINE vd vd_log_parts(vd x, vd *k) {
  const vul root = (vul)vd_all(0x1.6a09e667f3bcdp-1); /* sqrt 1/2 */
  vul biased = ((vul)x - root + (UINT64_C(1023) << 52)) >> 52; /* k + 1023 */
  *k = (vd)(biased | (vul)vd_all(0x1p52)) - (0x1p52 + 1023);
  return (vd)((vul)x - (biased << 52) + (UINT64_C(1023) << 52));
}

/* y = log x, but for the x that have none or an infinite one */
VEC_INLINE vd vd_log_ends(vd x, vd y) {
  y = vd_pick(x < INFINITY, y, x); /* inf and NaN stay */
  y = vd_pick(x < 0, vd_all(NAN), y);
  return vd_pick(x == 0, vd_all(-INFINITY), y);
}

VEC_INLINE vd vd_log(vd x) {
  vd k, m = vd_log_parts(x, &k);
  return vd_log_ends(x, vd_log_poly(m - 1.0) + k * 0.69314718055994531);
}
VEC_INLINE vd vd_log2(vd x) {
  vd k, m = vd_log_parts(x, &k);
  return vd_log_ends(x, vd_log_poly(m - 1.0) * 1.4426950408889634 + k);
}
VEC_INLINE vd vd_log10(vd x) {
  vd k, m = vd_log_parts(x, &k);
  return vd_log_ends(x, vd_log_poly(m - 1.0) * 0.43429448190325183 +
                            k * 0.30102999566398120);
}

/* log(1 + x): where k = 0, f is x itself, whatever the sum lost. */
VEC_INLINE vd vd_log1p(vd x) {
  vd u = x + 1.0, k, m = vd_log_parts(u, &k);
  vd f = vd_pick(k == 0, x, m - 1.0);
  vd y = vd_log_poly(f) + k * 0.69314718055994531;
  return vd_pick(x == 0, x, vd_log_ends(u, y));
}

/* log(x / (1 - x)) */
VEC_INLINE vd vd_logit(vd x) { return vd_log(x / (1.0 - x)); }

/* The same for 0 <= x <= 1, without the split. */
VEC_INLINE vd vd_log1p_unit(vd x) {
  vd s = x / (x + 2.0), z = s * s;
  vd p = z * 0.21861369572315784 + 0.17122292404377051;
  p = p * z + 0.2230515506569867;
  p = p * z + 0.28568144327801015;
  p = p * z + 0.4000006145417907;
  p = p * z + 0.66666666237648475;
  return s * (p * z + 2.0000000000048694);
}

/* log(1 + e^x) = max(x, 0) + log(1 + e^-|x|) */
VEC_INLINE vd vd_softplus(vd x) {
  return vd_max(vd_all(0), x) + vd_log1p_unit(vd_exp(-vd_abs(x)));
}

/* log(e^a + e^b), also of two equal infinities */
VEC_INLINE vd vd_logaddexp(vd a, vd b) {
  vd apart = vd_pick(a == b, vd_all(0), vd_abs(a - b));
  return vd_pick(a > b, a, b) + vd_log1p_unit(vd_exp(-apart));
}
/* log2(2^a + 2^b) */
VEC_INLINE vd vd_logaddexp2(vd a, vd b) {
  vd apart = vd_pick(a == b, vd_all(0), vd_abs(a - b));
  return vd_pick(a > b, a, b) +
         vd_log1p_unit(vd_exp2(-apart)) * 1.4426950408889634;
}

/* a log b; 0 where a is 0 and b a number */
VEC_INLINE vd vd_xlogy(vd a, vd b) {
  return vd_pick((a == 0) & (b == b), vd_all(0), a * vd_log(b));
}

/* -b log a - (1 - b) log(1 - a), logarithms held above -100 */
VEC_INLINE vd vd_binary_cross_entropy(vd a, vd b) {
  const vd least = vd_all(-100);
  return (b - 1.0) * vd_max(least, vd_log1p(-a)) -
         b * vd_max(least, vd_log(a));
}

/* ---- powers -------------------------------------------------------------- */

/* The C library, where a is 0, infinite or NaN, or b infinite or NaN. Not
   inline: else gcc calls it for every lane and picks afterwards. */
static __attribute__((noinline, cold, unused)) void vec_pow_odd(
    double *y, const double *a, const double *b, const int64_t *plain) {
  for (int i = 0; i < VD; i++)
    if (!plain[i]) y[i] = pow(a[i], b[i]);
}

/* |a|^b = 2^(b log2 |a|); negative for a < 0 with b odd, NaN with b broken.
   Squares are exact before they are rounded. */
VEC_INLINE vd vd_pow(vd a, vd b) {
  vd size = vd_abs(a), k;
  vd m = vd_log_parts(size, &k);
  vd log2_a = vd_log_poly(m - 1.0) * 1.4426950408889634 + k;
  vd y = vd_exp2(b * log2_a);
  y = vd_pick(b == 2.0, a * a, y);
  vd shifted; /* a float beyond 2^24 is even */
  vd whole = vd_nearest(vd_min(vd_all(0x1p30), vd_max(vd_all(-0x1p30), b)),
                        &shifted);
  vl odd = (vl)shifted << 63;
  vd signed_y = (vd)((vl)y | odd);
  vl broken = (whole != b) & (vd_abs(b) < 0x1p30);
  signed_y = vd_pick(broken, vd_all(NAN), signed_y);
  y = vd_pick(a < 0, signed_y, y);
  vl plain = (size > 0) & (size < INFINITY) & (vd_abs(b) < INFINITY);
  if (vl_any(~plain)) {
    double out[VD], in_a[VD], in_b[VD];
    int64_t is_plain[VD];
    vd_store(out, y);
    vd_store(in_a, a);
    vd_store(in_b, b);
    memcpy(is_plain, &plain, sizeof is_plain);
    vec_pow_odd(out, in_a, in_b, is_plain);
    y = vd_load(out);
  }
  return y;
}

/* ---- hyperbolic functions and their inverses ----------------------------- */

/* With t = e^|x| - 1: (t + t / (1 + t)) / 2. */
VEC_INLINE vd vd_sinh(vd x) {
  vd t = vd_expm1(vd_abs(x));
  return vd_with_sign((t + t / (t + 1.0)) * 0.5, x);
}
VEC_INLINE vd vd_cosh(vd x) {
  vd e = vd_exp(vd_abs(x));
  return (e + 1.0 / e) * 0.5;
}

/* log(a + sqrt(a^2 + 1)), a = |x|, as log(1 + ...) */
VEC_INLINE vd vd_asinh(vd x) {
  vd a = vd_abs(x), s = a * a;
  vd y = vd_log1p(a + s / (vd_sqrt(s + 1.0) + 1.0));
  return vd_with_sign(vd_pick(a < INFINITY, y, a), x);
}
/* log(x + sqrt(x^2 - 1)); x^2 - 1 is exact */
VEC_INLINE vd vd_acosh(vd x) {
  vd t = x - 1.0;
  vd y = vd_log1p(t + vd_sqrt(t * (x + 1.0)));
  return vd_pick(x < 1.0, vd_all(NAN), y);
}
VEC_INLINE vd vd_atanh(vd x) {
  vd a = vd_abs(x);
  return vd_with_sign(vd_log1p(2.0 * a / (1.0 - a)) * 0.5, x);
}

/* x tanh(log(1 + e^x)) = x n / (n + 2), n = e^x (e^x + 2) */
VEC_INLINE vd vd_mish(vd x) {
  vd e = vd_exp(vd_min(vd_all(100), x)), n = e * (e + 2.0);
  return vd_max(vd_all(-800), x) * (n / (n + 2.0));
}
/* Its derivative t + x s (1 - t^2), t = n / (n + 2), s = e / (1 + e); 1 - t is
   2 / (n + 2). */
VEC_INLINE vd vd_mish_slope(vd x) {
  x = vd_min(vd_all(100), vd_max(vd_all(-800), x));
  vd e = vd_exp(x), n = e * (e + 2.0), over = 1.0 / (n + 2.0);
  vd t = n * over;
  return t + x * (e / (e + 1.0)) * (1.0 + t) * 2.0 * over;
}

/* ---- the normal distribution's tail -------------------------------------- */

/* 1 - erf(x): for a = |x|, e^(-a^2) P(t) / (1 + 2 a), t = (a - 3) / (a + 3). */
VEC_INLINE vd vd_erfc(vd x) {
  vd a = vd_min(vd_all(10.1), vd_abs(x)); /* 0 in float32 from there on */
  vd t = (a - 3.0) / (a + 3.0);
  vd p = t * 3.631907784413354e-05 - 0.00018069845912157124;
  p = p * t - 0.00074127237799473237;
  p = p * t + 0.0019483711025346168;
  p = p * t + 0.0025289373450794869;
  p = p * t - 0.023787163420671185;
  p = p * t + 0.068306244996028179;
  p = p * t - 0.11927168912534414;
  p = p * t + 0.12964538119482541;
  p = p * t - 0.047562381302638519;
  p = p * t - 0.13562111175384939;
  p = p * t + 1.253008058922642;
  vd y = p / (a * 2.0 + 1.0) * vd_exp(-(a * a));
  return vd_pick(x < 0, 2.0 - y, y);
}

/* ---- sine, cosine, tangent ------------------------------------------------
 * x = k pi / 2 + r, |r| <= pi / 4, then the series of sin r and cos r, by the
 * last bits of k. Right for |x| <= VEC_TURNS; k times the first part of pi / 2
 * is exact.
 */
#define VEC_TURNS 1e6

VEC_INLINE vd vd_sin_poly(vd r) {
  vd s = r * r;
  vd p = s * (-1.0 / 39916800) + 1.0 / 362880;
  p = p * s - 1.0 / 5040;
  p = p * s + 1.0 / 120;
  p = p * s - 1.0 / 6;
  return r * (p * s + 1.0);
}
VEC_INLINE vd vd_cos_poly(vd r) {
  vd s = r * r;
  vd p = s * (1.0 / 479001600) - 1.0 / 3628800;
  p = p * s + 1.0 / 40320;
  p = p * s - 1.0 / 720;
  p = p * s + 1.0 / 24;
  p = p * s - 0.5;
  return p * s + 1.0;
}

/* r, and k in the low bits of *shifted */
VEC_INLINE vd vd_quarters(vd x, vd *shifted) {
  const vd shifter = vd_all(0x1.8p52);
  *shifted = x * 0.63661977236758134 + shifter; /* 2 / pi */
  vd k = *shifted - shifter;
  return x - k * 0x1.921fb544p0 - k * 0x1.0b4611a626331p-34;
}

/* The C library for lanes that are too far out, inf or NaN. */
typedef double vec_libm(double);
static __attribute__((noinline, cold, unused)) void vec_turns_far(
    double *y, const double *x, vec_libm *f) {
  for (int i = 0; i < VD; i++)
    if (!(fabs(x[i]) <= VEC_TURNS)) y[i] = f(x[i]);
}
VEC_INLINE vd vd_turns_far(vd x, vd y, vec_libm *f) {
  if (!vl_any(~(vd_abs(x) <= VEC_TURNS))) return y;
  double in[VD], out[VD];
  vd_store(in, x);
  vd_store(out, y);
  vec_turns_far(out, in, f);
  return vd_load(out);
}

/* sin(x + quarter pi / 2) */
VEC_INLINE vd vd_sin_quarter(vd x, int64_t quarter) {
  vd shifted, r = vd_quarters(x, &shifted);
  vl q = (vl)shifted + quarter;
  vd y = vd_pick(-(q & 1), vd_cos_poly(r), vd_sin_poly(r));
  return (vd)((vl)y ^ ((q & 2) << 62));
}
VEC_INLINE vd vd_sin(vd x) {
  return vd_turns_far(x, vd_sin_quarter(x, 0), sin);
}
VEC_INLINE vd vd_cos(vd x) {
  return vd_turns_far(x, vd_sin_quarter(x, 1), cos);
}
VEC_INLINE vd vd_tan(vd x) {
  vd shifted, r = vd_quarters(x, &shifted);
  vd sine = vd_sin_poly(r), cosine = vd_cos_poly(r);
  vl odd = -((vl)shifted & 1);
  vd y = vd_pick(odd, -cosine, sine) / vd_pick(odd, sine, cosine);
  return vd_turns_far(x, y, tan);
}

/* sin(pi x) / (pi x): x = k + r; 0 at every whole x but 0. */
VEC_INLINE vd vd_sinc(vd x) {
  vd shifted, r = x - vd_nearest(x, &shifted);
  vd angle = r * 3.1415926535897932, half = angle * 0.5;
  vd sine = 2.0 * vd_sin_poly(half) * vd_cos_poly(half);
  sine = (vd)((vl)sine ^ ((vl)shifted << 63));
  sine = vd_pick(vd_abs(x) < 0x1p24, sine, x - x); /* whole; inf gives NaN */
  return vd_pick(x == 0, vd_all(1), sine / (x * 3.1415926535897932));
}

/* ---- their inverses ------------------------------------------------------ */

#define VEC_PI 3.1415926535897932

/* atan t for |t| <= tan(pi / 8) */
VEC_INLINE vd vd_atan_poly(vd t) {
  vd s = t * t;
  vd p = s * 0.047051638360310538 - 0.084551584865925455;
  p = p * s + 0.11040306933163957;
  p = p * s - 0.14281574100917294;
  p = p * s + 0.19999883328752999;
  p = p * s - 0.33333332090762097;
  return t * (p * s + 0.99999999997825739);
}

/* atan(y / x) for x, y >= 0, not both 0, not both infinite: the angle is
   turned back by 0, 45 or 90 degrees. */
VEC_INLINE vd vd_atan_ratio(vd y, vd x) {
  vl steep = y > x * 2.4142135623730950, flat = y <= x * 0.41421356237309505;
  vd top = vd_pick(steep, -x, vd_pick(flat, y, y - x));
  vd under = vd_pick(steep, y, vd_pick(flat, x, y + x));
  vd turned = vd_pick(steep, vd_all(VEC_PI / 2),
                      vd_pick(flat, vd_all(0), vd_all(VEC_PI / 4)));
  return turned + vd_atan_poly(top / under);
}

VEC_INLINE vd vd_atan(vd x) {
  return vd_with_sign(vd_atan_ratio(vd_abs(x), vd_all(1)), x);
}

/* The angle of the point (x, y); with signed zeros and infinities as in C. */
VEC_INLINE vd vd_atan2(vd y, vd x) {
  vd ay = vd_abs(y), ax = vd_abs(x);
  vl corner = (ay == ax) & ((ay == 0) | (ay == INFINITY));
  vd to_y = vd_pick(corner, vd_pick(ay == 0, vd_all(0), vd_all(1)), ay);
  vd to_x = vd_pick(corner, vd_all(1), ax);
  vd angle = vd_atan_ratio(to_y, to_x);
  angle = vd_pick((vl)x < 0, VEC_PI - angle, angle);
  vd odd = x + y;
  return vd_pick(odd != odd, vd_pick(corner, vd_with_sign(angle, y), odd),
                 vd_with_sign(angle, y));
}

/* asin x for 0 <= x <= 1/2 */
VEC_INLINE vd vd_asin_poly(vd x) {
  vd s = x * x;
  vd p = s * 0.034762462422403377 + 0.0073896526262565041;
  p = p * s + 0.024654446783286901;
  p = p * s + 0.03010195032607085;
  p = p * s + 0.044661183255870228;
  p = p * s + 0.074999417454249956;
  p = p * s + 0.16666667366429844;
  return x * (p * s + 0.99999999998630429);
}

/* Beyond 1/2: pi / 2 - 2 asin sqrt((1 - |x|) / 2). */
VEC_INLINE vd vd_asin(vd x) {
  vd a = vd_abs(x);
  vl small = a <= 0.5;
  vd y = vd_asin_poly(vd_pick(small, a, vd_sqrt((1.0 - a) * 0.5)));
  return vd_with_sign(vd_pick(small, y, VEC_PI / 2 - 2.0 * y), x);
}
VEC_INLINE vd vd_acos(vd x) {
  vd a = vd_abs(x);
  vl small = a <= 0.5, negative = x < 0;
  vd y = vd_asin_poly(vd_pick(small, a, vd_sqrt((1.0 - a) * 0.5)));
  vd middle = VEC_PI / 2 - vd_with_sign(y, x);
  vd end = vd_pick(negative, VEC_PI - 2.0 * y, 2.0 * y);
  return vd_pick(small, middle, end);
}

#endif
