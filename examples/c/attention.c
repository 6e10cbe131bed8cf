/*
 * attention - scaled dot-product attention in C, without Lua: forward,
 * backward, and a step downhill.
 *
 *   softmax(q k' / sqrt(D)) v, where query t sees keys 1 .. t
 *
 * Build it against an installed heed (CMakeLists.txt beside it does the same):
 *
 *   cc attention.c $(pkg-config --cflags --libs heed) -lm -o attention
 *
 * Each check compares with the formula written out in plain loops, or with a
 * difference quotient; the exit code says whether all hold.
 */
#include <heed.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { B = 1, H = 2, T = 4, D = 8, N = B * H * T * D };

/* Without a result there is nothing to go on with. */
static void need(bool ok) {
  if (ok) return;
  fprintf(stderr, "attention: %s\n", heed_error());
  exit(EXIT_FAILURE);
}

/* Runs an op that has one result. */
static heed_tensor *run(const char *op, heed_tensor *const *in, int nin,
                        const char *attributes) {
  heed_tensor *out;
  need(heed_run(op, in, nin, attributes, &out, 1) == 1);
  return out;
}

static heed_tensor *make(const float *data) {
  heed_tensor *t = heed_tensor_make(HEED_FLOAT32, 4,
                                    (int64_t[]){B, H, T, D}, data);
  need(t != NULL);
  return t;
}

static void read_all(heed_tensor *t, float *data) {
  need(heed_tensor_read(t, data, heed_tensor_bytes(t)));
}

/* The formula, for all heads: `y` [B H T D]. */
static void attend_plainly(const float *q, const float *k, const float *v,
                           float *y) {
  for (int head = 0; head < B * H; head++) {
    const float *qh = q + head * T * D, *kh = k + head * T * D;
    const float *vh = v + head * T * D;
    for (int i = 0; i < T; i++) {
      double p[T], sum = 0;
      for (int j = 0; j <= i; j++) { /* causal */
        double score = 0;
        for (int d = 0; d < D; d++) score += qh[i * D + d] * kh[j * D + d];
        sum += p[j] = exp(score / sqrt(D));
      }
      for (int d = 0; d < D; d++) {
        double value = 0;
        for (int j = 0; j <= i; j++) value += p[j] / sum * vh[j * D + d];
        y[head * T * D + i * D + d] = (float)value;
      }
    }
  }
}

/* The mean of the squares of what is attended to: a number to bring down. */
static heed_tensor *loss_of(heed_tensor *const qkv[3]) {
  heed_tensor *y = run("attention", qkv, 3, "causal=bottom-right");
  heed_tensor *square = run("square", &y, 1, NULL);
  heed_tensor *mean = run("mean", &square, 1, NULL);
  heed_tensor_drop(square); /* what backward needs, it has kept */
  heed_tensor_drop(y);
  return mean;
}

static float number(heed_tensor *t) {
  float value;
  need(heed_tensor_read(t, &value, sizeof value));
  return value;
}

static int failed;

static void check(const char *what, double got, double want, double within) {
  bool ok = fabs(got - want) <= within;
  printf("%s %s: %.6f, %.6f\n", ok ? "ok" : "WRONG", what, got, want);
  failed += !ok;
}

/* Forward: as the formula says. */
static void check_values(heed_tensor *const qkv[3], float data[3][N]) {
  float got[N], want[N];
  heed_tensor *y = run("attention", qkv, 3, "causal=bottom-right");
  read_all(y, got);
  heed_tensor_drop(y);
  attend_plainly(data[0], data[1], data[2], want);
  double worst = 0;
  for (int j = 0; j < N; j++) worst = fmax(worst, fabs(got[j] - want[j]));
  check("greatest distance from the plain loops", worst, 0, 1e-5);
}

/* The loss when one element of k is moved by h. */
static double moved_loss(heed_tensor *const qkv[3], const float *k, int at,
                         float h) {
  float moved[N];
  for (int j = 0; j < N; j++) moved[j] = j == at ? k[j] + h : k[j];
  heed_tensor *other = make(moved);
  heed_tensor *loss = loss_of((heed_tensor *[]){qkv[0], other, qkv[2]});
  double value = number(loss);
  heed_tensor_drop(loss);
  heed_tensor_drop(other);
  return value;
}

/* Backward: the slope at one element of k, and by a difference quotient. */
static void check_slope(heed_tensor *const qkv[3], const float *k, int at) {
  float slope[N];
  heed_tensor *grad = heed_tensor_grad(qkv[1]);
  read_all(grad, slope);
  heed_tensor_drop(grad);

  bool was = heed_grad_mode(false); /* only the values are wanted */
  const float h = 1e-2f;
  double quotient =
      (moved_loss(qkv, k, at, h) - moved_loss(qkv, k, at, -h)) / (2 * h);
  heed_grad_mode(was);
  check("slope", slope[at], quotient, 1e-4);
}

/* x = x - rate * gradient, in place, for all three. */
static void step_downhill(heed_tensor *const qkv[3], float rate) {
  bool was = heed_grad_mode(false); /* leaves are written only outside of it */
  float minus = -rate;
  heed_tensor *factor = heed_tensor_make(HEED_FLOAT32, 0, NULL, &minus);
  need(factor != NULL);
  for (int i = 0; i < 3; i++) {
    heed_tensor *grad = heed_tensor_grad(qkv[i]);
    heed_tensor *step = run("mul", (heed_tensor *[]){grad, factor}, 2, NULL);
    heed_tensor_drop(run("add_", (heed_tensor *[]){qkv[i], step}, 2, NULL));
    heed_tensor_drop(step);
    heed_tensor_drop(grad);
    heed_tensor_clear_grad(qkv[i]);
  }
  heed_tensor_drop(factor);
  heed_grad_mode(was);
}

int main(void) {
  need(heed_init());
  printf("heed %s\n", heed_version());

  /* q, k and v [B H T D], from numbers of our own */
  float data[3][N];
  heed_tensor *qkv[3];
  for (int i = 0; i < 3; i++) {
    for (int j = 0; j < N; j++) data[i][j] = (float)sin(1 + 7 * i + 0.7 * j);
    qkv[i] = make(data[i]);
    need(heed_tensor_require(qkv[i], true));
  }
  check_values(qkv, data);

  heed_tensor *loss = loss_of(qkv);
  float before = number(loss);
  need(heed_tensor_backward(loss, NULL));
  heed_tensor_drop(loss);
  check_slope(qkv, data[1], 5);

  step_downhill(qkv, 1);
  loss = loss_of(qkv);
  float after = number(loss);
  heed_tensor_drop(loss);
  printf("%s the loss goes down: %.6f, %.6f\n",
         after < before ? "ok" : "WRONG", before, after);
  failed += !(after < before);

  /* what a mistake looks like */
  heed_tensor *none;
  if (heed_run("attention", qkv, 2, NULL, &none, 1) < 0)
    printf("ok a mistake has a message: %s\n", heed_error());
  else
    failed++;

  for (int i = 0; i < 3; i++) heed_tensor_drop(qkv[i]);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
