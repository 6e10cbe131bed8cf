-- Weights that PyTorch saved load, and give what PyTorch gave: spec/nn/torch,
-- made by tools/torch_weights.py, which also shows the way back.

local close = require "spec.support.close"
local heed = require "heed"
local models = require "spec.support.torch_models"

local FOLDER <const> = "spec/nn/torch/"
local TOLERANCE <const> = {
  float64 = {atol = 1e-10, rtol = 1e-10}, float32 = {atol = 1e-5, rtol = 1e-5},
}

-- The tensors of a kind ("state", "in", "out"), floats in a dtype.
local function part(tensors, kind, dtype)
  local list = {}
  for name, t in pairs(tensors) do
    local key = name:match("^" .. kind .. "%.(.+)$")
    if key then
      list[key] = t.dtype:find "^float" and dtype and t:to(dtype) or t
    end
  end
  return list
end

describe("weights of PyTorch", function()
  for name, model in pairs(models) do
    for dtype, tolerance in pairs(TOLERANCE) do
      it(("of %s give the same in %s"):format(name, dtype), function()
        local tensors = heed.load_safetensors(FOLDER .. name .. ".safetensors")
        local module = model.build():to(dtype)
        module:load_state_dict(part(tensors, "state"))
        local want = part(tensors, "out")
        local got = model.run(module, part(tensors, "in", dtype))
        assert.is_not_nil(next(want))
        for key, t in pairs(want) do
          close.check(key, got[key], t:to(dtype), tolerance)
        end
      end)
    end

    it(("of %s have heed's names"):format(name), function()
      local tensors = heed.load_safetensors(FOLDER .. name .. ".safetensors")
      local theirs, ours = {}, {}
      for key, t in pairs(part(tensors, "state")) do theirs[key] = t.shape end
      for key, t in pairs(model.build():state_dict {aliases = true}) do
        ours[key] = t.shape
      end
      assert.same(theirs, ours)
    end)
  end
end)
