--- describe: a tensor's numbers at a glance.

local check = require "heed.check"
local core = require "heed.core"

local Description = {}
Description.__index = Description

local function number(v)
  return math.type(v) == "integer" and tostring(v) or ("%.4g"):format(v)
end

--- One line for the shape, one for the numbers.
function Description:__tostring()
  local lines = {("%s %s, %d elements, %d bytes"):format(self.dtype,
    check.shape(self.shape), self.count, self.bytes)}
  if self.min ~= nil then
    lines[2] = ("min %s  max %s  mean %s  std %s"):format(number(self.min),
      number(self.max), number(self.mean), number(self.std))
  end
  lines[#lines + 1] = ("nan %d  inf %d  zero %d"):format(self.nan, self.inf,
    self.zero)
  return table.concat(lines, "\n")
end

local function count(mask) return mask:sum():item() end

-- Mean and standard deviation (over n, not n - 1) in float64.
local function moments(values)
  local wide <const> = values:to("float64")
  return wide:mean():item(), wide:std({correction = 0}):item()
end

--- Returns what a tensor holds: a table that prints as two or three lines,
-- with the fields `dtype`, `shape`, `count`, `bytes` (of the elements), `nan`,
-- `inf` and `zero` (how many there are), and `min`, `max`, `mean`, `std` (over
-- n) of the finite elements, which are nil when there is none.
-- @tparam tensor x of any dtype
-- @treturn table
-- @usage print(heed.tensor({1, 2, 0 / 0}):describe())
local function describe(x)
  check.tensor("describe", "x", x)
  return core.no_grad(function()
    local flat = x:detach():reshape(-1)
    if flat.dtype == "bool" then flat = flat:to("uint8") end
    if flat.dtype:find "16$" then flat = flat:to("float32") end
    local n <const> = flat:numel()
    local finite = flat:isfinite()
    local d = setmetatable({
      dtype = x.dtype, shape = x.shape, count = n,
      bytes = n * x:element_size(), nan = count(flat:isnan()),
      zero = count(flat:eq(0)),
    }, Description)
    d.inf = n - count(finite) - d.nan
    local values = d.nan + d.inf > 0 and flat:masked_select(finite) or flat
    if values:numel() > 0 then
      d.min, d.max = values:min():item(), values:max():item()
      d.mean, d.std = moments(values)
    end
    return d
  end)
end

return describe
