--- collect_attention: the weights that every attention of a model computes
-- while a function runs.
--
-- A hook before each attention asks it for its weights, one behind it takes
-- them and hands on what the caller had asked for itself.

local check = require "heed.check"
local core = require "heed.core"
local tree = require "heed.nn.tree"

local ops <const> = core.ops
local NAME <const> = "collect_attention"

-- How the modules that can return their weights are asked for those of every
-- head.
local asks <const> = {
  MultiHeadAttention = {need_weights = true, average_weights = false},
  DotProductAttention = {need_weights = true},
  AdditiveAttention = {need_weights = true},
  AdaptiveSpanAttention = {need_weights = true},
  ImageSelfAttention = {need_weights = true},
}

-- What to ask a module, by its class or one above it; nil if it is none.
local function ask_of(module)
  local class = getmetatable(module)
  while class do
    local ask = asks[rawget(class, "__name")]
    if ask then return ask end
    class = rawget(class, "super")
  end
end

-- The attentions of a model, {name =, module =, ask =}. One that is made of
-- another is that other one.
local function attentions_of(model)
  local list = {}
  for _, entry in ipairs(tree.modules(model)) do
    local inside = 0
    for _, below in ipairs(tree.modules(entry.module)) do
      if ask_of(below.module) then inside = inside + 1 end
    end
    entry.ask = ask_of(entry.module)
    if entry.ask and inside == 1 then list[#list + 1] = entry end
  end
  return list
end

-- Layers of one stack have one name: their positions become stars.
local function stack_name(name)
  return (("." .. name .. "."):gsub("%.%d+%f[.]", ".*"):sub(2, -2))
end

local function with_ask(options, ask)
  local asked = {}
  for key, value in next, options do asked[key] = value end
  for key, value in next, ask do asked[key] = value end
  return asked
end

-- Watches one attention and gives its weights to `take`. Returns the handles of
-- the hooks.
local function watch(module, ask, take)
  local options -- what the caller of the module gave
  local before = module:register_forward_pre_hook(function(_, ...)
    local args = table.pack(...)
    local last <const> = args[args.n]
    if type(last) ~= "table" and (last ~= nil or args.n < 2) then
      args.n = args.n + 1
    end
    options = args[args.n] or {}
    args[args.n] = with_ask(options, ask)
    return table.unpack(args, 1, args.n)
  end)
  local after = module:register_forward_hook(function(_, _, y, w)
    take(w:detach())
    if not options.need_weights then w = nil end
    if w and ask.average_weights == false and
       options.average_weights ~= false then
      w = ops.mean(w, -3)
    end
    module.attention_weights = w
    if w then return y, w end
    return y
  end)
  return before, after
end

--- Runs a function and returns the attention weights that the modules of a
-- model computed in it, of every head, from before dropout. The model computes
-- what it would without this. Weights are taken of `MultiHeadAttention`, and
-- so of all transformers, `DotProductAttention`, `AdditiveAttention`,
-- `AdaptiveSpanAttention` and `ImageSelfAttention`; not of calls of
-- `module:forward`, which run no hooks.
-- @param model a module
-- @tparam function f runs the model, once or more
-- @treturn table list of the stacks, in the order in which they ran first:
-- `name`, as in `named_modules`, with a star for the position of the layer,
-- such as `encoder.layers.*.self_attn`; `weights`, a list of one tensor for
-- each call of each layer, in their order, [B H Tq Tk], or [B Tq Tk] of
-- attention without heads. They record no gradients
-- @return what f returned
-- @raise what f raises
-- @usage
-- local model = nn.GPT(50, {d_model = 32, nhead = 4, num_layers = 2})
-- local ids = heed.tensor {{3, 1, 4}}
-- local found, logits = nn.collect_attention(model, function()
--   return model(ids)
-- end)
-- assert(found[1].name == "layers.*.self_attn")
-- assert(#found[1].weights == 2)                 -- layers
-- print(found[1].weights[2][{1, 4}], logits)     -- of head 4, [3 3]
local function collect_attention(model, f)
  if not tree.is_module(model) then
    check.fail("%s: model must be a module, got %s", NAME, check.show(model))
  end
  check.callable(NAME, "f", f)
  local attentions <const> = attentions_of(model)
  if #attentions == 0 then
    check.fail("%s: %s has no attention that returns weights", NAME,
      getmetatable(model).__name)
  end
  local found, stacks, handles = {}, {}, {}
  local _ <close> = setmetatable({}, {__close = function()
    for _, handle in ipairs(handles) do handle:remove() end
  end})
  for i, entry in ipairs(attentions) do
    local name <const> = stack_name(entry.name)
    handles[2 * i - 1], handles[2 * i] = watch(entry.module, entry.ask,
      function(weights)
        local stack = stacks[name]
        if not stack then
          stack = {name = name, weights = {}}
          stacks[name] = stack
          found[#found + 1] = stack
        end
        stack.weights[#stack.weights + 1] = weights
      end)
  end
  local results = table.pack(f())
  return found, table.unpack(results, 1, results.n)
end

return collect_attention
