/*
 * recurrent - a layer of an LSTM, a GRU or a plain recurrent network over
 * whole sequences. Layer: ops.
 * Read first: core/op.h, kernel/recurrent.h, panels.h.
 *
 * The product of all inputs with their weights comes in as x, made at once.
 * What is left has to go step by step, but not through the batch: sequences
 * know nothing of each other. So each thread takes some of them through all
 * steps, without waiting for another: the product of their states with the
 * weights, which are packed once, then the gates (kernel/recurrent.c), while
 * all of it is in the cache. Few sequences have products too small for that:
 * they go together, and each product is shared by the threads.
 *
 * Lengths: sequence b takes part in its first lens[b] steps. Sequences are
 * dealt by falling length, so that those of a thread which still go on are
 * always its first ones. Its outputs from there on are zeros.
 *
 * Backward walks the steps from the last. With dp the gradient of a product,
 *     dh_before = dp W + (what does not pass through the product)
 *     dW = sum over steps and sequences of dp^T h_before, one product of all
 * where h_before is kept beside the gates.
 */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "kernel/kernel.h"
#include "ops/copy.h"
#include "ops/ops.h"
#include "ops/panels.h"
#include "ops/rows.h"

enum { X, STATE, WEIGHT, BIAS, LENS }; /* inputs */
enum { OUT, LAST, KEPT };              /* results */
enum { B_KEPT, B_WEIGHT, B_LENS, B_GRAD, B_LAST, B_NIN }; /* of backward */
enum { D_X, D_STATE, D_WEIGHT, D_PRODUCT };

#define FEW 4 /* sequences whose products the threads share */

static const struct {
  int64_t gates, kept, states;
} shape_of[HEED_NCELL] = {
    [HEED_CELL_TANH] = {1, 2, 1}, [HEED_CELL_RELU] = {1, 2, 1},
    [HEED_CELL_GRU] = {3, 5, 1}, [HEED_CELL_LSTM] = {4, 6, 2}};
static const char *const cell_name[] = {"a plain layer", "a plain layer",
                                        "a GRU", "an LSTM"};

/* -- what forward and backward share -- */

typedef struct layer {
  const char *name;
  heed_cell cell;
  bool reverse;
  heed_dtype dtype;
  int64_t size;                   /* bytes of a number */
  int64_t batch, steps, hidden;
  int64_t gates, kept;            /* numbers of a row: gates hidden ... */
  heed_tensor *weight, *lens;     /* contiguous; lens or NULL */
  int64_t *order;                 /* sequences by falling length */
  bool shared;                    /* one task, whose products are shared */
  int64_t tasks;
  heed_panels panels;             /* the weights, where not shared */
  char *room;                     /* scratch of each task */
  size_t room_size;
  bool failed;                    /* a shared product had no memory */
  /* forward */
  heed_tensor *x, *state, *bias, *out, *last, *kept_out;
  /* backward */
  heed_tensor *grad, *grad_last, *dx, *dstate, *dproduct;
} layer;

static char *at(const layer *l, const heed_tensor *t, int64_t index) {
  return (char *)heed_tensor_data(t) + index * l->size;
}

static int64_t length_of(const layer *l, int64_t b) {
  return l->lens ? ((const int64_t *)heed_tensor_data(l->lens))[b] : l->steps;
}

/* The step of sequence b that is taken as number `turn`. */
static int64_t step_of(const layer *l, int64_t b, int64_t turn) {
  return l->reverse ? length_of(l, b) - 1 - turn : turn;
}

static bool lens_check(const layer *l) {
  for (int64_t b = 0; l->lens && b < l->batch; b++) {
    int64_t n = length_of(l, b);
    if (n < 0 || n > l->steps)
      return heed_fail("recurrent: valid_lens %s, row %lld: must be 0..%lld, "
                       "the steps, got %lld",
                       heed_shape_text(&l->lens->shape), (long long)b + 1,
                       (long long)l->steps, (long long)n);
  }
  return true;
}

/* A counting sort: stable, and linear in batch and steps. */
static bool sort_by_length(layer *l) {
  const size_t bytes = (size_t)(l->steps + 1) * sizeof(int64_t);
  int64_t *place = heed_mem_alloc(bytes);
  l->order = heed_mem_alloc((size_t)l->batch * sizeof *l->order);
  if (place && l->order) {
    memset(place, 0, bytes);
    for (int64_t b = 0; b < l->batch; b++) place[length_of(l, b)]++;
    for (int64_t n = l->steps, sum = 0; n >= 0; n--) {
      int64_t count = place[n];
      place[n] = sum;
      sum += count;
    }
    for (int64_t b = 0; b < l->batch; b++)
      l->order[place[length_of(l, b)]++] = b;
  }
  heed_mem_free(place, bytes);
  return place && l->order;
}

static void layer_end(layer *l) {
  heed_tensor_drop(l->weight);
  heed_tensor_drop(l->lens);
  heed_tensor_drop(l->x);
  heed_tensor_drop(l->state);
  heed_tensor_drop(l->bias);
  heed_tensor_drop(l->grad);
  heed_tensor_drop(l->grad_last);
  heed_panels_drop(&l->panels);
  heed_mem_free(l->order, (size_t)l->batch * sizeof *l->order);
  heed_mem_free(l->room, (size_t)l->tasks * l->room_size);
}

/* NULL passes, as nothing to read. */
static bool read_dense(const layer *l, heed_tensor **to, heed_tensor *t) {
  if (t) *to = heed_contiguous(l->name, t);
  return !t || *to;
}

/* Reads weights and lengths. */
static bool layer_begin(layer *l, const heed_call *c, heed_tensor *weight,
                        heed_tensor *lens) {
  l->name = c->op->name;
  l->cell = (heed_cell)c->attr[0].i;
  l->reverse = c->attr[1].i;
  l->dtype = weight->dtype;
  l->size = (int64_t)heed_dtype_size(l->dtype);
  l->hidden = weight->shape.dim[1];
  l->gates = shape_of[l->cell].gates * l->hidden;
  l->kept = shape_of[l->cell].kept * l->hidden;
  return read_dense(l, &l->weight, weight) && read_dense(l, &l->lens, lens) &&
         lens_check(l) && sort_by_length(l);
}

/* Packs b [k n] and makes room for `numbers` a sequence. */
static bool layer_prepare(layer *l, int64_t k, int64_t n, heed_matrix b,
                          int64_t numbers) {
  const int64_t threads = heed_get_num_threads();
  const int64_t most = (l->batch + FEW - 1) / FEW;
  l->shared = l->batch <= FEW || l->steps == 1;
  l->tasks = l->shared || threads == 1 ? 1 : threads < most ? threads : most;
  if (l->batch == 0) l->tasks = 0;
  const int64_t rows = l->tasks ? (l->batch + l->tasks - 1) / l->tasks : 0;
  l->room_size = (size_t)(rows * numbers * l->size);
  l->room = heed_mem_alloc((size_t)l->tasks * l->room_size);
  return l->room &&
         (l->shared || heed_panels_make(&l->panels, l->dtype, k, n, b));
}

/* c [m n] (+)= a [m k] b of layer_prepare; b is given again for shared ones. */
static void product(layer *l, int64_t m, int64_t n, int64_t k,
                    const char *a, heed_matrix b, char *c, bool accumulate) {
  if (!l->shared)
    heed_panels_multiply(&l->panels, m, a, c, accumulate);
  else if (!heed_gemm(l->dtype, m, n, k, (heed_matrix){a, k, 1}, b, c, n,
                      accumulate))
    l->failed = true; /* by one task, which is alone */
}

/* W^T [hidden gates], and W. */
static heed_matrix weight_turned(const layer *l) {
  return (heed_matrix){heed_tensor_data(l->weight), 1, l->hidden};
}
static heed_matrix weight_plain(const layer *l) {
  return (heed_matrix){heed_tensor_data(l->weight), l->hidden, 1};
}

/* Sequence number i of a task, and how many it has. */
static int64_t sequence(const layer *l, int64_t task, int64_t i) {
  return l->order[task + i * l->tasks];
}
static int64_t sequences(const layer *l, int64_t task) {
  return (l->batch - task + l->tasks - 1) / l->tasks;
}

/* How many of the first `rows` go on at a turn. */
static int64_t going_on(const layer *l, int64_t task, int64_t rows,
                        int64_t turn) {
  while (rows > 0 && length_of(l, sequence(l, task, rows - 1)) <= turn)
    rows--;
  return rows;
}

static void copy(const layer *l, int64_t n, void *to, const void *from) {
  if (n > 0) memcpy(to, from, (size_t)(n * l->size));
}
/* Zeros in t [B T n] behind the length of sequence b. */
static void clear_rest(const layer *l, heed_tensor *t, int64_t b, int64_t n) {
  const int64_t first = length_of(l, b), bytes = n * l->size;
  if (!t || bytes == 0) return;
  memset(at(l, t, (b * l->steps + first) * n), 0,
         (size_t)((l->steps - first) * bytes));
}

/* -- forward -- */

static void forward_task(layer *l, int64_t task) {
  const int64_t h = l->hidden, rows = sequences(l, task);
  char *state = l->room + (size_t)task * l->room_size;
  char *cell = state + rows * h * l->size;
  char *products = state + 2 * rows * h * l->size;
  const bool two = shape_of[l->cell].states == 2;
  for (int64_t i = 0; i < rows; i++) {
    const int64_t b = sequence(l, task, i);
    copy(l, h, state + i * h * l->size, at(l, l->state, b * h));
    if (two)
      copy(l, h, cell + i * h * l->size, at(l, l->state, (l->batch + b) * h));
    clear_rest(l, l->out, b, h);
    clear_rest(l, l->kept_out, b, l->kept);
  }
  int64_t on = rows;
  for (int64_t turn = 0; turn < l->steps; turn++) {
    on = going_on(l, task, on, turn);
    if (on == 0) break;
    product(l, on, l->gates, h, state, weight_turned(l), products, false);
    for (int64_t i = 0; i < on; i++) {
      const int64_t b = sequence(l, task, i), t = step_of(l, b, turn);
      const int64_t step = b * l->steps + t;
      const heed_cell_row row = {
          .x = at(l, l->x, b * l->x->stride[0] + t * l->x->stride[1]),
          .product = products + i * l->gates * l->size,
          .bias = l->bias ? heed_tensor_data(l->bias) : NULL,
          .h = state + i * h * l->size, .c = cell + i * h * l->size,
          .kept = l->kept_out ? at(l, l->kept_out, step * l->kept) : NULL};
      heed_kernel.cell_fwd[l->cell][l->dtype](h, &row);
      copy(l, h, at(l, l->out, step * h), row.h);
    }
  }
  for (int64_t i = 0; i < rows; i++) {
    const int64_t b = sequence(l, task, i);
    copy(l, h, at(l, l->last, b * h), state + i * h * l->size);
    if (two)
      copy(l, h, at(l, l->last, (l->batch + b) * h), cell + i * h * l->size);
  }
}

static void forward_tasks(void *context, int64_t begin, int64_t end,
                          int worker) {
  (void)worker;
  for (int64_t i = begin; i < end; i++) forward_task(context, i);
}

static bool lens_shape_check(heed_call *c) {
  const heed_tensor *lens = c->in[LENS];
  const int64_t batch = c->in[X]->shape.dim[0];
  if (!lens) return true;
  if (!heed_want_dtype(c, LENS, HEED_INT64)) return false;
  if (lens->shape.ndim == 1 && lens->shape.dim[0] == batch) return true;
  return heed_fail("recurrent: valid_lens must be [%lld], a length for each "
                   "sequence of x %s, got %s", (long long)batch,
                   heed_shape_text(&c->in[X]->shape),
                   heed_shape_text(&lens->shape));
}

/***
The outputs of a recurrent layer: all states of a cell that goes over
sequences. With p = W h + bias, h (and c) the state before the step:
tanh and relu: h = f(x + p). GRU (Cho et al., 2014), as PyTorch has it:
r, z = sigmoid(x + p), n = tanh(x + r p), h = (1 - z) n + z h, in the order r,
z, n. LSTM (Hochreiter and Schmidhuber, 1997): i, f, o = sigmoid(x + p),
g = tanh(x + p), c = f c + i g, h = o tanh(c), in the order i, f, g, o.
@function recurrent
@param x float tensor (B, T, gates * H): the inputs, by their weights
@param state float tensor (1, B, H), of an LSTM (2, B, H): h and c
@param weight float tensor (gates * H, H): W
@param bias float tensor (gates * H)
@param valid_lens int64 tensor (B): sequence b ends after so many steps: its
state stays and its outputs are zeros; all by default
@param cell `"tanh"`, `"relu"`, `"gru"` or `"lstm"`
@param reverse from the last (valid) step to the first; false by default
@return tensor (B, T, H): h after each step
@return tensor like state: the last one
@raise when shapes or dtypes do not fit, or a length is out of range
@usage local ops = heed.core.ops
local y = ops.recurrent(heed.ones(1, 2, 1), heed.zeros(1, 1, 1),
  heed.ones(1, 1), nil, nil, "relu") --> 1 2
*/
static bool recurrent_check(heed_call *c) {
  const heed_tensor *x = c->in[X], *state = c->in[STATE];
  const heed_tensor *weight = c->in[WEIGHT], *bias = c->in[BIAS];
  const int cell = (int)c->attr[0].i;
  if (!heed_want_float(c, X)) return false;
  for (int i = STATE; i <= BIAS; i++)
    if (c->in[i] && !heed_want_dtype(c, i, x->dtype)) return false;
  if (x->shape.ndim != 3)
    return heed_fail("recurrent: x must be [batch steps gates], got %s",
                     heed_shape_text(&x->shape));
  const int64_t gates = x->shape.dim[2], batch = x->shape.dim[0];
  const int64_t h = gates / shape_of[cell].gates;
  heed_shape want = {2, {gates, h}};
  if (h * shape_of[cell].gates != gates ||
      !heed_shape_equal(&weight->shape, &want))
    return heed_fail("recurrent: weight %s must be [%lld n n], where x %s "
                     "ends in %lld n, for %s",
                     heed_shape_text(&weight->shape),
                     (long long)shape_of[cell].gates,
                     heed_shape_text(&x->shape),
                     (long long)shape_of[cell].gates, cell_name[cell]);
  want = (heed_shape){3, {shape_of[cell].states, batch, h}};
  if (!heed_shape_equal(&state->shape, &want))
    return heed_fail("recurrent: state must be %s for x %s, got %s",
                     heed_shape_text(&want), heed_shape_text(&x->shape),
                     heed_shape_text(&state->shape));
  want = (heed_shape){1, {gates}};
  if (bias && !heed_shape_equal(&bias->shape, &want))
    return heed_fail("recurrent: bias must be %s for x %s, got %s",
                     heed_shape_text(&want), heed_shape_text(&x->shape),
                     heed_shape_text(&bias->shape));
  if (!lens_shape_check(c)) return false;
  const int64_t steps = x->shape.dim[1];
  heed_out(c, OUT, x->dtype, &(heed_shape){3, {batch, steps, h}});
  heed_out(c, LAST, x->dtype, &state->shape);
  if (c->need)
    heed_out(c, KEPT, x->dtype,
             &(heed_shape){3, {batch, steps, shape_of[cell].kept * h}});
  return true;
}

static bool recurrent_fwd(heed_call *c) {
  const heed_shape *x = &c->in[X]->shape;
  layer l = {.batch = x->dim[0], .steps = x->dim[1], .out = c->out[OUT],
             .last = c->out[LAST],
             .kept_out = c->nout > KEPT ? c->out[KEPT] : NULL};
  bool ok = layer_begin(&l, c, c->in[WEIGHT], c->in[LENS]) &&
            read_dense(&l, &l.state, c->in[STATE]) &&
            read_dense(&l, &l.bias, c->in[BIAS]) &&
            layer_prepare(&l, l.hidden, l.gates, weight_turned(&l),
                          2 * l.hidden + l.gates);
  if (ok && (c->in[X]->stride[2] == 1 || l.gates == 1)) {
    l.x = heed_tensor_ref(c->in[X]); /* steps may lie anywhere */
  } else if (ok) {
    ok = read_dense(&l, &l.x, c->in[X]);
  }
  if (ok) heed_parallel(l.tasks, 1, forward_tasks, &l);
  layer_end(&l);
  return ok && !l.failed;
}

/* -- backward -- */

static bool recurrent_bwd(heed_rule_call *r) {
  heed_tensor *in[B_NIN] = {
      heed_kept_out(r, KEPT), heed_in(r, WEIGHT), heed_in(r, LENS),
      heed_dense(r, r->grad[OUT]), heed_dense(r, r->grad[LAST])};
  heed_attr attr[3] = {r->attr[0], r->attr[1],
                       {.i = heed_needs(r, WEIGHT)}};
  heed_tensor *out[4] = {NULL};
  if (!heed_do_all(r, heed_op_at(HEED_OP_recurrent_bwd), in, B_NIN, attr,
                   out))
    return false;
  heed_give(r, X, out[D_X]);
  heed_give(r, STATE, out[D_STATE]);
  if (heed_needs(r, WEIGHT)) heed_give(r, WEIGHT, out[D_WEIGHT]);
  if (!heed_needs(r, BIAS)) return !r->failed;
  heed_attr over[2] = {{.list = {2, {0, 1}}}, {.i = 0}};
  heed_tensor *dproduct = out[D_PRODUCT] ? out[D_PRODUCT] : out[D_X];
  return heed_give(r, BIAS, heed_do1_with(r, HEED_OP_sum, dproduct, over));
}
const heed_rule heed_rule_recurrent = {
    .check = recurrent_check, .forward = recurrent_fwd,
    .backward = recurrent_bwd,
    .keep = {[WEIGHT] = HEED_ALWAYS, [LENS] = HEED_ALWAYS},
    .keep_out = {[KEPT] = HEED_ALWAYS}, .fused = true};

/* One step of sequence b, back; `slope` has what the state's rows are. */
static void step_back(const layer *l, int64_t b, int64_t t,
                      heed_cell_slope *slope) {
  const int64_t step = b * l->steps + t, h = l->hidden;
  char *dx = at(l, l->dx, step * l->gates);
  if (l->grad)
    heed_kernel.binary[HEED_BINARY_add][l->dtype](
        h, slope->dh, 1, slope->dh, 1, at(l, l->grad, step * h), 1);
  slope->kept = at(l, l->kept_out, step * l->kept);
  slope->dx = dx;
  heed_kernel.cell_bwd[l->cell][l->dtype](h, slope);
  copy(l, l->gates, l->dproduct ? at(l, l->dproduct, step * l->gates) : dx,
       slope->dproduct);
}

static void backward_task(layer *l, int64_t task) {
  const int64_t h = l->hidden, rows = sequences(l, task);
  const int64_t row = h * l->size;
  char *dh = l->room + (size_t)task * l->room_size;
  char *dc = dh + rows * row, *dproduct = dh + 2 * rows * row;
  const bool two = shape_of[l->cell].states == 2;
  memset(dh, 0, (size_t)(2 * rows * row));
  for (int64_t i = 0; i < rows; i++) {
    const int64_t b = sequence(l, task, i);
    if (l->grad_last) copy(l, h, dh + i * row, at(l, l->grad_last, b * h));
    if (l->grad_last && two)
      copy(l, h, dc + i * row, at(l, l->grad_last, (l->batch + b) * h));
    clear_rest(l, l->dx, b, l->gates);
    clear_rest(l, l->dproduct, b, l->gates);
  }
  for (int64_t turn = l->steps - 1; turn >= 0; turn--) {
    const int64_t on = going_on(l, task, rows, turn);
    for (int64_t i = 0; i < on; i++) {
      const int64_t b = sequence(l, task, i);
      step_back(l, b, step_of(l, b, turn),
                &(heed_cell_slope){.dh = dh + i * row, .dc = dc + i * row,
                                   .dproduct = dproduct +
                                               i * l->gates * l->size});
    }
    product(l, on, h, l->gates, dproduct, weight_plain(l), dh, true);
  }
  for (int64_t i = 0; i < rows; i++) {
    const int64_t b = sequence(l, task, i);
    copy(l, h, at(l, l->dstate, b * h), dh + i * row);
    if (two) copy(l, h, at(l, l->dstate, (l->batch + b) * h), dc + i * row);
  }
}

static void backward_tasks(void *context, int64_t begin, int64_t end,
                           int worker) {
  (void)worker;
  for (int64_t i = begin; i < end; i++) backward_task(context, i);
}

static bool recurrent_bwd_check(heed_call *c) {
  const heed_tensor *kept = c->in[B_KEPT], *weight = c->in[B_WEIGHT];
  const int cell = (int)c->attr[0].i;
  const int64_t batch = kept->shape.dim[0], h = weight->shape.dim[1];
  const heed_shape steps = {3, {batch, kept->shape.dim[1],
                                weight->shape.dim[0]}};
  heed_out(c, D_X, kept->dtype, &steps);
  heed_out(c, D_STATE, kept->dtype,
           &(heed_shape){3, {shape_of[cell].states, batch, h}});
  heed_out(c, D_WEIGHT, kept->dtype,
           c->attr[2].i ? &weight->shape : &(heed_shape){1, {0}});
  if (cell == HEED_CELL_GRU) heed_out(c, D_PRODUCT, kept->dtype, &steps);
  return true;
}

/* dW [gates H] of all steps: kept rows end in h_before. */
static bool weight_slope(const layer *l, heed_tensor *dweight) {
  const heed_tensor *dproduct = l->dproduct ? l->dproduct : l->dx;
  const heed_matrix a = {heed_tensor_data(dproduct), l->gates, 1};
  const heed_matrix h = {at(l, l->kept_out, l->kept - l->hidden), l->kept, 1};
  return heed_gemm(l->dtype, l->gates, l->hidden, l->batch * l->steps,
                   heed_turned(a), h, heed_tensor_data(dweight), l->hidden,
                   false);
}

static bool recurrent_bwd_fwd(heed_call *c) {
  heed_tensor *kept = c->in[B_KEPT];
  layer l = {.batch = kept->shape.dim[0], .steps = kept->shape.dim[1],
             .kept_out = kept, .dx = c->out[D_X], .dstate = c->out[D_STATE],
             .dproduct = c->nout > D_PRODUCT ? c->out[D_PRODUCT] : NULL};
  bool ok = layer_begin(&l, c, c->in[B_WEIGHT], c->in[B_LENS]) &&
            read_dense(&l, &l.grad, c->in[B_GRAD]) &&
            read_dense(&l, &l.grad_last, c->in[B_LAST]) &&
            layer_prepare(&l, l.gates, l.hidden, weight_plain(&l),
                          2 * l.hidden + l.gates);
  if (ok) heed_parallel(l.tasks, 1, backward_tasks, &l);
  ok = ok && !l.failed;
  if (ok && c->attr[2].i) ok = weight_slope(&l, c->out[D_WEIGHT]);
  layer_end(&l);
  return ok;
}
const heed_rule heed_rule_recurrent_bwd = {.check = recurrent_bwd_check,
                                           .forward = recurrent_bwd_fwd};
