/*
 * stream - copies to memory past the cache. Layer: kernel.
 * Read first: kernel.h.
 *
 * A plain store reads the line that it writes to first. For a result too
 * large to stay in the cache that is a third of the traffic or more.
 */
#include <string.h>

#include "kernel/kernel.h"

#if defined(__x86_64__)
#include <immintrin.h>

#if defined(__AVX512F__)
#define LINE 64
#define STREAM(to, from) \
  _mm512_stream_si512((void *)(to), _mm512_loadu_si512((const void *)(from)))
#elif defined(__AVX__)
#define LINE 32
#define STREAM(to, from)              \
  _mm256_stream_si256((__m256i *)(to), \
                      _mm256_loadu_si256((const __m256i *)(from)))
#else
#define LINE 16
#define STREAM(to, from)           \
  _mm_stream_si128((__m128i *)(to), \
                   _mm_loadu_si128((const __m128i *)(from)))
#endif

/* Only aligned lines can be streamed; the ends are stored. */
static void stream(int64_t bytes, void *to, const void *from) {
  char *y = to;
  const char *x = from;
  int64_t head = (int64_t)(-(uintptr_t)y & (LINE - 1));
  if (head > bytes) head = bytes;
  memcpy(y, x, (size_t)head);
  int64_t i = head;
  for (; i + LINE <= bytes; i += LINE) STREAM(y + i, x + i);
  memcpy(y + i, x + i, (size_t)(bytes - i));
}

static void stream_end(void) { _mm_sfence(); }

#else

static void stream(int64_t bytes, void *to, const void *from) {
  memcpy(to, from, (size_t)bytes);
}

static void stream_end(void) {}

#endif

HEED_FILL(stream);
HEED_FILL(stream) {
  k->stream = stream;
  k->stream_end = stream_end;
}
