/* tests/bot/test_census.c: views are compared with where the bots know themselves to be. */
#include "bot/census.h"

#include "common/rng.h"
#include "proto/aoi_move.h"
#include "tests/leak.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define QUANTUM   (1.0 / 64)
#define MAX_SPEED 12.0
#define RADIUS    30.0
#define SELF      1u

static bool stray(void *arg, struct span name)
{
    (void)arg;
    return span_equal(name, span_text("stray"));
}

static struct census_body body(uint32_t id, double x, double y)
{
    return (struct census_body){.id = id, .x = x, .y = y, .sure = true};
}

static void enter(struct view *v)
{
    struct message m = {.cmd = CMD_ENTER_RESP, .seq = 2};
    view_init(v, NULL, NULL);
    m.enter_resp.id = SELF;
    m.enter_resp.radius = RADIUS;
    m.enter_resp.quantum = QUANTUM;
    m.enter_resp.max_speed = MAX_SPEED;
    cr_assert_null(view_apply(v, &m, 100));
}

static void tell(struct view *v, const struct message_entity *e, uint32_t n)
{
    struct message m = {.cmd = CMD_AOI_ADD};
    m.aoi_add.tick = 1;
    m.aoi_add.entities = e;
    m.aoi_add.count = n;
    cr_assert_null(view_apply(v, &m, 100));
}

static void tell_one(struct view *v, uint32_t id, const char *name, double x, double y)
{
    struct message_entity e = {.id = id, .name = span_text(name), .x = x, .y = y};
    tell(v, &e, 1);
}

/* The self at (0, 0), #2 at (30, 0) on the edge of sight, #3 just past it; #2 is known. */
struct scene {
    struct census census;
    struct view view;
    struct census_body self, second, third;
    uint64_t seen;
};

static void begin(struct scene *s)
{
    *s = (struct scene){.self = body(SELF, 0, 0),
                        .second = body(2, RADIUS, 0),
                        .third = body(3, 0, -RADIUS - QUANTUM)};
    cr_assert_eq(census_init(&s->census, 8, stray, NULL), 0);
    enter(&s->view);
}

static uint32_t check(struct scene *s, double hysteresis)
{
    census_clear(&s->census, RADIUS, hysteresis);
    census_add(&s->census, &s->third);
    census_add(&s->census, &s->second);
    census_add(&s->census, &s->self);
    census_sort(&s->census);
    s->seen = 0;
    return census_check(&s->census, &s->self, &s->view, &s->seen);
}

static void end(struct scene *s)
{
    census_fini(&s->census);
    view_fini(&s->view);
    TEST_NO_LEAKS();
}

#define DIFFERS(s, words)                                                          \
    do {                                                                           \
        cr_assert_eq(check(s, 0), 1);                                              \
        cr_assert_not_null(strstr((s)->census.why, words), "%s", (s)->census.why); \
    } while (0)

Test(census, a_view_of_all_within_the_radius_and_nobody_else_is_exact)
{
    struct scene s;
    begin(&s);
    tell_one(&s.view, 2, "b", RADIUS, 0);
    cr_assert_eq(check(&s, 0), 0);
    cr_assert_eq(s.seen, 1);
    end(&s);
}

Test(census, who_stands_within_the_radius_and_is_not_known_is_told)
{
    struct scene s;
    begin(&s);
    DIFFERS(&s, "#2 stands 30.0000 away and is not known");
    s.second.sure = false;
    cr_assert_eq(check(&s, 0), 0, "it may be gone");
    end(&s);
}

Test(census, who_stands_in_another_scene_is_never_near)
{
    struct scene s;
    begin(&s);
    s.self.scene = s.third.scene = "town";
    s.second.scene = "wild";
    cr_assert_eq(check(&s, 0), 0);
    tell_one(&s.view, 2, "b", RADIUS, 0);
    DIFFERS(&s, "#2 stands inf away and is known");
    s.second.scene = "town";
    cr_assert_eq(check(&s, 0), 0);
    end(&s);
}

Test(census, who_stands_past_the_reach_and_is_known_is_told)
{
    struct scene s;
    struct message_entity e[] = {{.id = 2, .name = span_text("b"), .x = RADIUS},
                                 {.id = 3, .name = span_text("c"), .y = -RADIUS - QUANTUM}};
    begin(&s);
    tell(&s.view, e, 2);
    DIFFERS(&s, "#3 stands 30.0156 away and is known");
    cr_assert_eq(check(&s, 0.5), 0, "with hysteresis it may be");
    end(&s);
}

Test(census, a_place_is_known_as_the_wire_tells_it)
{
    struct scene s;
    begin(&s);
    tell_one(&s.view, 2, "b", RADIUS - QUANTUM * 0.6, 0);
    s.second.x = RADIUS - QUANTUM * 1.4;
    cr_assert_eq(check(&s, 0), 0, "both are the same on the wire");
    s.second.x = RADIUS - QUANTUM * 0.4;
    DIFFERS(&s, "#2 is believed at (29.9906, 0.0000) and is at (29.9937, 0.0000)");
    end(&s);
}

Test(census, direction_and_speed_are_compared)
{
    struct scene s;
    begin(&s);
    tell_one(&s.view, 2, "b", RADIUS, 0);
    s.second.dir = 1;
    DIFFERS(&s, "goes dir 1");
    s.second.walked = true;
    cr_assert_eq(check(&s, 0), 0, "whom the world walks, the world turns");
    s.second.walked = false;
    s.second.dir = 0;
    s.second.speed = 255;
    DIFFERS(&s, "speed 255");
    end(&s);
}

Test(census, one_who_is_nobody_is_told_unless_it_may_be_a_stray)
{
    struct scene s;
    struct message_entity e[] = {{.id = 2, .name = span_text("b"), .x = RADIUS},
                                 {.id = 8, .name = span_text("stray"), .x = 3},
                                 {.id = 9, .name = span_text("ghost"), .x = 3}};
    begin(&s);
    tell(&s.view, e, 3);
    DIFFERS(&s, "#9 \"ghost\" is known and is nobody");
    end(&s);
}

/* Against a plain double loop over seeded crowds. */
Test(census, the_strip_finds_what_looking_at_all_finds)
{
    enum { CROWD = 60 };
    struct census c;
    struct rng rng;
    rng_init(&rng, 5);
    cr_assert_eq(census_init(&c, CROWD, stray, NULL), 0);
    for (int round = 0; round < 200; round++) {
        struct census_body all[CROWD];
        struct view v;
        uint64_t seen = 0;
        uint32_t near = 0;
        census_clear(&c, RADIUS, 0);
        for (uint32_t i = 0; i < CROWD; i++) {
            all[i] = body(CROWD - i, (double)rng_below(&rng, 120), (double)rng_below(&rng, 120));
            census_add(&c, &all[i]);
        }
        census_sort(&c);
        enter(&v);
        const struct census_body *self = &all[CROWD - 1];
        for (uint32_t i = 0; i + 1 < CROWD; i++)
            near += hypot(all[i].x - self->x, all[i].y - self->y) <= RADIUS;
        cr_assert_eq(self->id, SELF);
        cr_assert_eq(census_check(&c, self, &v, &seen), near, "all are missing");
        cr_assert_eq(seen, 0);
        view_fini(&v);
    }
    census_fini(&c);
    TEST_NO_LEAKS();
}

Test(census, as_many_may_be_unknown_as_the_server_says_it_hides)
{
    struct scene s;
    begin(&s);
    cr_assert_eq(check(&s, 0), 1, "one is in sight and unknown");
    s.view.hidden = 1;
    cr_assert_eq(check(&s, 0), 0);
    s.third.y = -RADIUS; /* in sight too */
    cr_assert_eq(check(&s, 0), 1, "two unknown, one hidden");
    s.view.hidden = 2;
    cr_assert_eq(check(&s, 0), 0);
    view_fini(&s.view);
    census_fini(&s.census);
    TEST_NO_LEAKS();
}
