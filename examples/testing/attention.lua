-- attention - one head of self-attention over sequences of any length, written
-- out: the layer that attention_spec.lua tests in every way.
--
--     y = softmax(q k^T / sqrt(d), over the keys up to the length) v

local heed = require "heed"
local nn <const> = heed.nn

local Attention = nn.Module:extend("Attention")

-- Of `width` features, in one head of `d`.
function Attention:init(width, d)
  self.query, self.key = nn.Linear(width, d), nn.Linear(width, d)
  self.value = nn.Linear(width, width)
  self.d = d
end

-- x [B T width], lengths [B] -> [B T width], weights [B T T]
function Attention:forward(x, lengths)
  local q, k, v = self.query(x), self.key(x), self.value(x)
  local scores = q:matmul(k:transpose()) / math.sqrt(self.d)  -- [B T T]
  local steps = heed.arange(x:size(2))                        -- 1, 2 .. T
  local inside = steps:le(lengths:reshape(-1, 1, 1))          -- [B 1 T]
  local weights = scores:masked_fill(~inside, -math.huge):softmax(-1)
  return weights:matmul(v), weights
end

return Attention
