/*
 * embedding - rows of a table, chosen by number. Layer: ops.
 * Read first: core/op.h.
 *
 * The gradient of the table adds up rows in the order of the ids, whatever
 * the number of threads: each thread walks all ids and takes those of its own
 * rows.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/parallel.h"
#include "kernel/kernel.h"
#include "ops/copy.h"
#include "ops/ops.h"
#include "ops/places.h"

#define GRAIN 16384 /* elements worth a thread */
#define GROUPS 64   /* rows are dealt to groups by id % GROUPS */

/* -- ids -- */

/* Every id must be 1 .. n; `of` says of what. ids are contiguous. */
static bool ids_check(const char *op, const heed_tensor *ids, int64_t n,
                      const char *of) {
  const int64_t *id = heed_tensor_data(ids);
  int64_t count = heed_tensor_numel(ids), bad = 0;
  while (bad < count && id[bad] >= 1 && id[bad] <= n) bad++;
  if (bad == count) return true;
  long long got = (long long)id[bad];
  heed_shape at = ids->shape;
  for (int d = at.ndim - 1; d >= 0; d--) {
    at.dim[d] = bad % ids->shape.dim[d] + 1;
    bad /= ids->shape.dim[d];
  }
  return heed_fail("%s: ids %s, position %s: must be 1..%lld (%s), got %lld",
                   op, heed_shape_text(&ids->shape), heed_shape_text(&at),
                   (long long)n, of, got);
}

/* Input i as contiguous int64; a new reference. */
static heed_tensor *ids_of(heed_call *c, int i) {
  heed_tensor *ids = c->in[i];
  if (ids->dtype == HEED_INT64) return heed_contiguous(c->op->name, ids);
  heed_tensor *whole = heed_tensor_new(c->op->name, HEED_INT64, &ids->shape);
  if (whole) heed_copy(whole, ids);
  return whole;
}

/* -- embedding -- */

typedef struct lookup {
  const int64_t *id; /* from 1 */
  const char *table;
  char *out;
  int64_t width, row_stride, stride; /* elements */
  size_t size;
} lookup;

static void copy_rows(void *context, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const lookup *l = context;
  size_t bytes = (size_t)l->width * l->size;
  for (int64_t i = begin; i < end; i++) {
    char *to = l->out + (size_t)i * bytes;
    const char *from =
        l->table + (l->id[i] - 1) * l->row_stride * (int64_t)l->size;
    if (l->stride == 1 || l->width == 1) {
      memcpy(to, from, bytes);
      continue;
    }
    for (int64_t j = 0; j < l->width; j++)
      memcpy(to + (size_t)j * l->size,
             from + j * l->stride * (int64_t)l->size, l->size);
  }
}

/***
Rows of a table: result[...] = weight[ids[...]].
@function embedding
@param ids tensor of int64, int32 or uint8, of any shape: row numbers from 1
@param weight tensor (rows, width)
@param padding_idx row that gets no gradient; 0 (the default) for none
@return tensor (shape of ids, width)
@raise when an id or padding_idx is no row of weight, or dtypes do not fit
@usage heed.nn.functional.embedding(heed.tensor{2, 1}, heed.eye(2))
*/
static bool embedding_check(heed_call *c) {
  const heed_tensor *ids = c->in[0], *weight = c->in[1];
  int64_t padding = c->attr[0].i;
  if (!heed_want_index(c, 0)) return false;
  if (weight->shape.ndim != 2)
    return heed_fail("embedding: weight must have 2 dimensions (rows, "
                     "width), got %s", heed_tensor_text(weight));
  if (padding < 0 || padding > weight->shape.dim[0])
    return heed_fail("embedding: padding_idx must be 1..%lld (a row of "
                     "weight %s) or 0, got %lld",
                     (long long)weight->shape.dim[0],
                     heed_shape_text(&weight->shape), (long long)padding);
  heed_shape shape = ids->shape;
  if (shape.ndim == HEED_MAX_DIM)
    return heed_fail("embedding: ids %s has no room for one more dimension",
                     heed_shape_text(&shape));
  shape.dim[shape.ndim++] = weight->shape.dim[1];
  heed_out(c, 0, weight->dtype, &shape);
  return true;
}

static bool embedding_fwd(heed_call *c) {
  const heed_tensor *weight = c->in[1];
  char of[240];
  snprintf(of, sizeof of, "a row of weight %s",
           heed_shape_text(&weight->shape));
  heed_tensor *ids = ids_of(c, 0);
  bool ok = ids && ids_check("embedding", ids, weight->shape.dim[0], of);
  if (ok) {
    lookup l = {heed_tensor_data(ids), heed_tensor_data(weight),
                heed_tensor_data(c->out[0]), weight->shape.dim[1],
                weight->stride[0], weight->stride[1],
                heed_dtype_size(weight->dtype)};
    heed_parallel(heed_tensor_numel(ids), GRAIN / (l.width + 1), copy_rows,
                  &l);
  }
  heed_tensor_drop(ids);
  return ok;
}

static bool embedding_bwd(heed_rule_call *r) {
  heed_attr attr[2] = {{.i = heed_in_shape(r, 1)->dim[0]}, r->attr[0]};
  return heed_give(r, 1, heed_do2_with(r, HEED_OP_embedding_bwd, r->grad[0],
                                       heed_in(r, 0), attr));
}
const heed_rule heed_rule_embedding = {
    .check = embedding_check, .forward = embedding_fwd,
    .backward = embedding_bwd, .keep = {HEED_ALWAYS}};

/* -- its gradient: inputs gradient and ids; attributes rows, padding -- */

static bool embedding_bwd_check(heed_call *c) {
  const heed_tensor *g = c->in[0];
  int64_t width = g->shape.dim[g->shape.ndim - 1];
  heed_out(c, 0, g->dtype, &(heed_shape){2, {c->attr[0].i, width}});
  return true;
}

typedef struct scatter {
  const int64_t *id;
  const char *grad;
  char *table;
  int64_t count, width, padding;
  size_t row_bytes;
  heed_loop2 *add;
} scatter;

static void clear(void *context, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const scatter *s = context;
  memset(s->table + (size_t)begin * s->row_bytes, 0,
         (size_t)(end - begin) * s->row_bytes);
}

/* Groups [begin, end): the ids that leave such a rest. */
static void add_groups(void *context, int64_t begin, int64_t end,
                       int worker) {
  (void)worker;
  const scatter *s = context;
  for (int64_t i = 0; i < s->count; i++) {
    int64_t id = s->id[i], group = id % GROUPS;
    if (group < begin || group >= end || id == s->padding) continue;
    char *row = s->table + (size_t)(id - 1) * s->row_bytes;
    s->add(s->width, row, 1, row, 1, s->grad + (size_t)i * s->row_bytes, 1);
  }
}

static bool embedding_bwd_fwd(heed_call *c) {
  heed_tensor *table = c->out[0];
  heed_tensor *g = heed_contiguous("embedding", c->in[0]);
  heed_tensor *ids = ids_of(c, 1);
  if (g && ids) {
    int64_t width = table->shape.dim[1];
    scatter s = {heed_tensor_data(ids), heed_tensor_data(g),
                 heed_tensor_data(table), heed_tensor_numel(ids), width,
                 c->attr[1].i, (size_t)width * heed_dtype_size(table->dtype),
                 heed_kernel.binary[HEED_BINARY_add][table->dtype]};
    heed_parallel(table->shape.dim[0], 4 * GRAIN / (width + 1), clear, &s);
    heed_parallel(GROUPS, s.count * width > GRAIN ? 1 : GROUPS, add_groups,
                  &s);
  }
  bool ok = g && ids;
  heed_tensor_drop(g);
  heed_tensor_drop(ids);
  return ok;
}

/* Linear in the gradient: rows of G, but zeros for the padding row. */
static bool embedding_bwd_bwd(heed_rule_call *r) {
  heed_tensor *ids = heed_in(r, 1);
  heed_tensor *t = heed_do2_with(r, HEED_OP_embedding, ids, r->grad[0],
                                 &r->attr[1]);
  if (t && r->attr[1].i > 0) {
    heed_tensor *real = heed_do2(r, HEED_OP_ne, ids,
                                 heed_number(r, (double)r->attr[1].i));
    t = heed_do2(r, HEED_OP_mul, t, heed_unsqueeze(r, real, -1));
  }
  return heed_give(r, 0, t);
}
const heed_rule heed_rule_embedding_bwd = {
    .check = embedding_bwd_check, .forward = embedding_bwd_fwd,
    .backward = embedding_bwd_bwd, .keep = {0, HEED_ALWAYS}};

/* -- one_hot -- */

/***
1 at the place that each id names, 0 elsewhere.
@function one_hot
@param ids tensor of int64, int32 or uint8, of any shape: numbers from 1 to
classes
@param classes integer, how many there are; by default as many as the largest id
@return int64 tensor (shape of ids, classes)
@raise when an id is out of range, or there is none to take classes from
@usage heed.one_hot(heed.tensor{2, 1}, 3) --> 0 1 0, 1 0 0
*/
static bool one_hot_check(heed_call *c) {
  heed_shape shape = c->in[0]->shape;
  int64_t classes = c->attr[0].i;
  if (!heed_want_index(c, 0)) return false;
  if (classes < -1)
    return heed_fail("one_hot: classes must be at least 0, got %lld",
                     (long long)classes);
  if (shape.ndim == HEED_MAX_DIM)
    return heed_fail("one_hot: ids %s has no room for one more dimension",
                     heed_shape_text(&shape));
  if (classes == -1) {
    heed_tensor *ids = ids_of(c, 0);
    if (!ids) return false;
    int64_t n = heed_tensor_numel(ids);
    const int64_t *id = heed_tensor_data(ids);
    for (int64_t i = 0; i < n; i++)
      if (id[i] > classes) classes = id[i];
    heed_tensor_drop(ids);
    if (n == 0)
      return heed_fail("one_hot: ids %s is empty, so classes must be given",
                       heed_shape_text(&shape));
    if (classes < 1) classes = 1; /* for the message about the ids */
  }
  shape.dim[shape.ndim++] = classes;
  heed_out(c, 0, HEED_INT64, &shape);
  return true;
}

static bool one_hot_fwd(heed_call *c) {
  const heed_shape *shape = &c->out[0]->shape;
  int64_t classes = shape->dim[shape->ndim - 1];
  int64_t *out = heed_tensor_data(c->out[0]);
  heed_tensor *ids = ids_of(c, 0);
  bool ok = ids && ids_check("one_hot", ids, classes, "classes");
  if (ok) {
    const int64_t *id = heed_tensor_data(ids);
    int64_t n = heed_tensor_numel(ids);
    memset(out, 0, c->out[0]->storage->bytes);
    for (int64_t i = 0; i < n; i++) out[i * classes + id[i] - 1] = 1;
  }
  heed_tensor_drop(ids);
  return ok;
}
const heed_rule heed_rule_one_hot = {.check = one_hot_check,
                                     .forward = one_hot_fwd};
