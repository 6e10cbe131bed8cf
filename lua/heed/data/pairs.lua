--- Pairs of sentences from a tab-separated file, the form of Tatoeba.

local check = require "heed.check"
local unicode = require "heed.core".unicode

local BOM <const> = "\u{FEFF}"

-- Reasons to leave a line out, in the order of messages.
local REASONS <const> = {
  {"empty", "empty"}, {"malformed", "without a tab"},
  {"invalid_utf8", "not UTF-8"}, {"too_long", "too long"},
}

-- What the system says, without the file's name in front.
local function cannot(verb, path, reason)
  if reason:sub(1, #path + 2) == path .. ": " then
    reason = reason:sub(#path + 3)
  end
  return ("read_pairs: cannot %s %s: %s"):format(verb, path, reason)
end

-- Two columns of a line, or nil if it has not both. Negative ones count from
-- the end.
local function pick(text, columns)
  local fields, places = {}, {}
  for field in (text .. "\t"):gmatch("([^\t]*)\t") do
    fields[#fields + 1] = field
  end
  for i, column in ipairs(columns) do
    places[i] = column < 0 and #fields + 1 + column or column
  end
  if places[1] == places[2] then return nil end
  local source, target = fields[places[1]], fields[places[2]]
  if source and target then return source, target end
end

-- The two sides of a line, or nil and the reason to leave it out.
local function parse(line, columns, max_length)
  local text = unicode.nfc(line)
  if not text then return nil, "invalid_utf8" end
  if unicode.trim(text) == "" then return nil, "empty" end
  local source, target = pick(text, columns)
  if not source then return nil, "malformed" end
  source, target = unicode.trim(source), unicode.trim(target)
  if source == "" or target == "" then return nil, "empty" end
  if max_length
    and (utf8.len(source) > max_length or utf8.len(target) > max_length)
  then
    return nil, "too_long"
  end
  return source, target
end

-- All lines of an open file, or nil, what could not be done, and why.
local function read_lines(file, columns, max_length)
  local result = {source = {}, target = {}, n = 0, skipped = {}, first = {}}
  for _, reason in ipairs(REASONS) do result.skipped[reason[1]] = 0 end
  local lines = 0
  while true do
    local line, fault = file:read("L")
    if not line then
      -- A folder opens like a file and fails at the first read.
      if fault then return nil, lines == 0 and "open" or "read", fault end
      break
    end
    lines = lines + 1
    if lines == 1 and line:sub(1, #BOM) == BOM then
      line = line:sub(#BOM + 1)
    end
    local source, target = parse(line, columns, max_length)
    if source then
      local n = result.n + 1
      result.source[n], result.target[n], result.n = source, target, n
    else
      local reason = target
      result.skipped[reason] = result.skipped[reason] + 1
      result.first[reason] = result.first[reason] or lines
    end
  end
  result.lines = lines
  return result
end

-- "1 empty, 3 not UTF-8"
local function describe(skipped)
  local parts = {}
  for _, reason in ipairs(REASONS) do
    local n = skipped[reason[1]]
    if n > 0 then parts[#parts + 1] = n .. " " .. reason[2] end
  end
  return table.concat(parts, ", ")
end

-- The option `columns`: two different integers, none of them 0.
local function read_columns(columns)
  local n <const>, fault = check.list(columns, "number")
  if not n then check.fail("read_pairs: columns%s", fault) end
  local a, b = math.tointeger(columns[1]), math.tointeger(columns[2])
  if n ~= 2 or not a or not b or a == 0 or b == 0 or a == b then
    check.fail("read_pairs: columns must be two different integers, counted "
      .. "from 1 or, negative, from the end, got {%s}",
      table.concat(columns, ", "))
  end
  return {a, b}
end

--- Returns the pairs of a file: `source<TAB>target` on each line, more columns
-- ignored. Text is UTF-8 and comes out NFC-normalised, without white space at
-- its ends; CRLF and a byte order mark are accepted. Lines that hold no pair
-- are left out and counted.
--
-- The result is a table: the lists `source` and `target`, `n` pairs long;
-- `lines`, the number of lines read; `skipped`, how many were left out:
-- `empty` (or with an empty side), `malformed` (no tab, or with `columns` not
-- enough of them), `invalid_utf8`,
-- `too_long`; and `first`, by the same names, the number of the first such
-- line.
--
-- @tparam string path
-- @tparam[opt] table options
-- @tparam[opt] {integer,integer} options.columns those of source and target, by
-- default {1, 2}; negative ones count from the end of the line
-- @tparam[opt] integer options.max_length pairs with a longer side, counted in
-- characters, are left out
-- @treturn table or nil and a message: the file cannot be read, or has no pair
-- @usage
-- local path = os.tmpname()
-- io.open(path, "w"):write("Hi.\tSalut.\nno tab\n"):close()
-- local corpus = assert(heed.data.read_pairs(path, {max_length = 100}))
-- os.remove(path)
-- return corpus.target[1] .. " " .. corpus.skipped.malformed --> Salut. 1
local function read_pairs(path, options)
  check.kind("read_pairs", "path", path, "string")
  local o = check.options("read_pairs", options,
    {columns = {1, 2}, max_length = check.NONE})
  local columns <const> = read_columns(o.columns)
  if o.max_length ~= nil then
    o.max_length = check.integer("read_pairs", "max_length", o.max_length, 1)
  end

  local file, fault = io.open(path, "rb")
  if not file then return nil, cannot("open", path, fault) end
  local result, verb, reason = read_lines(file, columns,
    o.max_length)
  file:close()
  if not result then return nil, cannot(verb, path, reason) end
  if result.n == 0 then
    return nil, ("read_pairs: %s: no pair in %d %s (%s)"):format(path,
      result.lines, result.lines == 1 and "line" or "lines",
      result.lines == 0 and "the file is empty" or describe(result.skipped))
  end
  return result
end

--- Returns the distinct sources of pairs, in order of first appearance, with
-- all their targets, as BLEU wants them: a table with the lists `source` and
-- `references` (for each source a list of distinct targets), `n` long.
--
-- @tparam table corpus as `read_pairs` returns it
-- @raise when the two lists differ in length
-- @usage
-- local corpus = {source = {"Hi.", "Hi."}, target = {"Salut.", "Coucou."}}
-- local test = heed.data.group_references(corpus)
-- return test.references[1][2] --> Coucou.
local function group_references(corpus)
  check.kind("group_references", "pairs", corpus, "table")
  local n, fault = check.list(corpus.source, "string")
  if fault then error("group_references: pairs.source" .. fault, 2) end
  local m
  m, fault = check.list(corpus.target, "string")
  if fault then error("group_references: pairs.target" .. fault, 2) end
  if m ~= n then
    error(("group_references: pairs.source and pairs.target must be as long, "
      .. "got %d and %d"):format(n, m), 2)
  end

  local group = {source = {}, references = {}, n = 0}
  local place, seen = {}, {}
  for i = 1, n do
    local source, target = corpus.source[i], corpus.target[i]
    local at = place[source]
    if not at then
      at = group.n + 1
      place[source], seen[at] = at, {}
      group.source[at], group.references[at], group.n = source, {}, at
    end
    if not seen[at][target] then
      seen[at][target] = true
      table.insert(group.references[at], target)
    end
  end
  return group
end

local reasons = {} -- to leave a line out: the names of `skipped`, in order
for i, reason in ipairs(REASONS) do reasons[i] = reason[1] end

return {
  read_pairs = read_pairs, group_references = group_references,
  reasons = reasons,
}
