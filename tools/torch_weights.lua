-- For tools/torch_weights.py: makes each model with weights of its own, and
-- writes them (`state.NAME`), random inputs (`in.NAME`) and what the model
-- gives of them (`out.NAME`) into a folder, all in float64.
--
--     heed tools/torch_weights.lua FOLDER

local heed = require "heed"
local models = require "spec.support.torch_models"

local folder <const> = arg[1]
heed.manual_seed(1)

-- What a model is called with: ids, a mask of lengths, or numbers.
local function input(name, shape)
  if name == "ids" then return heed.randint(1, 11, shape) end
  if name == "keep" then
    return heed.nn.functional.length_mask(shape, 5)
  end
  return heed.randn(shape, "float64")
end

for name, model in pairs(models) do
  local module <const> = model.build():to "float64"
  local inputs <const>, tensors <const> = {}, {}
  for key, shape in pairs(model.shapes) do
    inputs[key] = input(key, shape)
    tensors["in." .. key] = inputs[key]
  end
  for key, t in pairs(module:state_dict {aliases = true}) do
    if t.ndim == 1 then t:add_(heed.randn(t.shape, "float64") * 0.3) end
    tensors["state." .. key] = t
  end
  for key, t in pairs(model.run(module, inputs)) do
    tensors["out." .. key] = t:detach()
  end
  heed.save_safetensors(("%s/%s.safetensors"):format(folder, name), tensors)
end
