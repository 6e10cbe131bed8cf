/* generator - random generators as Lua values. Layer: binding. */
#include "core/generator.h"

#include <stddef.h>
#include <string.h>

#include "base/error.h"
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

/***
A stream of random numbers of its own, for the option `generator` of what
draws. It has the methods `manual_seed(seed)`, which returns it; `get_state()`
and `set_state(state)`, with all of it as a string, which heed reads on
machines of one kind.
@function Generator
@param seed integer; that of a PyTorch generator never seeded by default
@return generator
@raise when seed is no integer
@usage local g = heed.Generator(5)
local state = g:get_state()
local a = heed.rand({3}, {generator = g})
g:set_state(state)
return a:equal(heed.rand({3}, {generator = g})) --> true
*/
static int new_generator(lua_State *L) {
  uint64_t seed = HEED_GENERATOR_SEED;
  if (!lua_isnoneornil(L, 1)) seed = check_seed(L, 1, "Generator");
  heed_generator *g = lua_newuserdatauv(L, sizeof *g, 0);
  memset(g, 0, sizeof *g); /* so that equal states are equal strings */
  heed_generator_seed(g, seed);
  luaL_setmetatable(L, GENERATOR);
  return 1;
}

/***
Seeds the default generator of this thread.
@function manual_seed
@param seed integer
@raise when seed is no integer
@usage heed.manual_seed(1)
return heed.randn(2) --> 0.6614 0.2669
*/
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

/* -- states: the bytes of the struct -- */

static int push_state(lua_State *L, const heed_generator *g) {
  lua_pushlstring(L, (const char *)g, sizeof *g);
  return 1;
}

/* Sets g to the state at `index`, which a file may have damaged. */
static int read_state(lua_State *L, int index, const char *what,
                      heed_generator *g) {
  heed_generator state;
  size_t n = 0;
  const char *text = lua_tolstring(L, index, &n);
  if (!text || n != sizeof state)
    return heed_bind_error(L, "%s: state must be a string of %d bytes "
                           "from get_state, got %s", what, (int)sizeof state,
                           heed_bind_describe(L, index));
  memcpy(&state, text, sizeof state);
  unsigned char flag = (unsigned char)text[offsetof(heed_generator,
                                                    has_spare)];
  if (state.next < 0 || state.next > HEED_GENERATOR_WORDS || flag > 1)
    return heed_bind_error(L, "%s: the state is damaged", what);
  memcpy(g, text, sizeof *g);
  return 0;
}

static int get_state(lua_State *L) { return push_state(L, check_self(L)); }

static int set_state(lua_State *L) {
  return read_state(L, 2, "set_state", check_self(L));
}

/***
The state of the default generator, as a string for `set_generator_state`.
@function get_generator_state
@return string
@usage local state = heed.get_generator_state()
local a = heed.randn(3)
heed.set_generator_state(state)
return a:equal(heed.randn(3)) --> true
*/
static int get_default_state(lua_State *L) {
  return push_state(L, heed_generator_default());
}

/***
Lets the default generator go on from a state.
@function set_generator_state
@param state string, of `get_generator_state` or a generator's `get_state`
@raise when it is none
@usage heed.set_generator_state(heed.Generator(1):get_state())
return heed.randn(2) --> 0.6614 0.2669
*/
static int set_default_state(lua_State *L) {
  return read_state(L, 1, "set_generator_state", heed_generator_default());
}

/* A whole number of 32 random bits, from g or the default generator. */
static int draw(lua_State *L) {
  heed_generator *g = lua_isnoneornil(L, 1) ? heed_generator_default()
                                            : check_self(L);
  lua_pushinteger(L, heed_generator_u32(g));
  return 1;
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
