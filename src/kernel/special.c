/*
 * special - the inverse of erf, and the family of the gamma function, in
 * doubles for both float dtypes. Layer: kernel. Read first: kernel.h, fill.h.
 */
#include <math.h>

#include "kernel/fill.h"
#include "kernel/loop.h"

#define ROOT_PI 1.7724538509055160

/* lgamma writes the sign into a global; lgamma_r is safe in threads. */
static double lgamma_d(double x) {
  int sign;
  return lgamma_r(x, &sign);
}

/*
 * The y with erf(y) = x. A first guess (Winitzki, 2008) is good to 3 digits;
 * each step of Halley's method triples them. For large |x| the distance of
 * |x| to 1, which is exact, is compared with erfc.
 */
static double erfinv_d(double x) {
  double a = fabs(x);
  if (!(a < 1)) return a == 1 ? copysign(INFINITY, x) : NAN;
  if (a < 1e-9) return x * (ROOT_PI / 2);
  double l = log1p(-a * a);
  double t = 2 / (M_PI * 0.147) + 0.5 * l, u = -l / 0.147;
  double y = sqrt(u / (sqrt(t * t + u) + t));
  for (int step = 0; step < 3; step++) {
    double off = a < 0.5 ? erf(y) - a : (1 - a) - erfc(y);
    double newton = off * (ROOT_PI / 2) * exp(y * y);
    y -= newton / (1 + y * newton);
  }
  return copysign(y, x);
}

/* ---- digamma: the derivative of lgamma ----------------------------------- */

/* The asymptotic series log x - 1 / 2x - sum B_2k / (2k x^2k), x >= 10. */
static double digamma_large(double x) {
  double s = 1 / (x * x);
  double p = 691.0 / 32760 - s * (1.0 / 12);
  p = 1.0 / 240 - s * (1.0 / 132 - s * p);
  p = 1.0 / 120 - s * (1.0 / 252 - s * p);
  return log(x) - 0.5 / x - s * (1.0 / 12 - s * p);
}

/* Below 10 by psi(x) = psi(x + 1) - 1 / x, below 0 by reflection. At 0 it is
   infinite with the sign opposite to that of 0, at -1, -2 ... NaN. */
static double digamma_d(double x) {
  if (x == 0) return copysign(INFINITY, -x);
  double cot = 0;
  if (x < 0) {
    double r = x - rint(x);
    if (!(r != 0)) return NAN; /* -inf too */
    cot = M_PI / tan(M_PI * r);
    x = 1 - x;
  }
  double sum = 0;
  for (; x < 10; x += 1) sum += 1 / x;
  return digamma_large(x) - sum - cot;
}

/* ---- polygamma: the n-th derivative of digamma --------------------------- */

/*
 * n! times the sum of (q + k)^-s, k = 0, 1 ..., with s = n + 1, q > 0, by the
 * formula of Euler and Maclaurin from an a = q + k that is large beside s:
 *
 *   a^(1 - s) / (s - 1) + a^-s / 2
 *     + sum of B_2j / (2j)! s (s + 1) ... (s + 2j - 2) a^(1 - s - 2j)
 *
 * n! a^-s is taken as one power, which neither overflows nor vanishes early.
 */
static double hurwitz(int n, double q) {
  /* B_2j / (2j)! */
  static const double series[] = {
      8.3333333333333333e-02, -1.3888888888888889e-03,
      3.3068783068783069e-05, -8.2671957671957672e-07,
      2.0876756987868099e-08, -5.2841901386874932e-10,
      1.3382536530684679e-11, -3.3896802963225829e-13,
      8.5860620562778446e-15, -2.1748686985580619e-16};
  const double s = n + 1, root = pow(tgamma(s), 1 / s);
  double sum = 0, a = q;
  for (; a < 10 + s; a += 1) sum += pow(a / root, -s);
  double power = pow(a / root, -s), factor = s / a, square = 1 / (a * a);
  sum += power * a / (s - 1) + 0.5 * power;
  for (int j = 0; j < 10; j++) {
    sum += series[j] * factor * power;
    factor *= (s + 2 * j + 1) * (s + 2 * j + 2) * square;
  }
  return sum;
}

/* The n-th derivative of c = cot z by z: a polynomial in c, whose parity
   alternates: the derivative of c^i is -i (c^(i - 1) + c^(i + 1)). */
static double cot_derivative(int n, double c) {
  double p[HEED_POLYGAMMA_MAX + 3] = {0, 1};
  for (int k = 1; k <= n; k++)
    for (int i = (k + 1) % 2; i <= k + 1; i += 2)
      p[i] = -((i + 1) * p[i + 1] + (i > 0 ? (i - 1) * p[i - 1] : 0));
  double y = 0;
  for (int i = n + 1; i >= 0; i -= 2) y = y * c * c + p[i];
  return n % 2 ? y : y * c;
}

static double polygamma_d(double x, int n) {
  if (n == 0) return digamma_d(x);
  const double odd = n % 2 ? 1 : -1; /* (-1)^(n + 1) */
  if (x > 0) return x < (double)INFINITY ? odd * hurwitz(n, x) : 0;
  double r = x - rint(x);
  if (r == 0) return odd * (double)INFINITY;
  if (!(fabs(r) < 1)) return NAN;
  /* (-1)^n psi_n(1 - x) - pi^(n + 1) times the derivative of cot at pi x */
  return -hurwitz(n, 1 - x) -
         pow(M_PI, n + 1) * cot_derivative(n, 1 / tan(M_PI * r));
}

EACH1(lgamma_float32, float, float, lgamma_d((double)a))
EACH1(lgamma_float64, double, double, lgamma_d(a))
EACH1(digamma_float32, float, float, digamma_d((double)a))
EACH1(digamma_float64, double, double, digamma_d(a))
EACH1(erfinv_float32, float, float, erfinv_d((double)a))
EACH1(erfinv_float64, double, double, erfinv_d(a))
TUNED1(polygamma_float32, float, polygamma_d((double)a, (int)*p))
TUNED1(polygamma_float64, double, polygamma_d(a, (int)*p))

static const heed_fill1 unary[] = {
    {HEED_UNARY_lgamma, FLOATS(lgamma)},
    {HEED_UNARY_digamma, FLOATS(digamma)},
    {HEED_UNARY_erfinv, FLOATS(erfinv)},
};

HEED_FILL(special);
HEED_FILL(special) {
  FILL(k->unary, unary);
  k->tuned[HEED_TUNED_polygamma][HEED_FLOAT32] = polygamma_float32;
  k->tuned[HEED_TUNED_polygamma][HEED_FLOAT64] = polygamma_float64;
}
