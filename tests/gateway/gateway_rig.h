/* tests/gateway/gateway_rig.h: a whole gateway on a loop, with real sockets on loopback.
 * One a test process. The world's end of the link is a plain socket that the test plays. May touch:
 * gateway, common/io/loop, sockets, Criterion.
 */
#pragma once

#include "gateway/crew.h"
#include "tests/gateway/fake.h"

#define RIG_TURN_NS   (20 * CLOCK_NS_PER_MS)
#define RIG_TURNS_MAX 500 /* 10 s: what has not happened by then does not happen */

struct gateway_rig {
    struct loop *loop;
    struct crew *crew;
    struct gateway_config config;
    struct opts *opts;
    int world_listener;
};
extern struct gateway_rig rig;

/* With these flags, NULL behind the last, as the first one where there is none. */
void rig_start(const char *flag, ...);
void rig_stop(void);

/* The counters, gauges as of now; stays where it is. */
const struct gateway_metrics *rig_metrics(void);
/* Turn until the counter or gauge is at least so much; else the test fails. */
void rig_until(const uint64_t *metric, uint64_t at_least);

/* A client's socket, connected and non-blocking. */
int rig_connect(void);
/* The same with a receive buffer of so many bytes. */
int rig_connect_narrow(int rcvbuf);
void rig_send(int fd, const void *bytes, size_t n);
/* One request without payload. */
void rig_send_request(int fd, uint32_t cmd, uint32_t seq);

/* Turn until `fd` has `want` bytes or its end; returns how many it got. */
size_t rig_read(int fd, uint8_t *to, size_t want);
/* The next body that came; its length, 0 at the end. */
size_t rig_read_body(int fd, uint8_t *to, size_t cap);
/* The next message of this command, those before it dropped; lives until the next call. */
const struct message *rig_read_message(int fd, uint32_t cmd);
/* The next frame is a Bye with this code, and nothing comes after it. */
void rig_expect_bye(int fd, uint32_t code);

/* The world's end of the link, after both hellos. Blocking. */
int rig_world_accept(void);
/* The next link frame from the gateway, `bytes` [cap] holds it. */
void rig_world_read(int world, uint8_t *bytes, size_t cap, struct link_frame *f);
