/* bot/report.h: what a load run found, as text for people and as JSON for machines.
 * May touch: common, proto, bot/swarm's counts. Never: the run itself.
 */
#pragma once

#include "bot/swarm.h"
#include "bot/witness.h"

#include <stdio.h>

/* How the comparisons while all rested went. */
struct report_rests {
    uint64_t done;      /* comparisons */
    uint64_t unsettled; /* rests without one: somebody's answers did not come */
    uint64_t views;     /* compared, over all comparisons */
    uint64_t seen;      /* entities rightly known in them */
    uint64_t late;      /* views that were right only after more than the rest's ticks */
    uint64_t wrong;     /* views that were not right at all */
};

struct report {
    uint32_t bots[SWARM_KINDS]; /* asked for */
    uint32_t entered;           /* in the world when walking began */
    double seconds;             /* of walking, rests included */
    double walked_seconds;      /* without them */
    struct swarm_count count;   /* of the walking; breaches since the start */
    struct swarm_told told;     /* of the walking */
    const struct hist *latency; /* ns, borrowed */
    struct report_rests rests;
    const struct witness_count *witness; /* borrowed; NULL: none was there */
};

/* Did anything break the contract? */
bool report_is_bad(const struct report *r);
void report_text(const struct report *r, FILE *to);
/* One object on one line. */
void report_json(const struct report *r, FILE *to);
