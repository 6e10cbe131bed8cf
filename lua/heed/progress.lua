--- A progress bar on one line of the terminal, or plain lines in a log.
--
--     epoch 3/12 ━━━━━━━╸      61%  loss 2.314  5,230 tok/s  0:42 left
--
-- Where the output is no terminal (or TERM is `dumb`) a line is written when
-- 10 seconds and 10 % have passed since the last one, at least one a minute,
-- and one at the end.
-- @module heed.progress
local check = require "heed.check"
local core = require "heed.core"
local terminal = require "heed.plot.terminal"
local width = require "heed.plot.width"

local redraw_after <const> = 0.1 -- seconds
local line_after <const> = 10 -- seconds, and
local line_part <const> = 0.1 -- of the total, or
local line_at_last <const> = 60 -- seconds
local widest_bar <const> = 24
local narrowest_bar <const> = 5

local known_options <const> = {
  total = "number", title = "string", file = "any", width = "number",
  utf8 = "boolean", clock = "function", isatty = "function",
}
local known_stats <const> = {
  loss = "number|string", rate = "number", unit = "string",
}

-- 1234567 -> 1,234,567
local function grouped(number)
  local sign, digits = string.format("%.0f", number):match("^(%-?)(%d+)$")
  local commas = digits:reverse():gsub("%d%d%d", "%0,"):reverse()
  return sign .. commas:gsub("^,", "")
end

-- A number as a person reads it: three digits behind the point, fewer for
-- large ones.
local function number_text(number)
  if number ~= number then return "nan" end
  local size = math.abs(number)
  if size == math.huge then return number > 0 and "inf" or "-inf" end
  if size >= 1e15 then return string.format("%.3g", number) end
  if math.type(number) == "integer" or size >= 1000 then
    return grouped(number)
  end
  if size >= 100 then return string.format("%.1f", number) end
  if size >= 0.01 or size == 0 then return string.format("%.3f", number) end
  return string.format("%.2e", number)
end

-- A rate: the digits behind the point only count for slow work.
local function rate_text(rate)
  if rate >= 100 and rate < 1e15 then return grouped(rate) end
  return number_text(rate)
end

-- 42 -> 0:42, 3661 -> 1:01:01
local function time_text(seconds)
  -- no longer than numbers print as integers: a guess may be any number
  local whole = math.floor(math.max(0, math.min(seconds, 1e9)) + 0.5)
  local hours, minutes = whole // 3600, whole // 60 % 60
  if hours > 0 then
    return string.format("%d:%02d:%02d", hours, minutes, whole % 60)
  end
  return string.format("%d:%02d", minutes, whole % 60)
end

-- The part that is done, 0 to 1. A total of 0 is done from the start.
local function part_done(bar)
  if bar.total == 0 then return 1 end
  return math.max(0, math.min(1, bar.done / bar.total))
end

-- `columns` of bar.
local function bar_text(bar, columns)
  local full, half = "=", ">"
  if bar.utf8 then full, half = "━", "╸" end
  local halves = math.floor(part_done(bar) * columns * 2)
  return full:rep(halves // 2) .. half:rep(halves % 2)
    .. (" "):rep(columns - halves // 2 - halves % 2)
end

-- What stands right of the bar. `ended` is the text of the end, or nil.
local function facts_text(bar, now, ended)
  local part = part_done(bar)
  -- not part * 100: 29 of 100 are 29 %, but 0.29 * 100 lies below 29
  local percent = part * 100
  if part > 0 and part < 1 then
    percent = math.min(99, bar.done * 100 / bar.total)
  end
  local facts = {string.format("%3d%%", math.floor(percent))}
  local stats = bar.stats
  if ended and ended ~= "" then
    facts[#facts + 1] = ended
  else
    if stats.loss then
      local loss = stats.loss
      facts[#facts + 1] = "loss "
        .. (type(loss) == "string" and width.clean(loss) or number_text(loss))
    end
    if stats.rate then
      facts[#facts + 1] = rate_text(stats.rate) .. " "
        .. width.clean(stats.unit or "it/s")
    end
  end
  local elapsed = now - bar.started
  if ended then
    facts[#facts + 1] = time_text(elapsed)
  elseif part > 0 and part < 1 then
    facts[#facts + 1] = time_text(elapsed * (1 - part) / part) .. " left"
  end
  return table.concat(facts, "  ")
end

-- The line, at most as wide as the terminal.
local function line_text(bar, now, ended)
  local title = bar.title == "" and "" or bar.title .. " "
  local facts = facts_text(bar, now, ended)
  if not bar.redraws then return title .. facts end
  -- one column stays free: a full line would wrap
  local room = bar.width - 1
  local rest = room - width.text(title) - width.text(facts) - 1
  -- once narrower it stays so, that it does not twitch with every number
  bar.bar_width = math.min(bar.bar_width, math.max(rest, narrowest_bar))
  return width.cut(title .. bar_text(bar, bar.bar_width) .. " " .. facts, room)
end

-- Whether it is time to write.
local function is_due(bar, now)
  if not bar.written_at then return true end
  if bar.done >= bar.total and bar.written_done < bar.total then
    return bar.redraws
  end
  local passed = now - bar.written_at
  if passed < 0 then return true end -- the clock was set back
  if bar.redraws then return passed >= redraw_after end
  local part = (bar.done - bar.written_done) / bar.total
  return passed >= line_at_last or passed >= line_after and part >= line_part
end

local function write(bar, now, ended)
  local line = line_text(bar, now, ended)
  if not bar.redraws then
    bar.file:write(line, "\n")
  else
    -- the rest of the older line is erased, then the line ends if all is done
    bar.file:write("\r", line, "\27[K", ended and "\n" or "")
  end
  if bar.file.flush then bar.file:flush() end
  bar.written_at, bar.written_done = now, bar.done
end

local Progress = {}
Progress.__index = Progress
Progress.__name = "heed.progress"

--- Shows how far the work is, if enough time has passed since the last time:
-- call it as often as you like.
-- @tparam number done how much of the total is done
-- @tparam[opt] table stats `loss`, a number or a text; `rate`, a number with
--   its `unit` (default `"it/s"`). What is left out keeps its last value.
-- @raise if done is no number, for unknown stats, and after `finish`
-- @usage
-- local progress = require "heed.progress"
-- local bar = progress.new {total = 3, title = "epoch 1/10"}
-- for step = 1, 3 do
--   bar:update(step, {loss = 1 / step, rate = 5230, unit = "tok/s"})
-- end
-- bar:finish()
function Progress:update(done, stats)
  if type(done) ~= "number" or done ~= done then
    check.fail("update: done must be a number, got %s", check.show(done))
  end
  for name, value in pairs(check.types("update", stats, known_stats)) do
    self.stats[name] = value
  end
  if self.finished then check.fail("update: the bar is finished") end
  self.done = done
  local now = self.clock()
  if is_due(self, now) then write(self, now) end
end

--- Shows the last state with the time that all took, and ends the line. A
-- second call does nothing.
-- @tparam[opt] string text stands in place of loss and rate
-- @usage
-- local progress = require "heed.progress"
-- progress.new({total = 0, title = "read"}):finish("812 pairs")
function Progress:finish(text)
  if self.finished then return end
  if text ~= nil and type(text) ~= "string" then
    check.fail("finish: text must be a string, got %s", check.show(text))
  end
  write(self, self.clock(), text and width.clean(text) or "")
  self.finished = true
end

-- `local bar <close> = progress.new {...}`: after an error the line ends, so
-- that the message has one of its own.
function Progress:__close(failure)
  if failure == nil then return self:finish() end
  if self.redraws and self.written_at and not self.finished then
    self.file:write("\n")
  end
  self.finished = true
end

local progress = {}

--- Returns a progress bar. Nothing is shown before the first `update`.
-- A bar in a `<close>` variable finishes by itself.
-- @tparam table opts `total`, the number that stands for all, 0 or more;
--   `title`, in front of the bar; `file`, a Lua file (default `io.stderr`);
--   `width` in columns (default the terminal's); `utf8` true or false (default
--   as the locale says); for tests `clock`, a function that returns seconds,
--   and `isatty`, one that says whether the file it gets is a terminal
-- @treturn Progress with the methods `update` and `finish`
-- @raise for a total that is missing, negative or not finite, unknown options
-- @usage
-- local progress = require "heed.progress"
-- local bar <close> = progress.new {total = 200, title = "epoch 1/10"}
-- bar:update(120, {loss = 2.314})
function progress.new(opts)
  opts = check.types("progress", opts, known_options)
  local total = opts.total
  if not total or not (total >= 0 and total < math.huge) then
    check.fail("progress: total must be a number of at least 0, got %s",
      check.show(total))
  end
  local file = opts.file or io.stderr
  local isatty = opts.isatty or terminal.isatty
  local is_utf8 = opts.utf8
  if is_utf8 == nil then is_utf8 = terminal.is_utf8() end
  local clock = opts.clock or core.time or os.time
  return setmetatable({
    total = total,
    title = width.clean(opts.title or ""),
    file = file,
    redraws = terminal.can_redraw() and isatty(file),
    width = terminal.columns("progress", opts.width, file),
    utf8 = is_utf8,
    clock = clock,
    started = clock(),
    done = 0,
    stats = {},
    bar_width = widest_bar,
    finished = false,
  }, Progress)
end

return progress
