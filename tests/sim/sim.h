/* tests/sim/sim.h: several worlds of a cluster in one process, and everything that can go wrong.
 * Their machines (world/cluster/member) run over a simulated store of keys, network, clocks and
 * store of characters. Time jumps from event to event, all that happens by chance comes from one
 * seed, and after each event sim_judge looks whether what must hold does.
 *
 *   sim.c         events, worlds, the way to the store of keys and back
 *   sim_fate.c    what happens to worlds, to the store and to the network
 *   sim_people.c  characters: logins, saves, hand-overs, by the machine of names
 *   sim_judge.c   what must hold, after each event and at the end
 *
 * May touch: world/cluster, common. On trouble: the first breach ends the run, and says what it
 * was.
 */
#pragma once

#include "common/rng.h"
#include "tests/sim_kv.h"
#include "world/cluster/member.h"

#define SIM_WORLDS 6 /* places for worlds */
#define SIM_ZONES  8
#define SIM_PEOPLE 6
#define SIM_BLOCKS 4096

#define SIM_MS     CLOCK_NS_PER_MS
#define SIM_LEASE  (1000 * SIM_MS)
#define SIM_GUARD  (100 * SIM_MS)
#define SIM_RENEW  (250 * SIM_MS)
#define SIM_SETTLE (200 * SIM_MS)
#define SIM_STEP   (20 * SIM_MS)
#define SIM_WAIT   (600 * SIM_MS)   /* for an answer of the store of keys */
#define SIM_FAULTS (12000 * SIM_MS) /* so long things go wrong */
#define SIM_MENDED (4500 * SIM_MS)  /* so long after that every zone is somebody's */
#define SIM_MOVE   (150 * SIM_MS)   /* but for one that moves, for so long at most */
#define SIM_END    (12000 * SIM_MS) /* and so long after, all is at rest */

/* Errors that are planted in what stands between the machines and the outside. */
enum sim_plant {
    PLANT_NONE,
    PLANT_FROM_ANSWER,  /* the lease is counted from the answer */
    PLANT_NO_CHECK,     /* output leaves without asking whether it may */
    PLANT_BLIND_RENEW,  /* a renewal is written whatever the revision */
    PLANT_NO_WAIT,      /* others are buried long before their lease has ended */
    PLANT_LOST_IS_DONE, /* a lost compare-and-set is taken for a done one */
    PLANT_NO_FENCE,     /* the store of characters takes saves of old tokens */
    PLANT_OLD_FRAMES,   /* neighbours take frames of old epochs */
    PLANT_EARLY_GUEST,  /* who is handed over acts before its name was taken */
    PLANT_OPEN_AT_ONCE, /* a new generation counts at once */
    PLANT_COUNT
};

struct sim;
struct sim_event;
typedef void sim_event_fn(struct sim *s, struct sim_event *e);

/* Where a person is at a world. */
enum sim_mode {
    MODE_NONE,
    MODE_ASKING,  /* logs in: the name is asked for */
    MODE_LOADING, /* the name is ours, its row is asked for */
    MODE_LIVE,
    MODE_OFFERED, /* handed over, not confirmed */
    MODE_BACK,    /* taken back */
    MODE_TAKING,  /* handed over to here */
    MODE_LEAVING, /* the last save is under way */
    MODE_RELEASING
};

struct sim_person {
    enum sim_mode mode;
    uint64_t version; /* how often it did something */
    uint64_t from;    /* the token it was handed over at, here */
    uint32_t to;      /* OFFERED: to this world */
    int64_t since, said, saved;
};

struct sim_world {
    bool up, online, draining;
    uint32_t life;       /* grows with each start and end */
    uint32_t connection; /* to the store of keys */
    struct member m;
    uint32_t term; /* of the member, as the people know it */
    char id[3];
    int64_t offset; /* of its clock, ns */
    double rate;    /* of its clock */
    int64_t paused_until, cut_until;
    int64_t told_at; /* of the last entry on its way: they keep their order */
    int64_t quits_at;
    struct sim_person people[SIM_PEOPLE];
};

/* A character's row, and what is known of it. */
struct sim_row {
    uint64_t generation, token; /* the fence */
    uint64_t version;
    uint64_t acked; /* the highest version whose save was confirmed */
    uint64_t truth; /* what it last did, wherever it was */
};

struct sim_event {
    int64_t at;
    uint64_t seq;
    sim_event_fn *fn;
    uint32_t world, life, connection, person, other;
    uint64_t generation, token, version;
    union {
        struct kv_command command;
        struct kv_result result;
        struct kv_entry entry;
    } u;
};

struct sim {
    uint64_t seed;
    enum sim_plant plant;
    struct rng rng;
    int64_t now; /* true time */
    uint64_t seq;
    struct sim_event **heap;
    uint32_t n_events, heap_cap;

    struct sim_kv kv;
    bool kv_down;
    uint64_t wipes;
    struct sim_world worlds[SIM_WORLDS];
    struct sim_row rows[SIM_PEOPLE];
    uint64_t accepted[SIM_ZONES], accepted_generation; /* the highest epoch of frames taken */
    struct {
        uint64_t generation, first;
    } blocks[SIM_BLOCKS];
    uint32_t n_blocks;
    int64_t owned_at[SIM_ZONES]; /* last that it was somebody's */
    bool calm;                   /* nothing goes wrong any more */

    /* What happened, so that nobody can say that nothing did. */
    uint64_t events, claims, burials, pauses, crashes, refused_saves, refused_frames, handed, backs,
        refused_worlds, moves, held_still;
    char breach[256]; /* "": none */
};

/* Run one seed. Breach or not stands in `breach`. */
void sim_run(struct sim *s, uint64_t seed, enum sim_plant plant);

/* --- for its parts ---------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) void sim_breach(struct sim *s, const char *fmt, ...);
bool sim_chance(struct sim *s, double p);
/* Uniform in [low, high) ns. */
int64_t sim_between(struct sim *s, int64_t low, int64_t high);
/* An event after `delay`; the caller fills in more. */
struct sim_event *sim_after(struct sim *s, int64_t delay, sim_event_fn *fn, uint32_t world);
struct mono sim_clock(const struct sim *s, const struct sim_world *w);
/* To a world that is up in this life; held back while it is paused. False: the event was put off,
 * or there is nobody. */
bool sim_reaches(struct sim *s, struct sim_event *e);
void sim_start(struct sim *s, uint32_t world, uint32_t id);
void sim_stop(struct sim *s, uint32_t world);
void sim_connect(struct sim *s, uint32_t world);
void sim_disconnect(struct sim *s, uint32_t world);

void sim_fate_begin(struct sim *s);
/* Where all that the world held became void, its people are gone. */
void sim_people_lose(struct sim *s, uint32_t world);
void sim_people_step(struct sim *s, uint32_t world);
void sim_frame(struct sim *s, uint32_t world, uint32_t zone, int64_t delay);
void sim_judge(struct sim *s);
void sim_judge_end(struct sim *s);
