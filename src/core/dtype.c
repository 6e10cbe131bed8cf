/* dtype - element types, their sizes and names. Layer: core. */
#include "core/dtype.h"

#include <string.h>

#include "base/error.h"

static const char *const names[HEED_NDTYPE] = {"bool", "int64", "float32",
                                               "float64"};

const char *heed_dtype_name(heed_dtype d) { return names[d]; }

bool heed_dtype_find(const char *name, heed_dtype *d) {
  for (int i = 0; i < HEED_NDTYPE; i++)
    if (strcmp(name, names[i]) == 0) {
      *d = (heed_dtype)i;
      return true;
    }
  return heed_fail(
      "dtype must be bool, int64, float32 or float64, got %s", name);
}
