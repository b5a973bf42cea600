/* tests/e2e/test_e2e_moves.c: speed credit in real time, and the edges of the map.
 * May touch: tests/pair, tests/raw_client, tests/e2e/stage. On trouble: the test fails.
 */
#include "proto/frame.h"
#include "tests/e2e/stage.h"
#include "tests/leak.h"
#include "tests/pair.h"
#include "tests/raw_client.h"

#include <criterion/criterion.h>
#include <stdio.h>

TestSuite(e2e_moves, .fini = process_end_all, .timeout = 60);

/* --- B07 -------------------------------------------------------------------------------------- */

#define LATE_MOVES 50
#define LATE_STEP  0.23 /* units: 50 of them are 0.96 s at full speed */

/* All of them in one write. */
static void send_late_moves(struct raw_client *c, double x)
{
    uint8_t bytes[LATE_MOVES * 64];
    struct span_writer w = span_writer_of(bytes, sizeof(bytes));

    for (uint32_t i = 1; i <= LATE_MOVES; i++) {
        struct message m = {.cmd = CMD_MOVE_REQ, .seq = c->seq + i};
        uint8_t body[64], head[FRAME_HEAD];
        struct span_writer b = span_writer_of(body, sizeof(body));
        m.move_req.x = x + LATE_STEP * i;
        message_write(&b, &m);
        frame_head(head, (uint32_t)b.len);
        span_put(&w, head, sizeof(head));
        span_put(&w, body, b.len);
    }
    cr_assert_not(w.full);
    raw_send(c, span_written(&w));
}

static void must_pass_late(const char *tick)
{
    struct pair pair = pair_start(PROCESS_ARGS("-tick", tick), NULL);
    struct raw_client mover;
    struct stage stage;

    stage_init(&stage);
    struct player *viewer = stage_join(&stage, pair.gateway->addr, "viewer");
    uint32_t id = raw_join(&mover, pair.gateway->addr, "mover");
    STAGE_UNTIL(&stage, player_knows(viewer, id));
    stage_pass(&stage, 1100); /* the moves are made, and held back somewhere */
    uint32_t before = viewer->n_events;
    send_late_moves(&mover, 16);
    for (uint32_t i = 1; i <= LATE_MOVES; i++) {
        const struct message *m = raw_must(&mover, mover.seq + i, CMD_MOVE_RESP);
        cr_assert(m->move_resp.x == 16 + LATE_STEP * i && m->move_resp.y == 0);
    }
    STAGE_UNTIL(&stage, player_events(viewer, before, STAGE_MOVE, id) > 0);
    stage_pass_ticks(viewer, 3);
    cr_assert_eq(viewer->n_events - before, 1u, "one AoiMove for all of them");
    cr_assert_float_eq(viewer->events[before].x, 16 + LATE_STEP * LATE_MOVES, 1.0 / 128 + 1e-9);
    raw_close(&mover);
    stage_fini(&stage);
    pair_end(&pair);
}

Test(e2e_moves, b07_honest_moves_delivered_late_together_pass)
{
    must_pass_late("50ms");
    TEST_NO_LEAKS();
}

Test(e2e_moves, b07_honest_moves_delivered_late_together_pass_with_slow_ticks)
{
    must_pass_late("250ms");
    TEST_NO_LEAKS();
}

/* --- B08 -------------------------------------------------------------------------------------- */

/* A second of credit and 0.02 s of overdraft: 12.24 units. */
Test(e2e_moves, b08_a_diagonal_is_as_long_as_it_is)
{
    struct pair pair = pair_start(NULL, NULL);
    struct stage stage;

    stage_init(&stage);
    struct player *p = stage_join(&stage, pair.gateway->addr, "alpha");
    stage_pass(&stage, 1200);
    player_move(p, 8 + 8.6, 8.6); /* 12.16 */
    stage_pass(&stage, 1200);
    cr_assert_eq(player_answer(p, bot_client_move(p->client, 16.6 + 8.7, 8.6 + 8.7)),
                 (uint32_t)PE_MOVE_SPEED); /* 12.30 */
    cr_assert(p->facts->x == 16.6 && p->facts->y == 8.6, "the last legal place is told");
    cr_assert_eq(player_answer(p, bot_client_move(p->client, 16.6 + 12, 8.6 + 12)),
                 (uint32_t)PE_MOVE_SPEED);
    player_move(p, 16.6 + 8.6, 8.6 + 8.6); /* a refusal costs nothing */
    stage_fini(&stage);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

Test(e2e_moves, sending_faster_than_time_gains_no_distance)
{
    struct pair pair = pair_start(NULL, PROCESS_ARGS("-rate", "0"));
    struct stage stage;
    uint32_t passed = 0;

    stage_init(&stage);
    struct player *p = stage_join(&stage, pair.gateway->addr, "alpha");
    struct mono start = clock_mono();
    for (int i = 0; i < 200; i++) {
        passed += player_answer(p, bot_client_move(p->client, p->facts->x + 0.2, 0)) == 0;
    }
    double seconds = (double)clock_since(clock_mono(), start) / 1e9;
    cr_assert_leq(passed * 0.2, 12 * (seconds + 0.04) + 1e-6);
    cr_assert_geq(p->refused[PE_MOVE_SPEED], 1u);
    stage_fini(&stage);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

/* --- B09 -------------------------------------------------------------------------------------- */

#define W 64.0
#define H 48.0

static const double xs[] = {0, W, W - 1.0 / 64, W + 1.0 / 64, -1.0 / 64, W / 2};
static const double ys[] = {0, H, H - 1.0 / 64, H + 1.0 / 64, -1.0 / 64, H / 2};

Test(e2e_moves, b09_the_edges_belong_to_the_map_and_nothing_beyond_them)
{
    struct pair pair =
        pair_start(PROCESS_ARGS("-bounds", "0,0,64,48", "-max-speed", "100000", "-tick", "10"),
                   PROCESS_ARGS("-rate", "0"));
    struct stage stage;

    stage_init(&stage);
    struct player *p = stage_join(&stage, pair.gateway->addr, "alpha");
    for (size_t i = 0; i < ARRAY_LEN(xs); i++) {
        for (size_t j = 0; j < ARRAY_LEN(ys); j++) {
            bool inside = xs[i] >= 0 && xs[i] <= W && ys[j] >= 0 && ys[j] <= H;
            double x = p->facts->x, y = p->facts->y;
            uint32_t code = player_answer(p, bot_client_move(p->client, xs[i], ys[j]));
            cr_assert_eq(code, inside ? 0u : (uint32_t)PE_MOVE_BOUNDS);
            cr_assert(p->facts->x == (inside ? xs[i] : x) && p->facts->y == (inside ? ys[j] : y));
        }
    }
    stage_fini(&stage);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

Test(e2e_moves, b09_two_see_each_other_at_all_four_corners)
{
    struct pair pair =
        pair_start(PROCESS_ARGS("-bounds", "0,0,64,48", "-max-speed", "100000", "-tick", "10"),
                   PROCESS_ARGS("-rate", "0"));
    struct stage stage;

    stage_init(&stage);
    struct player *p = stage_join(&stage, pair.gateway->addr, "alpha");
    struct player *v = stage_join(&stage, pair.gateway->addr, "viewer");
    for (int corner = 0; corner < 4; corner++) {
        double x = corner & 1 ? W : 0, y = corner & 2 ? H : 0;
        player_move(p, x, y);
        player_move(v, x, y > 0 ? H - 30 : 30); /* along the rim, at exactly the radius */
        STAGE_UNTIL(&stage, player_sees(p, v) && player_sees(v, p));
        player_move(v, W - x, H - y); /* the far corner */
        STAGE_UNTIL(&stage, !player_knows(p, v->facts->id) && !player_knows(v, p->facts->id));
        player_move(v, x, y);
        STAGE_UNTIL(&stage, player_sees(p, v) && player_sees(v, p));
    }
    stage_fini(&stage);
    pair_end(&pair);
    TEST_NO_LEAKS();
}
