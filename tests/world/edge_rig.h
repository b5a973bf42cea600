/* tests/world/edge_rig.h: a world behind its edge, and fake gateways, over real sockets in one
 * loop. A gateway says what a test wants; the world is the real one. May touch: world, common/io,
 * Criterion.
 */
#pragma once

#include "common/io/net.h"
#include "common/io/stream.h"
#include "proto/link.h"
#include "proto/message.h"
#include "world/edge/world_link.h"

#define EDGE_PATIENCE_NS (20 * CLOCK_NS_PER_S) /* a test that waits longer has failed */
#define EDGE_TURN_NS     (20 * CLOCK_NS_PER_MS)
#define GATE_KEPT_BYTES  65536
#define GATE_SENT_MAX    4096

struct edge {
    struct loop *loop;
    struct opts *texts;
    struct world_options options;
    struct edge_metrics metrics;
    struct world_link *link;
    struct world *world;
    bool drained;
};

/* A fake gateway. */
struct gate {
    struct edge *edge;
    struct net_dialer *dialer;
    struct stream *stream;
    bool over;     /* the world closed */
    bool careless; /* what it gets is dropped */
    uint8_t kept[GATE_KEPT_BYTES];
    size_t n_kept;
    uint8_t frame[GATE_KEPT_BYTES]; /* the last frame that was waited for */
};

void edge_init(struct edge *r, const char *link_timeout);
void edge_fini(struct edge *r);
/* Turn until the counter has this value, or the flag is set; else the test fails. */
void edge_until(struct edge *r, const uint64_t *counter, uint64_t value);
void edge_until_true(struct edge *r, const bool *flag);

/* Begins to connect; the connection comes with the turns of the loop. */
struct gate *gate_dial(struct edge *r);
/* Connected, nothing said. */
struct gate *gate_create(struct edge *r);
void gate_destroy(struct gate *g);
void gate_write(struct gate *g, const void *bytes, size_t n);
void gate_say_hello(struct gate *g, const char *id);
/* Connected, after both hellos. */
struct gate *gate_up(struct edge *r, const char *id);
/* Open a session and send one body in it. */
void gate_request(struct gate *g, uint64_t session, const struct message *m);
/* Log in and enter the world, in a new session. */
void gate_enter(struct gate *g, uint64_t session, const char *name);
/* The next frame of this kind; others before it are dropped. */
void gate_wait(struct gate *g, enum link_kind kind, struct link_frame *f);
