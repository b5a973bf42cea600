/* world/edge/world_status.h: one line now and then of how the world does.
 * What happened is told as of one second, since the line before. May touch: common,
 * common/io/loop, world/world, the clock.
 */
#pragma once

#include "common/io/loop.h"
#include "world/world.h"

/* What a line is made of: counts since the start, and the ticks since the line before. */
struct world_status_counts {
    uint64_t moves;         /* accepted */
    uint64_t adds, removes; /* pairs told as such */
    uint64_t updates;       /* adds, removes and moves told */
};

/* What it says of now, and of how old what viewers were told was since the line before. */
struct world_status_now {
    uint32_t players;
    uint64_t known;          /* pairs */
    const struct hist *ages; /* [n_tiers] ticks, by tier */
    uint32_t n_tiers;
    int64_t tick_ns;
    bool cluster; /* it is in one, and what follows says how */
    bool still;
    uint32_t zones, ghosts;
};

struct world_status {
    struct loop_timer *timer; /* NULL: not started */
    struct world *world;      /* borrowed */
    int64_t every_ns;
    struct mono at; /* of the last line */
    struct world_status_counts last;
    struct hist tick_ns;                /* since the last line */
    struct hist told[AGES_TIERS];       /* ages as they were at the last line */
    struct hist told_since[AGES_TIERS]; /* and since then */
};

/* A line each `every_ns` from now on; 0: none. E_NOMEM. */
int world_status_init(struct world_status *s, struct loop *l, struct world *w,
                      int64_t every_ns) MUST_CHECK;
void world_status_fini(struct world_status *s); /* zero is fine */
/* A tick took this long. */
void world_status_tick(struct world_status *s, uint64_t ns);

/* The line's text for `over_ns` (> 0) in which `before` became `after`. */
void world_status_text(const struct world_status_now *now, struct world_status_counts before,
                       struct world_status_counts after, int64_t over_ns,
                       const struct hist *tick_ns, char *out, size_t cap);
