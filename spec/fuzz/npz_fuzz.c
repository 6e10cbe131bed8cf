/* npz_fuzz - any bytes as a .npz file: arrays or an error. */
#include "fuzz.h"

#include "core/npz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  heed_npz *z = heed_npz_open("load_npz", fuzz_path(data, size));
  if (!z) return 0;
  for (int i = 0; i < heed_npz_count(z) && i < 64; i++) {
    heed_npy head;
    heed_npz_head(z, i, &head);
    fuzz_use(heed_npz_load(z, i), size);
  }
  heed_npz_close(z);
  return 0;
}
