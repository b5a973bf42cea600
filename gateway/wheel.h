/* gateway/wheel.h: when to look at which client again; no timer for each.
 * A wheel of buckets, one a step of 100 ms. An entry says only "look at this one then": whoever
 * looks works out what is due, and names the next time. So a client that is heard pushes nothing
 * about: it notes the time, and its entry finds out when it comes round.
 * Pure; times are steps of the caller's. May touch: common. Entries are slots, 12 bytes each.
 *
 *   wheel_set ─► bucket of (turn + delay) ─► wheel_turn ─► look(slot) ─► delay ─► bucket ...
 */
#pragma once

#include "common/base.h"

#define WHEEL_STEP_MS 100
#define WHEEL_BUCKETS 1024 /* what is due later than 102.3 s is looked at earlier, and put back */

#define WHEEL_NONE UINT32_MAX

struct wheel {
    uint32_t *next; /* [cap] in the bucket; WHEEL_NONE at its end */
    uint32_t *prev; /* [cap] WHEEL_NONE at its front */
    uint32_t *due;  /* [cap] the turn that looks; 0: not in the wheel */
    uint32_t cap;   /* slots */
    uint32_t turn;  /* the last one done */
    uint32_t head[WHEEL_BUCKETS];
};

/* Look at `slot`; it is out of the wheel. Returns the ms until the next look, WHEEL_NONE: none. */
typedef uint32_t wheel_look_fn(void *arg, uint32_t slot);

/* Owns its arrays. E_NOMEM. */
int wheel_init(struct wheel *w, uint32_t cap) MUST_CHECK;
void wheel_fini(struct wheel *w);

/* Look at `slot` not before `delay_ms` from now, and at most one step later. Replaces an entry. */
void wheel_set(struct wheel *w, uint32_t slot, uint32_t delay_ms);
/* The same, unless there is an earlier look already. */
void wheel_hasten(struct wheel *w, uint32_t slot, uint32_t delay_ms);
/* No more looks; fine where there is no entry. */
void wheel_clear(struct wheel *w, uint32_t slot);
/* One step has passed. `look` may call anything here. */
void wheel_turn(struct wheel *w, wheel_look_fn *look, void *arg);
