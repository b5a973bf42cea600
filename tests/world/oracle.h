/* tests/world/oracle.h: brute force against the world's sight.
 * Players do seeded, nasty things; after every tick each client's view is compared with what all
 * pairs of exact places say, and with what the contract says of moves told late. It keeps its own
 * memory of who knows whom, and shares no code with the world.
 * May touch: tests/world_rig, common/rng. On trouble: the test ends, naming seed, round and tick.
 */
#pragma once

#include "common/rng.h"
#include "tests/world/plain_map.h"
#include "tests/world_rig.h"

#define ORACLE_PLAYERS_MAX 300
#define ORACLE_SCENES_MAX  4
#define ORACLE_FAST        1e7               /* units a second: any jump is legal */
#define ORACLE_TURN        6.283185307179586 /* 2π */

/* What a player may do in its turn. */
enum oracle_act {
    ORACLE_STAY,
    ORACLE_STEP,    /* some units */
    ORACLE_TINY,    /* less than the thresholds */
    ORACLE_FACE,    /* dir or speed alone */
    ORACLE_JUMP,    /* anywhere in the area */
    ORACLE_EDGE,    /* to the very edge of somebody's sight, or a hair beside it */
    ORACLE_BORDER,  /* to a border of cells, or a hair beside it */
    ORACLE_RIM,     /* to the rim of the scene */
    ORACLE_JOINT,   /* with somebody who sees it, far away together */
    ORACLE_BACK,    /* away and back within the tick */
    ORACLE_SAY,     /* a line for all who know it */
    ORACLE_REFUSED, /* a move that is refused */
    ORACLE_LEAVE,   /* LeaveReq; it may enter again in the same tick */
    ORACLE_CLOSE,   /* the connection is lost */
    ORACLE_PAUSE,   /* its client stops draining, or drains again */
    ORACLE_DROP,    /* the connection is lost, and the entity waits; or another one takes over */
    ORACLE_HOP,     /* the world puts it elsewhere: in another scene, or in its own */
    ORACLE_ACTS
};

#define ORACLE_TIERS_MAX 4

/* The rules of soft sight; n_tiers 0: it is not soft. */
struct oracle_soft {
    uint32_t n_tiers;
    double radius[ORACLE_TIERS_MAX];
    uint32_t every[ORACLE_TIERS_MAX];
    uint32_t refresh, max;
    uint64_t viewer_bytes;
    bool searched; /* without bits of who is known */
    char tiers[128];
};

struct oracle_rules {
    double radius, hysteresis, quantum, move_epsilon, dir_epsilon; /* as in the config */
    uint64_t update_interval;
    double max_speed; /* units a second; below ORACLE_FAST some moves are refused */
    bool tight;       /* scratch that masks do not fit into; no hysteresis, no pauses, no hops */
    double bounds[4]; /* of the open ground */
    uint32_t maps;    /* scenes beside it, with portals between them */
    double area;      /* units around a scene's middle where most of it happens */
    double lattice;   /* places are multiples of this; 0: anything */
    uint32_t n_min, n_max; /* players */
    uint32_t ticks;        /* of a round, before the rest */
    uint32_t turns;        /* of a player in a tick, at most */
    uint32_t links;        /* gateways */
    uint32_t window;       /* ticks that a lost connection's entity waits; 0: none does */
    uint8_t weight[ORACLE_ACTS];
    struct oracle_soft soft;
};

struct oracle_player {
    uint32_t s; /* the rig's session */
    bool open, inside;
    bool paused, resumed; /* its client does not drain; it drains again since the last tick */
    bool waiting;         /* inside, without a connection */
    struct mono until;    /* where waiting */
    uint32_t id;
    uint32_t scene, puts;    /* the truth; EnterResps that it was sent unasked */
    double x, y, dir, speed; /* the truth */
    char name[16];
    char key[RIG_KEY_BYTES + 1]; /* of its session */
};

/* What a viewer was told of a subject. */
struct oracle_pair {
    uint32_t id;      /* 0: does not know it */
    uint32_t late;    /* ticks since which it is not told what is so */
    double x, y, dir; /* exact, when it was last told */
    bool rough;       /* by an add, or in a pause: others were told the same on the wire, maybe from
                       * elsewhere in the       same quantum, and it is their telling that changes are
                       * measured       from */
};

struct oracle_past; /* what was so, and since when: oracle_soft.c */
struct oracle_seen;

struct oracle {
    struct oracle_rules rules;
    struct rig *rig;
    struct rng rng;
    uint64_t seed;
    uint32_t worlds, round, n;
    struct map maps[ORACLE_SCENES_MAX - 1];
    double bounds[ORACLE_SCENES_MAX][4]; /* by scene */
    struct oracle_player *players;       /* [ORACLE_PLAYERS_MAX] */
    struct oracle_pair *pairs;           /* [n * n] viewer by subject */
    struct oracle_past *past;            /* with soft sight */
    struct oracle_seen *seen;
    uint64_t removes[ORACLE_PLAYERS_MAX]; /* told to each before the tick at hand */
};

/* R = 30, the contract's defaults, all acts but the pauses. */
struct oracle_rules oracle_rules(void);
/* Anything goes. */
struct oracle_rules oracle_random_rules(struct rng *rng);

/* Rounds for one of the oracle's tests: its share of AEGIS_ORACLE_ROUNDS (10,000), divided
 * by `weight` where a round is long. */
uint32_t oracle_rounds(uint32_t weight);
/* Run so many rounds in one world after the other; `rules` NULL: random ones for each world. */
void oracle_run(const struct oracle_rules *rules, uint64_t seed, uint32_t rounds);

/* The parts of a round, each in its file. */
bool oracle_chance(struct oracle *o, uint32_t of_100);
void oracle_come(struct oracle *o, struct oracle_player *p);
void oracle_leave(struct oracle *o, struct oracle_player *p);
void oracle_lose(struct oracle *o, struct oracle_player *p);
void oracle_pause(struct oracle *o, struct oracle_player *p);
void oracle_resume(struct oracle *o, struct oracle_player *p);
void oracle_act(struct oracle *o);
/* The world put it somewhere else: it forgot everybody. */
void oracle_put(struct oracle *o, struct oracle_player *p);
void oracle_judge(struct oracle *o);
void oracle_judge_rest(const struct oracle *o);
/* What is explained to operators is so. */
void oracle_explain(const struct oracle *o);

/* The same for soft sight: random rules of it, beside the others; the memory for a world; a tick;
 * the ticks until all is exact; and that it is. */
struct oracle_rules oracle_soft_rules(struct rng *rng);
void oracle_soft_begin(struct oracle *o);
void oracle_soft_end(struct oracle *o);
void oracle_soft_before(struct oracle *o);
void oracle_soft_judge(struct oracle *o);
uint32_t oracle_soft_rest(const struct oracle *o);
void oracle_soft_judge_rest(const struct oracle *o);
/* So many worlds of one round, each with rules of its own. */
void oracle_soft_run(uint64_t seed, uint32_t worlds);
