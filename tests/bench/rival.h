/* tests/bench/rival.h: the programs that are measured, and one round of one of them.
 * Knows how each is started, what its clients say first, and what stands behind it.
 * May touch: child, crowd, upstream, proto. On trouble: one line on standard error and exit 1.
 */
#pragma once

#include "tests/bench/child.h"
#include "tests/bench/crowd.h"
#include "tests/bench/upstream.h"

/* What the gateway's benchmarks are asked for. */
struct gate_args {
    uint64_t n; /* clients; 0: as many as the benchmark's own number */
    uint64_t ticks;
    double seconds;
    uint64_t runs;
    uint64_t pipeline; /* 0: 1 and 8 */
    const char *only;  /* programs, split by commas; "": all */
    const char *other; /* another build of aegis; "": none */
    const char *flags; /* more flags for the gateway, split at blanks */
    bool json;
};

#define RIVAL_REQUEST    32  /* bytes of a request and of a reply */
#define RIVAL_FRAME      700 /* bytes of what a tick brings one client, with its head */
#define RIVAL_FRAME_TEXT "700"

struct rig;

struct rival {
    const char *name;
    const char *program;          /* beside this one where it begins with "./", else on PATH */
    const char *missing;          /* what to say where it is not there */
    enum upstream_kind upstream;  /* what stands behind it */
    bool (*start)(struct rig *r); /* the child; false: it did not come up */
    crowd_hello_fn *hello;        /* arg is the rig */
    crowd_greeted_fn *greeted;    /* the same */
};

extern const struct rival rival_aegis;      /* clients log in */
extern const struct rival rival_aegis_ping; /* clients have only pinged */
extern const struct rival rival_aegis_ws;   /* clients log in over WebSocket */
extern const struct rival rival_aegis_tls;  /* clients log in under TLS */
extern const struct rival rival_aegis_wss;  /* clients log in over WebSocket under TLS */
extern const struct rival rival_other;      /* the program of -other */
extern const struct rival rival_fanout_alone, rival_fanout_link, rival_forward_mux, rival_idle_bare;
extern const struct rival rival_haproxy, rival_nginx, rival_nats;

/* One program with its clients and what stands behind it. */
struct rig {
    const struct rival *rival;
    const struct gate_args *args;
    uint32_t clients; /* at most */
    char path[1024];  /* of the program */
    struct pump pump;
    struct child child;
    struct upstream up;
    struct crowd crowd;
};

/* The pump's kinds. */
enum { RIG_CROWD, RIG_LISTENER, RIG_UPSTREAM };

/* Where the program is; false: not here. */
bool rival_find(const struct rival *rival, const struct gate_args *a, char *path, size_t cap);

/* Is it one of those that a machine may have in a form that is of no use here? */
bool rival_foreign(const struct rival *rival);

/* Does it start at all? Where not, its last words are on standard error. */
bool rig_try(const struct rival *rival, const struct gate_args *a);
/* Start it, without clients. */
void rig_start(struct rig *r, const struct rival *rival, const struct gate_args *a,
               uint32_t clients, crowd_data_fn *data, void *arg);
/* `n` clients more, greeted. */
void rig_connect(struct rig *r, uint32_t n);
void rig_end(struct rig *r);
/* Go on for so long. */
void rig_run(struct rig *r, int ms);

/* A request of client `i`, a whole SayReq, and the answer that comes from behind this program; both
 * with number `k` where rival_number puts it. */
void rival_request(uint8_t out[RIVAL_REQUEST], uint32_t i);
void rival_reply(const struct rival *rival, uint8_t out[RIVAL_REQUEST], uint32_t i);
void rival_number(uint8_t request[RIVAL_REQUEST], uint32_t k);
