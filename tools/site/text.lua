--- The texts of doc comments as HTML: paragraphs, lists ("* ..."), code in
-- backquotes, and lines that are set in, which stay as they are. They are no
-- Markdown: signs of formulas mean themselves.

local html = require "tools.site.html"

local text = {}

--- Returns one paragraph; `find(name)` gives the address of a name, or nil.
function text.inline(line, find)
  local out, at = {}, 1
  for before, code, after in line:gmatch "([^`]*)`([^`]*)`()" do
    local shown = "<code>" .. html.escape(code) .. "</code>"
    local target <const> = find(code)
    if target then
      shown = ('<a href="%s">%s</a>'):format(target, shown)
    end
    out[#out + 1] = html.escape(before) .. shown
    at = after
  end
  out[#out + 1] = html.escape(line:sub(at))
  return table.concat(out)
end

local function kind_of(line)
  if line:find "^%s*$" then return "end" end
  if line:find "^%s*%*%s" then return "item" end
  if line:find "^%s%s+%S" then return "code" end
  return "text"
end

-- Blocks of lines: {kind, lines...}. A line that is set in goes on with the
-- item above it.
local function blocks_of(source)
  local blocks, block = {}, nil
  for line in (source .. "\n"):gmatch "(.-)\n" do
    local kind <const> = kind_of(line)
    if kind == "end" then
      if block and block.kind == "code" then
        block[#block + 1] = ""
      else
        block = nil
      end
    elseif block and block.kind == "item" and kind ~= "item" then
      block[#block] = block[#block] .. " " .. line:gsub("^%s+", "")
    else
      if not block or block.kind ~= kind then
        block = {kind = kind}
        blocks[#blocks + 1] = block
      end
      block[#block + 1] = line
    end
  end
  return blocks
end

local writers = {}

function writers.text(block, find)
  return "<p>" .. text.inline(table.concat(block, "\n"), find) .. "</p>"
end

function writers.item(block, find)
  local out = {"<ul>"}
  for _, line in ipairs(block) do
    out[#out + 1] = "<li>" .. text.inline(line:gsub("^%s*%*%s+", ""), find)
      .. "</li>"
  end
  out[#out + 1] = "</ul>"
  return table.concat(out, "\n")
end

function writers.code(block)
  local least = math.huge
  for _, line in ipairs(block) do
    local indent <const> = line:match "^(%s*)%S"
    if indent then least = math.min(least, #indent) end
  end
  local lines = {}
  for i, line in ipairs(block) do lines[i] = line:sub(least + 1) end
  return "<pre><code>" .. html.escape((table.concat(lines, "\n")
    :gsub("%s+$", ""))) .. "</code></pre>"
end

--- Returns a whole text; `find` as for `inline`.
function text.blocks(source, find)
  local out = {}
  for i, block in ipairs(blocks_of(source)) do
    out[i] = writers[block.kind](block, find)
  end
  return table.concat(out, "\n")
end

return text
