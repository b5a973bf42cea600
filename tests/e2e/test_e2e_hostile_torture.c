/* tests/e2e/test_e2e_hostile_torture.c: damaged frames without end, beside honest players.
 * TORTURE_FRAMES: how many (20,000), TORTURE_SEED: which. TORTURE_PING_MS: what the honest players'
 * ping may take at p99, for a machine that does nothing else; without it that is only printed.
 * May touch: tests/pair, tests/e2e. On trouble: the test fails, and says the seed.
 */
#include "common/hist.h"
#include "tests/e2e/probe.h"
#include "tests/e2e/stage.h"
#include "tests/e2e/torture.h"
#include "tests/leak.h"
#include "tests/pair.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

TestSuite(e2e_hostile_torture, .fini = process_end_all, .timeout = 3600);

#define HONEST         10
#define ROOM_BYTES     ((uint64_t)64 << 20) /* that either process may grow by */
#define FRAMES_DEFAULT 20000
#define SEED_DEFAULT   20240901
/* The pings' rhythm; the tenth of them is a move. */
#define BEAT_MS 20

#define CLOSED(reason) "aegis_gateway_clients_closed_total{reason=\"" reason "\"}"

static uint64_t number_from(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

struct honest {
    struct player *player;
    bool asked;
    struct mono sent;
    uint32_t pongs, beats;
};

struct honest_crowd {
    struct stage stage;
    struct honest each[HONEST];
    struct hist ping_ns;
    struct mono next;
};

static void honest_start(struct honest_crowd *h, const char *addr)
{
    static char names[HONEST][24];

    *h = (struct honest_crowd){.next = clock_mono()};
    stage_init(&h->stage);
    for (int i = 0; i < HONEST; i++) {
        snprintf(names[i], sizeof(names[i]), "honest%d", i);
        h->each[i].player = stage_join(&h->stage, addr, names[i]);
    }
}

/* Pings that were answered are timed; now and then each asks anew, or steps aside. */
static void honest_beat(struct honest_crowd *h)
{
    bool due = clock_since(clock_mono(), h->next) >= 0;

    stage_turn(&h->stage, process_deadline(PROCESS_PATIENCE_MS), "a turn");
    for (int i = 0; i < HONEST; i++) {
        struct honest *one = &h->each[i];
        struct player *p = one->player;
        p->n_events = 0;
        if (p->closed)
            process_fail("%s was cut: %s", p->name, p->why);
        if (one->asked && p->got[CMD_PING_RESP] > one->pongs) {
            one->asked = false;
            hist_add(&h->ping_ns, (uint64_t)clock_since(p->facts->heard, one->sent));
        }
        if (!due || one->asked || p->facts->pending > 0)
            continue;
        one->pongs = p->got[CMD_PING_RESP];
        one->sent = clock_mono();
        one->asked = ++one->beats % 10 > 0;
        cr_assert_eq(one->asked ? bot_client_ping(p->client)
                                : bot_client_move(p->client, (one->beats / 10) % 2 * 0.5, 0),
                     0);
    }
    if (due)
        h->next = process_deadline(BEAT_MS);
}

static bool honest_exact(const struct honest_crowd *h)
{
    for (int i = 0; i < HONEST; i++) {
        const struct player *p = h->each[i].player;
        if (player_count(p) != HONEST - 1)
            return false;
        for (int j = 0; j < HONEST; j++) {
            if (i != j && !player_sees(p, h->each[j].player))
                return false;
        }
    }
    return true;
}

static void must_have_refused(const struct pair *pair, const struct torture_count *count)
{
    uint64_t bad = probe_metric(pair->gateway, CLOSED("bad_frame")) +
                   probe_metric(pair->gateway, CLOSED("frame_length"));
    uint64_t frames = atomic_load(&count->frames), fatal = atomic_load(&count->fatal);

    cr_assert(bad >= fatal, "%llu ended for bad frames, %llu were seen to end",
              (unsigned long long)bad, (unsigned long long)fatal);
    cr_assert_gt(fatal, frames / 10);
    cr_assert_lt(fatal, frames);
    cr_assert_gt(probe_metric(pair->gateway, CLOSED("reset")), 0u);
    cr_assert_gt(probe_metric(pair->gateway, CLOSED("eof")), 0u);
    cr_assert_eq(probe_metric(pair->gateway, CLOSED("slow_hard")), 0u);
    cr_assert_gt(probe_metric(pair->world, "aegis_world_requests_total"), frames / 10);
    cr_assert_gt(probe_metric(pair->world, "aegis_world_logins_total"), fatal / 4);
    cr_assert_eq(probe_metric(pair->world, "aegis_world_bodies_bad_total"), 0u,
                 "the gateway passed on what it should have refused");
    cr_assert_eq(probe_metric(pair->gateway, "aegis_gateway_link_losses_total"), 0u);
}

static void tell(const struct honest_crowd *h, const struct torture_count *c,
                 const uint64_t grown[2], double seconds)
{
    fprintf(
        stderr,
        "torture: %llu damaged frames in %.1f s, %llu fatal, %llu unjudged; %llu connections, "
        "%llu into the world; %llu garbage, %llu resets, %llu half open; honest ping p50 "
        "%.2f ms p99 %.2f ms max %.2f ms of %llu; grown by %llu and %llu KiB\n",
        (unsigned long long)atomic_load(&c->frames), seconds,
        (unsigned long long)atomic_load(&c->fatal), (unsigned long long)atomic_load(&c->unjudged),
        (unsigned long long)atomic_load(&c->connects), (unsigned long long)atomic_load(&c->entered),
        (unsigned long long)atomic_load(&c->garbage), (unsigned long long)atomic_load(&c->resets),
        (unsigned long long)atomic_load(&c->halves), (double)hist_quantile(&h->ping_ns, 0.5) / 1e6,
        (double)hist_quantile(&h->ping_ns, 0.99) / 1e6, (double)h->ping_ns.max / 1e6,
        (unsigned long long)h->ping_ns.count, (unsigned long long)grown[0] / 1024,
        (unsigned long long)grown[1] / 1024);
}

static uint64_t growth(const struct process *p, uint64_t before)
{
    uint64_t now = process_memory(p);
    return now > before ? now - before : 0;
}

Test(e2e_hostile_torture, damaged_frames_harm_nobody_but_who_sends_them)
{
    uint64_t frames = number_from("TORTURE_FRAMES", FRAMES_DEFAULT);
    uint64_t limit = number_from("TORTURE_PING_MS", 0);
    struct honest_crowd h;
    struct torture torture;

    process_measure_memory();
    struct pair pair = pair_start(PROCESS_ARGS("-spawn", "0,0,0", PROBE_ADMIN),
                                  PROCESS_ARGS("-rate", "0", PROBE_ADMIN));
    honest_start(&h, pair.gateway->addr);
    uint64_t before[2] = {process_memory(pair.gateway), process_memory(pair.world)};
    struct mono began = clock_mono();
    torture_start(&torture, pair.gateway->addr, number_from("TORTURE_SEED", SEED_DEFAULT), frames);
    while (!torture_done(&torture))
        honest_beat(&h);
    double seconds = (double)clock_since(clock_mono(), began) / 1e9;

    uint64_t grown[2] = {growth(pair.gateway, before[0]), growth(pair.world, before[1])};
    STAGE_UNTIL(&h.stage, honest_exact(&h));
    tell(&h, torture.count, grown, seconds);
    must_have_refused(&pair, torture.count);
    cr_assert(grown[0] < ROOM_BYTES && grown[1] < ROOM_BYTES,
              "the gateway grew by %llu, the world by %llu bytes", (unsigned long long)grown[0],
              (unsigned long long)grown[1]);
    if (limit > 0)
        cr_assert_lt(hist_quantile(&h.ping_ns, 0.99), limit * 1000000);
    torture_end(&torture);
    stage_fini(&h.stage);
    pair_end(&pair);
    TEST_NO_LEAKS();
}
