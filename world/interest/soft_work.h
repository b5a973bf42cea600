/* world/interest/soft_work.h: what soft sight works with while it goes through the viewers.
 * The parts of a tick, each in its file: soft_find (who is in sight), soft_due (whose turn it is,
 * and what is to be told), soft_tell (what goes now, and its bytes).
 * May touch: what soft.h may.
 */
#pragma once

#include "world/interest/soft_field.h"
#include "world/interest/soft_list.h"
#include "world/world.h"

/* Somebody of whom the viewer at hand is to be told a record. */
struct soft_record {
    uint32_t place, slot;
    uint32_t since;    /* tick from which on it waits */
    uint32_t deadline; /* since, and the slack of its distance */
    uint8_t tell;      /* EVENT_TELL_*; 0: the tail that all get */
    uint8_t tier;
    uint8_t bytes; /* at most */
    bool goes;
};

/* Somebody of whom it is told by the tail that all get. */
struct soft_shared {
    uint32_t place, slot;
};

/* Somebody in sight who may be kept. */
struct soft_choice {
    uint32_t slot;
    uint32_t place; /* in the viewer's list; SOFT_NONE: not known */
    bool in;        /* within the radius, not just the hysteresis */
};

struct soft_work {
    /* Of the tick. */
    uint8_t due[SOFT_TIERS_MAX + 2];
    uint32_t n_due;   /* parts in it */
    uint64_t *dying;  /* [n_dying] keys of who ended, ascending */
    uint32_t n_dying; /* [cap] */
    double keep2;     /* (R + H)², units² */
    double jump2;     /* square of the way that is a jump of the viewer's own */
    double radius2[SOFT_TIERS_MAX];

    /* Of the viewer at hand. */
    uint64_t *gone, *added;      /* [2 * cap] keys */
    uint64_t *far;               /* [cap] keys of those who are told by remove and add */
    struct soft_record *records; /* [cap] ascending by id */
    uint32_t n_gone, n_added, n_far, n_records;
    struct soft_shared *shared; /* [cap] ascending */
    uint32_t n_shared;
    bool found; /* who is in sight was looked up as a whole */

    uint32_t *places, *odd; /* [cap] of those whose turn it is */
    uint32_t *hits;         /* [cap] slots */
    uint32_t *mark;         /* [cap] by slot: mark_now where the viewer at hand knows it */
    uint32_t mark_now;
    struct soft_choice *choices; /* [2 * cap] */
    uint64_t *ranks;             /* [2 * cap] distance << 32 | choice */
};

int soft_work_create(const struct soft *s, struct soft_work **out) MUST_CHECK;
void soft_work_destroy(struct soft_work *k); /* NULL is fine */

/* Sort keys [n], n <= 2 * cap; ranks are used for it. */
void soft_work_sort(struct soft_work *k, uint64_t *keys, uint32_t n);

/* The nearest tier of a distance's square. */
static inline uint32_t soft_work_tier(const struct soft *s, double d2)
{
    uint32_t tier = 0;

    while (tier + 1 < s->rules.n_tiers && d2 > s->work->radius2[tier])
        tier++;
    return tier;
}

static inline double soft_work_distance2(const struct entities *e, uint32_t a, uint32_t b)
{
    double dx = e->x[a] - e->x[b], dy = e->y[a] - e->y[b];

    return dx * dx + dy * dy;
}

/* How far one is for the cap: a newcomer counts as further away than it is. */
static inline double soft_work_rank(double d, bool known)
{
    if (known)
        return d;
    return d + (d * SOFT_CAP_SHARE > SOFT_CAP_UNITS ? d * SOFT_CAP_SHARE : SOFT_CAP_UNITS);
}

/* Note that the viewer is told by an add what the wire says of the entity. */
void soft_work_told(struct world *w, uint32_t viewer, uint32_t place);
/* Note what a viewer was told of those of whom that is not noted; between two ticks. */
void soft_work_note(struct soft *s, uint32_t viewer);
/* A small change that waits is told from now on: since somebody is told of the entity by an add,
 * which is exact. */
void soft_work_settle(struct world *w, uint32_t slot);

/* Who is gone and who is new: into gone and added. */
void soft_find(struct world *w, uint32_t viewer);
/* Those whose turn it is: into gone, far and records; what they take only with a budget. */
void soft_due(struct world *w, uint32_t viewer, bool budget);
/* Choose the records that go, and write the batch. */
void soft_tell(struct world *w, uint32_t viewer);
