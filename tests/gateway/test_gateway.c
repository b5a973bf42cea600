/* tests/gateway/test_gateway.c: a whole gateway on a loop, with real sockets on loopback. */
#include "gateway/crew.h"

#include "common/err.h"
#include "proto/frame.h"
#include "tests/gateway/gateway_rig.h"
#include "tests/leak.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

Test(gateway, a_request_goes_to_the_world_and_its_answer_comes_back)
{
    uint8_t frame[256], bytes[256];
    struct link_frame f;

    rig_start(NULL);
    const int world = rig_world_accept();
    const int client = rig_connect();
    const size_t n = fake_request(frame, 0, sizeof(frame), CMD_LOGIN_REQ, 1);
    cr_assert_eq(send(client, frame, n, 0), (ssize_t)n);
    cr_assert_eq(link_read(span_of(bytes, rig_read_body(world, bytes, sizeof(bytes))), &f), 0);
    cr_assert_eq(f.kind, LINK_OPEN);
    const uint64_t session = f.session;
    cr_assert_eq(link_read(span_of(bytes, rig_read_body(world, bytes, sizeof(bytes))), &f), 0);
    cr_assert_eq(f.kind, LINK_DATA);
    cr_assert(span_equal(f.bodies[0], span_of(frame + FRAME_HEAD, n - FRAME_HEAD)));

    const struct span answer = span_text("\x93\x02\x01\x80");
    struct span_writer w = span_writer_of(bytes, sizeof(bytes));
    link_write_data(&w, session, &answer, 1);
    cr_assert_eq(send(world, bytes, w.len, 0), (ssize_t)w.len);
    cr_assert_eq(rig_read_body(client, frame, sizeof(frame)), answer.n);
    cr_assert_eq(memcmp(frame, answer.p, answer.n), 0);

    close(client);
    cr_assert_eq(link_read(span_of(bytes, rig_read_body(world, bytes, sizeof(bytes))), &f), 0);
    cr_assert_eq(f.kind, LINK_CLOSE);
    cr_assert_eq(f.session, session);
    close(world);
    rig_stop();
    TEST_NO_LEAKS();
}

Test(gateway, a_bye_is_read_by_one_that_is_still_sending) /* PROTOCOL.md, Framing */
{
    uint8_t junk[65536];

    rig_start(NULL);
    const int client = rig_connect();
    memset(junk, 0xff, sizeof(junk));
    for (int i = 0; i < 32; i++) {
        if (send(client, junk, sizeof(junk), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
            loop_turn(rig.loop, RIG_TURN_NS);
    }
    rig_expect_bye(client, PE_BAD_FRAME);
    close(client);
    rig_stop();
}

Test(gateway, one_too_many_reads_its_bye)
{
    rig_start("-max-clients=1", NULL);
    const int first = rig_connect();
    rig_until(&rig_metrics()->accepted, 1);
    const int second = rig_connect();
    rig_expect_bye(second, PE_UNAVAILABLE);
    cr_assert_eq(rig_metrics()->refused_full, 1);
    cr_assert_eq(rig_metrics()->clients, 1);
    close(first);
    close(second);
    rig_stop();
}

/* Reset in mid-frame, and an end that only shut its side. */
Test(gateway, connections_that_break_are_counted_by_how_and_the_world_is_told)
{
    const struct linger at_once = {.l_onoff = 1};
    uint8_t bytes[256];
    struct link_frame f;
    int fd[2];

    rig_start(NULL);
    const int world = rig_world_accept();
    for (int i = 0; i < 2; i++) {
        fd[i] = rig_connect();
        rig_send_request(fd[i], CMD_LOGIN_REQ, 1);
        rig_send(fd[i], "\0\0\0", 3);
    }
    rig_until(&rig_metrics()->sessions, 2);
    cr_assert_eq(setsockopt(fd[0], SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), 0);
    close(fd[0]);
    rig_until(&rig_metrics()->closed_reset, 1);
    shutdown(fd[1], SHUT_WR);
    rig_until(&rig_metrics()->closed_eof, 1);
    cr_assert_eq(rig_metrics()->clients, 0);
    cr_assert_eq(rig_metrics()->sessions, 0);
    for (int closes = 0; closes < 2;) {
        rig_world_read(world, bytes, sizeof(bytes), &f);
        closes += f.kind == LINK_CLOSE;
    }
    close(fd[1]);
    close(world);
    rig_stop();
    TEST_NO_LEAKS();
}

Test(gateway, without_descriptors_accepting_pauses_and_goes_on_by_itself) /* CASES D05 */
{
    struct rlimit limit;
    int clients[8];

    rig_start(NULL);
    for (int i = 0; i < 8; i++)
        clients[i] = rig_connect();
    const int spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = (rlim_t)spare + 3; /* room for two or three */
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    const struct gateway_metrics *m = rig_metrics();
    rig_until(&m->accept_pauses, 1);
    cr_assert_lt(m->accepted, 8);

    limit.rlim_cur = before;
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    rig_until(&m->accepted, 8);
    close(spare);
    for (int i = 0; i < 8; i++)
        close(clients[i]);
    rig_stop();
}

Test(gateway, a_drain_says_17_to_all_and_ends_the_link_last) /* CASES F01 */
{
    uint8_t frame[256], bytes[256];
    struct link_frame f;
    const int clients = 3;
    int fd[3];

    rig_start(NULL);
    const int world = rig_world_accept();
    for (int i = 0; i < clients; i++) {
        const size_t n = fake_request(frame, 0, sizeof(frame), CMD_LOGIN_REQ, 1);
        fd[i] = rig_connect();
        cr_assert_eq(send(fd[i], frame, n, 0), (ssize_t)n);
    }
    rig_until(&rig_metrics()->sessions, 3);
    crew_drain(rig.crew);
    for (int i = 0; i < clients; i++) {
        rig_expect_bye(fd[i], PE_SHUTTING_DOWN);
        close(fd[i]);
    }
    int closes = 0;
    for (size_t n; (n = rig_read_body(world, bytes, sizeof(bytes))) > 0;) {
        cr_assert_eq(link_read(span_of(bytes, n), &f), 0);
        closes += f.kind == LINK_CLOSE;
    }
    cr_assert_eq(closes, 3, "the world hears of each end before the link's");
    close(world);
    for (int i = 0; i < RIG_TURNS_MAX && !loop_stopped(rig.loop); i++)
        loop_turn(rig.loop, RIG_TURN_NS);
    cr_assert(loop_stopped(rig.loop));
    rig_stop();
    TEST_NO_LEAKS();
}

Test(gateway, a_drain_ends_by_its_deadline_whoever_is_deaf)
{
    rig_start("-drain-timeout=200ms", NULL);
    const int client = rig_connect();
    rig_until(&rig_metrics()->clients, 1);
    const struct mono from = clock_mono();
    crew_drain(rig.crew);
    while (!loop_stopped(rig.loop))
        loop_turn(rig.loop, RIG_TURN_NS);
    cr_assert_lt(clock_since(clock_mono(), from), CLOCK_NS_PER_S);
    close(client);
    rig_stop();
    TEST_NO_LEAKS();
}

Test(gateway, a_port_in_use_is_named_with_its_flag) /* CASES F02 */
{
    struct gateway *second = NULL;
    struct gateway_config same;
    char why[256];

    rig_start(NULL);
    same = rig.config;
    same.listen = crew_addr(rig.crew);
    cr_assert_eq(
        gateway_create(rig.loop, &same, &(struct gateway_place){0}, &second, why, sizeof(why)),
        E_IO);
    cr_assert(strstr(why, "-listen: "), "%s", why);
    cr_assert(strstr(why, same.listen), "%s", why);
    rig_stop();
    TEST_NO_LEAKS();
}
