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
A tensor whose elements are not set: they hold whatever lay in memory.
@function empty
@param shape sizes
@param dtype `"float32"` by default
@param requires_grad false by default
@return tensor
@raise for a negative or too large shape
@usage heed.empty(2, 3):fill_(1)
*/
static bool empty_fwd(heed_call *c) {
  heed_tensor *t = c->out[0];
  /* a bool must be 0 or 1 */
  if (t->dtype == HEED_BOOL) memset(heed_tensor_data(t), 0, t->storage->bytes);
  return require(t, c->attr[2].i, c->op->name);
}
const heed_rule heed_rule_empty = {.check = sized_check,
                                   .forward = empty_fwd};

/***
A tensor filled with one number.
@function full
@param shape sizes, as a list
@param value number, boolean or tensor with one element
@param dtype that of the value by default: int64 for an integer, bool for a
boolean, else float32
@param requires_grad false by default
@return tensor
@raise for a negative or too large shape, and when an integer dtype cannot
hold the value
@usage heed.full({2, 3}, 0.5)
*/
static bool full_check(heed_call *c) {
  const heed_tensor *value = c->in[0];
  heed_dtype dtype = (heed_dtype)c->attr[1].i;
  if (heed_tensor_numel(value) != 1)
    return heed_fail("full: value must be a number or have one element, got "
                     "%s", heed_tensor_text(value));
  if (c->attr[1].i == HEED_DTYPE_AUTO)
    dtype = value->weak && value->dtype == HEED_FLOAT64 ? HEED_FLOAT32
                                                        : value->dtype;
  heed_out(c, 0, dtype, &c->attr[0].list);
  return heed_want_held(c, 0, dtype);
}
static bool full_fwd(heed_call *c) {
  heed_tensor one = *c->in[0];
  one.shape.ndim = 0;
  heed_copy(c->out[0], &one);
  return require(c->out[0], c->attr[2].i, c->op->name);
}
const heed_rule heed_rule_full = {
    .check = full_check, .forward = full_fwd, .moves = true};

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
/* Numbers that grow by one step. Those from `turn` on are counted back from
   the last, so that it is met without a rounding error. */
typedef struct sequence {
  heed_tensor *t;
  double first, step, last;
  int64_t turn;
} sequence;

static double number_at(const sequence *s, int64_t i) {
  int64_t end = s->t->shape.dim[0] - 1;
  return i < s->turn ? s->first + (double)i * s->step
                     : s->last - (double)(end - i) * s->step;
}

static void fill_sequence(void *context, int64_t begin, int64_t end,
                          int worker) {
  (void)worker;
  const sequence *s = context;
  heed_dtype dtype = s->t->dtype;
  void *data = heed_tensor_data(s->t);
#define FILL(type)                        \
  for (int64_t i = begin; i < end; i++)   \
  ((type *)data)[i] = (type)number_at(s, i)
  switch (dtype) {
    case HEED_FLOAT32: FILL(float); break;
    case HEED_FLOAT64: FILL(double); break;
    case HEED_INT64: FILL(int64_t); break;
    default:
      for (int64_t i = begin; i < end; i++)
        heed_element_store(dtype, data, i, false,
                           (heed_value){.f = number_at(s, i)});
  }
#undef FILL
}

/* All numbers lie between the first and the last: these tell whether the
   dtype can hold them. */
static bool make_sequence(heed_call *c, sequence s) {
  s.t = c->out[0];
  int64_t n = s.t->shape.dim[0];
  for (int64_t i = 0; i < n; i += n > 1 ? n - 1 : 1) {
    double v = number_at(&s, i);
    if (!heed_dtype_holds(s.t->dtype, false, (heed_value){.f = v}))
      return heed_fail("%s: number %lld of them is %.17g, but %s holds %s",
                       c->op->name, (long long)i + 1, v,
                       heed_dtype_name(s.t->dtype),
                       heed_dtype_range(s.t->dtype));
  }
  heed_parallel(n, 32768, fill_sequence, &s);
  return true;
}

static bool arange_fwd(heed_call *c) {
  return make_sequence(c, (sequence){.first = c->attr[0].f,
                                     .step = c->attr[2].f,
                                     .turn = INT64_MAX});
}
const heed_rule heed_rule_arange = {.check = arange_check,
                                    .forward = arange_fwd};

/***
Numbers at equal distances from first to last, both included.
@function linspace
@param first number
@param last number
@param steps how many numbers; of one it is first
@param dtype `"float32"` by default; integers drop the fraction
@param requires_grad false by default
@return tensor (steps)
@raise when steps is negative or too large, or an integer dtype cannot hold a
number
@usage heed.linspace(0, 1, 5) --> 0 0.25 0.5 0.75 1
*/
static bool linspace_check(heed_call *c) {
  int64_t steps = c->attr[2].i;
  if (!isfinite(c->attr[0].f) || !isfinite(c->attr[1].f))
    return heed_fail("linspace: first and last must be finite, got %g and %g",
                     c->attr[0].f, c->attr[1].f);
  if (steps < 0)
    return heed_fail("linspace: steps must be at least 0, got %lld",
                     (long long)steps);
  heed_out(c, 0, (heed_dtype)c->attr[3].i, &(heed_shape){1, {steps}});
  return true;
}
static bool linspace_fwd(heed_call *c) {
  double first = c->attr[0].f, last = c->attr[1].f;
  int64_t n = c->attr[2].i;
  double gaps = n > 1 ? (double)(n - 1) : 1, step = (last - first) / gaps;
  if (!isfinite(step)) step = last / gaps - first / gaps;
  return make_sequence(c, (sequence){.first = first, .last = last,
                                     .step = step, .turn = n - n / 2}) &&
         require(c->out[0], c->attr[4].i, c->op->name);
}
const heed_rule heed_rule_linspace = {.check = linspace_check,
                                      .forward = linspace_fwd};
