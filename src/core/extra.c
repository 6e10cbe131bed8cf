/* extra - gradients and hooks of tensors. Layer: core. Read first: extra.h. */
#include "core/extra.h"

#include "base/error.h"
#include "base/memory.h"
#include "core/family.h"
#include "core/node.h"

static heed_extra *extra_of(heed_tensor *t) {
  if (t->extra) return t->extra;
  t->extra = heed_mem_alloc(sizeof *t->extra);
  if (t->extra) *t->extra = (heed_extra){0};
  return t->extra;
}

heed_tensor **heed_extra_grad_place(heed_tensor *t) {
  heed_extra *x = extra_of(t);
  return x ? &x->grad : NULL;
}

/* -- hooks -- */

void heed_hook_remove(heed_hook *h) {
  void *context = h->context;
  h->context = NULL;
  h->keeper = NULL;
  if (context) h->drop(context);
}

void heed_hook_drop(heed_hook *h) {
  if (!h || --h->refs > 0) return;
  heed_hook_remove(h);
  heed_mem_free(h, sizeof *h);
}

void heed_hooks_drop(heed_hook *list) {
  while (list) {
    heed_hook *next = list->next;
    heed_hook_remove(list);
    heed_hook_drop(list);
    list = next;
  }
}

static heed_hook *append(heed_hook **list, const heed_hook *as) {
  heed_hook *h = heed_mem_alloc(sizeof *h);
  if (!h) return NULL;
  *h = *as;
  h->next = NULL;
  while (*list) list = &(*list)->next;
  return *list = h;
}

/* The list that hooks of t belong to. */
static heed_hook **list_of(heed_tensor *t) {
  if (!heed_family_sync(t)) return NULL;
  if (t->node) return &t->node->hooks;
  heed_extra *x = extra_of(t);
  return x ? &x->hooks : NULL;
}

heed_hook *heed_hook_add(heed_tensor *t,
                         heed_tensor *(*run)(void *context, heed_tensor *g),
                         void (*drop)(void *context), void *context) {
  heed_hook **list = list_of(t);
  heed_hook *h = list ? append(list, &(heed_hook){.refs = 2, .slot = t->slot,
                                                  .run = run, .drop = drop,
                                                  .context = context})
                      : NULL;
  if (!h) drop(context);
  return h;
}

/* -- gradients of results -- */

bool heed_extra_retain(heed_tensor *t) {
  if (!heed_family_sync(t)) return false;
  heed_extra *x = extra_of(t);
  if (!x) return false;
  if (!t->node || x->kept_by) return true;
  if (!append(&t->node->hooks,
              &(heed_hook){.refs = 1, .slot = t->slot, .keeper = t}))
    return false;
  x->kept_by = t->node;
  t->node->refs++;
  return true;
}

static _Thread_local heed_extra *dead;
static _Thread_local bool freeing;

void heed_extra_drop(heed_tensor *t) {
  heed_extra *x = t->extra;
  t->extra = NULL;
  if (x->kept_by)
    for (heed_hook *h = x->kept_by->hooks; h; h = h->next)
      if (h->keeper == t) h->keeper = NULL;
  /* gradients may have gradients: a chain of them must not recurse */
  x->next = dead;
  dead = x;
  if (freeing) return;
  freeing = true;
  while ((x = dead)) {
    dead = x->next;
    heed_node_drop(x->kept_by);
    heed_hooks_drop(x->hooks);
    heed_tensor_drop(x->grad);
    heed_mem_free(x, sizeof *x);
  }
  freeing = false;
}
