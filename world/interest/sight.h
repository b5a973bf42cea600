/* world/interest/sight.h: who sees whom, exactly, once a tick.
 * Takes the tick's places, entries and ends; yields for each viewer who is gone, who is new, and
 * who stays (of whom only movers are told), ascending by id. Two ways, with the same results:
 *
 *   masks   the rule needs no history: gone, new and staying fall out of old and new places, told
 *           apart by masks over the people around (world/interest/mask), nothing kept. Where many
 *           moved, viewer by viewer (sight_mask); where few did, mover by mover (sight_few);
 *   lists   the rule needs history (hysteresis; a viewer that is paused): what the viewer knows is
 *           a list (world/interest/known), walked and merged.
 *
 * A viewer goes from masks to a list and back as it needs. Pure. May touch: common, world/state,
 * world/interest. Never: sessions, bytes.
 * On trouble: where the block of lists is full, a viewer with a list keeps what it knows, minus who
 * is gone, and is looked at again next tick; counted in `deferred`. Masks that do not fit into the
 * scratch are made again when they are told; counted in `redone`.
 */
#pragma once

#include "common/arena.h"
#include "world/interest/cells.h"
#include "world/interest/known.h"
#include "world/interest/places.h"
#include "world/state/entity.h"
#include "world/state/grid.h"

struct sight_rules {
    double radius;     /* R, units: who comes within is seen */
    double hysteresis; /* H, units: who is known is dropped past R + H */
    double step;       /* units an entity moves in one tick at its fastest */
    enum places_index index;
};

/* Bytes of scratch that sight leaves free for each key a viewer may know: what writing one batch
 * takes at most. A list holds two keys a slot at most: who is there, and who ended in it. */
#define SIGHT_SPARE 112

/* How a viewer's knowledge is held. */
enum sight_mode {
    SIGHT_BLIND, /* not a viewer */
    SIGHT_MASK,
    SIGHT_LIST,
    SIGHT_HELD /* a list that stays as it is: the viewer is paused */
};

/* A viewer's change; ascending by id, both. */
struct sight_diff {
    const uint64_t *gone;  /* [n_gone] keys */
    const uint64_t *added; /* [n_added] keys */
    uint32_t n_gone, n_added;
};

/* The candidates of a block of the map: everybody who could be seen from inside it. */
struct sight_block {
    const uint32_t *ranks; /* [n] ascending: ranks of places, one for each key */
    uint32_t n;
    uint32_t number; /* in this tick, from 1 */
};

/* What one viewer is told; all borrowed for the call. */
struct sight_result {
    uint32_t viewer;
    struct sight_diff diff;
    const struct sight_block *block; /* NULL: who stays is in the viewer's list, diff.added apart */
    const uint64_t *stay;            /* bits over block->ranks, the viewer left out */
    const uint32_t *movers; /* [n_movers] else, not NULL: those who stay and moved: slots by id */
    uint32_t n_movers;
    const uint32_t *group; /* [n_group] not NULL: not one viewer, but all of these, who are told of
                            * these movers and nothing else */
    uint32_t n_group;
    const uint32_t *later; /* not NULL: one who is told soon, so that its data can be brought */
};

/* What was kept of a block of places. */
struct sight_kept {
    uint32_t first_view, n_viewers;
    bool redo; /* its views did not fit, and are made when they are told */
};

/* What was kept of a viewer: bits, then who is gone, then who is new, as keys. */
struct sight_view {
    uint32_t viewer;
    uint32_t n_gone, n_added;
    const uint64_t *stay;
};

struct soft;

struct sight {
    struct sight_rules rules;
    struct places places;
    struct mask_code mask;
    struct known known;  /* lists, by viewer's slot */
    uint32_t cap;        /* slots */
    uint8_t *mode;       /* [cap] enum sight_mode */
    uint32_t n_masks;    /* viewers in SIGHT_MASK */
    uint32_t *count;     /* [cap] how many each viewer knows */
    uint32_t *listed;    /* [n_listed] viewers with a list */
    uint32_t *listed_at; /* [cap] */
    uint32_t n_listed;
    uint8_t *again;   /* [cap] a list without room: look again */
    uint32_t n_again; /* such viewers */

    struct sight_diff *diffs; /* [cap] of viewers with a list */
    uint32_t *mark;           /* [cap] by slot: mark_now where the viewer at hand knows it */
    uint32_t mark_now;
    uint32_t *moved; /* [cap] slots that are new or moved in this tick */
    uint32_t n_moved;
    bool ranked;    /* in this tick places' order lists all who are alive */
    uint64_t *keys; /* [cap] for one list of keys */

    struct sight_kept *blocks; /* [2 * cap] of this tick, as places' */
    struct sight_view *views;  /* [cap] */
    uint32_t n_views;
    struct sight_work *work; /* buffers of one block: world/interest/sight_mask.c */

    struct cells cells;
    struct sight_few *few; /* world/interest/sight_few.c */
    bool by_movers;        /* this tick, or the last one, was looked at by movers */
    uint32_t few_share;    /* as it is where so many times those who changed are no more than all;
                            * 0: always, where it can be */

    struct soft *soft; /* world/interest/soft: knows instead of all this; NULL: it does not */

    uint64_t pairs;                   /* known now */
    uint64_t added, removed, cleared; /* since the start: added - removed - cleared = pairs */
    uint64_t holds;                   /* times that a viewer was held, or blinded */
    uint64_t deferred;                /* viewers that had to wait for room */
    uint64_t redone;                  /* blocks whose masks were made twice for want of scratch */
};

/* bounds: of each scene, as places_init; `cap` slots; `max_pairs` keys in all lists. E_NOMEM. */
int sight_init(struct sight *s, struct sight_rules rules, const double bounds[][4], uint32_t scenes,
               uint32_t cap, uint64_t max_pairs) MUST_CHECK;
void sight_fini(struct sight *s);

/* An entity becomes a viewer, knowing nobody. */
void sight_watch(struct sight *s, uint32_t viewer);
/* Its client is to forget everybody, and is told of all anew by the next tick's batch; others see
 * nothing of it. For who is put into another scene, or elsewhere in its own. */
void sight_afresh(struct sight *s, uint32_t viewer);
/* One whom a tick has seen becomes a viewer, knowing nobody: the next tick tells it of all. */
void sight_watch_seen(struct sight *s, uint32_t viewer);
/* One becomes a viewer that knows these already: every `stride`-th of the words is a key,
 * ascending; of who is not here any more, or never was, it is told by the next tick. 0, or E_FULL
 * (nothing changed). Not for soft sight. */
int sight_know(struct sight *s, uint32_t viewer, const uint64_t *words, uint32_t stride,
               uint32_t n) MUST_CHECK;
/* It is a viewer no more, but stays to be seen. */
void sight_blind(struct sight *s, uint32_t viewer);
/* It ends, viewer or not; before it is removed from the entities. */
void sight_forget(struct sight *s, uint32_t viewer);
/* Hold what the viewer knows as a list, until sight_release. 0, or E_FULL (nothing changed). */
int sight_hold(struct sight *s, const struct entities *e, uint32_t viewer) MUST_CHECK;
void sight_release(struct sight *s, uint32_t viewer);
/* Is it a viewer? */
bool sight_watches(const struct sight *s, uint32_t slot);
/* Does the viewer know this entity, as of the last tick? */
bool sight_knows(const struct sight *s, const struct entities *e, uint32_t viewer,
                 uint32_t subject);
/* All it knows, as of the last tick: keys, ascending, who ended since among them; borrowed until
 * the next call. Returns how many. */
uint32_t sight_list(struct sight *s, const struct entities *e, uint32_t viewer,
                    const uint64_t **out);
/* All viewers that know this entity, as of the last tick: slots, each once, in an order that
 * depends on the inputs alone.
 *   out   [cap] borrowed
 * Returns how many. Cost: without lists, those around it; else a search in each list. */
uint32_t sight_knowers(struct sight *s, const struct entities *e, uint32_t subject, uint32_t *out);

/* The first half of a tick: look for all viewers; e->dirty holds who is new or moved, and the grid
 * is up to date. Whoever is new to somebody gets e->seen_new[slot] = tick. */
void sight_run(struct sight *s, struct entities *e, const struct grid *g, struct arena *scratch,
               uint32_t tick);
/* The second half: what each viewer is told, in an order that depends on the inputs alone. */
typedef void sight_tell_fn(void *arg, const struct sight_result *r);
void sight_tell(struct sight *s, struct entities *e, sight_tell_fn *tell, void *arg);
/* The tick is over: places now become places before. */
void sight_settle(struct sight *s, const struct entities *e);
/* For sight's own files. */
struct sight_work;
struct sight_few;
/* The edge of sight, for a radius in whole numbers. */
struct mask_edge sight_edge(double radius);
void sight_next_mark(struct sight *s);
int sight_few_create(uint32_t slots, uint32_t seats, struct sight_few **out) MUST_CHECK;
void sight_few_destroy(struct sight_few *f);
/* False: too much for this way; nothing is changed. */
bool sight_few_run(struct sight *s, struct entities *e, uint32_t tick) MUST_CHECK;
void sight_few_tell(struct sight *s, const struct entities *e, sight_tell_fn *tell, void *arg);
#define SIGHT_CELL_WORDS 4 /* of a cell's people looked at in one go */
int sight_work_create(uint32_t cap, struct sight_work **out) MUST_CHECK;
void sight_work_destroy(struct sight_work *k);
void sight_mask_run(struct sight *s, struct entities *e, struct arena *scratch, uint32_t tick);
void sight_mask_tell(struct sight *s, struct entities *e, sight_tell_fn *tell, void *arg);
void sight_list_look(struct sight *s, struct entities *e, const struct grid *g,
                     struct arena *scratch, uint32_t viewer, uint32_t tick);
void sight_set_again(struct sight *s, uint32_t viewer, bool again);
