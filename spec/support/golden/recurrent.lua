--- recurrent: the cases of recurrent layers made by tools/golden/recurrent.py.

local api = require "spec.support.golden.api"

local recurrent = {}

-- Names of the options in the files that are none of heed's.
local SIZES <const> = {kind = true, inputs = true, hidden = true}

local function make(c, ending, more)
  local p, options = c.params, {}
  for name, value in pairs(p) do
    if not SIZES[name] then options[name] = value end
  end
  for name, value in pairs(more or {}) do options[name] = value end
  return c.load(api.call("nn." .. p.kind .. ending, p.inputs, p.hidden,
    options))
end

local function state_of(c)
  local i = c.input
  if c.params.kind == "LSTM" then return i.h and {i.h, i.c} end
  return i.h
end

local function results(c, out, state)
  if c.params.kind ~= "LSTM" then return {out = out, h_last = state} end
  return {out = out, h_last = state[1], c_last = state[2]}
end

recurrent.recurrent = {
  function(c)
    local out, state = make(c, "")(c.input.x, state_of(c),
      {valid_lens = c.input.lengths})
    return results(c, out, state)
  end,
  function(c) -- the steps first; one sequence alone has no batch to follow
    local layer = make(c, "", {batch_first = false})
    local function turned(t) return t.ndim == 3 and t:transpose(1, 2) or t end
    local out, state = layer(turned(c.input.x), state_of(c),
      {valid_lens = c.input.lengths})
    return results(c, turned(out), state)
  end,
}

function recurrent.recurrent_cell(c)
  local h, last = make(c, "Cell")(c.input.x, state_of(c))
  return {h_last = h, c_last = last}
end

return recurrent
