/*
 * multinomial - draws of classes by their weights. Layer: ops.
 * Read first: core/generator.h.
 *
 * With replacement a number u of [0, 1) finds the first class at which the
 * running sum of the weights, over their whole sum, reaches u. Without, each
 * class gets the key weight / e, with e exponential of mean 1, and those with
 * the largest keys win, in that order (Efraimidis and Spirakis, 2006). Weights
 * and keys are float32 where the input is, so that the draws are those of
 * PyTorch's CPU generator where it does not use a vendor's streams.
 */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "core/generator.h"
#include "ops/copy.h"
#include "ops/ops.h"

static bool multinomial_check(heed_call *c) {
  const heed_tensor *x = c->in[0];
  int64_t count = c->attr[0].i;
  if (!heed_want_float(c, 0) || !heed_want_ndim(c, 0, 1)) return false;
  heed_shape shape = x->shape;
  int64_t *last = &shape.dim[shape.ndim - 1];
  if (count < 1)
    return heed_fail("multinomial: count must be at least 1, got %lld",
                     (long long)count);
  if (!c->attr[1].i && count > *last)
    return heed_fail("multinomial: x %s has %lld classes, fewer than the %lld "
                     "to be drawn without replacement",
                     heed_shape_text(&x->shape), (long long)*last,
                     (long long)count);
  if (*last == 0)
    return heed_fail("multinomial: x %s has no classes",
                     heed_shape_text(&x->shape));
  *last = count;
  heed_out(c, 0, HEED_INT64, &shape);
  return true;
}

/* One row of weights as doubles; fails for a weight that is none. Gives how
   many are not 0. */
static bool read_row(const heed_tensor *x, int64_t row, int64_t n, double *w,
                     int64_t *positive) {
  *positive = 0;
  for (int64_t i = 0; i < n; i++) {
    w[i] = heed_element_float(x->dtype, heed_tensor_data(x), row * n + i);
    if (!(w[i] >= 0) || isinf(w[i]))
      return heed_fail("multinomial: weight %lld of row %lld of x %s must be "
                       "finite and at least 0, got %g", (long long)i + 1,
                       (long long)row + 1, heed_shape_text(&x->shape), w[i]);
    *positive += w[i] > 0;
  }
  return true;
}

static double cut(const heed_tensor *x, double v) {
  return x->dtype == HEED_FLOAT32 ? (double)(float)v : v;
}

static void draw_again(heed_generator *g, const heed_tensor *x, double *w,
                       int64_t n, int64_t count, int64_t *out) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) w[i] = sum = cut(x, sum + w[i]);
  for (int64_t i = 0; i < n; i++) w[i] = cut(x, w[i] / sum);
  int64_t top = n - 1; /* the last class that can be drawn */
  while (top > 0 && w[top - 1] == w[n - 1]) top--;
  for (int64_t k = 0; k < count; k++) {
    double u = heed_generator_double(g);
    int64_t left = 0, right = top;
    while (left < right) {
      int64_t middle = left + (right - left) / 2;
      if (w[middle] < u) left = middle + 1;
      else right = middle;
    }
    while (w[left] == 0) left++; /* u = 0: a weight of 0 is never drawn */
    out[k] = left + 1;
  }
}

typedef struct keyed {
  double key;
  int64_t class;
} keyed;

/* The larger key first, then the smaller class. */
static int by_key(const void *a, const void *b) {
  const keyed *p = a, *q = b;
  if (p->key != q->key) return p->key > q->key ? -1 : 1;
  return p->class < q->class ? -1 : 1;
}

static void draw_once(heed_generator *g, const heed_tensor *x,
                      const double *w, keyed *keys, int64_t n, int64_t count,
                      int64_t *out) {
  for (int64_t i = 0; i < n; i++) {
    double e = cut(x, -log1p(-heed_generator_double(g)));
    /* e = 0 must not make a key of a weight of 0 */
    keys[i] = (keyed){w[i] > 0 ? cut(x, w[i] / e) : -1, i};
  }
  qsort(keys, (size_t)n, sizeof *keys, by_key);
  for (int64_t k = 0; k < count; k++) out[k] = keys[k].class + 1;
}

/***
Class numbers, from 1, drawn by the weights in the last dimension of x.
@function multinomial
@param x float tensor [.. classes] of weights, at least 0, of any sum
@param count how many to draw from each row
@param replacement may a class be drawn again? false by default
@param generator of random numbers, the default one by default
@return int64 tensor [.. count]; a weight of 0 is never drawn
@raise when a weight is negative, infinite or NaN, or a row has fewer weights
above 0 than are to be drawn
@usage heed.tensor{0.0, 1.0, 0.0}:multinomial(1) --> 2
*/
static bool draw_rows(heed_call *c, const heed_tensor *x, double *w,
                      keyed *keys) {
  bool again = c->attr[1].i;
  int64_t n = x->shape.dim[x->shape.ndim - 1], count = c->attr[0].i;
  int64_t rows = heed_tensor_numel(x) / n, positive = 0;
  int64_t *out = heed_tensor_data(c->out[0]);
  heed_generator *g = c->attr[2].generator;
  if (!g) g = heed_generator_default();
  for (int64_t row = 0; row < rows; row++, out += count) {
    if (!read_row(x, row, n, w, &positive)) return false;
    int64_t wanted = again ? 1 : count;
    if (positive < wanted)
      return heed_fail("multinomial: row %lld of x %s has %lld weights above "
                       "0, fewer than the %lld to be drawn",
                       (long long)row + 1, heed_shape_text(&x->shape),
                       (long long)positive, (long long)wanted);
    if (again && count > 1) draw_again(g, x, w, n, count, out);
    else draw_once(g, x, w, keys, n, count, out);
  }
  return true;
}
static bool multinomial_fwd(heed_call *c) {
  heed_tensor *x = heed_contiguous("multinomial", c->in[0]);
  if (!x) return false;
  size_t n = (size_t)x->shape.dim[x->shape.ndim - 1];
  double *w = heed_mem_alloc(n * sizeof *w);
  keyed *keys = w ? heed_mem_alloc(n * sizeof *keys) : NULL;
  bool ok = keys && draw_rows(c, x, w, keys);
  heed_mem_free(keys, n * sizeof *keys);
  heed_mem_free(w, n * sizeof *w);
  heed_tensor_drop(x);
  return ok;
}
const heed_rule heed_rule_multinomial = {
    .check = multinomial_check, .forward = multinomial_fwd};
