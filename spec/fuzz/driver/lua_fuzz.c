/*
 * lua_fuzz - any bytes for a reader that is written in Lua. Read first:
 * libFuzzer's manual.
 *
 * Built once for each script beside it (json.lua is none), which returns
 *   run(bytes, folder)  reads them; may raise, or return nil and a message
 *   seeds()             a list of texts to start from
 *   setup(folder)       optional: writes what `run` needs beside its file
 *   mutate              optional: a function as json.lua has it
 * A message of Lua's own, such as "attempt to index a nil value", is a finding
 * as a crash is: a reader is to say what is wrong with the file. So is memory
 * that a state does not give back when it closes. libFuzzer is told which lines
 * of Lua run, so that it looks for inputs that reach others.
 */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "base/memory.h"

#define LIMIT ((size_t)256 << 20) /* bytes of a state */
#define ROUND 2000                /* inputs that a state is used for */
#define LINES 65536

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max,
                               unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
int luaopen_heed_core(lua_State *L);

__attribute__((section("__libfuzzer_extra_counters")))
static uint8_t lines[LINES];

static char folder[] = "/tmp/heed-fuzz-XXXXXX";
static size_t used;     /* bytes of the state */
static size_t tensors;  /* bytes in use before there was one */
static lua_State *state; /* with the script's table on its stack */

static void *allocate(void *user, void *block, size_t old, size_t size) {
  (void)user;
  if (!block) old = 0;
  if (size == 0) {
    free(block);
    used -= old;
    return NULL;
  }
  if (used - old + size > LIMIT) return NULL;
  void *new = realloc(block, size);
  if (new) used += size - old;
  return new;
}

static void count_line(lua_State *L, lua_Debug *ar) {
  lua_getinfo(L, "S", ar);
  uintptr_t place = (uintptr_t)ar->source / 16 * 31 +
                    (unsigned)ar->currentline * 2654435761u;
  uint8_t *n = &lines[place % LINES];
  if (*n < UINT8_MAX) ++*n;
}

static void stop(const char *what) {
  fprintf(stderr, "lua_fuzz: %s\n", what);
  abort();
}

/* Calls the function on the stack, which must not fail. */
static void call(lua_State *L, int arguments, int results) {
  if (lua_pcall(L, arguments, results, 0) != LUA_OK)
    stop(lua_tostring(L, -1));
}

static void open_state(void) {
  tensors = heed_mem_get_stats().used;
  lua_State *L = lua_newstate(allocate, NULL);
  if (!L) stop("no memory");
  luaL_openlibs(L);
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
  lua_pushcfunction(L, luaopen_heed_core);
  lua_setfield(L, -2, "heed.core");
  lua_getglobal(L, "package");
  lua_pushliteral(L, HEED_SOURCE "/lua/?.lua;" HEED_SOURCE
                     "/lua/?/init.lua;" HEED_SOURCE "/?.lua");
  lua_setfield(L, -2, "path");
  lua_settop(L, 0);
  if (luaL_loadfile(L, HEED_SCRIPT) != LUA_OK) stop(lua_tostring(L, -1));
  call(L, 0, 1);
  if (lua_getfield(L, 1, "setup") == LUA_TFUNCTION) {
    lua_pushstring(L, folder);
    call(L, 1, 0);
  }
  lua_settop(L, 1);
  lua_sethook(L, count_line, LUA_MASKLINE, 0);
  state = L;
}

static void close_state(void) {
  lua_close(state);
  state = NULL;
  if (used != 0) stop("memory of Lua is lost");
  if (heed_mem_get_stats().used != tensors) stop("memory of tensors is lost");
}

static void write_seeds(lua_State *L, const char *to) {
  lua_getfield(L, 1, "seeds");
  call(L, 0, 1);
  for (lua_Integer i = 1; lua_geti(L, 2, i) == LUA_TSTRING; i++) {
    char path[512];
    size_t size;
    const char *text = lua_tolstring(L, -1, &size);
    snprintf(path, sizeof path, "%s/%lld", to, (long long)i);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(text, 1, size, f) != size || fclose(f) != 0)
      stop("a seed cannot be written");
    lua_pop(L, 1);
  }
  lua_settop(L, 1);
}

static void clean_up(void) {
  char line[64];
  snprintf(line, sizeof line, "rm -rf %s", folder);
  if (system(line) != 0) fprintf(stderr, "%s stays\n", folder);
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  if (!mkdtemp(folder)) stop("no folder");
  atexit(clean_up);
  open_state();
  const char *to = getenv("HEED_FUZZ_SEEDS");
  if (to) write_seeds(state, to);
  return 0;
}

/* Is a message, if there is one on the top, of a fault in Lua? */
static void check_message(lua_State *L) {
  static const char *const faults[] = {"attempt to ", "bad argument #",
                                       "stack overflow", "C stack"};
  const char *text = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
    if (strstr(text, faults[i])) stop(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static int count;
  if (!state) open_state();
  lua_getfield(state, 1, "run");
  lua_pushlstring(state, (const char *)data, size);
  lua_pushstring(state, folder);
  lua_pcall(state, 2, 2, 0); /* the message or the second result */
  check_message(state);
  lua_settop(state, 1);
  if (++count % ROUND == 0) close_state();
  return 0;
}

/* Half of the time the script's own way, which keeps the form of a text. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max,
                               unsigned seed) {
  if (!state) open_state();
  if (seed % 2 || lua_getfield(state, 1, "mutate") != LUA_TFUNCTION) {
    lua_settop(state, 1);
    return LLVMFuzzerMutate(data, size, max);
  }
  lua_sethook(state, NULL, 0, 0); /* its lines are not the reader's */
  lua_pushlstring(state, (const char *)data, size);
  lua_pushinteger(state, seed);
  size_t length = 0;
  const char *text = NULL;
  if (lua_pcall(state, 2, 1, 0) == LUA_OK)
    text = lua_tolstring(state, -1, &length);
  bool fits = text && length > 0 && length <= max;
  if (fits) memcpy(data, text, length);
  lua_sethook(state, count_line, LUA_MASKLINE, 0);
  lua_settop(state, 1);
  return fits ? length : LLVMFuzzerMutate(data, size, max);
}
