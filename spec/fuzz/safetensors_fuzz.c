/* safetensors_fuzz - any bytes as a safetensors file: tensors or an error. */
#include "fuzz.h"

#include <string.h>

#include "core/safetensors.h"

static void visit(void *user, const char *key, const char *value) {
  *(size_t *)user += strlen(key) + strlen(value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  heed_safetensors *s =
      heed_safetensors_open("load_safetensors", fuzz_path(data, size));
  if (!s) return 0;
  size_t length = 0;
  heed_safetensors_metadata(s, visit, &length);
  if (length > size) abort();
  for (int i = 0; i < heed_safetensors_count(s); i++) {
    const heed_shape *shape = heed_safetensors_shape(s, i);
    fuzz_use(heed_safetensors_load(s, i), size);
    if (shape->ndim > 0 && shape->dim[0] > 1)
      fuzz_use(heed_safetensors_rows(s, i, 1, shape->dim[0] - 1), size);
  }
  heed_safetensors_close(s);
  return 0;
}
