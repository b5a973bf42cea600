/* gateway/rate.c: token bucket and refusal count. May touch: common. Nothing can go wrong. */
#include "gateway/rate.h"

_Static_assert(RATE_REFUSAL_WINDOW_S == 10, "PROTOCOL.md: more than 200 times in 10 s");
_Static_assert(RATE_REFUSALS_MAX < UINT8_MAX, "a period can hold what ends a connection");

void rate_init(struct rate *r, const struct rate_limit *limit, uint32_t now_ms)
{
    ASSERT(limit->burst <= RATE_BURST_MAX);
    r->level = limit->burst * RATE_TOKEN;
    r->at_ms = now_ms;
}

bool rate_take(struct rate *r, const struct rate_limit *limit, uint32_t now_ms)
{
    if (limit->per_s == 0)
        return true;

    const uint64_t full = (uint64_t)limit->burst * RATE_TOKEN;
    uint64_t level = r->level + (uint64_t)(now_ms - r->at_ms) * limit->per_s;
    if (level > full)
        level = full;
    r->at_ms = now_ms;
    const bool pass = level >= RATE_TOKEN;
    r->level = (uint32_t)(pass ? level - RATE_TOKEN : level);
    return pass;
}

bool rate_refused(struct rate_refusals *r, uint32_t now_ms)
{
    const uint32_t period = now_ms / RATE_REFUSAL_STEP_MS;
    const uint32_t passed = period - r->period;

    /* Forget the periods that were skipped; a clock that wrapped forgets all. */
    for (uint32_t i = 1; i <= passed && i <= RATE_REFUSAL_PERIODS; i++)
        r->count[(period - (i - 1)) % RATE_REFUSAL_PERIODS] = 0;
    r->period = period;

    uint8_t *now = &r->count[period % RATE_REFUSAL_PERIODS];
    if (*now < UINT8_MAX)
        (*now)++;

    uint32_t sum = 0;
    for (uint32_t i = 0; i < RATE_REFUSAL_PERIODS; i++)
        sum += r->count[i];
    return sum > RATE_REFUSALS_MAX;
}
