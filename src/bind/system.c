/* system - threads, memory, time and what is in use. Layer: binding. */
#define _GNU_SOURCE
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <cblas.h>

#include "base/error.h"
#include "base/memory.h"
#include "bind/bind.h"
#include "kernel/kernel.h"

char *openblas_get_corename(void);
char *openblas_get_config(void);

static int set_num_threads(lua_State *L) {
  int ok;
  lua_Integer n = lua_tointegerx(L, 1, &ok);
  if (!ok || n < 1 || n > 1024)
    return heed_bind_error(L, "set_num_threads: n must be an integer from 1 to "
                           "1024, got %s", heed_bind_describe(L, 1));
  heed_set_num_threads((int)n);
  return 0;
}

static int get_num_threads(lua_State *L) {
  lua_pushinteger(L, heed_get_num_threads());
  return 1;
}

static void field(lua_State *L, const char *key, const char *value) {
  lua_pushstring(L, value);
  lua_setfield(L, -2, key);
}

static int config(lua_State *L) {
  lua_newtable(L);
  field(L, "isa", heed_kernel_isa);
  field(L, "blas", openblas_get_config());
  field(L, "blas_kernel", openblas_get_corename());
  lua_pushinteger(L, heed_get_num_threads());
  lua_setfield(L, -2, "threads");
  return 1;
}

static void bytes(lua_State *L, const char *key, size_t value) {
  lua_pushinteger(L, (lua_Integer)value);
  lua_setfield(L, -2, key);
}

/* {used =, peak =, reserved =} in bytes */
static int memory_stats(lua_State *L) {
  heed_mem_stats s = heed_mem_get_stats();
  lua_newtable(L);
  bytes(L, "used", s.used);
  bytes(L, "peak", s.peak);
  bytes(L, "reserved", s.reserved);
  return 1;
}

static int memory_trim(lua_State *L) {
  (void)L;
  heed_mem_trim();
  return 0;
}

static int memory_reset_peak(lua_State *L) {
  (void)L;
  heed_mem_reset_peak();
  return 0;
}

/* Seconds of a clock that only goes forward. */
static int now(lua_State *L) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  lua_pushnumber(L, (lua_Number)t.tv_sec + (lua_Number)t.tv_nsec * 1e-9);
  return 1;
}

static int is_terminal(lua_State *L) {
  luaL_Stream *s = luaL_checkudata(L, 1, LUA_FILEHANDLE);
  lua_pushboolean(L, s->closef && isatty(fileno(s->f)));
  return 1;
}

/* set_home(folder): heed's own Lua files, which errors do not point at */
static int set_home(lua_State *L) {
  luaL_checkstring(L, 1);
  lua_settop(L, 1);
  lua_setfield(L, LUA_REGISTRYINDEX, HEED_HOME);
  return 0;
}

void heed_bind_system(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"set_num_threads", set_num_threads},
      {"get_num_threads", get_num_threads},
      {"config", config},
      {"memory_stats", memory_stats},
      {"memory_trim", memory_trim},
      {"memory_reset_peak", memory_reset_peak},
      {"time", now},
      {"isatty", is_terminal},
      {"set_home", set_home},
      {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
