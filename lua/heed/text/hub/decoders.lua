--- The decoders of tokenizer.json: functions from a list of tokens to another;
-- at the end all are put together.

local bytes = require "heed.text.hub.bytes"
local check = require "heed.check"
local part = require "heed.text.hub.part"
local regex = require "heed.text.hub.regex"
local unicode = require "heed.core".unicode

local makers = {}

local KIND <const> = "decoder"

local function map(list, f)
  local result = {}
  for i, token in ipairs(list) do result[i] = f(token, i, #list) end
  return result
end

function makers.ByteLevel()
  return function(tokens)
    return {unicode.repair(bytes.read(table.concat(tokens)))}
  end
end

-- What English writes without a space.
local CLEANUP <const> = {
  {" %.", "."}, {" %?", "?"}, {" !", "!"}, {" ,", ","}, {" ' ", "'"},
  {" n't", "n't"}, {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"},
  {" 've", "'ve"}, {" 're", "'re"},
}

function makers.WordPiece(c, name)
  local prefix <const> = part.string(name, c, "prefix", "##")
  local clean <const> = part.boolean(name, c, "cleanup", true)
  return function(tokens)
    return map(tokens, function(token, i)
      if i > 1 then
        token = token:sub(1, #prefix) == prefix and token:sub(#prefix + 1) or
          " " .. token
      end
      for _, pair in ipairs(clean and CLEANUP or {}) do
        token = token:gsub(pair[1], pair[2])
      end
      return token
    end)
  end
end

function makers.Metaspace(c, name)
  local mark <const> = part.string(name, c, "replacement", "\u{2581}")
  local scheme <const> = part.string(name, c, "prepend_scheme",
    part.boolean(name, c, "add_prefix_space", true) and "always" or "never")
  local pattern <const> = mark:gsub("%p", "%%%0")
  return function(tokens)
    return map(tokens, function(token, i)
      if i == 1 and scheme ~= "never" then
        -- of the first token every mark goes
        return (token:gsub(pattern, ""))
      end
      return (token:gsub(pattern, " "))
    end)
  end
end

function makers.BPEDecoder(c, name)
  local suffix <const> = part.string(name, c, "suffix", "</w>")
  local pattern <const> = regex.new(name, regex.quote(suffix))
  local inside <const>, last <const> = regex.replacer(pattern, " "),
    regex.replacer(pattern, "")
  return function(tokens)
    return map(tokens, function(token, i, n)
      return (i == n and last or inside)(token)
    end)
  end
end

-- Tokens of bytes become characters, or U+FFFD each when they make up none.
function makers.ByteFallback()
  return function(tokens)
    local list, run = {}, {}
    local function flush()
      if #run == 0 then return end
      local text <const> = table.concat(run)
      list[#list + 1] = unicode.valid(text) and text or
        ("\u{FFFD}"):rep(#run)
      run = {}
    end
    for _, token in ipairs(tokens) do
      local hex <const> = token:match "^<0x(%x%x)>$"
      if hex then
        run[#run + 1] = string.char(tonumber(hex, 16))
      else
        flush()
        list[#list + 1] = token
      end
    end
    flush()
    return list
  end
end

function makers.Fuse()
  return function(tokens) return {table.concat(tokens)} end
end

-- Takes a character off the ends of tokens, up to so often.
function makers.Strip(c, name)
  local content <const> = part.string(name, c, "content")
  local start <const> = check.integer(name, "start", c.start or 0, 0)
  local stop <const> = check.integer(name, "stop", c.stop or 0, 0)
  local n <const> = #content
  return function(tokens)
    return map(tokens, function(token)
      for _ = 1, n > 0 and start or 0 do
        if token:sub(1, n) ~= content then break end
        token = token:sub(n + 1)
      end
      for _ = 1, n > 0 and stop or 0 do
        if token:sub(-n) ~= content then break end
        token = token:sub(1, -n - 1)
      end
      return token
    end)
  end
end

function makers.Replace(c, name)
  local replace <const> = regex.replacer(
    regex.new(name, regex.read(name, c.pattern)),
    part.string(name, c, "content"))
  return function(tokens) return map(tokens, function(t) return replace(t) end)
  end
end

makers.Sequence = part.sequence(KIND, makers, "decoders")

--- Returns the function of a component, or nil for none: tokens then stand with
-- spaces between them.
return function(component) return part.make(KIND, makers, component) end
