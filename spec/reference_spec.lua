-- What an entry of the reference says: an example that shows it, the kind of
-- each argument, and when it fails.

local collect = require "tools.reference.collect"
local given = require "spec.support.usage_given"
local heed = require "heed"
local usage = require "spec.support.usage"

local entries <const> = collect.all(".", heed)

-- What an entry is of: the function, or the class.
local function value_of(entry)
  local at = heed
  if entry.part == "tensor" then return heed.core.methods[entry.name] end
  for name in entry.part:gsub("^heed%.?", ""):gmatch "[^.]+" do
    at = type(at) == "table" and at[name] or nil
  end
  return type(at) == "table" and at[entry.name] or nil
end

local function list(faults)
  return table.concat(faults, "\n")
end

describe("an entry of the reference", function()
  -- PyTorch's spelling of MultiHeadAttention, for scripts that come from there
  local ALIAS <const> = {["heed.nn.MultiheadAttention"] = true}

  it("has an example that names it", function()
    local faults = {}
    for _, entry in ipairs(entries) do
      local found = ALIAS[entry.path]
        or entry.kind == "method" and entry.name == "forward"
      local word <const> = "%f[%w_]" .. entry.name:gsub("_$", "")
        .. "_?%f[^%w_]"
      for _, code in ipairs(entry.usages) do
        found = found or code:find(word) ~= nil
      end
      if not found then faults[#faults + 1] = entry.path end
    end
    assert.equal("", list(faults))
  end)

  it("calls forward in the example of forward", function()
    local out <const> = io.stdout
    local faults = {}
    for _, entry in ipairs(entries) do
      local class <const> = entry.name == "forward" and entry.kind == "method"
        and value_of {part = entry.part:match "^(.*)%.", name =
          entry.part:match "[^.]+$"}
      if class then
        local calls, forward <const> = 0, class.forward
        rawset(class, "forward", function(...)
          calls = calls + 1
          return forward(...)
        end)
        io.stdout = io.tmpfile() -- luacheck: ignore
        local ok, text
        for _, code in ipairs(entry.usages) do
          ok, text = pcall(usage.check, code, given(entry.source))
        end
        io.stdout:close()
        io.stdout = out -- luacheck: ignore
        rawset(class, "forward", forward)
        -- the class on top of all others is extended in its own example
        if calls == 0 and class ~= heed.nn.Module then
          faults[#faults + 1] = entry.path .. (ok and "" or ": " .. text)
        end
      end
    end
    assert.equal("", list(faults))
  end)

  -- Words by which a text says what kind of value is wanted.
  local KINDS <const> = {"tensor", "number", "integer", "string", "table",
    "list", "function", "boolean", "value", "module", "dataset", "optimiser",
    "dimension", "bool", "labels", "scores", "size", "shape", "ids", "layer"}

  local function says_kind(param)
    if param.type then return true end
    for _, word in ipairs(KINDS) do
      if param.text:find(word, 1, true) then return true end
    end
    return false
  end

  it("says of each argument what it is", function()
    local faults = {}
    for _, entry in ipairs(entries) do
      for _, param in ipairs(entry.params) do
        -- the signature of an op holds the kinds
        if not entry.signature:find(param.name .. "%s*:") and
            not says_kind(param) then
          faults[#faults + 1] = entry.path .. ": " .. param.name
        end
      end
    end
    assert.equal("", list(faults))
  end)

  local texts <const> = {}

  local function read(path)
    if not texts[path] then
      local file <close> = assert(io.open(path))
      texts[path] = file:read "a"
    end
    return texts[path]
  end

  -- The source of a function, or nil for one of C.
  local function source_of(f)
    local info <const> = debug.getinfo(f, "S")
    if info.what == "C" then return nil end
    local n, out = 0, {}
    for line in (read(info.source:sub(2)) .. "\n"):gmatch "(.-)\n" do
      n = n + 1
      if n >= info.linedefined and n <= info.lastlinedefined then
        out[#out + 1] = line
      end
    end
    return table.concat(out, "\n")
  end

  -- Does its own code refuse arguments by their values? Wrong kinds and
  -- unknown options are refused everywhere, and not worth a line.
  local function refuses(entry)
    local value <const> = value_of(entry)
    local f <const> = entry.kind == "class" and rawget(value, "init") or value
    local code <const> = type(f) == "function" and source_of(f)
    if code then
      return (code:find "check%.fail%(" or code:find "%f[%w]error%(") ~= nil
    end
    if not entry.source:find "^src" then return false end
    local checks <const> = read(entry.source):match("\nstatic bool "
      .. entry.name:gsub("_$", "") .. "_check%b() {.-\n}")
    return checks ~= nil and checks:find "heed_fail" ~= nil
  end

  it("says when it raises, if it looks at values", function()
    local faults = {}
    for _, entry in ipairs(entries) do
      if #entry.raises == 0 and refuses(entry) then
        faults[#faults + 1] = entry.path
      end
    end
    assert.equal("", list(faults))
  end)

  it("is what a method of an object is explained by", function()
    local optimizer = heed.optim.SGD({heed.ones(1)}, {lr = 0.1})
    assert.equal("heed.optim.Optimizer:step",
      heed.help.entry(optimizer.step).path)
    assert.matches("Methods: append, keep,", (heed.help.text "KeyValueCache"),
      1, true)
  end)
end)
