-- Layers: the arrows between the sources point down only.

-- What each folder of src may include, besides heed.h and itself.
local c_layers <const> = {
  base = {},
  kernel = { base = true },
  core = { kernel = true, base = true },
  ops = { core = true, kernel = true, base = true },
  bind = { ops = true, core = true, kernel = true, base = true },
  host = { bind = true, ops = true, core = true, kernel = true, base = true },
}

-- Headers that only some layers may see.
local outside <const> = {
  ["lua.h"] = { bind = true, host = true },
  ["lauxlib.h"] = { bind = true, host = true },
  ["lualib.h"] = { bind = true, host = true },
  ["histedit.h"] = { host = true },
  ["cblas.h"] = { ops = true, bind = true },
  ["jansson.h"] = { core = true },
  ["png.h"] = { core = true },
  ["jpeglib.h"] = { core = true },
  ["zip.h"] = { core = true },
}

-- What each part of lua/heed may not require.
local lua_layers <const> = {
  optim = { "nn", "models", "data", "text", "plot", "progress" },
  data = { "nn", "optim", "models" },
  files = { "nn", "optim", "models", "data", "text", "plot" },
  image = { "nn", "optim", "models", "data", "text", "plot" },
  plot = { "nn", "optim", "models", "data", "text" },
  text = { "nn", "optim", "models", "data", "plot" },
  nn = { "optim", "models", "data", "text", "plot", "progress" },
  models = {},
  check = { "nn", "optim", "models", "data", "text", "plot", "progress" },
  hex = { "nn", "optim", "models", "data", "text", "plot", "progress" },
  read_file = { "nn", "optim", "models", "data", "text", "plot", "progress" },
  progress = { "nn", "optim", "models", "data", "text" },
  help = { "nn", "optim", "models", "data", "text" },
  script = { "nn", "optim", "models", "data", "text", "plot", "progress" },
  train = { "models", "data", "text", "plot" },
  testing = { "nn", "optim", "models", "data", "text", "train", "progress" },
  metrics = { "nn", "optim", "models", "data", "plot", "train" },
}

local function sources(folder, pattern)
  local pipe = assert(io.popen("find " .. folder .. " -type f | sort"))
  local names = {}
  for name in pipe:lines() do
    if name:find(pattern) then names[#names + 1] = name end
  end
  pipe:close()
  return names
end

-- Why a file of src/LAYER may not include `header`, or nil.
local function include_fault(layer, header, system)
  local only = outside[header]
  if only and not only[layer] then return "is not for this layer" end
  if system or header == "heed.h" then return nil end
  local below = header:match("^(%w+)/")
  if not below or not c_layers[below] then return "has no layer" end
  if below == layer or c_layers[layer][below] then return nil end
  return "points up"
end

-- Why a file of the part `part` may not require `module`, or nil.
local function require_fault(part, module)
  local other = module:match("^heed%.(%w+)")
  for _, name in ipairs(lua_layers[part] or {}) do
    if other == name then return "points up" end
  end
end

local function check(names, look)
  local faults = {}
  for _, name in ipairs(names) do
    local n = 0
    for line in io.lines(name) do
      n = n + 1
      local target, fault = look(name, line)
      if fault then
        faults[#faults + 1] = ("%s:%d: %s %s"):format(name, n, target, fault)
      end
    end
  end
  assert.same("", table.concat(faults, "\n"))
end

describe("the sources", function()
  it("in C include downwards only", function()
    local names = sources("src/*/", "%.[ch]$")
    assert.is_true(#names > 40)
    check(names, function(name, line)
      local layer = name:match("^src/(%w+)/")
      assert.is_table(c_layers[layer], name .. " is in no known layer")
      local mark, header = line:match('^%s*#%s*include%s*([<"])([^>"]+)')
      if header then
        return header, include_fault(layer, header, mark == "<")
      end
    end)
  end)

  it("in Lua require downwards only", function()
    local names = sources("lua/heed", "%.lua$")
    assert.is_true(#names > 20)
    check(names, function(name, line)
      local part = name:match("^lua/heed/(%w+)")
      local module = line:match("require%s*%(?%s*[\"']([%w_.]+)[\"']")
      if module and not line:match("^%s*%-%-") then
        return module, require_fault(part, module)
      end
    end)
  end)

  it("have their faults found", function()
    assert.same("points up", include_fault("core", "ops/ops.h", false))
    assert.same("points up", include_fault("kernel", "core/tensor.h", false))
    assert.same("is not for this layer", include_fault("ops", "lua.h", true))
    assert.is_nil(include_fault("bind", "lua.h", true))
    assert.is_nil(include_fault("ops", "core/op.h", false))
    assert.same("points up", require_fault("optim", "heed.nn.module"))
    assert.same("points up", require_fault("plot", "heed.optim"))
    assert.is_nil(require_fault("nn", "heed.core"))
  end)
end)
