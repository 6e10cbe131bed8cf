/* npy_fuzz - any bytes as a .npy file: an array or an error. */
#include "fuzz.h"

#include "core/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_use(heed_npy_load("load_npy", fuzz_path(data, size)), size);
  return 0;
}
