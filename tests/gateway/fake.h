/* tests/gateway/fake.h: a gateway's surroundings without sockets and clocks.
 * `struct stream` here is the test's own: a connection that keeps what was written to it.
 */
#pragma once

#include "gateway/clients.h"
#include "gateway/relay.h"
#include "gateway/uplink.h"
#include "proto/message.h"

struct stream {
    uint8_t *out; /* [cap] every byte ever written */
    size_t len, cap;
    size_t read;   /* of `out`, by fake_told and fake_link_told */
    size_t queued; /* what the kernel has not taken; the test lowers it */
    size_t hard;   /* more than this queued is E_FULL; 0: off */
    int refuse;    /* what every write answers; 0: they succeed */
    uint32_t writes;
    bool paused, finished, destroyed, aborted;
    int64_t linger_ns;
};

/* No log lines from this test. */
void fake_quiet(void);

extern const struct conn_ops fake_conn_ops;
void fake_conn_fini(struct stream *s);

/* The next message that was written to a client; false: no more. Lives until the next call. */
bool fake_told(struct stream *s, struct message *out);
/* The same where exactly this error is expected; false for anything else. */
bool fake_told_error(struct stream *s, uint32_t code, uint32_t seq, uint32_t cmd);
bool fake_told_bye(struct stream *s, uint32_t code);
bool fake_told_nothing(struct stream *s);

/* The next link frame that was written to the world; false: no more. */
bool fake_link_told(struct stream *s, struct link_frame *out);

/* A whole frame around `m`, for a client's connection. Appends; returns the new length. */
size_t fake_frame(uint8_t *to, size_t len, size_t cap, const struct message *m);
/* A request without payload. */
size_t fake_request(uint8_t *to, size_t len, size_t cap, uint32_t cmd, uint32_t seq);

#define FAKE_CLIENTS 8

/* Clients among fakes; what goes up is noted, not forwarded. */
struct fake_crowd {
    struct clients all;
    struct gateway_metrics metrics;
    uint32_t now_ms;   /* for the rate */
    uint32_t reaps;    /* reap_soon calls */
    uint32_t forwards; /* calls */
    uint32_t bodies;   /* in them */
    uint32_t last_n;   /* bodies of the last one */
    uint8_t last[256]; /* the last body */
    size_t last_bytes;
    uint32_t gone;
    uint32_t congested, drained;
    uint32_t drains; /* times that a drain was told */
    uint32_t drain_slot;
    uint64_t drain_rate; /* of the last one */
    struct stream conns[FAKE_CLIENTS];
};

/* Limits as the flags' defaults, but few clients; a test changes f->all.limits between. */
void fake_crowd_defaults(struct fake_crowd *f);
void fake_crowd_init(struct fake_crowd *f);
void fake_crowd_fini(struct fake_crowd *f);
/* A connected client on conns[i]. */
struct client *fake_connect(struct fake_crowd *f, uint32_t i);
/* Hand `bytes` to the client as its connection would; returns how many it took. */
size_t fake_feed(struct client *c, const void *bytes, size_t n);
/* One request without payload. */
void fake_feed_request(struct client *c, uint32_t cmd, uint32_t seq);
/* Time passes, in steps as the gateway makes them. */
void fake_pass(struct fake_crowd *f, uint32_t ms);
