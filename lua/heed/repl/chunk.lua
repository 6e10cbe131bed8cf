--- Chunks: what is typed, compiled.
--
-- A text is first tried as an expression, then as statements. The local
-- variables of statements would be gone with the next line, which surprises at
-- a prompt; so those at the outer level become globals when the chunk ends.
-- Functions of the chunk keep the locals themselves.

local lex = require "heed.repl.lex"

local chunk = {}

-- Makes globals of the locals of the function that called: a call of this ends
-- the chunk, which gets it as `...`.
function chunk.keep()
  local i = 1
  local name, value = debug.getlocal(2, i)
  while name do
    if name:find "^[%a_]" and name ~= "_ENV" then rawset(_G, name, value) end
    i = i + 1
    name, value = debug.getlocal(2, i)
  end
end

-- The compiler puts the value of `local n <const> = 5` in its place, and no
-- local is left to keep: blanks instead. A variable that is closed at the end
-- is nothing to keep: nil.
local function open_locals(text)
  if not text:find("<", 1, true) then return text end
  local words <const> = lex.words(text)
  for i = 2, #words - 2 do
    if words[i].text == "<" and words[i + 2].text == ">" then
      local attribute <const> = words[i + 1].text
      if attribute == "close" then return nil end
      if attribute == "const" then
        local first <const>, last <const> = words[i].first, words[i + 2].last
        text = text:sub(1, first - 1) .. (" "):rep(last - first + 1)
          .. text:sub(last + 1)
      end
    end
  end
  return text
end

--- Compiles a text. The function is called with `chunk.keep`.
-- @tparam string text
-- @tparam string name of the chunk, as `load` takes it
-- @treturn ?function nil if it is no Lua
-- @treturn ?string the compiler's message
-- @treturn ?boolean whether the text is the beginning of one that may be Lua
function chunk.compile(text, name)
  -- A variable to be closed makes the call no tail call, which would leave no
  -- trace of this chunk. "=x" is a habit from older versions of Lua.
  local f, wrong = load("local _close <close> = nil return "
    .. text:gsub("^%s*=", ""), name, "t")
  if f then return f end
  if wrong == "not enough memory" then return nil, wrong end
  local plain, message = load(text, name, "t")
  if not plain then return nil, message, message:find "<eof>$" ~= nil end
  local kept <const> = open_locals(text)
  -- no call may follow a return, which needs none
  return kept and load(kept .. "\n;(...)()", name, "t") or plain
end

return chunk
