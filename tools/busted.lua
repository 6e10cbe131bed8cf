-- busted.lua - runs busted under the Lua that runs this file. (The `busted`
-- command takes whichever Lua the system calls `lua`.)
--
--   lua5.4 tools/busted.lua spec

require "busted.runner"({ standalone = false })
