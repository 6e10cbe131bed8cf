/* png_fuzz - any bytes as a PNG file: a picture or an error. */
#include "fuzz.h"

#include "core/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_picture(heed_image_png_decode(data, size, FUZZ_PIXELS));
  return 0;
}
