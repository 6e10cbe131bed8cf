--- Pages of the reference: what the doc comments say of each function.

local html = require "tools.site.html"
local text = require "tools.site.text"

local reference = {}

local TWIN <const> = "This form writes over its first argument."

local function short(path)
  return (path:gsub("^heed%.nn%.functional%.", "F.")
    :gsub("^heed%.nn%.", "nn."):gsub("^tensor:", "x:")
    :gsub("^heed%.%w+%.(%u[%w_]*:)", "%1"):gsub("^nn%.(%w+:)", "%1"))
end

-- The in-place forms: by the path of the op that they are a form of.
local function find_twins(entries)
  local plain, twins = {}, {}
  for _, entry in ipairs(entries) do plain[entry.path] = entry end
  for _, entry in ipairs(entries) do
    local of = plain[entry.path:match "^(.*)_$" or ""]
    if of and entry.text:sub(-#TWIN) == TWIN then
      twins[of.path] = entry
      twins[entry] = true
    end
  end
  return twins
end

local function describe_param(param, find)
  local about = {}
  if param.type then about[1] = param.type end
  if param.default then
    about[#about + 1] = "default " .. param.default
  elseif param.optional then
    about[#about + 1] = "may be left out"
  end
  local kind <const> = #about > 0 and (' <span class="kind">%s</span>')
    :format(html.escape(table.concat(about, ", "))) or ""
  return ("<dt><code>%s</code>%s</dt>\n<dd>%s</dd>"):format(
    html.escape(param.name), kind,
    param.text ~= "" and text.blocks(param.text, find) or "")
end

local function describe_result(result, find)
  local kind <const> = result.type and ('<span class="kind">%s</span> ')
    :format(html.escape(result.type)) or ""
  return ("<dt>gives</dt>\n<dd>%s%s</dd>"):format(kind,
    text.inline(result.text, find))
end

local function add_lists(out, entry, find)
  if #entry.params + #entry.returns + #entry.raises == 0 then return end
  out[#out + 1] = "<dl>"
  for _, param in ipairs(entry.params) do
    out[#out + 1] = describe_param(param, find)
  end
  for _, result in ipairs(entry.returns) do
    out[#out + 1] = describe_result(result, find)
  end
  for _, reason in ipairs(entry.raises) do
    out[#out + 1] = ("<dt>fails</dt>\n<dd>%s</dd>"):format(
      text.inline(reason, find))
  end
  out[#out + 1] = "</dl>"
end

-- Other ways to call it.
local function forms_of(entry, twin)
  local forms = {}
  if entry.is_method then
    forms[1] = ("also <code>x:%s(...)</code>"):format(entry.name)
  end
  if twin then
    forms[#forms + 1] = ('<code id="%s">%s(...)</code> writes over its first '
      .. "argument"):format(twin.path, html.escape(short(twin.path)))
  end
  return #forms > 0 and "<p>" .. table.concat(forms, "; ") .. "</p>" or nil
end

-- What follows the text: where it is defined, and whether it has a gradient.
local function foot_of(entry)
  local about = {entry.source}
  if entry.differentiable == true then
    about[2] = "has a gradient"
  elseif entry.differentiable == false then
    about[2] = "no gradient"
  end
  return '<p class="foot">' .. table.concat(about, "; ") .. "</p>"
end

local function write_entry(entry, twin, find)
  local level <const> = entry.kind == "method" and entry.part ~= "tensor"
    and 3 or 2
  local out = {('<section class="entry" id="%s">'):format(entry.path),
    ('<h%d><code>%s(%s)</code> <a class="here" href="#%s" '
      .. 'aria-label="link to this entry">#</a></h%d>'):format(level,
      html.escape(short(entry.path)), html.escape(entry.signature),
      entry.path, level)}
  out[#out + 1] = forms_of(entry, twin)
  out[#out + 1] = text.blocks(entry.text, find)
  add_lists(out, entry, find)
  for _, usage in ipairs(entry.usages) do
    out[#out + 1] = '<pre><code class="lua">'
      .. html.lua((usage:gsub("^\n", ""))) .. "</code></pre>"
  end
  out[#out + 1] = foot_of(entry)
  out[#out + 1] = "</section>"
  return table.concat(out, "\n")
end

local function list_of(shown)
  local out = {'<nav class="names" aria-label="on this page">'}
  for _, entry in ipairs(shown) do
    if entry.kind ~= "method" or entry.part == "tensor" then
      out[#out + 1] = ('<a href="#%s"><code>%s</code></a>'):format(entry.path,
        html.escape(entry.name))
    end
  end
  out[#out + 1] = "</nav>"
  return table.concat(out, "\n")
end

--- Returns the HTML of a page of entries, as `topics.pages` gives it.
-- @tparam table page
-- @tparam function find gives the address of what a piece of code names, or nil
function reference.page(page, find)
  local twins <const>, shown = find_twins(page.entries), {}
  for _, entry in ipairs(page.entries) do
    if not twins[entry] then shown[#shown + 1] = entry end
  end
  local out = {"<h1>" .. html.escape(page.title) .. "</h1>", list_of(shown)}
  for _, entry in ipairs(shown) do
    out[#out + 1] = write_entry(entry, twins[entry.path], find)
  end
  return table.concat(out, "\n")
end

return reference
