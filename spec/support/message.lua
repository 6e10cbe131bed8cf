--- message: the text of the error that a call raises, without its place.

--- Calls f(...), which must raise, and returns the message.
return function(f, ...)
  local ok, text = pcall(f, ...)
  assert(not ok, "no error was raised")
  return (tostring(text):gsub("^[^:]*:%d+: ", ""))
end
