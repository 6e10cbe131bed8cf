--- given(path): what the usages in the doc comments of a Lua file may name:
-- heed's parts by their usual names, what `samples` makes, and the table of
-- their own file by its name.

local heed = require "heed"

local samples = {}

function samples.net()
  return heed.nn.Sequential(heed.nn.Linear(4, 8), heed.nn.ReLU(),
    heed.nn.Linear(8, 2))
end

function samples.optimizer()
  return heed.optim.SGD(samples.net():parameters())
end

-- A module at work on its own fields.
function samples.self() return heed.nn.Module() end

function samples.tokenizer() return heed.text.BPE.train {"He is here."} end

function samples.model()
  local n <const> = #samples.tokenizer()
  return heed.models.Translator {src_vocab = n, tgt_vocab = n, d_model = 8,
    heads = 2, encoder_layers = 1, decoder_layers = 1, ff = 8}
end

function samples.translation()
  return heed.models.Translation(samples.model(), samples.tokenizer())
end

-- What the code of a file may name; a sample is made when it is named first.
return function(path)
  local known <const> = {
    nn = heed.nn, F = heed.nn.functional, optim = heed.optim,
    text = heed.text, print = function() end,
    src = heed.tensor {{5, 6, 7}}, lens = heed.tensor {3},
  }
  local folder <const>, name <const> = path:match "^lua/(.-)/([%w_]+)%.lua$"
  return setmetatable({}, {__index = function(self, key)
    local value = known[key]
    if samples[key] then
      value = samples[key]()
    elseif key == name then
      value = require(folder:gsub("/", ".") .. "." .. name)
    end
    rawset(self, key, value)
    return value
  end})
end
