/* world/tick.c: see the header. */
#include "world/tick.h"

#include "world/cluster/border.h"
#include "world/command/admit.h"
#include "world/command/give.h"
#include "world/command/receive.h"
#include "world/command/inbox.h"
#include "world/command/keep.h"
#include "world/command/naming.h"
#include "world/command/npcs.h"
#include "world/command/teleport.h"
#include "world/command/walks.h"
#include "world/interest/fanout.h"
#include "world/interest/pause.h"
#include "world/interest/soft.h"
#include "world/interest/wire.h"

/* Ends a phase: adds the time since `*at` to its histogram. */
static void phase_end(struct world *w, enum world_phase phase, int64_t *at)
{
    int64_t now;

    if (!w->ops.clock_ns)
        return;
    now = w->ops.clock_ns(w->ops.arg);
    w->phase_last_ns[phase] = now > *at ? (uint64_t)(now - *at) : 0;
    hist_add(&w->phase_ns[phase], w->phase_last_ns[phase]);
    *at = now;
}

/* Each of the dirty goes to the cell of its place; where cells are looked at, before sight. Returns
 * where they stood, by slot; NULL: they still stand there. */
static const uint32_t *grid_phase(struct world *w)
{
    struct entities *e = &w->entities;
    struct grid *g = &w->scenes.grid;
    uint32_t *from;

    if (!g->linked)
        return NULL;
    from = arena_take(&w->scratch, e->cap * sizeof(*from));
    ASSERT(from); /* the arena is empty, and larger than a word for each entity */
    for (uint32_t i = 0; i < e->dirty_count; i++) {
        uint32_t slot = e->dirty[i], to;

        from[slot] = g->cell[slot];
        if (!(e->flags[slot] & (ENTITY_MOVED | ENTITY_NEW)))
            continue;
        to = grid_cell(g, e->scene[slot], e->x[slot], e->y[slot]);
        if (from[slot] != GRID_NONE)
            g->touched[from[slot]] = w->tick;
        g->touched[to] = w->tick;
        grid_put(g, slot, to);
    }
    return from;
}

static void sight_phase(struct world *w)
{
    struct sight *s = &w->sight;

    sight_run(s, &w->entities, &w->scenes.grid, &w->scratch, w->tick);
    for (uint32_t i = 0; i < s->n_listed; i++) {
        if (s->mode[s->listed[i]] == SIGHT_LIST && pause_resuming(w, s->listed[i]))
            pause_look(w, s->listed[i]);
    }
}

/* The tick's books of sight: `adds` and `removes` were told before it. */
static void keep_books(struct world *w, uint64_t adds, uint64_t removes)
{
    hist_add(&w->books[BOOK_ADDS], w->metrics.aoi_adds - adds);
    hist_add(&w->books[BOOK_REMOVES], w->metrics.aoi_removes - removes);
    hist_add(&w->books[BOOK_KNOWN], world_known(w));
}

void tick_run(struct world *w, struct mono now)
{
    int64_t start = w->ops.clock_ns ? w->ops.clock_ns(w->ops.arg) : 0, at = start;
    const uint64_t adds = w->metrics.aoi_adds, removes = w->metrics.aoi_removes;
    const uint32_t *from;

    ASSERT(w->scratch.used == 0);
    inbox_wait_ends(w, now); /* as if they had left just before */
    w->tick++;
    w->now = now;
    w->metrics.ticks++;
    schedule_run(&w->schedule, w, w->tick, now);
    admit_run(w, now);
    keep_run(w, now);
    if (w->cluster) {
        w->cluster->ticked = now;
        border_tick(w);
        naming_tick(w, now);
        receive_tick(w, now);
    }
    walks_tick(w, now);
    teleport_portals(w);
    npcs_tick(w, now);
    if (w->cluster) {
        give_tick(w, now);
        border_tell(w);
    }
    phase_end(w, PHASE_WALK, &at);
    from = grid_phase(w);
    phase_end(w, PHASE_GRID, &at);
    if (!w->sight.soft)
        sight_phase(w);
    phase_end(w, PHASE_SIGHT, &at);
    wire_decide(w, from);
    phase_end(w, PHASE_EVENTS, &at);
    if (w->sight.soft) {
        soft_tick(w);
    } else {
        fanout_tell(w);
        sight_settle(&w->sight, &w->entities);
    }
    entities_bury(&w->entities);
    ages_fold(&w->ages);
    keep_books(w, adds, removes);
    phase_end(w, PHASE_FANOUT, &at);
    arena_rewind(&w->scratch, 0);
    if (w->ops.clock_ns)
        hist_add(&w->tick_ns, at > start ? (uint64_t)(at - start) : 0);
}
