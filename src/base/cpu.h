/* cpu - which instruction sets this processor and system allow. Layer: base.
 */
#ifndef HEED_BASE_CPU_H
#define HEED_BASE_CPU_H

#include <stdbool.h>

typedef enum heed_isa {
  HEED_ISA_BASELINE,
  HEED_ISA_AVX2,
  HEED_ISA_AVX512,
  HEED_ISA_COUNT
} heed_isa;

const char *heed_isa_name(heed_isa isa);
bool heed_cpu_has(heed_isa isa);
/* Dot products of pairs of bfloat16, which some processors with AVX-512
   have. */
bool heed_cpu_has_bfloat16_dots(void);
/* Sets *isa to the best one, or to what HEED_ISA in the environment names;
   fails when that is unknown or not available here. */
bool heed_cpu_choose(heed_isa *isa);

#endif
