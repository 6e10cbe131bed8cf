/*
 * image_ppm - PPM and PGM, plain (P2, P3) and binary (P5, P6). Layer: core.
 * Read first: image.h.
 *
 *   P6 <width> <height> <largest> <one white space> samples
 *
 * Samples go from 0 to `largest`, in one byte, or in two, the high one first,
 * when that is above 255. They are scaled to 255 or 65535 if it is neither.
 * `#` begins a comment in the head.
 */
#include <stdio.h>

#include "base/error.h"
#include "core/image.h"

typedef struct reader {
  const uint8_t *at, *end;
} reader;

static bool is_space(uint8_t c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

static void skip_space(reader *r) {
  while (r->at < r->end && (is_space(*r->at) || *r->at == '#')) {
    if (*r->at == '#')
      while (r->at < r->end && *r->at != '\n' && *r->at != '\r') r->at++;
    else
      r->at++;
  }
}

/* The next number, at most `most`. */
static bool read_number(reader *r, uint32_t most, const char *name,
                        uint32_t *out) {
  skip_space(r);
  if (r->at == r->end) return heed_fail("PPM: the file ends too early");
  if (*r->at < '0' || *r->at > '9')
    return heed_fail("PPM: %s must be a number", name);
  uint64_t n = 0;
  for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++) {
    n = 10 * n + (uint64_t)(*r->at - '0');
    if (n > most)
      return heed_fail("PPM: %s must be at most %u", name, (unsigned)most);
  }
  *out = (uint32_t)n;
  return true;
}

/* One sample in binary form; that it is there has been checked. */
static uint32_t take(reader *r, bool wide) {
  uint32_t n = *r->at++;
  return wide ? n << 8 | *r->at++ : n;
}

static bool read_samples(reader *r, heed_tensor *image, bool plain,
                         uint32_t largest) {
  bool wide = image->dtype == HEED_INT32;
  uint32_t full = wide ? 65535 : 255;
  int64_t n = heed_tensor_numel(image);
  uint8_t *bytes = heed_tensor_data(image);
  int32_t *words = heed_tensor_data(image);
  for (int64_t i = 0; i < n; i++) {
    uint32_t v;
    if (!plain) v = take(r, wide);
    else if (!read_number(r, largest, "a sample", &v)) return false;
    if (v > largest)
      return heed_fail("PPM: a sample must be at most %u",
                       (unsigned)largest);
    if (largest != full) v = (v * full + largest / 2) / largest;
    if (wide) words[i] = (int32_t)v;
    else bytes[i] = (uint8_t)v;
  }
  return true;
}

heed_tensor *heed_image_ppm_decode(const uint8_t *data, size_t size,
                                   int64_t max_pixels) {
  reader r = {data + 2, data + size};
  char kind = (char)data[1];
  if (kind != '2' && kind != '3' && kind != '5' && kind != '6') {
    heed_fail("PPM: P%c is not read; P2, P3, P5 and P6 are", kind);
    return NULL;
  }
  bool plain = kind < '4';
  int channels = kind == '3' || kind == '6' ? 3 : 1;
  uint32_t width, height, largest;
  if (!read_number(&r, INT32_MAX, "the width", &width) ||
      !read_number(&r, INT32_MAX, "the height", &height) ||
      !read_number(&r, 65535, "the largest sample", &largest) ||
      !heed_image_fits("PPM", width, height, max_pixels))
    return NULL;
  if (largest == 0) {
    heed_fail("PPM: the largest sample must be at least 1");
    return NULL;
  }
  bool wide = largest > 255;
  if (r.at < r.end && is_space(*r.at)) r.at++;
  /* Sides are below 2^31, so that three times their product fits. A plain
     sample has a digit and, but for the last, a space. */
  uint64_t count = (uint64_t)width * height * (uint64_t)channels;
  uint64_t left = (uint64_t)(r.end - r.at);
  if ((plain ? count > left / 2 + 1 : count > left / (wide ? 2 : 1))) {
    heed_fail("PPM: the file ends too early");
    return NULL;
  }
  heed_tensor *image =
      heed_image_new(wide ? HEED_INT32 : HEED_UINT8, width, height, channels);
  if (image && !read_samples(&r, image, plain, largest)) {
    heed_tensor_drop(image);
    return NULL;
  }
  return image;
}

bool heed_image_ppm_encode(const heed_tensor *image, heed_bytes *out) {
  const int64_t *dim = image->shape.dim; /* H W C */
  bool wide = image->dtype == HEED_INT32;
  char head[64];
  int n = snprintf(head, sizeof head, "P%c\n%lld %lld\n%d\n",
                   dim[2] == 3 ? '6' : '5', (long long)dim[1],
                   (long long)dim[0], wide ? 65535 : 255);
  if (!heed_bytes_add(out, head, (size_t)n)) return false;
  int64_t count = heed_tensor_numel(image);
  if (!wide)
    return heed_bytes_add(out, heed_tensor_data(image), (size_t)count);
  const int32_t *from = heed_tensor_data(image);
  for (int64_t i = 0; i < count; i++) {
    uint8_t pair[2] = {(uint8_t)(from[i] >> 8), (uint8_t)from[i]};
    if (!heed_bytes_add(out, pair, 2)) return false;
  }
  return true;
}
