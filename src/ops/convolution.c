/*
 * convolution - images through windows with weights. Layer: ops.
 * Read first: core/op.h, slide.h, gemm.h.
 *
 * At each place of the window the result is a sum over its pixels. One
 * relation of images x, weights w and results y, each linear in the others,
 * has three ops:
 *
 *     convolution         y = x * w
 *     convolution_input   x' that gives <y, x * w> = <x', x> for all x
 *     convolution_weight  w' that gives <y, x * w> = <w', w> for all w
 *
 * The gradient of each is made of the other two, any number of times; the
 * second is also what is called a transposed convolution.
 *
 * Each is a product with the columns that slide.h tells of, w being
 * [O, C kh kw]. They are made for a few lines of one image at a time, which
 * stay in the cache of the thread that made them: the columns of a batch would
 * be kh kw times the memory of x. How sums run depends on the sizes only.
 */
#include <stdatomic.h>
#include <string.h>

#include "base/count.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "kernel/kernel.h"
#include "ops/convolve.h"
#include "ops/copy.h"
#include "ops/gemm.h"
#include "ops/ops.h"
#include "ops/slide.h"

#define CHUNK (64 << 10)  /* elements of columns that are made at a time ... */
#define FEWEST 64         /* ... but at least so many places */
#define TASKS 16          /* at least, of what can be cut so often */
#define MOST_PARTS 16     /* of a batch, each with its sum of gradients ... */
#define PARTS_SIZE (1 << 20) /* ... which have so many elements */
#define ROWS 72           /* of columns, of a part of the weights */

/* The sizes of a call; slide.channels are those of one group. */
typedef struct sizes {
  heed_slide slide;
  int64_t groups, out; /* channels of the result, of one group */
  int64_t rows, places; /* of the columns of one group */
} sizes;

static int64_t within(int64_t n, int64_t least, int64_t most) {
  return n < least ? least : n > most ? most : n;
}

/* -- checks -- */

static bool want_4(const heed_call *c, int i, const char *what) {
  const heed_tensor *t = c->in[i];
  if (t->shape.ndim == 4) return true;
  return heed_fail("%s: %s must be %s, got %s", c->op->name,
                   heed_input_name(c, i), what, heed_tensor_text(t));
}

/* The attributes from number `first` on: stride, padding, dilation, groups. */
static bool read_steps(const heed_call *c, int first, sizes *z) {
  z->groups = c->attr[first + 3].i;
  if (z->groups < 1)
    return heed_fail("%s: groups must be at least 1, got %lld", c->op->name,
                     (long long)z->groups);
  return heed_slide_steps(c, first, &z->slide) &&
         heed_slide_fit(c, &z->slide);
}

/* With the slide's channels and out as those of all groups. */
static bool divide(const heed_call *c, sizes *z) {
  heed_slide *s = &z->slide;
  if (s->channels % z->groups != 0 || z->out % z->groups != 0)
    return heed_fail("%s: %lld channels and %lld of the result cannot be cut "
                     "into %lld groups", c->op->name, (long long)s->channels,
                     (long long)z->out, (long long)z->groups);
  s->channels /= z->groups;
  z->out /= z->groups;
  z->rows = heed_slide_rows(s);
  if (z->rows < 0 ||
      __builtin_mul_overflow(s->count[0], s->count[1], &z->places))
    return heed_fail("%s: the columns have too many elements", c->op->name);
  return true;
}

/* weight [O C/groups kh kw] is input i; the slide's channels are all. */
static bool weight_fits(const heed_call *c, int i, const sizes *z) {
  const heed_shape *w = &c->in[i]->shape;
  int64_t channels = z->slide.channels, takes;
  if (__builtin_mul_overflow(w->dim[1], z->groups, &takes)) takes = INT64_MAX;
  if (takes != channels || w->dim[0] % z->groups != 0)
    return heed_fail("%s: x has %lld channels, weight %s in %lld group%s "
                     "takes %lld and makes %lld", c->op->name,
                     (long long)channels, heed_shape_text(w),
                     (long long)z->groups, z->groups == 1 ? "" : "s",
                     (long long)takes, (long long)w->dim[0]);
  return true;
}

static bool read_weight(const heed_call *c, int i, sizes *z) {
  const heed_shape *w = &c->in[i]->shape;
  if (!want_4(c, i, "[O C/groups kh kw]") ||
      !heed_want_dtype(c, i, c->in[0]->dtype))
    return false;
  z->out = w->dim[0];
  z->slide.kernel[0] = w->dim[2];
  z->slide.kernel[1] = w->dim[3];
  if (w->dim[2] > 0 && w->dim[3] > 0) return true;
  return heed_fail("%s: weight %s has windows without pixels", c->op->name,
                   heed_shape_text(w));
}

/* grad [B O OH OW] is input 0. */
static bool grad_fits(const heed_call *c, const sizes *z) {
  const heed_slide *s = &z->slide;
  const heed_shape *g = &c->in[0]->shape;
  if (g->dim[0] == s->batch && g->dim[1] == z->out * z->groups &&
      g->dim[2] == s->count[0] && g->dim[3] == s->count[1])
    return true;
  return heed_fail("%s: grad must be [%lld %lld %lld %lld], got %s",
                   c->op->name, (long long)s->batch,
                   (long long)(z->out * z->groups), (long long)s->count[0],
                   (long long)s->count[1], heed_shape_text(g));
}

/* -- what all three share -- */

typedef struct job {
  const char *op;
  sizes z;
  heed_dtype dtype;
  size_t size;        /* of an element */
  char *x, *w, *y;    /* contiguous */
  const char *bias;   /* or NULL */
  int64_t lines;      /* of places, of a chunk */
  int64_t parts, part; /* of what a task is a part of, and their size */
  char *scratch;      /* of each worker */
  size_t scratch_bytes;
  heed_convolve convolve; /* where that is used; else `at` is NULL */
  atomic_bool failed;     /* for want of memory */
} job;

static char *at(const job *g, char *data, int64_t i) {
  return data + i * (int64_t)g->size;
}

/* The image and the result of one group. */
static char *image_at(const job *g, int64_t i) {
  const heed_slide *s = &g->z.slide;
  return at(g, g->x, i * s->channels * s->height * s->width);
}
static char *result_at(const job *g, int64_t i) {
  return at(g, g->y, i * g->z.out * g->z.places);
}

/* How many lines of places to take at a time, of so many rows. */
static int64_t lines_of(const sizes *z, int64_t rows) {
  int64_t places = CHUNK / (rows + 1);
  if (places < FEWEST) places = FEWEST;
  return within(places / z->slide.count[1], 1, z->slide.count[0]);
}

static bool scratch_open(job *g, size_t bytes) {
  g->scratch_bytes = (bytes + HEED_ALIGN - 1) & -(size_t)HEED_ALIGN;
  g->scratch = heed_mem_alloc(g->scratch_bytes *
                              (size_t)heed_get_num_threads());
  return g->scratch != NULL;
}

static void scratch_close(job *g) {
  heed_mem_free(g->scratch,
                g->scratch_bytes * (size_t)heed_get_num_threads());
}

static void multiply(job *g, int64_t m, int64_t n, int64_t k, heed_matrix a,
                     heed_matrix b, void *c, int64_t pitch, bool adds) {
  if (!heed_gemm(g->dtype, m, n, k, a, b, c, pitch, adds))
    atomic_store(&g->failed, true);
}

/* Runs tasks of so many multiply-adds, with bytes of scratch. */
static bool run(job *g, int64_t tasks, double work, size_t bytes,
                heed_range_fn *fn) {
  if (!scratch_open(g, bytes)) return false;
  heed_parallel_values(tasks, heed_parallel_grain(work), fn, g);
  scratch_close(g);
  return !atomic_load(&g->failed);
}

/* -- y = x * w -- */

/* Tasks: images and groups, each cut into parts of lines. */
static void forward(void *context, int64_t begin, int64_t end, int worker) {
  job *g = context;
  const sizes *z = &g->z;
  char *scratch = g->scratch + (size_t)worker * g->scratch_bytes;
  for (int64_t t = begin; t < end; t++) {
    int64_t line = t % g->parts * g->part, i = t / g->parts;
    int64_t group = i % z->groups;
    heed_convolve_run(
        &g->convolve, image_at(g, i),
        at(g, g->w, group * z->out * z->rows),
        g->bias ? g->bias + group * z->out * (int64_t)g->size : NULL, line,
        within(z->slide.count[0] - line, 0, g->part), result_at(g, i),
        scratch);
  }
}

static bool forward_run(job *g) {
  const sizes *z = &g->z;
  int64_t images = z->slide.batch * z->groups, lines = z->slide.count[0];
  if (images * z->out * z->places == 0) return true;
  if (!heed_convolve_open(&g->convolve, g->op, &z->slide, g->dtype, z->out))
    return false;
  g->part = heed_pieces(lines, heed_pieces(TASKS, images));
  g->parts = heed_pieces(lines, g->part);
  int64_t places = z->places / g->parts;
  double work = (double)(z->out * z->rows) * (double)places;
  bool ok = run(g, images * g->parts, work, g->convolve.scratch, forward);
  heed_convolve_close(&g->convolve);
  return ok;
}

/***
The convolution of images with kernels: at each place of the window the sum
over channels and pixels of x times weight (no flip, as in PyTorch), plus bias.
@function convolution
@param x float tensor [B C H W]
@param weight tensor [O C/groups kh kw] of the dtype of x
@param bias tensor [O], added to each channel of the result
@param stride steps of the window, down and across
@param padding zeros above, left, below and right of the image
@param dilation steps between the pixels of the window
@param groups channels are joined within each of so many groups only
@return tensor [B O OH OW], with OH = floor((H + above + below - dilation (kh -
1) - 1) / stride) + 1
@raise when dtypes or sizes do not fit, or the window does not
@usage local x = heed.arange(1, 9):to "float32":reshape(1, 1, 3, 3)
return heed.core.ops.convolution(x, heed.ones(1, 1, 2, 2)) --> 12 16 24 28
*/
static bool read_convolution(const heed_call *c, sizes *z) {
  return heed_slide_image(c, 0, &z->slide) && read_weight(c, 1, z) &&
         read_steps(c, 0, z) && weight_fits(c, 1, z) && divide(c, z);
}

static bool convolution_check(heed_call *c) {
  sizes z;
  const heed_tensor *bias = c->in[2];
  if (!read_convolution(c, &z)) return false;
  int64_t out = z.out * z.groups;
  if (bias && (bias->shape.ndim != 1 || bias->shape.dim[0] != out))
    return heed_fail("%s: bias must be [%lld], one for each channel of the "
                     "result, got %s", c->op->name, (long long)out,
                     heed_tensor_text(bias));
  if (bias && !heed_want_dtype(c, 2, c->in[0]->dtype)) return false;
  heed_out(c, 0, c->in[0]->dtype,
           &(heed_shape){4, {z.slide.batch, out, z.slide.count[0],
                             z.slide.count[1]}});
  return true;
}

/* The inputs a call gives, in one piece each. */
static bool open_two(const heed_call *c, heed_tensor **two) {
  two[0] = heed_contiguous(c->op->name, c->in[0]);
  two[1] = two[0] ? heed_contiguous(c->op->name, c->in[1]) : NULL;
  if (two[1]) return true;
  heed_tensor_drop(two[0]);
  return false;
}
static void close_two(heed_tensor **two) {
  heed_tensor_drop(two[0]);
  heed_tensor_drop(two[1]);
}

static job job_of(const heed_call *c, const sizes *z) {
  heed_dtype dtype = c->in[0]->dtype;
  return (job){.op = c->op->name, .z = *z, .dtype = dtype,
               .size = heed_dtype_size(dtype)};
}

static bool convolution_fwd(heed_call *c) {
  sizes z;
  heed_tensor *two[2], *bias = NULL;
  if (!read_convolution(c, &z) || !open_two(c, two)) return false;
  bool ok = !c->in[2] || (bias = heed_contiguous(c->op->name, c->in[2]));
  if (ok) {
    job g = job_of(c, &z);
    g.x = heed_tensor_data(two[0]);
    g.w = heed_tensor_data(two[1]);
    g.y = heed_tensor_data(c->out[0]);
    g.bias = bias ? heed_tensor_data(bias) : NULL;
    ok = forward_run(&g);
  }
  heed_tensor_drop(bias);
  close_two(two);
  return ok;
}

/* Asks the other two ops for a gradient, with the same steps. */
static heed_tensor *input_of(heed_rule_call *r, heed_tensor *y,
                             heed_tensor *w, const heed_shape *x,
                             const heed_attr *steps) {
  heed_attr attr[5] = {{.list = {2, {x->dim[2], x->dim[3]}}}, steps[0],
                       steps[1], steps[2], steps[3]};
  return heed_do2_with(r, HEED_OP_convolution_input, y, w, attr);
}
static heed_tensor *weight_of(heed_rule_call *r, heed_tensor *y,
                              heed_tensor *x, const heed_shape *w,
                              const heed_attr *steps) {
  heed_attr attr[5] = {{.list = {2, {w->dim[2], w->dim[3]}}}, steps[0],
                       steps[1], steps[2], steps[3]};
  return heed_do2_with(r, HEED_OP_convolution_weight, y, x, attr);
}

static bool convolution_bwd(heed_rule_call *r) {
  heed_tensor *y = r->grad[0];
  const heed_attr *steps = r->attr;
  if (heed_needs(r, 0) &&
      !heed_give(r, 0, input_of(r, y, heed_in(r, 1), heed_in_shape(r, 0),
                                steps)))
    return false;
  if (heed_needs(r, 1) &&
      !heed_give(r, 1, weight_of(r, y, heed_in(r, 0), heed_in_shape(r, 1),
                                 steps)))
    return false;
  heed_attr sides[2] = {{.list = {3, {0, 2, 3}}}, {.i = false}};
  return !heed_needs(r, 2) ||
         heed_give(r, 2, heed_do1_with(r, HEED_OP_sum, y, sides));
}
const heed_rule heed_rule_convolution = {
    .check = convolution_check, .forward = convolution_fwd,
    .backward = convolution_bwd, .keep = {HEED_NEED(1), HEED_NEED(0)}};

/* -- x' -- */

/* Some channels of the image of one group: tasks are cut into such parts,
   since lines of different places meet in one pixel. */
static void spread_part(job *g, int64_t t, int64_t channel, int64_t channels,
                        char *columns) {
  const sizes *z = &g->z;
  const heed_slide *s = &z->slide;
  int64_t window = s->kernel[0] * s->kernel[1], plane = s->height * s->width;
  int64_t row = channel * window, rows = channels * window;
  memset(at(g, image_at(g, t), channel * plane), 0,
         (size_t)(channels * plane) * g->size);
  heed_matrix w = {at(g, g->w, t % z->groups * z->out * z->rows + row), 1,
                   z->rows}; /* turned */
  for (int64_t line = 0; line < s->count[0]; line += g->lines) {
    int64_t lines = within(s->count[0] - line, 0, g->lines);
    int64_t n = lines * s->count[1];
    heed_matrix y = {at(g, result_at(g, t), line * s->count[1]), z->places, 1};
    heed_slide_part part = {row, rows, line, lines};
    multiply(g, rows, n, z->out, w, y, columns, n, false);
    heed_slide_add(s, g->dtype, columns, &part, image_at(g, t));
  }
}

static void spread(void *context, int64_t begin, int64_t end, int worker) {
  job *g = context;
  char *columns = g->scratch + (size_t)worker * g->scratch_bytes;
  for (int64_t t = begin; t < end; t++) {
    int64_t channel = t % g->parts * g->part;
    spread_part(g, t / g->parts, channel,
                within(g->z.slide.channels - channel, 0, g->part), columns);
  }
}

/* Windows that move by 1 see each pixel in all of their places, so x' is a
   convolution of y itself, with more padding and each window turned round.
   False where the window leaves some of its padding unseen. */
static bool turned_sizes(const sizes *z, sizes *turned) {
  const heed_slide *s = &z->slide;
  *turned = (sizes){.slide = *s, .groups = z->groups, .out = s->channels,
                    .places = s->height * s->width};
  heed_slide *u = &turned->slide;
  u->channels = z->out;
  for (int d = 0; d < 4; d++) {
    u->pad[d] = s->dilation[d % 2] * (s->kernel[d % 2] - 1) - s->pad[d];
    if (u->pad[d] < 0 || s->stride[d % 2] != 1) return false;
  }
  u->height = s->count[0];
  u->width = s->count[1];
  u->count[0] = s->height;
  u->count[1] = s->width;
  turned->rows = heed_slide_rows(u);
  return turned->rows >= 0;
}

/* to[c][o][window, backwards] = w[o][c][window], in each group. */
static void turn_weight(const job *g, char *to) {
  const sizes *z = &g->z;
  int64_t channels = z->slide.channels;
  int64_t window = z->slide.kernel[0] * z->slide.kernel[1];
  for (int64_t group = 0; group < z->groups; group++)
    for (int64_t c = 0; c < channels; c++)
      for (int64_t o = 0; o < z->out; o++) {
        const char *w = at(g, g->w, ((group * z->out + o) * channels + c) *
                                        window);
        for (int64_t k = window; k-- > 0; to += g->size)
          memcpy(to, w + k * (int64_t)g->size, g->size);
      }
}

static bool turned_run(const job *g, const sizes *turned) {
  size_t bytes =
      (size_t)(g->z.groups * g->z.out * g->z.rows) * g->size;
  job back = {.op = g->op, .z = *turned, .dtype = g->dtype, .size = g->size,
              .x = g->y, .y = g->x, .w = heed_mem_alloc(bytes)};
  if (!back.w) return false;
  turn_weight(g, back.w);
  bool ok = forward_run(&back);
  heed_mem_free(back.w, bytes);
  return ok;
}

static bool spread_run(job *g) {
  const sizes *z = &g->z;
  const heed_slide *s = &z->slide;
  sizes turned;
  if (turned_sizes(z, &turned)) return turned_run(g, &turned);
  int64_t images = s->batch * z->groups;
  int64_t window = s->kernel[0] * s->kernel[1];
  if (images * s->channels == 0) return true;
  g->part = heed_pieces(s->channels, heed_pieces(TASKS, images));
  g->parts = heed_pieces(s->channels, g->part);
  g->lines = lines_of(z, g->part * window);
  int64_t places = z->places / g->parts;
  double work = (double)(z->out * z->rows) * (double)places;
  return run(g, images * g->parts, work,
             (size_t)(g->part * window * g->lines * s->count[1]) * g->size,
             spread);
}

/***
Images whose product with any others is that of `grad` with their convolution:
the gradient of `convolution`, and the transposed convolution.
@function convolution_input
@param grad float tensor [B O OH OW]
@param weight tensor [O C/groups kh kw] of the dtype of grad
@param size height and width of the images
@param stride steps of the window, down and across
@param padding zeros above, left, below and right of the image
@param dilation steps between the pixels of the window
@param groups channels are joined within each of so many groups only
@return tensor [B C H W]
@raise when grad cannot be the result of a convolution of such images
@usage local y = heed.tensor {{{{1.0, 2.0}}}}
return heed.core.ops.convolution_input(y, heed.ones(1, 1, 1, 2), {1, 3})
--> 1 3 2
*/
static bool read_input(const heed_call *c, sizes *z) {
  const heed_shape *size = &c->attr[0].list;
  if (!heed_want_float(c, 0) || !want_4(c, 0, "[B O OH OW]") ||
      !read_weight(c, 1, z))
    return false;
  if (size->ndim != 2 || size->dim[0] < 0 || size->dim[1] < 0)
    return heed_fail("%s: size must be the height and width of the images, "
                     "got %s", c->op->name, heed_shape_text(size));
  z->slide.batch = c->in[0]->shape.dim[0];
  z->slide.height = size->dim[0];
  z->slide.width = size->dim[1];
  if (!read_steps(c, 1, z)) return false;
  if (__builtin_mul_overflow(c->in[1]->shape.dim[1], z->groups,
                             &z->slide.channels))
    return heed_fail("%s: the images have too many channels", c->op->name);
  return divide(c, z) && grad_fits(c, z);
}

static bool convolution_input_check(heed_call *c) {
  sizes z;
  if (!read_input(c, &z)) return false;
  heed_out(c, 0, c->in[0]->dtype,
           &(heed_shape){4, {z.slide.batch, z.slide.channels * z.groups,
                             z.slide.height, z.slide.width}});
  return true;
}

static bool convolution_input_fwd(heed_call *c) {
  sizes z;
  heed_tensor *two[2];
  if (!read_input(c, &z) || !open_two(c, two)) return false;
  job g = job_of(c, &z);
  g.y = heed_tensor_data(two[0]);
  g.w = heed_tensor_data(two[1]);
  g.x = heed_tensor_data(c->out[0]);
  bool ok = spread_run(&g);
  close_two(two);
  return ok;
}

static bool convolution_input_bwd(heed_rule_call *r) {
  heed_tensor *x = r->grad[0];
  const heed_attr *steps = r->attr + 1;
  if (heed_needs(r, 0)) {
    heed_tensor *in[3] = {x, heed_in(r, 1), NULL};
    if (!in[1] || !heed_give(r, 0, heed_do(r, heed_op_at(HEED_OP_convolution),
                                           in, 3, steps)))
      return false;
  }
  return !heed_needs(r, 1) ||
         heed_give(r, 1, weight_of(r, heed_in(r, 0), x, heed_in_shape(r, 1),
                                   steps));
}
const heed_rule heed_rule_convolution_input = {
    .check = convolution_input_check, .forward = convolution_input_fwd,
    .backward = convolution_input_bwd,
    .keep = {HEED_NEED(1), HEED_NEED(0)}};

/* -- w' -- */

/* A task is one group, one part of its rows, one part of the batch; each part
   of the batch has a sum of its own, turned: [groups rows out]. */
static void gather_part(job *g, int64_t batch, int64_t group, int64_t row,
                        int64_t rows, char *columns) {
  const sizes *z = &g->z;
  const heed_slide *s = &z->slide;
  int64_t first = s->batch * batch / g->parts;
  int64_t last = s->batch * (batch + 1) / g->parts;
  char *sum = at(g, g->w, ((batch * z->groups + group) * z->rows + row) *
                              z->out);
  bool adds = false;
  for (int64_t b = first; b < last; b++)
    for (int64_t line = 0; line < s->count[0]; line += g->lines) {
      int64_t lines = within(s->count[0] - line, 0, g->lines);
      int64_t t = b * z->groups + group, n = lines * s->count[1];
      heed_slide_part part = {row, rows, line, lines};
      heed_slide_copy(s, g->dtype, image_at(g, t), &part, columns);
      heed_matrix y = {at(g, result_at(g, t), line * s->count[1]), 1,
                       z->places}; /* turned */
      multiply(g, rows, z->out, n, (heed_matrix){columns, n, 1}, y, sum,
               z->out, adds);
      adds = true;
    }
}

/* The same where no product of matrices is worth while: taps of one channel,
   summed in vectors whose lanes are added at the end. */
static void gather_thin(const job *g, int64_t batch, int64_t group,
                        char *scratch) {
  const sizes *z = &g->z;
  int lanes = heed_kernel.lines[g->dtype].lanes;
  int64_t first = z->slide.batch * batch / g->parts;
  int64_t last = z->slide.batch * (batch + 1) / g->parts;
  char *sums = scratch, *rest = at(g, scratch, z->out * z->rows * lanes);
  char *to = at(g, g->w, (batch * z->groups + group) * z->rows * z->out);
  memset(sums, 0, (size_t)(rest - sums));
  for (int64_t b = first; b < last; b++) {
    int64_t t = b * z->groups + group;
    heed_convolve_sums(&g->convolve, image_at(g, t), result_at(g, t), sums,
                       rest);
  }
  for (int64_t o = 0; o < z->out; o++)
    for (int64_t k = 0; k < z->rows; k++)
      heed_kernel.sum_parts[g->dtype](
          1, lanes, 1, at(g, sums, (o * z->rows + k) * lanes),
          at(g, to, k * z->out + o));
}

static void gather(void *context, int64_t begin, int64_t end, int worker) {
  job *g = context;
  char *columns = g->scratch + (size_t)worker * g->scratch_bytes;
  if (g->convolve.at) {
    for (int64_t t = begin; t < end; t++)
      gather_thin(g, t / g->z.groups, t % g->z.groups, columns);
    return;
  }
  int64_t cuts = heed_pieces(g->z.rows, g->part);
  for (int64_t t = begin; t < end; t++) {
    int64_t row = t % cuts * g->part, group = t / cuts % g->z.groups;
    gather_part(g, t / cuts / g->z.groups, group, row,
                within(g->z.rows - row, 0, g->part), columns);
  }
}

/* to = the sums of all parts, turned back. */
static void add_parts(const job *g, char *to) {
  const sizes *z = &g->z;
  int64_t one = z->rows * z->out, all = z->groups * one;
  if (g->parts > 1)
    heed_kernel.sum_parts[g->dtype](all, g->parts, all, g->w, g->w);
  for (int64_t k = 0; k < z->groups; k++)
    heed_kernel.turn[g->dtype](z->out, z->rows, at(g, to, k * one), z->rows,
                               at(g, g->w, k * one), z->out);
}

static bool gather_run(job *g, char *to) {
  const sizes *z = &g->z;
  const heed_slide *s = &z->slide;
  int64_t all = z->groups * z->rows * z->out;
  if (all == 0) return true;
  if (s->batch * z->places == 0) {
    memset(to, 0, (size_t)all * g->size);
    return true;
  }
  g->parts = within(PARTS_SIZE / all, 1, MOST_PARTS);
  if (g->parts > s->batch) g->parts = s->batch;
  bool cut = g->parts * z->groups < MOST_PARTS / 2;
  g->part = cut && z->rows > ROWS ? ROWS : z->rows;
  g->lines = lines_of(z, g->part);
  size_t bytes = (size_t)(all * g->parts) * g->size;
  g->w = heed_mem_alloc(bytes);
  if (!g->w) return false;
  int64_t elements = g->part * g->lines * s->count[1];
  if (heed_convolve_is_thin(s, z->out)) {
    g->part = z->rows;
    if (!heed_convolve_open(&g->convolve, g->op, s, g->dtype, z->out)) {
      heed_mem_free(g->w, bytes);
      return false;
    }
    elements = z->out * z->rows * heed_kernel.lines[g->dtype].lanes;
  }
  int64_t tasks = g->parts * z->groups * heed_pieces(z->rows, g->part);
  double work = (double)(all * z->places) * (double)s->batch / (double)tasks;
  bool ok = run(g, tasks, work,
                (size_t)elements * g->size + g->convolve.scratch, gather);
  heed_convolve_close(&g->convolve);
  if (ok) add_parts(g, to);
  heed_mem_free(g->w, bytes);
  return ok;
}

/* Inputs: grad [B O OH OW], x [B C H W]; gives [O C/groups kh kw]. */
static bool read_gather(const heed_call *c, sizes *z) {
  if (!heed_slide_image(c, 1, &z->slide) ||
      !heed_want_dtype(c, 0, c->in[1]->dtype) ||
      !want_4(c, 0, "[B O OH OW]") || !heed_slide_kernel(c, 0, &z->slide) ||
      !read_steps(c, 1, z))
    return false;
  z->out = c->in[0]->shape.dim[1];
  return divide(c, z) && grad_fits(c, z);
}

static bool convolution_weight_check(heed_call *c) {
  sizes z;
  if (!read_gather(c, &z)) return false;
  heed_out(c, 0, c->in[0]->dtype,
           &(heed_shape){4, {z.out * z.groups, z.slide.channels,
                             z.slide.kernel[0], z.slide.kernel[1]}});
  return true;
}

static bool convolution_weight_fwd(heed_call *c) {
  sizes z;
  heed_tensor *two[2];
  if (!read_gather(c, &z) || !open_two(c, two)) return false;
  job g = job_of(c, &z);
  g.y = heed_tensor_data(two[0]);
  g.x = heed_tensor_data(two[1]);
  bool ok = gather_run(&g, heed_tensor_data(c->out[0]));
  close_two(two);
  return ok;
}

static bool convolution_weight_bwd(heed_rule_call *r) {
  heed_tensor *w = r->grad[0];
  const heed_attr *steps = r->attr + 1;
  if (heed_needs(r, 0)) {
    heed_tensor *in[3] = {heed_in(r, 1), w, NULL};
    if (!in[0] || !heed_give(r, 0, heed_do(r, heed_op_at(HEED_OP_convolution),
                                           in, 3, steps)))
      return false;
  }
  return !heed_needs(r, 1) ||
         heed_give(r, 1, input_of(r, heed_in(r, 0), w, heed_in_shape(r, 1),
                                  steps));
}
const heed_rule heed_rule_convolution_weight = {
    .check = convolution_weight_check, .forward = convolution_weight_fwd,
    .backward = convolution_weight_bwd,
    .keep = {HEED_NEED(1), HEED_NEED(0)}};
