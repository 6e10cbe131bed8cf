/* generator - random generators as Lua values. Layer: binding. */
#ifndef HEED_BIND_GENERATOR_H
#define HEED_BIND_GENERATOR_H

#include <lua.h>

struct heed_generator;

/* The generator at `index`, or NULL when it is none. */
struct heed_generator *heed_bind_test_generator(lua_State *L, int index);
/* Adds manual_seed, seed and Generator to the table on the top. */
void heed_bind_generators(lua_State *L);

#endif
