/*
 * call - protected calls as the program makes them. Layer: host.
 *
 * Ctrl-C cannot raise an error where it arrives: the interpreter may be in
 * the middle of anything. The signal asks the op that may be running to give
 * up, and sets a hook, which raises the error before the next Lua instruction
 * unless an op has failed already. A hook belongs to one coroutine, so it is
 * kept in mind which one runs; see coroutine.c.
 */
#include "host/call.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <lauxlib.h>

#include "heed.h"

/* the coroutine that a Ctrl-C stops: the one that runs */
static lua_State *volatile running;

static void ask_nobody(void) {}
static bool nobody_gave_up(void) { return true; }

/* The program itself does without the library: the module, when it is loaded,
   puts its functions here. */
static heed_interrupt_hooks hooks = {ask_nobody, nobody_gave_up};

void heed_call_open(lua_State *L) {
  lua_pushlightuserdata(L, &hooks);
  lua_setfield(L, LUA_REGISTRYINDEX, HEED_INTERRUPT_HOOKS);
}

static void raise_interrupt(lua_State *L, lua_Debug *where) {
  (void)where;
  lua_sethook(L, NULL, 0, 0);
  if (hooks.clear()) luaL_error(L, "interrupted!");
}

static void stop(lua_State *L) {
  lua_sethook(L, raise_interrupt,
              LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT, 1);
}

static void on_interrupt(int number) {
  (void)number;
  hooks.ask();
  stop(running);
}

void heed_call_switch(lua_State *from, lua_State *to) {
  if (!running) return; /* no call of ours: nothing to stop */
  running = to;
  if (lua_gethook(from) == raise_interrupt) {
    lua_sethook(from, NULL, 0, 0);
    stop(to);
  }
}

int heed_call_guarded(lua_State *L, int nargs, int nresults, int handler,
                      bool survives) {
  /* No restart: a pending read must end. */
  struct sigaction action, before;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_interrupt;
  action.sa_flags = survives ? 0 : (int)SA_RESETHAND;
  sigemptyset(&action.sa_mask);
  lua_State *outer = running;
  running = L;
  sigaction(SIGINT, &action, &before);

  int status = lua_pcall(L, nargs, nresults, handler);

  sigaction(SIGINT, &before, NULL);
  running = outer;
  /* a Ctrl-C that came too late for the call is void */
  if (lua_gethook(L) == raise_interrupt) lua_sethook(L, NULL, 0, 0);
  hooks.clear();
  return status;
}

/* The message handler: turns the error object into what the user reads. */
static int describe(lua_State *L) {
  const char *message = lua_tostring(L, 1);
  if (!message) {
    if (luaL_callmeta(L, 1, "__tostring") && lua_isstring(L, -1)) return 1;
    message =
        lua_pushfstring(L, "(error object is a %s value)", luaL_typename(L, 1));
  }
  luaL_traceback(L, L, message, 1);
  return 1;
}

int heed_call(lua_State *L, int nargs, int nresults) {
  int function = lua_gettop(L) - nargs;
  lua_pushcfunction(L, describe);
  lua_insert(L, function);
  int status = heed_call_guarded(L, nargs, nresults, function, false);
  lua_remove(L, function);
  return status;
}

void heed_call_complain(const char *message) {
  fflush(stdout);
  fprintf(stderr, "heed: %s\n", message);
  fflush(stderr);
}

int heed_call_report(lua_State *L, int status) {
  if (status != LUA_OK) {
    const char *message = lua_tostring(L, -1);
    heed_call_complain(message ? message : "(error without a message)");
    lua_pop(L, 1);
  }
  return status;
}
