/* gateway/clients.h: all clients by slot, what they share, and their deadlines.
 * May touch: common, proto, client, wheel, transport, conn. Never: uplink, relay, sockets.
 * On trouble: full is a Bye 13 to the one too many; when even those are too many, E_FULL.
 */
#pragma once

#include "common/slots.h"
#include "common/trace.h"
#include "gateway/addresses.h"
#include "gateway/client.h"
#include "gateway/conn.h"
#include "gateway/drains.h"
#include "gateway/gateway_metrics.h"
#include "gateway/transport.h"
#include "gateway/wheel.h"

/* Connections beyond the limit that may be reading their Bye 13; above that they are shut without
 * one. */
#define CLIENTS_REFUSED_MAX 256

struct clients_limits {
    uint32_t clients_max; /* >= 1 */
    uint32_t frame_max;   /* bytes of a body */
    size_t queue_hard;    /* bytes queued for one client, its Bye apart; 0: off */
    struct rate_limit rate;
    uint32_t idle_ms, login_ms, frame_ms, slow_ms; /* 0: off */
    int64_t linger_ns;
    uint32_t visitors_max;   /* connections that may become clients; 0: all are clients at once */
    uint32_t proxied_max;    /* connections whose proxy's header is awaited */
    uint32_t handshakes_max; /* TLS handshakes under way; 0: none ever */
};

/* What clients need of the process. */
struct clients_ops {
    /* Milliseconds, modulo 2^32, for the rate. */
    uint32_t (*now_ms)(void *arg);
    /* Call clients_reap at the end of this turn. */
    void (*reap_soon)(void *arg);
};

/* What clients tell whoever stands between them and the world. */
struct clients_world {
    /* Requests in order, 1 to LINK_BODIES_MAX; borrowed until return. */
    void (*forward)(void *arg, struct client *c, const struct span *bodies, uint32_t n);
    /* Its queue went above the soft limit, or has drained. */
    void (*congestion)(void *arg, struct client *c, bool on);
    /* It does not take all that it is sent, but so many bytes a second; 0: it takes all again. */
    void (*drained)(void *arg, struct client *c, uint64_t bytes_per_s);
    /* It asks no more: call client_parted when the world has answered all that it asked. */
    void (*part)(void *arg, struct client *c);
    /* It is no longer served. Once a client. */
    void (*gone)(void *arg, struct client *c);
};

/* What the limits are held against: shared by the threads of a process, whose limits are one. */
struct clients_total {
    _Atomic uint32_t open;     /* clients that are served */
    _Atomic uint32_t live;     /* connections, those that are ending among them */
    _Atomic uint32_t visiting; /* of those, what is no client, or not yet */
    _Atomic uint32_t shaking;  /* of those, whose TLS handshake is under way */
};

struct clients {
    struct clients_limits limits;
    const struct transport_ops *transport; /* borrowed, as all below */
    struct ws_reader *ws;                  /* NULL: no client is framed by transport_ws */
    const struct conn_ops *conn;
    const struct clients_ops *ops;
    void *ops_arg;
    const struct clients_world *world;
    void *world_arg;
    struct span id;      /* of this gateway, for the log; borrowed */
    const uint32_t *gen; /* [slots.cap] generations of sessions, by slot; the relay's */
    struct trace trace;
    struct client *traced; /* NULL: nobody */
    struct gateway_metrics *metrics;
    struct addresses *addresses; /* NULL: none is watched */
    struct clients_total *total; /* NULL before clients_init: `own` */
    struct clients_total own;

    struct slots slots;
    struct client **by_slot;       /* [slots.cap] owned */
    struct transport_part **parts; /* [slots.cap] owned; NULL where `ws` is */
    uint32_t *address;             /* [slots.cap] owned, of `addresses`; NULL where that is */
    struct wheel wheel;
    struct drains drains;
    uint8_t *scratch; /* [scratch_cap] a body that we write ourselves */
    size_t scratch_cap;
    uint32_t dead;      /* first slot to be reaped; WHEEL_NONE: none */
    uint32_t open;      /* clients that are served here */
    uint32_t awake_ms;  /* time in which we could have listened; see clients_step */
    uint32_t turned_ms; /* up to where the wheel has been turned */
    bool world_up;      /* requests can be forwarded; kept by the relay */
    bool paused;        /* nobody is read; kept by clients_pause */
};

/* `all` comes with limits, transport, ws, conn, ops and metrics filled in, the rest zero; `world`
 * may be set later, before the first client. E_NOMEM. */
int clients_init(struct clients *all) MUST_CHECK;
/* Clients that are served, in all threads. */
uint32_t clients_open(const struct clients *all);
/* One more of them, unless there are `clients_max`. For client.c. */
bool clients_enter(struct clients *all);
/* One visitor more, unless there are `visitors_max`. */
bool clients_visit(struct clients *all);
void clients_visit_end(struct clients *all);
/* One connection more that is no client yet, and counts as one that is live; false: there is no
 * room. */
bool clients_hold(struct clients *all);
void clients_release(struct clients *all);
/* One less. For client.c. */
void clients_leave(struct clients *all);
/* Every connection ends at once. */
void clients_fini(struct clients *all);

/* Room for a connection from `peer` (text, copied). 0; E_FULL; E_NOMEM. client_start or
 * clients_drop follows. */
int clients_add(struct clients *all, const char *peer, struct client **out) MUST_CHECK;
/* It came from there, where addresses are watched: `address` is given up with it. */
void clients_came_from(struct clients *all, const struct client *c, uint32_t address);
/* May it log in now, as far as its address goes? */
bool clients_may_login(struct clients *all, const struct client *c, uint32_t now_ms);
/* Take back a client that never started. */
void clients_drop(struct clients *all, struct client *c);

/* Free the dead. */
void clients_reap(struct clients *all);
/* For client.c: `c` is DEAD now. */
void clients_bury(struct clients *all, struct client *c);

/* The client that is OPEN in this slot; NULL: none. */
struct client *clients_find(const struct clients *all, uint32_t slot);

/* `ms` more have passed in which clients were listened to: a process that was stopped, or does
 * not read because the link is full, counts no silence against them. */
void clients_step(struct clients *all, uint32_t ms);

/* Stop reading everybody, or go on; time does not count against them meanwhile. */
void clients_pause(struct clients *all, bool paused);

/* Bye to all that are OPEN. */
void clients_bye(struct clients *all, uint32_t code, enum client_end end);

/* What there is of all of them now. Cost: all slots ever used. */
struct clients_sum {
    uint64_t queued;      /* bytes */
    uint64_t queued_most; /* bytes, of the client that has most */
    uint32_t slow;        /* clients above the soft limit */
};
struct clients_sum clients_summed(const struct clients *all);
