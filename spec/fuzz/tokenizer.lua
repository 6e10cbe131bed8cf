-- tokenizer: any bytes as a tokeniser's file. What loads is used.

local heed = require "heed"

local text <const> = heed.text
local LINES <const> = {"the cat sat on the mat", "die katze", "Ünïcode 日本語"}

-- The text of a file that a tokeniser saves.
local function saved(tokenizer)
  local path <const> = os.tmpname()
  tokenizer:save(path)
  local file <const> = assert(io.open(path, "rb"))
  local bytes <const> = file:read "a"
  file:close()
  os.remove(path)
  return bytes
end

return {
  mutate = require "spec.fuzz.json",
  run = function(bytes, folder)
    local path <const> = folder .. "/tokenizer.json"
    local file <const> = assert(io.open(path, "wb"))
    file:write(bytes)
    file:close()
    local tokenizer <const>, why = text.load(path)
    if not tokenizer then return nil, why end
    for _, line in ipairs(tokenizer.encode and LINES or {}) do
      tokenizer:decode((tokenizer:encode(line)))
    end
    return nil
  end,
  seeds = function()
    return {
      saved(text.BPE.train(LINES, {vocab_size = 300})),
      saved(text.WordPiece.train(LINES, {vocab_size = 60})),
      saved(text.Characters.train(LINES)),
      '{"format": "heed.vocabulary"}',
    }
  end,
}
