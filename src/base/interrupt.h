/*
 * interrupt - a request to give up what is being computed. Layer: base.
 *
 * heed_interrupt (heed.h) may be called by a signal handler. Loops that write
 * values of results only then leave out what they have not begun, and the op
 * fails. What overwrites a tensor that is there runs to its end.
 */
#ifndef HEED_BASE_INTERRUPT_H
#define HEED_BASE_INTERRUPT_H

#include "heed.h"

/* What loops of a thread belong to. */
typedef enum heed_scope {
  HEED_SCOPE_NONE,   /* to no op */
  HEED_SCOPE_RESULT, /* to one whose result is new: may be given up */
  HEED_SCOPE_WRITE   /* to one that overwrites a tensor: may not */
} heed_scope;

/* Enters the scope, but stays in that of a write, and returns what it was. */
heed_scope heed_scope_enter(heed_scope scope);
void heed_scope_leave(heed_scope was);
/* May loops of this thread leave things out? */
bool heed_interrupt_allowed(void);
/* Was it asked to give up? Cheap, and right in any thread. */
bool heed_interrupt_asked(void);
/* A loop of this thread has left something out. */
void heed_interrupt_note(void);
/* Was it asked, or has a loop left something out? Forgets both: the caller
   fails. Never in the scope of a write. */
bool heed_interrupt_take(void);

#endif
