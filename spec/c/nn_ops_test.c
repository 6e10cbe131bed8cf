/*
 * nn_ops_test - softmax, norms, cross-entropy, embedding, dropout and random
 * numbers: values against plain loops in double, gradients against
 * differences, any layout, any number of threads, messages.
 * Prints `ok name` or `not ok name: ...`; returns 0 when all is well.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "core/extra.h"
#include "core/generator.h"
#include "core/node.h"
#include "report.h"

#define GRAD(t) heed_extra_grad(t)

typedef heed_tensor tensor;

static void must(const void *made) {
  if (made) return;
  printf("not ok: %s\n", heed_error());
  exit(1);
}

/* ---- making, running, reading -------------------------------------------- */

#define SHAPE(...)                                          \
  (heed_shape) {                                            \
    .ndim = sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), \
    .dim = {__VA_ARGS__}                                    \
  }

static heed_generator numbers;

static tensor *blank(heed_dtype dtype, heed_shape shape) {
  tensor *t = heed_tensor_new("test", dtype, &shape);
  must(t);
  return t;
}

static double get(const tensor *t, int64_t i) {
  const void *p = heed_tensor_data(t);
  switch (t->dtype) {
    case HEED_BOOL: return ((const uint8_t *)p)[i];
    case HEED_INT64: return (double)((const int64_t *)p)[i];
    case HEED_FLOAT32: return (double)((const float *)p)[i];
    default: return ((const double *)p)[i];
  }
}

static void set(tensor *t, int64_t i, double v) {
  void *p = heed_tensor_data(t);
  switch (t->dtype) {
    case HEED_BOOL: ((uint8_t *)p)[i] = v != 0; break;
    case HEED_INT64: ((int64_t *)p)[i] = (int64_t)v; break;
    case HEED_FLOAT32: ((float *)p)[i] = (float)v; break;
    default: ((double *)p)[i] = v;
  }
}

/* Numbers around 0 that float32 holds exactly. */
static tensor *noise(heed_dtype dtype, heed_shape shape) {
  tensor *t = blank(dtype, shape);
  for (int64_t i = 0; i < heed_tensor_numel(t); i++)
    set(t, i, (double)(float)heed_generator_normal(&numbers));
  return t;
}

static tensor *integers(heed_shape shape, int64_t low, int64_t high) {
  tensor *t = blank(HEED_INT64, shape);
  for (int64_t i = 0; i < heed_tensor_numel(t); i++)
    set(t, i, (double)(low + (int64_t)(heed_generator_u32(&numbers) %
                                       (uint32_t)(high - low + 1))));
  return t;
}

static tensor *list(heed_dtype dtype, int64_t n, const double *v) {
  tensor *t = blank(dtype, SHAPE(n));
  for (int64_t i = 0; i < n; i++) set(t, i, v[i]);
  return t;
}
#define LIST(dtype, ...)                                             \
  list(dtype, sizeof((double[]){__VA_ARGS__}) / sizeof(double),      \
       (double[]){__VA_ARGS__})

static tensor *as(tensor *t, heed_dtype dtype) {
  tensor *y = blank(dtype, t->shape);
  for (int64_t i = 0; i < heed_tensor_numel(t); i++) set(y, i, get(t, i));
  return y;
}

/* Sets one attribute, "name=value"; axes are counted from 0. */
static void read_attribute(const heed_op *op, char *text, heed_attr *attr) {
  char *value = strchr(text, '=');
  *value++ = '\0';
  for (int i = 0, k = 0; i < op->nparam; i++) {
    if (strcmp(op->param[i].name, text) == 0) {
      must(heed_param_read(op, &op->param[i], value, 0, &attr[k]) ? op
                                                                  : NULL);
      return;
    }
    k += op->param[i].kind > HEED_KIND_TENSORS;
  }
  printf("not ok: %s has no %s\n", op->name, text);
  exit(1);
}

/* Runs op `name` with attributes "a=1, b=2"; inputs that are left out are
   NULL. NULL and heed_error() on failure. */
static tensor *run(const char *name, const char *attributes,
                   tensor *const *given, int nin) {
  const heed_op *op = heed_op_find(name);
  must(op);
  tensor *in[HEED_MAX_PARAM] = {0};
  heed_attr attr[HEED_MAX_PARAM];
  char text[200], *rest = text;
  for (int i = 0; i < nin; i++) in[i] = given[i];
  heed_op_defaults(op, attr);
  snprintf(text, sizeof text, "%s", attributes);
  while (*rest) {
    char *one = rest;
    rest += strcspn(rest, ",");
    if (*rest) *rest++ = '\0';
    rest += strspn(rest, " ");
    read_attribute(op, one, attr);
  }
  heed_call c = {.op = op, .nin = op->ninput, .in = in, .attr = attr};
  if (!heed_apply(&c)) return NULL;
  heed_call_trim(&c);
  for (int k = 1; k < c.nout; k++) heed_tensor_drop(c.out[k]);
  return c.out[0];
}
#define RUN(name, attr, ...)                                     \
  run(name, attr, (tensor *[]){__VA_ARGS__},                     \
      sizeof((tensor *[]){__VA_ARGS__}) / sizeof(tensor *))

/* The same elements with the first and last dimension swapped in memory. */
static tensor *swapped(tensor *t) {
  tensor *there = RUN("transpose", "dim1=0, dim2=-1", t);
  must(there);
  tensor *copy = RUN("clone", "", there);
  must(copy);
  tensor *back = RUN("transpose", "dim1=0, dim2=-1", copy);
  must(back);
  heed_tensor_drop(there);
  heed_tensor_drop(copy);
  return back;
}

static bool same_bits(const tensor *a, const tensor *b) {
  return heed_shape_equal(&a->shape, &b->shape) &&
         memcmp(heed_tensor_data(a), heed_tensor_data(b),
                (size_t)heed_tensor_numel(a) * heed_dtype_size(a->dtype)) == 0;
}

/* The largest |a - b| / (1 + |b|); infinite where only one is a number. */
static double distance(const tensor *a, const tensor *b) {
  double worst = 0;
  if (!heed_shape_equal(&a->shape, &b->shape)) return INFINITY;
  for (int64_t i = 0; i < heed_tensor_numel(b); i++) {
    double x = get(a, i), y = get(b, i);
    if (x == y || (x != x && y != y)) continue;
    double d = fabs(x - y) / (1 + fabs(y));
    worst = d != d ? INFINITY : d > worst ? d : worst;
  }
  return worst;
}

static void drop_all(tensor **t, int n) {
  for (int i = 0; i < n; i++) heed_tensor_drop(t[i]);
}

/* ---- checks that every op goes through ----------------------------------- */

#define MOST 4
typedef struct sample {
  const char *name, *op, *attr;
  int nin;
  tensor *in[MOST]; /* float inputs in float64; owned */
  unsigned want;    /* bit i: input i gets a gradient */
} sample;

/* sum(out * upstream) */
static double objective(const sample *s, const tensor *upstream) {
  tensor *y = run(s->op, s->attr, s->in, s->nin);
  must(y);
  double sum = 0;
  for (int64_t i = 0; i < heed_tensor_numel(y); i++)
    sum += get(y, i) * get(upstream, i);
  heed_tensor_drop(y);
  return sum;
}

/* Runs op and backward on the inputs; grad[i] for those wanted. */
static tensor *forward_backward(const sample *s, tensor *const *in,
                                tensor *upstream, tensor **grad) {
  tensor *leaf[MOST] = {0};
  for (int i = 0; i < s->nin; i++) {
    if (!in[i]) continue;
    leaf[i] = heed_tensor_detach(in[i]);
    leaf[i]->requires_grad = s->want >> i & 1;
  }
  tensor *y = run(s->op, s->attr, leaf, s->nin);
  must(y);
  if (s->want && !heed_tensor_backward(y, upstream)) must(NULL);
  for (int i = 0; i < s->nin; i++) {
    grad[i] = NULL;
    if (s->want >> i & 1) {
      must(GRAD(leaf[i]));
      grad[i] = RUN("contiguous", "", GRAD(leaf[i]));
      must(grad[i]);
    }
    heed_tensor_drop(leaf[i]);
  }
  return y;
}

static void check_differences(const sample *s, tensor *upstream,
                              tensor **grad) {
  const double step = 1e-5;
  double worst = 0;
  for (int i = 0; i < s->nin; i++) {
    if (!(s->want >> i & 1)) continue;
    for (int64_t k = 0; k < heed_tensor_numel(s->in[i]); k++) {
      double at = get(s->in[i], k);
      set(s->in[i], k, at + step);
      double above = objective(s, upstream);
      set(s->in[i], k, at - step);
      double below = objective(s, upstream);
      set(s->in[i], k, at);
      double d = fabs((above - below) / (2 * step) - get(grad[i], k));
      if (!(d <= worst)) worst = d;
    }
  }
  char name[100];
  snprintf(name, sizeof name, "%s: gradient as by differences", s->name);
  REPORT(worst < 1e-7, name, "off by %g", worst);
}

static void check_float32(const sample *s, tensor *upstream, tensor *y,
                          tensor **grad) {
  tensor *in[MOST] = {0}, *g[MOST] = {0};
  for (int i = 0; i < s->nin; i++)
    if (s->in[i])
      in[i] = s->in[i]->dtype == HEED_FLOAT64 ? as(s->in[i], HEED_FLOAT32)
                                              : heed_tensor_ref(s->in[i]);
  tensor *up = as(upstream, HEED_FLOAT32);
  tensor *y32 = forward_backward(s, in, up, g);
  double worst = distance(y32, y);
  for (int i = 0; i < s->nin; i++)
    if (g[i]) worst = fmax(worst, distance(g[i], grad[i]));
  char name[100];
  snprintf(name, sizeof name, "%s: float32 as float64", s->name);
  REPORT(worst < 2e-6, name, "off by %g", worst);

  tensor *again[MOST] = {0};
  bool same = true;
  int threads = heed_get_num_threads();
  for (int n = 1; n <= 4; n++) {
    heed_set_num_threads(n);
    tensor *y2 = forward_backward(s, in, up, again);
    same = same && same_bits(y32, y2);
    for (int i = 0; i < s->nin; i++)
      if (g[i]) same = same && same_bits(g[i], again[i]);
    heed_tensor_drop(y2);
    drop_all(again, s->nin);
  }
  heed_set_num_threads(threads);
  snprintf(name, sizeof name, "%s: same for 1 to 4 threads", s->name);
  REPORT(same, name, "bits differ");
  drop_all(in, s->nin);
  drop_all(g, s->nin);
  heed_tensor_drop(up);
  heed_tensor_drop(y32);
}

static void check_layouts(const sample *s, tensor *upstream, tensor *y,
                          tensor **grad) {
  tensor *in[MOST] = {0}, *g[MOST] = {0};
  for (int i = 0; i < s->nin; i++)
    if (s->in[i])
      in[i] = s->in[i]->shape.ndim > 1 ? swapped(s->in[i])
                                       : heed_tensor_ref(s->in[i]);
  tensor *up = upstream->shape.ndim > 1 ? swapped(upstream)
                                        : heed_tensor_ref(upstream);
  tensor *y2 = forward_backward(s, in, up, g);
  double worst = distance(y2, y);
  for (int i = 0; i < s->nin; i++)
    if (g[i]) worst = fmax(worst, distance(g[i], grad[i]));
  char name[100];
  snprintf(name, sizeof name, "%s: any strides", s->name);
  REPORT(worst < 1e-13, name, "off by %g", worst);
  drop_all(in, s->nin);
  drop_all(g, s->nin);
  heed_tensor_drop(up);
  heed_tensor_drop(y2);
}

/* All checks; gives back the result and gradients in float64 when asked. */
static tensor *check(sample s, tensor **gradients) {
  tensor *grad[MOST] = {0};
  tensor *y = run(s.op, s.attr, s.in, s.nin);
  must(y);
  tensor *upstream = noise(HEED_FLOAT64, y->shape);
  heed_tensor_drop(y);
  y = forward_backward(&s, s.in, upstream, grad);
  check_differences(&s, upstream, grad);
  check_float32(&s, upstream, y, grad);
  check_layouts(&s, upstream, y, grad);
  heed_tensor_drop(upstream);
  drop_all(s.in, s.nin);
  for (int i = 0; i < s.nin; i++) {
    if (gradients)
      gradients[i] = grad[i];
    else
      heed_tensor_drop(grad[i]);
  }
  return y;
}

static void check_only(sample s) { heed_tensor_drop(check(s, NULL)); }

static void values(const char *name, tensor *got, double tolerance,
                   const double *want, int64_t n) {
  must(got);
  int64_t bad = -1;
  for (int64_t i = 0; bad < 0 && i < n; i++) {
    double d = fabs(get(got, i) - want[i]);
    bool nan = get(got, i) != get(got, i) && want[i] != want[i];
    if (get(got, i) != want[i] && !nan && !(d <= tolerance)) bad = i;
  }
  bool ok = bad < 0 && heed_tensor_numel(got) == n;
  REPORT(ok, name, "element %lld is %.9g, wanted %.9g, of %s",
         (long long)bad + 1, get(got, bad < 0 ? 0 : bad),
         want[bad < 0 ? 0 : bad], heed_tensor_text(got));
  heed_tensor_drop(got);
}
#define VALUES(name, got, tolerance, ...)                \
  values(name, got, tolerance, (double[]){__VA_ARGS__},  \
         sizeof((double[]){__VA_ARGS__}) / sizeof(double))

/* The call must fail with this message. Takes over the inputs. */
static void refuses(const char *message, const char *op, const char *attr,
                    tensor *a, tensor *b, tensor *c) {
  tensor *in[3] = {a, b, c};
  tensor *y = run(op, attr, in, c ? 3 : b ? 2 : 1);
  REPORT(!y && strcmp(heed_error(), message) == 0, message, "got: %s",
         y ? heed_tensor_text(y) : heed_error());
  heed_tensor_drop(y);
  drop_all(in, 3);
}

/* ---- softmax ------------------------------------------------------------- */

static void test_softmax(void) {
  static const char *const ops[] = {"softmax", "log_softmax"};
  static const char *const dims[] = {"dim=0", "dim=1", "dim=-1"};
  char name[64];
  for (int o = 0; o < 2; o++)
    for (int d = 0; d < 3; d++) {
      snprintf(name, sizeof name, "%s %s", ops[o], dims[d]);
      check_only((sample){name, ops[o], dims[d], 1,
                          {noise(HEED_FLOAT64, SHAPE(5, 4, 19))}, 1});
    }
  check_only((sample){"softmax of long rows", "softmax", "", 1,
                      {noise(HEED_FLOAT64, SHAPE(3, 301))}, 1});
  static const char *const lse[] = {"", "dim=1", "dim=[0 2]",
                                    "dim=-1, keepdim=true"};
  for (int k = 0; k < 4; k++) {
    snprintf(name, sizeof name, "logsumexp %s", lse[k]);
    check_only((sample){name, "logsumexp", lse[k], 1,
                        {noise(HEED_FLOAT64, SHAPE(4, 3, 7))}, 1});
  }

  tensor *x = LIST(HEED_FLOAT32, 1, 2, 3, 1000);
  VALUES("softmax of large numbers", RUN("softmax", "", x), 0, 0, 0, 0, 1);
  VALUES("log_softmax of large numbers", RUN("log_softmax", "", x), 0, -999,
         -998, -997, 0);
  VALUES("logsumexp of large numbers", RUN("logsumexp", "", x), 0, 1000);
  heed_tensor_drop(x);
  x = LIST(HEED_FLOAT32, -INFINITY, -INFINITY);
  VALUES("softmax of -inf only", RUN("softmax", "", x), 0, NAN, NAN);
  VALUES("logsumexp of -inf only", RUN("logsumexp", "", x), 0, -INFINITY);
  heed_tensor_drop(x);
  x = LIST(HEED_FLOAT32, 0, INFINITY, 0);
  VALUES("logsumexp with inf", RUN("logsumexp", "", x), 0, INFINITY);
  heed_tensor_drop(x);
  x = LIST(HEED_FLOAT32, 0, NAN, INFINITY);
  VALUES("softmax with NaN", RUN("softmax", "", x), 0, NAN, NAN, NAN);
  VALUES("logsumexp with NaN", RUN("logsumexp", "", x), 0, NAN);
  heed_tensor_drop(x);
  x = LIST(HEED_FLOAT64, 0, -INFINITY, 0);
  VALUES("softmax with -inf", RUN("softmax", "", x), 0, 0.5, 0, 0.5);
  heed_tensor_drop(x);

  tensor *g = NULL, *up = LIST(HEED_FLOAT64, 1);
  sample s = {.op = "logsumexp", .attr = "keepdim=true", .nin = 1, .want = 1};
  x = LIST(HEED_FLOAT64, -INFINITY, -INFINITY);
  heed_tensor_drop(forward_backward(&s, &x, up, &g));
  VALUES("logsumexp: zero gradient for -inf only", g, 0, 0, 0);
  heed_tensor_drop(x);
  heed_tensor_drop(up);

  tensor *empty = blank(HEED_FLOAT32, SHAPE(2, 0)), *y;
  y = RUN("logsumexp", "dim=-1", empty);
  VALUES("logsumexp over nothing", y, 0, -INFINITY, -INFINITY);
  y = RUN("softmax", "dim=-1", empty);
  REPORT(y && heed_tensor_numel(y) == 0, "softmax of size 0", "failed");
  heed_tensor_drop(y);
  y = RUN("softmax", "dim=0", empty);
  REPORT(y && heed_tensor_numel(y) == 0, "softmax of no rows", "failed");
  heed_tensor_drop(y);
  heed_tensor_drop(empty);

  refuses("softmax: dim must be 1..2 or -2..-1 for x [2 3], got 3", "softmax",
          "dim=2", noise(HEED_FLOAT32, SHAPE(2, 3)), NULL, NULL);
  refuses("log_softmax: x must be float32 or float64, got int64 [2]",
          "log_softmax", "", integers(SHAPE(2), 1, 2), NULL, NULL);
}

static tensor *mask_of(heed_shape shape) {
  tensor *m = blank(HEED_BOOL, shape);
  for (int64_t i = 0; i < heed_tensor_numel(m); i++)
    set(m, i, heed_generator_u32(&numbers) % 3 != 0);
  return m;
}

static void test_masked_softmax(void) {
  tensor *mask = mask_of(SHAPE(4, 19));
  for (int i = 0; i < 19; i++) set(mask, 19 + i, 0); /* row 2 keeps nothing */
  check_only((sample){"masked_softmax", "masked_softmax", "", 2,
                      {noise(HEED_FLOAT64, SHAPE(3, 4, 19)), mask}, 1});
  check_only((sample){"masked_softmax by column", "masked_softmax", "dim=0", 2,
                      {noise(HEED_FLOAT64, SHAPE(4, 5)),
                       mask_of(SHAPE(4, 1))}, 1});

  /* NaN and inf behind the mask, in x as in the gradient */
  for (int d = HEED_FLOAT32; d <= HEED_FLOAT64; d++) {
    tensor *x = LIST((heed_dtype)d, 0, NAN, 0, INFINITY);
    tensor *keep = LIST(HEED_BOOL, 1, 0, 1, 0), *g[2];
    tensor *up = LIST((heed_dtype)d, 1, NAN, 3, NAN);
    sample s = {.op = "masked_softmax", .attr = "", .nin = 2, .want = 1};
    tensor *in[2] = {x, keep};
    VALUES("masked_softmax: NaN behind the mask",
           forward_backward(&s, in, up, g), 0, 0.5, 0, 0.5, 0);
    VALUES("masked_softmax: NaN gradient behind the mask", g[0], 0, -0.5, 0,
           0.5, 0);
    heed_tensor_drop(keep);
    in[1] = keep = LIST(HEED_BOOL, 0, 0, 0, 0);
    VALUES("masked_softmax: nothing kept", forward_backward(&s, in, up, g), 0,
           0, 0, 0, 0);
    VALUES("masked_softmax: no gradient when nothing is kept", g[0], 0, 0, 0,
           0, 0);
    heed_tensor_drop(x);
    heed_tensor_drop(keep);
    heed_tensor_drop(up);
  }
  refuses("masked_softmax: mask [3] does not broadcast to x [2]",
          "masked_softmax", "", noise(HEED_FLOAT32, SHAPE(2)),
          mask_of(SHAPE(3)), NULL);
  refuses("masked_softmax: mask must be bool, got float32 [2]",
          "masked_softmax", "", noise(HEED_FLOAT32, SHAPE(2)),
          noise(HEED_FLOAT32, SHAPE(2)), NULL);
}

/* Gradients of gradients, against differences of gradients. */
static double slope_sum(const char *op, const char *attr, tensor *x,
                        tensor *mask, tensor *up, tensor *upper,
                        tensor **second) {
  tensor *leaf = heed_tensor_detach(x), *found = NULL;
  leaf->requires_grad = true;
  tensor *in[2] = {leaf, mask};
  tensor *y = run(op, attr, in, mask ? 2 : 1);
  must(y);
  heed_walk walk = {.create_graph = true, .retain = true, .wanted = &leaf,
                    .nwanted = 1, .found = &found};
  if (!heed_backward(&y, &up, 1, &walk)) must(NULL);
  double sum = 0;
  for (int64_t i = 0; i < heed_tensor_numel(x); i++)
    sum += get(found, i) * get(upper, i);
  if (second) {
    heed_walk last = {.retain = false};
    if (!heed_backward(&found, &upper, 1, &last)) must(NULL);
    *second = heed_tensor_ref(GRAD(leaf));
  }
  heed_tensor_drop(found);
  heed_tensor_drop(y);
  heed_tensor_drop(leaf);
  return sum;
}

static void test_twice(const char *op, const char *attr, tensor *x,
                       tensor *mask) {
  tensor *in[2] = {x, mask};
  tensor *y = run(op, attr, in, mask ? 2 : 1), *second;
  must(y);
  tensor *up = noise(HEED_FLOAT64, y->shape);
  tensor *upper = noise(HEED_FLOAT64, x->shape);
  slope_sum(op, attr, x, mask, up, upper, &second);
  double worst = 0, step = 1e-5;
  for (int64_t k = 0; k < heed_tensor_numel(x); k++) {
    double at = get(x, k);
    set(x, k, at + step);
    double above = slope_sum(op, attr, x, mask, up, upper, NULL);
    set(x, k, at - step);
    double below = slope_sum(op, attr, x, mask, up, upper, NULL);
    set(x, k, at);
    double d = fabs((above - below) / (2 * step) - get(second, k));
    if (!(d <= worst)) worst = d;
  }
  char name[64];
  snprintf(name, sizeof name, "%s %s: second derivative", op, attr);
  REPORT(worst < 1e-7, name, "off by %g", worst);
  heed_tensor_drop(y);
  heed_tensor_drop(up);
  heed_tensor_drop(upper);
  heed_tensor_drop(second);
  heed_tensor_drop(x);
  heed_tensor_drop(mask);
}

/* ---- norms --------------------------------------------------------------- */

static void test_norms(void) {
  check_only((sample){"layer_norm", "layer_norm", "normalized=[37]", 3,
                      {noise(HEED_FLOAT64, SHAPE(5, 37)),
                       noise(HEED_FLOAT64, SHAPE(37)),
                       noise(HEED_FLOAT64, SHAPE(37))}, 7});
  check_only((sample){"layer_norm of 2 dimensions", "layer_norm",
                      "normalized=[3 4], eps=0.1", 3,
                      {noise(HEED_FLOAT64, SHAPE(70, 3, 4)),
                       noise(HEED_FLOAT64, SHAPE(3, 4)),
                       noise(HEED_FLOAT64, SHAPE(3, 4))}, 7});
  check_only((sample){"layer_norm without weight", "layer_norm",
                      "normalized=[9]", 3,
                      {noise(HEED_FLOAT64, SHAPE(4, 9)), NULL, NULL}, 1});
  check_only((sample){"layer_norm without bias", "layer_norm",
                      "normalized=[9]", 3,
                      {noise(HEED_FLOAT64, SHAPE(4, 9)),
                       noise(HEED_FLOAT64, SHAPE(9)), NULL}, 3});
  check_only((sample){"layer_norm, gradient of bias only", "layer_norm",
                      "normalized=[9]", 3,
                      {noise(HEED_FLOAT64, SHAPE(40, 9)), NULL,
                       noise(HEED_FLOAT64, SHAPE(9))}, 4});
  check_only((sample){"layer_norm, gradient of weight only", "layer_norm",
                      "normalized=[9]", 3,
                      {noise(HEED_FLOAT64, SHAPE(40, 9)),
                       noise(HEED_FLOAT64, SHAPE(9)),
                       noise(HEED_FLOAT64, SHAPE(9))}, 2});
  check_only((sample){"rms_norm", "rms_norm", "normalized=[37]", 2,
                      {noise(HEED_FLOAT64, SHAPE(35, 37)),
                       noise(HEED_FLOAT64, SHAPE(37))}, 3});
  check_only((sample){"rms_norm without weight", "rms_norm",
                      "normalized=[2 5]", 2,
                      {noise(HEED_FLOAT64, SHAPE(3, 2, 5)), NULL}, 1});

  /* rows far from 0 lose no digits */
  tensor *x64 = noise(HEED_FLOAT64, SHAPE(4, 100));
  for (int i = 0; i < 400; i++)
    set(x64, i, (double)(float)(get(x64, i) + 10000));
  tensor *x = as(x64, HEED_FLOAT32);
  tensor *want = RUN("layer_norm", "normalized=[100]", x64, NULL, NULL);
  tensor *got = RUN("layer_norm", "normalized=[100]", x, NULL, NULL);
  double off = distance(got, want);
  REPORT(off < 2e-6, "layer_norm of rows around 10000", "off by %g", off);
  heed_tensor_drop(x64);
  heed_tensor_drop(x);
  heed_tensor_drop(want);
  heed_tensor_drop(got);

  sample s = {.op = "layer_norm", .attr = "normalized=[3]", .nin = 3,
              .want = 7};
  tensor *in[3] = {blank(HEED_FLOAT32, SHAPE(0, 3)),
                   noise(HEED_FLOAT32, SHAPE(3)),
                   noise(HEED_FLOAT32, SHAPE(3))};
  tensor *g[3], *up = blank(HEED_FLOAT32, SHAPE(0, 3));
  heed_tensor_drop(forward_backward(&s, in, up, g));
  VALUES("layer_norm of no rows: gradient of weight", g[1], 0, 0, 0, 0);
  VALUES("layer_norm of no rows: gradient of bias", g[2], 0, 0, 0, 0);
  heed_tensor_drop(g[0]);
  heed_tensor_drop(up);
  drop_all(in, 3);
  s.attr = "normalized=[0]";
  in[0] = blank(HEED_FLOAT32, SHAPE(2, 0));
  in[1] = blank(HEED_FLOAT32, SHAPE(0));
  in[2] = blank(HEED_FLOAT32, SHAPE(0));
  up = blank(HEED_FLOAT32, SHAPE(2, 0));
  tensor *y = forward_backward(&s, in, up, g);
  REPORT(heed_tensor_numel(y) == 0, "layer_norm of empty rows", "has elements");
  heed_tensor_drop(y);
  heed_tensor_drop(up);
  drop_all(in, 3);
  drop_all(g, 3);

  refuses("layer_norm: x [8 10] must end in normalized [12]", "layer_norm",
          "normalized=[12]", noise(HEED_FLOAT32, SHAPE(8, 10)), NULL, NULL);
  refuses("layer_norm: weight [3] must be of the normalized shape [10]",
          "layer_norm", "normalized=[10]", noise(HEED_FLOAT32, SHAPE(8, 10)),
          noise(HEED_FLOAT32, SHAPE(3)), NULL);
  refuses("layer_norm: bias must be float32, got float64 [10]", "layer_norm",
          "normalized=[10]", noise(HEED_FLOAT32, SHAPE(8, 10)),
          noise(HEED_FLOAT32, SHAPE(10)), noise(HEED_FLOAT64, SHAPE(10)));
  refuses("rms_norm: normalized must name at least one size", "rms_norm",
          "normalized=[]", noise(HEED_FLOAT32, SHAPE(8, 10)), NULL, NULL);
}

/* ---- cross-entropy ------------------------------------------------------- */

static void test_cross_entropy(void) {
  static const char *const attr[] = {
      "",
      "reduction=sum",
      "reduction=none",
      "ignore_index=3",
      "label_smoothing=0.1",
      "label_smoothing=0.2, ignore_index=3, reduction=none",
      "label_smoothing=1, reduction=sum",
  };
  char name[100];
  for (int w = 0; w < 2; w++)
    for (int k = 0; k < 7; k++) {
      snprintf(name, sizeof name, "cross_entropy%s %s",
               w ? " with weight" : "", attr[k]);
      tensor *weight = w ? noise(HEED_FLOAT64, SHAPE(21)) : NULL;
      for (int i = 0; w && i < 21; i++)
        set(weight, i, (double)(float)fabs(get(weight, i)) + 0.25);
      tensor *target = integers(SHAPE(9), 1, 21);
      set(target, 4, 3);
      check_only((sample){name, "cross_entropy", attr[k], 3,
                          {noise(HEED_FLOAT64, SHAPE(9, 21)), target, weight},
                          1});
    }
  check_only((sample){"cross_entropy of sequences", "cross_entropy",
                      "reduction=none", 3,
                      {noise(HEED_FLOAT64, SHAPE(2, 5, 3, 4)),
                       integers(SHAPE(2, 3, 4), 1, 5), NULL}, 1});
  check_only((sample){"cross_entropy of one row", "cross_entropy", "", 3,
                      {noise(HEED_FLOAT64, SHAPE(6)),
                       integers((heed_shape){0}, 1, 6), NULL}, 1});

  /* -log softmax: ln(1 + e^-2), and exact for scores that are far apart */
  double x[4] = {2, 0, 1e4, -1e4};
  tensor *in[3] = {heed_tensor_make(HEED_FLOAT64, 2, (int64_t[]){2, 2}, x),
                   LIST(HEED_INT64, 1, 2), NULL};
  VALUES("cross_entropy of known scores",
         run("cross_entropy", "reduction=none", in, 3), 1e-15,
         0.12692801104297249, 20000);
  tensor *x32 = as(in[0], HEED_FLOAT32);
  VALUES("cross_entropy of known scores in float32",
         RUN("cross_entropy", "reduction=none", x32, in[1], NULL), 1e-7,
         0.12692801104297249, 20000);
  heed_tensor_drop(x32);

  /* everything ignored: 0 and zeros, with weights and smoothing too */
  heed_tensor_drop(in[1]);
  in[1] = LIST(HEED_INT64, 0, 0);
  in[2] = LIST(HEED_FLOAT64, 1, 2);
  tensor *up = LIST(HEED_FLOAT64, 1), *g[3], *scalar;
  scalar = RUN("reshape", "shape=[]", up);
  sample s = {.op = "cross_entropy", .nin = 3, .want = 1,
              .attr = "ignore_index=0, label_smoothing=0.1"};
  VALUES("cross_entropy of ignored rows only",
         forward_backward(&s, in, scalar, g), 0, 0);
  VALUES("cross_entropy of ignored rows only: gradient", g[0], 0, 0, 0, 0, 0);
  /* labels of weight 0 alone are nothing to average either */
  s.attr = "";
  set(in[1], 0, 1);
  set(in[1], 1, 1);
  set(in[2], 0, 0);
  VALUES("cross_entropy of weight 0 only",
         forward_backward(&s, in, scalar, g), 0, 0);
  VALUES("cross_entropy of weight 0 only: gradient", g[0], 0, 0, 0, 0, 0);
  drop_all(in, 3);
  in[0] = blank(HEED_FLOAT64, SHAPE(0, 4));
  in[1] = blank(HEED_INT64, SHAPE(0));
  in[2] = NULL;
  VALUES("cross_entropy of no rows", forward_backward(&s, in, scalar, g), 0,
         0);
  REPORT(heed_tensor_numel(g[0]) == 0, "cross_entropy of no rows: gradient",
         "has elements");
  heed_tensor_drop(g[0]);
  drop_all(in, 3);
  heed_tensor_drop(up);
  heed_tensor_drop(scalar);

  refuses("cross_entropy: target [3], row 2: must be 1..5 (a class of x "
          "[3 5]) or ignore_index -100, got 6", "cross_entropy", "",
          noise(HEED_FLOAT32, SHAPE(3, 5)), LIST(HEED_INT64, 1, 6, 5), NULL);
  refuses("cross_entropy: target [3], row 1: must be 1..5 (a class of x "
          "[3 5]) or ignore_index -100, got 0", "cross_entropy", "",
          noise(HEED_FLOAT32, SHAPE(3, 5)), LIST(HEED_INT64, 0, 6, 5), NULL);
  tensor *target = integers(SHAPE(2, 3), 1, 4);
  set(target, 4, -4);
  refuses("cross_entropy: target [2 3], position [2 2]: must be 1..4 (a "
          "class of x [2 4 3]) or ignore_index 0, got -4", "cross_entropy",
          "ignore_index=0", noise(HEED_FLOAT32, SHAPE(2, 4, 3)), target, NULL);
  refuses("cross_entropy: target [4] must be [3], x [3 5] without its classes, "
          "dimension 2",
          "cross_entropy", "", noise(HEED_FLOAT32, SHAPE(3, 5)),
          integers(SHAPE(4), 1, 5), NULL);
  refuses("cross_entropy: target must be int64, got float32 [3]",
          "cross_entropy", "", noise(HEED_FLOAT32, SHAPE(3, 5)),
          noise(HEED_FLOAT32, SHAPE(3)), NULL);
  refuses("cross_entropy: weight [4] must have one number for each of the 5 "
          "classes of x [3 5]", "cross_entropy", "",
          noise(HEED_FLOAT32, SHAPE(3, 5)), integers(SHAPE(3), 1, 5),
          noise(HEED_FLOAT32, SHAPE(4)));
  refuses("cross_entropy: label_smoothing must be from 0 to 1, got 1.5",
          "cross_entropy", "label_smoothing=1.5",
          noise(HEED_FLOAT32, SHAPE(3, 5)), integers(SHAPE(3), 1, 5), NULL);
}

/* ---- embedding ----------------------------------------------------------- */

static void test_embedding(void) {
  check_only((sample){"embedding", "embedding", "", 2,
                      {integers(SHAPE(6, 11), 1, 7),
                       noise(HEED_FLOAT64, SHAPE(7, 5))}, 2});
  check_only((sample){"embedding, one id", "embedding", "", 2,
                      {integers((heed_shape){0}, 1, 7),
                       noise(HEED_FLOAT64, SHAPE(7, 5))}, 2});
  /* wide enough for threads */
  tensor *ids = integers(SHAPE(300), 1, 90);
  tensor *table = noise(HEED_FLOAT32, SHAPE(90, 70)), *g[2], *many[2];
  tensor *up = noise(HEED_FLOAT32, SHAPE(300, 70));
  sample s = {.op = "embedding", .attr = "padding_idx=2", .nin = 2,
              .want = 2};
  tensor *in[2] = {ids, table};
  int threads = heed_get_num_threads();
  heed_set_num_threads(1);
  heed_tensor_drop(forward_backward(&s, in, up, g));
  heed_set_num_threads(4);
  heed_tensor_drop(forward_backward(&s, in, up, many));
  heed_set_num_threads(threads);
  REPORT(same_bits(g[1], many[1]), "embedding: same for 1 and 4 threads",
         "bits differ");
  double worst = 0;
  for (int row = 0; row < 90; row++)
    for (int j = 0; j < 70; j++) {
      double sum = 0;
      for (int i = 0; i < 300; i++)
        if (get(ids, i) == row + 1 && row != 1) sum += get(up, i * 70 + j);
      worst = fmax(worst, fabs(sum - get(g[1], row * 70 + j)));
    }
  REPORT(worst < 1e-5, "embedding: gradient adds up, none for padding",
         "off by %g", worst);
  heed_tensor_drop(g[1]);
  heed_tensor_drop(many[1]);
  heed_tensor_drop(up);
  drop_all(in, 2);

  tensor *none = blank(HEED_INT64, SHAPE(2, 0));
  table = noise(HEED_FLOAT32, SHAPE(3, 4));
  tensor *y = RUN("embedding", "", none, table);
  REPORT(y && heed_shape_equal(&y->shape, &SHAPE(2, 0, 4)),
         "embedding of no ids", "failed");
  heed_tensor_drop(y);
  heed_tensor_drop(none);
  heed_tensor_drop(table);

  tensor *hot = LIST(HEED_INT64, 2, 1);
  VALUES("one_hot", RUN("one_hot", "classes=3", hot), 0, 0, 1, 0, 1, 0, 0);
  heed_tensor_drop(hot);

  tensor *bad = integers(SHAPE(2, 3), 1, 9);
  set(bad, 5, 11);
  refuses("embedding: ids [2 3], position [2 3]: must be 1..10 (a row of "
          "weight [10 4]), got 11", "embedding", "", bad,
          noise(HEED_FLOAT32, SHAPE(10, 4)), NULL);
  refuses("embedding: ids [1], position [1]: must be 1..10 (a row of weight "
          "[10 4]), got 0", "embedding", "", LIST(HEED_INT64, 0),
          noise(HEED_FLOAT32, SHAPE(10, 4)), NULL);
  refuses("embedding: ids must be int64, int32 or uint8, got float32 [1]",
          "embedding", "",
          LIST(HEED_FLOAT32, 1), noise(HEED_FLOAT32, SHAPE(10, 4)), NULL);
  refuses("embedding: weight must have 2 dimensions (rows, width), got "
          "float32 [4]", "embedding", "", LIST(HEED_INT64, 1),
          noise(HEED_FLOAT32, SHAPE(4)), NULL);
  refuses("embedding: padding_idx must be 1..10 (a row of weight [10 4]) or "
          "0, got 11", "embedding", "padding_idx=11", LIST(HEED_INT64, 1),
          noise(HEED_FLOAT32, SHAPE(10, 4)), NULL);
  refuses("one_hot: ids [2], position [2]: must be 1..3 (classes), got 4",
          "one_hot", "classes=3", LIST(HEED_INT64, 1, 4), NULL, NULL);
}

/* Will both give the same numbers from here on? */
static bool in_step(const heed_generator *a, const heed_generator *b) {
  return memcmp(a->state, b->state, sizeof a->state) == 0 &&
         a->next == b->next && a->has_spare == b->has_spare;
}

/* ---- dropout ------------------------------------------------------------- */

static void test_dropout(void) {
  heed_generator *g = heed_generator_default();
  tensor *x = noise(HEED_FLOAT64, SHAPE(50, 41)), *grad, *again;
  tensor *up = noise(HEED_FLOAT64, SHAPE(50, 41));
  sample s = {.op = "dropout", .attr = "p=0.25", .nin = 1, .want = 1};
  heed_generator_seed(g, 7);
  tensor *y = forward_backward(&s, &x, up, &grad);
  /* one draw of 53 bits an element */
  heed_generator twin;
  heed_generator_seed(&twin, 7);
  bool values_ok = true, grads_ok = true;
  for (int64_t i = 0; i < heed_tensor_numel(x); i++) {
    double keep = heed_generator_double(&twin) < 0.75 ? 1 / 0.75 : 0;
    values_ok = values_ok && get(y, i) == get(x, i) * keep;
    grads_ok = grads_ok && get(grad, i) == get(up, i) * keep;
  }
  REPORT(values_ok, "dropout keeps and scales", "differs");
  REPORT(grads_ok, "dropout: gradient of what is kept", "differs");
  REPORT(in_step(&twin, g), "dropout draws two words each",
         "the generator stands elsewhere");

  heed_generator_seed(g, 7);
  tensor *strided = swapped(x);
  heed_set_num_threads(4);
  tensor *y2 = forward_backward(&s, &strided, up, &again);
  heed_set_num_threads(2);
  REPORT(same_bits(y, y2) && same_bits(grad, again),
         "dropout: any strides and threads", "differs");
  heed_tensor_drop(strided);
  drop_all((tensor *[]){y, y2, grad, again}, 4);

  static const char *const same[] = {"p=0", "p=0.5, training=false"};
  for (int k = 0; k < 2; k++) {
    heed_generator before = *g;
    s.attr = same[k];
    y = forward_backward(&s, &x, up, &grad);
    REPORT(same_bits(y, x) && same_bits(grad, up) &&
               y->storage == x->storage && in_step(&before, g),
           k ? "dropout in evaluation is x" : "dropout of p 0 is x",
           "differs");
    drop_all((tensor *[]){y, grad}, 2);
  }
  s.attr = "p=1";
  set(x, 0, NAN);
  y = forward_backward(&s, &x, up, &grad);
  bool zeros = true;
  for (int64_t i = 0; i < heed_tensor_numel(x); i++)
    zeros = zeros && get(y, i) == 0 && get(grad, i) == 0;
  REPORT(zeros, "dropout of p 1 gives zeros", "differs");
  drop_all((tensor *[]){x, y, up, grad}, 4);
  refuses("dropout: p must be from 0 to 1, got 1.5", "dropout", "p=1.5",
          noise(HEED_FLOAT32, SHAPE(2)), NULL, NULL);
  refuses("dropout: x must be float32 or float64, got int64 [2]", "dropout",
          "", integers(SHAPE(2), 1, 2), NULL, NULL);
}

/* ---- random numbers: known ones are PyTorch's of the same seed ----------- */

static tensor *seeded(uint64_t seed, const char *op, const char *attr) {
  heed_generator_seed(heed_generator_default(), seed);
  return run(op, attr, NULL, 0);
}

static void test_generator(void) {
  heed_generator g;
  heed_generator_seed(&g, 5489);
  uint32_t word = 0, *bulk = malloc(3000 * sizeof *bulk);
  for (int i = 0; i < 10000; i++) word = heed_generator_u32(&g);
  REPORT(word == 4123659995u, "MT19937: word 10000 of seed 5489", "got %u",
         word);
  must(bulk);
  heed_generator a, b;
  heed_generator_seed(&a, 3);
  heed_generator_seed(&b, 3);
  bool same = true;
  for (int n = 1; n < 3000; n = n * 2 + 1) {
    heed_generator_fill(&a, bulk, n);
    for (int i = 0; i < n; i++)
      same = same && bulk[i] == heed_generator_u32(&b);
  }
  REPORT(same, "words in bulk are the words one by one", "differ");
  free(bulk);
  heed_generator_normal(&a);
  heed_generator saved = a;
  double first = heed_generator_normal(&a);
  REPORT(saved.has_spare && heed_generator_normal(&saved) == first,
         "a copied generator goes on as the first", "differs");
  heed_generator_seed(&a, 3);
  REPORT(!a.has_spare, "seeding forgets the spare normal", "it is there");
}

/* Some elements of a result, which is given up. */
static tensor *some(tensor *t, int n, const int *at) {
  must(t);
  tensor *y = blank(t->dtype, SHAPE(n));
  for (int i = 0; i < n; i++) set(y, i, get(t, at[i]));
  heed_tensor_drop(t);
  return y;
}
static const int corner[5] = {0, 1, 8, 15, 16};

static void test_new(void) {
  VALUES("rand", seeded(42, "rand", "shape=[3]"), 0, 0.8822692632675171,
         0.9150039553642273, 0.38286375999450684);
  VALUES("rand in float64", seeded(42, "rand", "shape=[3], dtype=float64"), 0,
         0.05815448596142969, 0.06291016742457756, 0.12358607277440903);
  VALUES("randn of 5", seeded(42, "randn", "shape=[5]"), 0,
         0.33669036626815796, 0.12880940735340118, 0.23446236550807953,
         0.23033303022384644, -1.1228563785552979);
  VALUES("randn of 5 in float64",
         seeded(42, "randn", "shape=[5], dtype=float64"), 1e-15,
         0.33669035438385886, 0.1288094051365897, 0.23446236336153173,
         0.2303330279146119, -1.1228563767381703);
  VALUES("randn of 17", some(seeded(42, "randn", "shape=[17]"), 5, corner),
         1e-6, 1.9269152879714966, -0.1595974713563919, 0.3558599054813385,
         0.859858512878418, -0.3097267746925354);
  VALUES("randn of 17 in float64",
         some(seeded(42, "randn", "shape=[17], dtype=float64"), 5, corner),
         1e-14, 0.2995562877502637, 1.504572275678796, 0.038435238263354446,
         0.855215961472287, 0.2494118796915765);
  VALUES("randint", seeded(42, "randint", "low=1, high=6, shape=[6]"), 0, 1,
         6, 5, 5, 1, 6);
  VALUES("randint over more than 32 bits",
         seeded(42, "randint", "low=-5, high=8589934591, shape=[3]"), 0,
         7989466804, 7759498413, 4078956862);
  VALUES("randint of one number",
         seeded(42, "randint", "low=-5, high=-5, shape=[2]"), 0, -5, -5);
  tensor *t = seeded(1, "randint", "low=-9223372036854775807, "
                     "high=9223372036854775807, shape=[2]");
  REPORT(t && get(t, 0) != get(t, 1), "randint of nearly every integer",
         "failed");
  heed_tensor_drop(t);
  VALUES("randperm", seeded(42, "randperm", "n=7"), 0, 2, 7, 4, 6, 5, 1, 3);
  t = seeded(1, "randperm", "n=0");
  REPORT(t && heed_tensor_numel(t) == 0, "randperm of 0", "failed");
  heed_tensor_drop(t);
  t = seeded(1, "randn", "shape=[3 0]");
  REPORT(t && heed_tensor_numel(t) == 0, "randn of size 0", "failed");
  heed_tensor_drop(t);

  tensor *p = blank(HEED_FLOAT32, SHAPE(10));
  for (int i = 0; i < 10; i++) set(p, i, 0.3);
  heed_generator_seed(heed_generator_default(), 42);
  VALUES("bernoulli", RUN("bernoulli", "", p), 0, 0, 0, 0, 0, 0, 0, 1, 0, 0,
         1);
  heed_generator_seed(heed_generator_default(), 42);
  tensor *wide = as(p, HEED_FLOAT64);
  VALUES("bernoulli in float64", RUN("bernoulli", "", wide), 0, 1, 1, 1, 1, 0,
         0, 0, 0, 1, 1);
  heed_tensor_drop(wide);
  heed_tensor_drop(p);
  p = LIST(HEED_FLOAT32, 0, 1, 0, 1);
  VALUES("bernoulli at the ends", RUN("bernoulli", "", p), 0, 0, 1, 0, 1);
  heed_tensor_drop(p);

  refuses("bernoulli: x [2] must hold probabilities from 0 to 1, got -1 as "
          "element 2", "bernoulli", "", LIST(HEED_FLOAT32, 0, -1), NULL, NULL);
  REPORT(!seeded(1, "randint", "low=3, high=2, shape=[1]") &&
             !strcmp(heed_error(), "randint: high must not be below low 3, "
                                   "got 2"),
         "randint refuses an empty range", "got: %s", heed_error());
  REPORT(!seeded(1, "rand", "shape=[1], dtype=int64") &&
             !strcmp(heed_error(), "rand: dtype must be float32 or float64, "
                                   "got int64"),
         "rand refuses integers", "got: %s", heed_error());
  REPORT(!seeded(1, "randperm", "n=-1") &&
             !strcmp(heed_error(), "randperm: n must be at least 0, got -1"),
         "randperm refuses a negative number", "got: %s", heed_error());
  REPORT(!seeded(1, "rand", "shape=[2 2 2305843009213693952]"),
         "rand refuses a shape that overflows", "it did not");
}

/* Seeds, fills x in place (and gives it up), lends the result. */
static tensor *filled(const char *op, const char *attr, tensor *x) {
  heed_generator_seed(heed_generator_default(), 42);
  tensor *y = RUN(op, attr, x);
  must(y);
  bool itself = y == x;
  heed_tensor_drop(x);
  if (!itself) REPORT(false, op, "gave another tensor");
  return y;
}

static void test_in_place(void) {
  VALUES("uniform_",
         filled("uniform_", "low=-0.2236068, high=0.7",
                blank(HEED_FLOAT32, SHAPE(3))),
         0, 0.5912630558013916, 0.6214970350265503, 0.1300087571144104);
  VALUES("uniform_ in float64",
         filled("uniform_", "low=-0.2236068, high=0.7",
                blank(HEED_FLOAT64, SHAPE(3))),
         1e-16, -0.169894921315519, -0.16550254157752167,
         -0.10946186280026096);
  tensor *fresh = seeded(42, "randn", "shape=[5 8]");
  tensor *x = filled("normal_", "mean=0, std=1",
                     blank(HEED_FLOAT32, SHAPE(5, 8)));
  REPORT(same_bits(fresh, x), "normal_ is randn", "differs");
  heed_tensor_drop(fresh);
  heed_tensor_drop(x);

  /* not contiguous: made one by one, put in their places */
  x = blank(HEED_FLOAT32, SHAPE(6, 8));
  memset(heed_tensor_data(x), 0, x->storage->bytes);
  tensor *gap = heed_tensor_view(x, &SHAPE(6, 4), (int64_t[]){8, 2}, 0);
  heed_tensor_drop(filled("normal_", "mean=1, std=2", gap));
  VALUES("normal_ with gaps",
         some(x, 5, (int[]){0, 1, 2, 4, 6}), 0, 1.673380732536316, 0,
         1.25761878490448, 1.4689247608184814, 1.4606660604476929);

  x = filled("bernoulli_", "p=0.3", blank(HEED_BOOL, SHAPE(1000)));
  double sum = 0;
  heed_generator twin;
  heed_generator_seed(&twin, 42);
  bool same = true;
  for (int i = 0; i < 1000; i++) {
    sum += get(x, i);
    same = same && get(x, i) == (heed_generator_double(&twin) < 0.3);
  }
  REPORT(same && sum > 240 && sum < 360, "bernoulli_", "sum %g", sum);
  heed_tensor_drop(x);
  VALUES("bernoulli_ of 0",
         filled("bernoulli_", "p=0", blank(HEED_INT64, SHAPE(2))), 0, 0, 0);
  VALUES("bernoulli_ of 1",
         filled("bernoulli_", "p=1", blank(HEED_FLOAT32, SHAPE(2))), 0, 1, 1);

  /* what is overwritten gets gradient 0 */
  tensor *leaf = LIST(HEED_FLOAT32, 1, 2);
  leaf->requires_grad = true;
  tensor *y = RUN("mul", "", leaf, leaf);
  tensor *z = RUN("uniform_", "", y), *up = LIST(HEED_FLOAT32, 1, 1);
  must(z);
  must(heed_tensor_backward(z, up) ? z : NULL);
  VALUES("uniform_ stops the gradient", heed_tensor_grad(leaf), 0, 0, 0);
  drop_all((tensor *[]){y, z, up}, 3);
  refuses("normal_: x is a leaf that wants gradients; write to it inside "
          "heed.no_grad", "normal_", "", leaf, NULL, NULL);

  refuses("normal_: std must be at least 0, got -1", "normal_", "std=-1",
          LIST(HEED_FLOAT32, 0), NULL, NULL);
  refuses("uniform_: high must not be below low 1, got 0", "uniform_",
          "low=1, high=0", LIST(HEED_FLOAT32, 0), NULL, NULL);
  refuses("uniform_: from -3e+38 to 3e+38 is too wide for float32",
          "uniform_", "low=-3e38, high=3e38", LIST(HEED_FLOAT32, 0), NULL,
          NULL);
  refuses("uniform_: x must be float32 or float64, got int64 [1]",
          "uniform_", "", LIST(HEED_INT64, 0), NULL, NULL);
  refuses("bernoulli_: p must be from 0 to 1, got 2", "bernoulli_", "p=2",
          LIST(HEED_INT64, 0), NULL, NULL);
}

/* ---- sizes that are worth several threads -------------------------------- */

static void test_threads(sample s) {
  tensor *g[MOST] = {0}, *again[MOST] = {0}, *y = NULL, *up = NULL;
  int threads = heed_get_num_threads();
  bool same = true;
  for (int n = 1; n <= 4; n++) {
    heed_set_num_threads(n);
    heed_generator_seed(heed_generator_default(), 11);
    if (n == 1) {
      tensor *first = run(s.op, s.attr, s.in, s.nin);
      must(first);
      up = noise(first->dtype, first->shape);
      heed_tensor_drop(first);
      heed_generator_seed(heed_generator_default(), 11);
    }
    tensor *y2 = forward_backward(&s, s.in, up, again);
    if (n == 1) {
      y = y2;
      memcpy(g, again, sizeof g);
      continue;
    }
    same = same && same_bits(y, y2);
    for (int i = 0; i < s.nin; i++)
      if (g[i]) same = same && same_bits(g[i], again[i]);
    heed_tensor_drop(y2);
    drop_all(again, s.nin);
  }
  heed_set_num_threads(threads);
  char name[100];
  snprintf(name, sizeof name, "%s %s: large, same for 1 to 4 threads", s.op,
           s.attr);
  REPORT(same, name, "bits differ");
  drop_all(g, s.nin);
  drop_all(s.in, s.nin);
  heed_tensor_drop(y);
  heed_tensor_drop(up);
}

static void test_large(void) {
  const heed_dtype f = HEED_FLOAT32;
  static const char *const dims[] = {"dim=-1", "dim=0"};
  for (int d = 0; d < 2; d++) {
    test_threads((sample){.op = "softmax", .attr = dims[d], .nin = 1,
                          .in = {noise(f, SHAPE(150, 333))}, .want = 1});
    test_threads((sample){.op = "log_softmax", .attr = dims[d], .nin = 1,
                          .in = {noise(f, SHAPE(150, 333))}, .want = 1});
    test_threads((sample){.op = "logsumexp", .attr = dims[d], .nin = 1,
                          .in = {noise(f, SHAPE(150, 333))}, .want = 1});
    test_threads((sample){.op = "masked_softmax", .attr = dims[d], .nin = 2,
                          .in = {noise(f, SHAPE(150, 333)),
                                 mask_of(SHAPE(150, 333))}, .want = 1});
  }
  test_threads((sample){.op = "layer_norm", .attr = "normalized=[99]",
                        .nin = 3, .want = 7,
                        .in = {noise(f, SHAPE(501, 99)), noise(f, SHAPE(99)),
                               noise(f, SHAPE(99))}});
  test_threads((sample){.op = "rms_norm", .attr = "normalized=[99]", .nin = 2,
                        .in = {noise(f, SHAPE(501, 99)), noise(f, SHAPE(99))},
                        .want = 3});
  test_threads((sample){.op = "cross_entropy", .attr = "label_smoothing=0.1",
                        .nin = 3, .want = 1,
                        .in = {noise(f, SHAPE(150, 333)),
                               integers(SHAPE(150), 1, 333),
                               noise(f, SHAPE(333))}});
  test_threads((sample){.op = "cross_entropy", .attr = "", .nin = 3,
                        .in = {noise(f, SHAPE(20, 33, 70)),
                               integers(SHAPE(20, 70), 1, 33), NULL},
                        .want = 1});
  test_threads((sample){.op = "embedding", .attr = "", .nin = 2, .want = 2,
                        .in = {integers(SHAPE(300), 1, 900),
                               noise(f, SHAPE(900, 70))}});
  test_threads((sample){.op = "dropout", .attr = "p=0.3", .nin = 1, .want = 1,
                        .in = {noise(f, SHAPE(400, 401))}});
  test_threads((sample){.op = "randn", .attr = "shape=[70003]"});
}

int main(void) {
  if (!heed_init()) must(NULL);
  heed_generator_seed(&numbers, 2024);
  test_softmax();
  test_masked_softmax();
  test_twice("softmax", "dim=0", noise(HEED_FLOAT64, SHAPE(3, 4)), NULL);
  test_twice("log_softmax", "dim=1", noise(HEED_FLOAT64, SHAPE(3, 4)), NULL);
  test_twice("logsumexp", "dim=1", noise(HEED_FLOAT64, SHAPE(3, 4)), NULL);
  test_twice("masked_softmax", "dim=1", noise(HEED_FLOAT64, SHAPE(3, 4)),
             mask_of(SHAPE(4)));
  test_norms();
  test_cross_entropy();
  test_embedding();
  test_dropout();
  test_generator();
  test_new();
  test_in_place();
  test_large();
  return failed != 0;
}
