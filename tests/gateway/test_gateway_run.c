/* tests/gateway/test_gateway_run.c: what the world says in one breath reaches each client in order,
 * whichever way it goes: at once, or at the end of the turn.
 */
#include "tests/gateway/gateway_rig.h"

#include "tests/leak.h"

#include <criterion/criterion.h>
#include <string.h>
#include <unistd.h>

static uint8_t out[400000];
static struct span_writer said;

/* A client whose session is open. */
static int joined(int world, uint64_t *session)
{
    uint8_t bytes[256];
    struct link_frame frame;
    const int fd = rig_connect();

    rig_send_request(fd, CMD_LOGIN_REQ, 1);
    rig_world_read(world, bytes, sizeof(bytes), &frame);
    cr_assert_eq(frame.kind, LINK_OPEN);
    *session = frame.session;
    rig_world_read(world, bytes, sizeof(bytes), &frame);
    cr_assert_eq(frame.kind, LINK_DATA);
    return fd;
}

static void say(uint64_t session, const char *text)
{
    const struct span body = span_text(text);
    link_write_data(&said, session, &body, 1);
}

/* The same as the tick lays it: with heads of full length. */
static void say_placed(uint64_t session, const char *a, const char *b)
{
    const struct span bodies[] = {span_text(a), span_text(b)};
    uint8_t head[LINK_DATA_HEAD], body_head[LINK_BODY_HEAD];

    link_data_head(head, session, 2,
                   LINK_DATA_HEAD + 2 * LINK_BODY_HEAD + bodies[0].n + bodies[1].n);
    span_put(&said, head, sizeof(head));
    for (int i = 0; i < 2; i++) {
        link_body_head(body_head, bodies[i].n);
        span_put(&said, body_head, sizeof(body_head));
        span_put(&said, bodies[i].p, bodies[i].n);
    }
}

static void say_end(int world)
{
    cr_assert(!said.full);
    rig_send(world, out, said.len);
}

static void expect(int fd, const char *text)
{
    uint8_t body[128];
    const size_t n = rig_read_body(fd, body, sizeof(body));

    cr_assert_eq(n, strlen(text), "%zu bytes where \"%s\" was expected", n, text);
    cr_assert_eq(memcmp(body, text, n), 0, "not \"%s\"", text);
}

Test(gateway_run, answers_ticks_and_what_goes_to_many_keep_their_order_for_each_client)
{
    uint64_t a, b;

    rig_start(NULL);
    const int world = rig_world_accept();
    const int fd_a = joined(world, &a), fd_b = joined(world, &b);
    const uint64_t both[] = {a, b};

    said = span_writer_of(out, sizeof(out));
    say(a, "a1");
    say(a, "a2");
    say_placed(a, "a3", "a4");
    say_placed(b, "b1", "b2");
    say(a, "a5");
    link_write_data_many(&said, both, 2, span_text("many"));
    say_placed(a, "a6", "a7");
    say(b, "b3");
    say(a, "a8");
    link_write_ping(&said, 1);
    say(a, "a9");
    link_write_close(&said, b, 19, span_text("enough"));
    say_end(world);

    expect(fd_a, "a1");
    expect(fd_a, "a2");
    expect(fd_a, "a3");
    expect(fd_a, "a4");
    expect(fd_a, "a5");
    expect(fd_a, "many");
    expect(fd_a, "a6");
    expect(fd_a, "a7");
    expect(fd_a, "a8");
    expect(fd_a, "a9");
    expect(fd_b, "b1");
    expect(fd_b, "b2");
    expect(fd_b, "many");
    expect(fd_b, "b3");
    rig_expect_bye(fd_b, 19);
    close(fd_a);
    close(fd_b);
    close(world);
    rig_stop();
    TEST_NO_LEAKS();
}

Test(gateway_run, a_hundred_answers_for_one_client_come_whole_and_in_order)
{
    char text[32];
    uint64_t a;

    rig_start(NULL);
    const int world = rig_world_accept();
    const int fd = joined(world, &a);
    said = span_writer_of(out, sizeof(out));
    for (int i = 0; i < 100; i++) {
        snprintf(text, sizeof(text), "answer %d", i);
        say(a, text);
    }
    say_end(world);
    for (int i = 0; i < 100; i++) {
        snprintf(text, sizeof(text), "answer %d", i);
        expect(fd, text);
    }
    cr_assert_eq(rig_metrics()->frames_out, 100);
    close(fd);
    close(world);
    rig_stop();
    TEST_NO_LEAKS();
}

Test(gateway_run, what_was_whole_before_a_broken_link_frame_is_still_delivered)
{
    uint64_t a;

    rig_start(NULL);
    const int world = rig_world_accept();
    const int fd = joined(world, &a);
    said = span_writer_of(out, sizeof(out));
    say(a, "last words");
    span_put(&said, "\0\0\0\1\xc1", 5);
    say_end(world);
    expect(fd, "last words");
    const struct message *m = rig_read_message(fd, CMD_ERROR_NOTIFY);
    cr_assert_eq(m->error_notify.code, 13);
    close(fd);
    close(world);
    rig_stop();
}
