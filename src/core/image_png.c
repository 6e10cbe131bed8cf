/*
 * image_png - PNG through libpng. Layer: core. Read first: image.h.
 *
 * libpng reports an error by a longjmp to the setjmp of `read_rows` and
 * `write_rows`. What is to be freed lies in a struct of their callers, so that
 * no local variable has to outlive the jump.
 */
#include <png.h>
#include <string.h>

#include "base/error.h"
#include "core/image.h"

/* deflate cannot make data smaller than this by more */
#define DEFLATE_RATIO 1032

static void on_error(png_structp png, png_const_charp text) {
  heed_fail("PNG: %s", text);
  png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp text) {
  (void)png;
  (void)text;
}

/* -- reading --------------------------------------------------------------- */

typedef struct reader {
  const uint8_t *at;
  size_t size, left;
  int64_t max_pixels;
  png_structp png;
  png_infop info;
  heed_tensor *image;
} reader;

static void take(png_structp png, png_bytep out, size_t n) {
  reader *r = png_get_io_ptr(png);
  if (n > r->left) png_error(png, "the file ends too early");
  memcpy(out, r->at, n);
  r->at += n;
  r->left -= n;
}

/* Compares the head with the limit and with the bytes that are there. */
static bool check_head(const reader *r) {
  uint64_t width = png_get_image_width(r->png, r->info);
  uint64_t height = png_get_image_height(r->png, r->info);
  if (!heed_image_fits("PNG", width, height, r->max_pixels)) return false;
  uint64_t bits = png_get_bit_depth(r->png, r->info) *
                  (uint64_t)png_get_channels(r->png, r->info);
  if (width * height / 8 / DEFLATE_RATIO * bits > r->size)
    return heed_fail("PNG: %llu x %llu pixels cannot be in a file of %zu "
                     "bytes", (unsigned long long)width,
                     (unsigned long long)height, r->size);
  return true;
}

/* Asks for whole bytes: palettes become colours, fewer than 8 bits 8, a
   transparent colour an alpha channel. */
static void set_transforms(const reader *r) {
  png_set_expand(r->png);
  png_set_interlace_handling(r->png);
  png_read_update_info(r->png, r->info);
}

/* Samples of 16 bits, high byte first, in the second half of each row become
   int32 in all of it: sample i is written behind no sample that is unread. */
static void widen(heed_tensor *image) {
  int64_t n = image->shape.dim[1] * image->shape.dim[2];
  int32_t *row = heed_tensor_data(image);
  for (int64_t y = 0; y < image->shape.dim[0]; y++, row += n) {
    const uint8_t *from = (const uint8_t *)row + 2 * n;
    for (int64_t i = 0; i < n; i++)
      row[i] = from[2 * i] << 8 | from[2 * i + 1];
  }
}

static bool read_rows(reader *r) {
  png_structp png = r->png;
  if (setjmp(png_jmpbuf(png))) return false;
  png_set_read_fn(png, r, take);
  png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  png_read_info(png, r->info);
  if (!check_head(r)) return false;
  set_transforms(r);

  bool wide = png_get_bit_depth(png, r->info) == 16;
  png_uint_32 height = png_get_image_height(png, r->info);
  r->image = heed_image_new(wide ? HEED_INT32 : HEED_UINT8,
                            png_get_image_width(png, r->info), height,
                            png_get_channels(png, r->info));
  if (!r->image) return false;
  size_t bytes = png_get_rowbytes(png, r->info);
  size_t stride = wide ? 2 * bytes : bytes;
  uint8_t *first = heed_tensor_data(r->image);
  if (wide) first += bytes;
  /* a row of a later pass keeps what the earlier ones wrote */
  memset(heed_tensor_data(r->image), 0, stride * height);
  int passes = png_get_interlace_type(png, r->info) == PNG_INTERLACE_ADAM7
                   ? PNG_INTERLACE_ADAM7_PASSES : 1;
  for (int pass = 0; pass < passes; pass++)
    for (png_uint_32 y = 0; y < height; y++)
      png_read_row(png, first + y * stride, NULL);
  png_read_end(png, NULL);
  return true;
}

heed_tensor *heed_image_png_decode(const uint8_t *data, size_t size,
                                   int64_t max_pixels) {
  reader r = {.at = data, .size = size, .left = size,
              .max_pixels = max_pixels};
  r.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, on_error,
                                 on_warning);
  if (r.png) r.info = png_create_info_struct(r.png);
  bool ok = r.info ? read_rows(&r) : heed_fail_memory(sizeof(reader));
  png_destroy_read_struct(&r.png, &r.info, NULL);
  if (!ok) {
    heed_tensor_drop(r.image);
    return NULL;
  }
  if (r.image->dtype == HEED_INT32) widen(r.image);
  return r.image;
}

/* -- writing --------------------------------------------------------------- */

typedef struct writer {
  const heed_tensor *image;
  int level;
  heed_bytes *out;
  heed_bytes row; /* of samples of 16 bits */
  png_structp png;
  png_infop info;
} writer;

static void put(png_structp png, png_bytep data, size_t n) {
  writer *w = png_get_io_ptr(png);
  /* the message of the failure is there; this one is not shown */
  if (!heed_bytes_add(w->out, data, n)) png_longjmp(png, 1);
}

static void flush(png_structp png) { (void)png; }

/* The samples of row y, high byte first. */
static const uint8_t *narrow(writer *w, int64_t y, int64_t n) {
  const int32_t *from = (const int32_t *)heed_tensor_data(w->image) + y * n;
  w->row.size = 0;
  for (int64_t i = 0; i < n; i++) {
    uint8_t pair[2] = {(uint8_t)(from[i] >> 8), (uint8_t)from[i]};
    if (!heed_bytes_add(&w->row, pair, 2)) return NULL;
  }
  return w->row.data;
}

static bool write_rows(writer *w) {
  static const int color[] = {
      0, PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
      PNG_COLOR_TYPE_RGB_ALPHA};
  const int64_t *dim = w->image->shape.dim; /* H W C */
  png_structp png = w->png;
  bool wide = w->image->dtype == HEED_INT32;
  if (setjmp(png_jmpbuf(png))) return false;
  png_set_write_fn(png, w, put, flush);
  png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  png_set_compression_level(png, w->level);
  png_set_IHDR(png, w->info, (png_uint_32)dim[1], (png_uint_32)dim[0],
               wide ? 16 : 8, color[dim[2]], PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, w->info);
  int64_t n = dim[1] * dim[2];
  for (int64_t y = 0; y < dim[0]; y++) {
    const uint8_t *row =
        wide ? narrow(w, y, n)
             : (const uint8_t *)heed_tensor_data(w->image) + y * n;
    if (!row) return false;
    png_write_row(png, row);
  }
  png_write_end(png, NULL);
  return true;
}

bool heed_image_png_encode(const heed_tensor *image, int level,
                           heed_bytes *out) {
  writer w = {.image = image, .level = level, .out = out};
  w.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, on_error,
                                  on_warning);
  if (w.png) w.info = png_create_info_struct(w.png);
  bool ok = w.info ? write_rows(&w) : heed_fail_memory(sizeof(writer));
  png_destroy_write_struct(&w.png, &w.info);
  heed_bytes_free(&w.row);
  return ok;
}
