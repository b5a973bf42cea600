/* tests/world/test_soft_bytes.c: a budget of bytes: how much is sent, and how long somebody waits.
 * May touch: tests/world_rig, world/interest/soft_list.
 */
#include "tests/leak.h"
#include "tests/world_rig.h"
#include "world/interest/soft_list.h"

#include <stdio.h>

#define CROWD  1000
#define BUDGET 1200
#define TICKS  100
#define HEAD   25 /* bytes of an AoiMove around its records */
#define RECORD 11 /* bytes of a record at most */

/* The bytes of a tick's AoiMoves to a session. */
static uint32_t move_bytes(struct rig *r, uint32_t s)
{
    uint32_t bytes = 0;
    const struct message *m;
    while ((m = rig_next(r, s, CMD_AOI_MOVE)))
        bytes += HEAD + (uint32_t)m->aoi_move.moves.n;
    return bytes;
}

static struct rig *crowd(uint32_t n, uint64_t bytes, uint32_t *s, double *x, double *y)
{
    struct world_config c = rig_config();
    struct rng rng;
    char name[16];
    c.max_entities = 2 * n;
    c.max_pairs = 4ull * n * n + 4096;
    c.max_speed = 1e6;
    c.viewer_bytes = bytes;
    struct rig *r = rig_create(&c);
    rng_init(&rng, 8);
    for (uint32_t i = 0; i < n; i++) {
        x[i] = rng_unit(&rng) * 20;
        y[i] = rng_unit(&rng) * 20;
        snprintf(name, sizeof name, "p%u", i);
        s[i] = rig_join_at(r, name, x[i], y[i]);
    }
    return r;
}

static void all_move(struct rig *r, uint32_t n, const uint32_t *s, const double *x, const double *y,
                     uint32_t tick)
{
    for (uint32_t i = 0; i < n; i++)
        rig_send_move(r, s[i], x[i] + 0.1 * ((tick + i) % 7), y[i] + 0.1 * (tick % 5));
}

static uint32_t bound_of(uint32_t n, uint32_t budget)
{
    uint32_t records = (budget - HEAD) / RECORD;
    return SOFT_SLACK + (n + records - 1) / records + 1;
}

/* Is all that each viewer was told so? */
static void judge_all_exact(const struct rig *r)
{
    const struct soft *s = r->world->sight.soft;
    const struct entities *e = &r->world->entities;
    for (uint32_t i = 0; i < s->n_seats; i++) {
        const struct soft_viewer *v = &s->viewers[s->seat[i]];
        cr_assert_eq(v->n, e->alive_count - 1);
        for (uint32_t at = 0; at < v->span; at++) {
            const struct soft_told *told = &s->told[v->at + at];
            const struct entity_wire *wire = &e->told[known_slot(s->keys[v->at + at])].wire;
            if (s->part[v->at + at] != SOFT_HOLE)
                cr_assert(told->qx == wire->qx && told->qy == wire->qy);
        }
    }
}

/* All thousand move at every tick, and each is told of the others with 1,200 bytes a tick. What is
 * exempt: adds and removes, of which there are none once all have entered. */
Test(soft_bytes, a_thousand_in_one_radius_cost_bounded_bytes_and_nobody_starves, .timeout = 300)
{
    static uint32_t s[CROWD];
    static double x[CROWD], y[CROWD];
    struct rig *r = crowd(CROWD, BUDGET, s, x, y);
    const struct soft *soft = r->world->sight.soft;
    const uint32_t bound = bound_of(CROWD, BUDGET);
    uint32_t wait = 0;

    r->deaf = true;
    rig_tick(r, 1);
    uint64_t before = r->bytes;
    for (uint32_t tick = 1; tick <= TICKS; tick++) {
        all_move(r, CROWD, s, x, y, tick);
        uint64_t answers = r->bytes;
        rig_tick(r, 1);
        before += answers - before; /* what was answered meanwhile */
        uint64_t told = r->bytes - before;
        before = r->bytes;
        cr_assert_leq(told, (uint64_t)CROWD * (SOFT_SAVED_TICKS * BUDGET + 64));
        if (tick > 10) /* the adds are paid for */
            cr_assert_geq(told, (uint64_t)CROWD * BUDGET / 2);
        wait = soft->worst_wait > wait ? soft->worst_wait : wait;
    }
    fprintf(stderr, "soft_bytes: the longest wait was %u ticks, the bound is %u\n", wait, bound);
    cr_assert_leq(wait, bound);
    cr_assert_eq(soft->n_limited, CROWD);
    rig_tick(r, bound + 3); /* all rest */
    cr_assert_eq(soft->n_limited, 0);
    judge_all_exact(r);
    before = r->bytes;
    rig_tick(r, 3);
    cr_assert_eq(r->bytes, before, "at rest nothing is told");
    rig_balance(r);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

/* The same as three of them hear it; the others' clients drain nothing. */
Test(soft_bytes, what_three_of_a_thousand_know_is_never_older_than_the_bound, .timeout = 300)
{
    static uint32_t s[CROWD];
    static double x[CROWD], y[CROWD];
    struct rig *r = crowd(CROWD, BUDGET, s, x, y);
    const uint32_t bound = bound_of(CROWD, BUDGET);
    uint32_t worst = 0, most = 0;
    uint64_t sum = 0;

    for (uint32_t i = 3; i < CROWD; i++)
        rig_congestion(r, s[i], true);
    rig_drop(r);
    rig_tick(r, 1);
    for (uint32_t tick = 1; tick <= TICKS; tick++) {
        all_move(r, CROWD, s, x, y, tick);
        rig_drop(r);
        rig_tick(r, 1);
        for (uint32_t w = 0; w < 3; w++) {
            const struct rig_view *view = &r->sessions[s[w]].view;
            cr_assert_eq(view->count, CROWD - 1);
            for (uint32_t i = 0; i < view->count; i++) {
                uint32_t age = r->world->tick - view->known[i].tick;
                worst = age > worst ? age : worst;
            }
            uint32_t bytes = move_bytes(r, s[w]);
            cr_assert_leq(bytes, SOFT_SAVED_TICKS * BUDGET);
            most = bytes > most ? bytes : most;
            sum += bytes;
        }
    }
    fprintf(stderr, "soft_bytes: %.0f bytes a tick, at most %u; the oldest was %u ticks old\n",
            (double)sum / TICKS / 3, most, worst);
    cr_assert_leq(sum, 3ull * (TICKS + SOFT_SAVED_TICKS) * BUDGET);
    cr_assert_geq(sum, 3ull * (TICKS - 30) * BUDGET * 9 / 10, "the budget is used");
    cr_assert_leq(worst, bound);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(soft_bytes, the_nearest_are_told_more_often_than_those_at_the_rim)
{
    enum { N = 200 };
    static uint32_t s[N], told[N];
    static double x[N], y[N];
    struct rig *r = crowd(N, 200, s, x, y);
    rig_tick(r, 1);
    for (uint32_t tick = 1; tick <= 200; tick++) {
        all_move(r, N, s, x, y, tick);
        rig_drop(r);
        rig_tick(r, 1);
        for (uint32_t i = 1; i < N; i++) {
            const struct rig_known *k =
                rig_view_find(&r->sessions[s[0]].view, r->sessions[s[i]].id);
            told[i] += k->tick == r->world->tick;
        }
    }
    uint32_t near = 0, far = 0, n_near = 0, n_far = 0;
    for (uint32_t i = 1; i < N; i++) {
        double dx = x[i] - x[0], dy = y[i] - y[0], d2 = dx * dx + dy * dy;
        cr_assert_gt(told[i], 0);
        if (d2 < 36) {
            near += told[i];
            n_near++;
        } else if (d2 > 144) {
            far += told[i];
            n_far++;
        }
    }
    cr_assert_gt(n_near, 3);
    cr_assert_gt(n_far, 3);
    cr_assert_gt(near * n_far, far * n_near);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(soft_bytes, a_viewer_whose_client_drains_slowly_gets_what_it_drains)
{
    enum { N = 200 };
    static uint32_t s[N];
    static double x[N], y[N];
    struct rig *r = crowd(N, 1200, s, x, y);
    uint64_t sums[3] = {0};
    rig_tick(r, 1);
    for (uint32_t part = 0; part < 3; part++) {
        uint32_t drains = part == 1 ? 300 : 0;
        soft_drain(r->world, r->world->entities.alive[0], drains);
        for (uint32_t tick = 1; tick <= 60; tick++) {
            all_move(r, N, s, x, y, tick);
            rig_drop(r);
            rig_tick(r, 1);
            sums[part] += move_bytes(r, s[0]);
        }
    }
    cr_assert_leq(sums[1], 300 * (60 + SOFT_SAVED_TICKS) + 1200 * SOFT_SAVED_TICKS);
    cr_assert_geq(sums[1], 300 * 50);
    cr_assert_geq(sums[0], 2 * sums[1]);
    cr_assert_geq(sums[2], 2 * sums[1], "and as much as before once it drains again");
    rig_destroy(r);
    TEST_NO_LEAKS();
}
