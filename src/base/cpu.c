/* cpu - which instruction sets this processor and system allow. Layer: base.
 */
#include "base/cpu.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static const char *const names[HEED_ISA_COUNT] = {"baseline", "avx2",
                                                  "avx512"};

const char *heed_isa_name(heed_isa isa) { return names[isa]; }

bool heed_cpu_has(heed_isa isa) {
#if defined(__x86_64__)
  /* these builtins also ask the system whether it saves the wide registers */
  switch (isa) {
    case HEED_ISA_AVX2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case HEED_ISA_AVX512:
      return __builtin_cpu_supports("avx512f") &&
             __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512vl") &&
             __builtin_cpu_supports("fma");
    default:
      return isa == HEED_ISA_BASELINE;
  }
#else
  return isa == HEED_ISA_BASELINE;
#endif
}

bool heed_cpu_has_bfloat16_dots(void) {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512bf16");
#else
  return false;
#endif
}

bool heed_cpu_choose(heed_isa *isa) {
  const char *wanted = getenv("HEED_ISA");
  for (int i = HEED_ISA_COUNT - 1; i >= 0; i--) {
    heed_isa candidate = (heed_isa)i;
    if (wanted && *wanted) {
      if (strcmp(wanted, names[i]) != 0) continue;
      if (!heed_cpu_has(candidate))
        return heed_fail("HEED_ISA: this processor has no %s", wanted);
      *isa = candidate;
      return true;
    }
    if (heed_cpu_has(candidate)) {
      *isa = candidate;
      return true;
    }
  }
  return heed_fail("HEED_ISA: must be baseline, avx2 or avx512, got %s",
                   wanted);
}
