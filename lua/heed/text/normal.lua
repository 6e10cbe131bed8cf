--- White space and case as the measures of translations see them, which is as
-- Python does.

local core = require "heed.core"

local normal = {}

-- White space beyond ASCII, as patterns: U+0085 U+00A0, U+1680, U+2000..200A
-- U+2028 U+2029 U+202F, U+205F, U+3000.
local WIDE_SPACES <const> = {
  "\xC2[\x85\xA0]", "\xE1\x9A\x80", "\xE2\x80[\x80-\x8A\xA8\xA9\xAF]",
  "\xE2\x81\x9F", "\xE3\x80\x80",
}

--- Every white space but the line feed as a plain space; none at the end.
function normal.spaces(s)
  s = s:gsub("[\t\v\f\r\x1C-\x1F]", " ")
  if s:find("[\x80-\xFF]") then
    for _, pattern in ipairs(WIDE_SPACES) do s = s:gsub(pattern, " ") end
  end
  return s:match("^.*[^ \n]") or ""
end

--- Small letters, with those two whose small form is no single letter for
-- itself: the sigma at the end of a word, and the dotted I.
function normal.lower(s)
  if s:find("[\xC4\xCE]") then
    s = s:gsub("\u{130}", "i\u{307}")
    s = s:gsub("(%f[%a\x80-\xFF][%a\x80-\xFF]+)\u{3A3}%f[^%a\x80-\xFF]",
      "%1\u{3C2}")
  end
  return core.unicode.lower(s)
end

return normal
