--- Where a picture goes: into a file by its name, or as text to the terminal.
local canvas = require "heed.plot.canvas"
local check = require "heed.check"
local grid = require "heed.plot.grid"
local text = require "heed.plot.text"
local width = require "heed.plot.width"

local output = {}

--- Returns the format of the picture that the option `file` asks for.
-- @tparam string op what the user called, for messages
-- @param file the name of a picture; nil or an object with a `write` method
--   for text
-- @treturn ?string `svg`, `png` or `pdf`; nil for text
-- @raise for any other file
function output.kind(op, file)
  if type(file) == "string" then return canvas.kind(op, file) end
  local can_index, method = pcall(function() return file.write end)
  if file ~= nil and not (can_index and method) then
    check.fail("%s: file must be the name of a picture or have a write method, "
      .. "got %s", op, check.show(file))
  end
  return nil
end

--- Returns the function that makes texts fit for a format (nil: a terminal).
-- @tparam ?string kind
-- @treturn function
function output.cleaner(kind)
  if not kind then return width.clean end
  return function(line) return canvas.clean(kind, line) end
end

--- Writes text to a file that is open.
-- @tparam string op what the user called, for messages
-- @param file an object with a `write` method; nil for `io.stdout`
-- @tparam string content
-- @raise if it cannot be written
function output.write(op, file, content)
  local ok, message = (file or io.stdout):write(content)
  if not ok then check.fail("%s: cannot write: %s", op, message) end
end

--- Draws maps or images.
-- @tparam string op what the user called, for messages
-- @tparam table g as for `grid.draw` and `text.draw`
-- @tparam table opts with `file`, and what `text.draw` takes
-- @tparam ?string kind from `output.kind`
function output.draw(op, g, opts, kind)
  if kind then
    grid.draw(op, opts.file, g)
  else
    output.write(op, opts.file, text.draw(op, g, opts))
  end
end

return output
