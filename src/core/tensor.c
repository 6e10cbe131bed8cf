/* tensor - a view of shared, counted storage. Layer: core. */
#include "core/tensor.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "core/extra.h"
#include "core/family.h"
#include "core/node.h"

/* The data lies behind the head, in one block. */
#define HEAD ((sizeof(heed_storage) + HEED_ALIGN - 1) / HEED_ALIGN * HEED_ALIGN)

static heed_storage *storage_new(size_t bytes) {
  heed_storage *s = heed_mem_alloc(HEAD + bytes);
  if (!s) return NULL;
  *s = (heed_storage){.bytes = bytes, .data = (char *)s + HEAD};
  return s;
}

/* Changes both counts; the watcher's bytes follow. */
static void storage_count(heed_storage *s, int refs, int sole) {
  bool was = s->refs > 0 && s->sole == s->refs;
  s->refs += refs;
  s->sole += sole;
  bool is = s->refs > 0 && s->sole == s->refs;
  if (s->watch && was != is)
    *s->watch += is ? (int64_t)s->bytes : -(int64_t)s->bytes;
  if (s->refs == 0) heed_mem_free(s, HEAD + s->bytes);
}

/* A tensor without storage. */
static heed_tensor *shell_new(heed_dtype dtype, const heed_shape *shape) {
  heed_tensor *t = heed_mem_alloc(sizeof *t);
  if (!t) return NULL;
  t->refs = 1;
  t->dtype = dtype;
  t->shape = *shape;
  t->offset = 0;
  t->storage = NULL;
  t->node = NULL;
  t->slot = 0;
  t->family = NULL;
  t->seen = 0;
  t->requires_grad = t->weak = t->watched = false;
  t->extra = NULL;
  return t;
}

heed_tensor *heed_tensor_new(const char *op, heed_dtype dtype,
                             const heed_shape *shape) {
  if (!heed_shape_check(op, shape, dtype)) return NULL;
  size_t bytes = (size_t)heed_shape_numel(shape) * heed_dtype_size(dtype);
  heed_tensor *t = shell_new(dtype, shape);
  if (!t) return NULL;
  heed_shape_strides(shape, t->stride);
  t->storage = storage_new(bytes);
  if (!t->storage) {
    heed_mem_free(t, sizeof *t);
    heed_fail_prefix("%s: %s %s: ", op, heed_dtype_name(dtype),
                     heed_shape_text(shape));
    return NULL;
  }
  t->storage->refs = 1;
  return t;
}

heed_tensor *heed_tensor_scalar(heed_dtype dtype, double f, int64_t i) {
  heed_tensor *t = heed_tensor_new("scalar", dtype, &(heed_shape){0});
  if (!t) return NULL;
  heed_element_store(dtype, t->storage->data, 0,
                     !heed_dtype_is_float(dtype),
                     (heed_value){.f = f, .i = i});
  return t;
}

heed_tensor *heed_tensor_view(heed_tensor *base, const heed_shape *shape,
                              const int64_t *stride, int64_t offset) {
  heed_tensor *t = shell_new(base->dtype, shape);
  if (!t) return NULL;
  memcpy(t->stride, stride, sizeof *stride * (size_t)shape->ndim);
  t->offset = offset;
  t->storage = base->storage;
  storage_count(t->storage, 1, 0);
  return t;
}

heed_tensor *heed_tensor_detach(heed_tensor *t) {
  return heed_tensor_view(t, &t->shape, t->stride, t->offset);
}

heed_tensor *heed_tensor_ref(heed_tensor *t) {
  if (t->watched && t->refs == 1) storage_count(t->storage, 0, -1);
  t->refs++;
  return t;
}

void heed_tensor_drop(heed_tensor *t) {
  if (!t) return;
  if (--t->refs > 0) {
    if (t->watched && t->refs == 1) storage_count(t->storage, 0, 1);
    return;
  }
  storage_count(t->storage, -1, 0);
  heed_node *node = t->node;
  if (t->extra) heed_extra_drop(t);
  heed_family_leave(t);
  heed_mem_free(t, sizeof *t);
  heed_node_drop(node);
}

bool heed_tensor_tracks(const heed_tensor *t) {
  return t->requires_grad || t->node || heed_family_behind(t);
}

void heed_tensor_watch(heed_tensor *t, int64_t *count) {
  if (t->watched) return;
  t->watched = true;
  if (!t->storage->watch) t->storage->watch = count;
  if (t->refs == 1) storage_count(t->storage, 0, 1);
}

void heed_tensor_unwatch(heed_tensor *t) {
  if (t->watched && t->refs == 1) storage_count(t->storage, 0, -1);
  t->watched = false;
  heed_tensor_drop(t);
}

bool heed_tensor_is_contiguous(const heed_tensor *t) {
  int64_t step = 1;
  for (int i = t->shape.ndim - 1; i >= 0; i--) {
    if (t->shape.dim[i] == 0) return true;
    if (t->shape.dim[i] == 1) continue;
    if (t->stride[i] != step) return false;
    step *= t->shape.dim[i];
  }
  return true;
}

/* Taken by growing strides, every dimension must step over all that the ones
   before it reach. */
bool heed_tensor_is_folded(const heed_tensor *t) {
  bool done[HEED_MAX_DIM] = {false};
  int64_t reach = 0; /* of the dimensions done, from the first element */
  if (heed_tensor_numel(t) < 2) return false;
  for (int round = 0; round < t->shape.ndim; round++) {
    int next = -1;
    int64_t step = INT64_MAX;
    for (int d = 0; d < t->shape.ndim; d++) {
      int64_t stride = t->stride[d] < 0 ? -t->stride[d] : t->stride[d];
      if (done[d] || t->shape.dim[d] == 1 || stride >= step) continue;
      next = d;
      step = stride;
    }
    if (next < 0) break;
    if (step <= reach) return true;
    reach += step * (t->shape.dim[next] - 1);
    done[next] = true;
  }
  return false;
}

bool heed_tensor_overlaps(const heed_tensor *a, const heed_tensor *b) {
  if (a->storage != b->storage) return false;
  if (a->offset != b->offset || !heed_shape_equal(&a->shape, &b->shape))
    return true;
  for (int d = 0; d < a->shape.ndim; d++)
    if (a->shape.dim[d] > 1 && a->stride[d] != b->stride[d]) return true;
  return false;
}

const char *heed_tensor_text(const heed_tensor *t) {
  static _Thread_local char buffer[4][220];
  static _Thread_local unsigned turn;
  char *text = buffer[turn++ % 4];
  snprintf(text, sizeof buffer[0], "%s %s", heed_dtype_name(t->dtype),
           heed_shape_text(&t->shape));
  return text;
}
