/* make - tensors from nothing. Layer: ops. Read first: core/op.h.
 *
 * Sizes are a list, `{2, 3}`, or plain numbers. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/copy.h"
#include "ops/ops.h"

/* A number becomes an operand that gives way to the other one's dtype. */
static bool number_check(heed_call *c) {
  heed_out(c, 0, HEED_FLOAT64, &(heed_shape){0});
  return true;
}
static bool number_fwd(heed_call *c) {
  *(double *)heed_tensor_data(c->out[0]) = c->attr[0].f;
  c->out[0]->weak = true;
  return true;
}
const heed_rule heed_rule_number = {.check = number_check,
                                    .forward = number_fwd};

static bool require(heed_tensor *t, bool wanted, const char *op) {
  if (wanted && !heed_dtype_is_float(t->dtype))
    return heed_fail("%s: only float tensors can require gradients, got %s",
                     op, heed_dtype_name(t->dtype));
  t->requires_grad = wanted;
  return true;
}

static bool fill(heed_tensor *t, double value) {
  heed_tensor *one = heed_tensor_scalar(HEED_FLOAT64, value, 0);
  if (!one) return false;
  heed_copy(t, one);
  heed_tensor_drop(one);
  return true;
}

static bool sized_check(heed_call *c) {
  heed_out(c, 0, (heed_dtype)c->attr[1].i, &c->attr[0].list);
  return true;
}

/***
A tensor of zeros.
@function zeros
@param shape sizes
@param dtype `"float32"` by default
@param requires_grad false by default
@return tensor
@raise for a negative or too large shape
@usage heed.zeros({2, 3}, {dtype = "float64"})
*/
static bool zeros_fwd(heed_call *c) {
  memset(heed_tensor_data(c->out[0]), 0, c->out[0]->storage->bytes);
  return require(c->out[0], c->attr[2].i, c->op->name);
}
const heed_rule heed_rule_zeros = {.check = sized_check,
                                   .forward = zeros_fwd};

/***
A tensor of ones.
@function ones
@param shape sizes
@param dtype `"float32"` by default
@param requires_grad false by default
@return tensor
@raise for a negative or too large shape
@usage heed.ones(2, 3)
*/
static bool ones_fwd(heed_call *c) {
  return fill(c->out[0], 1) &&
         require(c->out[0], c->attr[2].i, c->op->name);
}
const heed_rule heed_rule_ones = {.check = sized_check, .forward = ones_fwd};

/***
A tensor filled with one number.
@function full
@param shape sizes, as a list
@param value number
@param dtype `"float32"` by default
@param requires_grad false by default
@return tensor
@raise for a negative or too large shape
@usage heed.full({2, 3}, 0.5)
*/
static bool full_check(heed_call *c) {
  heed_out(c, 0, (heed_dtype)c->attr[2].i, &c->attr[0].list);
  return true;
}
static bool full_fwd(heed_call *c) {
  return fill(c->out[0], c->attr[1].f) &&
         require(c->out[0], c->attr[3].i, c->op->name);
}
const heed_rule heed_rule_full = {.check = full_check, .forward = full_fwd};

/***
A matrix with ones on its diagonal and zeros elsewhere.
@function eye
@param n rows
@param m columns; n by default
@param dtype `"float32"` by default
@param requires_grad false by default
@return tensor (n, m)
@raise for a negative or too large shape
@usage heed.eye(3)
*/
static bool eye_check(heed_call *c) {
  int64_t n = c->attr[0].i, m = c->attr[1].i;
  if (n < 0 || m < -1)
    return heed_fail("eye: n and m must be at least 0, got %lld and %lld",
                     (long long)n, (long long)(m == -1 ? n : m));
  heed_out(c, 0, (heed_dtype)c->attr[2].i,
           &(heed_shape){2, {n, m == -1 ? n : m}});
  return true;
}
static bool eye_fwd(heed_call *c) {
  heed_tensor *t = c->out[0];
  memset(heed_tensor_data(t), 0, t->storage->bytes);
  int64_t n = t->shape.dim[0], m = t->shape.dim[1];
  heed_tensor diagonal = *t;
  diagonal.shape = (heed_shape){1, {n < m ? n : m}};
  diagonal.stride[0] = m + 1;
  return fill(&diagonal, 1) && require(t, c->attr[3].i, c->op->name);
}
const heed_rule heed_rule_eye = {.check = eye_check, .forward = eye_fwd};

/***
The numbers first, first + step, ... up to and including last, as Lua's
numeric `for` counts; `arange(n)` is 1 .. n.
@function arange
@param first number
@param last number
@param step number, 1 by default, not 0
@param dtype int64 when first, last and step are integers, else float32
@return tensor with one dimension
@raise for a step of 0 or too many elements
@usage heed.arange(0, 10, 5) --> 0 5 10
*/
static bool arange_check(heed_call *c) {
  double *first = &c->attr[0].f, *last = &c->attr[1].f;
  double step = c->attr[2].f;
  if (isnan(*last)) {
    *last = *first;
    *first = 1;
  }
  if (step == 0 || !isfinite(step) || !isfinite(*first) || !isfinite(*last))
    return heed_fail("arange: first, last and step must be finite and step "
                     "not 0, got %g, %g, %g", *first, *last, step);
  /* a float's last number may lie a rounding error behind `last` */
  double n = floor((*last - *first) / step * (1 + 1e-15) + 1e-9) + 1;
  if (n > (double)(INT64_MAX / 16))
    return heed_fail("arange: from %g to %g by %g has too many elements",
                     *first, *last, step);
  bool whole = *first == floor(*first) && step == floor(step) &&
               *last == floor(*last);
  heed_dtype dtype = (heed_dtype)c->attr[3].i;
  if (c->attr[3].i == HEED_DTYPE_AUTO)
    dtype = whole ? HEED_INT64 : HEED_FLOAT32;
  heed_out(c, 0, dtype, &(heed_shape){1, {n > 0 ? (int64_t)n : 0}});
  return true;
}
static bool arange_fwd(heed_call *c) {
  heed_tensor *t = c->out[0];
  double first = c->attr[0].f, step = c->attr[2].f;
  int64_t n = t->shape.dim[0];
  void *data = heed_tensor_data(t);
  for (int64_t i = 0; i < n; i++) {
    double v = first + (double)i * step;
    switch (t->dtype) {
      case HEED_BOOL: ((unsigned char *)data)[i] = v != 0; break;
      case HEED_INT64: ((int64_t *)data)[i] = (int64_t)v; break;
      case HEED_FLOAT32: ((float *)data)[i] = (float)v; break;
      default: ((double *)data)[i] = v;
    }
  }
  return true;
}
const heed_rule heed_rule_arange = {.check = arange_check,
                                    .forward = arange_fwd};
