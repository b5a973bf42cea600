/* tests/gateway/worlds_rig.h: a relay between fake clients and several fake worlds, w0, w1 and w2.
 * May touch: gateway, tests/gateway/fake.
 */
#pragma once

#include "tests/gateway/fake.h"

#define WRIG_WORLDS 3

struct wrig {
    struct fake_crowd f;
    struct relay r;
    struct uplink u[WRIG_WORLDS];
    struct relay_link *links[WRIG_WORLDS];
    struct stream world[WRIG_WORLDS];
    struct mono now;
};
extern struct wrig wrig;

void wrig_setup(void);
void wrig_teardown(void);
/* A link to world `i`, which is dialled but not up; that it comes; that it breaks; that there is no
 * such world any more. */
void wrig_add(uint32_t i);
void wrig_up(uint32_t i);
void wrig_down(uint32_t i);
void wrig_remove(uint32_t i);

/* The world at which client 0 has its session. */
uint32_t wrig_at(void);

/* What a world is told next; nothing more. */
struct link_frame wrig_told(uint32_t world, enum link_kind kind);
void wrig_silent(uint32_t world);

/* What a world says. */
struct span_writer wrig_writer(void);
void wrig_say(uint32_t world, const struct span_writer *w);
void wrig_say_body(uint32_t world, uint64_t session, const struct message *m);
void wrig_say_moved(uint32_t world, uint64_t session, uint32_t seq);
void wrig_say_note(uint32_t world, uint64_t session, const char *note);
/* A hand-over of entity 7, its third. */
void wrig_say_redirect(uint32_t world, uint64_t session, const char *to);
/* To be bound there by its note; "": anywhere else. */
void wrig_say_bind(uint32_t world, uint64_t session, const char *to);

/* A client who is logged in at `world`, which has fewest sessions, and has a note. */
struct client *wrig_login(uint32_t i, uint32_t world, uint64_t *session);
void wrig_got_move(uint32_t i, uint32_t seq);
