--- Texts that a network goes on with.

local check = require "heed.check"
local core = require "heed.core"
local encode = require "heed.models.encode"
local evaluating = require "heed.models.evaluating"
local KeyValueCache = require "heed.nn.cache"
local pad = require "heed.models.pad"
local sampling = require "heed.nn.sampling"
local Speech = require "heed.models.speech"

local ops <const> = core.ops
local NAME <const> = "generate"

local generate = {}

-- -- settings ----------------------------------------------------------------

-- Ids of config files count from 0, and may be a number or a list.
local function add_ids(set, value)
  if type(value) ~= "table" then value = {value} end
  for _, id in ipairs(value) do
    local n <const> = math.type(id) and math.tointeger(id)
    if n then set[n + 1] = true end
  end
end

--- What config.json and generation_config.json say about it.
-- @treturn table `ends`, a set of ids; `temperature`, `top_k`, `top_p`
function generate.settings(c, g)
  local ends <const> = {}
  if g.eos_token_id ~= nil then
    add_ids(ends, g.eos_token_id)
  else
    add_ids(ends, c.eos_token_id)
  end
  local draws <const> = g.do_sample == true
  local function number(value)
    return type(value) == "number" and value or nil
  end
  return {
    ends = ends,
    temperature = draws and number(g.temperature or 1.0) or 0,
    top_k = draws and math.tointeger(number(g.top_k)) or nil,
    top_p = draws and number(g.top_p) or nil,
  }
end

-- -- going on ----------------------------------------------------------------

local OPTIONS <const> = {
  max_tokens = 128, stop = check.NONE, on_text = check.NONE,
  temperature = check.NONE, top_k = check.NONE, top_p = check.NONE,
  generator = check.NONE,
}

local function read_stop(stop)
  if stop == nil then return {} end
  if type(stop) == "string" then stop = {stop} end
  local n <const>, fault = check.list(stop, "string")
  if not n then check.fail("%s: stop%s", NAME, fault) end
  for i = 1, n do
    if stop[i] == "" then
      check.fail("%s: stop[%d] must hold a character", NAME, i)
    end
  end
  return stop
end

local function read(options, settings)
  local o <const> = check.options(NAME, options, OPTIONS)
  check.integer(NAME, "max_tokens", o.max_tokens, 0)
  if o.on_text ~= nil then check.callable(NAME, "on_text", o.on_text) end
  if o.temperature == nil then
    o.temperature = settings.temperature
    o.top_k = o.top_k or settings.top_k
    o.top_p = o.top_p or settings.top_p
  end
  sampling.check(NAME, o)
  o.stop = read_stop(o.stop)
  return o
end

-- The scores after the last id of each row, [B V].
local function read_prompt(network, ids, lens, cache)
  local x <const> = network:hidden(ids, {cache = cache}) -- [B T C]
  local last <const> = {}
  for i, n in ipairs(lens:totable()) do last[i] = x[{i, n}] end
  cache:trim(lens)
  return network:score(ops.stack(last, 1))
end

-- How many more positions there are.
local function room_for(network, longest, max_tokens)
  if not network.max_length then return max_tokens end
  -- the last token needs no position, since nothing follows it
  return math.min(max_tokens, network.max_length - longest + 1)
end

--- Goes on with texts, all of one batch.
-- @treturn {string,...} what follows each
-- @treturn {string,...} why each ended
function generate.run(network, tokenizer, texts, settings, options)
  local o <const> = read(options, settings)
  if #texts == 0 then return {}, {} end
  local rows <const> = encode.all(NAME, network, tokenizer, texts, "")
  local ids <const>, lens <const> = pad(rows, tokenizer.pad or 1)
  local speeches = {}
  for i, row in ipairs(rows) do
    speeches[i] = Speech.new(tokenizer, row, settings.ends, o.stop,
      o.on_text and function(piece) o.on_text(piece, i) end)
  end
  local _ <close> = core.no_grad()
  local _ <close> = evaluating(network)
  local n <const> = room_for(network, ids:size(2), o.max_tokens)
  local cache <const> = KeyValueCache {
    capacity = math.max(1, ids:size(2) + math.max(n, 0))}
  local going = n > 0
  local scores = going and read_prompt(network, ids, lens, cache)
  for step = 1, n do
    local new <const> = sampling.choose(scores, o) -- [B 1]
    going = false
    for i, speech in ipairs(speeches) do
      going = speech:hear(new[{i, 1}]:item()) or going
    end
    if not going or step == n then break end
    scores = ops.select(network:score(network:hidden(new, {cache = cache})), 2,
      1)
  end
  local results, reasons = {}, {}
  for i, speech in ipairs(speeches) do
    results[i], reasons[i] = speech:finish()
  end
  return results, reasons
end

return generate
