/*
 * random - tensors of random numbers. Layer: ops.
 * Read first: core/op.h, core/generator.h.
 *
 * For one seed and the same calls the numbers are those of PyTorch's CPU
 * generator (with both ends of randint included, and permutations from 1).
 * Elements are drawn in row-major order.
 */
#include "ops/random.h"

#include <math.h>

#include "base/error.h"
#include "base/parallel.h"
#include "kernel/kernel.h"
#include "ops/copy.h"
#include "ops/ops.h"

#define CHUNK 1024    /* elements made of words on the stack at a time */
#define GROUP 16      /* elements that normals are made of together */
#define GRAIN 1024    /* groups worth a thread */

static heed_generator *or_default(heed_generator *g) {
  return g ? g : heed_generator_default();
}

void heed_random_mask(heed_generator *g, int64_t n, uint8_t *mask, double p) {
  uint32_t word[2 * CHUNK];
  /* u < p for u of 53 bits, in whole numbers */
  int64_t limit = (int64_t)ceil(p * 0x1p53);
  g = or_default(g);
  for (int64_t i = 0; i < n; i += CHUNK) {
    int64_t part = n - i < CHUNK ? n - i : CHUNK;
    heed_generator_fill(g, word, 2 * part);
    heed_kernel.bernoulli(part, mask + i, word, limit);
  }
}

/* -- filling memory without gaps -- */

static void fill_uniform(heed_generator *g, heed_dtype dtype, int64_t n,
                         void *out, double low, double high) {
  uint32_t word[2 * CHUNK];
  double width = dtype == HEED_FLOAT32 ? (double)((float)high - (float)low)
                                       : high - low;
  for (int64_t i = 0; i < n; i += CHUNK) {
    int64_t part = n - i < CHUNK ? n - i : CHUNK;
    heed_generator_fill(g, word, dtype == HEED_FLOAT32 ? part : 2 * part);
    heed_kernel.uniform[dtype](
        part, (char *)out + (size_t)i * heed_dtype_size(dtype), word, width,
        low);
  }
}

typedef struct groups {
  heed_dtype dtype;
  char *data;
  double std, mean;
} groups;

static void normal_groups(void *context, int64_t begin, int64_t end,
                          int worker) {
  (void)worker;
  const groups *s = context;
  size_t bytes = GROUP * heed_dtype_size(s->dtype);
  for (int64_t i = begin; i < end; i++)
    heed_kernel.normal16[s->dtype](s->data + (size_t)i * bytes, s->std,
                                   s->mean);
}

/* `grouped`: 16 at a time, from uniform numbers that come first; the rest at
   the end is made of 16 fresh ones, over what is there. Otherwise in pairs. */
static void fill_normal(heed_generator *g, heed_dtype dtype, int64_t n,
                        void *out, double mean, double std, bool grouped) {
  if (grouped) {
    groups s = {dtype, out, std, mean};
    fill_uniform(g, dtype, n, out, 0, 1);
    heed_parallel(n / GROUP, GRAIN, normal_groups, &s);
    if (n % GROUP == 0) return;
    s.data += (size_t)(n - GROUP) * heed_dtype_size(dtype);
    fill_uniform(g, dtype, GROUP, s.data, 0, 1);
    normal_groups(&s, 0, 1, 0);
    return;
  }
  for (int64_t i = 0; i < n; i++) {
    double z = heed_generator_normal(g) * std + mean;
    if (dtype == HEED_FLOAT32)
      ((float *)out)[i] = (float)z;
    else
      ((double *)out)[i] = z;
  }
}

/* -- new tensors -- */

/* Attributes: shape, dtype, requires_grad, generator. */
static bool float_check(heed_call *c) {
  heed_dtype dtype = (heed_dtype)c->attr[1].i;
  if (dtype != HEED_FLOAT32 && dtype != HEED_FLOAT64)
    return heed_fail("%s: dtype must be float32 or float64, got %s",
                     c->op->name, heed_dtype_name(dtype));
  heed_out(c, 0, dtype, &c->attr[0].list);
  return true;
}

/***
Uniform random numbers from 0 up to, but not including, 1.
@function rand
@param shape sizes
@param dtype `"float32"` by default
@param requires_grad false by default
@param generator of random numbers, the default one by default
@return tensor
@raise for a negative or too large shape, or a dtype that is not float
@usage heed.rand(2, 3)
*/
static bool rand_fwd(heed_call *c) {
  heed_tensor *t = c->out[0];
  fill_uniform(or_default(c->attr[3].generator), t->dtype,
               heed_tensor_numel(t), heed_tensor_data(t), 0, 1);
  t->requires_grad = c->attr[2].i;
  return true;
}
const heed_rule heed_rule_rand = {.check = float_check, .forward = rand_fwd};

/***
Normal random numbers of mean 0 and deviation 1.
@function randn
@param shape sizes
@param dtype `"float32"` by default
@param requires_grad false by default
@param generator of random numbers, the default one by default
@return tensor
@raise for a negative or too large shape, or a dtype that is not float
@usage heed.randn(2, 3)
*/
static bool randn_fwd(heed_call *c) {
  heed_tensor *t = c->out[0];
  int64_t n = heed_tensor_numel(t);
  fill_normal(or_default(c->attr[3].generator), t->dtype, n,
              heed_tensor_data(t), 0, 1, n >= GROUP);
  t->requires_grad = c->attr[2].i;
  return true;
}
const heed_rule heed_rule_randn = {.check = float_check,
                                   .forward = randn_fwd};

/***
Random integers from low to high, both included, as `math.random` takes them.
@function randint
@param low integer
@param high integer, not below low
@param shape sizes
@param generator of random numbers, the default one by default
@return int64 tensor
@raise when high is below low, or for a negative or too large shape
@usage heed.randint(1, 6, {10})
*/
static bool randint_check(heed_call *c) {
  int64_t low = c->attr[0].i, high = c->attr[1].i;
  if (low > high)
    return heed_fail("randint: high must not be below low %lld, got %lld",
                     (long long)low, (long long)high);
  heed_out(c, 0, HEED_INT64, &c->attr[2].list);
  return true;
}
static bool randint_fwd(heed_call *c) {
  heed_generator *g = or_default(c->attr[3].generator);
  int64_t *out = heed_tensor_data(c->out[0]);
  int64_t n = heed_tensor_numel(c->out[0]);
  uint64_t low = (uint64_t)c->attr[0].i;
  uint64_t span = (uint64_t)c->attr[1].i - low + 1; /* 0 stands for 2^64 */
  bool small = span != 0 && span <= UINT32_MAX;
  for (int64_t i = 0; i < n; i++) {
    uint64_t v = small ? heed_generator_u32(g) : heed_generator_u64(g);
    out[i] = (int64_t)(low + (span ? v % span : v));
  }
  return true;
}
const heed_rule heed_rule_randint = {.check = randint_check,
                                     .forward = randint_fwd};

/***
The numbers 1 .. n in random order.
@function randperm
@param n how many
@param generator of random numbers, the default one by default
@return int64 tensor (n)
@raise when n is negative or too large
@usage heed.randperm(4)
*/
static bool randperm_check(heed_call *c) {
  if (c->attr[0].i < 0)
    return heed_fail("randperm: n must be at least 0, got %lld",
                     (long long)c->attr[0].i);
  heed_out(c, 0, HEED_INT64, &(heed_shape){1, {c->attr[0].i}});
  return true;
}
static bool randperm_fwd(heed_call *c) {
  heed_generator *g = or_default(c->attr[1].generator);
  int64_t *p = heed_tensor_data(c->out[0]), n = c->attr[0].i;
  bool small = n < UINT32_MAX / 20; /* a word suffices for a fair choice */
  for (int64_t i = 0; i < n; i++) p[i] = i + 1;
  for (int64_t i = 0; i < n - 1; i++) {
    uint64_t v = small ? heed_generator_u32(g) : heed_generator_u64(g);
    int64_t j = i + (int64_t)(v % (uint64_t)(n - i)), swap = p[i];
    p[i] = p[j];
    p[j] = swap;
  }
  return true;
}
const heed_rule heed_rule_randperm = {.check = randperm_check,
                                      .forward = randperm_fwd};

static double element(const heed_tensor *t, int64_t i) {
  return heed_element_float(t->dtype, heed_tensor_data(t), i);
}

/***
1 with the probability that each element of x gives, else 0.
@function bernoulli
@param x float tensor of probabilities
@param generator of random numbers, the default one by default
@return tensor like x, without gradient
@raise when x is not float or an element is not from 0 to 1
@usage heed.full({4}, 0.5):bernoulli()
*/
static bool bernoulli_check(heed_call *c) {
  heed_out_like(c, 0, c->in[0]);
  return heed_want_float(c, 0);
}
static bool bernoulli_fwd(heed_call *c) {
  heed_generator *g = or_default(c->attr[0].generator);
  heed_tensor *p = heed_contiguous("bernoulli", c->in[0]);
  if (!p) return false;
  int64_t n = heed_tensor_numel(p), bad = 0;
  while (bad < n && element(p, bad) >= 0 && element(p, bad) <= 1) bad++;
  if (bad < n)
    heed_fail("bernoulli: x %s must hold probabilities from 0 to 1, got %g "
              "as element %lld", heed_shape_text(&p->shape), element(p, bad),
              (long long)bad + 1);
  void *out = heed_tensor_data(c->out[0]);
  for (int64_t i = 0; bad == n && i < n; i++) {
    if (p->dtype == HEED_FLOAT32)
      ((float *)out)[i] = heed_generator_float(g) < (float)element(p, i);
    else
      ((double *)out)[i] = heed_generator_double(g) < element(p, i);
  }
  heed_tensor_drop(p);
  return bad == n;
}
const heed_rule heed_rule_bernoulli = {.check = bernoulli_check,
                                       .forward = bernoulli_fwd};

/* -- in place -- */

/* What is overwritten has no influence: gradient 0. */
static bool in_place_bwd(heed_rule_call *r) {
  return heed_give(r, 0, heed_grad_zeros(r, 0));
}

/* The numbers are made without gaps, halves as float32, and then put where x
   has them. */
static heed_tensor *plain(const heed_call *c) {
  heed_tensor *x = c->in[0];
  bool half = heed_dtype_is_half(x->dtype);
  if (!half && heed_tensor_is_contiguous(x)) return heed_tensor_ref(x);
  return heed_tensor_new(c->op->name, half ? HEED_FLOAT32 : x->dtype,
                         &x->shape);
}

static bool put(heed_call *c, heed_tensor *made) {
  if (made->storage != c->in[0]->storage) heed_copy(c->in[0], made);
  heed_tensor_drop(made);
  return true;
}

/***
Fills x with normal random numbers.
@function normal_
@param x float tensor, overwritten
@param mean 0 by default
@param std deviation, 1 by default
@param generator of random numbers, the default one by default
@return x
@raise when x is not float, std is negative, or x is a leaf that wants
gradients (outside `heed.no_grad`)
@usage heed.zeros(3):normal_(0, 0.02)
*/
static bool normal__check(heed_call *c) {
  if (!heed_want_float(c, 0) || !heed_check_like(c)) return false;
  return c->attr[1].f >= 0 ||
         heed_fail("normal_: std must be at least 0, got %g", c->attr[1].f);
}
static bool normal__fwd(heed_call *c) {
  heed_tensor *x = plain(c);
  if (!x) return false;
  int64_t n = heed_tensor_numel(x);
  fill_normal(or_default(c->attr[2].generator), x->dtype, n,
              heed_tensor_data(x), c->attr[0].f, c->attr[1].f,
              n >= GROUP && heed_tensor_is_contiguous(c->in[0]));
  return put(c, x);
}
const heed_rule heed_rule_normal_ = {
    .check = normal__check, .forward = normal__fwd, .backward = in_place_bwd,
    .in_place = 1, .moves = true};

/***
Fills x with uniform random numbers from low up to high.
@function uniform_
@param x float tensor, overwritten
@param low 0 by default
@param high 1 by default
@param generator of random numbers, the default one by default
@return x
@raise when x is not float, high is below low, or as `normal_`
@usage heed.zeros(3):uniform_(-1, 1)
*/
static bool uniform__check(heed_call *c) {
  double low = c->attr[0].f, high = c->attr[1].f;
  if (!heed_want_float(c, 0) || !heed_check_like(c)) return false;
  if (!(low <= high))
    return heed_fail("uniform_: high must not be below low %g, got %g", low,
                     high);
  bool finite = c->in[0]->dtype == HEED_FLOAT64
                    ? isfinite(high - low)
                    : isfinite((float)high - (float)low);
  return finite || heed_fail("uniform_: from %g to %g is too wide for %s",
                             low, high, heed_dtype_name(c->in[0]->dtype));
}
static bool uniform__fwd(heed_call *c) {
  heed_tensor *x = plain(c);
  if (!x) return false;
  fill_uniform(or_default(c->attr[2].generator), x->dtype,
               heed_tensor_numel(x), heed_tensor_data(x), c->attr[0].f,
               c->attr[1].f);
  return put(c, x);
}
const heed_rule heed_rule_uniform_ = {
    .check = uniform__check, .forward = uniform__fwd,
    .backward = in_place_bwd, .in_place = 1, .moves = true};

/***
Fills x with 1 (true) with probability p, else 0.
@function bernoulli_
@param x tensor, overwritten
@param p probability, 0.5 by default
@param generator of random numbers, the default one by default
@return x
@raise when p is not from 0 to 1, or as `normal_`
@usage heed.zeros(4):bernoulli_(0.5)
*/
static bool bernoulli__check(heed_call *c) {
  double p = c->attr[0].f;
  if (!(p >= 0 && p <= 1))
    return heed_fail("bernoulli_: p must be from 0 to 1, got %g", p);
  return heed_check_like(c);
}
static bool bernoulli__fwd(heed_call *c) {
  heed_tensor *x = c->in[0];
  heed_tensor *made = heed_tensor_new("bernoulli_", HEED_BOOL, &x->shape);
  if (!made) return false;
  heed_random_mask(c->attr[1].generator, heed_tensor_numel(x),
                   heed_tensor_data(made), c->attr[0].f);
  return put(c, made);
}
const heed_rule heed_rule_bernoulli_ = {
    .check = bernoulli__check, .forward = bernoulli__fwd,
    .backward = in_place_bwd, .in_place = 1, .moves = true};
