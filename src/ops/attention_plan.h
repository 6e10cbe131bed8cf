/*
 * attention_plan - a call of attention as its loops see it. Layer: ops.
 * Read first: kernel/attention.h.
 *
 * The call is cut into groups: the query heads of one batch entry that share
 * a key/value head.
 */
#ifndef HEED_OPS_ATTENTION_PLAN_H
#define HEED_OPS_ATTENTION_PLAN_H

#include "kernel/kernel.h"
#include "ops/ops.h"

/* Inputs and attributes, in the order of the signature. */
enum { Q, K, V, MASK, KEY_MASK, BIAS, VALID, ALIBI, SINKS, NINPUT };
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
  int64_t batch[HEED_MAX_DIM], head, row, column;
} heed_layout;

/* A whole call: what its groups share, and its tensors. */
typedef struct heed_plan {
  heed_sizes s;
  const heed_attention_loops *loops;
  heed_attention common;
  bool few;      /* forward by the loops for few queries? */
  bool at_valid; /* the last query stands beside the last valid key */
  heed_layout in[NBACKWARD], out, dq, dk, dv, dbias;
  char *stats;
  int64_t groups, repeat; /* repeat: query heads of a group */
  heed_tensor *own[NBACKWARD]; /* copies of inputs without whole rows */
  char *room;
  size_t room_size, room_bytes; /* of one worker, and of all */
} heed_plan;

heed_sizes heed_plan_sizes(heed_tensor *const *in);

/* `axes` names the last dimensions from behind: c column, r row, h head; the
   others are the batch. */
heed_layout heed_plan_lay(const heed_tensor *t, int nbatch, const char *axes);

/* Where a batch entry starts, in elements. */
int64_t heed_plan_batch(const heed_layout *l, const heed_sizes *s,
                        int64_t entry);

/* The part of one group. */
heed_grid heed_plan_grid(const heed_layout *l, const heed_sizes *s,
                         int64_t entry, int64_t head);

/* Also works when it fails: heed_plan_end is to follow. */
bool heed_plan_begin(heed_plan *p, heed_call *c, bool backward);
void heed_plan_end(heed_plan *p);

/* Group g of the call. */
heed_attention heed_plan_group(const heed_plan *p, int64_t g);

/* Multiply-adds of one group when nothing is skipped. */
int64_t heed_plan_work(const heed_plan *p);

/* How many units of so much work are worth a thread. */
int64_t heed_plan_grain(int64_t work);

/* Lays a fresh contiguous result [.. H T D] out as [.. T H D] in memory. */
void heed_plan_heads_inside(heed_tensor *t);

#endif
