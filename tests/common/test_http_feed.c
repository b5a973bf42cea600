/* tests/common/test_http_feed.c: the operators' HTTP server: questions, long answers, and
 * connections that stay open.
 */
#include "tests/common/http_rig.h"

#include "common/err.h"
#include "common/log.h"
#include "tests/leak.h"

#include <criterion/criterion.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_NS (20 * CLOCK_NS_PER_S)
#define TURN_NS     (20 * CLOCK_NS_PER_MS)

static int ask_echo(void *arg, const struct http_order *in, FILE *to)
{
    (void)arg;
    fprintf(to, "path=%.*s query=%.*s peer=%.10s.\n", (int)in->path.n, (const char *)in->path.p,
            (int)in->query.n, (const char *)in->query.p, in->peer);
    return in->query.n > 0 && in->query.p[0] == '!' ? 404 : 200;
}

static int ask_large(void *arg, const struct http_order *in, FILE *to)
{
    static const char piece[65536];
    (void)arg;
    (void)in;
    for (size_t n = 0; n < HTTP_ANSWER_MAX - sizeof(piece); n += sizeof(piece))
        fwrite(piece, 1, sizeof(piece), to);
    return 200;
}

static int feed_open(void *arg, const struct http_order *in, struct http_feed *f, FILE *to)
{
    struct http_rig *r = arg;
    if (in->query.n > 0) {
        fprintf(to, "no more\n");
        return 503;
    }
    r->feed = f;
    return 200;
}

static void feed_closed(void *arg, struct http_feed *f)
{
    struct http_rig *r = arg;
    cr_expect_eq(r->feed, f);
    r->feed = NULL;
    r->feeds_closed++;
}

static int page_hello(void *arg, FILE *to)
{
    (void)arg;
    fprintf(to, "hello\n");
    return 200;
}

static const struct http_route routes[] = {
    {.path = "/hello", .type = "text/plain", .page = page_hello},
    {.path = "/ask", .type = "text/plain", .ask = ask_echo, .fields = "X-More: yes\r\n"},
    {.path = "/large", .type = "text/plain", .ask = ask_large},
    {.path = "/feed", .type = "text/event-stream", .feed = feed_open},
};

static void init(struct http_rig *r, int64_t request_ns)
{
    http_rig_init(r, (struct http_config){
                         .routes = routes,
                         .n_routes = ARRAY_LEN(routes),
                         .request_ns = request_ns,
                         .feed_closed = feed_closed,
                     });
}

Test(http_feed, a_question_brings_its_path_its_query_and_who_asks)
{
    struct http_rig r;

    init(&r, 0);
    const char *reply = http_rig_ask(&r, "GET /ask?a=1&b=%20 HTTP/1.1\r\n\r\n");
    cr_expect(http_rig_begins(reply, "HTTP/1.1 200 "), "%s", reply);
    cr_expect(strstr(reply, "path=/ask query=a=1&b=%20 peer=127.0.0.1:."), "%s", reply);
    cr_expect(strstr(reply, "\r\nX-More: yes\r\n"), "%s", reply);
    cr_expect(http_rig_begins(http_rig_ask(&r, "GET /ask?!no HTTP/1.1\r\n\r\n"), "HTTP/1.1 404 "),
              "%s", r.reply);
    cr_expect(http_rig_begins(http_rig_ask(&r, "POST /ask HTTP/1.1\r\nContent-Length: 0\r\n\r\n"),
                              "HTTP/1.1 405 "));
    cr_expect(strstr(r.reply, "Allow: GET, HEAD\r\n"), "%s", r.reply);
    http_rig_fini(&r);
    TEST_NO_LEAKS();
}

/* Those who do not read hold so much at most, all together. */
Test(http_feed, answers_that_are_not_read_are_bounded_together)
{
    struct http_rig r;
    int fds[HTTP_ANSWERS_MAX / HTTP_ANSWER_MAX + 2];
    uint64_t answered = 0;

    init(&r, 0);
    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        fds[i] = http_rig_dial(&r);
        http_ask_say(fds[i], "GET /large HTTP/1.1\r\n\r\n");
        struct mono until = clock_add(clock_mono(), PATIENCE_NS);
        while (http_counted(r.http).answered + http_counted(r.http).refused == answered) {
            cr_assert_lt(clock_since(clock_mono(), until), 0, "no answer");
            loop_turn(r.loop, TURN_NS);
        }
        answered = http_counted(r.http).answered + http_counted(r.http).refused;
    }
    cr_expect_geq(http_counted(r.http).answered, HTTP_ANSWERS_MAX / HTTP_ANSWER_MAX);
    cr_expect_geq(http_counted(r.http).refused, 1u);
    http_rig_hear(&r, fds[ARRAY_LEN(fds) - 1]);
    cr_expect(http_rig_begins(r.reply, "HTTP/1.1 503 "), "%.60s", r.reply);
    for (size_t i = 0; i + 1 < ARRAY_LEN(fds); i++)
        close(fds[i]);
    http_rig_fini(&r);
    TEST_NO_LEAKS();
}

static void turn_until(struct http_rig *r, const int *what, int value)
{
    struct mono until = clock_add(clock_mono(), PATIENCE_NS);

    while (*what != value) {
        cr_assert_lt(clock_since(clock_mono(), until), 0, "waited too long");
        loop_turn(r->loop, TURN_NS);
    }
}

static void open_feed(struct http_rig *r, int *fd)
{
    struct mono until = clock_add(clock_mono(), PATIENCE_NS);

    *fd = http_rig_dial(r);
    http_ask_say(*fd, "GET /feed HTTP/1.1\r\n\r\n");
    while (!r->feed) {
        cr_assert_lt(clock_since(clock_mono(), until), 0, "no feed");
        loop_turn(r->loop, TURN_NS);
    }
}

Test(http_feed, a_feed_stays_open_past_the_time_of_a_request_and_is_told_what_comes)
{
    struct http_rig r;
    int fd;

    init(&r, 50 * CLOCK_NS_PER_MS);
    open_feed(&r, &fd);
    struct mono until = clock_add(clock_mono(), 150 * CLOCK_NS_PER_MS);
    while (clock_since(clock_mono(), until) < 0)
        loop_turn(r.loop, TURN_NS);
    cr_assert(r.feed);
    cr_expect_eq(http_counted(r.http).late, 0);
    http_ask_say(fd, "more that nobody asked for");
    cr_assert_eq(http_feed_send(r.feed, span_text("data: one"), span_text("\n\n")), 0);
    loop_turn(r.loop, TURN_NS);
    cr_assert_eq(http_feed_send(r.feed, span_text("data: two"), span_text("\n\n")), 0);
    loop_turn(r.loop, TURN_NS);
    cr_expect_eq(http_feed_queued(r.feed), 0);
    http_feed_end(r.feed);
    http_rig_hear(&r, fd);
    cr_expect(http_rig_begins(r.reply, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"),
              "%s", r.reply);
    cr_expect(strstr(r.reply, "\r\n\r\ndata: one\n\ndata: two\n\n"), "%s", r.reply);
    cr_expect_eq(r.feeds_closed, 0, "whoever ends it is not told");
    http_rig_fini(&r);
    TEST_NO_LEAKS();
}

Test(http_feed, a_feed_whose_peer_goes_is_told_to_its_owner)
{
    struct http_rig r;
    int fd;

    init(&r, 0);
    open_feed(&r, &fd);
    close(fd);
    turn_until(&r, &r.feeds_closed, 1);
    cr_expect(http_rig_begins(http_rig_ask(&r, "GET /feed?x HTTP/1.1\r\n\r\n"), "HTTP/1.1 503 "),
              "%s", r.reply);
    cr_expect(http_rig_begins(http_rig_ask(&r, "HEAD /feed HTTP/1.1\r\n\r\n"), "HTTP/1.1 405 "),
              "%s", r.reply);
    cr_expect(strstr(r.reply, "Allow: GET\r\n"), "%s", r.reply);
    http_rig_fini(&r);
    TEST_NO_LEAKS();
}

Test(http_feed, feeds_take_no_place_of_other_visitors_and_a_stalled_one_has_a_limit)
{
    static const uint8_t piece[1u << 20];
    struct http_rig r;
    int fd, err = 0;

    init(&r, 0);
    for (int i = 0; i < 2 * HTTP_CONNECTIONS_MAX; i++) {
        r.feed = NULL;
        open_feed(&r, &fd); /* never read, never closed by us */
    }
    cr_expect_eq(http_counted(r.http).full, 0);
    cr_expect(http_rig_begins(http_rig_ask(&r, "GET /hello HTTP/1.1\r\n\r\n"), "HTTP/1.1 200 "),
              "%s", r.reply);
    for (size_t n = 0; err == 0 && n < 100; n++)
        err = http_feed_send(r.feed, span_of(piece, sizeof(piece)), span_of(NULL, 0));
    cr_expect_eq(err, E_FULL);
    cr_expect_leq(http_feed_queued(r.feed), HTTP_ANSWER_MAX);
    http_rig_fini(&r);
    TEST_NO_LEAKS();
}
