/* bot/swarm_bot.h: one bot of a swarm: how it comes in, walks, is thrown out and comes back.
 * May touch: common, proto, bot. On trouble: see swarm.h.
 *
 *   out ─► connecting ─► login ─► enter ─► in ─► leaving ─► done
 *    ▲         │           │        │       │
 *    └─────────┴───────────┴────────┴───────┘   lost: again after a while that doubles
 */
#pragma once

#include "bot/bot_client.h"
#include "bot/walker.h"

/* What a bot is there for. */
enum swarm_kind {
    SWARM_WALKER, /* honest */
    SWARM_DEAF,   /* walks until swarm_deafen, then never reads; once cut it stays out */
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
    struct mono bury; /* when a connection that it turned away from is closed */
    struct mono due;  /* of the next try; of going, where it churns */
    bool asked;       /* the try is under way */
    bool deaf;        /* it has stopped listening */
    bool away;        /* it was told that the world is away, and nothing since */
    unsigned tries;   /* in vain, one after the other */
    unsigned turn;    /* whose gateway's it is; the next one's after each loss */
    uint32_t id;      /* under which it is found by others' views; 0: none */
    bool has_stood;   /* somewhere, at all */
    double x, y;      /* where the server confirmed it last, on whichever connection */
    bool has_area;    /* its walker knows where to walk */
    struct walker walker;
    struct swarm_sent sent[SWARM_SENT];
    unsigned sent_next;
    char name[PROTO_NAME_MAX + 1];
};

/* A bot in the caller's memory, which is not connected yet. E_NOMEM. */
int swarm_bot_init(struct swarm_bot *b, struct swarm *s, uint32_t index,
                   enum swarm_kind kind) MUST_CHECK;
void swarm_bot_fini(struct swarm_bot *b); /* a zeroed one is fine */

/* Do what is due: connect, log in, enter, come or go. Called ten times a second or so. */
void swarm_bot_tend(struct swarm_bot *b, struct mono now);
/* Ask for the next step of its way. It has to be in the world. */
void swarm_bot_move(struct swarm_bot *b, struct mono now);
/* It loses its connection, by FIN, by RST or in silence, if it is in the world and reads; it will
 * take its entity back. */
void swarm_bot_drop(struct swarm_bot *b);
/* Of one bot, what swarm.h says of all. */
void swarm_bot_touch(struct swarm_bot *b);
bool swarm_bot_settled(const struct swarm_bot *b);
void swarm_bot_deafen(struct swarm_bot *b);
void swarm_bot_hear(struct swarm_bot *b);
void swarm_bot_leave(struct swarm_bot *b);
