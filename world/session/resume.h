/* world/session/resume.h: sessions that can be given back: keys, and who waits for how long.
 * A key is random bytes from outside, told as lower-case hex. It is looked for by name and compared
 * in constant time; who guesses learns nothing from how long that took. The key itself is kept, not
 * a hash of it: it is worth no more than the session, which lies beside it in the same memory.
 * A note says who a session is, for a world that comes after this one: a gateway keeps it, and
 * hands it back in a bind.
 *
 *   note   [version 1][bits: 1 inside, 2 has a key][key, zero without one][name]
 *
 * Pure. May touch: common, world/session. On trouble: whatever is no key of that name is a normal
 * answer. Source: PROTOCOL.md, "Login".
 */
#pragma once

#include "world/session/session.h"

#define RESUME_TEXT_BYTES ((size_t)2 * SESSION_KEY_BYTES)

#define RESUME_NOTE_HEAD (2 + SESSION_KEY_BYTES)
#define RESUME_NOTE_MAX  (RESUME_NOTE_HEAD + PROTO_NAME_MAX)

struct resume_note {
    bool inside, has_key;
    uint8_t key[SESSION_KEY_BYTES];
    struct span name; /* 1 to PROTO_NAME_MAX bytes of anything; within the note */
};

/* The session has its name. `inside`: its entity is in the world. Returns the note's bytes. */
size_t resume_note_write(const struct session *s, bool inside, uint8_t out[RESUME_NOTE_MAX]);
/* False: no note of ours. */
bool resume_note_read(struct span note, struct resume_note *out) MUST_CHECK;

void resume_text(const uint8_t key[SESSION_KEY_BYTES], char out[RESUME_TEXT_BYTES]);
/* False: not the text of a key. */
bool resume_read(struct span text, uint8_t key[SESSION_KEY_BYTES]) MUST_CHECK;
/* The session of this name, if this is its key: one that waits, or one that still looks alive. */
bool resume_find(const struct sessions *s, struct span name, const uint8_t key[SESSION_KEY_BYTES],
                 struct session_ref *out) MUST_CHECK;
/* One whose wait is over; false: nobody's is. */
bool resume_due(const struct sessions *s, struct mono now, struct session_ref *out) MUST_CHECK;
