--- A text that comes token by token: what of it can be said already, and when
-- it ends.

local Speech = {}
Speech.__index = Speech

-- How many tokens before a new one the tokeniser is shown, so that spaces come
-- out as in the middle of a text.
local CONTEXT <const> = 4

--- A text that goes on behind the ids of a prompt.
-- @param tokenizer
-- @tparam {integer,...} prompt
-- @tparam table ends set of ids at which it ends
-- @tparam {string,...} stops texts before which it ends
-- @tparam[opt] function on_text called with each piece
function Speech.new(tokenizer, prompt, ends, stops, on_text)
  local first <const> = math.max(1, #prompt - CONTEXT + 1)
  local recent <const> = table.move(prompt, first, #prompt, 1, {})
  return setmetatable({
    tokenizer = tokenizer, ends = ends, stops = stops, on_text = on_text,
    recent = recent, -- ids that are decoded together
    old = tokenizer:decode(recent), -- the part of their text that is said
    text = "", said = 0,
  }, Speech)
end

-- Says the text up to a byte.
local function say(self, last)
  if last > self.said then
    if self.on_text then self.on_text(self.text:sub(self.said + 1, last)) end
    self.said = last
  end
end

-- Where the first stop text begins, or nil.
local function find_stop(self)
  local first
  for _, stop in ipairs(self.stops) do
    -- what is said already holds the beginning of none
    local at <const> = self.text:find(stop, self.said + 1, true)
    if at and (not first or at < first) then first = at end
  end
  return first
end

-- How many bytes at the end may be the beginning of a stop text.
local function held_back(self)
  local most = 0
  for _, stop in ipairs(self.stops) do
    for n = math.min(#stop - 1, #self.text), most + 1, -1 do
      if self.text:sub(-n) == stop:sub(1, n) then
        most = n
        break
      end
    end
  end
  return most
end

-- Does a text end in bytes that are no character yet?
local function is_torn(text) return text:sub(-3) == "\u{FFFD}" end

-- The text of the recent ids beyond that which is said.
local function take_new(self, at_end)
  local whole <const> = self.tokenizer:decode(self.recent)
  if is_torn(whole) and not at_end then return "" end
  local new <const> = whole:sub(#self.old + 1)
  local n <const> = #self.recent
  self.recent = table.move(self.recent, math.max(1, n - CONTEXT + 1), n, 1, {})
  self.old = self.tokenizer:decode(self.recent)
  return new
end

--- Takes the next id.
-- @treturn boolean does the text go on?
function Speech:hear(id)
  if self.reason then return false end
  if self.ends[id] then
    self.reason = "stop"
    return false
  end
  self.recent[#self.recent + 1] = id
  local new <const> = take_new(self)
  if new == "" then return true end
  self.text = self.text .. new
  local stop <const> = find_stop(self)
  if stop then
    self.text = self.text:sub(1, stop - 1)
    self.reason, self.recent = "stop", {}
    say(self, #self.text)
    return false
  end
  say(self, #self.text - held_back(self))
  return true
end

--- Ends the text.
-- @treturn string all of it
-- @treturn string "stop", or "length" when nothing but the number of tokens
-- ended it
function Speech:finish()
  if #self.recent > 0 then self.text = self.text .. take_new(self, true) end
  local stop <const> = find_stop(self)
  if stop then self.text, self.reason = self.text:sub(1, stop - 1), "stop" end
  say(self, #self.text)
  return self.text, self.reason or "length"
end

return Speech
