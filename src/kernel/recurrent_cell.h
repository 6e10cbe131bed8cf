/*
 * recurrent_cell - steps of recurrent cells for one element type.
 * Layer: kernel. Included by recurrent.c. Read first: both.h.
 */

/* Numbers i .. i + m - 1 of part k of a row. */
#define GET(p, k)                                    \
  (m == LANES ? LOAD((const T *)(p) + (k) * n + i)   \
              : LOAD_N((const T *)(p) + (k) * n + i, m, 0))
#define PUT(p, k, v)                                       \
  do {                                                     \
    if (m == LANES) STORE((T *)(p) + (k) * n + i, v);      \
    else STORE_N((T *)(p) + (k) * n + i, v, m);            \
  } while (0)
#define EACH_PIECE                                               \
  for (int64_t i = 0, m; i < n && (m = n - i < LANES ? n - i     \
                                                     : LANES, 1); \
       i += LANES)

/* What the state adds to gate k. */
#define FROM_STATE(k) \
  (r->bias ? GET(r->product, k) + GET(r->bias, k) : GET(r->product, k))
#define GATE(k) (GET(r->x, k) + FROM_STATE(k))

/* y = f(x + W h + b) */
#define PLAIN(name, f)                                            \
  static void NAME(name)(int64_t n, const heed_cell_row *r) {     \
    EACH_PIECE {                                                  \
      const V y = f(GATE(0));                                     \
      if (r->kept) {                                              \
        PUT(r->kept, 0, y);                                       \
        PUT(r->kept, 1, GET(r->h, 0));                            \
      }                                                           \
      PUT(r->h, 0, y);                                            \
    }                                                             \
  }
#define PLAIN_BWD(name, slope)                                    \
  static void NAME(name)(int64_t n, const heed_cell_slope *r) {   \
    EACH_PIECE {                                                  \
      const V y = GET(r->kept, 0), dh = GET(r->dh, 0);            \
      PUT(r->dproduct, 0, slope);                                 \
      PUT(r->dh, 0, ALL(0));                                      \
    }                                                             \
  }
#define POSITIVE(x) MAX(ALL(0), x) /* NaN stays */
PLAIN(tanh_fwd, TANH)
PLAIN(relu_fwd, POSITIVE)
PLAIN_BWD(tanh_bwd, dh * (1 - y * y))
PLAIN_BWD(relu_bwd, PICK(y > 0, dh, ALL(0)))
#undef PLAIN
#undef PLAIN_BWD
#undef POSITIVE

/* h = (1 - z) n + z h,  n = tanh(xn + r q) */
static void NAME(gru_fwd)(int64_t n, const heed_cell_row *r) {
  EACH_PIECE {
    const V reset = SIGMOID(GATE(0)), z = SIGMOID(GATE(1));
    const V q = FROM_STATE(2), fresh = TANH(GET(r->x, 2) + reset * q);
    const V h = GET(r->h, 0);
    if (r->kept) {
      PUT(r->kept, 0, reset);
      PUT(r->kept, 1, z);
      PUT(r->kept, 2, fresh);
      PUT(r->kept, 3, q);
      PUT(r->kept, 4, h);
    }
    PUT(r->h, 0, (1 - z) * fresh + z * h);
  }
}
static void NAME(gru_bwd)(int64_t n, const heed_cell_slope *r) {
  EACH_PIECE {
    const V reset = GET(r->kept, 0), z = GET(r->kept, 1);
    const V fresh = GET(r->kept, 2), q = GET(r->kept, 3);
    const V h = GET(r->kept, 4), dh = GET(r->dh, 0);
    const V dn = dh * (1 - z) * (1 - fresh * fresh);
    const V dr = dn * q * reset * (1 - reset);
    const V dz = dh * (h - fresh) * z * (1 - z);
    PUT(r->dx, 0, dr);
    PUT(r->dx, 1, dz);
    PUT(r->dx, 2, dn);
    PUT(r->dproduct, 0, dr);
    PUT(r->dproduct, 1, dz);
    PUT(r->dproduct, 2, dn * reset);
    PUT(r->dh, 0, dh * z);
  }
}

/* c = f c + i g,  h = o tanh(c) */
static void NAME(lstm_fwd)(int64_t n, const heed_cell_row *r) {
  EACH_PIECE {
    const V in = SIGMOID(GATE(0)), forget = SIGMOID(GATE(1));
    const V fresh = TANH(GATE(2)), out = SIGMOID(GATE(3));
    const V before = GET(r->c, 0), c = forget * before + in * fresh;
    if (r->kept) {
      PUT(r->kept, 0, in);
      PUT(r->kept, 1, forget);
      PUT(r->kept, 2, fresh);
      PUT(r->kept, 3, out);
      PUT(r->kept, 4, before);
      PUT(r->kept, 5, GET(r->h, 0));
    }
    PUT(r->c, 0, c);
    PUT(r->h, 0, out * TANH(c));
  }
}
static void NAME(lstm_bwd)(int64_t n, const heed_cell_slope *r) {
  EACH_PIECE {
    const V in = GET(r->kept, 0), forget = GET(r->kept, 1);
    const V fresh = GET(r->kept, 2), out = GET(r->kept, 3);
    const V before = GET(r->kept, 4), dh = GET(r->dh, 0);
    const V t = TANH(forget * before + in * fresh);
    const V dc = GET(r->dc, 0) + dh * out * (1 - t * t);
    PUT(r->dproduct, 0, dc * fresh * in * (1 - in));
    PUT(r->dproduct, 1, dc * before * forget * (1 - forget));
    PUT(r->dproduct, 2, dc * in * (1 - fresh * fresh));
    PUT(r->dproduct, 3, dh * t * out * (1 - out));
    PUT(r->dc, 0, dc * forget);
    PUT(r->dh, 0, ALL(0));
  }
}

#undef GET
#undef PUT
#undef EACH_PIECE
#undef FROM_STATE
#undef GATE
