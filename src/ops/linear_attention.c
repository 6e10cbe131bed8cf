/*
 * linear_attention - attention in a time linear in the length, fused.
 * Layer: ops. Read first: core/op.h, gemm.h, causal.h.
 *
 * With f(x) = elu(x) + 1 and the state S = sum of f(k[j]) v[j]^T, z = sum of
 * f(k[j]), over all keys or, causal, over j <= i:
 *     out[i] = f(q[i]) S / den[i],   den[i] = f(q[i]) . z + eps.
 * From the gradient g, with h = g / den:
 *     dden[i] = -f(q[i]) . (S h[i]) / den[i],  df(q)[i] = S h[i] + dden[i] z
 *     dS = sum of f(q[i]) h[i]^T,  dz = sum of dden[i] f(q[i])
 *     df(k)[j] = dS v[j] + dz,  dv[j] = f(k[j]) dS
 * where, causal, dS and dz are sums over i >= j. Then dq = df(q) f'(q), and
 * f' = min(f, 1).
 *
 * The function is bound by memory, so a block of rows stays in the cache from
 * f to the result, and q, k and v are read once (keys twice where causal sums
 * are cut). The length is cut into ranges, whose sums are made apart and added
 * up in order. Example, causal, 2500 positions in ranges of 1024: the sums of
 * ranges 0 and 1 are made; range 2 starts from both, and goes on in chunks
 * that have scores as in causal.c. Cuts depend on shapes alone, so that results
 * are the same for any number of threads.
 */
#include <stdatomic.h>
#include <string.h>

#include "base/count.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "kernel/kernel.h"
#include "ops/causal.h"
#include "ops/copy.h"
#include "ops/each.h"

enum { Q, K, V };            /* inputs */
enum { KEPT = V + 1, GRAD }; /* and those of the backward op */

#define BLOCK 128    /* rows that are worked on at a time */
#define CHUNK HEED_CAUSAL_CHUNK
#define RANGE 1024   /* rows whose sums are made apart, at least */
#define ENOUGH 8     /* batch entries: causal sums are then not cut */

/* -- plan -- */

/* What the units of a call share. Numbers are of the dtype. */
typedef struct plan {
  const char *name;
  heed_dtype dtype;
  int64_t size;           /* bytes of a number */
  heed_shape batch;
  int64_t count;          /* batch entries */
  int64_t tq, tk, d, dv;
  const heed_tensor *q, *k, *v, *g;
  char *out, *dq, *dk, *dv_out; /* row-major */
  double eps, one;        /* where numbers of the dtype lie */
  int64_t range, qparts, kparts; /* rows of a range, ranges */
  int64_t state_size;     /* numbers of a state: S [d dv], z [d] */
  char *state;            /* [count]: of all keys; not when causal */
  char *dstate;           /* [count]: dS and dz, likewise */
  char *part;             /* [count ranges + 1]: states of ranges */
  char *den, *dden;       /* [count tq] */
  char *room;             /* of each worker, see room_at */
  size_t room_size;
  atomic_bool failed;     /* a message stays with the thread that fails */
} plan;

/* Scratch of a worker; blocks of rows and chunks. */
typedef struct room {
  char *fq, *fk;        /* [BLOCK d] */
  char *a;              /* [BLOCK d] */
  char *h;              /* [BLOCK dv] */
  char *wide;           /* [BLOCK max(d, dv)] */
  char *scores;         /* [CHUNK CHUNK] */
  char *den, *dden;     /* [BLOCK] */
  char *state;          /* a state */
  char *run;            /* [d] */
} room;

static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

static char *at(const plan *p, char *base, int64_t index) {
  return base + index * p->size;
}
static char *z_of(const plan *p, char *state) {
  return at(p, state, p->d * p->dv);
}

/* Rows of a tensor from one of an entry on. */
static heed_matrix rows_of(const plan *p, const heed_tensor *t, int64_t entry,
                           int64_t row) {
  int n = t->shape.ndim;
  int64_t first = heed_batch_offset(t, &p->batch, entry) +
                  row * t->stride[n - 2];
  return (heed_matrix){(char *)heed_tensor_data(t) + first * p->size,
                       t->stride[n - 2], t->stride[n - 1]};
}
static heed_matrix rows(const char *data, int64_t pitch) {
  return (heed_matrix){data, pitch, 1};
}
static heed_matrix column(const char *data) {
  return (heed_matrix){data, 1, 0};
}
static heed_matrix ones(const plan *p) {
  return (heed_matrix){&p->one, 0, 0};
}

static void set_number(heed_dtype dtype, double *to, double value) {
  heed_element_store(dtype, to, 0, false, (heed_value){.f = value});
}

/* Cuts the scratch that starts at base, if any; the numbers it has. */
static int64_t room_numbers(const plan *p, room *r, char *base) {
  const int64_t wide = most(p->d, p->dv);
  struct {
    char **to;
    int64_t numbers;
  } list[] = {{&r->fq, BLOCK * p->d},      {&r->fk, BLOCK * p->d},
              {&r->a, BLOCK * p->d},       {&r->h, BLOCK * p->dv},
              {&r->wide, BLOCK * wide},    {&r->scores, CHUNK * CHUNK},
              {&r->den, BLOCK},            {&r->dden, BLOCK},
              {&r->state, p->state_size},  {&r->run, p->d}};
  int64_t sum = 0;
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    if (base) *list[i].to = at(p, base, sum);
    sum += heed_pieces(list[i].numbers, HEED_ALIGN) * HEED_ALIGN;
  }
  return sum;
}

static plan plan_of(const heed_call *c, double eps, bool causal) {
  plan p = {.name = c->op->name, .dtype = c->in[Q]->dtype,
            .batch = c->in[Q]->shape, .q = c->in[Q], .k = c->in[K],
            .v = c->in[V]};
  int n = p.batch.ndim -= 2;
  p.size = (int64_t)heed_dtype_size(p.dtype);
  p.count = heed_shape_numel(&p.batch);
  p.tq = p.q->shape.dim[n];
  p.tk = p.k->shape.dim[n];
  p.d = p.q->shape.dim[n + 1];
  p.dv = p.v->shape.dim[n + 1];
  p.state_size = p.d * p.dv + p.d;
  set_number(p.dtype, &p.eps, eps);
  set_number(p.dtype, &p.one, 1);
  /* the states of ranges take at most a quarter of the room of the keys */
  p.range = heed_pieces(most(RANGE, 4 * most(p.d, p.dv)), BLOCK) * BLOCK;
  if (causal && p.count >= ENOUGH) p.range = most(p.tq, 1);
  p.qparts = heed_pieces(p.tq, p.range);
  p.kparts = heed_pieces(p.tk, p.range);
  return p;
}

/* Runs fn and gives it scratch. */
static bool plan_run(plan *p, bool (*fn)(plan *p)) {
  room r;
  p->room_size = (size_t)(room_numbers(p, &r, NULL) * p->size);
  size_t room_bytes = p->room_size * (size_t)heed_get_num_threads();
  int64_t ranges = p->count * (most(p->qparts, p->kparts) + 1);
  size_t part_bytes = (size_t)(ranges * p->state_size * p->size);
  p->room = heed_mem_alloc(room_bytes);
  p->part = heed_mem_alloc(part_bytes);
  bool ok = p->room && p->part && fn(p);
  heed_mem_free(p->part, part_bytes);
  heed_mem_free(p->room, room_bytes);
  if (ok && p->failed) return heed_fail("%s: out of memory", p->name);
  return ok;
}

/* -- units: ranges of batch entries -- */

typedef bool unit_fn(const plan *p, int64_t entry, int64_t part,
                     const room *r);
typedef struct phase {
  plan *p;
  unit_fn *fn;
  int64_t parts;
} phase;

static void units(void *context, int64_t begin, int64_t end, int worker) {
  const phase *f = context;
  room r;
  room_numbers(f->p, &r, f->p->room + f->p->room_size * (size_t)worker);
  for (int64_t i = begin; i < end; i++)
    if (!f->fn(f->p, i / f->parts, i % f->parts, &r))
      atomic_store(&f->p->failed, true);
}

/* Each unit has about `multiplies` multiply-adds. */
static void run(plan *p, unit_fn *fn, int64_t parts, double multiplies) {
  phase f = {p, fn, parts};
  heed_parallel_values(p->count * parts, heed_parallel_grain(multiplies), units,
                       &f);
}

static double work(const plan *p, int64_t length) {
  return (double)heed_least(p->range, length) * (double)(p->d + 1) *
         (double)(p->dv + 1);
}

/* An entry has a state more than ranges, for causal sums. */
static char *part_at(const plan *p, int64_t entry, int64_t parts,
                     int64_t part) {
  return at(p, p->part, (entry * (parts + 1) + part) * p->state_size);
}

/* Where there are no numbers there may be no memory. */
static void clear(const plan *p, char *state) {
  if (p->state_size > 0) memset(state, 0, (size_t)(p->state_size * p->size));
}
static void copy(const plan *p, int64_t n, char *to, const char *from) {
  if (n > 0) memcpy(to, from, (size_t)(n * p->size));
}

/* y[i] += x[i] */
static void add(const plan *p, int64_t n, char *y, const char *x) {
  heed_kernel.binary[HEED_BINARY_add][p->dtype](n, y, 1, y, 1, x, 1);
}

/* state = the sum of the states of the ranges, in order. */
static void join(const plan *p, int64_t entry, int64_t parts, char *state) {
  clear(p, state);
  for (int64_t i = 0; i < parts; i++)
    add(p, p->state_size, state, part_at(p, entry, parts, i));
}
static bool join_keys(const plan *p, int64_t entry, int64_t part,
                      const room *r) {
  (void)part, (void)r;
  join(p, entry, p->kparts, at(p, p->state, entry * p->state_size));
  return true;
}
static bool join_queries(const plan *p, int64_t entry, int64_t part,
                         const room *r) {
  (void)part, (void)r;
  join(p, entry, p->qparts, at(p, p->dstate, entry * p->state_size));
  return true;
}

/* Causal sums: a state is that of the ranges before it, or of its own range
   and those behind; of those alone before this, in the next or own place. */
static bool carry(const plan *p, int64_t entry, int64_t part, const room *r) {
  (void)part, (void)r;
  clear(p, part_at(p, entry, p->kparts, 0));
  for (int64_t i = 1; i < p->kparts; i++)
    add(p, p->state_size, part_at(p, entry, p->kparts, i),
        part_at(p, entry, p->kparts, i - 1));
  return true;
}
static bool carry_back(const plan *p, int64_t entry, int64_t part,
                       const room *r) {
  (void)part, (void)r;
  clear(p, part_at(p, entry, p->kparts, p->kparts));
  for (int64_t i = p->kparts - 1; i > 0; i--)
    add(p, p->state_size, part_at(p, entry, p->kparts, i),
        part_at(p, entry, p->kparts, i + 1));
  return true;
}

/* -- blocks of rows -- */

static bool product(const plan *p, int64_t m, int64_t n, int64_t k,
                    heed_matrix a, heed_matrix b, char *c, bool accumulate) {
  return heed_gemm(p->dtype, m, n, k, a, b, c, n, accumulate);
}

/* y = f(x), for n rows */
static void feature(const plan *p, int64_t n, heed_matrix x, char *y) {
  heed_loop1 *loop = heed_kernel.unary[HEED_UNARY_elu1][p->dtype];
  bool dense = x.column == 1 && x.row == p->d;
  const int64_t calls = dense ? 1 : n, size = dense ? n * p->d : p->d;
  for (int64_t i = 0; i < calls; i++)
    loop(size, at(p, y, i * p->d), 1,
         (const char *)x.data + i * x.row * p->size, x.column);
}

/* dx = df f'(x) where f(x) is given, for n rows */
static void slope(const plan *p, int64_t n, const char *f, const char *df,
                  char *dx) {
  heed_kernel.binary[HEED_BINARY_elu1_bwd][p->dtype](n * p->d, dx, 1, f, 1,
                                                     df, 1);
}

/* y = x / by, row by row, for n rows of dv */
static void divide(const plan *p, int64_t n, heed_matrix x, char *by,
                   char *y) {
  heed_loop2 *loop = heed_kernel.binary[HEED_BINARY_div][p->dtype];
  for (int64_t i = 0; i < n; i++)
    loop(p->dv, at(p, y, i * p->dv), 1,
         (const char *)x.data + i * x.row * p->size, x.column, at(p, by, i),
         0);
}

static void add_eps(const plan *p, int64_t n, char *den) {
  heed_kernel.binary[HEED_BINARY_add][p->dtype](n, den, 1, den, 1, &p->eps, 0);
}

/* state += f^T x and the sum of weight f, over n rows */
static bool gather(const plan *p, int64_t n, char *f, heed_matrix x,
                   heed_matrix weight, char *state) {
  return product(p, p->d, p->dv, n, heed_turned(rows(f, p->d)), x, state,
                 true) &&
         product(p, 1, p->d, n, heed_turned(weight), rows(f, p->d),
                 z_of(p, state), true);
}

/* dden = -sum of f a / den, for n rows; `wide` is scratch */
static bool slope_of_den(const plan *p, int64_t n, const room *r, char *den,
                         char *dden) {
  heed_kernel.binary[HEED_BINARY_mul][p->dtype](n * p->d, r->wide, 1, r->fq,
                                                1, r->a, 1);
  if (!product(p, n, 1, p->d, rows(r->wide, p->d), ones(p), dden, false))
    return false;
  heed_kernel.binary[HEED_BINARY_div][p->dtype](n, dden, 1, dden, 1, den, 1);
  heed_kernel.unary[HEED_UNARY_neg][p->dtype](n, dden, 1, dden, 1);
  return true;
}

/* -- the states of ranges -- */

/* The sums of f(k) v^T and of f(k) in range `part`, which lie at `to`. */
static bool sum_keys_to(const plan *p, int64_t entry, int64_t part,
                        const room *r, char *to) {
  const int64_t end = heed_least((part + 1) * p->range, p->tk);
  clear(p, to);
  for (int64_t i = part * p->range; i < end; i += BLOCK) {
    int64_t n = heed_least(BLOCK, end - i);
    feature(p, n, rows_of(p, p->k, entry, i), r->fk);
    if (!gather(p, n, r->fk, rows_of(p, p->v, entry, i), ones(p), to))
      return false;
  }
  return true;
}
static bool sum_keys(const plan *p, int64_t entry, int64_t part,
                     const room *r) {
  return sum_keys_to(p, entry, part, r, part_at(p, entry, p->kparts, part));
}
/* Of the ranges but the last, for those behind. */
static bool sum_before(const plan *p, int64_t entry, int64_t part,
                       const room *r) {
  return sum_keys_to(p, entry, part, r,
                     part_at(p, entry, p->kparts, part + 1));
}

/* The sums of f(q) h^T and of dden f(q) of the ranges but the first, for those
   before. */
static bool sum_behind(const plan *p, int64_t entry, int64_t part,
                       const room *r) {
  const int64_t end = heed_least((++part + 1) * p->range, p->tq);
  char *to = part_at(p, entry, p->kparts, part);
  clear(p, to);
  for (int64_t i = part * p->range; i < end; i += BLOCK) {
    int64_t n = heed_least(BLOCK, end - i), row = entry * p->tq + i;
    feature(p, n, rows_of(p, p->q, entry, i), r->fq);
    divide(p, n, rows_of(p, p->g, entry, i), at(p, p->den, row), r->h);
    if (!gather(p, n, r->fq, rows(r->h, p->dv), column(at(p, p->dden, row)),
                to))
      return false;
  }
  return true;
}

/* -- forward, all keys -- */

static bool read_state(const plan *p, int64_t entry, int64_t part,
                       const room *r) {
  const int64_t end = heed_least((part + 1) * p->range, p->tq);
  char *state = at(p, p->state, entry * p->state_size);
  for (int64_t i = part * p->range; i < end; i += BLOCK) {
    int64_t n = heed_least(BLOCK, end - i);
    char *out = at(p, p->out, (entry * p->tq + i) * p->dv);
    heed_matrix f = rows(r->fq, p->d);
    feature(p, n, rows_of(p, p->q, entry, i), r->fq);
    if (!product(p, n, 1, p->d, f, column(z_of(p, state)), r->den, false) ||
        !product(p, n, p->dv, p->d, f, rows(state, p->dv), out, false))
      return false;
    add_eps(p, n, r->den);
    divide(p, n, rows(out, p->dv), r->den, out);
  }
  return true;
}

static bool forward(plan *p) {
  run(p, sum_keys, p->kparts, work(p, p->tk));
  run(p, join_keys, 1, (double)(p->state_size * p->kparts));
  run(p, read_state, p->qparts, work(p, p->tq));
  return true;
}

/* -- forward, causal -- */

/* Chunk of n positions from i on; `state` is that of those before it, and is
   carried on. */
static bool chunk(const plan *p, int64_t entry, int64_t i, int64_t n,
                  const room *r, char *state) {
  heed_matrix fq = rows(r->fq, p->d), fk = rows(r->fk, p->d);
  heed_matrix v = rows_of(p, p->v, entry, i);
  char *out = at(p, p->out, (entry * p->tq + i) * p->dv);
  char *den = at(p, p->den, entry * p->tq + i);
  feature(p, n, rows_of(p, p->q, entry, i), r->fq);
  feature(p, n, rows_of(p, p->k, entry, i), r->fk);
  bool ok =
      product(p, n, n, p->d, fq, heed_turned(fk), r->scores, false) &&
      heed_causal_weigh(p->dtype, n, p->dv, r->scores, v, out, false) &&
      product(p, n, p->dv, p->d, fq, rows(state, p->dv), out, true) &&
      product(p, n, 1, n, rows(r->scores, n), ones(p), den, false) &&
      product(p, n, 1, p->d, fq, column(z_of(p, state)), den, true) &&
      gather(p, n, r->fk, v, ones(p), state);
  if (!ok) return false;
  add_eps(p, n, den);
  divide(p, n, rows(out, p->dv), den, out);
  return true;
}

static bool chunks(const plan *p, int64_t entry, int64_t part,
                   const room *r) {
  const int64_t end = heed_least((part + 1) * p->range, p->tq);
  copy(p, p->state_size, r->state,
       part_at(p, entry, p->kparts, part));
  for (int64_t i = part * p->range; i < end; i += CHUNK)
    if (!chunk(p, entry, i, heed_least(CHUNK, end - i), r, r->state))
      return false;
  return true;
}

/* The states that ranges start from. */
static void sum_causal(plan *p) {
  if (p->kparts > 1) run(p, sum_before, p->kparts - 1, work(p, p->tk));
  run(p, carry, 1, (double)(p->state_size * p->kparts));
}

static bool forward_causal(plan *p) {
  sum_causal(p);
  run(p, chunks, p->kparts, 3 * work(p, p->tk));
  return true;
}

/* -- backward, all keys -- */

/* dq of a range, and its part of dS and dz. */
static bool slope_of_queries(const plan *p, int64_t entry, int64_t part,
                             const room *r) {
  const int64_t end = heed_least((part + 1) * p->range, p->tq);
  char *state = at(p, p->state, entry * p->state_size);
  char *own = part_at(p, entry, p->qparts, part);
  heed_matrix z = column(z_of(p, state)), fq = rows(r->fq, p->d);
  clear(p, own);
  for (int64_t i = part * p->range; i < end; i += BLOCK) {
    int64_t n = heed_least(BLOCK, end - i);
    feature(p, n, rows_of(p, p->q, entry, i), r->fq);
    if (!product(p, n, 1, p->d, fq, z, r->den, false)) return false;
    add_eps(p, n, r->den);
    divide(p, n, rows_of(p, p->g, entry, i), r->den, r->h);
    if (!product(p, n, p->d, p->dv, rows(r->h, p->dv),
                 heed_turned(rows(state, p->dv)), r->a, false) ||
        !slope_of_den(p, n, r, r->den, r->dden) ||
        !product(p, n, p->d, 1, column(r->dden), heed_turned(z), r->a, true) ||
        !gather(p, n, r->fq, rows(r->h, p->dv), column(r->dden), own))
      return false;
    slope(p, n, r->fq, r->a, at(p, p->dq, (entry * p->tq + i) * p->d));
  }
  return true;
}

static bool slope_of_keys(const plan *p, int64_t entry, int64_t part,
                          const room *r) {
  const int64_t end = heed_least((part + 1) * p->range, p->tk);
  char *dstate = at(p, p->dstate, entry * p->state_size);
  heed_matrix ds = rows(dstate, p->dv);
  for (int64_t i = part * p->range; i < end; i += BLOCK) {
    int64_t n = heed_least(BLOCK, end - i), row = entry * p->tk + i;
    feature(p, n, rows_of(p, p->k, entry, i), r->fk);
    if (!product(p, n, p->dv, p->d, rows(r->fk, p->d), ds,
                 at(p, p->dv_out, row * p->dv), false) ||
        !product(p, n, p->d, p->dv, rows_of(p, p->v, entry, i),
                 heed_turned(ds), r->a, false) ||
        !product(p, n, p->d, 1, ones(p), rows(z_of(p, dstate), p->d), r->a,
                 true))
      return false;
    slope(p, n, r->fk, r->a, at(p, p->dk, row * p->d));
  }
  return true;
}

static bool backward(plan *p) {
  size_t bytes = (size_t)(p->count * p->state_size * p->size);
  if (!(p->dstate = heed_mem_alloc(bytes))) return false;
  run(p, slope_of_queries, p->qparts, 2 * work(p, p->tq));
  run(p, join_queries, 1, (double)(p->state_size * p->qparts));
  run(p, slope_of_keys, p->kparts, 2 * work(p, p->tk));
  heed_mem_free(p->dstate, bytes);
  return true;
}

/* -- backward, causal -- */

/* df(q) += dden z, where z of row i has the keys up to i; f(k) and the state
   before the chunk are given. */
static void add_running(const plan *p, int64_t n, const room *r,
                        char *state, char *dden) {
  heed_loop3 *addcmul = heed_kernel.ternary[HEED_TERNARY_addcmul][p->dtype];
  copy(p, p->d, r->run, z_of(p, state));
  for (int64_t i = 0; i < n; i++) {
    char *a = at(p, r->a, i * p->d);
    add(p, p->d, r->run, at(p, r->fk, i * p->d));
    addcmul(p->d, a, 1, a, 1, r->run, 1, at(p, dden, i), 0, 1);
  }
}

/* What both directions start from: f(q), f(k) and h of a chunk. */
static void prepare(const plan *p, int64_t entry, int64_t i, int64_t n,
                    const room *r) {
  feature(p, n, rows_of(p, p->q, entry, i), r->fq);
  feature(p, n, rows_of(p, p->k, entry, i), r->fk);
  divide(p, n, rows_of(p, p->g, entry, i), at(p, p->den, entry * p->tq + i),
         r->h);
}

static bool query_chunk(const plan *p, int64_t entry, int64_t i, int64_t n,
                        const room *r) {
  const int64_t row = entry * p->tq + i;
  char *den = at(p, p->den, row), *dden = at(p, p->dden, row);
  heed_matrix h = rows(r->h, p->dv), fk = rows(r->fk, p->d);
  heed_matrix v = rows_of(p, p->v, entry, i);
  prepare(p, entry, i, n, r);
  if (!product(p, n, n, p->dv, h, heed_turned(v), r->scores, false) ||
      !heed_causal_weigh(p->dtype, n, p->d, r->scores, fk, r->a, false) ||
      !product(p, n, p->d, p->dv, h, heed_turned(rows(r->state, p->dv)),
               r->a, true) ||
      !slope_of_den(p, n, r, den, dden))
    return false;
  add_running(p, n, r, r->state, dden);
  slope(p, n, r->fq, r->a, at(p, p->dq, row * p->d));
  return gather(p, n, r->fk, v, ones(p), r->state);
}

static bool query_chunks(const plan *p, int64_t entry, int64_t part,
                         const room *r) {
  const int64_t end = heed_least((part + 1) * p->range, p->tq);
  copy(p, p->state_size, r->state,
       part_at(p, entry, p->kparts, part));
  for (int64_t i = part * p->range; i < end; i += CHUNK)
    if (!query_chunk(p, entry, i, heed_least(CHUNK, end - i), r)) return false;
  return true;
}

/* The state is dS and dz of the queries behind the chunk. */
static bool key_chunk(const plan *p, int64_t entry, int64_t i, int64_t n,
                      const room *r) {
  const int64_t row = entry * p->tq + i;
  heed_matrix fq = rows(r->fq, p->d), fk = rows(r->fk, p->d);
  heed_matrix h = rows(r->h, p->dv), ds = rows(r->state, p->dv);
  heed_matrix v = rows_of(p, p->v, entry, i);
  heed_matrix dden = column(at(p, p->dden, row));
  char *dv = at(p, p->dv_out, row * p->dv);
  prepare(p, entry, i, n, r);
  if (!product(p, n, n, p->d, fk, heed_turned(fq), r->scores, false) ||
      !heed_causal_weigh(p->dtype, n, p->dv, r->scores, h, dv, true) ||
      !product(p, n, p->dv, p->d, fk, ds, dv, true))
    return false;
  if (!product(p, n, n, p->dv, v, heed_turned(h), r->scores, false) ||
      !product(p, n, n, 1, ones(p), heed_turned(dden), r->scores, true) ||
      !heed_causal_weigh(p->dtype, n, p->d, r->scores, fq, r->a, true) ||
      !product(p, n, p->d, p->dv, v, heed_turned(ds), r->a, true) ||
      !product(p, n, p->d, 1, ones(p), rows(z_of(p, r->state), p->d), r->a,
               true))
    return false;
  slope(p, n, r->fk, r->a, at(p, p->dk, row * p->d));
  return gather(p, n, r->fq, h, dden, r->state);
}

static bool key_chunks(const plan *p, int64_t entry, int64_t part,
                       const room *r) {
  const int64_t first = part * p->range;
  const int64_t end = heed_least(first + p->range, p->tk);
  copy(p, p->state_size, r->state,
       part_at(p, entry, p->kparts, part + 1));
  for (int64_t c = heed_pieces(end - first, CHUNK) - 1; c >= 0; c--) {
    int64_t i = first + c * CHUNK;
    if (!key_chunk(p, entry, i, heed_least(CHUNK, end - i), r)) return false;
  }
  return true;
}

static bool backward_causal(plan *p) {
  size_t bytes = (size_t)(p->count * p->tq * p->size);
  if (!(p->dden = heed_mem_alloc(bytes))) return false;
  sum_causal(p);
  run(p, query_chunks, p->kparts, 4 * work(p, p->tk));
  if (p->kparts > 1) run(p, sum_behind, p->kparts - 1, work(p, p->tk));
  run(p, carry_back, 1, (double)(p->state_size * p->kparts));
  run(p, key_chunks, p->kparts, 6 * work(p, p->tk));
  heed_mem_free(p->dden, bytes);
  return true;
}

/* -- linear_attention -- */

/***
Linear attention (Katharopoulos et al., 2020) with the feature map f(x) =
elu(x) + 1: for each query the mean of the values, weighted with f(q) . f(k).
`F.linear_attention` takes masks and other feature maps.

Made a block of rows at a time: but for the result, nothing of the size of q, k
or v is held, forward or backward. A key of -inf has the weight 0. The backward
pass is fused; one that is recorded is made of ops, and can be differentiated
again.
@function linear_attention
@param q float tensor [.. Tq D]
@param k float tensor [.. Tk D]
@param v float tensor [.. Tk Dv]
@param eps added to the sums of weights that are divided by, 1e-6 by default
@param causal query i sees keys 1 .. i, of which there are as many; nothing of
a later one reaches it, not even a NaN
@return float tensor [.. Tq Dv]
@raise when dtypes or shapes do not fit
@usage local x = heed.zeros(3, 2)
heed.core.ops.linear_attention(x, x, heed.ones(3, 1)) --> 1 1 1
*/
static bool linear_attention_check(heed_call *c) {
  const heed_shape *q = &c->in[Q]->shape, *k = &c->in[K]->shape;
  const heed_shape *v = &c->in[V]->shape;
  const int n = q->ndim;
  for (int i = Q; i <= V; i++)
    if (!heed_want_float(c, i) || !heed_want_ndim(c, i, 2)) return false;
  bool same = k->ndim == n && v->ndim == n && k->dim[n - 1] == q->dim[n - 1] &&
              v->dim[n - 2] == k->dim[n - 2];
  for (int i = 0; same && i < n - 2; i++)
    same = k->dim[i] == q->dim[i] && v->dim[i] == q->dim[i];
  if (!same)
    return heed_fail("%s: q %s, k %s and v %s must be [.. Tq D], [.. Tk D] and "
                     "[.. Tk Dv]", c->op->name, heed_shape_text(q),
                     heed_shape_text(k), heed_shape_text(v));
  const bool causal = c->attr[1].i;
  if (causal && q->dim[n - 2] != k->dim[n - 2])
    return heed_fail("%s: causal needs as many queries as keys, got %lld and "
                     "%lld", c->op->name, (long long)q->dim[n - 2],
                     (long long)k->dim[n - 2]);
  heed_shape out = *q;
  out.dim[n - 1] = v->dim[n - 1];
  heed_out(c, 0, c->in[Q]->dtype, &out);
  if (!c->need) return true;
  /* kept for backward: den, or the states */
  heed_shape kept = *q;
  kept.ndim = n - 1;
  if (!causal) kept.dim[n - 2] = q->dim[n - 1] * (v->dim[n - 1] + 1);
  heed_out(c, 1, c->in[Q]->dtype, &kept);
  return true;
}

static bool linear_attention_fwd(heed_call *c) {
  const bool causal = c->attr[1].i;
  plan p = plan_of(c, c->attr[0].f, causal);
  p.out = heed_tensor_data(c->out[0]);
  int64_t numbers = p.count * (causal ? p.tq : p.state_size);
  size_t bytes = c->nout > 1 ? 0 : (size_t)(numbers * p.size);
  char *own = bytes ? heed_mem_alloc(bytes) : NULL;
  if (bytes && !own) return false;
  char *kept = bytes ? own : c->nout > 1 ? heed_tensor_data(c->out[1]) : NULL;
  if (causal) p.den = kept;
  else p.state = kept;
  bool ok = plan_run(&p, causal ? forward_causal : forward);
  heed_mem_free(own, bytes);
  return ok;
}

/* x summed over dimension `dim` (-1: the last), which stays with size 1 */
static heed_tensor *sum_along(heed_rule_call *r, heed_tensor *x, int dim) {
  if (!x) return NULL;
  heed_shape shape = x->shape;
  shape.dim[shape.ndim + dim] = 1;
  return heed_do1_with(r, HEED_OP_sum_to, x, &(heed_attr){.list = shape});
}
static heed_tensor *sum_to_here(heed_rule_call *r, heed_tensor *x) {
  return heed_do1_with(r, HEED_OP_cumsum, x, &(heed_attr){.i = -2});
}
/* Sums over a position and those behind it. */
static heed_tensor *sum_from_here(heed_rule_call *r, heed_tensor *x) {
  const heed_attr time = {.list = {.ndim = 1, .dim = {-2}}};
  heed_tensor *t = heed_do1_with(r, HEED_OP_flip, x, &time);
  return heed_do1_with(r, HEED_OP_flip, sum_to_here(r, t), &time);
}

/* a (b^T c), or (a b^T, masked) c */
static heed_tensor *weigh(heed_rule_call *r, heed_tensor *a, heed_tensor *b,
                          heed_tensor *c, bool causal, bool reverse) {
  if (causal)
    return heed_do3_with(r, HEED_OP_causal_product, a, b, c,
                         &(heed_attr){.i = reverse});
  return heed_do2(r, HEED_OP_matmul, a,
                  heed_do2(r, HEED_OP_matmul, heed_turn(r, b), c));
}

static heed_tensor *feature_of(heed_rule_call *r, heed_tensor *x) {
  return heed_each_plus(r, heed_do1(r, HEED_OP_elu, x), 1);
}
/* df f'(x), f' = e^min(x, 0) */
static heed_tensor *through_feature(heed_rule_call *r, heed_tensor *df,
                                    heed_tensor *x) {
  heed_tensor *low = heed_do2(r, HEED_OP_minimum, x, heed_number(r, 0));
  return heed_do2(r, HEED_OP_mul, df, heed_do1(r, HEED_OP_exp, low));
}

/* The gradients as ops, to be differentiated in turn. */
static bool linear_attention_slopes(heed_rule_call *r) {
  const bool causal = r->attr[1].i;
  heed_tensor *q = heed_in(r, Q), *k = heed_in(r, K), *v = heed_in(r, V);
  heed_tensor *fq = feature_of(r, q), *fk = feature_of(r, k);
  heed_tensor *z = causal ? sum_to_here(r, fk) : sum_along(r, fk, -2);
  heed_tensor *den = heed_each_plus(
      r, sum_along(r, heed_do2(r, HEED_OP_mul, fq, z), -1), r->attr[0].f);
  heed_tensor *h = heed_do2(r, HEED_OP_div, r->grad[0], den);
  heed_tensor *a = weigh(r, h, v, fk, causal, false);
  heed_tensor *dden = heed_do1(
      r, HEED_OP_neg,
      heed_do2(r, HEED_OP_div,
               sum_along(r, heed_do2(r, HEED_OP_mul, fq, a), -1), den));
  if (heed_needs(r, Q)) {
    heed_tensor *df = heed_do2(r, HEED_OP_add, a,
                               heed_do2(r, HEED_OP_mul, dden, z));
    if (!heed_give(r, Q, through_feature(r, df, q))) return false;
  }
  if (heed_needs(r, K)) {
    heed_tensor *dz = heed_do2(r, HEED_OP_mul, dden, fq);
    dz = causal ? sum_from_here(r, dz) : sum_along(r, dz, -2);
    heed_tensor *df = heed_do2(r, HEED_OP_add, weigh(r, v, h, fq, causal, true),
                               dz);
    if (!heed_give(r, K, through_feature(r, df, k))) return false;
  }
  return !heed_needs(r, V) ||
         heed_give(r, V, weigh(r, fk, fq, h, causal, true));
}

static bool linear_attention_bwd_rule(heed_rule_call *r) {
  if (heed_grad_enabled()) return linear_attention_slopes(r);
  heed_tensor *out[HEED_MAX_OUT] = {0};
  heed_tensor *in[] = {heed_in(r, Q), heed_in(r, K), heed_in(r, V),
                       heed_kept_out(r, 1), r->grad[0]};
  if (r->failed || !heed_do_all(r, heed_op_at(HEED_OP_linear_attention_bwd),
                                in, GRAD + 1, r->attr, out))
    return false;
  for (int i = Q; i <= V; i++)
    if (heed_needs(r, i) && !heed_give(r, i, out[i])) return false;
  return true;
}

const heed_rule heed_rule_linear_attention = {
    .check = linear_attention_check, .forward = linear_attention_fwd,
    .backward = linear_attention_bwd_rule, .promote = true,
    .keep = {HEED_ALWAYS, HEED_ALWAYS, HEED_ALWAYS},
    .keep_out = {0, HEED_ALWAYS}};

/* -- linear_attention_bwd: the gradients of q, k and v -- */

static bool linear_attention_bwd_check(heed_call *c) {
  for (int i = Q; i <= V; i++)
    heed_out(c, i, c->in[i]->dtype, &c->in[i]->shape);
  return true;
}

static bool linear_attention_bwd_fwd(heed_call *c) {
  const bool causal = c->attr[1].i;
  plan p = plan_of(c, c->attr[0].f, causal);
  heed_tensor *kept = heed_contiguous(c->op->name, c->in[KEPT]);
  if (!kept) return false;
  p.g = c->in[GRAD];
  p.dq = heed_tensor_data(c->out[Q]);
  p.dk = heed_tensor_data(c->out[K]);
  p.dv_out = heed_tensor_data(c->out[V]);
  if (causal) p.den = heed_tensor_data(kept);
  else p.state = heed_tensor_data(kept);
  bool ok = plan_run(&p, causal ? backward_causal : backward);
  heed_tensor_drop(kept);
  return ok;
}

const heed_rule heed_rule_linear_attention_bwd = {
    .check = linear_attention_bwd_check, .forward = linear_attention_bwd_fwd};
