/*
 * images - pictures as bytes and as tensors, for heed.image.
 * Layer: binding. Read first: bind.h, core/image.h.
 */
#include <string.h>

#include "base/error.h"
#include "bind/bind.h"
#include "core/image.h"

#define BYTES "heed.bytes" /* what an encoder writes, until it is a string */

static int free_bytes(lua_State *L) {
  heed_bytes_free(luaL_checkudata(L, 1, BYTES));
  return 0;
}

/* image_decode(bytes, max_pixels): a tensor [H W C], or nil and what is wrong
   with the bytes. lua/heed/image has checked the arguments. */
static int image_decode(lua_State *L) {
  size_t size;
  const char *data = luaL_checklstring(L, 1, &size);
  lua_Integer max_pixels = luaL_checkinteger(L, 2);
  lua_settop(L, 2);
  heed_tensor **box = heed_bind_box(L);
  heed_tensor *image =
      heed_image_decode((const uint8_t *)data, size, max_pixels);
  if (!image) {
    lua_pushnil(L);
    lua_pushstring(L, heed_error());
    return 2;
  }
  heed_bind_fill(box, image);
  heed_bind_collect(L);
  return 1;
}

/* A picture [H W C] that an encoder can read. */
static heed_tensor *check_image(lua_State *L, int index) {
  heed_tensor *t = heed_bind_check(L, index, "image_encode: image");
  bool fits = t->shape.ndim == 3 && heed_tensor_numel(t) > 0 &&
              t->shape.dim[2] <= 4 && heed_tensor_is_contiguous(t) &&
              (t->dtype == HEED_UINT8 || t->dtype == HEED_INT32);
  luaL_argcheck(L, fits, index, "no picture");
  return t;
}

/* image_encode(image, format, setting): the bytes of a file, or nil and why
   there are none. `setting` is the level of png, the quality of jpeg. */
static int image_encode(lua_State *L) {
  static const char *const formats[] = {"png", "jpeg", "ppm", NULL};
  heed_tensor *image = check_image(L, 1);
  int format = luaL_checkoption(L, 2, NULL, formats);
  int setting = (int)luaL_optinteger(L, 3, 0);
  luaL_argcheck(L, format == 0 || image->shape.dim[2] % 2 == 1, 1,
                "alpha, which only png has");
  luaL_argcheck(L, format != 1 || image->dtype == HEED_UINT8, 1,
                "not uint8, as jpeg is");
  heed_bytes *out = lua_newuserdatauv(L, sizeof *out, 0);
  *out = (heed_bytes){0};
  luaL_setmetatable(L, BYTES);
  bool ok = format == 0   ? heed_image_png_encode(image, setting, out)
            : format == 1 ? heed_image_jpeg_encode(image, setting, out)
                          : heed_image_ppm_encode(image, out);
  if (ok && !heed_tensor_check_whole("image.write", image)) {
    heed_bytes_free(out);
    return heed_bind_raise(L);
  }
  if (ok) {
    lua_pushlstring(L, (const char *)out->data, out->size);
  } else {
    lua_pushnil(L);
    lua_pushstring(L, heed_error());
  }
  heed_bytes_free(out);
  return ok ? 1 : 2;
}

void heed_bind_images(lua_State *L) {
  static const luaL_Reg functions[] = {{"image_decode", image_decode},
                                       {"image_encode", image_encode},
                                       {NULL, NULL}};
  static const luaL_Reg meta[] = {
      {"__gc", free_bytes}, {"__close", free_bytes}, {NULL, NULL}};
  luaL_newmetatable(L, BYTES);
  luaL_setfuncs(L, meta, 0);
  lua_pop(L, 1);
  luaL_setfuncs(L, functions, 0);
}
