/*
 * image_jpeg - JPEG through libjpeg-turbo. Layer: core. Read first: image.h.
 *
 * libjpeg reports an error by a call of `leave`, which jumps to the setjmp of
 * `read_rows` and `write_rows`. What is to be freed lies in a struct of their
 * callers, so that no local variable has to outlive the jump.
 */
#include <setjmp.h>
#include <stdio.h> /* jpeglib.h wants it */
#include <string.h>

#include <jpeglib.h>
#include <jerror.h>

#include "base/error.h"
#include "core/image.h"

/* A progressive file of more scans wastes time on purpose. */
#define MAX_SCANS 500

typedef struct faults {
  struct jpeg_error_mgr base; /* first: libjpeg points here */
  jmp_buf back;
} faults;

static void leave(j_common_ptr jpeg) {
  char text[JMSG_LENGTH_MAX];
  jpeg->err->format_message(jpeg, text);
  heed_fail("JPEG: %s", text);
  longjmp(((faults *)jpeg->err)->back, 1);
}

/* What libjpeg would only warn of: of data that is damaged or missing, it
   makes up the rest of the picture. */
static void on_message(j_common_ptr jpeg, int level) {
  if (level >= 0) return;
  switch (jpeg->err->msg_code) {
    case JWRN_ARITH_BAD_CODE:
    case JWRN_BOGUS_PROGRESSION:
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_JPEG_EOF:
    case JWRN_MUST_RESYNC:
    case JWRN_NOT_SEQUENTIAL:
      leave(jpeg);
  }
}

static void set_faults(faults *f) {
  jpeg_std_error(&f->base);
  f->base.error_exit = leave;
  f->base.emit_message = on_message;
}

/* -- reading --------------------------------------------------------------- */

typedef struct reader {
  struct jpeg_decompress_struct jpeg;
  struct jpeg_progress_mgr progress;
  faults faults;
  const uint8_t *data;
  size_t size;
  int64_t max_pixels;
  heed_tensor *image;
} reader;

static void count_scans(j_common_ptr jpeg) {
  if (((j_decompress_ptr)jpeg)->input_scan_number <= MAX_SCANS) return;
  heed_fail("JPEG: more than %d scans", MAX_SCANS);
  longjmp(((faults *)jpeg->err)->back, 1);
}

/* Compares the head with the limit and with the bytes that are there: at least
   one component has a block of 8 x 8 for 256 pixels, and Huffman codes take at
   least one bit for each. */
static bool check_head(const reader *r) {
  uint64_t width = r->jpeg.image_width, height = r->jpeg.image_height;
  if (!heed_image_fits("JPEG", width, height, r->max_pixels)) return false;
  if (!r->jpeg.arith_code && width * height / 256 / 8 > r->size)
    return heed_fail("JPEG: %llu x %llu pixels cannot be in a file of %zu "
                     "bytes", (unsigned long long)width,
                     (unsigned long long)height, r->size);
  return true;
}

/* Sets what is to come out; returns the number of channels of it, 0 when the
   colours are of no known kind. */
static int set_colors(struct jpeg_decompress_struct *jpeg) {
  switch (jpeg->jpeg_color_space) {
    case JCS_GRAYSCALE:
      jpeg->out_color_space = JCS_GRAYSCALE;
      return 1;
    case JCS_RGB:
    case JCS_YCbCr:
      jpeg->out_color_space = JCS_RGB;
      return 3;
    case JCS_CMYK:
    case JCS_YCCK:
      jpeg->out_color_space = JCS_CMYK;
      return 4;
    default:
      heed_fail("JPEG: %d components of unknown colours",
                jpeg->num_components);
      return 0;
  }
}

/* Inks to light: R = (1 - C) (1 - K). Adobe's files hold 1 - C for C. */
static void mix_inks(const JSAMPLE *from, JSAMPLE *rgb, JDIMENSION width,
                     bool inverted) {
  for (JDIMENSION x = 0; x < width; x++, from += 4)
    for (int c = 0; c < 3; c++) {
      int ink = inverted ? from[c] : 255 - from[c];
      int key = inverted ? from[3] : 255 - from[3];
      *rgb++ = (JSAMPLE)((ink * key + 127) / 255);
    }
}

static bool read_rows(reader *r) {
  struct jpeg_decompress_struct *jpeg = &r->jpeg;
  if (setjmp(r->faults.back)) return false;
  jpeg_create_decompress(jpeg);
  jpeg->progress = &r->progress;
  r->progress.progress_monitor = count_scans;
  jpeg_mem_src(jpeg, r->data, (unsigned long)r->size);
  jpeg_read_header(jpeg, TRUE);
  int channels = set_colors(jpeg);
  if (!channels || !check_head(r)) return false;
  jpeg_start_decompress(jpeg);

  bool inks = channels == 4;
  r->image = heed_image_new(HEED_UINT8, jpeg->output_width,
                            jpeg->output_height, inks ? 3 : channels);
  if (!r->image) return false;
  size_t stride = (size_t)jpeg->output_width * (inks ? 3 : channels);
  JSAMPROW row = heed_tensor_data(r->image);
  JSAMPARRAY four = NULL;
  if (inks)
    four = jpeg->mem->alloc_sarray((j_common_ptr)jpeg, JPOOL_IMAGE,
                                   jpeg->output_width * 4, 1);
  for (; jpeg->output_scanline < jpeg->output_height; row += stride) {
    jpeg_read_scanlines(jpeg, inks ? four : &row, 1);
    if (inks)
      mix_inks(four[0], row, jpeg->output_width, jpeg->saw_Adobe_marker);
  }
  jpeg_finish_decompress(jpeg);
  return true;
}

heed_tensor *heed_image_jpeg_decode(const uint8_t *data, size_t size,
                                    int64_t max_pixels) {
  reader r = {.data = data, .size = size, .max_pixels = max_pixels};
  set_faults(&r.faults);
  r.jpeg.err = &r.faults.base;
  bool ok = read_rows(&r);
  jpeg_destroy_decompress(&r.jpeg);
  if (ok) return r.image;
  heed_tensor_drop(r.image);
  return NULL;
}

/* -- writing --------------------------------------------------------------- */

#define CHUNK 16384

typedef struct writer {
  struct jpeg_compress_struct jpeg;
  struct jpeg_destination_mgr target;
  faults faults;
  const heed_tensor *image;
  int quality;
  heed_bytes *out;
  JOCTET chunk[CHUNK];
} writer;

static void start_chunk(j_compress_ptr jpeg) {
  writer *w = jpeg->client_data;
  w->target.next_output_byte = w->chunk;
  w->target.free_in_buffer = CHUNK;
}

static void put(writer *w, size_t n) {
  if (!heed_bytes_add(w->out, w->chunk, n)) longjmp(w->faults.back, 1);
}

/* libjpeg wants a full chunk to be taken whole. */
static boolean end_chunk(j_compress_ptr jpeg) {
  put(jpeg->client_data, CHUNK);
  start_chunk(jpeg);
  return TRUE;
}

static void end_file(j_compress_ptr jpeg) {
  writer *w = jpeg->client_data;
  put(w, CHUNK - w->target.free_in_buffer);
}

static bool write_rows(writer *w) {
  struct jpeg_compress_struct *jpeg = &w->jpeg;
  const int64_t *dim = w->image->shape.dim; /* H W C */
  if (setjmp(w->faults.back)) return false;
  jpeg_create_compress(jpeg);
  jpeg->client_data = w;
  jpeg->dest = &w->target;
  w->target.init_destination = start_chunk;
  w->target.empty_output_buffer = end_chunk;
  w->target.term_destination = end_file;
  jpeg->image_height = (JDIMENSION)dim[0];
  jpeg->image_width = (JDIMENSION)dim[1];
  jpeg->input_components = (int)dim[2];
  jpeg->in_color_space = dim[2] == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(jpeg);
  jpeg_set_quality(jpeg, w->quality, TRUE);
  jpeg_start_compress(jpeg, TRUE);
  JSAMPROW row = heed_tensor_data(w->image);
  for (; jpeg->next_scanline < jpeg->image_height; row += dim[1] * dim[2])
    jpeg_write_scanlines(jpeg, &row, 1);
  jpeg_finish_compress(jpeg);
  return true;
}

bool heed_image_jpeg_encode(const heed_tensor *image, int quality,
                            heed_bytes *out) {
  /* libjpeg's sizes have 32 bits; what is beyond its own limit it refuses */
  if (image->shape.dim[0] > JPEG_MAX_DIMENSION ||
      image->shape.dim[1] > JPEG_MAX_DIMENSION)
    return heed_fail("JPEG: sides of at most %ld pixels",
                     (long)JPEG_MAX_DIMENSION);
  writer w;
  memset(&w, 0, offsetof(writer, chunk));
  w.image = image;
  w.quality = quality;
  w.out = out;
  set_faults(&w.faults);
  w.jpeg.err = &w.faults.base;
  bool ok = write_rows(&w);
  jpeg_destroy_compress(&w.jpeg);
  return ok;
}
