-- shards: any bytes as the index of several safetensors files.

local heed = require "heed"

local INDEX <const> = "/model.safetensors.index.json"

return {
  mutate = require "spec.fuzz.json",
  setup = function(folder)
    heed.save_safetensors(folder .. "/a", {w = heed.ones(3)})
    heed.save_safetensors(folder .. "/b", {b = heed.ones {2, 2},
      c = heed.zeros {}})
  end,
  run = function(bytes, folder)
    local path <const> = folder .. INDEX
    local file <const> = assert(io.open(path, "wb"))
    file:write(bytes)
    file:close()
    local names <const> = {w = true, b = true, c = true}
    for _, options in ipairs {{mapped = true}, {mapped = false}} do
      for name, x in pairs((heed.load_safetensors(path, options))) do
        assert(names[name] and x:sum():item() == x:sum():item())
      end
    end
  end,
  seeds = function()
    return {
      '{"metadata": {"total_size": 44},' ..
        '"weight_map": {"w": "a", "b": "b", "c": "b"}}',
      '{"weight_map": {"w": "a"}}', '{"weight_map": {}}',
      '{"weight_map": {"w": "../a"}}', '{"weight_map": {"x": 1}}',
    }
  end,
}
