--- The models of SentencePiece (Kudo and Richardson, 2018), `.model` and `.spm`
-- files, as the table that tokenizer.json would hold.
--
-- Fields: of the model 1 pieces, 2 the trainer's settings, 3 the normalizer's;
-- of a piece 1 text, 2 score, 3 kind; of the trainer 3 kind of model,
-- 35 byte_fallback, 41 bos_id, 42 eos_id, 43 pad_id, 44 what unknown characters
-- look like; of the normalizer 2 character map, 3 add_dummy_prefix,
-- 4 remove_extra_whitespaces.

local check = require "heed.check"
local protobuf = require "heed.text.hub.protobuf"
local score_merges = require "heed.text.hub.score_merges"

local NORMAL <const>, UNKNOWN <const>, CONTROL <const> = 1, 2, 3
local USER <const> = 4
local UNIGRAM <const>, BPE <const> = 1, 2

-- The only or last value of a field, or a default.
local function last(fields, number, default)
  local list <const> = fields[number]
  if not list then return default end
  return list[#list]
end

-- An id of 32 bits with a sign.
local function id_of(fields, number, default)
  local value <const> = last(fields, number, default)
  if math.type(value) ~= "integer" then return default end
  return (value & 0xFFFFFFFF) >= 1 << 31 and -1 or value & 0xFFFFFFFF
end

local function read_pieces(name, messages)
  local pieces = {}
  for i, message in ipairs(messages) do
    local f <const> = type(message) == "string" and protobuf.read(message)
    local text <const> = f and last(f, 1)
    local score <const> = f and last(f, 2, "\0\0\0\0")
    if type(text) ~= "string" or type(score) ~= "string" or #score ~= 4 then
      check.fail("%s: piece %d is malformed", name, i)
    end
    pieces[i] = {text = text, score = ("<f"):unpack(score),
      kind = last(f, 3, NORMAL)}
  end
  return pieces
end

-- Special tokens never come of a text.
local function control_of(pieces)
  local list = {}
  for i, piece in ipairs(pieces) do
    if piece.kind == CONTROL then
      list[#list + 1] = {id = i - 1, content = piece.text, special = true,
        found = false}
    end
  end
  return list
end

-- A piece of the user is more probable than any cut of its text.
local function unigram(_, pieces, bytes)
  local vocab, unknown, highest = {}, nil, -math.huge
  for _, piece in ipairs(pieces) do
    if piece.kind == NORMAL then highest = math.max(highest, piece.score) end
  end
  for i, piece in ipairs(pieces) do
    local score = piece.score
    if piece.kind == USER then
      score = (utf8.len(piece.text) or 1) * highest - 0.1
    elseif piece.kind == UNKNOWN then
      unknown = i - 1
    end
    vocab[i] = {piece.text, score, piece.kind == NORMAL or piece.kind == USER}
  end
  return {type = "Unigram", vocab = vocab, unk_id = unknown,
    byte_fallback = bytes}
end

local function bpe(name, pieces, bytes)
  local vocab, tokens, scores, unknown = {}, {}, {}, nil
  for i, piece in ipairs(pieces) do
    tokens[i] = piece.text
    vocab[piece.text] = vocab[piece.text] or i - 1
    if piece.kind == NORMAL then scores[piece.text] = piece.score end
    if piece.kind == USER then
      check.fail("%s: piece %d: a bpe model must have no pieces of the user, "
        .. "got %s", name, i, check.show(piece.text))
    end
    if piece.kind == UNKNOWN then unknown = piece.text end
  end
  return {type = "BPE", vocab = vocab, merges = score_merges(tokens, scores),
    unk_token = unknown, fuse_unk = true, byte_fallback = bytes}
end

-- Where no token goes on behind the mark of a word, words can be cut apart
-- first, and remembered.
local function words_of(pieces)
  for _, piece in ipairs(pieces) do
    if piece.text:find("\u{2581}", 2, true) then return nil end
  end
  return {type = "Metaspace", prepend_scheme = "never"}
end

local MANY <const> = 1 << 30
local HIDDEN <const> = "\u{10FFFF}" -- which no text has

-- The space at the beginning, or all of them there, go; then unknown characters
-- are shown, which may begin with a space.
local function decoder_of(pieces, trainer, trim)
  local steps <const> = {
    {type = "Replace", pattern = {String = "\u{2581}"}, content = " "},
    {type = "ByteFallback"}, {type = "Fuse"},
    {type = "Strip", content = " ", start = trim and MANY or 1}}
  for _, piece in ipairs(pieces) do
    if piece.kind == UNKNOWN then
      table.insert(steps, 1, {type = "Replace", pattern = {String = piece.text},
        content = HIDDEN})
      table.insert(steps, {type = "Replace", pattern = {String = HIDDEN},
        content = last(trainer, 44, " \u{2047} ")})
    end
  end
  return {type = "Sequence", decoders = steps}
end

--- Returns what tokenizer.json would hold, and the tokens by role.
-- @tparam string name for messages
-- @tparam string bytes the file
-- @raise when they are no such model
return function(name, bytes)
  local model <const> = protobuf.read(bytes)
  if not model or not model[1] then
    check.fail("%s: must be a SentencePiece model", name)
  end
  local pieces <const> = read_pieces(name, model[1])
  local trainer <const> = protobuf.read(last(model, 2, ""))
  local normal <const> = protobuf.read(last(model, 3, ""))
  if not trainer or not normal then
    check.fail("%s: must be a SentencePiece model", name)
  end
  local kind <const> = last(trainer, 3, UNIGRAM)
  if kind ~= UNIGRAM and kind ~= BPE then
    check.fail("%s: the model must be unigram or bpe, got type %s", name,
      check.show(kind))
  end
  local byte_fallback <const> = last(trainer, 35, 0) == 1
  local function role(field, default)
    local piece <const> = pieces[id_of(trainer, field, default) + 1]
    return piece and piece.kind == CONTROL and piece.text or nil
  end
  local trim <const> = last(normal, 4, 1) == 1
  return {
    model = (kind == BPE and bpe or unigram)(name, pieces, byte_fallback),
    added_tokens = control_of(pieces),
    normalizer = {type = "SentencePiece", map = last(normal, 2, ""),
      dummy_prefix = last(normal, 3, 1) == 1,
      trim = trim},
    pre_tokenizer = words_of(pieces),
    decoder = decoder_of(pieces, trainer, trim),
  }, {bos = role(41, 1), eos = role(42, 2), pad = role(43, -1)}
end
