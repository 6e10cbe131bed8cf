--- Texts that a network makes of others, by beam search, as the model's files
-- want it.

local check = require "heed.check"
local encode = require "heed.models.encode"
local evaluating = require "heed.models.evaluating"
local pad = require "heed.models.pad"

local NAME <const> = "translate"

local translate = {}

-- -- settings ----------------------------------------------------------------

local function of_type(value, kind)
  if kind == "integer" then return math.tointeger(value) end
  return type(value) == kind and value or nil
end

-- What a table of a file says about the search. There a length counts the start
-- token too.
local function read_search(t)
  local stopping = t.early_stopping
  if type(stopping) ~= "boolean" and stopping ~= "never" then stopping = nil end
  local longest <const> = of_type(t.max_length, "integer")
  return {
    beam = of_type(t.num_beams, "integer"), early_stopping = stopping,
    length_penalty = of_type(t.length_penalty, "number"),
    max_tokens = of_type(t.max_new_tokens, "integer") or
      longest and longest > 1 and longest - 1 or nil,
    prefix = of_type(t.prefix, "string"),
  }
end

-- t with what it lacks from others.
local function filled(t, ...)
  for _, other in ipairs {...} do
    for key, value in pairs(other) do
      if t[key] == nil then t[key] = value end
    end
  end
  return t
end

--- What config.json and generation_config.json say about it.
-- @treturn table `beam`, `early_stopping`, `length_penalty`, `max_tokens`;
-- `tasks`: the same by the name of a task, with its `prefix`
function translate.settings(c, g)
  local s <const> = filled(read_search(g), read_search(c), {beam = 1,
    early_stopping = false, length_penalty = 1.0, max_tokens = 128})
  s.prefix, s.tasks = nil, {}
  local tasks <const> = c.task_specific_params
  for name, task in pairs(type(tasks) == "table" and tasks or {}) do
    if type(task) == "table" then s.tasks[name] = read_search(task) end
  end
  return s
end

-- -- translating -------------------------------------------------------------

local OPTIONS <const> = {
  beam = check.NONE, max_tokens = check.NONE, length_penalty = check.NONE,
  early_stopping = check.NONE, task = check.NONE, batch_size = 16,
}

-- The options, with what the files say of the task and of all tasks.
local function read(options, settings)
  local o <const> = check.options(NAME, options, OPTIONS)
  check.integer(NAME, "batch_size", o.batch_size, 1)
  local task = {}
  if o.task ~= nil then
    task = settings.tasks[o.task]
    if not task then
      check.fail("%s: task must be one of those in the model's config (%s), "
        .. "got %s", NAME, check.names(settings.tasks), check.show(o.task))
    end
  end
  filled(o, task, settings)
  check.integer(NAME, "beam", o.beam, 1)
  check.integer(NAME, "max_tokens", o.max_tokens, 1)
  check.number(NAME, "length_penalty", o.length_penalty)
  return o
end

--- Makes other texts of texts.
-- @treturn {string,...}
-- @treturn {number,...} their scores
function translate.run(network, tokenizer, texts, settings, options)
  local o <const> = read(options, settings)
  local lists <const> = encode.all(NAME, network, tokenizer, texts,
    o.prefix or "")
  local _ <close> = evaluating(network)
  local results, scores = {}, {}
  for batch, places in encode.batches(lists, o.batch_size) do
    local ids <const>, lens <const> = pad(batch, tokenizer.pad or 1)
    local found <const>, their <const> = network:generate(ids, {lens = lens,
      beam = o.beam, max_length = o.max_tokens,
      length_penalty = o.length_penalty, early_stopping = o.early_stopping})
    for i, target in ipairs(found) do
      results[places[i]] = tokenizer:decode(target)
      scores[places[i]] = their[i]
    end
  end
  return results, scores
end

return translate
