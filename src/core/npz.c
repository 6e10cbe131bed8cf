/* npz - NumPy's archives of named arrays. Layer: core. Read first: npz.h. */
#include "core/npz.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zip.h>

#include "base/error.h"
#include "core/reader.h"

#define SUFFIX ".npy"
#define SUFFIX_LENGTH 4

/* Deflate makes at most 258 bytes of 2 bits. */
#define MOST_EXPANDED 1032

/* -- reading: the archive's bytes for libzip -- */

typedef struct input {
  heed_reader reader;
  zip_error_t error;
  int64_t at;
  bool failed; /* the reader left a message */
} input;

static zip_int64_t read_input(input *in, void *data, zip_uint64_t bytes) {
  int64_t left = in->reader.size - in->at;
  if (left <= 0) return 0;
  if (bytes > (zip_uint64_t)left) bytes = (zip_uint64_t)left;
  if (!heed_reader_read(&in->reader, data, (size_t)bytes, in->at)) {
    in->failed = true;
    zip_error_set(&in->error, ZIP_ER_READ, EIO);
    return -1;
  }
  in->at += (int64_t)bytes;
  return (zip_int64_t)bytes;
}

static zip_int64_t input_command(void *user, void *data, zip_uint64_t bytes,
                                 zip_source_cmd_t command) {
  input *in = user;
  switch (command) {
    case ZIP_SOURCE_OPEN: in->at = 0; return 0;
    case ZIP_SOURCE_READ: return read_input(in, data, bytes);
    case ZIP_SOURCE_SEEK: {
      zip_int64_t at = zip_source_seek_compute_offset(
          (zip_uint64_t)in->at, (zip_uint64_t)in->reader.size, data, bytes,
          &in->error);
      if (at < 0) return -1;
      in->at = at;
      return 0;
    }
    case ZIP_SOURCE_TELL: return in->at;
    case ZIP_SOURCE_STAT: {
      zip_stat_t *info = data;
      zip_stat_init(info);
      info->size = (zip_uint64_t)in->reader.size;
      info->valid = ZIP_STAT_SIZE;
      return sizeof *info;
    }
    case ZIP_SOURCE_ERROR: return zip_error_to_data(&in->error, data, bytes);
    case ZIP_SOURCE_SUPPORTS: return ZIP_SOURCE_SUPPORTS_SEEKABLE;
    case ZIP_SOURCE_CLOSE:
    case ZIP_SOURCE_FREE: return 0;
    default: zip_error_set(&in->error, ZIP_ER_OPNOTSUPP, 0); return -1;
  }
}

/* -- reading: the arrays -- */

typedef struct member {
  heed_text name; /* belongs to the archive */
  zip_uint64_t index;
} member;

struct heed_npz {
  input in;
  zip_t *zip;
  int count;
  member *member;
};

#define FAIL(z, ...) heed_reader_fail(&(z)->in.reader, __VA_ARGS__)

static bool blame_array(const heed_npz *z, int i) {
  const heed_text *name = &z->member[i].name;
  int n = name->length < 200 ? (int)name->length : 200;
  heed_fail_prefix("array \"%.*s\": ", n, name->data);
  return heed_reader_blame(&z->in.reader);
}

static bool open_archive(heed_npz *z) {
  /* libzip takes an empty file for an empty archive, which has an end */
  if (z->in.reader.size == 0) return FAIL(z, "is empty");
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t *source = zip_source_function_create(input_command, &z->in,
                                                    &error);
  z->zip = source ? zip_open_from_source(source, ZIP_RDONLY, &error) : NULL;
  if (!z->zip) {
    if (!z->in.failed)
      FAIL(z, "is no zip archive that can be read: %s",
           zip_error_strerror(&error));
    if (source) zip_source_free(source);
  }
  zip_error_fini(&error);
  return z->zip != NULL;
}

static int by_text(const void *a, const void *b) {
  const member *x = a, *y = b;
  size_t n = x->name.length < y->name.length ? x->name.length
                                             : y->name.length;
  int order = memcmp(x->name.data, y->name.data, n);
  if (order) return order;
  return x->name.length < y->name.length ? -1
                                         : x->name.length > y->name.length;
}

static int by_index(const void *a, const void *b) {
  const member *x = a, *y = b;
  return x->index < y->index ? -1 : x->index > y->index;
}

static bool read_names(heed_npz *z) {
  zip_int64_t n = zip_get_num_entries(z->zip, 0);
  if (n > INT32_MAX) return FAIL(z, "has %" PRId64 " members", (int64_t)n);
  z->member = calloc((size_t)n + 1, sizeof *z->member);
  if (!z->member) return heed_fail_memory((size_t)n * sizeof *z->member);
  for (zip_int64_t i = 0; i < n; i++) {
    const char *name = zip_get_name(z->zip, (zip_uint64_t)i, 0);
    if (!name) return FAIL(z, "member %" PRId64 " has no name", i + 1);
    size_t length = strlen(name);
    if (length < SUFFIX_LENGTH ||
        strcmp(name + length - SUFFIX_LENGTH, SUFFIX) != 0)
      continue;
    z->member[z->count++] =
        (member){{name, length - SUFFIX_LENGTH}, (zip_uint64_t)i};
  }
  qsort(z->member, (size_t)z->count, sizeof *z->member, by_text);
  for (int i = 1; i < z->count; i++)
    if (by_text(&z->member[i - 1], &z->member[i]) == 0) {
      heed_fail("is there twice");
      return blame_array(z, i);
    }
  qsort(z->member, (size_t)z->count, sizeof *z->member, by_index);
  return true;
}

heed_npz *heed_npz_open(const char *op, const char *path) {
  heed_npz *z = calloc(1, sizeof *z);
  if (!z) {
    heed_fail_memory(sizeof *z);
    return NULL;
  }
  z->in.reader.fd = -1;
  zip_error_init(&z->in.error);
  if (!heed_reader_open(&z->in.reader, op, path) || !open_archive(z) ||
      !read_names(z)) {
    heed_npz_close(z);
    return NULL;
  }
  return z;
}

void heed_npz_close(heed_npz *z) {
  if (!z) return;
  if (z->zip) zip_discard(z->zip);
  zip_error_fini(&z->in.error);
  heed_reader_close(&z->in.reader);
  free(z->member);
  free(z);
}

int heed_npz_count(const heed_npz *z) { return z->count; }

heed_text heed_npz_name(const heed_npz *z, int i) {
  return z->member[i].name;
}

/* An array that is being read. */
typedef struct stream {
  heed_npz *npz;
  zip_file_t *file;
  int64_t size, at; /* in bytes, deflated no more */
} stream;

static bool pull(void *from, void *data, size_t bytes) {
  stream *s = from;
  char *at = data;
  if ((int64_t)bytes > s->size - s->at)
    return heed_fail("ends within its header, after %" PRId64 " bytes",
                     s->size);
  while (bytes > 0) {
    zip_int64_t n = zip_fread(s->file, at, bytes);
    if (n < 0 && s->npz->in.failed) return false;
    if (n < 0)
      return heed_fail("cannot be read: %s", zip_file_strerror(s->file));
    if (n == 0)
      return heed_fail("has %" PRId64 " bytes fewer than the %" PRId64
                       " that the archive says", s->size - s->at, s->size);
    at += n;
    s->at += n;
    bytes -= (size_t)n;
  }
  return true;
}

/* libzip compares the checksum when it comes to the end. */
static bool check_end(stream *s) {
  char byte;
  zip_int64_t n = zip_fread(s->file, &byte, 1);
  if (n < 0 && s->npz->in.failed) return false;
  if (n < 0)
    return heed_fail("cannot be read: %s", zip_file_strerror(s->file));
  return n == 0 || heed_fail("has more than the %" PRId64
                             " bytes that the archive says", s->size);
}

/* Opens an array; what the archive says about its size is checked, so that
   memory can be asked for by it. */
static bool open_stream(stream *s, heed_npz *z, int i) {
  zip_stat_t info;
  const zip_uint64_t needed = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE |
                              ZIP_STAT_COMP_METHOD |
                              ZIP_STAT_ENCRYPTION_METHOD;
  *s = (stream){.npz = z};
  if (zip_stat_index(z->zip, z->member[i].index, 0, &info) != 0)
    return heed_fail("cannot be read: %s", zip_strerror(z->zip));
  if ((info.valid & needed) != needed)
    return heed_fail("cannot be read: the archive lacks its size");
  if (info.encryption_method != ZIP_EM_NONE)
    return heed_fail("is encrypted");
  bool stored = info.comp_method == ZIP_CM_STORE;
  if (!stored && info.comp_method != ZIP_CM_DEFLATE)
    return heed_fail("must be stored or deflated, got method %d of the zip "
                     "format", info.comp_method);
  bool fits = info.comp_size <= (zip_uint64_t)z->in.reader.size;
  if (stored) fits = fits && info.size == info.comp_size;
  else fits = fits && info.size / MOST_EXPANDED <= info.comp_size;
  if (!fits)
    return heed_fail("the archive says %" PRIu64 " bytes, which its %" PRIu64
                     " in the file of %" PRId64 " cannot hold",
                     (uint64_t)info.size, (uint64_t)info.comp_size,
                     z->in.reader.size);
  s->size = (int64_t)info.size;
  s->file = zip_fopen_index(z->zip, z->member[i].index, 0);
  if (s->file) return true;
  return !z->in.failed &&
         heed_fail("cannot be read: %s", zip_strerror(z->zip));
}

static bool read_head(stream *s, heed_npy *head) {
  if (!heed_npy_read_head(head, pull, s)) return false;
  int64_t want = heed_npy_bytes(head), left = s->size - s->at;
  return left == want ||
         heed_fail("shape %s takes %" PRId64 " bytes, but %" PRId64
                   " follow the header", heed_shape_text(&head->shape), want,
                   left);
}

bool heed_npz_head(heed_npz *z, int i, heed_npy *head) {
  stream s;
  z->in.failed = false;
  bool ok = open_stream(&s, z, i) && read_head(&s, head);
  if (!ok && !z->in.failed) blame_array(z, i);
  if (s.file) zip_fclose(s.file);
  return ok;
}

heed_tensor *heed_npz_load(heed_npz *z, int i) {
  stream s;
  heed_npy head;
  heed_tensor *t = NULL;
  z->in.failed = false;
  bool ok = open_stream(&s, z, i) && read_head(&s, &head);
  if (ok) t = heed_npy_read_elements(&head, pull, &s);
  if (t && !check_end(&s)) {
    heed_tensor_drop(t);
    t = NULL;
  }
  if (!t && !z->in.failed) blame_array(z, i);
  if (s.file) zip_fclose(s.file);
  return t;
}

/* -- writing: the archive's bytes from libzip -- */

typedef struct output {
  heed_file *file;
  zip_error_t error;
  int64_t at, end;
  bool failed; /* heed_file left a message */
} output;

static zip_int64_t output_command(void *user, void *data, zip_uint64_t bytes,
                                  zip_source_cmd_t command) {
  output *out = user;
  switch (command) {
    case ZIP_SOURCE_BEGIN_WRITE: out->at = out->end = 0; return 0;
    case ZIP_SOURCE_WRITE:
      if (!heed_file_write_at(out->file, data, (size_t)bytes, out->at)) {
        out->failed = true;
        zip_error_set(&out->error, ZIP_ER_WRITE, EIO);
        return -1;
      }
      out->at += (int64_t)bytes;
      if (out->at > out->end) out->end = out->at;
      return (zip_int64_t)bytes;
    case ZIP_SOURCE_SEEK_WRITE: {
      zip_int64_t at = zip_source_seek_compute_offset(
          (zip_uint64_t)out->at, (zip_uint64_t)out->end, data, bytes,
          &out->error);
      if (at < 0) return -1;
      out->at = at;
      return 0;
    }
    case ZIP_SOURCE_TELL_WRITE: return out->at;
    case ZIP_SOURCE_STAT:
      zip_stat_init(data);
      return sizeof(zip_stat_t);
    case ZIP_SOURCE_ERROR: return zip_error_to_data(&out->error, data, bytes);
    case ZIP_SOURCE_SUPPORTS: return ZIP_SOURCE_SUPPORTS_WRITABLE;
    case ZIP_SOURCE_OPEN:
    case ZIP_SOURCE_READ: /* there is nothing yet */
    case ZIP_SOURCE_CLOSE:
    case ZIP_SOURCE_COMMIT_WRITE: /* done by heed_file_commit */
    case ZIP_SOURCE_ROLLBACK_WRITE:
    case ZIP_SOURCE_FREE: return 0;
    default: zip_error_set(&out->error, ZIP_ER_OPNOTSUPP, 0); return -1;
  }
}

/* -- writing: the bytes of an array for libzip -- */

typedef struct array {
  const heed_tensor *tensor;
  char head[HEED_NPY_HEAD];
  size_t head_size, head_left;
  heed_elements elements;
  zip_error_t error;
} array;

static zip_int64_t read_array(array *a, char *data, zip_uint64_t room) {
  if (a->head_left > 0) {
    size_t n = a->head_left < room ? a->head_left : (size_t)room;
    memcpy(data, a->head + a->head_size - a->head_left, n);
    a->head_left -= n;
    return (zip_int64_t)n;
  }
  if (a->elements.left > 0 && room < heed_dtype_size(a->tensor->dtype)) {
    zip_error_set(&a->error, ZIP_ER_INVAL, 0);
    return -1;
  }
  return (zip_int64_t)heed_elements_next(&a->elements, data, (size_t)room);
}

static zip_int64_t array_command(void *user, void *data, zip_uint64_t bytes,
                                 zip_source_cmd_t command) {
  array *a = user;
  switch (command) {
    case ZIP_SOURCE_OPEN:
      a->head_left = a->head_size;
      a->elements = heed_elements_of(a->tensor);
      return 0;
    case ZIP_SOURCE_READ: return read_array(a, data, bytes);
    case ZIP_SOURCE_STAT: {
      zip_stat_t *info = data;
      zip_stat_init(info);
      info->size = a->head_size + (zip_uint64_t)heed_tensor_numel(a->tensor) *
                                      heed_dtype_size(a->tensor->dtype);
      info->valid = ZIP_STAT_SIZE;
      return sizeof *info;
    }
    case ZIP_SOURCE_ERROR: return zip_error_to_data(&a->error, data, bytes);
    case ZIP_SOURCE_SUPPORTS: return ZIP_SOURCE_SUPPORTS_READABLE;
    case ZIP_SOURCE_CLOSE:
    case ZIP_SOURCE_FREE: return 0;
    default: zip_error_set(&a->error, ZIP_ER_OPNOTSUPP, 0); return -1;
  }
}

/* Fails with a message that does not name the file yet. */
static bool add_array(zip_t *zip, array *a, const heed_text *name,
                      bool compressed) {
  if (memchr(name->data, '\0', name->length))
    return heed_fail("name \"%.200s\" has a zero byte in it", name->data);
  char *path = malloc(name->length + SUFFIX_LENGTH + 1);
  if (!path) return heed_fail_memory(name->length);
  memcpy(path, name->data, name->length);
  memcpy(path + name->length, SUFFIX, SUFFIX_LENGTH + 1);
  a->head_size = heed_npy_head(a->tensor, false, a->head);
  zip_source_t *source =
      a->head_size ? zip_source_function(zip, array_command, a) : NULL;
  zip_int64_t index = source ? zip_file_add(zip, path, source,
                                            ZIP_FL_ENC_UTF_8) : -1;
  free(path);
  if (!a->head_size)
    return heed_fail_prefix("array \"%.200s\": ", name->data);
  /* the first day that the format knows: equal arrays give equal files */
  bool ok = index >= 0 &&
            zip_set_file_compression(zip, (zip_uint64_t)index,
                                     compressed ? ZIP_CM_DEFLATE
                                                : ZIP_CM_STORE, 0) == 0 &&
            zip_file_set_dostime(zip, (zip_uint64_t)index, 0, 0x21, 0) == 0;
  if (ok) return true;
  int code = zip_error_code_zip(zip_get_error(zip));
  if (index < 0 && source) zip_source_free(source);
  if (code == ZIP_ER_EXISTS)
    return heed_fail("name \"%.200s\" is there twice", name->data);
  if (code == ZIP_ER_INVAL)
    return heed_fail("name \"%.200s\" is not valid UTF-8", name->data);
  return heed_fail("array \"%.200s\": %s", name->data, zip_strerror(zip));
}

/* libzip writes no archive without members. */
static bool write_empty(heed_file *f) {
  static const char end[22] = "PK\5\6";
  return heed_file_write(f, end, sizeof end);
}

static bool write_archive(heed_file *f, int n, const heed_text *names,
                          array *arrays, bool compressed) {
  if (n == 0) return write_empty(f);
  output out = {.file = f};
  zip_error_t error;
  zip_error_init(&error);
  zip_error_init(&out.error);
  zip_source_t *to = zip_source_function_create(output_command, &out, &error);
  zip_t *zip = to ? zip_open_from_source(to, ZIP_CREATE | ZIP_TRUNCATE,
                                         &error) : NULL;
  bool ok = zip || heed_fail("%s: %s: cannot be written: %s", f->op, f->path,
                             zip_error_strerror(&error));
  if (!zip && to) zip_source_free(to);
  for (int i = 0; ok && i < n; i++) {
    ok = add_array(zip, &arrays[i], &names[i], compressed);
    if (!ok) heed_fail_prefix("%s: ", f->op);
  }
  if (ok && zip_close(zip) != 0) {
    ok = false;
    if (!out.failed)
      heed_fail("%s: %s: writing failed: %s", f->op, f->path,
                zip_strerror(zip));
  } else if (ok) {
    zip = NULL;
  }
  if (zip) zip_discard(zip);
  zip_error_fini(&out.error);
  zip_error_fini(&error);
  return ok;
}

bool heed_npz_save(const char *op, const char *path, int n,
                   const heed_text *names, heed_tensor *const *tensors,
                   bool compressed) {
  array *arrays = calloc((size_t)n + 1, sizeof *arrays);
  if (!arrays) return heed_fail_memory((size_t)n * sizeof *arrays);
  for (int i = 0; i < n; i++) {
    arrays[i].tensor = tensors[i];
    zip_error_init(&arrays[i].error);
  }
  heed_file f;
  bool ok = heed_file_begin(&f, op, path);
  if (ok) {
    ok = write_archive(&f, n, names, arrays, compressed);
    for (int i = 0; ok && i < n; i++)
      ok = heed_tensor_check_whole(op, tensors[i]);
    if (ok) ok = heed_file_commit(&f);
    else heed_file_abandon(&f);
  }
  free(arrays);
  return ok;
}
