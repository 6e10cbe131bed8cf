--- The index that the search of the site reads: a script, since pages that are
-- opened from a disk may not load anything else.

local html = require "tools.site.html"

local search = {}

local function flat(text)
  return (text:gsub("%s+", " "):gsub("^ ", ""):gsub(" $", ""))
end

-- A text of JavaScript; "</" would end the script where it stands in a page.
local function literal(text)
  return '"' .. text:gsub('[\\"]', "\\%0"):gsub("\n", "\\n")
    :gsub("[\0-\31]", " "):gsub("</", "<\\/") .. '"'
end

-- The sections of a guide's page: {address, title, where, text}.
local function sections_of(page)
  local list = {}
  local ends = page.body .. '<h2 id="'
  local at = 1
  while true do
    local first <const>, last <const>, id <const>, head <const> =
      ends:find('<h%d id="([^"]*)">(.-) <a class="here"', at)
    if not first then break end
    local stop <const> = ends:find('<h%d id="', last) or #ends
    list[#list + 1] = {page.file .. "#" .. id, html.unescape(head), page.title,
      flat(html.unescape(ends:sub(last, stop - 1):gsub("^.-</h%d>", "")))}
    at = stop
  end
  return list
end

local function entries_of(page)
  local list = {}
  for i, entry in ipairs(page.entries) do
    list[i] = {page.file .. "#" .. entry.path, entry.path,
      flat(entry.summary:gsub("`", "")), flat(entry.text)}
  end
  return list
end

--- Returns the script with what can be found on the pages: for each place its
-- address, name, a line about it, and its text.
function search.index(pages)
  local out = {"window.heedFound([\n"}
  for _, page in ipairs(pages) do
    for _, item in ipairs(page.entries and entries_of(page)
        or sections_of(page)) do
      for i, value in ipairs(item) do item[i] = literal(value) end
      out[#out + 1] = "[" .. table.concat(item, ",") .. "],\n"
    end
  end
  out[#out + 1] = "]);\n"
  return table.concat(out)
end

return search
