/* safetensors_fuzz - any bytes as a safetensors file: tensors or an error. */
#include "fuzz.h"

#include <string.h>

#include "core/safetensors.h"

static void visit(void *user, const char *key, const char *value) {
  *(size_t *)user += strlen(key) + strlen(value);
}

static void try(const uint8_t *data, size_t size, bool mapped) {
  heed_safetensors *s =
      heed_safetensors_open("load_safetensors", fuzz_path(data, size), mapped);
  if (!s) return;
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
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  try(data, size, false);
  try(data, size, true);
  return 0;
}
