/* unicode_split - texts as their characters, and as the words of BERT.
   Layer: bind. Read first: utf8.h.

   BERT's basic tokenisation (Devlin et al. 2019), the numbers being those of
   its steps:
   1. controls are left out, white space is a space;
   2. each Chinese character is a word;
   3. strip_accents: canonical decomposition, without nonspacing marks;
   4. lowercase: each character in lower case;
   5. words end at white space, each punctuation mark is a word.
   Each character of a word remembers which bytes of the text it comes from. */
#include <string.h>

#include "bind/unicode.h"
#include "bind/utf8.h"

#define REPLACEMENT 0xFFFD

/* -- characters ------------------------------------------------------------ */

/* characters(s): the code points of s in a table, each as a string; bytes that
   are not UTF-8 in the pieces that `repair` replaces. */
static int characters(lua_State *L) {
  heed_utf8 t = heed_utf8_check(L, "characters");
  lua_settop(L, 1);
  lua_newtable(L);
  lua_Integer n = 0;
  for (size_t pos = 0; pos < t.size;) {
    heed_symbol c = heed_utf8_at(t, pos);
    lua_pushlstring(L, (const char *)t.at + pos, c.bytes);
    lua_rawseti(L, 2, ++n);
    pos += c.bytes;
  }
  return 1;
}

/* graphemes(s): what a reader takes for characters, the extended grapheme
   clusters of Unicode, in a table; bytes that are not UTF-8 as in characters.
 */
static int graphemes(lua_State *L) {
  heed_utf8 t = heed_utf8_check(L, "graphemes");
  lua_settop(L, 1);
  lua_newtable(L);
  lua_Integer n = 0;
  for (size_t pos = 0; pos < t.size;) {
    heed_symbol c = heed_utf8_at(t, pos);
    size_t end = pos + c.bytes;
    int32_t state = 0;
    while (c.code >= 0 && end < t.size) {
      heed_symbol next = heed_utf8_at(t, end);
      if (next.code < 0 ||
          utf8proc_grapheme_break_stateful(c.code, next.code, &state))
        break;
      end += next.bytes;
      c = next;
    }
    lua_pushlstring(L, (const char *)t.at + pos, end - pos);
    lua_rawseti(L, 2, ++n);
    pos = end;
  }
  return 1;
}

/* -- BERT's words ---------------------------------------------------------- */

static bool is_removed(int32_t code) {
  if (code == '\t' || code == '\n' || code == '\r') return false;
  if (code == 0 || code == REPLACEMENT) return true;
  utf8proc_category_t c = utf8proc_category(code);
  return c == UTF8PROC_CATEGORY_CC || c == UTF8PROC_CATEGORY_CF ||
         c == UTF8PROC_CATEGORY_CO;
}

static bool is_punctuation(int32_t code) {
  if (code < 0x80)
    return code > ' ' && code < 0x7F && !(code >= '0' && code <= '9') &&
           !(code >= 'A' && code <= 'Z') && !(code >= 'a' && code <= 'z');
  utf8proc_category_t c = utf8proc_category(code);
  return c >= UTF8PROC_CATEGORY_PC && c <= UTF8PROC_CATEGORY_PO;
}

/* The blocks of ideographs; not Hangul nor kana. */
static bool is_chinese(int32_t code) {
  static const int32_t block[][2] = {
      {0x4E00, 0x9FFF},   {0x3400, 0x4DBF},   {0x20000, 0x2A6DF},
      {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F}, {0x2B920, 0x2CEAF},
      {0xF900, 0xFAFF},   {0x2F800, 0x2FA1F}};
  for (size_t i = 0; i < sizeof block / sizeof *block; i++)
    if (code >= block[i][0] && code <= block[i][1]) return true;
  return false;
}

typedef struct split {
  lua_State *L; /* stack: s, its three options, words, places, buffer */
  bool lowercase, strip_accents, with_places;
  uint8_t *word; /* the word so far */
  size_t bytes;
  lua_Integer words, places; /* done, and of the word so far */
} split;

enum { WORDS = 5, PLACES, BUFFER };

static void end_word(split *s) {
  if (s->bytes == 0) return;
  lua_pushlstring(s->L, (const char *)s->word, s->bytes);
  lua_rawseti(s->L, WORDS, ++s->words);
  if (s->with_places) lua_rawseti(s->L, PLACES, s->words);
  s->bytes = 0;
  s->places = 0;
}

/* Adds one character, which comes from the bytes from .. to of the text. With
   places, the list of those of the word lies on the top of the stack. */
static void add(split *s, int32_t code, size_t from, size_t to) {
  if (s->with_places) {
    if (s->bytes == 0) lua_newtable(s->L);
    lua_pushinteger(s->L, (lua_Integer)from + 1);
    lua_rawseti(s->L, -2, ++s->places);
    lua_pushinteger(s->L, (lua_Integer)to);
    lua_rawseti(s->L, -2, ++s->places);
  }
  s->bytes += (size_t)utf8proc_encode_char(code, s->word + s->bytes);
}

static void add_alone(split *s, int32_t code, size_t from, size_t to) {
  end_word(s);
  add(s, code, from, to);
  end_word(s);
}

/* Steps 4 and 5 for one character. */
static void finish(split *s, int32_t code, size_t from, size_t to) {
  /* the only character whose lower case is two of them, whatever stands around
     it */
  bool dotted = s->lowercase && code == 0x130;
  if (s->lowercase) code = dotted ? 'i' : utf8proc_tolower(code);
  if (heed_utf8_is_space(code)) end_word(s);
  else if (is_punctuation(code)) add_alone(s, code, from, to);
  else add(s, code, from, to);
  if (dotted) add(s, 0x307, from, to);
}

/* Step 3 for one character. The order of several marks that are not
   nonspacing, which no script puts on one letter, is left as it is. */
static void take(split *s, int32_t code, size_t from, size_t to) {
  if (!s->strip_accents) {
    finish(s, code, from, to);
    return;
  }
  int32_t part[4];
  int boundary = 0;
  ptrdiff_t n = utf8proc_decompose_char(
      code, part, 4, UTF8PROC_STABLE | UTF8PROC_DECOMPOSE, &boundary);
  for (ptrdiff_t i = 0; i < n && i < 4; i++)
    if (utf8proc_category(part[i]) != UTF8PROC_CATEGORY_MN)
      finish(s, part[i], from, to);
}

/* bert_words(s, lowercase, strip_accents, with_places): the words of s in a
   table and, if wanted, for each a list: first and last byte in s of what its
   first character comes from, of the second ... Bytes that are not UTF-8 are
   a word U+FFFD. */
static int bert_words(lua_State *L) {
  heed_utf8 t = heed_utf8_check(L, "bert_words");
  split s = {.L = L,
             .lowercase = lua_toboolean(L, 2),
             .strip_accents = lua_toboolean(L, 3),
             .with_places = lua_toboolean(L, 4)};
  lua_settop(L, 4);
  lua_newtable(L);
  lua_newtable(L);
  /* Decomposition makes a text at most three times as long, lower case one and
     a half times. */
  s.word = lua_newuserdatauv(L, 5 * t.size + 16, 0);
  for (size_t pos = 0; pos < t.size;) {
    heed_symbol c = heed_utf8_at(t, pos);
    size_t end = pos + c.bytes;
    if (c.code < 0) {
      add_alone(&s, REPLACEMENT, pos, end);
    } else if (is_chinese(c.code)) {
      end_word(&s);
      take(&s, c.code, pos, end);
      end_word(&s);
    } else if (!is_removed(c.code)) {
      take(&s, c.code, pos, end);
    }
    pos = end;
  }
  end_word(&s);
  lua_settop(L, PLACES);
  return 2;
}

void heed_bind_unicode_split(lua_State *L) {
  static const luaL_Reg functions[] = {{"characters", characters},
                                       {"graphemes", graphemes},
                                       {"bert_words", bert_words},
                                       {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
