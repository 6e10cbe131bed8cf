--[[
Builds the site of the documentation: the pages of docs/, and a reference made
of the doc comments. tools/docs runs this with the module that was built:

    lua5.4 tools/site/main.lua ROOT TARGET

where ROOT holds the sources, and the folder TARGET is written. It fails where
a link leads nowhere.
]]

local root <const>, target <const> = arg[1], arg[2]
package.path = ("%s/?.lua;%s/lua/?.lua;%s/lua/?/init.lua;%s"):format(root,
  root, root, package.path)

local build = require "tools.site.build"
local check = require "tools.site.check"
local heed = require "heed"

local files <const> = build.write(root, target, heed)
local faults <const> = check.links(target, files)
for _, fault in ipairs(faults) do io.stderr:write(fault, "\n") end
if #faults > 0 then os.exit(1) end
print(("%d pages: %s/index.html"):format(#files, target))
