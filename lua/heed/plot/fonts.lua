--- What the fonts of this system can show.
-- gnuplot's cairo terminals draw a character that no font has as a box larger
-- than the picture, so such characters must be known before.
local fonts = {}

-- First and last code points of what some font has, as fc-list prints them
-- (`20-7e a0-17f 192`); false where it cannot be asked.
local ranges

local function load_ranges()
  local pipe = io.popen("fc-list --format '%{charset}\\n' 2>/dev/null")
  local found, seen = {}, {}
  for line in pipe:lines() do
    -- the styles of a family have the same characters, so most lines repeat
    if not seen[line] then
      seen[line] = true
      for low, high in line:gmatch("(%x+)%-?(%x*)") do
        low = tonumber(low, 16)
        table.insert(found, {low, tonumber(high, 16) or low})
      end
    end
  end
  pipe:close()
  return #found > 0 and found
end

-- What is never drawn, so that no font needs it: joiners, marks of direction,
-- selectors of a variant.
local function is_invisible(code)
  return code == 0xAD or code == 0x34F or code == 0x61C or code == 0xFEFF
    or code >= 0x200B and code <= 0x200F or code >= 0x2060 and code <= 0x206F
    or code >= 0xFE00 and code <= 0xFE0F or code >= 0xE0001 and code <= 0xE01EF
end

local known = {}

--- Returns whether a font of this system has a character; true as well where
-- fontconfig, which knows, is missing.
-- @tparam integer code a code point
-- @treturn boolean
function fonts.has(code)
  if code < 0x80 or is_invisible(code) then return true end
  if known[code] ~= nil then return known[code] end
  if ranges == nil then ranges = load_ranges() end
  if not ranges then return true end
  known[code] = false
  for _, range in ipairs(ranges) do
    if code >= range[1] and code <= range[2] then
      known[code] = true
      break
    end
  end
  return known[code]
end

--- Returns the text with what no font has written as an escape.
-- @tparam string text valid UTF-8
-- @treturn string
function fonts.only_known(text)
  if not text:find("[\x80-\xFF]") then return text end
  return (text:gsub(utf8.charpattern, function(char)
    local code = utf8.codepoint(char)
    return not fonts.has(code) and ("\\u{%X}"):format(code) or nil
  end))
end

return fonts
