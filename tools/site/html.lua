--- Pieces of HTML: escaping, and code in colours. All that is written is also
-- well-formed XML, so that any XML parser can check it.

local html = {}

local ENTITIES <const> =
  {["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;"}

--- Returns text as it stands in HTML.
function html.escape(text)
  return (text:gsub('[&<>"]', ENTITIES))
end

--- Returns HTML as the text that it shows.
function html.unescape(text)
  return (text:gsub("<[^>]*>", ""):gsub("&lt;", "<"):gsub("&gt;", ">")
    :gsub("&quot;", '"'):gsub("&amp;", "&"))
end

local function set(words)
  local list = {}
  for word in words:gmatch "%S+" do list[word] = true end
  return list
end

local KEYWORDS <const> = set [[and break do else elseif end false for function
  goto if in local nil not or repeat return then true until while]]

-- What a piece of Lua may begin with, the first that fits: a pattern and the
-- class of its colour. `-->` and `--!` show what comes out.
local PIECES <const> = {
  {"^%-%-%[%[.-%]%]", "c"}, {"^%-%->[^\n]*", "o"}, {"^%-%-![^\n]*", "o"},
  {"^%-%-[^\n]*", "c"}, {"^%[%[.-%]%]", "s"}, {'^"[^"\n]*"', "s"},
  {"^'[^'\n]*'", "s"}, {"^0x%x+", "n"}, {"^%d+%.?%d*[eE][+-]?%d+", "n"},
  {"^%d+%.%d+", "n"}, {"^%d+", "n"}, {"^[%a_][%w_]*", "w"}, {"^%s+"}, {"^."},
}

local function next_piece(code, at)
  for _, piece in ipairs(PIECES) do
    local text = code:match(piece[1], at)
    if text and text ~= "" then return text, piece[2] end
  end
end

--- Returns Lua code as HTML, its comments, texts, numbers and keywords marked.
function html.lua(code)
  local out, at = {}, 1
  while at <= #code do
    local text, class = next_piece(code, at)
    at = at + #text
    if class == "w" then class = KEYWORDS[text] and "k" or nil end
    text = html.escape(text)
    out[#out + 1] = class and ('<span class="%s">%s</span>')
      :format(class, text) or text
  end
  return table.concat(out)
end

return html
