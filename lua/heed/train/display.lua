--- The progress bars of a run.

local progress = require "heed.progress"

local display = {}

--- The file to write to, or nil.
function display.output(self)
  local file = self.options.progress
  if file == false then return nil end
  return type(file) ~= "boolean" and file or io.stderr
end

local output <const> = display.output

local function new_bar(self, total)
  return progress.new {total = total, file = output(self), title =
    ("epoch %d/%d"):format(self.epoch, self.options.epochs)}
end

--- Shows where the run is, when it is time to.
function display.update(self)
  local total = self.total or self.batches
  if not output(self) or not total then return end
  self.bar = self.bar or new_bar(self, total)
  self.bar:update(self.batch, {loss = self.loss_sum / self.loss_count})
end

-- "loss 0.31  valid accuracy 0.9"
local function record_text(record)
  local texts, names = {("loss %.4g"):format(record.loss)}, {}
  for name, value in pairs(record.valid or {}) do
    if type(value) == "number" then names[#names + 1] = name end
  end
  table.sort(names)
  for _, name in ipairs(names) do
    texts[#texts + 1] = ("valid %s %.4g"):format(name, record.valid[name])
  end
  return table.concat(texts, "  ")
end

--- Ends the line of an epoch.
-- @param self run
-- @param text a record of the run, or a text
function display.finish(self, text)
  if not output(self) then return end
  -- a total of 0 is one that is done: how many there would be was not known
  local bar = self.bar or new_bar(self, 0)
  bar:finish(type(text) == "table" and record_text(text) or text)
  self.bar = nil
end

return display
