/*
 * both - compiles a file of loops for float and for double. Layer: kernel.
 * Read first: vec.h.
 *
 * LOOPS is that file. It sees T (element), V (vector), LANES, NAME(x) for what
 * it defines, and by their names in vec.h, without vf_ and vd_, LOAD, LOAD_N,
 * STORE, STORE_N, ALL, SUM, MAX, PICK, TANH and SIGMOID; of these it may use
 * what there is for both.
 */

#define T float
#define V vf
#define LANES VF
#define LOAD vf_load
#define LOAD_N vf_load_n
#define STORE vf_store
#define STORE_N vf_store_n
#define ALL vf_all
#define SUM vf_sum
#define MAX vf_max
#define PICK vf_pick
#define TANH vf_tanh
#define SIGMOID vf_sigmoid
#define NAME(x) x##_float32
#include LOOPS
#undef T
#undef V
#undef LANES
#undef LOAD
#undef LOAD_N
#undef STORE
#undef STORE_N
#undef ALL
#undef SUM
#undef MAX
#undef PICK
#undef TANH
#undef SIGMOID
#undef NAME

#define T double
#define V vd
#define LANES VD
#define LOAD vd_load
#define LOAD_N vd_load_n
#define STORE vd_store
#define STORE_N vd_store_n
#define ALL vd_all
#define SUM vd_sum
#define MAX vd_max
#define PICK vd_pick
#define TANH vd_tanh
#define SIGMOID vd_sigmoid
#define NAME(x) x##_float64
#include LOOPS
