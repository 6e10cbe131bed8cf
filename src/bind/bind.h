/*
 * bind - tensors and ops as Lua values. Layer: binding.
 * The only layer, with the host, that knows Lua.
 *
 * A tensor in Lua is a userdata that holds one reference, or none once it is
 * closed. It is made empty before the tensor is, so that no error leaks.
 */
#ifndef HEED_BIND_BIND_H
#define HEED_BIND_BIND_H

#include <lauxlib.h>
#include <lua.h>

#include "core/tensor.h"

/* The name of the tensors' metatable in the registry, where it also stands
   under the address of heed_bind_mark. */
#define HEED_TENSOR "heed.tensor"
extern const char heed_bind_mark;

/* What the userdata of a tensor holds. The mark tells it from every other
   userdata, which is faster than to compare metatables. */
typedef struct heed_bind_holder {
  heed_tensor *tensor; /* first: a box is used as a heed_tensor ** */
  const char *mark;
} heed_bind_holder;

/* The box at `index`, or NULL for what is none. */
static inline heed_bind_holder *heed_bind_at(lua_State *L, int index) {
  heed_bind_holder *b = lua_touserdata(L, index);
  bool fits = b && lua_rawlen(L, index) == sizeof *b;
  return fits && b->mark == &heed_bind_mark ? b : NULL;
}

/* Pushes an empty box. */
heed_tensor **heed_bind_box(lua_State *L);
/* The same, with the metatable at index `meta`, which saves to look it up. */
heed_tensor **heed_bind_box_of(lua_State *L, int meta);
/* Fills a box; takes over the reference. */
void heed_bind_fill(heed_tensor **box, heed_tensor *t);
/* Pushes a box with a reference of its own; t is to live while it is made. */
void heed_bind_push(lua_State *L, heed_tensor *t);
/* The tensor at `index`, lent; NULL when it is none, or closed. */
static inline heed_tensor *heed_bind_find(lua_State *L, int index) {
  const heed_bind_holder *b = heed_bind_at(L, index);
  return b ? b->tensor : NULL;
}
/* The same, but raises when it is none; `what` opens the message. */
heed_tensor *heed_bind_check(lua_State *L, int index, const char *what);
/* "a string", "a closed tensor", "tensor float32 [2 3]": what stands at
   `index`. */
const char *heed_bind_describe(lua_State *L, int index);

/* Runs a collection when much memory is held by dead boxes only. Called after
   whatever makes tensors or lets go of graphs. */
void heed_bind_collect(lua_State *L);

/* The registry's field for the folder of heed's own Lua files. */
#define HEED_HOME "heed.home"

/* Raises heed_error() with the position of the caller outside of heed. */
int heed_bind_raise(lua_State *L);
/* Raises a message like that, formatted as by printf. */
int heed_bind_error(lua_State *L, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* "file:line" of the caller outside of heed, in a buffer of this thread. */
const char *heed_bind_where(lua_State *L);

/* files.c: the path at `index`, which C cannot take with a zero byte in it. */
const char *heed_bind_path(lua_State *L, int index, const char *op);

/* Parts of the module; each adds its functions to the table on the top. */
void heed_bind_ops(lua_State *L);      /* call.c: fields ops, groups */
void heed_bind_tensors(lua_State *L);  /* tensor.c: the metatable, methods */
void heed_bind_values(lua_State *L);   /* values.c: tensor, from_bytes; after
                                          heed_bind_tensors */
void heed_bind_autograd(lua_State *L); /* autograd.c */
void heed_bind_system(lua_State *L);   /* system.c: threads, memory, time */
void heed_bind_files(lua_State *L);    /* files.c: files being read, arrays,
                                          whole files */
void heed_bind_saving(lua_State *L);   /* saving.c: safetensors, npz */
void heed_bind_images(lua_State *L);   /* images.c: PNG, JPEG, PPM */
void heed_bind_print(lua_State *L);    /* print.c: tostring, its options; after
                                          heed_bind_tensors */

/* Does a plain number, or a boolean, stand at `index`? */
static inline bool heed_bind_is_number(lua_State *L, int index) {
  int type = lua_type(L, index);
  return type == LUA_TNUMBER || type == LUA_TBOOLEAN;
}
/* call.c: it as a new scalar, which gives way to the dtypes of tensors. */
heed_tensor *heed_bind_number(lua_State *L, int index);

/* index.c: t[key] and t[key] = value */
int heed_bind_index(lua_State *L);
int heed_bind_newindex(lua_State *L);

#endif
