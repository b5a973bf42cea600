/* tests/world/test_shout.c: -fanout-bytes: who makes the world tell much to many waits.
 * May touch: tests/world_rig. Source: world/command/shout.h.
 */
#include "tests/leak.h"
#include "tests/world_rig.h"
#include "world/command/shout.h"

#include <stdio.h>

#define CROWD 20

/* A session in a crowd of `n` that knows it. */
static struct rig *crowd(uint64_t bytes, uint32_t n, uint32_t *speaker, uint32_t *other)
{
    struct world_config c = rig_config();
    char name[16];

    c.max_speed = 1e6;
    c.fanout_bytes = bytes;
    struct rig *r = rig_create(&c);
    *speaker = rig_join_at(r, "a", 0, 0);
    *other = rig_join_at(r, "b", 1, 0);
    for (uint32_t i = 1; i < n; i++) {
        snprintf(name, sizeof name, "p%u", i);
        (void)rig_join_at(r, name, 2, i / 10.0);
    }
    rig_tick(r, 1);
    rig_drop(r);
    return r;
}

/* Until it is refused; how many were taken. */
static uint32_t say_until_refused(struct rig *r, uint32_t s, const char *text)
{
    for (uint32_t n = 0; n < 1000; n++) {
        const uint32_t seq = rig_send_say(r, s, text);
        const struct message *m = rig_answer(r, s, seq);
        if (m->cmd == CMD_ERROR_NOTIFY) {
            cr_assert_eq(m->error_notify.code, (uint32_t)PE_RATE_LIMITED);
            return n;
        }
        rig_drop(r);
    }
    cr_assert_fail("it was never refused");
    return 0;
}

Test(shout, bytes_times_receivers_are_charged_and_past_a_second_of_them_12_is_told)
{
    uint32_t a, b;
    char text[PROTO_SAY_MAX + 1];

    memset(text, 'x', PROTO_SAY_MAX);
    text[PROTO_SAY_MAX] = '\0';
    struct rig *r = crowd(50000, CROWD, &a, &b);
    const uint32_t n = say_until_refused(r, a, text);
    /* 50,000 and the line that passes it, at 20 times 512 and some */
    cr_assert_eq(n, 5u);
    cr_assert_eq(r->world->metrics.shouts_limited, 1u);
    rig_drop(r);
    rig_say(r, b, "others are not touched");
    rig_move(r, a, 0.5, 0); /* nor is what tells nobody at once */
    rig_pass(r, CLOCK_NS_PER_S);
    rig_drop(r);
    cr_assert_geq(say_until_refused(r, a, text), 4u, "a second pays a second's worth");
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(shout, one_whom_nobody_hears_may_talk_for_ever)
{
    struct world_config c = rig_config();
    c.fanout_bytes = 1024;
    struct rig *r = rig_create(&c);
    uint32_t a = rig_join_at(r, "a", 0, 0);

    rig_tick(r, 1);
    for (int i = 0; i < 500; i++)
        rig_say(r, a, "hello?");
    rig_destroy(r);
}

/* 20 who saw it, at 64 bytes: more than a second of this budget. */
Test(shout, coming_and_going_before_a_crowd_is_charged_too)
{
    uint32_t a, b;
    struct rig *r = crowd(1024, CROWD, &a, &b);

    rig_leave(r, a);
    rig_refused(r, a, rig_send_nil(r, a, CMD_ENTER_REQ), PE_RATE_LIMITED);
    cr_assert_eq(r->world->metrics.shouts_limited, 1u);
    rig_pass(r, CLOCK_NS_PER_S);
    rig_drop(r);
    (void)rig_enter(r, a);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(shout, where_it_is_off_nothing_is_charged)
{
    uint32_t a, b;
    struct rig *r = crowd(0, CROWD, &a, &b);

    for (int i = 0; i < 300; i++) {
        rig_say(r, a, "hello, hello, hello");
        rig_drop(r);
    }
    cr_assert_eq(r->world->metrics.shouts_limited, 0u);
    rig_destroy(r);
}
