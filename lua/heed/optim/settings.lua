--- Checks of the settings of a group, which several optimisers have.

local check = require "heed.check"

local settings = {}

--- Raises unless these settings are numbers of at least 0.
function settings.positive(name, group, ...)
  for _, key in ipairs {...} do check.number(name, key, group[key], 0) end
end

--- Raises unless `betas` are two numbers of at least 0 and below 1; the group
-- gets a list of its own.
function settings.betas(name, group)
  local betas = check.kind(name, "betas", group.betas, "table")
  for i = 1, 2 do
    local beta = check.number(name, ("betas[%d]"):format(i), betas[i], 0)
    if beta >= 1 then
      check.fail("%s: betas[%d] must be below 1, got %g", name, i, beta)
    end
  end
  group.betas = {betas[1], betas[2]}
end

return settings
