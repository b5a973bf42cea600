/* tests/e2e/test_e2e_hostile_count.c: what may not grow: those told of a mover, and dials to a
 * world that is away. HOSTILE_LONG=1: 300 watchers, and 60 s without a world.
 * May touch: tests/pair, tests/e2e. On trouble: the test fails.
 */
#include "tests/e2e/probe.h"
#include "tests/e2e/stage.h"
#include "tests/leak.h"
#include "tests/pair.h"
#include "tests/raw_client.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

TestSuite(e2e_hostile_count, .fini = process_end_all, .timeout = 200);

#define TELLS         "aegis_world_aoi_pairs_total{change=\"move\"}"
#define STEPS         20 /* of the mover, to see what they cost */
#define FAILURE(text) "aegis_gateway_link_failures_total{reason=\"" text "\"}"

static bool is_long(void)
{
    return getenv("HOSTILE_LONG") != NULL;
}

/* --- A15 -------------------------------------------------------------------------------------- */

/* The mover goes to and fro, each step shown before the next, and whoever is there looks on.
 * Returns how many were told of its moves. */
static uint64_t told_of_moves(const struct pair *pair, struct player *mover)
{
    uint64_t before = probe_metric(pair->world, TELLS);

    for (int i = 1; i <= STEPS; i++) {
        player_move(mover, mover->facts->x, i % 2 * 0.5);
        stage_pass_ticks(mover, 1);
    }
    return probe_metric(pair->world, TELLS) - before;
}

/* Somebody comes, sees the mover, and goes: by FIN, RST or LeaveReq in turn. */
static void come_and_go(const struct pair *pair, struct player *mover, int i)
{
    struct raw_client c;
    char name[24];

    snprintf(name, sizeof(name), "watcher%d", i);
    raw_join(&c, pair->gateway->addr, name);
    raw_await(&c, CMD_AOI_ADD);
    player_move(mover, mover->facts->x, i % 2 * 0.5);
    if (i % 3 == 0)
        raw_close(&c);
    else if (i % 3 == 1)
        raw_reset(&c);
    else
        raw_must(&c, raw_nil(&c, CMD_LEAVE_REQ), CMD_LEAVE_RESP);
    raw_close(&c);
    STAGE_UNTIL(mover->stage, player_count(mover) == 0);
    mover->n_events = 0;
}

Test(e2e_hostile_count, a15_who_went_is_not_told_of_moves_any_more)
{
    const int times = is_long() ? 300 : 45;

    /* In stores so small that all of them is touched soon, memory that grows is a leak. */
    process_measure_memory();
    struct pair pair = pair_start(PROCESS_ARGS("-spawn", "0,0,0", "-tick", "20ms", "-max-speed",
                                               "100", "-max-entities", "64", PROBE_ADMIN),
                                  PROCESS_ARGS("-rate", "0", PROBE_ADMIN));
    struct stage stage;

    stage_init(&stage);
    struct player *p = stage_join(&stage, pair.gateway->addr, "mover");
    for (int i = 0; i < 15; i++)
        come_and_go(&pair, p, i);
    uint64_t memory = process_memory(pair.world);
    for (int i = 15; i < times; i++)
        come_and_go(&pair, p, i);
    cr_assert_lt(process_memory(pair.world), memory + (1u << 20));
    cr_assert_eq(probe_metric(pair.world, "aegis_world_aoi_known"), 0u);
    cr_assert_eq(probe_metric(pair.world, "aegis_world_entities"), 1u);
    cr_assert_eq(probe_metric(pair.world, "aegis_world_sessions"), 1u);
    cr_assert_eq(told_of_moves(&pair, p), 0u, "nobody looks on");

    struct player *q = stage_join(&stage, pair.gateway->addr, "onlooker");
    STAGE_UNTIL(&stage, player_sees(q, p) && player_sees(p, q));
    uint64_t told = told_of_moves(&pair, p);
    cr_assert(told > 0 && told <= STEPS, "%llu told of %d steps", (unsigned long long)told, STEPS);
    stage_fini(&stage);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

/* --- D06 -------------------------------------------------------------------------------------- */

#define CLIENTS 20

/* Everybody asks for something a few times a second and is refused; pings are answered. Returns how
 * many dials that took. */
static uint64_t wait_without_world(const struct pair *pair, struct stage *s, int64_t ms)
{
    uint64_t dials = probe_metric(pair->gateway, "aegis_gateway_link_dials_total");
    struct mono until = process_deadline(ms);

    for (uint32_t i = 0; clock_since(until, clock_mono()) > 0; i++) {
        struct player *p = &s->players[i % s->n];
        cr_assert_eq(player_answer(p, bot_client_login(p->client, "again")),
                     (uint32_t)PE_UNAVAILABLE);
        player_ping(p);
        stage_pass(s, 50);
    }
    return probe_metric(pair->gateway, "aegis_gateway_link_dials_total") - dials;
}

/* Ten a second at the first, then ever fewer: by what the backoff allows at its quickest. */
static void must_be_few(uint64_t dials, int64_t ms, const char *when)
{
    uint64_t most = 8 + (uint64_t)ms / 500;

    cr_assert(dials >= 1 && dials <= most, "%llu dials in %lld ms %s", (unsigned long long)dials,
              (long long)ms, when);
}

/* A world that takes connections and closes them at once, as long as this lasts. */
static uint64_t close_at_once(const struct pair *pair, int64_t ms)
{
    int listener = raw_listen(pair->world->addr);
    struct mono until = process_deadline(ms);
    uint64_t taken = 0;
    struct raw_client c;

    while (clock_since(until, clock_mono()) > 0) {
        if (!raw_accept(&c, listener, 50))
            continue;
        raw_close(&c);
        taken++;
    }
    close(listener);
    return taken;
}

Test(e2e_hostile_count, d06_a_world_that_is_away_is_dialled_seldom)
{
    const int64_t away_ms = is_long() ? 60000 : 3000, odd_ms = is_long() ? 10000 : 2000;
    struct pair pair = pair_start(
        PROCESS_ARGS("-spawn", "0,0,0", PROBE_ADMIN),
        PROCESS_ARGS("-rate", "0", "-link-timeout", "1s", "-idle-timeout", "0", PROBE_ADMIN));
    static char names[CLIENTS][24];
    struct stage stage;

    stage_init(&stage);
    for (int i = 0; i < CLIENTS; i++) {
        snprintf(names[i], sizeof(names[i]), "c%d", i);
        stage_login(&stage, pair.gateway->addr, names[i]);
    }
    process_kill(pair.world);
    STAGE_UNTIL(&stage, stage.players[CLIENTS - 1].told[PE_UNAVAILABLE] == 1);
    unsigned lines = process_logged(pair.gateway, "\n");
    must_be_few(wait_without_world(&pair, &stage, away_ms), away_ms, "while nobody listens");
    must_be_few(close_at_once(&pair, odd_ms), odd_ms, "to a world that closes at once");
    int silent = raw_listen(pair.world->addr); /* the kernel accepts; nobody says hello */
    must_be_few(wait_without_world(&pair, &stage, odd_ms + 2000), odd_ms + 2000,
                "to a world that says nothing");
    cr_assert_geq(probe_metric(pair.gateway, FAILURE("dial")), 1u);
    cr_assert_geq(probe_metric(pair.gateway, FAILURE("eof")) +
                      probe_metric(pair.gateway, FAILURE("reset")),
                  2u);
    close(silent);
    cr_assert_lt(process_logged(pair.gateway, "\n") - lines, 30u);

    process_restart(pair.world);
    process_await_addr(pair.world);
    struct mono up = clock_mono();
    pair_await_link(pair.gateway, 2);
    cr_assert_lt(clock_since(clock_mono(), up),
                 (process_sanitized() ? PROCESS_PATIENCE_MS : 2000) * CLOCK_NS_PER_MS);
    for (int i = 0; i < CLIENTS; i++) {
        player_enter(&stage.players[i]); /* logged in as before */
        cr_assert_eq(stage.players[i].told[PE_NOT_LOGGED_IN], 0u);
    }
    STAGE_UNTIL(&stage, player_count(&stage.players[0]) == CLIENTS - 1);
    cr_assert_eq(probe_metric(pair.gateway, "aegis_gateway_link_losses_total"), 1u);
    cr_assert_eq(probe_metric(pair.gateway, "aegis_gateway_link_ups_total"), 2u);
    stage_fini(&stage);
    pair_end(&pair);
    TEST_NO_LEAKS();
}
