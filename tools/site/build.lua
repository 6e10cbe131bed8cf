--- The whole site, written into a folder.

local collect = require "tools.reference.collect"
local frame = require "tools.site.frame"
local html = require "tools.site.html"
local markdown = require "tools.site.markdown"
local names = require "tools.site.names"
local reference = require "tools.site.reference"
local search = require "tools.site.search"
local topics = require "tools.site.topics"

local build = {}

local function write_file(path, text)
  local file = assert(io.open(path, "w"))
  file:write(text)
  assert(file:close())
end

local function read_file(path)
  local file = assert(io.open(path))
  local text = file:read "a"
  file:close()
  return text
end

-- Links that show the name of a page's file show its title.
local function name_pages(pages)
  local titles = {}
  for _, page in ipairs(pages) do
    if page.name then titles[page.name .. ".md"] = page.title end
  end
  for _, page in ipairs(pages) do
    page.body = page.body:gsub(">([%w_-]+%.md)</a>", function(name)
      return titles[name] and ">" .. html.escape(titles[name]) .. "</a>"
    end)
  end
end

-- The order of the guide is that of the links in docs/index.md, in groups with
-- its headings.
local function read_order(root)
  local groups, taken = {}, {index = true}
  for line in io.lines(root .. "/docs/index.md") do
    local heading <const> = line:match "^## (.*)$"
    if heading then groups[#groups + 1] = {title = heading} end
    for name in line:gmatch "%]%(([%w_-]+)%.md%)" do
      if not taken[name] then
        taken[name] = true
        table.insert(groups[#groups], {file = name .. ".html", name = name})
      end
    end
  end
  return groups
end

local function add_guide(pages, root, groups, find)
  local function add(item)
    item.body, item.title =
      markdown.read(("%s/docs/%s.md"):format(root, item.name), find)
    pages[#pages + 1] = item
  end
  add {file = "index.html", name = "index"}
  for _, group in ipairs(groups) do
    for _, item in ipairs(group) do add(item) end
  end
end

local function add_reference(pages, groups, topic_pages, find)
  local group = {title = "Reference"}
  local function from_below(code)
    local place <const> = find(code, true)
    return place and place:gsub("^reference/", "")
  end
  for _, page in ipairs(topic_pages) do
    page.file = ("reference/%s.html"):format(page.name)
    page.body = reference.page(page, from_below)
    group[#group + 1], pages[#pages + 1] = page, page
  end
  groups[#groups + 1] = group
end

--- Writes the site; returns the list of its pages' files.
-- @tparam string root the folder of the sources
-- @tparam string target a folder, made if it is not there
-- @tparam table heed the module, loaded from there
function build.write(root, target, heed)
  local topic_pages <const> = topics.pages((collect.all(root, heed)))
  local find <const> = names.finder(topic_pages)
  local groups <const>, pages <const>, files <const> = read_order(root), {}, {}
  add_guide(pages, root, groups, find)
  name_pages(pages)
  add_reference(pages, groups, topic_pages, find)
  assert(os.execute(("mkdir -p '%s/reference'"):format(target)))
  for i, page in ipairs(pages) do
    write_file(target .. "/" .. page.file, frame.wrap(page, groups))
    files[i] = page.file
  end
  write_file(target .. "/index.js", search.index(pages))
  for _, name in ipairs {"site.css", "search.js"} do
    write_file(target .. "/" .. name, read_file(root .. "/tools/site/" .. name))
  end
  return files
end

return build
