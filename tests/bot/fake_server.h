/* tests/bot/fake_server.h: a server for the bot's tests, in the same loop as its clients.
 * Listens on a port that the kernel chooses; by default it answers each request as the contract
 * says, in a world where nobody sees anybody. A test may answer instead, or write what it likes.
 * May touch: common, proto.
 */
#pragma once

#include "common/io/loop.h"
#include "common/io/net.h"
#include "common/io/stream.h"
#include "proto/message.h"

#define FAKE_SERVER_PEERS 64

struct fake_server;

struct fake_peer {
    struct fake_server *server;
    struct stream *stream; /* NULL: gone */
    uint32_t id;
    double x, y;
    uint32_t requests; /* that came whole */
};

struct fake_server {
    struct loop *loop;
    struct message_reader *reader; /* for requests */
    struct net_listener *listener;
    struct fake_peer peer[FAKE_SERVER_PEERS]; /* [peers] in the order they came */
    uint32_t peers;
    /* The test's own answer; false: answer as usual. May be NULL. */
    bool (*answer)(struct fake_peer *p, const struct message *m);
    void *arg; /* the test's */
};

void fake_server_start(struct fake_server *s, struct loop *l);
/* Stop listening; connections stay. */
void fake_server_deaf(struct fake_server *s);
void fake_server_stop(struct fake_server *s);
const char *fake_server_addr(const struct fake_server *s);

void fake_server_send(struct fake_peer *p, const struct message *m);
void fake_server_raw(struct fake_peer *p, const void *bytes, size_t n);
void fake_server_error(struct fake_peer *p, uint32_t code, uint32_t cmd, uint32_t seq);
void fake_server_close(struct fake_peer *p);
