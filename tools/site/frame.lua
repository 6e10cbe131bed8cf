--- What stands around the text of every page: head, search, table of contents.

local html = require "tools.site.html"

local frame = {}

local PAGE <const> = [[
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<meta name="color-scheme" content="light dark"/>
<title>$title</title>
<link rel="stylesheet" href="$up%site.css"/>
<script src="$up%search.js" defer="defer"></script>
</head>
<body data-up="$up%">
<header>
<a class="home" href="$up%index.html">heed</a>
<div class="search">
<input id="search" type="search" placeholder="search ( / )"
 aria-label="search" autocomplete="off"/>
<ol id="found" hidden="hidden"></ol>
</div>
</header>
<div class="columns">
<details class="contents" open="open">
<summary>Contents</summary>
$contents
</details>
<main>
$body
$around
</main>
</div>
</body>
</html>
]]

local function link(item, up, here)
  return ('<a href="%s%s"%s>%s</a>'):format(up, item.file,
    item.file == here and ' aria-current="page"' or "",
    html.escape(item.title))
end

local function contents_of(groups, up, here)
  local out = {}
  for _, group in ipairs(groups) do
    out[#out + 1] = "<h2>" .. html.escape(group.title) .. "</h2>\n<ul>"
    for _, item in ipairs(group) do
      out[#out + 1] = "<li>" .. link(item, up, here) .. "</li>"
    end
    out[#out + 1] = "</ul>"
  end
  return table.concat(out, "\n")
end

-- Links to the pages before and behind this one.
local function around(groups, up, here)
  local all, at = {}, nil
  for _, group in ipairs(groups) do
    for _, item in ipairs(group) do
      all[#all + 1] = item
      if item.file == here then at = #all end
    end
  end
  if not at then return "" end
  local out = {'<footer class="around">'}
  for _, step in ipairs {{all[at - 1], "back"}, {all[at + 1], "next"}} do
    if step[1] then
      out[#out + 1] = ('<span>%s: %s</span>'):format(step[2],
        link(step[1], up))
    end
  end
  out[#out + 1] = "</footer>"
  return table.concat(out, "\n")
end

--- Returns a whole page.
-- @tparam table page `file`, from the root of the site; `title`; `body`
-- @tparam table groups the contents: lists of `file` and `title`, each with a
--   `title`
function frame.wrap(page, groups)
  local up <const> = page.file:find "/" and "../" or ""
  local fields <const> = {
    title = html.escape(page.title == "heed" and "heed"
      or page.title .. " - heed"),
    up = up, body = page.body, contents = contents_of(groups, up, page.file),
    around = around(groups, up, page.file),
  }
  return (PAGE:gsub("%$(%l+)%%?", fields))
end

return frame
