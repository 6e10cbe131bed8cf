/*
 * safetensors - files of named tensors, read and written.
 * Layer: core. Read first: safetensors.h.
 */
#define _GNU_SOURCE
#include "core/safetensors.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "core/elements.h"
#include "core/file.h"
#include "core/reader.h"

#define SAVE "save_safetensors"
#define METADATA "__metadata__"
#define MAX_HEADER 100000000 /* as every other reader of the format has it */

/* -- element types of the files -- */

typedef struct kind {
  const char *name;
  heed_encoding encoding;
} kind;

#define KIND(name, dtype, size, is_signed) {name, {dtype, size, is_signed, 0}}

/* The first ones are those that are written, by heed_dtype. */
static const kind kinds[] = {
    KIND("BOOL", HEED_BOOL, 1, false),
    KIND("U8", HEED_UINT8, 1, false),
    KIND("I32", HEED_INT32, 4, true),
    KIND("I64", HEED_INT64, 8, true),
    KIND("F16", HEED_FLOAT16, 2, true),
    KIND("BF16", HEED_BFLOAT16, 2, true),
    KIND("F32", HEED_FLOAT32, 4, true),
    KIND("F64", HEED_FLOAT64, 8, true),
    KIND("I16", HEED_INT64, 2, true),
    KIND("I8", HEED_INT64, 1, true),
    KIND("U64", HEED_INT64, 8, false),
    KIND("U32", HEED_INT64, 4, false),
    KIND("U16", HEED_INT64, 2, false),
};

static const kind *find_kind(const char *name) {
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (strcmp(name, kinds[i].name) == 0) return &kinds[i];
  return NULL;
}

/* -- reading -- */

typedef struct entry {
  const char *name; /* belongs to the header */
  const kind *kind;
  heed_shape shape;
  int64_t begin, end; /* from the end of the header */
} entry;

struct heed_safetensors {
  heed_reader reader;
  heed_mapping *mapping; /* of the whole file, or NULL */
  int64_t start, bytes; /* of the data */
  json_t *header;
  int count;
  entry *entry;
};

/* Messages about the file and about a tensor in it. */
#define FAIL(s, ...) heed_reader_fail(&(s)->reader, __VA_ARGS__)
#define FAIL_TENSOR(s, name, ...) \
  (heed_fail(__VA_ARGS__), blame_tensor(s, name))

static bool blame_tensor(const heed_safetensors *s, const char *name) {
  heed_fail_prefix("tensor \"%.200s\": ", name);
  return heed_reader_blame(&s->reader);
}

/* Parses the header of the open file. */
static bool read_header(heed_safetensors *s) {
  int64_t size = s->reader.size;
  uint64_t length;
  if (size < 8)
    return FAIL(s, "must start with the 8 bytes of the header's length, but "
                   "has %lld bytes", (long long)size);
  if (!heed_reader_read(&s->reader, &length, sizeof length, 0)) return false;
  if (memcmp(&length, "PK\3\4", 4) == 0)
    return FAIL(s, "is a zip archive, such as torch.save writes; "
                   "safetensors.torch.save_file writes what can be read");
  if (length > MAX_HEADER)
    return FAIL(s, "the header's length must be at most %d bytes, got %llu",
                MAX_HEADER, (unsigned long long)length);
  if ((int64_t)length > size - 8)
    return FAIL(s, "the header's length is %llu bytes, but only %lld follow",
                (unsigned long long)length, (long long)(size - 8));
  s->start = 8 + (int64_t)length;
  s->bytes = size - s->start;
  char *text = malloc(length + 1);
  if (!text) {
    heed_fail_memory(length + 1);
    return heed_reader_blame(&s->reader);
  }
  json_error_t error;
  bool ok = heed_reader_read(&s->reader, text, length, 8);
  if (ok && (length == 0 || text[0] != '{'))
    ok = FAIL(s, "the header must be a JSON object");
  if (ok) {
    s->header = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    if (!s->header)
      ok = FAIL(s, "the header is no valid JSON: %s at byte %d", error.text,
                error.position);
  }
  free(text);
  return ok;
}

static bool check_metadata(const heed_safetensors *s, json_t *metadata) {
  const char *key;
  json_t *value;
  if (!json_is_object(metadata))
    return FAIL(s, METADATA " must be an object");
  json_object_foreach(metadata, key, value)
    if (!json_is_string(value))
      return FAIL(s, METADATA ": \"%.200s\" must be a string", key);
  return true;
}

static bool read_shape(const heed_safetensors *s, entry *e, json_t *list) {
  if (!json_is_array(list))
    return FAIL_TENSOR(s, e->name, "shape must be a list of sizes");
  size_t ndim = json_array_size(list);
  if (ndim > HEED_MAX_DIM)
    return FAIL_TENSOR(s, e->name, "%zu dimensions, more than %d are not "
                       "possible", ndim, HEED_MAX_DIM);
  e->shape.ndim = (int)ndim;
  for (size_t i = 0; i < ndim; i++) {
    json_t *size = json_array_get(list, i);
    if (!json_is_integer(size) || json_integer_value(size) < 0)
      return FAIL_TENSOR(s, e->name, "size %zu must be an integer from 0",
                         i + 1);
    e->shape.dim[i] = json_integer_value(size);
  }
  return heed_shape_check("shape", &e->shape, e->kind->encoding.dtype) ||
         blame_tensor(s, e->name);
}

static bool read_span(const heed_safetensors *s, entry *e, json_t *list) {
  json_t *begin = json_array_get(list, 0), *end = json_array_get(list, 1);
  if (json_array_size(list) != 2 || !json_is_integer(begin) ||
      !json_is_integer(end))
    return FAIL_TENSOR(s, e->name, "data_offsets must be two integers");
  e->begin = json_integer_value(begin);
  e->end = json_integer_value(end);
  if (e->begin < 0 || e->begin > e->end || e->end > s->bytes)
    return FAIL_TENSOR(s, e->name, "data_offsets [%lld %lld] must ascend "
                       "within the %lld bytes of data", (long long)e->begin,
                       (long long)e->end, (long long)s->bytes);
  /* the shape is checked: this cannot overflow */
  int64_t want = heed_shape_numel(&e->shape) * (int64_t)e->kind->encoding.size;
  if (e->end - e->begin != want)
    return FAIL_TENSOR(s, e->name, "%s %s takes %lld bytes, but data_offsets "
                       "[%lld %lld] span %lld", e->kind->name,
                       heed_shape_text(&e->shape), (long long)want,
                       (long long)e->begin, (long long)e->end,
                       (long long)(e->end - e->begin));
  return true;
}

static bool read_entry(const heed_safetensors *s, entry *e, json_t *value) {
  if (!json_is_object(value))
    return FAIL_TENSOR(s, e->name, "must be an object");
  const char *dtype = json_string_value(json_object_get(value, "dtype"));
  if (!dtype) return FAIL_TENSOR(s, e->name, "dtype must be a string");
  e->kind = find_kind(dtype);
  if (!e->kind)
    return FAIL_TENSOR(s, e->name, "dtype must be F64, F32, F16, BF16, I64, "
                       "I32, I16, I8, U64, U32, U16, U8 or BOOL, got %.40s",
                       dtype);
  return read_shape(s, e, json_object_get(value, "shape")) &&
         read_span(s, e, json_object_get(value, "data_offsets"));
}

static int by_place(const void *a, const void *b) {
  const entry *x = a, *y = b;
  if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
  if (x->end != y->end) return x->end < y->end ? -1 : 1;
  return strcmp(x->name, y->name); /* both empty: any fixed order */
}

/* The tensors must cover the data without gap and overlap. */
static bool check_places(const heed_safetensors *s) {
  int64_t at = 0;
  for (int i = 0; i < s->count; i++) {
    const entry *e = &s->entry[i];
    if (e->begin < at)
      return FAIL_TENSOR(s, e->name, "its data, from byte %lld, overlaps that "
                         "of \"%.200s\", up to %lld", (long long)e->begin,
                         s->entry[i - 1].name, (long long)at);
    if (e->begin > at)
      return FAIL_TENSOR(s, e->name, "its data starts at byte %lld, but bytes "
                         "from %lld on belong to no tensor",
                         (long long)e->begin, (long long)at);
    at = e->end;
  }
  if (at != s->bytes)
    return FAIL(s, "has %lld bytes of data, but the tensors take %lld",
                (long long)s->bytes, (long long)at);
  return true;
}

static bool read_entries(heed_safetensors *s) {
  size_t count = json_object_size(s->header);
  const char *name;
  json_t *value;
  s->entry = calloc(count + 1, sizeof *s->entry);
  if (!s->entry) return heed_fail_memory((count + 1) * sizeof *s->entry);
  json_object_foreach(s->header, name, value) {
    if (strcmp(name, METADATA) == 0) {
      if (!check_metadata(s, value)) return false;
      continue;
    }
    entry *e = &s->entry[s->count++];
    e->name = name;
    if (!read_entry(s, e, value)) return false;
  }
  qsort(s->entry, (size_t)s->count, sizeof *s->entry, by_place);
  return check_places(s);
}

static bool map(heed_safetensors *s) {
  s->mapping = heed_mapping_new(s->reader.fd, s->reader.path,
                                (size_t)s->reader.size);
  return s->mapping || heed_reader_blame(&s->reader);
}

heed_safetensors *heed_safetensors_open(const char *op, const char *path,
                                        bool mapped) {
  heed_safetensors *s = calloc(1, sizeof *s);
  if (!s) {
    heed_fail_memory(sizeof *s);
    return NULL;
  }
  s->reader.fd = -1;
  if (!heed_reader_open(&s->reader, op, path) || !read_header(s) ||
      !read_entries(s) || (mapped && !map(s))) {
    heed_safetensors_close(s);
    return NULL;
  }
  return s;
}

void heed_safetensors_close(heed_safetensors *s) {
  if (!s) return;
  heed_mapping_drop(s->mapping);
  heed_reader_close(&s->reader);
  json_decref(s->header);
  free(s->entry);
  free(s);
}

int heed_safetensors_count(const heed_safetensors *s) { return s->count; }

const char *heed_safetensors_name(const heed_safetensors *s, int i) {
  return s->entry[i].name;
}

heed_dtype heed_safetensors_dtype(const heed_safetensors *s, int i) {
  return s->entry[i].kind->encoding.dtype;
}

const heed_shape *heed_safetensors_shape(const heed_safetensors *s, int i) {
  return &s->entry[i].shape;
}

void heed_safetensors_metadata(const heed_safetensors *s,
                               void (*visit)(void *user, const char *key,
                                             const char *value),
                               void *user) {
  const char *key;
  json_t *value;
  json_object_foreach(json_object_get(s->header, METADATA), key, value)
    visit(user, key, json_string_value(value));
}

/* Where reading of a tensor stands. */
typedef struct cursor {
  const heed_reader *reader;
  int64_t at;
  bool failed; /* the message is about the file */
} cursor;

static bool pull(void *from, void *data, size_t bytes) {
  cursor *c = from;
  c->failed = !heed_reader_read(c->reader, data, bytes, c->at);
  if (c->failed) return false;
  c->at += (int64_t)bytes;
  return true;
}

/* Can it be used where it lies? */
static bool can_map(const heed_encoding *e, int64_t place) {
  bool plain = heed_dtype_is_float(e->dtype) || e->dtype == HEED_UINT8;
  return plain && place % e->size == 0;
}

static heed_tensor *load(const heed_safetensors *s, const entry *e,
                         const heed_shape *shape, int64_t skip) {
  const heed_encoding *encoding = &e->kind->encoding;
  int64_t place = s->start + e->begin + skip * (int64_t)encoding->size;
  if (s->mapping && !heed_mapping_check_size(s->mapping, s->reader.op))
    return NULL;
  if (s->mapping && can_map(encoding, place))
    return heed_tensor_mapped(encoding->dtype, shape, s->mapping,
                              (size_t)place);
  heed_tensor *t = heed_tensor_new(s->reader.op, encoding->dtype, shape);
  if (!t) return NULL;
  cursor c = {&s->reader, place, false};
  if (heed_elements_read(t, encoding, pull, &c)) return t;
  if (!c.failed) blame_tensor(s, e->name);
  heed_tensor_drop(t);
  return NULL;
}

heed_tensor *heed_safetensors_load(const heed_safetensors *s, int i) {
  return load(s, &s->entry[i], &s->entry[i].shape, 0);
}

heed_tensor *heed_safetensors_rows(const heed_safetensors *s, int i,
                                   int64_t first, int64_t n) {
  heed_shape shape = s->entry[i].shape;
  shape.dim[0] = n;
  int64_t row = 1;
  for (int d = 1; d < shape.ndim; d++) row *= shape.dim[d];
  return load(s, &s->entry[i], &shape, first * row);
}

/* -- writing -- */

#undef FAIL
#undef FAIL_TENSOR

/* Adds key -> value and takes over value. False with a message for a text
   that JSON cannot hold, or one that is there already. */
static bool put(json_t *object, const char *what, const heed_text *key,
                json_t *value) {
  if (memchr(key->data, '\0', key->length)) {
    json_decref(value);
    return heed_fail("%s: %s \"%.200s\" has a zero byte in it", SAVE, what,
                     key->data);
  }
  if (json_object_getn(object, key->data, key->length)) {
    json_decref(value);
    return heed_fail("%s: %s \"%.200s\" is there twice", SAVE, what,
                     key->data);
  }
  if (!value) return heed_fail_memory(sizeof(void *));
  if (json_object_setn_new(object, key->data, key->length, value) != 0)
    return heed_fail("%s: %s \"%.200s\" is not valid UTF-8", SAVE, what,
                     key->data);
  return true;
}

static json_t *describe(const heed_tensor *t, int64_t begin, int64_t end) {
  json_t *shape = json_array();
  for (int d = 0; shape && d < t->shape.ndim; d++)
    json_array_append_new(shape, json_integer(t->shape.dim[d]));
  return json_pack("{s:s, s:o, s:[I, I]}", "dtype", kinds[t->dtype].name,
                   "shape", shape, "data_offsets", (json_int_t)begin,
                   (json_int_t)end);
}

static bool put_metadata(json_t *header, int n, const heed_text *text) {
  if (n == 0) return true;
  json_t *metadata = json_object();
  if (json_object_set_new(header, METADATA, metadata) != 0)
    return heed_fail_memory(sizeof(void *));
  for (int i = 0; i < n; i++) {
    const heed_text *value = &text[2 * i + 1];
    if (memchr(value->data, '\0', value->length))
      return heed_fail("%s: metadata \"%.200s\": the value has a zero byte in "
                       "it", SAVE, text[2 * i].data);
    json_t *string = json_stringn(value->data, value->length);
    if (!string)
      return heed_fail("%s: metadata \"%.200s\": the value is not valid UTF-8",
                       SAVE, text[2 * i].data);
    if (!put(metadata, "metadata", &text[2 * i], string)) return false;
  }
  return true;
}

static bool put_tensors(json_t *header, int n, const heed_text *names,
                        heed_tensor *const *tensors) {
  int64_t at = 0;
  for (int i = 0; i < n; i++) {
    const heed_tensor *t = tensors[i];
    int64_t bytes = heed_tensor_numel(t) * (int64_t)heed_dtype_size(t->dtype);
    int64_t end;
    if (__builtin_add_overflow(at, bytes, &end))
      return heed_fail("%s: the tensors are too large for a file", SAVE);
    if (names[i].length == strlen(METADATA) &&
        memcmp(names[i].data, METADATA, names[i].length) == 0)
      return heed_fail("%s: no tensor can be called " METADATA, SAVE);
    if (!put(header, "name", &names[i], describe(t, at, end))) return false;
    at = end;
  }
  return true;
}

/* The header as text, ended by spaces to a length that 8 divides. */
static char *dump(json_t *header, size_t *length) {
  size_t n = json_dumpb(header, NULL, 0, JSON_COMPACT);
  size_t padded = (n + 7) / 8 * 8;
  char *text = n ? malloc(padded) : NULL;
  if (!text) {
    heed_fail_memory(padded);
    return NULL;
  }
  json_dumpb(header, text, n, JSON_COMPACT);
  memset(text + n, ' ', padded - n);
  *length = padded;
  return text;
}

static bool push(void *to, const void *data, size_t bytes) {
  return heed_file_write(to, data, bytes);
}

static bool write_all(const char *path, json_t *header, int n,
                      heed_tensor *const *tensors) {
  size_t length;
  char *text = dump(header, &length);
  if (!text) return heed_fail_prefix("%s: %s: ", SAVE, path);
  heed_file f;
  bool ok = length <= MAX_HEADER ||
            heed_fail("%s: %s: the names and metadata take %zu bytes, more "
                      "than the %d that a header may have", SAVE, path,
                      length, MAX_HEADER);
  ok = ok && heed_file_begin(&f, SAVE, path);
  if (ok) {
    uint64_t first = length;
    ok = heed_file_write(&f, &first, sizeof first) &&
         heed_file_write(&f, text, length);
    for (int i = 0; ok && i < n; i++)
      ok = heed_elements_write(SAVE, tensors[i], push, &f);
    if (ok) ok = heed_file_commit(&f);
    else heed_file_abandon(&f);
  }
  free(text);
  return ok;
}

bool heed_safetensors_save(const char *path, int n, const heed_text *names,
                           heed_tensor *const *tensors, int nmeta,
                           const heed_text *metadata) {
  json_t *header = json_object();
  if (!header) return heed_fail_memory(sizeof(void *));
  bool ok = put_metadata(header, nmeta, metadata) &&
            put_tensors(header, n, names, tensors) &&
            write_all(path, header, n, tensors);
  json_decref(header);
  return ok;
}
