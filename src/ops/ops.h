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

#endif
