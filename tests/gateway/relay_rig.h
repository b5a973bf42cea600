/* tests/gateway/relay_rig.h: a relay between fake clients and a fake world.
 * May touch: tests/gateway/fake, gateway/relay. On trouble: the test at hand fails.
 */
#pragma once

#include "gateway/relay.h"
#include "tests/gateway/fake.h"

struct relay_rig {
    struct fake_crowd f;
    struct uplink u;
    struct relay r;
    struct stream world;
    struct mono now;
};

extern struct relay_rig relay_rig;

/* For a TestSuite. */
void relay_rig_setup(void);
void relay_rig_teardown(void);

/* --- the fake world: what it says --- */

struct span_writer relay_rig_writer(void);
void relay_rig_say(const struct span_writer *w);
void relay_rig_step(void);
void relay_rig_world_up(void);
void relay_rig_world_down(void);

/* What it is told next. The session that is opened: */
uint64_t relay_rig_expect_open(void);
void relay_rig_expect_data(uint64_t session, uint32_t bodies);
void relay_rig_expect_close(uint64_t session);
void relay_rig_expect_silence(void);

void relay_rig_say_message(uint64_t session, const struct message *m);
void relay_rig_say_moved(uint64_t session, uint32_t seq);
void relay_rig_say_login(uint64_t session);
void relay_rig_say_close(uint64_t session, uint32_t code, const char *reason);

/* A client with an open session that is logged in; everything said so far is read. */
uint64_t relay_rig_login(struct client *c, uint32_t i);
