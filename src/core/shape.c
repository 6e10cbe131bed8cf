/* shape - sizes, strides and broadcasting. Layer: core. */
#include "core/shape.h"

#include <stdio.h>

#include "base/error.h"
#include "core/dtype.h"

const char *heed_shape_text(const heed_shape *s) {
  static _Thread_local char buffer[4][200];
  static _Thread_local unsigned turn;
  char *text = buffer[turn++ % 4];
  int at = snprintf(text, sizeof buffer[0], "[");
  for (int i = 0; i < s->ndim; i++)
    at += snprintf(text + at, sizeof buffer[0] - (size_t)at, "%s%lld",
                   i ? " " : "", (long long)s->dim[i]);
  snprintf(text + at, sizeof buffer[0] - (size_t)at, "]");
  return text;
}

bool heed_shape_check(const char *op, const heed_shape *s, heed_dtype d) {
  int64_t bytes = (int64_t)heed_dtype_size(d);
  for (int i = 0; i < s->ndim; i++)
    if (s->dim[i] < 0)
      return heed_fail("%s: size %d of shape %s is negative", op, i + 1,
                       heed_shape_text(s));
  /* sizes of 0 are left out, so that the strides of an empty tensor cannot
     overflow either */
  for (int i = 0; i < s->ndim; i++)
    if (s->dim[i] > 1 &&
        __builtin_mul_overflow(bytes, s->dim[i], &bytes))
      return heed_fail("%s: shape %s has too many elements", op,
                       heed_shape_text(s));
  if (bytes > INT64_MAX / 2)
    return heed_fail("%s: shape %s has too many elements", op,
                     heed_shape_text(s));
  return true;
}

void heed_shape_strides(const heed_shape *s, int64_t *stride) {
  int64_t step = 1;
  for (int i = s->ndim - 1; i >= 0; i--) {
    stride[i] = step;
    if (s->dim[i] > 1) step *= s->dim[i];
  }
}

bool heed_shape_broadcast(const heed_shape *a, const heed_shape *b,
                          heed_shape *out) {
  if (heed_shape_equal(a, b)) {
    *out = *a;
    return true;
  }
  heed_shape result;
  result.ndim = a->ndim > b->ndim ? a->ndim : b->ndim;
  for (int i = 1; i <= result.ndim; i++) {
    int64_t m = i <= a->ndim ? a->dim[a->ndim - i] : 1;
    int64_t n = i <= b->ndim ? b->dim[b->ndim - i] : 1;
    if (m != n && m != 1 && n != 1) return false;
    result.dim[result.ndim - i] = m == 1 ? n : m;
  }
  *out = result;
  return true;
}
