/* tests/cluster_rig.h: several worlds of one cluster in one process, and a gateway for them all.
 * World k owns zone k of each scene. Messages between worlds lie in a carrier, which may delay,
 * double and drop them; the gateway has a link to each world, keeps a note for each client, and
 * follows redirects as a gateway does. Each client has a view (tests/rig_view) which holds what it
 * gets to the contract; any breach, or answer out of order, fails the test at hand.
 * May touch: the world's core, proto. Never: what is inside a world, but to read its entities.
 *
 *   world ─► outbox ─► down [FIFO a world] ─► gateway ─► clients
 *   clients ─► gateway ─► up [FIFO a world] ─► inbox ─► world
 *   world ─► cluster_door_ops ─► carrier ─► courier ─► world
 */
#pragma once

#include "common/rng.h"
#include "proto/link.h"
#include "tests/cluster_rig_names.h"
#include "tests/cluster_rig_queue.h"
#include "tests/cluster_rig_store.h"
#include "tests/rig_view.h"
#include "world/cluster/realm.h"
#include "world/cluster/registry.h"
#include "world/world.h"

#define CRIG_WORLDS_MAX  4
#define CRIG_CLIENTS_MAX 256
#define CRIG_NONE        UINT32_MAX

struct crig_world {
    struct crig *rig;
    uint32_t number;
    char id[16];
    struct world *world;
    bool dead; /* it neither ticks nor hears */
    struct link_ref link;
    struct crig_queue up, down; /* frames of the link, without their heads */
    struct rng secrets;
};

struct crig_client {
    bool open;
    uint32_t world; /* where its requests go */
    uint64_t sid;
    uint32_t sent, answered; /* seq of the last request, of the last answer */
    uint32_t id;             /* of EnterResp; before that, of LoginResp */
    double x, y;             /* of the last answer that said so */
    uint32_t puts;           /* EnterResps unasked */
    uint32_t moved;          /* redirects followed */
    uint32_t bound;          /* times it was sent away, and bound elsewhere */
    bool congested;
    uint32_t errors;      /* answers that were ErrorNotify */
    uint32_t lost;        /* ErrorNotify 13 unasked: answers may be lost */
    uint32_t last_code;   /* of the last error */
    uint32_t closed_code; /* of a close, where it is not open any more */
    uint8_t note[LINK_NOTE_MAX];
    uint32_t note_bytes;
    char name[16];
    char resume[2 * SESSION_KEY_BYTES + 1]; /* of LoginResp */
    bool resumed;
    struct rig_view view;
};

/* How badly messages between worlds travel; all 0: at once, in order. */
struct crig_weather {
    uint32_t delay;      /* steps at most */
    uint32_t drop;       /* of 1000 */
    uint32_t twice;      /* of 1000 */
    bool disorder;       /* they overtake each other */
    uint32_t link_delay; /* of frames of links, which never are lost; steps at most */
};

struct crig {
    struct crig_world worlds[CRIG_WORLDS_MAX];
    uint32_t n_worlds, nx, ny;
    struct mono now;
    uint64_t step; /* deliveries are counted by it; some to a tick */
    struct crig_queue carrier;
    struct crig_names names;
    struct crig_store store;
    struct crig_weather weather;
    bool cut[CRIG_WORLDS_MAX]; /* nothing reaches it, or leaves it, but by its link */
    struct rng rng;
    struct crig_client *clients; /* [CRIG_CLIENTS_MAX] */
    uint32_t n_clients;
    struct message_reader *reader;
    char context[96];
    uint64_t told;     /* bodies to clients */
    uint64_t messages; /* between worlds */
    /* Called when all worlds have ticked, before anything of that is delivered. */
    void (*ticked)(void *arg);
    void *arg;
};

/* rig_config for a cluster: R 30, margin 4, scene of -240 to 240. */
struct world_config crig_config(void);
/* nx * ny worlds, each with its zone, whose clients come in in the middle of it. */
struct crig *crig_create(const struct world_config *c, uint32_t nx, uint32_t ny, double margin);
/* The same with a store. */
struct crig *crig_create_stored(const struct world_config *c, uint32_t nx, uint32_t ny,
                                double margin);
void crig_destroy(struct crig *r);
/* A link frame of the gateway to a world; for the rig's own files. */
void crig_frame_up(struct crig *r, uint32_t world, const struct span_writer *w);
/* Deliver all that is due, and whatever that leads to at once. */
void crig_deliver(struct crig *r);
/* A tick's length passes, in so many steps; all worlds tick, in an order of chance; then deliver.
 */
void crig_tick(struct crig *r, uint32_t n);
/* Whose zone: a world's number, or CRIG_NONE. All worlds are told. */
void crig_zone(struct crig *r, uint32_t zone, uint32_t world, uint64_t epoch);

/* A client of this world; it is logged in. */
uint32_t crig_login(struct crig *r, uint32_t world, const char *name);
/* The same by a key, NULL: none; nothing is delivered yet. */
uint32_t crig_login_by(struct crig *r, uint32_t world, const char *name, const char *key);
/* ... and inside, at its spawn. */
uint32_t crig_join(struct crig *r, uint32_t world, const char *name);
/* ... and has come to this place, in steps that are legal. */
uint32_t crig_join_at(struct crig *r, uint32_t world, const char *name, double x, double y);
/* Requests; delivered with the next crig_deliver. */
void crig_send(struct crig *r, uint32_t client, struct message *m);
void crig_send_nil(struct crig *r, uint32_t client, uint32_t cmd);
void crig_move(struct crig *r, uint32_t client, double x, double y, double dir, double speed);
void crig_walk(struct crig *r, uint32_t client, double x, double y);
void crig_say(struct crig *r, uint32_t client, const char *text);
/* Its connection is lost. */
void crig_close(struct crig *r, uint32_t client);
void crig_congestion(struct crig *r, uint32_t client, bool on);
/* Stand one elsewhere at once, inside its world's zone, as the game might: no speed counts. */
void crig_put(struct crig *r, uint32_t client, double x, double y);

/* The world that acts for the entity of this id: CRIG_NONE: none. `slot` in it. Fails the test
 * where there are two. */
uint32_t crig_owner(const struct crig *r, uint32_t id, uint32_t *slot);
/* Its ghost in this world, if any. */
bool crig_ghost(const struct crig *r, uint32_t world, uint32_t id, uint32_t *slot);
bool crig_knows(const struct crig *r, uint32_t client, uint32_t other);
/* Everything that must hold inside of each world. */
void crig_validate(const struct crig *r);
