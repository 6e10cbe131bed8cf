/* jpeg_fuzz - any bytes as a JPEG file: a picture or an error. */
#include "fuzz.h"

#include "core/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_picture(heed_image_jpeg_decode(data, size, FUZZ_PIXELS));
  return 0;
}
