/* world/cluster/realm.h: a world's part of the cluster: zones, whose they are, and by slot what a
 * world alone does not need to know of its entities.
 * Every scene is cut alike; zones are numbered through all of them. Two distances matter:
 *
 *        own zone │ margin │ apron │               an own entity may stand here, not further
 *     ────────────┼────────┼───────┼────────────   handed over from `margin` on, held at `apron`
 *                 border
 *
 * so that what one of ours can see lies within R + H of apron, and the zones' reach is R + H and
 * two aprons: ours on one side, theirs on the other.
 * Where a zone goes to another world, its people stay with the old one until each is handed over:
 * they are strays. Of them a second zone tells, which lies in the same place and has no key: the
 * last owner tells of it under the epoch that it had, until nobody is in it any more.
 * Pure. May touch: common, proto, world/state, world/interest. On trouble: E_RANGE says why.
 */
#pragma once

#include "proto/cluster.h"
#include "world/cluster_door.h"
#include "world/cluster/zones.h"
#include "world/world.h"

#define REALM_WORLDS_MAX 256 /* of a cluster */
#define REALM_NOBODY     UINT32_MAX
#define REALM_NONE       UINT32_MAX
#define REALM_OWED       (UINT32_MAX - 1) /* who was told of it by another awaits a word */
#define REALM_SELF       0                /* its own number among the worlds */
#define REALM_IDS_MAX    (1u << 22)
#define REALM_PAST       4096 /* entities that were here lately */
#define REALM_PAST_NS    (PROTO_ID_REST_S / 2 * CLOCK_NS_PER_S)

/* What neighbours say of a zone, and what is told of one of ours. */
struct realm_zone {
    uint32_t owner; /* number of a world; REALM_NOBODY */
    uint32_t last;  /* who had it when it was not nobody's; REALM_NOBODY */
    uint32_t since; /* ours: since which tick */
    uint64_t epoch; /* of the owner's claim */
    uint64_t seq;   /* of the last border frame, sent or taken */
    /* Ours. */
    bool whole_wanted;
    bool given; /* up for another, who does not have it yet */
    /* Others'. */
    bool missing;    /* there was no room for some */
    bool synced;     /* all up to `seq` was taken */
    bool known;      /* a whole was taken, since this owner tells and we listen */
    uint32_t part;   /* of the whole that is being taken; 0: none */
    uint32_t mark;   /* of that whole */
    uint32_t tick;   /* the owner's, of the last frame; 0: none */
    uint32_t asked;  /* the tick in which a whole was asked for; 0: never */
    uint32_t silent; /* nobody's, or of strays: the tick of the last word; else 0 */
};

/* One that was here, or is elsewhere: what is said of it under a lower count is old. */
struct realm_past {
    uint32_t id, count;
    bool refused; /* it was never taken under this count, and will not be */
    struct mono until;
};

struct border;
struct handover;
struct registry;

struct realm {
    struct cluster_door door;
    uint32_t n_zones;           /* of all scenes; those of strays stand behind them, in order */
    uint32_t first[SCENES_MAX]; /* number of a scene's first zone */
    struct zones cut[SCENES_MAX];
    struct realm_zone *zones; /* [2 * n_zones] */
    char worlds[REALM_WORLDS_MAX][LINK_WORLD_MAX + 1];
    uint32_t n_worlds;
    double margin, apron; /* units */
    bool changed;         /* owners did, since borders were last told */
    struct mono ticked;   /* when the last tick was */

    /* [cap] by slot of an entity. */
    uint32_t *count;   /* how often it was handed over */
    uint32_t *home;    /* zone: of ours, whose it is; of a ghost, which tells of it */
    uint32_t *told;    /* ours: the zone that told neighbours of it; REALM_NONE, _OWED */
    uint32_t *gave;    /* the zone of ours that said of it last that it was handed over */
    uint32_t *gave_at; /* ... and in which tick */
    uint32_t
        *came_at; /* ours: the tick in which another world handed it over; 0: it was born here */
    uint32_t *pending; /* ghost: tick since which its zone is awaited to tell of it; 0: it did */
    uint32_t *mark;    /* ghost: the last whole that told of it */
    uint32_t *name;    /* ours: place of its name in the registry; REALM_NONE: it needs none */
    uint32_t mark_now;
    uint32_t n_pending; /* ghosts that are; an upper bound */

    struct realm_past *past; /* [REALM_PAST] by id */
    bool keyless;            /* keys cannot be asked for at present: no hand-over begins */
    struct border *border;
    struct handover *handover;
    struct registry *registry;
};

/* For a world whose other rooms stand. 0, E_NOMEM, or E_RANGE. */
int realm_create(struct world *w, const struct cluster_door *door, char *why,
                 size_t why_cap) MUST_CHECK;
void realm_destroy(struct realm *r); /* NULL is fine */

/* All zones are nobody's, and what was heard of anybody is forgotten. */
void realm_lose(struct realm *r);
/* An entity of ours came in, whose name has this place. */
static inline void realm_born(struct realm *r, uint32_t slot, uint32_t name)
{
    r->name[slot] = name;
    r->count[slot] = r->pending[slot] = r->came_at[slot] = 0;
    r->home[slot] = r->told[slot] = r->gave[slot] = REALM_NONE;
}
/* The number of the world of this id, which may be a new one; REALM_NOBODY: too many. */
uint32_t realm_world(struct realm *r, struct span id);
static inline struct span realm_world_id(const struct realm *r, uint32_t world)
{
    return span_text(r->worlds[world]);
}

/* Do we tell of it? */
static inline bool realm_owns(const struct realm *r, uint32_t zone)
{
    return zone != REALM_NONE && r->zones[zone].owner == REALM_SELF;
}
/* The zone of its strays. */
static inline uint32_t realm_strays(const struct realm *r, uint32_t zone)
{
    return zone % r->n_zones + r->n_zones;
}
static inline bool realm_is_strays(const struct realm *r, uint32_t zone)
{
    return zone >= r->n_zones && zone < 2 * r->n_zones;
}
/* Is there somebody in it who is another world's, though it is not his zone? */
static inline bool realm_has_others(const struct realm *r, uint32_t zone)
{
    uint32_t owner = r->zones[realm_strays(r, zone)].owner;

    return owner != REALM_NOBODY && owner != REALM_SELF;
}
uint32_t realm_zone_at(const struct realm *r, uint32_t scene, double x, double y);
uint32_t realm_scene_of(const struct realm *r, uint32_t zone);
/* x0, y0, x1, y1 of it. */
void realm_bounds(const struct realm *r, uint32_t zone, double out[4]);
/* How far an own entity stands outside of its home, units. */
double realm_out(const struct realm *r, uint32_t slot, const struct entities *e);
/* The zones beside one. */
uint32_t realm_around(const struct realm *r, uint32_t zone, uint32_t out[ZONES_NEAR_MAX]);
/* Have we anybody in this one or beside it, of which another tells? Then we listen to it. */
bool realm_listens(const struct realm *r, uint32_t zone);
/* How far the place lies outside of all own zones, units; HUGE_VAL: in no zone beside one. */
double realm_depth(const struct realm *r, uint32_t scene, double x, double y);
/* Is the place within reach of a zone that is not ours, or not ours alone? */
bool realm_is_border(const struct realm *r, uint32_t scene, double x, double y);
/* Whose an own entity is: an NPC's does not change while it is ours. Else the own zone where it
 * stands, else the one that had it, else one within the margin; else, if it is one, that of the
 * strays there, or of where it was; else any near. */
uint32_t realm_home(const struct realm *r, uint32_t slot, const struct entities *e);

/* It was handed over again, or ended after so many times: `count` and what is below is old.
 */
void realm_past_note(struct realm *r, uint32_t id, uint32_t count, struct mono now);
/* It is not taken under this count, now or ever. */
void realm_past_refuse(struct realm *r, uint32_t id, uint32_t count, struct mono now);
/* What is known of one of this id; NULL: nothing. */
const struct realm_past *realm_past_of(const struct realm *r, uint32_t id, struct mono now);
/* Is this count old news of one of this id, for who would hand it over? */
bool realm_is_past(const struct realm *r, uint32_t id, uint32_t count, struct mono now);
/* ... and for who tells of it: one that was not taken goes on elsewhere under that count. */
bool realm_is_gone(const struct realm *r, uint32_t id, uint32_t count, struct mono now);
