/*
 * ops - the op table by number, and short calls for backward rules.
 * Layer: ops. Read first: core/op.h, core/node.h, ops.def.
 */
#ifndef HEED_OPS_OPS_H
#define HEED_OPS_OPS_H

#include "core/node.h"

typedef enum heed_op_id {
#define OP(name, group, nreturn, signature) HEED_OP_##name,
#define OP_(name, group, nreturn, signature) HEED_OP_##name, HEED_OP_##name##_,
#include "ops/ops.def"
#undef OP
#undef OP_
  HEED_NOP
} heed_op_id;

#define OP(name, group, nreturn, signature) \
  extern const heed_rule heed_rule_##name;
#define OP_ OP
#include "ops/ops.def"
#undef OP
#undef OP_

/* Ops inside a rule: results are lent, a NULL input passes on the failure. */
heed_tensor *heed_do1(heed_rule_call *r, heed_op_id op, heed_tensor *a);
heed_tensor *heed_do2(heed_rule_call *r, heed_op_id op, heed_tensor *a,
                      heed_tensor *b);
heed_tensor *heed_do3(heed_rule_call *r, heed_op_id op, heed_tensor *a,
                      heed_tensor *b, heed_tensor *c);
/* With attributes, in the order of the signature. */
heed_tensor *heed_do1_with(heed_rule_call *r, heed_op_id op, heed_tensor *a,
                           const heed_attr *attr);
heed_tensor *heed_do2_with(heed_rule_call *r, heed_op_id op, heed_tensor *a,
                           heed_tensor *b, const heed_attr *attr);
heed_tensor *heed_do3_with(heed_rule_call *r, heed_op_id op, heed_tensor *a,
                           heed_tensor *b, heed_tensor *c,
                           const heed_attr *attr);
/* A plain number, to be an operand. */
heed_tensor *heed_number(heed_rule_call *r, double value);
/* The last two dimensions exchanged; a new one of size 1, counted as in the
   result. */
heed_tensor *heed_turn(heed_rule_call *r, heed_tensor *t);
heed_tensor *heed_unsqueeze(heed_rule_call *r, heed_tensor *t, int64_t dim);

/* Checks of ops that cannot fail: result 0 is like input 0, or has its dtype
   and the shape that the first attribute is. */
bool heed_check_like(heed_call *c);
bool heed_check_shape(heed_call *c);

#endif
