/* gateway/uplink.h: the link to the world: dialled until it is there, watched while it is.
 * Speaks hello and ping by itself and hands up the rest of the envelope; where there is a key, both
 * ends show that they have it first. May touch: common, proto/frame, proto/link, proto/link_proof,
 * conn. Never: clients, sessions, bodies.
 *
 *   IDLE ─► DIALLING ─► HELLO ─► (PROOF) ─► READY ─► (lost) IDLE ...
 *    ▲ backoff │ failed   │          │ silent, or said something else
 *    └─────────┴──────────┴──────────┘
 *
 * On trouble: whatever ends a link is one reason; a reason is logged when it is new, and once a
 * while as a summary, never once an attempt. Time is handed in at each step.
 */
#pragma once

#include "common/clock.h"
#include "common/keys.h"
#include "common/io/stream.h"
#include "common/rng.h"
#include "gateway/conn.h"
#include "gateway/gateway_metrics.h"
#include "proto/link.h"
#include "proto/link_proof.h"

#define UPLINK_BACKOFF_MIN_NS (100 * CLOCK_NS_PER_MS)
#define UPLINK_BACKOFF_MAX_NS                                           \
    (1500 * CLOCK_NS_PER_MS) /* service is back within 2 s of the world \
                              */
#define UPLINK_DIAL_TIMEOUT_NS (2 * CLOCK_NS_PER_S)
#define UPLINK_STEADY_NS       (5 * CLOCK_NS_PER_S)  /* ready for this long: backoff starts anew */
#define UPLINK_SUMMARY_NS      (10 * CLOCK_NS_PER_S) /* between lines while the world is away */

enum uplink_state {
    UPLINK_IDLE,     /* waits for the next attempt */
    UPLINK_DIALLING, /* a connection is being made */
    UPLINK_HELLO,    /* connected; the world has not answered our hello */
    UPLINK_PROOF,    /* we showed our key; the world has not shown its */
    UPLINK_READY,    /* bodies can flow */
    UPLINK_ENDING,   /* finished by us; its connection's end is awaited */
    UPLINK_OVER      /* no more attempts */
};

/* What an uplink needs of the process. */
struct uplink_ops {
    /* Begin to connect; exactly one of uplink_connected and uplink_failed follows later, unless
     * dial_cancel comes first. 0, or E_*. */
    int (*dial)(void *arg);
    void (*dial_cancel)(void *arg);
    /* Bytes that nobody can guess. Only where there are keys. */
    void (*secret)(void *out, size_t n);
};

/* What it tells its user. */
struct uplink_user {
    void (*ready)(void *arg);
    /* A link that was ready is gone. */
    void (*lost)(void *arg, const char *reason);
    /* Data, data many, close, note, redirect. The bodies are borrowed until `settle`. */
    void (*frame)(void *arg, const struct link_frame *f);
    /* No more frames for now: what it was told of stays valid until this returns, unless `lost`
     * comes first. Four readable bytes and more stand in front of each body. */
    void (*settle)(void *arg);
    /* The queue to the world went above the soft limit, or has drained. */
    void (*pressure)(void *arg, bool on);
};

struct uplink {
    /* Filled in by the caller of uplink_init. */
    const char *upstream; /* for log lines; borrowed, as are all below */
    struct span id;       /* of this gateway, for the hello */
    struct span expect;   /* the id of the world that is to be there; empty: any */
    struct keys *keys;    /* of the link, the first one counts; NULL: none */
    int64_t silence_ns;   /* a world silent for so long is away; 0: never */
    const struct conn_ops *conn_ops;
    const struct uplink_ops *ops;
    void *ops_arg;
    const struct uplink_user *user;
    void *user_arg;
    struct gateway_metrics *metrics;

    enum uplink_state state;
    struct stream *conn; /* HELLO, PROOF, READY, ENDING */
    struct rng rng;
    struct mono now;         /* of the last step */
    struct mono heard;       /* when the world last said anything */
    struct mono pinged;      /* when we last pinged */
    struct mono ready_since; /* READY */
    struct mono next_dial;   /* IDLE */
    struct mono summary;     /* the last line about the world being away */
    int64_t backoff_ns;
    uint64_t ping;               /* the last one's number */
    uint32_t attempts;           /* since the world was last there */
    const char *broken;          /* why this link is to end at the next step; NULL: it is not */
    const char *told;            /* the reason that was logged last; NULL: none since it was up */
    char world[LINK_ID_MAX + 1]; /* its id, from its hello */
    struct key key;              /* HELLO, PROOF: what this link is to be proved by; n 0: nothing */
    struct link_meeting meeting; /* where there is a key */
};

/* The fields above `state` are set, the rest is zeroed here. The first dial is at the first step.
 */
void uplink_init(struct uplink *u, uint64_t seed);
/* Ends everything at once. */
void uplink_fini(struct uplink *u);

/* Time has come to `now`: dial, ping, give up. Called every 100 ms or so. */
void uplink_step(struct uplink *u, struct mono now);

/* The dial's outcome. `conn` was made with uplink_stream_ops and this uplink as its argument. */
void uplink_connected(struct uplink *u, struct stream *conn);
/* `why` lives for ever (a literal, or strerror's). */
void uplink_failed(struct uplink *u, const char *why);

bool uplink_ready(const struct uplink *u);

/* Queue whole link frames; `frames` says how many. 0, or E_CLOSED: the link is not ready, or has
 * just reached its hard limit and ends at the next step. */
int uplink_write(struct uplink *u, struct span bytes, uint32_t frames) MUST_CHECK;

/* End politely: what is queued is sent first. uplink_over tells when that is done. */
void uplink_finish(struct uplink *u, int64_t linger_ns);
bool uplink_over(const struct uplink *u);

/* What the connection calls; the argument is the struct uplink. */
extern const struct stream_ops uplink_stream_ops;
