/* tests/e2e/test_e2e_hostile_kill.c: what is killed, stopped or cut off, proven by the metric that
 * rose. HOSTILE_LONG=1: processes stand still, and the network is cut, for 5 s at default timeouts.
 * May touch: tests/pair, tests/e2e. On trouble: the test fails.
 */
#include "tests/e2e/probe.h"
#include "tests/e2e/proxy.h"
#include "tests/e2e/stage.h"
#include "tests/leak.h"
#include "tests/pair.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>

TestSuite(e2e_hostile_kill, .fini = process_end_all, .timeout = 120);

#define TOGETHER "-spawn", "0,0,0"

#define LINK_FAILURE(reason) "aegis_gateway_link_failures_total{reason=\"" reason "\"}"
#define LINK_END(reason)     "aegis_world_link_ends_total{reason=\"" reason "\"}"

static bool is_long(void)
{
    return getenv("HOSTILE_LONG") != NULL;
}

static const char *link_timeout(void)
{
    return is_long() ? "3s" : "1s";
}

static int64_t standstill_ms(void)
{
    return is_long() ? 5000 : 2000;
}

/* Two that see each other, through a gateway whose way to the world may lead over a proxy. */
struct fault {
    struct pair pair;
    struct proxy proxy; /* pid 0: none */
    struct stage stage;
    struct player *a, *b;
};

static void fault_start(struct fault *f, bool proxied, const char *timeout)
{
    *f = (struct fault){0};
    f->pair.world = pair_world(PROCESS_ARGS(TOGETHER, "-link-timeout", timeout, PROBE_ADMIN));
    if (proxied)
        proxy_start(&f->proxy, f->pair.world->addr, 0);
    f->pair.gateway = pair_gateway(proxied ? f->proxy.addr : f->pair.world->addr,
                                   PROCESS_ARGS("-link-timeout", timeout, PROBE_ADMIN));
    pair_await_link(f->pair.gateway, 1);
    stage_init(&f->stage);
    f->a = stage_join(&f->stage, f->pair.gateway->addr, "a");
    f->b = stage_join(&f->stage, f->pair.gateway->addr, "b");
    STAGE_UNTIL(&f->stage, player_sees(f->a, f->b) && player_sees(f->b, f->a));
}

static void fault_end(struct fault *f)
{
    stage_fini(&f->stage);
    pair_end_one(f->pair.gateway);
    if (f->proxy.pid)
        proxy_end(&f->proxy);
    pair_end(&f->pair);
}

static bool all_told(const struct fault *f, uint32_t code, uint32_t times)
{
    return f->a->told[code] == times && f->b->told[code] == times;
}

/* They are put into the world again by the connections they have. */
static void must_be_put_back(struct fault *f)
{
    STAGE_UNTIL(&f->stage, f->a->got[CMD_ENTER_RESP] == 2 && f->b->got[CMD_ENTER_RESP] == 2);
    cr_assert(all_told(f, PE_NOT_LOGGED_IN, 0));
}

/* What they know is exact again. */
static void must_go_on(struct fault *f)
{
    STAGE_UNTIL(&f->stage, player_sees(f->a, f->b) && player_sees(f->b, f->a));
    player_move(f->a, f->a->facts->x + 0.125, f->a->facts->y);
    STAGE_UNTIL(&f->stage, player_sees(f->b, f->a));
    cr_assert(player_count(f->a) == 1 && player_count(f->b) == 1);
    cr_assert(!f->a->closed && !f->b->closed);
}

/* Nobody is left over in the world: no session, no entity, but these two. */
static void must_be_two(const struct fault *f)
{
    probe_await_most(f->pair.world, "aegis_world_entities", 2, PROCESS_PATIENCE_MS);
    cr_assert_eq(probe_metric(f->pair.world, "aegis_world_entities"), 2u);
    cr_assert_eq(probe_metric(f->pair.world, "aegis_world_sessions_logged_in"), 2u);
    cr_assert_eq(probe_metric(f->pair.world, "aegis_world_aoi_known"), 2u);
    cr_assert_eq(probe_metric(f->pair.gateway, "aegis_gateway_link_ready"), 1u);
}

Test(e2e_hostile_kill, a_killed_world_shows_as_a_lost_link_and_a_second_one_up)
{
    struct fault f;

    fault_start(&f, false, link_timeout());
    process_kill(f.pair.world);
    STAGE_UNTIL(&f.stage, all_told(&f, PE_UNAVAILABLE, 1));
    process_restart(f.pair.world);
    must_be_put_back(&f);
    must_go_on(&f);
    must_be_two(&f);
    const struct process *g = f.pair.gateway;
    cr_assert_eq(probe_metric(g, "aegis_gateway_link_losses_total"), 1u);
    cr_assert_eq(probe_metric(g, "aegis_gateway_link_ups_total"), 2u);
    cr_assert_eq(probe_metric(g, "aegis_gateway_told_unavailable_total"), 2u);
    cr_assert_eq(probe_metric(g, "aegis_gateway_binds_total"), 2u);
    cr_assert_geq(probe_metric(g, LINK_FAILURE("eof")) + probe_metric(g, LINK_FAILURE("reset")),
                  1u);
    fault_end(&f);
    TEST_NO_LEAKS();
}

Test(e2e_hostile_kill, a_killed_gateway_shows_as_an_ended_link_and_ended_sessions)
{
    struct fault f;

    fault_start(&f, false, link_timeout());
    process_kill(f.pair.gateway);
    STAGE_UNTIL(&f.stage, f.a->closed && f.b->closed);
    const struct process *w = f.pair.world;
    probe_await_least(w, "aegis_world_sessions_ended_total", 2, PROCESS_PATIENCE_MS);
    probe_await_most(w, "aegis_world_entities", 0, PROCESS_PATIENCE_MS);
    cr_assert_eq(probe_metric(w, LINK_END("eof")) + probe_metric(w, LINK_END("reset")), 1u);
    process_restart(f.pair.gateway);
    process_await_addr(f.pair.gateway);
    pair_await_link(f.pair.gateway, 1);
    player_reconnect(f.a, f.pair.gateway->addr);
    player_reconnect(f.b, f.pair.gateway->addr);
    player_login(f.a, "a");
    player_login(f.b, "b");
    player_enter(f.a);
    player_enter(f.b);
    must_go_on(&f);
    must_be_two(&f);
    cr_assert_eq(probe_metric(w, "aegis_world_link_ups_total"), 2u);
    fault_end(&f);
    TEST_NO_LEAKS();
}

Test(e2e_hostile_kill, a_world_that_stands_still_shows_as_silent)
{
    struct fault f;

    fault_start(&f, false, link_timeout());
    process_signal(f.pair.world, SIGSTOP);
    STAGE_UNTIL(&f.stage, all_told(&f, PE_UNAVAILABLE, 1));
    stage_pass(&f.stage, standstill_ms());
    player_ping(f.a);
    process_signal(f.pair.world, SIGCONT);
    must_be_put_back(&f);
    must_go_on(&f);
    must_be_two(&f);
    cr_assert_geq(probe_metric(f.pair.gateway, LINK_FAILURE("silent")), 1u);
    cr_assert_eq(probe_metric(f.pair.gateway, "aegis_gateway_link_losses_total"), 1u);
    /* It slept over many ticks; they are left out, not made up for. */
    cr_assert_geq(probe_metric(f.pair.world, "aegis_world_ticks_skipped_total"),
                  (uint64_t)standstill_ms() / 50 / 2);
    fault_end(&f);
    TEST_NO_LEAKS();
}

Test(e2e_hostile_kill, a_gateway_that_stands_still_shows_as_silent)
{
    struct fault f;

    fault_start(&f, false, link_timeout());
    process_signal(f.pair.gateway, SIGSTOP);
    stage_pass(&f.stage, standstill_ms());
    probe_await_least(f.pair.world, LINK_END("silent"), 1, PROCESS_PATIENCE_MS);
    probe_await_most(f.pair.world, "aegis_world_entities", 0, PROCESS_PATIENCE_MS);
    process_signal(f.pair.gateway, SIGCONT);
    must_be_put_back(&f);
    must_go_on(&f);
    must_be_two(&f);
    cr_assert_eq(probe_metric(f.pair.gateway, "aegis_gateway_link_losses_total"), 1u);
    fault_end(&f);
    TEST_NO_LEAKS();
}

/* No byte passes, no end is told: each side finds out by its own clock. */
Test(e2e_hostile_kill, a_cut_network_shows_as_silence_at_both_ends)
{
    struct fault f;

    fault_start(&f, true, link_timeout());
    proxy_cut(&f.proxy, true);
    STAGE_UNTIL(&f.stage, all_told(&f, PE_UNAVAILABLE, 1));
    probe_await_least(f.pair.world, LINK_END("silent"), 1, PROCESS_PATIENCE_MS);
    probe_await_most(f.pair.world, "aegis_world_entities", 0, PROCESS_PATIENCE_MS);
    cr_assert_geq(probe_metric(f.pair.gateway, LINK_FAILURE("silent")), 1u);
    stage_pass(&f.stage, standstill_ms());
    player_ping(f.a);
    cr_assert_eq(player_answer(f.b, bot_client_move(f.b->client, 0, 0)), (uint32_t)PE_UNAVAILABLE);
    proxy_cut(&f.proxy, false);
    must_be_put_back(&f);
    must_go_on(&f);
    must_be_two(&f);
    cr_assert_eq(probe_metric(f.pair.gateway, "aegis_gateway_link_losses_total"), 1u);
    cr_assert_geq(probe_metric(f.pair.gateway, "aegis_gateway_link_dials_total"), 2u);
    fault_end(&f);
    TEST_NO_LEAKS();
}

/* Shorter than the timeout, it is only late. */
Test(e2e_hostile_kill, a_short_cut_is_only_late)
{
    struct fault f;

    fault_start(&f, true, "5s");
    for (int i = 1; i <= 3; i++) {
        uint32_t answers = f.a->answers;
        proxy_cut(&f.proxy, true);
        cr_assert_eq(bot_client_move(f.a->client, 0.125 * i, 0), 0);
        stage_pass(&f.stage, 300);
        cr_assert_eq(f.a->answers, answers);
        proxy_cut(&f.proxy, false);
        STAGE_UNTIL(&f.stage, f.a->answers > answers && player_sees(f.b, f.a));
    }
    cr_assert_eq(f.a->got[CMD_ERROR_NOTIFY] + f.b->got[CMD_ERROR_NOTIFY], 0u);
    cr_assert_eq(probe_metric(f.pair.gateway, "aegis_gateway_link_losses_total"), 0u);
    must_be_two(&f);
    fault_end(&f);
    TEST_NO_LEAKS();
}
