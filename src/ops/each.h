/*
 * each - what the families of elementwise ops share: running a kernel
 * over broadcast tensors, and the check and forward of an op that is one
 * kernel. Layer: ops. Read first: core/op.h, kernel/kernel.h.
 *
 * Operands are cast to their common dtype (bool < uint8 < int32 < int64 <
 * float32 < float64; a plain number takes the tensor's), shapes are aligned
 * at the end.
 */
#ifndef HEED_OPS_EACH_H
#define HEED_OPS_EACH_H

#include "core/iter.h"
#include "kernel/kernel.h"
#include "ops/ops.h"

/* Elements worth a thread. */
#define HEED_GRAIN 16384

/* result 0 = loop(input 0), loop(input 0, input 1) */
bool heed_each_run1(heed_call *c, heed_loop1 *loop);
bool heed_each_run2(heed_call *c, heed_loop2 *loop);
/* to = loop(a, b), the operands broadcast to the shape of `to`. */
void heed_each_into(heed_tensor *to, heed_tensor *a, heed_tensor *b,
                    heed_loop2 *loop);

/* result 0 = loop(input 0, input 1, input 2, value) */
bool heed_each_run3(heed_call *c, heed_loop3 *loop, double value);
/* result 0 = f(input 0), tuned by the numbers p (HEED_TUNED_MAX), or where
   that is NULL by the float attributes of the op. */
bool heed_each_run_tuned(heed_call *c, heed_tuned f, const double *p);

/* Set result 0 for a kernel, or fail. */
bool heed_each_check1(heed_call *c, heed_unary f, bool to_bool);
bool heed_each_check2(heed_call *c, heed_binary f, bool to_bool);
bool heed_each_check3(heed_call *c, heed_ternary f);
bool heed_each_check_tuned(heed_call *c, heed_tuned f);
/* Integers cannot be divided by zero: fails where input 1 is one that holds
   a 0. Floats give inf or nan. */
bool heed_each_no_zero(const heed_call *c);
/* Nor raised to a negative power: the same for one below 0. */
bool heed_each_no_negative(const heed_call *c);
/* Fails: there is no kernel for the dtype of input 0. */
bool heed_each_undefined(const heed_call *c);

/* Gradients of input 0: g * factor, g / divisor; 0, of functions that are
   constant almost everywhere. */
bool heed_each_product(heed_rule_call *r, heed_tensor *factor);
bool heed_each_quotient(heed_rule_call *r, heed_tensor *divisor);
bool heed_each_flat_bwd(heed_rule_call *r);
/* Of a tuned function: by its kernel, or where the gradient is recorded for
   another derivative, g * slope. */
bool heed_each_tuned_bwd(heed_rule_call *r, heed_tuned f, heed_tensor *slope);

/* For backward rules: t * number, t + number, x^2. */
heed_tensor *heed_each_times(heed_rule_call *r, heed_tensor *t, double number);
heed_tensor *heed_each_plus(heed_rule_call *r, heed_tensor *t, double number);
heed_tensor *heed_each_square(heed_rule_call *r, heed_tensor *x);

/* The check and forward of an op that is one kernel. */
#define HEED_UNARY_OP(name, to_bool)                                       \
  static bool name##_check(heed_call *c) {                                 \
    return heed_each_check1(c, HEED_UNARY_##name, to_bool);                \
  }                                                                        \
  static bool name##_fwd(heed_call *c) {                                   \
    return heed_each_run1(                                                 \
        c, heed_kernel.unary[HEED_UNARY_##name][c->in[0]->dtype]);         \
  }
#define HEED_BINARY_OP(name, to_bool)                                      \
  static bool name##_check(heed_call *c) {                                 \
    return heed_each_check2(c, HEED_BINARY_##name, to_bool);               \
  }                                                                        \
  static bool name##_fwd(heed_call *c) {                                   \
    return heed_each_run2(                                                 \
        c, heed_kernel.binary[HEED_BINARY_##name][c->in[0]->dtype]);       \
  }

/* The rule of a function of one float; name_bwd is written before it. Other
   operands are taken as float32. */
#define HEED_FUNCTION_OP(name, kept_in, kept_out)                            \
  HEED_UNARY_OP(name, false)                                                 \
  const heed_rule heed_rule_##name = {                                       \
      .check = name##_check, .forward = name##_fwd, .backward = name##_bwd,  \
      .keep = {kept_in}, .keep_out = {kept_out}, .promote = true,            \
      .to_float = true, .elementwise = true};
/* The same of two; the gradients want both operands. */
#define HEED_FUNCTION2_OP(name)                                              \
  HEED_BINARY_OP(name, false)                                                \
  const heed_rule heed_rule_##name = {                                       \
      .check = name##_check, .forward = name##_fwd, .backward = name##_bwd,  \
      .keep = {HEED_ALWAYS, HEED_ALWAYS}, .promote = true, .to_float = true, \
      .elementwise = true};

/* The rule of a tuned function of float tensors: name_slope, written before
   it, gives its derivative at x by ops. */
#define HEED_TUNED_OP(name)                                                  \
  static bool name##_check(heed_call *c) {                                   \
    return heed_want_float(c, 0) &&                                          \
           heed_each_check_tuned(c, HEED_TUNED_##name);                      \
  }                                                                          \
  static bool name##_fwd(heed_call *c) {                                     \
    return heed_each_run_tuned(c, HEED_TUNED_##name, NULL);                  \
  }                                                                          \
  static bool name##_bwd(heed_rule_call *r) {                                \
    heed_tensor *slope =                                                     \
        heed_grad_enabled() ? name##_slope(r, heed_in(r, 0)) : NULL;         \
    return heed_each_tuned_bwd(r, HEED_TUNED_##name, slope);                 \
  }                                                                          \
  const heed_rule heed_rule_##name = {                                       \
      .check = name##_check, .forward = name##_fwd, .backward = name##_bwd,  \
      .keep = {HEED_ALWAYS}, .elementwise = true};

#endif
