--- Attention of all layers and heads as one HTML page. Read
-- `attention_weights.lua` for how the weights get into it, and
-- `attention_page.lua` and `attention_script.lua` for the page.
local cjson = require "cjson"
local check = require "heed.check"
local core = require "heed.core"
local page = require "heed.plot.attention_page"
local attention_weights = require "heed.plot.attention_weights"
local width = require "heed.plot.width"

local ops <const> = core.ops
local NAME <const> = "attention_html"

local attention_html = {}

local known <const> = {file = "string", title = "string"}
local parts <const> = {
  name = "string", tokens = "table", keys = "table", weights = "any",
}

-- Tokens as texts that print on one line.
local function read_tokens(name, list)
  local n <const> = #list
  if n == 0 then
    check.fail("%s: %s must be a list of tokens, got an empty table", NAME,
      name)
  end
  local tokens = {}
  for i = 1, n do
    local token <const> = list[i]
    if type(token) ~= "string" and type(token) ~= "number" then
      check.fail("%s: %s[%d] must be a string or a number, got %s", NAME, name,
        i, check.show(token))
    end
    tokens[i] = width.clean(tostring(token))
  end
  return tokens
end

local wanted <const> = "%s: %s must be a tensor [Tq Tk], [H Tq Tk] or "
  .. "[L H Tq Tk], or a list of one [H Tq Tk] for each layer, got %s"

local function refuse(name, value)
  check.fail(wanted, NAME, name, check.show(value))
end

-- A tensor of any dtype, nested tables, or a table of rows, as float64.
local function to_tensor(name, value)
  if check.is_tensor(value) then return value:detach():to("float64") end
  local ok, w = false, nil
  if type(value) == "table" and check.is_tensor(value[1]) then
    ok, w = pcall(ops.stack, value, 1)
    if ok then w = w:detach():to("float64") end
  elseif type(value) == "table" then
    ok, w = pcall(core.tensor, value, {dtype = "float64"})
  end
  if not ok then refuse(name, value) end
  return w
end

-- One layer as float64 [H Tq Tk].
local function read_layer(name, value, queries, keys)
  local w = to_tensor(name, value)
  if w.ndim == 4 and w:size(1) > 1 then
    check.fail("%s: %s %s holds a batch of %d: take one of it, w[1]", NAME,
      name, check.shape(w.shape), w:size(1))
  end
  local shape <const> = w.shape
  if w.ndim == 4 then w = ops.squeeze(w, 1) end
  if w.ndim == 2 then w = ops.unsqueeze(w, 1) end
  if w.ndim ~= 3 or w:size(1) == 0 then refuse(name, value) end
  if w:size(2) ~= queries or w:size(3) ~= keys then
    check.fail("%s: %s %s must end in [%d %d], the numbers of tokens and keys",
      NAME, name, check.shape(shape), queries, keys)
  end
  attention_weights.check(NAME, name, w)
  return w
end

-- The layers as a list: of a list itself, of a tensor [L H Tq Tk] its parts.
local function layers_of(name, value)
  if type(value) == "table" and check.is_tensor(value[1])
     and value[1].ndim > 1 then
    return value, name .. "[%d]"
  end
  local w <const> = to_tensor(name, value)
  if w.ndim ~= 4 then return {value}, name end
  local list = {}
  for i = 1, w:size(1) do list[i] = w[i] end
  if #list == 0 then refuse(name, value) end
  return list, name .. "[%d]"
end

-- The mean of all heads before the heads, where there are several.
local function read_layers(name, value, queries, keys)
  local layers = {}
  local list <const>, each <const> = layers_of(name, value)
  for i, layer in ipairs(list) do
    local w = read_layer(each:format(i), layer, queries, keys)
    if w:size(1) > 1 then
      w = ops.cat({ops.mean(w, 1, true), w}, 1)
    end
    layers[i] = attention_weights.encode(w)
  end
  return layers
end

local function read_attention(i, a)
  local name <const> = ("attentions[%d]"):format(i)
  if type(a) ~= "table" then
    check.fail("%s: %s must be a table with tokens and weights, got %s", NAME,
      name, check.show(a))
  end
  check.types(NAME .. ": " .. name, a, parts)
  if not a.tokens then
    check.fail("%s: %s.tokens must be a list of tokens, got nil", NAME, name)
  end
  local tokens <const> = read_tokens(name .. ".tokens", a.tokens)
  local keys <const> = a.keys and read_tokens(name .. ".keys", a.keys)
  return {
    name = width.clean(a.name or "attention " .. i),
    tokens = tokens, keys = keys,
    layers = read_layers(name .. ".weights", a.weights, #tokens,
      #(keys or tokens)),
  }
end

-- JSON that can stand in a script of HTML: `<` would begin an end tag or a
-- comment.
local function to_json(value)
  return (cjson.encode(value):gsub("<", "\\u003c"))
end

--- Returns the page; see `plot.attention_html`.
-- @tparam table attentions
-- @tparam ?table opts
-- @treturn string HTML
function attention_html.render(attentions, opts)
  if type(attentions) ~= "table" or #attentions == 0 then
    local got = check.show(attentions)
    if type(attentions) == "table" then
      local key <const> = next(attentions)
      got = key == nil and "an empty table"
        or ("the key %s"):format(check.show(key))
    end
    check.fail("%s: attentions must be a list of tables with tokens and "
      .. "weights, got %s", NAME, got)
  end
  local list = {}
  for i, a in ipairs(attentions) do list[i] = read_attention(i, a) end
  return page(width.clean(opts.title or "Attention"),
    to_json {alphabet = attention_weights.ALPHABET, attentions = list})
end

--- Writes the page, or returns it; see `plot.attention_html`.
-- @tparam table attentions
-- @tparam ?table opts
-- @treturn ?string HTML, unless it is written to a file
function attention_html.write(attentions, opts)
  opts = check.types(NAME, opts, known)
  local file <const> = opts.file
  if file and not file:lower():find("%.html?$") then
    check.fail("%s: file %s must end in .html", NAME, check.show(file))
  end
  local html <const> = attention_html.render(attentions, opts)
  if not file then return html end
  core.write_file_atomic(file, html, NAME)
end

return attention_html
