--- A network in evaluation, for as long as a variable lives.

--- Puts a network in evaluation.
-- @param network module
-- @return what puts it back as it was when it is closed: also when an error
-- leaves the block
return function(network)
  local was_training <const> = network.training
  network:eval()
  return setmetatable({}, {__close = function()
    network:train(was_training)
  end})
end
