/* tensor - a view of shared, counted storage. Layer: core. */
#include "core/tensor.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "core/extra.h"
#include "core/family.h"
#include "core/node.h"

/* A new tensor, its storage and its data lie in one block, which lives as long
   as the storage; the tensors of views have blocks of their own. */
typedef struct block {
  heed_tensor tensor;
  _Alignas(HEED_ALIGN) heed_storage storage;
} block;

_Static_assert(sizeof(block) % HEED_ALIGN == 0, "data follows, aligned");

static bool in_block(const heed_tensor *t) {
  return (const char *)t->storage - (const char *)t ==
         (ptrdiff_t)offsetof(block, storage);
}

/* The bytes of data that lie behind a storage. */
static int64_t heap_bytes(const heed_storage *s) {
  return s->mapping ? 0 : (int64_t)s->bytes;
}

/* Changes both counts; the watcher's bytes follow. */
static void storage_count(heed_storage *s, int refs, int sole) {
  bool was = s->refs > 0 && s->sole == s->refs;
  s->refs += refs;
  s->sole += sole;
  bool is = s->refs > 0 && s->sole == s->refs;
  if (s->watch && was != is) {
    int64_t n = atomic_load_explicit(s->watch, memory_order_relaxed);
    n += is ? heap_bytes(s) : -heap_bytes(s);
    atomic_store_explicit(s->watch, n, memory_order_relaxed);
  }
  if (s->refs > 0) return;
  char *start = (char *)s - offsetof(block, storage);
  size_t heap = (size_t)heap_bytes(s);
  heed_mapping_drop(s->mapping);
  heed_mem_free(start, sizeof(block) + heap);
}

/* A tensor of a storage, of which it holds a reference that is counted
   already. */
static void tensor_init(heed_tensor *t, heed_dtype dtype,
                        const heed_shape *shape, heed_storage *storage,
                        int64_t offset) {
  t->refs = 1;
  t->dtype = dtype;
  t->shape = *shape;
  t->offset = offset;
  t->storage = storage;
  t->node = NULL;
  t->family = NULL;
  t->extra = NULL;
  t->seen = 0;
  t->slot = 0;
  t->requires_grad = t->weak = t->watched = false;
}

heed_tensor *heed_tensor_new(const char *op, heed_dtype dtype,
                             const heed_shape *shape) {
  if (!heed_shape_check(op, shape, dtype)) return NULL;
  size_t bytes = (size_t)heed_shape_numel(shape) * heed_dtype_size(dtype);
  block *b = heed_mem_alloc(sizeof *b + bytes);
  if (!b) {
    heed_fail_prefix("%s: %s %s: ", op, heed_dtype_name(dtype),
                     heed_shape_text(shape));
    return NULL;
  }
  b->storage = (heed_storage){.refs = 1, .bytes = bytes, .data = b + 1};
  tensor_init(&b->tensor, dtype, shape, &b->storage, 0);
  heed_shape_strides(shape, b->tensor.stride);
  return &b->tensor;
}

heed_tensor *heed_tensor_mapped(heed_dtype dtype, const heed_shape *shape,
                                heed_mapping *mapping, size_t bytes) {
  block *b = heed_mem_alloc(sizeof *b);
  if (!b) return NULL;
  b->storage = (heed_storage){
      .refs = 1, .data = (char *)heed_mapping_data(mapping) + bytes,
      .bytes = (size_t)heed_shape_numel(shape) * heed_dtype_size(dtype),
      .mapping = heed_mapping_ref(mapping)};
  tensor_init(&b->tensor, dtype, shape, &b->storage, 0);
  heed_shape_strides(shape, b->tensor.stride);
  return &b->tensor;
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
  heed_tensor *t = heed_mem_alloc(sizeof *t);
  if (!t) return NULL;
  tensor_init(t, base->dtype, shape, base->storage, offset);
  memcpy(t->stride, stride, sizeof *stride * (size_t)shape->ndim);
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

/* The last reference is gone; `sole` as of storage_count. */
static void tensor_free(heed_tensor *t, int sole) {
  heed_node *node = t->node;
  heed_storage *storage = t->storage;
  if (t->extra) heed_extra_drop(t);
  heed_family_leave(t);
  if (!in_block(t)) heed_mem_free(t, sizeof *t);
  storage_count(storage, -1, sole);
  heed_node_drop(node);
}

void heed_tensor_drop(heed_tensor *t) {
  if (!t) return;
  if (--t->refs == 0) tensor_free(t, 0);
  else if (t->watched && t->refs == 1) storage_count(t->storage, 0, 1);
}

bool heed_tensor_is_behind(const heed_tensor *t) {
  return heed_family_behind(t);
}

void heed_tensor_watch(heed_tensor *t, heed_watch_count *count) {
  if (t->watched) return;
  t->watched = true;
  if (!t->storage->watch) t->storage->watch = count;
  if (t->refs == 1) storage_count(t->storage, 0, 1);
}

void heed_tensor_unwatch(heed_tensor *t) {
  bool sole = t->watched && t->refs == 1;
  t->watched = false;
  if (--t->refs == 0) tensor_free(t, -sole);
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
