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

/* Set result 0 for a kernel, or fail. */
bool heed_each_check1(heed_call *c, heed_unary f, bool to_bool);
bool heed_each_check2(heed_call *c, heed_binary f, bool to_bool);
/* Fails: there is no kernel for the dtype of input 0. */
bool heed_each_undefined(const heed_call *c);

/* Gradients: g * factor; 0, of functions that are constant almost
   everywhere. */
bool heed_each_product(heed_rule_call *r, heed_tensor *factor);
bool heed_each_flat_bwd(heed_rule_call *r);

/* The check and forward of an op that is one kernel. */
#define HEED_UNARY_OP(name, to_bool)                                       \
  static bool name##_check(heed_call *c) {                                 \
    return heed_each_check1(c, HEED_UNARY_##name, to_bool);         \
  }                                                                        \
  static bool name##_fwd(heed_call *c) {                                   \
    return heed_each_run1(                                          \
        c, heed_kernel.unary[HEED_UNARY_##name][c->in[0]->dtype]);         \
  }
#define HEED_BINARY_OP(name, to_bool)                                      \
  static bool name##_check(heed_call *c) {                                 \
    return heed_each_check2(c, HEED_BINARY_##name, to_bool);        \
  }                                                                        \
  static bool name##_fwd(heed_call *c) {                                   \
    return heed_each_run2(                                          \
        c, heed_kernel.binary[HEED_BINARY_##name][c->in[0]->dtype]);       \
  }

#endif
