/*
 * columns - the windows of images as columns, and back. Layer: ops.
 * Read first: core/op.h, slide.h.
 *
 * A window of kh x kw pixels slides over an image; each place of it is one
 * column, with the rows channel, then line, then pixel of the window. im2col
 * copies the windows, col2im adds them up where they came from; each is the
 * gradient of the other.
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
#include "ops/slide.h"

typedef struct job {
  heed_slide s;
  heed_dtype dtype;
  char *images, *columns;
  bool sums; /* of columns, in the images: otherwise copies in the columns */
} job;

/* The channels of images from `begin` to `end`, each with its rows. */
static void walk(void *context, int64_t begin, int64_t end, int worker) {
  const job *g = context;
  const heed_slide *s = &g->s;
  int64_t size = (int64_t)heed_dtype_size(g->dtype);
  int64_t plane = s->height * s->width * size;
  heed_slide_part part = {.rows = s->kernel[0] * s->kernel[1],
                          .lines = s->count[0]};
  int64_t bytes = part.rows * part.lines * s->count[1] * size;
  (void)worker;
  for (int64_t k = begin; k < end; k++) {
    char *image = g->images + k * plane, *columns = g->columns + k * bytes;
    if (!g->sums) {
      heed_slide_copy(s, g->dtype, image, &part, columns);
      continue;
    }
    memset(image, 0, (size_t)plane);
    heed_slide_add(s, g->dtype, columns, &part, image);
  }
}

static bool run(heed_call *c, const heed_slide *s, bool sums) {
  heed_tensor *x = heed_contiguous(c->op->name, c->in[0]), *y = c->out[0];
  if (!x) return false;
  job g = {.s = *s, .dtype = x->dtype, .sums = sums,
           .images = heed_tensor_data(sums ? y : x),
           .columns = heed_tensor_data(sums ? x : y)};
  if (heed_tensor_numel(y) > 0) {
    int64_t work = s->kernel[0] * s->kernel[1] * s->count[0] * s->count[1];
    heed_parallel(s->batch * s->channels, 1 + 16384 / (work + 1), walk, &g);
  }
  heed_tensor_drop(x);
  return true;
}

static bool image_slide(const heed_call *c, heed_slide *s) {
  return heed_slide_image(c, 0, s) && heed_slide_kernel(c, 0, s) &&
         heed_slide_steps(c, 1, s) && heed_slide_fit(c, s);
}

/***
The windows of images as columns, in the order of PyTorch's `unfold`; used by
`F.unfold`.
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
  heed_slide s;
  if (!image_slide(c, &s)) return false;
  int64_t rows = heed_slide_rows(&s), places;
  if (rows < 0 || __builtin_mul_overflow(s.count[0], s.count[1], &places))
    return heed_fail("%s: the columns have too many elements", c->op->name);
  heed_out(c, 0, c->in[0]->dtype, &(heed_shape){3, {s.batch, rows, places}});
  return true;
}
static bool im2col_fwd(heed_call *c) {
  heed_slide s;
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

static bool column_slide(const heed_call *c, heed_slide *s) {
  const heed_tensor *x = c->in[0];
  const heed_shape *size = &c->attr[0].list;
  if (!heed_want_float(c, 0)) return false;
  if (x->shape.ndim != 3)
    return heed_fail("%s: columns must be [batch rows places], got %s",
                     c->op->name, heed_tensor_text(x));
  if (size->ndim != 2 || size->dim[0] < 0 || size->dim[1] < 0)
    return heed_fail("%s: size must be the height and width of the images, "
                     "got %s", c->op->name, heed_shape_text(size));
  *s = (heed_slide){.batch = x->shape.dim[0], .channels = 1,
                    .height = size->dim[0], .width = size->dim[1]};
  if (!heed_slide_kernel(c, 1, s) || !heed_slide_steps(c, 2, s) ||
      !heed_slide_fit(c, s))
    return false;
  int64_t pixels = heed_slide_rows(s), rows = x->shape.dim[1];
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
  heed_slide s;
  if (!column_slide(c, &s)) return false;
  heed_out(c, 0, c->in[0]->dtype,
           &(heed_shape){4, {s.batch, s.channels, s.height, s.width}});
  return true;
}
static bool col2im_fwd(heed_call *c) {
  heed_slide s;
  return column_slide(c, &s) && run(c, &s, true);
}
static bool col2im_bwd(heed_rule_call *r) {
  return heed_give(r, 0, heed_do1_with(r, HEED_OP_im2col, r->grad[0],
                                       r->attr + 1));
}
const heed_rule heed_rule_col2im = {
    .check = col2im_check, .forward = col2im_fwd, .backward = col2im_bwd};
