/* proto/cluster.h: what worlds of one cluster say to each other (internal).
 * One message is one MessagePack array, [kind, ...], without a length before it: what carries it
 * keeps messages apart. Zones are numbered through all scenes, which every world of a cluster has
 * in the same order. May touch: common, proto. msgpack-c in cluster_write.c only.
 * On trouble: E_BAD for whatever is not exactly a message; a writer that is full says so.
 *
 *   border      [0, zone, epoch, seq, tick, part, more, [event, ...]]
 *     full        [0, entity, count, kind, name, x, y, dir, speed]
 *     moved       [1, entity, count, x, y, dir, speed]
 *     gone        [2, entity, count]                     out of reach, or ended
 *     handed      [3, entity, count, zone, x, y, dir, speed]   that zone tells of it from now on
 *     say         [4, entity, text]
 *   ask         [1, world, zone]                         a whole border frame is wanted
 *   bye         [2, zone, epoch]                         nobody is told of by this zone any more
 *   prepare     [3, world, entity, count, ...soul]       see below
 *   accept      [4, world, entity, count]
 *   refuse      [5, world, entity, count, reason, final]
 *   switch      [6, world, entity, count, ...soul]
 *   confirm     [7, world, entity, count]
 *   late        [8, world, entity, count, number, body]
 *   late end    [9, world, entity, count, number, cut]
 *   late taken  [10, world, entity, count, number]
 *   ended       [11, entity]                             whose id it was may let it rest
 *   seek        [12, world, name, number, want, key]     to who holds the name
 *   found       [13, world, name, number, verdict, entity, inside]
 *   announce    [14, world, reach, scene, x0, y0, x1, y1, text]   an operator's
 *   watch       [15, world, scene]                       somebody there looks at a live map
 *   shown       [16, world, scene, frame]                for who watches: all that is ours in it
 *
 *   soul  zone from, epoch, zone to, epoch, tick, bits, kind, name, x, y, dir, speed, credit,
 *         walk's x, y, speed, key, told, token
 *
 * `world` is who says it, so that it can be answered. `count` is how often the entity was handed
 * over, this time included; it tells an old message from a new one. `token` is the revision of the
 * name's key as the giver holds it; who takes the entity takes the name from there. A border frame
 * holds the changes of a tick (`part` 0), or everybody: part 1, 2, ... of a whole, and whoever is
 * in none of them is gone. `more` is set where the tick or the whole goes on in the next frame.
 * `told` is what the entity's client knows, as records of CLUSTER_TOLD bytes, ascending by id,
 * whole numbers in little-endian order:
 *
 *   [ id u32 ][ x i32 quanta ][ y i32 quanta ][ dir u8 ][ speed u8 ]
 */
#pragma once

#include "common/err.h"
#include "common/span.h"
#include "proto/limits.h"

enum cluster_kind {
    CLUSTER_BORDER,
    CLUSTER_ASK,
    CLUSTER_BYE,
    CLUSTER_PREPARE,
    CLUSTER_ACCEPT,
    CLUSTER_REFUSE,
    CLUSTER_SWITCH,
    CLUSTER_CONFIRM,
    CLUSTER_LATE,
    CLUSTER_LATE_END,
    CLUSTER_LATE_TAKEN,
    CLUSTER_ENDED,
    CLUSTER_SEEK,
    CLUSTER_FOUND,
    CLUSTER_ANNOUNCE,
    CLUSTER_WATCH,
    CLUSTER_SHOWN,
    CLUSTER_KINDS
};

/* What for a name is sought, whose key another world holds. */
enum cluster_want {
    CLUSTER_LOGIN, /* who waits without a connection may be ended */
    CLUSTER_OWNER, /* a token was shown: whoever has it is to be ended */
    CLUSTER_RESUME /* the session of this key */
};

/* Where the name is being given up there is no answer: it is soon to be had. */
enum cluster_verdict {
    CLUSTER_IN_USE,  /* by somebody who stays */
    CLUSTER_NOT_KEY, /* its key is another */
    CLUSTER_GOES_ON  /* the session waits there for who has the key */
};

#define CLUSTER_REACHES                                                       \
    4 /* of an announcement: everybody, a scene, a rectangle, a cell of sight \
       */

#define CLUSTER_MESSAGE_MAX 524288 /* bytes of a message */
#define CLUSTER_SHOWN_MAX   262144 /* bytes of a frame of a live map */
#define CLUSTER_KEY         16     /* bytes of a resume key */
#define CLUSTER_TOLD        14     /* bytes of a record */
#define CLUSTER_TOLD_MAX    16384  /* records */

enum cluster_event_kind { CLUSTER_FULL, CLUSTER_MOVED, CLUSTER_GONE, CLUSTER_HANDED, CLUSTER_SAY };

/* An entity in a border frame. */
struct cluster_event {
    enum cluster_event_kind kind;
    uint32_t id;
    uint32_t count;          /* all but say */
    uint32_t zone;           /* handed */
    uint8_t entity_kind;     /* full */
    struct span name;        /* full: 1 to PROTO_NAME_MAX bytes */
    struct span text;        /* say: 1 to PROTO_SAY_MAX bytes */
    double x, y, dir, speed; /* full, moved, handed */
};

enum cluster_soul_bit {
    CLUSTER_INSIDE = 1, /* it is in the world; else a session that is to enter at x, y */
    CLUSTER_CLIENT = 2, /* its client is there, and will be attached */
    CLUSTER_AFRESH = 4, /* its client is to forget all: EnterResp unasked */
    CLUSTER_ENTERS = 8, /* not inside, and enters unasked */
    CLUSTER_WALKS = 16, /* to walk_x, walk_y */
    CLUSTER_PATH = 32,  /* by a way */
    CLUSTER_HAS_KEY = 64,
    CLUSTER_ARRIVED = 128 /* it was put into the portal it stands in */
};
#define CLUSTER_SOUL_BITS 255u

/* All that goes with an entity. */
struct cluster_soul {
    uint32_t zone_from, zone; /* whose it was, whose it shall be */
    uint64_t epoch_from, epoch;
    uint32_t tick; /* its client was told of none above this */
    uint32_t bits; /* enum cluster_soul_bit */
    uint8_t kind;
    struct span name; /* 1 to PROTO_NAME_MAX bytes */
    double x, y, dir, speed;
    double credit; /* seconds */
    double walk_x, walk_y, walk_speed;
    struct span key;  /* CLUSTER_KEY bytes, or none */
    struct span told; /* records */
    uint64_t token;   /* of the name's key; 0: none yet */
};

struct cluster_message {
    enum cluster_kind kind;
    struct span world;  /* who says it: 1 to LINK_WORLD_MAX bytes; not in border, bye, ended */
    uint32_t id, count; /* of an entity */
    uint32_t zone;      /* border, ask, bye */
    uint64_t epoch;     /* border, bye */
    uint64_t seq;       /* border */
    uint32_t tick;      /* border */
    uint32_t part;      /* border: 0: changes; else of a whole */
    bool more;          /* border */
    uint32_t n_events;  /* border */
    struct span events; /* border: take with cluster_event_take */
    bool final; /* refuse: of a switch, that it never was taken under this count, nor will be */
    uint32_t reason;  /* refuse: a PE_* */
    uint32_t number;  /* late: from 1; late end: the last; late taken: all up to it; seek, found: of
                       * the question */
    bool cut;         /* late end: there were more, which are lost */
    struct span body; /* late: 1 to PROTO_BATCH_MAX bytes; shown: at most CLUSTER_SHOWN_MAX, as
                       * world/edge/watch_copy has it */
    struct cluster_soul soul;     /* prepare, switch */
    struct span name;             /* seek, found: 1 to PROTO_NAME_MAX bytes */
    enum cluster_want want;       /* seek */
    struct span key;              /* seek: CLUSTER_KEY bytes, or none */
    enum cluster_verdict verdict; /* found */
    bool inside;      /* found, goes on: the entity of `id` stands there; else it may enter */
    uint32_t reach;   /* announce: below CLUSTER_REACHES */
    uint32_t scene;   /* announce, watch, shown: its number */
    double place[4];  /* announce: x0 <= x1, y0 <= y1; of a cell a place in it, twice */
    struct span text; /* announce: 1 to PROTO_SAY_MAX bytes */
};

/* Spans lie in the message; events are sound. 0 or E_BAD. */
int cluster_read(struct span message, struct cluster_message *out) MUST_CHECK;
/* The next event of a border frame that was read; E_SHORT at the end. */
int cluster_event_take(struct span *rest, struct cluster_event *out) MUST_CHECK;

/* Append a message, but a border frame. */
void cluster_write(struct span_writer *w, const struct cluster_message *m);

/* A border frame is laid event by event: begin, put, end. */
struct cluster_border {
    struct span_writer *w;
    size_t more_at, count_at; /* what is known at the end */
    uint32_t n;
};
#define CLUSTER_EVENT_MAX (64 + PROTO_SAY_MAX) /* bytes of one at most */
struct cluster_border cluster_border_begin(struct span_writer *w, const struct cluster_message *m);
void cluster_border_put(struct cluster_border *b, const struct cluster_event *e);
void cluster_border_end(struct cluster_border *b, bool more);

/* One record of `told`. */
struct cluster_told {
    uint32_t id;
    int32_t qx, qy;
    uint8_t dir, speed;
};
void cluster_told_put(uint8_t out[CLUSTER_TOLD], const struct cluster_told *t);
struct cluster_told cluster_told_get(const uint8_t in[CLUSTER_TOLD]);
