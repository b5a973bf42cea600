/* bot/witness.c: while all walk: is what each is told of the others what it may be, tick by tick?
 * May touch: common, bot/view. On trouble: see witness.h.
 */
#include "bot/witness.h"

#include "common/err.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JUDGE_NS   (1 * CLOCK_NS_PER_S) /* after which all answers of that time are here */
#define LOOKS_EACH 64                   /* views of each bot that wait to be judged */
#define SEEN_EACH  4096                 /* entities in these */
#define SEEN_LEAST 65536
#define NEVER      (WITNESS_LATE_MAX + 1)
#define SLACK      0.0665 /* units: -move-epsilon and a quantum, by which what is told may lag */
#define ROUNDING   1e-9   /* relative to the radius */

int witness_init(struct witness *w, uint32_t bodies, double hysteresis, uint32_t late)
{
    ASSERT(bodies > 0 && late <= WITNESS_LATE_MAX);
    *w = (struct witness){.n = bodies, .reach = hysteresis, .late = late};
    w->looks_cap = bodies * LOOKS_EACH;
    w->seen_cap =
        (uint64_t)bodies * SEEN_EACH < SEEN_LEAST ? SEEN_LEAST : (uint64_t)bodies * SEEN_EACH;
    w->bodies = calloc(bodies, sizeof(*w->bodies));
    w->looks = calloc(w->looks_cap, sizeof(*w->looks));
    w->seen = calloc(w->seen_cap, sizeof(*w->seen));
    return w->bodies && w->looks && w->seen ? 0 : E_NOMEM;
}

void witness_fini(struct witness *w)
{
    free(w->bodies);
    free(w->looks);
    free(w->seen);
    *w = (struct witness){0};
}

/* --- what happens ----------------------------------------------------------------------------- */

static void put_place(struct witness_body *b, double x, double y)
{
    b->place[b->n++ % WITNESS_PLACES] = (struct witness_place){.after = b->tick, .x = x, .y = y};
}

void witness_entered(struct witness *w, uint32_t i, uint32_t id, double x, double y,
                     const uint32_t *pending)
{
    struct witness_body *b = &w->bodies[i];

    *b = (struct witness_body){.here = true, .id = id, .tick = b->tick, .pending = pending};
    put_place(b, x, y);
}

void witness_gone(struct witness *w, uint32_t i)
{
    w->bodies[i].here = false;
}

void witness_heard(struct witness *w, uint32_t i, uint32_t tick)
{
    struct witness_body *b = &w->bodies[i];

    if (tick > w->newest)
        w->newest = tick;
    if (tick == b->tick)
        return;
    b->tick = tick;
    for (uint32_t k = b->n; k > 0 && b->n - k < WITNESS_PLACES; k--) {
        struct witness_place *p = &b->place[(k - 1) % WITNESS_PLACES];
        if (p->from != 0)
            break;
        p->from = tick;
    }
}

void witness_answered(struct witness *w, uint32_t i, struct mono sent, bool moved, double x,
                      double y)
{
    struct witness_body *b = &w->bodies[i];

    b->answered = sent;
    if (b->here && moved)
        put_place(b, x, y);
}

void witness_look(struct witness *w, uint32_t i, const struct view *v, struct mono now)
{
    struct witness_body *b = &w->bodies[i];

    if (!b->here || !v->has_tick || v->hidden > 0)
        return;
    if (w->newest - b->tick > w->counted.silence)
        w->counted.silence = w->newest - b->tick;
    if (w->looks_n == w->looks_cap || w->seen_n + v->count > w->seen_cap) {
        w->counted.left_out++;
        return;
    }
    w->looks[(w->looks_head + w->looks_n++) % w->looks_cap] =
        (struct witness_look){.body = i,
                              .id = b->id,
                              .tick = b->tick,
                              .radius = v->radius,
                              .at = now,
                              .first = w->seen_head + w->seen_n,
                              .n = v->count};
    for (uint32_t k = 0; k < v->count; k++)
        w->seen[(w->seen_head + w->seen_n++) % w->seen_cap] =
            (struct witness_seen){v->known[k].id, v->known[k].x, v->known[k].y};
}

/* --- judging ---------------------------------------------------------------------------------- */

/* Places k0..k1-1 are those where it may have been at tick `t`, or at most `late` before or after.
 * False: it is not known. */
static bool places_at(const struct witness_body *b, uint32_t t, uint32_t late, uint32_t *k0,
                      uint32_t *k1)
{
    const uint32_t oldest = b->n > WITNESS_PLACES ? b->n - WITNESS_PLACES : 0;
    uint32_t from = oldest, to = b->n;

    /* Those that became so only after that are none; nor are those that another followed before. */
    while (to > oldest && b->place[(to - 1) % WITNESS_PLACES].after >= t + late)
        to--;
    for (uint32_t k = oldest + 1; k < to; k++) {
        const struct witness_place *next = &b->place[k % WITNESS_PLACES];
        if (next->from != 0 && next->from + late <= t)
            from = k;
    }
    *k0 = from;
    *k1 = to;
    if (to == oldest)
        return false;
    /* At the oldest that is remembered it may have been elsewhere before. */
    const struct witness_place *first = &b->place[from % WITNESS_PLACES];
    return from > oldest || (first->from != 0 && first->from + late <= t);
}

static const struct witness_seen *find_seen(const struct witness *w, const struct witness_look *l,
                                            uint32_t id)
{
    uint32_t lo = 0, hi = l->n;

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (w->seen[(l->first + mid) % w->seen_cap].id < id)
            lo = mid + 1;
        else
            hi = mid;
    }
    const struct witness_seen *s = &w->seen[(l->first + lo) % w->seen_cap];
    return lo < l->n && s->id == id ? s : NULL;
}

/* Could the viewer at one of its places, and the other at this one, make what was seen right? */
static bool fits(const struct witness_body *v, uint32_t v0, uint32_t v1,
                 const struct witness_place *p, const struct witness_seen *seen, double radius,
                 double reach)
{
    if (seen && (fabs(seen->x - p->x) > SLACK || fabs(seen->y - p->y) > SLACK))
        return false;
    for (uint32_t k = v0; k < v1; k++) {
        const struct witness_place *at = &v->place[k % WITNESS_PLACES];
        const double d = hypot(at->x - p->x, at->y - p->y);
        if (seen ? d <= (radius + reach) * (1 + ROUNDING) : d > radius * (1 - ROUNDING))
            return true;
    }
    return false;
}

/* Is all known of what it asked for up to then? */
static bool is_sure(const struct witness_body *b, const struct witness_look *l)
{
    return b->here && (*b->pending == 0 || clock_since(b->answered, l->at) >= 0);
}

/* So long before it may not have been here yet, which is right for who does not know it. */
static int before_it_came(const struct witness *w, const struct witness_body *b,
                          const struct witness_seen *seen, uint32_t late)
{
    if (!seen && late > 0 && b->n <= WITNESS_PLACES)
        return (int)late;
    return late <= w->late ? -1 : NEVER;
}

/* How many ticks late is what this view holds of `b`? NEVER: it fits no time; -1: unsure. */
static int lateness(const struct witness *w, const struct witness_look *l, uint32_t i, uint32_t v0,
                    uint32_t v1)
{
    const struct witness_body *v = &w->bodies[l->body], *b = &w->bodies[i];
    const struct witness_seen *seen = find_seen(w, l, b->id);
    uint32_t k0, k1;

    if (!is_sure(b, l))
        return -1;
    for (uint32_t late = 0; late <= WITNESS_LATE_MAX; late++) {
        if (late > l->tick || !places_at(b, l->tick, late, &k0, &k1))
            return before_it_came(w, b, seen, late);
        for (uint32_t k = k0; k < k1; k++) {
            if (fits(v, v0, v1, &b->place[k % WITNESS_PLACES], seen, l->radius, w->reach))
                return (int)late;
        }
    }
    return NEVER;
}

static void tell(struct witness *w, const struct witness_look *l, uint32_t i, int late)
{
    const struct witness_body *v = &w->bodies[l->body], *b = &w->bodies[i];
    const struct witness_place *at = &b->place[(b->n - 1) % WITNESS_PLACES];
    const struct witness_seen *seen = find_seen(w, l, b->id);
    uint32_t k0, k1;

    if (places_at(b, l->tick, 0, &k0, &k1))
        at = &b->place[(k1 - 1) % WITNESS_PLACES];
    snprintf(w->why, sizeof(w->why),
             "#%u at tick %u %s #%u%s, which is at (%.3f, %.3f) since tick %u: %d ticks late",
             v->id, l->tick, seen ? "knows" : "does not know", b->id,
             late == NEVER ? ", as it never was" : "", at->x, at->y, at->from, late);
    if (seen)
        snprintf(w->why + strlen(w->why), sizeof(w->why) - strlen(w->why),
                 ", believed at (%.3f, %.3f)", seen->x, seen->y);
}

/* False: it breaks the contract. */
static bool judge(struct witness *w, const struct witness_look *l)
{
    const struct witness_body *v = &w->bodies[l->body];
    uint32_t v0, v1, worst_of = 0;
    int worst = 0;

    if (!v->here || v->id != l->id || !places_at(v, l->tick, 0, &v0, &v1)) {
        w->counted.unsure += w->n - 1;
        return true;
    }
    for (uint32_t i = 0; i < w->n; i++) {
        if (i == l->body)
            continue;
        const int late = lateness(w, l, i, v0, v1);
        w->counted.pairs += late >= 0;
        w->counted.unsure += late < 0;
        if (late > worst) {
            worst = late;
            worst_of = i;
        }
    }
    w->counted.views++;
    if (worst <= WITNESS_LATE_MAX)
        w->counted.late[worst]++;
    if (worst <= (int)w->late)
        return true;
    w->counted.breaches++;
    tell(w, l, worst_of, worst);
    return false;
}

uint32_t witness_judge(struct witness *w, struct mono now)
{
    uint32_t breaches = 0;

    while (w->looks_n > 0) {
        const struct witness_look *l = &w->looks[w->looks_head];
        if (clock_since(now, l->at) < JUDGE_NS)
            break;
        breaches += !judge(w, l);
        w->seen_head += l->n;
        w->seen_n -= l->n;
        w->looks_head = (w->looks_head + 1) % w->looks_cap;
        w->looks_n--;
    }
    return breaches;
}
