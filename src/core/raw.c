/* raw - files of nothing but elements. Layer: core. Read first: raw.h. */
#include "core/raw.h"

#include "base/error.h"
#include "core/elements.h"
#include "core/file.h"
#include "core/reader.h"

typedef struct cursor {
  const heed_reader *reader;
  int64_t at;
  bool failed; /* the message is about reading, and whole */
} cursor;

static bool pull(void *from, void *data, size_t bytes) {
  cursor *c = from;
  c->failed = !heed_reader_read(c->reader, data, bytes, c->at);
  c->at += (int64_t)bytes;
  return !c->failed;
}

/* Fails unless the elements lie within the file; sets the shape that was left
   out. */
static bool check_size(const heed_reader *r, heed_dtype dtype,
                       const heed_shape *given, int64_t offset,
                       heed_shape *shape) {
  int64_t size = (int64_t)heed_dtype_size(dtype);
  if (offset < 0 || offset > r->size)
    return heed_reader_fail(r, "offset must be 0..%lld, the bytes of the "
                            "file, got %lld", (long long)r->size,
                            (long long)offset);
  int64_t left = r->size - offset;
  if (!given) {
    *shape = (heed_shape){1, {left / size}};
    return left % size == 0 ||
           heed_reader_fail(r, "%lld bytes are no whole number of %s, which "
                            "takes %lld", (long long)left,
                            heed_dtype_name(dtype), (long long)size);
  }
  *shape = *given;
  if (!heed_shape_check(r->op, shape, dtype)) return false;
  int64_t want = heed_shape_numel(shape) * size;
  return want <= left ||
         heed_reader_fail(r, "%s %s takes %lld bytes, but %lld are there from "
                          "offset %lld on", heed_dtype_name(dtype),
                          heed_shape_text(shape), (long long)want,
                          (long long)left, (long long)offset);
}

heed_tensor *heed_raw_load(const char *op, const char *path, heed_dtype dtype,
                           const heed_shape *given, int64_t offset) {
  heed_reader r;
  heed_shape shape;
  heed_tensor *t = NULL;
  if (!heed_reader_open(&r, op, path)) return NULL;
  if (check_size(&r, dtype, given, offset, &shape))
    t = heed_tensor_new(op, dtype, &shape);
  heed_encoding e = heed_encoding_of(dtype);
  cursor c = {&r, offset, false};
  if (t && !heed_elements_read(t, &e, pull, &c)) {
    if (!c.failed) heed_reader_blame(&r);
    heed_tensor_drop(t);
    t = NULL;
  }
  heed_reader_close(&r);
  return t;
}

static bool push(void *to, const void *data, size_t bytes) {
  return heed_file_write(to, data, bytes);
}

bool heed_raw_save(const char *op, const char *path, const heed_tensor *t) {
  heed_file f;
  if (!heed_file_begin(&f, op, path)) return false;
  if (heed_elements_write(op, t, push, &f)) return heed_file_commit(&f);
  heed_file_abandon(&f);
  return false;
}
