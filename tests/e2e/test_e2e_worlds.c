/* tests/e2e/test_e2e_worlds.c: a gateway that keeps its clients while the worlds of a cluster come,
 * go and hang, with a real NATS. Where the build has no nats.c, or the machine no nats-server, they
 * say so. May touch: tests/nats_stand, tests/key_writer, tests/raw_client, tests/e2e/probe.
 * On trouble: the test fails.
 */
#include "tests/e2e/probe.h"
#include "tests/key_writer.h"
#include "tests/leak.h"
#include "tests/nats_stand.h"
#include "tests/pair.h"
#include "tests/raw_client.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

TestSuite(e2e_worlds, .fini = process_end_all, .timeout = 120);

#ifdef AEGIS_PART_LIBNATS

#define PATIENT (4 * PROCESS_PATIENCE_MS)
#define UP      "aegis_gateway_worlds{state=\"up\"}"
#define KNOWN   "aegis_gateway_worlds{state=\"known\"}"
#define THERE   "aegis_gateway_cluster_there"

struct cluster {
    struct nats_stand nats;
    char url[160]; /* with a password, which nobody may show */
    struct process *gateway;
};

/* False: there is no nats-server here. */
static bool stand_up(struct cluster *c, const char *flag, const char *value)
{
    if (!nats_stand_up(&c->nats, true))
        return false;
    snprintf(c->url, sizeof(c->url), "nats://aegis:hush-hush@%s", c->nats.addr);
    c->gateway = pair_cluster_gateway(c->url, PROCESS_ARGS(PROBE_ADMIN, flag, value));
    return true;
}

static struct process *world(const struct cluster *c, const char *id)
{
    return pair_world(PROCESS_ARGS(PROBE_ADMIN, "-cluster", c->url, "-world-id", id,
                                   "-cluster-lease", "700ms", "-resume-window", "30s"));
}

static void await_worlds(const struct cluster *c, uint64_t n)
{
    probe_await_least(c->gateway, UP, n, PATIENT);
    probe_await_most(c->gateway, KNOWN, n, PATIENT);
}

static void stand_down(struct cluster *c)
{
    pair_end_one(c->gateway);
    cr_expect_eq(process_logged(c->gateway, "hush-hush"), 0u, "a password is in the log");
    cr_expect_eq(process_logged(c->gateway, "Assertion"), 0u);
    nats_stand_down(&c->nats);
    TEST_NO_LEAKS();
}

/* It is served by whatever world it is at: its next move is answered, by that world. */
static void must_move(struct raw_client *c)
{
    struct mono deadline = process_deadline(PATIENT);

    for (;;) {
        const struct message *m = raw_answer(c, raw_move(c, 8, 0));
        if (m->cmd == CMD_MOVE_RESP || m->error_notify.code == PE_MOVE_SPEED)
            return;
        process_rest(deadline, "a move that is answered by a world");
    }
}

/* Logged in and in the world, as soon as a world has ids to give. */
static void must_come(struct raw_client *c, const char *name)
{
    struct mono deadline = process_deadline(PATIENT);
    uint32_t code;

    do {
        const struct message *m = raw_answer(c, raw_login(c, name));
        code = m->cmd == CMD_LOGIN_RESP ? 0 : m->error_notify.code;
        process_rest(deadline, "a login");
    } while (code == PE_UNAVAILABLE);
    cr_assert_eq(code, 0);
    raw_must(c, raw_nil(c, CMD_ENTER_REQ), CMD_ENTER_RESP);
}

/* It is put into a world again, however often it is told that what it asked is lost. */
static void must_come_again(struct raw_client *c)
{
    struct mono deadline = process_deadline(PATIENT);

    while (raw_next(c)->cmd != CMD_ENTER_RESP)
        process_rest(deadline, "an EnterResp");
    must_move(c);
    raw_must_serve(c);
}

Test(e2e_worlds, they_come_and_go_while_a_client_stays)
{
    struct raw_client one;
    struct cluster c;

    if (!stand_up(&c, "-threads", "2"))
        return;
    raw_connect(&one, c.gateway->addr);
    raw_must_fail(&one, raw_login(&one, "one"), PE_UNAVAILABLE);
    cr_assert(strstr(probe_get(c.gateway, "/readyz"), "world away"));
    struct process *a = world(&c, "a");
    await_worlds(&c, 1);
    cr_assert(strstr(probe_get(c.gateway, "/readyz"), " 200 "));
    must_come(&one, "one");
    struct process *b = world(&c, "b");
    await_worlds(&c, 2);
    process_kill(a);
    must_come_again(&one);
    await_worlds(&c, 1);
    a = world(&c, "a"); /* at another address */
    await_worlds(&c, 2);
    process_kill(b);
    must_come_again(&one);
    await_worlds(&c, 1);
    cr_expect_geq(probe_metric(c.gateway, "aegis_gateway_binds_total"), 2u);
    pair_end_one(a);
    raw_close(&one);
    stand_down(&c);
}

Test(e2e_worlds, who_is_at_a_world_that_hangs_goes_on_at_another_as_soon_as_it_is_buried)
{
    struct raw_client one;
    struct cluster c;

    if (!stand_up(&c, "-link-timeout", "0")) /* only the keys say that it is over */
        return;
    struct process *a = world(&c, "a");
    await_worlds(&c, 1);
    raw_connect(&one, c.gateway->addr);
    must_come(&one, "one");
    struct process *b = world(&c, "b");
    await_worlds(&c, 2);
    must_move(&one);
    /* It stands in one of a's zones, or was handed to b by now. */
    struct process *its = probe_metric(b, "aegis_world_sessions") == 1 ? b : a;
    process_signal(its, SIGSTOP);
    must_come_again(&one);
    await_worlds(&c, 1);
    process_signal(its, SIGCONT);
    await_worlds(&c, 2);
    must_move(&one);
    pair_end_one(its == a ? b : a); /* which hands it over before it goes */
    must_move(&one);
    pair_end_one(its);
    raw_close(&one);
    stand_down(&c);
}

Test(e2e_worlds, without_nats_the_worlds_that_were_known_stay)
{
    struct raw_client one;
    struct cluster c;

    if (!stand_up(&c, NULL, NULL))
        return;
    struct process *a = world(&c, "a");
    await_worlds(&c, 1);
    raw_connect(&one, c.gateway->addr);
    must_come(&one, "one");
    process_kill(c.nats.server);
    probe_await_most(c.gateway, THERE, 0, PATIENT);
    const uint64_t lost = probe_metric(c.gateway, "aegis_gateway_link_losses_total");
    struct mono until = process_deadline(2000);
    while (clock_since(clock_mono(), until) < 0)
        process_rest(process_deadline(PROCESS_PATIENCE_MS), "time");
    raw_must_serve(&one);
    cr_expect_eq(probe_metric(c.gateway, UP), 1u);
    cr_expect_eq(probe_metric(c.gateway, "aegis_gateway_link_losses_total"), lost);
    cr_expect_eq(process_logged(c.gateway, "nats away"), 1u);
    nats_stand_serve(&c.nats);
    probe_await_least(c.gateway, THERE, 1, PATIENT);
    must_move(&one);
    pair_end_one(a);
    raw_close(&one);
    stand_down(&c);
}

Test(e2e_worlds, what_is_no_world_in_nats_harms_nobody)
{
    struct raw_client one;
    struct cluster c;
    struct loop *loop;
    char id[16], text[64];
    uint64_t generation;
    int found;

    if (!stand_up(&c, NULL, NULL))
        return;
    struct process *a = world(&c, "a");
    await_worlds(&c, 1);
    raw_connect(&one, c.gateway->addr);
    must_come(&one, "one");
    found = sscanf(strstr((const char *)process_log(a).p, "generation="), "generation=%" SCNx64,
                   &generation);
    cr_assert_eq(found, 1);
    cr_assert_eq(loop_create(&loop), 0);
    struct key_writer *k = key_writer_create(loop, c.nats.url);
    struct claim old = {
        .state = CLAIM_HELD, .world = claim_name_of(span_text("old")), .epoch = 1, .nonce = 1};
    claim_set_text(&old, span_text(a->addr)); /* where a is now */
    key_writer_claim(k, generation, &old);
    process_await_log(c.gateway, "another world has the address of this one", 1);
    snprintf(text, sizeof(text), "%016" PRIx64 ".world.ZA", generation);
    key_writer_put(k, text, span_text("no claim"));
    for (uint32_t i = 0; i < 70; i++) {
        snprintf(id, sizeof(id), "x%u", i);
        snprintf(text, sizeof(text), "127.0.0.1:%u", i + 1);
        key_writer_world(k, generation, id, CLAIM_HELD, text);
    }
    probe_await_least(c.gateway, "aegis_gateway_cluster_full_total", 1, PATIENT);
    probe_await_least(c.gateway, "aegis_gateway_cluster_strange_keys_total", 1, PATIENT);
    cr_expect_eq(probe_metric(c.gateway, UP), 1u);
    must_move(&one);
    key_writer_destroy(k);
    loop_turn(loop, 0);
    loop_destroy(loop);
    pair_end_one(a);
    raw_close(&one);
    stand_down(&c);
}

#endif
