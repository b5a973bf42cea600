/* tests/gateway/test_roster_nats.c: a roster kept by a real NATS that dies, hangs and forgets.
 * Where the build has no nats.c, or the machine no nats-server, they say so.
 */
#include "gateway/roster_nats.h"

#include "common/err.h"
#include "tests/key_writer.h"
#include "tests/leak.h"
#include "tests/nats_stand.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>

TestSuite(roster_nats, .fini = process_end_all, .timeout = 60);

static void on_changed(void *arg, const struct roster *r)
{
    *(struct roster *)arg = *r;
}

#ifndef AEGIS_PART_LIBNATS

Test(roster_nats, without_the_library_there_is_none)
{
    struct roster heard = {0};
    struct roster_nats *r;
    struct loop *loop;
    char why[256];

    cr_assert_eq(loop_create(&loop), 0);
    cr_assert_eq(
        roster_nats_create(loop, "nats://u:p@a:1", on_changed, &heard, &r, why, sizeof(why)),
        E_MISSING);
    cr_assert_str_eq(why, "nats://a:1: not there");
    loop_destroy(loop);
    TEST_NO_LEAKS();
}

#else

#define GEN     17
#define PATIENT (3 * PROCESS_PATIENCE_MS)

struct stand {
    struct nats_stand nats;
    struct loop *loop;
    struct key_writer *keys;
    struct roster_nats *nodes;
    struct roster heard;
};

/* False: this machine has no server. */
static bool stand_up(struct stand *s, bool with_server)
{
    char why[256];

    memset(s, 0, sizeof(*s));
    if (!nats_stand_up(&s->nats, with_server))
        return false;
    cr_assert_eq(loop_create(&s->loop), 0);
    s->keys = key_writer_create(s->loop, s->nats.url);
    cr_assert_eq(roster_nats_create(s->loop, s->nats.url, on_changed, &s->heard, &s->nodes, why,
                                    sizeof(why)),
                 0, "%s", why);
    return true;
}

static void stand_down(struct stand *s)
{
    roster_nats_destroy(s->nodes);
    key_writer_destroy(s->keys);
    loop_turn(s->loop, 0);
    loop_destroy(s->loop);
    nats_stand_down(&s->nats);
    TEST_NO_LEAKS();
}

/* Turn until it holds. */
#define UNTIL(s, cond)                                     \
    do {                                                   \
        struct mono deadline_ = process_deadline(PATIENT); \
        while (!(cond)) {                                  \
            loop_turn((s)->loop, 10 * CLOCK_NS_PER_MS);    \
            process_rest(deadline_, #cond);                \
        }                                                  \
    } while (0)

static const struct roster_world *heard(const struct stand *s, const char *id)
{
    struct claim_name name = claim_name_of(span_text(id));

    return roster_find(&s->heard, &name);
}

static void lives(struct stand *s, const char *id, const char *address)
{
    key_writer_world(s->keys, GEN, id, CLAIM_HELD, address);
}

Test(roster_nats, worlds_come_move_drain_and_go)
{
    struct claim c = {
        .state = CLAIM_HELD, .world = claim_name_of(span_text("w1")), .draining = true};
    struct stand s;

    if (!stand_up(&s, true))
        return;
    lives(&s, "w1", "127.0.0.1:1");
    lives(&s, "w2", "127.0.0.1:2");
    UNTIL(&s, heard(&s, "w1") && heard(&s, "w2"));
    lives(&s, "w2", "127.0.0.1:3");
    UNTIL(&s, strcmp(heard(&s, "w2")->addr, "127.0.0.1:3") == 0);
    claim_set_text(&c, span_text("127.0.0.1:1"));
    key_writer_claim(s.keys, GEN, &c);
    UNTIL(&s, heard(&s, "w1")->draining);
    cr_assert_eq(roster_nats_counted(s.nodes).spared, 1);
    key_writer_world(s.keys, GEN, "w1", CLAIM_BURIED, "127.0.0.1:1");
    UNTIL(&s, !heard(&s, "w1"));
    key_writer_delete(s.keys, "0000000000000011.world.dzI");
    UNTIL(&s, !heard(&s, "w2"));
    cr_assert_eq(roster_nats_counted(s.nodes).worlds, 0);
    cr_assert_eq(roster_nats_counted(s.nodes).strange, 0);
    stand_down(&s);
}

Test(roster_nats, what_stands_there_already_is_found_and_a_late_server_is_waited_for)
{
    struct stand s;

    if (!stand_up(&s, false))
        return;
    UNTIL(&s, roster_nats_counted(s.nodes).losses == 1); /* said once */
    cr_assert_eq(roster_nats_counted(s.nodes).there, 0);
    nats_stand_serve(&s.nats);
    lives(&s, "w1", "127.0.0.1:1");
    UNTIL(&s, heard(&s, "w1"));
    cr_assert_eq(roster_nats_counted(s.nodes).there, 1);
    cr_assert_eq(roster_nats_counted(s.nodes).losses, 1);
    stand_down(&s);
}

Test(roster_nats, a_server_that_dies_or_hangs_leaves_the_worlds_that_were_known)
{
    struct stand s;

    if (!stand_up(&s, true))
        return;
    lives(&s, "w1", "127.0.0.1:1");
    lives(&s, "w2", "127.0.0.1:2");
    UNTIL(&s, heard(&s, "w1") && heard(&s, "w2"));
    const uint64_t version = s.heard.version;
    process_kill(s.nats.server);
    UNTIL(&s, roster_nats_counted(s.nodes).there == 0);
    cr_assert_eq(roster_nats_counted(s.nodes).losses, 1);
    nats_stand_serve(&s.nats); /* with what it kept */
    UNTIL(&s, roster_nats_counted(s.nodes).there == 1);
    process_signal(s.nats.server, SIGSTOP);
    UNTIL(&s, roster_nats_counted(s.nodes).there == 0);
    process_signal(s.nats.server, SIGCONT);
    UNTIL(&s, roster_nats_counted(s.nodes).there == 1);
    cr_assert_geq(roster_nats_counted(s.nodes).losses, 2); /* a slow one may be lost again */
    cr_assert_eq(s.heard.version, version, "and nobody was told anything");
    cr_assert_eq(s.heard.n, 2);
    key_writer_world(s.keys, GEN, "w1", CLAIM_BURIED, "127.0.0.1:1");
    UNTIL(&s, !heard(&s, "w1")); /* it is followed again */
    stand_down(&s);
}

Test(roster_nats, a_server_that_forgot_all_puts_the_worlds_in_doubt)
{
    struct stand s;

    if (!stand_up(&s, true))
        return;
    lives(&s, "w1", "127.0.0.1:1");
    lives(&s, "w2", "127.0.0.1:2");
    UNTIL(&s, heard(&s, "w1") && heard(&s, "w2"));
    nats_stand_wipe(&s.nats);
    UNTIL(&s, heard(&s, "w1") && heard(&s, "w1")->doubted && heard(&s, "w2")->doubted);
    key_writer_world(s.keys, GEN + 1, "w1", CLAIM_HELD, "127.0.0.1:1");
    UNTIL(&s, !heard(&s, "w1")->doubted);
    UNTIL(&s, !heard(&s, "w2")); /* ROSTER_DOUBT_NS later */
    cr_assert_eq(s.heard.generation, GEN + 1);
    stand_down(&s);
}

Test(roster_nats, what_says_nothing_of_a_world_is_counted_and_too_many_are_left_out)
{
    char id[16], addr[32];
    struct stand s;

    if (!stand_up(&s, true))
        return;
    key_writer_put(s.keys, "0000000000000011.world.dzE", span_text("held w1 and more"));
    key_writer_put(s.keys, "0000000000000011.world.x.y", span_text(""));
    key_writer_put(s.keys, "nonsense.world.dzE", span_text("held"));
    key_writer_world(s.keys, GEN, "w2", CLAIM_HELD, "nowhere");
    UNTIL(&s, roster_nats_counted(s.nodes).strange >= 4);
    cr_assert_eq(roster_nats_counted(s.nodes).worlds, 0);
    for (uint32_t i = 0; i <= ROSTER_MAX; i++) {
        snprintf(id, sizeof(id), "x%u", i);
        snprintf(addr, sizeof(addr), "127.0.0.1:%u", i + 1);
        lives(&s, id, addr);
    }
    UNTIL(&s, roster_nats_counted(s.nodes).full >= 1);
    UNTIL(&s, s.heard.n == ROSTER_MAX);
    stand_down(&s);
}

#endif
