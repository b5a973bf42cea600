/* world/world.h: a world: all its state, and no behaviour.
 * Everything hangs from here and is passed first. The core takes bodies, time and a seed, and
 * leaves bodies in the outbox: the same inputs give the same bytes on every machine.
 * May touch: the core's rooms. Never: sockets, clocks, files.
 */
#pragma once

#include "common/arena.h"
#include "common/hist.h"
#include "common/paces.h"
#include "common/rng.h"
#include "proto/aoi_move.h"
#include "proto/message.h"
#include "world/interest/ages.h"
#include "world/interest/alike.h"
#include "world/interest/events.h"
#include "world/interest/pack.h"
#include "world/interest/sight.h"
#include "world/outbox.h"
#include "world/schedule.h"
#include "world/session/auth.h"
#include "world/session/backlog.h"
#include "world/session/characters.h"
#include "world/session/session.h"
#include "world/state/entity.h"
#include "world/state/finder.h"
#include "world/state/id_pool.h"
#include "world/state/npc.h"
#include "world/state/scenes.h"
#include "world/state/walkers.h"
#include "world/cluster_door.h"
#include "world/world_metrics.h"

/* Ids beyond -max-entities that may be resting at one time. */
#define WORLD_IDS_RESTING  (1u << 20)
#define WORLD_NAMES_PACED  65536      /* names that -login-rate-name knows at once */
#define WORLD_ENTITIES_MAX (1u << 20) /* what -max-entities 0 means */

struct world_config {
    double aoi_radius;     /* units; > 0 */
    double aoi_hysteresis; /* units; >= 0 */
    int aoi_index;         /* enum places_index */
    const char *aoi_tiers; /* "30:1,100:4"; NULL or "": off; else the last radius is aoi_radius */
    uint64_t aoi_refresh;  /* ticks; 0 and 1: at every tick */
    uint64_t aoi_max;      /* entities a viewer knows; 0: off */
    uint64_t viewer_bytes; /* of records, a tick; 0: off */
    int64_t tick_ns;
    double max_speed;          /* units a second; > 0 */
    int64_t move_burst_ns;     /* 0: no cap */
    int walk;                  /* enum walkers_gait */
    double walk_speed;         /* units a second; 0: max_speed */
    int64_t walk_step_ns;      /* of the tile gait */
    int64_t tile_ns;           /* time that a tile takes */
    uint64_t walk_max_tiles;   /* of a step, along each axis */
    uint64_t path_budget;      /* nodes a tick, of all searches */
    uint64_t npcs;             /* that wander in the scene one enters who names none */
    uint64_t path_queue;       /* entities that may wait for a way */
    uint64_t update_interval;  /* ticks */
    double move_epsilon;       /* units */
    double dir_epsilon;        /* degrees */
    double quantum;            /* units; > 0 */
    uint64_t max_entities;     /* 0: WORLD_ENTITIES_MAX */
    uint64_t max_sessions;     /* 0: twice the entities */
    uint64_t max_pairs;        /* known pairs, in keys of the block */
    uint64_t session_requests; /* of a session in one tick; 0: off */
    int64_t resume_window_ns;  /* 0: off */
    const char *spawn;         /* line, uniform or x,y,r */
    double bounds[4];          /* x0, y0, x1, y1 units */
    const char *scene;         /* where one enters who names none; NULL or "": the open ground */
    uint64_t seed;
    int64_t save_every_ns;    /* 0: only when they leave */
    uint64_t login_rate;      /* a second; 0: off */
    uint64_t login_rate_name; /* a minute, of one name; 0: off */
    uint64_t fanout_bytes;    /* a second, of one session, times receivers; 0: off */
    int64_t login_wait_ns;    /* 0: no limit */
    uint64_t auth_checks;     /* tokens checked in a tick; 0: no limit */
};

/* What the core has, and asks, from outside. */
struct world_ops {
    outbox_drain_fn *drain; /* link frames to send */
    /* Bytes that nobody can guess, for keys; where there is a resume window. */
    void (*secret)(void *arg, void *out, size_t n);
    int64_t (*clock_ns)(void *arg); /* for the phases' times only; NULL: not timed */
    void *arg;
    const struct map *maps; /* [n_maps] a scene each; borrowed for the world's life */
    uint32_t n_maps;
    struct store_door store;     /* has an arg of its own */
    struct cluster_door cluster; /* has an arg of its own */
    struct auth_door auth;       /* so has this */
};

/* Where a viewer's batches go: what of its session a tick needs, side by side for all. */
struct world_route {
    struct link_ref link;
    uint64_t sid;
};

/* Groups of viewers who are told the same, while the caches bring what of their sessions that
 * needs; told together when there are many (world/interest/fanout). */
#define WORLD_GROUPS        64
#define WORLD_GROUP_VIEWERS 1024
#define WORLD_GROUP_MOVERS  2048
struct world_groups {
    struct {
        uint32_t viewers, n_viewers; /* in `viewers` */
        uint32_t movers, n_movers;   /* in `movers` */
    } groups[WORLD_GROUPS];
    uint32_t n, n_viewers, n_movers;
    uint32_t viewers[WORLD_GROUP_VIEWERS]; /* slots */
    uint32_t movers[WORLD_GROUP_MOVERS];   /* slots, each group's ascending by id */
};

/* What is told of each candidate of the block at hand (world/interest/fanout). */
struct world_fan {
    struct alike alike;
    struct world_groups groups;
    uint32_t block; /* its number; 0: none yet */
    uint64_t any;   /* all words of list.told, or-ed */
    struct pack_list list;
    struct pack_code code;
};

/* Sessions whose clients do not take all (world/interest/drain), in the order they became so. */
struct world_drains {
    struct session_ref *list; /* [n], room for all sessions */
    uint32_t n;
};

enum world_phase { PHASE_WALK, PHASE_GRID, PHASE_SIGHT, PHASE_EVENTS, PHASE_FANOUT, PHASE_COUNT };

/* What a tick changed of sight, and what all viewers know after it. */
enum world_book { BOOK_ADDS, BOOK_REMOVES, BOOK_KNOWN, BOOK_COUNT };

struct realm;
struct cluster_message;

/* Who hears what other worlds say of live maps: set by the edge. */
struct world_ear {
    void (*hear)(void *arg, const struct cluster_message *m, struct mono now); /* NULL: nobody */
    void *arg;
};

struct world {
    struct world_config config;
    struct world_ops ops;
    struct store_door store;
    struct motion_rules motion;
    double dir_epsilon; /* radians */

    struct rng rng;
    struct scenes scenes;
    struct entities entities;
    struct walkers walkers;
    struct finder finder;
    struct npcs npcs;
    struct lanes lanes[SCENES_MAX]; /* by scene; of those with ground */
    struct id_pool ids;
    struct sessions sessions;
    struct characters characters;
    struct backlog backlog; /* requests of sessions that are held */
    struct mono login_due;  /* see world/command/admit */
    struct paces names;     /* the same, of each name; all zero: off */
    uint64_t auth_checked;  /* tokens since the last tick began */
    const char *reason;     /* why the request at hand is refused, where its code says too little */
    struct world_route *routes; /* [entities.cap] of who is a viewer */
    struct sight sight;
    struct events events;
    struct aoi_move_tail *tells; /* [entities.cap] this tick's tail of who is told; len 0: none */
    uint8_t *jumped;             /* [entities.cap] it is told by remove and add this tick */
    uint32_t n_jumped;           /* such entities this tick */
    struct world_fan fan;
    struct known paused; /* what paused viewers were told: world/interest/pause */
    uint32_t n_paused;   /* sessions paused */
    struct world_drains drains;
    struct schedule schedule;
    struct outbox outbox;
    struct arena scratch; /* empty outside a tick and a request */
    struct message_reader *reader;

    uint32_t tick;   /* number of the last tick; the first is 1 */
    uint32_t lead;   /* in a cluster: what others are told of ticks counts so many more; it grows
                      * when ticks were left out, or another world is ahead */
    struct mono now; /* time of the last input or tick */
    struct world_metrics metrics;
    struct hist phase_ns[PHASE_COUNT];
    uint64_t phase_last_ns[PHASE_COUNT]; /* of the last tick */
    struct hist books[BOOK_COUNT];       /* pairs, one value a tick */
    struct hist tick_ns;
    struct ages ages;      /* of what viewers were told */
    struct realm *cluster; /* its part of one; NULL: it is alone */
    struct world_ear ear;
};

/* Scratch: the diffs of a tick, and what one viewer's batch needs of each entity beside them. */
#define WORLD_SCRATCH_BYTES (32u << 20)

/* The number of the last tick as clients and other worlds are told it. */
static inline uint32_t world_told_tick(const struct world *w)
{
    return w->tick + w->lead;
}

/* Check the rules that hold between flags; `why` gets the line without newline, naming the flag.
 * 0 or E_RANGE. */
int world_check(const struct world_config *c, char *why, size_t why_cap) MUST_CHECK;
/* All memory is taken here. 0, E_RANGE (see world_check; or maps that do not go together), E_NOMEM.
 */
int world_create(const struct world_config *c, const struct world_ops *ops, struct world **out,
                 char *why, size_t why_cap) MUST_CHECK;
void world_destroy(struct world *w); /* NULL is fine */
/* How many tiers its sight has; 1 without tiers. */
uint32_t world_tiers(const struct world *w);
/* Pairs of a viewer and one it knows. */
uint64_t world_known(const struct world *w);
/* Bring the gauges up to date before they are read. */
void world_gauges(struct world *w);
/* Everything that must hold between the rooms, asserted; costly, for tests and debug builds. */
void world_validate(const struct world *w);
