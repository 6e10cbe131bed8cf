/*
 * convolve - the convolution of one image in memory. Layer: ops.
 * Read first: convolve.h, kernel/gemm_tile.h, kernel/lines.h.
 *
 * The image is copied with its padding around it, so that no pixel needs a
 * test. Then the result is a product of matrices, weight times columns. A panel
 * of as many columns as a tile is wide is copied together from lines of the
 * image just before it is used, for all channels of the result: it stays in
 * the nearest cache, and no other column is ever in memory.
 */
#include "ops/convolve.h"

#include <string.h>

#include "base/count.h"
#include "base/error.h"
#include "base/memory.h"
#include "kernel/kernel.h"

#define KC 288     /* rows of columns at a time */
#define MOST_NR 64 /* columns of a panel */
#define MOST ((int64_t)1 << 44) /* elements: no memory has room for more */

static int64_t size_of(const heed_convolve *v) {
  return (int64_t)heed_dtype_size(v->dtype);
}

static bool is_padded(const heed_slide *s) {
  return s->pad[0] + s->pad[1] + s->pad[2] + s->pad[3] > 0;
}

/* Elements of an image with its padding; false where they are too many. */
static bool count_padded(const heed_convolve *v, int64_t *elements) {
  return !__builtin_mul_overflow(v->padded[0], v->padded[1], elements) &&
         !__builtin_mul_overflow(*elements, v->s.channels, elements) &&
         *elements <= MOST;
}

bool heed_convolve_open(heed_convolve *v, const char *op, const heed_slide *s,
                        heed_dtype dtype, int64_t out) {
  *v = (heed_convolve){.s = *s, .dtype = dtype, .out = out,
                       .rows = heed_slide_rows(s),
                       .padded = {s->height + s->pad[0] + s->pad[2],
                                  s->width + s->pad[1] + s->pad[3]}};
  int64_t elements;
  if (!count_padded(v, &elements))
    return heed_fail("%s: an image of %lld x %lld x %lld, with its padding, "
                     "has too many elements", op, (long long)s->channels,
                     (long long)v->padded[0], (long long)v->padded[1]);
  v->at = heed_mem_alloc((size_t)v->rows * sizeof *v->at);
  if (!v->at) return false;
  int64_t *at = v->at;
  for (int64_t c = 0; c < s->channels; c++)
    for (int64_t i = 0; i < s->kernel[0]; i++)
      for (int64_t j = 0; j < s->kernel[1]; j++)
        *at++ = (c * v->padded[0] + i * s->dilation[0]) * v->padded[1] +
                j * s->dilation[1];
  /* a panel, and a vector */
  elements += (heed_least(v->rows, KC) + 1) * MOST_NR;
  v->scratch = (size_t)(elements * size_of(v) + HEED_ALIGN);
  return true;
}

void heed_convolve_close(heed_convolve *v) {
  heed_mem_free(v->at, (size_t)v->rows * sizeof *v->at);
}

/* Do columns lie side by side in the image? */
static bool is_plain(const heed_slide *s) {
  return s->kernel[0] == 1 && s->kernel[1] == 1 && s->stride[0] == 1 &&
         s->stride[1] == 1 && !is_padded(s);
}

/* The image with its padding, in scratch, which is moved on: there, elements
   behind the last may be read. */
static const char *pad(const heed_convolve *v, const char *image,
                       char **scratch) {
  const heed_slide *s = &v->s;
  int64_t size = size_of(v), width = v->padded[1] * size;
  int64_t bytes = s->channels * v->padded[0] * width;
  char *to = *scratch;
  memset(to, 0, (size_t)bytes);
  for (int64_t c = 0; c < s->channels; c++)
    for (int64_t y = 0; y < s->height; y++)
      memcpy(to + (c * v->padded[0] + s->pad[0] + y) * width +
                 s->pad[1] * size,
             image + (c * s->height + y) * s->width * size,
             (size_t)(s->width * size));
  *scratch += (bytes + HEED_ALIGN - 1) / HEED_ALIGN * HEED_ALIGN;
  return to;
}

/* Where a place of the window begins in the padded image. */
static int64_t place_at(const heed_convolve *v, int64_t place) {
  const heed_slide *s = &v->s;
  return place / s->count[1] * s->stride[0] * v->padded[1] +
         place % s->count[1] * s->stride[1];
}

/* Copies a panel of n columns, from place `first` on, together. */
static void make_panel(const heed_convolve *v, const char *image, int64_t row,
                       int64_t rows, int64_t first, int n, int wide,
                       void *panel) {
  int64_t place[MOST_NR];
  int run[MOST_NR + 1], runs = 0;
  for (int i = 0; i < n; i++) {
    place[i] = place_at(v, first + i);
    if (i == 0 || (first + i) % v->s.count[1] == 0) run[runs++] = i;
  }
  run[runs] = n;
  heed_kernel.lines[v->dtype].panel(rows, v->at + row, place, runs, run,
                                    v->s.stride[1], wide, image, panel);
}

/* The bias of channel o; without one, 0. */
static double bias_at(const heed_convolve *v, const void *bias, int64_t o) {
  if (!bias) return 0;
  return v->dtype == HEED_FLOAT32 ? (double)((const float *)bias)[o]
                                  : ((const double *)bias)[o];
}

/* The same for columns that lie side by side, where nothing behind the image
   may be read. */
static void copy_panel(const heed_convolve *v, const char *image,
                       int64_t rows, int n, int wide, char *panel) {
  int64_t size = size_of(v), places = v->s.count[0] * v->s.count[1];
  for (int64_t r = 0; r < rows; r++, panel += wide * size) {
    memcpy(panel, image + r * places * size, (size_t)(n * size));
    memset(panel + n * size, 0, (size_t)((wide - n) * size));
  }
}

/* The panel of columns from place `first` on, for all rows of weight. */
static void run_panel(const heed_convolve *v, const char *image,
                      const char *weight, bool bias, int64_t row,
                      int64_t rows, int64_t first, int n, char *y,
                      char *panel) {
  const heed_gemm_loops *loops = &heed_kernel.gemm[v->dtype];
  int64_t places = v->s.count[0] * v->s.count[1], size = size_of(v);
  int64_t high = (v->out + loops->mr - 1) / loops->mr;
  high = (v->out + high - 1) / high; /* even */
  const char *b = panel;
  int64_t step = loops->nr;
  if (is_plain(&v->s)) {
    const char *from = image + (v->at[row] + first) * size;
    if (n == loops->nr) b = from, step = places;
    else copy_panel(v, from, rows, n, loops->nr, panel);
  } else {
    make_panel(v, image, row, rows, first, n, loops->nr, panel);
  }
  for (int64_t o = 0; o < v->out; o += high)
    loops->tile(rows, weight + (o * v->rows + row) * size, v->rows, 1, b,
                step, y + (o * places + first) * size, places,
                (int)heed_least(high, v->out - o), n, bias || row > 0);
}

/* Few results of one channel: sums over the taps of each line. */
static void run_taps(const heed_convolve *v, const char *image,
                     const char *weight, const char *bias, int64_t line,
                     int64_t lines, char *y) {
  const heed_slide *s = &v->s;
  int64_t size = size_of(v), places = s->count[0] * s->count[1];
  for (int64_t o = 0; o < v->out; o++) {
    for (int64_t i = line; i < line + lines; i++)
      heed_kernel.lines[v->dtype].taps(
          s->count[1], v->rows, v->at, weight + o * v->rows * size,
          image + i * s->stride[0] * v->padded[1] * size, s->stride[1],
          bias_at(v, bias, o), y + (o * places + i * s->count[1]) * size);
  }
}

void heed_convolve_run(const heed_convolve *v, const void *from,
                       const void *weight, const void *bias, int64_t line,
                       int64_t lines, void *y, void *scratch) {
  char *panel = scratch;
  const char *image = is_plain(&v->s) ? from : pad(v, from, &panel);
  if (heed_convolve_is_thin(&v->s, v->out)) {
    run_taps(v, image, weight, bias, line, lines, y);
    return;
  }
  int64_t width = v->s.count[1], places = v->s.count[0] * width;
  int64_t size = size_of(v);
  for (int64_t o = 0; o < v->out && (bias || v->rows == 0); o++)
    heed_kernel.lines[v->dtype].taps( /* of none: the bias alone */
        lines * width, 0, NULL, NULL, NULL, 1, bias_at(v, bias, o),
        (char *)y + (o * places + line * width) * size);
  int64_t blocks = (v->rows + KC - 1) / KC;
  int64_t kc = blocks ? heed_pieces(v->rows, blocks) : 1;
  int nr = heed_kernel.gemm[v->dtype].nr;
  for (int64_t row = 0; row < v->rows; row += kc)
    for (int64_t j = line * width; j < (line + lines) * width; j += nr)
      run_panel(v, image, weight, bias != NULL, row,
                heed_least(kc, v->rows - row), j,
                (int)heed_least(nr, (line + lines) * width - j), y, panel);
}

void heed_convolve_sums(const heed_convolve *v, const void *from,
                        const void *from_y, void *sums, void *scratch) {
  const heed_slide *s = &v->s;
  const heed_line_loops *loops = &heed_kernel.lines[v->dtype];
  int64_t size = size_of(v), places = s->count[0] * s->count[1];
  char *unused = scratch;
  const char *image = pad(v, from, &unused), *y = from_y;
  for (int64_t o = 0; o < v->out; o++)
    for (int64_t i = 0; i < s->count[0]; i++)
      loops->tap_sums(s->count[1], v->rows, v->at,
                      y + (o * places + i * s->count[1]) * size,
                      image + i * s->stride[0] * v->padded[1] * size,
                      s->stride[1],
                      (char *)sums + o * v->rows * loops->lanes * size);
}
