/*
 * index_test - ops that read and write by position, mask or order: values,
 * gradients against differences, any layout, any number of threads, sizes of
 * 0, messages. Prints `ok name` or `not ok name: ...`; returns 0 when all is
 * well.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/extra.h"
#include "core/generator.h"
#include "core/node.h"
#include "report.h"

#define GRAD(t) heed_extra_grad(t)

typedef heed_tensor tensor;

#define MOST 3 /* inputs of an op */

static heed_generator numbers;

static void must(const void *made) {
  if (made) return;
  printf("not ok: %s\n", heed_error());
  exit(1);
}

/* ---- tensors ----
 * Written as text: "f 2 3: 1 2 3 4 5 6" is a float64 tensor [2 3], i one of
 * int64, b of bool; without values it gets random ones.
 */

static double get(const tensor *t, int64_t i) {
  const void *p = heed_tensor_data(t);
  switch (t->dtype) {
    case HEED_BOOL: return ((const unsigned char *)p)[i];
    case HEED_INT64: return (double)((const int64_t *)p)[i];
    case HEED_FLOAT32: return (double)((const float *)p)[i];
    default: return ((const double *)p)[i];
  }
}

static void set(tensor *t, int64_t i, double v) {
  void *p = heed_tensor_data(t);
  switch (t->dtype) {
    case HEED_BOOL: ((unsigned char *)p)[i] = v != 0; break;
    case HEED_INT64: ((int64_t *)p)[i] = (int64_t)v; break;
    case HEED_FLOAT32: ((float *)p)[i] = (float)v; break;
    default: ((double *)p)[i] = v;
  }
}

static tensor *blank(heed_dtype dtype, const heed_shape *shape) {
  tensor *t = heed_tensor_new("test", dtype, shape);
  must(t);
  return t;
}

static tensor *noise(heed_dtype dtype, const heed_shape *shape) {
  tensor *t = blank(dtype, shape);
  for (int64_t i = 0; i < heed_tensor_numel(t); i++)
    set(t, i, (double)(float)heed_generator_normal(&numbers));
  return t;
}

static tensor *read_tensor(const char *text) {
  heed_dtype dtype = *text == 'i'   ? HEED_INT64
                     : *text == 'b' ? HEED_BOOL
                     : *text == 's' ? HEED_FLOAT32
                                    : HEED_FLOAT64;
  heed_shape shape = {0};
  char *at = (char *)text + 1;
  while (*at && *at != ':')
    shape.dim[shape.ndim++] = strtoll(at, &at, 10);
  if (!*at) return noise(dtype, &shape);
  tensor *t = blank(dtype, &shape);
  at++;
  for (int64_t i = 0; i < heed_tensor_numel(t); i++)
    set(t, i, strtod(at, &at));
  return t;
}

/* Runs an op; results that are not asked for are dropped. */
static bool run(const char *name, const char *attributes, tensor *const *in,
                int nin, tensor **out, int nout) {
  return heed_run(name, in, nin, attributes, out, nout) >= 0;
}

static tensor *run1(const char *name, const char *attributes, tensor *in) {
  tensor *out;
  must(run(name, attributes, &in, 1, &out, 1) ? &out : NULL);
  return out;
}

/* The same elements in another layout. */
static tensor *swapped(tensor *t) {
  if (t->shape.ndim < 2) return heed_tensor_ref(t);
  tensor *there = run1("transpose", "dim1=0, dim2=-1", t);
  tensor *copy = run1("clone", "", there);
  tensor *back = run1("transpose", "dim1=0, dim2=-1", copy);
  heed_tensor_drop(there);
  heed_tensor_drop(copy);
  return back;
}

/* The largest difference; infinite when shapes differ. */
static double distance(const tensor *a, const tensor *b) {
  double worst = 0;
  if (!heed_shape_equal(&a->shape, &b->shape)) return INFINITY;
  for (int64_t i = 0; i < heed_tensor_numel(b); i++) {
    double x = get(a, i), y = get(b, i);
    if (x == y || (x != x && y != y)) continue;
    double d = fabs(x - y);
    worst = d != d ? INFINITY : d > worst ? d : worst;
  }
  return worst;
}

static bool same_bits(const tensor *a, const tensor *b) {
  return heed_shape_equal(&a->shape, &b->shape) &&
         memcmp(heed_tensor_data(a), heed_tensor_data(b),
                (size_t)heed_tensor_numel(a) * heed_dtype_size(a->dtype)) == 0;
}

static void drop_all(tensor **t, int n) {
  for (int i = 0; i < n; i++) heed_tensor_drop(t[i]);
}

/* ---- values ---- */

typedef struct value_case {
  const char *name, *op, *attributes, *in[MOST], *out[2];
} value_case;

static const value_case values[] = {
    {"index_select: rows, negative positions and repeats", "index_select", "",
     {"f 3 2: 1 2 3 4 5 6", "i 4: 3 1 -1 -3"},
     {"f 4 2: 5 6 1 2 5 6 1 2"}},
    {"index_select: columns", "index_select", "dim=1",
     {"f 2 3: 1 2 3 4 5 6", "i 2: 3 1"}, {"f 2 2: 3 1 6 4"}},
    {"index_select: an index of two dimensions stands for one",
     "index_select", "", {"f 3: 10 20 30", "i 2 2: 1 2 3 3"},
     {"f 2 2: 10 20 30 30"}},
    {"index_select: an index without dimensions drops one", "index_select",
     "dim=-1", {"f 2 3: 1 2 3 4 5 6", "i: 2"}, {"f 2: 2 5"}},
    {"index_select: nothing", "index_select", "",
     {"f 0 2:", "i 0:"}, {"f 0 2:"}},
    {"index_select: bools", "index_select", "", {"b 3: 1 0 1", "i 2: 2 3"},
     {"b 2: 0 1"}},
    {"index_put: the last of equal positions stays", "index_put", "dims=[0]",
     {"f 3 2: 1 2 3 4 5 6", "f 3 2: 10 11 12 13 14 15", "i 3: 1 3 1"},
     {"f 3 2: 14 15 3 4 12 13"}},
    {"index_put: the value broadcasts", "index_put", "dims=[0]",
     {"f 3 2: 1 2 3 4 5 6", "f 2: 8 9", "i 2: 1 3"},
     {"f 3 2: 8 9 3 4 8 9"}},
    {"index_put: the value takes the dtype of x", "index_put", "dims=[0]",
     {"i 3: 1 2 3", "f: 9.75", "i 1: 2"}, {"i 3: 1 9 3"}},
    {"index_add: all count", "index_add", "dim=0",
     {"f 3 1: 1 1 1", "i 3: 3 3 -2", "f 3 1: 1 2 4"}, {"f 3 1: 1 5 4"}},
    {"index_add: columns of integers", "index_add", "dim=1",
     {"i 1 2: 1 1", "i 3: 2 2 2", "i 1 3: 1 2 4"}, {"i 1 2: 1 8"}},
    {"gather: along rows", "gather", "dim=1",
     {"f 2 3: 1 2 3 4 5 6", "i 2 2: 3 1 2 -1"}, {"f 2 2: 3 1 5 6"}},
    {"gather: along columns, an index smaller than x", "gather", "dim=0",
     {"f 2 3: 1 2 3 4 5 6", "i 3 2: 1 2 2 1 2 2"},
     {"f 3 2: 1 5 4 2 4 5"}},
    {"scatter: the last of equal places stays", "scatter", "dim=1",
     {"f 2 3: 1 2 3 4 5 6", "i 2 2: 3 3 1 2", "f 2 2: 7 8 9 10"},
     {"f 2 3: 1 2 8 9 10 6"}},
    {"scatter: a number", "scatter", "dim=0",
     {"f 2 2: 1 2 3 4", "i 1 2: 2 1", "f: 0"}, {"f 2 2: 1 0 0 4"}},
    {"scatter: a source larger than the index", "scatter", "dim=1",
     {"f 1 3: 0 0 0", "i 1 2: 2 3", "f 2 3: 7 8 9 1 1 1"},
     {"f 1 3: 0 7 8"}},
    {"scatter_add: all count", "scatter_add", "dim=0",
     {"f 3: 1 1 1", "i 4: 1 1 3 -1", "f 4: 1 2 4 8"}, {"f 3: 4 1 13"}},
    {"masked_select: row-major", "masked_select", "",
     {"f 2 2: 1 2 3 4", "b 2 2: 1 0 1 1"}, {"f 3: 1 3 4"}},
    {"masked_select: x and mask broadcast", "masked_select", "",
     {"f 2 1: 1 2", "b 3: 1 0 1"}, {"f 4: 1 1 2 2"}},
    {"masked_select: nothing", "masked_select", "",
     {"f 2: 1 2", "b 2: 0 0"}, {"f 0:"}},
    {"nonzero: positions from 1", "nonzero", "", {"f 2 3: 0 1 0 2 0 3"},
     {"i 3 2: 1 2 2 1 2 3"}},
    {"nonzero: bools", "nonzero", "", {"b 3: 0 1 1"}, {"i 2 1: 2 3"}},
    {"nonzero: a number", "nonzero", "", {"f: 4"}, {"i 1 0:"}},
    {"tril: diagonal 1 of a wide matrix", "tril", "diagonal=1",
     {"f 2 4: 1 2 3 4 5 6 7 8"}, {"f 2 4: 1 2 0 0 5 6 7 0"}},
    {"tril: far below", "tril", "diagonal=-9223372036854775807",
     {"f 2 2: 1 2 3 4"}, {"f 2 2: 0 0 0 0"}},
    {"triu: diagonal -1 of a batch", "triu", "diagonal=-1",
     {"i 2 3 1: 1 2 3 4 5 6"}, {"i 2 3 1: 1 2 0 4 5 0"}},
    {"triu: far below", "triu", "diagonal=-9223372036854775807",
     {"f 2 2: 1 2 3 4"}, {"f 2 2: 1 2 3 4"}},
    {"sort: NaN last, equal values in their order", "sort", "",
     {"f 7: nan 3 -0 0 -inf inf -2"},
     {"f 7: -inf -2 -0 0 3 inf nan", "i 7: 5 7 3 4 2 6 1"}},
    {"sort: downwards NaN first", "sort", "descending=true",
     {"s 6: 1 nan 2 1 -inf 1"},
     {"s 6: nan 2 1 1 1 -inf", "i 6: 2 3 1 4 6 5"}},
    {"sort: integers beyond the reach of doubles", "sort", "dim=0",
     {"i 3 2: 3 -9000000000 -1 4 2 5"},
     {"i 3 2: -1 -9000000000 2 4 3 5", "i 3 2: 2 1 3 2 1 3"}},
    {"sort: bools", "sort", "", {"b 4: 1 0 1 0"},
     {"b 4: 0 0 1 1", "i 4: 2 4 1 3"}},
    {"topk: the greatest, the first of equal ones", "topk", "k=2",
     {"f 20: 1 5 2 5 5 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1"},
     {"f 2: 5 5", "i 2: 2 4"}},
    {"topk: the smallest of columns", "topk", "k=1, dim=0, largest=false",
     {"f 2 3: 1 5 2 0 6 3"}, {"f 1 3: 0 5 2", "i 1 3: 2 1 1"}},
    {"topk: none", "topk", "k=0", {"f 2 3: 1 5 2 0 6 3"},
     {"f 2 0:", "i 2 0:"}},
    {"topk: NaN counts as the greatest", "topk", "k=1",
     {"s 10: 1 2 3 nan inf 6 7 8 9 10"}, {"s 1: nan", "i 1: 4"}},
    {"cumsum: rows and columns", "cumsum", "dim=0",
     {"f 2 3: 1 2 3 4 5 6"}, {"f 2 3: 1 2 3 5 7 9"}},
    {"cumsum: bools are counted", "cumsum", "dim=-1", {"b 4: 1 0 1 1"},
     {"i 4: 1 1 2 3"}},
};

static void check_values(const value_case *v) {
  tensor *in[MOST], *out[2] = {0}, *other[MOST];
  int nin = 0;
  for (; nin < MOST && v->in[nin]; nin++) {
    in[nin] = read_tensor(v->in[nin]);
    other[nin] = swapped(in[nin]);
  }
  bool ok = true;
  for (int layout = 0; ok && layout < 2; layout++) {
    ok = run(v->op, v->attributes, layout ? other : in, nin, out, 2);
    must(ok ? v : NULL);
    for (int k = 0; k < 2 && v->out[k]; k++) {
      tensor *want = read_tensor(v->out[k]);
      ok = ok && out[k]->dtype == want->dtype && distance(out[k], want) == 0;
      heed_tensor_drop(want);
    }
    drop_all(out, 2);
    out[0] = out[1] = NULL;
  }
  REPORT(ok, v->name, "other values than %s", v->out[0]);
  drop_all(in, nin);
  drop_all(other, nin);
}

/* Long lines take other ways than short ones: the order must be that of a
   stable sort by comparison. */
static const double *keys;

static int by_key(const void *a, const void *b) {
  int64_t i = *(const int64_t *)a, j = *(const int64_t *)b;
  if (keys[i] != keys[j]) return keys[i] < keys[j] ? -1 : 1;
  return i < j ? -1 : 1;
}

static void check_long_lines(heed_dtype dtype, int64_t n) {
  static double key[1000];
  static int64_t order[1000];
  tensor *x = blank(dtype, &(heed_shape){1, {n}}), *out[2], *top[2];
  for (int64_t i = 0; i < n; i++) {
    /* whole numbers, so that some are equal */
    set(x, i, floor(heed_generator_normal(&numbers) * 50));
    key[i] = get(x, i);
    order[i] = i;
  }
  keys = key;
  qsort(order, (size_t)n, sizeof *order, by_key);
  bool ok = run("sort", "", &x, 1, out, 2) &&
            run("topk", "k=9, largest=false", &x, 1, top, 2);
  must(ok ? x : NULL);
  for (int64_t i = 0; i < n; i++)
    ok = ok && get(out[1], i) == (double)order[i] + 1 &&
         get(out[0], i) == key[order[i]] &&
         (i >= 9 || get(top[1], i) == (double)order[i] + 1);
  char name[80];
  snprintf(name, sizeof name, "sort, topk: %lld values of %s",
           (long long)n, heed_dtype_name(dtype));
  REPORT(ok, name, "not in order");
  heed_tensor_drop(x);
  drop_all(out, 2);
  drop_all(top, 2);
}

/* ---- gradients ---- */

/* want: bit i for each input that gets a gradient */
typedef struct grad_case {
  const char *name, *op, *attributes, *in[MOST];
  unsigned want;
} grad_case;

static const grad_case gradients[] = {
    {"index_select", "index_select", "dim=1", {"f 2 3 4", "i 5: 3 1 1 -1 2"},
     1},
    {"index_select by a matrix", "index_select", "",
     {"f 3 2", "i 2 2: 3 1 1 -1"}, 1},
    {"index_bwd", "index_bwd", "shape=[2 3], dims=[1]",
     {"f 2 4", "i 4: 3 1 1 3"}, 1},
    {"index_bwd, apart", "index_bwd", "shape=[2 3 3], dims=[0 2]",
     {"f 4 3", "i 4: 2 1 1 2", "i 1: 3"}, 1},
    {"index_put", "index_put", "dims=[0]", {"f 4 3", "f 3 3", "i 3: 2 4 2"},
     3},
    {"index_put, value broadcast", "index_put", "dims=[0]",
     {"f 4 3", "f 3", "i 2 2: 1 3 3 -1"}, 3},
    {"index_put, nothing", "index_put", "dims=[0]", {"f 4 3", "f 3", "i 0:"},
     3},
    {"index_add", "index_add", "dim=1", {"f 2 3", "i 4: 3 1 1 -1", "f 2 4"},
     5},
    {"gather", "gather", "dim=0", {"f 3 4", "i 2 3: 3 1 1 -1 2 1"}, 1},
    {"gather_bwd", "gather_bwd", "shape=[3 4], dim=0",
     {"f 2 3", "i 2 3: 3 1 1 3 2 1"}, 1},
    {"scatter", "scatter", "dim=1",
     {"f 2 4", "i 2 3: 4 1 -1 2 3 2", "f 2 3"}, 5},
    {"scatter, larger source", "scatter", "dim=0",
     {"f 3 4", "i 2 3: 2 1 3 2 1 2", "f 4 5"}, 5},
    {"scatter, one number", "scatter", "dim=1",
     {"f 2 4", "i 2 3: 4 1 -1 2 3 2", "f"}, 5},
    {"scatter_add", "scatter_add", "dim=1",
     {"f 2 4", "i 2 3: 4 1 -1 2 3 2", "f 2 5"}, 5},
    {"masked_select", "masked_select", "", {"f 2 3", "b 2 3: 1 0 1 0 1 1"},
     1},
    {"masked_select, broadcast", "masked_select", "",
     {"f 3 1", "b 2 1 4: 1 0 1 0 1 1 1 1"}, 1},
    {"masked_select_bwd", "masked_select_bwd", "shape=[2 3]",
     {"f 4", "b 2 3: 1 0 1 0 1 1"}, 1},
    {"tril", "tril", "diagonal=-1", {"f 2 3 4"}, 1},
    {"triu", "triu", "diagonal=1", {"f 2 3 4"}, 1},
    {"sort", "sort", "dim=0, descending=true", {"f 5 3"}, 1},
    {"topk", "topk", "k=2, dim=1", {"f 2 17 2"}, 1},
    {"cumsum", "cumsum", "dim=1", {"f 2 3 4"}, 1},
};

/* The result, and the gradients of sum(result * upstream). */
static tensor *forward_backward(const grad_case *g, tensor *const *in,
                                int nin, tensor *upstream, tensor **grad) {
  tensor *leaf[MOST], *y;
  for (int i = 0; i < nin; i++) {
    leaf[i] = heed_tensor_detach(in[i]);
    leaf[i]->requires_grad = g->want >> i & 1;
  }
  must(run(g->op, g->attributes, leaf, nin, &y, 1) ? g : NULL);
  must(heed_tensor_backward(y, upstream) ? g : NULL);
  for (int i = 0; i < nin; i++) {
    grad[i] = g->want >> i & 1 ? run1("contiguous", "", GRAD(leaf[i])) : NULL;
    heed_tensor_drop(leaf[i]);
  }
  return y;
}

static double objective(const grad_case *g, tensor *const *in, int nin,
                        const tensor *upstream) {
  tensor *y;
  double sum = 0;
  must(run(g->op, g->attributes, in, nin, &y, 1) ? g : NULL);
  for (int64_t i = 0; i < heed_tensor_numel(y); i++)
    sum += get(y, i) * get(upstream, i);
  heed_tensor_drop(y);
  return sum;
}

/* All of these ops are linear, but for the choice that sort and topk make:
   a wide step does for differences. */
static double off_differences(const grad_case *g, tensor *const *in, int nin,
                              const tensor *upstream, tensor *const *grad) {
  const double step = 1e-3;
  double worst = 0;
  for (int i = 0; i < nin; i++) {
    for (int64_t k = 0; grad[i] && k < heed_tensor_numel(in[i]); k++) {
      double at = get(in[i], k);
      set(in[i], k, at + step);
      double above = objective(g, in, nin, upstream);
      set(in[i], k, at - step);
      double below = objective(g, in, nin, upstream);
      set(in[i], k, at);
      double d = fabs((above - below) / (2 * step) - get(grad[i], k));
      if (!(d <= worst)) worst = d;
    }
  }
  return worst;
}

static void check_gradients(const grad_case *g) {
  tensor *in[MOST], *other[MOST], *grad[MOST], *grad2[MOST], *y;
  int nin = 0;
  for (; nin < MOST && g->in[nin]; nin++) {
    in[nin] = read_tensor(g->in[nin]);
    other[nin] = swapped(in[nin]);
  }
  must(run(g->op, g->attributes, in, nin, &y, 1) ? g : NULL);
  tensor *upstream = noise(HEED_FLOAT64, &y->shape);
  tensor *upstream2 = swapped(upstream);
  heed_tensor_drop(y);
  y = forward_backward(g, in, nin, upstream, grad);
  double off = off_differences(g, in, nin, upstream, grad);
  char name[80];
  snprintf(name, sizeof name, "%s: gradient as by differences", g->name);
  REPORT(off < 1e-9, name, "off by %g", off);

  tensor *y2 = forward_backward(g, other, nin, upstream2, grad2);
  off = distance(y2, y);
  for (int i = 0; i < nin; i++)
    if (grad[i]) off = fmax(off, distance(grad2[i], grad[i]));
  snprintf(name, sizeof name, "%s: any strides", g->name);
  REPORT(off == 0, name, "off by %g", off);
  drop_all(in, nin);
  drop_all(other, nin);
  drop_all(grad, nin);
  drop_all(grad2, nin);
  heed_tensor_drop(upstream);
  heed_tensor_drop(upstream2);
  heed_tensor_drop(y);
  heed_tensor_drop(y2);
}

/* ---- threads ---- */

/* Large enough to be shared out, with positions that repeat much. */
static tensor *positions(const heed_shape *shape, int64_t size) {
  tensor *t = blank(HEED_INT64, shape);
  for (int64_t i = 0; i < heed_tensor_numel(t); i++)
    set(t, i, (double)(1 + heed_generator_u32(&numbers) % (uint32_t)size));
  return t;
}

static void check_threads(const char *op, const char *attributes,
                          heed_shape x, heed_shape index, int64_t size,
                          const heed_shape *source) {
  tensor *in[3] = {noise(HEED_FLOAT32, &x), positions(&index, size),
                   source ? noise(HEED_FLOAT32, source) : NULL};
  tensor *first = NULL, *first_grad = NULL;
  bool same = true;
  int threads = heed_get_num_threads();
  for (int n = 1; n <= 4; n++) {
    heed_set_num_threads(n);
    tensor *leaf = heed_tensor_detach(in[source ? 2 : 0]), *y;
    leaf->requires_grad = true;
    tensor *args[3] = {in[0], in[1], in[2]};
    args[source ? 2 : 0] = leaf;
    must(run(op, attributes, args, source ? 3 : 2, &y, 1) ? op : NULL);
    tensor *upstream = run1("detach", "", y);
    must(heed_tensor_backward(y, upstream) ? op : NULL);
    if (first) {
      same = same && same_bits(y, first) && same_bits(GRAD(leaf), first_grad);
    } else {
      first = heed_tensor_ref(y);
      first_grad = heed_tensor_ref(GRAD(leaf));
    }
    heed_tensor_drop(upstream);
    heed_tensor_drop(leaf);
    heed_tensor_drop(y);
  }
  heed_set_num_threads(threads);
  char name[80];
  snprintf(name, sizeof name, "%s: same bits for 1 to 4 threads", op);
  REPORT(same, name, "bits differ");
  drop_all(in, 3);
  heed_tensor_drop(first);
  heed_tensor_drop(first_grad);
}

static void check_all_threads(void) {
  heed_shape rows = {2, {500, 200}}, picks = {2, {2000, 200}};
  heed_shape list = {1, {2000}}, line = {1, {90000}};
  check_threads("index_select", "dim=0", rows, list, 500, NULL);
  check_threads("gather", "dim=0", rows, picks, 500, NULL);
  check_threads("index_add", "dim=0", rows, list, 500, &picks);
  check_threads("index", "dims=[0]", rows, list, 500, NULL);
  check_threads("scatter", "dim=0", rows,
                (heed_shape){2, {1500, 150}}, 500, &picks);
  check_threads("scatter_reduce", "dim=0, reduce=mean", rows, picks, 500,
                &picks);
  check_threads("scatter_reduce", "dim=0, reduce=amax", rows, picks, 500,
                &picks);
  check_threads("scatter_add", "dim=0", line, line, 90000, &line);
}

/* ---- messages ---- */

typedef struct error_case {
  const char *op, *attributes, *in[MOST], *message;
} error_case;

static const error_case errors[] = {
    {"index_select", "", {"f 3 2", "i 2 2: 1 2 4 0"},
     "index_select: index[2][1] must be 1..3 or -3..-1 for dim 1 of x [3 2], "
     "got 4"},
    {"index_select", "dim=1", {"f 3 2", "i 1: 0"},
     "index_select: index[1] must be 1..2 or -2..-1 for dim 2 of x [3 2], "
     "got 0"},
    {"index_select", "", {"f 3 2", "i: -4"},
     "index_select: index must be 1..3 or -3..-1 for dim 1 of x [3 2], "
     "got -4"},
    {"index_select", "", {"f 0 2:", "i 1: 1"},
     "index_select: index[1] is 1, but dim 1 of x [0 2] has no elements"},
    {"index_select", "", {"f 3 2", "f 1"},
     "index_select: index must be int64, int32 or uint8, got float64 [1]"},
    {"index_select", "dim=2", {"f 3 2", "i 1: 1"},
     "index_select: dim must be 1..2 or -2..-1 for x [3 2], got 3"},
    {"index_select", "", {"f 1 1 1 1 1 1", "i 1 1 1 1: 1"},
     "index_select: x [1 1 1 1 1 1] and index [1 1 1 1] give 9 dimensions, "
     "more than 8 are not possible"},
    {"index_put", "dims=[0]", {"f 3 2", "f 3", "i 2: 1 2"},
     "index_put: value [3] cannot be broadcast to the [2 2] that the index "
     "takes from x [3 2]"},
    {"index_put", "dims=[0]", {"f", "f 3", "i 2: 1 2"},
     "index_put: x has no dimensions, so dim 1 is out of range"},
    {"index_add", "dim=0", {"f 3 2", "i 2: 1 2", "f 2 3"},
     "index_add: source must be [2 2] for x [3 2] and index [2], got [2 3]"},
    {"index_add", "dim=0", {"b 1: 1", "i 1: 1", "b 1: 1"},
     "index_add: x must hold numbers, got bool [1]"},
    {"gather", "dim=0", {"f 3 2", "i 1: 1"},
     "gather: index [1] must have as many dimensions as x [3 2]"},
    {"gather", "dim=0", {"f 3 2", "i 1 3: 1 1 1"},
     "gather: index [1 3] must not be larger than x [3 2] in dim 2"},
    {"gather", "dim=0", {"f 3 2", "i 1 2: 1 7"},
     "gather: index[1][2] must be 1..3 or -3..-1 for dim 1 of x [3 2], "
     "got 7"},
    {"scatter", "dim=0", {"f 3 2", "i 2 2: 1 1 1 1", "f 1 2"},
     "scatter: index [2 2] must not be larger than source [1 2] in dim 1"},
    {"scatter_add", "dim=0", {"b 1: 1", "i 1: 1", "b 1: 1"},
     "scatter_add: x and source must be numbers, got bool [1]"},
    {"masked_select", "", {"f 3", "i 3: 1 1 1"},
     "masked_select: mask must be bool, got int64 [3]"},
    {"masked_select", "", {"f 3", "b 2: 1 1"},
     "masked_select: x [3] and mask [2] cannot be broadcast together"},
    {"tril", "", {"f 3"},
     "tril: x must have at least 2 dimensions, got float64 [3]"},
    {"sort", "dim=1", {"f 3"},
     "sort: dim must be 1..1 or -1..-1 for x [3], got 2"},
    {"topk", "k=4", {"f 2 3"},
     "topk: k must be 0..3 for dim 2 of x [2 3], got 4"},
    {"topk", "k=-1", {"f 2 3"},
     "topk: k must be 0..3 for dim 2 of x [2 3], got -1"},
    {"cumsum", "dim=0", {"f"},
     "cumsum: x has no dimensions, so dim 1 is out of range"},
};

static void check_error(const error_case *e) {
  tensor *in[MOST], *out[2] = {0};
  int nin = 0;
  for (; nin < MOST && e->in[nin]; nin++) in[nin] = read_tensor(e->in[nin]);
  bool ran = run(e->op, e->attributes, in, nin, out, 2);
  REPORT(!ran && strcmp(heed_error(), e->message) == 0, e->message,
         "got: %s", ran ? "a result" : heed_error());
  drop_all(in, nin);
  drop_all(out, 2);
}

#define EACH(list, check)                                            \
  for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) check(&list[i])

int main(void) {
  must(heed_init() ? &failed : NULL);
  heed_generator_seed(&numbers, 1);
  EACH(values, check_values);
  for (int64_t n = 40; n <= 1000; n += 320) {
    check_long_lines(HEED_FLOAT32, n);
    check_long_lines(HEED_FLOAT64, n);
    check_long_lines(HEED_INT64, n);
  }
  EACH(gradients, check_gradients);
  check_all_threads();
  EACH(errors, check_error);
  return failed != 0;
}
