/*
 * attention_plan - a call of attention as its loops see it. Layer: ops.
 * Read first: kernel/attention.h.
 *
 * The call is cut into groups: the query heads of one batch entry that share
 * a key/value head, for each of the sequences that are packed into it. To the
 * loops a group is an attention by itself. Example: lengths 2, 0 and 3 of
 * queries and 2, 4 and 3 of keys are 3 sequences, at queries 0, 2 and 2 and at
 * keys 0, 2 and 6.
 */
#ifndef HEED_OPS_ATTENTION_PLAN_H
#define HEED_OPS_ATTENTION_PLAN_H

#include "kernel/kernel.h"
#include "ops/ops.h"

/* Inputs and attributes, in the order of the signature. */
enum {
  Q, K, V, MASK, KEY_MASK, BIAS, VALID, ALIBI, SINKS, CU_SEQLENS,
  CU_SEQLENS_K, NINPUT
};
enum { OUT = NINPUT, STATS, GRAD, NBACKWARD }; /* of attention_bwd */
enum {
  CAUSAL, WINDOW_LEFT, WINDOW_RIGHT, SCALE, SOFTCAP, DROPOUT, SEED, ALIGN,
  NATTR
};
enum { BOTTOM_RIGHT = 1, TOP_LEFT = 2 }; /* CAUSAL */
enum { AT_VALID = 1 };                   /* ALIGN */

/* The sizes of a call. The batch is all dimensions before the heads. */
typedef struct heed_sizes {
  int nbatch;
  int64_t batch[HEED_MAX_DIM], count; /* count: their product */
  int64_t heads, kv_heads, tq, tk, d, dv;
} heed_sizes;

/* A tensor with its strides in every dimension of a call, 0 where it is
   broadcast. */
typedef struct heed_layout {
  char *data; /* NULL: left out */
  int64_t size; /* of an element */
  int64_t batch[HEED_MAX_DIM], sequence, head, row, column;
} heed_layout;

/* An element of a call. */
typedef struct heed_place {
  int64_t entry, sequence, head, row, column;
} heed_place;

/* One of the sequences: its first query and key, how many there are of each,
   and its share of the work at hand: so many units of about so many
   multiply-adds. */
typedef struct heed_sequence {
  int64_t query, key, tq, tk;
  int64_t units;
  double work;
  int64_t start, step; /* of heed_plan_run: the work before it, and of a unit */
} heed_sequence;

/* A whole call: what its groups share, and its tensors. */
typedef struct heed_plan {
  heed_sizes s;
  heed_dtype dtype; /* in which it is computed */
  bool recorded; /* will there be a way back, or is this it? */
  const heed_attention_loops *loops;
  heed_attention common; /* but for the sizes of a sequence */
  bool top_left; /* the first query stands beside the first key; else the ... */
  bool at_valid; /* ... last one beside the last key, or the last valid one */
  heed_layout in[NBACKWARD], out, stats, dq, dk, dv, dbias;
  heed_sequence *sequence; /* one, when nothing is packed */
  int64_t sequences, groups; /* groups: of each sequence */
  int64_t repeat; /* query heads of a group */
  heed_tensor *own[NBACKWARD]; /* copies of inputs without whole rows */
  char *room;
  size_t room_size, room_bytes; /* of one worker, and of all */
} heed_plan;

heed_sizes heed_plan_sizes(heed_tensor *const *in);

/* Inputs that may be halves, see heed_rule. */
#define HEED_PLAN_HALVES (HEED_NEED(Q) | HEED_NEED(K) | HEED_NEED(V))

/* The dtype in which t is computed: halves are in float32. */
static inline heed_dtype heed_plan_dtype(const heed_tensor *t) {
  return heed_dtype_is_half(t->dtype) ? HEED_FLOAT32 : t->dtype;
}

/* `axes` names the last dimensions from behind: c column, r row, h head, s
   sequence; the others are the batch. */
heed_layout heed_plan_lay(const heed_tensor *t, int nbatch, const char *axes);

/* Where a batch entry starts, in elements. */
int64_t heed_plan_batch(const heed_layout *l, const heed_sizes *s,
                        int64_t entry);

/* How many sequences cu_seqlens tells of, 1 when it was left out. */
int64_t heed_plan_sequences(heed_tensor *const *in);

/* Sequence i of them; units and work are 0. */
heed_sequence heed_plan_sequence(heed_tensor *const *in, int64_t i);

/* Whether valid_lens has a number for each query, instead of one for each
   batch entry or sequence. */
bool heed_plan_valid_by_query(heed_tensor *const *in);

/* What lies from `at` on. */
heed_grid heed_plan_grid(const heed_layout *l, const heed_sizes *s,
                         heed_place at);

/* Also works when it fails: heed_plan_end is to follow. */
bool heed_plan_begin(heed_plan *p, heed_call *c, bool backward);
void heed_plan_end(heed_plan *p);

/* The size and the window of a sequence, without tensors. */
heed_attention heed_plan_sized(const heed_plan *p, int64_t sequence);

/* Are the queries of a sequence so few that they have loops of their own? Not
   where there is a way back: it makes the same scores in the same order as the
   loops for many, so that no weight comes out as more than 1. */
bool heed_plan_is_few(const heed_plan *p, int64_t sequence);

/* Group g of a sequence. */
heed_attention heed_plan_group(const heed_plan *p, int64_t sequence,
                               int64_t g);

/* About how many multiply-adds a group of a sequence takes. */
double heed_plan_work(const heed_plan *p, int64_t sequence);

/* Calls fn for the units of every sequence, which differ in work, spread over
   the threads by it; `room` is the worker's own. */
typedef void heed_unit_fn(const void *context, int64_t sequence, int64_t unit,
                          void *room);
void heed_plan_run(const heed_plan *p, heed_unit_fn *fn, const void *context);

/* Lays a fresh contiguous result [.. H T D] out as [.. T H D] in memory. */
void heed_plan_heads_inside(heed_tensor *t);

#endif
