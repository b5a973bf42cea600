/* tests/world/test_inbox.c: links, sessions and frames; gateways that die, come back or lie.
 * May touch: tests/world_rig, world/command/inbox.
 */
#include "world/command/inbox.h"

#include "common/err.h"
#include "common/rng.h"
#include "tests/leak.h"
#include "tests/world_rig.h"

#include <stdio.h>
#include <stdlib.h>

static struct rig *plain_rig(void)
{
    struct world_config c = rig_config();
    c.max_speed = 1e6;
    return rig_create(&c);
}

/* What was written, without its head. */
static struct span body_of(const struct span_writer *w)
{
    return span_of(w->p + FRAME_HEAD_BYTES, w->len - FRAME_HEAD_BYTES);
}

static int send_data(struct rig *r, uint32_t link, uint64_t sid, struct span body)
{
    struct span_writer w = span_writer_of(r->frame, LINK_FRAME_MAX);
    link_write_data(&w, sid, &body, 1);
    return rig_link_frame(r, link, body_of(&w));
}

static int send_open(struct rig *r, uint32_t link, uint64_t sid)
{
    struct span_writer w = span_writer_of(r->frame, LINK_FRAME_MAX);
    link_write_open(&w, sid, span_text("192.0.2.9:1"));
    return rig_link_frame(r, link, body_of(&w));
}

static int send_close(struct rig *r, uint32_t link, uint64_t sid)
{
    struct span_writer w = span_writer_of(r->frame, LINK_FRAME_MAX);
    link_write_close(&w, sid, 0, span_text("bye"));
    return rig_link_frame(r, link, body_of(&w));
}

static int send_congestion(struct rig *r, uint32_t link, uint64_t sid, bool on)
{
    struct span_writer w = span_writer_of(r->frame, LINK_FRAME_MAX);
    link_write_congestion(&w, sid, on);
    return rig_link_frame(r, link, body_of(&w));
}

#define LOGIN_Z RIG_BYTES("\x93\x01\x01\x81\xa4name\xa1z")

/* --- sessions -------------------------------------------------------------------------------- */

Test(inbox, data_for_an_unknown_session_is_answered_by_a_close_and_not_trusted)
{
    struct rig *r = plain_rig();
    static const uint64_t sids[] = {0, 7, UINT32_MAX, UINT64_MAX};
    for (size_t i = 0; i < ARRAY_LEN(sids); i++) {
        cr_assert_eq(send_data(r, 0, sids[i], LOGIN_Z), 0);
        cr_assert_eq(r->strays, i + 1);
        cr_assert_eq(r->stray.kind, LINK_CLOSE);
        cr_assert_eq(r->stray.session, sids[i]);
        cr_assert_eq(r->stray.code, 0);
    }
    cr_assert_eq(r->world->metrics.sessions_unknown, ARRAY_LEN(sids));
    cr_assert_eq(r->world->metrics.logins, 0);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(inbox, congestion_and_close_of_an_unknown_session_do_no_harm)
{
    struct rig *r = plain_rig();
    uint32_t s = rig_join(r, "a");
    cr_assert_eq(send_congestion(r, 0, 4000, true), 0);
    cr_assert_eq(send_congestion(r, 0, 4000, false), 0);
    cr_assert_eq(send_close(r, 0, 4000), 0);
    rig_close(r, s);
    cr_assert_eq(send_close(r, 0, r->sessions[s].sid), 0);
    cr_assert_eq(send_congestion(r, 0, r->sessions[s].sid, true), 0);
    rig_tick(r, 2);
    rig_balance(r);
    rig_destroy(r);
}

Test(inbox, a_session_is_of_its_own_gateway_alone)
{
    struct rig *r = plain_rig();
    uint32_t a = rig_join(r, "a"), v = rig_join(r, "v"), liar = rig_link_up(r, "liar");
    uint64_t sid = r->sessions[a].sid;
    rig_tick(r, 1);
    cr_assert_eq(send_close(r, liar, sid), 0);
    cr_assert_eq(send_congestion(r, liar, sid, true), 0);
    cr_assert_eq(send_data(r, liar, sid, RIG_BYTES("\x93\x05\x01\xc0")), 0);
    rig_move(r, v, 9, 1);
    rig_tick(r, 2);
    cr_assert(rig_knows(r, v, a));
    cr_assert_eq(rig_view_find(&r->sessions[a].view, r->sessions[v].id)->x, 9);
    rig_destroy(r);
}

Test(inbox, the_same_session_id_at_two_gateways_is_two_sessions)
{
    struct rig *r = plain_rig();
    uint32_t other = rig_link_up(r, "gw-1");
    r->lax = true; /* the rig's own ids differ */
    cr_assert_eq(send_open(r, 0, 900), 0);
    cr_assert_eq(send_open(r, other, 900), 0);
    cr_assert_eq(send_data(r, 0, 900, LOGIN_Z), 0);
    cr_assert_eq(r->strays, 2, "a note and LoginResp");
    cr_assert_eq(send_data(r, other, 900, LOGIN_Z), 0);
    cr_assert_eq(r->world->metrics.logins, 1, "the second is told that the name is in use");
    cr_assert_eq(send_close(r, 0, 900), 0);
    cr_assert_eq(send_data(r, other, 900, LOGIN_Z), 0);
    cr_assert_eq(r->world->metrics.logins, 2);
    rig_destroy(r);
}

Test(inbox, a_doubled_open_ends_what_was_open)
{
    struct rig *r = plain_rig();
    uint32_t v = rig_join(r, "v"), a = rig_join(r, "a");
    rig_tick(r, 1);
    cr_assert(rig_knows(r, v, a));
    cr_assert_eq(send_open(r, 0, r->sessions[a].sid), 0);
    cr_assert_eq(r->world->metrics.sessions_doubled, 1);
    cr_assert(r->sessions[a].closed, "neither of the two is known for sure");
    cr_assert_eq(r->sessions[a].close_code, 0);
    rig_tick(r, 1);
    cr_assert_not(rig_knows(r, v, a));
    (void)rig_join(r, "a"); /* the name is free */
    rig_balance(r);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(inbox, one_session_too_many_is_told_that_the_world_is_full)
{
    struct world_config c = rig_config();
    c.max_sessions = 2;
    struct rig *r = rig_create(&c);
    uint32_t a = rig_join(r, "a");
    (void)rig_join(r, "b");
    uint32_t s = rig_open(r, 0);
    cr_assert(r->sessions[s].closed);
    cr_assert_eq(r->sessions[s].close_code, PE_UNAVAILABLE);
    cr_assert_eq(r->world->metrics.sessions_full, 1);
    rig_close(r, a);
    (void)rig_join(r, "c");
    cr_assert_eq(r->world->metrics.sessions_opened, 3);
    cr_assert_eq(r->world->metrics.sessions_ended, 1);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(inbox, a_session_may_be_opened_again_after_its_close)
{
    struct rig *r = plain_rig();
    for (int i = 0; i < 200; i++) {
        uint32_t s = rig_join(r, "a");
        cr_assert_eq(r->sessions[s].sid, 1);
        if (i % 3 == 0)
            rig_tick(r, 1);
        rig_close(r, s);
        rig_drop(r);
    }
    rig_tick(r, 1);
    cr_assert_eq(r->world->entities.alive_count, 0);
    rig_balance(r);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

/* --- links ----------------------------------------------------------------------------------- */

Test(inbox, a_lost_link_ends_all_its_sessions_and_frees_their_names)
{
    struct rig *r = plain_rig();
    uint32_t v = rig_join(r, "v"), other = rig_link_up(r, "gw-1");
    char name[16];
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof name, "p%d", i);
        uint32_t s = rig_open(r, other);
        if (i % 3 > 0)
            rig_login(r, s, name);
        if (i % 3 > 1) {
            rig_enter(r, s);
            rig_place(r, s, 10, i % 10);
        }
    }
    rig_tick(r, 1);
    cr_assert_eq(r->sessions[v].view.count, 13);
    rig_link_down(r, other);
    rig_tick(r, 1);
    cr_assert_eq(r->sessions[v].view.count, 0);
    world_gauges(r->world);
    cr_assert_eq(r->world->metrics.sessions, 1);
    cr_assert_eq(r->world->metrics.entities, 1);
    cr_assert_eq(r->world->metrics.links, 1);
    cr_assert_eq(r->world->metrics.sessions_ended, 40);
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof name, "p%d", i);
        (void)rig_join(r, name);
    }
    rig_balance(r);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(inbox, a_stale_link_is_not_listened_to)
{
    struct rig *r = plain_rig();
    uint32_t other = rig_link_up(r, "gw-1"), s = rig_open(r, other);
    rig_login(r, s, "a");
    rig_link_down(r, other);
    rig_link_down(r, other); /* again: ignored */
    cr_assert_eq(send_open(r, other, 5), E_BAD);
    cr_assert_eq(send_data(r, other, r->sessions[s].sid, LOGIN_Z), E_BAD);
    uint32_t new = rig_link_up(r, "gw-2"); /* may use the slot of the old one */
    rig_link_down(r, other);
    uint32_t t = rig_open(r, new);
    rig_login(r, t, "a");
    cr_assert_eq(send_close(r, other, r->sessions[t].sid), E_BAD);
    rig_enter(r, t);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(inbox, a_gateway_that_comes_back_under_its_id_replaces_its_older_life)
{
    struct rig *r = plain_rig();
    uint32_t v = rig_join(r, "v"), old = rig_link_up(r, "gw-1"), s = rig_open(r, old);
    rig_login(r, s, "a");
    rig_enter(r, s);
    rig_place(r, s, 9, 0);
    rig_tick(r, 1);
    cr_assert(rig_knows(r, v, s));
    uint32_t new = rig_link_up(r, "gw-1");
    cr_assert_not(r->links[old].up, "it is named for the edge to close");
    cr_assert_eq(send_open(r, old, 77), E_BAD);
    uint32_t t = rig_open(r, new);
    rig_login(r, t, "a");
    rig_tick(r, 1);
    cr_assert_eq(r->sessions[v].view.count, 0);
    rig_link_down(r, old); /* its socket closes late */
    rig_enter(r, t);
    rig_balance(r);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(inbox, gateways_beyond_the_limit_are_refused_and_counted)
{
    struct rig *r = plain_rig();
    struct link_ref ref, replaced, first = {0};
    char id[16];
    for (int i = 1; i < SESSION_LINKS_MAX; i++) {
        snprintf(id, sizeof id, "more-%d", i);
        cr_assert_eq(inbox_link_up(r->world, span_text(id), r->now, &ref, &replaced), 0);
        cr_assert_eq(replaced.gen, 0);
        if (i == 1)
            first = ref;
    }
    cr_assert_eq(inbox_link_up(r->world, span_text("x"), r->now, &ref, &replaced), E_FULL);
    cr_assert_eq(r->world->metrics.links_full, 1);
    inbox_link_down(r->world, first, r->now);
    cr_assert_eq(inbox_link_up(r->world, span_text("x"), r->now, &ref, &replaced), 0);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

/* --- frames ---------------------------------------------------------------------------------- */

Test(inbox, kinds_that_are_not_the_gateways_to_send_are_bad)
{
    struct rig *r = plain_rig();
    uint32_t s = rig_join(r, "a");
    uint64_t sid = r->sessions[s].sid;
    struct span_writer w = span_writer_of(r->frame, LINK_FRAME_MAX);
    link_write_data_many(&w, &sid, 1, LOGIN_Z);
    cr_assert_eq(rig_link_frame(r, 0, body_of(&w)), E_BAD);
    w.len = 0;
    link_write_hello(&w, span_text("gw-0"), span_text(""));
    cr_assert_eq(rig_link_frame(r, 0, body_of(&w)), E_BAD);
    cr_assert_eq(rig_link_frame(r, 0, RIG_BYTES("\x92\x63\x01")), E_BAD);
    cr_assert_eq(rig_link_frame(r, 0, RIG_BYTES("")), E_BAD);
    cr_assert_eq(rig_link_frame(r, 0, RIG_BYTES("\xc1")), E_BAD);
    rig_place(r, s, 10, 0);
    rig_destroy(r);
}

Test(inbox, a_cut_frame_is_bad_and_changes_nothing)
{
    struct rig *r = plain_rig();
    uint32_t s = rig_join(r, "a");
    struct span_writer w = span_writer_of(r->frame, LINK_FRAME_MAX);
    struct span body = RIG_BYTES("\x93\x05\x01\xc0"); /* LeaveReq */
    link_write_data(&w, r->sessions[s].sid, &body, 1);
    for (size_t n = 0; n < body_of(&w).n; n++) {
        uint8_t *copy = malloc(n + 1); /* so that ASan sees who reads past it */
        memcpy(copy, body_of(&w).p, n);
        cr_assert_eq(rig_link_frame(r, 0, span_of(copy, n)), E_BAD);
        free(copy);
    }
    rig_place(r, s, 10, 0);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(inbox, a_body_that_a_gateway_should_have_refused_is_counted_and_ends_the_trust)
{
    static const struct span bad[] = {
        {(const uint8_t *)"\xc1", 1},
        {(const uint8_t *)"\x07", 1},
        {(const uint8_t *)"\x80", 1},
        {(const uint8_t *)"\x92\x01\x01", 3},
        {(const uint8_t *)"\x94\x01\x01\xc0\xc0", 5},
        {(const uint8_t *)"\x93\x01\x01", 3},
        {(const uint8_t *)"\x93\x01\x01\xc0\xc0", 5},
        {(const uint8_t *)"\x93\xff\x01\xc0", 4},
        {(const uint8_t *)"\x93\x01\xca\0\0\0\0\xc0", 8},
        {(const uint8_t *)"\x93\x01\x01\xdd\xff\0\0\0", 8},
        {(const uint8_t *)"\x93\x01\x01\xa1\xff", 5},
    };
    struct rig *r = plain_rig();
    uint32_t s = rig_join(r, "a");
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        cr_assert_eq(send_data(r, 0, r->sessions[s].sid, bad[i]), E_BAD, "body %zu", i);
    cr_assert_eq(r->world->metrics.bodies_bad, ARRAY_LEN(bad));
    rig_link_down(r, 0); /* what the edge does then */
    rig_tick(r, 1);
    cr_assert_eq(r->world->entities.alive_count, 0);
    rig_balance(r);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

/* Frames with one or two bytes changed: whatever they mean now, the world stays whole. */
Test(inbox, mutated_frames_leave_the_world_whole)
{
    struct rig *r = plain_rig();
    struct rng rng;
    uint8_t frame[256];
    rng_init(&rng, 77);
    r->lax = true;
    for (int i = 0; i < 60000; i++) {
        struct span_writer w = span_writer_of(frame, sizeof frame);
        struct span body = rng_below(&rng, 2) ? LOGIN_Z : RIG_BYTES("\x93\x03\x01\xc0");
        uint64_t sid = 10 + rng_below(&rng, 4);
        switch (rng_below(&rng, 5)) {
        case 0:
            link_write_open(&w, sid, span_text("peer"));
            break;
        case 1:
            link_write_close(&w, sid, 0, span_text("why"));
            break;
        case 2:
            link_write_congestion(&w, sid, rng_below(&rng, 2));
            break;
        default:
            link_write_data(&w, sid, &body, 1);
        }
        for (uint64_t n = rng_below(&rng, 3); n > 0; n--)
            frame[FRAME_HEAD_BYTES + rng_below(&rng, w.len - FRAME_HEAD_BYTES)] =
                (uint8_t)rng_next(&rng);
        (void)rig_link_frame(r, 0, body_of(&w));
        if (i % 50 == 0)
            rig_tick(r, 1);
        rig_drop(r);
    }
    cr_assert_gt(r->world->metrics.logins, 100, "some of them were whole");
    rig_balance(r);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(inbox, a_kick_tells_the_gateway_and_ends_the_session)
{
    struct rig *r = plain_rig();
    uint32_t v = rig_join(r, "v"), a = rig_join(r, "a");
    struct session_ref who;
    rig_tick(r, 1);
    cr_assert(sessions_by_name(&r->world->sessions, span_text("a"), &who));
    inbox_session_kick(r->world, who, PE_KICKED, r->now);
    inbox_session_kick(r->world, who, PE_KICKED, r->now); /* stale: ignored */
    rig_tick(r, 1);
    cr_assert(r->sessions[a].closed);
    cr_assert_eq(r->sessions[a].close_code, PE_KICKED);
    cr_assert_not(rig_knows(r, v, a));
    (void)rig_join(r, "a");
    rig_destroy(r);
    TEST_NO_LEAKS();
}
