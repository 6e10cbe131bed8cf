/*
 * point - numbers with a decimal point, whatever a program has set: in a
 * German locale the C library writes and reads "0,5". Layer: base.
 */
#ifndef HEED_BASE_POINT_H
#define HEED_BASE_POINT_H

#include <locale.h>

/* From here to heed_point_end this thread has the locale "C". Nothing may
   raise or return in between. */
locale_t heed_point_begin(void);
void heed_point_end(locale_t was);

#endif
