/* world/state/motion.c: see the header. */
#include "world/state/motion.h"

#include "proto/limits.h"

#include <math.h>

#define MOTION_TAU 6.283185307179586476925286766559

void motion_start(struct motion *m, struct mono now)
{
    m->credit = PROTO_CREDIT_START_S;
    m->at = now;
}

double motion_credit(const struct motion *m, const struct motion_rules *r, struct mono now)
{
    int64_t passed = clock_since(now, m->at);
    double credit = m->credit;

    if (passed > 0)
        credit += (double)passed / (double)CLOCK_NS_PER_S;
    if (r->burst > 0 && credit > r->burst)
        credit = r->burst;
    return credit;
}

double motion_reach(const struct motion *m, const struct motion_rules *r, struct mono now)
{
    double seconds = motion_credit(m, r, now) + PROTO_CREDIT_OVERDRAFT;

    return seconds > 0 ? seconds * r->max_speed : 0;
}

bool motion_spend(struct motion *m, const struct motion_rules *r, double distance, struct mono now)
{
    double credit = motion_credit(m, r, now);
    double need = distance / r->max_speed;

    /* Written so that a distance that is not a number is refused. */
    if (!(need <= credit + PROTO_CREDIT_OVERDRAFT + need * PROTO_CREDIT_RELATIVE))
        return false;
    m->credit = credit - need;
    if (now.ns > m->at.ns)
        m->at = now;
    return true;
}

double motion_turn(double dir)
{
    /* fmod is exact by IEEE 754, so every libm gives the same bits; a quotient cut to a whole
     * number and multiplied back would lose the angle of large values. */
    double d = fmod(dir, MOTION_TAU);

    if (d < 0)
        d += MOTION_TAU;
    return d < MOTION_TAU ? d : 0; /* a tiny negative one rounds up to 2π itself */
}

double motion_angle(double a, double b)
{
    double d = a < b ? b - a : a - b;

    return d > MOTION_TAU / 2 ? MOTION_TAU - d : d;
}
