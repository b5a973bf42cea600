/* common/slots.c: generation slots.
 * Slots that were never given come after those that came back, so a run touches as few as it can.
 * May touch: libc. On trouble: full is E_FULL; giving back what is not alive is our bug.
 */
#include "common/slots.h"

#include "common/err.h"

#include <stdlib.h>

int slots_init(struct slots *s, uint32_t cap)
{
    ASSERT(cap >= 1);
    *s = (struct slots){.cap = cap, .free = SLOTS_NONE};
    s->gen = calloc(cap, sizeof(*s->gen));
    s->next = calloc(cap, sizeof(*s->next));
    if (!s->gen || !s->next) {
        slots_fini(s);
        return E_NOMEM;
    }
    return 0;
}

void slots_fini(struct slots *s)
{
    if (!s)
        return;
    free(s->gen);
    free(s->next);
    *s = (struct slots){.free = SLOTS_NONE};
}

int slots_take(struct slots *s, uint32_t *slot, uint32_t *gen)
{
    uint32_t at;
    if (s->free != SLOTS_NONE) {
        at = s->free;
        s->free = s->next[at];
    } else if (s->fresh < s->cap) {
        at = s->fresh++;
    } else {
        return E_FULL;
    }
    ASSERT((s->gen[at] & 1) == 0);
    *slot = at;
    *gen = ++s->gen[at];
    s->live++;
    return 0;
}

void slots_give(struct slots *s, uint32_t slot, uint32_t gen)
{
    ASSERT(slots_alive(s, slot, gen));
    s->live--;
    /* Past the last generation it wraps to 0, and an old handle could come to life again: such a
     * slot is not given any more. */
    if (++s->gen[slot] == 0)
        return;
    s->next[slot] = s->free;
    s->free = slot;
}
