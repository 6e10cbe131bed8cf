/* unicode - text functions for Lua. Layer: bind. */
#ifndef HEED_BIND_UNICODE_H
#define HEED_BIND_UNICODE_H

#include <lua.h>

/* Pushes a table with the functions nfc, valid, repair, lower, trim, words, and
   those of unicode_split.c. Returns 1. */
int heed_bind_unicode(lua_State *L);
/* Adds characters, graphemes, bert_words to the table on the top. */
void heed_bind_unicode_split(lua_State *L);

#endif
