/*
 * reduce - one value from many: what the families of reductions share.
 * Layer: ops. Read first: core/op.h, kernel/reduce.h.
 *
 * The ops have attr[0] = dim (axes, all when left out) and attr[1] = keepdim;
 * input 0 is reduced.
 */
#ifndef HEED_OPS_REDUCE_H
#define HEED_OPS_REDUCE_H

#include "kernel/kernel.h"
#include "ops/ops.h"

/* Writes n results, which are `step` apart from place `at` on in results
   without gaps, from their accumulators, which it may change. Called from
   several threads. */
typedef void heed_finish(void *context, int64_t at, int64_t step, int64_t n,
                         void *acc);

/* Reduces x over the dimensions `on`; finish takes the results. Places count
   row-major over these dimensions, which must then lie one behind the other
   (for ARGMAX and ARGMIN). False without memory. */
bool heed_reduce(heed_reduction how, const heed_tensor *x, const bool *on,
                 heed_finish *finish, void *context);

/* Result 0 is the accumulators, cast; floats times `scale` before. */
bool heed_reduce_fwd(heed_call *c, heed_reduction how, double scale);

/* The shape that is left of x without the dimensions `on`. */
heed_shape heed_reduce_shape(const heed_shape *x, const bool *on,
                             bool keepdim);

/* Sets result 0, or fails for dimensions that x has not. */
bool heed_reduce_check(heed_call *c, heed_dtype dtype);
/* The same of x's dtype, for a result that is one of the elements: fails when
   there are none. Over one dimension, result 1 is where it stood. */
bool heed_reduce_choice_check(heed_call *c);
/* Its rule: to that place, or over all dimensions evenly to all equal ones.
   Keeps the input and both results. */
bool heed_reduce_choice_bwd(heed_rule_call *r);

/* Fails when a result would be chosen from no elements. */
bool heed_reduce_not_empty(const heed_call *c);

/* How many elements a result is made from. */
int64_t heed_reduce_length(const heed_tensor *x, const bool *on);
int64_t heed_reduce_length_of(const heed_rule_call *r);

/* Marks in on[0 .. ndim-1] the dimensions that a rule's op has reduced: those
   of `dims`, all where that is left out. */
void heed_reduce_marks(const heed_shape *dims, int ndim, bool *on);
/* t, of the shape of a result, with the reduced dimensions put back as 1. */
heed_tensor *heed_reduce_put_back(heed_rule_call *r, heed_tensor *t);
/* The same for an op whose first attribute is not `dims`. */
heed_tensor *heed_reduce_put_back_on(heed_rule_call *r, heed_tensor *t,
                                     const heed_shape *dims);
/* t, expanded to the shape of x. */
heed_tensor *heed_reduce_stretch(heed_rule_call *r, heed_tensor *t);

/* A backward rule: the gradient of a result goes evenly to all elements that
   are equal to it; to the NaNs, where it is one. Keeps input and result 0. */
bool heed_reduce_even_bwd(heed_rule_call *r);

#endif
