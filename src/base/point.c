/* point - numbers with a decimal point. Layer: base. */
#define _GNU_SOURCE
#include "base/point.h"

#include <pthread.h>

static locale_t plain; /* 0 without memory: then nothing changes */

static void make_plain(void) {
  plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

locale_t heed_point_begin(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, make_plain);
  return uselocale(plain);
}

void heed_point_end(locale_t was) { uselocale(was); }
