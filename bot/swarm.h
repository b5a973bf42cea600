/* bot/swarm.h: many bots in one loop: they log in, enter, walk about, and come back by themselves
 * when they are thrown out.
 * Each bot's view is held against the contract; what they do and what they are told is counted.
 * A bot's name is prefix-kind-number.
 * May touch: common, proto, bot. Never: standard output.
 * On trouble: errors are counted by code, breaches too, and logged at a bounded rate.
 *
 *   out ─► connecting ─► login ─► enter ─► in ─► leaving ─► done
 *    ▲         │           │        │       │
 *    └─────────┴───────────┴────────┴───────┘   lost: again after a while that doubles
 */
#pragma once

#include "bot/bot_client.h"
#include "bot/walker.h"
#include "common/hist.h"

/* What a bot is there for. */
enum swarm_kind {
    SWARM_WALKER, /* honest */
    SWARM_DEAF,   /* enters and never reads again; once cut it stays out */
    SWARM_DRIP,   /* walks, but writes a byte at a time */
    SWARM_CHURN,  /* walks, and goes and comes again and again, politely or not */
    SWARM_KINDS
};

enum swarm_state {
    SWARM_OUT,        /* not connected; again when due */
    SWARM_CONNECTING, /* being connected */
    SWARM_LOGIN,      /* connected; LoginReq is sent, or will be when due */
    SWARM_ENTER,      /* logged in; EnterReq is sent, or will be when due */
    SWARM_IN,
    SWARM_LEAVING, /* LeaveReq is sent; then a while of listening */
    SWARM_DONE
};

/* Moves that are remembered of each bot, to measure how long the news of them took. */
#define SWARM_SENT 8
/* Ids above this are not measured; ids stay small by contract. */
#define SWARM_ID_MAX (1u << 22)
/* Codes counted one by one; larger ones are counted together with this one. */
#define SWARM_CODE_MAX 31
/* Bytes of a prefix that stand in the names; the rest is cut. */
#define SWARM_PREFIX_MAX 16

struct swarm;

struct swarm_sent {
    int64_t qx, qy; /* quanta */
    int64_t at_ns;  /* monotonic; 0: none */
};

struct swarm_bot {
    struct swarm *swarm;
    uint32_t index;
    enum swarm_kind kind;
    enum swarm_state state;
    struct bot_client *client;
    const struct bot_client_facts *facts;
    struct mono due; /* of the next try; of going, where it churns */
    bool asked;      /* the try is under way */
    bool deaf;       /* it has stopped listening */
    bool away;       /* it was told that the world is away, and nothing since */
    unsigned tries;  /* in vain, one after the other */
    uint32_t id;     /* under which it is found by others' views; 0: none */
    bool has_area;   /* its walker knows where to walk */
    struct walker walker;
    struct swarm_sent sent[SWARM_SENT];
    unsigned sent_next;
    char name[PROTO_NAME_MAX + 1];
};

struct swarm_count {
    uint64_t moves;                     /* MoveReqs sent */
    uint64_t moves_ok;                  /* MoveResps */
    uint64_t moves_late;                /* due, but left out: the loop or the server was behind */
    uint64_t logins;                    /* LoginResps */
    uint64_t lost;                      /* connections that ended, or could not be made */
    uint64_t churned;                   /* times that one who churns went */
    uint64_t deaf_cut;                  /* deaf ones whose connection was ended */
    uint64_t deaf_slow;                 /* of these, those told so by Bye 16 */
    uint64_t errors;                    /* ErrorNotifies, all codes */
    uint64_t error[SWARM_CODE_MAX + 1]; /* by code */
    uint64_t byes;
    uint64_t breaches;
};

/* What is summed over all bots; see swarm_told. */
struct swarm_told {
    uint64_t adds, removes, moves; /* records taken in */
    uint64_t frames, bytes_in, bytes_out;
};

struct swarm_config {
    const char *addr;   /* borrowed */
    const char *prefix; /* of the names, borrowed */
    uint32_t n[SWARM_KINDS];
    double rate;       /* moves a second of each */
    double login_rate; /* logins a second of all; 0: off */
    uint64_t seed;
    int64_t timeout_ns; /* of connecting */
};

/* Plain, so that modes can look at everything; only swarm_* writes it. */
struct swarm {
    struct swarm_config config;
    struct loop *loop;             /* borrowed */
    struct message_reader *reader; /* borrowed */
    struct loop_timer *timer;
    struct swarm_bot *bots; /* [n] kind after kind */
    uint32_t n;
    uint32_t *by_id; /* [by_id_cap] index + 1 of the bot with this id; 0: nobody */
    uint32_t by_id_cap;
    struct rng rng;
    bool resting;  /* nobody moves */
    bool stopping; /* nobody comes back */
    uint32_t in_world;
    struct mono stepped; /* the last step of the timer */
    double moves_owed, logins_owed;
    uint32_t move_next, tend_next; /* whose turn it is */
    struct swarm_count counted;
    struct hist latency; /* ns from a move to a neighbour's notice */
};

/* Starts at once. Owns what it makes, borrows loop and reader. E_NOMEM. */
int swarm_create(struct loop *l, struct message_reader *reader, const struct swarm_config *config,
                 struct swarm **out) MUST_CHECK;
void swarm_destroy(struct swarm *s); /* NULL is fine */

/* Nobody moves, comes or goes (on), or all go on. */
void swarm_rest(struct swarm *s, bool on);
/* Is it at rest as far as its own doing goes: nothing is on its way to the server, and nothing is
 * waited for? Deaf ones are not asked. A predicate for bot_client_run_until. */
bool swarm_settled(void *swarm);
/* Ask each for the place where it stands already. The answer comes behind all that the world has
 * told before; it changes nothing. Not for those who drip. */
void swarm_touch(struct swarm *s);
/* The deaf ones listen again, so that they notice their end. */
void swarm_hear(struct swarm *s);
/* All who are in the world leave it, the rest goes; nobody comes back. */
void swarm_leave(struct swarm *s);
/* A predicate for bot_client_run_until: has everybody left? */
bool swarm_left(void *swarm);

/* The bot whose entity has this id; NULL: none of ours. */
struct swarm_bot *swarm_find(const struct swarm *s, uint32_t id);
/* The bot of this name; NULL: none of ours. */
struct swarm_bot *swarm_find_name(const struct swarm *s, struct span name);

void swarm_sum(const struct swarm *s, struct swarm_told *out);
