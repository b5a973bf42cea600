/* tests/world/test_session.c: sessions, links and names. May touch: world/session. */
#include "world/session/session.h"

#include "common/err.h"
#include "common/rng.h"
#include "tests/leak.h"

#include <stdio.h>

/* In place: its tables point at it. */
static void start(struct sessions *s, uint32_t cap)
{
    cr_assert_eq(sessions_init(s, cap, 99), 0);
}

static struct link_ref link_open(struct sessions *s, const char *id)
{
    struct link_ref ref;
    cr_assert_eq(sessions_link_open(s, span_text(id), &ref), 0);
    return ref;
}

static struct session_ref open(struct sessions *s, struct link_ref link, uint64_t sid)
{
    struct session_ref ref;
    cr_assert_eq(sessions_open(s, link, sid, span_text("peer"), &ref), 0);
    return ref;
}

static bool same(struct session_ref a, struct session_ref b)
{
    return a.slot == b.slot && a.gen == b.gen;
}

Test(session, a_session_is_found_by_its_link_and_the_gateways_id)
{
    struct sessions s;
    start(&s, 8);
    struct link_ref a = link_open(&s, "a"), b = link_open(&s, "b");
    struct session_ref one = open(&s, a, 7), two = open(&s, b, 7), found;
    struct session *x;
    cr_assert_not(same(one, two), "the same id at two gateways is two sessions");
    cr_assert(sessions_by_sid(&s, a, 7, &found) && same(found, one));
    cr_assert(sessions_by_sid(&s, b, 7, &found) && same(found, two));
    cr_assert_not(sessions_by_sid(&s, a, 8, &found));
    cr_assert(sessions_find(&s, one, &x));
    cr_assert_eq(x->sid, 7);
    cr_assert_eq(x->state, SESSION_NEW);
    cr_assert(link_ref_equal(x->link, a));
    cr_assert_str_eq(x->peer, "peer");
    cr_assert_not(sessions_find(&s, (struct session_ref){0}, &x));
    sessions_fini(&s);
    TEST_NO_LEAKS();
}

Test(session, all_bits_of_the_gateways_id_count)
{
    struct sessions s;
    start(&s, 8);
    struct link_ref a = link_open(&s, "a");
    struct session_ref found;
    struct session_ref one = open(&s, a, 1), two = open(&s, a, 1 | 1ull << 32);
    struct session_ref three = open(&s, a, UINT64_MAX), four = open(&s, a, 0);
    cr_assert(sessions_by_sid(&s, a, 1, &found) && same(found, one));
    cr_assert(sessions_by_sid(&s, a, 1 | 1ull << 32, &found) && same(found, two));
    cr_assert(sessions_by_sid(&s, a, UINT64_MAX, &found) && same(found, three));
    cr_assert(sessions_by_sid(&s, a, 0, &found) && same(found, four));
    sessions_fini(&s);
}

Test(session, opening_twice_is_bad_and_full_is_full)
{
    struct sessions s;
    start(&s, 2);
    struct link_ref a = link_open(&s, "a");
    struct session_ref one = open(&s, a, 1), ref, found;
    cr_assert_eq(sessions_open(&s, a, 1, span_text("p"), &ref), E_BAD);
    (void)open(&s, a, 2);
    cr_assert_eq(sessions_open(&s, a, 3, span_text("p"), &ref), E_FULL);
    cr_assert(sessions_by_sid(&s, a, 1, &found) && same(found, one));
    sessions_end(&s, one);
    cr_assert_not(sessions_by_sid(&s, a, 1, &found));
    (void)open(&s, a, 3);
    sessions_fini(&s);
}

Test(session, a_long_peer_is_cut)
{
    struct sessions s;
    start(&s, 2);
    struct link_ref a = link_open(&s, "a");
    struct session_ref ref;
    struct session *x;
    char peer[LINK_TEXT_MAX];
    memset(peer, 'p', sizeof peer);
    cr_assert_eq(sessions_open(&s, a, 1, span_of(peer, sizeof peer), &ref), 0);
    cr_assert(sessions_find(&s, ref, &x));
    cr_assert_eq(strlen(x->peer), sizeof x->peer - 1);
    sessions_fini(&s);
}

Test(session, a_name_is_free_again_when_its_session_ends)
{
    struct sessions s;
    start(&s, 4);
    struct link_ref a = link_open(&s, "a");
    struct session_ref one = open(&s, a, 1), two = open(&s, a, 2), found;
    sessions_take_name(&s, one, span_text("alpha"));
    sessions_take_name(&s, two, span_text("Alpha"));
    cr_assert(sessions_by_name(&s, span_text("alpha"), &found) && same(found, one));
    cr_assert(sessions_by_name(&s, span_text("Alpha"), &found) && same(found, two), "case counts");
    cr_assert_not(sessions_by_name(&s, span_text("alph"), &found));
    sessions_end(&s, one);
    cr_assert_not(sessions_by_name(&s, span_text("alpha"), &found));
    struct session_ref three = open(&s, a, 1);
    sessions_take_name(&s, three, span_text("alpha"));
    cr_assert(sessions_by_name(&s, span_text("alpha"), &found) && same(found, three));
    sessions_fini(&s);
    TEST_NO_LEAKS();
}

Test(session, links_are_found_by_name_and_go_stale)
{
    struct sessions s;
    start(&s, 4);
    struct session_link *l;
    struct link_ref found, a = link_open(&s, "a");
    (void)link_open(&s, "b");
    cr_assert(sessions_link_named(&s, span_text("a"), &found) && link_ref_equal(found, a));
    cr_assert_not(sessions_link_named(&s, span_text("c"), &found));
    cr_assert(sessions_link_find(&s, a, &l));
    cr_assert_str_eq(l->id, "a");
    sessions_link_close(&s, a);
    cr_assert_not(sessions_link_find(&s, a, &l));
    cr_assert_not(sessions_link_named(&s, span_text("a"), &found));
    cr_assert_not(sessions_link_find(&s, (struct link_ref){0}, &l));
    sessions_fini(&s);
}

Test(session, gateways_are_limited_too)
{
    struct sessions s;
    start(&s, 4);
    struct link_ref ref, first = link_open(&s, "first");
    char id[16];
    for (int i = 1; i < SESSION_LINKS_MAX; i++) {
        snprintf(id, sizeof id, "g%d", i);
        (void)link_open(&s, id);
    }
    cr_assert_eq(sessions_link_open(&s, span_text("more"), &ref), E_FULL);
    sessions_link_close(&s, first);
    cr_assert_eq(sessions_link_open(&s, span_text("more"), &ref), 0);
    sessions_fini(&s);
    TEST_NO_LEAKS();
}

/* A link's sessions, from its list. */
static uint32_t count_of(const struct sessions *s, struct link_ref link)
{
    struct session_link *l;
    uint32_t n = 0, before = SLOTS_NONE;
    cr_assert(sessions_link_find(s, link, &l));
    for (uint32_t at = l->first; at != SLOTS_NONE; at = s->list[at].next) {
        cr_assert_eq(s->list[at].prev, before);
        cr_assert(link_ref_equal(s->list[at].link, link));
        before = at;
        n++;
    }
    cr_assert_eq(l->count, n);
    return n;
}

Test(session, each_link_lists_its_sessions_through_any_churn)
{
    struct sessions s;
    start(&s, 64);
    struct link_ref links[3] = {link_open(&s, "a"), link_open(&s, "b"), link_open(&s, "c")};
    struct session_ref refs[3][20];
    bool in[3][20] = {{false}};
    uint32_t n[3] = {0};
    struct rng rng;
    rng_init(&rng, 31);
    for (int step = 0; step < 5000; step++) {
        uint32_t l = (uint32_t)rng_below(&rng, 3), at = (uint32_t)rng_below(&rng, 20);
        if (in[l][at])
            sessions_end(&s, refs[l][at]);
        else
            refs[l][at] = open(&s, links[l], at * 1000003ull);
        in[l][at] = !in[l][at];
        n[l] += in[l][at] ? 1 : UINT32_MAX;
        cr_assert_eq(count_of(&s, links[l]), n[l]);
        struct session_ref found;
        cr_assert_eq(sessions_by_sid(&s, links[l], at * 1000003ull, &found), in[l][at]);
    }
    sessions_fini(&s);
    TEST_NO_LEAKS();
}
