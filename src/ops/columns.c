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

typedef struct job {
  slide s;
  const char *from;
  char *to;
  bool is_double;
} job;

/* The first and the end of the places across at which pixel j of the window
   lies in the image. */
static void places_inside(const slide *s, int64_t j, int64_t *first,
                          int64_t *end) {
  int64_t shift = s->pad[1] - j * s->dilation[1], step = s->stride[1];
  *first = shift > 0 ? (shift + step - 1) / step : 0;
  *end = s->width + shift > 0 ? (s->width + shift - 1) / step + 1 : 0;
  if (*first > s->count[1]) *first = s->count[1];
  if (*end > s->count[1]) *end = s->count[1];
  if (*end < *first) *end = *first;
}

#define COPY_ROW(T)                                                   \
  do {                                                                \
    const T *x = (const T *)line;                                     \
    T *y = (T *)row;                                                  \
    for (int64_t k = 0; k < first; k++) y[k] = 0;                     \
    for (int64_t k = first; k < end; k++) y[k] = x[k * step + shift]; \
    for (int64_t k = end; k < s->count[1]; k++) y[k] = 0;             \
  } while (0)

#define ADD_ROW(T)                                                     \
  do {                                                                 \
    T *x = (T *)line;                                                  \
    const T *y = (const T *)row;                                       \
    for (int64_t k = first; k < end; k++) x[k * step + shift] += y[k]; \
  } while (0)

/* The images (of one channel) from `begin` to `end`. */
static void images_to_columns(void *context, int64_t begin, int64_t last,
                              int worker) {
  const job *g = context;
  const slide *s = &g->s;
  const int64_t step = s->stride[1], bytes = (int64_t)s->size;
  const int64_t places = s->count[0] * s->count[1];
  (void)worker;
  for (int64_t image = begin; image < last; image++)
    for (int64_t i = 0; i < s->kernel[0]; i++)
      for (int64_t j = 0; j < s->kernel[1]; j++) {
        int64_t first, end, shift = j * s->dilation[1] - s->pad[1];
        places_inside(s, j, &first, &end);
        char *row = g->to + ((image * s->kernel[0] + i) * s->kernel[1] + j) *
                                places * bytes;
        for (int64_t v = 0; v < s->count[0]; v++) {
          int64_t y0 = v * s->stride[0] - s->pad[0] + i * s->dilation[0];
          if (y0 < 0 || y0 >= s->height) {
            memset(row, 0, (size_t)(s->count[1] * bytes));
          } else {
            const char *line =
                g->from + (image * s->height + y0) * s->width * bytes;
            if (g->is_double) COPY_ROW(double);
            else COPY_ROW(float);
          }
          row += s->count[1] * bytes;
        }
      }
}

static void columns_to_images(void *context, int64_t begin, int64_t last,
                              int worker) {
  const job *g = context;
  const slide *s = &g->s;
  const int64_t step = s->stride[1], bytes = (int64_t)s->size;
  const int64_t places = s->count[0] * s->count[1];
  (void)worker;
  for (int64_t image = begin; image < last; image++) {
    char *to = g->to + image * s->height * s->width * bytes;
    memset(to, 0, (size_t)(s->height * s->width * bytes));
    for (int64_t i = 0; i < s->kernel[0]; i++)
      for (int64_t j = 0; j < s->kernel[1]; j++) {
        int64_t first, end, shift = j * s->dilation[1] - s->pad[1];
        places_inside(s, j, &first, &end);
        const char *row =
            g->from + ((image * s->kernel[0] + i) * s->kernel[1] + j) *
                          places * bytes;
        for (int64_t v = 0; v < s->count[0]; v++, row += s->count[1] * bytes) {
          int64_t y0 = v * s->stride[0] - s->pad[0] + i * s->dilation[0];
          if (y0 < 0 || y0 >= s->height) continue;
          char *line = to + y0 * s->width * bytes;
          if (g->is_double) ADD_ROW(double);
          else ADD_ROW(float);
        }
      }
  }
}

static bool run(heed_call *c, const slide *s, heed_range_fn *fn) {
  heed_tensor *x = heed_contiguous(c->op->name, c->in[0]);
  if (!x) return false;
  job g = {*s, heed_tensor_data(x), heed_tensor_data(c->out[0]),
           x->dtype == HEED_FLOAT64};
  g.s.size = heed_dtype_size(x->dtype);
  int64_t images = s->batch * s->channels;
  int64_t work = s->kernel[0] * s->kernel[1] * s->count[0] * s->count[1];
  if (heed_tensor_numel(c->out[0]) > 0)
    heed_parallel(images, 1 + 16384 / (work + 1), fn, &g);
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
  return image_slide(c, &s) && run(c, &s, images_to_columns);
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
  return column_slide(c, &s) && run(c, &s, columns_to_images);
}
static bool col2im_bwd(heed_rule_call *r) {
  return heed_give(r, 0, heed_do1_with(r, HEED_OP_im2col, r->grad[0],
                                       r->attr + 1));
}
const heed_rule heed_rule_col2im = {
    .check = col2im_check, .forward = col2im_fwd, .backward = col2im_bwd};
