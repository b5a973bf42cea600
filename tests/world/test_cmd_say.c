/* tests/world/test_cmd_say.c: SayReq. PROTOCOL.md: "to everyone who knows the speaker".
 * May touch: tests/world_rig.
 */
#include "tests/leak.h"
#include "tests/world_rig.h"

#include <stdio.h>

static struct rig *fast_rig(void)
{
    struct world_config c = rig_config();
    c.max_speed = 1e6;
    return rig_create(&c);
}

/* Says that this session got and that nobody took yet. */
static uint32_t heard(struct rig *r, uint32_t s)
{
    uint32_t n = 0;
    const struct message *m;
    while ((m = rig_take(r, s)))
        n += m->cmd == CMD_SAY_NOTIFY;
    return n;
}

Test(cmd_say, everyone_who_knows_the_speaker_hears_it_at_once)
{
    struct rig *r = fast_rig();
    uint32_t a = rig_join_at(r, "a", 0, 0), b = rig_join_at(r, "b", 20, 0);
    uint32_t c = rig_join_at(r, "c", 40, 0), d = rig_join_at(r, "d", -30, 0);
    rig_tick(r, 1);
    rig_drop(r);
    rig_say(r, a, "h\xc3\xb6rt!");
    const struct message *m = rig_take(r, b);
    cr_assert_eq(m->cmd, (uint32_t)CMD_SAY_NOTIFY);
    cr_assert_eq(m->seq, 0);
    cr_assert_eq(m->say_notify.id, r->sessions[a].id);
    cr_assert(span_equal(m->say_notify.text, span_text("h\xc3\xb6rt!")));
    cr_assert_eq(heard(r, b), 0, "once");
    cr_assert_eq(heard(r, d), 1, "thirty is within thirty");
    cr_assert_eq(heard(r, c), 0, "forty is not");
    cr_assert_eq(heard(r, a), 0, "nobody knows itself");
    cr_assert_eq(r->world->metrics.says, 1);
    cr_assert_eq(r->world->metrics.say_notifies, 2);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(cmd_say, knowing_counts_and_not_where_they_stand_since_the_tick)
{
    struct rig *r = fast_rig();
    uint32_t a = rig_join_at(r, "a", 0, 0), b = rig_join_at(r, "b", 20, 0);
    rig_say(r, a, "too early");
    cr_assert_eq(heard(r, b), 0, "no tick has shown the speaker yet");
    rig_tick(r, 1);
    rig_move(r, a, 500, 0);
    rig_say(r, a, "gone, but not told");
    cr_assert_eq(heard(r, b), 1);
    rig_tick(r, 1);
    rig_say(r, a, "gone");
    cr_assert_eq(heard(r, b), 0);
    rig_move(r, a, 1, 0);
    rig_say(r, a, "back, but not told");
    cr_assert_eq(heard(r, b), 0);
    rig_tick(r, 1);
    rig_say(r, a, "back");
    cr_assert_eq(heard(r, b), 1);
    rig_destroy(r);
}

Test(cmd_say, those_at_other_gateways_hear_it_too)
{
    struct rig *r = fast_rig();
    uint32_t a = rig_join_at(r, "a", 0, 0), s[30];
    char name[16];
    (void)rig_link_up(r, "gw-1");
    (void)rig_link_up(r, "gw-2");
    for (uint32_t i = 0; i < ARRAY_LEN(s); i++) {
        snprintf(name, sizeof name, "p%u", i);
        s[i] = rig_open(r, i % 3);
        rig_login(r, s[i], name);
        rig_enter(r, s[i]);
        rig_place(r, s[i], i, 0);
    }
    rig_tick(r, 1);
    rig_drop(r);
    uint32_t before = r->frames;
    rig_say(r, a, "hello");
    cr_assert_leq(r->frames - before, 4, "the body is written once a gateway");
    for (uint32_t i = 0; i < ARRAY_LEN(s); i++)
        cr_assert_eq(heard(r, s[i]), 1);
    cr_assert_eq(r->strays, 0);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(cmd_say, a_viewer_that_left_or_was_lost_hears_nothing)
{
    struct rig *r = fast_rig();
    uint32_t a = rig_join_at(r, "a", 0, 0), b = rig_join_at(r, "b", 1, 0);
    uint32_t c = rig_join_at(r, "c", 2, 0);
    rig_tick(r, 1);
    rig_drop(r);
    rig_leave(r, b);
    rig_close(r, c);
    rig_say(r, a, "anybody?");
    cr_assert_eq(heard(r, b), 0);
    cr_assert_eq(r->strays, 0, "nothing goes to a session that is over");
    rig_enter(r, b);
    rig_place(r, b, 1, 0);
    rig_say(r, a, "anybody?");
    cr_assert_eq(heard(r, b), 0, "it entered, and knows nobody yet");
    rig_destroy(r);
}

Test(cmd_say, one_to_five_hundred_and_twelve_bytes)
{
    struct rig *r = fast_rig();
    uint32_t a = rig_join_at(r, "a", 0, 0), b = rig_join_at(r, "b", 1, 0);
    char text[PROTO_SAY_MAX + 2];
    memset(text, 'x', sizeof text);
    text[PROTO_SAY_MAX + 1] = '\0';
    rig_tick(r, 1);
    rig_drop(r);
    rig_refused(r, a, rig_send_say(r, a, text), PE_BAD_PAYLOAD);
    rig_refused(r, a, rig_send_say(r, a, ""), PE_BAD_PAYLOAD);
    cr_assert_eq(heard(r, b), 0);
    text[PROTO_SAY_MAX] = '\0';
    rig_say(r, a, text);
    rig_say(r, a, "\n"); /* a text may hold what a name may not */
    cr_assert_eq(heard(r, b), 2);
    static const struct span bad[] = {{(const uint8_t *)"\x80", 1},
                                      {(const uint8_t *)"\x81\xa4text\xc0", 7},
                                      {(const uint8_t *)"\x81\xa4text\x01", 7},
                                      {(const uint8_t *)"\x81\xa4text\xc4\x01x", 9},
                                      {(const uint8_t *)"\xa2hi", 3},
                                      {(const uint8_t *)"\xc0", 1}};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        rig_refused(r, a, rig_send_payload(r, a, CMD_SAY_REQ, bad[i]), PE_BAD_PAYLOAD);
    rig_destroy(r);
}

Test(cmd_say, with_hysteresis_who_is_still_known_is_still_heard)
{
    struct world_config c = rig_config();
    c.max_speed = 1e6;
    c.aoi_hysteresis = 5;
    struct rig *r = rig_create(&c);
    uint32_t a = rig_join_at(r, "a", 0, 0), b = rig_join_at(r, "b", 30, 0);
    uint32_t n = rig_join_at(r, "n", 0, 34);
    rig_tick(r, 1);
    rig_move(r, b, 34, 0);
    rig_tick(r, 1);
    rig_say(r, a, "hello");
    cr_assert_eq(heard(r, b), 1);
    cr_assert_eq(heard(r, n), 0);
    rig_destroy(r);
}
