--- Colours of the prompt's answers, where the terminal has them.

local terminal = require "heed.plot.terminal"

local style = {}

local codes <const> = {red = "31", bold = "1", dim = "2", cyan = "36"}

--- Does the file show colours? It is a terminal, TERM names one that is not
-- dumb, and NO_COLOR does not speak against it.
function style.has_color(file)
  local kind <const>, no <const> = os.getenv "TERM", os.getenv "NO_COLOR"
  return kind ~= nil and kind ~= "" and (no == nil or no == "")
    and terminal.can_redraw() and terminal.isatty(file)
end

--- Returns a function that paints a text, `paint("red", text)`, or leaves it as
-- it is.
function style.painter(has_color)
  if not has_color then return function(_, text) return text end end
  return function(name, text)
    return ("\27[%sm%s\27[0m"):format(codes[name], text)
  end
end

return style
