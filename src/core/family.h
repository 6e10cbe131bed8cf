/*
 * family - a tensor and its views, when they take part in gradients.
 * Layer: core. Read first: tensor.h, node.h.
 *
 * A write in place to one member changes what all of them hold, so all of
 * their histories change with it. The family keeps the history of its base:
 *
 *     base = x * 2        node A
 *     row = base[1]       node B, of A
 *     row:add_(w)         node C, of B and w, is the history of row; that of
 *                         the base becomes D: A with C in the place of row
 *
 * Members remember how many writes their own node has seen. One that is
 * behind gets, when its history is next asked for, a new node that reads its
 * part from the family's (heed_family_sync).
 */
#ifndef HEED_CORE_FAMILY_H
#define HEED_CORE_FAMILY_H

#include "core/op.h"

struct heed_node;

typedef struct heed_family {
  int refs;            /* members */
  uint32_t writes;     /* recorded ones, to any member */
  heed_tensor *base;   /* not owned; NULL once it is gone */
  struct heed_node *node; /* the history of the base, owned, or NULL */
  uint8_t slot;
  /* how the base lies in the storage */
  heed_dtype dtype;
  bool contiguous;
  int64_t offset;
  heed_shape shape;
} heed_family;

/* Makes `view` a member of the family of `base`, which may be founded by
   this. */
bool heed_family_join(heed_tensor *view, heed_tensor *base);
/* A member is gone. */
void heed_family_leave(heed_tensor *t);

/* Brings t->node up to date; call it before node is read. Cheap when there is
   nothing to do. */
bool heed_family_catch_up(heed_tensor *t);
static inline bool heed_family_behind(const heed_tensor *t) {
  return t->family && t->seen != t->family->writes;
}
static inline bool heed_family_sync(heed_tensor *t) {
  return !heed_family_behind(t) || heed_family_catch_up(t);
}

/* Fails when a recorded write to t must not be: `c` is the call that would
   write. */
bool heed_family_check_write(const heed_call *c, const heed_tensor *t);
/* t->node is that of a write to t: tells the family. */
bool heed_family_wrote(heed_tensor *t);

#endif
