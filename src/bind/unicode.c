/* unicode - text functions for Lua, over utf8proc. Layer: bind.
   Read first: utf8.h, with whose heed_utf8_at every function walks its string.

   Strings are byte strings of any length and content. Work space is a userdata,
   so that an error while a result is pushed leaks nothing. */
#include "bind/unicode.h"

#include <lauxlib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <utf8proc.h>

#include "bind/utf8.h"

#define NFC (UTF8PROC_STABLE | UTF8PROC_COMPOSE)
#define NFD (UTF8PROC_STABLE | UTF8PROC_DECOMPOSE)
#define BOUNDARY 0x2581 /* marks the start of a word */
#define BOUNDARY_UTF8 "\xE2\x96\x81"
#define REPLACEMENT_UTF8 "\xEF\xBF\xBD"
/* Every smaller code point is by itself in NFC, in NFD, in both of K. */
#define FIRST_MARK 0x300
#define FIRST_DECOMPOSED 0xC0
#define FIRST_COMPAT 0xA0
#define CLASSES 256      /* combining classes */

typedef enum kind { KIND_SPACE, KIND_WORD, KIND_MARK, KIND_OTHER } kind;

static kind kind_of(int32_t code) {
  if (code < 0) return KIND_OTHER;
  if (heed_utf8_is_space(code) || code == BOUNDARY) return KIND_SPACE;
  switch (utf8proc_category(code)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return KIND_WORD;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
      return KIND_MARK;
    default:
      return KIND_OTHER;
  }
}

static void push_text(lua_State *L, heed_utf8 t, size_t from, size_t to) {
  lua_pushlstring(L, (const char *)t.at + from, to - from);
}

/* The byte where `t` stops being UTF-8, or its size. Sets `*largest` to the
   largest code point before it. */
static size_t scan(heed_utf8 t, int32_t *largest) {
  size_t pos = 0;
  *largest = 0;
  while (pos < t.size) {
    heed_symbol c = heed_utf8_at(t, pos);
    if (c.code < 0) break;
    if (c.code > *largest) *largest = c.code;
    pos += c.bytes;
  }
  return pos;
}

/* valid(s): true, or false and the byte position of the first sequence that
   is not UTF-8. */
static int valid(lua_State *L) {
  heed_utf8 t = heed_utf8_check(L, "valid");
  int32_t largest;
  size_t end = scan(t, &largest);
  lua_pushboolean(L, end == t.size);
  if (end == t.size) return 1;
  lua_pushinteger(L, (lua_Integer)end + 1);
  return 2;
}

/* Writes the decomposition of `t` to `out`, which has room for `room` code
   points, or, when that is NULL, only counts. Returns the number of them. */
static size_t decompose(heed_utf8 t, utf8proc_option_t form, int32_t *out,
                        size_t room) {
  size_t n = 0;
  int boundary = 0; /* only used by the option for grapheme clusters */
  for (size_t pos = 0; pos < t.size;) {
    heed_symbol c = heed_utf8_at(t, pos);
    n += (size_t)utf8proc_decompose_char(
        c.code, out ? out + n : NULL, (ptrdiff_t)(out ? room - n : 0), form,
        &boundary);
    pos += c.bytes;
  }
  return n;
}

static int class_of(int32_t code) {
  return code < FIRST_MARK ? 0 : utf8proc_get_property(code)->combining_class;
}

/* Sorts n marks by combining class, stable. `spare` holds n code points.
   utf8proc's own ordering takes n^2 steps on a long run of marks. */
static void order_marks(int32_t *mark, size_t n, int32_t *spare) {
  size_t start[CLASSES + 1] = {0};
  for (size_t i = 0; i < n; i++) start[class_of(mark[i]) + 1]++;
  for (int c = 0; c < CLASSES; c++) start[c + 1] += start[c];
  memcpy(spare, mark, n * sizeof *mark);
  for (size_t i = 0; i < n; i++) mark[start[class_of(spare[i])]++] = spare[i];
}

/* Puts each run of marks (class above 0) of the n code points in order. */
static void order(int32_t *code, size_t n, int32_t *spare) {
  for (size_t from = 0; from < n;) {
    size_t to = from;
    bool sorted = true;
    for (; to < n && class_of(code[to]) > 0; to++)
      if (to > from && class_of(code[to]) < class_of(code[to - 1]))
        sorted = false;
    if (!sorted) order_marks(code + from, to - from, spare);
    from = to + 1; /* the character that ended the run */
  }
}

/* s in a Unicode normalisation form, or nil and a message. */
static int normalise(lua_State *L, const char *name, utf8proc_option_t form,
                     int32_t first) {
  heed_utf8 t = heed_utf8_check(L, name);
  int32_t largest;
  size_t end = scan(t, &largest);
  if (end < t.size) {
    lua_pushnil(L);
    lua_pushfstring(L, "unicode.%s: s: invalid UTF-8 at byte %I", name,
                    (LUAI_UACINT)end + 1);
    return 2;
  }
  lua_settop(L, 1);
  if (largest < first) return 1;

  size_t n = decompose(t, form, NULL, 0);
  /* n code points and the final 0 that reencode writes, then n spare ones;
     n is at most 18 t.size, so the product cannot overflow */
  int32_t *code = lua_newuserdatauv(L, (2 * n + 1) * sizeof *code, 0);
  decompose(t, form, code, n);
  order(code, n, code + n + 1);
  ptrdiff_t bytes = utf8proc_reencode(code, (ptrdiff_t)n, form);
  if (bytes < 0)
    return luaL_error(L, "unicode.%s: s: %s", name, utf8proc_errmsg(bytes));
  lua_pushlstring(L, (const char *)code, (size_t)bytes);
  return 1;
}

/* nfc(s), nfd(s), nfkc(s), nfkd(s). */
static int nfc(lua_State *L) { return normalise(L, "nfc", NFC, FIRST_MARK); }
static int nfd(lua_State *L) {
  return normalise(L, "nfd", NFD, FIRST_DECOMPOSED);
}
static int nfkc(lua_State *L) {
  return normalise(L, "nfkc", NFC | UTF8PROC_COMPAT, FIRST_COMPAT);
}
static int nfkd(lua_State *L) {
  return normalise(L, "nfkd", NFD | UTF8PROC_COMPAT, FIRST_COMPAT);
}

/* repair(s): s with each sequence that is not UTF-8 replaced by U+FFFD. */
static int repair(lua_State *L) {
  heed_utf8 t = heed_utf8_check(L, "repair");
  int32_t largest;
  size_t pos = scan(t, &largest);
  lua_settop(L, 1);
  if (pos == t.size) return 1;

  luaL_Buffer b;
  luaL_buffinit(L, &b);
  luaL_addlstring(&b, (const char *)t.at, pos);
  while (pos < t.size) {
    heed_symbol c = heed_utf8_at(t, pos);
    if (c.code < 0)
      luaL_addstring(&b, REPLACEMENT_UTF8);
    else
      luaL_addlstring(&b, (const char *)t.at + pos, c.bytes);
    pos += c.bytes;
  }
  luaL_pushresult(&b);
  return 1;
}

/* lower(s): s with every character replaced by its simple lower case; what is
   not UTF-8 stays. */
static int lower(lua_State *L) {
  heed_utf8 t = heed_utf8_check(L, "lower");
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  for (size_t pos = 0; pos < t.size;) {
    heed_symbol c = heed_utf8_at(t, pos);
    if (c.code < 0) {
      luaL_addlstring(&b, (const char *)t.at + pos, c.bytes);
    } else {
      uint8_t out[4];
      ptrdiff_t n = utf8proc_encode_char(utf8proc_tolower(c.code), out);
      luaL_addlstring(&b, (const char *)out, (size_t)n);
    }
    pos += c.bytes;
  }
  luaL_pushresult(&b);
  return 1;
}

/* trim(s): s without Unicode white space at its ends. */
static int trim(lua_State *L) {
  heed_utf8 t = heed_utf8_check(L, "trim");
  size_t from = t.size, to = t.size;
  for (size_t pos = 0; pos < t.size;) {
    heed_symbol c = heed_utf8_at(t, pos);
    if (c.code < 0 || !heed_utf8_is_space(c.code)) {
      if (from == t.size) from = pos;
      to = pos + c.bytes;
    }
    pos += c.bytes;
  }
  push_text(L, t, from, to);
  return 1;
}

/* The end of the piece that starts with the character `first` at `pos`. A mark
   belongs to what stands before it, be that a letter or a symbol. */
static size_t piece_end(heed_utf8 t, size_t pos, heed_symbol first) {
  kind k = kind_of(first.code);
  bool word = k == KIND_WORD || k == KIND_MARK;
  pos += first.bytes;
  while (pos < t.size) {
    heed_symbol c = heed_utf8_at(t, pos);
    k = kind_of(c.code);
    if (k != KIND_MARK && !(word && k == KIND_WORD)) break;
    pos += c.bytes;
  }
  return pos;
}

/* words(s): the pieces of s in a table: runs of letters, marks and digits;
   every other character alone, with its marks. A piece that follows white
   space or starts the text begins with U+2581. */
static int words(lua_State *L) {
  heed_utf8 t = heed_utf8_check(L, "words");
  lua_settop(L, 1);
  lua_newtable(L);
  lua_Integer n = 0;
  bool spaced = true;
  for (size_t pos = 0; pos < t.size;) {
    heed_symbol c = heed_utf8_at(t, pos);
    if (kind_of(c.code) == KIND_SPACE) {
      spaced = true;
      pos += c.bytes;
      continue;
    }
    size_t end = piece_end(t, pos, c);
    if (spaced) lua_pushliteral(L, BOUNDARY_UTF8);
    push_text(L, t, pos, end);
    if (spaced) lua_concat(L, 2);
    lua_rawseti(L, 2, ++n);
    spaced = false;
    pos = end;
  }
  return 1;
}

static const luaL_Reg functions[] = {
    {"nfc", nfc},     {"nfd", nfd},       {"nfkc", nfkc},   {"nfkd", nfkd},
    {"valid", valid}, {"repair", repair}, {"lower", lower}, {"trim", trim},
    {"words", words}, {NULL, NULL},
};

int heed_bind_unicode(lua_State *L) {
  luaL_newlib(L, functions);
  heed_bind_unicode_split(L);
  return 1;
}
