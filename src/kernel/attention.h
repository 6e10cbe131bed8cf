/*
 * attention - what the attention loops are told. Layer: kernel.
 * Read first: kernel.h.
 *
 * The loops work on one group: the query heads of one batch entry that share
 * a key/value head. Rows of a group are (head, query), numbered
 * head * tq + query. Everything is in elements of the group's dtype.
 */
#ifndef HEED_KERNEL_ATTENTION_H
#define HEED_KERNEL_ATTENTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heed.h"

/* Element (head, row, column) lies at data + head * head_stride + ...; a
   stride is 0 where all share the element. data is NULL where left out. */
typedef struct heed_grid {
  void *data;
  int64_t head, row, column;
} heed_grid;

typedef struct heed_attention {
  int64_t heads, tq, tk, d, dv; /* d: size of queries and keys */
  double scale;
  double softcap; /* 0: none */

  /* Query i stands beside key i + shift and sees the `left` keys before that
     place and the `right` ones behind it; both are at most tq + tk. */
  int64_t shift, left, right;
  heed_grid valid;    /* int64 (row): number of valid keys, 0 .. tk */
  heed_grid mask;     /* bool (head, row, column) */
  heed_grid key_mask; /* bool (column) */
  heed_grid bias;     /* (head, row, column) */
  heed_grid alibi;    /* (head) slopes */
  heed_grid sinks;    /* (head) scores of keys without value */

  bool dropout;
  uint64_t drop_below; /* a key is dropped when its 32-bit word is below */
  double keep_factor;  /* of the keys that stay */
  uint64_t seed, first_head; /* of the words; heads count over the batch */

  /* (head, row) or, for k and v, (row); their columns lie side by side. q, k
     and v may be halves where the loops are those of float32; strides are in
     elements of their own dtypes. */
  heed_grid q, k, v, out;
  heed_dtype q_dtype, k_dtype, v_dtype;
  heed_grid stats; /* (head, row): largest score (-inf: nothing to attend to)
                      and 1 / sum of e^(score - largest), side by side; NULL:
                      not wanted */

  /* backward: out and dout to read; dq, dk, dvalue to write; dbias to
     add to, with strides of 0 where the bias was broadcast; NULL: not
     wanted */
  heed_grid dout, dq, dk, dvalue, dbias;
} heed_attention;

#define HEED_ATTENTION_TIME (INT64_C(1) << 30) /* most queries, most keys */
#define HEED_ATTENTION_ROWS 1024 /* at most, of a call of `forward` */
#define HEED_ATTENTION_STEP 32   /* they are best a multiple of this */

/* So few queries over many keys have loops of their own, and keys are cut into
   splits of so many, apart from each other, to go round all threads. */
#define HEED_ATTENTION_FEW 8
#define HEED_ATTENTION_SPLIT 256

static inline bool heed_attention_is_few(const heed_attention *a) {
  return a->tq <= HEED_ATTENTION_FEW && a->tk >= 4 * a->tq;
}

static inline int64_t heed_attention_splits(const heed_attention *a) {
  return a->tk ? (a->tk - 1) / HEED_ATTENTION_SPLIT + 1 : 1;
}

/* The loops of one dtype. `room` is scratch of .._room() bytes, aligned to
   64. */
typedef struct heed_attention_loops {
  size_t (*forward_room)(const heed_attention *a);
  size_t (*backward_room)(const heed_attention *a);
  /* Writes rows begin .. end - 1 of out and stats. */
  void (*forward)(const heed_attention *a, int64_t begin, int64_t end,
                  void *room);
  /* The same for all rows of few queries, in two steps: each split into sums
     of few_sums() bytes, then out and stats from those of all splits, which
     lie one behind the other. `k` and `v` are where the keys and values of the
     split begin. NULL: the dtype does without. */
  size_t (*few_room)(const heed_attention *a);
  size_t (*few_sums)(const heed_attention *a);
  void (*few_split)(const heed_attention *a, int64_t split, const void *k,
                    const void *v, void *sums, void *room);
  void (*few_join)(const heed_attention *a, void *sums);
  /* Writes rows first .. end - 1 of dk and dvalue, and dq as if there were
     only these keys; adds to dbias. Ranges are of backward_keys at least, or
     of all keys where that is 0. */
  void (*backward)(const heed_attention *a, int64_t first, int64_t end,
                   void *room);
  int64_t backward_keys;
  /* The part of this group in the gradient of the sink of one head. */
  double (*sink_gradient)(const heed_attention *a, int64_t head);
} heed_attention_loops;

/* The keys lo .. hi - 1 that query i may see at most; lo = hi = 0: none. */
static inline void heed_attention_range(const heed_attention *a, int64_t i,
                                        int64_t *lo, int64_t *hi) {
  int64_t place = i + a->shift;
  int64_t first = place - a->left, end = place + a->right + 1;
  int64_t valid = a->tk;
  if (a->valid.data)
    valid = ((const int64_t *)a->valid.data)[i * a->valid.row];
  *lo = first < 0 ? 0 : first;
  *hi = end > valid ? valid : end;
  if (*lo >= *hi) *lo = *hi = 0;
}

#endif
