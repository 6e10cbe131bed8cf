/*
 * mapping - a file's bytes as memory. Layer: base. Read first: mapping.h.
 *
 * The handler runs in whatever thread has read from a page that is gone, and
 * several may at once. It takes no lock: mappings stand in slots, which are
 * never freed and so can be walked at any time; a slot is counted odd while
 * it changes. The mapping that a thread reads from cannot go while it does.
 */
#define _GNU_SOURCE
#include "base/mapping.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

/* What has happened to a mapping. */
enum { WHOLE, CUT, UNREADABLE };

struct heed_mapping {
  atomic_int refs;
  atomic_int state;
  int fd;
  char *data;
  size_t bytes;
  char *path;
  struct slot *slot;
};

typedef struct slot {
  atomic_uint turn; /* odd: being changed */
  _Atomic(heed_mapping *) mapping;
  _Atomic uintptr_t begin, end;
  struct slot *_Atomic next;
} slot;

atomic_int heed_mapping_broken;

static slot *_Atomic slots;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* to change slots */
static struct sigaction before; /* what SIGBUS did */

/* -- slots -- */

static void slot_set(slot *s, heed_mapping *m) {
  atomic_fetch_add(&s->turn, 1);
  atomic_store(&s->mapping, m);
  atomic_store(&s->begin, m ? (uintptr_t)m->data : 0);
  atomic_store(&s->end, m ? (uintptr_t)m->data + m->bytes : 0);
  atomic_fetch_add(&s->turn, 1);
}

/* A free slot or a new one; NULL without memory. */
static slot *slot_take(heed_mapping *m) {
  pthread_mutex_lock(&lock);
  slot *s = atomic_load(&slots);
  while (s && atomic_load(&s->mapping)) s = atomic_load(&s->next);
  if (!s && (s = calloc(1, sizeof *s))) {
    atomic_store(&s->next, atomic_load(&slots));
    atomic_store(&slots, s);
  }
  if (s) slot_set(s, m);
  pthread_mutex_unlock(&lock);
  return s;
}

static void slot_give(slot *s) {
  pthread_mutex_lock(&lock);
  slot_set(s, NULL);
  pthread_mutex_unlock(&lock);
}

/* The mapping that an address lies in. One that changes meanwhile is not the
   one that is being read from. */
static heed_mapping *find(uintptr_t at) {
  for (slot *s = atomic_load(&slots); s; s = atomic_load(&s->next)) {
    unsigned turn = atomic_load(&s->turn);
    heed_mapping *m = atomic_load(&s->mapping);
    bool within = at >= atomic_load(&s->begin) && at < atomic_load(&s->end);
    if (within && turn % 2 == 0 && atomic_load(&s->turn) == turn) return m;
  }
  return NULL;
}

/* -- the handler -- */

/* The first word about a mapping stays. */
static void mark(heed_mapping *m, int state) {
  int whole = WHOLE;
  if (atomic_compare_exchange_strong(&m->state, &whole, state))
    atomic_fetch_add(&heed_mapping_broken, 1);
}

/* Puts zeros in the place of what cannot be read: all from the page of `at`
   on when the file ends before it, else that page alone. */
static bool mend(heed_mapping *m, uintptr_t at) {
  struct stat now;
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  uintptr_t begin = at / page * page, start = (uintptr_t)m->data;
  bool cut = fstat(m->fd, &now) != 0 ||
             now.st_size <= (off_t)(begin - start);
  /* before the zeros are there: whoever reads them finds it marked */
  mark(m, cut ? CUT : UNREADABLE);
  return mmap((void *)begin, cut ? start + m->bytes - begin : page,
              PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1,
              0) != MAP_FAILED;
}

/* Does what would have been done without us. */
static void pass_on(int number, siginfo_t *info, void *context) {
  bool sent = info->si_code <= 0; /* by a process, not by an access */
  if (before.sa_flags & SA_SIGINFO) {
    before.sa_sigaction(number, info, context);
  } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
    before.sa_handler(number);
  } else if (before.sa_handler == SIG_DFL || !sent) {
    signal(number, SIG_DFL); /* the access is repeated, and ends us */
    if (sent) raise(number);
  }
}

static void on_bus_error(int number, siginfo_t *info, void *context) {
  int error = errno;
  uintptr_t at = (uintptr_t)info->si_addr;
  heed_mapping *m = info->si_code > 0 ? find(at) : NULL;
  if (!m || !mend(m, at)) pass_on(number, info, context);
  errno = error;
}

static void hold(void) { pthread_mutex_lock(&lock); }
static void let_go(void) { pthread_mutex_unlock(&lock); }

static void install(void) {
  struct sigaction ours = {.sa_sigaction = on_bus_error,
                           .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
  sigemptyset(&ours.sa_mask);
  sigaction(SIGBUS, NULL, &before); /* first: ours may be called at once */
  sigaction(SIGBUS, &ours, NULL);
  pthread_atfork(hold, let_go, let_go);
}

/* -- mappings -- */

heed_mapping *heed_mapping_new(int fd, const char *path, size_t bytes) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  heed_mapping *m = calloc(1, sizeof *m);
  if (!m) {
    heed_fail_memory(sizeof *m);
    return NULL;
  }
  pthread_once(&once, install);
  *m = (heed_mapping){.refs = 1, .bytes = bytes, .path = strdup(path),
                      .fd = fcntl(fd, F_DUPFD_CLOEXEC, 0),
                      .data = MAP_FAILED};
  if (m->path && m->fd >= 0)
    m->data = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_NORESERVE, m->fd, 0);
  if (m->data != MAP_FAILED && (m->slot = slot_take(m))) return m;
  heed_fail("cannot be mapped: %s", strerror(errno));
  heed_mapping_drop(m);
  return NULL;
}

heed_mapping *heed_mapping_ref(heed_mapping *m) {
  atomic_fetch_add(&m->refs, 1);
  return m;
}

void heed_mapping_drop(heed_mapping *m) {
  if (!m || atomic_fetch_sub(&m->refs, 1) > 1) return;
  if (m->slot) slot_give(m->slot);
  if (atomic_load(&m->state) != WHOLE)
    atomic_fetch_sub(&heed_mapping_broken, 1);
  if (m->data != MAP_FAILED) munmap(m->data, m->bytes);
  if (m->fd >= 0) close(m->fd);
  free(m->path);
  free(m);
}

void *heed_mapping_data(const heed_mapping *m) { return m->data; }

bool heed_mapping_check(const heed_mapping *m, const char *op) {
  int state = atomic_load(&m->state);
  if (state == WHOLE) return true;
  return heed_fail("%s: %s %s while it was mapped", op, m->path,
                   state == CUT ? "was cut short" : "could not be read");
}

bool heed_mapping_check_size(heed_mapping *m, const char *op) {
  struct stat now;
  if (fstat(m->fd, &now) == 0 && now.st_size < (off_t)m->bytes) mark(m, CUT);
  return heed_mapping_check(m, op);
}
