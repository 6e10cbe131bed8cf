/*
 * rotary - rotary position embedding. Layer: ops.
 * Read first: core/op.h, rows.h, kernel/rotary.c.
 *
 * The angles of a position are the same for all heads, so their cosines and
 * sines are made once, in float64, for every position of a call. Turning back
 * is turning by the negative angle: that is the gradient.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "kernel/kernel.h"
#include "ops/copy.h"
#include "ops/ops.h"
#include "ops/rows.h"

#define ANGLES_GRAIN 512 /* sines and cosines worth a thread */

enum { X, POSITIONS, FREQS };                           /* inputs */
enum { STYLE, BASE, OFFSET, DIMS, SCALING, INVERSE };   /* attributes */

/* How many elements of a row are turned. */
static int64_t turned(const heed_call *c) {
  const heed_shape *x = &c->in[X]->shape;
  int64_t dims = c->attr[DIMS].i;
  return dims == -1 ? x->dim[x->ndim - 1] : dims;
}

static bool positions_check(const heed_call *c) {
  const heed_tensor *p = c->in[POSITIONS];
  if (!p) return true;
  if (!heed_want_dtype(c, POSITIONS, HEED_INT64)) return false;
  const heed_shape *x = &c->in[X]->shape, *shape = &p->shape;
  int64_t steps = x->dim[x->ndim - 2];
  bool fits = shape->ndim == 1 ? shape->dim[0] == steps
              : shape->ndim == 2 && x->ndim > 2 && shape->dim[1] == steps &&
                    shape->dim[0] == x->dim[0];
  return fits ||
         heed_fail("%s: positions %s must be [T] or [B T] for x %s, [B .. T "
                   "D]", c->op->name, heed_shape_text(shape),
                   heed_shape_text(x));
}

static bool freqs_check(const heed_call *c, int64_t dims) {
  const heed_tensor *f = c->in[FREQS];
  if (!f) return true;
  if (!heed_want_float(c, FREQS)) return false;
  if (f->shape.ndim == 1 && f->shape.dim[0] == dims / 2) return true;
  return heed_fail("%s: freqs %s must be [%lld], one of each pair of %lld "
                   "elements", c->op->name, heed_shape_text(&f->shape),
                   (long long)(dims / 2), (long long)dims);
}

static bool above_zero(const heed_call *c, int i, const char *name) {
  double value = c->attr[i].f;
  return (value > 0 && isfinite(value)) ||
         heed_fail("%s: %s must be a finite number above 0, got %g",
                   c->op->name, name, value);
}

/***
x with pairs of its elements turned by angles that grow with the position
(Su et al., 2021), so that the product of two rows depends on how far apart
they stand: (a, b) becomes (a cos - b sin, b cos + a sin), pair i of position p
(both from 0) by the angle p * base^(-2 i / dims).
@function rotary_embedding
@param x float tensor [.. T D]
@param positions int64 tensor [T], or [B T] for x [B .. T D]: the position of
each step, from 1; 1 .. T by default
@param freqs float tensor [dims / 2]: what position is multiplied with, in
place of base^(-2 i / dims); gets no gradient
@param style which elements are a pair: "half" (default): i and i + dims / 2;
"interleaved": neighbours
@param base 10000 by default
@param offset how many positions come before those of x, 0 by default
@param dims how many elements of a row are turned, the first ones; an even
number, all by default
@param scaling positions are divided by it, 1 by default
@param inverse turns back, false by default
@return tensor like x
@raise when x is not float, dims are odd or more than D, base or scaling are
not above 0, or the shapes do not fit
@usage heed.nn.functional.rotary_embedding(heed.ones(2, 2))
--> 1 1 -0.3012 1.3818
*/
static bool rotary_check(heed_call *c) {
  if (!heed_want_float(c, X) || !heed_want_ndim(c, X, 2)) return false;
  const heed_shape *x = &c->in[X]->shape;
  int64_t dims = turned(c), width = x->dim[x->ndim - 1];
  if (dims < 0 || dims % 2 != 0 || dims > width)
    return heed_fail("%s: dims must be an even number up to %lld, the last "
                     "size of x %s, got %lld", c->op->name, (long long)width,
                     heed_shape_text(x), (long long)dims);
  heed_out_like(c, 0, c->in[X]);
  return above_zero(c, BASE, "base") && above_zero(c, SCALING, "scaling") &&
         positions_check(c) && freqs_check(c, dims);
}

/* -- angles -- */

typedef struct rotary {
  heed_dtype dtype;
  size_t size;                 /* of an element */
  int64_t width, dims;         /* of a row; of it turned */
  int64_t steps, batch;        /* T; rows of one batch entry */
  bool halves, each;           /* each: positions [B T] */
  bool inverse;
  double offset, scaling;
  const int64_t *position;     /* or NULL: 1 .. T */
  double *freq;                /* by pair */
  char *turn;                  /* [T dims] or [B T dims] */
} rotary;

/* The cosines and sines of some positions. */
static void make_turns(void *context, int64_t begin, int64_t end,
                       int worker) {
  (void)worker;
  const rotary *r = context;
  int64_t pairs = r->dims / 2;
  for (int64_t at = begin; at < end; at++) {
    double place = r->position ? (double)r->position[at] - 1 : (double)at;
    double far = (r->offset + place) / r->scaling;
    char *turn = r->turn + (size_t)(at * r->dims) * r->size;
    for (int64_t i = 0; i < pairs; i++) {
      double angle = far * r->freq[i];
      heed_real_store(r->dtype, turn, i, cos(angle));
      heed_real_store(r->dtype, turn, pairs + i,
                      r->inverse ? -sin(angle) : sin(angle));
    }
  }
}

static void make_freqs(const heed_call *c, const rotary *r) {
  const heed_tensor *f = c->in[FREQS];
  for (int64_t i = 0; i < r->dims / 2; i++)
    r->freq[i] =
        f ? heed_real(f->dtype, heed_tensor_data(f), i * f->stride[0])
          : pow(c->attr[BASE].f, -2 * (double)i / (double)r->dims);
}

static void turn_row(void *context, int64_t row, int64_t n,
                     void *const *data) {
  const rotary *r = context;
  int64_t at = row % r->steps;
  if (r->each) at += row / r->batch * r->steps;
  heed_kernel.rotary[r->dtype](
      r->dims / 2, data[0], data[1],
      r->turn + (size_t)(at * r->dims) * r->size, r->halves);
  if (data[0] != data[1] && n > r->dims)
    memcpy((char *)data[0] + (size_t)r->dims * r->size,
           (char *)data[1] + (size_t)r->dims * r->size,
           (size_t)(n - r->dims) * r->size);
}

static bool rotary_fwd(heed_call *c) {
  heed_tensor *x = c->in[X];
  int ndim = x->shape.ndim;
  int64_t numel = heed_tensor_numel(x);
  if (numel == 0) return true;
  heed_tensor *positions = c->in[POSITIONS];
  rotary r = {.dtype = x->dtype, .size = heed_dtype_size(x->dtype),
              .width = x->shape.dim[ndim - 1], .dims = turned(c),
              .steps = x->shape.dim[ndim - 2],
              .halves = c->attr[STYLE].i == 0,
              .each = positions && positions->shape.ndim == 2,
              .inverse = c->attr[INVERSE].i,
              .offset = (double)c->attr[OFFSET].i,
              .scaling = c->attr[SCALING].f};
  r.batch = numel / r.width / x->shape.dim[0];
  int64_t places = r.each ? heed_tensor_numel(positions) : r.steps;
  size_t freq_bytes = (size_t)(r.dims / 2) * sizeof *r.freq;
  size_t turn_bytes = (size_t)(places * r.dims) * r.size;
  if (positions) positions = heed_contiguous(c->op->name, positions);
  r.freq = heed_mem_alloc(freq_bytes);
  r.turn = heed_mem_alloc(turn_bytes);
  bool ok = r.freq && r.turn && (positions || !c->in[POSITIONS]);
  if (ok) {
    if (positions) r.position = heed_tensor_data(positions);
    make_freqs(c, &r);
    heed_parallel(places, 1 + ANGLES_GRAIN / (1 + r.dims), make_turns, &r);
    heed_rows rows = {.shape = x->shape, .ntensor = 2, .nwrite = 1,
                      .tensor = {c->out[0], x}};
    rows.along[ndim - 1] = true;
    ok = heed_rows_run(&rows, turn_row, &r);
  }
  heed_mem_free(r.freq, freq_bytes);
  heed_mem_free(r.turn, turn_bytes);
  heed_tensor_drop(positions);
  return ok;
}

static bool rotary_bwd(heed_rule_call *r) {
  heed_attr attr[INVERSE + 1];
  for (int i = 0; i < INVERSE; i++) attr[i] = r->attr[i];
  attr[INVERSE].i = !r->attr[INVERSE].i;
  heed_tensor *in[3] = {r->grad[0], heed_in(r, POSITIONS), heed_in(r, FREQS)};
  if (r->failed) return false;
  return heed_give(r, X, heed_do(r, heed_op_at(HEED_OP_rotary_embedding), in,
                                 3, attr));
}
const heed_rule heed_rule_rotary_embedding = {
    .check = rotary_check, .forward = rotary_fwd, .backward = rotary_bwd,
    .keep = {0, HEED_NEED(X), HEED_NEED(X)}, .elementwise = true};
