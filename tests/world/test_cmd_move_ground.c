/* tests/world/test_cmd_move_ground.c: MoveReq on the ground of a map. PROTOCOL.md, "Errors";
 * CASES B08 and B09 where there are tiles; what must hold of any map and any moves.
 * May touch: tests/world_rig, tests/world/plain_map.
 */
#include "tests/leak.h"
#include "tests/world/plain_map.h"
#include "tests/world_rig.h"

#include <math.h>

#define MS CLOCK_NS_PER_MS

/* A world that one enters on this map, at its spawn. */
static struct rig *rig_on(struct map *m, double max_speed, double x, double y)
{
    struct world_config c = rig_config();
    c.scene = m->name;
    c.max_speed = max_speed;
    plain_map_spawn(m, (double[4]){x, y, x, y});
    return rig_create_maps(&c, m, 1);
}

static void end(struct rig *r, struct map *m)
{
    rig_balance(r);
    rig_destroy(r);
    map_fini(m);
    TEST_NO_LEAKS();
}

/* Refused, with the last legal place told, and nothing changed. */
static void refused(struct rig *r, uint32_t s, double x, double y, uint32_t code)
{
    double at_x = r->sessions[s].x, at_y = r->sessions[s].y;
    const struct message *m = rig_refused(r, s, rig_send_move(r, s, x, y), code);
    cr_assert(m->error_notify.has_place);
    cr_assert(m->error_notify.x == at_x && m->error_notify.y == at_y, "the last legal place");
}

static const char *const HOUSE[] = {
    "..........", /* */
    "..####....", /* */
    "..#..#....", /* */
    "..##.#....", /* */
    "......#...", /* */
    "..........",
};

/* --- the way ---------------------------------------------------------------------------------- */

Test(cmd_move_ground, a_way_through_a_blocked_tile_is_refused_and_tells_the_last_legal_place)
{
    struct map m = plain_map("town", HOUSE, 6);
    struct rig *r = rig_on(&m, 100, 0.5, 0.5);
    uint32_t v = rig_join(r, "v"), s = rig_join(r, "a");
    rig_tick(r, 1);
    rig_pass(r, CLOCK_NS_PER_S);
    rig_drop(r);
    refused(r, s, 3.5, 1.5, PE_MOVE_BLOCKED); /* its end is blocked */
    refused(r, s, 3.5, 5.5, PE_MOVE_BLOCKED); /* behind the house */
    refused(r, s, 4.5, 2.5, PE_MOVE_BLOCKED); /* in it, through the wall */
    rig_move(r, s, 1.5, 4.5);
    refused(r, s, 3.5, 2.5, PE_MOVE_BLOCKED);
    rig_move(r, s, 4.5, 4.5);
    rig_move(r, s, 4.5, 2.5); /* by the door */
    refused(r, s, 4.5, 0.5, PE_MOVE_BLOCKED);
    cr_assert_eq(r->world->metrics.moves_blocked, 5);
    cr_assert_eq(r->world->metrics.moves_ok, 3);
    rig_tick(r, 1);
    const struct rig_known *k = rig_view_find(&r->sessions[v].view, r->sessions[s].id);
    cr_assert(k->x == 4.5 && k->y == 2.5, "others are told of legal places only");
    end(r, &m);
}

Test(cmd_move_ground, no_corner_is_cut_and_two_tiles_at_a_corner_are_a_wall)
{
    struct map m = plain_map("town", HOUSE, 6);
    struct rig *r = rig_on(&m, 100, 5.5, 4.5);
    uint32_t s = rig_join(r, "a");
    rig_pass(r, CLOCK_NS_PER_S);
    refused(r, s, 6.5, 3.5, PE_MOVE_BLOCKED); /* between 5, 3 and 6, 4 */
    refused(r, s, 6, 4, PE_MOVE_BLOCKED);     /* nor half of it */
    rig_move(r, s, 4.5, 4.5);
    refused(r, s, 3.5, 5.5 - 2, PE_MOVE_BLOCKED);
    rig_move(r, s, 5.5, 5.5);
    refused(r, s, 6.5, 4.5, PE_MOVE_BLOCKED);
    rig_move(r, s, 6.5, 5.5);
    refused(r, s, 7.5, 4.5, PE_MOVE_BLOCKED); /* past one corner alone */
    rig_move(r, s, 7.5, 5.5);
    rig_move(r, s, 7.5, 3.5);
    end(r, &m);
}

Test(cmd_move_ground, refused_moves_cost_no_credit)
{
    struct map m = plain_map("town", HOUSE, 6);
    struct rig *r = rig_on(&m, 2, 0.5, 1.5);
    uint32_t s = rig_join(r, "a");
    rig_pass(r, CLOCK_NS_PER_S);
    for (int i = 0; i < 1000; i++)
        refused(r, s, 2.25, 1.5, PE_MOVE_BLOCKED);
    rig_move(r, s, 0.5, 3.5); /* two units, for which it had the credit of a second */
    refused(r, s, 0.5, 4.5, PE_MOVE_SPEED);
    end(r, &m);
}

Test(cmd_move_ground, of_several_reasons_bounds_come_first_then_speed_then_blocked)
{
    struct map m = plain_map("town", HOUSE, 6);
    struct rig *r = rig_on(&m, 1, 0.5, 1.5);
    uint32_t s = rig_join(r, "a");
    rig_pass(r, CLOCK_NS_PER_S);
    refused(r, s, 1e9, 1.5, PE_MOVE_BOUNDS);
    refused(r, s, 10.01, 1.5, PE_MOVE_BOUNDS); /* too far, and through the house */
    refused(r, s, 9.5, 1.5, PE_MOVE_SPEED);    /* through the house */
    refused(r, s, 3.5, 1.5, PE_MOVE_SPEED);    /* into it */
    rig_move(r, s, 1.25, 1.5);
    rig_pass(r, CLOCK_NS_PER_S);
    refused(r, s, 2, 1.5, PE_MOVE_BLOCKED);
    end(r, &m);
}

Test(cmd_move_ground, a_turn_on_the_spot_is_a_legal_way)
{
    struct map m = plain_map("town", HOUSE, 6);
    struct rig *r = rig_on(&m, 1, 0.5, 1.5);
    uint32_t s = rig_join(r, "a");
    rig_turn(r, s, 0.5, 1.5, 2, 0);
    cr_assert_eq(r->world->metrics.moves_ok, 1);
    end(r, &m);
}

/* --- cases from the field --------------------------------------------------------------------- */

Test(cases, b08_a_diagonal_over_tiles_is_as_long_as_it_is)
{
    struct map m = plain_map_open("wild", 0, 0, 1, 64, 64);
    struct rig *r = rig_on(&m, 12, 10, 10);
    uint32_t s = rig_join(r, "s");
    rig_pass(r, 1200 * MS);
    rig_move(r, s, 18.6, 18.6); /* 12.16 */
    rig_pass(r, 1200 * MS);
    refused(r, s, 18.6 + 8.7, 18.6 + 8.7, PE_MOVE_SPEED); /* 12.30 */
    refused(r, s, 18.6 + 12, 18.6 + 12, PE_MOVE_SPEED);
    rig_move(r, s, 18.6 - 8.6, 18.6 - 8.6);
    end(r, &m);
}

Test(cases, b09_the_rim_of_a_map_is_inside_and_a_hair_beyond_is_not)
{
    static const double in = 1.0 / 64;
    struct map m = plain_map_open("wild", 0, 0, 2, 24, 16);
    double w = 48, h = 32;
    struct rig *r = rig_on(&m, 1e6, 1, 1);
    uint32_t s = rig_join(r, "s");
    double xs[] = {0, in, w / 2, w - in, w}, ys[] = {0, in, h / 2, h - in, h};
    double out_x[] = {-in, nextafter(0, -1), nextafter(w, 2 * w), w + in};
    double out_y[] = {-in, nextafter(0, -1), nextafter(h, 2 * h), h + in};
    for (size_t i = 0; i < ARRAY_LEN(xs); i++) {
        for (size_t j = 0; j < ARRAY_LEN(ys); j++) {
            rig_move(r, s, xs[i], ys[j]);
            rig_tick(r, 1);
            for (size_t k = 0; k < 4; k++) {
                refused(r, s, out_x[k], ys[j], PE_MOVE_BOUNDS);
                refused(r, s, xs[i], out_y[k], PE_MOVE_BOUNDS);
                refused(r, s, out_x[k], out_y[k], PE_MOVE_BOUNDS);
            }
        }
    }
    end(r, &m);
}

Test(cases, b09_the_last_column_and_row_are_those_of_the_rim)
{
    static const char *const rows[] = {"...#", "....", "#..."};
    struct map m = plain_map("small", rows, 3);
    struct rig *r = rig_on(&m, 1e6, 1.5, 1.5);
    uint32_t s = rig_join(r, "s");
    refused(r, s, 4, 0.5, PE_MOVE_BLOCKED); /* x = W lies in the last column */
    refused(r, s, 4, 0, PE_MOVE_BLOCKED);
    rig_move(r, s, 4, 1);
    rig_tick(r, 1);
    refused(r, s, 4, nextafter(1, 0), PE_MOVE_BLOCKED);
    rig_move(r, s, 4, 3);
    rig_tick(r, 1);
    refused(r, s, 0.5, 3, PE_MOVE_BLOCKED); /* y = H lies in the last row */
    refused(r, s, 0, 3, PE_MOVE_BLOCKED);
    rig_move(r, s, 1, 3);
    refused(r, s, nextafter(1, 0), 3, PE_MOVE_BLOCKED);
    rig_tick(r, 1);
    rig_move(r, s, 1, 0);
    rig_move(r, s, 0, 0);
    rig_tick(r, 1);
    end(r, &m);
}

Test(cases, b09_one_walks_along_the_rim_without_tiles_outside)
{
    struct map m = plain_map_open("wild", 0, 0, 1, 67, 65);
    struct rig *r = rig_on(&m, 1e6, 0, 0);
    uint32_t s = rig_join(r, "s");
    static const double corners[][2] = {{67, 0}, {67, 65}, {0, 65}, {0, 0}};
    for (size_t c = 0; c < 4; c++) {
        double x0 = r->sessions[s].x, y0 = r->sessions[s].y;
        for (int i = 1; i <= 160; i++)
            rig_move(r, s, x0 + (corners[c][0] - x0) * i / 160,
                     y0 + (corners[c][1] - y0) * i / 160);
        cr_assert(r->sessions[s].x == corners[c][0] && r->sessions[s].y == corners[c][1]);
        rig_tick(r, 1);
        rig_drop(r);
    }
    end(r, &m);
}

Test(cases, b09_sight_works_at_all_four_corners_of_a_map)
{
    struct map m = plain_map_open("wild", 0, 0, 1, 517, 256);
    struct rig *r = rig_on(&m, 1e6, 1, 1);
    uint32_t v = rig_join(r, "v"), p = rig_join(r, "p");
    for (int corner = 0; corner < 4; corner++) {
        double x = corner & 1 ? 517 : 0, y = corner & 2 ? 256 : 0;
        double in_x = corner & 1 ? -1 : 1, in_y = corner & 2 ? -1 : 1;
        rig_move(r, v, x, y);
        rig_move(r, p, x, y + 29.5 * in_y);
        rig_tick(r, 1);
        cr_assert(rig_knows(r, v, p) && rig_knows(r, p, v));
        rig_move(r, p, x + 31 * in_x, y);
        rig_tick(r, 1);
        cr_assert(!rig_knows(r, v, p) && !rig_knows(r, p, v));
    }
    end(r, &m);
}

/* --- any map, any moves ----------------------------------------------------------------------- */

/* A coordinate up to `most` that is often on a line between tiles, on the rim, or beyond it. */
static double somewhere(struct rng *g, double at, double most)
{
    switch (rng_below(g, 8)) {
    case 0:
        return (double)rng_below(g, (uint64_t)most + 1);
    case 1:
        return floor(at) + (double)rng_below(g, 3) - 1;
    case 2:
        return at;
    case 3:
        return rng_unit(g) * (most + 2) - 1;
    case 4:
        return nextafter((double)rng_below(g, (uint64_t)most + 1), rng_below(g, 2) ? 1e9 : -1e9);
    default:
        return at + 3 * rng_unit(g) - 1.5;
    }
}

/* What must hold of one answer. */
static void judge(const struct rig *r, const struct map *m, double x0, double y0, double x1,
                  double y1, const struct message *answer)
{
    bool inside = ground_inside(&m->ground, x1, y1);
    bool legal = inside && ground_way(&m->ground, x0, y0, x1, y1, NULL);
    const struct entities *e = &r->world->entities;
    uint32_t slot = e->alive[0];
    double x = e->x[slot], y = e->y[slot];

    cr_assert(ground_free_at(&m->ground, x, y), "it stands at %g, %g", x, y);
    if (answer->cmd == CMD_MOVE_RESP) {
        cr_assert(legal, "%g,%g to %g,%g", x0, y0, x1, y1);
        cr_assert(x == x1 && y == y1);
        return;
    }
    cr_assert(x == x0 && y == y0, "what is refused changes nothing");
    cr_assert(answer->error_notify.x == x0 && answer->error_notify.y == y0);
    if (answer->error_notify.code == PE_MOVE_BOUNDS)
        cr_assert_not(inside);
    else if (answer->error_notify.code == PE_MOVE_BLOCKED)
        cr_assert(inside && !legal);
    else
        cr_assert(inside && answer->error_notify.code == PE_MOVE_SPEED);
}

struct tally {
    uint32_t ok, blocked, bounds, speed;
};

/* `n` moves of one entity on a random map; the way it made is no longer than time allows. */
static void roam(uint64_t seed, uint32_t n, struct tally *t)
{
    struct rng g;
    rng_init(&g, seed);
    struct map m = plain_map_open("wild", 0, 0, 1, 8 + (uint32_t)rng_below(&g, 60),
                                  8 + (uint32_t)rng_below(&g, 60));
    for (int32_t i = 0; i < m.ground.nx * m.ground.ny; i++)
        ground_block(&m.ground, i % m.ground.nx, i / m.ground.nx, rng_below(&g, 4) == 0);
    ground_block(&m.ground, 3, 3, false);
    struct rig *r = rig_on(&m, 12, 3.5, 3.5);
    uint32_t s = rig_join(r, "a");
    double way = 0;
    int64_t time_ns = 0;
    for (uint32_t i = 0; i < n; i++) {
        double x0 = r->sessions[s].x, y0 = r->sessions[s].y;
        double x1 = somewhere(&g, x0, m.ground.nx), y1 = somewhere(&g, y0, m.ground.ny);
        int64_t wait_ns = (int64_t)rng_below(&g, 400) * MS;
        rig_pass(r, wait_ns);
        time_ns += wait_ns;
        const struct message *a = rig_answer(r, s, rig_send_move(r, s, x1, y1));
        judge(r, &m, x0, y0, x1, y1, a);
        bool ok = a->cmd == CMD_MOVE_RESP;
        way += ok ? sqrt((x1 - x0) * (x1 - x0) + (y1 - y0) * (y1 - y0)) : 0;
        t->ok += ok;
        t->blocked += !ok && a->error_notify.code == PE_MOVE_BLOCKED;
        t->bounds += !ok && a->error_notify.code == PE_MOVE_BOUNDS;
        t->speed += !ok && a->error_notify.code == PE_MOVE_SPEED;
        if (i % 64 == 0) {
            rig_tick(r, 1);
            time_ns += r->world->config.tick_ns;
            rig_drop(r);
        }
    }
    cr_assert_leq(way, 12 * ((double)time_ns / 1e9 + 0.04) * (1 + 1e-6));
    end(r, &m);
}

Test(cmd_move_ground, of_100000_random_moves_none_ends_in_a_blocked_tile_or_outside)
{
    struct tally t = {0};
    for (uint64_t seed = 1; seed <= 50; seed++)
        roam(seed, 2000, &t);
    cr_assert_eq(t.ok + t.blocked + t.bounds + t.speed, 100000);
    cr_assert(t.ok > 10000 && t.blocked > 10000 && t.bounds > 1000 && t.speed > 1000,
              "ok %u, blocked %u, bounds %u, speed %u", t.ok, t.blocked, t.bounds, t.speed);
}
