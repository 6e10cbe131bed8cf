/* dtype - element types, their sizes and names. Layer: core. */
#ifndef HEED_CORE_DTYPE_H
#define HEED_CORE_DTYPE_H

#include "heed.h"

static inline size_t heed_dtype_size(heed_dtype d) {
  static const unsigned char size[HEED_NDTYPE] = {1, 1, 4, 8, 2, 2, 4, 8};
  return size[d];
}

static inline bool heed_dtype_is_float(heed_dtype d) {
  return d >= HEED_FLOAT16;
}

/* A type for storage: arithmetic reads it as float32. */
static inline bool heed_dtype_is_half(heed_dtype d) {
  return d == HEED_FLOAT16 || d == HEED_BFLOAT16;
}

/* uint8, int32, int64 */
static inline bool heed_dtype_is_integer(heed_dtype d) {
  return d > HEED_BOOL && d < HEED_FLOAT16;
}

const char *heed_dtype_name(heed_dtype d);
/* The dtype called `name`; fails with the list of known names. */
bool heed_dtype_find(const char *name, heed_dtype *d);

/* The smallest dtype that holds both: the order of heed_dtype, but the two
   halves, of which neither holds the other, meet in float32. */
static inline heed_dtype heed_dtype_join(heed_dtype a, heed_dtype b) {
  if (a != b && heed_dtype_is_half(a) && heed_dtype_is_half(b))
    return HEED_FLOAT32;
  return a > b ? a : b;
}

/* A number of any dtype: floats in f, the others in i. */
typedef struct heed_value {
  double f;
  int64_t i;
} heed_value;

/* Element `at` of data; integers and bools also in f. */
heed_value heed_element(heed_dtype d, const void *data, int64_t at);
/* The same as a double. */
double heed_element_float(heed_dtype d, const void *data, int64_t at);
/* Writes an element; `whole` says that the number is v.i, else it is v.f.
   Casts as the op `to` does. */
void heed_element_store(heed_dtype d, void *data, int64_t at, bool whole,
                        heed_value v);

/* The same of float32 or float64 alone, for loops. */
static inline double heed_real(heed_dtype d, const void *data, int64_t at) {
  return d == HEED_FLOAT64 ? ((const double *)data)[at]
                           : (double)((const float *)data)[at];
}
static inline void heed_real_store(heed_dtype d, void *data, int64_t at,
                                   double v) {
  if (d == HEED_FLOAT64) ((double *)data)[at] = v;
  else ((float *)data)[at] = (float)v;
}

/* Does the number lie in the range of an integer dtype? Fractions are cut, a
   NaN does not. True for floats, which round, and bools. */
bool heed_dtype_holds(heed_dtype d, bool whole, heed_value v);
/* "0..255" */
const char *heed_dtype_range(heed_dtype d);

#endif
