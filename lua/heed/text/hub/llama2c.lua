--- The tokeniser files of llama2.c (Karpathy, 2023), such as tok512.bin: the
-- length of the longest token, int32; then for each token its score, float32,
-- its length, int32, and its bytes; little-endian. The first three are unknown,
-- start and end; then come 256 bytes.

local check = require "heed.check"
local score_merges = require "heed.text.hub.score_merges"

local LAST_BYTE <const> = 259

--- Returns what tokenizer.json would hold, and the tokens by role.
-- @tparam string name for messages
-- @tparam string bytes the file
-- @raise when they are no such file
return function(name, bytes)
  local tokens, scores, vocab, at = {}, {}, {}, 5
  while at <= #bytes do
    local size <const> = #bytes >= at + 7 and ("<i4"):unpack(bytes, at + 4)
    if not size or size < 0 or size > #bytes - at - 7 then
      check.fail("%s: must be a tokeniser of llama2.c; token %d is cut short",
        name, #tokens)
    end
    local token <const> = bytes:sub(at + 8, at + 7 + size)
    tokens[#tokens + 1] = token
    if #tokens > LAST_BYTE then
      scores[token] = scores[token] or ("<f"):unpack(bytes, at)
    end
    vocab[token] = vocab[token] or #tokens - 1
    at = at + 8 + size
  end
  if #tokens < LAST_BYTE or tokens[LAST_BYTE] ~= "<0xFF>" then
    check.fail("%s: must be a tokeniser of llama2.c, with 3 special tokens and "
      .. "256 of bytes", name)
  end
  local bos <const>, eos <const> = tokens[2], tokens[3]
  local function special(id, content)
    return {id = id, content = content, special = true, found = false}
  end
  return {
    model = {type = "BPE", vocab = vocab,
      merges = score_merges(tokens, scores), byte_fallback = true},
    added_tokens = {special(0, tokens[1]), special(1, bos), special(2, eos)},
    normalizer = {type = "Prepend", prepend = " "},
    decoder = {type = "Sequence", decoders = {{type = "ByteFallback"},
      {type = "Fuse"}, {type = "Strip", content = " ", start = 1, stop = 0}}},
    post_processor = {type = "TemplateProcessing",
      single = {{SpecialToken = {id = "bos"}}, {Sequence = {id = "A"}}},
      pair = {{SpecialToken = {id = "bos"}}, {Sequence = {id = "A"}},
        {Sequence = {id = "B"}}},
      special_tokens = {bos = {ids = {1}}}},
  }, {bos = bos, eos = eos, unk = tokens[1]}
end
