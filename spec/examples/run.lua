-- run.lua - runs examples with a folder for what they write, for their specs.

local command = require "spec.host.command"
local lfs = require "lfs"

local run = {}

local function read(path)
  local file <const> = assert(io.open(path, "rb"))
  local content <const> = file:read("a")
  file:close()
  return content
end

-- The contents of the files of a folder by their names; removes them and it.
local function take(folder)
  local files = {}
  if not lfs.attributes(folder) then return files end
  for name in lfs.dir(folder) do
    if name ~= "." and name ~= ".." then
      local path <const> = folder .. "/" .. name
      files[name] = read(path)
      os.remove(path)
    end
  end
  assert(lfs.rmdir(folder))
  return files
end

--- Runs examples/NAME.lua with a new folder as --out and more arguments.
-- Returns the exit code, stdout, stderr and the contents of the files in the
-- folder by their names.
function run.example(name, ...)
  local folder <const> = os.tmpname()
  os.remove(folder)
  local code <const>, out <const>, err <const> =
    command.heed {"examples/" .. name .. ".lua", "--out", folder, ...}
  return code, out, err, take(folder)
end

--- The numbers of the tensor that stands in `out` behind `heading`, in order.
function run.numbers(out, heading)
  local _, stop <const> = out:find(heading, 1, true)
  assert(stop, "no heading " .. heading)
  local tensor <const> = out:match("^(.-)heed%.tensor", stop + 1)
  local numbers = {}
  for number in tensor:gmatch "%-?%d+%.?%d*e?[+-]?%d*" do
    numbers[#numbers + 1] = tonumber(number)
  end
  return numbers
end

--- Width and height of a PNG that is whole.
function run.png_size(content)
  assert(content, "no file")
  assert(content:sub(1, 16) == "\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "no PNG")
  assert(content:sub(-8, -5) == "IEND", "the PNG is cut short")
  return string.unpack(">I4I4", content, 17)
end

return run
