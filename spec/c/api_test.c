/* api_test - heed.h as a program without Lua sees it. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "heed.h"
#include "report.h"

static heed_tensor *vector(float a, float b) {
  return heed_tensor_make(HEED_FLOAT32, 1, (int64_t[]){2}, (float[]){a, b});
}

static float at(heed_tensor *t, int i) {
  float value[2] = {NAN, NAN};
  if (t && !heed_tensor_read(t, value, sizeof value))
    printf("# %s\n", heed_error());
  return value[i];
}

static void check_version(void) {
  char text[32];
  snprintf(text, sizeof text, "%d.%d.%d", HEED_VERSION_MAJOR,
           HEED_VERSION_MINOR, HEED_VERSION_PATCH);
  REPORT(strcmp(text, heed_version()) == 0,
         "the header is of the library's version", "%s, %s", text,
         heed_version());
}

static void check_bytes(void) {
  heed_tensor *t = heed_tensor_make(HEED_INT64, 2, (int64_t[]){3, 5}, NULL);
  heed_tensor *none = heed_tensor_make(HEED_BOOL, 1, (int64_t[]){0}, NULL);
  heed_tensor *one = heed_tensor_make(HEED_FLOAT64, 0, NULL, &(double){2});
  REPORT(heed_tensor_bytes(t) == 120 && heed_tensor_bytes(none) == 0 &&
             heed_tensor_bytes(one) == 8,
         "bytes are those of all elements", "%zu %zu %zu",
         heed_tensor_bytes(t), heed_tensor_bytes(none),
         heed_tensor_bytes(one));
  char room[119];
  bool read = heed_tensor_read(t, room, sizeof room);
  REPORT(!read && strcmp(heed_error(), "read: int64 [3 5] needs 120 bytes, "
                                       "got room for 119") == 0,
         "a read that does not fit is refused", "%s", heed_error());
  heed_tensor_drop(t);
  heed_tensor_drop(none);
  heed_tensor_drop(one);
  t = heed_tensor_make((heed_dtype)77, 0, NULL, NULL);
  REPORT(!t && strcmp(heed_error(), "tensor: 77 is no dtype") == 0,
         "a dtype that does not exist is refused", "%s", heed_error());
}

static void check_results(void) {
  heed_tensor *x = vector(3, 1), *a[3] = {x, x, x};
  int n = heed_run("sort", &x, 1, NULL, a, 3);
  REPORT(n == 2 && at(a[0], 0) == 1 && a[1] && !a[2],
         "results behind the last one are NULL", "%d", n);
  heed_tensor_drop(a[0]);
  heed_tensor_drop(a[1]);
  a[0] = x;
  n = heed_run("sort", &x, 1, "dim=4", a, 1);
  REPORT(n == -1 && !a[0], "results of what failed are NULL", "%d", n);
  a[0] = x;
  n = heed_run("no_such", &x, 1, NULL, a, 1);
  REPORT(n == -1 && !a[0] &&
             strcmp(heed_error(), "there is no op called no_such") == 0,
         "an op that does not exist has a message", "%s", heed_error());
  heed_tensor_drop(x);
}

/* The gradient of the sum of x * x, once more. */
static bool walk(heed_tensor *x) {
  heed_tensor *y = NULL, *sum = NULL;
  bool ok = heed_run("square", &x, 1, NULL, &y, 1) == 1 &&
            heed_run("sum", &y, 1, NULL, &sum, 1) == 1 &&
            heed_tensor_backward(sum, NULL);
  heed_tensor_drop(y);
  heed_tensor_drop(sum);
  return ok;
}

static float slope(heed_tensor *x) {
  heed_tensor *grad = heed_tensor_grad(x);
  float value = at(grad, 0);
  heed_tensor_drop(grad);
  return value;
}

static void check_gradients(void) {
  heed_tensor *x = vector(3, 1);
  heed_tensor_clear_grad(x); /* there is none */
  bool ok = heed_tensor_require(x, true) && walk(x) && slope(x) == 6;
  REPORT(ok && walk(x) && slope(x) == 12, "gradients gather", "%g", slope(x));
  heed_tensor_clear_grad(x);
  REPORT(!heed_tensor_grad(x) && walk(x) && slope(x) == 6,
         "gradients are cleared", "%g", slope(x));

  bool was = heed_grad_mode(false);
  bool off = !heed_grad_enabled(), refused = !walk(x);
  heed_tensor *y = NULL;
  ok = heed_run("square_", &x, 1, NULL, &y, 1) == 1 && at(x, 0) == 9;
  heed_tensor_drop(y);
  heed_grad_mode(was);
  REPORT(was && off && refused && ok && heed_grad_enabled(),
         "without recording leaves are written", "%s", heed_error());
  REPORT(heed_run("square_", &x, 1, NULL, &y, 1) == -1 && !y,
         "with it they are not", "%g", at(x, 0));
  heed_tensor_drop(x);
}

static float drawn(uint64_t seed) {
  heed_tensor *x = NULL;
  heed_manual_seed(seed);
  heed_run("rand", NULL, 0, "shape=2", &x, 1);
  float value = at(x, 0);
  heed_tensor_drop(x);
  return value;
}

static void check_seeds(void) {
  /* torch.manual_seed(0); torch.rand(2)[0] */
  float first = drawn(0), other = drawn(1);
  REPORT(fabsf(first - 0.496257f) < 1e-6f && first != other &&
             drawn(0) == first,
         "random numbers follow their seed", "%g %g", first, other);
}

int main(void) {
  if (!heed_init()) {
    printf("not ok %s\n", heed_error());
    return 1;
  }
  check_version();
  check_bytes();
  check_results();
  check_gradients();
  check_seeds();
  return failed != 0;
}
