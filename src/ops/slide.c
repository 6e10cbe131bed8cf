/*
 * slide - windows that slide over images. Layer: ops. Read first: slide.h.
 */
#include "ops/slide.h"

#include <string.h>

#include "base/error.h"
#include "kernel/kernel.h"

/* -- sizes -- */

bool heed_slide_small(const heed_call *c, const char *name,
                      const heed_shape *list) {
  for (int d = 0; d < list->ndim; d++)
    if (list->dim[d] > INT32_MAX)
      return heed_fail("%s: %s must be at most %d, got %s", c->op->name, name,
                       INT32_MAX, heed_shape_text(list));
  return true;
}

static bool read_pair(const heed_call *c, int attr, const char *name,
                      int64_t least, int64_t *pair) {
  const heed_shape *list = &c->attr[attr].list;
  for (int d = 0; d < list->ndim && d < 2; d++)
    if (list->dim[d] < least)
      return heed_fail("%s: %s must be at least %lld, got %s", c->op->name,
                       name, (long long)least, heed_shape_text(list));
  if (list->ndim != 2)
    return heed_fail("%s: %s must have 2 entries, got %s", c->op->name, name,
                     heed_shape_text(list));
  memcpy(pair, list->dim, 2 * sizeof *pair);
  return heed_slide_small(c, name, list);
}

static bool read_padding(const heed_call *c, int attr, heed_slide *s) {
  const heed_shape *list = &c->attr[attr].list;
  bool ok = list->ndim == 4;
  for (int d = 0; ok && d < 4; d++) ok = list->dim[d] >= 0;
  memcpy(s->pad, list->dim, sizeof s->pad);
  if (ok) return heed_slide_small(c, "padding", list);
  return heed_fail("%s: padding must have 4 entries of at least 0, got %s",
                   c->op->name, heed_shape_text(list));
}

bool heed_slide_kernel(const heed_call *c, int attr, heed_slide *s) {
  return read_pair(c, attr, "kernel", 1, s->kernel);
}

bool heed_slide_steps(const heed_call *c, int first, heed_slide *s) {
  return read_pair(c, first, "stride", 1, s->stride) &&
         read_padding(c, first + 1, s) &&
         read_pair(c, first + 2, "dilation", 1, s->dilation);
}

bool heed_slide_image(const heed_call *c, int i, heed_slide *s) {
  const heed_tensor *x = c->in[i];
  if (!heed_want_float(c, i)) return false;
  if (x->shape.ndim != 4)
    return heed_fail("%s: %s must be [batch channels height width], got %s",
                     c->op->name, heed_input_name(c, i), heed_tensor_text(x));
  s->batch = x->shape.dim[0];
  s->channels = x->shape.dim[1];
  s->height = x->shape.dim[2];
  s->width = x->shape.dim[3];
  return true;
}

bool heed_slide_fit(const heed_call *c, heed_slide *s) {
  int64_t size[2] = {s->height, s->width};
  for (int d = 0; d < 2; d++) {
    int64_t reach, room;
    if (__builtin_mul_overflow(s->dilation[d], s->kernel[d] - 1, &reach) ||
        __builtin_add_overflow(size[d], s->pad[d], &room) ||
        __builtin_add_overflow(room, s->pad[d + 2], &room) || reach >= room)
      return heed_fail("%s: a window of %lld x %lld, dilated by %lld x %lld, "
                       "does not fit into an image of %lld x %lld with "
                       "padding", c->op->name, (long long)s->kernel[0],
                       (long long)s->kernel[1], (long long)s->dilation[0],
                       (long long)s->dilation[1], (long long)size[0],
                       (long long)size[1]);
    s->count[d] = (room - reach - 1) / s->stride[d] + 1;
  }
  return true;
}

int64_t heed_slide_rows(const heed_slide *s) {
  int64_t n;
  bool over = __builtin_mul_overflow(s->channels, s->kernel[0], &n) ||
              __builtin_mul_overflow(n, s->kernel[1], &n);
  return over ? -1 : n;
}

/* -- elements -- */

/* How a line of an image and a line of the columns, of one pixel of the window
   at all places across, belong together: place k is line[k * step + shift]
   for first <= k < end, and beside the image otherwise. */
typedef struct across {
  int64_t first, end, count, step, shift;
} across;

static across across_of(const heed_slide *s, int64_t j) {
  int64_t shift = j * s->dilation[1] - s->pad[1], step = s->stride[1];
  int64_t left = s->width - shift;
  across a = {.count = s->count[1], .step = step, .shift = shift};
  a.first = shift < 0 ? (step - 1 - shift) / step : 0;
  a.end = left > 0 ? (left - 1) / step + 1 : 0;
  if (a.first > a.count) a.first = a.count;
  if (a.end > a.count) a.end = a.count;
  if (a.end < a.first) a.end = a.first;
  return a;
}

/* The line is NULL for one above or below the image. */
static void copy_line(const across *a, size_t size, const char *line,
                      char *to) {
  if (!line) {
    memset(to, 0, (size_t)a->count * size);
    return;
  }
  int64_t first = a->first, n = a->end - first;
  int64_t from = first * a->step + a->shift;
  memset(to, 0, (size_t)first * size);
  if (a->step == 1) {
    memcpy(to + (size_t)first * size, line + from * (int64_t)size,
           (size_t)n * size);
  } else if (size == sizeof(float)) {
    const float *x = (const float *)line + from;
    float *y = (float *)to + first;
    for (int64_t k = 0; k < n; k++) y[k] = x[k * a->step];
  } else {
    const double *x = (const double *)line + from;
    double *y = (double *)to + first;
    for (int64_t k = 0; k < n; k++) y[k] = x[k * a->step];
  }
  memset(to + (size_t)a->end * size, 0, (size_t)(a->count - a->end) * size);
}

static void add_line(const across *a, heed_dtype dtype, char *line,
                     const char *from) {
  int64_t size = (int64_t)heed_dtype_size(dtype);
  char *to = line + (a->first * a->step + a->shift) * size;
  heed_kernel.binary[HEED_BINARY_add][dtype](a->end - a->first, to, a->step,
                                             to, a->step,
                                             from + a->first * size, 1);
}

/* The lines of one row of the columns. */
static void walk_row(const heed_slide *s, heed_dtype dtype, char *image,
                     int64_t row, const heed_slide_part *part, char *columns,
                     bool adds) {
  int64_t size = (int64_t)heed_dtype_size(dtype);
  int64_t i = row / s->kernel[1] % s->kernel[0];
  char *plane = image + row / (s->kernel[0] * s->kernel[1]) * s->height *
                            s->width * size;
  across a = across_of(s, row % s->kernel[1]);
  for (int64_t v = part->line; v < part->line + part->lines; v++) {
    int64_t y = v * s->stride[0] - s->pad[0] + i * s->dilation[0];
    bool inside = y >= 0 && y < s->height;
    char *line = inside ? plane + y * s->width * size : NULL;
    if (!adds) copy_line(&a, (size_t)size, line, columns);
    else if (inside) add_line(&a, dtype, line, columns);
    columns += s->count[1] * size;
  }
}

static void walk(const heed_slide *s, heed_dtype dtype, char *image,
                 const heed_slide_part *part, char *columns, bool adds) {
  int64_t bytes = part->lines * s->count[1] * (int64_t)heed_dtype_size(dtype);
  for (int64_t k = 0; k < part->rows; k++)
    walk_row(s, dtype, image, part->row + k, part, columns + k * bytes, adds);
}

void heed_slide_copy(const heed_slide *s, heed_dtype dtype, const void *image,
                     const heed_slide_part *part, void *columns) {
  walk(s, dtype, (char *)image, part, columns, false);
}

void heed_slide_add(const heed_slide *s, heed_dtype dtype,
                    const void *columns, const heed_slide_part *part,
                    void *image) {
  walk(s, dtype, image, part, (char *)columns, true);
}
