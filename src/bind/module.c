/* module - the Lua module heed.core: all parts of the binding together.
 * Layer: binding. Read first: bind.h. */
#include "base/config.h"
#include "bind/bind.h"
#include "bind/callback.h"
#include "bind/generator.h"
#include "bind/unicode.h"

HEED_API int luaopen_heed_core(lua_State *L);

/* Tells a host that asks for it how ops are interrupted. */
static void give_hooks(lua_State *L) {
  int kind = lua_getfield(L, LUA_REGISTRYINDEX, HEED_INTERRUPT_HOOKS);
  if (kind == LUA_TLIGHTUSERDATA)
    *(heed_interrupt_hooks *)lua_touserdata(L, -1) =
        (heed_interrupt_hooks){heed_interrupt, heed_interrupt_clear};
  lua_pop(L, 1);
}

int luaopen_heed_core(lua_State *L) {
  luaL_checkversion(L);
  if (!heed_init()) return luaL_error(L, "heed: %s", heed_error());
  give_hooks(L);
  lua_newtable(L);
  heed_bind_tensors(L);
  heed_bind_values(L);
  heed_bind_print(L);
  heed_bind_ops(L);
  heed_bind_autograd(L);
  heed_bind_callbacks(L);
  heed_bind_generators(L);
  heed_bind_system(L);
  heed_bind_files(L);
  heed_bind_saving(L);
  heed_bind_images(L);
  heed_bind_unicode(L);
  lua_setfield(L, -2, "unicode");
  lua_pushstring(L, HEED_VERSION);
  lua_setfield(L, -2, "version");
  return 1;
}
