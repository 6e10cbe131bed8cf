--- What decoders that go on with a text have in common.

local check = require "heed.check"
local nn = require "heed.nn"

local causal = {}

local OPTIONS <const> = {cache = true, lens = true}

--- A class of decoders: it has `hidden(ids, options)`, the field `max_length`
-- and the layer `lm_head`.
-- @tparam string name
function causal.extend(name)
  local Class = nn.Module:extend(name)

  -- Returns the options for attention; raises when ids do not fit.
  function Class:read(ids, options)
    check.keys(name, options, OPTIONS)
    check.tensor(name, "ids", ids)
    if ids.ndim ~= 2 then
      check.fail("%s: ids must be [B T], got %s", name, check.show(ids))
    end
    local o <const> = options or {}
    local before <const> = o.cache and o.cache:length() or 0
    if self.max_length and before + ids:size(2) > self.max_length then
      check.fail("%s: the network has %d positions, got %d", name,
        self.max_length, before + ids:size(2))
    end
    return {causal = true, cache = o.cache, lens = o.lens,
      window = self.window}
  end

  --- The scores of the ids that come next, of what `hidden` gives.
  -- @param hidden tensor [.. C]
  -- @return tensor [.. vocab_size]
  -- @usage
  -- local network = heed.models.Gpt2 {vocab_size = 100, n_embd = 32,
  --   n_layer = 2, n_head = 4}
  -- local x = network:hidden(heed.tensor {{7, 9, 3}})
  -- local scores = network:score(x[{{}, -1}]) -- [1 100]
  function Class:score(hidden) return self.lm_head(hidden) end

  --- @param ids int64 tensor [B T]
  -- @tparam[opt] table options `cache`: an `nn.KeyValueCache` with what comes
  -- before ids; `lens`, int64 tensor [B]: how many ids of each row count
  -- @return the scores of the ids that come next, tensor [B T vocab_size]
  -- @raise when there are more positions than the network has
  -- @usage
  -- local network = heed.models.Gpt2 {vocab_size = 100, n_embd = 32,
  --   n_layer = 2, n_head = 4}
  -- local scores = network(heed.tensor {{7, 9, 3}}) -- [1 3 100]
  -- @usage
  -- local network = heed.models.Llama {vocab_size = 100, hidden_size = 32,
  --   num_hidden_layers = 2, num_attention_heads = 4, intermediate_size = 64}
  -- local cache = heed.nn.KeyValueCache()
  -- local scores = network(heed.tensor {{7, 9, 3}}, {cache = cache})
  function Class:forward(ids, options)
    return self:score(self:hidden(ids, options))
  end

  return Class
end

return causal
