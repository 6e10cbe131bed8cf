/* dtype - element types, their sizes and names. Layer: core. */
#include "core/dtype.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/half.h"

static const char *const names[HEED_NDTYPE] = {
    "bool",    "uint8",    "int32",   "int64",
    "float16", "bfloat16", "float32", "float64"};

const char *heed_dtype_name(heed_dtype d) { return names[d]; }

bool heed_dtype_find(const char *name, heed_dtype *d) {
  char known[120];
  int at = 0;
  for (int i = 0; i < HEED_NDTYPE; i++) {
    if (strcmp(name, names[i]) == 0) {
      *d = (heed_dtype)i;
      return true;
    }
    at += snprintf(known + at, sizeof known - (size_t)at, "%s%s",
                   i == 0 ? "" : i + 1 < HEED_NDTYPE ? ", " : " or ",
                   names[i]);
  }
  return heed_fail("dtype must be %s, got %s", known, name);
}

heed_value heed_element(heed_dtype d, const void *data, int64_t at) {
  heed_value v = {0};
  switch (d) {
    case HEED_BOOL:
    case HEED_UINT8: v.i = ((const uint8_t *)data)[at]; break;
    case HEED_INT32: v.i = ((const int32_t *)data)[at]; break;
    case HEED_INT64: v.i = ((const int64_t *)data)[at]; break;
    case HEED_FLOAT16:
      v.f = (double)heed_float16_to_float(((const uint16_t *)data)[at]);
      break;
    case HEED_BFLOAT16:
      v.f = (double)heed_bfloat16_to_float(((const uint16_t *)data)[at]);
      break;
    case HEED_FLOAT32: v.f = (double)((const float *)data)[at]; break;
    default: v.f = ((const double *)data)[at];
  }
  if (!heed_dtype_is_float(d)) v.f = (double)v.i;
  return v;
}

double heed_element_float(heed_dtype d, const void *data, int64_t at) {
  return heed_element(d, data, at).f;
}

/* Cut towards 0; out of range the nearest end, NaN 0. */
static int64_t whole_part(double f) {
  if (f != f) return 0;
  if (f >= 0x1p63) return INT64_MAX;
  if (f < -0x1p63) return INT64_MIN;
  return (int64_t)f;
}

void heed_element_store(heed_dtype d, void *data, int64_t at, bool whole,
                        heed_value v) {
  double f = whole ? (double)v.i : v.f;
  int64_t i = whole || heed_dtype_is_float(d) ? v.i : whole_part(f);
  switch (d) {
    case HEED_BOOL:
      ((uint8_t *)data)[at] = whole ? i != 0 : f != 0;
      break;
    case HEED_UINT8: ((uint8_t *)data)[at] = (uint8_t)i; break;
    case HEED_INT32: ((int32_t *)data)[at] = (int32_t)i; break;
    case HEED_INT64: ((int64_t *)data)[at] = i; break;
    case HEED_FLOAT16:
      ((uint16_t *)data)[at] = heed_float16_of_float((float)f);
      break;
    case HEED_BFLOAT16:
      ((uint16_t *)data)[at] = heed_bfloat16_of_float((float)f);
      break;
    case HEED_FLOAT32: ((float *)data)[at] = (float)f; break;
    default: ((double *)data)[at] = f;
  }
}

bool heed_dtype_holds(heed_dtype d, bool whole, heed_value v) {
  if (!heed_dtype_is_integer(d)) return true;
  if (!whole && !(v.f >= -0x1p63 && v.f < 0x1p63)) return false;
  int64_t i = whole ? v.i : (int64_t)v.f;
  if (d == HEED_UINT8) return i >= 0 && i <= UINT8_MAX;
  return d == HEED_INT64 || (i >= INT32_MIN && i <= INT32_MAX);
}

const char *heed_dtype_range(heed_dtype d) {
  switch (d) {
    case HEED_UINT8: return "0..255";
    case HEED_INT32: return "-2147483648..2147483647";
    case HEED_INT64: return "-9223372036854775808..9223372036854775807";
    default: return "any number";
  }
}
