--- The tensors and networks that globals hold, and what memory they take.

local check = require "heed.check"
local core = require "heed.core"
local names = require "heed.repl.names"
local show = require "heed.repl.show"
local width = require "heed.plot.width"

local who = {}

local SHOWN <const> = 60   -- rows
local SHARED <const> = 500 -- tensors among which views are looked for

local units <const> = {{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}}

--- Returns a number of bytes as text.
function who.bytes(n)
  for _, unit in ipairs(units) do
    if n >= unit[1] then return ("%.1f %s"):format(n / unit[1], unit[2]) end
  end
  return ("%d B"):format(n)
end

local function size(x) return x:numel() * x:element_size() end

local function is_module(value)
  return type(value) == "table" and check.is_own((debug.getinfo(
    names.field(value, "named_parameters") or print, "S")).source)
    and rawget(value, "__index") == nil
end

-- Rows of name, kind, shape or count, and bytes; and all their tensors.
local function rows()
  local list, tensors = {}, {}
  local found = {}
  for name, value in next, _G do
    if type(name) == "string" and (name ~= "_" or check.is_tensor(value)) then
      found[#found + 1] = name
    end
  end
  table.sort(found)
  for _, name in ipairs(found) do
    local value <const> = rawget(_G, name)
    if check.is_tensor(value) then
      tensors[#tensors + 1] = value
      list[#list + 1] = {name, value.dtype, check.shape(value.shape),
        who.bytes(size(value))}
    elseif is_module(value) then
      local total, count = 0, 0
      for _, p in ipairs(value:parameters()) do
        tensors[#tensors + 1] = p
        total, count = total + size(p), count + p:numel()
      end
      list[#list + 1] = {name, getmetatable(value).__name or "module",
        show.grouped(count) .. " parameters", who.bytes(total)}
    end
  end
  return list, tensors
end

-- The bytes of tensors, where those that share memory count as the largest.
local function total_of(tensors)
  local sizes, total = {}, 0
  for i, x in ipairs(tensors) do
    local alone = true
    for j = 1, math.min(i - 1, SHARED) do
      if x:shares(tensors[j]) then
        sizes[j] = math.max(sizes[j], size(x))
        sizes[i], alone = 0, false
        break
      end
    end
    if alone then sizes[i] = size(x) end
  end
  for _, n in ipairs(sizes) do total = total + n end
  return total
end

--- Returns the list as text.
-- @tparam integer columns
function who.text(columns)
  local list <const>, tensors <const> = rows()
  if #list == 0 then return "no tensors and no networks in globals\n" end
  local widths, out = {0, 0, 0, 0}, {}
  for i = 1, math.min(#list, SHOWN) do
    for j, text in ipairs(list[i]) do
      widths[j] = math.max(widths[j], width.text(text))
    end
  end
  for i = 1, math.min(#list, SHOWN) do
    local line = ""
    for j, text in ipairs(list[i]) do
      local blanks <const> = (" "):rep(widths[j] - width.text(text))
      line = line .. (j == 4 and blanks .. text or text .. blanks .. "  ")
    end
    out[i] = width.cut(line, math.max(columns, 20), "~")
  end
  if #list > SHOWN then
    out[#out + 1] = ("... %d more"):format(#list - SHOWN)
  end
  out[#out + 1] = ("together %s; all tensors and graphs use %s"):format(
    who.bytes(total_of(tensors)), who.bytes(core.memory_stats().used))
  return table.concat(out, "\n") .. "\n"
end

return who
