/* world/state/entity.h: the entities of a world, in arrays by field, indexed by slot.
 * An entity keeps its slot when it changes scene; places of two scenes are not to be compared.
 * Hot fields that a tick runs over lie in arrays of their own; the rest in `cold`. A bit says that
 * an entity is marked, a list says in what order. Pure. May touch: common, proto/limits,
 * world/ids, world/state. On trouble: full is E_FULL; stale refs are a normal answer.
 */
#pragma once

#include "common/slots.h"
#include "common/table.h"
#include "common/span.h"
#include "proto/limits.h"
#include "world/ids.h"
#include "world/state/motion.h"

/* What the wire says of an entity, as whole numbers: equal here is equal there. */
struct entity_wire {
    int32_t qx, qy; /* quanta */
    uint8_t dir, speed;
};

/* What viewers were last told, and since when something else is true. */
struct entity_told {
    struct entity_wire wire;
    double x, y, dir;       /* exact, at that time */
    uint32_t pending_since; /* tick; 0: nothing waits */
};

struct entity_cold {
    char name[PROTO_NAME_MAX];
    uint8_t name_len; /* bytes */
    uint8_t kind;     /* 0 player, 1 NPC */
    struct session_ref session;
};

enum entity_flag {
    ENTITY_DIRTY = 1, /* on the dirty list */
    ENTITY_MOVED = 2, /* its place changed since the last tick */
    ENTITY_NEW = 4,   /* no tick has seen it */
    ENTITY_DYING = 8, /* it ended; its slot is kept until a tick has seen that */
    ENTITY_AWAY = 16, /* it is out of the world and may come back: see entities_doze */
    ENTITY_GHOST = 32 /* another world's: see entities_ghost */
};

struct entities {
    struct slots slots;
    uint32_t cap;             /* slots: twice max, since the dying keep theirs for a tick */
    uint32_t max;             /* alive at one time */
    double *x, *y;            /* [cap] units */
    double *dir;              /* [cap] radians in [0, 2π) */
    double *speed;            /* [cap] units a second */
    uint8_t *scene;           /* [cap] number of the scene it stands in */
    uint8_t *arrived;         /* [cap] it was put into a portal, which takes it once it has left */
    uint32_t *id;             /* [cap] 0: no entity */
    uint8_t *flags;           /* [cap] */
    uint32_t *seen_new;       /* [cap] the tick in which a viewer was last told of it by an add */
    struct entity_told *told; /* [cap] */
    struct motion *motion;    /* [cap] */
    struct entity_cold *cold; /* [cap] */
    uint32_t *alive;          /* [alive_count] slots, dense */
    uint32_t *alive_at;       /* [cap] index in alive */
    uint32_t alive_count;
    uint32_t ghost_count;          /* of the alive */
    uint32_t away_count;           /* out of the world, with a place kept for them */
    uint32_t in_scene[SCENES_MAX]; /* alive or away, ghosts apart, by scene */
    uint32_t *dying;               /* [dying_count] slots */
    uint32_t dying_count;
    /* [dirty_count] slots, each once, in the order they became so. Who ended stays listed until
     * the tick, without its ENTITY_DIRTY. */
    uint32_t *dirty;
    uint32_t *dirty_at; /* [cap] where a slot stands in dirty, if it does */
    uint32_t dirty_count;
    bool indexed;       /* by_id finds all but the dying */
    struct table by_id; /* id to slot */
};

/* `max` alive at one time. E_NOMEM. */
int entities_init(struct entities *e, uint32_t max) MUST_CHECK;
void entities_fini(struct entities *e);

/* Have entities found by id, from the first one on. E_NOMEM. */
int entities_index(struct entities *e, uint64_t seed) MUST_CHECK;
/* The one of this id, which may be away, but not dying; entities are indexed. */
bool entities_by_id(const struct entities *e, uint32_t id, uint32_t *slot);

struct entity_birth {
    uint32_t id;
    uint8_t kind;
    struct span name; /* at most PROTO_NAME_MAX bytes; copied */
    struct session_ref session;
    uint32_t scene; /* number, below SCENES_MAX */
    double x, y;
    struct mono now;
};

/* A new one: at rest, facing 0, marked new and dirty. 0 or E_FULL. */
int entities_add(struct entities *e, const struct entity_birth *b,
                 struct entity_ref *out) MUST_CHECK;
/* End it; it must be alive. One that a tick has seen keeps its slot, dying, until entities_bury. */
void entities_remove(struct entities *e, struct entity_ref ref);
/* Out of the world as if it ended, until entities_rise: nobody finds it, no list has it. It keeps
 * its slot, id, place and everything else, and counts among `max`, so that it can always come back;
 * not before a tick has seen it go. */
void entities_doze(struct entities *e, struct entity_ref ref);
/* Back again: as a new one, where it was. */
void entities_rise(struct entities *e, uint32_t slot);
/* Is there no place for one more? */
bool entities_full(const struct entities *e);
/* Give back the slots of the dying. */
void entities_bury(struct entities *e);
/* Alive; neither dying nor away. */
bool entities_find(const struct entities *e, struct entity_ref ref, uint32_t *slot);
struct entity_ref entities_ref(const struct entities *e, uint32_t slot);
/* Stand it elsewhere, in any scene; it is marked as moved. */
void entities_put(struct entities *e, uint32_t slot, uint32_t scene, double x, double y);
/* It is another world's from now on, told of here; or (`on` false) it is ours. */
void entities_ghost(struct entities *e, uint32_t slot, bool on);
static inline bool entities_is_ghost(const struct entities *e, uint32_t slot)
{
    return (e->flags[slot] & ENTITY_GHOST) != 0;
}
/* Put it on the dirty list, with further flags. */
void entities_mark(struct entities *e, uint32_t slot, uint8_t flags);
