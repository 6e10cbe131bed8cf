/* select - picks the kernel table for this processor. Layer: kernel.
 * Compiled with baseline flags, so that nothing wide runs before the check. */
#include "base/cpu.h"
#include "kernel/kernel.h"

heed_kernels heed_kernel;
const char *heed_kernel_isa;

#define PART(name) void heed_fill_##name##_baseline(heed_kernels *k);
#include "kernel/parts.def"
#undef PART
#if defined(__x86_64__)
#define PART(name)                            \
  void heed_fill_##name##_avx2(heed_kernels *k); \
  void heed_fill_##name##_avx512(heed_kernels *k);
#include "kernel/parts.def"
#undef PART
#endif

bool heed_kernels_select(void) {
  heed_isa isa;
  if (!heed_cpu_choose(&isa)) return false;
  heed_kernel_isa = heed_isa_name(isa);
#if defined(__x86_64__)
  if (isa == HEED_ISA_AVX512) {
#define PART(name) heed_fill_##name##_avx512(&heed_kernel);
#include "kernel/parts.def"
#undef PART
    return true;
  }
  if (isa == HEED_ISA_AVX2) {
#define PART(name) heed_fill_##name##_avx2(&heed_kernel);
#include "kernel/parts.def"
#undef PART
    return true;
  }
#endif
#define PART(name) heed_fill_##name##_baseline(&heed_kernel);
#include "kernel/parts.def"
#undef PART
  return true;
}
