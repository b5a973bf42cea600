/* tests/gateway/test_crew.c: several gateways in one process, with real threads and sockets. The
 * test's own thread turns the first one's loop.
 */
#include "gateway/crew.h"

#include "common/err.h"
#include "proto/frame.h"
#include "proto/protocol.h"
#include "tests/gateway/gateway_rig.h"
#include "tests/leak.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define THREADS 3
#define CLIENTS 40

static int world[THREADS];

/* A crew of THREADS whose links are all up. */
static void start(const char *flag)
{
    rig_start("-threads=3", flag, NULL);
    cr_assert_eq(crew_start(rig.crew), 0);
    for (int i = 0; i < THREADS; i++)
        world[i] = rig_world_accept();
    rig_until(&rig_metrics()->link_ready, 1);
}

static void stop(void)
{
    rig_stop();
    for (int i = 0; i < THREADS; i++)
        close(world[i]);
    TEST_NO_LEAKS();
}

/* Bytes that came on this link by now, in whole frames of which `kind` are counted. */
static int frames_of(int fd, enum link_kind kind)
{
    static uint8_t bytes[65536];
    const ssize_t n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
    int found = 0;

    for (size_t at = 0; n > 0 && at < (size_t)n;) {
        struct span body;
        struct link_frame f;
        size_t used;
        cr_assert_eq(frame_split(span_of(bytes + at, (size_t)n - at), 65536, &body, &used), 0);
        cr_assert_eq(link_read(body, &f), 0);
        found += f.kind == kind;
        at += used;
    }
    return found;
}

Test(crew, every_thread_takes_clients_and_speaks_to_the_world_on_a_link_of_its_own)
{
    int fd[CLIENTS], opens[THREADS], sum = 0;

    start(NULL);
    for (int i = 0; i < CLIENTS; i++) {
        fd[i] = rig_connect();
        rig_send_request(fd[i], CMD_LOGIN_REQ, 1);
    }
    rig_until(&rig_metrics()->sessions, CLIENTS);
    for (int i = 0; i < THREADS; i++) {
        opens[i] = frames_of(world[i], LINK_OPEN);
        cr_assert_gt(opens[i], 0);
        sum += opens[i];
    }
    cr_assert_eq(sum, CLIENTS);
    const struct gateway_metrics *m = rig_metrics();
    cr_assert_eq(m->threads, THREADS);
    cr_assert_eq(m->accepted, CLIENTS);
    cr_assert_eq(m->clients, CLIENTS);
    cr_assert_eq(m->frames_in, CLIENTS);
    cr_assert_eq(m->clients_max, 10000);
    cr_assert_null(crew_unready(rig.crew));
    cr_assert_null(crew_hung(rig.crew));
    for (int i = 0; i < CLIENTS; i++)
        close(fd[i]);
    rig_until(&rig_metrics()->closed_eof, CLIENTS);
    stop();
}

Test(crew, links_have_the_processs_name_and_a_number)
{
    uint8_t bytes[256];
    struct link_frame f;
    bool seen[THREADS] = {0};

    rig_start("-threads=3", NULL);
    cr_assert_eq(crew_start(rig.crew), 0);
    for (int i = 0; i < THREADS; i++) {
        int link = -1;
        for (int turn = 0; turn < RIG_TURNS_MAX && link < 0; turn++) {
            loop_turn(rig.loop, RIG_TURN_NS);
            link = accept(rig.world_listener, NULL, NULL);
        }
        rig_world_read(link, bytes, sizeof(bytes), &f);
        cr_assert_eq(f.kind, LINK_HELLO);
        const uint8_t last = f.id.p[f.id.n - 1];
        cr_assert(last >= '0' && last < '0' + THREADS && f.id.p[f.id.n - 2] == '-');
        cr_assert(!seen[last - '0']);
        seen[last - '0'] = true;
        world[i] = link;
    }
    stop();
}

Test(crew, the_limit_of_clients_is_one_for_all_and_exact)
{
    int fd[CLIENTS];

    start("-max-clients=7");
    for (int i = 0; i < CLIENTS; i++)
        fd[i] = rig_connect();
    rig_until(&rig_metrics()->refused_full, CLIENTS - 7);
    cr_assert_eq(rig_metrics()->clients, 7);
    cr_assert_eq(rig_metrics()->accepted, 7);
    cr_assert_str_eq(crew_unready(rig.crew), "full");
    for (int i = 0; i < CLIENTS; i++)
        close(fd[i]);
    rig_until(&rig_metrics()->closed_eof, 7);
    for (int i = 0; i < 7; i++)
        fd[i] = rig_connect();
    rig_until(&rig_metrics()->accepted, 14);
    for (int i = 0; i < 7; i++)
        close(fd[i]);
    stop();
}

Test(crew, a_drain_says_bye_to_all_ends_every_link_and_then_the_loop)
{
    int fd[CLIENTS];

    start(NULL);
    for (int i = 0; i < CLIENTS; i++)
        fd[i] = rig_connect();
    rig_until(&rig_metrics()->clients, CLIENTS);
    crew_drain(rig.crew);
    cr_assert_str_eq(crew_unready(rig.crew), "draining");
    for (int i = 0; i < CLIENTS; i++) {
        rig_expect_bye(fd[i], PE_SHUTTING_DOWN);
        close(fd[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        uint8_t bytes[256];
        while (rig_read_body(world[i], bytes, sizeof(bytes)) > 0)
            continue;
        shutdown(world[i], SHUT_RDWR);
    }
    for (int i = 0; i < RIG_TURNS_MAX && !loop_stopped(rig.loop); i++)
        loop_turn(rig.loop, RIG_TURN_NS);
    cr_assert(loop_stopped(rig.loop));
    crew_stop(rig.crew);
    cr_assert_eq(rig_metrics()->closed_drain, CLIENTS);
    cr_assert_eq(rig_metrics()->clients, 0);
    stop();
}

Test(crew, a_link_that_is_lost_concerns_its_own_clients_only)
{
    int fd[CLIENTS], lost = -1;

    start(NULL);
    for (int i = 0; i < CLIENTS; i++)
        fd[i] = rig_connect();
    rig_until(&rig_metrics()->clients, CLIENTS);
    shutdown(world[1], SHUT_RDWR);
    rig_until(&rig_metrics()->told_unavailable, 1);
    lost = (int)rig_metrics()->told_unavailable;
    cr_assert_gt(lost, 0);
    cr_assert_lt(lost, CLIENTS);
    close(world[1]);
    world[1] = rig_world_accept();
    rig_until(&rig_metrics()->link_ready, 1);
    cr_assert_eq(rig_metrics()->clients, CLIENTS, "nobody is closed");
    for (int i = 0; i < CLIENTS; i++)
        close(fd[i]);
    stop();
}

Test(crew, one_that_never_started_ends_without_a_word)
{
    rig_start("-threads=3", NULL);
    rig_stop();
    TEST_NO_LEAKS();
}

Test(crew, a_port_in_use_is_named_whatever_the_number_of_threads) /* CASES F02 */
{
    struct crew *second = NULL;
    struct gateway_config same;
    char why[256];

    rig_start("-threads=2", NULL);
    same = rig.config;
    same.listen = crew_addr(rig.crew);
    for (same.threads = 1; same.threads <= 3; same.threads++) {
        cr_assert_eq(crew_create(rig.loop, &same, &second, why, sizeof(why)), E_IO);
        cr_assert(strstr(why, "-listen: "), "%s", why);
    }
    rig_stop();
    TEST_NO_LEAKS();
}
