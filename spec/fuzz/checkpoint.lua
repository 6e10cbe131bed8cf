-- checkpoint: any bytes as the state in a checkpoint, whose container is a
-- safetensors file, which has a target of its own.

local cjson = require "cjson"
local heed = require "heed"

local nn <const>, optim <const> = heed.nn, heed.optim
local TENSORS <const> = {"w", "x.weight", "net.weight", "net.bias"}

-- A file with some tensors and this state.
local function write(path, state)
  local header, data = {__metadata__ = {format = "heed.train.1",
    state = state}}, {}
  for i, name in ipairs(TENSORS) do
    header[name] = {dtype = "F32", shape = {2},
      data_offsets = {8 * i - 8, 8 * i}}
    data[i] = string.pack("<ff", i, -i)
  end
  local file <const> = assert(io.open(path, "wb"))
  file:write(string.pack("<s8", cjson.encode(header)), table.concat(data))
  file:close()
end

local function parts()
  local net <const> = nn.Linear(2, 1)
  local optimizer <const> = optim.Adam(net:parameters())
  return {net = net, optimizer = optimizer, own = heed.Generator(1),
    schedule = optim.StepLR(optimizer, 2)}
end

-- The state of a checkpoint that heed has written.
local function written()
  local path <const>, all <const> = os.tmpname(), parts()
  all.net(heed.ones(1, 2)):sum():backward()
  all.optimizer:step()
  heed.train.save(path, all, {epoch = 3, note = "x", list = {1, 2.5}})
  local file <const> = heed.open_safetensors(path)
  local state <const> = file.metadata.state
  file:close()
  os.remove(path)
  return state
end

return {
  mutate = require "spec.fuzz.json",
  run = function(bytes, folder)
    local path <const> = folder .. "/run.safetensors"
    -- bytes that JSON cannot hold are the other target's
    if not heed.core.unicode.valid(bytes) then return nil end
    write(path, bytes)
    pcall(heed.train.load, path, {})
    heed.train.load(path, parts())
    return nil
  end,
  seeds = function()
    return {written(), '{"parts": {}, "values": {}, "generators": {}}',
      '{"parts": {"net": {"weight": "@w"}}, "values": {"a": "=0x1p+1"}, ' ..
        '"generators": {"inner": {}}}'}
  end,
}
