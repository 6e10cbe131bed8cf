/* mapping_test - a file that is cut short under its mappings: many threads that
   come upon it at once, forks, and the handler that was there before. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mapping.h"
#include "report.h"

#define BYTES ((size_t)8 << 20)
#define THREADS 16
#define ROUNDS 20

static volatile sig_atomic_t others; /* faults that are not ours */

static void on_other(int number, siginfo_t *info, void *context) {
  (void)number, (void)context;
  others++;
  if (info->si_code <= 0) return;
  uintptr_t page = (uintptr_t)info->si_addr / 4096 * 4096;
  mmap((void *)page, 4096, PROT_READ | PROT_WRITE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

/* A file of ones without a name. */
static int new_file(void) {
  int fd = memfd_create("mapping", MFD_CLOEXEC);
  char *ones = malloc(BYTES);
  memset(ones, 1, BYTES);
  if (fd < 0 || write(fd, ones, BYTES) != (ssize_t)BYTES) abort();
  free(ones);
  return fd;
}

/* How much the bytes of a mapping add up to, one of every page. */
static size_t sum(const heed_mapping *m) {
  const volatile char *at = heed_mapping_data(m);
  size_t n = 0;
  for (size_t i = 0; i < BYTES; i += 4096) n += (size_t)at[i];
  return n;
}

typedef struct job {
  heed_mapping *mapping;
  pthread_barrier_t *barrier;
  size_t sum;
  bool whole;
} job;

static void *read_all(void *arg) {
  job *j = arg;
  pthread_barrier_wait(j->barrier);
  j->sum = sum(j->mapping);
  j->whole = heed_mapping_check(j->mapping, "test");
  return NULL;
}

/* All threads come upon the cut at once; each finds it marked. */
static bool read_by_threads(void) {
  int fd = new_file();
  heed_mapping *m = heed_mapping_new(fd, "FILE", BYTES);
  pthread_t thread[THREADS];
  pthread_barrier_t barrier;
  job jobs[THREADS];
  pthread_barrier_init(&barrier, NULL, THREADS);
  bool ok = m && heed_mapping_check(m, "test") &&
            ftruncate(fd, BYTES / 4) == 0;
  for (int i = 0; i < THREADS; i++) {
    jobs[i] = (job){m, &barrier, 0, true};
    if (pthread_create(&thread[i], NULL, read_all, &jobs[i]) != 0) abort();
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_join(thread[i], NULL);
    ok = ok && !jobs[i].whole && jobs[i].sum == BYTES / 4 / 4096;
  }
  pthread_barrier_destroy(&barrier);
  heed_mapping_drop(m);
  close(fd);
  return ok;
}

static void check_threads(void) {
  int good = 0;
  for (int i = 0; i < ROUNDS; i++) good += read_by_threads();
  REPORT(good == ROUNDS && others == 0 && !heed_mapping_any_broken(),
         "threads that read at once all find the cut", "%d of %d, %d faults",
         good, ROUNDS, (int)others);
}

static void *map_and_drop(void *stop) {
  int fd = new_file();
  while (!atomic_load((atomic_bool *)stop)) {
    heed_mapping *m = heed_mapping_new(fd, "other", BYTES);
    if (m) sum(m);
    heed_mapping_drop(m);
  }
  close(fd);
  return NULL;
}

/* While other mappings come and go. */
static void check_traffic(void) {
  atomic_bool stop = false;
  pthread_t thread[2];
  for (int i = 0; i < 2; i++)
    if (pthread_create(&thread[i], NULL, map_and_drop, &stop) != 0) abort();
  int good = 0;
  for (int i = 0; i < 5; i++) good += read_by_threads();
  atomic_store(&stop, true);
  for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
  REPORT(good == 5 && others == 0, "also while other files are mapped",
         "%d of 5, %d faults", good, (int)others);
}

/* A child has the mapping too, and what it finds is its own. */
static void check_fork(void) {
  int fd = new_file();
  heed_mapping *m = heed_mapping_new(fd, "FILE", BYTES);
  if (ftruncate(fd, 4096) != 0) abort();
  fflush(stdout);
  pid_t child = fork();
  if (child == 0)
    _exit(sum(m) == 1 && !heed_mapping_check(m, "test") ? 7 : 8);
  int status = 0;
  waitpid(child, &status, 0);
  bool whole = heed_mapping_check(m, "test");
  size_t n = sum(m);
  REPORT(WIFEXITED(status) && WEXITSTATUS(status) == 7 && whole && n == 1 &&
             !heed_mapping_check(m, "test"),
         "a child of fork finds it by itself", "%d %d %zu", status, whole, n);
  heed_mapping_drop(m);
  close(fd);
}

/* A read error in the midst cannot be made here; what is written and what
   stands before the cut stays. */
static void check_contents(void) {
  int fd = new_file();
  heed_mapping *m = heed_mapping_new(fd, "FILE", BYTES);
  char *at = heed_mapping_data(m), first = 0;
  at[5] = 9;
  if (ftruncate(fd, 8192) != 0) abort();
  at[BYTES - 1] = 3; /* a write comes upon it as well */
  bool ok = at[5] == 9 && at[6] == 1 && at[8191] == 1 && at[8192] == 0 &&
            at[BYTES - 1] == 3 && pread(fd, &first, 1, 5) == 1 && first == 1;
  bool whole = heed_mapping_check(m, "sum");
  REPORT(ok && !whole &&
             strcmp(heed_error(),
                    "sum: FILE was cut short while it was mapped") == 0,
         "what stands before the cut stays", "%d %s", ok, heed_error());
  heed_mapping *again = heed_mapping_new(fd, "FILE", 8192);
  REPORT(heed_mapping_check_size(again, "sum"), "a new mapping is whole",
         "%s", heed_error());
  if (ftruncate(fd, 8191) != 0) abort();
  REPORT(heed_mapping_check(again, "sum") &&
             !heed_mapping_check_size(again, "sum"),
         "the size shows what no page does", "%s", heed_error());
  heed_mapping_drop(again);
  heed_mapping_drop(m);
  close(fd);
}

/* Faults of others, and signals that are sent, go to the one from before. */
static void check_chain(void) {
  int fd = new_file();
  char *own = mmap(NULL, BYTES, PROT_READ, MAP_PRIVATE, fd, 0);
  heed_mapping *m = heed_mapping_new(fd, "FILE", BYTES);
  if (ftruncate(fd, 0) != 0) abort();
  int before = others;
  int value = *(volatile char *)(own + 4096);
  int faults = others - before;
  raise(SIGBUS);
  REPORT(value == 0 && faults == 1 && others - before == 2 &&
             heed_mapping_check(m, "test"),
         "the handler from before gets what is not ours", "%d %d", faults,
         (int)others - before);
  munmap(own, BYTES);
  heed_mapping_drop(m);
  close(fd);
}

/* Without one, such a fault ends the process, as it always does. */
static void check_default(void) {
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    signal(SIGBUS, SIG_DFL);
    int fd = new_file();
    char *own = mmap(NULL, BYTES, PROT_READ, MAP_PRIVATE, fd, 0);
    heed_mapping *m = heed_mapping_new(fd, "FILE", BYTES);
    if (ftruncate(fd, 0) != 0) abort();
    if (sum(m) != 0) _exit(1);
    _exit(*(volatile char *)own + 2);
  }
  int status = 0;
  waitpid(child, &status, 0);
  REPORT(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS,
         "without a handler from before such a fault ends the process", "%d",
         status);
}

int main(void) {
  check_default(); /* before anything is mapped here */
  sigaction(SIGBUS,
            &(struct sigaction){.sa_sigaction = on_other,
                                .sa_flags = SA_SIGINFO}, NULL);
  check_contents();
  check_threads();
  check_traffic();
  check_fork();
  check_chain();
  return failed != 0;
}
