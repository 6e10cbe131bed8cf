/*
 * paths - where the program finds heed's own Lua files and module. Layer:
 * host.
 */
#ifndef HEED_HOST_PATHS_H
#define HEED_HOST_PATHS_H

#include <lua.h>

/* Puts the directories that belong to this very program before all others in
   package.path and package.cpath: those of the prefix it is installed in, or
   of the build tree it was made in. They are found from the place of the
   program, so an installed tree can be moved. */
void heed_paths_add(lua_State *L);

#endif
