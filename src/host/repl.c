/*
 * repl - reads Lua from the user, runs it and prints what it gives. Layer:
 * host; read call.h and line.h first.
 *
 * A line is first tried as an expression ("return " before it), then as a
 * statement. While the compiler stops at the end of the text, the statement
 * is not complete and another line is asked for.
 */
#include "host/repl.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <lauxlib.h>

#include "host/call.h"
#include "host/line.h"

#define PROMPT "heed> "
#define PROMPT_MORE "   >> "

/* The global `heed`, unless a script has made another use of the name. */
static void load_heed(lua_State *L) {
  if (lua_getglobal(L, "heed") == LUA_TNIL) {
    lua_getglobal(L, "require");
    lua_pushliteral(L, "heed");
    if (heed_call_report(L, heed_call(L, 1, 1)) == LUA_OK)
      lua_setglobal(L, "heed");
  }
  lua_settop(L, 0);
}

/* Asks for a line and pushes it. The prompts are those of lua5.4: _PROMPT and
   _PROMPT2, if they are strings, replace ours. */
static heed_line_status ask(lua_State *L, heed_line *line, bool first) {
  const char *prompt = first ? PROMPT : PROMPT_MORE, *text;
  if (lua_getglobal(L, first ? "_PROMPT" : "_PROMPT2") == LUA_TSTRING)
    prompt = lua_tostring(L, -1);
  heed_line_status status = heed_line_read(line, prompt, &text);
  lua_pop(L, 1);
  if (status == HEED_LINE_READ) lua_pushstring(L, text);
  return status;
}

/* Compiles "return " and the text at index 1. Leaves the function on success
   and nothing on failure. */
static bool compile_expression(lua_State *L) {
  const char *text = lua_tostring(L, 1);
  if (*text == '=') text++; /* "=x", a habit from older versions of Lua */
  const char *code = lua_pushfstring(L, "return %s", text);
  int status = luaL_loadbuffer(L, code, strlen(code), "=stdin");
  lua_remove(L, 2);
  if (status != LUA_OK) lua_pop(L, 1);
  return status == LUA_OK;
}

/* True if the compiler wanted more than it got: its message, on the top of
   the stack, says so at its end. */
static bool is_incomplete(lua_State *L, int status) {
  static const char mark[] = "<eof>";
  size_t size, mark_size = sizeof mark - 1;
  if (status != LUA_ERRSYNTAX) return false;
  const char *message = lua_tolstring(L, -1, &size);
  return size >= mark_size && strcmp(message + size - mark_size, mark) == 0;
}

/* Compiles the statement that starts with the text at index 1, reading on as
   long as it is incomplete. Leaves the function or the message above it. */
static heed_line_status compile_statement(lua_State *L, heed_line *line,
                                          int *status) {
  for (;;) {
    size_t size;
    const char *text = lua_tolstring(L, 1, &size);
    *status = luaL_loadbuffer(L, text, size, "=stdin");
    if (!is_incomplete(L, *status)) return HEED_LINE_READ;

    heed_line_status read = ask(L, line, false);
    if (read == HEED_LINE_END) return HEED_LINE_READ; /* show the message */
    if (read == HEED_LINE_STOP) return read;
    lua_remove(L, 2); /* the message */
    lua_pushliteral(L, "\n");
    lua_insert(L, 2);
    lua_concat(L, 3);
  }
}

/* Prints the values on the stack, which takes them off. */
static void show_results(lua_State *L) {
  int count = lua_gettop(L);
  if (count == 0) return;
  luaL_checkstack(L, LUA_MINSTACK, "too many results to print");
  lua_getglobal(L, "print");
  lua_insert(L, 1);
  heed_call_report(L, heed_call(L, count, 0));
}

/* Reads and runs one chunk. False at the end of input. */
static bool serve(lua_State *L, heed_line *line) {
  int status = LUA_OK;
  lua_settop(L, 0);
  heed_line_status read = ask(L, line, true);
  if (read == HEED_LINE_READ && !compile_expression(L))
    read = compile_statement(L, line, &status);
  if (read == HEED_LINE_END) return false;
  if (read == HEED_LINE_STOP) return true;

  lua_remove(L, 1); /* the text */
  if (status == LUA_OK) status = heed_call(L, 0, LUA_MULTRET);
  if (heed_call_report(L, status) == LUA_OK) show_results(L);
  return true;
}

void heed_repl_run(lua_State *L) {
  heed_line *line = heed_line_new();
  if (!line) {
    heed_call_complain("not enough memory to read lines");
    return;
  }
  load_heed(L);
  while (serve(L, line)) continue;
  lua_settop(L, 0);
  heed_line_drop(line);
  putchar('\n');
  fflush(stdout);
}
