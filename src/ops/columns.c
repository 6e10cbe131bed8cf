/*
 * columns - the windows of images as columns, and back. Layer: ops.
 * Read first: core/op.h.
 *
 * A window of kh x kw pixels slides over an image; each place of it is one
 * column, with the rows channel, then line, then pixel of the window. So a
 * convolution is a matrix product. im2col copies the windows, col2im adds
 * them up where they came from; each is the gradient of the other.
 *
 *     1 2 3                            1 2 4 5
 *     4 5 6   windows of 2 x 2 give    2 3 5 6
 *     7 8 9                            4 5 7 8
 *                                      5 6 8 9
 */
#include <string.h>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/copy.h"
#include "ops/ops.h"

/* The sizes of a call: of the image, the window, and where it stands. */
typedef struct slide {
  int64_t batch, channels, height, width;
  int64_t kernel[2], stride[2], dilation[2];
  int64_t pad[4];  /* above, left, below, right */
  int64_t count[2]; /* places down and across */
  size_t size;     /* bytes of an element */
} slide;

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
  return true;
}

static bool read_padding(const heed_call *c, int attr, slide *s) {
  const heed_shape *list = &c->attr[attr].list;
  bool ok = list->ndim == 4;
  for (int d = 0; ok && d < 4; d++) ok = list->dim[d] >= 0;
  memcpy(s->pad, list->dim, sizeof s->pad);
  return ok || heed_fail("%s: padding must have 4 entries of at least 0, got "
                         "%s", c->op->name, heed_shape_text(list));
}

/* The window's attributes, from number `first` on. */
static bool read_window(const heed_call *c, int first, slide *s) {
  return read_pair(c, first, "kernel", 1, s->kernel) &&
         read_pair(c, first + 1, "stride", 1, s->stride) &&
         read_padding(c, first + 2, s) &&
         read_pair(c, first + 3, "dilation", 1, s->dilation);
}

/* How often the window fits into an image. */
static bool count_places(const heed_call *c, slide *s) {
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

/* The rows of columns, or -1 where that is too many. */
static int64_t column_rows(const slide *s) {
  int64_t n;
  bool over = __builtin_mul_overflow(s->channels, s->kernel[0], &n) ||
              __builtin_mul_overflow(n, s->kernel[1], &n);
  return over ? -1 : n;
}

/* How a line of an image and a row of the columns, of one pixel of the window
   at all places across, belong together: place k is line[k * step + shift]
   for first <= k < end, and beside the image otherwise. */
typedef struct across {
  int64_t first, end, count, step, shift;
} across;

static across across_of(const slide *s, int64_t j) {
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
typedef void row_fn(const across *a, void *line, void *row);

#define ROWS(T)                                                         \
  static void copy_##T(const across *a, void *line, void *row) {        \
    const T *x = line;                                                  \
    T *y = row;                                                         \
    int64_t first = x ? a->first : a->count, end = x ? a->end : first;  \
    for (int64_t k = 0; k < first; k++) y[k] = 0;                       \
    for (int64_t k = first; k < end; k++)                               \
      y[k] = x[k * a->step + a->shift];                                 \
    for (int64_t k = end; k < a->count; k++) y[k] = 0;                  \
  }                                                                     \
  static void add_##T(const across *a, void *line, void *row) {         \
    T *x = line;                                                        \
    const T *y = row;                                                   \
    for (int64_t k = a->first; x && k < a->end; k++)                    \
      x[k * a->step + a->shift] += y[k];                                \
  }

ROWS(float)
ROWS(double)

typedef struct job {
  slide s;
  char *images, *columns;
  bool sums; /* of columns, in the images: otherwise copies in the columns */
  row_fn *row;
} job;

/* One pixel of the window at all places of an image (of one channel). */
static void walk_pixel(const job *g, int64_t image, int64_t i, int64_t j) {
  const slide *s = &g->s;
  int64_t bytes = (int64_t)s->size, width = s->count[1] * bytes;
  across a = across_of(s, j);
  char *row = g->columns + ((image * s->kernel[0] + i) * s->kernel[1] + j) *
                               s->count[0] * width;
  for (int64_t v = 0; v < s->count[0]; v++, row += width) {
    int64_t y = v * s->stride[0] - s->pad[0] + i * s->dilation[0];
    bool inside = y >= 0 && y < s->height;
    int64_t line = (image * s->height + y) * s->width * bytes;
    g->row(&a, inside ? g->images + line : NULL, row);
  }
}

/* The images from `begin` to `end`. */
static void walk(void *context, int64_t begin, int64_t end, int worker) {
  const job *g = context;
  int64_t bytes = g->s.height * g->s.width * (int64_t)g->s.size;
  (void)worker;
  for (int64_t image = begin; image < end; image++) {
    if (g->sums) memset(g->images + image * bytes, 0, (size_t)bytes);
    for (int64_t i = 0; i < g->s.kernel[0]; i++)
      for (int64_t j = 0; j < g->s.kernel[1]; j++)
        walk_pixel(g, image, i, j);
  }
}

static bool run(heed_call *c, const slide *s, bool sums) {
  static row_fn *const rows[2][2] = {{copy_float, copy_double},
                                     {add_float, add_double}};
  heed_tensor *x = heed_contiguous(c->op->name, c->in[0]), *y = c->out[0];
  if (!x) return false;
  job g = {.s = *s, .sums = sums, .row = rows[sums][x->dtype == HEED_FLOAT64],
           .images = heed_tensor_data(sums ? y : x),
           .columns = heed_tensor_data(sums ? x : y)};
  g.s.size = heed_dtype_size(x->dtype);
  int64_t work = s->kernel[0] * s->kernel[1] * s->count[0] * s->count[1];
  if (heed_tensor_numel(y) > 0)
    heed_parallel(s->batch * s->channels, 1 + 16384 / (work + 1), walk, &g);
  heed_tensor_drop(x);
  return true;
}

static bool image_slide(const heed_call *c, slide *s) {
  const heed_tensor *x = c->in[0];
  if (!heed_want_float(c, 0)) return false;
  if (x->shape.ndim != 4)
    return heed_fail("%s: x must be [batch channels height width], got %s",
                     c->op->name, heed_tensor_text(x));
  *s = (slide){.batch = x->shape.dim[0], .channels = x->shape.dim[1],
               .height = x->shape.dim[2], .width = x->shape.dim[3]};
  return read_window(c, 0, s) && count_places(c, s);
}

/***
The windows of images as columns, in the order of PyTorch's `unfold`; used by
`F.unfold` and `F.conv2d`.
@function im2col
@param x float tensor [B C H W]
@param kernel sizes of the window, down and across
@param stride its steps
@param padding zeros above, left, below and right of the image
@param dilation steps between the pixels of the window
@return tensor [B C*kh*kw L], a column for each of the L places
@raise when the window does not fit
@usage local x = heed.arange(1, 9):to "float32":reshape(1, 1, 3, 3)
return heed.core.ops.im2col(x, {2, 2}) --> 1 2 4 5 2 3 5 6 4 5 7 8 5 6 8 9
*/
static bool im2col_check(heed_call *c) {
  slide s;
  if (!image_slide(c, &s)) return false;
  int64_t rows = column_rows(&s), places;
  if (rows < 0 || __builtin_mul_overflow(s.count[0], s.count[1], &places))
    return heed_fail("%s: the columns have too many elements", c->op->name);
  heed_out(c, 0, c->in[0]->dtype, &(heed_shape){3, {s.batch, rows, places}});
  return true;
}
static bool im2col_fwd(heed_call *c) {
  slide s;
  return image_slide(c, &s) && run(c, &s, false);
}
static bool im2col_bwd(heed_rule_call *r) {
  const heed_shape *x = heed_in_shape(r, 0);
  heed_attr attr[5] = {{.list = {2, {x->dim[2], x->dim[3]}}}, r->attr[0],
                       r->attr[1], r->attr[2], r->attr[3]};
  return heed_give(r, 0, heed_do1_with(r, HEED_OP_col2im, r->grad[0], attr));
}
const heed_rule heed_rule_im2col = {
    .check = im2col_check, .forward = im2col_fwd, .backward = im2col_bwd};

static bool column_slide(const heed_call *c, slide *s) {
  const heed_tensor *x = c->in[0];
  const heed_shape *size = &c->attr[0].list;
  if (!heed_want_float(c, 0)) return false;
  if (x->shape.ndim != 3)
    return heed_fail("%s: columns must be [batch rows places], got %s",
                     c->op->name, heed_tensor_text(x));
  if (size->ndim != 2 || size->dim[0] < 0 || size->dim[1] < 0)
    return heed_fail("%s: size must be the height and width of the images, "
                     "got %s", c->op->name, heed_shape_text(size));
  *s = (slide){.batch = x->shape.dim[0], .height = size->dim[0],
               .width = size->dim[1]};
  if (!read_window(c, 1, s) || !count_places(c, s)) return false;
  s->channels = 1;
  int64_t pixels = column_rows(s), rows = x->shape.dim[1];
  if (pixels < 0 || rows % pixels != 0 ||
      x->shape.dim[2] / s->count[0] != s->count[1] ||
      x->shape.dim[2] % s->count[0] != 0)
    return heed_fail("%s: columns %s do not come from images of %lld x %lld: "
                     "they must have a multiple of %lld rows and %lld x %lld "
                     "places", c->op->name, heed_shape_text(&x->shape),
                     (long long)s->height, (long long)s->width,
                     (long long)pixels, (long long)s->count[0],
                     (long long)s->count[1]);
  s->channels = rows / pixels;
  return true;
}

/***
The sum of columns, each pixel put where `im2col` has taken it; used by
`F.fold`.
@function col2im
@param columns float tensor [B C*kh*kw L]
@param size height and width of the images
@param kernel sizes of the window, down and across
@param stride its steps
@param padding zeros above, left, below and right of the image
@param dilation steps between the pixels of the window
@return tensor [B C H W]
@raise when the columns cannot come from such images
@usage heed.core.ops.col2im(heed.ones(1, 4, 4), {3, 3}, {2, 2})
--> 1 2 1 2 4 2 1 2 1
*/
static bool col2im_check(heed_call *c) {
  slide s;
  if (!column_slide(c, &s)) return false;
  heed_out(c, 0, c->in[0]->dtype,
           &(heed_shape){4, {s.batch, s.channels, s.height, s.width}});
  return true;
}
static bool col2im_fwd(heed_call *c) {
  slide s;
  return column_slide(c, &s) && run(c, &s, true);
}
static bool col2im_bwd(heed_rule_call *r) {
  return heed_give(r, 0, heed_do1_with(r, HEED_OP_im2col, r->grad[0],
                                       r->attr + 1));
}
const heed_rule heed_rule_col2im = {
    .check = col2im_check, .forward = col2im_fwd, .backward = col2im_bwd};
