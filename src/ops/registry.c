/* registry - the op table, and the library's start. Layer: ops. */
#include <pthread.h>

#include "base/error.h"
#include "base/memory.h"
#include "kernel/kernel.h"
#include "ops/lapack.h"
#include "ops/ops.h"

static heed_op table[HEED_NOP] = {
#define OP(title, where, results, written)                  \
  {.name = #title, .group = #where, .signature = written,   \
   .rule = &heed_rule_##title, .nreturn = results},
#define OP_(title, where, results, written)                 \
  OP(title, where, results, written)                        \
  {.name = #title "_", .group = #where, .signature = written, \
   .rule = &heed_rule_##title, .nreturn = results, .twin = true},
#include "ops/ops.def"
#undef OP
#undef OP_
};

_Static_assert(HEED_NOP <= 1024,
               "core/op.c finds ops in a table of twice that");

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool ready;

static void start(void) {
  heed_mem_allow_fork();
  heed_lapack_allow_fork();
  heed_ops_set(table, HEED_NOP);
  for (int i = 0; i < HEED_NOP; i++)
    if (!heed_ops_parse(&table[i])) return;
  ready = heed_kernels_select();
}

bool heed_init(void) {
  pthread_once(&once, start);
  return ready;
}

heed_tensor *heed_do1(heed_rule_call *r, heed_op_id op, heed_tensor *a) {
  return heed_do(r, &table[op], &a, 1, NULL);
}

heed_tensor *heed_do2(heed_rule_call *r, heed_op_id op, heed_tensor *a,
                      heed_tensor *b) {
  return heed_do(r, &table[op], (heed_tensor *[]){a, b}, 2, NULL);
}

heed_tensor *heed_do3(heed_rule_call *r, heed_op_id op, heed_tensor *a,
                      heed_tensor *b, heed_tensor *c) {
  return heed_do(r, &table[op], (heed_tensor *[]){a, b, c}, 3, NULL);
}

heed_tensor *heed_do1_with(heed_rule_call *r, heed_op_id op, heed_tensor *a,
                           const heed_attr *attr) {
  return heed_do(r, &table[op], &a, 1, attr);
}

heed_tensor *heed_do2_with(heed_rule_call *r, heed_op_id op, heed_tensor *a,
                           heed_tensor *b, const heed_attr *attr) {
  return heed_do(r, &table[op], (heed_tensor *[]){a, b}, 2, attr);
}

heed_tensor *heed_do3_with(heed_rule_call *r, heed_op_id op, heed_tensor *a,
                           heed_tensor *b, heed_tensor *c,
                           const heed_attr *attr) {
  return heed_do(r, &table[op], (heed_tensor *[]){a, b, c}, 3, attr);
}

heed_tensor *heed_turn(heed_rule_call *r, heed_tensor *t) {
  return heed_do1(r, HEED_OP_transpose, t); /* the last two, by default */
}

heed_tensor *heed_unsqueeze(heed_rule_call *r, heed_tensor *t, int64_t dim) {
  return heed_do1_with(r, HEED_OP_unsqueeze, t, &(heed_attr){.i = dim});
}

bool heed_check_like(heed_call *c) {
  heed_out_like(c, 0, c->in[0]);
  return true;
}

bool heed_check_shape(heed_call *c) {
  heed_out(c, 0, c->in[0]->dtype, &c->attr[0].list);
  return true;
}

heed_tensor *heed_number(heed_rule_call *r, double value) {
  return heed_do(r, &table[HEED_OP_number], NULL, 0,
                 &(heed_attr){.f = value});
}
