/*
 * path - which nodes lie on a way to wanted tensors. Layer: core.
 * Read first: node.h.
 *
 * A walk for some gradients only leaves the rest of the graph alone, so that
 * it can be walked later. It marks the nodes first, in `path`.
 */
#ifndef HEED_CORE_PATH_H
#define HEED_CORE_PATH_H

#include "core/node.h"

enum {
  HEED_PATH_SEEN = 1,
  HEED_PATH_LEADS = 2, /* a wanted tensor is a result of it, or lies before */
  HEED_PATH_PASSES = 4 /* one lies before it: its rule must run */
};

typedef struct heed_path {
  heed_node **node; /* that are marked, each referenced */
  int n, room;
} heed_path;

/* Marks all that lies behind the n tensors t. Clear it in any case. */
bool heed_path_mark(heed_path *p, heed_tensor *const *t, int n,
                    const heed_walk *walk);
void heed_path_clear(heed_path *p);

#endif
