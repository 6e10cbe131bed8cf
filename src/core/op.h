/*
 * op - what an op is, and the one path that every call takes.
 * Layer: core. Read first: tensor.h.
 *
 * A line of ops/ops.def gives an op its name and signature; its family's file
 * gives it a heed_rule: check, forward, backward. A call goes through
 * heed_apply: check -> allocate -> forward -> record a node.
 */
#ifndef HEED_CORE_OP_H
#define HEED_CORE_OP_H

#include "core/tensor.h"

#define HEED_MAX_OUT 4
#define HEED_MAX_PARAM 24
#define HEED_MAX_KEEP 14

/* What a parameter of a signature takes. */
typedef enum heed_kind {
  HEED_KIND_TENSOR,  /* a tensor */
  HEED_KIND_OPERAND, /* a tensor or a plain number */
  HEED_KIND_TENSORS, /* a list of tensors, the last of the inputs */
  HEED_KIND_INT,
  HEED_KIND_POSITION, /* an element or class number: from 1 in Lua, 0 in C */
  HEED_KIND_FLOAT,
  HEED_KIND_BOOL,
  HEED_KIND_AXIS,  /* one dimension, may count from the end */
  HEED_KIND_AXES,  /* one or several; left out: all */
  HEED_KIND_SHAPE, /* a list of integers */
  HEED_KIND_DTYPE,
  HEED_KIND_CHOICE, /* one of a few words: their number, from 0 */
  HEED_KIND_GENERATOR /* of random numbers; left out: the default one */
} heed_kind;

#define HEED_DTYPE_AUTO (-1) /* a dtype left to the op: "auto" */

/* The value of a parameter that is no tensor. */
typedef union heed_attr {
  int64_t i; /* int, position, bool, dtype, choice; axis: from 0 */
  double f;
  heed_shape list; /* axes, shape; ndim = -1 when left out */
  struct heed_generator *generator; /* NULL: the default one */
} heed_attr;

typedef struct heed_param {
  char name[24];
  heed_kind kind;
  bool optional;     /* may be left out: a default, or a NULL input */
  heed_attr value;   /* the default */
  char choices[80];  /* "mean|sum|none" */
  char shown[24];    /* the default as the signature writes it */
} heed_param;

struct heed_call;
struct heed_rule_call;

/* How an op works. Inputs are numbered in the order of the signature. */
typedef struct heed_rule {
  /* Sets the results with heed_out or heed_out_view, or fails. */
  bool (*check)(struct heed_call *c);
  /* Fills the results. NULL when all of them are views. Must not fail for a
     call that check let through, except for values (an index) or memory. */
  bool (*forward)(struct heed_call *c);
  /* Gives gradients with heed_give. NULL: not differentiable. */
  bool (*backward)(struct heed_rule_call *r);
  /* keep[i] / keep_out[k]: which inputs' gradients need the value of input i
     / result k: bit j for input j, HEED_ALWAYS for any. */
  uint32_t keep[HEED_MAX_KEEP], keep_out[HEED_MAX_OUT];
  bool promote;   /* casts inputs to their common dtype first ... */
  uint32_t fixed; /* ... but not these (HEED_NEED) */
  bool to_float;  /* with promote: to float32 when they are no floats */
  bool fused;     /* backward is no op: it cannot be differentiated again */
  int in_place;   /* the result is input in_place - 1 itself, overwritten */
  bool moves;     /* only moves elements: takes float16 and bfloat16 as they
                     are, which other ops get as float32 ... */
  uint32_t halves; /* ... but for these (HEED_NEED; HEED_ALWAYS for all of a
                      list), taken as they are */
  bool elementwise; /* forward may write a result of any strides, which may be
                       input 0 itself */
} heed_rule;

#define HEED_ALWAYS 0xffffffffu
#define HEED_NEED(i) (1u << (i))

typedef struct heed_op {
  const char *name;
  const char *group;     /* where users find it, see ops.def */
  const char *signature; /* as written in ops.def */
  const heed_rule *rule;
  int nreturn; /* results that a caller gets; the others are for backward */
  bool twin;   /* the in-place form of the op before it in the table */
  bool plain;  /* takes tensors and operands, and nothing else */
  int nparam, ninput;
  heed_param param[HEED_MAX_PARAM];
} heed_op;

/* Where a result shall live. */
typedef struct heed_result {
  heed_dtype dtype;
  heed_shape shape;
  heed_tensor *base; /* a view of this, with the strides and offset below */
  int64_t stride[HEED_MAX_DIM], offset;
} heed_result;

typedef struct heed_call {
  const heed_op *op;
  int nin, nout;
  heed_tensor **in; /* NULL where an optional one is left out */
  heed_attr *attr;  /* in the order of the signature, tensors skipped */
  heed_result result[HEED_MAX_OUT];
  heed_tensor *out[HEED_MAX_OUT];
  uint32_t need;  /* bit i: input i wants a gradient (HEED_NEED) */
  int in_place;   /* result 0 is input in_place - 1; set by heed_apply */
  heed_tensor *before; /* a copy of that input, where backward needs it */
} heed_call;

/* For check: sets result k. A result that only backward uses comes after
   op->nreturn and may be left out (nout lower) when c->need is 0. */
void heed_out(heed_call *c, int k, heed_dtype dtype, const heed_shape *shape);
void heed_out_like(heed_call *c, int k, const heed_tensor *t);
void heed_out_view(heed_call *c, int k, heed_tensor *base,
                   const heed_shape *shape, const int64_t *stride,
                   int64_t offset);

/* Messages: "op: name [2 3] ..." for input i of a call. */
bool heed_want_float(const heed_call *c, int i);
bool heed_want_dtype(const heed_call *c, int i, heed_dtype dtype);
bool heed_want_ndim(const heed_call *c, int i, int least);
const char *heed_input_name(const heed_call *c, int i);
/* May input i, called so, be overwritten? No place of it may be two elements,
   and no gradient may be lost. */
bool heed_check_writable(const heed_call *c, int i, const char *name);

/* Turns an axis that may count from the end (-1: the last) into 0 .. ndim-1,
   or fails in the words of the user, who counts from 1. */
bool heed_axis(const heed_call *c, int i, int64_t *axis);
/* Marks in on[0 .. ndim-1] the axes of a list (all when left out). */
bool heed_axes(const heed_call *c, int i, const heed_shape *list, bool *on);

/* The op table; set once by ops/registry.c. */
void heed_ops_set(heed_op *ops, int count);
bool heed_ops_parse(heed_op *op);
const heed_op *heed_op_at(int i); /* NULL behind the last */
const heed_op *heed_op_find(const char *name);
static inline int heed_op_nattr(const heed_op *op) {
  return op->nparam - op->ninput;
}
/* The attributes an op has when nothing is given. */
void heed_op_defaults(const heed_op *op, heed_attr *attr);
/* A copy of attr, or the defaults where that is NULL, that a call may use. */
void heed_op_attributes(const heed_op *op, const heed_attr *attr,
                        heed_attr *copy);
/* The parameter of input number i (all inputs of a list have the one). */
const heed_param *heed_op_input(const heed_op *op, int i);
/* Reads one written value ("2", "true", "mean", "[0 1]") into *value; axes
   and positions count from `first` (0 or 1), negative ones from the end. */
bool heed_param_read(const heed_op *op, const heed_param *p, const char *text,
                     int first, heed_attr *value);

/* Runs an op: c->op, in, nin and attr are set by the caller, who keeps what
   `in` refers to. On success c->out[0 .. nout-1] are the caller's. */
bool heed_apply(heed_call *c);
/* Gives up every result but the first op->nreturn. */
void heed_call_trim(heed_call *c);
/* Runs op `name`, by its defaults where attr is NULL: its first result. */
heed_tensor *heed_op_run(const char *name, heed_tensor **in, int nin,
                         const heed_attr *attr);

#endif
