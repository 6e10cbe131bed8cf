/* interrupt - a request to give up what is being computed. Layer: base. */
#include "base/interrupt.h"

#include <stdatomic.h>

static atomic_bool asked;
static _Thread_local heed_scope scope_of_thread;
static _Thread_local bool left_out; /* also when another thread took `asked` */

void heed_interrupt(void) { atomic_store(&asked, true); }

bool heed_interrupt_clear(void) { return atomic_exchange(&asked, false); }

heed_scope heed_scope_enter(heed_scope scope) {
  heed_scope was = scope_of_thread;
  if (was != HEED_SCOPE_WRITE) scope_of_thread = scope;
  return was;
}

void heed_scope_leave(heed_scope was) { scope_of_thread = was; }

bool heed_interrupt_allowed(void) {
  return scope_of_thread == HEED_SCOPE_RESULT;
}

bool heed_interrupt_asked(void) {
  return atomic_load_explicit(&asked, memory_order_relaxed);
}

void heed_interrupt_note(void) { left_out = true; }

bool heed_interrupt_take(void) {
  if (scope_of_thread == HEED_SCOPE_WRITE) return false;
  bool taken = left_out || (heed_interrupt_asked() && heed_interrupt_clear());
  if (left_out) heed_interrupt_clear();
  left_out = false;
  return taken;
}
