-- The Lua blocks of README.md and docs/ run, and print what they show.
--
-- `--> text` shows printed lines, in order; a block that shows none may print
-- anything. `--! text` behind a statement, or on the line below it, says that
-- it raises this message; more such lines go on with it. Tests that a block
-- describes run at once. What a block sets without `local` is there in the
-- later ones of its page. In tables whose last column is headed "heed" every
-- piece of code of that column runs too, on the values of `samples`.

-- luacheck: ignore 122 (io.stdout is set)
local heed = require "heed"
local message = require "spec.support.message"

-- The blocks of a page: their text, and the line of the page they begin at.
local function read_blocks(path)
  local blocks, block, number = {}, nil, 0
  for line in io.lines(path) do
    number = number + 1
    if line == "```lua" then
      block = {first = number + 1}
    elseif block and line == "```" then
      blocks[#blocks + 1] = block
      block = nil
    elseif block then
      block[#block + 1] = line
    end
  end
  return blocks
end

-- Statements that raise become calls of `raises`; the lines stay where they
-- are.
local function with_raises(block)
  local lines, said, at = {}, {}, nil
  for i, line in ipairs(block) do
    local code, text = line:match("^(.-)%s*%-%-! (.*)$")
    lines[i] = line
    if text and code == "" and at then
      said[at] = said[at] .. " " .. text
    elseif text then
      at = code == "" and i - 1 or i
      said[at] = text
      lines[at] = ("raises(%d, function() %s end)"):format(at,
        code == "" and lines[at] or code)
    else
      at = nil
    end
  end
  return table.concat(lines, "\n"), said
end

local function shown_lines(block)
  local shown = {}
  for _, line in ipairs(block) do
    shown[#shown + 1] = line:match("%-%-> ?(.-)%s*$")
  end
  return shown
end

-- What the blocks of a page may name: also busted's words, which run at once.
local function environment()
  local function at_once(_, f) f() end
  return setmetatable({heed = heed, describe = at_once, it = at_once,
    assert = assert}, {__index = _G})
end

-- Runs a block; returns the lines that it printed.
local function run(path, block, env)
  local code, said = with_raises(block)
  local printed = {}
  function env.print(...)
    local list = table.pack(...)
    for i = 1, list.n do list[i] = tostring(list[i]) end
    for line in (table.concat(list, "\t") .. "\n"):gmatch("(.-)%s*\n") do
      printed[#printed + 1] = line
    end
  end
  function env.raises(at, f) assert.are.equal(said[at], message(f)) end
  assert(load(("\n"):rep(block.first - 1) .. code, "@" .. path, "t", env))()
  return printed
end

-- What the code in tables may name.
local function samples()
  local nn <const>, optim <const> = heed.nn, heed.optim
  local path <const> = os.tmpname()
  local net <const> = nn.Sequential(nn.Linear(3, 3))
  heed.save_safetensors(path, net:state_dict())
  local w <const> = heed.ones({2}, {requires_grad = true})
  local set <const> = heed.data.TensorDataset(heed.randn(4, 3), heed.ones(4))
  local given = {
    nn = nn, F = nn.functional, optim = optim, data = heed.data,
    x = heed.randn(4, 3), y = heed.randn(4, 3), z = heed.randn(2, 4, 16),
    m = heed.ones({4, 3}, {dtype = "bool"}), w = w, loss = (w * w):sum(),
    f = function(value) return value * value end, net = net, path = path,
    q = heed.randn(2, 4, 5, 8), k = heed.randn(2, 2, 5, 8),
    v = heed.randn(2, 2, 5, 8), Net = nn.Module:extend("Net"),
    attend = nn.MultiHeadAttention(16, 4), lstm = nn.LSTM(4, 8),
    seq = heed.randn(2, 3, 4), scores = heed.randn(2, 3, 5),
    labels = heed.randint(1, 5, {2, 3}), set = set,
    loader = heed.data.DataLoader(set, {batch_size = 2}),
    optimizer = optim.SGD(net:parameters(), {lr = 0.1}),
    print = function() end,
  }
  return setmetatable(given, {__index = environment()})
end

-- The code in the column "heed" of tables: {line of the page, text}.
local function read_cells(path)
  local cells, inside, number = {}, false, 0
  for line in io.lines(path) do
    number = number + 1
    if line:find "^|.*| heed |$" then
      inside = true
    elseif not line:find "^|" then
      inside = false
    elseif inside then
      local cell <const> = line:match "| ([^|]*) |$"
      for code in cell:gmatch "`([^`]+)`" do
        cells[#cells + 1] = {number, code}
      end
    end
  end
  return cells
end

local LUA_WORDS <const> = {["repeat"] = true, ["for"] = true, ["=="] = true}

-- Runs an expression or a statement; what it names must be there.
local function run_cell(code)
  if LUA_WORDS[code] then return end
  local given <const> = samples()
  local f = load("return " .. code, code, "t", given)
    or assert(load(code, code, "t", given))
  local plain <const> = code:find "^%a[%w_.]*$"
  local value <const> = f()
  os.remove(given.path)
  if plain and code:find "%." then
    assert(value ~= nil, code .. " is not there")
  end
end

local pages = {"README.md"}
for path in assert(io.popen("ls docs/*.md")):lines() do
  pages[#pages + 1] = path
end

describe("the pages", function()
  local output

  -- plots go to the terminal
  before_each(function()
    output, io.stdout = io.stdout, io.tmpfile()
  end)
  after_each(function()
    io.stdout = output
    heed.set_printoptions()
    heed.manual_seed(1)
  end)

  for _, path in ipairs(pages) do
    local env <const> = environment()
    for _, block in ipairs(read_blocks(path)) do
      it(("run %s, line %d"):format(path, block.first), function()
        local printed, shown = run(path, block, env), shown_lines(block)
        if #shown > 0 then assert.are.same(shown, printed) end
      end)
    end
    for _, cell in ipairs(read_cells(path)) do
      it(("run %s, line %d: %s"):format(path, cell[1], cell[2]), function()
        run_cell(cell[2])
      end)
    end
  end
end)
