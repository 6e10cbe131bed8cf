/* sweep - one pass of the threads over many tensors. Layer: ops. */
#include "ops/sweep.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "ops/copy.h"

#define GRAIN 8 /* blocks worth a thread */

static bool is_written(const heed_sweep_lists *lists, int l) {
  return lists->written >> l & 1;
}

/* ---- check --------------------------------------------------------------- */

/* "x, grad, m" */
static const char *all_names(const heed_sweep_lists *lists, char *text,
                             size_t bytes) {
  size_t at = 0;
  for (int l = 0; l < lists->n && at < bytes; l++)
    at += (size_t)snprintf(text + at, bytes - at, "%s%s", l ? ", " : "",
                           lists->name[l]);
  return text;
}

static bool check_item(const heed_call *c, const heed_sweep_lists *lists,
                       int alike, int k, int n) {
  const char *op = c->op->name;
  const heed_tensor *x = c->in[k];
  if (x->dtype != HEED_FLOAT32 && x->dtype != HEED_FLOAT64)
    return heed_fail("%s: %s[%d] must be float32 or float64, got %s", op,
                     lists->name[0], k + 1, heed_tensor_text(x));
  for (int l = 1; l < lists->n; l++) {
    const heed_tensor *t = c->in[l * n + k];
    if (t->dtype != x->dtype ||
        (l < alike && !heed_shape_equal(&t->shape, &x->shape)))
      return heed_fail("%s: %s[%d] must be %s like %s[%d], got %s", op,
                       lists->name[l], k + 1,
                       l < alike ? heed_tensor_text(x)
                                 : heed_dtype_name(x->dtype),
                       lists->name[0], k + 1, heed_tensor_text(t));
  }
  for (int l = 0; l < lists->n; l++) {
    if (!is_written(lists, l) ||
        heed_check_writable(c, l * n + k, lists->name[l]))
      continue;
    char name[32]; /* made for the message only: steps are many */
    snprintf(name, sizeof name, "%s[%d]", lists->name[l], k + 1);
    return heed_check_writable(c, l * n + k, name);
  }
  return true;
}

bool heed_sweep_check_step(const heed_call *c, int64_t step) {
  return step >= 1 || heed_fail("%s: step must be at least 1, got %lld",
                                c->op->name, (long long)step);
}

bool heed_sweep_check(const heed_call *c, const heed_sweep_lists *lists,
                      int alike) {
  char text[80];
  int n = c->nin / lists->n;
  if (c->nin == 0 && lists->written)
    return heed_fail("%s: tensors is empty", c->op->name);
  if (n * lists->n != c->nin)
    return heed_fail("%s: tensors must be %d lists of one length in one (%s), "
                     "got %d tensors", c->op->name, lists->n,
                     all_names(lists, text, sizeof text), c->nin);
  for (int k = 0; k < n; k++)
    if (!check_item(c, lists, alike, k, n)) return false;
  return true;
}

/* ---- tensors that share memory ------------------------------------------- */

/* The bytes of its storage that a tensor may touch. */
typedef struct extent {
  uintptr_t storage;
  int64_t from, to;
  bool written;
} extent;

static extent extent_of(const heed_tensor *t, bool written) {
  int64_t from = t->offset, to = t->offset + 1;
  int64_t size = (int64_t)heed_dtype_size(t->dtype);
  for (int d = 0; d < t->shape.ndim; d++) {
    int64_t reach = (t->shape.dim[d] - 1) * t->stride[d];
    if (t->shape.dim[d] == 0) to = from;
    else if (reach > 0) to += reach;
    else from += reach;
  }
  if (to < from) to = from;
  return (extent){(uintptr_t)t->storage, from * size, to * size, written};
}

static int compare(const void *a, const void *b) {
  const extent *x = a, *y = b;
  if (x->storage != y->storage) return x->storage < y->storage ? -1 : 1;
  return (x->from > y->from) - (x->from < y->from);
}

/* Does no tensor that is written touch the bytes of another? */
static bool are_apart(const extent *e, int n) {
  int64_t any = 0, written = 0; /* where those so far end, in this storage */
  for (int i = 0; i < n; i++) {
    if (i == 0 || e[i].storage != e[i - 1].storage) any = written = 0;
    if (e[i].from == e[i].to) continue;
    if (e[i].from < (e[i].written ? any : written)) return false;
    if (e[i].to > any) any = e[i].to;
    if (e[i].written && e[i].to > written) written = e[i].to;
  }
  return true;
}

static bool find_apart(const heed_call *c, const heed_sweep_lists *lists,
                       bool *apart) {
  *apart = true;
  if (!lists->written || c->nin == 0) return true;
  size_t bytes = sizeof(extent) * (size_t)c->nin;
  extent *e = heed_mem_alloc(bytes);
  if (!e) return false;
  int n = c->nin / lists->n;
  for (int i = 0; i < c->nin; i++)
    e[i] = extent_of(c->in[i], is_written(lists, i / n));
  qsort(e, (size_t)c->nin, sizeof *e, compare);
  *apart = are_apart(e, c->nin);
  heed_mem_free(e, bytes);
  return true;
}

/* ---- running ------------------------------------------------------------- */

/* A row without gaps: t itself, or a copy. */
static heed_tensor *dense_of(const heed_call *c, heed_tensor *t, bool copy) {
  if (!copy) return heed_contiguous(c->op->name, t);
  heed_tensor *own = heed_tensor_new(c->op->name, t->dtype, &t->shape);
  if (own) heed_copy(own, t);
  return own;
}

static bool open_item(heed_sweep_item *item, const heed_call *c, int lists,
                      int k, int n, bool copy) {
  *item = (heed_sweep_item){.dtype = c->in[k]->dtype,
                           .n = heed_tensor_numel(c->in[k])};
  for (int l = 0; l < lists; l++) {
    item->dense[l] = dense_of(c, c->in[l * n + k], copy);
    if (!item->dense[l]) return false;
    item->data[l] = heed_tensor_data(item->dense[l]);
  }
  return true;
}

/* Writes copies of what changed back, and frees. */
static void close_item(heed_sweep_item *item, const heed_call *c,
                       const heed_sweep_lists *lists, int k, int n,
                       bool done) {
  for (int l = 0; l < lists->n; l++) {
    heed_tensor *t = c->in[l * n + k];
    if (done && is_written(lists, l)) {
      if (item->dense[l] != t) heed_copy(t, item->dense[l]);
      if (l > 0 || k > 0) t->storage->version++; /* input 0 is apply's */
    }
    heed_tensor_drop(item->dense[l]);
  }
}

/* Parameters begin .. end - 1 of n in one step. */
static bool run(const heed_call *c, heed_sweep *w, int begin, int end,
                bool copy, heed_sweep_step *step, void *how) {
  int n = c->nin / w->lists->n, opened = 0;
  bool ok = true;
  w->n = end - begin;
  w->blocks = 0;
  while (ok && opened < w->n) {
    heed_sweep_item *item = &w->item[opened];
    ok = open_item(item, c, w->lists->n, begin + opened, n, copy);
    item->first = w->blocks;
    w->blocks += heed_sweep_blocks(item->n);
    opened++;
  }
  ok = ok && step(w, how);
  for (int i = 0; i < opened; i++)
    close_item(&w->item[i], c, w->lists, begin + i, n, ok);
  return ok;
}

bool heed_sweep_run(heed_call *c, const heed_sweep_lists *lists,
                    heed_sweep_step *step, void *how) {
  int n = c->nin / lists->n;
  bool apart;
  if (!find_apart(c, lists, &apart)) return false;
  size_t bytes = sizeof(heed_sweep_item) * (size_t)n;
  heed_sweep w = {lists, heed_mem_alloc(bytes), 0, 0};
  if (!w.item) return false;
  bool ok = true;
  if (apart) ok = run(c, &w, 0, n, false, step, how);
  else
    for (int k = 0; ok && k < n; k++)
      ok = run(c, &w, k, k + 1, true, step, how);
  heed_mem_free(w.item, bytes);
  return ok;
}

/* ---- sharing the blocks -------------------------------------------------- */

typedef struct job {
  const heed_sweep *w;
  heed_sweep_part *part;
  void *context;
} job;

/* The last item that begins at or before a block; items of no block are never
   the last one there. */
static int find_item(const heed_sweep *w, int64_t block) {
  int low = 0, high = w->n;
  while (high - low > 1) {
    int middle = (low + high) / 2;
    if (w->item[middle].first <= block) low = middle;
    else high = middle;
  }
  return low;
}

static void run_blocks(void *context, int64_t begin, int64_t end,
                       int worker) {
  const job *j = context;
  (void)worker;
  for (int k = find_item(j->w, begin); begin < end; k++) {
    const heed_sweep_item *item = &j->w->item[k];
    int64_t from = (begin - item->first) * HEED_SWEEP_BLOCK;
    int64_t to = (end - item->first) * HEED_SWEEP_BLOCK;
    if (to > item->n) to = item->n;
    if (from < to) j->part(j->context, item, from, to);
    begin = item->first + heed_sweep_blocks(item->n);
  }
}

void heed_sweep_each(const heed_sweep *w, heed_sweep_part *part,
                     void *context) {
  job j = {w, part, context};
  heed_parallel(w->blocks, GRAIN, run_blocks, &j);
}
