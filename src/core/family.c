/* family - histories of views that are written to. Layer: core.
 * Read first: family.h. */
#include "core/family.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "core/node.h"

static heed_family *found(heed_tensor *base) {
  heed_family *f = heed_mem_alloc(sizeof *f);
  if (!f) return NULL;
  *f = (heed_family){.refs = 1, .base = base, .node = base->node,
                     .slot = base->slot, .dtype = base->dtype,
                     .contiguous = heed_tensor_is_contiguous(base),
                     .offset = base->offset, .shape = base->shape};
  if (f->node) f->node->refs++;
  base->family = f;
  base->seen = 0;
  return f;
}

bool heed_family_join(heed_tensor *view, heed_tensor *base) {
  heed_family *f = base->family ? base->family : found(base);
  if (!f) return false;
  f->refs++;
  view->family = f;
  view->seen = f->writes;
  return true;
}

void heed_family_leave(heed_tensor *t) {
  heed_family *f = t->family;
  if (!f) return;
  t->family = NULL;
  if (f->base == t) f->base = NULL;
  if (--f->refs > 0) return;
  heed_node *node = f->node;
  heed_mem_free(f, sizeof *f);
  heed_node_drop(node);
}

/* Where the gradient of the base goes. */
static heed_edge base_edge(const heed_family *f) {
  return (heed_edge){.node = f->node, .slot = f->slot,
                     .need = f->node != NULL, .dtype = f->dtype,
                     .shape = f->shape};
}

static heed_shape strides_of(const heed_tensor *t) {
  heed_shape list = {.ndim = t->shape.ndim};
  memcpy(list.dim, t->stride, sizeof *t->stride * (size_t)list.ndim);
  return list;
}

/* Takes over the reference to `node`. */
static void set_node(heed_node **at, uint8_t *slot, heed_node *node,
                     uint8_t k) {
  heed_node *old = *at;
  *at = node;
  *slot = k;
  heed_node_drop(old);
}

bool heed_family_catch_up(heed_tensor *t) {
  heed_family *f = t->family;
  heed_node *node = f->node;
  uint8_t slot = f->slot;
  if (t == f->base) {
    node->refs++;
  } else {
    heed_edge edge = base_edge(f);
    heed_attr attr[3] = {{.list = t->shape}, {.list = strides_of(t)},
                         {.i = t->offset - f->offset}};
    node = heed_node_make("strided", &edge, 1, attr, t);
    slot = 0;
    if (!node) return false;
  }
  t->seen = f->writes;
  set_node(&t->node, &t->slot, node, slot);
  return true;
}

bool heed_family_check_write(const heed_call *c, const heed_tensor *t) {
  const heed_family *f = t->family;
  if (!f) return true;
  const char *name = heed_input_name(c, c->in_place - 1);
  /* views find their places in a base by its strides, which its gradient,
     row-major, has only when it is contiguous */
  if (t == f->base)
    return f->contiguous || f->refs == 1 ||
           heed_fail("%s: %s is not contiguous, has views and takes part in "
                     "gradients; write to a copy (clone)", c->op->name, name);
  if (f->base && f->base->requires_grad && !f->node)
    return heed_fail("%s: %s is a view of a leaf that wants gradients; write "
                     "to it inside heed.no_grad", c->op->name, name);
  return f->contiguous ||
         heed_fail("%s: %s is a view of a tensor that is not contiguous and "
                   "takes part in gradients; write to a copy (clone)",
                   c->op->name, name);
}

bool heed_family_wrote(heed_tensor *t) {
  heed_family *f = t->family;
  if (!f) return true;
  heed_node *node = t->node;
  uint8_t slot = t->slot;
  if (t == f->base) {
    node->refs++;
  } else {
    heed_edge edge[2] = {base_edge(f),
                         {.node = t->node, .slot = t->slot, .need = true,
                          .dtype = t->dtype, .shape = t->shape}};
    heed_attr attr[2] = {{.list = strides_of(t)},
                         {.i = t->offset - f->offset}};
    heed_tensor whole = {.dtype = f->dtype, .shape = f->shape};
    node = heed_node_make("strided_write", edge, 2, attr, &whole);
    slot = 0;
    if (!node) return false;
  }
  set_node(&f->node, &f->slot, node, slot);
  t->seen = ++f->writes;
  return true;
}
