--- special: erf, gamma and what comes of them, by slow series in float64.

local special = {}

local TWO_OVER_ROOT_PI <const> = 2 / math.sqrt(math.pi)

-- Below 3 the power series, above it the continued fraction of Laplace.
function special.erfc(x)
  if x ~= x then return x end
  if x < 0 then return 2 - special.erfc(-x) end
  if x > 30 then return 0.0 end
  if x < 3 then return 1 - special.erf(x) end
  local f = x
  for k = 200, 1, -1 do f = x + k / 2 / f end
  return math.exp(-x * x) / math.sqrt(math.pi) / f
end

function special.erf(x)
  if x ~= x then return x end
  if x < 0 then return -special.erf(-x) end
  if x >= 3 then return 1 - special.erfc(x) end
  -- exp(-x^2) * sum of 2^k x^(2k+1) / (1 3 5 ..), without alternating signs
  local term, sum, k = x, x, 0
  while term > sum * 1e-18 do
    k = k + 1
    term = term * 2 * x * x / (2 * k + 1)
    sum = sum + term
  end
  return TWO_OVER_ROOT_PI * math.exp(-x * x) * sum
end

-- Newton's steps from the ends inwards; erf is monotone.
function special.erfinv(y)
  if y ~= y or math.abs(y) > 1 then return 0 / 0 end
  if math.abs(y) == 1 then return y * math.huge end
  if y < 0 then return -special.erfinv(-y) end
  local low, high = 0.0, 6.0
  for _ = 1, 200 do
    local middle = (low + high) / 2
    local left = y < 0.5 and special.erf(middle) < y or
      y >= 0.5 and special.erfc(middle) > 1 - y
    if left then low = middle else high = middle end
  end
  return (low + high) / 2
end

-- Bernoulli numbers B2, B4, ..
local BERNOULLI <const> = {
  1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510,
}

-- log |gamma(x)| by Stirling's series, after going up beyond 15.
function special.lgamma(x)
  if x ~= x then return x end
  if x == math.huge or x == -math.huge then return math.huge end
  if x <= 0 and x == math.floor(x) then return math.huge end
  local shift = 0.0
  while x < 15 do
    shift = shift + math.log(math.abs(x))
    x = x + 1
  end
  local sum = (x - 0.5) * math.log(x) - x + 0.5 * math.log(2 * math.pi)
  for k, b in ipairs(BERNOULLI) do
    sum = sum + b / (2 * k * (2 * k - 1) * x ^ (2 * k - 1))
  end
  return sum - shift
end

local function factorial(n)
  local f = 1.0
  for k = 2, n do f = f * k end
  return f
end

-- The derivative number n of digamma, which is number 0.
function special.polygamma(n, x)
  if x ~= x then return x end
  if x == 0 then return n % 2 == 0 and -math.huge or math.huge end
  local sum, sign = 0.0, n % 2 == 0 and -1 or 1
  while x < 20 do
    sum = sum + sign * factorial(n) / x ^ (n + 1)
    x = x + 1
  end
  if n == 0 then
    sum = sum + math.log(x) - 0.5 / x
    for k, b in ipairs(BERNOULLI) do sum = sum - b / (2 * k * x ^ (2 * k)) end
    return sum
  end
  local tail = factorial(n - 1) / x ^ n + factorial(n) / (2 * x ^ (n + 1))
  for k, b in ipairs(BERNOULLI) do
    tail = tail + b * factorial(2 * k + n - 1) /
      (factorial(2 * k) * x ^ (2 * k + n))
  end
  return sum + sign * tail
end

return special
