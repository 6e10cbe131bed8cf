--- Returns the integer that an environment variable holds, or a default.
return function(name, default)
  local text = os.getenv(name)
  return text and text ~= "" and math.tointeger(tonumber(text)) or default
end
