/* tests/bench/limit/sight_brute.c: everybody against everybody, each tick, on the exact places.
 * May touch: libc.
 */
#include "tests/bench/limit/sight_rival.h"

#include <stdlib.h>
#include <string.h>

struct brute {
    struct sight_job job;
    double *old_x, *old_y; /* [n] */
    bool seen;             /* the old places are somebody's */
};

static void brute_destroy(void *p)
{
    struct brute *b = p;

    free(b->old_x);
    free(b->old_y);
    free(b);
}

static void *brute_create(const struct sight_job *j)
{
    struct brute *b = calloc(1, sizeof(*b));

    if (!b)
        return NULL;
    b->job = *j;
    b->old_x = calloc(j->n, sizeof(double));
    b->old_y = calloc(j->n, sizeof(double));
    if (!b->old_x || !b->old_y) {
        brute_destroy(b);
        return NULL;
    }
    return b;
}

static void brute_look(const struct brute *b, const struct sight_input *in, uint32_t viewer,
                       struct sight_sink *out)
{
    struct sight_record *first = sight_sink_room(out, b->job.n), *at = first;
    const double r2 = b->job.radius * b->job.radius;
    uint64_t gone = 0, added = 0;

    for (uint32_t j = 0; j < b->job.n; j++) {
        double dx = in->x[j] - in->x[viewer], dy = in->y[j] - in->y[viewer];
        double ox = b->old_x[j] - b->old_x[viewer], oy = b->old_y[j] - b->old_y[viewer];
        bool now = dx * dx + dy * dy <= r2, old = b->seen && ox * ox + oy * oy <= r2;

        if (!(now || old) || j == viewer)
            continue;
        if (now && old) {
            *at = (struct sight_record){j, in->tail[j]};
            at += j < in->movers;
        } else {
            *at++ = (struct sight_record){j, now ? SIGHT_NEW : SIGHT_GONE};
            added += now;
            gone += old;
        }
    }
    out->at += (size_t)(at - first);
    out->gone += gone;
    out->added += added;
    out->staying += (uint64_t)(at - first) - gone - added;
}

static void brute_tick(void *p, const struct sight_input *in, struct sight_sink *out)
{
    struct brute *b = p;

    for (uint32_t i = 0; i < b->job.n; i++)
        brute_look(b, in, i, out);
    memcpy(b->old_x, in->x, b->job.n * sizeof(double));
    memcpy(b->old_y, in->y, b->job.n * sizeof(double));
    b->seen = true;
}

static uint64_t brute_resident(const void *p)
{
    const struct brute *b = p;

    return b->job.n * 2 * sizeof(double);
}

const struct sight_rival sight_brute = {
    .name = "brute force",
    .create = brute_create,
    .destroy = brute_destroy,
    .tick = brute_tick,
    .resident = brute_resident,
    .n_max = 20000,
};
