/*
 * moments - variance and standard deviation. Layer: ops. Read first: reduce.h.
 *
 * With n elements x of mean m and s = sum (x - m)^2:
 *
 *     var = s / (n - correction)        d var = 2 (x - m) / (n - correction)
 *     std = sqrt(var)                   d std = d var / (2 std)
 */
#include <math.h>

#include "ops/reduce.h"

typedef struct spread {
  heed_tensor *y, *mean; /* mean: or NULL */
  double over;           /* n - correction */
  bool root;
} spread;

static void put(heed_tensor *t, int64_t at, double v) {
  heed_real_store(t->dtype, heed_tensor_data(t), at, v);
}

static void finish_spread(void *context, int64_t at, int64_t step, int64_t n,
                          void *acc) {
  const spread *to = context;
  const heed_moments *m = acc;
  for (int64_t j = 0; j < n; j++, at += step) {
    double v = to->over > 0 ? m[j].squares / to->over
               : m[j].squares > 0 ? INFINITY : NAN;
    if (m[j].n == 0) v = NAN;
    put(to->y, at, to->root ? sqrt(v) : v);
    if (to->mean) put(to->mean, at, m[j].n == 0 ? NAN : m[j].mean);
  }
}

static bool spread_fwd(heed_call *c, bool root) {
  bool on[HEED_MAX_DIM];
  if (!heed_axes(c, 0, &c->attr[0].list, on)) return false;
  heed_tensor *x = c->in[0];
  spread to = {c->out[0], c->nout > 1 ? c->out[1] : NULL,
               (double)heed_reduce_length(x, on) - (double)c->attr[2].i, root};
  return heed_reduce(HEED_REDUCE_MOMENTS, x, on, finish_spread, &to);
}

static bool var_fwd(heed_call *c) { return spread_fwd(c, false); }
static bool std_fwd(heed_call *c) { return spread_fwd(c, true); }

static bool var_check(heed_call *c) {
  return heed_want_float(c, 0) && heed_reduce_check(c, c->in[0]->dtype);
}
static bool var_mean_check(heed_call *c) {
  if (!var_check(c)) return false;
  heed_out_like(c, 1, c->in[0]);
  c->result[1].shape = c->result[0].shape;
  return true;
}

/* g d var, of the shape of x */
static heed_tensor *slope(heed_rule_call *r, heed_tensor *g) {
  heed_tensor *x = heed_in(r, 0);
  heed_attr attr[2] = {r->attr[0], {.i = true}};
  heed_tensor *mean = heed_do1_with(r, HEED_OP_mean, x, attr);
  double n = (double)heed_reduce_length_of(r) - (double)r->attr[2].i;
  g = heed_do2(r, HEED_OP_mul, heed_reduce_put_back(r, g),
               heed_number(r, 2 / n));
  return heed_do2(r, HEED_OP_mul, heed_do2(r, HEED_OP_sub, x, mean), g);
}
/* g over 2 std; 0 where std is 0 and its slope has no value */
static heed_tensor *over_root(heed_rule_call *r, heed_tensor *g) {
  heed_tensor *std = heed_kept_out(r, 0), *zero = heed_number(r, 0);
  g = heed_do2(r, HEED_OP_div, g,
               heed_do2(r, HEED_OP_mul, std, heed_number(r, 2)));
  return heed_do3(r, HEED_OP_masked_fill, g,
                  heed_do2(r, HEED_OP_eq, std, zero), zero);
}
/* The gradient of the mean, of the shape of x. */
static heed_tensor *level(heed_rule_call *r, heed_tensor *g) {
  double n = (double)heed_reduce_length_of(r);
  g = heed_do2(r, HEED_OP_mul, heed_reduce_put_back(r, g),
               heed_number(r, 1 / n));
  return heed_reduce_stretch(r, g);
}

static bool var_bwd(heed_rule_call *r) {
  return heed_give(r, 0, slope(r, r->grad[0]));
}
static bool std_bwd(heed_rule_call *r) {
  return heed_give(r, 0, slope(r, over_root(r, r->grad[0])));
}
static bool var_mean_bwd(heed_rule_call *r) {
  return heed_give(r, 0, heed_do2(r, HEED_OP_add,
                                  slope(r, heed_grad_of(r, 0)),
                                  level(r, heed_grad_of(r, 1))));
}
static bool std_mean_bwd(heed_rule_call *r) {
  return heed_give(r, 0, heed_do2(r, HEED_OP_add,
                                  slope(r, over_root(r, heed_grad_of(r, 0))),
                                  level(r, heed_grad_of(r, 1))));
}

/***
The variance over some or all dimensions.
@function var
@param x tensor; bools and integers are taken as float32
@param dim one dimension or a list; all by default
@param keepdim keep the reduced dimensions with size 1; false by default
@param correction the sum of squares is divided by n - correction; 1 by default
@return tensor without the reduced dimensions; NaN or infinity when
n - correction is not positive
@raise when a dimension is out of range
@usage heed.tensor{1.0, 2.0, 3.0}:var() --> 1
*/
const heed_rule heed_rule_var = {
    .check = var_check, .forward = var_fwd, .backward = var_bwd,
    .keep = {HEED_ALWAYS},
    .promote = true, .to_float = true};

/***
The standard deviation over some or all dimensions: the root of `var`. Where it
is 0, so is its gradient.
@function std
@param x tensor; bools and integers are taken as float32
@param dim one dimension or a list; all by default
@param keepdim keep the reduced dimensions with size 1; false by default
@param correction the sum of squares is divided by n - correction; 1 by default
@return tensor without the reduced dimensions
@raise when a dimension is out of range
@usage heed.tensor{1.0, 2.0, 3.0}:std() --> 1
*/
const heed_rule heed_rule_std = {
    .check = var_check, .forward = std_fwd, .backward = std_bwd,
    .keep = {HEED_ALWAYS}, .keep_out = {HEED_ALWAYS},
    .promote = true, .to_float = true};

/***
The variance and the mean, in one pass over x.
@function var_mean
@param x tensor; bools and integers are taken as float32
@param dim one dimension or a list; all by default
@param keepdim keep the reduced dimensions with size 1; false by default
@param correction the sum of squares is divided by n - correction; 1 by default
@return tensor of variances, without the reduced dimensions
@return tensor of means
@raise when a dimension is out of range
@usage local var, mean = heed.tensor{1.0, 2.0, 6.0}:var_mean() --> 7, 3
*/
const heed_rule heed_rule_var_mean = {
    .check = var_mean_check, .forward = var_fwd, .backward = var_mean_bwd,
    .keep = {HEED_ALWAYS},
    .promote = true, .to_float = true};

/***
The standard deviation and the mean, in one pass over x.
@function std_mean
@param x tensor; bools and integers are taken as float32
@param dim one dimension or a list; all by default
@param keepdim keep the reduced dimensions with size 1; false by default
@param correction the sum of squares is divided by n - correction; 1 by default
@return tensor of standard deviations, without the reduced dimensions
@return tensor of means
@raise when a dimension is out of range
@usage local std, mean = heed.tensor{1.0, 2.0, 3.0}:std_mean() --> 1, 2
*/
const heed_rule heed_rule_std_mean = {
    .check = var_mean_check, .forward = std_fwd, .backward = std_mean_bwd,
    .keep = {HEED_ALWAYS}, .keep_out = {HEED_ALWAYS},
    .promote = true, .to_float = true};
