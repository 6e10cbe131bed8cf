/*
 * repl - the session with the user: what heed.repl, in Lua, cannot do itself.
 * Layer: host; read call.h, line.h and history.h first.
 *
 * heed.repl.run gets a table, the host:
 *
 *   terminal      are lines edited at a terminal?
 *   environment   may settings be taken from the environment?
 *   read(prompt)  a text; or nil and "stop" (Ctrl-C) or "end"
 *   remember(text)          the keys bring it back
 *   complete(f)             Tab calls f(before, after); it returns how many
 *                           characters before the cursor to delete, what to
 *                           put there, and what to list below, or nil
 *   call(f, handler, ...)   as xpcall(f, handler, ...), but Ctrl-C stops it
 *   append(path, line, limit)  to a file of history; true, or nil and why
 *   files(folder)           names in it, "/" behind those of folders; or nil
 *   columns()               of the terminal, or nil
 */
#include "host/repl.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lauxlib.h>

#include "host/call.h"
#include "host/history.h"
#include "host/line.h"

/* Names of files that a folder may show; a larger one is cut. */
#define MAX_FILES 10000

/* The first upvalue of all functions here. */
static heed_line *line_of(lua_State *L) {
  return lua_touserdata(L, lua_upvalueindex(1));
}

static int read_line(lua_State *L) {
  const char *text;
  switch (heed_line_read(line_of(L), luaL_checkstring(L, 1), &text)) {
    case HEED_LINE_READ:
      lua_pushstring(L, text);
      return 1;
    case HEED_LINE_STOP:
      lua_pushnil(L);
      lua_pushliteral(L, "stop");
      return 2;
    default:
      lua_pushnil(L);
      lua_pushliteral(L, "end");
      return 2;
  }
}

static int remember(lua_State *L) {
  heed_line_remember(line_of(L), luaL_checkstring(L, 1));
  return 0;
}

/* Calls the Lua function, which is in the registry under the line's address.
   One that fails completes nothing. */
static void complete(heed_line *line, void *data, const char *before,
                     const char *after) {
  lua_State *L = data;
  int top = lua_gettop(L);
  if (!lua_checkstack(L, LUA_MINSTACK)) return;
  lua_rawgetp(L, LUA_REGISTRYINDEX, line);
  lua_pushstring(L, before);
  lua_pushstring(L, after);
  if (lua_pcall(L, 2, 3, 0) == LUA_OK) {
    const char *text = lua_tostring(L, -2), *list = lua_tostring(L, -1);
    heed_line_replace(line, (int)lua_tointeger(L, -3), text ? text : "");
    if (list) heed_line_list(line, list);
  }
  lua_settop(L, top);
}

static int set_completer(lua_State *L) {
  heed_line *line = line_of(L);
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_pushvalue(L, 1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, line);
  /* Tab is pressed while this very coroutine, the main one, reads a line */
  heed_line_set_completer(line, complete, L);
  return 0;
}

static int guarded_call(lua_State *L) {
  luaL_checkany(L, 2);
  lua_pushvalue(L, 2); /* the handler goes below the function */
  lua_insert(L, 1);
  lua_remove(L, 3);
  int status = heed_call_guarded(L, lua_gettop(L) - 2, LUA_MULTRET, 1, true);
  lua_pushboolean(L, status == LUA_OK);
  lua_replace(L, 1);
  return lua_gettop(L);
}

static int append(lua_State *L) {
  size_t size;
  const char *path = luaL_checkstring(L, 1);
  const char *text = luaL_checklstring(L, 2, &size);
  size_t limit = (size_t)luaL_checkinteger(L, 3);
  bool ok = heed_history_append(path, text, size, limit);
  return luaL_fileresult(L, ok, path);
}

static bool is_folder(int parent, const struct dirent *entry) {
  struct stat found;
  return fstatat(parent, entry->d_name, &found, 0) == 0 &&
         S_ISDIR(found.st_mode);
}

static int list_files(lua_State *L) {
  DIR *folder = opendir(luaL_checkstring(L, 1));
  if (!folder) return luaL_fileresult(L, 0, lua_tostring(L, 1));
  lua_newtable(L);
  const struct dirent *entry;
  for (int i = 1; i <= MAX_FILES && (entry = readdir(folder)) != NULL;) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
      continue;
    lua_pushfstring(L, "%s%s", entry->d_name,
                    is_folder(dirfd(folder), entry) ? "/" : "");
    lua_rawseti(L, -2, i++);
  }
  closedir(folder);
  return 1;
}

static int columns(lua_State *L) {
  struct winsize size;
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col == 0) return 0;
  lua_pushinteger(L, size.ws_col);
  return 1;
}

static void push_host(lua_State *L, heed_line *line, bool environment) {
  static const luaL_Reg functions[] = {
      {"read", read_line},         {"remember", remember},
      {"complete", set_completer}, {"call", guarded_call},
      {"append", append},          {"files", list_files},
      {"columns", columns},        {NULL, NULL}};
  lua_newtable(L);
  lua_pushlightuserdata(L, line);
  luaL_setfuncs(L, functions, 1);
  lua_pushboolean(L, heed_line_is_edited(line));
  lua_setfield(L, -2, "terminal");
  lua_pushboolean(L, environment);
  lua_setfield(L, -2, "environment");
}

static int run_session(lua_State *L) {
  heed_line *line = lua_touserdata(L, 1);
  bool environment = lua_toboolean(L, 2);
  lua_settop(L, 0);
  lua_getglobal(L, "require");
  lua_pushliteral(L, "heed.repl");
  lua_call(L, 1, 1);
  lua_getfield(L, -1, "run");
  push_host(L, line, environment);
  lua_call(L, 1, 0);
  return 0;
}

void heed_repl_run(lua_State *L, bool environment) {
  heed_line *line = heed_line_new();
  if (!line) {
    heed_call_complain("not enough memory to read lines");
    return;
  }
  lua_pushcfunction(L, run_session);
  lua_pushlightuserdata(L, line);
  lua_pushboolean(L, environment);
  heed_call_report(L, lua_pcall(L, 2, 0, 0));
  heed_line_drop(line);
  putchar('\n');
  fflush(stdout);
}
