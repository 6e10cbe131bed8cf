--- equation: reads the letter notation of einsum.
--
-- Labels of dimensions are numbers: the byte of a letter, or for the
-- dimensions that "..." stands for 1 (the last), 2, and so on; 0 for all of
-- these together.

local check = require "heed.check"

local equation = {}

--- Raises a message about an equation, formatted like `string.format`.
function equation.fail(text, format, ...)
  check.fail('einsum: "%s": ' .. format, text, ...)
end

local fail <const> = equation.fail

--- A label as messages write it.
function equation.label_name(label)
  return label < 65 and ('dimension -%d of "..."'):format(label) or
    "letter " .. string.char(label)
end

-- One part of an equation: the labels, with 0 for "...".
local function read_part(whole, what, text)
  local labels, dots, at = {}, false, 1
  while at <= #text do
    if text:sub(at, at + 2) == "..." then
      if dots then fail(whole, '%s has "..." twice', what) end
      labels[#labels + 1], dots, at = 0, true, at + 3
    elseif text:find("^%a", at) then
      labels[#labels + 1], at = text:byte(at), at + 1
    else
      fail(whole, "%s has %s, which is no letter", what,
        check.show(text:match("^" .. utf8.charpattern, at) or
          text:sub(at, at)))
    end
  end
  return labels, dots
end

local function read_output(whole, text, inputs)
  local labels, dots = read_part(whole, "the output", text)
  local known, seen = {}, {}
  for _, part in ipairs(inputs) do
    for _, label in ipairs(part) do known[label] = true end
  end
  for _, label in ipairs(labels) do
    if label ~= 0 and not known[label] then
      fail(whole, "the output has letter %c, which no operand has", label)
    end
    if seen[label] then
      fail(whole, "the output has letter %c twice", label)
    end
    seen[label] = true
  end
  return labels, dots
end

-- Without an output: "...", then the letters that occur once, sorted.
local function implied_output(inputs)
  local count, labels = {}, {}
  for _, part in ipairs(inputs) do
    for _, label in ipairs(part) do
      if label ~= 0 then count[label] = (count[label] or 0) + 1 end
    end
  end
  for label, n in pairs(count) do
    if n == 1 then labels[#labels + 1] = label end
  end
  table.sort(labels)
  table.insert(labels, 1, 0)
  return labels
end

--- Returns {equation =, inputs =, output =, by_rank = {}}: the text, lists of
-- labels for each operand and for the result, and room for plans.
function equation.read(text)
  local plain = text:gsub("%s", "")
  local left, right = plain:match("^(.-)%->(.*)$")
  left = left or plain
  local inputs = {}
  for part in (left .. ","):gmatch("([^,]*),") do
    local what = "operand " .. #inputs + 1
    inputs[#inputs + 1] = read_part(text, what, part)
  end
  return {
    equation = text, inputs = inputs,
    output = right and read_output(text, right, inputs) or
      implied_output(inputs),
    by_rank = {},
  }
end

--- The labels of a part, with those of `dots` dimensions in the place of 0.
function equation.widen(labels, dots)
  local list = {}
  for _, label in ipairs(labels) do
    if label == 0 then
      for d = dots, 1, -1 do list[#list + 1] = d end
    else
      list[#list + 1] = label
    end
  end
  return list
end

return equation
