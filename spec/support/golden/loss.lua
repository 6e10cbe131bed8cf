--- loss: the cases of losses made by tools/golden/losses.py. Labels in them
-- count from 0.

local api = require "spec.support.golden.api"

local loss = {}

-- What is handed to heed: labels from 1, dimensions too.
local function shifted(params, name, value)
  for _, label in ipairs(params.labels) do
    if name == label then return value + 1 end
  end
  return value
end

-- The tensors in the order of the function, and its options.
local function read(c)
  local p, args, options = c.params, {}, {}
  for i, name in ipairs(p.inputs) do
    args[i] = shifted(p, name, c.input[name])
  end
  for name, value in pairs(p.options) do
    options[name] = shifted(p, name, value)
  end
  for _, name in ipairs(p.tensors) do options[name] = c.input[name] end
  return args, options
end

loss.loss = {
  function(c)
    local args, options = read(c)
    args[#args + 1] = options
    return {out = api.call("functional." .. c.params["function"],
      table.unpack(args))}
  end,
  function(c)
    local args, options = read(c)
    return {out = api.call("nn." .. c.params.module, options)(
      table.unpack(args))}
  end,
}

loss.cosine_similarity = {
  function(c)
    return {out = api.call("functional.cosine_similarity", c.input.a,
      c.input.b, c.params.dim + 1)}
  end,
  function(c)
    return {out = api.call("nn.CosineSimilarity", {dim = c.params.dim + 1})(
      c.input.a, c.input.b)}
  end,
}

local function ctc_options(c)
  local options = {}
  for name, value in pairs(c.params) do options[name] = value end
  if options.blank then options.blank = options.blank + 1 end
  return options
end

loss.ctc = {
  function(c)
    local i = c.input
    return {out = api.call("functional.ctc_loss", i.scores:log_softmax(-1),
      i.targets + 1, i.input_lengths, i.target_lengths, ctc_options(c))}
  end,
  function(c)
    local i = c.input
    return {out = api.call("nn.CTCLoss", ctc_options(c))(
      i.scores:log_softmax(-1), i.targets + 1, i.input_lengths,
      i.target_lengths)}
  end,
}

return loss
