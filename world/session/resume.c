/* world/session/resume.c: see the header. */
#include "world/session/resume.h"

#include <string.h>

_Static_assert(RESUME_NOTE_MAX <= LINK_NOTE_MAX, "a note fits the link");

void resume_text(const uint8_t key[SESSION_KEY_BYTES], char out[RESUME_TEXT_BYTES])
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < SESSION_KEY_BYTES; i++) {
        out[2 * i] = digits[key[i] >> 4];
        out[2 * i + 1] = digits[key[i] & 15];
    }
}

static int digit(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool resume_read(struct span text, uint8_t key[SESSION_KEY_BYTES])
{
    if (text.n != RESUME_TEXT_BYTES)
        return false;
    for (size_t i = 0; i < SESSION_KEY_BYTES; i++) {
        int high = digit(text.p[2 * i]), low = digit(text.p[2 * i + 1]);

        if (high < 0 || low < 0)
            return false;
        key[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

/* As long as it takes, whatever differs. */
static bool same_key(const uint8_t *a, const uint8_t *b)
{
    volatile uint8_t differ = 0;

    for (size_t i = 0; i < SESSION_KEY_BYTES; i++)
        differ |= a[i] ^ b[i];
    return differ == 0;
}

bool resume_find(const struct sessions *s, struct span name, const uint8_t key[SESSION_KEY_BYTES],
                 struct session_ref *out)
{
    return sessions_by_name(s, name, out) && s->list[out->slot].has_key &&
           same_key(s->list[out->slot].key, key);
}

bool resume_due(const struct sessions *s, struct mono now, struct session_ref *out)
{
    uint32_t slot = s->wait_first;

    if (slot == SLOTS_NONE || clock_since(now, s->list[slot].until) < 0)
        return false;
    *out = (struct session_ref){slot, s->slots.gen[slot]};
    return true;
}

/* --- notes ------------------------------------------------------------------------------------ */

#define NOTE_VERSION 1
#define NOTE_INSIDE  1
#define NOTE_KEY     2

size_t resume_note_write(const struct session *s, bool inside, uint8_t out[RESUME_NOTE_MAX])
{
    ASSERT(s->name_len > 0);
    memset(out, 0, RESUME_NOTE_HEAD);
    out[0] = NOTE_VERSION;
    out[1] = (uint8_t)((inside ? NOTE_INSIDE : 0) | (s->has_key ? NOTE_KEY : 0));
    if (s->has_key)
        memcpy(out + 2, s->key, SESSION_KEY_BYTES);
    memcpy(out + RESUME_NOTE_HEAD, s->name, s->name_len);
    return RESUME_NOTE_HEAD + (size_t)s->name_len;
}

bool resume_note_read(struct span note, struct resume_note *out)
{
    if (note.n <= RESUME_NOTE_HEAD || note.n > RESUME_NOTE_MAX || note.p[0] != NOTE_VERSION ||
        note.p[1] > (NOTE_INSIDE | NOTE_KEY))
        return false;
    *out = (struct resume_note){
        .inside = (note.p[1] & NOTE_INSIDE) != 0,
        .has_key = (note.p[1] & NOTE_KEY) != 0,
        .name = span_of(note.p + RESUME_NOTE_HEAD, note.n - RESUME_NOTE_HEAD),
    };
    memcpy(out->key, note.p + 2, SESSION_KEY_BYTES);
    return true;
}
