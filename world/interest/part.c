/* world/interest/part.c: see the header. */
#include "world/interest/part.h"

#include "world/interest/pause.h"

void part_from(struct world *w, uint32_t slot, uint32_t tick)
{
    struct grid *g = &w->scenes.grid;

    if (g->cell[slot] != GRID_NONE) { /* a tick has seen it, so others may know it */
        struct event ev = {
            .who = entities_ref(&w->entities, slot),
            .id = w->entities.id[slot],
            .from = g->cell[slot],
            .to = GRID_NONE,
            .tick = tick,
        };

        events_add(&w->events, EVENT_LEAVE, &ev);
        if (g->linked)
            g->touched[g->cell[slot]] = tick;
        grid_remove(g, slot);
    }
    pause_forget(w, slot);
    sight_forget(&w->sight, slot);
}
