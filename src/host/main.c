/*
 * main - the heed program: runs Lua scripts that find heed wherever it is
 * installed, or talks to the user. Its options are those of lua5.4 and a few
 * more. Layer: host; read call.h, paths.h and repl.h first.
 *
 * The order is that of lua5.4 too: LUA_INIT, then -e, -l and -W as they come,
 * then the script, then the user. --strict holds from behind LUA_INIT on.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "base/config.h"
#include "host/call.h"
#include "host/coroutine.h"
#include "host/paths.h"
#include "host/repl.h"

/* What the command line asks for. */
typedef struct command {
  int script;      /* where in argv the script is; argc without one */
  bool from_stdin; /* the script is a lone "-" */
  bool execute;    /* -e was given */
  bool interactive;
  bool version;
  bool full_version; /* with BLAS, instruction set and threads */
  bool no_environment;
  bool strict;
  bool doctor;
  bool help;
} command;

static const char usage[] =
    "usage: heed [options] [script [arguments]]\n"
    "       heed doctor\n"
    "  -e code       run the code\n"
    "  -l module     require the module into a global of its name\n"
    "  -l name=module  require the module into the global 'name'\n"
    "  -i            after all else, read Lua from the user\n"
    "  -v            print the version\n"
    "  -W            turn warnings on\n"
    "  -E            take nothing from the environment\n"
    "  --strict      reading a global that was never set is an error, and\n"
    "                so is setting a new one inside a function\n"
    "  --version     print the versions and what heed computes with\n"
    "  --help        print this text\n"
    "  --            end of the options\n"
    "  -             take the script from the standard input\n"
    "Without a script heed reads Lua from the user, or from what is piped "
    "in.\n"
    "'heed doctor' says what is slow on this machine and what to do.\n";

/* Reads the options. Returns the argument that is wrong, NULL if none is. */
static const char *parse(command *it, int argc, char **argv) {
  memset(it, 0, sizeof *it);
  int i = 1;
  for (; i < argc && argv[i][0] == '-'; i++) {
    const char *option = argv[i];
    if (strcmp(option, "--") == 0) {
      i++;
      break;
    }
    if (option[1] == '\0') {
      it->from_stdin = true;
      break;
    }
    if (option[1] == 'e' || option[1] == 'l') {
      it->execute |= option[1] == 'e';
      if (option[2] != '\0') continue; /* the value is attached */
      if (i + 1 >= argc || argv[i + 1][0] == '-') return option;
      i++;
    } else if (strcmp(option, "-i") == 0) {
      it->interactive = it->version = true;
    } else if (strcmp(option, "-v") == 0) {
      it->version = true;
    } else if (strcmp(option, "-E") == 0) {
      it->no_environment = true;
    } else if (strcmp(option, "--strict") == 0) {
      it->strict = true;
    } else if (strcmp(option, "--version") == 0) {
      it->full_version = true;
    } else if (strcmp(option, "--help") == 0) {
      it->help = true;
    } else if (strcmp(option, "-W") != 0) {
      return option;
    }
  }
  it->script = i < argc ? i : argc;
  /* a script of that name goes first, as it would under lua5.4 */
  it->doctor = !it->from_stdin && i == argc - 1 &&
               strcmp(argv[i], "doctor") == 0 && access(argv[i], F_OK) != 0;
  return NULL;
}

static void refuse(const char *option) {
  bool needs_value = strcmp(option, "-e") == 0 || strcmp(option, "-l") == 0;
  fprintf(stderr, "heed: %s: %s\n%s", option,
          needs_value ? "needs an argument" : "there is no such option", usage);
}

/* The global `arg`: the script at 0, its arguments after it, what stood
   before it at negative indices. Without a script, 0 is the program. */
static void set_arg(lua_State *L, int argc, char **argv, int script) {
  int origin = script == argc ? 0 : script;
  lua_newtable(L);
  for (int i = 0; i < argc; i++) {
    lua_pushstring(L, argv[i]);
    lua_rawseti(L, -2, i - origin);
  }
  lua_setglobal(L, "arg");
}

/* Runs the function, or reports the message, that a load has left. */
static bool run_loaded(lua_State *L, int status, int nargs) {
  if (status == LUA_OK) {
    lua_insert(L, -1 - nargs);
    status = heed_call(L, nargs, 0);
  }
  return heed_call_report(L, status) == LUA_OK;
}

static bool run_string(lua_State *L, const char *code, const char *name) {
  return run_loaded(L, luaL_loadbuffer(L, code, strlen(code), name), 0);
}

/* `name` NULL is the standard input. */
static bool run_file(lua_State *L, const char *name, int nargs) {
  return run_loaded(L, luaL_loadfile(L, name), nargs);
}

/* LUA_INIT holds code, or @ and the name of a file. */
static bool run_init(lua_State *L) {
  const char *name = "LUA_INIT" LUA_VERSUFFIX;
  const char *init = getenv(name);
  if (!init) init = getenv(name = "LUA_INIT");
  if (!init) return true;
  if (*init == '@') return run_file(L, init + 1, 0);
  lua_pushfstring(L, "=%s", name);
  bool ok = run_string(L, init, lua_tostring(L, -1));
  lua_pop(L, 1);
  return ok;
}

/* -l: "module" goes into a global of that name, without what follows a "-"
   (the mark of a version); "name=module" goes into the global `name`. */
static bool run_require(lua_State *L, const char *spec) {
  const char *equals = strchr(spec, '=');
  const char *module = equals ? equals + 1 : spec;
  size_t size = equals ? (size_t)(equals - spec) : strcspn(spec, "-");
  const char *global = lua_pushlstring(L, spec, size);
  lua_getglobal(L, "require");
  lua_pushstring(L, module);
  bool ok = heed_call_report(L, heed_call(L, 1, 1)) == LUA_OK;
  if (ok) lua_setglobal(L, global);
  lua_pop(L, 1);
  return ok;
}

/* Calls a function of one of heed's modules, which says whether all is well. */
static bool run_module(lua_State *L, const char *module, const char *name) {
  lua_getglobal(L, "require");
  lua_pushstring(L, module);
  if (heed_call_report(L, heed_call(L, 1, 1)) != LUA_OK) return false;
  lua_getfield(L, -1, name);
  lua_remove(L, -2);
  if (heed_call_report(L, heed_call(L, 0, 1)) != LUA_OK) return false;
  bool ok = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return ok;
}

/* Carries out -e, -l and -W, in the order in which they stand. */
static bool run_options(lua_State *L, char **argv, int end) {
  for (int i = 1; i < end; i++) {
    char option = argv[i][1];
    if (option == '-') {
      continue; /* --strict and the like */
    } else if (option == 'W') {
      lua_warning(L, "@on", 0);
    } else if (option == 'e' || option == 'l') {
      const char *value = argv[i][2] ? argv[i] + 2 : argv[++i];
      bool ok = option == 'e' ? run_string(L, value, "=(command line)")
                              : run_require(L, value);
      if (!ok) return false;
    }
  }
  return true;
}

/* The arguments come from the table `arg`, which -e or LUA_INIT may have
   changed. */
static bool run_script(lua_State *L, const char *name) {
  if (lua_getglobal(L, "arg") != LUA_TTABLE) {
    lua_pop(L, 1);
    heed_call_complain("arg: must be a table when the script starts");
    return false;
  }
  int count = (int)luaL_len(L, -1), table = lua_gettop(L);
  luaL_checkstack(L, count + LUA_MINSTACK, "too many arguments to script");
  for (int i = 1; i <= count; i++) lua_rawgeti(L, table, i);
  lua_remove(L, table);
  return run_file(L, name, count);
}

static void print_version(void) {
  printf("heed %s  %s\n", HEED_VERSION, LUA_RELEASE);
  fflush(stdout);
}

/* All the program does, in protected mode: pops argc, argv and the command,
   pushes whether it went well. */
static int run(lua_State *L) {
  int argc = (int)lua_tointeger(L, 1);
  char **argv = lua_touserdata(L, 2);
  const command *it = lua_touserdata(L, 3);
  lua_settop(L, 0);
  luaL_checkversion(L);
  if (it->version) print_version();
  if (it->no_environment) {
    /* this is how the library is told to ignore LUA_PATH and the like */
    lua_pushboolean(L, 1);
    lua_setfield(L, LUA_REGISTRYINDEX, "LUA_NOENV");
  }
  luaL_openlibs(L);
  heed_paths_add(L);
  heed_call_open(L);
  heed_coroutine_open(L);
  set_arg(L, argc, argv, it->script);
  lua_gc(L, LUA_GCGEN, 0, 0); /* as lua5.4 does */

  bool has_script = it->script < argc && !it->doctor;
  bool ok = it->no_environment || run_init(L);
  if (ok && it->strict) ok = run_module(L, "heed.strict", "start");
  if (ok && it->full_version) ok = run_module(L, "heed.doctor", "version");
  ok = ok && run_options(L, argv, it->script);
  if (ok && it->doctor) ok = run_module(L, "heed.doctor", "run");
  if (ok && has_script)
    ok = run_script(L, it->from_stdin ? NULL : argv[it->script]);
  if (ok && it->interactive) {
    heed_repl_run(L, !it->no_environment);
  } else if (ok && !has_script && !it->execute && !it->version &&
             !it->full_version && !it->doctor) {
    if (isatty(STDIN_FILENO)) {
      print_version();
      heed_repl_run(L, !it->no_environment);
    } else {
      ok = run_file(L, NULL, 0);
    }
  }
  lua_pushboolean(L, ok);
  return 1;
}

int main(int argc, char **argv) {
  command it;
  const char *wrong = parse(&it, argc, argv);
  if (wrong) {
    refuse(wrong);
    return EXIT_FAILURE;
  }
  if (it.help) {
    fputs(usage, stdout);
    return EXIT_SUCCESS;
  }
  lua_State *L = luaL_newstate();
  if (!L) {
    heed_call_complain("not enough memory to start Lua");
    return EXIT_FAILURE;
  }
  lua_pushcfunction(L, run);
  lua_pushinteger(L, argc);
  lua_pushlightuserdata(L, argv);
  lua_pushlightuserdata(L, &it);
  int status = heed_call_report(L, lua_pcall(L, 3, 1, 0));
  bool ok = status == LUA_OK && lua_toboolean(L, -1);
  lua_close(L);
  return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
