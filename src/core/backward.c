/*
 * backward - gradients, by a walk from a result to the leaves. Layer: core.
 * Read first: node.h.
 *
 * Nodes carry numbers that grow as they are made, so every user of a result
 * has a larger number than the node that made it. The walk keeps the nodes
 * that have received a gradient in a heap, largest number first: when a node
 * is taken out, all its users are done and its gradient is complete. Example:
 * y = x * x + x makes node 0 (mul) and node 1 (add); from y: add gives its
 * gradient to mul and to x; then mul gives 2 x g to x; the heap is empty.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/parallel.h"
#include "core/extra.h"
#include "core/family.h"
#include "core/node.h"
#include "core/path.h"

/* The gradient of a leaf with hooks, which wait until it is complete. */
typedef struct held {
  heed_tensor *leaf, *grad;
} held;

typedef struct walker {
  const heed_walk *walk;
  heed_node **heap;
  int size, room;
  heed_tensor **given;
  int given_room;
  held *held;
  int nheld;
} walker;

static bool push(walker *w, heed_node *n) {
  if (n->walk == w) return true;
  if (n->walk)
    return heed_fail("backward: called from a hook or a rule of a backward "
                     "that is under way, and both pass through %s; start "
                     "from a copy cut off by detach()", n->op->name);
  if (w->size == w->room) {
    int room = w->room ? 2 * w->room : 64;
    heed_node **more = realloc(w->heap, sizeof *more * (size_t)room);
    if (!more) return heed_fail_memory(sizeof *more * (size_t)room);
    w->heap = more;
    w->room = room;
  }
  n->refs++; /* the heap's own, so that freeing as we go is safe */
  n->walk = w;
  int i = w->size++;
  for (; i > 0 && w->heap[(i - 1) / 2]->number < n->number; i = (i - 1) / 2)
    w->heap[i] = w->heap[(i - 1) / 2];
  w->heap[i] = n;
  return true;
}

static heed_node *pop(walker *w) {
  heed_node *top = w->heap[0], *last = w->heap[--w->size];
  int i = 0;
  for (;;) {
    int child = 2 * i + 1;
    if (child >= w->size) break;
    if (child + 1 < w->size &&
        w->heap[child + 1]->number > w->heap[child]->number)
      child++;
    if (w->heap[child]->number <= last->number) break;
    w->heap[i] = w->heap[child];
    i = child;
  }
  if (w->size) w->heap[i] = last;
  return top;
}

/* *sum += g; takes over the caller's reference to g. Adds in place where
   nobody else can see it. */
static bool gather(const walker *w, heed_tensor **sum, heed_tensor *g) {
  if (!*sum) {
    *sum = g;
    return true;
  }
  heed_tensor *old = *sum;
  bool mine = old->refs == 1 && old->storage->refs == 1 &&
              !w->walk->create_graph && heed_tensor_is_contiguous(old);
  heed_tensor *in[2] = {old, g};
  heed_tensor *now = heed_op_run(mine ? "add_" : "add", in, 2, NULL);
  heed_dtype dtype = old->dtype;
  heed_tensor_drop(g);
  if (!now) return false;
  heed_tensor_drop(old);
  *sum = now;
  if (now->dtype == dtype) return true;
  /* halves are added as float32 */
  *sum = heed_op_run("to", &now, 1, &(heed_attr){.i = dtype});
  heed_tensor_drop(now);
  return *sum != NULL;
}

/* Puts g into the grad of t: one that users can keep and write to. */
static bool gather_grad(const walker *w, heed_tensor *t, heed_tensor *g) {
  heed_tensor **place = heed_extra_grad_place(t);
  bool alone = g->storage->refs == 1 && g->refs == 1 &&
               heed_tensor_is_contiguous(g);
  if (place && !*place && !w->walk->create_graph && !alone) {
    /* another tensor uses this storage: writing to one would change both */
    heed_tensor *copy = heed_op_run("clone", &g, 1, NULL);
    heed_tensor_drop(g);
    g = copy;
  }
  if (place && g) return gather(w, place, g);
  heed_tensor_drop(g);
  return false;
}

static bool deliver(const walker *w, heed_tensor *leaf, heed_tensor *g) {
  for (int i = 0; i < w->walk->nwanted; i++)
    if (w->walk->wanted[i] == leaf) return gather(w, &w->walk->found[i], g);
  if (!w->walk->wanted) return gather_grad(w, leaf, g);
  heed_tensor_drop(g);
  return true;
}

static bool hold(walker *w, heed_tensor *leaf, heed_tensor *g) {
  for (int i = 0; i < w->nheld; i++)
    if (w->held[i].leaf == leaf) return gather(w, &w->held[i].grad, g);
  held *more = realloc(w->held, sizeof *more * (size_t)(w->nheld + 1));
  if (!more) {
    heed_tensor_drop(g);
    return heed_fail_memory(sizeof *more * (size_t)(w->nheld + 1));
  }
  w->held = more;
  w->held[w->nheld++] = (held){heed_tensor_ref(leaf), g};
  return true;
}

/* Sends g to where input e came from; takes over the reference. */
static bool send(walker *w, heed_edge *e, heed_tensor *g) {
  if (e->node) {
    if (w->walk->wanted && !(e->node->path & HEED_PATH_LEADS)) {
      heed_tensor_drop(g);
      return true;
    }
    if (push(w, e->node)) return gather(w, &e->node->out[e->slot].grad, g);
    heed_tensor_drop(g);
    return false;
  }
  if (e->value->extra && e->value->extra->hooks) return hold(w, e->value, g);
  return deliver(w, e->value, g);
}

/* Lets the hooks of result `slot` see *g, and change it. */
static bool run_hooks(const walker *w, heed_hook *list, int slot,
                      heed_tensor **g) {
  for (heed_hook *h = list; h; h = h->next) {
    if (h->slot != slot) continue;
    if (h->keeper) {
      if (!gather_grad(w, h->keeper, heed_tensor_ref(*g))) return false;
    } else if (h->context) {
      heed_tensor *next = h->run(h->context, *g);
      if (!next) return false;
      heed_tensor_drop(*g);
      *g = next;
    }
  }
  return true;
}

static bool deliver_held(walker *w) {
  bool ok = true;
  for (int i = 0; i < w->nheld; i++) {
    held *h = &w->held[i];
    ok = ok && run_hooks(w, h->leaf->extra->hooks, 0, &h->grad);
    if (ok) ok = deliver(w, h->leaf, h->grad);
    else heed_tensor_drop(h->grad);
    heed_tensor_drop(h->leaf);
  }
  free(w->held);
  return ok;
}

static bool collect_wanted(walker *w, heed_node *n) {
  for (int i = 0; i < w->walk->nwanted; i++) {
    heed_tensor *t = w->walk->wanted[i];
    if (t->node != n || !n->out[t->slot].grad) continue;
    heed_tensor *g = heed_tensor_ref(n->out[t->slot].grad);
    if (!gather(w, &w->walk->found[i], g)) return false;
  }
  return true;
}

/* Drops what the node kept, and its links, as soon as it is done. */
static void spend(heed_node *n) {
  n->spent = true;
  heed_custom custom = n->custom;
  n->custom = (heed_custom){0};
  if (custom.drop) custom.drop(custom.context);
  for (int i = 0; i < n->nin; i++) {
    heed_tensor_drop(n->in[i].value);
    n->in[i].value = NULL;
    heed_node *before = n->in[i].node;
    n->in[i].node = NULL;
    heed_node_drop(before);
  }
  for (int k = 0; k < n->nout; k++) {
    heed_tensor_drop(n->out[k].value);
    n->out[k].value = NULL;
  }
}

static bool run_rule(walker *w, heed_node *n) {
  heed_tensor *grad[HEED_MAX_OUT] = {0};
  for (int k = 0; k < n->nout; k++) {
    grad[k] = n->out[k].grad;
    n->out[k].grad = NULL;
  }
  memset(w->given, 0, sizeof *w->given * (size_t)n->nin);
  heed_rule_call r = {.node = n, .attr = n->attr, .grad = grad,
                      .given = w->given, .wants_leaves = !w->walk->wanted};
  /* a rule is blamed as a whole, not the ops that it is made of */
  bool look = heed_anomaly_get() && heed_anomaly_set(false);
  heed_scope was = heed_scope_enter(HEED_SCOPE_RESULT);
  /* a rule in Lua may set the number of threads for the ops that it calls */
  bool holds = !n->custom.backward;
  int threads_before = holds ? heed_parallel_enter() : 0;
  bool ok = n->op->rule->backward(&r) && !r.failed;
  if (holds) heed_parallel_leave(threads_before);
  if (heed_interrupt_take()) ok = heed_fail("backward: interrupted");
  heed_scope_leave(was);
  if (look) heed_anomaly_set(true);
  for (int i = 0; ok && look && i < n->nin; i++)
    ok = !w->given[i] || heed_anomaly_check_gradient(n, i, w->given[i]);
  for (int i = 0; i < n->nin; i++)
    if (w->given[i]) heed_tensor_ref(w->given[i]);
  for (int i = 0; i < r.nown; i++) heed_tensor_drop(r.own[i]);
  free(r.own);
  for (int k = 0; k < n->nout; k++) heed_tensor_drop(grad[k]);
  for (int i = 0; i < n->nin; i++) {
    heed_tensor *g = w->given[i];
    if (!g) continue;
    if (ok && n->in[i].need)
      ok = send(w, &n->in[i], g);
    else
      heed_tensor_drop(g);
  }
  return ok;
}

static bool check_rule(const walker *w, const heed_node *n) {
  if (n->spent)
    return heed_fail("backward: the graph through %s was freed by an earlier "
                     "backward; pass retain_graph = true there",
                     n->op->name);
  if (w->walk->create_graph && n->op->rule->fused)
    return heed_fail("backward: %s is fused and cannot be differentiated "
                     "twice", n->op->name);
  return true;
}

static bool make_room(walker *w, const heed_node *n) {
  if (n->nin <= w->given_room) return true;
  heed_tensor **more = realloc(w->given, sizeof *more * (size_t)n->nin);
  if (!more) return heed_fail_memory(sizeof *more * (size_t)n->nin);
  w->given = more;
  w->given_room = n->nin;
  return true;
}

static bool step(walker *w, heed_node *n) {
  for (int k = 0; n->hooks && k < n->nout; k++)
    if (n->out[k].grad && !run_hooks(w, n->hooks, k, &n->out[k].grad))
      return false;
  if (w->walk->nwanted && !collect_wanted(w, n)) return false;
  if (w->walk->wanted && !(n->path & HEED_PATH_PASSES)) return true;
  if (!check_rule(w, n) || !make_room(w, n) || !run_rule(w, n)) return false;
  if (!w->walk->retain) spend(n);
  return true;
}

/* The node is done, or given up: forgets what it has gathered. */
static void leave(heed_node *n) {
  for (int k = 0; k < n->nout; k++) {
    heed_tensor_drop(n->out[k].grad);
    n->out[k].grad = NULL;
  }
  n->walk = NULL;
  heed_node_drop(n);
}

static heed_tensor *first_gradient(heed_tensor *t, heed_tensor *gradient) {
  if (gradient) {
    if (!heed_shape_equal(&gradient->shape, &t->shape) ||
        gradient->dtype != t->dtype) {
      heed_fail("backward: gradient must be %s like the tensor, got %s",
                heed_tensor_text(t), heed_tensor_text(gradient));
      return NULL;
    }
    return heed_tensor_ref(gradient);
  }
  if (heed_tensor_numel(t) != 1) {
    heed_fail("backward: a gradient is needed for a tensor with more than "
              "one element, got %s", heed_tensor_text(t));
    return NULL;
  }
  heed_tensor *one = heed_tensor_new("backward", t->dtype, &t->shape);
  if (!one) return NULL;
  heed_element_store(t->dtype, one->storage->data, 0, true,
                     (heed_value){.i = 1});
  return one;
}

static bool start(walker *w, heed_tensor *t, heed_tensor *gradient) {
  if (!heed_tensor_tracks(t))
    return heed_fail("backward: no input of this tensor wants gradients "
                     "(requires_grad), %s", heed_tensor_text(t));
  if (!heed_family_sync(t)) return false;
  heed_tensor *g = first_gradient(t, gradient);
  heed_edge root = {.value = t, .node = t->node, .slot = t->slot};
  return g && send(w, &root, g);
}

bool heed_backward(heed_tensor *const *t, heed_tensor *const *gradient, int n,
                   const heed_walk *walk) {
  walker w = {.walk = walk};
  heed_path path = {0};
  bool ok = true, was = heed_grad_mode(walk->create_graph);
  for (int i = 0; ok && i < walk->nwanted; i++)
    ok = heed_family_sync(walk->wanted[i]);
  for (int i = 0; ok && i < n; i++) ok = heed_family_sync(t[i]);
  if (ok && walk->wanted) ok = heed_path_mark(&path, t, n, walk);
  for (int i = 0; ok && i < n; i++) ok = start(&w, t[i], gradient[i]);
  while (ok && w.size) {
    heed_node *node = pop(&w);
    ok = step(&w, node);
    leave(node);
  }
  if (ok) {
    ok = deliver_held(&w);
  } else {
    for (int i = 0; i < w.nheld; i++) {
      heed_tensor_drop(w.held[i].grad);
      heed_tensor_drop(w.held[i].leaf);
    }
    free(w.held);
  }
  heed_grad_mode(was);
  while (w.size) leave(pop(&w)); /* after a failure */
  heed_path_clear(&path);
  free(w.heap);
  free(w.given);
  return ok;
}
