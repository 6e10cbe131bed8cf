/*
 * utf8 - walks through strings of bytes, UTF-8 or not. Layer: binding.
 */
#ifndef HEED_BIND_UTF8_H
#define HEED_BIND_UTF8_H

#include <lauxlib.h>
#include <lua.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <utf8proc.h>

typedef struct heed_utf8 {
  const uint8_t *at;
  size_t size;
} heed_utf8;

typedef struct heed_symbol {
  int32_t code; /* -1 when the bytes are not UTF-8 */
  size_t bytes; /* at least 1 */
} heed_symbol;

/* The character at byte `pos` < size. Bytes that are not UTF-8 come in the
   longest piece that could have begun a character, as Unicode recommends. */
static inline heed_symbol heed_utf8_at(heed_utf8 t, size_t pos) {
  const uint8_t *s = t.at + pos;
  size_t left = t.size - pos;
  uint8_t lead = s[0], low = 0x80, high = 0xBF;
  if (lead < 0x80) return (heed_symbol){lead, 1};
  if (lead < 0xC2 || lead > 0xF4) return (heed_symbol){-1, 1};

  size_t need = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (lead == 0xE0) low = 0xA0;  /* shorter forms exist */
  if (lead == 0xED) high = 0x9F; /* surrogates */
  if (lead == 0xF0) low = 0x90;  /* shorter forms exist */
  if (lead == 0xF4) high = 0x8F; /* beyond U+10FFFF */
  int32_t code = lead & (0x7F >> need);
  for (size_t i = 1; i < need; i++) {
    if (i == left || s[i] < low || s[i] > high) return (heed_symbol){-1, i};
    code = code << 6 | (s[i] & 0x3F);
    low = 0x80;
    high = 0xBF;
  }
  return (heed_symbol){code, need};
}

/* White space, the property of Unicode. */
static inline bool heed_utf8_is_space(int32_t code) {
  if (code < 0x80) return code == ' ' || (code >= '\t' && code <= '\r');
  if (code == 0x85) return true;
  utf8proc_category_t c = utf8proc_category(code);
  return c == UTF8PROC_CATEGORY_ZS || c == UTF8PROC_CATEGORY_ZL ||
         c == UTF8PROC_CATEGORY_ZP;
}

/* The string argument 1 of `name`. Numbers are refused: a count given where a
   text is wanted is a mistake. */
static inline heed_utf8 heed_utf8_check(lua_State *L, const char *name) {
  if (lua_type(L, 1) != LUA_TSTRING)
    luaL_error(L, "unicode.%s: s must be a string, got %s", name,
               luaL_typename(L, 1));
  heed_utf8 t;
  t.at = (const uint8_t *)lua_tolstring(L, 1, &t.size);
  return t;
}

#endif
