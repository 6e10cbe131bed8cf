--- The C core, or an empty table: pictures and progress bars only ask it for
-- what plain Lua does not have, and work without.
local loaded, core = pcall(require, "heed.core")
return loaded and type(core) == "table" and core or {}
