--- Links of the site: each leads to a file that is there, and to an anchor in
-- it. Nothing is loaded from a network.

local html = require "tools.site.html"

local check = {}

local function read_file(path)
  local file = io.open(path)
  if not file then return nil end
  local text = file:read "a"
  file:close()
  return text
end

-- The anchors of a page; one that is there twice is a fault.
local function anchors_of(name, text, faults)
  local anchors = {}
  for id in text:gmatch '<[^>]-%sid="([^"]*)"' do
    if anchors[id] then
      faults[#faults + 1] = ("%s: anchor %s is there twice"):format(name, id)
    end
    anchors[id] = true
  end
  return anchors
end

-- A path from the folder of a page, from the root of the site.
local function resolve(from, path)
  local folder = from:match "^(.*/)" or ""
  while path:sub(1, 3) == "../" do
    path, folder = path:sub(4), folder:gsub("[^/]+/$", "")
  end
  return folder .. path
end

--- Returns a list of lines that say what is wrong with the links of the pages.
-- @tparam string target the folder of the site
-- @tparam table files names of pages in it
function check.links(target, files)
  local texts, anchors, faults = {}, {}, {}
  for _, name in ipairs(files) do
    texts[name] = assert(read_file(target .. "/" .. name))
    anchors[name] = anchors_of(name, texts[name], faults)
  end
  local function look(name, address, is_link)
    local path, anchor = address:match "^([^#]*)#?(.*)$"
    if address:find "^%a[%w+.-]*:" or address:find "^//" then
      if not is_link then
        faults[#faults + 1] = ("%s: loads %s"):format(name, address)
      end
      return
    end
    local file <const> = path == "" and name or resolve(name, path)
    if not texts[file] and not read_file(target .. "/" .. file) then
      faults[#faults + 1] = ("%s: no file %s"):format(name, file)
    elseif anchor ~= "" and not (anchors[file] and anchors[file][anchor]) then
      faults[#faults + 1] = ("%s: no anchor %s"):format(name, address)
    end
  end
  for _, name in ipairs(files) do
    for tag in texts[name]:gmatch "<%a[^>]*>" do
      for key, address in tag:gmatch '%s(%l+)="([^"]*)"' do
        if key == "href" or key == "src" then
          look(name, html.unescape(address), tag:find "^<a%s" ~= nil)
        end
      end
    end
  end
  return faults
end

return check
