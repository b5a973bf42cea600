/* tests/sim/sim_judge.c: what must hold: at each event, when all is mended, and at the end.
 */
#include "tests/sim/sim.h"

#include <stdio.h>

/* May it act for this zone now, whether it runs or not? */
static bool rightful(const struct sim *s, const struct sim_world *w, uint32_t zone)
{
    return w->up && holdings_owns(&w->m.holdings, zone) && member_may_act(&w->m, sim_clock(s, w));
}

static uint32_t owners(const struct sim *s, uint32_t zone)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < SIM_WORLDS; i++)
        n += rightful(s, &s->worlds[i], zone);
    return n;
}

void sim_judge(struct sim *s)
{
    for (uint32_t zone = 0; zone < SIM_ZONES; zone++) {
        uint32_t n = owners(s, zone);

        if (n > 1)
            sim_breach(s, "two worlds may act for zone %u", zone);
        if (n > 0)
            s->owned_at[zone] = s->now;
        if (s->now > SIM_FAULTS + SIM_MENDED && s->now - s->owned_at[zone] > SIM_MOVE)
            sim_breach(s, "zone %u is nobody's after all was mended", zone);
    }
    for (uint32_t p = 0; p < SIM_PEOPLE; p++) {
        uint32_t n = 0;

        for (uint32_t i = 0; i < SIM_WORLDS; i++) {
            const struct sim_world *w = &s->worlds[i];

            n += w->up && w->people[p].mode == MODE_LIVE && member_may_act(&w->m, sim_clock(s, w));
        }
        if (n > 1)
            sim_breach(s, "person %u is at two worlds", p);
    }
}

/* A frame reaches a neighbour, which has seen the highest epoch of its zone. */
static void on_frame(struct sim *s, struct sim_event *e)
{
    if (e->generation < s->accepted_generation)
        return;
    if (e->generation > s->accepted_generation) {
        s->accepted_generation = e->generation;
        memset(s->accepted, 0, sizeof(s->accepted));
    }
    if (e->token < s->accepted[e->other] && s->plant != PLANT_OLD_FRAMES) {
        s->refused_frames++;
        return;
    }
    if (e->token < s->accepted[e->other])
        sim_breach(s, "a frame of an old epoch of zone %u was taken", e->other);
    s->accepted[e->other] = e->token;
}

/* One leaves now, or when who sends it wakes up: then nobody asks it any more. */
void sim_frame(struct sim *s, uint32_t world, uint32_t zone, int64_t delay)
{
    const struct sim_world *w = &s->worlds[world];
    struct sim_event *e =
        sim_after(s, delay + sim_between(s, SIM_MS / 5, 30 * SIM_MS), on_frame, world);

    e->other = zone;
    e->generation = w->m.tables;
    e->token = holdings_epoch(&w->m.holdings, zone);
    if (owners(s, zone) - rightful(s, w, zone) > 0)
        sim_breach(s, "world %s acts for zone %u, which is another's", w->id, zone);
}

static void judge_spread(struct sim *s)
{
    uint32_t most = 0, least = SIM_ZONES;

    for (uint32_t i = 0; i < SIM_WORLDS; i++) {
        const struct sim_world *w = &s->worlds[i];
        uint32_t n;

        if (!w->up)
            continue;
        n = holdings_owned(&w->m.holdings);
        if (w->draining && n > 0)
            sim_breach(s, "world %s drains, and still has %u zones", w->id, n);
        if (w->draining)
            continue;
        most = n > most ? n : most;
        least = n < least ? n : least;
    }
    if (most > least + 1)
        sim_breach(s, "zones are not spread evenly: %u here and %u there", most, least);
}

void sim_judge_end(struct sim *s)
{
    for (uint32_t zone = 0; zone < SIM_ZONES; zone++) {
        if (owners(s, zone) != 1)
            sim_breach(s, "zone %u is nobody's in the end", zone);
    }
    judge_spread(s);
    for (uint32_t p = 0; p < SIM_PEOPLE; p++) {
        uint32_t n = 0;

        for (uint32_t i = 0; i < SIM_WORLDS; i++)
            n += s->worlds[i].up && s->worlds[i].people[p].mode == MODE_LIVE;
        if (n != 1)
            sim_breach(s, "person %u is at %u worlds in the end", p, n);
    }
}
