/*
 * attention_backward - gradients of attention, fused. Layer: ops.
 * Read first: attention.c, attention_plan.h.
 *
 * Groups are independent, but for the gradient of a bias that several of them
 * share, see backward_run.
 */
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "ops/attention_plan.h"
#include "ops/copy.h"

/* -- attention_bwd: gradients of q, k, v and, when asked for, bias -- */

static bool attention_bwd_check(heed_call *c) {
  for (int i = Q; i <= V; i++)
    heed_out(c, i, heed_plan_dtype(c->in[i]), &c->in[i]->shape);
  if (c->attr[NATTR].i) heed_out_like(c, 3, c->in[BIAS]);
  return true;
}

/*
 * Groups that share a part of the bias (a slot) add to the same numbers. They
 * are put into `teams` of one slot each, one after the other in a team, with
 * a sum for each team; these are added up in order. Slots that are many need
 * no more than one team each, and its sum is the result itself. How groups
 * are put into teams depends on the shapes only. Example: bias [H Tq Tk] with
 * 64 batch entries and H = 4: 4 slots of 64 groups, in 2 teams each.
 *
 * Packed sequences add to blocks of a slot that lie apart, unless neither its
 * rows nor its columns are their own: each has teams of its own, and these may
 * share their sums.
 */
#define TEAMS 8 /* so many at least, where there are groups for them */

/*
 * Without the gradient of a bias, groups that are too few to go round are cut
 * into `ways`, ranges of keys. Each of them but the first has a dq of its own,
 * and all are added up in order.
 */
#define UNITS 8 /* so many at least, where there are keys for them */

typedef struct backward_ways {
  int64_t count;
  size_t start, size; /* of the dq of a sequence, and of one of them; bytes */
} backward_ways;

typedef struct backward_run {
  const heed_plan *p;
  backward_ways *ways; /* of each sequence, where groups are no teams */
  char *dq;
  size_t dq_bytes;
  int64_t teams, slots, slot_size; /* teams: of a section */
  int64_t sections;                /* sequences with teams of their own */
  int64_t *order; /* groups, by section and slot; NULL: one group a team */
  char *sums;     /* [teams slot_size] where teams > slots */
} backward_run;

/* Groups are numbered over all sequences. */
static int64_t all_groups(const heed_plan *p) {
  return p->sequences * p->groups;
}

static int64_t members_of(const backward_run *run) {
  return all_groups(run->p) / run->sections / run->slots;
}

/* Group g of a sequence, one of its ways. */
static void backward_way(const backward_run *run, int64_t sequence,
                         int64_t unit, void *room) {
  const heed_plan *p = run->p;
  backward_ways ways = run->ways[sequence];
  int64_t way = unit % ways.count, g = unit / ways.count;
  heed_attention a = heed_plan_group(p, sequence, g);
  if (way > 0) {
    int64_t place = g * (ways.count - 1) + way - 1;
    a.dq = (heed_grid){run->dq + ways.start + ways.size * (size_t)place,
                       a.tq * a.d, a.d, 1};
  }
  p->loops->backward(&a, a.tk * way / ways.count,
                     a.tk * (way + 1) / ways.count, room);
}

/* dq of a group takes in those of its other ways. */
static void join_ways(const void *context, int64_t sequence, int64_t g,
                      void *room) {
  (void)room;
  const backward_run *run = context;
  backward_ways ways = run->ways[sequence];
  heed_attention a = heed_plan_group(run->p, sequence, g);
  heed_loop2 *add = heed_kernel.binary[HEED_BINARY_add][run->p->dtype];
  const int64_t size = run->p->dq.size; /* q may be of halves */
  const char *from =
      run->dq + ways.start + ways.size * (size_t)(g * (ways.count - 1));
  for (int64_t way = 1; way < ways.count; way++)
    for (int64_t h = 0; h < a.heads; h++)
      for (int64_t i = 0; i < a.tq; i++, from += size * a.d) {
        char *row =
            (char *)a.dq.data + size * (h * a.dq.head + i * a.dq.row);
        add(a.d, row, 1, row, 1, from, 1);
      }
}

static void backward_group(const backward_run *run, int64_t group, char *sum,
                           void *room) {
  const heed_plan *p = run->p;
  int64_t sequence = group / p->groups;
  heed_attention a = heed_plan_group(p, sequence, group % p->groups);
  if (sum) {
    const heed_sequence *q = &p->sequence[sequence];
    int64_t offset =
        q->query * p->dbias.row + q->key * p->dbias.column;
    a.dbias.data = sum + offset * p->dbias.size;
  }
  p->loops->backward(&a, 0, a.tk, room);
}

static void backward_team(const void *context, int64_t section, int64_t team,
                          void *room) {
  const backward_run *run = context;
  if (!run->order) {
    backward_way(run, section, team, room);
    return;
  }
  int64_t each = run->teams / run->slots, part = team % each;
  int64_t members = members_of(run);
  int64_t slot = section * run->slots + team / each;
  char *sum = NULL;
  if (run->sums) sum = run->sums + team * run->slot_size * run->p->dbias.size;
  for (int64_t m = members * part / each; m < members * (part + 1) / each; m++)
    backward_group(run, run->order[slot * members + m], sum, room);
}

/* Sets slots and order. */
static bool find_slots(backward_run *run, const heed_tensor *dbias) {
  const heed_plan *p = run->p;
  bool by_head = p->dbias.head != 0;
  int64_t batch = 1, n = dbias->shape.ndim;
  for (int i = 0; i < n - 3; i++) batch *= dbias->shape.dim[i];
  run->slots = batch * (by_head ? p->s.kv_heads : 1);
  run->slot_size = heed_tensor_numel(dbias) / run->slots;
  if (p->dbias.row == 0 && p->dbias.column == 0) run->sections = 1;
  size_t bytes = sizeof *run->order * (size_t)all_groups(p);
  run->order = heed_mem_alloc(bytes);
  if (!run->order) return false;
  int64_t members = members_of(run), cells = run->sections * run->slots;
  int64_t *filled = heed_mem_alloc(sizeof *filled * (size_t)cells);
  if (!filled) return false;
  memset(filled, 0, sizeof *filled * (size_t)cells);
  for (int64_t g = 0; g < all_groups(p); g++) {
    int64_t entry = g % p->groups / p->s.kv_heads;
    int64_t head = by_head ? g % p->s.kv_heads * p->repeat : 0;
    int64_t offset = heed_plan_batch(&p->dbias, &p->s, entry) +
                     head * p->dbias.head;
    int64_t section = run->sections > 1 ? g / p->groups : 0;
    int64_t cell = section * run->slots + offset / run->slot_size;
    run->order[cell * members + filled[cell]++] = g;
  }
  heed_mem_free(filled, sizeof *filled * (size_t)cells);
  return true;
}

static bool alloc_sums(backward_run *run) {
  int64_t members = members_of(run), cells = run->sections * run->slots;
  int64_t each = (TEAMS + cells - 1) / cells;
  if (each > members) each = members;
  run->teams = run->slots * each;
  if (each == 1) return true;
  size_t bytes = (size_t)(run->teams * run->slot_size * run->p->dbias.size);
  run->sums = heed_mem_alloc(bytes);
  if (!run->sums) return false;
  memset(run->sums, 0, bytes);
  return true;
}

/* dbias = the sums of the teams of each slot. */
static void gather_bias(const backward_run *run, heed_tensor *dbias) {
  int64_t each = run->teams / run->slots, n = run->slot_size;
  heed_loop2 *add = heed_kernel.binary[HEED_BINARY_add][dbias->dtype];
  int64_t bytes = n * run->p->dbias.size;
  for (int64_t team = 0; team < run->teams; team++) {
    char *to = (char *)heed_tensor_data(dbias) + team / each * bytes;
    add(n, to, 1, to, 1, run->sums + team * bytes, 1);
  }
}

static bool find_ways(backward_run *run) {
  const heed_plan *p = run->p;
  int64_t keys = p->loops->backward_keys;
  run->ways = heed_mem_alloc(sizeof *run->ways * (size_t)p->sequences);
  if (!run->ways) return false;
  for (int64_t i = 0; i < p->sequences; i++) {
    const heed_sequence *q = &p->sequence[i];
    backward_ways w = {.count = 1, .start = run->dq_bytes};
    w.size = (size_t)(p->repeat * q->tq * p->s.d * p->dq.size);
    if (keys > 0 && p->groups > 0)
      w.count = (UNITS + p->groups - 1) / p->groups;
    if (keys > 0 && w.count > q->tk / keys) w.count = q->tk / keys;
    if (w.count < 1) w.count = 1;
    run->dq_bytes += w.size * (size_t)(p->groups * (w.count - 1));
    run->ways[i] = w;
  }
  run->dq = heed_mem_alloc(run->dq_bytes);
  return run->dq != NULL;
}

/* Tells the work of adding up what the ways gave. */
static void share_joins(const backward_run *run) {
  const heed_plan *p = run->p;
  for (int64_t i = 0; i < p->sequences; i++) {
    const backward_ways *w = &run->ways[i];
    p->sequence[i].units = w->count > 1 ? p->groups : 0;
    p->sequence[i].work = (double)w->size * (double)(w->count - 1);
  }
}

/* Tells the share of each section. */
static void share_work(const backward_run *run) {
  const heed_plan *p = run->p;
  for (int64_t i = 0; run->ways && i < p->sequences; i++) {
    int64_t ways = run->ways[i].count;
    p->sequence[i].units = p->groups * ways;
    p->sequence[i].work = heed_plan_work(p, i) / (double)ways;
  }
  if (run->ways) return;
  double all = 0, groups = (double)all_groups(p) / (double)run->sections;
  for (int64_t i = 0; i < p->sequences; i++) all += heed_plan_work(p, i);
  for (int64_t i = 0; i < p->sequences; i++) {
    double each = run->sections == 1 ? all / (double)p->sequences
                                     : heed_plan_work(p, i);
    p->sequence[i].units = i < run->sections ? run->teams : 0;
    p->sequence[i].work = each * groups / (double)run->teams;
  }
}

static bool run_backward(heed_plan *p, heed_tensor *dbias) {
  backward_run run = {.p = p, .teams = p->groups, .slots = 1,
                      .sections = p->sequences};
  bool ok = true;
  if (dbias) {
    memset(heed_tensor_data(dbias), 0, dbias->storage->bytes);
    p->dbias = heed_plan_lay(dbias, p->s.nbatch, "crh");
    if (heed_tensor_numel(dbias) > 0 && all_groups(p) > 0)
      ok = find_slots(&run, dbias) && alloc_sums(&run);
  }
  if (ok && !run.order) ok = find_ways(&run);
  if (ok) {
    share_work(&run);
    heed_plan_run(p, backward_team, &run);
    if (run.dq_bytes > 0) {
      share_joins(&run);
      heed_plan_run(p, join_ways, &run);
    }
    if (run.sums) gather_bias(&run, dbias);
  }
  heed_mem_free(run.ways, sizeof *run.ways * (size_t)p->sequences);
  heed_mem_free(run.dq, run.dq_bytes);
  if (run.order)
    heed_mem_free(run.order, sizeof *run.order * (size_t)all_groups(p));
  if (run.sums)
    heed_mem_free(run.sums,
                  (size_t)(run.teams * run.slot_size * p->dbias.size));
  return ok;
}

static bool attention_bwd_fwd(heed_call *c) {
  heed_plan p;
  bool ok = heed_plan_begin(&p, c, true);
  if (ok) {
    int n = p.s.nbatch;
    for (int i = Q; i <= V; i++) heed_plan_heads_inside(c->out[i]);
    p.dq = heed_plan_lay(c->out[Q], n, "crh");
    p.dk = heed_plan_lay(c->out[K], n, "crh");
    p.dv = heed_plan_lay(c->out[V], n, "crh");
    p.out = p.in[OUT];
    p.stats = heed_plan_lay(c->in[STATS], n, "crh");
    ok = run_backward(&p, c->nout > 3 ? c->out[3] : NULL);
  }
  heed_plan_end(&p);
  return ok;
}

const heed_rule heed_rule_attention_bwd = {
    .check = attention_bwd_check, .forward = attention_bwd_fwd,
    .halves = HEED_PLAN_HALVES};

/* -- attention_sinks_bwd -- */

/* One head a unit, batch entries in order. */
typedef struct sink_run {
  const heed_attention_loops *loops;
  heed_sizes s;
  heed_layout sinks, out, stats, dout;
  heed_tensor *result;
} sink_run;

static void sink_heads(void *context, int64_t begin, int64_t end,
                       int worker) {
  (void)worker;
  const sink_run *run = context;
  const heed_sizes *s = &run->s;
  for (int64_t head = begin; head < end; head++) {
    double sum = 0;
    for (int64_t entry = 0; entry < s->count; entry++) {
      heed_place at = {.entry = entry, .head = head};
      heed_attention a = {.tq = s->tq, .dv = s->dv};
      a.sinks = heed_plan_grid(&run->sinks, s, at);
      a.out = heed_plan_grid(&run->out, s, at);
      a.dout = heed_plan_grid(&run->dout, s, at);
      a.stats = heed_plan_grid(&run->stats, s, at);
      sum += run->loops->sink_gradient(&a, 0);
    }
    heed_real_store(run->result->dtype, heed_tensor_data(run->result), head,
                    sum);
  }
}

static bool attention_sinks_bwd_fwd(heed_call *c) {
  heed_tensor *out = heed_contiguous(c->op->name, c->in[1]);
  heed_tensor *dout = out ? heed_contiguous(c->op->name, c->in[3]) : NULL;
  if (dout) {
    /* [.. H Tq Dv]: as q, k and v */
    heed_sizes s = heed_plan_sizes((heed_tensor *[]){out, out, out});
    sink_run run = {.loops = &heed_kernel.attention[out->dtype], .s = s,
                    .sinks = heed_plan_lay(c->in[0], s.nbatch, "h"),
                    .out = heed_plan_lay(out, s.nbatch, "crh"),
                    .dout = heed_plan_lay(dout, s.nbatch, "crh"),
                    .stats = heed_plan_lay(c->in[2], s.nbatch, "crh"),
                    .result = c->out[0]};
    heed_parallel(s.heads, heed_parallel_grain((double)(s.count * s.tq * s.dv)),
                  sink_heads, &run);
  }
  heed_tensor_drop(out);
  heed_tensor_drop(dout);
  return dout != NULL;
}

const heed_rule heed_rule_attention_sinks_bwd = {
    .check = heed_check_like, .forward = attention_sinks_bwd_fwd};
