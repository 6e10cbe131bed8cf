--- LearnedPositionalEncoding: adds a learned row for each position (Gehring et
-- al., 2017; GPT and BERT have it).

local check = require "heed.check"
local initialise = require "heed.nn.initialise"
local parameter = require "heed.nn.parameter"
local PositionalEncoding = require "heed.nn.positional_encoding"

local NAME <const> = "LearnedPositionalEncoding"

local LearnedPositionalEncoding = PositionalEncoding:extend(NAME)

local OPTIONS <const> = {
  max_length = 5000, dropout = 0.0, batch_first = true, std = 0.02,
  generator = check.NONE,
}

--- Makes a layer with the parameter `weight` [max_length d_model] of normal
-- numbers. It is called as `PositionalEncoding`.
-- @function LearnedPositionalEncoding
-- @tparam integer d_model width
-- @tparam[opt] table options `max_length`: longest sequence, 5000 by default;
-- `std` of the first values, 0.02 by default; `dropout` of the sum, 0 by
-- default; `batch_first = false`: tensors are [T B d_model]; `generator`
-- @usage
-- local encode = nn.LearnedPositionalEncoding(16, {max_length = 64})
-- local y = encode(heed.randn(2, 5, 16), {offset = 8}) -- [B T 16]
function LearnedPositionalEncoding:init(d_model, options)
  local o <const> = check.options(NAME, options, OPTIONS)
  self:settle(d_model, o)
  self.weight = parameter.zeros(self.max_length, self.d_model)
  initialise.normal_(self.weight, 0.0, check.number(NAME, "std", o.std, 0),
    {generator = o.generator})
end

function LearnedPositionalEncoding:table() return self.weight end

return LearnedPositionalEncoding
