--- How wide a text stands in a terminal, and texts made safe for one.
-- Widths are summed over code points, as terminals do: 0 for a combining mark,
-- 2 for Chinese, Japanese, Korean and emoji, 1 for the rest. The widths come
-- from the core (utf8proc) where it is loaded; without it from the ranges
-- below, which hold every wide block and the marks of the scripts most used.
local core = require "heed.core"

local width = {}

-- Both lists: first and last code point of each range, ascending.
local zero <const> = {
  0x0300, 0x036F, 0x0483, 0x0489, 0x0591, 0x05BD, 0x05BF, 0x05BF,
  0x05C1, 0x05C2, 0x05C4, 0x05C5, 0x05C7, 0x05C7, 0x0610, 0x061A,
  0x064B, 0x065F, 0x0670, 0x0670, 0x06D6, 0x06DC, 0x06DF, 0x06E4,
  0x06E7, 0x06E8, 0x06EA, 0x06ED, 0x0711, 0x0711, 0x0730, 0x074A,
  0x0900, 0x0902, 0x093A, 0x093A, 0x093C, 0x093C, 0x0941, 0x0948,
  0x094D, 0x094D, 0x0951, 0x0957, 0x0962, 0x0963, 0x0981, 0x0981,
  0x09BC, 0x09BC, 0x09C1, 0x09C4, 0x09CD, 0x09CD, 0x0E31, 0x0E31,
  0x0E34, 0x0E3A, 0x0E47, 0x0E4E, 0x1160, 0x11FF, 0x1AB0, 0x1ACE,
  0x1DC0, 0x1DFF, 0x200B, 0x200F, 0x202A, 0x202E, 0x2060, 0x2064,
  0x2066, 0x206F, 0x20D0, 0x20F0, 0x302A, 0x302D, 0x3099, 0x309A,
  0xFE00, 0xFE0F, 0xFE20, 0xFE2F, 0xFEFF, 0xFEFF, 0xE0001, 0xE007F,
  0xE0100, 0xE01EF,
}
local wide <const> = {
  0x1100, 0x115F, 0x231A, 0x231B, 0x2329, 0x232A, 0x23E9, 0x23EC,
  0x23F0, 0x23F0, 0x23F3, 0x23F3, 0x25FD, 0x25FE, 0x2614, 0x2615,
  0x2648, 0x2653, 0x267F, 0x267F, 0x2693, 0x2693, 0x26A1, 0x26A1,
  0x26AA, 0x26AB, 0x26BD, 0x26BE, 0x26C4, 0x26C5, 0x26CE, 0x26CE,
  0x26D4, 0x26D4, 0x26EA, 0x26EA, 0x26F2, 0x26F3, 0x26F5, 0x26F5,
  0x26FA, 0x26FA, 0x26FD, 0x26FD, 0x2705, 0x2705, 0x270A, 0x270B,
  0x2728, 0x2728, 0x274C, 0x274C, 0x274E, 0x274E, 0x2753, 0x2755,
  0x2757, 0x2757, 0x2795, 0x2797, 0x27B0, 0x27B0, 0x27BF, 0x27BF,
  0x2B1B, 0x2B1C, 0x2B50, 0x2B50, 0x2B55, 0x2B55, 0x2E80, 0x303E,
  0x3041, 0x3247, 0x3250, 0x4DBF, 0x4E00, 0xA4C6, 0xA960, 0xA97C,
  0xAC00, 0xD7A3, 0xF900, 0xFAFF, 0xFE10, 0xFE19, 0xFE30, 0xFE6B,
  0xFF01, 0xFF60, 0xFFE0, 0xFFE6, 0x16FE0, 0x18D08, 0x1AFF0, 0x1B2FB,
  0x1F004, 0x1F004, 0x1F0CF, 0x1F0CF, 0x1F18E, 0x1F18E, 0x1F191, 0x1F19A,
  0x1F200, 0x1F320, 0x1F32D, 0x1F335, 0x1F337, 0x1F37C, 0x1F37E, 0x1F393,
  0x1F3A0, 0x1F3CA, 0x1F3CF, 0x1F3D3, 0x1F3E0, 0x1F3F0, 0x1F3F4, 0x1F3F4,
  0x1F3F8, 0x1F43E, 0x1F440, 0x1F440, 0x1F442, 0x1F4FC, 0x1F4FF, 0x1F53D,
  0x1F54B, 0x1F54E, 0x1F550, 0x1F567, 0x1F57A, 0x1F57A, 0x1F595, 0x1F596,
  0x1F5A4, 0x1F5A4, 0x1F5FB, 0x1F64F, 0x1F680, 0x1F6C5, 0x1F6CC, 0x1F6CC,
  0x1F6D0, 0x1F6D2, 0x1F6D5, 0x1F6D7, 0x1F6DC, 0x1F6DF, 0x1F6EB, 0x1F6EC,
  0x1F6F4, 0x1F6FC, 0x1F7E0, 0x1F7EB, 0x1F7F0, 0x1F7F0, 0x1F90C, 0x1F93A,
  0x1F93C, 0x1F945, 0x1F947, 0x1F9FF, 0x1FA70, 0x1FAFF, 0x20000, 0x3FFFD,
}

-- Whether the code point lies in one of the ranges (binary search).
local function within(ranges, code)
  local low, high = 1, #ranges // 2
  while low <= high do
    local mid = (low + high) // 2
    if code < ranges[2 * mid - 1] then
      high = mid - 1
    elseif code > ranges[2 * mid] then
      low = mid + 1
    else
      return true
    end
  end
  return false
end

local core_width = core.unicode and core.unicode.width

--- Returns the columns that one code point takes: 0, 1 or 2.
-- @tparam integer code a code point
-- @treturn integer
-- @usage width.char(0x4E2D)  --> 2
function width.char(code)
  if code >= 0x20 and code < 0x7F then return 1 end
  if core_width then return core_width(utf8.char(code)) end
  if within(zero, code) then return 0 end
  return within(wide, code) and 2 or 1
end

--- Returns the columns that a text takes. The text must be valid UTF-8 without
-- control characters, as `clean` leaves it.
-- @tparam string text a text
-- @treturn integer
-- @usage width.text("été 中")  --> 6
function width.text(text)
  if not text:find("[\x80-\xFF]") then return #text end
  local sum = 0
  for _, code in utf8.codes(text) do sum = sum + width.char(code) end
  return sum
end

-- What must not reach a terminal or an SVG file as it is: control characters,
-- line separators, marks that turn the writing direction, non-characters.
local function must_escape(code)
  return code < 0x20 or (code >= 0x7F and code < 0xA0)
    or code == 0x2028 or code == 0x2029
    or (code >= 0x202A and code <= 0x202E)
    or (code >= 0x2066 and code <= 0x2069)
    or (code >= 0xFDD0 and code <= 0xFDEF) or code & 0xFFFE == 0xFFFE
end

local short_escape <const> = {[9] = "\\t", [10] = "\\n", [13] = "\\r"}

--- Returns the text with everything that would break a line made visible:
-- control characters and bytes that are not UTF-8 as Lua escapes, a combining
-- mark without a base on a dotted circle.
-- @tparam string text any bytes
-- @treturn string valid UTF-8 that prints on one line
-- @usage width.clean("a\n\xFF")  --> [[a\n\xFF]]
function width.clean(text)
  if not text:find("[^\x20-\x7E]") then return text end
  local out, at = {}, 1
  while at <= #text do
    local piece, next_at
    if utf8.len(text, at, at) then
      local code = utf8.codepoint(text, at)
      next_at = utf8.offset(text, 2, at)
      piece = text:sub(at, next_at - 1)
      if must_escape(code) then
        piece = short_escape[code]
          or string.format(code < 0x80 and "\\x%02X" or "\\u{%X}", code)
      elseif at == 1 and width.char(code) == 0 then
        piece = "\u{25CC}" .. piece
      end
    else
      next_at = at + 1
      piece = string.format("\\x%02X", text:byte(at))
    end
    out[#out + 1] = piece
    at = next_at
  end
  return table.concat(out)
end

--- Returns the text as a list of what takes columns: each character together
-- with the marks that follow it.
-- @tparam string text a text as `clean` leaves it
-- @treturn {string,...}
-- @usage #width.cells("e\u{301}t")  --> 2
function width.cells(text)
  local cells = {}
  for _, code in utf8.codes(text) do
    local char = utf8.char(code)
    if #cells > 0 and width.char(code) == 0 then
      cells[#cells] = cells[#cells] .. char
    else
      cells[#cells + 1] = char
    end
  end
  return cells
end

--- Returns the text, cut at its end so that it takes at most `limit` columns.
-- @tparam string text a text as `clean` leaves it
-- @tparam integer limit columns
-- @tparam[opt=""] string mark what stands for the part cut off
-- @treturn string
-- @usage width.cut("attention", 5, "~")  --> "atte~"
function width.cut(text, limit, mark)
  if width.text(text) <= limit then return text end
  mark = mark or ""
  local room, out = limit - width.text(mark), {}
  if room < 0 then return "" end
  for _, cell in ipairs(width.cells(text)) do
    room = room - width.text(cell)
    if room < 0 then break end
    out[#out + 1] = cell
  end
  return table.concat(out) .. mark
end

return width
