/* tests/e2e/test_e2e_hostile_flood.c: more connections than there is room for, and more than
 * anybody could want. HOSTILE_LONG=1: 10 s of the flood instead of one.
 * May touch: tests/pair, tests/e2e, sockets. On trouble: the test fails.
 */
#include "tests/e2e/probe.h"
#include "tests/e2e/stage.h"
#include "tests/leak.h"
#include "tests/pair.h"
#include "tests/raw_client.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

TestSuite(e2e_hostile_flood, .fini = process_end_all, .timeout = 120);

#define HELD         300
#define DESCRIPTORS  "64"
#define FLOOD_A_MS   2
#define FLOOD_HOLD   256  /* connections of the flood that are open at once */
#define RECOVER_MS   1000 /* what the cases allow; sanitizers and a busy machine get more */
#define ACCEPTED     "aegis_gateway_accepts_total{result=\"client\"}"
#define LINES_A_TURN 40 /* of the log, for some seconds without descriptors */

static int64_t recover_ms(void)
{
    return process_sanitized() ? PROCESS_PATIENCE_MS : RECOVER_MS;
}

static struct sockaddr_in address_of(const struct process *p)
{
    struct sockaddr_in in = {.sin_family = AF_INET};
    char host[PROCESS_ADDR_MAX];
    const char *colon = strrchr(p->addr, ':');

    snprintf(host, sizeof(host), "%.*s", (int)(colon - p->addr), p->addr);
    inet_pton(AF_INET, host, &in.sin_addr);
    in.sin_port = htons((uint16_t)atoi(colon + 1));
    return in;
}

/* Begin to connect; whether it comes about is the kernel's affair. */
static int begin(const struct sockaddr_in *to)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        process_fail("no socket: %s", strerror(errno));
    if (connect(fd, (const struct sockaddr *)to, sizeof(*to)) != 0 && errno != EINPROGRESS) {
        close(fd);
        return -1;
    }
    return fd;
}

/* --- D05 -------------------------------------------------------------------------------------- */

/* A gateway that may have so many descriptors and not one more. */
static struct process *poor_gateway(const char *upstream)
{
    static char path[512];

    snprintf(path, sizeof(path), "%s", process_path("aegis"));
    struct process *p =
        process_start("/bin/sh", PROCESS_ARGS("-c", "ulimit -n " DESCRIPTORS "; exec \"$0\" \"$@\"",
                                              path, "-role=gateway", "-listen", process_any_port(),
                                              "-upstream", upstream, PROBE_ADMIN));
    process_await_addr(p);
    pair_await_link(p, 1);
    return p;
}

static unsigned lines_of(const struct process *p)
{
    return process_logged(p, "\n");
}

Test(e2e_hostile_flood, d05_out_of_descriptors_the_ones_inside_are_served)
{
    struct pair pair = {.world = pair_world(PROCESS_ARGS("-spawn", "0,0,0", PROBE_ADMIN))};
    struct stage stage;
    int fds[HELD];

    pair.gateway = poor_gateway(pair.world->addr);
    stage_init(&stage);
    struct player *a = stage_join(&stage, pair.gateway->addr, "a");
    struct player *b = stage_join(&stage, pair.gateway->addr, "b");
    STAGE_UNTIL(&stage, player_sees(a, b) && player_sees(b, a));
    struct sockaddr_in to = address_of(pair.gateway);
    unsigned lines = lines_of(pair.gateway);
    for (int i = 0; i < HELD; i++)
        fds[i] = begin(&to);
    process_await_log(pair.gateway, "accepting paused", 1);
    uint64_t cpu = probe_cpu_ms(pair.gateway);
    struct mono until = process_deadline(2000);
    for (int i = 1; clock_since(until, clock_mono()) > 0; i++) {
        player_ping(a);
        player_move(a, a->facts->x, i % 2 * 0.25);
        STAGE_UNTIL(&stage, player_sees(b, a));
        stage_pass(&stage, 50);
    }
    cpu = probe_cpu_ms(pair.gateway) - cpu;
    cr_assert_lt(cpu, 400u, "it was busy for %llu of 2000 ms", (unsigned long long)cpu);
    cr_assert_lt(lines_of(pair.gateway) - lines, (unsigned)LINES_A_TURN);

    for (int i = 0; i < HELD; i++) {
        if (fds[i] >= 0)
            close(fds[i]);
    }
    struct mono released = clock_mono();
    struct player *c = stage_join(&stage, pair.gateway->addr, "c");
    cr_assert_lt(clock_since(clock_mono(), released), recover_ms() * CLOCK_NS_PER_MS);
    STAGE_UNTIL(&stage, player_sees(a, c) && player_sees(c, a));
    probe_await_most(pair.gateway, "aegis_gateway_clients", 3, PROCESS_PATIENCE_MS);
    cr_assert_geq(probe_metric(pair.gateway, "aegis_gateway_accept_pauses_total"), 1u);
    cr_assert_eq(probe_metric(pair.gateway, "aegis_gateway_accepting"), 1u);
    cr_assert_eq(probe_metric(pair.gateway, "aegis_gateway_descriptors_max"), 64u);
    cr_assert_eq(probe_metric(pair.gateway, "aegis_gateway_link_losses_total"), 0u);
    stage_fini(&stage);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

/* --- 2,000 connects a second -------------------------------------------------------------------
 */

struct flood {
    struct sockaddr_in to;
    int fds[FLOOD_HOLD]; /* a ring; -1: none */
    uint64_t begun;
    struct mono start;
};

/* As many as are due by now, each in the place of one that was begun a while ago. */
static void flood_pour(struct flood *f)
{
    uint64_t due = FLOOD_A_MS * (uint64_t)(clock_since(clock_mono(), f->start) / CLOCK_NS_PER_MS);

    for (; f->begun < due; f->begun++) {
        int *fd = &f->fds[f->begun % FLOOD_HOLD];
        if (*fd >= 0)
            close(*fd);
        *fd = begin(&f->to);
    }
}

static void flood_stop(struct flood *f)
{
    for (int i = 0; i < FLOOD_HOLD; i++) {
        if (f->fds[i] >= 0)
            close(f->fds[i]);
    }
}

Test(e2e_hostile_flood, two_thousand_connects_a_second_are_nobody_elses_trouble)
{
    struct pair pair =
        pair_start(PROCESS_ARGS("-spawn", "0,0,0", "-max-speed", "1000", PROBE_ADMIN),
                   PROCESS_ARGS("-rate", "0", PROBE_ADMIN));
    struct flood flood = {.to = address_of(pair.gateway)};
    struct mono until = process_deadline(getenv("HOSTILE_LONG") ? 10000 : 1000);
    int64_t slowest = 0;
    struct stage stage;

    stage_init(&stage);
    struct player *a = stage_join(&stage, pair.gateway->addr, "a");
    struct player *b = stage_join(&stage, pair.gateway->addr, "b");
    for (int i = 0; i < FLOOD_HOLD; i++)
        flood.fds[i] = -1;
    flood.start = clock_mono();
    for (int i = 1; clock_since(until, clock_mono()) > 0; i++) {
        flood_pour(&flood);
        struct mono asked = clock_mono();
        player_ping(a);
        int64_t took = clock_since(clock_mono(), asked);
        slowest = took > slowest ? took : slowest;
        player_move(b, b->facts->x, i % 2 * 0.125);
        loop_turn(stage.loop, CLOCK_NS_PER_MS);
        a->n_events = b->n_events = 0;
    }
    flood_stop(&flood);
    struct mono stopped = clock_mono();
    struct player *c = stage_join(&stage, pair.gateway->addr, "c");
    STAGE_UNTIL(&stage, player_sees(a, c) && player_sees(c, b) && player_sees(b, a));
    probe_await_most(pair.gateway, "aegis_gateway_clients", 3, recover_ms());
    cr_assert_lt(clock_since(clock_mono(), stopped), recover_ms() * CLOCK_NS_PER_MS);
    fprintf(stderr, "flood: %llu connects, the slowest ping took %.2f ms\n",
            (unsigned long long)flood.begun, (double)slowest / 1e6);
    /* Those that were over before they were accepted may count as refused by an error. */
    cr_assert_geq(probe_metric(pair.gateway, ACCEPTED), flood.begun * 9 / 10);
    cr_assert_eq(probe_metric(pair.gateway, "aegis_gateway_link_losses_total"), 0u);
    cr_assert_eq(probe_metric(pair.world, "aegis_world_entities"), 3u);
    cr_assert(!a->closed && !b->closed);
    stage_fini(&stage);
    pair_end(&pair);
    TEST_NO_LEAKS();
}
