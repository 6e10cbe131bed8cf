--- program: runs `rng_program`, a list of draws from the default generator.

local api = require "spec.support.golden.api"
local heed = require "heed"

local program = {}

-- Fills a new tensor in place.
local function filled(method)
  return function(size, ...)
    local t = heed.zeros(size)
    api.need(method)(t, ...)
    return t
  end
end

local normal, uniform, bernoulli =
  filled "normal_", filled "uniform_", filled "bernoulli_"

-- The calls by name: (step, inputs) -> tensor. Files count from 0.
local calls = {}

function calls.rand(s) return api.call("rand", s.size) end
function calls.randn(s) return api.call("randn", s.size) end
function calls.normal(s) return normal(s.size, s.mean, s.std) end
function calls.uniform(s) return uniform(s.size, s.low, s.high) end
function calls.bernoulli(s) return bernoulli(s.size, s.p) end

-- the files' upper bound is excluded, heed's is not
function calls.randint(s)
  return api.call("randint", s.low, s.high - 1, s.size)
end

function calls.randperm(s) return api.call("randperm", s.n) - 1 end

function calls.bernoulli_each(s, inputs)
  return api.call("bernoulli", inputs[s.probs])
end

function calls.dropout_of_ones(s)
  return api.call("functional.dropout", heed.ones(s.size), s.p, true)
end

local function initialised(name, ...)
  local keys = {...}
  calls["init_" .. name] = function(s)
    local t, options = heed.zeros(s.size), {}
    for _, key in ipairs(keys) do options[key] = s[key] end
    api.call("nn.init." .. name .. "_", t, options)
    return t
  end
end
initialised("xavier_uniform", "gain")
initialised("xavier_normal", "gain")
initialised("kaiming_uniform", "a", "mode", "nonlinearity")
initialised("kaiming_normal", "a", "mode", "nonlinearity")
initialised("orthogonal", "gain")

function calls.init_trunc_normal(s)
  local t = heed.zeros(s.size)
  api.call("nn.init.trunc_normal_", t, s.mean, s.std, s.a, s.b)
  return t
end

-- Fills a new tensor by an initialiser with an argument of its own.
local function by_position(name, key)
  calls["init_" .. name] = function(s)
    local t = heed.zeros(s.size)
    api.call("nn.init." .. name .. "_", t, key and s[key])
    return t
  end
end
by_position("sparse", "sparsity")
by_position("dirac", "groups")
by_position("eye")

-- Modules by kind, with their default parameters.
local modules = {}

function modules.linear(s)
  return api.call("nn.Linear", s.inp, s.out, {bias = s.bias})
end

function modules.embedding(s) return api.call("nn.Embedding", s.num, s.dim) end

function modules.conv2d(s)
  return api.call("nn.Conv2d", s.inp, s.out, s.kernel)
end

function modules.mha(s)
  return api.call("nn.MultiHeadAttention", s.embed, s.heads,
    {kdim = s.kdim, vdim = s.vdim, add_bias_kv = s.add_bias_kv})
end

function modules.encoder_layer(s)
  return api.call("nn.TransformerEncoderLayer", s.embed, s.heads,
    {dim_feedforward = s.ff})
end

function modules.transformer(s)
  return api.call("nn.Transformer", s.embed, s.heads, {
    num_encoder_layers = s.enc, num_decoder_layers = s.dec,
    dim_feedforward = s.ff,
  })
end

for _, kind in ipairs {"LSTM", "GRU", "RNN"} do
  modules[kind:lower()] = function(s)
    return api.call("nn." .. kind, s.inp, s.out,
      {num_layers = s.layers, bidirectional = s.bidirectional})
  end
  modules[kind:lower() .. "_cell"] = function(s)
    return api.call("nn." .. kind .. "Cell", s.inp, s.out)
  end
end

-- Adds a module's tensors by the names that the step lists.
local function add_module(step, results)
  local make = modules[step.kind] or api.lack("a module " .. step.kind)
  local state = make(step):state_dict()
  for _, name in ipairs(step.params) do
    if not state[name] then
      error(("module %s: has no parameter %s"):format(step.kind, name), 0)
    end
    results[step.prefix .. name] = state[name]
  end
end

local function run_step(step, inputs, results)
  if step.fn == "seed" then
    api.call("manual_seed", step.value)
  elseif step.fn == "module" then
    add_module(step, results)
  else
    local call = calls[step.fn] or api.lack("a draw " .. step.fn)
    results[step.into] = call(step, inputs)
  end
end

--- Runs a program. Behind a step that heed cannot do yet, it goes on with the
-- next seed.
-- @tparam table steps
-- @tparam table inputs tensors that steps refer to
-- @treturn table what was drawn, by name
-- @treturn ?string what is missing in heed
function program.run(steps, inputs)
  local results, missing, lost = {}, nil, false
  for _, step in ipairs(steps) do
    if step.fn == "seed" then lost = false end
    if not lost then
      local ok, problem = pcall(run_step, step, inputs, results)
      if not ok then
        missing, lost = api.missing(problem), true
        if not missing then error(problem, 0) end
      end
    end
  end
  return results, missing
end

return program
