/* tests/world/test_cases_moves.c: cases from the field on moves and speed: A16, B07 to B09, walks
 * too. C09 stands in test_router.c. May touch: tests/world_rig.
 */
#include "tests/leak.h"
#include "tests/world_rig.h"

#include <math.h>

#define MS CLOCK_NS_PER_MS

/* --- A16 ------------------------------------------------------------------------------------- */

/* A MoveReq's payload with these raw values for x, y, dir and speed; n = 0: left out. */
static uint32_t send_raw(struct rig *r, uint32_t s, struct span x, struct span y, struct span dir,
                         struct span speed)
{
    uint8_t payload[64];
    struct span_writer w = span_writer_of(payload, sizeof payload);
    span_put_u8(&w, (uint8_t)(0x82 + (dir.n > 0) + (speed.n > 0)));
    span_put(&w, "\xa1x", 2);
    span_put(&w, x.p, x.n);
    span_put(&w, "\xa1y", 2);
    span_put(&w, y.p, y.n);
    if (dir.n > 0) {
        span_put(&w,
                 "\xa3"
                 "dir",
                 4);
        span_put(&w, dir.p, dir.n);
    }
    if (speed.n > 0) {
        span_put(&w, "\xa5speed", 6);
        span_put(&w, speed.p, speed.n);
    }
    return rig_send_payload(r, s, CMD_MOVE_REQ, span_written(&w));
}

#define NOTHING ((struct span){NULL, 0})
#define ZERO    RIG_BYTES("\0")

static const struct span NOT_FINITE[] = {
    {(const uint8_t *)"\xcb\x7f\xf8\0\0\0\0\0\0", 9}, /* NaN */
    {(const uint8_t *)"\xcb\xff\xf8\0\0\0\0\0\1", 9}, /* -NaN */
    {(const uint8_t *)"\xcb\x7f\xf0\0\0\0\0\0\1", 9}, /* signalling */
    {(const uint8_t *)"\xcb\x7f\xf0\0\0\0\0\0\0", 9}, /* Inf */
    {(const uint8_t *)"\xcb\xff\xf0\0\0\0\0\0\0", 9}, /* -Inf */
    {(const uint8_t *)"\xca\x7f\xc0\0\0", 5},         /* float32 */
    {(const uint8_t *)"\xca\x7f\x80\0\0", 5},         {(const uint8_t *)"\xca\xff\x80\0\0", 5},
};

static const struct span GIANT[] = {
    {(const uint8_t *)"\xcb\x7f\xe1\xcc\xf3\x85\xeb\xc8\xa0", 9}, /* 1e308 */
    {(const uint8_t *)"\xcb\xff\xe1\xcc\xf3\x85\xeb\xc8\xa0", 9}, /* -1e308 */
    {(const uint8_t *)"\xcf\x80\0\0\0\0\0\0\0", 9},               /* 2^63 */
    {(const uint8_t *)"\xd3\x80\0\0\0\0\0\0\0", 9},               /* -2^63 */
    {(const uint8_t *)"\xcf\xff\xff\xff\xff\xff\xff\xff\xff", 9}, /* 2^64 - 1 */
    {(const uint8_t *)"\xca\x7f\x7f\xff\xff", 5},                 /* the largest float32 */
    {(const uint8_t *)"\xcb\x7f\xef\xff\xff\xff\xff\xff\xff", 9}, /* the largest float64 */
};

/* After a refusal nothing is told and a legal move works. */
static void goes_on(struct rig *r, uint32_t s, uint32_t v)
{
    rig_drop(r);
    rig_tick(r, 3);
    cr_assert_eq(r->sessions[v].count, 0, "nothing is shown to others");
    double x = r->sessions[s].x == 20 ? 20.5 : 20;
    rig_move(r, s, x, 0);
    rig_tick(r, 1);
    const struct rig_known *k = rig_view_find(&r->sessions[v].view, r->sessions[s].id);
    cr_assert(k->x == x && k->dir == 0 && k->speed == 0);
}

Test(cases, a16_numbers_that_are_not_finite_are_bad_payload)
{
    struct world_config c = rig_config();
    struct rig *r = rig_create(&c);
    uint32_t v = rig_join(r, "v"), s = rig_join(r, "s");
    rig_place(r, s, 20, 0);
    rig_tick(r, 1);
    for (size_t i = 0; i < ARRAY_LEN(NOT_FINITE); i++) {
        struct span n = NOT_FINITE[i];
        rig_refused(r, s, send_raw(r, s, n, ZERO, NOTHING, NOTHING), PE_BAD_PAYLOAD);
        rig_refused(r, s, send_raw(r, s, ZERO, n, NOTHING, NOTHING), PE_BAD_PAYLOAD);
        rig_refused(r, s, send_raw(r, s, ZERO, ZERO, n, NOTHING), PE_BAD_PAYLOAD);
        rig_refused(r, s, send_raw(r, s, ZERO, ZERO, NOTHING, n), PE_BAD_PAYLOAD);
        rig_refused(r, s, send_raw(r, s, n, n, n, n), PE_BAD_PAYLOAD);
        goes_on(r, s, v);
    }
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(cases, a16_finite_numbers_outside_the_scene_are_out_of_bounds)
{
    struct world_config c = rig_config();
    struct rig *r = rig_create(&c);
    uint32_t v = rig_join(r, "v"), s = rig_join(r, "s");
    rig_place(r, s, 20, 0);
    rig_tick(r, 1);
    for (size_t i = 0; i < ARRAY_LEN(GIANT); i++) {
        struct span n = GIANT[i];
        rig_refused(r, s, send_raw(r, s, n, ZERO, NOTHING, NOTHING), PE_MOVE_BOUNDS);
        rig_refused(r, s, send_raw(r, s, ZERO, n, NOTHING, NOTHING), PE_MOVE_BOUNDS);
        rig_refused(r, s, send_raw(r, s, n, n, NOTHING, NOTHING), PE_MOVE_BOUNDS);
        goes_on(r, s, v);
    }
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(cases, a16_giant_directions_and_speeds_are_taken_modulo_and_cut)
{
    struct world_config c = rig_config();
    struct rig *r = rig_create(&c);
    uint32_t v = rig_join(r, "v"), s = rig_join(r, "s");
    struct span x = RIG_BYTES("\x10");
    rig_tick(r, 1);
    for (size_t i = 0; i < ARRAY_LEN(GIANT); i++) {
        uint32_t seq = send_raw(r, s, x, ZERO, GIANT[i], NOTHING);
        cr_assert_eq(rig_answer(r, s, seq)->cmd, (uint32_t)CMD_MOVE_RESP);
        bool negative = i == 1 || i == 3;
        seq = send_raw(r, s, x, ZERO, NOTHING, GIANT[i]);
        if (negative)
            rig_refused(r, s, seq, PE_BAD_PAYLOAD);
        else
            cr_assert_eq(rig_answer(r, s, seq)->cmd, (uint32_t)CMD_MOVE_RESP);
        rig_tick(r, 1);
        const struct rig_known *k = rig_view_find(&r->sessions[v].view, r->sessions[s].id);
        cr_assert_eq(k->wire_speed, 255);
    }
    /* and the smallest number there is, as all of them */
    struct span tiny = RIG_BYTES("\xcb\0\0\0\0\0\0\0\1");
    rig_tick(r, 30);
    rig_place(r, s, 1, 0);
    cr_assert_eq(rig_answer(r, s, send_raw(r, s, tiny, tiny, tiny, tiny))->cmd,
                 (uint32_t)CMD_MOVE_RESP);
    rig_tick(r, 3);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

/* --- B07 ------------------------------------------------------------------------------------- */

static void late_together(int64_t tick_ns)
{
    struct world_config c = rig_config();
    c.tick_ns = tick_ns;
    struct rig *r = rig_create(&c);
    uint32_t v = rig_join(r, "v"), s = rig_join(r, "s");
    rig_pass(r, 2000 * MS); /* they stand, and then 50 moves of 0.23 are held for a second */
    rig_tick(r, 1);
    rig_drop(r);
    for (int i = 1; i <= 50; i++)
        rig_move(r, s, 16 + 0.23 * i, 0);
    rig_tick(r, 1);
    cr_assert_eq(r->sessions[v].count, 1, "one AoiMove");
    cr_assert_eq(r->sessions[v].view.moves, 1);
    const struct rig_known *k = rig_view_find(&r->sessions[v].view, r->sessions[s].id);
    cr_assert_float_eq(k->x, 16 + 0.23 * 50, 1.0 / 128);
    rig_destroy(r);
}

Test(cases, b07_honest_moves_delivered_late_together_all_pass)
{
    late_together(50 * MS);
    late_together(250 * MS); /* a tick that runs five times slow */
    TEST_NO_LEAKS();
}

Test(cases, b07_a_second_of_moves_right_after_entering_passes_when_it_took_a_second)
{
    struct world_config c = rig_config();
    struct rig *r = rig_create(&c);
    uint32_t s = rig_join(r, "s");
    rig_pass(r, 1000 * MS);
    for (int i = 1; i <= 50; i++)
        rig_move(r, s, 8 + 0.23 * i, 0);
    rig_refused(r, s, rig_send_move(r, s, 8 + 0.23 * 50 + 1, 0), PE_MOVE_SPEED);
    rig_destroy(r);
}

/* --- B08 ------------------------------------------------------------------------------------- */

Test(cases, b08_a_diagonal_is_as_long_as_it_is)
{
    struct world_config c = rig_config();
    struct rig *r = rig_create(&c);
    uint32_t s = rig_join(r, "s");
    double x = r->sessions[s].x;
    rig_pass(r, 1200 * MS);
    rig_move(r, s, x + 8.6, 8.6); /* 12.16 */
    rig_pass(r, 1200 * MS);
    rig_refused(r, s, rig_send_move(r, s, x + 8.6 + 8.7, 8.6 + 8.7), PE_MOVE_SPEED); /* 12.30 */
    rig_refused(r, s, rig_send_move(r, s, x + 8.6 + 12, 8.6 + 12), PE_MOVE_SPEED);
    rig_move(r, s, x + 8.6 - 8.6, 8.6 - 8.6);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

/* What a walker covers in its ticks is what a mover may in that time, on the diagonal too. */
Test(cases, b08_a_walk_on_the_diagonal_is_as_long_as_it_is)
{
    static const int gaits[] = {WALKERS_STRAIGHT, WALKERS_TILE};
    for (size_t i = 0; i < ARRAY_LEN(gaits); i++) {
        struct world_config c = rig_config();
        c.walk = gaits[i];
        c.max_speed = 5; /* below the 4 √2 of two tiles on both axes in half a second */
        struct rig *r = rig_create(&c);
        uint32_t v = rig_join(r, "v"), s = rig_join(r, "s");
        rig_pass(r, 1200 * MS);
        rig_tick(r, 1);
        rig_walk(r, s, 16 + 20, 20, false);
        for (int tick = 1; tick <= 60; tick++) {
            rig_tick(r, 1);
            const struct rig_known *k = rig_view_find(&r->sessions[v].view, r->sessions[s].id);
            double seconds = 1.02 + 0.05 * tick; /* with what it had saved */
            cr_assert_leq(hypot(k->x - 16, k->y), 5 * seconds + 1.0 / 32);
        }
        rig_refused(r, s, rig_send_move(r, s, 16 + 20, 20), PE_MOVE_SPEED);
        rig_destroy(r);
    }
    TEST_NO_LEAKS();
}

/* --- B09 ------------------------------------------------------------------------------------- */

Test(cases, b09_the_rim_is_inside_and_a_hair_beyond_is_not)
{
    static const double in = 1.0 / 64;
    struct world_config c = rig_config();
    c.max_speed = 1e6;
    double w = 512, h = 256;
    memcpy(c.bounds, (double[4]){0, 0, w, h}, sizeof c.bounds);
    struct rig *r = rig_create(&c);
    uint32_t s = rig_join(r, "s");
    double xs[] = {0, in, w / 2, w - in, w}, ys[] = {0, in, h / 2, h - in, h};
    double out_x[] = {-in, nextafter(0, -1), nextafter(w, 2 * w), w + in};
    double out_y[] = {-in, nextafter(0, -1), nextafter(h, 2 * h), h + in};
    for (size_t i = 0; i < ARRAY_LEN(xs); i++) {
        for (size_t j = 0; j < ARRAY_LEN(ys); j++) {
            rig_move(r, s, xs[i], ys[j]);
            rig_tick(r, 1);
            for (size_t k = 0; k < 4; k++) {
                rig_refused(r, s, rig_send_move(r, s, out_x[k], ys[j]), PE_MOVE_BOUNDS);
                rig_refused(r, s, rig_send_move(r, s, xs[i], out_y[k]), PE_MOVE_BOUNDS);
                rig_refused(r, s, rig_send_move(r, s, out_x[k], out_y[k]), PE_MOVE_BOUNDS);
            }
        }
    }
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(cases, b09_sight_works_at_all_four_corners)
{
    struct world_config c = rig_config();
    c.max_speed = 1e6;
    double w = 517.3, h = 256;
    memcpy(c.bounds, (double[4]){0, 0, w, h}, sizeof c.bounds);
    struct rig *r = rig_create(&c);
    uint32_t v = rig_join(r, "v"), p = rig_join(r, "p");
    for (int corner = 0; corner < 4; corner++) {
        double x = corner & 1 ? w : 0, y = corner & 2 ? h : 0;
        double in_x = corner & 1 ? -1 : 1, in_y = corner & 2 ? -1 : 1;
        rig_move(r, v, x, y);
        rig_move(r, p, x, y + 29.5 * in_y);
        rig_tick(r, 1);
        cr_assert(rig_knows(r, v, p) && rig_knows(r, p, v));
        rig_move(r, p, x + 31 * in_x, y);
        rig_tick(r, 1);
        cr_assert(!rig_knows(r, v, p) && !rig_knows(r, p, v));
        rig_move(r, p, x, y);
        rig_tick(r, 1);
        cr_assert(rig_knows(r, v, p) && rig_knows(r, p, v));
    }
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(cases, b09_a_walk_beyond_the_rim_goes_to_the_rim)
{
    static const int gaits[] = {WALKERS_STRAIGHT, WALKERS_TILE};
    static const double far[][2] = {{-1e6, 261}, {1e6, 261}, {1e6, -5}, {-1e6, -5}, {1e300, 128}};
    for (size_t g = 0; g < ARRAY_LEN(gaits); g++) {
        struct world_config c = rig_config();
        double w = 64, h = 256;
        c.walk = gaits[g];
        c.walk_max_tiles = 100;
        c.tile_ns = 10 * MS;
        c.max_speed = 1e4;
        memcpy(c.bounds, (double[4]){0, 0, w, h}, sizeof c.bounds);
        struct rig *r = rig_create(&c);
        uint32_t v = rig_join(r, "v"), s = rig_join(r, "s");
        for (size_t i = 0; i < ARRAY_LEN(far); i++) {
            double x = far[i][0] < 0 ? 0 : w, y = far[i][1] < 0 ? 0 : far[i][1] > h ? h : 128;
            const struct message *m =
                rig_answer(r, s, rig_send_walk(r, s, far[i][0], far[i][1], false));
            cr_assert_eq(m->cmd, (uint32_t)CMD_WALK_RESP);
            cr_assert(m->walk_resp.x == x && m->walk_resp.y == y);
            rig_tick(r, 60);
            rig_move(r, v, x, y);
            rig_tick(r, 1);
            const struct rig_known *k = rig_view_find(&r->sessions[v].view, r->sessions[s].id);
            cr_assert(k && k->x == x && k->y == y, "it stands on the rim, and is seen there");
        }
        rig_destroy(r);
    }
    TEST_NO_LEAKS();
}
