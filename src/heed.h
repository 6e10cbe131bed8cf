/*
 * heed.h - the public C interface: tensors, ops by name, gradients.
 *
 * A tensor is a counted reference. A function that returns a heed_tensor *
 * gives the caller one reference, to be given up with heed_tensor_drop.
 * A function that fails returns NULL or false and leaves a message in
 * heed_error(), which belongs to the calling thread until its next failure.
 * A tensor, and what it is connected to, belongs to one thread at a time;
 * threads with tensors of their own may compute at once. examples/c shows how
 * it all goes together.
 */
#ifndef HEED_H
#define HEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define HEED_API __attribute__((visibility("default")))
#else
#define HEED_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header; the library's own is heed_version(). */
#define HEED_VERSION_MAJOR 0
#define HEED_VERSION_MINOR 1
#define HEED_VERSION_PATCH 0

/* "0.1.0". Before 1.0, releases of one MINOR are compatible. */
HEED_API const char *heed_version(void);

typedef struct heed_tensor heed_tensor;

typedef enum heed_dtype {
  HEED_BOOL,
  HEED_UINT8,
  HEED_INT32,
  HEED_INT64,
  HEED_FLOAT16,  /* storage: arithmetic reads it as float32 */
  HEED_BFLOAT16, /* the same */
  HEED_FLOAT32,
  HEED_FLOAT64,
  HEED_NDTYPE
} heed_dtype;

#define HEED_MAX_DIM 8

/* Prepares the library; call it once before anything else. Cheap to repeat.
   Fails when the environment names an instruction set that is not there. */
HEED_API bool heed_init(void);

/* The message of the last failure in this thread. */
HEED_API const char *heed_error(void);

/* A new tensor of `ndim` sizes; data (row-major, may be NULL: zeros) is
   copied. */
HEED_API heed_tensor *heed_tensor_make(heed_dtype dtype, int ndim,
                                       const int64_t *size, const void *data);
HEED_API heed_tensor *heed_tensor_ref(heed_tensor *t);
HEED_API void heed_tensor_drop(heed_tensor *t); /* NULL is allowed */

HEED_API heed_dtype heed_tensor_dtype(const heed_tensor *t);
HEED_API int heed_tensor_ndim(const heed_tensor *t);
HEED_API int64_t heed_tensor_size(const heed_tensor *t, int dim);
/* Of all elements, without gaps: the room that heed_tensor_read needs. */
HEED_API size_t heed_tensor_bytes(const heed_tensor *t);
/* Copies every element, row-major, in the tensor's own dtype. */
HEED_API bool heed_tensor_read(heed_tensor *t, void *data, size_t bytes);

/* Runs the op `name` on `nin` inputs (NULL for an optional one left out);
   attributes (NULL: none) keep their defaults, or are given as "dim=0,
   keepdim=true" with axes counted from 0. src/ops/ops.def lists the ops: the
   inputs are those of the parameters that are tensors or operands, in order; a
   number for an operand is a tensor without dimensions. Writes `nout` results,
   NULL behind the last one and on failure; returns how many the op has, or
   -1. */
HEED_API int heed_run(const char *name, heed_tensor *const *in, int nin,
                      const char *attributes, heed_tensor **out, int nout);

/* Gradients: mark leaves, run ops, then backward from a result. `gradient`
   is NULL for a result with one element. A second walk adds to what the
   leaves have, unless that is cleared. */
HEED_API bool heed_tensor_require(heed_tensor *t, bool requires_grad);
HEED_API bool heed_tensor_backward(heed_tensor *t, heed_tensor *gradient);
HEED_API heed_tensor *heed_tensor_grad(const heed_tensor *t); /* or NULL */
HEED_API void heed_tensor_clear_grad(heed_tensor *t);

/* Are ops of this thread recorded for gradients? They are, until it is
   switched off: to change leaves in place, or to save time and memory.
   Returns what it was. */
HEED_API bool heed_grad_mode(bool on);
HEED_API bool heed_grad_enabled(void);

/* Seeds the random numbers of this thread. */
HEED_API void heed_manual_seed(uint64_t seed);

HEED_API void heed_set_num_threads(int n); /* at least 1 */
HEED_API int heed_get_num_threads(void);

/* Asks the op that runs, or the next one, to give up: it fails with "NAME:
   interrupted". An op that overwrites a tensor is finished first. May be
   called by a signal handler, and from any thread. */
HEED_API void heed_interrupt(void);
/* Takes that back. True if nobody had given up yet. */
HEED_API bool heed_interrupt_clear(void);

/* A host that only loads the Lua module can leave the address of these under
   this name in Lua's registry, as light userdata: the module puts the two
   functions there when it is loaded. */
#define HEED_INTERRUPT_HOOKS "heed.interrupt_hooks"
typedef struct heed_interrupt_hooks {
  void (*ask)(void);
  bool (*clear)(void);
} heed_interrupt_hooks;

#ifdef __cplusplus
}
#endif
#endif
