-- The files of the sources are as .editorconfig says.

local function lines_of(command)
  local pipe = assert(io.popen(command))
  local list = {}
  for line in pipe:lines() do list[#list + 1] = line end
  pipe:close()
  return list
end

local function read(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

-- What is tracked; of sources without a repository, what there is.
local function sources()
  local list = lines_of "git ls-files 2>/dev/null"
  if #list > 0 then return list end
  return lines_of("find . -name '.?*' -prune -o -name 'build*' -prune -o "
    .. "-type f -print")
end

-- The sections, each a function that tells whether a file name is meant, with
-- the settings.
local function read_config(text)
  local sections, settings = {}, nil
  for line in text:gmatch "[^\n]+" do
    local glob = line:match "^%[(.*)%]$"
    local key, value = line:match "^([%w_]+)%s*=%s*(.-)%s*$"
    if glob then
      local names, ends = glob:match "^%*%.{(.*)}$", {}
      for name in (names or ""):gmatch "[^,]+" do ends[name] = true end
      assert(names or glob == "*", "this spec does not know [" .. glob .. "]")
      settings = {}
      sections[#sections + 1] = {settings = settings, fits = function(path)
        return not names or ends[path:match "%.(%w+)$" or ""]
      end}
    elseif key and settings then
      settings[key] = value
    end
  end
  return sections
end

local function settings_of(sections, path)
  local found = {}
  for _, section in ipairs(sections) do
    if section.fits(path) then
      for key, value in pairs(section.settings) do found[key] = value end
    end
  end
  return found
end

local function line_fault(line, o)
  if o.trim_trailing_whitespace == "true" and line:find "[ \t]$" then
    return "ends in white space"
  end
  if o.indent_style == "space" and line:find "^ *\t" then
    return "is indented by a tab"
  end
  local most <const> = tonumber(o.max_line_length)
  local n <const> = utf8.len(line)
  if most and n and n > most then
    return ("has %d columns, more than %d"):format(n, most)
  end
end

local function faults_of(path, text, o)
  if o.charset == "utf-8" and not utf8.len(text) then
    return {path .. " is not UTF-8"}
  end
  local faults, number = {}, 0
  if o.end_of_line == "lf" and text:find("\r", 1, true) then
    faults[1] = path .. " has carriage returns"
  end
  if o.insert_final_newline == "true" and text:find("[^\n]", -1) then
    faults[#faults + 1] = path .. " does not end in a newline"
  end
  if text:sub(-1) ~= "\n" then text = text .. "\n" end
  for line in text:gmatch "([^\n]*)\n" do
    number = number + 1
    local fault <const> = line_fault(line, o)
    if fault then
      faults[#faults + 1] = ("%s:%d %s"):format(path, number, fault)
    end
  end
  return faults
end

describe("a file of the sources", function()
  local sections <const> = read_config(read ".editorconfig")

  it("is as .editorconfig says", function()
    local all, seen = {}, 0
    for _, path in ipairs(sources()) do
      local text = read(path)
      if not text:find "\0" then -- else a picture, or numbers
        seen = seen + 1
        local faults = faults_of(path, text, settings_of(sections, path))
        table.move(faults, 1, #faults, #all + 1, all)
      end
    end
    assert.equal("", table.concat(all, "\n"))
    assert.is_true(seen > 400)
  end)

  it("would be found out", function()
    local o = settings_of(sections, "x.lua")
    local function fault(text) return table.concat(faults_of("x", text, o)) end
    assert.equal("", fault "ok\n")
    assert.equal("x does not end in a newline", fault "ok")
    assert.equal("x:2 ends in white space", fault "a\nb \n")
    assert.equal("x:1 is indented by a tab", fault "\ta\n")
    assert.equal("x:1 has 81 columns, more than 80",
      fault(("a"):rep(81) .. "\n"))
    assert.equal("x has carriage returns", fault "a\r\n")
    assert.equal("x is not UTF-8", fault "\xFF\n")
    assert.equal("", table.concat(faults_of("x.md", ("a"):rep(99) .. "\n",
      settings_of(sections, "x.md"))))
  end)
end)
