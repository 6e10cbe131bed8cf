/* image - what all formats of pictures share. Layer: core. */
#include "core/image.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

bool heed_bytes_add(heed_bytes *b, const void *data, size_t size) {
  if (size > b->room - b->size) {
    size_t room = b->room ? b->room : 4096;
    while (room - b->size < size) {
      if (room > SIZE_MAX / 2) return heed_fail_memory(size);
      room *= 2;
    }
    uint8_t *grown = realloc(b->data, room);
    if (!grown) return heed_fail_memory(room);
    b->data = grown;
    b->room = room;
  }
  if (size) memcpy(b->data + b->size, data, size);
  b->size += size;
  return true;
}

void heed_bytes_free(heed_bytes *b) {
  free(b->data);
  *b = (heed_bytes){0};
}

bool heed_image_fits(const char *format, uint64_t width, uint64_t height,
                     int64_t max_pixels) {
  if (width == 0 || height == 0)
    return heed_fail("%s: no pixels: %" PRIu64 " x %" PRIu64, format, width,
                     height);
  if (width > (uint64_t)max_pixels / height)
    return heed_fail("%s: %" PRIu64 " x %" PRIu64 " pixels, more than "
                     "max_pixels, %" PRId64, format, width, height,
                     max_pixels);
  return true;
}

heed_tensor *heed_image_new(heed_dtype dtype, uint64_t width, uint64_t height,
                            int channels) {
  heed_shape shape = {3, {(int64_t)height, (int64_t)width, channels}};
  return heed_tensor_new("image", dtype, &shape);
}

static bool starts(const uint8_t *data, size_t size, const char *mark,
                   size_t n) {
  return size >= n && memcmp(data, mark, n) == 0;
}

heed_tensor *heed_image_decode(const uint8_t *data, size_t size,
                               int64_t max_pixels) {
  if (starts(data, size, "\x89PNG\r\n\x1A\n", 8))
    return heed_image_png_decode(data, size, max_pixels);
  if (starts(data, size, "\xFF\xD8\xFF", 3))
    return heed_image_jpeg_decode(data, size, max_pixels);
  if (size >= 2 && data[0] == 'P' && data[1] >= '1' && data[1] <= '7')
    return heed_image_ppm_decode(data, size, max_pixels);
  heed_fail(size ? "neither PNG, JPEG nor PPM" : "the file is empty");
  return NULL;
}
