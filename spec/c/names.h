/* names - of the kernels, by their numbers. */
#ifndef HEED_SPEC_NAMES_H
#define HEED_SPEC_NAMES_H

static const char *const unary_name[] = {
#define UNARY(name) #name,
#include "kernel/unary.def"
#undef UNARY
};
static const char *const binary_name[] = {
#define BINARY(name) #name,
#include "kernel/binary.def"
#undef BINARY
};
static const char *const tuned_name[] = {
#define TUNED(name) #name,
#include "kernel/tuned.def"
#undef TUNED
};

#endif
