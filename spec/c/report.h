/* report - what the tests in C print. */
#ifndef HEED_SPEC_REPORT_H
#define HEED_SPEC_REPORT_H

#include <stdio.h>

/* main returns whether there are any. */
static int failed;

/* A line `ok name`, or `not ok name: ` and what went wrong, as printf. */
#define REPORT(ok, name, ...)                 \
  do {                                        \
    if (ok) {                                 \
      printf("ok %s\n", name);                \
    } else {                                  \
      failed++;                               \
      printf("not ok %s: ", name);            \
      printf(__VA_ARGS__);                    \
      putchar('\n');                          \
    }                                         \
  } while (0)

#endif
