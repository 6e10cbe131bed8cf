-- busted.lua - runs busted under the Lua that runs this file. (The `busted`
-- command takes the one that .busted names.)
--
--   lua5.4 tools/busted.lua spec

table.insert(arg, 1, "--ignore-lua")
require "busted.runner"({ standalone = false })
