--- summary: what each layer of a model returns, holds and costs for an input.

local check = require "heed.check"
local core = require "heed.core"
local describe = require "heed.nn.describe"
local tree = require "heed.nn.tree"

local grouped <const> = describe.grouped

local Summary = {}
Summary.__index = Summary
Summary.__name = "Summary"

-- -- products ----------------------------------------------------------------

-- Places of x besides its last dimension: [B T E] has B T.
local function places(x) return x:numel() // x:size(-1) end

local function by_output(module, _, y)
  local weight = module.weight
  return y:numel() * (weight:numel() // weight:size(1))
end

local function by_input(module, args)
  local weight = module.weight
  return args[1]:numel() * (weight:numel() // weight:size(1))
end

-- Every matrix of the module's own meets every place of the input.
local function by_place(module, args)
  local count = 0
  for _, entry in ipairs(tree.tensors(module, "parameter")) do
    if entry.module == module and entry.tensor.ndim == 2 then
      count = count + places(args[1]) * entry.tensor:numel()
    end
  end
  return count
end

-- Projections of queries, keys and values, then scores and weighted sums;
-- what a mask leaves out is counted.
local function of_attention(module, args)
  local q = args[1]
  local k = check.is_tensor(args[2]) and args[2] or q
  local v = check.is_tensor(args[3]) and args[3] or k
  local e = module.embed_dim
  local steps = k:size(module.batch_first and -2 or 1)
  return places(q) * q:size(-1) * e + places(k) * k:size(-1) * e +
    places(v) * v:size(-1) * e + 2 * places(q) * steps * e
end

-- The products of one number with another that a call of a module of this
-- class takes by itself: f(module, args, y).
local products <const> = {
  Linear = by_output, Bilinear = by_output,
  Conv1d = by_output, Conv2d = by_output,
  ConvTranspose1d = by_input, ConvTranspose2d = by_input,
  RNN = by_place, LSTM = by_place, GRU = by_place,
  MultiHeadAttention = of_attention,
  Embedding = function() return 0 end,
}

local function rule_of(module)
  local class = getmetatable(module)
  while class do
    local rule = products[rawget(class, "__name")]
    if rule then return rule end
    class = rawget(class, "super")
  end
end

-- Products of one call; nil where the module has matrices of its own and no
-- rule, or a rule that does not fit its call.
local function count_products(module, row, args, y)
  local rule = rule_of(module)
  if not rule then return not row.has_matrix and 0 or nil end
  local ok, count = pcall(rule, module, args, y)
  return ok and count or nil
end

-- -- rows --------------------------------------------------------------------

-- Counts the module's own parameters, each tensor in the first row that has
-- it.
local function add_parameters(row, module, seen)
  for _, entry in ipairs(tree.tensors(module, "parameter")) do
    local p = entry.tensor
    if entry.module == module then
      row.has_matrix = row.has_matrix or p.ndim > 1
      if not seen[p] then
        seen[p] = true
        row.parameters = row.parameters + p:numel()
        row.bytes = row.bytes + p:numel() * p:element_size()
        if p.requires_grad then
          row.trainable = row.trainable + p:numel()
        end
      end
    end
  end
end

local function add_rows(module, name, label, depth, made)
  if made.rows_of[module] then return end
  local row = {
    name = name, class = module.__name, depth = depth, calls = 0,
    label = ("  "):rep(depth) .. label .. describe.title(module),
    outputs = {}, parameters = 0, trainable = 0, bytes = 0, memory = 0,
    mult_adds = 0,
  }
  add_parameters(row, module, made.seen)
  made.rows[#made.rows + 1] = row
  made.rows_of[module] = row
  for _, child in ipairs(tree.children(module)) do
    add_rows(child.module, tree.join(name, child.name),
      describe.label(child.name), depth + 1, made)
  end
end

-- Tensors in results, which may be tables of them.
local function tensors_in(value, list)
  if check.is_tensor(value) then
    list[#list + 1] = value
  elseif type(value) == "table" and not tree.is_module(value) then
    for _, inner in ipairs(value) do tensors_in(inner, list) end
  end
  return list
end

local function note_call(row, module, args, known, ...)
  local list = tensors_in({...}, {})
  row.calls = row.calls + 1
  row.outputs = {}
  for i, y in ipairs(list) do
    row.outputs[i] = y.shape
    if not known[y] then -- one that a layer inside has returned is its own
      known[y] = true
      row.memory = row.memory + y:numel() * y:element_size()
    end
  end
  local count = list[1] and count_products(module, row, args, list[1])
  row.mult_adds = count and row.mult_adds and row.mult_adds + count or nil
end

-- -- running without a trace -------------------------------------------------

local Restore = {}
function Restore:__close()
  core.set_generator_state(self.default)
  for i, generator in ipairs(self.generators) do
    generator:set_state(self.states[i])
  end
end

local function remember(model)
  local kept = setmetatable({
    default = core.get_generator_state(), generators = tree.generators(model),
    states = {},
  }, Restore)
  for i, generator in ipairs(kept.generators) do
    kept.states[i] = generator:get_state()
  end
  return kept
end

-- Runs a copy, which shares nothing with the model but its parameters.
local function run(copy, args, rows_of)
  local known = setmetatable({}, {__mode = "k"})
  for _, module in ipairs(copy:modules()) do
    module:register_forward_hook(function(self, given, ...)
      note_call(rows_of[self], self, given, known, ...)
    end)
  end
  core.no_grad(function() copy(table.unpack(args, 1, args.n or #args)) end)
end

local OPTIONS <const> = {depth = math.huge, training = false}

--- Runs a model once and returns what each layer in it returned, holds and
-- costs: a table that prints as one. The model keeps its mode, its buffers,
-- all gradients and the state of the random generators: a copy runs, which
-- shares only the parameters.
--
-- The result has `rows`, one a module in the order of `named_modules`, each
-- with `name`, `class`, `depth`, `calls`, `outputs` (the shapes of its last
-- results), `parameters` and `trainable` (counts of its own, not of the
-- modules inside; a shared tensor counts once), `memory` (bytes of its results,
-- which backward may need, those of layers inside left out) and `mult_adds`
-- (products of matrices, convolutions and attention, nil where they are not
-- known); and the sums `parameters`, `trainable`, `bytes` (of parameters),
-- `memory` and `mult_adds` (of the rows that know).
-- @function summary
-- @param model module
-- @param input tensor, or a list of the arguments
-- @tparam[opt] table options `depth`: how deep the printed tree goes, 0 is the
-- model alone, all by default; `training`, false: the mode of the copy
-- @treturn Summary
-- @raise what the model raises
-- @usage
-- local net = nn.Sequential(nn.Linear(20, 8), nn.ReLU(), nn.Linear(8, 4))
-- local s = nn.summary(net, heed.ones(32, 20))
-- print(s)
-- return s.parameters, s.mult_adds --> 204 6144
local function summary(model, input, options)
  if not tree.is_module(model) then
    check.fail("summary: model must be a module, got %s", check.show(model))
  end
  local o = check.options("summary", options, OPTIONS)
  check.number("summary", "depth", o.depth, 0)
  local args = input
  if check.is_tensor(input) then
    args = {input}
  elseif type(input) ~= "table" then
    check.fail("summary: input must be a tensor or a list of arguments, " ..
      "got %s", check.show(input))
  end
  local _ <close> = remember(model)
  local copy = tree.clone(model, model:parameters()):train(o.training)
  local made = {rows = {}, rows_of = {}, seen = {}}
  add_rows(copy, "", "", 0, made)
  run(copy, args, made.rows_of)
  local self = setmetatable({rows = made.rows, depth = o.depth}, Summary)
  for _, key in ipairs {"parameters", "trainable", "bytes", "memory",
    "mult_adds"} do
    self[key] = 0
    for _, row in ipairs(self.rows) do
      self[key] = self[key] + (row[key] or 0)
    end
  end
  return self
end

-- -- print -------------------------------------------------------------------

-- 2048 as 2.0 KiB
local function size_text(bytes)
  local units, i = {"B", "KiB", "MiB", "GiB", "TiB"}, 1
  while bytes >= 1024 and i < #units do bytes, i = bytes / 1024, i + 1 end
  return i == 1 and ("%d B"):format(bytes) or
    ("%.1f %s"):format(bytes, units[i])
end

local function count_text(n) return n == 0 and "-" or grouped(n) end

local function cells_of(row)
  local shapes = {}
  for i, shape in ipairs(row.outputs) do shapes[i] = check.shape(shape) end
  local times = row.calls > 1 and (" x%d"):format(row.calls) or ""
  return {
    row.label .. times,
    #shapes > 0 and table.concat(shapes, ", ") or "-",
    count_text(row.parameters), count_text(row.trainable),
    row.memory == 0 and "-" or size_text(row.memory),
    row.mult_adds and count_text(row.mult_adds) or "?",
  }
end

local HEAD <const> = {"layer", "output", "parameters", "trainable", "memory",
  "mult-adds"}

function Summary:__tostring()
  local lines, widths = {HEAD}, {}
  for _, row in ipairs(self.rows) do
    if row.depth <= self.depth then lines[#lines + 1] = cells_of(row) end
  end
  for _, cells in ipairs(lines) do
    for i, cell in ipairs(cells) do
      widths[i] = math.max(widths[i] or 0, #cell)
    end
  end
  for n, cells in ipairs(lines) do
    local texts = {}
    for i, cell in ipairs(cells) do
      local space = (" "):rep(widths[i] - #cell)
      texts[i] = i <= 2 and cell .. space or space .. cell
    end
    lines[n] = table.concat(texts, "  ")
  end
  lines[#lines + 1] = ("%s parameters (%s), %s trainable; results %s; "
    .. "%s mult-adds"):format(grouped(self.parameters), size_text(self.bytes),
    grouped(self.trainable), size_text(self.memory), grouped(self.mult_adds))
  return table.concat(lines, "\n")
end

return summary
