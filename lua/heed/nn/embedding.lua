--- Embedding: a row of a table for each id.

local check = require "heed.check"
local core = require "heed.core"
local initialise = require "heed.nn.initialise"
local Module = require "heed.nn.module"
local parameter = require "heed.nn.parameter"
local tree = require "heed.nn.tree"

local ops <const> = core.ops

local Embedding = Module:extend("Embedding")

local OPTIONS <const> = {
  padding_idx = check.NONE, max_norm = check.NONE, norm_type = 2.0,
  generator = check.NONE,
}
local PRETRAINED <const> = {
  freeze = true, padding_idx = check.NONE, max_norm = check.NONE,
  norm_type = 2.0,
}

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

-- The settings that do not depend on where the table comes from.
local function set(self, rows, width, o)
  self.num_embeddings, self.embedding_dim = rows, width
  self.padding_idx = read_padding(o.padding_idx, rows)
  self.max_norm = o.max_norm and
    check.number("Embedding", "max_norm", o.max_norm, 0)
  self.norm_type = check.number("Embedding", "norm_type", o.norm_type, 0)
end

--- Makes a table of normal numbers; the padding row is zero and gets no
-- gradient.
-- @function Embedding
-- @tparam integer num_embeddings rows: ids are 1 .. num_embeddings
-- @tparam integer embedding_dim width
-- @tparam[opt] table options `padding_idx`: id of the padding, counted from
-- the end when negative; `max_norm`: rows that are looked up and longer are
-- brought to this length first, in the table; `norm_type` (2) of that length;
-- `generator`
-- @usage local table = nn.Embedding(100, 16, {padding_idx = 1})
-- local x = table(heed.tensor {{7, 100, 1}}) -- [1 3 16]
function Embedding:init(num_embeddings, embedding_dim, options)
  local rows = check.integer("Embedding", "num_embeddings", num_embeddings, 1)
  local width = check.integer("Embedding", "embedding_dim", embedding_dim, 0)
  local o = check.options("Embedding", options, OPTIONS)
  set(self, rows, width, o)
  self.weight = parameter.zeros(rows, width)
  initialise.normal_(self.weight, 0.0, 1.0, {generator = o.generator})
  if self.padding_idx then
    initialise.zeros_(self.weight:detach()[self.padding_idx])
  end
end

--- Makes a layer of a given table, which it shares memory with.
-- @param weight float tensor [num_embeddings embedding_dim]
-- @tparam[opt] table options `freeze` (true): the table is not trained;
-- `padding_idx`, `max_norm`, `norm_type`
-- @treturn Embedding
-- @raise when the table has not two dimensions
-- @usage local layer = nn.Embedding.from_pretrained(heed.randn(100, 16))
function Embedding.from_pretrained(weight, options)
  check.tensor("from_pretrained", "weight", weight)
  local o = check.options("from_pretrained", options, PRETRAINED)
  if weight.ndim ~= 2 then
    check.fail("from_pretrained: weight must be [num_embeddings " ..
      "embedding_dim], got %s", check.show(weight))
  end
  local self = tree.new(Embedding)
  set(self, weight:size(1), weight:size(2), o)
  self.weight = parameter.of(weight)
  if o.freeze then self:freeze() end
  return self
end

-- Shortens the rows that are looked up, where they are too long.
local function shorten(self, ids)
  local _ <close> = core.no_grad()
  local at = ops.reshape(ops.to(ids, "int64"), {-1})
  if at:numel() == 0 then return end
  local rows = ops.index_select(self.weight, at, 1)
  local norm = ops.vector_norm(rows, self.norm_type, -1, true)
  local scale = ops.clamp(self.max_norm / (norm + 1e-7), nil, 1.0)
  self.weight:detach():copy_(ops.index_copy(self.weight, 1, at, rows * scale))
end

--- @param ids int64 tensor of any shape
-- @return tensor [.. embedding_dim]
-- @raise when an id is not 1 .. num_embeddings
-- @usage
-- local x = nn.Embedding(100, 16)(heed.tensor {{7, 100, 1}}) -- [1 3 16]
function Embedding:forward(ids)
  if self.max_norm then
    check.tensor("embedding", "ids", ids)
    shorten(self, ids)
  end
  return ops.embedding(ids, self.weight, self.padding_idx)
end

function Embedding:extra()
  local padding = self.padding_idx and
    (", padding_idx = %d"):format(self.padding_idx) or ""
  return ("%d, %d%s"):format(self.num_embeddings, self.embedding_dim, padding)
end

return Embedding
