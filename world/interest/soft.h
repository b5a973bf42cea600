/* world/interest/soft.h: sight that knows more of what is near: tiers, refresh, caps, budgets.
 * The third way beside masks and lists (world/interest/sight), for a world with one of the flags
 * -aoi-tiers, -aoi-refresh, -aoi-max, -viewer-bytes. Then all viewers are held so; a world without
 * them never comes here.
 *
 *   tiers     rings around a viewer, the nearest told at every tick, the outer ones seldom. Each
 *             pair of a viewer and one it knows has a turn (tier and phase); a new pair gets the
 *             phase in which its viewer has the fewest, and a turn that carries too many gives the
 *             excess away while it is told. So a turn carries at most n / interval + 1 pairs, n
 *             being the most that the tier had in its last interval; and none is ever told late
 *             for the sake of balance, since who is given away was told just now.
 *   refresh   who is in sight is looked up every so many ticks; those known are told at each turn,
 *             wherever they walked.
 *   max       the nearest are kept; somebody else must be nearer by a margin to take a place.
 *   bytes     records wait where a tick's bytes are spent: the one that has waited longest goes
 *             first, as if those at the rim had begun to wait SOFT_SLACK ticks later. After
 *             SOFT_SLACK ticks nobody can overtake any more, so the worst wait is that, and the
 *             ticks that one round of all who wait takes.
 *
 * Where all of a nearest tier are told at every tick and no bytes are counted, what a viewer was
 * told of them is what was told to all in the tick before: nothing is kept of it, one tail serves
 * all, and a turn is a distance and a copy. That is most of what a crowd costs.
 *
 * What was weighed: phases by the subject, the same for all its viewers, would make looking up and
 * telling one pass, but then a viewer's turns carry what chance gave them. A cursor over the ids
 * shares evenly without phases, but newcomers ahead of it make the rest late.
 * Pure. May touch: common, world. On trouble: where the block of pairs is full, newcomers wait for
 * their next turn, counted in `deferred`.
 *
 *   wire_decide ─► soft_tick: index ─► viewer by viewer: find ─► choose ─► tell
 */
#pragma once

#include "common/arena.h"
#include "common/base.h"
#include "proto/aoi_move.h"
#include "world/state/entity.h"
#include "world/state/scenes.h"

#define SOFT_TIERS_MAX   8
#define SOFT_PARTS_MAX   250 /* phases of all tiers together */
#define SOFT_ALWAYS_MAX  8   /* ids that an entity sees before all others */
#define SOFT_SLACK       16  /* ticks that one at the rim lets the nearest go first */
#define SOFT_BYTES_MIN   64  /* a tick: the least budget; a head and a record fit */
#define SOFT_SAVED_TICKS 2   /* budgets at most that an idle viewer saves */
#define SOFT_OWED_TICKS  4   /* budgets at most that enters and leaves may use in advance */
#define SOFT_CAP_SHARE   0.1 /* a newcomer must be nearer by this share of its distance, */
#define SOFT_CAP_UNITS   1.0 /* and by this, to take the place of one who is kept */

struct sight;
struct world;
struct world_config;

struct soft_rules {
    uint32_t n_tiers;               /* at least 1 */
    double radius[SOFT_TIERS_MAX];  /* units, ascending; the last one is the sight radius */
    uint32_t every[SOFT_TIERS_MAX]; /* ticks, ascending */
    double hysteresis;              /* units, past the last radius */
    uint32_t refresh;               /* ticks; 1: at every tick */
    uint32_t max;                   /* entities a viewer knows at most; 0: off */
    uint64_t viewer_bytes;          /* of records, a tick; 0: off */
};

/* "30:1,100:4,240:20", radii and intervals ascending. 0, or E_BAD; `why` has a reason. */
int soft_tiers_read(const char *text, struct soft_rules *out, char *why, size_t why_cap) MUST_CHECK;

/* All rules of a world. 0, or E_BAD; `why` has a reason, about -aoi-tiers. */
int soft_rules_of(const struct world_config *c, struct soft_rules *out, char *why,
                  size_t why_cap) MUST_CHECK;

/* What one viewer was last told of one entity. */
struct soft_told {
    int32_t qx, qy; /* quanta */
    uint32_t since; /* tick of that; while it waits for bytes: since when it waits */
    uint16_t gen;   /* low bits of the slot's generation */
    uint8_t dir, speed;
};

/* What a turn needs to know of an entity, in one line of the cache. */
struct soft_body {
    _Alignas(64) double x;
    double y;                  /* of this tick, both */
    struct entity_wire wire;   /* as it is told in this tick */
    uint32_t tick;             /* of its last change */
    struct aoi_move_tail tail; /* of that change, for all who were told what was so before */
    uint32_t run;              /* tick of the first of the changes that came one upon the other */
    uint32_t settled;          /* tick in which one was shown it, so that it changed after all, */
    uint32_t settled_by;       /* the place of that one among the viewers, */
    uint8_t tell;              /* of that tail; 0: there is none */
    uint8_t scene;
};

/* What viewers were told of an entity until it was settled in the middle of a tick: those before
 * the one who was shown it hear of it in the next tick. It may be settled again in that. */
struct soft_settled {
    struct entity_wire before, before_that;
    uint32_t last, last_by; /* tick of the time before, and who was shown it then */
};

struct soft_viewer;
struct soft_field;

struct soft {
    struct soft_rules rules;
    uint32_t cap;                  /* slots */
    uint32_t n_parts;              /* phases of all tiers */
    uint32_t base[SOFT_TIERS_MAX]; /* first part of a tier */
    uint8_t tier_of[SOFT_PARTS_MAX];
    bool by_look; /* who is in sight is looked up viewer by viewer; else turn by turn */

    /* The block of pairs, in chunks: side by side by index. */
    uint64_t *keys; /* world/interest/known */
    struct soft_told *told;
    uint8_t *part; /* whose turn it is; or a word of soft_list.h */
    uint64_t room, fresh;
    uint64_t free[32];
    uint64_t *order; /* [cap] for compacting */
    bool full;       /* somebody found no room in this tick */

    uint64_t *bits;      /* see soft_list.h */
    uint32_t bits_slots; /* 0: none */

    struct soft_viewer *viewers; /* [cap] by slot */
    uint32_t *load;              /* [cap * n_parts] pairs of each part */
    uint32_t *seat;              /* [n_seats] viewers, in the order they came */
    uint32_t n_seats;
    uint32_t global[SOFT_PARTS_MAX];               /* pairs of each part, of all viewers */
    struct soft_body *bodies;                      /* [cap] by slot */
    struct soft_settled *settled;                  /* [cap] by slot */
    uint32_t tick;                                 /* the last one */
    uint32_t seat_now;                             /* of the viewer at hand */
    struct soft_field *fields[SOFT_TIERS_MAX + 1]; /* index of a tier's turn; last: of all */
    struct soft_work *work;

    uint64_t pairs, added, removed, cleared, holds, deferred; /* as sight's */
    uint64_t hidden;                                          /* pairs in sight but not told */
    uint32_t n_capped;                                        /* viewers of whom some are hidden */
    uint32_t n_limited;    /* viewers whose records waited in the last tick */
    uint64_t bytes_waited; /* of records that had to wait, since the start */
    uint32_t worst_wait;   /* ticks, of the last tick */
};

/* Is there anything in the rules for which sight has to be soft? */
bool soft_wanted(const struct soft_rules *rules);
/* `cap` slots, `max_pairs` pairs of all viewers; the scenes say where the index lies. E_NOMEM. */
int soft_create(const struct soft_rules *rules, const struct scenes *scenes, uint32_t cap,
                uint64_t max_pairs, struct soft **out) MUST_CHECK;
void soft_destroy(struct soft *s); /* NULL is fine */

/* As sight's functions of these names; a viewer that is held is told nothing until its release,
 * and then what is so. */
void soft_watch(struct soft *s, uint32_t viewer);
void soft_forget(struct soft *s, uint32_t viewer);
void soft_afresh(struct soft *s, uint32_t viewer);
void soft_blind(struct soft *s, uint32_t viewer);
void soft_hold(struct soft *s, uint32_t viewer);
void soft_release(struct soft *s, uint32_t viewer);
bool soft_watches(const struct soft *s, uint32_t slot);
bool soft_knows(const struct soft *s, uint32_t viewer, uint64_t key);
/* out: [cap] keys, ascending. Returns how many. */
uint32_t soft_list(const struct soft *s, uint32_t viewer, uint64_t *out);
uint32_t soft_knowers(const struct soft *s, uint64_t key, uint32_t *out);

/* What the viewer's client takes, in bytes a tick, where that is less than -viewer-bytes; 0: it
 * takes all. Raised to SOFT_BYTES_MIN. Outside a tick; a world without these flags ignores it. */
void soft_drain(struct world *w, uint32_t viewer, uint32_t bytes_per_tick);
/* With -aoi-max: the viewer keeps this id before all others, wherever it stands in sight. 0,
 * E_FULL (SOFT_ALWAYS_MAX ids), or E_BAD: not a viewer of such a world. Again is fine. */
int soft_always_add(struct world *w, uint32_t viewer, uint32_t id) MUST_CHECK;
void soft_always_remove(struct world *w, uint32_t viewer, uint32_t id);

/* A whole tick, after wire_decide: who is in sight, what is told, the batches. */
void soft_tick(struct world *w);
/* Enter its books into sight's. */
void soft_books(const struct soft *s, struct sight *into);
/* The books, asserted. */
void soft_validate(const struct soft *s, const struct entities *e);
