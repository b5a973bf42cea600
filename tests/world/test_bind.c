/* tests/world/test_bind.c: sessions that a gateway brings when its link is there again.
 * PROTOCOL.md, "Ids": an EnterResp unasked, an ErrorNotify 4 unasked.
 * May touch: tests/world_rig, world/session/resume.
 */
#include "tests/leak.h"
#include "tests/world_rig.h"
#include "world/session/resume.h"

#include <stdio.h>

#define WINDOW_NS (30 * CLOCK_NS_PER_S)

static struct rig *rig_of(int64_t window_ns)
{
    struct world_config c = rig_config();
    c.resume_window_ns = window_ns;
    return rig_create(&c);
}

static struct span note_of(const struct rig *r, uint32_t s)
{
    return span_of(r->sessions[s].note, r->sessions[s].note_bytes);
}

/* It was told nothing, and is logged in and outside. */
static void expect_logged(struct rig *r, uint32_t s)
{
    cr_assert(r->sessions[s].open);
    cr_assert_eq(r->sessions[s].count, 0);
    rig_enter(r, s);
}

/* Its first message is an EnterResp, unasked. */
static void expect_entered(struct rig *r, uint32_t s)
{
    const struct message *m = rig_take(r, s);
    cr_assert(m);
    cr_assert_eq(m->cmd, (uint32_t)CMD_ENTER_RESP);
    cr_assert_eq(m->seq, 0);
    cr_assert_eq(r->sessions[s].count, 0);
}

static void expect_refused(struct rig *r, uint32_t s)
{
    cr_assert(r->sessions[s].closed);
    cr_assert_eq(r->sessions[s].close_code, 0);
    cr_assert_eq(r->sessions[s].count, 0);
}

static void over(struct rig *r)
{
    rig_balance(r);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(bind, a_note_says_who_a_session_is_and_whether_it_is_inside)
{
    struct rig *r = rig_of(WINDOW_NS);
    struct resume_note note;
    uint8_t key[SESSION_KEY_BYTES];
    uint32_t s = rig_open(r, 0);
    cr_assert_eq(r->sessions[s].note_bytes, 0);
    rig_login(r, s, "alpha");
    cr_assert(resume_note_read(note_of(r, s), &note));
    cr_assert(span_equal(note.name, span_text("alpha")));
    cr_assert_not(note.inside);
    cr_assert(note.has_key);
    cr_assert(resume_read(span_text(r->sessions[s].key), key));
    cr_assert_eq(memcmp(note.key, key, sizeof key), 0);
    rig_enter(r, s);
    cr_assert(resume_note_read(note_of(r, s), &note));
    cr_assert(note.inside);
    rig_leave(r, s);
    cr_assert(resume_note_read(note_of(r, s), &note));
    cr_assert_not(note.inside);
    over(r);
}

Test(bind, what_is_no_note_of_ours_is_refused)
{
    struct rig *r = rig_of(WINDOW_NS);
    struct resume_note note;
    uint32_t s = rig_join(r, "alpha");
    uint8_t bytes[LINK_NOTE_MAX + 1] = {0};
    uint32_t n = r->sessions[s].note_bytes;
    memcpy(bytes, r->sessions[s].note, n);
    rig_close(r, s);
    for (uint32_t cut = 0; cut <= RESUME_NOTE_HEAD; cut++) {
        cr_assert_not(resume_note_read(span_of(bytes, cut), &note));
        expect_refused(r, rig_bind(r, 0, span_of(bytes, cut)));
    }
    cr_assert_not(resume_note_read(span_of(bytes, RESUME_NOTE_MAX + 1), &note));
    bytes[0]++;
    expect_refused(r, rig_bind(r, 0, span_of(bytes, n)));
    bytes[0]--;
    bytes[1] = 4;
    expect_refused(r, rig_bind(r, 0, span_of(bytes, n)));
    bytes[1] = 3;
    bytes[RESUME_NOTE_HEAD] = '\n'; /* no name */
    expect_refused(r, rig_bind(r, 0, span_of(bytes, n)));
    bytes[RESUME_NOTE_HEAD] = 0xff;
    expect_refused(r, rig_bind(r, 0, span_of(bytes, n)));
    cr_assert_eq(r->world->metrics.binds_refused, RESUME_NOTE_HEAD + 5u);
    cr_assert_eq(r->world->sessions.waiting, 1, "and nobody else is touched");
    over(r);
}

Test(bind, where_the_link_alone_broke_the_entity_goes_on)
{
    struct rig *r = rig_of(WINDOW_NS);
    uint32_t watch = rig_link_up(r, "watch"), v = rig_open(r, watch);
    rig_login(r, v, "v");
    rig_enter(r, v);
    uint32_t a = rig_join_at(r, "alpha", 10, 0), id = r->sessions[a].id;
    rig_tick(r, 2);
    uint64_t told = r->sessions[v].view.adds + r->sessions[v].view.removes;
    char key[RIG_KEY_BYTES + 1];
    memcpy(key, r->sessions[a].key, sizeof key);
    rig_link_down(r, 0);
    rig_tick(r, 3);
    uint32_t s = rig_bind(r, rig_link_up(r, "gw-0"), note_of(r, a));
    expect_entered(r, s);
    cr_assert_eq(r->sessions[s].id, id);
    cr_assert_eq(r->sessions[s].x, 10);
    rig_tick(r, 1);
    cr_assert(rig_knows(r, s, v));
    cr_assert(rig_knows(r, v, s));
    cr_assert_eq(r->sessions[v].view.adds + r->sessions[v].view.removes, told);
    cr_assert_eq(r->world->metrics.binds_resumed, 1);
    uint32_t other = rig_open(r, watch);
    rig_resume(r, other, "alpha", key); /* its client still has that key */
    over(r);
}

Test(bind, in_a_world_that_came_back_it_enters_anew_and_its_key_is_still_good)
{
    struct rig *before = rig_of(WINDOW_NS), *r = rig_of(WINDOW_NS);
    uint32_t a = rig_join(before, "alpha"), b = rig_join(before, "beta");
    uint32_t s = rig_bind(r, 0, note_of(before, b)), t = rig_bind(r, 0, note_of(before, a));
    expect_entered(r, s);
    expect_entered(r, t);
    cr_assert_eq(r->sessions[s].id, 1, "the id in EnterResp counts");
    rig_tick(r, 1);
    cr_assert(rig_knows(r, s, t));
    cr_assert_eq(r->world->metrics.binds_entered, 2);
    rig_close(r, t);
    uint32_t again = rig_open(r, 0);
    rig_resume(r, again, "alpha", before->sessions[a].key);
    rig_move(r, s, r->sessions[s].x, 0.1);
    rig_destroy(before);
    over(r);
}

Test(bind, who_was_logged_in_is_logged_in_and_told_nothing)
{
    struct rig *before = rig_of(WINDOW_NS), *r = rig_of(WINDOW_NS);
    uint32_t a = rig_open(before, 0);
    rig_login(before, a, "alpha");
    uint32_t s = rig_bind(r, 0, note_of(before, a));
    rig_tick(r, 1);
    expect_logged(r, s);
    cr_assert_eq(r->world->metrics.binds_logged, 1);
    rig_destroy(before);
    over(r);
}

Test(bind, without_a_window_it_begins_anew)
{
    struct rig *r = rig_of(0);
    uint32_t a = rig_join_at(r, "alpha", 30, 0);
    rig_tick(r, 1);
    rig_link_down(r, 0);
    uint32_t s = rig_bind(r, rig_link_up(r, "gw-0"), note_of(r, a));
    expect_entered(r, s);
    cr_assert_eq(r->sessions[s].x, 16, "a spawn");
    cr_assert_eq(r->world->metrics.binds_entered, 1);
    over(r);
}

Test(bind, after_the_window_it_begins_anew)
{
    struct rig *r = rig_of(WINDOW_NS);
    uint32_t a = rig_join(r, "alpha"), id = r->sessions[a].id;
    rig_tick(r, 1);
    rig_link_down(r, 0);
    rig_pass(r, WINDOW_NS);
    rig_tick(r, 1);
    uint32_t s = rig_bind(r, rig_link_up(r, "gw-0"), note_of(r, a));
    expect_entered(r, s);
    cr_assert_neq(r->sessions[s].id, id);
    over(r);
}

Test(bind, whose_name_was_taken_meanwhile_is_not_kept)
{
    struct rig *r = rig_of(WINDOW_NS);
    uint32_t other = rig_link_up(r, "gw-1"), a = rig_join(r, "alpha"), b = rig_join(r, "beta");
    char key[RIG_KEY_BYTES + 1];
    memcpy(key, r->sessions[b].key, sizeof key);
    rig_tick(r, 1);
    rig_link_down(r, 0);
    uint32_t s = rig_open(r, other), t = rig_open(r, other);
    rig_login(r, s, "alpha");
    rig_resume(r, t, "beta", key);
    uint32_t link = rig_link_up(r, "gw-0");
    expect_refused(r, rig_bind(r, link, note_of(r, a)));
    expect_refused(r, rig_bind(r, link, note_of(r, b)));
    cr_assert(r->sessions[s].open);
    cr_assert(r->sessions[t].open);
    cr_assert_eq(r->world->metrics.binds_refused, 2);
    over(r);
}

Test(bind, who_finds_the_world_full_is_not_kept)
{
    struct rig *before = rig_of(WINDOW_NS);
    uint32_t a = rig_join(before, "a"), b = rig_join(before, "b"), d = rig_join(before, "d");
    struct world_config c = rig_config();
    c.max_entities = 1;
    c.max_sessions = 2;
    struct rig *r = rig_create(&c);
    uint32_t s = rig_bind(r, 0, note_of(before, a));
    expect_entered(r, s);
    expect_refused(r, rig_bind(r, 0, note_of(before, b)));
    cr_assert_eq(r->world->metrics.entities_full, 1);
    uint32_t t = rig_open(r, 0);
    rig_login(r, t, "b"); /* its name is free */
    expect_refused(r, rig_bind(r, 0, note_of(before, d)));
    cr_assert_eq(r->world->metrics.sessions_full, 1);
    cr_assert_eq(r->world->metrics.binds_refused, 2);
    rig_destroy(before);
    over(r);
}

Test(bind, a_session_that_is_open_is_closed_instead)
{
    struct rig *before = rig_of(WINDOW_NS), *r = rig_of(WINDOW_NS);
    uint32_t a = rig_join(before, "alpha"), s = rig_open(r, 0);
    struct span_writer w = span_writer_of(r->frame, LINK_FRAME_MAX);
    link_write_bind(&w, r->sessions[s].sid, span_text("p"), note_of(before, a));
    cr_assert_eq(rig_link_frame(r, 0, span_of(w.p + FRAME_HEAD_BYTES, w.len - FRAME_HEAD_BYTES)),
                 0);
    expect_refused(r, s);
    cr_assert_eq(r->world->sessions.slots.live, 0);
    rig_destroy(before);
    over(r);
}
