/* gateway/rate.h: how often one client may ask, and how often it may be told no.
 * A token bucket, and a count of refusals over the last ten seconds. Pure. May touch: common.
 * Times are milliseconds of any clock that only goes forward, modulo 2^32. Source: PROTOCOL.md,
 * error 12.
 */
#pragma once

#include "common/base.h"

#include <stdbool.h>

struct rate_limit {
    uint32_t per_s; /* requests a second; 0: off */
    uint32_t burst; /* requests at once; at most RATE_BURST_MAX */
};

#define RATE_TOKEN     1000 /* one request, in the bucket's unit: 1 a second fills 1 a ms */
#define RATE_BURST_MAX (UINT32_MAX / RATE_TOKEN)

struct rate {
    uint32_t level; /* tokens, in thousandths */
    uint32_t at_ms; /* when it was so */
};

void rate_init(struct rate *r, const struct rate_limit *limit, uint32_t now_ms);
/* May this request pass? Takes its token if so. */
bool rate_take(struct rate *r, const struct rate_limit *limit, uint32_t now_ms);

#define RATE_REFUSALS_MAX     200 /* in the window; one more ends the connection */
#define RATE_REFUSAL_PERIODS  5
#define RATE_REFUSAL_STEP_MS  2000
#define RATE_REFUSAL_WINDOW_S (RATE_REFUSAL_PERIODS * RATE_REFUSAL_STEP_MS / 1000)

/* All zero at start. Periods of two seconds, not one time each: 9 bytes instead of 800. What it
 * counts happened within the last ten seconds; of what happened in the last eight it misses
 * nothing. */
struct rate_refusals {
    uint32_t period;                     /* the newest one's number */
    uint8_t count[RATE_REFUSAL_PERIODS]; /* by number modulo */
};

/* Count one refusal. True: that were more than RATE_REFUSALS_MAX in the window. */
bool rate_refused(struct rate_refusals *r, uint32_t now_ms);
