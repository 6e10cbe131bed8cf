/*
 * bits - logic and shifts of the bits of integers, and logic of bools.
 * Layer: ops. Read first: each.h.
 */
#include "ops/each.h"

#define BITS(name)                                               \
  HEED_BINARY_OP(name, false)                                    \
  const heed_rule heed_rule_##name = {                           \
      .check = name##_check, .forward = name##_fwd,              \
      .promote = true, .elementwise = true};

/***
The bits that both a and b have, as `a & b`; of bools: are both true?
@function bitwise_and
@param a integer or bool tensor, or number
@param b the same
@return tensor of the broadcast shape in the common dtype
@raise for floats, and when the shapes do not fit
@usage heed.tensor({6}, {dtype = "int64"}):bitwise_and(3) --> 2
*/
BITS(bitwise_and)

/***
The bits that a or b has, as `a | b`; of bools: is one of them true?
@function bitwise_or
@param a integer or bool tensor, or number
@param b the same
@return tensor of the broadcast shape in the common dtype
@raise for floats, and when the shapes do not fit
@usage heed.tensor({6}, {dtype = "int64"}):bitwise_or(3) --> 7
*/
BITS(bitwise_or)

/***
The bits that just one of a and b has, as `a ~ b`; of bools: do they differ?
@function bitwise_xor
@param a integer or bool tensor, or number
@param b the same
@return tensor of the broadcast shape in the common dtype
@raise for floats, and when the shapes do not fit
@usage heed.tensor({6}, {dtype = "int64"}):bitwise_xor(3) --> 5
*/
BITS(bitwise_xor)

/***
a with its bits moved up by b places, as `a << b`: a times 2^b, wrapping. A
negative b, and one that is the width of the dtype or more, gives 0.
@function left_shift
@param a integer tensor or number
@param b integer tensor or number
@return tensor of the broadcast shape in the common dtype
@raise for floats and bools, and when the shapes do not fit
@usage heed.tensor({3}, {dtype = "int64"}):left_shift(2) --> 12
*/
BITS(left_shift)

/***
a with its bits moved down by b places, as `a >> b`: a / 2^b rounded down. A
negative b, and one that is the width of the dtype or more, gives 0, or -1 for
a negative a.
@function right_shift
@param a integer tensor or number
@param b integer tensor or number
@return tensor of the broadcast shape in the common dtype
@raise for floats and bools, and when the shapes do not fit
@usage heed.tensor({-5}, {dtype = "int64"}):right_shift(1) --> -3
*/
BITS(right_shift)

/***
The bits that x has not, as `~x`; of bools: is it false?
@function bitwise_not
@param x integer or bool tensor
@return tensor like x
@raise for floats
@usage heed.tensor({5}, {dtype = "int64"}):bitwise_not() --> -6
*/
HEED_UNARY_OP(bitwise_not, false)
const heed_rule heed_rule_bitwise_not = {
    .check = bitwise_not_check, .forward = bitwise_not_fwd,
    .elementwise = true};
