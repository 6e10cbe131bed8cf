/*
 * memory_test - what happens when memory runs out, at every request in turn.
 *
 * The program holds a Lua state and the whole of heed, whose requests for
 * memory the linker turns to the functions below (--wrap in CMakeLists.txt).
 * A script is run with request 1 failing, then with request 2, and so on until
 * it passes: each time there is an error that says so, or the right result;
 * then the same script gives the right result in the same state, and no
 * memory is lost.
 *
 *     memory_test FOLDER [SCRIPT]
 *
 * FOLDER is for files. A few requests of each script are tried; with
 * HEED_LONG, all of them.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "base/error.h"
#include "base/memory.h"

#include "../c/report.h"

int luaopen_heed_core(lua_State *L);

/* Lua forgets a finaliser that it has no memory to call, and what that would
   have freed; leaks of heed's own are looked for below. */
__attribute__((visibility("default"))) const char *
__asan_default_options(void);
const char *__asan_default_options(void) { return "detect_leaks=0"; }

/* -- requests that fail -- */

/* Lua asks a second time, behind a collection, for what it did not get. */
typedef enum mode {
  ONCE,   /* one request */
  TWICE,  /* a request and the next one */
  OURS,   /* a request of heed's and all that follow; Lua gets what it wants */
  RELIEF, /* one of heed_mem_alloc, which is served behind its relief */
  ON,     /* a request and all that follow, also Lua's */
  NMODE
} mode;

static const char *const mode_names[] = {"once", "twice", "in C from then on",
                                         "until memory is given back",
                                         "from then on"};

static struct {
  mode mode;
  bool armed;
  long at, count; /* fails at this request, of so many until now */
} fault;

static heed_mem_relief *relief;

static void arm(mode m, long at) {
  fault.mode = m;
  fault.at = at;
  fault.count = 0;
  fault.armed = true;
}

static bool fails(bool lua) {
  if (!fault.armed || fault.mode == RELIEF || (lua && fault.mode == OURS))
    return false;
  long past = ++fault.count - fault.at;
  return past == 0 || (past == 1 && fault.mode == TWICE) ||
         (past > 0 && (fault.mode == ON || fault.mode == OURS));
}

void *__real_heed_mem_alloc(size_t bytes);
void *__wrap_heed_mem_alloc(size_t bytes);
void *__wrap_heed_mem_alloc(size_t bytes) {
  if (fault.armed && fault.mode == RELIEF) {
    if (++fault.count == fault.at && relief) relief();
  } else if (fails(false)) {
    if (fault.mode != ONCE && relief) relief();
    heed_fail_memory(bytes);
    return NULL;
  }
  return __real_heed_mem_alloc(bytes);
}

void __real_heed_mem_set_relief(heed_mem_relief *f);
void __wrap_heed_mem_set_relief(heed_mem_relief *f);
void __wrap_heed_mem_set_relief(heed_mem_relief *f) {
  relief = f;
  __real_heed_mem_set_relief(f);
}

/* The other requests of heed's own files. */
#define WRAP(name, parameters, arguments)      \
  void *__real_##name parameters;              \
  void *__wrap_##name parameters;              \
  void *__wrap_##name parameters {             \
    if (!fails(false)) return __real_##name arguments; \
    errno = ENOMEM;                            \
    return NULL;                               \
  }
WRAP(malloc, (size_t n), (n))
WRAP(calloc, (size_t n, size_t size), (n, size))
WRAP(realloc, (void *old, size_t n), (old, n))
WRAP(strdup, (const char *text), (text))
WRAP(strndup, (const char *text, size_t n), (text, n))

static void *lua_alloc(void *unused, void *block, size_t before, size_t n) {
  (void)unused;
  if (n == 0) {
    free(block);
    return NULL;
  }
  /* Lua relies on it that a block can become smaller */
  if ((!block || n > before) && fails(true)) return NULL;
  return __real_realloc(block, n);
}

/* -- one script -- */

/* Runs script `name`, in stack slot 1 its table; leaves text or message. */
static int run(lua_State *L, const char *name) {
  lua_settop(L, 1);
  lua_getfield(L, 1, name);
  return lua_pcall(L, 0, 1, 0);
}

static size_t used(lua_State *L) {
  lua_gc(L, LUA_GCCOLLECT);
  lua_gc(L, LUA_GCCOLLECT);
  return heed_mem_get_stats().used;
}

static bool says_so(const char *message) {
  return message && (strstr(message, "not enough memory") ||
                     strstr(message, "out of memory") ||
                     strstr(message, "Cannot allocate memory"));
}

/* A script that is tried: what it gives, and the memory that it leaves. */
typedef struct trial {
  lua_State *L;
  const char *name, *want;
  size_t before;
} trial;

/* 1: the fault struck, and all was well; 0: there was no such request; -1:
   something was wrong, and has been reported. */
static int strike(const trial *t, mode m, long at) {
  lua_State *L = t->L;
  char what[160];
  snprintf(what, sizeof what, "%s without request %ld, %s", t->name, at,
           mode_names[m]);
  arm(m, at);
  int status = run(L, t->name);
  fault.armed = false;
  bool struck = fault.count >= at;
  const char *text = lua_tostring(L, -1);
  bool right = status == LUA_OK && text && strcmp(text, t->want) == 0;
  bool ok = right || (m != RELIEF && status != LUA_OK && says_so(text));
  if (!ok) {
    REPORT(false, what, "%s", text ? text : luaL_typename(L, -1));
    return -1;
  }
  if (!struck) return 0;
  status = run(L, t->name);
  text = lua_tostring(L, -1);
  if (status != LUA_OK || !text || strcmp(text, t->want) != 0) {
    REPORT(false, what, "afterwards: %s", text ? text : "no text");
    return -1;
  }
  return 1;
}

/* Requests that are tried: all, or the first ones and some of the others. */
static long next(long at, bool all) {
  return all || at < 12 ? at + 1 : at + at / 3 + 1;
}

/* Has everything been given back? Nothing is said of mode ON, in which Lua
   forgets finalisers. */
static bool given_back(trial *t, mode m) {
  lua_settop(t->L, 1);
  size_t left = used(t->L);
  if (m == ON || left == t->before) return true;
  REPORT(false, t->name, "%zu bytes are used behind those that failed %s, "
         "%zu were", left, mode_names[m], t->before);
  return false;
}

static void try_script(lua_State *L, const char *name, bool all) {
  /* twice, so that what is loaded and kept for later is there */
  if (run(L, name) != LUA_OK || run(L, name) != LUA_OK) {
    REPORT(false, name, "%s", lua_tostring(L, -1));
    return;
  }
  char *want = __real_strdup(lua_tostring(L, -1));
  trial t = {L, name, want, used(L)};
  int struck = 0;
  bool ok = true;
  for (mode m = 0; m < NMODE && ok; m++) {
    int last = 1;
    for (long at = 1; last > 0; at = next(at, all)) {
      last = strike(&t, m, at);
      struck += last > 0;
    }
    ok = last == 0 && given_back(&t, m);
  }
  if (ok) printf("ok %s, %d times\n", name, struck);
  free(want);
}

/* -- a state -- */

/* A state with heed and the table of scripts in slot 1, their names in 2. */
static bool open_state(lua_State *L) {
  luaL_openlibs(L);
  lua_getglobal(L, "package");
  lua_getfield(L, -1, "preload");
  lua_pushcfunction(L, luaopen_heed_core);
  lua_setfield(L, -2, "heed.core");
  lua_settop(L, 0);
  if (luaL_dostring(L, "local s = dofile 'spec/robust/memory/scripts.lua'\n"
                       "require 'heed'.set_num_threads(1)\n"
                       "return s.scripts, s.order") != LUA_OK) {
    printf("not ok opening: %s\n", lua_tostring(L, -1));
    return false;
  }
  return true;
}

int main(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: memory_test FOLDER [SCRIPT]\n");
    return 2;
  }
  setenv("HEED_MEMORY_FOLDER", argv[1], 1);
  bool all = getenv("HEED_LONG") != NULL;
  lua_State *L = lua_newstate(lua_alloc, NULL);
  if (!L || !open_state(L)) return 1;
  int n = (int)lua_rawlen(L, 2);
  char *names[64];
  for (int i = 0; i < n; i++) {
    lua_rawgeti(L, 2, i + 1);
    names[i] = __real_strdup(lua_tostring(L, -1));
    lua_pop(L, 1);
  }
  for (int i = 0; i < n; i++) {
    if (argc < 3 || strcmp(argv[2], names[i]) == 0)
      try_script(L, names[i], all);
    free(names[i]);
  }
  lua_close(L);
  return failed > 0;
}
