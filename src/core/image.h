/*
 * image - pictures as the bytes of PNG, JPEG and PPM files, and as tensors.
 * Layer: core. Read first: tensor.h.
 *
 * A picture is a tensor [H W C], row-major: uint8, or int32 from 0 to 65535
 * for samples of 16 bits. C is 1 for gray, 2 for gray and alpha, 3 for RGB, 4
 * for RGB and alpha. Values are those of the file: no gamma, no profile.
 *
 * A decoder trusts no byte. It compares what the head promises with a limit
 * and with the size of the file before it allocates, and fails with a message
 * that opens with the name of the format. Errors that libpng and libjpeg jump
 * out of end in the file that called them.
 */
#ifndef HEED_CORE_IMAGE_H
#define HEED_CORE_IMAGE_H

#include "core/tensor.h"

/* Bytes that grow; {0} is empty. Whoever has them frees them. */
typedef struct heed_bytes {
  uint8_t *data;
  size_t size, room;
} heed_bytes;

bool heed_bytes_add(heed_bytes *b, const void *data, size_t size);
void heed_bytes_free(heed_bytes *b);

/* The picture in a file of any of the formats, told by its first bytes. */
heed_tensor *heed_image_decode(const uint8_t *data, size_t size,
                               int64_t max_pixels);

/* Appends the file of a picture. */
bool heed_image_png_encode(const heed_tensor *image, int level,
                           heed_bytes *out); /* 0 (fast) to 9 (small) */
bool heed_image_jpeg_encode(const heed_tensor *image, int quality,
                            heed_bytes *out); /* 1 to 100; C is 1 or 3 */
bool heed_image_ppm_encode(const heed_tensor *image,
                           heed_bytes *out); /* C is 1 or 3 */

/* -- for the decoders ------------------------------------------------------ */

heed_tensor *heed_image_png_decode(const uint8_t *data, size_t size,
                                   int64_t max_pixels);
heed_tensor *heed_image_jpeg_decode(const uint8_t *data, size_t size,
                                    int64_t max_pixels);
heed_tensor *heed_image_ppm_decode(const uint8_t *data, size_t size,
                                   int64_t max_pixels);

/* Fails unless width and height are at least 1 and their product is at most
   `max_pixels`. */
bool heed_image_fits(const char *format, uint64_t width, uint64_t height,
                     int64_t max_pixels);
/* A picture, not filled. */
heed_tensor *heed_image_new(heed_dtype dtype, uint64_t width, uint64_t height,
                            int channels);

#endif
