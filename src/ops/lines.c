/*
 * lines - ops that choose elements of each line along a dimension.
 * Layer: ops. Read first: lines.h.
 *
 * A dimension that is not the last, or has gaps, is first moved to the end in
 * a copy, and the results are moved back: lines that lie apart would be read
 * an element at a time from all over the memory.
 */
#include "ops/lines.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "ops/copy.h"

#define GRAIN 4096 /* elements worth a thread */

typedef struct run {
  heed_lines lines;
  heed_line_fn *fn;
  const char *x;
  char *value;
  int64_t *place;
  char *scratch;
  size_t size, room; /* bytes of an element, of the scratch of a worker */
} run;

#define STRETCH (1 << 20) /* elements between looks for an interrupt */

/* value[j] = x[place[j]] */
#define PICK(type)                                          \
  for (int64_t j = 0; j < k; j++) {                         \
    if (j % STRETCH == STRETCH - 1 && heed_parallel_given_up()) return; \
    ((type *)value)[j] = ((const type *)x)[place[j]];       \
  }

static void pick(size_t size, int64_t k, void *value, const void *x,
                 const int64_t *place) {
  if (size == 1) {
    PICK(uint8_t)
  } else if (size == 4) {
    PICK(uint32_t)
  } else {
    PICK(uint64_t)
  }
}

static void run_lines(void *context, int64_t begin, int64_t end,
                      int worker) {
  const run *r = context;
  const heed_lines *l = &r->lines;
  char *scratch = r->scratch + (size_t)worker * r->room;
  for (int64_t i = begin; i < end; i++) {
    const char *x = r->x + (size_t)(i * l->n) * r->size;
    char *value = r->value + (size_t)(i * l->k) * r->size;
    int64_t *place = r->place + i * l->k;
    r->fn(l, x, place, scratch);
    pick(r->size, l->k, value, x, place);
    for (int64_t j = 0; j < l->k; j++) place[j]++;
  }
}

/* t with dimension dim last; a description. */
static heed_tensor moved(const heed_tensor *t, int64_t dim) {
  heed_tensor m = *t;
  int last = t->shape.ndim - 1;
  for (int d = (int)dim; d < last; d++) {
    m.shape.dim[d] = t->shape.dim[d + 1];
    m.stride[d] = t->stride[d + 1];
  }
  m.shape.dim[last] = t->shape.dim[dim];
  m.stride[last] = t->stride[dim];
  return m;
}

static bool run_all(heed_call *c, run *r, heed_tensor *x, heed_tensor *values,
                    heed_tensor *places) {
  size_t bytes = r->room * (size_t)heed_get_num_threads();
  r->x = heed_tensor_data(x);
  r->value = heed_tensor_data(values);
  r->place = heed_tensor_data(places);
  r->scratch = heed_mem_alloc(bytes);
  if (!r->scratch) return heed_fail_prefix("%s: ", c->op->name);
  int64_t n = r->lines.n;
  heed_parallel_values(heed_tensor_numel(x) / n, (GRAIN + n - 1) / n, run_lines,
                       r);
  heed_mem_free(r->scratch, bytes);
  return true;
}

/* Runs on [.. n] and writes into results of the shape [.. k]. */
static bool run_moved(heed_call *c, run *r, heed_tensor *x,
                      const heed_tensor *values, const heed_tensor *places) {
  heed_tensor to_values = *values, to_places = *places;
  heed_tensor *v = heed_tensor_new(c->op->name, values->dtype, &values->shape);
  heed_tensor *p = heed_tensor_new(c->op->name, HEED_INT64, &places->shape);
  bool ok = v && p && run_all(c, r, x, v, p);
  if (ok) {
    heed_copy(&to_values, v);
    heed_copy(&to_places, p);
  }
  heed_tensor_drop(v);
  heed_tensor_drop(p);
  return ok;
}

bool heed_lines_run(heed_call *c, int64_t dim, int64_t k, bool down,
                    size_t scratch, heed_line_fn *fn) {
  heed_tensor x = moved(c->in[0], dim);
  int last = x.shape.ndim - 1;
  run r = {.lines = {x.dtype, x.shape.dim[last], k, down, c->attr}, .fn = fn,
           .size = heed_dtype_size(x.dtype),
           .room = (scratch + HEED_ALIGN) / HEED_ALIGN * HEED_ALIGN};
  if (heed_tensor_numel(c->out[0]) == 0) return true;
  heed_tensor *copy = NULL, *dense = &x;
  if (!heed_tensor_is_contiguous(&x)) {
    copy = dense = heed_contiguous(c->op->name, &x);
    if (!copy) return false;
  }
  /* the results have the dimension, or are what is left without it */
  heed_tensor values = *c->out[0], places = *c->out[1];
  bool direct = dim == last || values.shape.ndim <= last;
  if (!direct) {
    values = moved(&values, dim);
    places = moved(&places, dim);
    direct = k == 1;
  }
  bool ok = direct ? run_all(c, &r, dense, c->out[0], c->out[1])
                   : run_moved(c, &r, dense, &values, &places);
  heed_tensor_drop(copy);
  return ok;
}

bool heed_lines_bwd(heed_rule_call *r, int64_t dim, bool kept) {
  heed_attr attr[2] = {{.list = *heed_in_shape(r, 0)}, {.i = dim}};
  heed_tensor *g = heed_grad_of(r, 0), *places = heed_kept_out(r, 1);
  if (!kept) {
    g = heed_unsqueeze(r, g, dim);
    places = heed_unsqueeze(r, places, dim);
  }
  return heed_give(r, 0,
                   heed_do2_with(r, HEED_OP_gather_bwd, g, places, attr));
}
