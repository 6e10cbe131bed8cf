--- Where on the site the entry that a piece of code names stands.

local names = {}

-- The parts of heed that pages call by one name.
local SHORT <const> = {F = "heed.nn.functional", nn = "heed.nn"}
for part in ([[optim train metrics data text image plot models autograd linalg
    script]]):gmatch "%S+" do
  SHORT[part] = "heed." .. part
end

-- Where a name that stands alone is looked for, in this order.
local ALONE <const> =
  {"heed.", "heed.nn.", "heed.nn.functional.", "heed.optim.", "heed.metrics."}

-- How often a short word is a variable and no function.
local LEAST <const> = 3

local function find_alone(where, name)
  if #name < LEAST then return nil end
  for _, part in ipairs(ALONE) do
    if where[part .. name] then return where[part .. name] end
  end
end

local function find_method(where, name)
  return where["tensor:" .. name] or where["heed." .. name]
end

--- Returns a function that gives the address of what a piece of code names
-- (`nn.Linear(20, 8)`, `x:backward`, `softmax`), or nil. With `true` behind the
-- code a word in lower case is none: in the reference these are arguments.
-- @tparam table pages those of the reference
function names.finder(pages)
  local where = {}
  for _, page in ipairs(pages) do
    for _, entry in ipairs(page.entries) do
      where[entry.path] = ("reference/%s.html#%s"):format(page.name,
        entry.path)
    end
  end
  return function(code, in_reference)
    local name = code:match "^[%w_.:]+$" or code:match "^([%w_.:]+)%s?[%(%{]"
    if not name then return nil end
    local method <const> = name:match "^%l:([%w_]+)$"
    if method then return find_method(where, method) end
    local head <const>, rest <const> = name:match "^(%w+)%.(.+)$"
    if not head then
      if in_reference and name:find "^%l" then return nil end
      return find_alone(where, name)
    end
    return where[name] or SHORT[head] and where[SHORT[head] .. "." .. rest]
  end
end

return names
