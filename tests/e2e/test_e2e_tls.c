/* tests/e2e/test_e2e_tls.c: a gateway under TLS: its certificate is read anew under a thousand
 * clients, and handshakes that lead nowhere cost those who are in nothing. May touch: tests/pair,
 * tests/certs, tests/tls_peer, tests/raw_client, probe. On trouble: the test fails.
 */
#include "common/parts.h"

#ifdef PARTS_TLS

#include "tests/certs.h"
#include "tests/e2e/probe.h"
#include "tests/leak.h"
#include "tests/pair.h"
#include "tests/raw_client.h"
#include "tests/tls_peer.h"

#include <criterion/criterion.h>
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CROWD      "1000"
#define FLOOD      600
#define HELLO_MAX  2048
#define BOT_MS     60000
#define HANDSHAKES "aegis_gateway_tls_handshakes_total{result=\"%s\"}"

static struct certs certs;

static void teardown(void)
{
    process_end_all();
    if (certs.dir[0] != '\0')
        certs_end(&certs);
}

TestSuite(e2e_tls, .fini = teardown, .timeout = 110);

static struct pair start(const char *const *more)
{
    const char *flags[16] = {"-tls-cert", certs.cert, "-tls-key", certs.key, PROBE_ADMIN};
    size_t n = 0;

    while (flags[n])
        n++;
    for (; more && *more; more++)
        flags[n++] = *more;
    return pair_start(PROCESS_ARGS("-max-speed", "60"), flags);
}

static struct process *bots(const struct pair *pair, const char *n, const char *seconds)
{
    return process_start("bot", PROCESS_ARGS("-mode=load", "-tls", "-tls-ca", certs.cert, "-n", n,
                                             "-seconds", seconds, "-rate", "0.5", "-addr",
                                             pair->gateway->addr));
}

/* All are in; a busy machine needs its time for so many handshakes. */
static void await_walking(const struct process *bot, const char *line)
{
    const struct mono deadline = process_deadline(BOT_MS);

    while (process_logged(bot, line) == 0)
        process_rest(deadline, line);
}

static void must_lose_nobody(struct process *bot)
{
    const struct span out = process_out(bot);
    static const char words[] = "connections lost 0, byes 0";

    cr_assert_not_null(memmem(out.p, out.n, words, sizeof(words) - 1), "%.*s", (int)out.n,
                       (const char *)out.p);
}

/* A connected socket that does not block. */
static int dial(const char *addr)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    char host[64];
    unsigned port;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    cr_assert_eq(sscanf(addr, "%63[^:]:%u", host, &port), 2);
    at.sin_port = htons((uint16_t)port);
    cr_assert_eq(inet_pton(AF_INET, host, &at.sin_addr), 1);
    cr_assert_eq(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    return fd;
}

static void meet(struct tls_peer *p, const char *addr)
{
    const struct mono deadline = process_deadline(PROCESS_PATIENCE_MS);

    tls_peer_client(p, dial(addr), 0, NULL);
    for (int done = 0; done != 1; done = tls_peer_shake(p)) {
        cr_assert_geq(done, 0);
        struct pollfd wait = {.fd = p->fd, .events = POLLIN};
        poll(&wait, 1, 20);
        cr_assert_gt(clock_since(deadline, clock_mono()), 0, "no handshake in time");
    }
}

/* Who comes now sees a certificate of this name. */
static void must_present(const char *addr, const char *name)
{
    struct tls_peer p;

    meet(&p, addr);
    cr_assert(tls_peer_sees(&p, name), "not %s", name);
    tls_peer_end(&p);
}

static uint64_t handshakes(const struct pair *pair, const char *result)
{
    char name[128];

    snprintf(name, sizeof(name), HANDSHAKES, result);
    return probe_metric(pair->gateway, name);
}

Test(e2e_tls, a_certificate_read_anew_under_a_thousand_clients_drops_none)
{
    certs_make_at(&certs, "first", process_any_port());
    struct pair pair = start(NULL);
    struct process *bot = bots(&pair, CROWD, "6");
    await_walking(bot, "phase=walking players=" CROWD);
    must_present(pair.gateway->addr, "first");

    certs_renew(&certs, "second", false);
    process_signal(pair.gateway, SIGHUP);
    process_await_log(pair.gateway, "read anew flag=-tls-cert", 1);
    must_present(pair.gateway->addr, "second");

    certs_write(certs.key, "nothing of use");
    process_signal(pair.gateway, SIGHUP);
    process_await_log(pair.gateway, "what there was stays flag=-tls-cert", 1);
    must_present(pair.gateway->addr, "second");
    cr_assert_eq(probe_metric(pair.gateway, "aegis_gateway_tls_reloads_total{result=\"done\"}"), 1);
    cr_assert_eq(probe_metric(pair.gateway, "aegis_gateway_tls_reloads_total{result=\"failed\"}"),
                 1);
    cr_assert_geq(probe_metric(pair.gateway, "aegis_gateway_clients"), 1000);

    process_await_exit(bot, BOT_MS, 0);
    must_lose_nobody(bot);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

/* What a client says first, of which each copy costs the gateway a whole answer. */
static size_t hello(uint8_t out[HELLO_MAX])
{
    struct tls_peer p;
    int fd[2];

    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd), 0);
    tls_peer_client(&p, fd[0], 0, NULL);
    cr_assert_eq(tls_peer_shake(&p), 0);
    const ssize_t n = recv(fd[1], out, HELLO_MAX, 0);
    cr_assert_gt(n, 0);
    tls_peer_end(&p);
    close(fd[1]);
    return (size_t)n;
}

Test(e2e_tls, a_flood_of_handshakes_that_lead_nowhere_costs_nobody_who_is_in)
{
    uint8_t bytes[HELLO_MAX];
    int fd[FLOOD];
    struct tls_peer p;
    certs_make_at(&certs, "first", process_any_port());
    const size_t n = hello(bytes);
    struct pair pair = start(PROCESS_ARGS("-handshake-timeout", "1", "-max-handshakes", "100"));
    struct process *bot = bots(&pair, "20", "6");
    await_walking(bot, "phase=walking players=20");

    /* A third says nothing, a third stops half way, a third speaks something else. */
    for (int i = 0; i < FLOOD; i++) {
        fd[i] = dial(pair.gateway->addr);
        if (i % 3 > 0)
            cr_assert_gt(send(fd[i], i % 3 == 1 ? (const void *)bytes : "GET / HTTP/1.1\r\n",
                              i % 3 == 1 ? n : 16, MSG_NOSIGNAL),
                         0);
    }
    meet(&p, pair.gateway->addr); /* somebody sound, behind all of them */
    cr_assert_eq(tls_peer_send(&p, "\0\0\0\x04\x93\x0b\x01\xc0", 8), 8);
    cr_assert_leq(probe_metric(pair.gateway, "aegis_gateway_tls_handshakes_pending"), 100);
    cr_assert_gt(handshakes(&pair, "not_tls"), 0);
    cr_assert_gt(handshakes(&pair, "late") + handshakes(&pair, "full"), 0);
    cr_assert_gt(probe_metric(pair.gateway, "aegis_gateway_tls_pauses_total"), 0);

    process_await_exit(bot, BOT_MS, 0);
    must_lose_nobody(bot);
    for (int i = 0; i < FLOOD; i++)
        close(fd[i]);
    tls_peer_end(&p);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

Test(e2e_tls, the_smoke_story_is_told_to_who_trusts_the_gateway)
{
    certs_make_at(&certs, "first", process_any_port());
    struct pair pair = start(PROCESS_ARGS("-threads", "2"));
    struct process *bot =
        process_start("bot", PROCESS_ARGS("-mode=smoke", "-tls", "-tls-ca", certs.cert, "-addr",
                                          pair.gateway->addr));
    process_await_exit(bot, 20000, 0);
    bot = process_start(
        "bot", PROCESS_ARGS("-mode=smoke", "-tls", "-timeout", "1", "-addr", pair.gateway->addr));
    process_await_exit(bot, 20000, 1);
    const struct span out = process_out(bot);
    cr_assert_not_null(memmem(out.p, out.n, "no TLS: ", 8), "%.*s", (int)out.n,
                       (const char *)out.p);
    cr_assert_gt(handshakes(&pair, "refused"), 0);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

#endif
