/* path - which nodes lie on a way to wanted tensors. Layer: core.
 * Read first: path.h. */
#include "core/path.h"

#include <stdlib.h>

#include "base/error.h"

static bool add(heed_path *p, heed_node *n) {
  if (!n || n->path) return true;
  if (p->n == p->room) {
    int room = p->room ? 2 * p->room : 64;
    heed_node **more = realloc(p->node, sizeof *more * (size_t)room);
    if (!more) return heed_fail_memory(sizeof *more * (size_t)room);
    p->node = more;
    p->room = room;
  }
  n->refs++;
  n->path = HEED_PATH_SEEN;
  p->node[p->n++] = n;
  return true;
}

static int by_number(const void *a, const void *b) {
  uint64_t x = (*(heed_node *const *)a)->number;
  uint64_t y = (*(heed_node *const *)b)->number;
  return x < y ? -1 : x > y;
}

static bool is_wanted(const heed_walk *walk, const heed_edge *e) {
  for (int i = 0; i < walk->nwanted; i++)
    if (walk->wanted[i] == e->value) return true;
  return false;
}

static bool makes_wanted(const heed_walk *walk, const heed_node *n) {
  for (int i = 0; i < walk->nwanted; i++)
    if (walk->wanted[i]->node == n) return true;
  return false;
}

/* Inputs are marked before: their numbers are smaller. */
static void judge(const heed_walk *walk, heed_node *n) {
  for (int i = 0; i < n->nin; i++) {
    const heed_edge *e = &n->in[i];
    if (e->need && (e->node ? e->node->path & HEED_PATH_LEADS
                            : is_wanted(walk, e)))
      n->path |= HEED_PATH_LEADS | HEED_PATH_PASSES;
  }
  if (makes_wanted(walk, n)) n->path |= HEED_PATH_LEADS;
}

bool heed_path_mark(heed_path *p, heed_tensor *const *t, int n,
                    const heed_walk *walk) {
  for (int i = 0; i < n; i++)
    if (!add(p, t[i]->node)) return false;
  for (int at = 0; at < p->n; at++)
    for (int i = 0; i < p->node[at]->nin; i++)
      if (!add(p, p->node[at]->in[i].node)) return false;
  qsort(p->node, (size_t)p->n, sizeof *p->node, by_number);
  for (int i = 0; i < p->n; i++) judge(walk, p->node[i]);
  return true;
}

void heed_path_clear(heed_path *p) {
  for (int i = 0; i < p->n; i++) {
    p->node[i]->path = 0;
    heed_node_drop(p->node[i]);
  }
  free(p->node);
}
