/* world/interest/events.h: what happened in a tick, in one order for everybody.
 * Leaves, then enters, then updates; each ascending by entity, then cell. An entity that crossed a
 * cell's border left one and entered the other; one that changed inside a cell was updated.
 * Several changes in a tick are one event. Pure. May touch: common, world/ids.
 */
#pragma once

#include "common/base.h"

#include <stdbool.h>
#include "common/err.h"
#include "world/ids.h"

enum event_type { EVENT_LEAVE, EVENT_ENTER, EVENT_UPDATE, EVENT_TYPES };

enum event_tell {
    EVENT_TELL_PLACE = 1,
    EVENT_TELL_DIR = 2,
    EVENT_TELL_SPEED = 4,
    EVENT_TELL_FAR = 8 /* too far for a wrapped place: remove and add */
};

struct event {
    struct entity_ref who; /* stale where it ended */
    uint32_t id;
    uint32_t from, to; /* cells; GRID_NONE: none */
    uint32_t tick;
    uint8_t tell; /* of enum event_tell: what viewers are told; 0: nothing */
};

/* The lists of one tick. */
struct events {
    struct event *list[EVENT_TYPES];
    uint32_t n[EVENT_TYPES];
    bool unsorted[EVENT_TYPES];  /* not added in order */
    uint32_t cap;                /* of each list */
    uint64_t *keys[2];           /* [cap] for sorting */
    struct event *copy;          /* [cap] for sorting */
    uint64_t count[EVENT_TYPES]; /* since the start */
    uint64_t stale;              /* handles skipped, since the start */
};

/* Lists of `cap` events each; owns them. E_NOMEM. */
int events_init(struct events *e, uint32_t cap) MUST_CHECK;
void events_fini(struct events *e);
/* The list is not full (asserted). */
static inline void events_add(struct events *e, enum event_type type, const struct event *ev)
{
    uint32_t n = e->n[type];

    ASSERT(n < e->cap);
    if (n > 0 && e->list[type][n - 1].id > ev->id)
        e->unsorted[type] = true;
    e->list[type][n] = *ev;
    e->n[type] = n + 1;
}

/* Sort keys[0] [n], n <= cap, ascending by its upper half. */
void events_sort_keys(struct events *e, uint32_t n);
/* Bring each list into its order. An id stands once in a list, so type and id settle it. */
void events_sort(struct events *e);
/* Forget this tick's. */
void events_clear(struct events *e);
