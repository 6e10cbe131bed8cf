/*
 * adafactor - steps of Adafactor, many parameters at once. Layer: ops.
 * Read first: sweep.h, kernel/optim.c.
 *
 * Of a parameter with two dimensions or more [.. R C] the second moments are
 * kept as their means along rows and along columns, row [.. R 1] and col
 * [.. 1 C], from which each is estimated (Shazeer and Stern, 2018):
 *
 *     v[i][j] = row[i] col[j] / mean of row
 *
 * A parameter of one dimension, or none, keeps v itself. One step is
 *
 *     row += new2 (mean g^2 - row), col and v alike    new2 = step^beta2_decay
 *     r = g / sqrt(max(v, eps1^2))
 *     rate = max(eps2, rms of x) min(lr, 1 / sqrt(step)) / max(1, rms of r / d)
 *     x = (1 - lr weight_decay) x - rate r
 *
 * in three passes: sums of squares of x and g, then of r, then x. Threads share
 * bands, which are a few whole rows (or a block, where v is kept), the same for
 * any number of threads; sums of bands are added in their order.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "kernel/kernel.h"
#include "ops/ops.h"
#include "ops/sweep.h"

enum { STEP, LR, BETA2_DECAY, EPS1, EPS2, D, DECAY, MAXIMIZE };

static const heed_sweep_lists whole_lists = {3, {"x", "grad", "v"}, ~2u};
static const heed_sweep_lists factored_lists = {
    4, {"x", "grad", "row", "col"}, ~2u};

#define MOST_BANDS 64 /* of a matrix; each takes a row of sums */

/* A parameter as matrices [height columns], cut into bands; where v is kept, as
   one matrix of blocks, of which the last may be short. */
typedef struct cut {
  int64_t matrices, height, columns;
  int64_t band;        /* rows of a band; the last of a matrix may have less */
  int64_t bands;       /* of one matrix */
  int64_t first, last; /* numbers of its bands among those of the step */
  double *columns_sum; /* of squares of g: [bands of all matrices, columns] */
  double *mean;        /* of the row moments, one a matrix */
  double rate;
} cut;

typedef struct adafactor {
  const heed_attr *attr;
  heed_step how;
  bool factored;
  const heed_sweep *w;
  cut *cut;         /* one a parameter */
  double (*sum)[2]; /* of squares of x and of r, one a band */
  int64_t bands;    /* of all parameters */
} adafactor;

/* ---- bands --------------------------------------------------------------- */

static cut cut_of(const heed_sweep_item *item, bool factored) {
  const heed_shape *x = &item->dense[0]->shape;
  cut to = {.matrices = item->n > 0, .columns = HEED_SWEEP_BLOCK, .band = 1,
            .height = heed_sweep_blocks(item->n)};
  if (factored && item->n > 0) {
    to.columns = x->dim[x->ndim - 1];
    to.height = x->dim[x->ndim - 2];
    to.matrices = item->n / to.columns / to.height;
    to.band = 1 + 4 * HEED_SWEEP_BLOCK / to.columns;
    if (to.height > to.band * MOST_BANDS)
      to.band = (to.height - 1) / MOST_BANDS + 1;
  }
  to.bands = (to.height + to.band - 1) / to.band;
  return to;
}

/* A row of a band, and the data of its lists, v or col the third. */
typedef struct row {
  int64_t matrix, index; /* counted over all matrices */
  int64_t n;
  void *data[HEED_STEP_TENSORS];
} row;

static row row_at(const adafactor *s, const heed_sweep_item *item,
                  const cut *to, int64_t index) {
  int64_t size = (int64_t)heed_dtype_size(item->dtype);
  int64_t begin = index * to->columns, rest = item->n - begin;
  row r = {.matrix = index / to->height, .index = index,
           .n = rest < to->columns ? rest : to->columns};
  for (int l = 0; l < 3; l++) r.data[l] = (char *)item->data[l] + begin * size;
  if (s->factored)
    r.data[2] = (char *)item->data[3] + r.matrix * to->columns * size;
  return r;
}

typedef void band_fn(adafactor *s, const heed_sweep_item *item, const cut *to,
                     int64_t band, int64_t begin, int64_t end);

typedef struct job {
  adafactor *s;
  band_fn *fn;
} job;

static void run_bands(void *context, int64_t begin, int64_t end, int worker) {
  const job *j = context;
  int k = 0;
  (void)worker;
  for (int64_t band = begin; band < end; band++) {
    while (j->s->cut[k].last <= band) k++;
    const cut *to = &j->s->cut[k];
    int64_t at = band - to->first, matrix = at / to->bands;
    int64_t from = at % to->bands * to->band, end_row = from + to->band;
    if (end_row > to->height) end_row = to->height;
    j->fn(j->s, &j->s->w->item[k], to, band, matrix * to->height + from,
          matrix * to->height + end_row);
  }
}

static void each_band(adafactor *s, band_fn *fn) {
  job j = {s, fn};
  heed_parallel(s->bands, 2, run_bands, &j);
}

/* ---- passes -------------------------------------------------------------- */

/* Moves a moment towards the mean square of now. */
static double move(const adafactor *s, heed_dtype dtype, void *data,
                   int64_t at, double now) {
  double old = heed_real(dtype, data, at);
  double moved = old + s->how.new2 * (now - old);
  heed_real_store(dtype, data, at, moved);
  return moved;
}

/* Squares of x; v itself, or the moments of rows and squares for columns. */
static void first_pass(adafactor *s, const heed_sweep_item *item,
                       const cut *to, int64_t band, int64_t begin,
                       int64_t end) {
  heed_dtype dtype = item->dtype;
  double *columns = NULL, sum = 0;
  if (s->factored) {
    columns = to->columns_sum + (band - to->first) * to->columns;
    memset(columns, 0, sizeof *columns * (size_t)to->columns);
  }
  for (int64_t i = begin; i < end; i++) {
    row r = row_at(s, item, to, i);
    sum += heed_kernel.power_sum[dtype](r.n, r.data[0], 2);
    if (s->factored) {
      double square = heed_kernel.power_sum[dtype](r.n, r.data[1], 2);
      move(s, dtype, item->data[2], i, square / (double)r.n);
      heed_kernel.add_squares[dtype](r.n, columns, r.data[1]);
    } else {
      heed_kernel.step[HEED_STEP_adafactor_moments][dtype](r.n, r.data,
                                                           &s->how);
    }
  }
  s->sum[band][0] = sum;
}

/* What needs all bands of a matrix: moments of columns, the mean of rows. */
static void join_matrix(const adafactor *s, const heed_sweep_item *item,
                        const cut *to, int64_t matrix) {
  heed_dtype dtype = item->dtype;
  double sum = 0;
  for (int64_t i = 0; i < to->height; i++)
    sum += heed_real(dtype, item->data[2], matrix * to->height + i);
  to->mean[matrix] = sum / (double)to->height;
  const double *first = to->columns_sum + matrix * to->bands * to->columns;
  for (int64_t j = 0; j < to->columns; j++) {
    double square = 0;
    for (int64_t b = 0; b < to->bands; b++)
      square += first[b * to->columns + j];
    move(s, dtype, item->data[3], matrix * to->columns + j,
         square / (double)to->height);
  }
}

static void join_items(void *context, int64_t begin, int64_t end,
                       int worker) {
  const adafactor *s = context;
  (void)worker;
  for (int64_t k = begin; k < end; k++)
    for (int64_t m = 0; m < s->cut[k].matrices; m++)
      join_matrix(s, &s->w->item[k], &s->cut[k], m);
}

/* The numbers of a row. */
static heed_step how_of(const adafactor *s, const heed_sweep_item *item,
                        const cut *to, const row *r) {
  heed_step how = s->how;
  how.scale = 1;
  how.rate = to->rate;
  if (s->factored)
    how.scale = heed_real(item->dtype, item->data[2], r->index) /
                fmax(to->mean[r->matrix], s->how.eps);
  return how;
}

static void second_pass(adafactor *s, const heed_sweep_item *item,
                        const cut *to, int64_t band, int64_t begin,
                        int64_t end) {
  heed_dtype dtype = item->dtype;
  int64_t size = (int64_t)heed_dtype_size(dtype);
  heed_sweep_row direction;
  double sum = 0;
  for (int64_t i = begin; i < end; i++) {
    row r = row_at(s, item, to, i);
    heed_step how = how_of(s, item, to, &r);
    for (int64_t at = 0; at < r.n; at += HEED_SWEEP_BLOCK) {
      int64_t n = r.n - at < HEED_SWEEP_BLOCK ? r.n - at : HEED_SWEEP_BLOCK;
      void *data[HEED_STEP_TENSORS] = {NULL};
      for (int l = 0; l < 3; l++) data[l] = (char *)r.data[l] + at * size;
      data[3] = &direction;
      heed_kernel.step[HEED_STEP_adafactor_direction][dtype](n, data, &how);
      sum += heed_kernel.power_sum[dtype](n, &direction, 2);
    }
  }
  s->sum[band][1] = sum;
}

/* The rate of a parameter, from the sums of its bands. */
static void set_rate(const adafactor *s, const heed_sweep_item *item, cut *to) {
  const heed_attr *a = s->attr;
  double sum[2] = {0, 0}, n = (double)item->n;
  for (int64_t b = to->first; b < to->last; b++)
    for (int k = 0; k < 2; k++) sum[k] += s->sum[b][k];
  to->rate = fmax(a[EPS2].f, sqrt(sum[0] / n)) *
             fmin(a[LR].f, 1 / sqrt((double)a[STEP].i)) /
             fmax(1, sqrt(sum[1] / n) / a[D].f);
}

static void third_pass(adafactor *s, const heed_sweep_item *item,
                       const cut *to, int64_t band, int64_t begin,
                       int64_t end) {
  (void)band;
  for (int64_t i = begin; i < end; i++) {
    row r = row_at(s, item, to, i);
    heed_step how = how_of(s, item, to, &r);
    heed_kernel.step[HEED_STEP_adafactor][item->dtype](r.n, r.data, &how);
  }
}

/* ---- step ---------------------------------------------------------------- */

static void run_passes(adafactor *s) {
  each_band(s, first_pass);
  if (s->factored) heed_parallel(s->w->n, 1, join_items, s);
  each_band(s, second_pass);
  for (int k = 0; k < s->w->n; k++)
    if (s->w->item[k].n > 0) set_rate(s, &s->w->item[k], &s->cut[k]);
  each_band(s, third_pass);
}

/* Cuts every parameter; returns how many numbers of scratch they take. */
static int64_t cut_all(adafactor *s) {
  int64_t numbers = 0;
  for (int k = 0; k < s->w->n; k++) {
    cut *to = &s->cut[k];
    *to = cut_of(&s->w->item[k], s->factored);
    to->first = s->bands;
    to->last = s->bands += to->matrices * to->bands;
    if (s->factored)
      numbers += to->matrices * (to->bands * to->columns + 1);
  }
  return numbers + 2 * s->bands;
}

static void share_scratch(adafactor *s, double *scratch) {
  s->sum = (double (*)[2])scratch;
  scratch += 2 * s->bands;
  for (int k = 0; s->factored && k < s->w->n; k++) {
    cut *to = &s->cut[k];
    to->mean = scratch;
    to->columns_sum = scratch + to->matrices;
    scratch += to->matrices * (to->bands * to->columns + 1);
  }
}

static bool run_sweep(heed_sweep *w, void *context) {
  adafactor *s = context;
  size_t cuts = sizeof *s->cut * (size_t)w->n;
  s->w = w;
  s->bands = 0;
  s->cut = heed_mem_alloc(cuts);
  if (!s->cut) return false;
  size_t bytes = sizeof(double) * (size_t)cut_all(s);
  double *scratch = heed_mem_alloc(bytes);
  if (scratch) {
    share_scratch(s, scratch);
    run_passes(s);
    heed_mem_free(scratch, bytes);
  }
  heed_mem_free(s->cut, cuts);
  return scratch != NULL;
}

/* ---- op ------------------------------------------------------------------ */

static bool is_factored(const heed_call *c) {
  return c->nin > 0 && c->in[0]->shape.ndim > 1;
}

/* Is t the means of x [.. R C] along one of its last two dimensions? */
static bool check_moments(const heed_call *c, int list, int k, int dim) {
  const heed_tensor *t = c->in[list * (c->nin / factored_lists.n) + k];
  heed_shape want = c->in[k]->shape;
  want.dim[want.ndim - dim] = 1;
  return heed_shape_equal(&t->shape, &want) ||
         heed_fail("adafactor_: %s[%d] must be %s for x[%d] %s, got %s",
                   factored_lists.name[list], k + 1, heed_shape_text(&want),
                   k + 1, heed_shape_text(&c->in[k]->shape),
                   heed_shape_text(&t->shape));
}

static bool check_shapes(const heed_call *c, bool many) {
  int n = c->nin / (many ? factored_lists.n : whole_lists.n);
  for (int k = 0; k < n; k++) {
    if ((c->in[k]->shape.ndim > 1) != many)
      return heed_fail("adafactor_: x[%d] must have %s, as x[1] has, got %s",
                       k + 1, many ? "2 dimensions or more" :
                       "at most 1 dimension", heed_tensor_text(c->in[k]));
    if (many && !(check_moments(c, 2, k, 1) && check_moments(c, 3, k, 2)))
      return false;
  }
  return true;
}

/***
One step of Adafactor in place.
@function adafactor_
@param tensors lists of n tensors in one: x, float32 or float64, the
parameters, all with 2 dimensions or more or all with less; their gradients,
like x; in the first case row [.. R 1] and col [.. 1 C], means of the squares
of gradients along rows and columns of x [.. R C]; else v, like x, the means of
the squares; zeros at first. All but the gradients change.
@param step number of this step, from 1
@param lr learning rate, relative to the size of x, at most
@param beta2_decay power of the step that is the share of new squares
@param eps1 least root of a mean of squares
@param eps2 least size of x that the rate is relative to
@param d size of a direction above which it is cut
@param weight_decay part of x taken from it, times lr
@param maximize climbs instead of descending; false by default
@return x[1]
@raise when the tensors do not fit
@usage
local x, g, v = heed.ones(2), heed.tensor {-3.0, 7.0}, heed.zeros(2)
heed.core.ops.adafactor_({x, g, v}, 1, 0.5, -0.8, 1e-7, 1e-3, 1, 0)
--> 1.5 0.5
*/
static bool adafactor__check(heed_call *c) {
  bool many = is_factored(c);
  if (!heed_sweep_check(c, many ? &factored_lists : &whole_lists,
                        many ? 2 : 3) ||
      !check_shapes(c, many) || !heed_sweep_check_step(c, c->attr[STEP].i))
    return false;
  heed_out_like(c, 0, c->in[0]);
  return true;
}
static bool adafactor__fwd(heed_call *c) {
  const heed_attr *a = c->attr;
  adafactor s = {.attr = a, .factored = is_factored(c), .how = {
      .sign = a[MAXIMIZE].i ? -1 : 1, .eps = a[EPS1].f,
      .new2 = pow((double)a[STEP].i, a[BETA2_DECAY].f),
      .keep = 1 - a[LR].f * a[DECAY].f}};
  return heed_sweep_run(c, s.factored ? &factored_lists : &whole_lists,
                        run_sweep, &s);
}
const heed_rule heed_rule_adafactor_ = {.check = adafactor__check,
                                        .forward = adafactor__fwd,
                                        .in_place = 1,
                                        .halves = HEED_ALWAYS};
