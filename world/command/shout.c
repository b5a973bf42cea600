/* world/command/shout.c: see the header.
 * One time is all that is kept: when all that a session made the server tell would be paid for.
 */
#include "world/command/shout.h"

#define AHEAD_NS CLOCK_NS_PER_S /* may be owed */

bool shout_may(struct world *w, const struct session *s, uint32_t cmd, struct mono now)
{
    if (w->config.fanout_bytes == 0 || (cmd != CMD_SAY_REQ && cmd != CMD_ENTER_REQ))
        return true;
    if (clock_since(s->shout_paid, now) <= AHEAD_NS)
        return true;
    w->metrics.shouts_limited++;
    w->reason = "too much was told to too many for you: wait a little";
    return false;
}

void shout_charge(struct world *w, struct session *s, size_t bytes, uint32_t receivers,
                  struct mono now)
{
    const double rate = (double)w->config.fanout_bytes;
    const double cost_s = rate > 0 ? (double)bytes * receivers / rate : 0;

    if (rate <= 0 || receivers == 0)
        return;
    if (clock_since(s->shout_paid, now) < 0)
        s->shout_paid = now;
    s->shout_paid = clock_add(s->shout_paid, (int64_t)(cost_s * (double)CLOCK_NS_PER_S));
}
