/* world/session/resume.h: sessions that can be given back: keys, and who waits for how long.
 * A key is random bytes from outside, told as lower-case hex. It is looked for by name and compared
 * in constant time; who guesses learns nothing from how long that took. The key itself is kept, not
 * a hash of it: it is worth no more than the session, which lies beside it in the same memory.
 * Pure. May touch: common, world/session. On trouble: whatever is no key of that name is a normal
 * answer. Source: PROTOCOL.md, "Login".
 */
#pragma once

#include "world/session/session.h"

#define RESUME_TEXT_BYTES ((size_t)2 * SESSION_KEY_BYTES)

void resume_text(const uint8_t key[SESSION_KEY_BYTES], char out[RESUME_TEXT_BYTES]);
/* False: not the text of a key. */
bool resume_read(struct span text, uint8_t key[SESSION_KEY_BYTES]) MUST_CHECK;
/* The session of this name, if this is its key: one that waits, or one that still looks alive. */
bool resume_find(const struct sessions *s, struct span name, const uint8_t key[SESSION_KEY_BYTES],
                 struct session_ref *out) MUST_CHECK;
/* One whose wait is over; false: nobody's is. */
bool resume_due(const struct sessions *s, struct mono now, struct session_ref *out) MUST_CHECK;
