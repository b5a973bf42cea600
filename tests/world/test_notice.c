/* tests/world/test_notice.c: one body to many: a cell, a zone, a scene, everybody, who knows
 * somebody. May touch: tests/world_rig. Source: PROTOCOL.md, "SayNotify".
 */
#include "common/rng.h"
#include "tests/leak.h"
#include "tests/world/plain_map.h"
#include "tests/world_rig.h"

#include <stdio.h>

static struct rig *fast_rig(double hysteresis)
{
    struct world_config c = rig_config();
    c.max_speed = 1e6;
    c.aoi_hysteresis = hysteresis;
    return rig_create(&c);
}

/* Announcements that this session got and that nobody took yet. */
static uint32_t heard(struct rig *r, uint32_t s)
{
    uint32_t n = 0;
    const struct message *m;

    while ((m = rig_take(r, s)))
        n += m->cmd == CMD_SAY_NOTIFY && m->say_notify.id == 0 &&
             span_equal(m->say_notify.text, span_text("hear ye"));
    return n;
}

static uint32_t announce(struct rig *r, const struct notice_area *to)
{
    return rig_announce(r, to, "hear ye");
}

Test(notice, a_zone_is_told_with_its_edges_and_nobody_else)
{
    struct rig *r = fast_rig(0);
    struct notice_area zone = {.reach = NOTICE_ZONE, .rect = {0, -1, 100, 1}};
    uint32_t inside = rig_join_at(r, "inside", 50, 0), edge = rig_join_at(r, "edge", 100, 1);
    uint32_t corner = rig_join_at(r, "corner", 0, -1), out = rig_join_at(r, "out", 50, 1.001);
    uint32_t outside = rig_open(r, 0);

    rig_login(r, outside, "outside");
    rig_tick(r, 1);
    rig_drop(r);
    cr_assert_eq(announce(r, &zone), 3);
    cr_assert_eq(heard(r, inside), 1);
    cr_assert_eq(heard(r, edge), 1);
    cr_assert_eq(heard(r, corner), 1);
    cr_assert_eq(heard(r, out), 0);
    cr_assert_eq(heard(r, outside), 0, "who is nowhere is in no zone");
    cr_assert_eq(r->world->metrics.announces, 1);
    cr_assert_eq(r->world->metrics.announces_told, 3);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(notice, a_cell_is_told_by_where_they_stand_now)
{
    struct rig *r = fast_rig(0);
    uint32_t a = rig_join_at(r, "a", 1, 1), b = rig_join_at(r, "b", 2, 2);
    uint32_t c = rig_join_at(r, "c", 500, 500);
    struct notice_area cell = {.reach = NOTICE_CELL,
                               .cell = grid_cell(&r->world->scenes.grid, 0, 500, 500)};

    rig_tick(r, 1);
    rig_move(r, b, 500, 501);
    rig_drop(r);
    cr_assert_eq(announce(r, &cell), 2, "b came since the tick");
    cr_assert_eq(heard(r, a), 0);
    cr_assert_eq(heard(r, b), 1);
    cr_assert_eq(heard(r, c), 1);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(notice, everybody_is_who_is_logged_in_and_a_scene_who_is_in_it)
{
    struct rig *r = fast_rig(0);
    struct notice_area all = {.reach = NOTICE_EVERYBODY}, scene = {.reach = NOTICE_SCENE};
    uint32_t in = rig_join_at(r, "in", 900, -900), logged = rig_open(r, 0), fresh = rig_open(r, 0);

    rig_login(r, logged, "logged");
    rig_drop(r);
    cr_assert_eq(announce(r, &all), 2);
    cr_assert_eq(heard(r, in), 1, "before its first tick too");
    cr_assert_eq(heard(r, logged), 1);
    cr_assert_eq(heard(r, fresh), 0, "not logged in");
    cr_assert_eq(announce(r, &scene), 1);
    cr_assert_eq(heard(r, in), 1);
    cr_assert_eq(heard(r, logged), 0);
    rig_leave(r, in);
    cr_assert_eq(announce(r, &scene), 0);
    rig_close(r, in);
    rig_close(r, logged);
    rig_drop(r);
    cr_assert_eq(announce(r, &all), 0);
    cr_assert_eq(r->strays, 0, "nothing goes to a session that is over");
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(notice, a_zone_is_one_scenes_whatever_the_places_in_another)
{
    struct world_config c = rig_config();
    struct map yard = plain_map_open("yard", 0, 0, 1, 40, 40);
    struct rig *r;
    struct notice_area zone = {.reach = NOTICE_ZONE, .rect = {0, 0, 40, 40}};
    struct notice_area scene = {.reach = NOTICE_SCENE, .scene = 1}, cell = {.reach = NOTICE_CELL};
    uint32_t out, in;

    c.max_speed = 1e6;
    r = rig_create_maps(&c, &yard, 1);
    out = rig_join_at(r, "out", 10, 10);
    in = rig_join_at(r, "in", 12, 10);
    cr_assert_eq(rig_teleport(r, in, 1, 10, 10), 0);
    rig_tick(r, 1);
    rig_drop(r);
    cr_assert_eq(announce(r, &zone), 1);
    cr_assert_eq(heard(r, out), 1);
    cr_assert_eq(heard(r, in), 0);
    zone.scene = 1;
    cr_assert_eq(announce(r, &zone), 1);
    cr_assert_eq(heard(r, in), 1);
    cr_assert_eq(announce(r, &scene), 1);
    cr_assert_eq(heard(r, in), 1);
    cell.cell = grid_cell(&r->world->scenes.grid, 1, 10, 10);
    cr_assert_eq(announce(r, &cell), 1);
    cr_assert_eq(heard(r, in), 1);
    cr_assert_eq(heard(r, out), 0);
    rig_destroy(r);
    map_fini(&yard);
    TEST_NO_LEAKS();
}

Test(notice, the_body_goes_once_to_each_gateway)
{
    struct rig *r = fast_rig(0);
    struct notice_area all = {.reach = NOTICE_EVERYBODY}, scene = {.reach = NOTICE_SCENE};
    uint32_t s[60];
    char name[16];

    (void)rig_link_up(r, "gw-1");
    (void)rig_link_up(r, "gw-2");
    for (uint32_t i = 0; i < ARRAY_LEN(s); i++) {
        snprintf(name, sizeof name, "p%u", i);
        s[i] = rig_open(r, i % 3);
        rig_login(r, s[i], name);
        rig_enter(r, s[i]);
    }
    rig_drop(r);
    uint64_t frames = r->world->outbox.frames;
    cr_assert_eq(announce(r, &all), ARRAY_LEN(s));
    cr_assert_eq(r->world->outbox.frames - frames, 3);
    cr_assert_eq(announce(r, &scene), ARRAY_LEN(s));
    cr_assert_eq(r->world->outbox.frames - frames, 6);
    for (uint32_t i = 0; i < ARRAY_LEN(s); i++)
        cr_assert_eq(heard(r, s[i]), 2);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

/* Each pair asked by itself is the answer. */
static void judge_knowers(struct rig *r)
{
    struct world *w = r->world;
    const struct entities *e = &w->entities;
    uint32_t *out = calloc(e->cap, sizeof(*out));
    uint8_t *told = calloc(e->cap, 1);

    for (uint32_t i = 0; i < e->alive_count; i++) {
        uint32_t subject = e->alive[i], n = sight_knowers(&w->sight, e, subject, out);

        memset(told, 0, e->cap);
        for (uint32_t k = 0; k < n; k++) {
            cr_assert_eq(told[out[k]], 0, "once");
            told[out[k]] = 1;
        }
        for (uint32_t k = 0; k < e->alive_count; k++) {
            uint32_t viewer = e->alive[k];

            cr_assert_eq(told[viewer], sight_knows(&w->sight, e, viewer, subject),
                         "viewer %u subject %u tick %u", viewer, subject, w->tick);
        }
    }
    free(out);
    free(told);
}

static void random_world(uint64_t seed, const struct world_config *c)
{
    struct rig *r = rig_create(c);
    struct rng rng;
    uint32_t s[40];
    bool slow[40] = {false}, open[40];
    char name[16];

    rng_init(&rng, seed);
    for (uint32_t i = 0; i < ARRAY_LEN(s); i++) {
        snprintf(name, sizeof name, "p%u", i);
        s[i] = rig_join_at(r, name, (double)rng_below(&rng, 120), (double)rng_below(&rng, 60));
        open[i] = true;
    }
    for (uint32_t tick = 0; tick < 30; tick++) {
        uint32_t movers = tick % 3 == 0 ? 2 : 25;

        for (uint32_t k = 0; k < movers; k++) {
            uint32_t i = (uint32_t)rng_below(&rng, ARRAY_LEN(s));

            if (open[i])
                rig_move(r, s[i], (double)rng_below(&rng, 120), (double)rng_below(&rng, 60));
        }
        uint32_t i = (uint32_t)rng_below(&rng, ARRAY_LEN(s));
        if (open[i] && seed % 2 == 0) {
            slow[i] = !slow[i];
            rig_congestion(r, s[i], slow[i]);
        }
        judge_knowers(r);
        i = (uint32_t)rng_below(&rng, ARRAY_LEN(s));
        if (open[i] && tick % 5 == 4) {
            rig_close(r, s[i]);
            open[i] = false;
        }
        judge_knowers(r);
        rig_tick(r, 1);
        rig_drop(r);
        judge_knowers(r);
    }
    rig_destroy(r);
}

Test(notice, who_knows_somebody_is_found_whoever_waits_and_however_sight_is_kept)
{
    struct world_config plain = rig_config(), listed, tiers, refresh, capped, thrifty;

    plain.max_speed = 1e6;
    listed = tiers = refresh = capped = thrifty = plain;
    listed.aoi_hysteresis = 7;
    tiers.aoi_tiers = "15:1,30:3,50:7";
    refresh.aoi_refresh = 5;
    capped.aoi_max = 6;
    thrifty.viewer_bytes = 64;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        random_world(seed, &plain);
        random_world(seed, &listed);
        random_world(seed, &tiers);
        random_world(seed, &refresh);
        random_world(seed, &capped);
        random_world(seed, &thrifty);
    }
    TEST_NO_LEAKS();
}
