/*
 * extra - what few tensors have: a gradient, hooks. Layer: core.
 * Read first: tensor.h, node.h.
 *
 * A hook sees a gradient when it is complete, and may give another for it.
 * Those of a result stand in the node that made it, those of a leaf here.
 */
#ifndef HEED_CORE_EXTRA_H
#define HEED_CORE_EXTRA_H

#include "core/tensor.h"

struct heed_node;

typedef struct heed_hook {
  struct heed_hook *next;
  int refs; /* the list's, and the one of the caller that may remove it */
  uint8_t slot; /* which result of the node */
  /* Gives the gradient to go on with (a new reference), or fails with NULL.
     Without it the gradient is also gathered in `keeper`. */
  heed_tensor *(*run)(void *context, heed_tensor *gradient);
  void (*drop)(void *context);
  void *context;       /* NULL once removed */
  heed_tensor *keeper; /* not owned */
} heed_hook;

typedef struct heed_extra {
  heed_tensor *grad;
  heed_hook *hooks;        /* of a leaf */
  struct heed_node *kept_by; /* whose hook gathers in grad, owned */
  struct heed_extra *next;   /* of those to be freed */
} heed_extra;

void heed_extra_drop(heed_tensor *t);

/* Lent, or NULL. */
static inline heed_tensor *heed_extra_grad(const heed_tensor *t) {
  return t->extra ? t->extra->grad : NULL;
}
/* Where the gradient stands, or NULL without memory. */
heed_tensor **heed_extra_grad_place(heed_tensor *t);

/* A hook on the gradient of t, behind those that are there; the caller gets a
   reference. Takes over `context`, and drops it on failure. */
heed_hook *heed_hook_add(heed_tensor *t,
                         heed_tensor *(*run)(void *context, heed_tensor *g),
                         void (*drop)(void *context), void *context);
/* It runs no more. Cheap to repeat. */
void heed_hook_remove(heed_hook *h);
void heed_hook_drop(heed_hook *h);
void heed_hooks_drop(heed_hook *list);

/* Makes t, a result, keep its gradient as leaves do. */
bool heed_extra_retain(heed_tensor *t);

#endif
