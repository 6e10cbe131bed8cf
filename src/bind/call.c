/*
 * call - the one binder of all ops: reads arguments by an op's signature.
 * Layer: binding. Read first: core/op.h, bind.h.
 *
 * Arguments come by position; the last one may be a table of options by name.
 * Positions and axes are counted from 1 in Lua and from 0 behind this file.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "bind/bind.h"
#include "bind/generator.h"
#include "core/node.h"

#define MOST_TENSORS (1 << 28) /* of a list: ints count them */

/* A call being read. Temporaries are owned here until the end, so nothing may
   raise meanwhile; nor may Lua code run, which could close an input: tables
   are read raw, and what needs memory of Lua is made before. */
typedef struct reader {
  lua_State *L;
  const heed_op *op;
  int top; /* arguments; above them are boxes and values of options */
  int nin;
  heed_tensor **in;
  size_t list_bytes; /* of `in` when it is not `fixed` */
  heed_tensor *fixed[HEED_MAX_PARAM];
  heed_attr attr[HEED_MAX_PARAM];
  heed_tensor *own[HEED_MAX_PARAM];
  int nown;
} reader;

static bool bad(const reader *r, const heed_param *p, const char *wanted,
                int index) {
  return heed_fail("%s: %s must be %s, got %s", r->op->name, p->name, wanted,
                   heed_bind_describe(r->L, index));
}

/* An integer, also when written as a float without fraction. */
static bool integer_at(lua_State *L, int index, int64_t *v) {
  int ok = 0;
  if (lua_type(L, index) != LUA_TNUMBER) return false;
  *v = lua_tointegerx(L, index, &ok);
  return ok;
}

/* From 1 to 0; negative ones stay. False for 0. */
static bool from_one(int64_t *v) {
  if (*v == 0) return false;
  if (*v > 0) --*v;
  return true;
}

static heed_tensor *own(reader *r, heed_tensor *t) {
  if (t) r->own[r->nown++] = t;
  return t;
}

heed_tensor *heed_bind_number(lua_State *L, int index) {
  heed_tensor *t;
  if (lua_isboolean(L, index))
    t = heed_tensor_scalar(HEED_BOOL, 0, lua_toboolean(L, index));
  else if (lua_isinteger(L, index))
    t = heed_tensor_scalar(HEED_INT64, 0, lua_tointeger(L, index));
  else
    t = heed_tensor_scalar(HEED_FLOAT64, lua_tonumber(L, index), 0);
  if (t) t->weak = true;
  return t;
}

static bool read_operand(reader *r, const heed_param *p, int index,
                         heed_tensor **out) {
  lua_State *L = r->L;
  if ((*out = heed_bind_find(L, index))) return true;
  if (p->kind == HEED_KIND_TENSOR) return bad(r, p, "a tensor", index);
  if (!heed_bind_is_number(L, index))
    return bad(r, p, "a tensor or a number", index);
  return (*out = own(r, heed_bind_number(L, index))) != NULL;
}

/* The list is the last of the inputs, number `input` its first. */
static bool read_tensors(reader *r, const heed_param *p, int index,
                         int input) {
  lua_State *L = r->L;
  if (!lua_istable(L, index)) return bad(r, p, "a list of tensors", index);
  lua_Integer n = (lua_Integer)lua_rawlen(L, index);
  if (n > MOST_TENSORS)
    return heed_fail("%s: %s has more than %d tensors", r->op->name, p->name,
                     MOST_TENSORS);
  r->list_bytes = sizeof *r->in * (size_t)(input + n + 1);
  r->in = heed_mem_alloc(r->list_bytes);
  if (!r->in) return false;
  memcpy(r->in, r->fixed, sizeof *r->in * (size_t)input);
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, index, i);
    heed_tensor *t = heed_bind_find(L, -1);
    if (!t) {
      const char *got = heed_bind_describe(L, -1);
      return heed_fail("%s: %s[%lld] must be a tensor, got %s", r->op->name,
                       p->name, (long long)i, got);
    }
    r->in[input + i - 1] = t; /* the list keeps it */
    lua_pop(L, 1);
  }
  r->nin = input + (int)n;
  return true;
}

/* A list of integers: a table, or the numbers from `index` to `last`. */
static bool read_list(reader *r, const heed_param *p, int index, int last,
                      heed_shape *list) {
  lua_State *L = r->L;
  bool table = lua_istable(L, index);
  lua_Integer n = table ? (lua_Integer)lua_rawlen(L, index)
                        : last - index + 1;
  bool axes = p->kind == HEED_KIND_AXES;
  const char *wanted = axes ? "a dimension or a list of dimensions"
                            : "a list of sizes";
  if (n > HEED_MAX_DIM)
    return heed_fail("%s: %s has %lld entries, more than %d dimensions are "
                     "not possible", r->op->name, p->name, (long long)n,
                     HEED_MAX_DIM);
  list->ndim = (int)n;
  for (lua_Integer i = 0; i < n; i++) {
    if (table) lua_rawgeti(L, index, i + 1);
    int64_t v = 0;
    bool ok = integer_at(L, table ? -1 : index + (int)i, &v);
    if (ok && axes) ok = from_one(&v);
    if (!ok) {
      const char *got = heed_bind_describe(L, table ? -1 : index + (int)i);
      return heed_fail("%s: %s must be %s, got %s%s", r->op->name, p->name,
                       wanted, got, table ? " in it" : "");
    }
    if (table) lua_pop(L, 1);
    list->dim[i] = v;
  }
  return true;
}

static bool read_word(reader *r, const heed_param *p, int index,
                      heed_attr *value) {
  if (lua_type(r->L, index) != LUA_TSTRING)
    return bad(r, p, "a string", index);
  return heed_param_read(r->op, p, lua_tostring(r->L, index), 1, value);
}

static bool read_value(reader *r, const heed_param *p, int index,
                       heed_attr *value) {
  lua_State *L = r->L;
  switch (p->kind) {
    case HEED_KIND_INT:
      return integer_at(L, index, &value->i) ||
             bad(r, p, "an integer", index);
    case HEED_KIND_POSITION:
    case HEED_KIND_AXIS:
      if (!integer_at(L, index, &value->i))
        return bad(r, p, "an integer", index);
      return from_one(&value->i) ||
             heed_fail("%s: %s must not be 0, counting starts at 1",
                       r->op->name, p->name);
    case HEED_KIND_FLOAT:
      if (lua_type(L, index) != LUA_TNUMBER)
        return bad(r, p, "a number", index);
      value->f = lua_tonumber(L, index);
      return true;
    case HEED_KIND_BOOL:
      if (!lua_isboolean(L, index)) return bad(r, p, "a boolean", index);
      value->i = lua_toboolean(L, index);
      return true;
    case HEED_KIND_GENERATOR:
      value->generator = heed_bind_test_generator(L, index);
      return value->generator || bad(r, p, "a heed.Generator", index);
    default:
      return read_word(r, p, index, value);
  }
}

static bool is_list(const heed_param *p) {
  return p->kind == HEED_KIND_AXES || p->kind == HEED_KIND_SHAPE;
}

/* Reads parameter k from the stack at `index`; *used: how many values. */
static bool read_param(reader *r, int k, int input, int attr, int index,
                       int top, int *used) {
  const heed_param *p = &r->op->param[k];
  *used = 1;
  if (p->kind == HEED_KIND_TENSORS) return read_tensors(r, p, index, input);
  if (p->kind < HEED_KIND_TENSORS)
    return read_operand(r, p, index, &r->in[input]);
  if (!is_list(p)) return read_value(r, p, index, &r->attr[attr]);
  int last = index;
  if (!lua_istable(r->L, index))
    while (last < top && lua_type(r->L, last + 1) == LUA_TNUMBER) last++;
  *used = last - index + 1;
  return read_list(r, p, index, last, &r->attr[attr].list);
}

static bool missing(const reader *r, const heed_param *p) {
  return heed_fail("%s: %s is missing", r->op->name, p->name);
}

/* Is the last argument a table of options (and not the value of p)? */
static bool is_options(lua_State *L, int index, const heed_param *p) {
  if (!lua_istable(L, index)) return false;
  if (p->kind != HEED_KIND_TENSORS && !is_list(p)) return true;
  bool named = false;
  lua_pushnil(L);
  if (lua_next(L, index)) {
    named = lua_type(L, -2) == LUA_TSTRING;
    lua_pop(L, 2);
  }
  return named;
}

/* The number of the parameter that the key on the top names. */
static bool find_key(reader *r, uint32_t given, int *k) {
  const heed_op *op = r->op;
  const char *key = lua_type(r->L, -1) == LUA_TSTRING
                        ? lua_tostring(r->L, -1) : NULL;
  for (*k = 0; key && *k < op->nparam; ++*k) {
    if (strcmp(op->param[*k].name, key) != 0) continue;
    return !(given & (1u << *k)) ||
           heed_fail("%s: %s is given twice", op->name, key);
  }
  char known[512] = "";
  size_t at = 0;
  for (int i = 0; i < op->nparam && at < sizeof known; i++)
    at += (size_t)snprintf(known + at, sizeof known - at, "%s%s",
                           i ? ", " : "", op->param[i].name);
  return heed_fail("%s: unknown option %s; known: %s", op->name,
                   heed_bind_describe(r->L, -1), known);
}

/* Pushes the values of the options, in any order; at[k]: where that of
   parameter k stands. */
static bool find_options(reader *r, int index, uint32_t given, int *at) {
  lua_State *L = r->L;
  lua_pushnil(L);
  while (lua_next(L, index)) {
    int k;
    lua_insert(L, -2); /* the value stays, below its key */
    if (!find_key(r, given, &k)) return false;
    at[k] = lua_gettop(L) - 1;
  }
  return true;
}

static bool read_options(reader *r, int index, uint32_t given) {
  int at[HEED_MAX_PARAM] = {0}, input = 0, attr = 0, used;
  if (!find_options(r, index, given, at)) return false;
  for (int k = 0; k < r->op->nparam; k++) {
    const heed_param *p = &r->op->param[k];
    if (at[k]) {
      if (!read_param(r, k, input, attr, at[k], at[k], &used)) return false;
    } else if (!(given & (1u << k)) && !p->optional) {
      return missing(r, p);
    }
    if (p->kind <= HEED_KIND_TENSORS) input++;
    else attr++;
  }
  return true;
}

/* The frequent case: open tensors, and no more than tensors, by position. */
static bool read_tensors_only(reader *r) {
  const heed_op *op = r->op;
  if (!op->plain || r->top != op->nparam) return false;
  for (int k = 0; k < op->nparam; k++)
    if (!(r->in[k] = heed_bind_find(r->L, k + 1))) return false;
  return true;
}

static bool read_arguments(reader *r) {
  lua_State *L = r->L;
  const heed_op *op = r->op;
  memset(r->fixed, 0, sizeof *r->fixed * (size_t)op->ninput);
  int top = r->top, at = 1, input = 0, attr = 0;
  uint32_t given = 0;
  for (int k = 0; k < op->nparam; k++) {
    const heed_param *p = &op->param[k];
    if (at == top && is_options(L, at, p)) break;
    if (at <= top && !lua_isnil(L, at)) {
      int used;
      if (!read_param(r, k, input, attr, at, top, &used)) return false;
      at += used;
      given |= 1u << k;
    } else if (at <= top) {
      at++;
    }
    if (p->kind <= HEED_KIND_TENSORS) input++;
    else attr++;
  }
  if (at == top && lua_istable(L, at)) return read_options(r, at, given);
  if (at <= top)
    return heed_fail("%s: too many arguments, got %s behind the last one",
                     op->name, heed_bind_describe(L, at));
  for (int k = 0; k < op->nparam; k++)
    if (!(given & (1u << k)) && !op->param[k].optional)
      return missing(r, &op->param[k]);
  return true;
}

static void reader_close(reader *r) {
  while (r->nown > 0) heed_tensor_drop(r->own[--r->nown]);
  if (r->in != r->fixed) heed_mem_free(r->in, r->list_bytes);
}

/* Reads the arguments and runs the op. */
static bool run_call(reader *r, heed_call *c) {
  bool ok = read_tensors_only(r) || read_arguments(r);
  c->nin = r->nin;
  c->in = r->in;
  ok = ok && heed_apply(c);
  if (ok) heed_call_trim(c);
  reader_close(r);
  return ok;
}

static int give_results(lua_State *L, const heed_call *c, int top,
                        heed_tensor ***box) {
  for (int k = 0; k < c->nout; k++) heed_bind_fill(box[k], c->out[k]);
  /* above may stand options, or boxes of results that were not given */
  if (lua_gettop(L) != top + c->nout) lua_settop(L, top + c->nout);
  heed_bind_collect(L);
  return c->nout;
}

/* Pushes what an op in place overwrites first: its first argument, or the
   first tensor of that list. Pushes nothing and returns false for another op,
   and where it is given by name. */
static bool push_overwritten(lua_State *L, const heed_op *op) {
  if (!op->twin && !op->rule->in_place) return false;
  bool list = lua_istable(L, 1);
  if (list) lua_rawgeti(L, 1, 1);
  else if (lua_gettop(L) > 0) lua_pushvalue(L, 1);
  else return false;
  if (heed_bind_find(L, -1)) return true;
  lua_pop(L, 1);
  return false;
}

/* upvalue 1: the op; 2: the metatable of tensors */
static int call_op(lua_State *L) {
  const heed_op *op = lua_touserdata(L, lua_upvalueindex(1));
  reader r;
  r.L = L;
  r.op = op;
  r.top = lua_gettop(L);
  r.nown = 0;
  r.nin = op->ninput;
  r.in = r.fixed;
  if (!op->plain) {
    heed_op_defaults(op, r.attr);
    luaL_checkstack(L, 2 * HEED_MAX_PARAM, op->name);
  }
  heed_tensor **box[HEED_MAX_OUT];
  /* an op in place returns the very value that it was given */
  bool in_place = push_overwritten(L, op);
  if (!in_place)
    for (int k = 0; k < op->nreturn; k++)
      box[k] = heed_bind_box_of(L, lua_upvalueindex(2));
  heed_anomaly *anomaly = heed_anomaly_get();
  if (anomaly) anomaly->where = heed_bind_where(L);
  heed_call c; /* large; heed_apply sets what is not set here */
  c.op = op;
  c.attr = r.attr;
  bool ok = run_call(&r, &c);
  if (anomaly) anomaly->where = NULL;
  if (!ok) return heed_bind_raise(L);
  if (!in_place) return give_results(L, &c, r.top, box);
  heed_tensor_drop(c.out[0]);
  lua_settop(L, r.top + 1);
  return 1;
}

static void push_op(lua_State *L, const heed_op *op, lua_CFunction call) {
  lua_pushlightuserdata(L, (void *)op);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &heed_bind_mark);
  lua_pushcclosure(L, call, 2);
}

/* Lua passes the operand of a unary operator twice. */
static int call_unary(lua_State *L) {
  lua_settop(L, 1);
  return call_op(L);
}

/* unary(name): the op `name` for a unary operator */
static int new_unary(lua_State *L) {
  const char *name = luaL_checkstring(L, 1);
  const heed_op *op = heed_op_find(name);
  if (!op) return heed_bind_error(L, "unary: there is no op %s", name);
  push_op(L, op, call_unary);
  return 1;
}

/* Pushes {name =, group =, signature =, differentiable =, results =,
   twin =}. */
static void push_entry(lua_State *L, const heed_op *op) {
  lua_newtable(L);
  lua_pushstring(L, op->name);
  lua_setfield(L, -2, "name");
  lua_pushstring(L, op->group);
  lua_setfield(L, -2, "group");
  lua_pushstring(L, op->signature);
  lua_setfield(L, -2, "signature");
  lua_pushboolean(L, op->rule->backward != NULL);
  lua_setfield(L, -2, "differentiable");
  lua_pushinteger(L, op->nreturn);
  lua_setfield(L, -2, "results");
  lua_pushboolean(L, op->twin);
  lua_setfield(L, -2, "twin");
}

void heed_bind_ops(lua_State *L) {
  lua_newtable(L); /* functions by name */
  lua_newtable(L); /* the table of ops, in order */
  for (int i = 0; heed_op_at(i); i++) {
    const heed_op *op = heed_op_at(i);
    push_entry(L, op);
    lua_rawseti(L, -2, i + 1);
    if (strcmp(op->group, "internal") == 0) continue;
    push_op(L, op, call_op);
    lua_setfield(L, -3, op->name);
  }
  lua_setfield(L, -3, "op_table");
  lua_setfield(L, -2, "ops");
  lua_pushcfunction(L, new_unary);
  lua_setfield(L, -2, "unary");
}
