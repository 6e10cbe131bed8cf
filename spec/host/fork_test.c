/*
 * fork_test - children of a process whose pool is up, and whose other threads
 * are in the midst of allocations, loops and LAPACK: they compute what the
 * parent does, and end. Finds heed by LUA_PATH and LUA_CPATH.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "states.h"

#define CHILDREN 24
#define PATIENCE 60 /* seconds for a child */

static const char work[] =
    "local seed = ...\n"
    "local heed = require 'heed'\n"
    "local F = heed.nn.functional\n"
    "heed.set_num_threads(4)\n"
    "heed.manual_seed(seed)\n"
    "local x = heed.randn({2, 4, 50, 16}, {requires_grad = true})\n"
    "F.scaled_dot_product_attention(x, x, x):square():sum():backward()\n"
    "local wide = heed.randn({200, 300})\n"
    "local numbers = {x.grad:sum():item(),\n"
    "  wide:matmul(wide:transpose()):sum():item(),\n"
    "  heed.linalg.svdvals(wide[{{1, 30}, {1, 40}}]):sum():item(),\n"
    "  heed.ones({300000}):cumsum(1)[-1]:item()}\n"
    "for i, n in ipairs(numbers) do numbers[i] = ('%a'):format(n) end\n"
    "return table.concat(numbers, ' ')";

/* Small and large blocks, loops, calls of LAPACK, a collection. */
static const char busy[] =
    "local heed = require 'heed'\n"
    "for i = 1, 20 do\n"
    "  local x = heed.ones {200, 100 + i} + i\n"
    "  local y = (x:exp():sum(1) + 1):log()\n"
    "  heed.linalg.svdvals(x[{{1, 40}, {1, 40}}])\n"
    "end\n"
    "return 'done'";

static atomic_bool over;

static void *keep_busy(void *unused) {
  (void)unused;
  lua_State *L = open_state();
  bool ok = true;
  while (!over && ok) ok = run(L, busy, 0);
  lua_close(L);
  return ok ? "ok" : NULL;
}

/* In a child: the state of the parent, then one of its own. */
static int child(lua_State *L, const char *want, int depth) {
  alarm(PATIENCE);
  char *old = text_of(L, work, 3);
  lua_State *own = open_state();
  char *fresh = text_of(own, work, 3);
  bool ok = same(old, want) && same(fresh, want);
  if (depth > 0) { /* a child of the child */
    pid_t pid = fork();
    if (pid == 0) _exit(child(L, want, depth - 1));
    int status;
    ok = ok && waitpid(pid, &status, 0) == pid && status == 0;
  }
  lua_close(own);
  lua_close(L);
  return !ok;
}

int main(void) {
  lua_State *L = open_state();
  char *want = text_of(L, work, 3);
  check(want, "the parent");
  if (!want) return 1;
  pthread_t threads[2];
  for (int i = 0; i < 2; i++)
    if (pthread_create(&threads[i], NULL, keep_busy, NULL) != 0) abort();
  int good = 0;
  for (int i = 0; i < CHILDREN; i++) {
    pid_t pid = fork();
    if (pid == 0) _exit(child(L, want, i % 4 == 0));
    int status;
    if (pid > 0 && waitpid(pid, &status, 0) == pid && status == 0) good++;
    else printf("# child %d: status %x\n", i, pid > 0 ? status : -1);
  }
  check(good == CHILDREN, "children compute the same");
  over = true;
  bool ok = true;
  for (int i = 0; i < 2; i++) {
    void *result;
    pthread_join(threads[i], &result);
    ok = ok && result;
  }
  char *again = text_of(L, work, 3);
  check(ok && same(again, want), "the parent goes on");
  lua_close(L);
  free(again);
  free(want);
  return failed != 0;
}
