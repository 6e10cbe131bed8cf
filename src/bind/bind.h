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

/* Pushes an empty box. */
heed_tensor **heed_bind_box(lua_State *L);
/* Fills a box; takes over the reference. */
void heed_bind_fill(heed_tensor **box, heed_tensor *t);
/* Pushes a box that takes over the reference; raises heed_error() for NULL. */
void heed_bind_push(lua_State *L, heed_tensor *t);
/* The tensor at `index`, lent; NULL when it is none. Raises when it is
   closed. */
heed_tensor *heed_bind_test(lua_State *L, int index);
/* The same in *t, for callers that own tensors and must not raise: fails when
   it is closed. */
bool heed_bind_try(lua_State *L, int index, heed_tensor **t);
/* The same, but raises when it is none; `what` opens the message. */
heed_tensor *heed_bind_check(lua_State *L, int index, const char *what);
/* "a string", "a table", "tensor float32 [2 3]": what stands at `index`. */
const char *heed_bind_describe(lua_State *L, int index);

/* Runs a collection when much memory is held by dead boxes only. Called after
   whatever makes tensors or lets go of graphs. */
void heed_bind_collect(lua_State *L);

/* The registry's field for the folder of heed's own Lua files. */
#define HEED_HOME "heed.home"

/* Raises heed_error() with the position of the caller outside of heed. */
int heed_bind_raise(lua_State *L);
/* The same with a message of its own, as of heed_fail; luaL_error would point
   into heed's Lua files where those call. */
#define HEED_RAISE(L, ...) (heed_fail(__VA_ARGS__), heed_bind_raise(L))

/* "file:line" of the caller outside of heed, in a buffer of this thread. */
const char *heed_bind_where(lua_State *L);

/* Parts of the module; each adds its functions to the table on the top. */
void heed_bind_ops(lua_State *L);      /* call.c: fields ops, groups */
void heed_bind_tensors(lua_State *L);  /* tensor.c: the metatable, methods */
void heed_bind_values(lua_State *L);   /* values.c: tensor, from_bytes; after
                                          heed_bind_tensors */
void heed_bind_autograd(lua_State *L); /* autograd.c */
void heed_bind_system(lua_State *L);   /* system.c: threads, memory, time */
void heed_bind_files(lua_State *L);    /* files.c: safetensors, whole files */
void heed_bind_print(lua_State *L);    /* print.c: tostring, its options; after
                                          heed_bind_tensors */

/* call.c: the value of op `name` for one tensor and up to 5 integers. */
heed_tensor *heed_bind_run(const char *name, heed_tensor **in, int nin,
                           const int64_t *integers);

/* index.c: t[key] and t[key] = value */
int heed_bind_index(lua_State *L);
int heed_bind_newindex(lua_State *L);

#endif
