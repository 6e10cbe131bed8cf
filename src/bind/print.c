/*
 * print - tensors as text. Layer: binding. Read first: bind.h.
 *
 *     [[ 1.5000  -0.2500]
 *      [ 0.0000      nan]]
 *     heed.tensor float32 (2, 2) requires_grad
 *
 * All values get one form and one width, found in a first walk over those
 * that will be shown; no other value is read. Of a tensor with more than
 * `threshold` elements, long dimensions show their ends only.
 */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/point.h"
#include "bind/bind.h"

#define MAX_PRECISION 20
#define VALUE_SIZE 64 /* bytes of a value as text, at most */
#define GAP 2         /* spaces between values */

typedef struct options {
  lua_Integer precision; /* digits after the point */
  lua_Integer threshold; /* elements that are shown in full */
  lua_Integer edgeitems; /* entries at each end of a cut dimension */
  lua_Integer linewidth;
} options;

static const options usual = {4, 1000, 3, 80};

/* Those of this Lua state are upvalue 1 of the two functions below. */
static options *stored(lua_State *L) {
  return lua_touserdata(L, lua_upvalueindex(1));
}

/* -- values -- */

typedef enum form {
  PLAIN,     /* integers and bools */
  WHOLE,     /* floats without fractions: 1. */
  FIXED,     /* 0.2500 */
  SCIENTIFIC /* 2.5000e-01 */
} form;

typedef struct printer {
  const heed_tensor *t;
  const options *o;
  int64_t edge; /* entries at each end of a long dimension; 0: all entries */
  form form;
  int width;
  /* what the first walk finds among floats that are neither 0 nor infinite
     nor NaN */
  double least, most;
  bool fractions;
  luaL_Buffer text;
} printer;

static double float_at(const heed_tensor *t, int64_t at) {
  return heed_element_float(t->dtype, t->storage->data, at);
}

/* Writes the element at `at` into text; returns its length. */
static int write_value(const printer *p, int64_t at, char *text) {
  const void *data = p->t->storage->data;
  if (p->t->dtype == HEED_BOOL)
    return snprintf(text, VALUE_SIZE, "%s",
                    ((const unsigned char *)data)[at] ? "true" : "false");
  if (!heed_dtype_is_float(p->t->dtype))
    return snprintf(text, VALUE_SIZE, "%lld",
                    (long long)heed_element(p->t->dtype, data, at).i);
  double v = float_at(p->t, at);
  int digits = (int)p->o->precision;
  if (isnan(v)) return snprintf(text, VALUE_SIZE, "nan");
  if (isinf(v)) return snprintf(text, VALUE_SIZE, v > 0 ? "inf" : "-inf");
  locale_t was = heed_point_begin();
  int n = p->form == SCIENTIFIC
              ? snprintf(text, VALUE_SIZE, "%#.*e", digits, v)
              : snprintf(text, VALUE_SIZE, "%#.*f",
                         p->form == WHOLE ? 0 : digits, v);
  heed_point_end(was);
  return n;
}

/* -- which entries are shown -- */

static bool is_cut(const printer *p, int64_t size) {
  return p->edge > 0 && size > 2 * p->edge;
}

static int64_t shown_count(const printer *p, int64_t size) {
  return is_cut(p, size) ? 2 * p->edge : size;
}

/* Position of shown entry i; those behind the cut count from the end. */
static int64_t shown_entry(const printer *p, int64_t size, int64_t i) {
  return is_cut(p, size) && i >= p->edge ? size - 2 * p->edge + i : i;
}

/* Does the tensor show more than `most` values? */
static bool shows_more(const printer *p, int64_t most) {
  int64_t n = 1;
  for (int d = 0; d < p->t->shape.ndim; d++)
    if (__builtin_mul_overflow(n, shown_count(p, p->t->shape.dim[d]), &n))
      return true;
  return n > most;
}

/* Cuts a large tensor, deeper when it has many dimensions. */
static void choose_edge(printer *p) {
  p->edge = 0;
  if (!shows_more(p, p->o->threshold)) return;
  p->edge = p->o->edgeitems;
  while (p->edge > 1 && shows_more(p, p->o->threshold)) p->edge--;
}

/* Calls fn for every shown value. */
static void walk(printer *p, int depth, int64_t at,
                 void (*fn)(printer *p, int64_t at)) {
  const heed_tensor *t = p->t;
  if (depth == t->shape.ndim) {
    fn(p, at);
    return;
  }
  int64_t size = t->shape.dim[depth], n = shown_count(p, size);
  for (int64_t i = 0; i < n; i++)
    walk(p, depth + 1, at + shown_entry(p, size, i) * t->stride[depth], fn);
}

/* -- the form -- */

static void note_range(printer *p, int64_t at) {
  double v = fabs(float_at(p->t, at));
  if (v == 0 || !isfinite(v)) return;
  if (v < p->least) p->least = v;
  if (v > p->most) p->most = v;
  if (v != floor(v)) p->fractions = true;
}

static void note_width(printer *p, int64_t at) {
  char text[VALUE_SIZE];
  int n = write_value(p, at, text);
  if (n > p->width) p->width = n;
}

/* Scientific where a fixed number of digits would hide small values or make
   long columns; the limits are those of PyTorch. */
static void choose_form(printer *p) {
  p->form = PLAIN;
  p->width = 0;
  if (heed_dtype_is_float(p->t->dtype)) {
    p->least = INFINITY;
    p->most = 0;
    p->fractions = false;
    walk(p, 0, p->t->offset, note_range);
    p->form = p->fractions ? FIXED : WHOLE;
    if (p->most > 0 && (p->most / p->least > 1000 || p->most > 1e8 ||
                        (p->fractions && p->least < 1e-4)))
      p->form = SCIENTIFIC;
  }
  walk(p, 0, p->t->offset, note_width);
}

/* -- the text -- */

static void add_spaces(luaL_Buffer *b, int n) {
  while (n-- > 0) luaL_addchar(b, ' ');
}

static void add_value(printer *p, int64_t at) {
  char text[VALUE_SIZE];
  int n = write_value(p, at, text);
  add_spaces(&p->text, p->width - n);
  luaL_addlstring(&p->text, text, (size_t)n);
}

/* The last dimension: values side by side, on more lines when they are many;
   `...` counts as one of them. */
static void add_row(printer *p, int64_t at) {
  const heed_tensor *t = p->t;
  int last = t->shape.ndim - 1;
  int64_t size = t->shape.dim[last], n = shown_count(p, size);
  int64_t line = (p->o->linewidth - 2 * t->shape.ndim + GAP) /
                 (p->width + GAP);
  if (line < 1) line = 1;
  int64_t place = 0;
  for (int64_t i = 0; i < n; i++) {
    for (int dots = is_cut(p, size) && i == p->edge; dots >= 0; dots--) {
      if (place > 0 && place % line == 0) {
        luaL_addchar(&p->text, '\n');
        add_spaces(&p->text, t->shape.ndim);
      } else if (place > 0) {
        add_spaces(&p->text, GAP);
      }
      place++;
      if (dots)
        luaL_addstring(&p->text, "...");
      else
        add_value(p, at + shown_entry(p, size, i) * t->stride[last]);
    }
  }
}

/* Nested brackets; a free line between matrices. */
static void add_nested(printer *p, int depth, int64_t at) {
  const heed_tensor *t = p->t;
  luaL_addchar(&p->text, '[');
  if (depth == t->shape.ndim - 1) {
    add_row(p, at);
    luaL_addchar(&p->text, ']');
    return;
  }
  int64_t size = t->shape.dim[depth], n = shown_count(p, size);
  const char *lines = depth < t->shape.ndim - 2 ? "\n\n" : "\n";
  for (int64_t i = 0; i < n; i++) {
    if (i > 0) {
      luaL_addstring(&p->text, lines);
      add_spaces(&p->text, depth + 1);
    }
    if (is_cut(p, size) && i == p->edge) {
      luaL_addstring(&p->text, "...");
      luaL_addstring(&p->text, lines);
      add_spaces(&p->text, depth + 1);
    }
    add_nested(p, depth + 1,
               at + shown_entry(p, size, i) * t->stride[depth]);
  }
  luaL_addchar(&p->text, ']');
}

/* "heed.tensor float32 (2, 3) requires_grad" */
static void add_kind(luaL_Buffer *b, const heed_tensor *t) {
  char size[32];
  luaL_addstring(b, HEED_TENSOR " ");
  luaL_addstring(b, heed_dtype_name(t->dtype));
  luaL_addstring(b, " (");
  for (int d = 0; d < t->shape.ndim; d++) {
    snprintf(size, sizeof size, d ? ", %lld" : "%lld",
             (long long)t->shape.dim[d]);
    luaL_addstring(b, size);
  }
  luaL_addchar(b, ')');
  if (heed_tensor_tracks(t)) luaL_addstring(b, " requires_grad");
}

/* tostring(t) */
static int to_string(lua_State *L) {
  heed_tensor **box = luaL_checkudata(L, 1, HEED_TENSOR);
  if (!*box) {
    lua_pushliteral(L, HEED_TENSOR " (closed)");
    return 1;
  }
  printer p = {.t = *box, .o = stored(L)};
  luaL_buffinit(L, &p.text);
  if (heed_tensor_numel(p.t) == 0) {
    luaL_addstring(&p.text, "[]\n");
  } else {
    choose_edge(&p);
    choose_form(&p);
    if (p.t->shape.ndim == 0) {
      add_value(&p, p.t->offset);
      luaL_addstring(&p.text, "  ");
    } else {
      add_nested(&p, 0, p.t->offset);
      luaL_addchar(&p.text, '\n');
    }
  }
  add_kind(&p.text, p.t);
  luaL_pushresult(&p.text);
  if (!heed_tensor_check_whole("tostring", *box)) return heed_bind_raise(L);
  return 1;
}

/* -- options -- */

static const struct {
  const char *name;
  size_t at; /* in options */
  lua_Integer low, high;
} known[] = {
    {"precision", offsetof(options, precision), 0, MAX_PRECISION},
    {"threshold", offsetof(options, threshold), 0, LUA_MAXINTEGER},
    {"edgeitems", offsetof(options, edgeitems), 1, 1000},
    {"linewidth", offsetof(options, linewidth), 1, 100000},
};
#define NKNOWN (int)(sizeof known / sizeof known[0])

/* The value on the top, for option k. */
static bool read_option(lua_State *L, int k, options *o) {
  int ok = 0;
  lua_Integer v = 0;
  if (lua_type(L, -1) == LUA_TNUMBER) v = lua_tointegerx(L, -1, &ok);
  bool endless = known[k].high == LUA_MAXINTEGER;
  if (endless && lua_type(L, -1) == LUA_TNUMBER &&
      lua_tonumber(L, -1) == (lua_Number)INFINITY) {
    v = LUA_MAXINTEGER;
    ok = 1;
  }
  if (ok && v >= known[k].low && v <= known[k].high) {
    *(lua_Integer *)((char *)o + known[k].at) = v;
    return true;
  }
  const char *got = heed_bind_describe(L, -1);
  if (endless)
    return heed_fail("set_printoptions: %s must be an integer from %lld on "
                     "or math.huge, got %s", known[k].name,
                     (long long)known[k].low, got);
  return heed_fail("set_printoptions: %s must be an integer from %lld to "
                   "%lld, got %s", known[k].name, (long long)known[k].low,
                   (long long)known[k].high, got);
}

/***
Sets how tensors are printed. Options that are left out stay as they are;
without any table all get back their defaults.
@function set_printoptions
@param options table: precision, digits behind the point (4); threshold, the
most elements that are shown in full (1000); edgeitems, entries at each end of
a dimension that is cut (3, fewer in tensors of many dimensions); linewidth,
characters in a line (80)
@raise for an unknown option or a value out of range
@usage heed.set_printoptions{precision = 2, threshold = math.huge}
*/
static int set_printoptions(lua_State *L) {
  options o = lua_isnoneornil(L, 1) ? usual : *stored(L);
  if (!lua_isnoneornil(L, 1) && !lua_istable(L, 1)) {
    heed_fail("set_printoptions: options must be a table, got %s",
              heed_bind_describe(L, 1));
    return heed_bind_raise(L);
  }
  lua_settop(L, 1);
  lua_pushnil(L);
  while (lua_istable(L, 1) && lua_next(L, 1)) {
    const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2)
                                                      : "";
    int k = 0;
    while (k < NKNOWN && strcmp(known[k].name, name) != 0) k++;
    if (k == NKNOWN) {
      heed_fail("set_printoptions: unknown option %s; known: precision, "
                "threshold, edgeitems, linewidth",
                heed_bind_describe(L, -2));
      return heed_bind_raise(L);
    }
    if (!read_option(L, k, &o)) return heed_bind_raise(L);
    lua_pop(L, 1);
  }
  *stored(L) = o;
  return 0;
}

void heed_bind_print(lua_State *L) {
  options *o = lua_newuserdatauv(L, sizeof *o, 0);
  *o = usual;
  luaL_getmetatable(L, HEED_TENSOR);
  lua_pushvalue(L, -2);
  lua_pushcclosure(L, to_string, 1);
  lua_setfield(L, -2, "__tostring");
  lua_pop(L, 1);
  lua_pushcclosure(L, set_printoptions, 1);
  lua_setfield(L, -2, "set_printoptions");
}
