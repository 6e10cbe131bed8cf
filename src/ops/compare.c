/*
 * compare - comparisons, logic and tests of each element; they give bool and
 * have no gradient. Layer: ops. Read first: each.h.
 */
#include "ops/each.h"

#define COMPARISON(name)                                         \
  HEED_BINARY_OP(name, true)                                     \
  const heed_rule heed_rule_##name = {                           \
      .check = name##_check, .forward = name##_fwd, .promote = true};

/***
Is a equal to b, element by element? (Lua's `==` compares identity.)
@function eq
@param a tensor or number
@param b tensor or number
@return bool tensor of the broadcast shape
@raise when the shapes do not fit
@usage heed.tensor{1, 2}:eq(2) --> false true
*/
COMPARISON(eq)

/***
Is a different from b, element by element?
@function ne
@param a tensor or number
@param b tensor or number
@return bool tensor of the broadcast shape
@raise when the shapes do not fit
@usage heed.tensor{1, 2}:ne(2) --> true false
*/
COMPARISON(ne)

/***
Is a less than b, element by element?
@function lt
@param a tensor or number
@param b tensor or number
@return bool tensor of the broadcast shape
@raise when the shapes do not fit
@usage heed.tensor{1, 2}:lt(2) --> true false
*/
COMPARISON(lt)

/***
Is a less than b or equal to it, element by element?
@function le
@param a tensor or number
@param b tensor or number
@return bool tensor of the broadcast shape
@raise when the shapes do not fit
@usage heed.tensor{1, 2}:le(1) --> true false
*/
COMPARISON(le)

/***
Is a greater than b, element by element?
@function gt
@param a tensor or number
@param b tensor or number
@return bool tensor of the broadcast shape
@raise when the shapes do not fit
@usage heed.tensor{1, 2}:gt(1) --> false true
*/
COMPARISON(gt)

/***
Is a greater than b or equal to it, element by element?
@function ge
@param a tensor or number
@param b tensor or number
@return bool tensor of the broadcast shape
@raise when the shapes do not fit
@usage heed.tensor{1, 2}:ge(2) --> false true
*/
COMPARISON(ge)

/***
Are both a and b true (not 0)?
@function logical_and
@param a tensor or number
@param b tensor or number
@return bool tensor of the broadcast shape
@raise when the shapes do not fit
@usage heed.tensor{true, false}:logical_and(heed.tensor{true, true})
*/
COMPARISON(logical_and)

/***
Is a or b true (not 0)?
@function logical_or
@param a tensor or number
@param b tensor or number
@return bool tensor of the broadcast shape
@raise when the shapes do not fit
@usage heed.tensor{true, false}:logical_or(heed.tensor{true, true})
*/
COMPARISON(logical_or)

/***
Is one of a and b true (not 0), and the other false?
@function logical_xor
@param a tensor or number
@param b tensor or number
@return bool tensor of the broadcast shape
@raise when the shapes do not fit
@usage heed.tensor{true, false}:logical_xor(heed.tensor{true, true})
*/
COMPARISON(logical_xor)

#define TEST(name)                     \
  HEED_UNARY_OP(name, true)            \
  const heed_rule heed_rule_##name = { \
      .check = name##_check, .forward = name##_fwd};

/***
Is x false (0)?
@function logical_not
@param x tensor
@return bool tensor of the shape of x
@usage heed.tensor{true, false}:logical_not() --> false true
*/
TEST(logical_not)

/***
Is x not a number?
@function isnan
@param x float tensor
@return bool tensor of the shape of x
@usage heed.tensor{1, 0/0}:isnan() --> false true
*/
TEST(isnan)

/***
Is x neither infinite nor NaN?
@function isfinite
@param x float tensor
@return bool tensor of the shape of x
@usage heed.tensor{1, 1/0}:isfinite() --> true false
*/
TEST(isfinite)

/***
Is x infinite, of either sign?
@function isinf
@param x tensor
@return bool tensor of the shape of x
@usage heed.tensor{1, -1/0}:isinf() --> false true
*/
TEST(isinf)

/***
Is x infinite and positive?
@function isposinf
@param x tensor
@return bool tensor of the shape of x
@usage heed.tensor{1/0, -1/0}:isposinf() --> true false
*/
TEST(isposinf)

/***
Is x infinite and negative?
@function isneginf
@param x tensor
@return bool tensor of the shape of x
@usage heed.tensor{1/0, -1/0}:isneginf() --> false true
*/
TEST(isneginf)

/***
Is the sign of x negative? Also that of -0.
@function signbit
@param x tensor
@return bool tensor of the shape of x
@usage heed.tensor{1.0, -0.0}:signbit() --> false true
*/
TEST(signbit)
