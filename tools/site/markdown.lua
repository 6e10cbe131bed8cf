--- A page of docs/ as HTML. cmark-gfm converts it, the converter of the site
-- where such pages are mostly read; here are added anchors of headings, links
-- between the pages, and colours.

local html = require "tools.site.html"

local markdown = {}

local function quote(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

local function convert(path)
  local pipe = assert(io.popen("cmark-gfm -e table " .. quote(path)))
  local text = pipe:read "a"
  if not pipe:close() or text == "" then
    error(("cmark-gfm gave nothing for %s"):format(path), 0)
  end
  return text
end

-- The anchor of a heading: lower case, words joined by "-", without the other
-- signs; of equal ones the second ends in "-1".
local function anchor_of(text, taken)
  local name = text:lower():gsub("[^%w%s_\x80-\xff-]", ""):gsub("%s", "-")
  local count = taken[name]
  taken[name] = (count or 0) + 1
  return count and name .. "-" .. count or name
end

local function add_anchors(text)
  local headings, taken = {}, {}
  text = text:gsub("<h(%d)>(.-)</h%d>", function(level, inside)
    local plain <const> = html.unescape(inside)
    local id <const> = anchor_of(plain, taken)
    headings[#headings + 1] =
      {level = tonumber(level), text = plain, id = id}
    return ('<h%s id="%s">%s <a class="here" href="#%s" '
      .. 'aria-label="link to this section">#</a></h%s>'):format(level, id,
      inside, id, level)
  end)
  return text, headings
end

-- Links between pages end in .md in the sources.
local function turn_links(text)
  return (text:gsub('(<a href=")([^":]-)%.md(#?[^"]*")', "%1%2.html%3"))
end

local function colour_code(text)
  return (text:gsub('<pre><code class="language%-lua">(.-)</code></pre>',
    function(code)
      return '<pre><code class="lua">' .. html.lua(html.unescape(code))
        .. "</code></pre>"
    end))
end

-- What is named in the text is a link to its entry, but in headings, in links,
-- and in tables from another program to heed on the other's side.
local function link_names(text, find)
  local kept = {}
  local function keep(part)
    kept[#kept + 1] = part
    return "\0" .. #kept .. "\0"
  end
  text = text:gsub("<pre>.-</pre>", keep):gsub("<h%d.-</h%d>", keep)
    :gsub("<a .-</a>", keep):gsub("<table>.-</table>", function(rows)
      return rows:find "<th>heed</th>%s*</tr>"
        and rows:gsub("<tr>%s*<td>.-</td>", keep)
    end)
  text = text:gsub("<code>(.-)</code>", function(code)
    local target <const> = find(html.unescape(code))
    if not target then return nil end
    return ('<a href="%s"><code>%s</code></a>'):format(target, code)
  end)
  local count
  repeat -- what was kept last may hold what was kept before
    text, count = text:gsub("\0(%d+)\0", function(i)
      return kept[tonumber(i)]
    end)
  until count == 0
  return text
end

--- Returns the HTML of a page, its title and its headings (`level`, `text`,
-- `id`).
-- @tparam string path
-- @tparam function find gives the address of what a piece of code names, or nil
function markdown.read(path, find)
  local text, headings = add_anchors(convert(path))
  text = link_names(colour_code(turn_links(text)), find)
  text = text:gsub("<table>.-</table>", '<div class="wide">%0</div>')
  local title <const> = headings[1] and headings[1].level == 1
    and headings[1].text
  if not title then error(path .. ": must begin with a title (# ...)", 0) end
  return text, title, headings
end

return markdown
