/* tests/common/test_http.c: the operators' HTTP server, over loopback in one loop.
 */
#include "common/io/http.h"

#include "common/err.h"
#include "common/log.h"
#include "tests/http_ask.h"
#include "tests/leak.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_NS (20 * CLOCK_NS_PER_S)
#define TURN_NS     (20 * CLOCK_NS_PER_MS)

struct rig {
    struct loop *loop;
    struct http *http;
    int calls; /* of pages */
    char reply[HTTP_ASK_MAX];
};

static int page_hello(void *arg, FILE *to)
{
    struct rig *r = arg;
    r->calls++;
    fprintf(to, "hello\n");
    return 200;
}

static int page_away(void *arg, FILE *to)
{
    struct rig *r = arg;
    r->calls++;
    fprintf(to, "draining\n");
    return 503;
}

static int page_huge(void *arg, FILE *to)
{
    static const char piece[4096];
    (void)arg;
    for (size_t n = 0; n <= HTTP_ANSWER_MAX; n += sizeof(piece))
        fwrite(piece, 1, sizeof(piece), to);
    return 200;
}

static const struct http_route routes[] = {
    {"/hello", "text/plain", page_hello},
    {"/away", "text/plain", page_away},
    {"/huge", "text/plain", page_huge},
};

static void rig_init(struct rig *r, int64_t request_ns)
{
    char why[256];

    *r = (struct rig){0};
    log_init("test", LOG_OFF, LOG_TEXT);
    cr_assert_eq(loop_create(&r->loop), 0);
    struct http_config c = {"127.0.0.1:0", routes, ARRAY_LEN(routes), r, request_ns};
    cr_assert_eq(http_create(r->loop, &c, &r->http, why, sizeof(why)), 0, "%s", why);
}

static void rig_fini(struct rig *r)
{
    http_destroy(r->http);
    loop_destroy(r->loop);
}

static int dial(struct rig *r)
{
    return http_ask_dial(http_addr(r->http));
}

static const char *hear(struct rig *r, int fd)
{
    http_ask_hear(r->loop, fd, r->reply);
    return r->reply;
}

static const char *ask(struct rig *r, const char *request)
{
    http_ask(r->loop, http_addr(r->http), request, r->reply);
    return r->reply;
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

Test(http, a_page_is_answered_and_the_connection_closed)
{
    struct rig r;

    rig_init(&r, 0);
    const char *reply = ask(&r, "GET /hello?x=1 HTTP/1.1\r\nHost: x\r\n\r\n");
    cr_expect(begins(reply, "HTTP/1.1 200 OK\r\n"), "%s", reply);
    cr_expect(strstr(reply, "\r\nContent-Type: text/plain\r\n"));
    cr_expect(strstr(reply, "\r\nContent-Length: 6\r\n"));
    cr_expect(strstr(reply, "\r\nConnection: close\r\n"));
    cr_expect(strstr(reply, "\r\n\r\nhello\n"));
    cr_expect_eq(http_counted(r.http).answered, 1);
    rig_fini(&r);
    TEST_NO_LEAKS();
}

Test(http, a_head_request_gets_the_head_of_the_same_answer)
{
    struct rig r;

    rig_init(&r, 0);
    const char *reply = ask(&r, "HEAD /hello HTTP/1.0\r\n\r\n");
    cr_expect(begins(reply, "HTTP/1.1 200 OK\r\n"), "%s", reply);
    cr_expect(strstr(reply, "\r\nContent-Length: 6\r\n"));
    cr_expect_str_eq(reply + strlen(reply) - 4, "\r\n\r\n");
    rig_fini(&r);
    TEST_NO_LEAKS();
}

Test(http, a_page_says_with_which_status)
{
    struct rig r;

    rig_init(&r, 0);
    cr_expect(
        begins(ask(&r, "GET /away HTTP/1.1\r\n\r\n"), "HTTP/1.1 503 Service Unavailable\r\n"));
    cr_expect(strstr(r.reply, "\r\n\r\ndraining\n"));
    rig_fini(&r);
    TEST_NO_LEAKS();
}

Test(http, whatever_else_is_asked_is_refused_and_no_page_is_made)
{
    static const struct {
        const char *request, *reply;
    } cases[] = {
        {"GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 404 "},
        {"GET /hello/ HTTP/1.1\r\n\r\n", "HTTP/1.1 404 "},
        {"GET /%68ello HTTP/1.1\r\n\r\n", "HTTP/1.1 404 "},
        {"POST /hello HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", "HTTP/1.1 405 "},
        {"get /hello HTTP/1.1\r\n\r\n", "HTTP/1.1 405 "},
        {"GET /hello HTTP/3\r\n\r\n", "HTTP/1.1 400 "},
        {"GET /hello HTTP/1.1\r\nbad\r\n\r\n", "HTTP/1.1 400 "},
        {"\r\n\r\n", "HTTP/1.1 400 "},
    };
    struct rig r;

    rig_init(&r, 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        cr_expect(begins(ask(&r, cases[i].request), cases[i].reply), "case %zu: %s", i, r.reply);
    cr_expect_eq(r.calls, 0);
    cr_expect_eq(http_counted(r.http).refused, ARRAY_LEN(cases));
    rig_fini(&r);
    TEST_NO_LEAKS();
}

Test(http, a_request_may_come_byte_by_byte)
{
    static const char request[] = "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n";
    struct rig r;

    rig_init(&r, 0);
    int fd = dial(&r);
    for (const char *p = request; *p; p++) {
        char one[2] = {*p, '\0'};
        http_ask_say(fd, one);
        loop_turn(r.loop, 0);
    }
    cr_expect(begins(hear(&r, fd), "HTTP/1.1 200 "), "%s", r.reply);
    cr_expect_eq(r.calls, 1);
    rig_fini(&r);
    TEST_NO_LEAKS();
}

Test(http, a_second_request_on_a_connection_is_not_answered)
{
    struct rig r;

    rig_init(&r, 0);
    ask(&r, "GET /hello HTTP/1.1\r\n\r\nGET /hello HTTP/1.1\r\n\r\n");
    cr_expect_eq(r.calls, 1);
    rig_fini(&r);
    TEST_NO_LEAKS();
}

Test(http, a_head_without_end_is_refused_at_its_limit)
{
    struct rig r;
    char *request = malloc(3 * HTTP_HEAD_MAX);

    rig_init(&r, 0);
    memset(request, 'a', 3 * HTTP_HEAD_MAX - 1);
    request[3 * HTTP_HEAD_MAX - 1] = '\0';
    cr_expect(begins(ask(&r, request), "HTTP/1.1 431 "), "%s", r.reply);
    /* With its end, but too long all the same. */
    memcpy(request, "GET /hello HTTP/1.1\r\nX:", 23);
    strcpy(request + HTTP_HEAD_MAX, "\r\n\r\n");
    cr_expect(begins(ask(&r, request), "HTTP/1.1 431 "), "%s", r.reply);
    cr_expect_eq(r.calls, 0);
    rig_fini(&r);
    free(request);
    TEST_NO_LEAKS();
}

Test(http, a_request_that_trickles_is_ended_at_its_deadline)
{
    struct rig r;

    rig_init(&r, 30 * CLOCK_NS_PER_MS);
    int fd = dial(&r);
    http_ask_say(fd, "GET /hel");
    cr_expect(begins(hear(&r, fd), "HTTP/1.1 408 "), "%s", r.reply);
    cr_expect_eq(http_counted(r.http).late, 1);
    rig_fini(&r);
    TEST_NO_LEAKS();
}

Test(http, a_page_past_the_limit_is_an_error)
{
    struct rig r;

    rig_init(&r, 0);
    cr_expect(begins(ask(&r, "GET /huge HTTP/1.1\r\n\r\n"), "HTTP/1.1 500 "), "%s", r.reply);
    rig_fini(&r);
    TEST_NO_LEAKS();
}

Test(http, connections_past_the_limit_are_not_taken_and_counted)
{
    struct rig r;
    int fds[HTTP_CONNECTIONS_MAX];

    rig_init(&r, 0);
    for (size_t i = 0; i < HTTP_CONNECTIONS_MAX; i++) {
        fds[i] = dial(&r);
        loop_turn(r.loop, TURN_NS);
    }
    cr_expect_eq(http_counted(r.http).full, 0);
    cr_expect_str_eq(ask(&r, "GET /hello HTTP/1.1\r\n\r\n"), "");
    cr_expect_eq(http_counted(r.http).full, 1);
    /* One goes, one may come. */
    http_ask_say(fds[0], "GET /hello HTTP/1.1\r\n\r\n");
    hear(&r, fds[0]);
    struct mono until = clock_add(clock_mono(), PATIENCE_NS);
    while (!begins(ask(&r, "GET /hello HTTP/1.1\r\n\r\n"), "HTTP/1.1 200 "))
        cr_assert_lt(clock_since(clock_mono(), until), 0, "the place is not free again");
    for (size_t i = 1; i < HTTP_CONNECTIONS_MAX; i++)
        close(fds[i]);
    rig_fini(&r);
    TEST_NO_LEAKS();
}

Test(http, a_bare_port_means_loopback)
{
    char out[HTTP_ADDR_MAX];
    const char *why;

    cr_assert_eq(http_addr_read("9100", out, &why), 0);
    cr_expect_str_eq(out, "127.0.0.1:9100");
    cr_assert_eq(http_addr_read(":9100", out, &why), 0);
    cr_expect_str_eq(out, "127.0.0.1:9100");
    cr_assert_eq(http_addr_read("0.0.0.0:9100", out, &why), 0);
    cr_expect_str_eq(out, "0.0.0.0:9100");
    cr_assert_eq(http_addr_read("[::1]:0", out, &why), 0);
    cr_expect_str_eq(out, "[::1]:0");
}

Test(http, an_address_that_is_none_is_refused_with_a_reason)
{
    static const char *const bad[] = {"",          ":",        "65536",      ":-1",        "abc",
                                      "localhost", "::1:9100", "127.0.0.1:", "1.2.3:9100", "9100x"};
    char out[HTTP_ADDR_MAX];

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        const char *why = NULL;
        cr_expect_eq(http_addr_read(bad[i], out, &why), E_ADDR, "%s", bad[i]);
        cr_expect_not_null(why, "%s", bad[i]);
    }
}

Test(http, a_port_in_use_is_named)
{
    struct rig r;
    struct http *second;
    char why[256];

    rig_init(&r, 0);
    struct http_config c = {http_addr(r.http), routes, ARRAY_LEN(routes), &r, 0};
    cr_assert_eq(http_create(r.loop, &c, &second, why, sizeof(why)), E_IO);
    cr_expect(strstr(why, http_addr(r.http)), "%s", why);
    rig_fini(&r);
    TEST_NO_LEAKS();
}

Test(http, visitors_that_are_there_at_the_end_leak_nothing)
{
    struct rig r;

    rig_init(&r, 0);
    int silent = dial(&r), asking = dial(&r);
    http_ask_say(asking, "GET /hello HTTP/1.1\r\n\r\n");
    loop_turn(r.loop, TURN_NS);
    rig_fini(&r);
    close(silent);
    close(asking);
    TEST_NO_LEAKS();
}
