/*
 * embed_test - the module in a program that is not ours: in several Lua states
 * at once, closed in any order, in coroutines, in threads, and handed from one
 * thread to another. Finds heed by LUA_PATH and LUA_CPATH.
 */
#include <pthread.h>

#include "states.h"

/* A few steps of training, as text with all digits of the weights. */
static const char train[] =
    "local seed = ...\n"
    "local heed = require 'heed'\n"
    "local nn, F = heed.nn, heed.nn.functional\n"
    "heed.manual_seed(seed)\n"
    "local attend = nn.MultiHeadAttention(16, 4)\n"
    "local adam = heed.optim.Adam(attend:parameters(), {lr = 0.01})\n"
    "local x = heed.randn({3, 7, 16})\n"
    "for _ = 1, 12 do\n"
    "  adam:zero_grad()\n"
    "  local y = attend(x, x, x, {causal = true})\n"
    "  F.mse_loss(y, x:flip(1)):backward()\n"
    "  adam:step()\n"
    "end\n"
    "local w, text = attend.out_proj.weight:flatten(), {}\n"
    "for i = 1, #w do text[i] = ('%a'):format(w[i]:item()) end\n"
    "return table.concat(text, ' ')\n";

/* As run, when the code is to return `want`. */
static bool gives(lua_State *L, const char *code, const char *want) {
  if (!run(L, code, 0)) return false;
  const char *got = lua_tostring(L, -1);
  if (got && strcmp(got, want) == 0) return true;
  printf("# got %s\n# want %s\n", got ? got : "nil", want);
  return false;
}

/* -- several states in one thread -- */

/* A graph that waits for its backward pass. */
static const char begin[] =
    "local heed = require 'heed'\n"
    "x = heed.tensor({1.0, 2.0, 3.0}, {requires_grad = true})\n"
    "y = (x * x):exp():sum()\n"
    "return 'begun'";
static const char finish[] =
    "y:backward()\n"
    "return ('%.3f %.3f'):format(x.grad[1]:item(), x.grad[2]:item())";
static const char slopes[] = "5.437 218.393"; /* 2 x exp(x^2) */

static void check_orders(void) {
  static const int orders[][3] = {{0, 1, 2}, {2, 1, 0}, {1, 2, 0}};
  for (int k = 0; k < 3; k++) {
    lua_State *L[3];
    bool ok = true;
    for (int i = 0; i < 3; i++) {
      L[i] = open_state();
      ok = ok && gives(L[i], begin, "begun");
    }
    for (int i = 0; i < 3; i++) {
      ok = ok && gives(L[orders[k][i]], finish, slopes);
      lua_close(L[orders[k][i]]);
    }
    check(ok, "three states, closed in any order, do not see each other");
  }
}

static void check_twice(void) {
  lua_State *L = open_state();
  check(gives(L,
              "local first = require 'heed'\n"
              "local x = first.tensor({1, 2})\n"
              "for name in pairs(package.loaded) do\n"
              "  if name:find '^heed' then package.loaded[name] = nil end\n"
              "end\n"
              "local second = require 'heed'\n"
              "assert(first ~= second)\n"
              "collectgarbage()\n"
              "return tostring((second.tensor({3, 4}) + x):sum():item())",
              "10"),
        "the module loads a second time in one state");
  lua_close(L);
}

/* -- coroutines -- */

static const char coroutines[] =
    "local heed = require 'heed'\n"
    "local square = heed.autograd.Function {\n"
    "  forward = function(ctx, x) ctx:save(x) return x * x end,\n"
    "  backward = function(ctx, g) return g * ctx:saved() * 2 end}\n"
    "local x = heed.tensor({1.0, 2.0, 3.0}, {requires_grad = true})\n"
    "local lines = {}\n"
    "local make = coroutine.wrap(function()\n"
    "  for i = 1, 3 do coroutine.yield(square(x) * i) end\n"
    "end)\n"
    "for _ = 1, 3 do make():sum():backward() end\n"
    "lines[1] = ('%g'):format(x.grad[3]:item())\n"
    "local ok, said = coroutine.resume(coroutine.create(function()\n"
    "  return x:matmul(heed.zeros({4}))\n"
    "end))\n"
    "lines[2] = tostring(ok)\n"
    "for _ = 1, 2000 do\n"
    "  local left = coroutine.wrap(function()\n"
    "    local y = heed.zeros({500}) + 1\n"
    "    coroutine.yield(y)\n"
    "  end)\n"
    "  left()\n"
    "end\n"
    "lines[3] = ('%g'):format((x * 2):sum():item())\n"
    "return table.concat(lines, ' ')";

static void check_coroutines(void) {
  lua_State *L = open_state();
  /* 2 x (1 + 2 + 3) at x = 3; and the same state goes on after an error */
  check(gives(L, coroutines, "36 false 12"),
        "results, errors and left coroutines");

  /* a coroutine that C leaves behind in the midst of it */
  lua_State *co = lua_newthread(L);
  int n;
  bool ok = luaL_loadstring(co, "local heed = require 'heed'\n"
                                "local x = heed.ones({1000})\n"
                                "coroutine.yield(x + 1)") == LUA_OK &&
            lua_resume(co, L, 0, &n) == LUA_YIELD && n == 1;
  lua_settop(L, 0);
  lua_gc(L, LUA_GCCOLLECT);
  check(ok && gives(L, begin, "begun") && gives(L, finish, slopes),
        "a coroutine that is dropped while it waits");
  lua_close(L);
}

/* -- threads -- */

#define THREADS 4

typedef struct job {
  pthread_t thread;
  int seed;
  char *text;
} job;

static void *train_in_thread(void *context) {
  job *j = context;
  lua_State *L = open_state();
  j->text = text_of(L, train, j->seed);
  lua_close(L);
  return NULL;
}

static void check_threads(void) {
  char *alone[THREADS];
  for (int i = 0; i < THREADS; i++) {
    lua_State *L = open_state();
    alone[i] = text_of(L, train, i);
    lua_close(L);
  }
  job jobs[THREADS];
  for (int i = 0; i < THREADS; i++) {
    jobs[i] = (job){.seed = i};
    if (pthread_create(&jobs[i].thread, NULL, train_in_thread, &jobs[i]) != 0)
      abort();
  }
  lua_State *L = open_state(); /* this thread has work too */
  char *own = text_of(L, train, 0);
  bool ok = true;
  for (int i = 0; i < THREADS; i++) {
    pthread_join(jobs[i].thread, NULL);
    ok = ok && same(alone[i], jobs[i].text);
  }
  check(ok && same(alone[0], own) && !same(alone[0], alone[1]),
        "states in threads train at once, to the same digits as alone");
  lua_close(L);
  free(own);
  for (int i = 0; i < THREADS; i++) {
    free(jobs[i].text);
    free(alone[i]);
  }
}

/* What one thread does to a state that others go on with. */
typedef struct turn {
  lua_State *L;
  const char *code, *want;
  bool ok;
} turn;

static void *take_turn(void *context) {
  turn *t = context;
  if (!t->L) t->L = open_state();
  if (t->code) t->ok = gives(t->L, t->code, t->want);
  else lua_close(t->L);
  return NULL;
}

/* In a thread of its own, which ends before this returns. */
static bool in_thread(lua_State **L, const char *code, const char *want) {
  turn t = {*L, code, want, true};
  pthread_t thread;
  if (pthread_create(&thread, NULL, take_turn, &t) != 0) abort();
  pthread_join(thread, NULL);
  *L = t.L;
  return t.ok;
}

static void check_turns(void) {
  lua_State *L = NULL;
  bool ok = in_thread(&L, begin, "begun") && in_thread(&L, finish, slopes);
  in_thread(&L, NULL, NULL);
  check(ok, "a state is opened, used and closed by three threads");

  /* the second thread has recorded nothing yet when it goes on */
  L = NULL;
  ok = in_thread(&L,
                 "heed = require 'heed'\n"
                 "x = heed.tensor(1.0, {requires_grad = true})\n"
                 "a = x\n"
                 "for _ = 1, 50 do a = a * 1 end\n"
                 "return 'begun'", "begun") &&
       in_thread(&L,
                 "(a + a * 2):backward()\n"
                 "return tostring(x.grad:item())", "3.0");
  check(ok, "a graph that two threads have made goes back in order");
  lua_close(L);

  /* this thread goes on after its state has been closed by another */
  L = open_state();
  ok = gives(L, begin, "begun") && in_thread(&L, finish, slopes);
  in_thread(&L, NULL, NULL);
  for (int i = 0; i < 2; i++) {
    L = open_state();
    ok = ok && gives(L, begin, "begun") && gives(L, finish, slopes);
    lua_close(L);
  }
  check(ok, "a thread outlives its state");
}

/* Threads that come and go leave counts behind for states that stay. */
static void check_many_threads(void) {
  lua_State *L[8] = {NULL};
  bool ok = true;
  for (int i = 0; i < 8; i++)
    ok = ok && in_thread(&L[i],
                         "heed = require 'heed'\n"
                         "kept = heed.ones({1000, 1000})\n"
                         "return 'kept'", "kept");
  for (int round = 0; round < 3; round++)
    for (int i = 0; i < 8; i++)
      ok = ok && in_thread(&L[i],
                           "for _ = 1, 20 do kept = kept + 0 end\n"
                           "return tostring(kept:mean():item())", "1.0");
  for (int i = 7; i >= 0; i--) lua_close(L[i]);
  check(ok, "threads come and go, states stay");
}

int main(void) {
  check_orders();
  check_twice();
  check_coroutines();
  check_threads();
  check_turns();
  check_many_threads();
  return failed != 0;
}
