/*
 * custom - the op of functions whose backward rule the user gives.
 * Layer: ops. Read first: core/node.h (heed_custom).
 */
#include "base/error.h"
#include "ops/ops.h"

static bool custom_check(heed_call *c) {
  return heed_fail("%s: is recorded only, never run", c->op->name);
}
static bool custom_bwd(heed_rule_call *r) {
  const heed_custom *custom = &r->node->custom;
  return custom->backward(custom->context, r);
}
const heed_rule heed_rule_custom = {
    .check = custom_check, .backward = custom_bwd};
