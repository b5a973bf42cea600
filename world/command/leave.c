/* world/command/leave.c: see the header. */
#include "world/command/leave.h"

#include "world/cluster/handover.h"
#include "world/cluster/realm.h"
#include "world/command/inbox.h"

/* Neither inside nor about to be, and nothing of it is under way. */
static bool may_go(const struct session *s)
{
    return s->hold == SESSION_FREE && (s->state == SESSION_NEW || s->state == SESSION_LOGGED);
}

void leave_tick(struct world *w, struct mono now)
{
    const struct slots *slots = &w->sessions.slots;
    uint32_t n = 0;

    w->now = now;
    for (uint32_t i = 0; i < slots->fresh && n < LEAVE_TICK_MAX; i++) {
        const struct session *s = &w->sessions.list[i];

        if (!(slots->gen[i] & 1) || !may_go(s))
            continue;
        n++;
        w->metrics.sent_away++;
        outbox_redirect(&w->outbox, s->link, s->sid, (struct span){0}, 0, 0);
        inbox_session_end(w, (struct session_ref){i, slots->gen[i]}, now);
    }
}

bool leave_is_over(const struct world *w)
{
    const struct handover *h = w->cluster->handover;
    const struct entities *e = &w->entities;

    return w->sessions.slots.live == 0 && h->gift_slots.live == 0 && h->guest_slots.live == 0 &&
           e->alive_count + e->away_count == e->ghost_count;
}
