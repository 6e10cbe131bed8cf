/* npy - NumPy's files of one array, read and written. Layer: core.
 * Read first: npy.h. */
#include "core/npy.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "core/file.h"
#include "core/reader.h"

#define MAGIC "\x93NUMPY"

/* -- the dictionary of the header -- */

typedef struct text {
  const char *at, *end;
} text;

static void skip_spaces(text *t) {
  while (t->at < t->end && memchr(" \t\r\n", *t->at, 4)) t->at++;
}

/* Steps over a character behind spaces, if it is there. */
static bool take(text *t, char c) {
  skip_spaces(t);
  if (t->at == t->end || *t->at != c) return false;
  t->at++;
  return true;
}

static bool take_word(text *t, const char *word) {
  size_t n = strlen(word);
  skip_spaces(t);
  if ((size_t)(t->end - t->at) < n || memcmp(t->at, word, n) != 0)
    return false;
  t->at += n;
  return true;
}

/* A string without escapes, cut to fit into `s`. */
static bool take_string(text *t, char *s, size_t room) {
  char quote = take(t, '\'') ? '\'' : take(t, '"') ? '"' : 0;
  if (!quote) return false;
  size_t n = 0;
  for (; t->at < t->end && *t->at != quote; t->at++) {
    if (*t->at == '\\' || *t->at == '\n' || *t->at == '\0') return false;
    if (n + 1 < room) s[n++] = *t->at;
  }
  s[n] = '\0';
  return take(t, quote);
}

/* A size; false for one beyond 63 bits. Python 2 wrote an L behind it. */
static bool take_size(text *t, int64_t *size) {
  skip_spaces(t);
  const char *first = t->at;
  *size = 0;
  for (; t->at < t->end && *t->at >= '0' && *t->at <= '9'; t->at++)
    if (__builtin_mul_overflow(*size, 10, size) ||
        __builtin_add_overflow(*size, *t->at - '0', size))
      return false;
  if (t->at == first) return false;
  if (t->at < t->end && *t->at == 'L') t->at++;
  return true;
}

static bool read_shape(text *t, heed_shape *shape) {
  const char *wrong = "shape must be a tuple of integers from 0";
  *shape = (heed_shape){0};
  if (!take(t, '(')) return heed_fail("%s", wrong);
  while (!take(t, ')')) {
    int64_t size;
    if (!take_size(t, &size)) return heed_fail("%s", wrong);
    if (shape->ndim == HEED_MAX_DIM)
      return heed_fail("more than %d dimensions are not possible",
                       HEED_MAX_DIM);
    shape->dim[shape->ndim++] = size;
    if (!take(t, ',')) {
      /* (3) is a number in Python, and no tuple */
      if (shape->ndim == 1 || !take(t, ')')) return heed_fail("%s", wrong);
      break;
    }
  }
  return true;
}

/* '<f4': byte order, kind, bytes. */
static bool read_descr(text *t, heed_encoding *e) {
  char s[40];
  skip_spaces(t);
  if (t->at < t->end && *t->at == '[')
    return heed_fail("its elements are records, which heed does not have");
  if (!take_string(t, s, sizeof s))
    return heed_fail("descr must be a string such as '<f4'");
  if (strchr(s, 'O'))
    return heed_fail("its elements are Python objects, and loading runs no "
                     "code");
  char order = s[0], kind = order ? s[1] : 0, *end = NULL;
  long size = kind && s[2] >= '1' && s[2] <= '9' ? strtol(s + 2, &end, 10)
                                                 : 0;
  bool known = size > 0 && *end == '\0' && strchr("<>=|", order) &&
               (order != '|' || size == 1);
  bool is_integer = kind == 'i' || kind == 'u';
  if (known && is_integer && (size == 1 || size == 2 || size == 4 ||
                              size == 8))
    *e = heed_encoding_of_integer((size_t)size, kind == 'i');
  else if (known && kind == 'b' && size == 1)
    *e = heed_encoding_of(HEED_BOOL);
  else if (known && kind == 'f' && (size == 2 || size == 4 || size == 8))
    *e = heed_encoding_of(size == 2   ? HEED_FLOAT16
                          : size == 4 ? HEED_FLOAT32
                                      : HEED_FLOAT64);
  else
    return heed_fail("descr must be a bool, an integer or a float of 16 to 64 "
                     "bits, got '%s'", s);
  e->swapped = order == '>';
  return true;
}

static bool read_dictionary(text *t, heed_npy *head) {
  bool descr = false, order = false, shape = false;
  if (!take(t, '{')) return heed_fail("the header must be a dictionary");
  while (!take(t, '}')) {
    char key[20];
    if (!take_string(t, key, sizeof key) || !take(t, ':'))
      return heed_fail("the header is no valid dictionary");
    bool *seen = strcmp(key, "descr") == 0           ? &descr
                 : strcmp(key, "fortran_order") == 0 ? &order
                 : strcmp(key, "shape") == 0         ? &shape
                                                     : NULL;
    if (!seen || *seen)
      return heed_fail("the header must have descr, fortran_order and shape, "
                       "got %s%s", key, seen ? " twice" : "");
    *seen = true;
    if (seen == &descr && !read_descr(t, &head->encoding)) return false;
    if (seen == &shape && !read_shape(t, &head->shape)) return false;
    if (seen == &order) {
      head->fortran = take_word(t, "True");
      if (!head->fortran && !take_word(t, "False"))
        return heed_fail("fortran_order must be True or False");
    }
    if (!take(t, ',')) {
      if (!take(t, '}')) return heed_fail("the header is no valid dictionary");
      break;
    }
  }
  if (!descr || !order || !shape)
    return heed_fail("the header must have descr, fortran_order and shape, "
                     "lacks %s",
                     !descr ? "descr" : !order ? "fortran_order" : "shape");
  skip_spaces(t);
  return t->at == t->end ||
         heed_fail("something stands behind the header's dictionary");
}

/* -- reading -- */

bool heed_npy_read_head(heed_npy *head, heed_pull *pull, void *from) {
  unsigned char start[8], length[4] = {0};
  if (!pull(from, start, sizeof start)) return false;
  if (memcmp(start, MAGIC, 6) != 0)
    return heed_fail("must start with the bytes of the .npy format");
  if (start[6] < 1 || start[6] > 3 || start[7] != 0)
    return heed_fail("version must be 1.0, 2.0 or 3.0, got %d.%d", start[6],
                     start[7]);
  if (!pull(from, length, start[6] == 1 ? 2 : 4)) return false;
  uint32_t n;
  memcpy(&n, length, sizeof n);
  if (n > HEED_NPY_MAX_HEADER)
    return heed_fail("the header's length must be at most %d bytes, got %u",
                     HEED_NPY_MAX_HEADER, n);
  char dictionary[HEED_NPY_MAX_HEADER];
  if (!pull(from, dictionary, n)) return false;
  *head = (heed_npy){0};
  return read_dictionary(&(text){dictionary, dictionary + n}, head) &&
         heed_shape_check("shape", &head->shape, HEED_INT64);
}

int64_t heed_npy_bytes(const heed_npy *head) {
  return heed_shape_numel(&head->shape) * (int64_t)head->encoding.size;
}

heed_tensor *heed_npy_read_elements(const heed_npy *head, heed_pull *pull,
                                    void *from) {
  heed_shape shape = head->shape;
  for (int d = 0; head->fortran && d < shape.ndim; d++)
    shape.dim[d] = head->shape.dim[shape.ndim - 1 - d];
  heed_tensor *t = heed_tensor_new("array", head->encoding.dtype, &shape);
  if (!t) return NULL;
  if (!heed_elements_read(t, &head->encoding, pull, from)) {
    heed_tensor_drop(t);
    return NULL;
  }
  if (!head->fortran || shape.ndim < 2) return t;
  int64_t stride[HEED_MAX_DIM];
  heed_elements_reverse(t, &shape, stride);
  heed_tensor *turned = heed_tensor_view(t, &shape, stride, 0);
  heed_tensor_drop(t);
  return turned;
}

/* The bytes of a file in turn. */
typedef struct cursor {
  const heed_reader *reader;
  int64_t at;
  bool failed; /* the message is about reading, and whole */
} cursor;

static bool pull_file(void *from, void *data, size_t bytes) {
  cursor *c = from;
  c->failed = true;
  if ((int64_t)bytes > c->reader->size - c->at)
    return heed_reader_fail(c->reader, "ends within its header, after %" PRId64
                            " bytes", c->reader->size);
  if (!heed_reader_read(c->reader, data, bytes, c->at)) return false;
  c->failed = false;
  c->at += (int64_t)bytes;
  return true;
}

heed_tensor *heed_npy_load(const char *op, const char *path) {
  heed_reader r;
  if (!heed_reader_open(&r, op, path)) return NULL;
  cursor c = {.reader = &r};
  heed_npy head;
  heed_tensor *t = NULL;
  bool ok = heed_npy_read_head(&head, pull_file, &c);
  if (ok) {
    int64_t left = r.size - c.at, want = heed_npy_bytes(&head);
    ok = left == want ||
         heed_fail("shape %s takes %" PRId64 " bytes, but %" PRId64
                   " follow the header%s", heed_shape_text(&head.shape), want,
                   left, left > want ? " (files of several arrays are not "
                                       "read)" : "");
  }
  if (ok) t = heed_npy_read_elements(&head, pull_file, &c);
  if (!t && !c.failed) heed_reader_blame(&r);
  heed_reader_close(&r);
  return t;
}

/* -- writing -- */

size_t heed_npy_head(const heed_tensor *t, bool fortran,
                     char head[HEED_NPY_HEAD]) {
  static const char *const descr[HEED_NDTYPE] = {
      [HEED_BOOL] = "|b1",    [HEED_UINT8] = "|u1",   [HEED_INT32] = "<i4",
      [HEED_INT64] = "<i8",   [HEED_FLOAT16] = "<f2", [HEED_FLOAT32] = "<f4",
      [HEED_FLOAT64] = "<f8"};
  const heed_shape *s = &t->shape;
  if (!descr[t->dtype]) {
    heed_fail("NumPy has no bfloat16: turn it into float32, or write "
              "safetensors");
    return 0;
  }
  /* one dimension, or none, is in both orders, and NumPy calls that C */
  bool columns = fortran && s->ndim > 1;
  char *at = head + 10, *end = head + HEED_NPY_HEAD;
  at += snprintf(at, (size_t)(end - at),
                 "{'descr': '%s', 'fortran_order': %s, 'shape': (",
                 descr[t->dtype], columns ? "True" : "False");
  for (int d = 0; d < s->ndim; d++)
    at += snprintf(at, (size_t)(end - at), "%s%" PRId64, d ? ", " : "",
                   s->dim[d]);
  at += snprintf(at, (size_t)(end - at), "%s), }", s->ndim == 1 ? "," : "");
  /* room for the size of the last axis to grow to 21 digits, as NumPy leaves
     it, then up to a length that 64 divides */
  if (s->ndim > 0) {
    int64_t size = s->dim[columns ? s->ndim - 1 : 0];
    int digits = snprintf(NULL, 0, "%" PRId64, size);
    memset(at, ' ', (size_t)(21 - digits));
    at += 21 - digits;
  }
  size_t total = ((size_t)(at - head) + 1 + 63) / 64 * 64;
  memset(at, ' ', head + total - at);
  head[total - 1] = '\n';
  memcpy(head, MAGIC "\1\0", 8);
  head[8] = (char)((total - 10) & 0xff);
  head[9] = (char)((total - 10) >> 8);
  return total;
}

static bool push(void *to, const void *data, size_t bytes) {
  return heed_file_write(to, data, bytes);
}

static bool write_elements(heed_file *f, heed_tensor *t, bool fortran) {
  if (!fortran) return heed_elements_write(f->op, t, push, f);
  heed_shape shape;
  int64_t stride[HEED_MAX_DIM];
  heed_elements_reverse(t, &shape, stride);
  heed_tensor *turned = heed_tensor_view(t, &shape, stride, t->offset);
  bool ok = turned && heed_elements_write(f->op, turned, push, f);
  heed_tensor_drop(turned);
  return ok;
}

bool heed_npy_save(const char *op, const char *path, heed_tensor *t,
                   bool fortran) {
  char head[HEED_NPY_HEAD];
  size_t n = heed_npy_head(t, fortran, head);
  if (n == 0) return heed_fail_prefix("%s: ", op);
  heed_file f;
  if (!heed_file_begin(&f, op, path)) return false;
  if (heed_file_write(&f, head, n) && write_elements(&f, t, fortran))
    return heed_file_commit(&f);
  heed_file_abandon(&f);
  return false;
}
