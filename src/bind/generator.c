/* generator - random generators as Lua values. Layer: binding. */
#include "core/generator.h"

#include <string.h>

#include "bind/bind.h"
#include "bind/generator.h"

#define GENERATOR "heed.generator"

heed_generator *heed_bind_test_generator(lua_State *L, int index) {
  return luaL_testudata(L, index, GENERATOR);
}

static uint64_t check_seed(lua_State *L, int index, const char *what) {
  int ok = 0;
  lua_Integer seed = 0;
  if (lua_type(L, index) == LUA_TNUMBER)
    seed = lua_tointegerx(L, index, &ok);
  if (!ok)
    heed_bind_error(L, "%s: seed must be an integer, got %s", what,
                    heed_bind_describe(L, index));
  return (uint64_t)seed;
}

static heed_generator *check_self(lua_State *L) {
  return luaL_checkudata(L, 1, GENERATOR);
}

/* Generator([seed]) */
static int new_generator(lua_State *L) {
  uint64_t seed = HEED_GENERATOR_SEED;
  if (!lua_isnoneornil(L, 1)) seed = check_seed(L, 1, "Generator");
  heed_generator *g = lua_newuserdatauv(L, sizeof *g, 0);
  heed_generator_seed(g, seed);
  luaL_setmetatable(L, GENERATOR);
  return 1;
}

static int manual_seed(lua_State *L) {
  heed_generator_seed(heed_generator_default(),
                      check_seed(L, 1, "manual_seed"));
  return 0;
}

/* g:manual_seed(seed) -> g */
static int seed_self(lua_State *L) {
  heed_generator *g = check_self(L);
  heed_generator_seed(g, check_seed(L, 2, "manual_seed"));
  lua_settop(L, 1);
  return 1;
}

/* The whole state as a string, for saving. */
static int get_state(lua_State *L) {
  const heed_generator *g = check_self(L);
  lua_pushlstring(L, (const char *)g, sizeof *g);
  return 1;
}

static int set_state(lua_State *L) {
  heed_generator *g = check_self(L), state;
  size_t n = 0;
  const char *text = lua_tolstring(L, 2, &n);
  if (!text || n != sizeof state)
    return heed_bind_error(L, "set_state: state must be a string of %d bytes "
                           "from get_state, got %s", (int)sizeof state,
                           heed_bind_describe(L, 2));
  memcpy(&state, text, sizeof state);
  if (state.next < 0 || state.next > HEED_GENERATOR_WORDS)
    return heed_bind_error(L, "set_state: the state is damaged");
  *g = state;
  return 0;
}

/* A whole number of 32 random bits, from g or the default generator. */
static int draw(lua_State *L) {
  heed_generator *g = lua_isnoneornil(L, 1) ? heed_generator_default()
                                            : check_self(L);
  lua_pushinteger(L, heed_generator_u32(g));
  return 1;
}

/* The default generator's state, as get_state and set_state. */
static int get_default_state(lua_State *L) {
  const heed_generator *g = heed_generator_default();
  lua_pushlstring(L, (const char *)g, sizeof *g);
  return 1;
}

static int set_default_state(lua_State *L) {
  lua_pushcfunction(L, set_state);
  heed_generator *g = lua_newuserdatauv(L, sizeof *g, 0);
  luaL_setmetatable(L, GENERATOR);
  lua_pushvalue(L, 1);
  lua_pushvalue(L, -2);
  lua_insert(L, 1); /* keeps the new state below the call */
  lua_call(L, 2, 0);
  *heed_generator_default() = *(heed_generator *)lua_touserdata(L, 1);
  return 0;
}

void heed_bind_generators(lua_State *L) {
  static const luaL_Reg methods[] = {{"manual_seed", seed_self},
                                     {"get_state", get_state},
                                     {"set_state", set_state},
                                     {"draw", draw},
                                     {NULL, NULL}};
  static const luaL_Reg functions[] = {
      {"Generator", new_generator},
      {"manual_seed", manual_seed},
      {"get_generator_state", get_default_state},
      {"set_generator_state", set_default_state},
      {"draw", draw},
      {NULL, NULL}};
  luaL_newmetatable(L, GENERATOR);
  luaL_newlib(L, methods);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
  luaL_setfuncs(L, functions, 0);
}
