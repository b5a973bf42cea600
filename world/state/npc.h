/* world/state/npc.h: NPCs: what each is about, and which of them are awake.
 * An NPC is an entity of kind 1 that nobody speaks for. It sleeps while no player is near, and
 * costs nothing then: a coarse grid counts the players in each cell and in those around it, and
 * where that count leaves zero whoever stands in the cell wakes; one that is awake looks at its
 * cell's count and falls asleep where it is zero. Cells are as wide as sight at least, so all that
 * a player can see is awake, and some beyond. Those who sleep are seen as they stand.
 *
 * What an NPC does is a row of npc_kinds: its name in maps and one function that says what comes
 * next, each in a file of its own (npc_stand.c, npc_wander.c, npc_patrol.c).
 *
 * The name of an NPC need not be its own: ids tell entities apart, names only sessions.
 * In a cluster each NPC belongs to the zone in which its home lies, and is there while its world
 * has that zone; elsewhere it stands in the list without an entity. Pure. May touch: common,
 * world/state. On trouble: E_NOMEM at the start; nothing fails later.
 */
#pragma once

#include "common/rng.h"
#include "world/state/entity.h"
#include "world/state/map.h"
#include "world/state/scenes.h"

#define NPC_SIDE_MAX 1024 /* cells along an axis of a scene: they grow beyond sight instead */
#define NPC_NONE     UINT32_MAX

struct npc;

/* What an NPC has before it when it thinks. */
struct npc_view {
    double x, y;                    /* where it stands */
    const double *bounds;           /* of its scene; in a cluster of its zone */
    const struct ground *ground;    /* NULL: open */
    const struct map_place *points; /* of its route; those out of bounds are left out */
    bool tiles;                     /* it is walked by tiles */
    struct rng *rng;
};

/* What comes next: go somewhere, or stand for a while. */
struct npc_order {
    bool go, path;
    double x, y;     /* inside the scene */
    int64_t wait_ns; /* where it does not go */
};

/* Asked of one that is awake, stands, and has waited. */
typedef struct npc_order npc_think_fn(struct npc *n, const struct npc_view *v);

struct npc_kind {
    const char *name;
    npc_think_fn *think;
    bool routed; /* it needs a route */
};

extern const struct npc_kind npc_stand, npc_wander, npc_patrol;
/* The kind of this name; NULL: there is none. */
const struct npc_kind *npc_kind_find(struct span name);
/* Their names, with commas. */
#define NPC_KIND_WORDS "stand, wander, patrol"

struct npc {
    uint32_t slot;    /* NPC_NONE: it is not there */
    const char *name; /* borrowed; NULL: npc- and its number, from 1 */
    uint32_t scene;   /* its home, in this one */
    double x, y;
    uint32_t zone; /* of its home; without a cluster 0 */
    const struct npc_kind *kind;
    struct map_area area;           /* where it wanders; a point: anywhere around */
    const struct map_place *points; /* [n_route] borrowed */
    uint32_t n_route;
    uint32_t next;         /* point that it goes to */
    bool closed;           /* the route's end leads to its beginning; else it goes back and forth */
    bool back;             /* it is on its way back */
    bool rested;           /* it stood for a while since its last walk */
    double speed;          /* units a second */
    struct mono until;     /* it stands at least so long */
    uint32_t cell;         /* NPC_NONE: it never wakes */
    uint32_t above, below; /* in its cell: NPC_NONE: none */
    uint32_t awake_at;     /* index in awake + 1; 0: asleep */
};

/* The coarse cells of one scene. */
struct npc_field {
    double x0, y0, per_side;
    uint32_t nx, ny, first;
};

struct npcs {
    struct npc *list; /* [n] */
    uint32_t n, cap;
    uint32_t n_there; /* of them, those with an entity */
    uint32_t next;    /* the first that may have to come */
    struct mono wait; /* none comes before */
    uint32_t *awake;  /* [n_awake] indexes in list */
    uint32_t n_awake;
    struct npc_field fields[SCENES_MAX];
    uint32_t *near; /* [cells] players in a cell and the eight around it */
    uint32_t *head; /* [cells] the first NPC there; NPC_NONE: none */
    uint32_t *seen; /* [slots] cell + 1 where a player was counted; 0: not counted */
    uint32_t cells;
    struct rng rng;
};

/* For `cap` NPCs among `slots` entities; 0 takes no memory. `reach`: how far one sees, units.
 * E_NOMEM. */
int npcs_init(struct npcs *ns, uint32_t cap, uint32_t slots, const struct scenes *scenes,
              double reach, uint64_t seed) MUST_CHECK;
void npcs_fini(struct npcs *ns);
/* One more, which is not there yet; there must be room. Returns its index. */
uint32_t npcs_add(struct npcs *ns, const struct npc *n);
/* It has this entity, which stands at its home; asleep, unless a player is near. */
void npcs_come(struct npcs *ns, uint32_t i, uint32_t slot, struct entities *e);
/* It has none any more; the entity is alive, for the caller to remove. Returns its slot. */
uint32_t npcs_go(struct npcs *ns, uint32_t i, struct entities *e);

/* All have moved: count the players who came, went and moved since the last one (e->dirty and
 * e->dying); whoever has one near wakes. Again in a tick is fine. */
void npcs_count(struct npcs *ns, struct entities *e);
/* Note the cell of list[i] anew. Is a player near? */
bool npcs_watched(struct npcs *ns, uint32_t i, const struct entities *e);
/* It falls asleep, nobody seeing it any more: the last in `awake` takes its index there. */
void npcs_sleep(struct npcs *ns, uint32_t i, struct entities *e);
/* A free place for one in a scene, any of them as likely as another. */
void npcs_anywhere(struct npcs *ns, const struct scene *s, double *x, double *y);
