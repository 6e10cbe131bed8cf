--- RotaryEmbedding: turns pairs of queries and keys by angles that grow with
-- the position (Su et al., 2021); see `F.rotary_embedding`.
--
--     angle of pair i at position p (both from 0) = p * base^(-2 i / dims)
--
-- For sequences longer than those of training there are three ways: positions
-- are divided by a factor (Chen et al., 2023); the base grows, so that the
-- fastest pair stays and the slowest is divided by the factor (NTK-aware); or
-- each frequency is divided by how slow it is (as Llama 3 does it).

local check = require "heed.check"
local core = require "heed.core"
local Module = require "heed.nn.module"

local ops <const> = core.ops
local NAME <const> = "RotaryEmbedding"

local RotaryEmbedding = Module:extend(NAME)

local OPTIONS <const> = {
  base = 10000.0, style = "half", scaling = check.NONE,
}
local LLAMA3 <const> = {
  type = "llama3", factor = 8.0, low = 1.0, high = 4.0, length = 8192,
}

-- Frequencies whose wave is longer than length / low are divided by factor,
-- those shorter than length / high stay, those between are mixed.
local function llama3(dim, base, o)
  local list = {}
  for i = 0, dim // 2 - 1 do
    local freq <const> = base ^ (-2 * i / dim)
    local waves <const> = o.length * freq / (2 * math.pi)
    local share = (waves - o.low) / (o.high - o.low)
    share = math.max(0.0, math.min(1.0, share))
    list[i + 1] = freq * (share + (1 - share) / o.factor)
  end
  return core.tensor(list, {dtype = "float64"})
end

local function factor_of(o)
  return check.number(NAME, "scaling.factor", o.factor, 1)
end

-- What scaling means: a number that positions are divided by, a base, or
-- frequencies.
local function read_scaling(self, scaling)
  if type(scaling) == "number" then
    if scaling ~= scaling or scaling <= 0 then
      check.fail("%s: scaling must be above 0, got %s", NAME,
        check.show(scaling))
    end
    self.scaling = scaling
    return
  end
  check.kind(NAME, "scaling", scaling, "table")
  if scaling.type == "linear" then
    check.keys(NAME .. ": scaling", scaling, {type = true, factor = true})
    self.scaling = factor_of(scaling)
  elseif scaling.type == "ntk" then
    check.keys(NAME .. ": scaling", scaling, {type = true, factor = true})
    if self.dim > 2 then
      self.base = self.base * factor_of(scaling) ^ (self.dim / (self.dim - 2))
    end
  elseif scaling.type == "llama3" then
    local o <const> = check.options(NAME .. ": scaling", scaling, LLAMA3)
    factor_of(o)
    if check.number(NAME, "scaling.low", o.low) >=
       check.number(NAME, "scaling.high", o.high) then
      check.fail("%s: scaling.low must be below scaling.high, got %g and %g",
        NAME, o.low, o.high)
    end
    self.freqs = llama3(self.dim, self.base, o)
  else
    check.fail('%s: scaling.type must be "linear", "ntk" or "llama3", got %s',
      NAME, check.show(scaling.type))
  end
end

--- Makes a layer without parameters.
-- @function RotaryEmbedding
-- @tparam integer dim how many elements of each row are turned, the first ones;
-- an even number
-- @tparam[opt] table options `base`, 10000 by default; `style`, which elements
-- are a pair: `"half"` (default): i and i + dim / 2, `"interleaved"`:
-- neighbours; `scaling`: a number that positions are divided by, or
-- `{type = "linear", factor =}`, `{type = "ntk", factor =}`,
-- `{type = "llama3", factor = 8, low = 1, high = 4, length = 8192}`
-- @raise when dim is odd, or style or scaling is none of these
-- @usage local y = nn.RotaryEmbedding(8)(heed.randn(2, 4, 5, 8)) -- [2 4 5 8]
function RotaryEmbedding:init(dim, options)
  local o <const> = check.options(NAME, options, OPTIONS)
  self.dim = check.integer(NAME, "dim", dim, 2)
  if dim % 2 ~= 0 then
    check.fail("%s: dim must be even, got %d", NAME, dim)
  end
  self.base = check.number(NAME, "base", o.base)
  if o.style ~= "half" and o.style ~= "interleaved" then
    check.fail('%s: style must be "half" or "interleaved", got %s', NAME,
      check.show(o.style))
  end
  self.style, self.scaling = o.style, 1.0
  if o.scaling ~= nil then read_scaling(self, o.scaling) end
end

-- The position of each step [B T] behind the offsets [B].
local function positions_of(x, offset)
  if offset.ndim ~= 1 or x.ndim < 3 or offset:size(1) ~= x:size(1) then
    check.fail("%s: offset %s must have one number a sequence of x %s", NAME,
      check.shape(offset.shape), check.shape(x.shape))
  end
  return ops.add(ops.unsqueeze(offset, 2), ops.arange(1, x:size(-2)))
end

--- @param x float tensor [.. T D]
-- @tparam[opt] table options `offset`: how many positions come before x, 0 by
-- default, or an int64 tensor [B], one number a sequence of x [B .. T D];
-- `positions`: int64 tensor [T] or [B T], from 1
-- @return tensor like x
-- @raise when D is less than dim, or offset or positions do not fit x
-- @usage
-- local q = heed.randn(2, 4, 1, 8) -- the sixth step
-- local turned = nn.RotaryEmbedding(8)(q, {offset = 5})
function RotaryEmbedding:forward(x, options)
  check.keys(NAME, options, {offset = true, positions = true})
  local offset = options and options.offset or 0
  local positions = options and options.positions
  if check.is_tensor(offset) then
    positions, offset = positions_of(x, offset), 0
  end
  return ops.rotary_embedding(x, positions, self.freqs, self.style, self.base,
    offset, self.dim, self.scaling)
end

function RotaryEmbedding:extra()
  return ("%d, base = %g, %s"):format(self.dim, self.base, self.style)
end

return RotaryEmbedding
