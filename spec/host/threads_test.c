/*
 * threads_test - Lua states in several threads, while others do their worst:
 * every number is that of a state that is alone. Finds heed by LUA_PATH and
 * LUA_CPATH.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "states.h"

#define STATES 3

/* Ops with scratch for each thread of the pool, loops that may be given up,
   LAPACK, training: all digits of what came out. */
static const char work[] =
    "local seed = ...\n"
    "local heed = require 'heed'\n"
    "local nn, F, linalg = heed.nn, heed.nn.functional, heed.linalg\n"
    "heed.manual_seed(seed)\n"
    "local said = {}\n"
    "local function note(x)\n"
    "  said[#said + 1] = ('%a'):format(x:to 'float64':sum():item())\n"
    "end\n"
    "local grad = {requires_grad = true}\n"
    "for i = 1, 3 do\n"
    "  local q = heed.randn({2, 4, 40 + i, 16}, grad)\n"
    "  local y = F.scaled_dot_product_attention(q, q, q, {causal = true})\n"
    "  y:square():sum():backward()\n"
    "  note(q.grad)\n"
    "  local x = heed.randn({4, 3, 20, 20}, grad)\n"
    "  local w = heed.randn({8, 3, 3, 3}, grad)\n"
    "  local z = F.max_pool2d(F.conv2d(x, w), 2)\n"
    "  z:square():sum():backward()\n"
    "  note(x.grad) note(w.grad)\n"
    "  local wide = heed.randn({60, 700})\n"
    "  local sorted, order = wide:sort(2)\n"
    "  note(sorted) note(order) note(wide:softmax(-1):square())\n"
    "  note(wide:histc {bins = 20} * heed.arange(1, 20))\n"
    "  note(wide:matmul(wide:transpose()))\n"
    "  note(wide:var(1)) note(wide:cumsum(2)) note(heed.cdist(wide, wide))\n"
    "  note(linalg.svdvals(wide)) note(linalg.inv(wide[{{}, {1, 60}}]))\n"
    "end\n"
    "local attend = nn.MultiHeadAttention(32, 4)\n"
    "local gru = nn.GRU(32, 32)\n"
    "local params = attend:parameters()\n"
    "for _, p in ipairs(gru:parameters()) do params[#params + 1] = p end\n"
    "local adam = heed.optim.Adam(params, {lr = 0.01})\n"
    "local x = heed.randn({6, 30, 32})\n"
    "for _ = 1, 6 do\n"
    "  adam:zero_grad()\n"
    "  local y = gru(attend(x, x, x, {causal = true}))\n"
    "  F.mse_loss(F.dropout(y, 0.1), x:flip(2)):backward()\n"
    "  adam:step()\n"
    "end\n"
    "note(attend.out_proj.weight)\n"
    "return table.concat(said, ' ')\n";

/* Sets the number of threads, fails in every way, fills and collects. */
static const char trouble[] =
    "local round = ...\n"
    "local heed = require 'heed'\n"
    "local x = heed.ones({3, 4}, {requires_grad = true})\n"
    "for i = 1, 8 do\n"
    "  heed.set_num_threads(1 + (round * 5 + i * 3) % 8)\n"
    "  assert(not pcall(x.matmul, x, x))\n"
    "  assert(not pcall(heed.zeros, {1 << 45}))\n"
    "  assert(not pcall(heed.linalg.inv, heed.zeros {3, 3}))\n"
    "  assert(not pcall(function() x:backward() end))\n"
    "  assert(not pcall(heed.autograd.Function {\n"
    "    forward = function() error 'no' end,\n"
    "    backward = function() end}, x))\n"
    "  setmetatable({}, {__gc = function()\n"
    "    heed.set_num_threads(1 + i % 8)\n"
    "    local _ = heed.ones {2000}:exp():sum()\n"
    "  end})\n"
    "  local left = coroutine.wrap(function()\n"
    "    coroutine.yield(heed.ones {50000} + 1)\n"
    "  end)\n"
    "  left()\n"
    "  collectgarbage()\n"
    "  for k = 1, 3000 do heed.set_num_threads(k % 8 + 1) end\n"
    "end\n"
    "heed.memory_trim()\n"
    "return 'done'";

static atomic_bool over;
static atomic_int rounds;

static void *make_trouble(void *unused) {
  (void)unused;
  bool ok = true;
  while (!over || rounds == 0) {
    lua_State *L = open_state();
    for (int i = 0; i < 4 && ok; i++) ok = run(L, trouble, rounds++);
    lua_close(L);
    if (!ok) break;
  }
  return ok ? "ok" : NULL;
}

typedef struct worker {
  pthread_t thread;
  int seed;
  char *said;
} worker;

static void *do_work(void *context) {
  worker *w = context;
  lua_State *L = open_state();
  w->said = text_of(L, work, w->seed);
  lua_close(L);
  return NULL;
}

static void start(pthread_t *thread, void *(*f)(void *), void *context) {
  if (pthread_create(thread, NULL, f, context) != 0) abort();
}

/* All with seeds of `step` apart, beside one that makes trouble. */
static bool all_as(char **alone, int step) {
  worker w[STATES];
  pthread_t troubled;
  over = false;
  rounds = 0;
  start(&troubled, make_trouble, NULL);
  for (int i = 0; i < STATES; i++) {
    w[i] = (worker){.seed = 1 + i * step};
    start(&w[i].thread, do_work, &w[i]);
  }
  bool ok = true;
  for (int i = 0; i < STATES; i++) {
    pthread_join(w[i].thread, NULL);
    ok = ok && same(w[i].said, alone[i * step]);
    if (w[i].said && !same(w[i].said, alone[i * step]))
      printf("# got %s\n# want %s\n", w[i].said, alone[i * step]);
    free(w[i].said);
  }
  over = true;
  void *result;
  pthread_join(troubled, &result);
  return ok && result;
}

int main(void) {
  char *alone[STATES];
  for (int i = 0; i < STATES; i++) {
    worker w = {.seed = 1 + i};
    do_work(&w);
    alone[i] = w.said;
  }
  check(alone[0] && alone[1] && !same(alone[0], alone[1]),
        "states alone, by their seeds");
  check(all_as(alone, 1), "states with their own seeds, beside trouble");
  check(all_as(alone, 0), "states with the same seed, beside trouble");
  for (int i = 0; i < STATES; i++) free(alone[i]);
  return failed != 0;
}
