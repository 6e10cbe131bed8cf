/* api - heed.h for programs without Lua. Layer: core.
 * Read first: heed.h, op.h. */
#include <stdio.h>
#include <string.h>

#include "base/config.h"
#include "base/error.h"
#include "core/extra.h"
#include "core/family.h"
#include "core/generator.h"
#include "core/node.h"

const char *heed_version(void) { return HEED_VERSION; }

heed_tensor *heed_tensor_make(heed_dtype dtype, int ndim, const int64_t *size,
                              const void *data) {
  heed_shape shape = {.ndim = ndim};
  if ((unsigned)dtype >= HEED_NDTYPE) {
    heed_fail("tensor: %d is no dtype", (int)dtype);
    return NULL;
  }
  if (ndim < 0 || ndim > HEED_MAX_DIM) {
    heed_fail("tensor: ndim must be 0..%d, got %d", HEED_MAX_DIM, ndim);
    return NULL;
  }
  if (ndim) memcpy(shape.dim, size, sizeof *size * (size_t)ndim);
  heed_tensor *t = heed_tensor_new("tensor", dtype, &shape);
  if (!t) return NULL;
  if (data) memcpy(heed_tensor_data(t), data, t->storage->bytes);
  else memset(heed_tensor_data(t), 0, t->storage->bytes);
  return t;
}

heed_dtype heed_tensor_dtype(const heed_tensor *t) { return t->dtype; }

int heed_tensor_ndim(const heed_tensor *t) { return t->shape.ndim; }

int64_t heed_tensor_size(const heed_tensor *t, int dim) {
  if (dim < 0) dim += t->shape.ndim;
  return dim >= 0 && dim < t->shape.ndim ? t->shape.dim[dim] : -1;
}

size_t heed_tensor_bytes(const heed_tensor *t) {
  return (size_t)heed_tensor_numel(t) * heed_dtype_size(t->dtype);
}

bool heed_tensor_read(heed_tensor *t, void *data, size_t bytes) {
  size_t need = heed_tensor_bytes(t);
  if (bytes < need)
    return heed_fail("read: %s needs %zu bytes, got room for %zu",
                     heed_tensor_text(t), need, bytes);
  heed_tensor *rows = heed_op_run("contiguous", &t, 1, NULL);
  if (!rows) return false;
  memcpy(data, heed_tensor_data(rows), need);
  bool ok = heed_tensor_check_whole("read", rows);
  heed_tensor_drop(rows);
  return ok;
}

/* Puts "dim=0, keepdim=true" into the attributes of an op. */
static bool read_attributes(const heed_op *op, const char *text,
                            heed_attr *attr) {
  for (const char *at = text; at && *at;) {
    char name[32], value[128];
    int used = 0;
    if (sscanf(at, " %31[^ =] = %127[^,] %n", name, value, &used) != 2)
      return heed_fail("%s: attributes must be written name=value, got %s",
                       op->name, at);
    at += used;
    if (*at == ',') at++;
    for (size_t n = strlen(value); n > 0 && value[n - 1] == ' '; n--)
      value[n - 1] = '\0';
    int k = 0, i = 0;
    for (; i < op->nparam && strcmp(op->param[i].name, name) != 0; i++)
      if (op->param[i].kind > HEED_KIND_TENSORS) k++;
    if (i == op->nparam || op->param[i].kind <= HEED_KIND_TENSORS)
      return heed_fail("%s: has no attribute %s; its signature: %s", op->name,
                       name, op->signature);
    if (!heed_param_read(op, &op->param[i], value, 0, &attr[k])) return false;
  }
  return true;
}

static int run(const char *name, heed_tensor *const *in, int nin,
               const char *attributes, heed_tensor **out, int nout) {
  const heed_op *op = heed_op_find(name);
  if (!op) {
    heed_fail("there is no op called %s", name);
    return -1;
  }
  heed_attr attr[HEED_MAX_PARAM];
  heed_tensor *inputs[HEED_MAX_PARAM] = {0};
  const heed_param *end = heed_op_input(op, op->ninput - 1);
  bool list = end && end->kind == HEED_KIND_TENSORS;
  heed_op_defaults(op, attr);
  if (!read_attributes(op, attributes, attr)) return -1;
  if (!list && nin > op->ninput) {
    heed_fail("%s: takes %d inputs, got %d", name, op->ninput, nin);
    return -1;
  }
  for (int i = 0; i < op->ninput - list; i++) {
    inputs[i] = i < nin ? in[i] : NULL;
    if (!inputs[i] && !heed_op_input(op, i)->optional) {
      heed_fail("%s: %s is missing", name, heed_op_input(op, i)->name);
      return -1;
    }
  }
  heed_call c = {.op = op, .nin = list ? nin : op->ninput,
                 .in = list ? (heed_tensor **)in : inputs, .attr = attr};
  if (!heed_apply(&c)) return -1;
  heed_call_trim(&c);
  for (int k = 0; k < c.nout; k++) {
    if (k < nout) out[k] = c.out[k];
    else heed_tensor_drop(c.out[k]);
  }
  return c.nout;
}

int heed_run(const char *name, heed_tensor *const *in, int nin,
             const char *attributes, heed_tensor **out, int nout) {
  int n = run(name, in, nin, attributes, out, nout);
  for (int k = n < 0 ? 0 : n; k < nout; k++) out[k] = NULL;
  return n;
}

bool heed_tensor_require(heed_tensor *t, bool requires_grad) {
  if (!heed_family_sync(t)) return false;
  if (t->node)
    return heed_fail("requires_grad: only a leaf can be switched; this "
                     "tensor is the result of %s (detach it first)",
                     t->node->op->name);
  if (requires_grad && !heed_dtype_is_float(t->dtype))
    return heed_fail("requires_grad: only float tensors can want gradients, "
                     "got %s", heed_tensor_text(t));
  t->requires_grad = requires_grad;
  return true;
}

bool heed_tensor_backward(heed_tensor *t, heed_tensor *gradient) {
  return heed_backward(&t, &gradient, 1, &(heed_walk){0});
}

heed_tensor *heed_tensor_grad(const heed_tensor *t) {
  heed_tensor *grad = heed_extra_grad(t);
  return grad ? heed_tensor_ref(grad) : NULL;
}

void heed_tensor_clear_grad(heed_tensor *t) {
  if (!heed_extra_grad(t)) return;
  heed_tensor_drop(t->extra->grad);
  t->extra->grad = NULL;
}

void heed_manual_seed(uint64_t seed) {
  heed_generator_seed(heed_generator_default(), seed);
}
