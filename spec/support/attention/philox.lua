--- philox: the random words of a counter, Philox 4x32-10 (Salmon and others,
-- 2011), in plain arithmetic.

local LOW <const> = 0xffffffff

--- The four words of a counter (a, b, c, d) of 32-bit numbers: integers, or
-- int64 tensors for many counters, whose sizes broadcast.
-- @tparam integer key of 64 bits
return function(key, a, b, c, d)
  local k0, k1 = key & LOW, key >> 32
  for _ = 1, 10 do
    local x, y = a * 0xd2511f53, c * 0xcd9e8d57
    -- a tensor's >> keeps the sign
    a, b, c, d = y >> 32 & LOW ~ b ~ k0, y & LOW, x >> 32 & LOW ~ d ~ k1,
      x & LOW
    k0, k1 = k0 + 0x9e3779b9 & LOW, k1 + 0xbb67ae85 & LOW
  end
  return a, b, c, d
end
