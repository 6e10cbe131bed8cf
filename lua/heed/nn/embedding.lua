--- Embedding: a row of a table for each id.

local check = require "heed.check"
local core = require "heed.core"
local initialise = require "heed.nn.initialise"
local Module = require "heed.nn.module"
local parameter = require "heed.nn.parameter"

local embedding <const> = core.ops.embedding

local Embedding = Module:extend("Embedding")

local OPTIONS <const> = {padding_idx = check.NONE, generator = check.NONE}

local function read_padding(padding, rows)
  if padding == nil then return nil end
  local n = check.integer("Embedding", "padding_idx", padding)
  local row = n < 0 and n + rows + 1 or n
  if row < 1 or row > rows then
    check.fail("Embedding: padding_idx must be 1..%d or -%d..-1, got %d",
      rows, rows, n)
  end
  return row
end

--- Makes a table of normal numbers; the padding row is zero and gets no
-- gradient.
-- @function Embedding
-- @tparam integer num_embeddings rows: ids are 1 .. num_embeddings
-- @tparam integer embedding_dim width
-- @tparam[opt] table options `padding_idx`: id of the padding, counted from
-- the end when negative; `generator`
-- @usage local x = nn.Embedding(100, 16, {padding_idx = 1})(ids) -- [.. 16]
function Embedding:init(num_embeddings, embedding_dim, options)
  local rows = check.integer("Embedding", "num_embeddings", num_embeddings, 1)
  local width = check.integer("Embedding", "embedding_dim", embedding_dim, 0)
  local o = check.options("Embedding", options, OPTIONS)
  self.num_embeddings, self.embedding_dim = rows, width
  self.padding_idx = read_padding(o.padding_idx, rows)
  self.weight = parameter.zeros(rows, width)
  initialise.normal_(self.weight, 0.0, 1.0, {generator = o.generator})
  if self.padding_idx then
    initialise.zeros_(self.weight:detach()[self.padding_idx])
  end
end

--- @param ids int64 tensor of any shape
-- @return tensor [.. embedding_dim]
function Embedding:forward(ids)
  return embedding(ids, self.weight, self.padding_idx)
end

function Embedding:extra()
  local padding = self.padding_idx and
    (", padding_idx = %d"):format(self.padding_idx) or ""
  return ("%d, %d%s"):format(self.num_embeddings, self.embedding_dim, padding)
end

return Embedding
