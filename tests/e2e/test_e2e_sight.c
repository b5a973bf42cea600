/* tests/e2e/test_e2e_sight.c: who sees whom, with real ticks between real processes.
 * May touch: tests/pair, tests/raw_client, tests/e2e/stage. On trouble: the test fails.
 */
#include "tests/e2e/stage.h"
#include "tests/leak.h"
#include "tests/pair.h"
#include "tests/raw_client.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

TestSuite(e2e_sight, .fini = process_end_all, .timeout = 60);

#define RADIUS     30.0
#define HYSTERESIS 4.0

/* Fast walkers and short ticks, everybody born at the same place. */
#define SWIFT "-max-speed", "100000", "-tick", "10", "-spawn", "0,0,0"

/* What a view must hold: exactly the others at most this far away, at their places. */
static void await_exact(struct stage *s, double radius)
{
    for (uint32_t i = 0; i < s->n; i++) {
        for (uint32_t j = 0; j < s->n; j++) {
            struct player *v = &s->players[i], *p = &s->players[j];
            double dx = v->facts->x - p->facts->x, dy = v->facts->y - p->facts->y;
            if (i == j || !v->facts->in_world || !p->facts->in_world)
                continue;
            if (dx * dx + dy * dy <= radius * radius)
                STAGE_UNTIL(s, player_sees(v, p));
            else
                STAGE_UNTIL(s, !player_knows(v, p->facts->id));
        }
    }
}

/* --- A03 -------------------------------------------------------------------------------------- */

/* The mover tells it in its answer, the still one in its own batch: by the same tick's number. */
static void must_part_in_one_tick(struct player *v, struct player *p)
{
    cr_assert_eq(player_last(v, STAGE_REMOVE, p->facts->id)->tick,
                 player_last(p, STAGE_REMOVE, v->facts->id)->tick);
}

Test(e2e_sight, a03_a_still_viewer_is_told_who_walks_out_and_who_walks_in)
{
    struct pair pair =
        pair_start(PROCESS_ARGS(SWIFT, "-aoi-hysteresis", "4"), PROCESS_ARGS("-rate", "0"));
    struct stage stage;

    stage_init(&stage);
    struct player *v = stage_join(&stage, pair.gateway->addr, "viewer");
    struct player *p = stage_join(&stage, pair.gateway->addr, "p");
    for (double x = 5; x <= RADIUS + HYSTERESIS; x += 0.5) {
        player_move(p, x, 0);
        STAGE_UNTIL(&stage, player_sees(v, p));
    }
    player_move(p, RADIUS + HYSTERESIS + 0.5, 0);
    STAGE_UNTIL(&stage, !player_knows(v, p->facts->id) && !player_knows(p, v->facts->id));
    must_part_in_one_tick(v, p);
    cr_assert_eq(player_events(v, 0, STAGE_REMOVE, p->facts->id), 1u);
    cr_assert_eq(player_events(v, 0, STAGE_ADD, p->facts->id), 1u);

    struct player *q = stage_login(&stage, pair.gateway->addr, "q");
    uint32_t before = v->n_events;
    player_enter(q);
    player_move(q, 0, 40); /* in the tick of its birth, or removed in the next one */
    STAGE_UNTIL(&stage, !player_knows(v, q->facts->id) && !player_knows(q, v->facts->id));
    stage_pass_ticks(v, 3);
    before = v->n_events;
    for (double y = 39.5; y > RADIUS; y -= 0.5)
        player_move(q, 0, y);
    stage_pass_ticks(v, 3);
    cr_assert_eq(v->n_events, before, "outside the radius nothing is told");
    for (double y = RADIUS; y >= 5; y -= 0.5) {
        player_move(q, 0, y);
        STAGE_UNTIL(&stage, player_sees(v, q) && player_knows(q, v->facts->id));
    }
    cr_assert_eq(player_events(v, before, STAGE_ADD, q->facts->id), 1u);
    cr_assert(player_last(v, STAGE_ADD, q->facts->id)->y == RADIUS, "exactly the radius is seen");
    cr_assert_eq(player_last(v, STAGE_ADD, q->facts->id)->tick,
                 player_last(q, STAGE_ADD, v->facts->id)->tick);
    stage_fini(&stage);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

/* --- A04 -------------------------------------------------------------------------------------- */

Test(e2e_sight, a04_coming_back_to_one_who_never_moved_is_one_add_on_both_sides)
{
    struct pair pair =
        pair_start(PROCESS_ARGS(SWIFT, "-aoi-hysteresis", "4"), PROCESS_ARGS("-rate", "0"));
    struct stage stage;

    stage_init(&stage);
    struct player *p = stage_join(&stage, pair.gateway->addr, "p");
    struct player *v = stage_join(&stage, pair.gateway->addr, "viewer");
    STAGE_UNTIL(&stage, player_sees(v, p) && player_sees(p, v));
    for (uint32_t i = 1; i <= 5; i++) {
        player_move(v, RADIUS + HYSTERESIS + 5, 0);
        STAGE_UNTIL(&stage, !player_knows(v, p->facts->id) && !player_knows(p, v->facts->id));
        stage_pass_ticks(v, 20);
        player_move(v, 10, 0);
        STAGE_UNTIL(&stage, player_sees(v, p) && player_sees(p, v));
        stage_pass_ticks(v, 3);
        cr_assert_eq(player_events(v, 0, STAGE_ADD, p->facts->id), 1 + i);
        cr_assert_eq(player_events(p, 0, STAGE_ADD, v->facts->id), 1 + i);
        cr_assert_eq(player_events(v, 0, STAGE_REMOVE, p->facts->id), i);
        cr_assert_eq(player_events(p, 0, STAGE_REMOVE, v->facts->id), i);
    }
    stage_fini(&stage);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

Test(e2e_sight, a04_the_first_tick_after_entering_brings_everyone_in_sight)
{
    struct pair pair = pair_start(PROCESS_ARGS(SWIFT), PROCESS_ARGS("-rate", "0"));
    struct stage stage;
    struct player *p[5];
    static const char *const names[] = {"a", "b", "c", "d", "e"};

    stage_init(&stage);
    for (int i = 0; i < 5; i++) {
        p[i] = stage_join(&stage, pair.gateway->addr, names[i]);
        player_move(p[i], 10 * i, 0); /* the last one at 40 */
    }
    await_exact(&stage, RADIUS);
    stage_pass_ticks(p[0], 20);
    struct player *v = stage_join(&stage, pair.gateway->addr, "viewer");
    STAGE_UNTIL(&stage, v->n_events > 0);
    stage_pass_ticks(v, 20);
    cr_assert_eq(v->n_events, 4u);
    for (uint32_t i = 0; i < 4; i++) {
        cr_assert_eq(v->events[i].kind, STAGE_ADD);
        cr_assert_eq(v->events[i].tick, v->events[0].tick);
        cr_assert_eq(v->events[i].id, p[i]->facts->id);
        cr_assert_eq(player_events(p[i], 0, STAGE_ADD, v->facts->id), 1u);
    }
    await_exact(&stage, RADIUS);
    stage_fini(&stage);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

/* --- A14 -------------------------------------------------------------------------------------- */

/* Wait until a tick has just been, so that what is done now falls into the next one. */
static uint32_t just_after_a_tick(struct player *v, struct player *p)
{
    uint32_t before = v->n_events;
    uint32_t id = p->facts->id;

    player_move(p, p->facts->x, p->facts->y + 0.5);
    STAGE_UNTIL(v->stage, player_events(v, before, STAGE_MOVE, id) > 0);
    return player_last(v, STAGE_MOVE, id)->tick;
}

Test(e2e_sight, a14_a_jump_moves_its_sight_in_one_tick)
{
    struct pair pair = pair_start(PROCESS_ARGS(SWIFT), PROCESS_ARGS("-rate", "0"));
    struct stage stage;

    stage_init(&stage);
    struct player *a = stage_join(&stage, pair.gateway->addr, "a");
    player_move(a, 100, 100);
    struct player *b = stage_join(&stage, pair.gateway->addr, "b");
    player_move(b, 700, 700);
    struct player *p = stage_join(&stage, pair.gateway->addr, "p");
    player_move(p, 100, 100);
    await_exact(&stage, RADIUS);
    for (int i = 0; i < 50; i++) {
        bool to_b = i % 2 == 0;
        struct player *left = to_b ? a : b, *reached = to_b ? b : a;
        player_move(p, reached->facts->x, reached->facts->y);
        STAGE_UNTIL(&stage, player_sees(reached, p) && player_sees(p, reached) &&
                                !player_knows(left, p->facts->id));
        uint32_t tick = player_last(left, STAGE_REMOVE, p->facts->id)->tick;
        cr_assert_eq(player_last(reached, STAGE_ADD, p->facts->id)->tick, tick);
        cr_assert_eq(player_last(p, STAGE_REMOVE, left->facts->id)->tick, tick);
        cr_assert_eq(player_last(p, STAGE_ADD, reached->facts->id)->tick, tick);
    }
    uint32_t before = a->n_events;
    player_move(p, 103, 100);
    STAGE_UNTIL(&stage, a->n_events > before);
    cr_assert_eq(a->events[before].kind, STAGE_MOVE, "a small jump is a move");
    player_move(p, 140, 100);
    STAGE_UNTIL(&stage, !player_knows(a, p->facts->id));
    cr_assert_eq(player_events(a, before, STAGE_ADD, p->facts->id), 0u);
    stage_fini(&stage);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

/* 600 units are more than the wrapped coordinate can tell apart. */
Test(e2e_sight, a14_a_joint_jump_in_sight_of_each_other_is_remove_and_add_in_one_tick)
{
    struct pair pair =
        pair_start(PROCESS_ARGS("-max-speed", "100000", "-tick", "500", "-spawn", "0,0,0"), NULL);
    struct stage stage;

    stage_init(&stage);
    struct player *v = stage_join(&stage, pair.gateway->addr, "viewer");
    struct player *p = stage_join(&stage, pair.gateway->addr, "p");
    STAGE_UNTIL(&stage, player_sees(v, p) && player_sees(p, v));
    uint32_t tick = just_after_a_tick(v, p);
    uint32_t before = v->n_events;
    player_move(p, 600, 5);
    player_move(v, 600, 0);
    STAGE_UNTIL(&stage, player_sees(v, p) && player_sees(p, v));
    cr_assert_eq(v->n_events - before, 2u);
    cr_assert_eq(v->events[before].kind, STAGE_REMOVE);
    cr_assert_eq(v->events[before + 1].kind, STAGE_ADD);
    cr_assert_eq(v->events[before].tick, tick + 1);
    cr_assert_eq(v->events[before + 1].tick, tick + 1);
    cr_assert(v->events[before + 1].x == 600 && v->events[before + 1].y == 5);
    stage_fini(&stage);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

/* --- A15 -------------------------------------------------------------------------------------- */

#define A15_ROUNDS 100 /* of three connections each */
/* Beside small tables, so that pages of large ones which are used for the first time do not look
 * like a leak. */
#define A15_GROWTH (256u << 10)

/* Three come near P; one goes by FIN, one by RST, one by LeaveReq (and then by FIN). */
static void come_and_go(struct stage *s, struct player *p, const char *addr, uint32_t round)
{
    struct raw_client c[3];
    uint32_t id[3];
    char name[32];

    for (uint32_t i = 0; i < 3; i++) {
        snprintf(name, sizeof(name), "guest-%u-%u", round, i);
        id[i] = raw_join(&c[i], addr, name);
    }
    player_move(p, round % 2, 0);
    STAGE_UNTIL(s, player_knows(p, id[0]) && player_knows(p, id[1]) && player_knows(p, id[2]));
    raw_close(&c[0]);
    raw_reset(&c[1]);
    raw_must(&c[2], raw_nil(&c[2], CMD_LEAVE_REQ), CMD_LEAVE_RESP);
    raw_close(&c[2]);
    STAGE_UNTIL(s, player_count(p) == 0);
}

Test(e2e_sight, a15_watchers_are_forgotten_whichever_way_they_go)
{
    process_measure_memory();
    struct pair pair = pair_start(PROCESS_ARGS(SWIFT, "-resume-window", "0", "-max-entities", "64"),
                                  PROCESS_ARGS("-rate", "0"));
    struct stage stage;
    uint64_t world = 0, gateway = 0;

    stage_init(&stage);
    struct player *p = stage_join(&stage, pair.gateway->addr, "p");
    for (uint32_t round = 0; round < A15_ROUNDS; round++) {
        come_and_go(&stage, p, pair.gateway->addr, round);
        if (round == A15_ROUNDS / 2) {
            world = process_memory(pair.world);
            gateway = process_memory(pair.gateway);
        }
    }
    cr_assert_lt(process_memory(pair.world), world + A15_GROWTH);
    cr_assert_lt(process_memory(pair.gateway), gateway + A15_GROWTH);
    /* With 10 ms a busy machine may miss a tick. */
    cr_assert_eq(process_logged(pair.world, " warn "), process_logged(pair.world, "tick late"));
    cr_assert_eq(process_logged(pair.gateway, " warn "), 0u);
    stage_fini(&stage);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

/* The bots' own judgement of each tick: right where the world is, and not blind where it is not. */
Test(e2e_sight, bots_that_walk_through_each_other_are_told_each_tick_exactly)
{
    static const char *const hysteresis[] = {"0", "4"};

    for (int i = 0; i < 2; i++) {
        struct pair pair =
            pair_start(PROCESS_ARGS("-spawn", "0,0,60", "-aoi-hysteresis", hysteresis[i]), NULL);
        struct process *bots = process_start(
            "bot", PROCESS_ARGS("-mode=load", "-n", "60", "-seconds", "2", "-spread", "square",
                                "-at", "0,0", "-oracle", "-json", "-addr", pair.gateway->addr));
        cr_assert(process_ended(bots, 60000));
        struct span out = process_out(bots);
        cr_assert_null(memmem(out.p, out.n, "\"walking\":{\"views\":0,", 21), "none was judged");
        cr_assert_eq(WEXITSTATUS(bots->status), i, "%.*s", (int)out.n, (const char *)out.p);
        pair_end_one(pair.gateway);
        pair_end_one(pair.world);
    }
    TEST_NO_LEAKS();
}
