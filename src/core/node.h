/*
 * node - one recorded call of an op, and how backward rules see it.
 * Layer: core. Read first: op.h.
 *
 * A result owns its node; a node owns its inputs (values only where the rule
 * keeps them) and through them the nodes before it. Nothing points forward,
 * so dropping the last result frees the graph. Frees are a loop.
 */
#ifndef HEED_CORE_NODE_H
#define HEED_CORE_NODE_H

#include "core/op.h"

/* Where the gradient of an input goes, and what is kept of the input. */
typedef struct heed_edge {
  heed_tensor *value; /* kept by the rule, or a leaf; else NULL */
  bool kept;          /* value may be read, and version is that of then */
  uint32_t version;
  struct heed_node *node; /* that made the input, or NULL for a leaf */
  uint8_t slot;
  bool need; /* wants a gradient */
  heed_dtype dtype;
  heed_shape shape;
} heed_edge;

/* What is known of a result. */
typedef struct heed_end {
  heed_tensor *value; /* kept by the rule (without graph), or NULL */
  uint32_t version;
  heed_dtype dtype;
  heed_shape shape;
  heed_tensor *grad; /* gathered during a backward walk */
} heed_end;

struct heed_hook;
struct heed_rule_call;

/* The backward rule of a node that no rule of the op table made. */
typedef struct heed_custom {
  bool (*backward)(void *context, struct heed_rule_call *r);
  void (*drop)(void *context);
  void *context;
} heed_custom;

typedef struct heed_node {
  int refs;
  const heed_op *op;
  uint64_t number; /* nodes are numbered as they are made: inputs first */
  bool spent;      /* backward has freed what was kept */
  const void *walk; /* that has it to visit, or is at it; else NULL */
  uint8_t path;    /* marks of a walk for some gradients only, see path.h */
  int nin, nout, nattr;
  heed_edge *in;
  heed_end *out;
  heed_attr *attr;
  struct heed_hook *hooks; /* see extra.h */
  heed_custom custom;      /* of the op `custom` */
  char *where;             /* the line that made it, in anomaly mode */
  size_t bytes;
} heed_node;

/* Records a finished call and makes its results point to the node. */
bool heed_node_record(heed_call *c);
/* A node that no call made: op `name` on inputs from the given edges, whose
   nodes are referenced; its one result is like `result`. */
heed_node *heed_node_make(const char *name, const heed_edge *in, int nin,
                          const heed_attr *attr, const heed_tensor *result);
void heed_node_drop(heed_node *n);
/* The same view as t, as result `slot` of n; n may be NULL. */
heed_tensor *heed_node_result(heed_node *n, uint8_t slot, heed_tensor *t);
/* Makes `out`, which have no history yet, results of a function of `in` with
   a backward rule of its own; takes over the custom's context, and drops it
   on failure. */
bool heed_node_custom(heed_tensor **in, int nin, heed_tensor **out, int nout,
                      const heed_custom *custom);

/* One run of a backward rule. Rules call ops through heed_do; the results
   belong to the run, which frees them, so a rule frees nothing. */
typedef struct heed_rule_call {
  heed_node *node;
  heed_attr *attr;
  heed_tensor **grad;   /* of each result; NULL when none arrived */
  heed_tensor **given;  /* what the rule gives, by input */
  heed_tensor **own;    /* results of ops so far */
  int nown, room;
  bool failed;
  bool wants_leaves; /* the walk gathers in the leaves' grad */
} heed_rule_call;

static inline bool heed_needs(const heed_rule_call *r, int input) {
  return input < r->node->nin && r->node->in[input].need;
}

/* Kept values; NULL and failure when overwritten since, or left out. */
heed_tensor *heed_in(heed_rule_call *r, int input);
heed_tensor *heed_kept_out(heed_rule_call *r, int result);
/* The gradient of result k, zeros when none arrived. */
heed_tensor *heed_grad_of(heed_rule_call *r, int k);

/* Zeros in the shape of an input. */
heed_tensor *heed_grad_zeros(heed_rule_call *r, int input);

static inline const heed_shape *heed_in_shape(const heed_rule_call *r,
                                              int input) {
  return &r->node->in[input].shape;
}

/* Runs an op inside a rule and lends its first result (NULL on failure, also
   when an input is NULL where one must be: failures pass through). */
heed_tensor *heed_do(heed_rule_call *r, const heed_op *op,
                     heed_tensor **in, int nin, const heed_attr *attr);
/* The same, and lends all `nout` results. */
bool heed_do_all(heed_rule_call *r, const heed_op *op, heed_tensor **in,
                 int nin, const heed_attr *attr, heed_tensor **out);

/* Takes over a reference that the run is to free, and lends it. */
heed_tensor *heed_node_lend(heed_rule_call *r, heed_tensor *t);
/* Gives the gradient of an input, summed down to its shape where the input
   was broadcast. A NULL gradient is a failure that has been reported. */
bool heed_give(heed_rule_call *r, int input, heed_tensor *gradient);

/* Walks back from some tensors; gradient[i], which may be NULL for one
   element, is that of t[i]. Gradients gather in the leaves' grad; or, when
   `wanted` is given, only in found[i] for wanted[i] (leaves or results). */
typedef struct heed_walk {
  bool retain;       /* keep what was saved, for another walk */
  bool create_graph; /* record the rules themselves */
  heed_tensor **wanted;
  int nwanted;
  heed_tensor **found;
} heed_walk;
bool heed_backward(heed_tensor *const *t, heed_tensor *const *gradient, int n,
                   const heed_walk *walk);

/* -- looking for the first NaN -- */

/* In anomaly mode a result that holds NaN, of inputs that do not, is a
   failure; so is a gradient. `where`, when set, describes the line that is
   running. Per thread. */
typedef struct heed_anomaly {
  bool on;
  const char *where;
} heed_anomaly;
extern bool heed_anomaly_used; /* by some thread, ever */
/* NULL unless the mode is on. */
heed_anomaly *heed_anomaly_find(void);
static inline heed_anomaly *heed_anomaly_get(void) {
  return heed_anomaly_used ? heed_anomaly_find() : NULL;
}
bool heed_anomaly_set(bool on); /* returns the former state */
/* Fails when an output of the finished call is the first NaN. */
bool heed_anomaly_check_call(const heed_call *c);
bool heed_anomaly_check_gradient(const heed_node *n, int input,
                                 heed_tensor *gradient);

#endif
