/* world/interest/sight.h: who sees whom, exactly, once a tick.
 * Takes the places as they are and what each viewer knew; leaves what each knows now, who is gone
 * and who is new. In: the grid with this tick's places, the entities, the known lists. Out: one
 * struct sight_diff a viewer whose set changed. Pure. May touch: common, world/state,
 * world/interest/known. Never: sessions, bytes.
 * On trouble: where the block of known pairs or the scratch is full, a viewer keeps what it knows,
 * minus who left for good, and is looked at again next tick; counted in `deferred`.
 */
#pragma once

#include "common/arena.h"
#include "world/interest/known.h"
#include "world/state/entity.h"
#include "world/state/grid.h"

struct sight_rules {
    double radius;     /* R, units: who comes within is seen */
    double hysteresis; /* H, units: who is known is dropped past R + H */
};

/* Bytes of scratch that sight leaves free for each key a viewer may know: what writing one batch
 * takes at most. A list holds two keys a slot at most: who is there, and who ended in it. */
#define SIGHT_SPARE 112

/* A viewer's change; ascending by id, both. */
struct sight_diff {
    const uint64_t *gone;  /* [n_gone] keys, in the tick's arena */
    const uint64_t *added; /* [n_added] keys, in the tick's arena */
    uint32_t n_gone, n_added;
};

struct sight {
    struct sight_rules rules;
    struct known known;
    struct sight_diff *diffs; /* [cap] by viewer's slot; counts are 0 where nothing changed */
    uint32_t *mark;           /* [cap] by slot: mark_now where the viewer at hand knows it */
    uint32_t mark_now;
    uint8_t *again;   /* [cap] look at this viewer next tick whatever moved */
    uint32_t n_again; /* such viewers */
    uint64_t added, removed,
        cleared;       /* pairs, since the start: added - removed - cleared = known */
    uint64_t deferred; /* viewers that had to wait for room */
};

/* E_NOMEM. */
int sight_init(struct sight *s, struct sight_rules rules, uint32_t cap,
               uint64_t max_pairs) MUST_CHECK;
void sight_fini(struct sight *s);

/* Look at one viewer; its diff is in s->diffs[viewer] afterwards. Skips the work where nobody near
 * changed since the last look. Entities that are new to it get e->seen_new[slot] = tick. */
void sight_look(struct sight *s, struct entities *e, const struct grid *g, struct arena *scratch,
                uint32_t viewer, uint32_t tick);
/* Look at this viewer in the next tick, whatever moved. */
void sight_again(struct sight *s, uint32_t viewer);
/* The viewer is no more. */
void sight_forget(struct sight *s, uint32_t viewer);
