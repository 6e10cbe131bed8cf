/*
 * tensor - a view (shape, strides, offset) of shared, counted storage.
 * Layer: core. Read first: shape.h, dtype.h.
 *
 * Owning: heed_tensor_new and the other makers give the caller a reference;
 * heed_tensor_ref adds one, heed_tensor_drop gives one up.
 */
#ifndef HEED_CORE_TENSOR_H
#define HEED_CORE_TENSOR_H

#include <stdatomic.h>

#include "base/mapping.h"
#include "core/dtype.h"
#include "core/shape.h"
#include "heed.h"

struct heed_node;
struct heed_family;
struct heed_extra;

/* Written by whichever thread has the tensor, so that two may write at once:
   no value is torn, and a change that is lost does no harm to an estimate. */
typedef _Atomic int64_t heed_watch_count;

typedef struct heed_storage {
  int refs;  /* tensors that use it */
  int sole;  /* of these, the ones that only their watcher keeps alive */
  uint32_t version; /* counts in-place writes */
  size_t bytes;
  void *data;
  heed_mapping *mapping; /* that the data lies in, or NULL: behind this */
  /* the watcher's count of bytes that only it keeps alive, or NULL */
  heed_watch_count *watch;
} heed_storage;

/* 192 bytes, three lines of the cache: the order leaves no gaps. */
struct heed_tensor {
  int refs;
  heed_dtype dtype;
  heed_shape shape;
  int64_t stride[HEED_MAX_DIM]; /* in elements */
  int64_t offset;               /* of the first element, in elements */
  heed_storage *storage;
  /* gradients: a result has the node that made it */
  struct heed_node *node;
  struct heed_family *family; /* shared with views of it, or NULL */
  struct heed_extra *extra; /* its gradient and hooks, see extra.h, or NULL */
  uint32_t seen; /* writes that node accounts for, see family.h */
  uint8_t slot;  /* which output of node */
  bool requires_grad;
  bool weak;    /* a plain number: it takes the other operand's dtype */
  bool watched; /* held by a watcher, see heed_tensor_watch */
};

/* A new tensor, row-major, not filled. Fails for a shape that is negative or
   too large, or without memory; `op` opens the message. */
heed_tensor *heed_tensor_new(const char *op, heed_dtype dtype,
                             const heed_shape *shape);
/* A tensor whose data is `bytes` further on in a mapping, of which it takes a
   reference; the shape has been checked, to lie within it too, and the place is
   one that the dtype can have. Its memory is the system's and not counted. */
heed_tensor *heed_tensor_mapped(heed_dtype dtype, const heed_shape *shape,
                                heed_mapping *mapping, size_t bytes);
heed_tensor *heed_tensor_scalar(heed_dtype dtype, double f, int64_t i);

/* A new tensor that shares the storage of `base`; no graph. */
heed_tensor *heed_tensor_view(heed_tensor *base, const heed_shape *shape,
                              const int64_t *stride, int64_t offset);
/* The same view of the same storage, without history and gradient. */
heed_tensor *heed_tensor_detach(heed_tensor *t);

/* Takes over the caller's reference as the one of a watcher (the userdata of
   the binding): from now on *count holds, among others, the bytes of this
   storage whenever nothing but watchers keeps it alive. It must outlive the
   storage; NULL counts nothing. */
void heed_tensor_watch(heed_tensor *t, heed_watch_count *count);
/* The watcher's end: forgets it and drops the reference. */
void heed_tensor_unwatch(heed_tensor *t);

static inline void *heed_tensor_data(const heed_tensor *t) {
  return (char *)t->storage->data +
         t->offset * (int64_t)heed_dtype_size(t->dtype);
}

static inline int64_t heed_tensor_numel(const heed_tensor *t) {
  return heed_shape_numel(&t->shape);
}

/* Is what was read from it what stood there? Fails when its file was cut short
   under a mapping; to be asked after reading. */
static inline bool heed_tensor_check_whole(const char *op,
                                           const heed_tensor *t) {
  return !heed_mapping_any_broken() || !t->storage->mapping ||
         heed_mapping_check(t->storage->mapping, op);
}

/* Row-major without gaps. */
bool heed_tensor_is_contiguous(const heed_tensor *t);
/* May two of its elements be one place in memory? */
bool heed_tensor_is_folded(const heed_tensor *t);
/* Do both lie in one storage, and not place for place the same? */
bool heed_tensor_overlaps(const heed_tensor *a, const heed_tensor *b);

/* Is its history that of before a write to its family (family.h)? */
bool heed_tensor_is_behind(const heed_tensor *t);

/* Does this tensor take part in gradients? */
static inline bool heed_tensor_tracks(const heed_tensor *t) {
  return t->requires_grad || t->node ||
         (t->family && heed_tensor_is_behind(t));
}

/* "float32 [2 3]", like heed_shape_text. */
const char *heed_tensor_text(const heed_tensor *t);

#endif
